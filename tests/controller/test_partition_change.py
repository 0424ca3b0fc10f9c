"""KRaft's one function of partition state gives each record that real controllers wrote.

The recordings are Kafka 4.1.0, so a switch of an older release has a test of its own here, with the
release in which the rule was read.
"""

from __future__ import annotations

import importlib
import inspect
from collections import Counter
from typing import Any

import pytest

from partition_replay import GOLDEN_KRAFT, Change, golden_kraft, replays
from replication_stories import with_fields
from tidegauge.compiled.records import new_record
from tidegauge.controller.kraft_partitions import partition_target as causes
from tidegauge.controller.kraft_partitions.alter_partition import (
    KRaftSwitches,
    alter_partition_error,
    altered_partition_error,
)
from tidegauge.controller.kraft_partitions.partition_change import (
    CHANGED,
    ELECTED_FROM_ELR,
    ELECTED_UNCLEANLY,
    LEADER_NAMED,
    NO_LEADER,
    UNCHANGED,
    create_partition,
    partition_change,
)
from tidegauge.replication import errors
from tidegauge.replication.kraft_releases import kraft_rules_of
from tidegauge.replication.records import PartitionRegistration
from tidegauge.replication.replica_list import EMPTY, pack, unpack

RECORDINGS = sorted(file.stem for file in GOLDEN_KRAFT.glob("*.json"))

#: Rules of ``partition_change.py`` that are wrong: what is replaced by what, and a recording that
#: notices.
BENT = {
    "the ISR's order elects": (
        "replica_list.first(replica_list.only(target.replicas, valid))",
        "replica_list.first(valid)",
        "b2_ar_order_not_isr_order",
    ),
    "the ELR is kept at min.insync.replicas": (
        "if replica_list.size(target.isr) < target.min_insync_replicas:",
        "if True:",
        "e6_elr_shrink_by_leader",
    ),
    "a shrink raises the leader epoch": (
        "switches.isr_shrink_raises_leader_epoch and is_shrink",
        "is_shrink",
        "a1_follower_kill",
    ),
    "an unclean shutdown keeps its place in the ELR": (
        "replica_list.without(elr, target.unclean_shutdown)",
        "elr",
        "e0_elr_member_returns_kill",
    ),
    "the last known leader is not elected": (
        "if is_known and nobody_is_in_sync and may_lead:",
        "if False:",
        "f1_rf2_kill_ret12",
    ),
    "a reassignment removes no replica": (
        "replicas = replica_list.without(target.replicas, target.removing)",
        "replicas = target.replicas",
        "s1_reassign",
    ),
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_each_partition_record_of_a_recording_follows_from_its_cause(name: str) -> None:
    for replay in replays(golden_kraft(name)):
        assert replay.compared
        assert not replay.differences, f"\n{replay.differences[0]}"


def test_the_recordings_have_each_cause() -> None:
    found: Counter[str] = Counter()
    for name in RECORDINGS:
        for replay in replays(golden_kraft(name)):
            found += replay.compared
    assert sum(found.values()) == 1556
    assert found == {
        "creation": 287,
        "AlterPartition with": 547,
        "fencing of": 341,
        "unfencing of": 109,
        "unclean registration": 110,
        "controlled shutdown": 130,
        "ElectLeaders 0": 19,
        "ElectLeaders 1": 3,
        "reassignment to": 8,
        "ClearElrRecord": 2,
    }


@pytest.mark.parametrize("bent", BENT)
def test_a_rule_that_is_wrong_gives_other_records(bent: str) -> None:
    right, wrong, name = BENT[bent]
    differences = [
        difference
        for replay in replays(golden_kraft(name), bent_change(right, wrong))
        for difference in replay.differences
    ]
    assert differences
    assert name in str(differences[0])


def bent_change(right: str, wrong: str) -> Change:
    """``partition_change`` with one piece of its source replaced, as plain Python."""
    module = importlib.import_module(partition_change.__module__)
    source = inspect.getsource(module)
    assert source.count(right) == 1
    plain = source.replace(right, wrong).replace("@inner_rule\n", "").replace("@rule\n", "")
    namespace: dict[str, Any] = {"__name__": "bent"}
    exec(compile(plain, "bent", "exec"), namespace)  # noqa: S102 - our own source
    change: Change = namespace["partition_change"]
    return change


def partition_of(**fields: Any) -> PartitionRegistration:
    """A partition of three replicas in slots 0, 1, 2, all in sync, led by 0; or other than that."""
    lists = {"replicas": [0, 1, 2], "isr": [0, 1, 2]} | fields
    packed = {name: pack(value) for name, value in lists.items() if isinstance(value, list)}
    return with_fields(new_record(PartitionRegistration), **({"leader": 0} | lists | packed))


def target_of(
    partition: PartitionRegistration, election: int = causes.ONLINE, min_insync_replicas: int = 1
) -> causes.PartitionTarget:
    """A change of the partition that begins."""
    target = new_record(causes.PartitionTarget)
    causes.target_as_is(target, partition, election, min_insync_replicas)
    return target


def switches(**on: int) -> KRaftSwitches:
    """The switches of a cluster, these on."""
    return with_fields(new_record(KRaftSwitches), **on)


@pytest.mark.parametrize("older", [True, False])
def test_a_shrink_raises_the_leader_epoch_below_3_6_iv0(older: bool) -> None:
    """KAFKA-15021, PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded@3.5.0."""
    partition = partition_of()
    target = target_of(partition)
    causes.remove_replica(target, 2)
    outcome = partition_change(
        switches(isr_shrink_raises_leader_epoch=older), partition, target, pack([0, 1])
    )
    assert outcome == (LEADER_NAMED if older else CHANGED)
    assert (partition.leader, partition.leader_epoch) == (0, int(older))
    assert (unpack(partition.isr), partition.partition_epoch) == ([0, 1], 1)

    # An ISR that grows never does.
    target = target_of(partition)
    causes.take_leaders_isr(target, pack([0, 1, 2]), False)
    rules = switches(isr_shrink_raises_leader_epoch=older)
    assert partition_change(rules, partition, target, pack([0, 1, 2])) == CHANGED


@pytest.mark.parametrize("older", [True, False])
def test_4_0_elects_a_last_known_leader_that_is_fenced(older: bool) -> None:
    """KAFKA-19522, PartitionChangeBuilder.canElectLastKnownLeader@4.0.0."""
    partition = partition_of(leader=NO_LEADER, isr=[], elr=[1], last_known_elr=[1])
    target = target_of(partition)
    causes.remove_after_unclean_shutdown(target, 1)
    rules = switches(eligible_leader_replicas=True, fenced_last_known_leader_elected=older)
    outcome = partition_change(rules, partition, target, EMPTY)
    assert unpack(partition.elr) == []
    if older:
        assert (outcome, partition.leader, partition.recovering) == (ELECTED_UNCLEANLY, 1, True)
        assert (unpack(partition.isr), unpack(partition.last_known_elr)) == ([1], [])
    else:
        assert (outcome, partition.leader, partition.recovering) == (CHANGED, NO_LEADER, False)
        assert (unpack(partition.isr), unpack(partition.last_known_elr)) == ([], [1])


#: A reassignment of PartitionReassignmentReplicasTest@4.3.1: replicas, target, an ISR without one
#: replica that is not moved, and whether it is complete in 3.7, 3.8 to 4.2, 4.3.
REASSIGNMENTS = [
    ([0, 1, 2], [1, 2, 3], [0, 1, 3], (True, False, True)),
    ([0, 1, 2], [0, 1, 2, 3], [0, 1, 3], (True, False, True)),
    ([0, 1, 2], [1, 2], [0, 1], (True, False, False)),
    ([0, 1, 2], [1, 3], [0, 3], (True, False, False)),
    ([0, 1, 2], [1, 2, 3], [0, 1, 2], (False, False, False)),
    ([0, 1, 2], [1, 2, 3], [0, 1, 2, 3], (True, True, True)),
    ([0, 1, 2], [1, 2], [0, 1, 2], (True, True, True)),
]


@pytest.mark.parametrize(("place", "release"), [(0, "3.7"), (1, "3.8"), (1, "4.2"), (2, "4.3")])
@pytest.mark.parametrize(("replicas", "wanted", "isr", "complete"), REASSIGNMENTS)
def test_the_replicas_that_a_reassignment_awaits_by_release(
    place: int,
    release: str,
    replicas: list[int],
    wanted: list[int],
    isr: list[int],
    complete: tuple[bool, ...],
) -> None:
    """KAFKA-15665, KAFKA-19975: PartitionReassignmentReplicas.maybeCompleteReassignment."""
    partition = partition_of(isr=[each for each in isr if each in replicas], replicas=replicas)
    rules = switches(reassignment_rule=kraft_rules_of(release).reassignment_rule)
    live = pack([0, 1, 2, 3])
    target = target_of(partition)
    causes.reassign(target, pack(wanted), live)
    partition_change(rules, partition, target, live)
    if partition.adding != EMPTY:
        target = target_of(partition)
        causes.take_leaders_isr(target, pack(isr), False)
        partition_change(rules, partition, target, live)
    assert (partition.adding == EMPTY and partition.removing == EMPTY) == complete[place]
    if complete[place]:
        assert unpack(partition.replicas) == wanted
        assert unpack(partition.isr) == [each for each in isr if each in wanted]
        # The epoch rises if replicas are removed, also where the leader stays.
        assert partition.leader_epoch == int(wanted[0] != 0)
        leads_no_longer = errors.NONE if wanted[0] == 0 else errors.NEW_LEADER_ELECTED
        assert altered_partition_error(partition, 0) == leads_no_longer


def test_replicas_to_be_removed_follow_by_broker_id() -> None:
    """PartitionReassignmentReplicas@4.1.0. Slots 0, 1, 2 are brokers 3, 1, 2."""
    target = target_of(partition_of())
    causes.reassign(target, pack([3]), pack([1, 2, 0, 3]))
    assert unpack(target.replicas) == [3, 1, 2, 0]


@pytest.mark.parametrize(("isr", "unclean"), [([0, 2], False), ([2], True)])
def test_a_cancelled_reassignment_keeps_what_it_did_not_add(isr: list[int], unclean: bool) -> None:
    """PartitionReassignmentRevert@4.1.0: if there is none, it is an unclean election."""
    partition = partition_of(
        replicas=[2, 0, 1], adding=[2], removing=[0, 1], isr=isr, leader=isr[0]
    )
    target = target_of(partition)
    assert causes.cancel_reassignment(target) == unclean
    assert partition_change(switches(), partition, target, pack([0, 1, 2])) == LEADER_NAMED
    assert (unpack(partition.replicas), unpack(partition.isr)) == ([0, 1], [0])
    assert (partition.leader, partition.adding, partition.removing) == (0, EMPTY, EMPTY)


def test_a_leader_from_the_elr_is_the_whole_isr() -> None:
    """And nothing else makes a record twice: the state is as wanted already."""
    partition = partition_of(leader=NO_LEADER, isr=[], elr=[1, 2], last_known_elr=[0])
    rules = switches(eligible_leader_replicas=True)
    target = target_of(partition, min_insync_replicas=2)
    assert partition_change(rules, partition, target, pack([2])) == ELECTED_FROM_ELR
    assert (partition.leader, partition.recovering) == (2, False)
    assert (unpack(partition.isr), unpack(partition.elr)) == ([2], [1])
    target = target_of(partition, min_insync_replicas=2)
    assert partition_change(rules, partition, target, pack([2])) == UNCHANGED
    assert (partition.leader_epoch, partition.partition_epoch) == (1, 1)


def test_a_partition_without_a_live_replica_is_not_created() -> None:
    """ReplicationControlManager.createTopic@4.1.0; recorded as y1."""
    partition = new_record(PartitionRegistration)
    assert not create_partition(partition, pack([0, 1]), pack([2]))
    assert create_partition(partition, pack([0, 1, 2]), pack([1, 2]))
    assert (partition.leader, unpack(partition.isr)) == (1, [1, 2])


def test_min_insync_replicas_never_exceeds_the_replicas() -> None:
    """ReplicationControlManager.getTopicEffectiveMinIsr@4.1.0."""
    assert causes.effective_min_insync_replicas(3, pack([0, 1])) == 2
    assert causes.effective_min_insync_replicas(1, pack([0, 1])) == 1


#: What is wrong with a request, in the order in which it is noticed, and the answer.
WRONG: list[tuple[dict[str, Any], int]] = [
    ({"leader_epoch": 6}, errors.NOT_CONTROLLER),
    ({"partition_epoch": 8}, errors.NOT_CONTROLLER),
    ({"leader_epoch": 4}, errors.FENCED_LEADER_EPOCH),
    ({"sender": 1}, errors.INVALID_REQUEST),
    ({"partition_epoch": 6}, errors.INVALID_UPDATE_VERSION),
    ({"isr": pack([0, 3])}, errors.INVALID_REQUEST),
    ({"isr": pack([1, 2])}, errors.INVALID_REQUEST),
    ({"recovering": True}, errors.INVALID_REQUEST),
    ({"eligible": pack([0, 2])}, errors.INELIGIBLE_REPLICA),
    ({}, errors.NONE),
]


@pytest.mark.parametrize("first", range(len(WRONG)))
def test_the_first_thing_wrong_with_an_alter_partition_request_is_its_answer(first: int) -> None:
    """ReplicationControlManager.validateAlterPartitionData@4.1.0."""
    partition = partition_of(leader_epoch=5, partition_epoch=7)
    request: dict[str, Any] = {
        "sender": 0,
        "leader_epoch": 5,
        "partition_epoch": 7,
        "isr": pack([0, 1]),
        "recovering": False,
        "eligible": pack([0, 1, 2]),
    }
    for wrong, _ in reversed(WRONG[first:]):
        request |= wrong
    assert alter_partition_error(switches(), partition, *request.values()) == WRONG[first][1]


def test_an_older_partition_epoch_may_pass_without_the_check() -> None:
    """KIP-497, AsyncIsr without its version; no release stores such an ISR."""
    partition = partition_of(leader_epoch=5, partition_epoch=7)
    request = (partition, 0, 5, 6, pack([0, 1]), False, pack([0, 1, 2]))
    assert alter_partition_error(switches(), *request) == errors.INVALID_UPDATE_VERSION
    unchecked = switches(isr_version_checked=False)
    assert alter_partition_error(unchecked, *request) == errors.NONE


def test_a_recovering_leader_may_stay_alone() -> None:
    """ReplicationControlManager.validateAlterPartitionData@4.1.0."""
    partition = partition_of(recovering=True, isr=[0])
    live = pack([0, 1, 2])
    assert (
        alter_partition_error(switches(), partition, 0, 0, 0, pack([0]), True, live) == errors.NONE
    )
    refused = alter_partition_error(switches(), partition, 0, 0, 0, pack([0, 1]), True, live)
    assert refused == errors.INVALID_REQUEST
