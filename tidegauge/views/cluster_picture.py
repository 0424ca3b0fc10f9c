"""``tidegauge picture``: the cluster over time, a line for each kind of trouble."""

from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.unavailable import LABELS, OF_CLIENTS
from tidegauge.runs.trace_events import Names
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import short_seconds_text, short_time_text
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.time_axis import LABEL_WIDTH, TimeAxis, fault_lines, faults_within

#: The lines of a picture, of thirty, that are left for faults.
_MOST_FAULTS = 8
#: Partition-seconds: beyond this, tenths have no room and no use.
_TENTHS_UP_TO = 100_000

#: Changes that are counted, as the line calls them.
_CHANGES = {
    "shrink": "ISR shrinks",
    "expand": "ISR expands",
    "removal": "ISR removals",
    "election": "leaders elected",
}


def show_cluster(
    out: Console, run: RunFolder, tables: RunTables, names: Names, axis: TimeAxis
) -> None:
    """Print the picture of a whole cluster."""
    _make(tables, axis)
    partitions, brokers = len(names.partitions), len(names.brokers)
    out.print(
        f"{counted(brokers, 'broker')}, {counted(partitions, 'partition')}; {scale_text(axis)}\n",
        style="bold",
    )
    times, ruler = axis.marks()
    for line in times:
        out.print(Text(f"{'':{LABEL_WIDTH}}{line}"), soft_wrap=True)
    out.print(Text(f"{'partitions':<17}{'most':>7}{'seconds':>11}  {ruler}"), soft_wrap=True)
    conditions = conditions_of(names)
    for condition, (most, seconds) in _gauges(tables, conditions, axis).items():
        total = f"{seconds:,.1f}" if seconds < _TENTHS_UP_TO else f"{seconds:,.0f}"
        line = _line(conditions[condition], max(most), total, axis.bars(most))
        out.print(Text(line), soft_wrap=True)
    out.print(Text(f"{'changes':<17}{'most':>7}{'all':>11}  {ruler}"), soft_wrap=True)
    for change, counts in _counts(tables, axis).items():
        line = _line(_CHANGES[change], max(counts), f"{sum(counts):,}", axis.bars(counts))
        out.print(Text(line), soft_wrap=True)
    bands = list(fault_lines(run, tables, axis, _MOST_FAULTS))
    out.print(Text(f"{'faults' if bands else 'no faults':<{LABEL_WIDTH}}{ruler}"), soft_wrap=True)
    for line in bands:
        out.print(Text(line, style="yellow"), soft_wrap=True)
    stalled = "" if names.is_of_logs else " `stalled`: a write, or a read, waits for over 1 s;"
    out.print(
        "\nA bar is the maximum within its character, or the number of changes; #: a fault or step "
        f"is on.\n`seconds`: partition-seconds, without start-up;{stalled}\n`not accepting`: no "
        "leader of the newest epoch runs; `offline`: none is registered; min ISR: if led.",
        style="dim",
    )


def cluster_for_programs(tables: RunTables, names: Names, axis: TimeAxis) -> dict[str, Any]:
    """The picture of a whole cluster as numbers: those of each part of the axis."""
    _make(tables, axis)
    gauges = _gauges(tables, conditions_of(names), axis)
    return {
        "edges_us": axis.edges_us,
        "conditions": {
            name: {"most_partitions": most, "partition_seconds": seconds}
            for name, (most, seconds) in gauges.items()
        },
        "changes": _counts(tables, axis),
        "faults": faults_within(tables, axis),
    }


def _make(tables: RunTables, axis: TimeAxis) -> None:
    tables.make(("faults", "steps", "condition_counts", "isr_changes", "elections", "run_figures"))
    axis.told_to(tables)


def scale_text(axis: TimeAxis) -> str:
    """The span and the scale of the axis, in words."""
    each_us = (axis.end_us - axis.begin_us) / axis.width
    return (
        f"{short_time_text(axis.begin_us)} to {short_time_text(axis.end_us)}, "
        f"{short_seconds_text(round(each_us))} a character"
    )


def conditions_of(names: Directory) -> dict[str, str]:
    """The conditions of partitions in a run, and their names in lines.

    Logs of real brokers have no clients.
    """
    absent = OF_CLIENTS if names.is_of_logs else {}
    return {name: label for name, label in LABELS.items() if name not in absent}


def _gauges(
    tables: RunTables, conditions: Iterable[str], axis: TimeAxis
) -> dict[str, tuple[list[int], float]]:
    """For each condition the most partitions in each part, and the partition-seconds."""
    highest = tables.rows("""
        select condition, part, max(partitions) as most
        from parts as p
        join condition_counts as c on c.begin_us < p.end_us and p.begin_us < c.end_us
        group by condition, part order by condition, part
    """)
    areas = tables.rows(f"""
        select condition, sum(
            (least(end_us, {axis.end_us}) - greatest(begin_us, {axis.begin_us})) * partitions
        ) / 1e6 as seconds
        from condition_counts where begin_us < {axis.end_us} and end_us > {axis.begin_us}
        group by condition order by condition
    """)  # noqa: S608 - numbers
    seconds_of = {row["condition"]: float(row["seconds"]) for row in areas}
    return {
        condition: (
            axis.in_parts((row for row in highest if row["condition"] == condition), "most"),
            seconds_of.get(condition, 0.0),
        )
        for condition in conditions
    }


def _counts(tables: RunTables, axis: TimeAxis) -> dict[str, list[int]]:
    """The number of changes of each sort in each part."""
    counts = tables.rows("""
        with changes as (
            select run, change, time_us,
                case when change = 'removal' then size(brokers) else 1 end as times
            from isr_changes
            union all
            select run, 'election', time_us, 1 from elections where is_new
        )
        select change, part, sum(times) as times
        from parts as p
        join changes as c on c.time_us >= p.begin_us and c.time_us < p.end_us
        join run_figures as f on f.run = c.run and c.time_us > 1e6 * f.figures_from_seconds
        group by change, part order by change, part
    """)
    return {
        change: axis.in_parts((row for row in counts if row["change"] == change), "times")
        for change in _CHANGES
    }


def _line(name: str, most: int, total: str, bars: str) -> str:
    return f"{name:<17}{most:>7,}{total:>11}  {bars}".rstrip()
