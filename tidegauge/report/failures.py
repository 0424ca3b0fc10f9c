"""Failures and their causes: lost records, unavailable partitions, ISRs and elections."""

from collections.abc import Iterator, Mapping
from typing import Any

from tidegauge.report.answers import answers
from tidegauge.report.charts import BAD, GOOD, QUIET, WARNING, WORSE
from tidegauge.report.headline import reassignment_lines
from tidegauge.report.one_run import OneRun
from tidegauge.report.panels import (
    Mark,
    Panel,
    Point,
    Series,
    collected,
    counts,
    folded_panels,
    levels,
    measured,
    panel_chart,
)
from tidegauge.report.quantities import duration_text, number_text
from tidegauge.report.section import Commands, Grid, Heading, Piece, Section, Tile, Tiles, Words
from tidegauge.report.stalled_writes import StalledPartitions, WithoutWrites
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import time_text

# ruff: noqa: S608 - queries are put together from texts of this room

#: The reasons that permit a loss, by their names in the table of lost records.
_EXPLAINED = {
    "unclean election": "a leader was elected from outside the ISR",
    "election of the last known leader": "the last known leader was elected after the whole ISR "
    "had lost its place (KIP-966)",
    "loss of power": "power was lost before they were on disk (log.flush.interval.messages)",
}

#: Shorter times are not marked as a problem.
_A_SECOND = 1


_UNHEALTHY = Panel(
    "Unhealthy partitions",
    "partitions",
    (
        Mark("under_min_isr", "under min ISR", WARNING, "level"),
        Mark("not_accepting", "not accepting: no broker actually leads", WORSE, "level"),
        Mark("offline", "offline: no leader with a session", BAD, "level"),
    ),
)

_ELECTIONS = Panel(
    "Leader elections",
    "partitions",
    (
        Mark("clean", "from the ISR", GOOD, "bar"),
        Mark("unclean", "unclean: from outside it", BAD, "bar"),
    ),
)
_ISR_CHANGES = Panel(
    "Changes of ISRs",
    "changes",
    (
        Mark("expand", "expanded by leaders", GOOD, "bar"),
        Mark("shrink", "shrunk by leaders", WARNING, "bar"),
        Mark("removal", "removed by the controller", WORSE, "bar"),
    ),
)

#: Those of a picture of the run.
PICTURED = (_UNHEALTHY, _ELECTIONS, _ISR_CHANGES)
PANELS = (
    Panel(
        "Replicas in sync",
        "replicas",
        (
            Mark("assigned", "all replicas", QUIET, "line", "any"),
            Mark("in_sync", "in the ISR of their partition", GOOD, "level", "least"),
        ),
    ),
    Panel(
        "Under-replicated partitions, as running brokers report them",
        "partitions",
        (Mark("under_replicated", "UnderReplicatedPartitions, all brokers", WARNING, "line"),),
    ),
    _ELECTIONS,
    _ISR_CHANGES,
    Panel(
        "Lag of high watermarks behind log ends",
        "records",
        (
            Mark("lag_max", "the largest", BAD, "line"),
            Mark("lag_p99", "P99 of partitions", WARNING, "line"),
            Mark("lag_p50", "median of partitions", GOOD, "line"),
        ),
    ),
)
QUESTIONS = ("availability", "lost-records", "unavailability", "isr-flapping", "hw-lag")


def section(run: OneRun) -> Section:
    """The section."""
    return Section("failures", "What failed, and why", [*_pieces(run)])


def _pieces(run: OneRun) -> Iterator[Piece]:
    figures = run.figures
    if run.is_of_logs:
        yield Words("Logs have no records: none is counted as lost.", "note")
    else:
        yield _losses(run)
    if figures["records_acknowledged_unavailable"]:
        unavailable = counted(figures["records_acknowledged_unavailable"], "acknowledged record")
        text = f"{unavailable} cannot be read: their partitions have no leader in the end."
        yield Words(text, "bad")
    if run.summary is not None and not run.is_of_logs:
        moved = "; ".join(reassignment_lines(run.summary))
        if moved:
            yield Words(f"Reassignment: {moved}.")
    yield from _checks(run)
    yield from _costs(run)
    yield Tiles(_tiles(figures, run.stalled, run.without_writes))
    found = series(run)
    chart = panel_chart(run, _UNHEALTHY, found)
    if chart is not None:
        yield chart
    yield from folded_panels(run, PANELS, found)
    yield from answers(run, QUESTIONS)
    yield Commands([run.command("show", "partitions", "RUN"), run.command("picture", "RUN")])


def series(run: OneRun) -> Series:
    """The series of its panels."""
    replicas = float(sum(len(each["replicas"]) for each in run.manifest["partitions"]))
    assigned = [Point(0, replicas), Point(run.duration_us, replicas)]
    return collected(run, _queries(run)) | {"assigned": assigned}


def _costs(run: OneRun) -> Iterator[Piece]:
    """The effects of each fault, as far as they are charged to it."""
    conditions = ("stalled", "not_accepting", "offline", "under_min_isr")
    seconds = ", ".join(
        f"coalesce(max(o.partition_seconds) filter (where o.condition = '{each}'), 0) as {each}"
        for each in conditions
    )
    rows = run.tables.rows(
        f"""
        select c.fault, c.fault_name, c.begin_us, c.elections, c.isr_shrinks, c.records_lost,
            {seconds}
        from fault_costs as c
        left join fault_outages as o on o.run = c.run and o.fault = c.fault
        group by c.run, c.fault, c.fault_name, c.begin_us, c.elections, c.isr_shrinks,
            c.records_lost
        order by all
        """
    )
    rows.sort(key=lambda each: -sum(each[name] for name in conditions))
    if rows:
        titles = ("Stalled", "Not accepting", "Offline", "Under min ISR")
        meaning = "partition-seconds; several faults may share them"
        yield Grid(
            "What each fault cost, in partition-seconds: the worst first",
            [
                Heading("Fault"),
                Heading("Began", is_number=True),
                *(Heading(title, meaning, is_number=True) for title in titles),
                Heading("Leaders elected", is_number=True),
                Heading("ISRs shrunk", is_number=True),
                Heading("Records lost", is_number=True),
            ],
            [
                (
                    each["fault_name"],
                    time_text(each["begin_us"]),
                    *(number_text(each[name]) for name in conditions),
                    *(f"{each[name]:,}" for name in ("elections", "isr_shrinks")),
                    f"{each['records_lost'] or 0:,}",
                )
                for each in rows[:_COSTS]
            ],
        )


#: The number of faults whose costs are listed.
_COSTS = 10


def _queries(run: OneRun) -> Iterator[str]:
    yield levels(
        "select condition as series, begin_us, end_us from unavailable"
        " where condition in ('under_min_isr', 'not_accepting', 'offline')",
        run.bucket_us,
        run.duration_us,
    )
    yield levels(
        "select 'in_sync' as series, begin_us, end_us from isr_members",
        run.bucket_us,
        run.duration_us,
    )
    yield counts(
        "select case when unclean then 'unclean' else 'clean' end as series, time_us"
        f" from elections where is_new and time_us > {run.figures_from_us}",
        run.bar_us,
    )
    yield counts(
        f"select change as series, time_us from isr_changes where time_us > {run.figures_from_us}",
        run.bar_us,
    )
    yield measured(
        "hw_lag",
        run.sample_us,
        {
            "lag_max": "max(lag)",
            "lag_p99": "percentile_disc(0.99) within group (order by lag)",
            "lag_p50": "percentile_disc(0.5) within group (order by lag)",
        },
    )
    yield measured(
        _most_of_brokers(run.sample_us), run.sample_us, {"under_replicated": "sum(most)"}
    )


def _most_of_brokers(bucket_us: int) -> str:
    """The most under-replicated partitions that each broker has reported in a bucket."""
    bucket = f"time_us - time_us % {bucket_us}"
    return f"""(
        select {bucket} as time_us, broker, max(under_replicated) as most
        from broker_samples group by {bucket}, broker
    )"""


def _losses(run: OneRun) -> Words:
    figures = run.figures
    records = figures["records_acknowledged_lost"]
    acknowledged = f"{counted(figures['records_acknowledged'], 'record')} acknowledged"
    if not records:
        return Words(f"No acknowledged record was lost: {acknowledged}.")
    lost = run.tables.rows(
        "select acks, permitted_by, sum(records) as records"
        " from lost group by acks, permitted_by order by records desc, acks, permitted_by"
    )
    text = f"{counted(records, 'acknowledged record')} lost, of {acknowledged}"
    if len(lost) == 1:
        return Words(f"{text}: all of them {_because(lost[0])}.")
    parts = "; ".join(f"{each['records']:,} {_because(each)}" for each in lost)
    return Words(f"{text}: {parts}.")


def _because(lost: Mapping[str, Any]) -> str:
    """The lost records, and the reasons for the loss."""
    if lost["acks"] != -1:
        return f"with acks={lost['acks']}, which are acknowledged before a follower has them"
    permitted_by = lost["permitted_by"]
    why = _EXPLAINED.get(permitted_by, "and no setting permits that: a promise of Kafka was broken")
    return f"with acks=all, since {why}" if permitted_by else f"with acks=all, {why}"


def _checks(run: OneRun) -> Iterator[Piece]:
    checks = {} if run.summary is None else run.summary["checks"]
    unexpected = [name for name, each in checks.items() if not each["as_expected"]]
    if unexpected:
        yield Words(f"Not as the scenario expects: {', '.join(unexpected)}.", "bad")


def _tiles(
    figures: Mapping[str, Any], stalled: StalledPartitions | None, idle: WithoutWrites
) -> list[Tile]:
    def seconds(condition: str, of: str) -> Tile:
        value = figures[f"partition_seconds_{condition}"]
        return Tile(number_text(value), f"partition-seconds {of}", is_bad=value >= _A_SECOND)

    unclean = figures["unclean_elections"]
    tiles = []
    if stalled is not None:
        tiles.append(seconds("stalled", "stalled for producers: batches waited for over 1 s"))
        if stalled.stalled:
            text = f"the longest that a partition was stalled for producers: {stalled.longest}"
            tiles.append(Tile(duration_text(stalled.longest_us), text, is_bad=True))
        unsent = figures["records_unsent"]
        text = f"records unsent, of {figures['records_offered']:,} offered"
        tiles.append(Tile(f"{unsent:,}", text, is_bad=unsent > 0))
    if idle.partitions:
        text = f"the longest that a partition could not take acks=all writes: {idle.longest}"
        is_bad = idle.longest_us >= _A_SECOND * 1e6
        tiles.append(Tile(duration_text(idle.longest_us), text, is_bad=is_bad))
    return [
        *tiles,
        seconds("not_accepting", "without a broker that accepts writes as leader"),
        seconds("offline", "offline: without a leader in the control plane"),
        seconds("under_min_isr", "under min ISR: acks=all is refused"),
        Tile(f"{figures['isr_shrinks']:,}", "ISRs shrunk by leaders"),
        Tile(f"{figures['isr_removals']:,}", "replicas removed from ISRs by the controller"),
        Tile(f"{figures['leader_elections']:,}", "leaders elected"),
        Tile(f"{unclean:,}", "leaders elected uncleanly", is_bad=unclean > 0),
    ]
