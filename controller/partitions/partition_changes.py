"""The states of a partition, as the controller sees it (``PartitionStateMachine``).

A table and nothing else: the state that is entered, and the states that it may be entered from. A
transition that is not in the table is refused and changes nothing. Entering ONLINE from NEW
initialises leader and ISR, from OFFLINE or ONLINE it elects; ``leader_and_isr.py`` decides the
written state.

Source: ``PartitionState`` with ``validPreviousStates``, PartitionStateMachine@2.4.0.

A controller's changes of leaders and ISRs: its reads, decisions, writes and requests.

The state of each partition that an event is about is read from ZooKeeper first: its leader may have
changed the ISR since the controller knew it. Then the rules decide, and their decision is written
on the condition that the state still has the version that was read. If a leader was faster the
state is read again and the rules decide again.
"""

from typing import Final

from tidegauge.compiled.codes import previous_state_bits
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.partitions import leader_and_isr
from tidegauge.controller.partitions.channels import add_leader_and_isr_request_for_replicas
from tidegauge.controller.state import assignments, control_plane
from tidegauge.replication.isr_update import alters_partition
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY, append
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import broker_of, slot_of
from tidegauge.simulation.trace_rows.codes import AUTO_REBALANCE, BAD_VERSION, BROKER_CHANGE, OK
from tidegauge.simulation.trace_rows.controller_rows import (
    LeaderElected,
    LeaderEpochRaised,
    RemovedFromIsr,
)
from tidegauge.simulation.zookeeper_tree import state_znode

NEW_PARTITION = code(0)
ONLINE_PARTITION = code(1)
OFFLINE_PARTITION = code(2)
NON_EXISTENT_PARTITION = code(3)

#: State entered -> states from which it may be.
VALID_PREVIOUS_STATES: Final[dict[int, frozenset[int]]] = {
    NEW_PARTITION: frozenset({NON_EXISTENT_PARTITION}),
    ONLINE_PARTITION: frozenset({NEW_PARTITION, ONLINE_PARTITION, OFFLINE_PARTITION}),
    OFFLINE_PARTITION: frozenset({NEW_PARTITION, ONLINE_PARTITION, OFFLINE_PARTITION}),
    NON_EXISTENT_PARTITION: frozenset({OFFLINE_PARTITION}),
}

_VALID_PREVIOUS = previous_state_bits(VALID_PREVIOUS_STATES)


@rule
def may_enter(state: int, target: int) -> bool:
    """Whether a partition in ``state`` may enter ``target``.

    Source: ControllerContext.checkValidPartitionStateChange@2.4.0.
    """
    return (_VALID_PREVIOUS[target] >> state) & 1 == 1


@inner_rule
def has_directory(
    world: control_plane.ControlPlane, controller: int, partition: int, slot: int
) -> bool:
    """Whether the log directory of a replica is online, as far as the controller knows."""
    row = world.partitions[partition].first_slot + slot
    return control_plane.replica_at(world, controller, row).directory_offline == 0


@inner_rule
def live_replicas(world: control_plane.ControlPlane, controller: int, partition: int) -> int:
    """Replicas that can be used, on brokers that are alive and not about to stop; a replica list.

    Source: ControllerContext.isReplicaOnline@2.4.0.
    """
    live = EMPTY
    for slot in range(world.partitions[partition].slot_count):
        broker = broker_of(world, partition, slot)
        known = control_plane.broker_at(world, controller, broker)
        if (
            known.alive
            and not known.shutting_down
            and has_directory(world, controller, partition, slot)
        ):
            live = append(live, slot)
    return live


@inner_rule
def shutting_down_replicas(
    world: control_plane.ControlPlane, controller: int, partition: int
) -> int:
    """Replicas whose brokers are about to stop; a replica list."""
    found = EMPTY
    for slot in range(world.partitions[partition].slot_count):
        broker = broker_of(world, partition, slot)
        if control_plane.broker_at(world, controller, broker).shutting_down:
            found = append(found, slot)
    return found


@inner_rule
def _live_or_shutting_down(
    world: control_plane.ControlPlane, controller: int, partition: int
) -> int:
    found = EMPTY
    for slot in range(world.partitions[partition].slot_count):
        broker = broker_of(world, partition, slot)
        if control_plane.broker_at(world, controller, broker).alive and has_directory(
            world, controller, partition, slot
        ):
            found = append(found, slot)
    return found


@inner_rule
def bring_online(world: control_plane.ControlPlane, controller: int, topic: int) -> None:
    """Create the state of new partitions, and elect leaders for those that are offline.

    For one topic, or (-1) for all.

    Source: PartitionStateMachine.triggerOnlinePartitionStateChange@2.4.0.
    """
    world.controllers[controller].removing = NONE
    world.controllers[controller].strategy = leader_and_isr.OFFLINE
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        is_of_topic = world.partitions[partition].topic == topic
        if control_plane.is_deleted(world, controller, partition):
            continue
        is_asked_for = is_of_topic or topic == NONE
        if is_asked_for and known.known and known.state in (NEW_PARTITION, OFFLINE_PARTITION):
            if known.has_state:
                _read_and_decide(world, controller, partition)
            else:
                _decide(world, controller, partition)


@inner_rule
def elect_selected(world: control_plane.ControlPlane, controller: int, strategy: int) -> None:
    """Elect leaders by a strategy for the partitions that the event has selected.

    Source: PartitionStateMachine.doElectLeaderForPartitions@2.4.0.
    """
    world.controllers[controller].removing = NONE
    world.controllers[controller].strategy = strategy
    for partition in range(world.sizes[0].partitions):
        known = control_plane.partition_at(world, controller, partition)
        if known.selected:
            known.selected = False
            _read_and_decide(world, controller, partition)


@inner_rule
def decide_on(
    world: control_plane.ControlPlane, controller: int, partition: int, strategy: int
) -> None:
    """Elect a leader of one partition by a strategy, or raise its epoch.

    Source: PartitionStateMachine.doElectLeaderForPartitions@2.4.0,
    KafkaController.updateLeaderEpoch@2.4.0.
    """
    world.controllers[controller].removing = NONE
    world.controllers[controller].strategy = strategy
    _read_and_decide(world, controller, partition)


@inner_rule
def remove_from_isr(
    world: control_plane.ControlPlane, controller: int, partition: int, broker: int
) -> None:
    """Take a broker out of the ISR of a partition, if it is in it.

    Source: ReplicaStateMachine.doRemoveReplicasFromIsr@2.4.0.
    """
    world.controllers[controller].removing = broker
    _read_and_decide(world, controller, partition)


@inner_rule
def _decide(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    """Let the rules decide on one partition, and write their decision, if any."""
    known = control_plane.partition_at(world, controller, partition)
    current = control_plane.state_at(world, controller, partition)
    proposal = world.proposal[0]
    proposal.leader = current.leader
    proposal.leader_epoch = current.leader_epoch
    proposal.isr = current.isr
    proposal.partition_epoch = current.partition_epoch
    if world.controllers[controller].removing != NONE:
        replica = slot_of(world, partition, world.controllers[controller].removing)
        changes = replica >= 0 and leader_and_isr.remove_replica_from_isr(
            world.rules[controller], proposal, replica, known.unclean_enabled
        )
        # Its replicas get the request also if there was nothing to be changed.
        add_leader_and_isr_request_for_replicas(world, controller, partition)
    elif known.has_state:
        changes = _elect(world, controller, partition)
    else:
        live = live_replicas(world, controller, partition)
        changes = leader_and_isr.initialize_leader_and_isr(proposal, known.replicas, live)
    if changes and (known.has_state or world.controllers[controller].removing != NONE):
        write_state(world, controller, partition)
    elif changes:
        request = assignments.new_request(world, controller, zookeeper_requests.ZkCreateRequest)
        _issue_state(world, controller, partition, request)


@inner_rule
def _elect(world: control_plane.ControlPlane, controller: int, partition: int) -> bool:
    """Elect a leader, or raise the epoch; whether there is anything that has to be written."""
    known = control_plane.partition_at(world, controller, partition)
    replicas = known.replicas
    proposal = world.proposal[0]
    strategy = world.controllers[controller].strategy
    live = live_replicas(world, controller, partition)
    if strategy == leader_and_isr.RAISE_EPOCH:
        leader_and_isr.new_leader_and_isr(proposal, proposal.leader, proposal.isr)
        return True
    if strategy == leader_and_isr.REASSIGN:
        outcome = leader_and_isr.reassign_partition_leader_election(proposal, replicas, live)
    elif strategy == leader_and_isr.PREFERRED:
        outcome = leader_and_isr.preferred_replica_partition_leader_election(
            proposal, replicas, live
        )
    elif strategy == leader_and_isr.CONTROLLED_SHUTDOWN:
        outcome = leader_and_isr.controlled_shutdown_partition_leader_election(
            proposal,
            replicas,
            _live_or_shutting_down(world, controller, partition),
            shutting_down_replicas(world, controller, partition),
        )
    else:
        allows_unclean = known.unclean_enabled or strategy == leader_and_isr.UNCLEAN
        outcome = leader_and_isr.offline_partition_leader_election(
            proposal, replicas, live, allows_unclean
        )
    known.unclean = outcome == leader_and_isr.ELECTED_UNCLEAN
    return outcome != leader_and_isr.NOBODY_ELECTED and may_enter(known.state, ONLINE_PARTITION)


@inner_rule
def write_state(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    """Write ``world.proposal``, if the state still has the version that it names."""
    request = assignments.new_request(world, controller, zookeeper_requests.ZkSetRequest)
    _issue_state(world, controller, partition, request)


@inner_rule
def _issue_state(
    world: control_plane.ControlPlane,
    controller: int,
    partition: int,
    request: zookeeper_requests.ZkDataWrite,
) -> None:
    known = control_plane.partition_at(world, controller, partition)
    proposal = world.proposal[0]
    known.written_leader = proposal.leader
    known.written_epoch = proposal.leader_epoch
    known.written_isr = proposal.isr
    request.partition = partition
    request.version = proposal.partition_epoch
    data = new_item(world, request, partition, zookeeper_requests.ZnodeData)
    data.leader = proposal.leader
    data.leader_epoch = proposal.leader_epoch
    data.isr = proposal.isr
    data.controller_epoch = world.controllers[controller].controller_epoch
    assignments.issue_write(world, controller, request, state_znode(world, partition))


@inner_rule
def take_state_answer(
    world: control_plane.ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    """Take ZooKeeper's response about one partition's state: read, or written."""
    if response.operation == zookeeper_requests.ZkGetRequest.KIND:
        _take_state(world, controller, response)
    elif response.error == OK:
        _confirm(world, controller, response)
    elif response.error == BAD_VERSION:
        _read_and_decide(world, controller, response.partition)


@inner_rule
def read_state(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    """Read the state of a partition into the controller's cache."""
    _read(world, controller, partition, assignments.TAKE_OVER)


@inner_rule
def _read_and_decide(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    _read(world, controller, partition, assignments.DECIDE)


@inner_rule
def _read(world: control_plane.ControlPlane, controller: int, partition: int, purpose: int) -> None:
    request = assignments.new_request(world, controller, zookeeper_requests.ZkGetRequest)
    request.partition = partition
    request.continuation = purpose
    # While its replicas are moved the controller watches it, if it does not write ISRs itself.
    known = control_plane.partition_at(world, controller, partition)
    writes_isrs = alters_partition(world.rules[controller])
    request.sets_watch = known.reassigned and not writes_isrs
    assignments.issue(world, controller, request, state_znode(world, partition))


@inner_rule
def _take_state(
    world: control_plane.ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    """Take over a state that was read; one of a later controller is not changed here.

    Source: PartitionStateMachine.doElectLeaderForPartitions@2.4.0.
    """
    if response.error != OK:
        return
    data = view_as(world.items[response.first_item], zookeeper_requests.ZnodeData)
    known = control_plane.partition_at(world, controller, response.partition)
    state = control_plane.state_at(world, controller, response.partition)
    state.leader = data.leader
    state.leader_epoch = data.leader_epoch
    state.isr = data.isr
    state.partition_epoch = data.version
    known.has_state = True
    known.controller_epoch = data.controller_epoch
    known.unclean_enabled = data.unclean_leader_election
    own_epoch = world.controllers[controller].controller_epoch
    if response.continuation == assignments.DECIDE and data.controller_epoch <= own_epoch:
        _decide(world, controller, response.partition)


@inner_rule
def _confirm(
    world: control_plane.ControlPlane, controller: int, response: zookeeper_requests.ZkResponse
) -> None:
    """A state is written: apply it, and mark the partition for requests to brokers."""
    known = control_plane.partition_at(world, controller, response.partition)
    state = control_plane.state_at(world, controller, response.partition)
    old_leader = state.leader if known.has_state else UNDEFINED
    state.leader = known.written_leader
    state.leader_epoch = known.written_epoch
    state.isr = known.written_isr
    state.partition_epoch = response.version
    known.is_new = not known.has_state
    known.has_state = True
    known.controller_epoch = world.controllers[controller].controller_epoch
    add_leader_and_isr_request_for_replicas(world, controller, response.partition)
    if world.controllers[controller].removing != NONE:
        _write_removal(world, controller, response.partition)
    elif world.controllers[controller].strategy == leader_and_isr.RAISE_EPOCH:
        _write_raised_epoch(world, controller, response.partition)
    else:
        known.state = ONLINE_PARTITION
        _write_election(world, controller, response.partition, old_leader)
    known.row_sequence = world.context[0].cause_sequence


@inner_rule
def _write_election(
    world: control_plane.ControlPlane, controller: int, partition: int, old_leader: int
) -> None:
    state = control_plane.state_at(world, controller, partition)
    unclean = control_plane.partition_at(world, controller, partition).unclean
    counted = world.controllers[controller]
    counted.leader_elections += 1 if state.leader != old_leader else 0
    counted.unclean_elections += 1 if unclean else 0
    written = LeaderElected.new(
        world,
        state,
        partition=partition,
        leader=broker_of(world, partition, state.leader),
        version=state.partition_epoch,
        old_leader=broker_of(world, partition, old_leader),
        unclean=1 if unclean else 0,
    )
    _tell_reason(world, controller, written)
    record_row(world, written)


@inner_rule
def _tell_reason(
    world: control_plane.ControlPlane, controller: int, elected: LeaderElected
) -> None:
    """Set the broker whose coming or going is the cause: one event can be about many."""
    state = world.controllers[controller]
    old_leader = elected.old_leader
    if state.strategy == leader_and_isr.OFFLINE and old_leader >= 0:
        if not control_plane.broker_at(world, controller, old_leader).alive:
            control_plane.because_of_registration(world, controller, elected, old_leader)
    elif state.event == AUTO_REBALANCE or (
        state.strategy == leader_and_isr.OFFLINE and state.event == BROKER_CHANGE
    ):
        control_plane.because_of_registration(world, controller, elected, elected.leader)


@inner_rule
def _write_raised_epoch(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    state = control_plane.state_at(world, controller, partition)
    LeaderEpochRaised.write(
        world,
        state,
        partition=partition,
        leader=broker_of(world, partition, state.leader),
        version=state.partition_epoch,
        replicas=control_plane.partition_at(world, controller, partition).replicas,
    )


@inner_rule
def _write_removal(world: control_plane.ControlPlane, controller: int, partition: int) -> None:
    state = control_plane.state_at(world, controller, partition)
    written = RemovedFromIsr.new(
        world,
        state,
        partition=partition,
        replica=world.controllers[controller].removing,
        leader=broker_of(world, partition, state.leader),
        version=state.partition_epoch,
    )
    if not control_plane.broker_at(world, controller, written.replica).alive:
        control_plane.because_of_registration(world, controller, written, written.replica)
    record_row(world, written)
