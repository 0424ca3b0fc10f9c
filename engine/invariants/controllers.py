"""Invariants of controllers: the active one, its events, its requests to brokers."""

from tidegauge.controller.state.control_plane import broker_at, partition_at, state_at
from tidegauge.controller.zookeeper.held_states import is_control_plane_hosted
from tidegauge.engine.invariants import checked
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import (
    LeaderAndIsrRequest,
    StopReplicaRequest,
)
from tidegauge.simulation.messages.controller_timers import ControllerWorks
from tidegauge.simulation.topology import controller_process
from tidegauge.simulation.zookeeper_tree import CONTROLLER_EPOCH_ZNODE, state_znode

CONTROLLERS = checked.Invariants()


@CONTROLLERS.of("controllers")
def active_controllers_have_a_context(world: checked.Checked) -> int:
    """The controller has one context, which is its own; no other process has one."""
    for number, state in enumerate(world.controllers):
        if state.active != (state.context != NONE) or (state.active and not state.running):
            return number
        if state.active and not (
            0 <= state.context < len(world.controller_contexts)
            and world.controller_contexts[state.context].controller == number
        ):
            return number
    return checked.HOLDS


@CONTROLLERS.of("controller_contexts")
def contexts_belong_to_active_controllers(world: checked.Checked) -> int:
    """A context is free, or that of the controller that it names."""
    for context in range(len(world.controller_contexts)):
        owner = world.controller_contexts[context].controller
        if owner != NONE and world.controllers[owner].context != context:
            return context
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def one_controller_in_each_epoch(world: checked.Checked) -> int:
    """No two brokers are controller in one epoch, and none in a later one than ZooKeeper has."""
    for number, state in enumerate(world.controllers):
        if not state.active:
            continue
        newest = world.znodes[CONTROLLER_EPOCH_ZNODE].controller_epoch
        if is_control_plane_hosted(world) and state.controller_epoch > newest:
            return number
        for other in range(number):
            if world.controllers[other].active and (
                world.controllers[other].controller_epoch == state.controller_epoch
            ):
                return number
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def controllers_that_do_not_run_are_idle(world: checked.Checked) -> int:
    """A controller processes an event only while its broker runs, and waits only inside one."""
    for number, state in enumerate(world.controllers):
        if state.event == NONE and (
            state.queue.first != NONE or state.request != NONE or state.listing != NONE
        ):
            return number
        if state.event != NONE and not state.running:
            return number
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def events_go_on_by_answers_or_work(world: checked.Checked) -> int:
    """An event being processed waits for answers of ZooKeeper, or for the controller's own work."""
    for number, state in enumerate(world.controllers):
        if state.unsent.length > state.pending or state.pending < 0:
            return number
        if state.event == NONE or state.pending != 0:
            continue
        if checked.pending(world, controller_process(world, number), ControllerWorks.KIND) == 0:
            return number
    return checked.HOLDS


@CONTROLLERS.of("controller_brokers")
def channels_send_what_is_queued(world: checked.Checked) -> int:
    """A request in flight to a broker is the first of its queue, and has a timer."""
    for place, known in enumerate(world.controller_brokers):
        if known.in_flight == NONE:
            continue
        if known.queue.first == NONE or known.in_flight != known.requests:
            return place
        if not known.deadline_timer:
            return place
    return checked.HOLDS


@CONTROLLERS.of("controller_brokers")
def requests_being_made_are_of_their_kind(world: checked.Checked) -> int:
    """An unfinished request to a broker is a LeaderAndIsr, or a StopReplica, of its own."""
    for place, known in enumerate(world.controller_brokers):
        if known.building != NONE and not checked.is_live(
            world, known.building, LeaderAndIsrRequest.KIND
        ):
            return place
        if known.stopping != NONE and not checked.is_live(
            world, known.stopping, StopReplicaRequest.KIND
        ):
            return place
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def touched_partitions_are_listed(world: checked.Checked) -> int:
    """The partitions whose state has to be sent to brokers are a list of the controller."""
    for number, state in enumerate(world.controllers):
        if not state.active:
            continue
        checked.clear_marks(world, world.sizes[0].partitions)
        previous = NONE
        partition = state.first_touched
        while partition != NONE:
            if not checked.mark(world, partition, world.sizes[0].partitions):
                return number
            previous = partition
            partition = partition_at(world, number, partition).next_touched
        if previous != state.last_touched:
            return number
        for each in range(world.sizes[0].partitions):
            if partition_at(world, number, each).touched != (world.visits[each].found == 1):
                return number
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def moves_are_listed(world: checked.Checked) -> int:
    """The partitions whose replicas have still to be moved are a list of the controller."""
    for number, state in enumerate(world.controllers):
        if not state.active:
            continue
        checked.clear_marks(world, world.sizes[0].partitions)
        previous = NONE
        partition = state.first_move
        while partition != NONE:
            if not checked.mark(world, partition, world.sizes[0].partitions):
                return number
            if not partition_at(world, number, partition).moves:
                return number
            previous = partition
            partition = partition_at(world, number, partition).next_move
        if previous != state.last_move:
            return number
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def controllers_know_no_state_before_zookeeper(world: checked.Checked) -> int:
    """A controller knows no later version or leader epoch of a state than ZooKeeper holds."""
    if not is_control_plane_hosted(world):
        return checked.HOLDS
    for number in range(len(world.controllers)):
        for partition in range(
            world.sizes[0].partitions if world.controllers[number].active else 0
        ):
            node = world.znodes[state_znode(world, partition)]
            known = state_at(world, number, partition)
            if not node.exists or not partition_at(world, number, partition).has_state:
                continue
            if known.partition_epoch > node.version or known.leader_epoch > node.leader_epoch:
                return number
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def known_states_name_replicas(world: checked.Checked) -> int:
    """A controller knows leaders that are in their ISRs, and only slots that partitions have."""
    for number in range(len(world.controllers)):
        for partition in range(
            world.sizes[0].partitions if world.controllers[number].active else 0
        ):
            known = partition_at(world, number, partition)
            slots = checked.all_slots(world.partitions[partition].slot_count)
            if not checked.is_within(known.replicas, slots) or not checked.is_within(
                known.adding, known.replicas
            ):
                return number
            state = state_at(world, number, partition)
            if known.has_state and state.leader >= 0 and not contains(state.isr, state.leader):
                return number
    return checked.HOLDS


@CONTROLLERS.of("controllers")
def dead_brokers_have_no_channel(world: checked.Checked) -> int:
    """A controller has requests only for brokers that it knows as live."""
    for number in range(len(world.controllers)):
        for broker in range(world.sizes[0].brokers if world.controllers[number].active else 0):
            known = broker_at(world, number, broker)
            if known.queue.first != NONE and not known.alive:
                return number
    return checked.HOLDS
