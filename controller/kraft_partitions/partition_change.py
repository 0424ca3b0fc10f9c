"""A partition's change by KRaft's controller: one function from state and target to state.

Every record of a partition but its first and a ClearElrRecord is one call of ``partition_change``,
whatever its cause (``partition_target.py``). Its steps, in this order, since each uses the target
of the one before it:

1. A reassignment whose added replicas, or by release whose whole target, are in the ISR is
   complete: what is removed leaves replicas and ISR.
2. With ELR, the ELR takes the members that leave an ISR smaller than min.insync.replicas. It is
   emptied as soon as the ISR has min.insync.replicas members.
3. A leader is elected. One that is still valid stays, except in a preferred election. Else the
   first valid replica of the *assignment* leads; else, with ISR and ELR empty, the last known
   leader; else, if UNCLEAN, the first acceptable replica. Valid means acceptable and in the ISR,
   or in the ELR if the ISR is empty. A leader from outside the ISR is the whole ISR.
4. The state is written. The leader epoch grows if the record names a leader: another one, none,
   or the same one when replicas are removed. The partition epoch grows with each record.

Acceptable is a replica whose broker is unfenced and not in controlled shutdown, and whose directory
is online. Without ELR the last member stays in the ISR of a partition that has lost its leader.

Always true afterwards: a leader is in the ISR; ELR and ISR share no replica; the ELR is empty while
the ISR has min.insync.replicas members; there is a last known leader only without a leader.
Kafka keeps log directories in the same record; here they are the broker's matter.
"""

from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.kraft_partitions.alter_partition import KRaftSwitches
from tidegauge.controller.kraft_partitions.partition_target import (
    PREFERRED,
    UNCLEAN,
    PartitionTarget,
)
from tidegauge.replication import records, replica_list
from tidegauge.replication.kraft_releases import (
    REASSIGNMENT_AWAITS_TARGET,
    REASSIGNMENT_AWAITS_TARGET_IF_REDUCED,
)

#: ``leader`` of a partition without a leader.
NO_LEADER = code(-1)

# The result of a change. From LEADER_NAMED on, the record names a leader.
UNCHANGED = code(0)  #: there is no record
CHANGED = code(1)  #: the leader epoch stays
LEADER_NAMED = code(2)  #: a leader from the ISR, none, or the one that leads already
ELECTED_FROM_ELR = code(3)
ELECTED_UNCLEANLY = code(4)  #: the last known leader, or any replica


@rule
def partition_change(
    switches: KRaftSwitches,
    partition: records.PartitionRegistration,
    target: PartitionTarget,
    acceptable: int,
) -> int:
    """Change a partition to its target; the outcome (UNCHANGED ... ELECTED_UNCLEANLY).

    ``acceptable`` are the replicas that may lead. The target is used up.

    Source: PartitionChangeBuilder.build@4.1.0.
    """
    _complete_reassignment(switches, target)
    if switches.eligible_leader_replicas:
        _populate_elr(partition, target)
    elected = _elect_leader(switches, partition, target, acceptable)
    names_leader = (
        target.leader != partition.leader
        or replica_list.without(partition.replicas, target.replicas) != replica_list.EMPTY
        or _shrink_raises_leader_epoch(switches, partition, target)
    )
    if switches.eligible_leader_replicas:
        _update_last_known_leader(partition, target)
    else:
        target.elr = replica_list.EMPTY
        if target.isr == replica_list.EMPTY:
            target.isr = partition.isr
    if not names_leader and not _differs(partition, target):
        return UNCHANGED
    _write(partition, target)
    partition.partition_epoch += 1
    if not names_leader:
        return CHANGED
    partition.leader_epoch += 1
    return elected


@inner_rule
def _complete_reassignment(switches: KRaftSwitches, target: PartitionTarget) -> None:
    # Source: PartitionReassignmentReplicas.maybeCompleteReassignment@3.7.0, @4.1.0, @4.4.0.
    if target.adding == replica_list.EMPTY and target.removing == replica_list.EMPTY:
        return
    replicas = replica_list.without(target.replicas, target.removing)
    isr = replica_list.without(target.isr, target.removing)
    is_reduced = replica_list.size(target.adding) < replica_list.size(target.removing)
    awaits_target = switches.reassignment_rule == REASSIGNMENT_AWAITS_TARGET or (
        switches.reassignment_rule == REASSIGNMENT_AWAITS_TARGET_IF_REDUCED and is_reduced
    )
    awaited = replicas if awaits_target else target.adding
    if (
        isr == replica_list.EMPTY
        or replicas == replica_list.EMPTY
        or replica_list.without(awaited, isr) != replica_list.EMPTY
    ):
        return
    target.replicas = replicas
    target.isr = isr
    target.adding = replica_list.EMPTY
    target.removing = replica_list.EMPTY


@inner_rule
def _populate_elr(partition: records.PartitionRegistration, target: PartitionTarget) -> None:
    # Source: PartitionChangeBuilder.maybePopulateTargetElr@4.1.0.
    elr = replica_list.EMPTY
    if replica_list.size(target.isr) < target.min_insync_replicas:
        for slot in range(records.SLOTS):
            was_in_sync = replica_list.contains(partition.isr, slot) or replica_list.contains(
                target.elr, slot
            )
            if was_in_sync and not replica_list.contains(target.isr, slot):
                elr = replica_list.append(elr, slot)
    target.elr = replica_list.without(elr, target.unclean_shutdown)


@inner_rule
def _elect_leader(
    switches: KRaftSwitches,
    partition: records.PartitionRegistration,
    target: PartitionTarget,
    acceptable: int,
) -> int:
    # The source of the leader, if it is another one. Source:
    # PartitionChangeBuilder.tryElection@4.1.0.
    target.leader = _valid_leader(partition, target, acceptable)
    is_unclean = False
    if target.leader == NO_LEADER:
        target.leader = _unclean_leader(switches, partition, target, acceptable)
        is_unclean = target.leader != NO_LEADER
    if target.leader == partition.leader:
        return LEADER_NAMED
    if is_unclean:
        target.isr = replica_list.single(target.leader)
        target.elr = replica_list.EMPTY
        # A recovery state that the cause asks for comes before it.
        if target.recovering == partition.recovering:
            target.recovering = True
        return ELECTED_UNCLEANLY
    if replica_list.contains(target.elr, target.leader):
        target.isr = replica_list.single(target.leader)
        target.elr = replica_list.without(target.elr, target.isr)
        return ELECTED_FROM_ELR
    return LEADER_NAMED


@inner_rule
def _valid_leader(
    partition: records.PartitionRegistration, target: PartitionTarget, acceptable: int
) -> int:
    # Source: PartitionChangeBuilder.isValidNewLeader, electAnyLeader, electPreferredLeader@4.1.0.
    valid = replica_list.only(
        target.elr if target.isr == replica_list.EMPTY else target.isr, acceptable
    )
    preferred = replica_list.first(target.replicas)
    if target.election == PREFERRED and replica_list.contains(valid, preferred):
        return preferred
    if replica_list.contains(valid, partition.leader):
        return partition.leader
    return replica_list.first(replica_list.only(target.replicas, valid))


@inner_rule
def _unclean_leader(
    switches: KRaftSwitches,
    partition: records.PartitionRegistration,
    target: PartitionTarget,
    acceptable: int,
) -> int:
    # Source: PartitionChangeBuilder.canElectLastKnownLeader, electAnyLeader@4.1.0, @4.0.0.
    last_known = replica_list.first(partition.last_known_elr)
    may_lead = (
        replica_list.contains(acceptable, last_known) or switches.fenced_last_known_leader_elected
    )
    nobody_is_in_sync = target.isr == replica_list.EMPTY and target.elr == replica_list.EMPTY
    is_known = switches.eligible_leader_replicas and last_known != NO_LEADER
    if is_known and nobody_is_in_sync and may_lead:
        return last_known
    if target.election == UNCLEAN:
        return replica_list.first(replica_list.only(target.replicas, acceptable))
    return NO_LEADER


@inner_rule
def _shrink_raises_leader_epoch(
    switches: KRaftSwitches, partition: records.PartitionRegistration, target: PartitionTarget
) -> bool:
    # The target counts, also where the last member stays (from 3.8 on, the written ISR counts).
    # Source: PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded@3.5.0, @3.6.0.
    is_shrink = replica_list.without(partition.isr, target.isr) != replica_list.EMPTY
    return switches.isr_shrink_raises_leader_epoch and is_shrink


@inner_rule
def _update_last_known_leader(
    partition: records.PartitionRegistration, target: PartitionTarget
) -> None:
    # Source: PartitionChangeBuilder.maybeUpdateLastKnownLeader@4.1.0.
    if target.leader != NO_LEADER:
        target.last_known_elr = replica_list.EMPTY
    elif target.isr == replica_list.EMPTY and partition.isr != replica_list.EMPTY:
        target.last_known_elr = replica_list.single(partition.leader)


@inner_rule
def _differs(partition: records.PartitionRegistration, target: PartitionTarget) -> bool:
    # Source: PartitionChangeBuilder.changeRecordIsNoOp@4.1.0.
    return (
        target.replicas != partition.replicas
        or target.adding != partition.adding
        or target.removing != partition.removing
        or target.isr != partition.isr
        or target.elr != partition.elr
        or target.last_known_elr != partition.last_known_elr
        or target.recovering != partition.recovering
    )


@inner_rule
def _write(partition: records.PartitionRegistration, target: PartitionTarget) -> None:
    # Source: PartitionRegistration.merge@4.1.0.
    partition.replicas = target.replicas
    partition.adding = target.adding
    partition.removing = target.removing
    partition.isr = target.isr
    partition.elr = target.elr
    partition.last_known_elr = target.last_known_elr
    partition.leader = target.leader
    partition.recovering = target.recovering


@rule
def clear_elr(partition: records.PartitionRegistration) -> bool:
    """Empty the ELR: the topic's min.insync.replicas has changed. False if there was none.

    Source: TopicDelta.replay(ClearElrRecord), ReplicationControlManager.replay@4.1.0.
    """
    if partition.elr == replica_list.EMPTY and partition.last_known_elr == replica_list.EMPTY:
        return False
    partition.elr = replica_list.EMPTY
    partition.last_known_elr = replica_list.EMPTY
    partition.partition_epoch += 1
    return True


@rule
def create_partition(
    partition: records.PartitionRegistration, assignment: int, acceptable: int
) -> bool:
    """Give a new partition its first state; False if no replica is acceptable.

    The first acceptable replica leads, and all acceptable ones are in sync. Without any, the topic
    is refused: INVALID_REPLICA_ASSIGNMENT if its assignment was given by hand, else
    INVALID_REPLICATION_FACTOR.

    Source: ReplicationControlManager.createTopic, buildPartitionRegistration@4.1.0.
    """
    isr = replica_list.only(assignment, acceptable)
    if isr == replica_list.EMPTY:
        return False
    partition.replicas = assignment
    partition.adding = replica_list.EMPTY
    partition.removing = replica_list.EMPTY
    partition.isr = isr
    partition.elr = replica_list.EMPTY
    partition.last_known_elr = replica_list.EMPTY
    partition.leader = replica_list.first(isr)
    partition.leader_epoch = 0
    partition.partition_epoch = 0
    partition.recovering = False
    return True
