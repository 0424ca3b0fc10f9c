"""What a broker does with ZooKeeper's answers: sessions, its registration, writes of ISRs."""

from __future__ import annotations

from tidegauge.actors.leaders.isr_changes import send_isr, take_isr_answer
from tidegauge.actors.process.controlled_shutdown import (
    ask_controller,
    look_for_controller,
)
from tidegauge.actors.process.lifecycle import exit_by_itself
from tidegauge.actors.process.log_dir_failures import send_log_dir_events
from tidegauge.actors.requests.request_handlers import unlock
from tidegauge.actors.session.isr_change_propagation import (
    send_notification,
    take_notification_answer,
)
from tidegauge.actors.session.topic_configs import take_configs
from tidegauge.actors.session.zookeeper_client import (
    connect,
    reconnect,
    register,
    start_controller,
    tell_controller,
)
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    SESSION_LOST,
    ZK_CONNECT,
    ZK_CREATE,
    ZK_GET,
    ZK_SET,
)
from tidegauge.simulation.row_kinds import STOP_REGISTERED_ALREADY
from tidegauge.simulation.topology import (
    NOTIFICATIONS_ZNODE,
    Topology,
    is_log_dir_event,
    log_dir_events_znode,
    row_of,
)
from tidegauge.simulation.zookeeper_errors import NODE_EXISTS, SESSION_EXPIRED


@inner_rule
def take_zookeeper_answer(
    kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event
) -> None:
    """Take an answer of ZooKeeper; ``answer.value`` is what was asked.

    Source: ZooKeeperClient@2.4.0.
    """
    broker = answer.destination
    state = brokers.brokers[broker]
    asked = answer.value
    if answer.error != SESSION_EXPIRED:
        state.zookeeper_heard_us = kernel.context[0].time_us
    if asked == ZK_CONNECT:
        if answer.request == state.connects:
            _take_session(kernel, topology, brokers, answer)
    elif answer.error == SESSION_EXPIRED:
        _take_expiry(kernel, topology, brokers, answer)
    elif asked == ZK_SET:
        _take_written_isr(kernel, topology, brokers, answer)
    elif asked == ZK_GET:
        ask_controller(kernel, topology, brokers, broker, answer)
    elif asked == ZK_CREATE:
        _take_created(kernel, topology, brokers, broker, answer)


@inner_rule
def _take_written_isr(kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event) -> None:
    """An ISR is written, or refused: who waited for that goes on.

    If the replica has gone offline meanwhile nobody wants to know which.
    """
    row = row_of(topology, answer.partition, answer.destination)
    if brokers.hosted[row].exists:
        take_isr_answer(kernel, topology, brokers, row, answer)
    brokers.hosted[row].locked = False
    unlock(kernel, topology, brokers, row)


@inner_rule
def _take_session(kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event) -> None:
    """A session is open: register, unless the logs are still being loaded."""
    broker = answer.destination
    state = brokers.brokers[broker]
    state.session = answer.count
    take_configs(kernel, topology, brokers, answer)
    registers_first = brokers.rules[broker].registered_before_requests
    if state.loaded and (registers_first or state.ready_us <= kernel.context[0].time_us):
        register(kernel, topology, brokers, broker)
    _send_lost_writes(kernel, topology, brokers, broker)
    send_log_dir_events(kernel, topology, brokers, broker)


@inner_rule
def _take_expiry(kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event) -> None:
    """A request was in vain, for its session is over: of the current one, or of one before."""
    state = brokers.brokers[answer.destination]
    _note_lost_write(kernel, topology, brokers, answer)
    if answer.count == state.session:
        if not state.reconnecting:
            reconnect(kernel, brokers, answer.destination)
    elif state.session != NONE:
        _send_lost_writes(kernel, topology, brokers, answer.destination)
        send_log_dir_events(kernel, topology, brokers, answer.destination)


@inner_rule
def _take_created(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, answer: Event
) -> None:
    """A notification is written; or the broker is registered, or finds that it is already."""
    if is_log_dir_event(topology, answer.znode):
        return
    if answer.znode == NOTIFICATIONS_ZNODE:
        take_notification_answer(kernel, topology, brokers, broker)
    elif answer.error == NODE_EXISTS:
        exit_by_itself(kernel, topology, brokers, broker, STOP_REGISTERED_ALREADY)
    else:
        brokers.brokers[broker].broker_epoch = answer.offset
        start_controller(kernel, topology, brokers, broker)


@inner_rule
def _lose_session(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """The session has expired: the controller here resigns, and another one is opened.

    Source: KafkaController.Expire@2.4.0, ZooKeeperClient.reinitialize@2.4.0.
    """
    tell_controller(kernel, topology, brokers, broker, SESSION_LOST)
    connect(kernel, topology, brokers, broker)


@inner_rule
def handle_session_reconnects(
    kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event
) -> None:
    """The server is there again, and says that the session is over."""
    state = brokers.brokers[timer.destination]
    if state.reconnecting and state.session == timer.value:
        state.reconnecting = False
        _lose_session(kernel, topology, brokers, timer.destination)


@inner_rule
def _note_lost_write(kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event) -> None:
    if answer.value == ZK_SET:
        row = row_of(topology, answer.partition, answer.destination)
        if brokers.hosted[row].exists:
            brokers.hosted[row].write_lost = True
        else:
            _take_written_isr(kernel, topology, brokers, answer)
    elif answer.value == ZK_CREATE and is_log_dir_event(topology, answer.znode):
        place = answer.znode - log_dir_events_znode(topology) - 1
        directory = place % topology.sizes[0].log_directories
        brokers.brokers[answer.destination].untold_failures |= 1 << directory
    elif answer.value == ZK_CREATE and answer.znode == NOTIFICATIONS_ZNODE:
        brokers.brokers[answer.destination].notification_lost = True
    elif answer.value == ZK_GET:
        brokers.brokers[answer.destination].look_lost = True


@inner_rule
def _send_lost_writes(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    state = brokers.brokers[broker]
    row = state.first_log
    while row != NONE:
        hosted = brokers.hosted[row]
        if hosted.write_lost:
            hosted.write_lost = False
            send_isr(kernel, topology, brokers, row)
        row = hosted.next_log
    if state.look_lost:
        state.look_lost = False
        look_for_controller(kernel, topology, brokers, broker)
    if state.notification_lost:
        state.notification_lost = False
        send_notification(kernel, topology, brokers, broker)
