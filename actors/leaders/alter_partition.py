"""AlterPartition at a broker: the way of its leaders' proposals to the controller (KIP-497).

A proposal is queued, one per partition. At most one request is in flight, with all queued
proposals; later ones go into the next request. The request goes to the controller that the metadata
cache names, in KRaft mode to the leader of the quorum. It is never given up: if its connection
fails, if it has no response within controller.socket.timeout.ms or its receiver is not controller
(any more), the same request is sent again, to the controller that the broker knows then; if the
controller refuses it as a whole, a new one is made after 50 ms. The effect of the response on a
partition stands in ``isr_outcomes.py``.

Simplified: after NOT_CONTROLLER 2.7 asks the same broker again at once, here after 50 ms as well.

Source: AlterIsrManagerImpl@2.7.0, DefaultAlterIsrManager@2.8.0, DefaultAlterPartitionManager
@3.8.0; BrokerToControllerRequestThread@2.8.0, NodeToControllerRequestThread@3.8.0.
"""

from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import fails_to_authenticate, known_leader
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY, first, rest
from tidegauge.simulation import events
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionData,
    AlterPartitionRequest,
    AlterPartitionResponse,
    IsrMember,
)
from tidegauge.simulation.messages.timers import AlterPartitionDue, AlterPartitionTimeout
from tidegauge.simulation.metadata_log import is_known_alive
from tidegauge.simulation.topology import controller_process, is_kraft, row_of
from tidegauge.simulation.trace_rows.replica_rows import AlterPartitionFailed, AlterPartitionSent

#: After a request that was refused as a whole; in 2.7 also the period in which it looks.
_SEND_AGAIN_US = code(50_000)
#: NetworkClient's reconnect.backoff.ms to the controller.
_RECONNECT_US = code(50_000)
#: ... and its polling period while the metadata cache names no live controller.
_NO_CONTROLLER_US = code(100_000)


@inner_rule
def submit_isr(world: Brokers, row: int, isr: int) -> None:
    """Queue the ISR that a leader proposes; nothing of this partition is queued.

    Source: DefaultAlterPartitionManager.submit@3.8.0, AlterIsrManagerImpl.enqueue@2.7.0.
    """
    hosted = world.hosted[row]
    partition = world.replicas[row]
    hosted.submitted_isr = isr
    hosted.submitted_leader_epoch = partition.leader_epoch
    hosted.submitted_partition_epoch = partition.partition_epoch
    world.brokers[hosted.broker].submitted_isrs += 1
    propagate_isrs(world, hosted.broker)


@inner_rule
def drop_submitted_isr(world: Brokers, row: int) -> None:
    """Take a proposal out of the queue: it has a response, or is obsolete.

    Source: DefaultAlterIsrManager.clearPending and handleAlterIsrResponse@2.8.0.
    """
    hosted = world.hosted[row]
    if hosted.submitted_isr != EMPTY:
        hosted.submitted_isr = EMPTY
        world.brokers[hosted.broker].submitted_isrs -= 1


@inner_rule
def propagate_isrs(world: Brokers, broker: int) -> None:
    """Send all that is queued, unless a request is on its way; in 2.7 every 50 ms only.

    Source: DefaultAlterPartitionManager.maybePropagateIsrChanges@3.8.0,
    AlterIsrManagerImpl.start@2.7.0.
    """
    state = world.brokers[broker]
    if state.submitted_isrs == 0 or state.alter_partition != NONE or state.ends:
        return
    if not world.rules[broker].isr_updates_sent_periodically:
        _make_request(world, broker)
        return
    now_us = world.context[0].time_us
    if state.alter_partition_due_us <= now_us:
        passed_us = (now_us - world.processes[broker].up_since_us) % _SEND_AGAIN_US
        _look_later(world, broker, _SEND_AGAIN_US - passed_us)


@inner_rule
def _make_request(world: Brokers, broker: int) -> None:
    """Make one request of all that is queued; it is kept, and copies of it are sent.

    Source: DefaultAlterPartitionManager.buildRequest@3.8.0.
    """
    state = world.brokers[broker]
    request = AlterPartitionRequest.to(
        world, broker, broker_id=broker, broker_epoch=state.broker_epoch
    )
    for row in LOGS.of(world, state):
        hosted = world.hosted[row]
        if hosted.submitted_isr != EMPTY:
            item = events.new_item(world, request, hosted.partition, AlterPartitionData)
            item.topic_id = world.on_disk[row].topic_id
            item.leader = world.replicas[row].local_replica
            item.leader_epoch = hosted.submitted_leader_epoch
            item.isr = hosted.submitted_isr
            item.partition_epoch = hosted.submitted_partition_epoch
    request.proposal_count = request.item_count
    if world.rules[broker].broker_epochs_checked:
        _name_members(world, request)
    state.alter_partition = request.index
    state.alter_partition_sent_us = NONE
    _send(world, broker)


@inner_rule
def _name_members(world: Brokers, request: AlterPartitionRequest) -> None:
    """Name the members of each proposed ISR with their broker epochs, behind all proposals.

    Source: Partition.addBrokerEpochToIsr@3.5.0 (KIP-903).
    """
    cursor = request.first_item
    for _ in range(request.proposal_count):
        proposed = view_as(world.items[cursor], AlterPartitionData)
        row = row_of(world, proposed.partition, request.broker_id)
        members = proposed.isr
        while members != EMPTY:
            member = events.new_item(world, request, proposed.partition, IsrMember)
            member.replica = first(members)
            member.broker_epoch = request.broker_epoch
            if member.replica != world.replicas[row].local_replica:
                place = row * world.sizes[0].width + member.replica
                member.broker_epoch = world.follower_fetches[place].broker_epoch
            members = rest(members)
        cursor = proposed.next


@inner_rule
def _known_controller(world: Brokers, broker: int) -> int:
    """The process of the controller that a broker knows; NONE if it knows none.

    In ZooKeeper mode the metadata cache names it. In KRaft mode it is the one that the request
    before went to, until a request to it fails; then the leader of the quorum.

    Source: MetadataCacheControllerNodeProvider, NodeToControllerRequestThread.doWork@3.8.0.
    """
    if is_kraft(world):
        connected = world.lifecycles[broker].isr_controller
        return connected if connected != NONE else known_leader(world, broker)
    known = world.brokers[broker].known_controller
    return controller_process(world, known) if known != NONE else NONE


@inner_rule
def _is_alive(world: Brokers, broker: int, controller: int) -> bool:
    """Whether the metadata cache has the controller's broker as alive, which KRaft does not ask."""
    return controller != NONE and (
        is_kraft(world)
        or is_known_alive(
            world, world.known_metadata[broker], world.brokers[broker].known_controller
        )
    )


@inner_rule
def _send(world: Brokers, broker: int) -> None:
    """Send the request to the controller, if one is known that is alive.

    Source: NodeToControllerRequestThread.doWork@3.8.0.
    """
    state = world.brokers[broker]
    controller = _known_controller(world, broker)
    if not _is_alive(world, broker, controller):
        _look_later(world, broker, _NO_CONTROLLER_US)
        return
    request = view_as(world.events[state.alter_partition], AlterPartitionRequest)
    state.alter_partition_controller = controller
    if is_kraft(world):
        if world.lifecycles[broker].isr_controller == NONE and fails_to_authenticate(world, broker):
            # No proposals are made every 50 ms with KRaft; and no rule may call itself.
            _give_up(world, broker, errors.NETWORK_EXCEPTION)
            _look_later(world, broker, _SEND_AGAIN_US)
            return
        world.lifecycles[broker].isr_controller = controller
    state.alter_partition_sends += 1
    state.alter_partition_sent_us = world.context[0].time_us
    AlterPartitionSent.write(
        world,
        to_process=state.alter_partition_controller,
        request=state.alter_partition_sends,
        partition_count=request.proposal_count,
    )
    request.destination = state.alter_partition_controller
    request.correlation_id = state.alter_partition_sends
    send(world, events.copy_event(world, request), state.alter_partition_sent_us)
    if not state.alter_partition_deadline:
        _watch_deadline(world, state)


@inner_rule
def _look_later(world: Brokers, broker: int, delay_us: int) -> None:
    due_us = world.context[0].time_us + delay_us
    world.brokers[broker].alter_partition_due_us = due_us
    AlterPartitionDue.at(world, due_us)


@BROKER.handles(AlterPartitionDue)
@inner_rule
def handle_alter_partition_due(world: Brokers, timer: AlterPartitionDue) -> None:
    """Send the pending request, or send it again."""
    broker = timer.destination
    state = world.brokers[broker]
    if state.ends or world.context[0].time_us < state.alter_partition_due_us:
        # It takes its leave, or another timer is set.
        return
    if state.alter_partition == NONE:
        if state.submitted_isrs > 0:
            _make_request(world, broker)
    elif state.alter_partition_sent_us == NONE:
        _send(world, broker)


@inner_rule
def _watch_deadline(world: Kernel, state: Broker) -> None:
    state.alter_partition_deadline = True
    timeout_us = state.controller_socket_timeout_ms * 1000
    AlterPartitionTimeout.at(world, state.alter_partition_sent_us + timeout_us)


@BROKER.handles(AlterPartitionTimeout)
@inner_rule
def handle_alter_partition_timeout(world: Brokers, timer: AlterPartitionTimeout) -> None:
    """The controller may not have answered within controller.socket.timeout.ms."""
    broker = timer.destination
    state = world.brokers[broker]
    if state.ends:
        return
    state.alter_partition_deadline = False
    if not _is_in_flight(state):
        return
    now_us = world.context[0].time_us
    if now_us < state.alter_partition_sent_us + state.controller_socket_timeout_ms * 1000:
        _watch_deadline(world, state)
    else:
        lose_alter_partition(world, broker, now_us)


@inner_rule
def _is_in_flight(state: Broker) -> bool:
    return state.alter_partition != NONE and state.alter_partition_sent_us != NONE


@inner_rule
def answers_request_in_flight(state: Broker, response: AlterPartitionResponse) -> bool:
    """Whether this is the response to the request as it was sent last."""
    return _is_in_flight(state) and response.correlation_id == state.alter_partition_sends


@inner_rule
def lose_alter_partition(world: Brokers, broker: int, until_us: int) -> None:
    """The connection to the controller is gone: requests sent up to ``until_us`` are lost."""
    state = world.brokers[broker]
    if _is_in_flight(state) and state.alter_partition_sent_us <= until_us and not state.ends:
        send_again(world, broker, errors.NETWORK_EXCEPTION)


@inner_rule
def send_again(world: Brokers, broker: int, error: int) -> None:
    """The same request once more: at once to another controller, else after the back-off.

    Source: NodeToControllerRequestThread.handleResponse@3.8.0.
    """
    state = world.brokers[broker]
    _write_failure(world, state, error)
    state.alter_partition_sent_us = NONE
    if is_kraft(world):
        world.lifecycles[broker].isr_controller = NONE
    known = _known_controller(world, broker)
    if known not in (NONE, state.alter_partition_controller):
        _send(world, broker)
    else:
        _look_later(world, broker, _RECONNECT_US)


@inner_rule
def make_again(world: Brokers, broker: int, error: int) -> None:
    """The request is refused as a whole: make another one later.

    Source: DefaultAlterPartitionManager.sendRequest@3.8.0.
    """
    _give_up(world, broker, error)
    if world.rules[broker].isr_updates_sent_periodically:
        propagate_isrs(world, broker)
    else:
        _look_later(world, broker, _SEND_AGAIN_US)


@inner_rule
def _give_up(world: Brokers, broker: int, error: int) -> None:
    """The request, or its connection, is refused."""
    _write_failure(world, world.brokers[broker], error)
    forget_request(world, broker)


@inner_rule
def forget_request(world: Brokers, broker: int) -> None:
    """No request is in flight."""
    state = world.brokers[broker]
    if state.alter_partition != NONE:
        events.free_event(world, world.events[state.alter_partition])
        state.alter_partition = NONE


@inner_rule
def _write_failure(world: Kernel, state: Broker, error: int) -> None:
    AlterPartitionFailed.write(
        world,
        from_process=state.alter_partition_controller,
        request=state.alter_partition_sends,
        error=error,
    )
