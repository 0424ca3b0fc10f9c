"""``tidegauge picture``: the cluster over time, a line for each kind of trouble."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegauge.scenario.text.counted import counted
from tidegauge.simulation.durations import short_time_text
from tidegauge.views.fault_bands import fault_lines
from tidegauge.views.time_axis import LABEL_WIDTH, TimeAxis

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray
    from rich.console import Console

    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import RunFolder

#: The lines of a picture, of thirty, that are left for faults.
_MOST_FAULTS = 13
#: Partition-seconds: beyond this, tenths have no room and no use.
_TENTHS_UP_TO = 100_000

#: Kinds of rows that are counted, as the line calls them.
_COUNTED = {
    "isr_shrunk": "ISR shrinks",
    "isr_expanded": "ISR expands",
    "removed_from_isr": "ISR removals",
    "leader_elected": "leaders elected",
}


def show_cluster(out: Console, run: RunFolder, names: Names, axis: TimeAxis) -> None:
    """Print the picture of a whole cluster."""
    from rich.text import Text

    from tidegauge.history.fault_spans import fault_spans

    partitions, brokers = len(names.partitions), len(names.brokers)
    out.print(
        f"{counted(brokers, 'broker')}, {counted(partitions, 'partition')}; {scale_text(axis)}\n",
        style="bold",
    )
    times, ruler = axis.marks()
    out.print(Text(f"{'':{LABEL_WIDTH}}{times}"), soft_wrap=True)
    out.print(Text(f"{'partitions':<17}{'most':>7}{'seconds':>11}  {ruler}"), soft_wrap=True)
    for line in _gauges(run, axis):
        out.print(Text(line), soft_wrap=True)
    out.print(Text(f"{'changes':<17}{'most':>7}{'all':>11}  {ruler}"), soft_wrap=True)
    for line in _counts(run, axis):
        out.print(Text(line), soft_wrap=True)
    bands = list(fault_lines(fault_spans(run), names, axis, _MOST_FAULTS))
    out.print(Text(f"{'faults' if bands else 'no faults':<{LABEL_WIDTH}}{ruler}"), soft_wrap=True)
    for line in bands:
        out.print(Text(line, style="yellow"), soft_wrap=True)
    out.print(
        "\nA bar is the maximum within its character, or the number of changes; the highest bar of"
        "\na line is its `most`. `seconds` are partition-seconds. # marks an active fault.",
        style="dim",
    )


def scale_text(axis: TimeAxis) -> str:
    """The span and the scale of the axis, in words."""
    each_us = (axis.end_us - axis.begin_us) / axis.width
    return (
        f"{short_time_text(axis.begin_us)} to {short_time_text(axis.end_us)}, "
        f"{short_time_text(round(each_us))} a character"
    )


def _gauges(run: RunFolder, axis: TimeAxis) -> Iterator[str]:
    from tidegauge.history.cluster_history import cluster_history

    history = cluster_history(run)
    for name, values in (
        ("offline", history.offline),
        ("under min ISR", history.under_min_isr),
        ("at min ISR", history.at_min_isr),
        ("under-replicated", history.under_replicated),
    ):
        highest = axis.highest(history.times_us, values)
        seconds = axis.area_seconds(history.times_us, values)
        total = f"{seconds:,.1f}" if seconds < _TENTHS_UP_TO else f"{seconds:,.0f}"
        yield _line(name, max(highest), total, axis.bars(highest))


def _counts(run: RunFolder, axis: TimeAxis) -> Iterator[str]:
    for kind, name in _COUNTED.items():
        counted = axis.counted(_times_us(run, kind))
        yield _line(name, max(counted), f"{sum(counted):,}", axis.bars(counted))


def _times_us(run: RunFolder, kind: str) -> NDArray[np.int64]:
    """The times of the rows of a kind; an election of the same leader does not count."""
    import numpy as np

    table = run.table(kind)
    if not table:
        return np.zeros(0, np.int64)
    if kind != "leader_elected":
        return table["time_us"]
    times_us: NDArray[np.int64] = table["time_us"][table["leader"] != table["old_leader"]]
    return times_us


def _line(name: str, most: int, total: str, bars: str) -> str:
    return f"{name:<17}{most:>7,}{total:>11}  {bars}".rstrip()
