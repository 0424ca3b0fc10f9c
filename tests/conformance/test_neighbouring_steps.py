"""What was recorded a step sooner or later: a race between a change and who looks at it."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.laboratory.conformance.comparison import (
    EXACT,
    SHIFTED,
    TIME,
    VARIED,
    Field,
    compare,
    with_shift,
)
from tidegauge.laboratory.conformance.played_state import StateWrite, StepOutcome
from tidegauge.laboratory.conformance.recorded_schedule import RecordedStep

LEADER = "partitions.t-0.zk.leader"

ELECTED = ["b3", 2, [2], 1, 1, 1]
EXPANDED = ["b2", 2, [2, 1], 1, 1, 2]


def step(number: int, leader: Any = None, *, varied: Any = None, writes: Any = None) -> Any:
    """A recorded step after which this leader was seen; None: nobody has looked."""
    recorded: dict[str, Any] = {"i": number, "step": {"op": "sleep"}}
    if leader is not None:
        recorded["obs"] = {"exact": {"partitions": {"t-0": {"zk": {"leader": leader}}}}}
    if varied is not None:
        recorded["obs"] = {"varies": {LEADER: varied}}
    if writes is not None:
        recorded["state_writes"] = {"t-0": {"exact": True, "writes": writes}}
    return RecordedStep.model_validate(recorded), StepOutcome()


def is_shifted(steps: list[Any], place: int, simulated: Any, kind: str = EXACT) -> bool:
    recorded = [1] if kind == VARIED else 1
    field = Field(place, LEADER, kind, recorded, simulated, equal=False)
    return SHIFTED in with_shift(field, steps, place).ways


@pytest.mark.parametrize(
    ("before", "behind", "simulated", "shifted"),
    [
        (3, 2, 3, True),  # what it was
        (3, 2, 2, True),  # what it becomes
        (3, 2, 4, False),
        (3, None, 2, False),
        (None, None, 3, False),
    ],
)
def test_a_field_is_shifted_if_it_was_so_before_or_becomes_so_next(
    before: Any, behind: Any, simulated: int, shifted: bool
) -> None:
    assert is_shifted([step(0, before), step(1, 1), step(2, behind)], 1, simulated) == shifted


def test_steps_with_the_same_value_or_without_a_look_are_passed_over() -> None:
    steps = [step(0, 4), step(1, 3), step(2, 1), step(3), step(4, 1)]
    assert is_shifted(steps, 4, 3)
    assert not is_shifted(steps, 4, 4)


def test_of_repeats_that_differ_each_value_counts() -> None:
    assert is_shifted([step(0, varied=[3, 2]), step(1, 1)], 1, 2)
    assert is_shifted([step(0, 3), step(1, varied=[1, 1])], 1, 3, VARIED)
    assert not is_shifted([step(0, varied=[3, 2]), step(1, 1)], 1, 4)


def test_a_time_is_not_shifted() -> None:
    field = Field(1, "waited_ms", TIME, (10, 20), 5, equal=False)
    steps = [step(0, 5), step(1, 10)]
    assert SHIFTED not in with_shift(field, steps, 1).ways


@pytest.mark.parametrize(
    ("written", "shifted"),
    [
        ([[], [ELECTED, EXPANDED]], True),
        ([[ELECTED, EXPANDED], []], True),
        ([[], [ELECTED]], False),
        ([[EXPANDED], [ELECTED]], False),
    ],
)
def test_writes_are_shifted_if_two_steps_together_have_them_all(
    written: list[list[list[Any]]], shifted: bool
) -> None:
    steps = [step(0, writes=[ELECTED]), step(1, writes=[EXPANDED])]
    for (_, outcome), writes in zip(steps, written, strict=True):
        outcome.state_writes["t-0"] = [StateWrite(columns, 0) for columns in writes]
    (field,) = [each for each in compare(*steps[0]) if each.path == "state_writes.t-0"]
    assert not field.equal
    assert (SHIFTED in with_shift(field, steps, 0).ways) == shifted
