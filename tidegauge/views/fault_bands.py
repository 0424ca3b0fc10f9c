"""Faults on the axis of time: a line for each, or for each kind if they are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeAlias

from tidegauge.views.time_axis import LABEL_WIDTH, TimeAxis

if TYPE_CHECKING:
    from tidegauge.history.fault_spans import FaultSpan
    from tidegauge.history.story import Names

#: When a fault was on; None is the end.
Times: TypeAlias = list[tuple[int, int | None]]

#: The number of faults of a kind that keep their names, however many others there are.
_FEW = 1
#: Room for the name of a fault.
_NAME_WIDTH = LABEL_WIDTH - 2


def fault_lines(
    spans: list[FaultSpan], names: Names, axis: TimeAxis, most_lines: int
) -> Iterator[str]:
    """The faults that are active within the axis, in at most ``room`` lines."""
    by_kind: dict[str, dict[str, Times]] = {}
    for span in spans:
        if span.begin_us < axis.end_us and (span.end_us or axis.end_us) >= axis.begin_us:
            of_kind = by_kind.setdefault(names.fault_kind(span.fault), {})
            when = (span.begin_us, span.end_us)
            of_kind.setdefault(names.fault_short(span.fault), []).append(when)
    bands = {name: times for of_kind in by_kind.values() for name, times in of_kind.items()}
    if len(bands) > most_lines:
        bands = dict(_joined(by_kind))
    room = most_lines if len(bands) <= most_lines else most_lines - 1
    for name, times in list(bands.items())[:room]:
        yield f"{_shortened(name):<{LABEL_WIDTH}}{axis.band(times)}"
    if len(bands) > room:
        yield f"... and {len(bands) - room} more"


def _joined(by_kind: dict[str, dict[str, Times]]) -> Iterator[tuple[str, Times]]:
    """One line for each kind of fault, unless it has few faults."""
    for kind, of_kind in by_kind.items():
        if len(of_kind) <= _FEW:
            yield from of_kind.items()
        else:
            times = [when for each in of_kind.values() for when in each]
            yield f"{len(times)} x {kind}", times


def _shortened(name: str) -> str:
    return name if len(name) <= _NAME_WIDTH else f"{name[: _NAME_WIDTH - 2]}.."
