"""The partition state machine: a legal transition of the table, or a refusal."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.controller.partitions.partition_changes import (
    NEW_PARTITION,
    NON_EXISTENT_PARTITION,
    OFFLINE_PARTITION,
    ONLINE_PARTITION,
    VALID_PREVIOUS_STATES,
    may_enter,
)

STATES = [NEW_PARTITION, ONLINE_PARTITION, OFFLINE_PARTITION, NON_EXISTENT_PARTITION]


@settings(deadline=None)
@given(state=st.sampled_from(STATES), target=st.sampled_from(STATES))
def test_any_state_and_any_target(state: int, target: int) -> None:
    """All of the table and nothing else; the compiled rule reads it as bits."""
    assert bool(may_enter(state, target)) == (state in VALID_PREVIOUS_STATES[target])


def test_the_life_of_a_partition() -> None:
    """Created, elected, without a leader, elected again, deleted."""
    life = [
        *[NON_EXISTENT_PARTITION, NEW_PARTITION, ONLINE_PARTITION, OFFLINE_PARTITION],
        *[ONLINE_PARTITION, OFFLINE_PARTITION, NON_EXISTENT_PARTITION],
    ]
    for state, target in pairwise(life):
        assert may_enter(state, target)


@pytest.mark.parametrize("state", [NEW_PARTITION, ONLINE_PARTITION])
def test_a_partition_goes_offline_before_it_is_gone(state: int) -> None:
    assert not may_enter(state, NON_EXISTENT_PARTITION)


def test_an_online_partition_elects_again_without_going_offline() -> None:
    """Preferred election, reassignment and controlled shutdown move a leader that works."""
    assert may_enter(ONLINE_PARTITION, ONLINE_PARTITION)
