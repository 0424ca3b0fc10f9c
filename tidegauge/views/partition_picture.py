"""``tidegauge picture --partition``: the role and the log end of each replica over time."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.runs.replicas import (
    NOTABLE_US,
    Ends,
    ReplicaTimes,
    Standing,
    replica_times,
    sampled_ends,
)
from tidegauge.runs.run import Run
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_seconds_text, time_text
from tidegauge.views.cluster_picture import conditions_of, scale_text
from tidegauge.views.time_axis import LABEL_WIDTH, TimeAxis, fault_lines, faults_within

#: The standing of a replica, in one character.
MARKS = {
    Standing.LEADER: "L",
    Standing.FORMER: "l",
    Standing.IN_SYNC: "=",
    Standing.OUT: ".",
    Standing.DOWN: "x",
    Standing.ABSENT: " ",
}
#: In a stretch of time with several, the first of these is shown; else the last one.
_WORST = (Standing.DOWN, Standing.FORMER, Standing.OUT)

_MOST_FAULTS = 5
#: Former leaders that are shown.
_MOST_FORMER = 3

#: Conditions that are drawn.
_CONDITIONS = ("stalled", "reads_stalled", "not_accepting", "under_min_isr")
_TABLES = ("described_states", "broker_states", "acting_leaders", "unavailable", "faults", "steps")
#: Columns of the table of ends, each of some twenty characters.
_MOST_TIMES = 4


def show_partition(out: Console, run: Run, partition: int, axis: TimeAxis) -> None:
    """Print the picture of one partition."""
    names, tables = run.names, run.tables
    tables.make(_TABLES)
    replicas = replica_times(run, partition)
    out.print(f"{names.partition(partition)}; {scale_text(axis)}\n", style="bold")
    times, ruler = axis.marks()
    lines = [f"{'':{LABEL_WIDTH}}{line}" for line in times]
    lines.append(f"{'replicas':<{LABEL_WIDTH}}{ruler}")
    lines += [_replica_line(replica, axis) for replica in replicas]
    for condition, label in conditions_of(names).items():
        if condition in _CONDITIONS:
            marks = _marks(tables, partition, condition, axis)
            lines.append(f"{label:<{LABEL_WIDTH}}{marks}".rstrip())
    lines += fault_lines(run, tables, axis, _MOST_FAULTS)
    lines += ["", *_table(run, partition, replicas, _times_of_interest(tables, axis))]
    for line in lines:
        out.print(Text(line), soft_wrap=True)
    out.print(
        "\nL leads, l leads on in an older epoch, = in the ISR, . up but not in the ISR, x down or"
        "\npaused, ! so at this time, # a fault or step is active. HW and LEO are those of the last"
        "\nsample before the time.",
        style="dim",
    )
    for line in _former_leaders(tables, partition):
        out.print(line, style="red", soft_wrap=True)


def partition_for_programs(run: Run, partition: int, axis: TimeAxis) -> dict[str, Any]:
    """The picture of one partition: the standing of each replica in each part of the axis."""
    run.tables.make(_TABLES)
    times = _times_of_interest(run.tables, axis)
    replicas = replica_times(run, partition)
    ends = sampled_ends(run, partition, [time_us for time_us, _ in times])
    return {
        "partition": run.names.partition(partition),
        "edges_us": axis.edges_us,
        "replicas": [
            {
                "broker": replica.broker,
                "standings": [each.name.lower() for each in _standings(replica, axis)],
                "ends": [None if each is None else each._asdict() for each in ends[replica.broker]],
            }
            for replica in replicas
        ],
        "times": [{"time_us": time_us, "edge": edge} for time_us, edge in times],
        "faults": faults_within(run.tables, axis),
    }


def _standings(replica: ReplicaTimes, axis: TimeAxis) -> list[Standing]:
    return [_shown(replica, begin_us, end_us) for begin_us, end_us in pairwise(axis.edges_us)]


def _replica_line(replica: ReplicaTimes, axis: TimeAxis) -> str:
    drawn = "".join(MARKS[each] for each in _standings(replica, axis))
    return f"{f'broker {replica.broker}':<{LABEL_WIDTH}}{drawn}".rstrip()


def _shown(replica: ReplicaTimes, begin_us: int, end_us: int) -> Standing:
    """The standing that is shown for a stretch of time."""
    within = {replica.at(begin_us), *replica.between(begin_us, end_us)}
    for standing in _WORST:
        if standing in within:
            return standing
    return replica.at(end_us - 1)


def _marks(tables: RunTables, partition: int, condition: str, axis: TimeAxis) -> str:
    """The times in which the partition was in a condition."""
    rows = tables.rows(
        "select begin_us, end_us from unavailable"  # noqa: S608 - a number and our own text
        f" where partition = {partition} and condition = '{condition}'"
        " order by begin_us, end_us"
    )
    return axis.band((row["begin_us"], row["end_us"]) for row in rows).replace("#", "!")


def _former_leaders(tables: RunTables, partition: int) -> Iterator[str]:
    """The leaders that led on after the control plane had a later epoch."""
    rows = tables.rows(
        f"select * from acting_leaders where partition = {partition}"  # noqa: S608 - numbers
        f" and end_us - superseded_us >= {NOTABLE_US} order by superseded_us, begin_us, leader"
    )
    for row in rows[:_MOST_FORMER]:
        lost = ""
        if row["records_lost"]:
            is_or_are = "is" if row["records_lost"] == 1 else "are"
            records = counted(row["records_lost"], "record")
            lost = f"; {records} that it acknowledged in this epoch {is_or_are} lost"
        yield (
            f"broker {row['leader']} led on in epoch {row['leader_epoch']} from "
            f"{time_text(row['superseded_us'])} to {time_text(row['end_us'])}, while the control "
            f"plane had a later epoch{lost}"
        )


def _times_of_interest(tables: RunTables, axis: TimeAxis) -> list[tuple[int, str]]:
    """The edges of faults within the axis, the first ones, and the end of it."""
    edges = tables.rows(f"""
        with edges as (
            select begin_us as time_us, fault_name || ' begins' as edge from faults
            union all
            select end_us, fault_name || ' ends' from faults where ended
        )
        select time_us, edge from edges
        where time_us >= {axis.begin_us} and time_us < {axis.end_us}
        order by time_us, edge
    """)  # noqa: S608 - numbers
    inside = [(row["time_us"], row["edge"]) for row in edges]
    return [*inside[: _MOST_TIMES - 1], (axis.end_us, "the end")]


def _table(
    run: Run,
    partition: int,
    replicas: list[ReplicaTimes],
    times: list[tuple[int, str]],
) -> list[str]:
    """High watermark and log end offset of each replica at some times."""
    ends = sampled_ends(run, partition, [time_us for time_us, _ in times])
    heads = [f"{short_seconds_text(time_us)} {what}"[:20] for time_us, what in times]
    lines = ["".join([f"{'':<11}", *(f"{head:>22}" for head in heads)])]
    lines.append("".join([f"{'':<11}", *(f"{'HW':>12}{'LEO':>10}" for _ in times)]))
    for replica in replicas:
        cells = [
            _cell(sample, replica.at(time_us))
            for (time_us, _), sample in zip(times, ends[replica.broker], strict=True)
        ]
        lines.append("".join([f"{f'broker {replica.broker}':<11}", *cells]))
    return lines


def _cell(sample: Ends | None, standing: Standing) -> str:
    if sample is None:
        return f"{MARKS[standing]:>4}{'-':>8}{'-':>10}"
    return f"{MARKS[standing]:>4}{sample.high_watermark:>8}{sample.log_end_offset:>10}"
