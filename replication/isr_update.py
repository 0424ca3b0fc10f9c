"""A leader's changes of the ISR: a pending write, or a pending proposal.

Up to 2.6 (and 2.7 with an older protocol) the leader writes the partition's state to
ZooKeeper itself, inside the partition's lock, and takes over the new ISR when the write
has succeeded. From 2.8 on, and with AlterIsr (KIP-497, 2.7), it first enters a pending
state. One change per partition is in flight:

==============  =============  ============================================================
state           committed ISR  maximal ISR: holds back the high watermark and acks=all
==============  =============  ============================================================
committed       isr            isr
expand pending  isr            isr and the replica that joins: more must acknowledge
shrink pending  isr            isr: who leaves still counts until the controller has agreed
==============  =============  ============================================================

The answer decides about the pending change:

===============================================================  =======================
answer                                                           outcome
===============================================================  =======================
success                                                          COMMITTED
success, but of another leader epoch or an older partition epoch STAYS_PENDING
success with the known partition epoch (2.7.0, 2.7.1, 2.8.0)     STAYS_PENDING
UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH,                 STAYS_PENDING, until the
INVALID_UPDATE_VERSION, INVALID_REQUEST (3.2+), UNKNOWN_TOPIC_ID next LeaderAndIsr
and NEW_LEADER_ELECTED (3.3+)
OPERATION_NOT_ATTEMPTED (3.1+), INELIGIBLE_REPLICA (3.3+)        REVERTED
any other error                                                  RESENT at once
answer to a change that is not the pending one                   IGNORED
===============================================================  =======================

A leader that has written an ISR to ZooKeeper notifies the controller later, by one child of
/isr_change_notification for all partitions that it has gathered. A task looks every 2,500 ms, and
writes it if either

* the last change is older than 5,000 ms: it has become quiet, or
* the last propagation is older than 60,000 ms: it has waited long enough.

Both comparisons are strict, and both clocks start when the broker starts, not at zero. So
an isolated change within a minute of the last propagation leaves 5.0 to 7.5 s later, the
first one after a quiet minute leaves at the next tick, and a storm leaves every minute.
"""

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED, LeaderAndIsr, Partition
from tidegauge.replication.release_rules import (
    ISR_UPDATE_ALTER_PARTITION,
    ISR_UPDATE_ZOOKEEPER,
    ReleaseRules,
)
from tidegauge.replication.replica_list import EMPTY, append, size, without

# Outcomes of an answer; see the table above.
COMMITTED = code(1)
STAYS_PENDING = code(2)
REVERTED = code(3)
RESENT = code(4)
IGNORED = code(5)
# ... and of a change before it is answered.
PROPOSED = code(6)


@rule
def isr_is_pending_first(rules: ReleaseRules) -> bool:
    """Whether a change of the ISR goes through a pending state in this release.

    Source: Partition.updateIsr@2.6.0, sendAlterIsrRequest@2.7.0 and @2.8.0.
    """
    return rules.isr_update_path != ISR_UPDATE_ZOOKEEPER


@rule
def alters_partition(rules: ReleaseRules) -> bool:
    """Whether the leader asks the controller for another ISR instead of writing ZooKeeper.

    Source: Partition.sendAlterIsrRequest@2.7.0 (KIP-497), AlterPartitionManager.apply@3.8.0.
    """
    return rules.isr_update_path == ISR_UPDATE_ALTER_PARTITION


@rule
def expanded_isr(partition: Partition, replica: int) -> int:
    """The ISR with a replica that joins: at the end, whatever the order of the assignment.

    ISR_HASHED puts it into another order, with :func:`place_in_isr`.

    Source: Partition.maybeExpandIsr@0.10.2.0, expandIsr@2.4.0, prepareIsrExpand@3.3.0.
    """
    return append(partition.isr, replica)


@rule
def shrunk_isr(partition: Partition, out_of_sync: int) -> int:
    """The ISR without the replicas that leave; the others keep their order.

    Source: Partition.maybeShrinkIsr@0.10.2.0, shrinkIsr@2.4.0, prepareIsrShrink@3.3.0.
    """
    return without(partition.isr, out_of_sync)


@rule
def isr_table_size(members: int, is_expansion: bool) -> int:
    """The size of the hash table out of whose order a leader reads the ISR that it asks for.

    It has 8 places for an expansion and 16 for a shrink, and twice as many whenever three in four
    of them would be taken. So brokers 3 and 9 are 9, 3 after an expansion, and 3, 9 after a shrink.

    Source: Partition.prepareIsrExpand and prepareIsrShrink@4.2.0, @4.4.0;
    scala.collection.mutable.HashSet.from and growTable of Scala 2.13.18.
    """
    table_size = 8 if is_expansion else 16
    while 4 * (members + 1) >= 3 * (table_size + 1):
        table_size *= 2
    return table_size


@rule
def place_in_isr(broker_id: int, table_size: int) -> int:
    """A number by which a hash table orders its brokers: by place, and in one place by hash.

    Source: Partition.prepareIsrExpand@4.2.0; HashSet.improveHash and addElem of
    scala.collection.mutable in Scala 2.13.18.
    """
    hashed = broker_id ^ (broker_id >> 16)
    return ((hashed & (table_size - 1)) << 32) | hashed


@rule
def propose_isr(partition: Partition, proposed_isr: int) -> None:
    """Enter the pending state with this ISR; nothing may be in flight.

    Source: PendingExpandIsr and PendingShrinkIsr@2.7.0, prepareIsrExpand@3.3.0.
    """
    partition.proposed_isr = proposed_isr
    if size(proposed_isr) > size(partition.isr):
        partition.maximal_isr = proposed_isr


@rule
def commit_isr(partition: Partition, isr: int, partition_epoch: int) -> None:
    """Take over an ISR that ZooKeeper or the controller has stored.

    The pending change ends: so does a LeaderAndIsr that brings another ISR.

    Source: CommittedIsr@2.7.0, Partition.updateAssignmentAndIsr@2.7.0.
    """
    partition.isr = isr
    partition.maximal_isr = isr
    partition.proposed_isr = EMPTY
    partition.partition_epoch = partition_epoch


@rule
def revert_isr(partition: Partition) -> None:
    """Drop a pending change and go back to the committed ISR.

    Source: Partition.handleAlterIsrError@3.1.0, lastCommittedState@3.3.0.
    """
    partition.maximal_isr = partition.isr
    partition.proposed_isr = EMPTY


@rule
def version_to_write_over(rules: ReleaseRules, known_version: int) -> int:
    """The version that a state must have for another one to be written over it; -1: any.

    Source: ReplicationUtils.updateLeaderAndIsr@0.10.2.0, KafkaZkClient.updateLeaderAndIsr@2.4.0.
    """
    return known_version if rules.isr_version_checked else UNDEFINED


@rule
def handle_isr_update(
    rules: ReleaseRules, partition: Partition, proposed_isr: int, answer: LeaderAndIsr
) -> int:
    """Take a successful answer to the change that proposed ``proposed_isr``; its outcome.

    Source: Partition.handleAlterIsrResponse@2.8.0 and @3.0.0,
    handleAlterPartitionUpdate@3.8.0.
    """
    if proposed_isr == EMPTY or partition.proposed_isr != proposed_isr:
        return IGNORED
    if answer.leader_epoch != partition.leader_epoch:
        return STAYS_PENDING
    if answer.partition_epoch < partition.partition_epoch:
        return STAYS_PENDING
    if rules.isr_update_ignores_equal_epoch and answer.partition_epoch == partition.partition_epoch:
        return STAYS_PENDING
    commit_isr(partition, answer.isr, answer.partition_epoch)
    return COMMITTED


@rule
def handle_isr_update_error(
    rules: ReleaseRules, partition: Partition, proposed_isr: int, error: int
) -> int:
    """Take an error in answer to the change that proposed ``proposed_isr``; its outcome.

    Source: Partition.handleAlterIsrResponse@2.8.0, handleAlterPartitionError@3.8.0.
    """
    if proposed_isr == EMPTY or partition.proposed_isr != proposed_isr:
        return IGNORED
    if error in (
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.FENCED_LEADER_EPOCH,
        errors.INVALID_UPDATE_VERSION,
    ):
        return STAYS_PENDING
    if rules.isr_update_gives_up_on_invalid_request and error == errors.INVALID_REQUEST:
        return STAYS_PENDING
    if rules.isr_update_gives_up_on_topic_id and error in (
        errors.UNKNOWN_TOPIC_ID,
        errors.NEW_LEADER_ELECTED,
    ):
        return STAYS_PENDING
    if (rules.isr_update_reverts_if_not_attempted and error == errors.OPERATION_NOT_ATTEMPTED) or (
        rules.isr_update_reverts_if_ineligible and error == errors.INELIGIBLE_REPLICA
    ):
        revert_isr(partition)
        return REVERTED
    return RESENT


@rule
def high_watermark_may_move(rules: ReleaseRules, outcome: int) -> bool:
    """Whether the leader attempts its high watermark after this outcome of a shrink.

    From 2.7 to 3.0, with AlterIsr, it did so when it proposed the shrink, in vain since the leaving
    replica still counts, and not when the controller had agreed: the next append or fetch moved it
    (KAFKA-13091).

    Source: Partition.maybeShrinkIsr@2.6.0 and @2.8.0, handleAlterIsrUpdate@3.1.0.
    """
    if outcome == PROPOSED:
        return rules.high_watermark_on_isr_proposal
    return outcome == COMMITTED and rules.high_watermark_on_isr_update


@rule
def should_propagate_isr_changes(
    now_ms: int,
    changed_partitions: int,
    last_isr_change_ms: int,
    last_isr_propagation_ms: int,
    quiet_ms: int,
    max_delay_ms: int,
) -> bool:
    """Whether this tick writes the notification.

    ``changed_partitions`` is the number of gathered partitions; ``quiet_ms`` and ``max_delay_ms``
    are 5,000 and 60,000 in Kafka, where they cannot be configured.

    Source: ReplicaManager.maybePropagateIsrChanges@0.10.2.0 to @2.7.0,
    ZkIsrManager@2.8.0, ZkAlterPartitionManager@3.6.0 (KAFKA-2722).
    """
    return changed_partitions > 0 and (
        last_isr_change_ms + quiet_ms < now_ms or last_isr_propagation_ms + max_delay_ms < now_ms
    )
