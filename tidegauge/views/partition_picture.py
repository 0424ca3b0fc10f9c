"""``tidegauge picture --partition``: the role and the log end of each replica over time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tidegauge.history.replica_history import (
    Ends,
    ReplicaTimes,
    Standing,
    replica_times,
    sampled_ends,
)
from tidegauge.simulation.durations import short_time_text
from tidegauge.views.cluster_picture import scale_text
from tidegauge.views.fault_bands import fault_lines
from tidegauge.views.time_axis import LABEL_WIDTH, TimeAxis

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.history.fault_spans import FaultSpan
    from tidegauge.history.story import Names
    from tidegauge.traces.run_folder import RunFolder

#: The standing of a replica, in one character.
MARKS = {
    Standing.LEADER: "L",
    Standing.IN_SYNC: "=",
    Standing.OUT: ".",
    Standing.DOWN: "x",
    Standing.ABSENT: " ",
}
#: In a stretch of time with several, the first of these is shown; else the last one.
_WORST = (Standing.DOWN, Standing.OUT)

_MOST_FAULTS = 5
#: Columns of the table of ends, each of some twenty characters.
_MOST_TIMES = 4


def show_partition(
    out: Console, run: RunFolder, names: Names, partition: int, axis: TimeAxis
) -> None:
    """Print the picture of one partition."""
    from rich.text import Text

    from tidegauge.history.fault_spans import fault_spans

    spans = fault_spans(run)
    replicas = replica_times(run, names, partition)
    out.print(f"{names.partition(partition)}; {scale_text(axis)}\n", style="bold")
    times, ruler = axis.marks()
    lines = [f"{'':{LABEL_WIDTH}}{times}", f"{'replicas':<{LABEL_WIDTH}}{ruler}"]
    lines += [_replica_line(replica, axis) for replica in replicas]
    lines.append(f"{'no live leader':<{LABEL_WIDTH}}{_leaderless(replicas, axis)}".rstrip())
    lines += fault_lines(spans, names, axis, _MOST_FAULTS)
    lines += ["", *_table(run, names, partition, replicas, _times_of_interest(spans, names, axis))]
    for line in lines:
        out.print(Text(line), soft_wrap=True)
    out.print(
        "\nL leads, = in the ISR, . up but not in the ISR, x down or paused, # a fault is active.\n"
        "HW and LEO are those of the last sample before the time.",
        style="dim",
    )


def _replica_line(replica: ReplicaTimes, axis: TimeAxis) -> str:
    edges_us = axis.edges_us
    drawn = "".join(
        MARKS[_shown(replica, begin_us, end_us)] for begin_us, end_us in pairwise(edges_us)
    )
    return f"{f'broker {replica.broker}':<{LABEL_WIDTH}}{drawn}".rstrip()


def _shown(replica: ReplicaTimes, begin_us: int, end_us: int) -> Standing:
    """The standing that is shown for a stretch of time."""
    within = {replica.at(begin_us), *replica.between(begin_us, end_us)}
    for standing in _WORST:
        if standing in within:
            return standing
    return replica.at(end_us - 1)


def _leaderless(replicas: list[ReplicaTimes], axis: TimeAxis) -> str:
    """The times without a live leader."""
    changes = sorted({time_us for replica in replicas for time_us in replica.times_us})
    spans: list[tuple[int, int | None]] = []
    for begin_us, end_us in zip(changes, [*changes[1:], None], strict=True):
        standings = {replica.at(begin_us) for replica in replicas}
        if Standing.LEADER not in standings and standings != {Standing.ABSENT}:
            spans.append((begin_us, end_us))
    return axis.band(spans).replace("#", "!")


def _times_of_interest(
    spans: list[FaultSpan], names: Names, axis: TimeAxis
) -> list[tuple[int, str]]:
    """The edges of faults within the axis, the first ones, and the end of it."""
    edges = [(span.begin_us, f"{names.fault_name(span.fault)} begins") for span in spans]
    edges += [
        (span.end_us, f"{names.fault_name(span.fault)} ends")
        for span in spans
        if span.end_us is not None
    ]
    inside = sorted(edge for edge in edges if axis.begin_us <= edge[0] < axis.end_us)
    return [*inside[: _MOST_TIMES - 1], (axis.end_us, "the end")]


def _table(
    run: RunFolder,
    names: Names,
    partition: int,
    replicas: list[ReplicaTimes],
    times: list[tuple[int, str]],
) -> list[str]:
    """High watermark and log end offset of each replica at some times."""
    ends = sampled_ends(run, names, partition, [time_us for time_us, _ in times])
    heads = [f"{short_time_text(time_us)} {what}"[:20] for time_us, what in times]
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
