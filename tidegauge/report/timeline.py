"""The run over time: faults above, and their consequences below, on the same axis."""

# ruff: noqa: S608 - queries are put together from texts of this room

from collections.abc import Iterator, Mapping
from typing import Any

from tidegauge.analysis.fault_reach import FaultRows, fault_lanes
from tidegauge.report import charts, panels
from tidegauge.report.one_run import OneRun
from tidegauge.report.section import Chart, Piece, Section, Span, Words, Zoom, plain
from tidegauge.simulation.quantities import time_text

#: The most faults that have a line each; else those of a kind share one.
_LANES = 10
#: The part of the run that is shown around a fault, in parts of its duration, and of the whole run.
_AROUND, _AT_LEAST = 0.25, 0.02

#: Only clients have stalls: logs of real brokers have none.
_OF_CLIENTS = panels.Panel(
    "Stalled partitions",
    "partitions",
    (
        panels.Mark(
            "stalled", "for producers: a batch has waited for over 1 s", charts.BAD, "level"
        ),
        panels.Mark("reads_stalled", "for consumers: a fetch has", charts.WARNING, "level"),
    ),
)

PANELS = (
    _OF_CLIENTS,
    panels.Panel(
        "Unhealthy partitions",
        "partitions",
        (
            panels.Mark("under_min_isr", "under min ISR", charts.WARNING, "level"),
            panels.Mark(
                "not_accepting", "not accepting: no broker actually leads", charts.WORSE, "level"
            ),
            panels.Mark("offline", "offline: no leader with a session", charts.BAD, "level"),
        ),
    ),
    panels.Panel(
        "Replicas in sync",
        "replicas",
        (
            panels.Mark("assigned", "all replicas", charts.QUIET, "line", "any"),
            panels.Mark("in_sync", "in the ISR of their partition", charts.GOOD, "level", "least"),
        ),
    ),
    panels.Panel(
        "Under-replicated partitions, as running brokers report them",
        "partitions",
        (
            panels.Mark(
                "under_replicated", "UnderReplicatedPartitions, all brokers", charts.WARNING, "line"
            ),
        ),
    ),
    panels.Panel(
        "Leader elections",
        "partitions",
        (
            panels.Mark("clean", "from the ISR", charts.GOOD, "bar"),
            panels.Mark("unclean", "unclean: from outside it", charts.BAD, "bar"),
        ),
    ),
    panels.Panel(
        "Changes of ISRs",
        "changes",
        (
            panels.Mark("expand", "expanded by leaders", charts.GOOD, "bar"),
            panels.Mark("shrink", "shrunk by leaders", charts.WARNING, "bar"),
            panels.Mark("removal", "removed by the controller", charts.WORSE, "bar"),
        ),
    ),
    panels.Panel(
        "Lag of high watermarks behind log ends",
        "records",
        (
            panels.Mark("lag_max", "the largest", charts.BAD, "line"),
            panels.Mark("lag_p99", "P99 of partitions", charts.WARNING, "line"),
            panels.Mark("lag_p50", "median of partitions", charts.GOOD, "line"),
        ),
    ),
    panels.Panel(
        "Longest wait in the controller's queue",
        "seconds",
        (panels.Mark("queued", "until an event was taken", charts.WARNING, "bar"),),
    ),
    panels.Panel(
        "Longest queue of the controller",
        "events left",
        (panels.Mark("queue", "events left behind one that was taken", charts.GOOD, "bar"),),
    ),
    panels.Panel(
        "Responses of the controller that wait for a commit",
        "responses",
        (panels.Mark("deferred", "the most at a sample", charts.WARNING, "line"),),
    ),
    panels.Panel(
        "Largest isr_change_notification",
        "partitions",
        (panels.Mark("notified", "when it was sent", charts.GOOD, "point"),),
    ),
)


def section(run: OneRun) -> Section:
    """The timeline."""
    found = panels.collected(run, _queries(run))
    replicas = float(sum(len(each["replicas"]) for each in run.manifest["partitions"]))
    found["assigned"] = [panels.Point(0, replicas), panels.Point(run.duration_us, replicas)]
    return Section(
        "timeline",
        "Timeline",
        "Time is virtual time since the run began; start-up does not count. Times of active "
        "faults are shaded. Drag in a chart to zoom in, or use the buttons; double-click, or Whole "
        "run, zooms out.",
        [*_faults(run), *panels.panel_charts(run, PANELS[1:] if run.is_of_logs else PANELS, found)],
        [
            run.command("picture", "RUN"),
            run.command("show", "faults", "RUN"),
            run.command("show", "controller", "RUN"),
        ],
    )


def _queries(run: OneRun) -> Iterator[str]:
    yield panels.levels(
        "select condition as series, begin_us, end_us from unavailable"
        " where condition not in ('at_min_isr', 'under_replicated')",
        run.bucket_us,
        run.duration_us,
    )
    yield panels.levels(
        "select 'in_sync' as series, begin_us, end_us from isr_members",
        run.bucket_us,
        run.duration_us,
    )
    yield panels.counts(
        "select case when unclean then 'unclean' else 'clean' end as series, time_us"
        f" from elections where is_new and time_us > {run.figures_from_us}",
        run.bar_us,
    )
    yield panels.counts(
        f"select change as series, time_us from isr_changes where time_us > {run.figures_from_us}",
        run.bar_us,
    )
    yield panels.measured(
        "hw_lag",
        run.sample_us,
        {
            "lag_max": "max(lag)",
            "lag_p99": "percentile_disc(0.99) within group (order by lag)",
            "lag_p50": "percentile_disc(0.5) within group (order by lag)",
        },
    )
    yield panels.measured(
        f"(select * from controller_events where time_us > {run.figures_from_us})",
        run.bar_us,
        {"queue": "max(queue_length)", "queued": "max(queued_us) / 1e6"},
    )
    yield panels.measured("metadata_samples", run.sample_us, {"deferred": "max(deferred)"})
    yield panels.measured("notifications", run.bucket_us, {"notified": "max(partition_count)"})
    yield panels.measured(
        _most_of_brokers(run.sample_us), run.sample_us, {"under_replicated": "sum(most)"}
    )


def _most_of_brokers(bucket_us: int) -> str:
    """The most under-replicated partitions that each broker has reported in a bucket."""
    bucket = f"time_us - time_us % {bucket_us}"
    return f"""(
        select {bucket} as time_us, broker, max(under_replicated) as most
        from broker_samples group by {bucket}, broker
    )"""


def _faults(run: OneRun) -> Iterator[Piece]:
    """The active faults: a lane for each."""
    if not run.faults:
        yield Words("No fault in this run.")
        return
    by_lane = fault_lanes(run.faults, _LANES)
    yield Zoom([Span("Whole run", 0, charts.seconds(run.duration_us)), *_spans(run, by_lane)])
    spans = [(place, each) for place, of in enumerate(by_lane.values()) for each in of]
    data = {
        "type": "bar",
        "orientation": "h",
        "y": [place + charts.LANE_LOWER for place, _ in spans],
        "base": [charts.seconds(each["begin_us"]) for _, each in spans],
        "x": [charts.seconds(each["end_us"] - each["begin_us"]) for _, each in spans],
        "width": charts.LANE_BAR,
        "text": [plain(_fault_text(each)) for _, each in spans],
        "textposition": "none",
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": "var(--fault)"},
    }
    whole = charts.layout(
        charts.LANE * len(by_lane) + 34,
        xaxis=charts.time_axis(run.duration_us),
        **charts.lanes([*by_lane]),
    )
    yield Chart("Active faults", [data], whole, is_over_time=True)


def _spans(run: OneRun, by_lane: Mapping[str, FaultRows]) -> Iterator[Span]:
    """The times of the faults of each lane, and a little around them."""
    for name, faults in by_lane.items():
        begin_us = min(each["begin_us"] for each in faults)
        end_us = max(each["end_us"] for each in faults)
        around_us = max(_AROUND * (end_us - begin_us), _AT_LEAST * run.duration_us)
        yield Span(
            charts.shortened(name),
            charts.seconds(max(0, begin_us - around_us)),
            charts.seconds(min(run.duration_us, end_us + around_us)),
        )


def _fault_text(fault: Mapping[str, Any]) -> str:
    to = time_text(fault["end_us"]) if fault["ended"] else "the end"
    return f"{fault['fault_name']}: {fault['fault_text']}, {time_text(fault['begin_us'])} to {to}"
