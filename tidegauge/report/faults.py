"""The faults of a run, the failovers after them, the controller's work, and the replay."""

# ruff: noqa: S608 - queries are put together from texts of this room

from collections.abc import Iterator, Mapping
from typing import Any

from tidegauge.analysis.fault_reach import fault_lanes
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE
from tidegauge.report import charts, panels, replay
from tidegauge.report.answers import answers
from tidegauge.report.one_run import OneRun
from tidegauge.report.section import Commands, Grid, Heading, Piece, Section, Words
from tidegauge.runs.fault_costs import stored_costs
from tidegauge.runs.told_costs import cells_of, headings_of, sentences_of, title_of
from tidegauge.simulation.quantities import time_text

#: The most faults that have a line each; else those of a kind share one.
_LANES = 10

PANELS = (
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
        KRAFT_MODE,
    ),
    panels.Panel(
        "Largest isr_change_notification",
        "partitions",
        (panels.Mark("notified", "when it was sent", charts.GOOD, "point"),),
        ZOOKEEPER_MODE,
    ),
)
QUESTIONS = ("failover-budget", "restart-headroom", "notification-batching")


def section(run: OneRun) -> Section:
    """The section."""
    pieces: list[Piece] = [lanes(run) if run.faults else Words("No fault in this run.")]
    pieces += _true_costs(run)
    pieces += answers(run, QUESTIONS)
    pieces += panels.folded_panels(run, PANELS, panels.collected(run, _queries(run)))
    pieces.append(replay.folded(run))
    commands = [run.command("show", what, "RUN") for what in ("faults", "controller")]
    if run.faults and not run.is_of_logs:
        commands.append(run.command("blame", "RUN"))
    return Section("faults", "The faults", [*pieces, Commands(commands)])


def _true_costs(run: OneRun) -> list[Piece]:
    """The differences to the run without each fault, if `tidegauge blame` has found them."""
    costs = stored_costs(run.run.folder)
    if costs is None:
        return []
    figures = costs.shown()
    if not figures:
        return [Words("The run without its faults has the same figures: they cost nothing.")]
    headings = [Heading("figure"), *(Heading(each, is_number=True) for each in headings_of(costs))]
    rows = [[each.label, *cells_of(costs, each)] for each in figures]
    caption = f"The true costs, by runs without each fault ({title_of(costs)})"
    said = [Words(f"{subject}: {words}") for subject, words in sentences_of(costs, figures)]
    return [Grid(caption, headings, rows), *said]


def _queries(run: OneRun) -> Iterator[str]:
    yield panels.measured(
        f"(select * from controller_events where time_us > {run.figures_from_us})",
        run.bar_us,
        {"queue": "max(queue_length)", "queued": "max(queued_us) / 1e6"},
    )
    yield panels.measured("metadata_samples", run.sample_us, {"deferred": "max(deferred)"})
    yield panels.measured("notifications", run.bucket_us, {"notified": "max(partition_count)"})


def lanes(run: OneRun) -> charts.Chart:
    """The active faults: a lane for each."""
    by_lane = fault_lanes(run.faults, _LANES)
    spans = [
        charts.Span(
            lane,
            charts.seconds(each["begin_us"]),
            charts.seconds(each["end_us"]),
            _fault_text(each),
        )
        for lane, faults in enumerate(by_lane.values())
        for each in faults
    ]
    return charts.Chart(
        "Active faults",
        charts.time_axis(run.duration_us),
        [charts.Spans(spans, charts.FAULT)],
        lanes=[*by_lane],
    )


def _fault_text(fault: Mapping[str, Any]) -> str:
    to = time_text(fault["end_us"]) if fault["ended"] else "the end"
    return f"{fault['fault_name']}: {fault['fault_text']}, {time_text(fault['begin_us'])} to {to}"
