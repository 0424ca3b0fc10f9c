"""A controller's requests to brokers: gathered, queued for each broker, and sent until they arrive.

The changes of one step (``ControllerBrokerRequestBatch``) make one LeaderAndIsr for each broker
with replicas among them, one UpdateMetadata for every live broker, and one StopReplica for each
broker of which replicas are to stop; they are sent in this order. The content of an UpdateMetadata
is written down once for all brokers (``simulation/metadata_log.py``).

The first request of a broker's queue is in flight. If its connection fails or it has no response
within controller.socket.timeout.ms it is retried after 100 ms, until the broker is gone from
ZooKeeper.

Source: ControllerChannelManager, RequestSendThread and
ControllerBrokerRequestBatch.sendRequestsToBrokers@0.10.2.0 and @2.4.0.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.leader_and_isr import CONTROLLED_SHUTDOWN
from tidegauge.controller.partitions.replica_state_machine import NEW_REPLICA
from tidegauge.controller.state.assignments import is_assigned
from tidegauge.controller.state.control_plane import (
    ControllerBroker,
    ControlPlane,
    broker_at,
    is_deleted,
    partition_at,
    replica_at,
    state_at,
)
from tidegauge.controller.state.handlers import CONTROLLER
from tidegauge.replication.partition import EPOCH_DURING_DELETE
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation import events
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import controller_requests
from tidegauge.simulation.messages.controller_timers import ControlRetries, ControlTimeout
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.simulation.metadata_log import broker_subject, log_change
from tidegauge.simulation.topology import broker_of, controller_process, row_of, zookeeper_process
from tidegauge.simulation.trace_rows.codes import BROKER_CHANGE

#: RequestSendThread.backoff: between two attempts.
_BACKOFF_US = code(100_000)


@inner_rule
def queue_request(world: ControlPlane, controller: int, broker: int, index: int) -> None:
    """Send a request when all before it are answered; only its receiver gets its content.

    In a broker change that finds new brokers and others gone, the news of the new ones are for all
    brokers that were live, and those that are gone have no channel any more.

    Source: ControllerChannelManager.sendRequest@2.6.3, KafkaController.processBrokerChange@2.6.3.
    """
    known = broker_at(world, controller, broker)
    if not known.has_channel:
        events.free_event(world, world.events[index])
        return
    events.append_event(world, known.queue, world.events[index])
    if known.queue.length == 1:
        _send_first(world, controller, broker)


@inner_rule
def _send_first(world: ControlPlane, controller: int, broker: int) -> None:
    """Send the first request of the queue; it stays there until it is answered."""
    known = broker_at(world, controller, broker)
    request = world.events[known.queue.first]
    copy = events.copy_event(world, request)
    # A request that is sent again keeps its reason.
    copy.cause_process = request.cause_process
    copy.cause_sequence = request.cause_sequence
    known.requests += 1
    known.in_flight = known.requests
    known.sent_us = world.context[0].time_us
    copy.correlation_id = known.in_flight
    send(world, copy, known.sent_us)
    if not known.deadline_timer:
        _watch_deadline(world, controller, broker)


@inner_rule
def _watch_deadline(world: ControlPlane, controller: int, broker: int) -> None:
    known = broker_at(world, controller, broker)
    known.deadline_timer = True
    state = world.controllers[controller]
    due_us = known.sent_us + state.controller_socket_timeout_ms * 1000
    ControlTimeout.at(world, due_us, state, broker=broker)


@inner_rule
def is_response_awaited(
    world: ControlPlane, controller: int, response: controller_requests.ControlResponse
) -> bool:
    """Whether a response is that to the request in flight: no earlier one's, or term's."""
    known = broker_at(world, controller, response.broker_id)
    # The number of an earlier term may come again, its time does not.
    return known.in_flight == response.correlation_id and known.sent_us == response.asked_us


@inner_rule
def take_control_response(
    world: ControlPlane, controller: int, response: controller_requests.ControlResponse
) -> int:
    """A broker has dealt with a request: send the next.

    The request is given back, unless it has deleted replicas of a topic that is to be deleted:
    then its index is returned, for the controller to go on with that; else NONE.
    """
    known = broker_at(world, controller, response.broker_id)
    if not is_response_awaited(world, controller, response):
        return NONE
    known.in_flight = NONE
    request = events.take_first(world, known.queue)
    if known.queue.length > 0:
        _send_first(world, controller, response.broker_id)
    if _deletes_a_topic(world, controller, request):
        view_as(request, controller_requests.StopReplicaRequest).error = response.error
        return request.index
    events.free_event(world, request)
    return NONE


@inner_rule
def _deletes_a_topic(world: ControlPlane, controller: int, request: Event) -> bool:
    if request.kind == controller_requests.StopReplicaRequest.KIND:
        for item in events.items_of(world, request, controller_requests.StopReplicaPartition):
            if item.deletes and is_deleted(world, controller, item.partition):
                return True
    return False


@inner_rule
def _lose_channel(world: ControlPlane, controller: int, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: requests sent up to ``until_us`` are sent again."""
    known = broker_at(world, controller, broker)
    if known.in_flight != NONE and known.sent_us <= until_us:
        known.in_flight = NONE
        ControlRetries.after(
            world,
            _BACKOFF_US,
            generation=world.controllers[controller].generation,
            broker=broker,
            correlation_id=known.requests,
        )


@inner_rule
def _is_current(world: ControlPlane, controller: int, generation: int) -> bool:
    """Whether a timer was set in the term that the controller is in now."""
    state = world.controllers[controller]
    return state.context != NONE and generation == state.generation


@CONTROLLER.handles(ControlTimeout)
@inner_rule
def handle_control_timeout(world: ControlPlane, timer: ControlTimeout) -> bool:
    """A request may not have been answered within controller.socket.timeout.ms."""
    controller = world.processes[timer.destination].number
    if not _is_current(world, controller, timer.generation):
        return False
    known = broker_at(world, controller, timer.broker)
    known.deadline_timer = False
    if known.in_flight == NONE:
        return False
    now_us = world.context[0].time_us
    timeout_us = world.controllers[controller].controller_socket_timeout_ms * 1000
    if now_us < known.sent_us + timeout_us:
        _watch_deadline(world, controller, timer.broker)
    else:
        _lose_channel(world, controller, timer.broker, now_us)
    return False


@CONTROLLER.handles(ControlRetries)
@inner_rule
def handle_control_retries(world: ControlPlane, timer: ControlRetries) -> bool:
    """The pause is over: send the first request once more."""
    controller = world.processes[timer.destination].number
    if not _is_current(world, controller, timer.generation):
        return False
    known = broker_at(world, controller, timer.broker)
    is_last = known.requests == timer.correlation_id
    if known.in_flight == NONE and is_last and known.queue.length > 0:
        _send_first(world, controller, timer.broker)
    return False


@CONTROLLER.handles(Disconnected)
@inner_rule
def handle_disconnected(world: ControlPlane, news: Disconnected) -> bool:
    """A process is gone: if it is a broker's, with the connection to it."""
    controller = world.processes[news.destination].number
    is_broker = news.source < world.sizes[0].brokers
    if is_broker and world.controllers[controller].context != NONE:
        _lose_channel(world, controller, news.source, news.until_us)
    return False


@inner_rule
def close_channel(world: ControlPlane, controller: int, broker: int) -> None:
    """A broker is gone: its queued requests are dropped.

    Source: ControllerChannelManager.removeBroker@2.4.0.
    """
    known = broker_at(world, controller, broker)
    _drop_unsent(world, known)
    events.free_all(world, known.queue)
    known.in_flight = NONE
    known.has_channel = False


@inner_rule
def _drop_unsent(world: Kernel, known: ControllerBroker) -> None:
    """The unfinished batch will not be sent."""
    if known.building != NONE:
        events.free_event(world, world.events[known.building])
        known.building = NONE
    if known.stopping != NONE:
        events.free_event(world, world.events[known.stopping])
        known.stopping = NONE


@inner_rule
def add_update_metadata_request(world: ControlPlane, controller: int, partition: int) -> None:
    """Put a partition into the next UpdateMetadata.

    Source: ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers@2.4.0.
    """
    known = partition_at(world, controller, partition)
    if known.touched:
        return
    state = world.controllers[controller]
    known.touched = True
    known.next_touched = NONE
    if state.last_touched == NONE:
        state.first_touched = partition
    else:
        partition_at(world, controller, state.last_touched).next_touched = partition
    state.last_touched = partition


@inner_rule
def add_leader_and_isr_request_for_replicas(
    world: ControlPlane, controller: int, partition: int
) -> None:
    """Put a partition into the LeaderAndIsr of all its live replicas.

    Not if its topic is to be deleted.

    Source: ControllerBrokerRequestBatch.addLeaderAndIsrRequestForBrokers@2.4.0.
    """
    if is_deleted(world, controller, partition):
        return
    add_update_metadata_request(world, controller, partition)
    partition_at(world, controller, partition).led_anew = True


@inner_rule
def add_leader_and_isr_request(
    world: ControlPlane,
    controller: int,
    partition: int,
    broker: int,
) -> None:
    """Put a partition into the LeaderAndIsr that is being made for a broker.

    Source: ControllerBrokerRequestBatch.addLeaderAndIsrRequestForBrokers@2.4.0.
    """
    known = broker_at(world, controller, broker)
    if known.building == NONE:
        request = controller_requests.LeaderAndIsrRequest.to(world, broker)
        _sign(world, controller, broker, request)
        known.building = request.index
    add_update_metadata_request(world, controller, partition)
    known_partition = partition_at(world, controller, partition)
    replica = replica_at(world, controller, row_of(world, partition, broker))
    item = events.new_item(
        world,
        world.events[known.building],
        partition,
        controller_requests.LeaderAndIsrPartition,
        state_at(world, controller, partition),
        known_partition,
        is_new=known_partition.is_new or replica.state == NEW_REPLICA,
    )
    _tell_reason(world, controller, item, broker)


@inner_rule
def _tell_reason(
    world: ControlPlane,
    controller: int,
    item: controller_requests.LeaderAndIsrPartition,
    broker: int,
) -> None:
    """Why a replica gets a request: its partition's state was written, or its broker has come."""
    state = world.controllers[controller]
    item.row_process = controller_process(world, controller)
    item.row_sequence = partition_at(world, controller, item.partition).row_sequence
    if item.row_sequence == NONE and state.event == BROKER_CHANGE:
        item.row_process = zookeeper_process(world)
        item.row_sequence = broker_at(world, controller, broker).listed_row


@inner_rule
def add_stop_replica_request(
    world: ControlPlane,
    controller: int,
    partition: int,
    broker: int,
    deletes: bool,
) -> None:
    """Put a partition into the StopReplica that is being made for a broker.

    ``deletes``: delete its log as well. A broker that is not alive gets no request.

    Source: ControllerBrokerRequestBatch.addStopReplicaRequestForBrokers@2.6.3.
    """
    known = broker_at(world, controller, broker)
    if known.stopping == NONE:
        request = controller_requests.StopReplicaRequest.to(world, broker)
        _sign(world, controller, broker, request)
        known.stopping = request.index
    item = events.new_item(
        world, world.events[known.stopping], partition, controller_requests.StopReplicaPartition
    )
    item.leader_epoch = state_at(world, controller, partition).leader_epoch
    if is_deleted(world, controller, partition):
        item.leader_epoch = EPOCH_DURING_DELETE
    item.deletes = deletes


@inner_rule
def _sign(
    world: ControlPlane, controller: int, broker: int, request: controller_requests.ControlRequest
) -> None:
    request.controller_id = controller
    request.controller_epoch = world.controllers[controller].controller_epoch
    request.broker_epoch = broker_at(world, controller, broker).broker_epoch


@inner_rule
def send_requests_to_brokers(world: ControlPlane, controller: int) -> None:
    """Send the gathered requests: LeaderAndIsr, then UpdateMetadata, then StopReplica.

    Source: ControllerBrokerRequestBatch.sendRequestsToBrokers@2.4.0.
    """
    partition = world.controllers[controller].first_touched
    anything_touched = partition != NONE
    while partition != NONE:
        known = partition_at(world, controller, partition)
        if known.led_anew:
            known.led_anew = False
            _add_to_live_replicas(world, controller, partition)
            known.is_new = False
            known.row_sequence = NONE
        partition = known.next_touched
    for broker in range(world.sizes[0].brokers):
        told = broker_at(world, controller, broker)
        if told.building != NONE:
            queue_request(world, controller, broker, told.building)
            told.building = NONE
    if anything_touched:
        send_update_metadata_request(world, controller)
    for broker in range(world.sizes[0].brokers):
        stopped = broker_at(world, controller, broker)
        if stopped.stopping != NONE:
            queue_request(world, controller, broker, stopped.stopping)
            stopped.stopping = NONE


@inner_rule
def _add_to_live_replicas(world: ControlPlane, controller: int, partition: int) -> None:
    facts = world.partitions[partition]
    removing = world.controllers[controller].removing
    elects = removing == NONE and world.controllers[controller].strategy != CONTROLLED_SHUTDOWN
    for slot in range(facts.slot_count):
        broker = world.slots[facts.first_slot + slot].broker
        known = broker_at(world, controller, broker)
        # A broker that is about to stop gets only the decisions for that reason.
        is_told = broker != removing and not (elects and known.shutting_down)
        is_replica = is_assigned(world, controller, partition, slot)
        if known.alive and is_told and is_replica:
            add_leader_and_isr_request(world, controller, partition, broker)


@inner_rule
def send_update_metadata_request(world: ControlPlane, controller: int) -> None:
    """Send every live broker the touched partitions, and the list of live brokers.

    Source: KafkaController.sendUpdateMetadataRequest@2.4.0.
    """
    _write_down(world, controller)
    for broker in range(world.sizes[0].brokers):
        if broker_at(world, controller, broker).alive:
            request = controller_requests.UpdateMetadataRequest.to(world, broker)
            _sign(world, controller, broker, request)
            request.position = world.controllers[controller].told
            request.names_all = world.controllers[controller].tells_all
            queue_request(world, controller, broker, request.index)
    world.controllers[controller].tells_all = False


@inner_rule
def _write_down(world: ControlPlane, controller: int) -> None:
    """Write rows about the requests to brokers now."""
    state = world.controllers[controller]
    partition = state.first_touched
    while partition != NONE:
        known = partition_at(world, controller, partition)
        known.touched = False
        if known.has_state:
            current = state_at(world, controller, partition)
            leader = broker_of(world, partition, current.leader)
            if is_deleted(world, controller, partition):
                leader = UNDEFINED
            _write_change(world, controller, partition, leader, current.leader_epoch)
        partition = known.next_touched
    state.first_touched = NONE
    state.last_touched = NONE
    for broker in range(world.sizes[0].brokers):
        told = broker_at(world, controller, broker)
        alive = 1 if told.alive else 0
        if alive != told.told_alive:
            told.told_alive = alive
            subject = broker_subject(broker)
            _write_change(world, controller, subject, alive, UNDEFINED)


@inner_rule
def _write_change(
    world: ControlPlane,
    controller: int,
    subject: int,
    leader: int,
    leader_epoch: int,
) -> None:
    state = world.controllers[controller]
    state.told += 1
    log_change(world, subject, leader, leader_epoch, state.controller_epoch, state.told)
