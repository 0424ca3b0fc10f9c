"""Moving replicas through their states (``ReplicaStateMachine.handleStateChanges``)."""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.partition_changes import remove_from_isr
from tidegauge.controller.partitions.replica_state_machine import (
    NEW_REPLICA,
    NON_EXISTENT_REPLICA,
    OFFLINE_REPLICA,
    ONLINE_REPLICA,
    REPLICA_DELETION_INELIGIBLE,
    may_enter,
)
from tidegauge.controller.state.assignments import is_assigned
from tidegauge.controller.state.control_plane import (
    ControlPlane,
    broker_at,
    is_deleted,
    partition_at,
    replica_at,
    topic_at,
)
from tidegauge.replication.records import contains

#: A ``turn``: whenever theirs is.
ALL_REPLICAS = code(-1)


@inner_rule
def enter_replica_state(world: ControlPlane, controller: int, row: int, target: int) -> bool:
    """Move a replica to a state; False, and nothing happens, if the table does not allow it.

    Source: ControllerContext.checkValidReplicaStateChange@2.4.0.
    """
    replica = replica_at(world, controller, row)
    if not may_enter(world.rules[controller], replica.state, target):
        return False
    replica.state = target
    return True


@inner_rule
def bring_replica_online(world: ControlPlane, controller: int, row: int) -> bool:
    """A replica is online: one of a new partition is new before; False if it may not be.

    Source: KafkaController.onNewPartitionCreation@2.4.0.
    """
    if replica_at(world, controller, row).state == NON_EXISTENT_REPLICA:
        enter_replica_state(world, controller, row, NEW_REPLICA)
    return enter_replica_state(world, controller, row, ONLINE_REPLICA)


@inner_rule
def set_aside(world: ControlPlane, controller: int, row: int) -> None:
    """A replica cannot be deleted now, and so its topic cannot.

    Source: TopicDeletionManager.failReplicaDeletion and onPartitionDeletion@2.6.3.
    """
    enter_replica_state(world, controller, row, REPLICA_DELETION_INELIGIBLE)
    topic = world.partitions[world.slots[row].partition].topic
    topic_at(world, controller, topic).ineligible = True


@inner_rule
def take_replicas_offline(world: ControlPlane, controller: int, broker: int, turn: int) -> None:
    """The replicas of a broker that is dead go offline, and leave the ISRs that they are in.

    Those of a topic that is to be deleted wait. All of them, or those before which so many others
    of their partitions are handled.

    Source: ReplicaStateMachine.doHandleStateChanges@2.4.0.
    """
    if broker_at(world, controller, broker).alive:
        return
    for row in range(len(world.slots)):
        partition = world.slots[row].partition
        known = partition_at(world, controller, partition)
        if world.slots[row].broker != broker or not known.known:
            continue
        if not contains(known.replicas, row - world.partitions[partition].first_slot):
            continue
        if turn != ALL_REPLICAS and turn != _turn(world, controller, row):
            continue
        if is_deleted(world, controller, partition):
            set_aside(world, controller, row)
        elif enter_replica_state(world, controller, row, OFFLINE_REPLICA) and (known.has_state):
            remove_from_isr(world, controller, partition, broker)


@inner_rule
def _turn(world: ControlPlane, controller: int, row: int) -> int:
    """How many replicas of a partition that share a replica's fate a HashSet has before it."""
    slot = world.slots[row]
    change = broker_at(world, controller, slot.broker).change
    facts = world.partitions[slot.partition]
    before = 0
    for place in range(facts.slot_count):
        other = world.slots[facts.first_slot + place]
        shares = broker_at(world, controller, other.broker).change == change
        is_replica = is_assigned(world, controller, slot.partition, place)
        if shares and is_replica and other.set_order < slot.set_order:
            before += 1
    return before
