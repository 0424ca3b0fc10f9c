"""Values that the simulator shows a step later, or earlier, than recorded.

A recording observes its cluster at some moments. If it observes during a change, a millisecond
decides whether the change is seen after this step or after the next. A field that differs is
*shifted* if the simulator shows its recorded value of a step before or after. Writes of a
partition's state are shifted if two steps together have the writes that were recorded of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from tidegauge.laboratory.conformance.comparison import (
    BROKER_RECORDS,
    EXACT,
    VARIED,
    WRITES,
    Field,
    value_at,
)
from tidegauge.laboratory.conformance.recorded_schedule import ABSENT, RecordedStep, StateWrites
from tidegauge.laboratory.conformance.step_outcome import StepOutcome

#: Number of observations before or after a step that count.
_LOOKS = 3

#: A step: recorded, and played.
Played = tuple[RecordedStep, StepOutcome]


def with_shift(field: Field, steps: Sequence[Played], place: int) -> Field:
    """The field of the step at a place, marked if it is shifted."""
    if field.equal or field.kind not in (EXACT, VARIED):
        return field
    if field.path.startswith((WRITES, BROKER_RECORDS)):
        shifted = _writes_are_shifted(field.path, steps, place)
    else:
        before = _nearest_other(field, steps[:place][::-1])
        behind = _nearest_other(field, steps[place + 1 :])
        shifted = field.simulated in [*before, *behind]
    return replace(field, shifted=shifted)


def _nearest_other(field: Field, steps: Sequence[Played]) -> list[Any]:
    """The recorded value of the field in the first of these steps with another value."""
    here = field.recorded if field.kind == VARIED else [field.recorded]
    looks = (step for step, _ in steps if step.observed is not None)
    for step in islice(looks, _LOOKS):
        values = _recorded_values(step, field.path)
        if values and any(value not in here for value in values):
            return values
    return []


def _recorded_values(step: RecordedStep, path: str) -> list[Any]:
    """The values of a step's repeats at a path: none, one for all, or one for each."""
    if step.observed is None:
        return []
    exact = value_at(step.observed.exact, path)
    return step.observed.varies.get(path, []) if exact is ABSENT else [exact]


def _writes_are_shifted(path: str, steps: Sequence[Played], place: int) -> bool:
    return any(
        first >= 0 and first + 1 < len(steps) and _same_writes(path, steps[first : first + 2])
        for first in (place - 1, place)
    )


def _same_writes(path: str, steps: Sequence[Played]) -> bool:
    """Whether these steps together have the writes that were recorded of them."""
    sort, _, name = path.partition(".")
    simulated = [
        each.columns for _, outcome in steps for each in getattr(outcome, sort).get(name, [])
    ]
    (first, second) = (_repeats((getattr(step, sort) or {}).get(name)) for step, _ in steps)
    return any(one + other == simulated for one in first for other in second)


def _repeats(writes: StateWrites | None) -> list[list[list[Any]]]:
    """The writes that were recorded in a step, of each repeat if they differ."""
    if writes is None:
        return [[]]
    return writes.writes_by_repeat if writes.exact is False else [writes.writes]
