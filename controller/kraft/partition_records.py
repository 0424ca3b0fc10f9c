"""A partition's change in the controller's memory and in the log: one door for all causes.

Every change but the creation and the deletion of a topic, and a ClearElrRecord, is
:func:`begin_change`, a function of ``kraft_partitions/partition_target.py``, and
:func:`append_change`. Counts over partitions (of each leader, and without a leader) are kept here.

ISRs that leaders propose (Kafka: AlterPartition, ReplicationControlManager.alterPartition).

``alter_partition.py`` has the reasons of refusals. An accepted proposal completes a reassignment if
it can, and is answered, once it is committed, with the new state.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.metadata_log import append_partition, respond_when_committed
from tidegauge.controller.kraft.state import WRITES, Quorum
from tidegauge.controller.kraft_partitions import partition_target
from tidegauge.controller.kraft_partitions.alter_partition import (
    alter_partition_error,
    altered_partition_error,
)
from tidegauge.controller.kraft_partitions.partition_change import (
    ELECTED_FROM_ELR,
    ELECTED_UNCLEANLY,
    UNCHANGED,
    partition_change,
)
from tidegauge.controller.raft.measured import respond
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, append, first, rest, single, without
from tidegauge.simulation.events import new_item, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionData,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
)
from tidegauge.simulation.topology import broker_of, slot_of
from tidegauge.simulation.trace_rows.controller_rows import IsrAltered


@inner_rule
def is_active(world: Quorum, broker: int) -> bool:
    """Whether a broker is registered, not fenced, and does not shut down.

    Source: ClusterControlManager.isActive@4.1.0.
    """
    known = world.quorum_brokers[broker]
    return known.registered and not known.fenced and not known.in_controlled_shutdown


@inner_rule
def place_of_replica(world: Quorum, partition: int, broker: int) -> int:
    """The place of a broker's replica in ``Quorum.hosted_replicas``; NONE if it has none.

    A broker's replicas lie in the order of partitions.
    """
    known = world.quorum_brokers[broker]
    low = known.first_replica
    high = low + known.replica_count
    while low < high:
        middle = (low + high) >> 1
        if world.hosted_replicas[middle].partition < partition:
            low = middle + 1
        else:
            high = middle
    is_its = low < known.first_replica + known.replica_count
    return low if is_its and world.hosted_replicas[low].partition == partition else NONE


@inner_rule
def acceptable_leaders(world: Quorum, partition: int, added: int, removed: int) -> int:
    """The replicas that may lead or be in sync; a replica list.

    Args: world: with the state in memory. partition: its number. added: a broker that is acceptable
    although it is still fenced; -1: none. removed: a broker that is not acceptable although it is
    not fenced yet; -1: none.

    Source: LeaderAcceptor.test, ReplicationControlManager.generateLeaderAndIsrUpdates@4.1.0.
    """
    acceptable = EMPTY
    for slot in range(world.partitions[partition].slot_count):
        broker = broker_of(world, partition, slot)
        may_lead = broker != removed and (broker == added or is_active(world, broker))
        if not may_lead:
            continue
        if world.quorum_brokers[broker].offline_directories != 0:
            place = place_of_replica(world, partition, broker)
            if world.hosted_replicas[place].offline:
                continue
        acceptable = append(acceptable, slot)
    return acceptable


@inner_rule
def min_insync_replicas_of(world: Quorum, partition: int) -> int:
    """The effective min.insync.replicas of a partition's topic.

    Source: ReplicationControlManager.getTopicEffectiveMinIsr@4.1.0.
    """
    topic = world.quorum_topics[world.partitions[partition].topic]
    first_replicas = world.registrations[topic.first_partition].replicas
    return partition_target.effective_min_insync_replicas(topic.min_insync_replicas, first_replicas)


@inner_rule
def election_of(world: Quorum, partition: int) -> int:
    """The election that a change tries if no kind of it is requested."""
    topic = world.quorum_topics[world.partitions[partition].topic]
    return partition_target.election_of_topic(topic.unclean_leader_election)


@inner_rule
def begin_change(world: Quorum, partition: int, election: int) -> partition_target.PartitionTarget:
    """A target that is the partition as it is: the one in ``Quorum.partition_target``."""
    target = world.partition_target[0]
    needed = min_insync_replicas_of(world, partition)
    partition_target.target_as_is(target, world.registrations[partition], election, needed)
    return target


@inner_rule
def append_change(world: Quorum, partition: int, acceptable: int, reason: int) -> bool:
    """Change a partition to its target, and append the record; False if there is none.

    Args:
        world: with the target that ``begin_change`` has begun.
        partition: its number.
        acceptable: ``acceptable_leaders``.
        reason: why the controller takes replicas out of the ISR, one of STATE_REASONS; 0: it does
            not, or a leader asks for it.
    """
    registration = world.registrations[partition]
    old_leader = registration.leader
    count_partition(world, partition, -1)
    outcome = partition_change(
        world.kraft_switches[0], registration, world.partition_target[0], acceptable
    )
    count_partition(world, partition, 1)
    if outcome == UNCHANGED:
        return False
    record = append_partition(world, partition)
    record.reason = reason
    record.old_leader = old_leader
    record.unclean = outcome == ELECTED_UNCLEANLY
    record.from_elr = outcome == ELECTED_FROM_ELR
    return True


@inner_rule
def count_partition(world: Quorum, partition: int, change: int) -> None:
    """Count a partition among those of its leader, or among those without one; -1: no longer."""
    state = world.active_controller[0]
    registration = world.registrations[partition]
    if registration.leader == NONE:
        state.leaderless_partitions += change
    else:
        leader = broker_of(world, partition, registration.leader)
        world.quorum_brokers[leader].leader_count += change
    if registration.leader != first(registration.replicas):
        state.imbalanced_partitions += change


@WRITES.handles(AlterPartitionRequest)
@inner_rule
def handle_alter_partition(world: Quorum, request: AlterPartitionRequest) -> None:
    """Decide on each ISR that a broker proposes as leader.

    Source: ReplicationControlManager.alterPartition@4.1.0.
    """
    response = new_response(world, request, AlterPartitionResponse)
    known = world.quorum_brokers[request.broker_id]
    if not known.registered or known.broker_epoch != request.broker_epoch:
        response.error = errors.STALE_BROKER_EPOCH
        respond(world, response)
        return
    cursor = request.first_item
    for _ in range(request.proposal_count):
        proposed = view_as(world.items[cursor], AlterPartitionData)
        cursor = proposed.next
        decided = new_item(world, response, proposed.partition, AlterPartitionData)
        decided.error = _take(world, request, proposed)
        registration = world.registrations[proposed.partition]
        decided.leader = registration.leader
        decided.leader_epoch = registration.leader_epoch
        decided.isr = registration.isr
        decided.partition_epoch = registration.partition_epoch
        IsrAltered.write(world, decided, leader=request.broker_id, version=decided.partition_epoch)
    respond_when_committed(world, response)


@inner_rule
def _take(world: Quorum, request: AlterPartitionRequest, proposed: AlterPartitionData) -> int:
    """Change a partition as its leader asks; the error that the leader gets."""
    partition = proposed.partition
    topic = world.quorum_topics[world.partitions[partition].topic]
    if not topic.exists or topic.topic_id != proposed.topic_id:
        return errors.UNKNOWN_TOPIC_ID
    registration = world.registrations[partition]
    sender = slot_of(world, partition, request.broker_id)
    # A leader takes its own recovery for done as soon as it leads: Partition.makeLeader@4.1.0.
    error = alter_partition_error(
        world.kraft_switches[0],
        registration,
        sender,
        proposed.leader_epoch,
        proposed.partition_epoch,
        proposed.isr,
        False,
        _eligible_members(world, request, proposed),
    )
    if error != errors.NONE:
        return error
    target = begin_change(world, partition, election_of(world, partition))
    partition_target.take_leaders_isr(target, proposed.isr, False)
    append_change(world, partition, acceptable_leaders(world, partition, NONE, NONE), 0)
    return altered_partition_error(registration, sender)


@inner_rule
def _eligible_members(
    world: Quorum, request: AlterPartitionRequest, proposed: AlterPartitionData
) -> int:
    """The members of a proposed ISR that may be in one; a replica list.

    Source: ReplicationControlManager.ineligibleReplicasForIsr@4.1.0.
    """
    eligible = EMPTY
    left = proposed.isr
    while left != EMPTY:
        is_live = is_active(world, broker_of(world, proposed.partition, first(left)))
        if is_live or world.kraft_switches[0].fenced_replica_in_isr:
            eligible = append(eligible, first(left))
        left = rest(left)
    # Behind the proposals, the request has the broker epochs that the leader knows.
    cursor = request.first_item
    for _ in range(request.proposal_count):
        cursor = view_as(world.items[cursor], AlterPartitionData).next
    while cursor != NONE:
        member = view_as(world.items[cursor], IsrMember)
        cursor = member.next
        if member.partition != proposed.partition:
            continue
        known = world.quorum_brokers[broker_of(world, member.partition, member.replica)]
        if member.broker_epoch not in (NONE, known.broker_epoch):
            eligible = without(eligible, single(member.replica))
    return eligible
