"""A broker registers with the active controller, sends heartbeats, and asks for its leave to stop.

==================================  ================================================================
state                               what it waits for
==================================  ================================================================
STARTING                            a registration, then a heartbeat that finds it caught up
RECOVERY                            its first publication of metadata, then to be unfenced
RUNNING                             nothing: a heartbeat every broker.heartbeat.interval.ms
PENDING_CONTROLLED_SHUTDOWN         the controller's leave to stop
==================================  ================================================================

A registration that is refused, as long as the session of the process before is not over, is sent
again after the interval. A broker that is fenced while it runs continues to fetch and to
lead: its next heartbeat has it unfenced.

One request is in flight at a time. It goes to the receiver of the former one, until that connection
fails, a request gets no response in time, or the controller is not active any more
(NOT_CONTROLLER); then to the leader of the quorum that the broker knows, as the same request. If it
gets no response in time another one is made later; releases up to 4.0.0 wait longer with each one
that fails. It goes to the leader that the broker knew when the former one was given up: a broker
without news of an election by then asks a controller without power once more, for the whole request
timeout, although the news arrives meanwhile.

Source: BrokerLifecycleManager@3.3.1, @4.0.0 and @4.1.0, BrokerServer.startup and shutdown@4.1.0;
NodeToControllerRequestThread@3.8.0.
"""

from tidegauge.actors.idle_fetches.pairs import wake_all
from tidegauge.actors.metadata.metadata_fetch import fetch_metadata
from tidegauge.actors.metadata.metadata_publisher import follow_release
from tidegauge.actors.process.controlled_shutdown import stop_serving
from tidegauge.actors.process.lifecycle import end, halt, previous_epoch
from tidegauge.actors.session.isr_change_propagation import communicate_later
from tidegauge.actors.state import lifecycles
from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import (
    depart,
    fails_to_authenticate,
    has_timed_out,
    is_lost,
    known_leader,
    watch,
)
from tidegauge.actors.storage.log_dirs import cordon_directories, is_offline
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import controller_timers
from tidegauge.simulation.messages.controller_requests import OfflineReplica
from tidegauge.simulation.messages.event import ControllerRequest
from tidegauge.simulation.messages.quorum_requests import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from tidegauge.simulation.rows import BROKER_STOP_REQUEST, cost_us
from tidegauge.simulation.trace_rows.codes import STOP_KILLED, STOP_NOT_REGISTERED
from tidegauge.simulation.trace_rows.process_rows import (
    ControlledShutdownAnswered,
    ControlledShutdownSent,
)

#: Between heartbeats of a broker that starts.
_WHILE_STARTING_US = code(10_000)
#: After the first response to a broker that wants to stop.
_FIRST_OF_SHUTDOWN_US = code(50_000)
#: BrokerServer.shutdown: the longest wait for the controller's leave.
_CONTROLLED_SHUTDOWN_US = code(300_000_000)
#: The first back-off of releases that wait longer each time.
_BACKOFF_US = code(100_000)
#: It doubles so often at most.
_DOUBLINGS = code(20)
#: The period in which the channel looks for a controller while none is known, and the back-off
#: before it connects to the same one again.
_NO_CONTROLLER_US = code(100_000)
_RECONNECT_US = code(50_000)


@BROKER.handles(controller_timers.LifecycleBegins)
@inner_rule
def handle_lifecycle_begins(world: Brokers, timer: controller_timers.LifecycleBegins) -> None:
    """Register, and begin to fetch the metadata log."""
    broker = timer.destination
    state = world.lifecycles[broker]
    state.state = lifecycles.STARTING
    follow_release(world, broker)
    state.offline_directories = world.brokers[broker].offline_directories
    cordon_directories(world, broker, state.cordoned_log_dirs)
    # Before the logs are loaded, which deletes the files that have it.
    state.previous_epoch = previous_epoch(world, broker)
    controller_timers.InitialRegistrationExpires.after(world, state.registration_timeout_us)
    fetch_metadata(world, broker)
    _communicate(world, broker)


@BROKER.handles(controller_timers.InitialRegistrationExpires)
@inner_rule
def handle_initial_registration_expires(
    world: Brokers, timer: controller_timers.InitialRegistrationExpires
) -> None:
    """Exit, if no controller has registered this process."""
    if not world.lifecycles[timer.destination].registered:
        halt(world, timer.destination, STOP_NOT_REGISTERED)


@BROKER.handles(controller_timers.HeartbeatDue)
@inner_rule
def handle_heartbeat_due(world: Brokers, timer: controller_timers.HeartbeatDue) -> None:
    """Send a registration or a heartbeat, unless another timer replaces this one."""
    state = world.lifecycles[timer.destination]
    if timer.number == state.plans and not world.brokers[timer.destination].ends:
        _communicate(world, timer.destination)


@inner_rule
def _communicate(world: Brokers, broker: int) -> None:
    """Register, or send a heartbeat; if a request is in flight, as soon as that is answered.

    Source: BrokerLifecycleManager.CommunicationEvent@4.1.0.
    """
    state = world.lifecycles[broker]
    if state.request.number != 0:
        state.next_is_immediate = True
        return
    state.made_us = world.context[0].time_us
    _send(world, broker)


@inner_rule
def _send(world: Brokers, broker: int) -> None:
    """Send the new or the repeated request to the controller that the channel is connected to.

    If it has no connection it connects to the leader that the broker knows then.

    Source: NodeToControllerRequestThread.doWork and generateRequests@3.8.0.
    """
    state = world.lifecycles[broker]
    controller = state.request.to if state.request.to != NONE else known_leader(world, broker)
    if controller == NONE:
        _look_later(world, broker, _NO_CONTROLLER_US)
    elif state.request.to == NONE and fails_to_authenticate(world, broker):
        _fail(world, broker)
        return
    elif state.registered:
        _send_heartbeat(world, broker, controller)
    else:
        _send_registration(world, broker, controller)
    if not state.request.timer:
        _watch(world, broker)


@inner_rule
def _look_later(world: Brokers, broker: int, delay_us: int) -> None:
    """Keep the request, and look for its receiver later."""
    state = world.lifecycles[broker]
    state.requests += 1
    state.request.number = state.requests
    state.request.to = NONE
    state.request.sent_us = state.made_us
    controller_timers.ControllerLookedFor.after(world, delay_us, number=state.requests)


@BROKER.handles(controller_timers.ControllerLookedFor)
@inner_rule
def handle_controller_looked_for(
    world: Brokers, timer: controller_timers.ControllerLookedFor
) -> None:
    """Send the request, if it has not been given up since."""
    broker = timer.destination
    is_kept = world.lifecycles[broker].request.number == timer.number
    if is_kept and not world.brokers[broker].ends:
        _send(world, broker)


@inner_rule
def _send_registration(world: Brokers, broker: int, controller: int) -> None:
    request = BrokerRegistrationRequest.to(world, controller)
    request.broker_id = broker
    request.incarnation = world.brokers[broker].starts
    request.previous_broker_epoch = world.lifecycles[broker].previous_epoch
    request.offline_directories = world.brokers[broker].offline_directories
    request.software = world.node_versions[broker].software
    _name_offline_replicas(world, broker, request)
    depart(world, broker, world.lifecycles[broker].request, request)


@inner_rule
def _send_heartbeat(world: Brokers, broker: int, controller: int) -> None:
    state = world.lifecycles[broker]
    request = BrokerHeartbeatRequest.to(world, controller)
    request.broker_id = broker
    request.broker_epoch = world.brokers[broker].broker_epoch
    request.metadata_offset = state.published_offset - 1
    request.wants_fence = not state.ready_to_unfence
    request.wants_shut_down = state.state == lifecycles.PENDING_CONTROLLED_SHUTDOWN
    request.offline_directories = state.offline_directories
    if state.tells_cordoned_directories and state.state != lifecycles.STARTING:
        request.cordoned_directories = state.cordoned_directories
    state.named_directories = state.offline_directories
    if state.offline_directories & ~state.told_directories != 0:
        _name_offline_replicas(world, broker, request)
    if request.wants_shut_down and world.brokers[broker].shutdown_attempt == 0:
        world.brokers[broker].shutdown_attempt = 1
        ControlledShutdownSent.write(world, broker=broker, to_process=controller, attempt=1)
    depart(world, broker, state.request, request)


@inner_rule
def _name_offline_replicas(world: Brokers, broker: int, request: ControllerRequest) -> None:
    """Name the replicas whose log directories are offline.

    Kafka's controller finds them by the ids of the directories, which partitions have in its log.
    """
    if world.brokers[broker].offline_directories == 0:
        return
    for row in LOGS.of(world, world.brokers[broker]):
        if world.on_disk[row].exists and is_offline(world, row):
            new_item(world, request, world.hosted[row].partition, OfflineReplica)


@inner_rule
def _watch(world: Brokers, broker: int) -> None:
    state = world.lifecycles[broker]
    timer = controller_timers.RegistrationTimeout.to(world, broker)
    watch(world, state.request, timer, state.request_timeout_us)


@BROKER.handles(controller_timers.RegistrationTimeout)
@inner_rule
def handle_registration_timeout(
    world: Brokers, timer: controller_timers.RegistrationTimeout
) -> None:
    """The controller may not have answered in time; then the connection to it is closed."""
    broker = timer.destination
    state = world.lifecycles[broker]
    state.request.timer = False
    if world.brokers[broker].ends:
        return
    if has_timed_out(world, state.request, state.request_timeout_us):
        _give_up(world, broker)
    elif state.request.number != 0:
        _watch(world, broker)


@inner_rule
def lose_heartbeat(world: Brokers, broker: int, process: int, until_us: int) -> None:
    """The connection to a controller is gone: requests sent to it up to ``until_us`` are lost."""
    is_stopping = world.brokers[broker].ends
    if is_lost(world.lifecycles[broker].request, process, until_us) and not is_stopping:
        _send_again(world, broker)


@inner_rule
def _send_again(world: Brokers, broker: int) -> None:
    """Send the same request to the leader that is known now: at once, if that is another one.

    Source: NodeToControllerRequestThread.handleResponse@3.8.0.
    """
    state = world.lifecycles[broker]
    former = state.request.to
    state.request.to = NONE
    if world.context[0].time_us >= state.made_us + state.request_timeout_us:
        _give_up(world, broker)
    elif known_leader(world, broker) in (NONE, former):
        _look_later(world, broker, _RECONNECT_US)
    else:
        _send(world, broker)


@inner_rule
def _give_up(world: Brokers, broker: int) -> None:
    """The request is too old to be sent again; the channel takes the leader that is known now.

    Source: NodeToControllerRequestThread.handleResponse, doWork and generateRequests@3.8.0.
    """
    world.lifecycles[broker].request.to = known_leader(world, broker)
    _fail(world, broker)


@inner_rule
def _fail(world: Brokers, broker: int) -> None:
    """Make another request later.

    Source: BrokerLifecycleManager.scheduleNextCommunicationAfterFailure@4.0.0 and @4.1.0.
    """
    state = world.lifecycles[broker]
    state.request.number = 0
    state.next_is_immediate = False
    delay_us = state.heartbeat_interval_us
    if state.most_backoff_us > 0:
        doublings = min(state.failed_attempts, _DOUBLINGS)
        delay_us = min(_BACKOFF_US << doublings, state.most_backoff_us)
    state.failed_attempts += 1
    communicate_later(world, broker, delay_us)


@BROKER.handles(BrokerRegistrationResponse)
@inner_rule
def handle_broker_registration_response(
    world: Brokers, response: BrokerRegistrationResponse
) -> None:
    """Send heartbeats under the broker epoch, or register again later.

    Source: BrokerLifecycleManager.BrokerRegistrationResponseEvent@4.1.0.
    """
    broker = response.destination
    state = world.lifecycles[broker]
    if response.correlation_id != state.request.number or world.brokers[broker].ends:
        return
    if response.error == errors.NOT_CONTROLLER:
        _send_again(world, broker)
        return
    if response.error != errors.NONE:
        _fail(world, broker)
        return
    state.request.number = 0
    state.failed_attempts = 0
    state.registered = True
    # Its fetches name the epoch.
    wake_all(world, broker)
    world.brokers[broker].broker_epoch = response.broker_epoch
    communicate_later(world, broker, 0)


@BROKER.handles(BrokerHeartbeatResponse)
@inner_rule
def handle_broker_heartbeat_response(world: Brokers, response: BrokerHeartbeatResponse) -> None:
    """Change the state by the controller's response, and plan the next heartbeat.

    Source: BrokerLifecycleManager.BrokerHeartbeatResponseEvent@4.1.0.
    """
    broker = response.destination
    state = world.lifecycles[broker]
    if response.correlation_id != state.request.number or world.brokers[broker].ends:
        return
    if response.error == errors.NOT_CONTROLLER:
        _send_again(world, broker)
        return
    if response.error != errors.NONE:
        _fail(world, broker)
        return
    state.request.number = 0
    state.failed_attempts = 0
    state.told_directories |= state.named_directories
    if state.state == lifecycles.STARTING:
        if response.is_caught_up:
            state.state = lifecycles.RECOVERY
            state.ready_to_unfence = state.first_is_published
        delay_us = 0 if state.ready_to_unfence else int(_WHILE_STARTING_US)
        communicate_later(world, broker, delay_us)
    elif state.state == lifecycles.PENDING_CONTROLLED_SHUTDOWN:
        _take_leave(world, state, broker, response.should_shut_down)
    else:
        if state.state == lifecycles.RECOVERY and not response.is_fenced:
            _open_port(world, broker)
        communicate_later(world, broker, state.heartbeat_interval_us)


@inner_rule
def _open_port(world: Brokers, broker: int) -> None:
    """The broker is unfenced for the first time: it takes requests.

    Source: BrokerServer.startup, SocketServer.enableRequestProcessing@4.1.0.
    """
    world.lifecycles[broker].state = lifecycles.RUNNING
    world.brokers[broker].port_opens_us = world.context[0].time_us
    world.brokers[broker].ready_us = world.context[0].time_us


@BROKER.handles(controller_timers.ReadyToUnfence)
@inner_rule
def handle_ready_to_unfence(world: Brokers, timer: controller_timers.ReadyToUnfence) -> None:
    """All but the port is ready: be unfenced, once the controller has found it caught up.

    Source: BrokerServer.startup, BrokerLifecycleManager.setReadyToUnfence@4.1.0.
    """
    state = world.lifecycles[timer.destination]
    state.first_is_published = True
    if state.state == lifecycles.RECOVERY:
        state.ready_to_unfence = True
        communicate_later(world, timer.destination, 0)


@inner_rule
def shut_down(world: Brokers, broker: int) -> None:
    """Begin the shutdown. A broker that is still starting up cannot: it ends as it is.

    Source: BrokerServer.shutdown, BrokerLifecycleManager.BeginControlledShutdownEvent@4.1.0.
    """
    state = world.brokers[broker]
    if state.stopping:
        return
    if world.lifecycles[broker].state != lifecycles.RUNNING:
        end(world, broker, STOP_KILLED)
        return
    state.stopping = True
    if not state.controlled_shutdown_enable:
        stop_serving(world, broker)
        return
    controller_timers.ControlledShutdownExpires.after(world, _CONTROLLED_SHUTDOWN_US)
    controller_timers.ControlledShutdownBegins.after(
        world, cost_us(world, broker, BROKER_STOP_REQUEST)
    )


@BROKER.handles(controller_timers.ControlledShutdownBegins)
@inner_rule
def handle_controlled_shutdown_begins(
    world: Brokers, timer: controller_timers.ControlledShutdownBegins
) -> None:
    """Ask for the controller's permission with the next heartbeat, which is sent at once."""
    world.lifecycles[timer.destination].state = lifecycles.PENDING_CONTROLLED_SHUTDOWN
    communicate_later(world, timer.destination, 0)


@inner_rule
def _take_leave(
    world: Brokers, state: lifecycles.Lifecycle, broker: int, should_shut_down: bool
) -> None:
    """Stop if the controller agrees; if not, ask again, the first time a little sooner."""
    if should_shut_down:
        _end_controlled_shutdown(world, broker, errors.NONE, 0)
    elif state.got_controlled_shutdown_response:
        communicate_later(world, broker, state.heartbeat_interval_us)
    else:
        communicate_later(world, broker, _FIRST_OF_SHUTDOWN_US)
    state.got_controlled_shutdown_response = True


@BROKER.handles(controller_timers.ControlledShutdownExpires)
@inner_rule
def handle_controlled_shutdown_expires(
    world: Brokers, timer: controller_timers.ControlledShutdownExpires
) -> None:
    """Stop without the controller's leave."""
    if not world.brokers[timer.destination].ends:
        _end_controlled_shutdown(world, timer.destination, errors.REQUEST_TIMED_OUT, NONE)


@inner_rule
def _end_controlled_shutdown(world: Brokers, broker: int, error: int, remaining: int) -> None:
    ControlledShutdownAnswered.write(
        world,
        broker=broker,
        attempt=world.brokers[broker].shutdown_attempt,
        error=error,
        remaining=remaining,
    )
    stop_serving(world, broker)
