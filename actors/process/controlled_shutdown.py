"""A clean stop: the controller moves the leaders away, then the process ends.

The broker asks whoever is controller to take it out of everything (ControlledShutdown), up to
controlled.shutdown.max.retries times, and goes on without if that does not help. Then it
takes no request any more, flushes, checkpoints, closes its session and is gone.

Source: KafkaServer.shutdown and controlledShutdown@2.6.3.
"""

from __future__ import annotations

from tidegauge.actors.process.forgetting import drop_requests, empty_fetchers
from tidegauge.actors.process.lifecycle import end, start
from tidegauge.actors.session.zookeeper_client import close_session, zookeeper_request
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.costs import BROKER_STOP, BROKER_STOP_INTERRUPTING, cost_us
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.faults import disconnect_all
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    BROKER_STOPS,
    CONTROLLED_SHUTDOWN,
    SHUTDOWN_GIVES_UP,
    SHUTDOWN_RETRIES,
    ZK_GET,
)
from tidegauge.simulation.links import send
from tidegauge.simulation.metadata_log import is_known_alive
from tidegauge.simulation.row_kinds import (
    CONTROLLED_SHUTDOWN_ANSWERED,
    CONTROLLED_SHUTDOWN_SENT,
    STOP_CLEAN,
    STOP_KILLED,
)
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import CONTROLLER_ZNODE, Topology, controller_process


@inner_rule
def stop_cleanly(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Begin to stop. A broker that is still starting up cannot: it ends as it is.

    Source: KafkaServerStartable.shutdown@2.6.3, which halts in this case.
    """
    state = brokers.brokers[broker]
    if state.stopping:
        return
    is_starting = not state.loaded or kernel.context[0].time_us < state.ready_us
    if is_starting or state.broker_epoch == NONE:
        end(kernel, topology, brokers, broker, STOP_KILLED)
        return
    state.stopping = True
    if state.controlled_shutdown_enable:
        _attempt(kernel, topology, brokers, broker)
    else:
        _stop(kernel, topology, brokers, broker)


@inner_rule
def _attempt(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    brokers.brokers[broker].shutdown_attempt += 1
    look_for_controller(kernel, topology, brokers, broker)


@inner_rule
def look_for_controller(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Look who is controller: in ZooKeeper, from 3.0 on in the broker's own metadata cache.

    So from 3.0 on a broker can stop while ZooKeeper does not answer (KAFKA-9189).
    """
    if brokers.rules[broker].shutdown_asks_cached_controller:
        known = brokers.brokers[broker].known_controller
        if is_known_alive(kernel, brokers.metadata[broker], known):
            _ask(kernel, topology, brokers, broker, known)
        else:
            _retry_later(kernel, topology, brokers, broker)
        return
    request = zookeeper_request(kernel, topology, brokers, broker, ZK_GET)
    request.znode = CONTROLLER_ZNODE
    send(kernel, request, kernel.context[0].time_us)


@inner_rule
def ask_controller(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, answer: Event
) -> None:
    """ZooKeeper has said who is controller: ask it, or wait if nobody is."""
    state = brokers.brokers[broker]
    if not state.stopping or state.ends or state.shutdown_request != 0:
        return
    if answer.error == 0:
        _ask(kernel, topology, brokers, broker, answer.broker)
    else:
        _retry_later(kernel, topology, brokers, broker)


@inner_rule
def _ask(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, controller_broker: int
) -> None:
    state = brokers.brokers[broker]
    state.shutdown_request = state.shutdown_attempt
    state.shutdown_sent_us = kernel.context[0].time_us
    controller = controller_process(topology, controller_broker)
    state.shutdown_controller = controller
    request = new_event(kernel, broker, controller, CONTROLLED_SHUTDOWN)
    request.broker = broker
    request.version = state.broker_epoch
    request.request = state.shutdown_request
    written = new_row(kernel, broker, CONTROLLED_SHUTDOWN_SENT)
    written.values[0] = broker
    written.values[1] = controller
    written.values[2] = state.shutdown_attempt
    write_canonical(kernel, written)
    send(kernel, request, state.shutdown_sent_us)
    timer = new_event(kernel, broker, broker, SHUTDOWN_GIVES_UP)
    timer.request = state.shutdown_request
    timeout_us = state.controller_socket_timeout_ms * 1000
    set_timer(kernel, timer, state.shutdown_sent_us + timeout_us)


@inner_rule
def handle_controlled_shutdown_response(
    kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event
) -> None:
    """Stop if nothing is led here any more; else ask again after the back-off."""
    state = brokers.brokers[answer.destination]
    if state.shutdown_request == answer.request:
        _take_outcome(kernel, topology, brokers, answer.destination, answer.error, answer.count)


@inner_rule
def handle_shutdown_gives_up(
    kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event
) -> None:
    """The controller has not answered within controller.socket.timeout.ms."""
    state = brokers.brokers[timer.destination]
    if state.shutdown_request == timer.request and not state.ends:
        _take_outcome(kernel, topology, brokers, timer.destination, errors.NETWORK_EXCEPTION, NONE)


@inner_rule
def lose_controller(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, until_us: int
) -> None:
    """The connection to the controller is gone: what was asked up to ``until_us`` is lost."""
    state = brokers.brokers[broker]
    if state.shutdown_request != 0 and state.shutdown_sent_us <= until_us:
        _take_outcome(kernel, topology, brokers, broker, errors.NETWORK_EXCEPTION, NONE)


@inner_rule
def _take_outcome(
    kernel: Kernel,
    topology: Topology,
    brokers: Brokers,
    broker: int,
    error: int,
    remaining: int,
) -> None:
    state = brokers.brokers[broker]
    state.shutdown_request = 0
    written = new_row(kernel, broker, CONTROLLED_SHUTDOWN_ANSWERED)
    written.values[0] = broker
    written.values[1] = state.shutdown_attempt
    written.values[2] = error
    written.values[3] = remaining
    write_canonical(kernel, written)
    if error == errors.NONE and remaining == 0:
        _stop(kernel, topology, brokers, broker)
    else:
        _retry_later(kernel, topology, brokers, broker)


@inner_rule
def _retry_later(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Wait for the back-off; up to 3.0 even if no attempt is left after it."""
    state = brokers.brokers[broker]
    is_last = state.shutdown_attempt >= state.controlled_shutdown_max_retries
    if is_last and not brokers.rules[broker].shutdown_backs_off_after_last:
        _stop(kernel, topology, brokers, broker)
        return
    backoff_us = state.controlled_shutdown_retry_backoff_ms * 1000
    timer = new_event(kernel, broker, broker, SHUTDOWN_RETRIES)
    set_timer(kernel, timer, kernel.context[0].time_us + backoff_us)


@inner_rule
def handle_shutdown_retries(
    kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event
) -> None:
    """The back-off is over: ask once more, or stop without the controller's help."""
    broker = timer.destination
    state = brokers.brokers[broker]
    if state.shutdown_attempt < state.controlled_shutdown_max_retries:
        _attempt(kernel, topology, brokers, broker)
    else:
        _stop(kernel, topology, brokers, broker)


@inner_rule
def _stop(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Take no request any more, fetch nothing; the end comes when everything is on disk.

    Connections are closed, whatever was asked on them. Up to 3.1 the end also waits for the
    quota managers' threads, each of which polls for up to a second.

    Source: SocketServer.stopProcessingRequests@2.6.3, ClientQuotaManager.shutdown@2.6.3 and 3.2.0.
    """
    brokers.brokers[broker].ends = True
    drop_requests(kernel, topology, brokers, broker)
    empty_fetchers(topology, brokers, broker)
    disconnect_all(kernel, broker)
    timer = new_event(kernel, broker, broker, BROKER_STOPS)
    if brokers.rules[broker].stop_interrupts_polls:
        stop_us = cost_us(kernel, broker, BROKER_STOP_INTERRUPTING)
    else:
        stop_us = cost_us(kernel, broker, BROKER_STOP)
    set_timer(kernel, timer, kernel.context[0].time_us + stop_us)


@inner_rule
def handle_broker_stops(kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event) -> None:
    """Everything is on disk: close the session, and be gone."""
    broker = timer.destination
    close_session(kernel, topology, brokers, broker)
    end(kernel, topology, brokers, broker, STOP_CLEAN)
    if kernel.processes[broker].held_down == 0:
        start(kernel, topology, brokers, broker)
