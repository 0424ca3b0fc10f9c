"""Faults on the axis of time: a line for each, or for each kind if they are many."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tidegauge.commands.time_axis import LABEL_WIDTH, TimeAxis

if TYPE_CHECKING:
    from tidegauge.fault_spans import FaultSpan
    from tidegauge.story import Names

#: Room for what a fault is called.
_NAME_WIDTH = LABEL_WIDTH - 2


def fault_lines(
    spans: list[FaultSpan], names: Names, axis: TimeAxis, most_lines: int
) -> Iterator[str]:
    """The faults that are on within the axis, in at most so many lines."""
    by_name: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
    by_kind: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
    for span in spans:
        if span.begin_us >= axis.end_us or (span.end_us or axis.end_us) < axis.begin_us:
            continue
        when = (span.begin_us, span.end_us)
        by_name[names.fault_short(span.fault)].append(when)
        by_kind[names.fault_kind(span.fault)].append(when)
    bands = by_name
    if len(by_name) > most_lines:
        bands = {f"{len(times)} x {kind}": times for kind, times in by_kind.items()}
    for name, times in list(bands.items())[:most_lines]:
        yield f"{_shortened(name):<{LABEL_WIDTH}}{axis.band(times)}"


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 2]}.."
