"""A broker's handling of ZooKeeper's answers: sessions, its registration, writes of ISRs."""

from tidegauge.actors.leaders.isr_changes import send_isr
from tidegauge.actors.leaders.isr_outcomes import take_isr_answer
from tidegauge.actors.process.controlled_shutdown import ask_controller, look_for_controller
from tidegauge.actors.process.lifecycle import exit_by_itself
from tidegauge.actors.process.log_dir_failures import send_log_dir_events
from tidegauge.actors.requests.request_handlers import take_requests, unlock
from tidegauge.actors.session import zookeeper_client
from tidegauge.actors.session.isr_change_propagation import (
    send_notification,
    take_notification_answer,
)
from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import mark_zookeeper_response
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.messages.timers import SessionReconnects
from tidegauge.simulation.topology import row_of
from tidegauge.simulation.trace_rows.codes import (
    NODE_EXISTS,
    SESSION_EXPIRED,
    STOP_REGISTERED_ALREADY,
)
from tidegauge.simulation.zookeeper_tree import LOG_DIR_EVENT, NOTIFICATIONS_ZNODE, is_in, place_in


@BROKER.handles(zookeeper_requests.ZkResponse)
@inner_rule
def take_zookeeper_answer(world: Brokers, answer: zookeeper_requests.ZkResponse) -> None:
    """Take a response of ZooKeeper.

    Source: ZooKeeperClient@2.4.0.
    """
    broker = answer.destination
    state = world.brokers[broker]
    asked = answer.operation
    if answer.error != SESSION_EXPIRED:
        state.zookeeper_heard_us = world.context[0].time_us
    if asked != zookeeper_requests.ZkConnectRequest.KIND:
        mark_zookeeper_response(world, broker, answer.asked_us)
    if asked == zookeeper_requests.ZkConnectRequest.KIND:
        if answer.correlation_id == state.connects:
            _take_session(world, answer)
    elif answer.error == SESSION_EXPIRED:
        _take_expiry(world, answer)
    elif asked == zookeeper_requests.ZkSetRequest.KIND:
        _take_written_isr(world, answer)
    elif asked == zookeeper_requests.ZkGetRequest.KIND:
        ask_controller(world, broker, answer)
    elif asked == zookeeper_requests.ZkCreateRequest.KIND:
        _take_created(world, broker, answer)


@inner_rule
def _take_written_isr(world: Brokers, answer: zookeeper_requests.ZkResponse) -> None:
    """An ISR is written, or refused: requests that waited for that go on.

    If the replica has gone offline meanwhile the written ISR is ignored.
    """
    row = row_of(world, answer.partition, answer.destination)
    if world.hosted[row].exists:
        take_isr_answer(world, row, answer)
    world.hosted[row].locked = False
    unlock(world, row)


@inner_rule
def _take_session(world: Brokers, answer: zookeeper_requests.ZkResponse) -> None:
    """A session is open: register, unless the logs are still being loaded."""
    broker = answer.destination
    state = world.brokers[broker]
    state.session = answer.session
    world.zookeeper_stats[broker].sync_connects += 1
    zookeeper_client.take_configs(world, answer)
    registers_first = world.rules[broker].registered_before_requests
    if state.loaded and (registers_first or state.ready_us <= world.context[0].time_us):
        zookeeper_client.register(world, broker)
    _send_lost_writes(world, broker)
    send_log_dir_events(world, broker)


@inner_rule
def _take_expiry(world: Brokers, answer: zookeeper_requests.ZkResponse) -> None:
    """A request was in vain, for its session is over: of the current one, or of one before."""
    state = world.brokers[answer.destination]
    _note_lost_write(world, answer)
    if answer.session == state.session:
        if not state.reconnecting:
            zookeeper_client.reconnect(world, answer.destination)
    elif state.session != NONE:
        _send_lost_writes(world, answer.destination)
        send_log_dir_events(world, answer.destination)


@inner_rule
def _take_created(world: Brokers, broker: int, answer: zookeeper_requests.ZkResponse) -> None:
    """A notification is written; or the broker is registered, or finds that it is already."""
    if is_in(world, LOG_DIR_EVENT, answer.znode):
        return
    if answer.znode == NOTIFICATIONS_ZNODE:
        take_notification_answer(world, broker)
    elif answer.error == NODE_EXISTS:
        exit_by_itself(world, broker, STOP_REGISTERED_ALREADY)
    else:
        world.brokers[broker].broker_epoch = answer.created_zxid
        take_requests(world, broker)
        zookeeper_client.start_controller(world, broker)


@inner_rule
def _lose_session(world: Brokers, broker: int) -> None:
    """The session has expired: the controller here resigns, and another one is opened.

    Source: KafkaController.Expire@2.4.0, ZooKeeperClient.reinitialize@2.4.0.
    """
    world.zookeeper_stats[broker].expires += 1
    zookeeper_client.tell_controller_of_loss(world, broker)
    zookeeper_client.connect(world, broker)


@BROKER.handles(SessionReconnects)
@inner_rule
def handle_session_reconnects(world: Brokers, timer: SessionReconnects) -> None:
    """The server is there again, and reports the end of the session."""
    state = world.brokers[timer.destination]
    if state.reconnecting and state.session == timer.session:
        state.reconnecting = False
        _lose_session(world, timer.destination)


@inner_rule
def _note_lost_write(world: Brokers, answer: zookeeper_requests.ZkResponse) -> None:
    if answer.operation == zookeeper_requests.ZkSetRequest.KIND:
        row = row_of(world, answer.partition, answer.destination)
        if world.hosted[row].exists:
            world.hosted[row].write_lost = True
        else:
            _take_written_isr(world, answer)
    elif answer.operation == zookeeper_requests.ZkGetRequest.KIND:
        world.brokers[answer.destination].look_lost = True
    elif answer.operation != zookeeper_requests.ZkCreateRequest.KIND:
        return
    elif is_in(world, LOG_DIR_EVENT, answer.znode):
        place = place_in(world, LOG_DIR_EVENT, answer.znode)
        directory = place % world.sizes[0].log_directories
        world.brokers[answer.destination].untold_failures |= 1 << directory
    elif answer.znode == NOTIFICATIONS_ZNODE:
        world.brokers[answer.destination].notification_lost = True


@inner_rule
def _send_lost_writes(world: Brokers, broker: int) -> None:
    state = world.brokers[broker]
    for row in LOGS.of(world, state):
        hosted = world.hosted[row]
        if hosted.write_lost:
            hosted.write_lost = False
            send_isr(world, row)
    if state.look_lost:
        state.look_lost = False
        look_for_controller(world, broker)
    if state.notification_lost:
        state.notification_lost = False
        send_notification(world, broker)
