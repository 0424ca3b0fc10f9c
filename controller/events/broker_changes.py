"""Changes of brokers at ZooKeeper's controller: they appear, are gone, or ask for a shutdown.

In one broker change, by the list of /brokers/ids, Kafka first starts up the brokers that are new,
then those that have bounced (another czxid: to it a failure and a start), and then deals with the
failures: first a leader for every partition whose leader is dead, all dead brokers leaving its ISR
at once, then broker by broker the ISRs that they are still in. Up to 1.0 the replicas are in one
Scala set instead, whose order decides which of two dead members is left in an ISR.

A controlled shutdown moves the broker's leaderships to others in the ISR, as far as there are any,
and takes it out of the ISRs that it follows in. Only partitions with more than one replica count.
The response has the number of partitions that it still leads; with these it may ask again.

Source: KafkaController.doControlledShutdown@2.6.3, shutdownBroker@0.10.2.2.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.events.log_dir_changes import forget_offline_replicas
from tidegauge.controller.events.topic_deletions import is_any_topic_deleted, resume_deletion
from tidegauge.controller.partitions import channels, partition_changes
from tidegauge.controller.partitions.leader_and_isr import (
    CONTROLLED_SHUTDOWN,
    failure_takes_offline,
)
from tidegauge.controller.partitions.replica_state_machine import NEW_REPLICA, OFFLINE_REPLICA
from tidegauge.controller.partitions.replica_states import (
    ALL_REPLICAS,
    bring_replica_online,
    enter_replica_state,
    take_replicas_offline,
)
from tidegauge.controller.state import control_plane
from tidegauge.controller.state.assignments import is_assigned, issue_children, want_move
from tidegauge.replication import errors, records, replica_list
from tidegauge.simulation.events import free_event, new_response
from tidegauge.simulation.jvm_orders import MOST_IN_ORDER
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import broker_of, row_of, slot_of
from tidegauge.simulation.trace_rows.codes import REASSIGNMENT_RESUMED, TOPIC_DELETION_RESUMED
from tidegauge.simulation.trace_rows.controller_rows import (
    BrokerFailed,
    BrokerRegistered,
    BrokerShutsDown,
)
from tidegauge.simulation.zookeeper_tree import BROKER_IDS_ZNODE

# ControllerBroker.change
_UNCHANGED = code(0)
_APPEARED = code(1)
_BOUNCED = code(2)
_GONE = code(3)

# Phases: list and compare, then four stages one after the other.
_LIST = code(0)
_COMPARE = code(1)
_FIRST_STAGE = code(2)

# Steps of a stage that starts brokers up.
_STARTED = code(1)
_START_STEPS = code(2)
# Steps of a stage that deals with failures; from the third on one per broker, then the end.
_FAIL = code(0)
_FAILED = code(1)
_FIRST_BROKER = code(2)

_TRUE = code(True)
_MOST_IN_ORDER = code(MOST_IN_ORDER)


@inner_rule
def advance_broker_change(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of a broker change.

    Source: KafkaController.processBrokerChange@2.4.0.
    """
    state = world.controllers[controller]
    phase = state.phase
    state.phase += 1
    if phase == _LIST:
        issue_children(world, controller, BROKER_IDS_ZNODE)
        return
    if phase == _COMPARE:
        _compare(world, controller)
        return
    rounds = _rounds(world, controller)
    fail_steps = _FIRST_BROKER + rounds * world.sizes[0].brokers + 1
    step = phase - _FIRST_STAGE
    if step < _START_STEPS:
        _start_up(world, controller, _APPEARED, step)
        return
    step -= _START_STEPS
    if step < fail_steps:
        _fail(world, controller, _BOUNCED, step)
        return
    step -= fail_steps
    if step < _START_STEPS:
        _start_up(world, controller, _BOUNCED, step)
        return
    step -= _START_STEPS
    if step < fail_steps:
        _fail(world, controller, _GONE, step)
        return
    state.event = NONE
    if _resume_reassignments(world, controller):
        state.event = REASSIGNMENT_RESUMED
        state.phase = 0
    elif is_any_topic_deleted(world, controller):
        state.event = TOPIC_DELETION_RESUMED
        state.phase = 0


@inner_rule
def _resume_reassignments(world: control_plane.ControlPlane, controller: int) -> bool:
    """Resume reassignments that waited for brokers that have come; whether there is any.

    Kafka does so before it deals with those that are gone.

    Source: KafkaController.maybeResumeReassignments@2.4.0.
    """
    found = False
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if known.reassigned and _has_come(world, controller, partition):
            known.target = replica_list.without(known.replicas, known.removing)
            want_move(world, controller, partition)
            found = True
    return found


@inner_rule
def _has_come(world: control_plane.ControlPlane, controller: int, partition: int) -> bool:
    """Whether a replica that a partition is to have is on a broker that has come."""
    known = control_plane.partition_at(world, controller, partition)
    target = replica_list.without(known.replicas, known.removing)
    while target != replica_list.EMPTY:
        broker = broker_of(world, partition, replica_list.first(target))
        target = replica_list.rest(target)
        if control_plane.broker_at(world, controller, broker).change in (_APPEARED, _BOUNCED):
            return True
    return False


@inner_rule
def _compare(world: control_plane.ControlPlane, controller: int) -> None:
    """Find the brokers that have appeared, bounced or gone since the last listing."""
    for broker in range(world.sizes[0].brokers):
        known = control_plane.broker_at(world, controller, broker)
        is_listed = known.listed_epoch != records.UNDEFINED
        known.change = _UNCHANGED
        if known.alive and not is_listed:
            known.change = _GONE
        elif is_listed and not known.alive:
            known.change = _APPEARED
        elif (
            is_listed
            and known.listed_epoch > known.broker_epoch
            and (world.rules[controller].bounced_brokers_detected)
        ):
            known.change = _BOUNCED
        if known.change != _UNCHANGED:
            channels.close_channel(world, controller, broker)
            known.has_channel = known.change != _GONE
        if known.change in (_GONE, _BOUNCED):
            failed = BrokerFailed.new(world, broker=broker)
            control_plane.because_of_registration(world, controller, failed, broker)
            record_row(world, failed)
        if known.change in (_APPEARED, _BOUNCED):
            registered = BrokerRegistered.new(world, broker=broker)
            control_plane.because_of_registration(world, controller, registered, broker)
            record_row(world, registered)


@inner_rule
def _any(world: control_plane.ControlPlane, controller: int, change: int) -> bool:
    for broker in range(world.sizes[0].brokers):
        if control_plane.broker_at(world, controller, broker).change == change:
            return True
    return False


@inner_rule
def _start_up(world: control_plane.ControlPlane, controller: int, change: int, step: int) -> None:
    """Send all brokers the list of new brokers, send these their roles, elect.

    Source: KafkaController.onBrokerStartup@2.4.0.
    """
    if not _any(world, controller, change):
        return
    if step == _STARTED:
        channels.send_requests_to_brokers(world, controller)
        return
    sizes = world.sizes[0]
    for broker in range(sizes.brokers):
        known = control_plane.broker_at(world, controller, broker)
        if known.change == change:
            known.alive = True
            forget_offline_replicas(world, controller, broker)
            known.broker_epoch = known.listed_epoch
    # New brokers get everything with it: they read all changes from the first on.
    channels.send_update_metadata_request(world, controller)
    for partition in range(sizes.partitions):
        if control_plane.partition_at(world, controller, partition).known:
            _tell_new_replicas(world, controller, partition, change)
    channels.send_requests_to_brokers(world, controller)
    partition_changes.bring_online(world, controller, NONE)


@inner_rule
def _tell_new_replicas(
    world: control_plane.ControlPlane, controller: int, partition: int, change: int
) -> None:
    facts = world.partitions[partition]
    for slot in range(facts.slot_count):
        broker = world.slots[facts.first_slot + slot].broker
        is_replica = is_assigned(world, controller, partition, slot)
        if is_replica and control_plane.broker_at(world, controller, broker).change == change:
            row = facts.first_slot + slot
            resume_deletion(world, controller, facts.topic)
            # New replicas get it when the reassignment continues.
            was_new = control_plane.replica_at(world, controller, row).state == NEW_REPLICA
            bring_replica_online(world, controller, row)
            if control_plane.partition_at(world, controller, partition).has_state and not was_new:
                channels.add_leader_and_isr_request(world, controller, partition, broker)


@inner_rule
def _fail(world: control_plane.ControlPlane, controller: int, change: int, step: int) -> None:
    """Elect where the leader is dead, then take the dead out of the other ISRs.

    Source: KafkaController.onBrokerFailure and onReplicasBecomeOffline@2.4.0.
    """
    if not _any(world, controller, change):
        return
    state = world.controllers[controller]
    brokers = world.sizes[0].brokers
    if step == _FAIL:
        for broker in range(brokers):
            known = control_plane.broker_at(world, controller, broker)
            if known.change == change:
                known.alive = False
                known.shutting_down = False
                forget_offline_replicas(world, controller, broker)
        state.leaders_lost = _take_offline(world, controller, change)
        state.dead_hashed = _are_hashed(world, controller, change)
        partition_changes.bring_online(world, controller, NONE)
    elif step == _FAILED:
        channels.send_requests_to_brokers(world, controller)
    elif step < _FIRST_BROKER + _rounds(world, controller) * brokers:
        turn, broker = divmod(step - _FIRST_BROKER, brokers)
        if control_plane.broker_at(world, controller, broker).change == change:
            _take_turn(world, controller, broker, turn)
    else:
        channels.send_requests_to_brokers(world, controller)
        if not state.leaders_lost:
            # An election has sent all brokers the list of live brokers already.
            channels.send_update_metadata_request(world, controller)


@inner_rule
def _take_turn(world: control_plane.ControlPlane, controller: int, broker: int, turn: int) -> None:
    if world.controllers[controller].dead_hashed:
        take_replicas_offline(world, controller, broker, turn)
    elif turn == 0:
        take_replicas_offline(world, controller, broker, ALL_REPLICAS)


@inner_rule
def _rounds(world: control_plane.ControlPlane, controller: int) -> int:
    """The number of turns of each broker: one, or one for each replica of a partition."""
    return world.sizes[0].width if world.rules[controller].dead_replicas_in_set else 1


@inner_rule
def _are_hashed(world: control_plane.ControlPlane, controller: int, change: int) -> bool:
    """Whether the replicas on brokers that are gone are so many that their set is a HashSet.

    Source: ControllerContext.replicasOnBrokers@0.10.2.2; immutable.Set4.+ of Scala 2.11.
    """
    if not world.rules[controller].dead_replicas_in_set:
        return False
    found = 0
    for row, slot in enumerate(world.slots):
        if control_plane.broker_at(world, controller, slot.broker).change == change:
            place = row - world.partitions[slot.partition].first_slot
            if is_assigned(world, controller, slot.partition, place):
                found += 1
    return found > _MOST_IN_ORDER


@inner_rule
def _take_offline(world: control_plane.ControlPlane, controller: int, change: int) -> bool:
    """Find the partitions that have no leader now; whether there are any."""
    sizes = world.sizes[0]
    found = False
    for partition in range(sizes.partitions):
        known = control_plane.partition_at(world, controller, partition)
        if not known.has_state:
            continue
        facts = world.partitions[partition]
        dead = replica_list.EMPTY
        for slot in range(facts.slot_count):
            broker = world.slots[facts.first_slot + slot].broker
            if control_plane.broker_at(world, controller, broker).change == change:
                dead = replica_list.append(dead, slot)
        online = partition_changes.live_replicas(world, controller, partition)
        current = control_plane.state_at(world, controller, partition)
        is_hit = failure_takes_offline(world.rules[controller], current, dead, online)
        if is_hit and partition_changes.may_enter(known.state, partition_changes.OFFLINE_PARTITION):
            known.state = partition_changes.OFFLINE_PARTITION
            found = True
    return found


# Phases.
_ELECT = code(0)
_STOP = code(1)

_FALSE = code(False)


@inner_rule
def advance_broker_shutdown(world: control_plane.ControlPlane, controller: int) -> None:
    """One phase of a controlled shutdown."""
    state = world.controllers[controller]
    request = view_as(world.events[state.request], ControlledShutdownRequest)
    broker = request.broker_id
    phase = state.phase
    state.phase += 1
    if phase == _ELECT:
        error = _error_of(world, controller, request)
        if error != errors.NONE:
            _end(world, controller, error, records.UNDEFINED)
            return
        control_plane.broker_at(world, controller, broker).shutting_down = True
        _select_led(world, controller, broker)
        partition_changes.elect_selected(world, controller, CONTROLLED_SHUTDOWN)
    elif phase == _STOP:
        channels.send_requests_to_brokers(world, controller)
        _stop_followed(world, controller, broker)
    else:
        channels.send_requests_to_brokers(world, controller)
        remaining = _count_led(world, controller, broker)
        BrokerShutsDown.write(world, broker=broker, remaining=remaining)
        _end(world, controller, errors.NONE, remaining)


@inner_rule
def _error_of(
    world: control_plane.ControlPlane, controller: int, request: ControlledShutdownRequest
) -> int:
    if not world.controllers[controller].active:
        return errors.STALE_CONTROLLER_EPOCH
    known = control_plane.broker_at(world, controller, request.broker_id)
    is_fenced = world.rules[controller].broker_epoch_fenced
    if is_fenced and request.broker_epoch < known.broker_epoch:
        return errors.STALE_BROKER_EPOCH
    if not known.alive:
        return errors.BROKER_NOT_AVAILABLE
    return errors.NONE


@inner_rule
def _end(world: control_plane.ControlPlane, controller: int, error: int, remaining: int) -> None:
    state = world.controllers[controller]
    request = view_as(world.events[state.request], ControlledShutdownRequest)
    answer_shutdown(world, request, error, remaining)
    state.request = NONE
    state.event = NONE


@inner_rule
def answer_shutdown(
    world: Kernel, request: ControlledShutdownRequest, error: int, remaining: int
) -> None:
    """Send a broker the number of partitions that it still leads, or an error."""
    response = new_response(world, request, ControlledShutdownResponse)
    response.error = error
    response.remaining_partitions = remaining
    send(world, response, world.context[0].time_us)
    free_event(world, request)


@inner_rule
def _is_concerned(
    world: control_plane.ControlPlane, controller: int, partition: int, broker: int
) -> bool:
    known = control_plane.partition_at(world, controller, partition)
    if control_plane.is_deleted(world, controller, partition):
        return False
    slot = slot_of(world, partition, broker)
    return (
        known.has_state
        and replica_list.size(known.replicas) > 1
        and replica_list.contains(known.replicas, slot)
    )


@inner_rule
def _is_led_by(
    world: control_plane.ControlPlane, controller: int, partition: int, broker: int
) -> bool:
    leader = control_plane.state_at(world, controller, partition).leader
    return broker_of(world, partition, leader) == broker


@inner_rule
def _select_led(world: control_plane.ControlPlane, controller: int, broker: int) -> None:
    """Select the partitions that the broker leads; its followed ones are stopped afterwards."""
    for partition in range(world.sizes[0].partitions):
        if _is_concerned(world, controller, partition, broker):
            known = control_plane.partition_at(world, controller, partition)
            leads = _is_led_by(world, controller, partition, broker)
            known.selected = leads
            known.is_followed = not leads


@inner_rule
def _stop_followed(world: control_plane.ControlPlane, controller: int, broker: int) -> None:
    """Let the broker fetch no more from its leaders, and take it out of the ISRs."""
    for partition in range(world.sizes[0].partitions):
        if control_plane.partition_at(world, controller, partition).is_followed:
            channels.add_stop_replica_request(world, controller, partition, broker, _FALSE)
    channels.send_requests_to_brokers(world, controller)
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if known.is_followed:
            known.is_followed = False
            row = row_of(world, partition, broker)
            if enter_replica_state(world, controller, row, OFFLINE_REPLICA):
                channels.add_stop_replica_request(world, controller, partition, broker, _FALSE)
                partition_changes.remove_from_isr(world, controller, partition, broker)


@inner_rule
def _count_led(world: control_plane.ControlPlane, controller: int, broker: int) -> int:
    """The number of partitions with other replicas that the broker still leads."""
    count = 0
    for partition in range(world.sizes[0].partitions):
        if _is_concerned(world, controller, partition, broker) and (
            _is_led_by(world, controller, partition, broker)
        ):
            count += 1
    return count
