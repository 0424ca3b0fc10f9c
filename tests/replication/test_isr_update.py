"""Changing the ISR: the pending state, and every answer to it in every release."""

from __future__ import annotations

import pytest

from replication_stories import LAG_MS, Leader, leader_and_isr
from tidegauge.replication import errors
from tidegauge.replication.isr_update import (
    COMMITTED,
    IGNORED,
    PROPOSED,
    RESENT,
    REVERTED,
    STAYS_PENDING,
    handle_isr_update,
    handle_isr_update_error,
    high_watermark_may_move,
    isr_is_pending_first,
    isr_table_size,
    place_in_isr,
)
from tidegauge.replication.release_rules import ISR_APPENDED, ISR_HASHED
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import EMPTY, pack, unpack

#: One release of each column of the table below.
COLUMNS = ["2.7", "2.8", "3.0", "3.1", "3.2", "3.3", "3.6", "3.9"]

#: What an error does to a pending change, by release: the table of Kafka's sources.
ERRORS = {
    errors.UNKNOWN_TOPIC_OR_PARTITION: [STAYS_PENDING] * 8,
    errors.FENCED_LEADER_EPOCH: [STAYS_PENDING] * 8,
    errors.INVALID_UPDATE_VERSION: [STAYS_PENDING] * 8,
    errors.OPERATION_NOT_ATTEMPTED: [RESENT] * 3 + [REVERTED] * 5,
    errors.INVALID_REQUEST: [RESENT] * 4 + [STAYS_PENDING] * 4,
    errors.NOT_CONTROLLER: [RESENT] * 8,
    errors.STALE_BROKER_EPOCH: [RESENT] * 8,
    errors.UNKNOWN_SERVER_ERROR: [RESENT] * 8,
}
#: Errors that the controller knows from 3.3 on.
ERRORS_SINCE_3_3 = {
    errors.INELIGIBLE_REPLICA: REVERTED,
    errors.UNKNOWN_TOPIC_ID: STAYS_PENDING,
    errors.NEW_LEADER_ELECTED: STAYS_PENDING,
}


def joining(release: str) -> Leader:
    """The leader has asked the controller to let replica 1 in."""
    leader = Leader(release, replicas=2, isr=[0], records=5)
    leader.is_fetched_by(1, offset=5)
    assert leader.maximal_isr == [0, 1]
    assert leader.isr == [0]
    return leader


def leaving(release: str, protocol: str | None = None) -> Leader:
    """Replica 1 has lagged for too long and has missed one record."""
    leader = Leader(release, protocol, replicas=2, isr=[0, 1], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.appends()
    leader.waits(LAG_MS + 1)
    assert leader.checks_its_isr() == [1]
    return leader


@pytest.mark.parametrize(
    ("release", "error", "outcome"),
    [
        pytest.param(release, error, outcome, id=f"{release}-{errors.NAMES[int(error)]}")
        for error, outcomes in ERRORS.items()
        for release, outcome in zip(COLUMNS, outcomes, strict=True)
    ],
)
def test_what_an_error_does_to_the_pending_change(release: str, error: int, outcome: int) -> None:
    """AlterIsr (2.7 - 3.1) and AlterPartition (KIP-497)."""
    leader = joining(release)
    assert leader.is_answered(error) == outcome
    still_pending = outcome != REVERTED
    assert leader.maximal_isr == ([0, 1] if still_pending else [0])
    assert (leader.partition.proposed_isr != EMPTY) == still_pending
    assert leader.isr == [0]


@pytest.mark.parametrize("release", ["3.3", "3.9"])
@pytest.mark.parametrize("error", ERRORS_SINCE_3_3, ids=lambda error: errors.NAMES[int(error)])
def test_what_the_errors_of_3_3_do_to_it(release: str, error: int) -> None:
    """A replica whose broker is fenced is refused (KIP-841); topics have ids."""
    assert joining(release).is_answered(error) == ERRORS_SINCE_3_3[error]


@pytest.mark.parametrize("release", COLUMNS)
def test_success_commits(release: str) -> None:
    leader = joining(release)
    version = leader.partition.partition_epoch
    assert leader.is_answered() == COMMITTED
    assert leader.isr == leader.maximal_isr == [0, 1]
    assert leader.partition.proposed_isr == EMPTY
    assert leader.partition.partition_epoch == version + 1


@pytest.mark.parametrize("release", COLUMNS)
@pytest.mark.parametrize(("epochs_on", "versions_on"), [(1, 1), (-1, 1), (0, -1)])
def test_an_answer_of_another_term_or_an_older_version_changes_nothing(
    release: str, epochs_on: int, versions_on: int
) -> None:
    leader = joining(release)
    partition = leader.partition
    answer = leader_and_isr(
        0, [0, 1], partition.leader_epoch + epochs_on, partition.partition_epoch + versions_on
    )
    proposed = partition.proposed_isr
    assert handle_isr_update(leader.rules, partition, proposed, answer) == STAYS_PENDING
    assert leader.isr == [0]


@pytest.mark.parametrize(
    ("release", "outcome"),
    [
        *[("2.7.1", STAYS_PENDING), ("2.7.2", COMMITTED)],
        *[("2.8.0", STAYS_PENDING), ("2.8.1", COMMITTED)],
        *[("3.0.0", COMMITTED), ("3.9", COMMITTED)],
    ],
)
def test_the_controller_has_stored_that_isr_already(release: str, outcome: int) -> None:
    """KAFKA-12751: a request sent twice gets an equal version, and the leader hung in pending."""
    leader = joining(release)
    partition = leader.partition
    answer = leader_and_isr(0, [0, 1], partition.leader_epoch, partition.partition_epoch)
    assert handle_isr_update(leader.rules, partition, partition.proposed_isr, answer) == outcome


def test_a_leader_and_isr_overtakes_the_answer() -> None:
    """Whatever the controller says to a change that has been replaced, it is too late."""
    leader = joining("2.8")
    proposed = leader.partition.proposed_isr
    leader.is_elected([0])
    assert leader.maximal_isr == [0]
    answer = leader_and_isr(0, [0, 1], leader.partition.leader_epoch, 99)
    assert handle_isr_update(leader.rules, leader.partition, proposed, answer) == IGNORED
    late_error = errors.UNKNOWN_SERVER_ERROR
    outcome = handle_isr_update_error(leader.rules, leader.partition, proposed, late_error)
    assert outcome == IGNORED
    assert leader.isr == [0]


def test_an_answer_to_another_change_than_the_pending_one_is_ignored() -> None:
    leader = joining("2.8")
    answer = leader_and_isr(0, [0], leader.partition.leader_epoch, 99)
    assert handle_isr_update(leader.rules, leader.partition, pack([0]), answer) == IGNORED
    assert leader.maximal_isr == [0, 1]


def test_after_it_was_reverted_the_next_fetch_proposes_again() -> None:
    leader = joining("3.3")
    leader.is_answered(errors.INELIGIBLE_REPLICA)
    leader.is_fetched_by(1, offset=5)
    assert leader.maximal_isr == [0, 1]


def test_what_stays_pending_is_not_proposed_again_before_the_next_leader_and_isr() -> None:
    leader = joining("3.3")
    leader.is_answered(errors.INVALID_UPDATE_VERSION)
    leader.is_fetched_by(1, offset=5)
    assert unpack(leader.partition.proposed_isr) == [0, 1]
    leader.is_elected([0])
    leader.is_fetched_by(1, offset=5)
    assert leader.is_answered() == COMMITTED


@pytest.mark.parametrize(
    ("release", "high_watermark"), [("2.7", 5), ("2.8", 5), ("3.0", 5), ("3.1", 6), ("3.9", 6)]
)
def test_a_confirmed_shrink_moves_the_high_watermark_from_3_1_on(
    release: str, high_watermark: int
) -> None:
    """KAFKA-13091: before, it was attempted when the shrink was proposed, which is too early."""
    leader = leaving(release)
    assert leader.high_watermark == 5
    assert leader.is_answered() == COMMITTED
    assert leader.high_watermark == high_watermark
    leader.attempt_high_watermark()
    assert leader.high_watermark == 6


@pytest.mark.parametrize(
    ("release", "protocol", "attempts"),
    [("2.7", None, True), ("3.0", None, True), ("3.0", "2.6", False), ("3.1", None, False)],
)
def test_whether_a_proposed_shrink_is_an_occasion_to_move_it(
    release: str, protocol: str | None, attempts: bool
) -> None:
    """KAFKA-13091: with AlterIsr it was, in vain, up to 3.0."""
    assert high_watermark_may_move(rules_of(release, protocol), PROPOSED) == attempts


@pytest.mark.parametrize(
    ("release", "protocol"), [("2.6", None), ("2.7", "2.6"), ("2.8", "2.7-IV1"), ("3.9", "2.6")]
)
def test_a_leader_that_writes_zookeeper_moves_it_with_the_shrink(
    release: str, protocol: str | None
) -> None:
    """The write has succeeded when the leader looks at its high watermark."""
    leader = leaving(release, protocol)
    assert leader.isr == [0]
    assert leader.high_watermark == 6


@pytest.mark.parametrize(
    ("release", "protocol", "pending"),
    [
        *[("2.6", None, False), ("2.7", "2.7-IV1", False), ("2.7", "2.7-IV2", True)],
        *[("2.8", "0.10.2", True), ("2.8", None, True)],
    ],
)
def test_which_leader_enters_a_pending_state(
    release: str, protocol: str | None, pending: bool
) -> None:
    """KAFKA-10825: from 2.8 on writing ZooKeeper goes through the same states."""
    assert isr_is_pending_first(rules_of(release, protocol)) == pending


def test_a_replica_joins_at_the_end_of_the_list_whatever_the_assignment_says() -> None:
    """As in ZooKeeper: after 1 was away, [0, 1, 2] became [0, 2, 1]."""
    leader = Leader("2.6", records=5)
    leader.is_fetched_by(2, offset=5)
    leader.appends()
    leader.waits(LAG_MS + 1)
    leader.is_fetched_by(2, offset=6)
    assert leader.checks_its_isr() == [1]
    leader.is_fetched_by(1, offset=6)
    assert leader.isr == [0, 2, 1]


@pytest.mark.parametrize(
    ("is_expansion", "brokers", "in_order"),
    [
        # Schedule y3_isr_order_of_ids of real brokers of 4.4.0.
        (True, [15, 2, 17], [17, 2, 15]),
        (False, [15, 17, 2], [17, 2, 15]),
        (False, [15, 2], [2, 15]),
        # Values of the set of Scala 2.13.18 for the calls of prepareIsrExpand, prepareIsrShrink.
        (True, [3, 9], [9, 3]),
        (False, [3, 9], [3, 9]),
        (True, [33, 17, 1], [1, 17, 33]),
        (True, [1, 65537], [65537, 1]),
        (True, [1, 2, 3, 8, 11], [8, 1, 2, 3, 11]),
        (False, [1, 2, 3, 8, 11], [1, 2, 3, 8, 11]),
        (True, [11, 8, 4, 3, 2, 1], [1, 2, 3, 4, 8, 11]),
        (True, [*range(9, 19), 33], [16, 17, 33, 18, *range(9, 16)]),
        (False, [*range(9, 20), 33], [33, *range(9, 20)]),
    ],
)
def test_from_4_2_on_a_leader_names_the_isr_in_the_order_of_a_hash_table(
    is_expansion: bool, brokers: list[int], in_order: list[int]
) -> None:
    """Partition.prepareIsrExpand, prepareIsrShrink@4.2.0; before, a member that joins is last."""
    size = isr_table_size(len(brokers), is_expansion)
    assert sorted(brokers, key=lambda broker: int(place_in_isr(broker, size))) == in_order
    assert rules_of("4.1").isr_order == ISR_APPENDED
    assert rules_of("4.2.0").isr_order == ISR_HASHED
