"""Which requests of a controller a broker obeys: the fences against the past."""

from __future__ import annotations

import pytest

from replication_stories import Leader
from tidegauge.replication import errors
from tidegauge.replication.partition import (
    EPOCH_DURING_DELETE,
    NO_EPOCH,
    controller_request_error,
    leader_and_isr_error,
    skips_older_partition_epoch,
    stop_replica_error,
)
from tidegauge.replication.releases import rules_of

NOT_SENT = -1


@pytest.mark.parametrize("release", ["0.10.2", "2.6", "3.9"])
def test_a_controller_that_has_been_replaced_is_not_obeyed(release: str) -> None:
    rules = rules_of(release)
    assert controller_request_error(rules, 4, 3, 70, 70) == errors.STALE_CONTROLLER_EPOCH
    assert controller_request_error(rules, 4, 4, 70, 70) == errors.NONE
    assert controller_request_error(rules, 4, 5, 70, 70) == errors.NONE


@pytest.mark.parametrize(
    ("release", "protocol", "broker_epoch", "error"),
    [
        ("2.1", None, 69, errors.NONE),
        ("2.2", None, 69, errors.STALE_BROKER_EPOCH),
        ("3.9", None, 69, errors.STALE_BROKER_EPOCH),
        ("3.9", "2.1", 69, errors.NONE),
        ("2.6", None, 70, errors.NONE),
        ("2.6", None, NOT_SENT, errors.NONE),
        ("2.6", None, 71, errors.NONE),
    ],
)
def test_a_request_to_the_brokers_previous_life_is_not_obeyed_from_2_2_on(
    release: str, protocol: str | None, broker_epoch: int, error: int
) -> None:
    """KIP-380: the broker epoch is the czxid of its registration.

    The controller may know of the registration before the broker does.
    """
    assert controller_request_error(rules_of(release, protocol), 4, 4, 70, broker_epoch) == error


def test_the_brokers_own_epoch_is_checked_first() -> None:
    """KafkaApis looks at it before ReplicaManager sees the request."""
    assert controller_request_error(rules_of("2.6"), 4, 3, 70, 69) == errors.STALE_BROKER_EPOCH


@pytest.mark.parametrize(
    ("leader_epoch", "is_replica", "error"),
    [
        (6, True, errors.NONE),
        (9, True, errors.NONE),
        (5, True, errors.STALE_CONTROLLER_EPOCH),
        (4, True, errors.STALE_CONTROLLER_EPOCH),
        (6, False, errors.UNKNOWN_TOPIC_OR_PARTITION),
        (5, False, errors.STALE_CONTROLLER_EPOCH),
    ],
)
def test_only_a_greater_leader_epoch_is_obeyed(
    leader_epoch: int, is_replica: bool, error: int
) -> None:
    """The same epoch again is nothing new, and not being a replica is asked last."""
    assert leader_and_isr_error(rules_of("2.6"), 5, leader_epoch, is_replica, False) == error


def test_the_first_leader_and_isr_of_a_partition_is_obeyed() -> None:
    """A new partition has leader epoch 0, and a broker that knows none has -1."""
    rules = rules_of("2.6")
    assert leader_and_isr_error(rules, -1, 0, is_replica=True, is_offline=False) == errors.NONE


@pytest.mark.parametrize(
    ("release", "error"),
    [("0.11", errors.STALE_CONTROLLER_EPOCH), ("1.0", errors.KAFKA_STORAGE_ERROR)],
)
def test_a_failed_disk_comes_before_the_leader_epoch(release: str, error: int) -> None:
    """KIP-112: from 1.0 on a broker outlives a failed log directory."""
    rules = rules_of(release)
    assert leader_and_isr_error(rules, 5, 4, is_replica=True, is_offline=True) == error


@pytest.mark.parametrize(("release", "skipped"), [("3.2", False), ("3.3", True), ("3.9", True)])
def test_a_state_older_than_the_known_one_is_skipped_from_3_3_on(
    release: str, skipped: bool
) -> None:
    """KAFKA-13790: the answer to AlterPartition has overtaken the LeaderAndIsr."""
    leader = Leader(release, isr=[0], records=5)
    leader.is_fetched_by(1, offset=5)
    leader.is_answered()
    known = leader.partition.partition_epoch
    older = skips_older_partition_epoch(leader.rules, leader.partition, known - 1)
    assert older == skipped
    assert not skips_older_partition_epoch(leader.rules, leader.partition, known)


@pytest.mark.parametrize(
    ("release", "protocol", "older", "equal"),
    [
        ("2.5", None, errors.NONE, errors.NONE),
        ("2.6", "2.5", errors.NONE, errors.NONE),
        ("2.6", None, errors.FENCED_LEADER_EPOCH, errors.FENCED_LEADER_EPOCH),
        ("3.4.0", None, errors.FENCED_LEADER_EPOCH, errors.FENCED_LEADER_EPOCH),
        ("3.4.1", None, errors.FENCED_LEADER_EPOCH, errors.NONE),
        ("3.9", None, errors.FENCED_LEADER_EPOCH, errors.NONE),
    ],
)
def test_a_stop_replica_is_fenced_by_the_leader_epoch_from_2_6_on(
    release: str, protocol: str | None, older: int, equal: int
) -> None:
    """KIP-570; KAFKA-13972: a cancelled reassignment stops replicas in the current epoch."""
    rules = rules_of(release, protocol)
    assert stop_replica_error(rules, 5, 4) == older
    assert stop_replica_error(rules, 5, 5) == equal
    assert stop_replica_error(rules, 5, 6) == errors.NONE


@pytest.mark.parametrize("leader_epoch", [EPOCH_DURING_DELETE, NO_EPOCH])
def test_a_stop_replica_that_deletes_the_topic_or_knows_no_epoch_is_obeyed(
    leader_epoch: int,
) -> None:
    """KIP-570: a deletion does not raise the leader epoch."""
    assert stop_replica_error(rules_of("2.6"), 5, leader_epoch) == errors.NONE
