"""Faults and steps on the axis of time: a line for each, or for each kind if they are many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.report.moved_replicas import moving_us
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.time_axis import LABEL_WIDTH, TimeAxis

#: When a fault was on.
Times: TypeAlias = list[tuple[int, int]]

#: The number of faults of a kind that keep their names, however many others there are.
_FEW = 1
#: Room for the name of a fault.
_NAME_WIDTH = LABEL_WIDTH - 2


#: Faults, and steps that begin or end none.
_BANDS = """
    select fault_kind as kind, fault_name || ': ' || fault_text as name, begin_us, end_us,
        null as step
    from faults
    union all
    select 'step ' || action, 'step ' || cast(step + 1 as string) || ': ' || step_text, taken_us,
        coalesce(over_us, taken_us), step
    from steps where taken_us is not null and action not in ('begin_fault', 'end_fault', 'wait')
    order by begin_us, name, kind, end_us, step
"""


def fault_lines(
    run: RunFolder, tables: RunTables, axis: TimeAxis, most_lines: int
) -> Iterator[str]:
    """The faults and steps within the axis, in at most ``most_lines`` lines.

    A step that moves replicas lasts until the last one is moved.
    """
    moving = {} if run.summary is None or run.is_of_logs else moving_us(run.summary)
    by_kind: dict[str, dict[str, Times]] = {}
    for each in tables.rows(_BANDS):
        begin_us = each["begin_us"]
        end_us = max(each["end_us"], begin_us + moving.get(each["step"], 0))
        if begin_us < axis.end_us and end_us >= axis.begin_us:
            of_kind = by_kind.setdefault(each["kind"], {})
            of_kind.setdefault(each["name"], []).append((begin_us, end_us))
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
