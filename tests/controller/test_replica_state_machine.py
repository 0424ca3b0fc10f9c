"""The replica state machine: a legal transition of the table, or a refusal."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.controller.partitions.replica_state_machine import (
    NEW_REPLICA,
    NON_EXISTENT_REPLICA,
    OFFLINE_REPLICA,
    ONLINE_REPLICA,
    REPLICA_DELETION_INELIGIBLE,
    REPLICA_DELETION_STARTED,
    REPLICA_DELETION_SUCCESSFUL,
    VALID_PREVIOUS_STATES,
    may_enter,
)
from tidegauge.replication.releases import rules_of

RULES = rules_of("2.6")

STATES = [
    *[NEW_REPLICA, ONLINE_REPLICA, OFFLINE_REPLICA, NON_EXISTENT_REPLICA],
    *[REPLICA_DELETION_STARTED, REPLICA_DELETION_SUCCESSFUL, REPLICA_DELETION_INELIGIBLE],
]


@settings(deadline=None)
@given(state=st.sampled_from(STATES), target=st.sampled_from(STATES))
def test_any_state_and_any_target(state: int, target: int) -> None:
    """All of the table and nothing else; the compiled rule reads it as bits."""
    assert bool(may_enter(RULES, state, target)) == (state in VALID_PREVIOUS_STATES[target])


def test_the_life_of_a_replica() -> None:
    """Created, its broker dies, cannot be deleted, returns, is deleted."""
    life = [
        *[NON_EXISTENT_REPLICA, NEW_REPLICA, ONLINE_REPLICA, OFFLINE_REPLICA],
        *[REPLICA_DELETION_INELIGIBLE, ONLINE_REPLICA, OFFLINE_REPLICA],
        *[REPLICA_DELETION_STARTED, REPLICA_DELETION_SUCCESSFUL, NON_EXISTENT_REPLICA],
    ]
    for state, target in pairwise(life):
        assert may_enter(RULES, state, target)


@pytest.mark.parametrize("state", [NEW_REPLICA, ONLINE_REPLICA, REPLICA_DELETION_INELIGIBLE])
def test_only_a_replica_that_is_offline_is_deleted(state: int) -> None:
    """StopReplica first makes it stop fetching."""
    assert not may_enter(RULES, state, REPLICA_DELETION_STARTED)


@pytest.mark.parametrize("target", [ONLINE_REPLICA, OFFLINE_REPLICA, NEW_REPLICA])
def test_a_deletion_that_has_started_ends_in_success_or_in_ineligible(target: int) -> None:
    assert not may_enter(RULES, REPLICA_DELETION_STARTED, target)
    assert may_enter(RULES, REPLICA_DELETION_STARTED, REPLICA_DELETION_SUCCESSFUL)
    assert may_enter(RULES, REPLICA_DELETION_STARTED, REPLICA_DELETION_INELIGIBLE)


@pytest.mark.parametrize(("release", "legal"), [("2.2", False), ("2.3", True), ("3.9", True)])
def test_a_replica_whose_broker_is_down_is_left_out_of_a_deletion_from_2_3_on(
    release: str, legal: bool
) -> None:
    """KAFKA-8237: before, only a deletion that had started could turn ineligible."""
    entered = may_enter(rules_of(release), OFFLINE_REPLICA, REPLICA_DELETION_INELIGIBLE)
    assert bool(entered) == legal
