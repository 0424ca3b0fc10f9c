"""A clean stop: the controller moves the leaders away, then the process ends.

The broker asks the controller to take it out of all ISRs and leaderships (ControlledShutdown), up
to controlled.shutdown.max.retries times, and continues without permission after that. Then it takes
no requests, flushes, checkpoints, closes its session and ends.

In KRaft mode heartbeats ask for it (``metadata/broker_lifecycle.py``).

Source: KafkaServer.shutdown and controlledShutdown@2.6.3.
"""

from tidegauge.actors.idle_fetches.pairs import wake_all
from tidegauge.actors.process.forgetting import drop_requests, empty_fetchers
from tidegauge.actors.process.lifecycle import end, start
from tidegauge.actors.session.zookeeper_client import close_session, read_controller
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.storage.disks import backlog_us
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.simulation import rows
from tidegauge.simulation.faults import disconnect_all
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from tidegauge.simulation.messages.timers import BrokerStops, ShutdownRetries, ShutdownTimeout
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse
from tidegauge.simulation.metadata_log import is_known_alive
from tidegauge.simulation.topology import controller_process
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN, STOP_KILLED
from tidegauge.simulation.trace_rows.process_rows import (
    ControlledShutdownAnswered,
    ControlledShutdownSent,
)


@inner_rule
def stop_cleanly(world: Brokers, broker: int) -> None:
    """Begin the shutdown. A broker that is still starting up cannot: it ends as it is.

    Source: KafkaServerStartable.shutdown@2.6.3, which halts in this case.
    """
    state = world.brokers[broker]
    if state.stopping:
        return
    is_starting = not state.loaded or world.context[0].time_us < state.ready_us
    if is_starting or state.broker_epoch == NONE:
        end(world, broker, STOP_KILLED)
        return
    state.stopping = True
    if state.controlled_shutdown_enable:
        _attempt(world, broker)
    else:
        stop_serving(world, broker)


@inner_rule
def _attempt(world: Brokers, broker: int) -> None:
    world.brokers[broker].shutdown_attempt += 1
    look_for_controller(world, broker)


@inner_rule
def look_for_controller(world: Brokers, broker: int) -> None:
    """Find the controller: in ZooKeeper, from 3.0 on in the broker's own metadata cache.

    So from 3.0 on a broker can stop while ZooKeeper does not answer (KAFKA-9189).
    """
    if world.rules[broker].shutdown_asks_cached_controller:
        known = world.brokers[broker].known_controller
        if is_known_alive(world, world.known_metadata[broker], known):
            _ask(world, broker, known)
        else:
            _retry_later(world, broker)
        return
    read_controller(world)


@inner_rule
def ask_controller(world: Brokers, broker: int, answer: ZkResponse) -> None:
    """ZooKeeper has named the controller: ask it, or wait if there is none."""
    state = world.brokers[broker]
    if not state.stopping or state.ends or state.shutdown_request != 0:
        return
    if answer.error == 0:
        _ask(world, broker, answer.owner)
    else:
        _retry_later(world, broker)


@inner_rule
def _ask(world: Brokers, broker: int, controller_broker: int) -> None:
    state = world.brokers[broker]
    state.shutdown_request = state.shutdown_attempt
    state.shutdown_sent_us = world.context[0].time_us
    controller = controller_process(world, controller_broker)
    state.shutdown_controller = controller
    request = ControlledShutdownRequest.to(world, controller)
    request.broker_id = broker
    request.broker_epoch = state.broker_epoch
    request.correlation_id = state.shutdown_request
    ControlledShutdownSent.write(
        world, broker=broker, to_process=controller, attempt=state.shutdown_attempt
    )
    send(world, request, state.shutdown_sent_us)
    timeout_us = state.controller_socket_timeout_ms * 1000
    due_us = state.shutdown_sent_us + timeout_us
    ShutdownTimeout.at(world, due_us, attempt=state.shutdown_request)


@BROKER.handles(ControlledShutdownResponse)
@inner_rule
def handle_controlled_shutdown_response(
    world: Brokers, response: ControlledShutdownResponse
) -> None:
    """Stop if the broker leads nothing here; else ask again after the back-off."""
    broker = response.destination
    if world.brokers[broker].shutdown_request == response.correlation_id:
        _take_outcome(world, broker, response.error, response.remaining_partitions)


@BROKER.handles(ShutdownTimeout)
@inner_rule
def handle_shutdown_timeout(world: Brokers, timer: ShutdownTimeout) -> None:
    """The controller has not answered within controller.socket.timeout.ms."""
    state = world.brokers[timer.destination]
    if state.shutdown_request == timer.attempt and not state.ends:
        _take_outcome(world, timer.destination, errors.NETWORK_EXCEPTION, NONE)


@inner_rule
def lose_controller(world: Brokers, broker: int, until_us: int) -> None:
    """The connection to the controller is gone: requests sent up to ``until_us`` are lost."""
    state = world.brokers[broker]
    if state.shutdown_request != 0 and state.shutdown_sent_us <= until_us:
        _take_outcome(world, broker, errors.NETWORK_EXCEPTION, NONE)


@inner_rule
def _take_outcome(world: Brokers, broker: int, error: int, remaining: int) -> None:
    state = world.brokers[broker]
    state.shutdown_request = 0
    ControlledShutdownAnswered.write(
        world, broker=broker, attempt=state.shutdown_attempt, error=error, remaining=remaining
    )
    if error == errors.NONE and remaining == 0:
        stop_serving(world, broker)
    else:
        _retry_later(world, broker)


@inner_rule
def _retry_later(world: Brokers, broker: int) -> None:
    """Wait for the back-off; up to 3.0 even if no attempt is left after it."""
    state = world.brokers[broker]
    is_last = state.shutdown_attempt >= state.controlled_shutdown_max_retries
    if is_last and not world.rules[broker].shutdown_backs_off_after_last:
        stop_serving(world, broker)
        return
    ShutdownRetries.after(world, state.controlled_shutdown_retry_backoff_ms * 1000)


@BROKER.handles(ShutdownRetries)
@inner_rule
def handle_shutdown_retries(world: Brokers, timer: ShutdownRetries) -> None:
    """The back-off is over: ask once more, or stop without the controller's help."""
    broker = timer.destination
    state = world.brokers[broker]
    if state.shutdown_attempt < state.controlled_shutdown_max_retries:
        _attempt(world, broker)
    else:
        stop_serving(world, broker)


@inner_rule
def stop_serving(world: Brokers, broker: int) -> None:
    """Take no requests, fetch nothing; the process ends when everything is on disk.

    Connections are closed, whatever was asked on them. Up to 3.1 the end also waits for the
    quota managers' threads, each of which polls for up to a second.

    Source: SocketServer.stopProcessingRequests@2.6.3, ClientQuotaManager.shutdown@2.6.3 and 3.2.0.
    """
    wake_all(world, broker)
    world.brokers[broker].ends = True
    drop_requests(world, broker)
    empty_fetchers(world, broker)
    disconnect_all(world, broker)
    if world.rules[broker].stop_interrupts_polls:
        stop_us = rows.cost_us(world, broker, rows.BROKER_STOP_INTERRUPTING)
    else:
        stop_us = rows.cost_us(world, broker, rows.BROKER_STOP)
    # At last all logs are flushed.
    BrokerStops.after(world, max(stop_us, backlog_us(world, broker)))


@BROKER.handles(BrokerStops)
@inner_rule
def handle_broker_stops(world: Brokers, timer: BrokerStops) -> None:
    """Everything is on disk: close the session, and be gone."""
    broker = timer.destination
    close_session(world, broker)
    end(world, broker, STOP_CLEAN)
    if world.processes[broker].held_down == 0:
        start(world, broker)
