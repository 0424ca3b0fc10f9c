"""Moving replicas through their states (``ReplicaStateMachine.handleStateChanges``)."""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions import replica_state_machine
from tidegauge.controller.partitions.partition_changes import remove_from_isr
from tidegauge.controller.state import control_plane
from tidegauge.controller.state.assignments import is_assigned
from tidegauge.replication.replica_list import contains

#: A ``turn``: whenever theirs is.
ALL_REPLICAS = code(-1)


@inner_rule
def enter_replica_state(
    world: control_plane.ControlPlane, controller: int, row: int, target: int
) -> bool:
    """Move a replica to a state; False, and nothing happens, if the table does not allow it.

    Source: ControllerContext.checkValidReplicaStateChange@2.4.0.
    """
    replica = control_plane.replica_at(world, controller, row)
    if not replica_state_machine.may_enter(world.rules[controller], replica.state, target):
        return False
    replica.state = target
    return True


@inner_rule
def bring_replica_online(world: control_plane.ControlPlane, controller: int, row: int) -> bool:
    """A replica is online: one of a new partition is new before; False if it may not be.

    Source: KafkaController.onNewPartitionCreation@2.4.0.
    """
    if (
        control_plane.replica_at(world, controller, row).state
        == replica_state_machine.NON_EXISTENT_REPLICA
    ):
        enter_replica_state(world, controller, row, replica_state_machine.NEW_REPLICA)
    return enter_replica_state(world, controller, row, replica_state_machine.ONLINE_REPLICA)


@inner_rule
def set_aside(world: control_plane.ControlPlane, controller: int, row: int) -> None:
    """A replica cannot be deleted now, and so its topic cannot.

    Source: TopicDeletionManager.failReplicaDeletion and onPartitionDeletion@2.6.3.
    """
    enter_replica_state(world, controller, row, replica_state_machine.REPLICA_DELETION_INELIGIBLE)
    topic = world.partitions[world.slots[row].partition].topic
    control_plane.topic_at(world, controller, topic).ineligible = True


@inner_rule
def take_replicas_offline(
    world: control_plane.ControlPlane, controller: int, broker: int, turn: int
) -> None:
    """The replicas of a broker that is dead go offline, and leave the ISRs that they are in.

    Those of a topic that is to be deleted wait. All of them, or those before which so many others
    of their partitions are handled.

    Source: ReplicaStateMachine.doHandleStateChanges@2.4.0.
    """
    if control_plane.broker_at(world, controller, broker).alive:
        return
    for row in range(len(world.slots)):
        partition = world.slots[row].partition
        known = control_plane.partition_at(world, controller, partition)
        if world.slots[row].broker != broker or not known.known:
            continue
        if not contains(known.replicas, row - world.partitions[partition].first_slot):
            continue
        if turn != ALL_REPLICAS and turn != _turn(world, controller, row):
            continue
        if control_plane.is_deleted(world, controller, partition):
            set_aside(world, controller, row)
        elif enter_replica_state(
            world, controller, row, replica_state_machine.OFFLINE_REPLICA
        ) and (known.has_state):
            remove_from_isr(world, controller, partition, broker)


@inner_rule
def _turn(world: control_plane.ControlPlane, controller: int, row: int) -> int:
    """The number of the partition's replicas with that fate that a HashSet has before this."""
    slot = world.slots[row]
    change = control_plane.broker_at(world, controller, slot.broker).change
    facts = world.partitions[slot.partition]
    before = 0
    for place in range(facts.slot_count):
        other = world.slots[facts.first_slot + place]
        shares = control_plane.broker_at(world, controller, other.broker).change == change
        is_replica = is_assigned(world, controller, slot.partition, place)
        if shares and is_replica and other.set_order < slot.set_order:
            before += 1
    return before
