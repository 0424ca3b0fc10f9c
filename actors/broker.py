"""A broker: what it does with each event that reaches it.

:func:`handle_broker_event` is the door to everything a broker does; the table of contents
of this room, in Kafka's words:

==============================  =========================================================
Kafka                           here
==============================  =========================================================
KafkaRequestHandlerPool         ``requests/request_handlers.py``
ReplicaManager.appendRecords    ``requests/produce.py``, ``leaders/leader.py``
ReplicaManager.fetchMessages    ``requests/fetch.py``, ``fetches/fetch_read.py``
FetchManager, FetchSession      ``fetches/fetch_sessions.py``
DelayedProduce, DelayedFetch    ``fetches/delayed_operations.py``, ``fetches/purgatory.py``
ReplicaFetcherThread            ``followers/follower.py``, ``followers/follower_truncation.py``,
..                              ``fetches/fetcher_thread.py``
becomeLeaderOrFollower          ``requests/controller_requests.py``, ``requests/stop_replica.py``
isr-expiration, ISR updates     ``leaders/isr_changes.py``, ``state/locks.py``
AlterPartitionManager           ``leaders/alter_partition.py``
isr-change-propagation          ``session/isr_change_propagation.py``
KafkaZkClient, its session      ``session/zookeeper_client.py``, ``zookeeper_responses.py``
KafkaServer.startup, crashes    ``process/lifecycle.py``, ``process/forgetting.py``
KafkaServer.controlledShutdown  ``process/controlled_shutdown.py``
TopicConfigHandler              ``session/topic_configs.py``
ReplicationQuotaManager         ``fetches/throttled_replication.py``
GroupCoordinator                ``requests/group_coordinator.py``
GroupMetadataManager            ``storage/group_offsets.py``
Log, LogManager, checkpoints    ``storage/logs.py``, ``storage/checkpoints.py``,
..                              ``storage/write_back.py``
log.dirs, LogDirFailureHandler  ``storage/log_dirs.py``, ``process/log_dir_failures.py``
(what a test harness sees)      ``requests/observation.py``, ``sampling.py``
==============================  =========================================================
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import (
    handle_fetch_expires,
    handle_follower_fetch_expires,
    handle_produce_expires,
)
from tidegauge.actors.fetches.throttled_replication import take_throttles
from tidegauge.actors.followers.follower import (
    handle_epoch_response,
    handle_fetch_response,
    handle_fetcher_gives_up,
    handle_fetcher_wakes,
    handle_list_offsets_response,
    lose_source_broker,
    waits_for_disk,
)
from tidegauge.actors.leaders.alter_partition import (
    handle_alter_partition_timer,
    lose_alter_partition,
)
from tidegauge.actors.leaders.isr_changes import (
    handle_alter_partition_response,
    handle_isr_expiration,
)
from tidegauge.actors.leaders.leader import close_account
from tidegauge.actors.process.controlled_shutdown import (
    handle_broker_stops,
    handle_controlled_shutdown_response,
    handle_shutdown_gives_up,
    handle_shutdown_retries,
    lose_controller,
    stop_cleanly,
)
from tidegauge.actors.process.lifecycle import (
    end,
    handle_loading_begins,
    handle_logs_loaded,
    handle_registration_due,
    lose_power,
    start,
)
from tidegauge.actors.process.log_dir_failures import handle_log_dir_fails
from tidegauge.actors.requests.group_coordinator import handle_member_expires
from tidegauge.actors.requests.request_handlers import (
    handle_handler_free,
    handle_handler_goes_on,
    take_request,
)
from tidegauge.actors.sampling import sample
from tidegauge.actors.session.isr_change_propagation import handle_isr_change_propagation
from tidegauge.actors.session.topic_configs import take_configs
from tidegauge.actors.session.zookeeper_client import handle_session_ping
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.storage.checkpoints import (
    handle_high_watermark_checkpoint,
    handle_recovery_point_checkpoint,
)
from tidegauge.actors.storage.group_offsets import handle_offsets_loaded
from tidegauge.actors.storage.log_dirs import know_failing_directories
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.actors.zookeeper_responses import handle_session_reconnects, take_zookeeper_answer
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.codes.occasions import STOP_KILLED
from tidegauge.simulation.events import free_event
from tidegauge.simulation.faults import (
    LOG_DIRECTORY_FAILURE,
    POWER_LOSS,
    RESTART,
    reset_all,
    stops_process,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.broker_timers import SessionReconnects
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionResponse,
    ControlledShutdownResponse,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.fault_events import Disconnected, FaultBegin, FaultChange
from tidegauge.simulation.messages.kinds import (
    ALTER_PARTITION_DUE,
    ALTER_PARTITION_GIVES_UP,
    ALTER_PARTITION_RESPONSE,
    BROKER_START,
    BROKER_STOPS,
    CONTROLLED_SHUTDOWN_RESPONSE,
    DISCONNECTED,
    EPOCH_RESPONSE,
    FETCH_EXPIRES,
    FETCH_RESPONSE,
    FETCHER_GIVES_UP,
    FETCHER_WAKES,
    FOLLOWER_FETCH_EXPIRES,
    HANDLER_FREE,
    HANDLER_GOES_ON,
    HIGH_WATERMARK_CHECKPOINT,
    IS_REQUEST,
    ISR_CHANGE_PROPAGATION,
    ISR_EXPIRATION,
    LIST_OFFSETS_RESPONSE,
    LOADING_BEGINS,
    LOG_DIR_FAILS,
    LOGS_LOADED,
    MEMBER_EXPIRES,
    OFFSETS_LOADED,
    PRODUCE_EXPIRES,
    RECOVERY_POINT_CHECKPOINT,
    REGISTRATION_DUE,
    SAMPLE,
    SESSION_PING,
    SESSION_RECONNECTS,
    SHUTDOWN_GIVES_UP,
    SHUTDOWN_RETRIES,
)
from tidegauge.simulation.messages.zookeeper_requests import (
    ConfigChanged,
    ThrottlesChanged,
    ZkResponse,
)
from tidegauge.simulation.timed_stops import end_restart_later, tell_controller_of_end
from tidegauge.simulation.topology import controller_process


@inner_rule
def handle_broker_event(world: Brokers, event: Event) -> None:
    """Let a broker deal with one event, and give the event back unless it waits on."""
    kind = event.kind
    if IS_REQUEST[kind]:
        # A request is given back by whoever answers it.
        take_request(world, event)
        return
    if kind == FETCH_RESPONSE:
        if waits_for_disk(world, event):
            return
        handle_fetch_response(world, event)
    elif kind == ZkResponse.KIND:
        take_zookeeper_answer(world, view_as(event, ZkResponse))
    elif kind in (
        EPOCH_RESPONSE,
        LIST_OFFSETS_RESPONSE,
        CONTROLLED_SHUTDOWN_RESPONSE,
        ALTER_PARTITION_RESPONSE,
    ):
        _take_other_answer(world, event)
    elif kind == DISCONNECTED:
        _lose_connection(world, event)
    elif kind in (ConfigChanged.KIND, ThrottlesChanged.KIND):
        _take_settings(world, event)
    elif kind in (OFFSETS_LOADED, MEMBER_EXPIRES):
        _coordinate(world, event)
    else:
        _take_timer(world, event)
    free_event(world, event)


@inner_rule
def _take_settings(world: Brokers, event: Event) -> None:
    """ZooKeeper tells of settings; an older session is told nothing that counts."""
    session = world.brokers[event.destination].session
    if event.kind == ConfigChanged.KIND:
        if view_as(event, ConfigChanged).session == session:
            take_configs(world, event)
    elif view_as(event, ThrottlesChanged).session == session:
        take_throttles(world, view_as(event, ThrottlesChanged))


@inner_rule
def _take_other_answer(world: Brokers, event: Event) -> None:
    if event.kind == EPOCH_RESPONSE:
        handle_epoch_response(world, event)
    elif event.kind == LIST_OFFSETS_RESPONSE:
        handle_list_offsets_response(world, event)
    elif event.kind == ALTER_PARTITION_RESPONSE:
        handle_alter_partition_response(world, view_as(event, AlterPartitionResponse))
    else:
        handle_controlled_shutdown_response(world, view_as(event, ControlledShutdownResponse))


@inner_rule
def _lose_connection(world: Brokers, event: Event) -> None:
    """A peer has died, or does not listen: a source broker of fetchers, or the controller."""
    broker = event.destination
    state = world.brokers[broker]
    controller = event.source
    until_us = view_as(event, Disconnected).until_us
    if event.source < world.sizes[0].brokers:
        lose_source_broker(world, broker, event.source, until_us)
        controller = controller_process(world, event.source)
    if controller == state.shutdown_controller:
        lose_controller(world, broker, until_us)
    if controller == state.alter_partition_controller:
        lose_alter_partition(world, broker, until_us)


@inner_rule
def _take_timer(world: Brokers, event: Event) -> None:
    kind = event.kind
    if kind in (FETCH_EXPIRES, FOLLOWER_FETCH_EXPIRES, PRODUCE_EXPIRES):
        _expire(world, event)
    elif kind == HANDLER_FREE:
        handle_handler_free(world, event)
    elif kind == HANDLER_GOES_ON:
        handle_handler_goes_on(world, event)
    elif kind in (FETCHER_WAKES, FETCHER_GIVES_UP):
        _go_on_fetching(world, event)
    elif kind in (SHUTDOWN_RETRIES, SHUTDOWN_GIVES_UP, BROKER_STOPS):
        _go_on_stopping(world, event)
    elif kind in (BROKER_START, LOADING_BEGINS, LOGS_LOADED, REGISTRATION_DUE):
        _go_on_starting(world, event)
    elif kind in (SESSION_PING, SESSION_RECONNECTS):
        _keep_session(world, event)
    elif kind in (ALTER_PARTITION_DUE, ALTER_PARTITION_GIVES_UP):
        handle_alter_partition_timer(world, event)
    else:
        _take_periodic(world, event)


@inner_rule
def _expire(world: Brokers, event: Event) -> None:
    if event.kind == FETCH_EXPIRES:
        handle_fetch_expires(world, event)
    elif event.kind == FOLLOWER_FETCH_EXPIRES:
        handle_follower_fetch_expires(world, event)
    else:
        handle_produce_expires(world, event)


@inner_rule
def _coordinate(world: Brokers, event: Event) -> None:
    if event.kind == OFFSETS_LOADED:
        handle_offsets_loaded(world, event)
    else:
        handle_member_expires(world, event)


@inner_rule
def _go_on_fetching(world: Brokers, event: Event) -> None:
    if event.kind == FETCHER_WAKES:
        handle_fetcher_wakes(world, event)
    else:
        handle_fetcher_gives_up(world, event)


@inner_rule
def _keep_session(world: Brokers, event: Event) -> None:
    if event.kind == SESSION_PING:
        handle_session_ping(world, event)
    else:
        handle_session_reconnects(world, view_as(event, SessionReconnects))


@inner_rule
def _take_periodic(world: Brokers, event: Event) -> None:
    kind = event.kind
    if kind == ISR_EXPIRATION:
        if not world.brokers[event.destination].ends:
            handle_isr_expiration(world, event)
    elif kind == ISR_CHANGE_PROPAGATION:
        if not world.brokers[event.destination].ends:
            handle_isr_change_propagation(world, event)
    elif kind == HIGH_WATERMARK_CHECKPOINT:
        handle_high_watermark_checkpoint(world, event)
    elif kind == RECOVERY_POINT_CHECKPOINT:
        handle_recovery_point_checkpoint(world, event)
    elif kind == SAMPLE:
        sample(world, event.destination)
    elif kind == LOG_DIR_FAILS:
        handle_log_dir_fails(world, event)


@inner_rule
def _go_on_starting(world: Brokers, event: Event) -> None:
    if event.kind == BROKER_START:
        start(world, event.destination)
    elif event.kind == LOADING_BEGINS:
        handle_loading_begins(world, event)
    elif event.kind == REGISTRATION_DUE:
        handle_registration_due(world, event)
    else:
        handle_logs_loaded(world, event)


@inner_rule
def _go_on_stopping(world: Brokers, event: Event) -> None:
    if event.kind == SHUTDOWN_RETRIES:
        handle_shutdown_retries(world, event)
    elif event.kind == SHUTDOWN_GIVES_UP:
        handle_shutdown_gives_up(world, event)
    else:
        handle_broker_stops(world, event)


@inner_rule
def take_broker_fault(world: Brokers, event: FaultChange) -> None:
    """A fault has begun or ended at a broker: it may die, be told to stop, or start again."""
    kind = world.faults[event.fault].kind
    if kind == LOG_DIRECTORY_FAILURE:
        know_failing_directories(world, event.destination)
    elif stops_process(kind) and event.kind == FaultBegin.KIND:
        _take_down(world, event.destination, event.fault)
    elif stops_process(kind):
        _bring_back(world, event.destination, event.fault)


@inner_rule
def _take_down(world: Brokers, broker: int, fault: int) -> None:
    kind = world.faults[fault].kind
    is_alive = world.processes[broker].alive
    if kind == RESTART and is_alive:
        stop_cleanly(world, broker)
    elif kind == POWER_LOSS:
        lose_power(world, broker, fault)
    elif is_alive:
        end(world, broker, STOP_KILLED)
    elif kind == RESTART:
        end_restart_later(world, broker, fault)


@inner_rule
def _bring_back(world: Brokers, broker: int, fault: int) -> None:
    process = world.processes[broker]
    if world.faults[fault].stopped_us != NONE:
        tell_controller_of_end(world, broker, fault)
    if world.faults[fault].kind == POWER_LOSS and process.without_power == 0:
        reset_all(world, broker)
    if process.held_down == 0 and not process.alive:
        start(world, broker)


@inner_rule
def close_broker(world: Brokers, broker: int, reason: int) -> None:
    """Write down, at the end of a run, what its leaders have promised and its logs hold."""
    row = world.brokers[broker].first_log
    while row != NONE:
        if is_leader(world.replicas[row]):
            close_account(world, row, reason)
        write_log_runs(world, row, reason)
        row = world.hosted[row].next_log
