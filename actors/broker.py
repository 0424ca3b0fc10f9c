"""A broker: the handlers of the events that reach it.

:func:`handle_broker_event` is the door to everything a broker does; the table of contents
of this room, in Kafka's words:

==============================  =========================================================
Kafka                           here
==============================  =========================================================
KafkaRequestHandlerPool         ``requests/request_handlers.py``
ReplicaManager.appendRecords    ``requests/produce.py``, ``leaders/leader.py``
ReplicaManager.fetchMessages    ``requests/produce.py``, ``fetches/fetch_read.py``
FetchManager, FetchSession      ``fetches/fetch_sessions.py``
DelayedFetch, DelayedProduce    ``fetches/fetch_purgatory.py``, ``fetches/produce_purgatory.py``,
..                              ``fetches/producer_connections.py``
ReplicaFetcherThread            ``followers/follower.py``, ``followers/follower_truncation.py``,
..                              ``fetches/fetcher_thread.py``
becomeLeaderOrFollower          ``requests/controller_requests.py``
isr-expiration, ISR updates     ``leaders/isr_changes.py``, ``leaders/isr_outcomes.py``
AlterPartitionManager           ``leaders/alter_partition.py``
isr-change-propagation          ``session/isr_change_propagation.py``
BrokerLifecycleManager          ``metadata/broker_lifecycle.py``
KafkaRaftClient, as observer    ``metadata/metadata_fetch.py``
BrokerMetadataPublisher,        ``metadata/metadata_publisher.py``
ReplicaManager.applyDelta       ..
KafkaZkClient, its session      ``session/zookeeper_client.py``, ``zookeeper_responses.py``
KafkaServer.startup, crashes    ``process/lifecycle.py``, ``process/forgetting.py``
KafkaServer.controlledShutdown  ``process/controlled_shutdown.py``
TopicConfigHandler              ``session/zookeeper_client.py``
BrokerConfigHandler,            ``fetches/replication_quotas.py``
DynamicConfigPublisher          ..
ReplicationQuotaManager         ``fetches/replication_quotas.py``
RPCProducerIdManager            ``requests/producer_ids.py``
GroupCoordinator                ``requests/group_coordinator.py``
GroupMetadataManager            ``storage/group_offsets.py``
Log, LogManager, checkpoints    ``storage/logs.py``, ``storage/checkpoints.py``,
..                              ``storage/logs.py``
log.dirs, LogDirFailureHandler  ``storage/log_dirs.py``, ``process/log_dir_failures.py``
(what a test harness sees)      ``requests/other_requests.py``, ``sampling.py``
==============================  =========================================================
"""

from tidegauge.actors import sampling, zookeeper_responses
from tidegauge.actors.fetches import fetch_purgatory, produce_purgatory
from tidegauge.actors.fetches.replication_quotas import take_throttles
from tidegauge.actors.followers.follower import lose_source_broker, waits_for_disk
from tidegauge.actors.leaders.alter_partition import lose_alter_partition
from tidegauge.actors.leaders.leader import close_account
from tidegauge.actors.metadata import metadata_publisher
from tidegauge.actors.metadata.broker_lifecycle import lose_heartbeat, shut_down
from tidegauge.actors.metadata.metadata_fetch import lose_metadata_fetch
from tidegauge.actors.process import log_dir_failures
from tidegauge.actors.process.controlled_shutdown import lose_controller, stop_cleanly
from tidegauge.actors.process.lifecycle import end, lose_power, start
from tidegauge.actors.requests.producer_ids import lose_allocation
from tidegauge.actors.requests.request_handlers import take_request
from tidegauge.actors.session.zookeeper_client import take_configs
from tidegauge.actors.state.brokers import ACTIVE, LOGS, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.storage.disks import ALL_IN_MEMORY
from tidegauge.actors.storage.log_dirs import LOG_DIRECTORY_FAILURE, know_failing_directories
from tidegauge.actors.storage.logs import MARKS, write_log_runs
from tidegauge.compiled.prefetching import prefetch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.events import free_event, items_of
from tidegauge.simulation.faults import POWER_LOSS, RESTART, reset_all
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import (
    FetchRequest,
    FetchResponse,
    ProduceRequest,
)
from tidegauge.simulation.messages.event import Event, PartitionData
from tidegauge.simulation.messages.kinds import IS_REQUEST
from tidegauge.simulation.messages.timers import BrokerStart, Disconnected, FaultBegin, FaultChange
from tidegauge.simulation.messages.zookeeper_requests import ConfigChanged, ThrottlesChanged
from tidegauge.simulation.slow_disks import end_restart_later, tell_controller_of_end
from tidegauge.simulation.topology import controller_process, is_kraft, row_of, upgrade
from tidegauge.simulation.trace_rows.codes import STOP_KILLED

#: Modules that are imported for their handlers, which enter themselves.
_HANDLED_IN = (
    fetch_purgatory,
    produce_purgatory,
    log_dir_failures,
    metadata_publisher,
    sampling,
    zookeeper_responses,
)


@rule
def handle_broker_event(world: Brokers, event: Event) -> None:
    """Let a broker deal with one event, and give the event back unless it waits on."""
    if IS_REQUEST[event.kind]:
        # The handler that answers a request frees its slot.
        take_request(world, event)
    elif event.kind != FetchResponse.KIND or not waits_for_disk(
        world, view_as(event, FetchResponse)
    ):
        _handle(world, event)
        free_event(world, event)


#: A message about more partitions is not expected: theirs would not be in time.
_MOST_EXPECTED = code(16)


@rule
def expect_broker_event(world: Brokers, event: Event) -> None:
    """Have the processor load the replicas that a broker will look at for its next event."""
    width = world.sizes[0].width
    if event.kind == FetchRequest.KIND:
        fetcher = view_as(event, FetchRequest).fetcher
        if fetcher != NONE:
            for index in ACTIVE.of(world, world.fetch_sessions[fetcher]):
                _load_leader(world, index // width)
                break
        return
    if event.kind == FetchResponse.KIND:
        prefetch(world.fetchers, view_as(event, FetchResponse).fetcher, 1)
    elif event.kind != ProduceRequest.KIND:
        return
    if event.item_count <= _MOST_EXPECTED:
        _load_replicas(world, event)


@inner_rule
def _load_replicas(world: Brokers, event: Event) -> None:
    """Load the replicas to which a message appends records."""
    for item in items_of(world, event, PartitionData):
        row = row_of(world, item.partition, event.destination)
        prefetch(world.hosted, row, 1)
        prefetch(world.replicas, row, 1)
        prefetch(world.epoch_entries, world.hosted[row].first_entry, 1)
        if world.brokers[event.destination].generation > ALL_IN_MEMORY:
            prefetch(world.cached_logs, row, 1)
        if len(world.marks) > 0:
            prefetch(world.marks, row * MARKS, MARKS)
        if event.kind == ProduceRequest.KIND:
            _load_followers(world, row)
        else:
            prefetch(world.fetch_states, row, 1)
            prefetch(world.on_disk, row, 1)
            prefetch(world.delayed_fetches, row, 1)


@inner_rule
def _load_leader(world: Brokers, row: int) -> None:
    """Load a replica that a leader reads for a follower."""
    prefetch(world.hosted, row, 1)
    prefetch(world.replicas, row, 1)
    prefetch(world.epoch_entries, world.hosted[row].first_entry, 1)
    _load_followers(world, row)


@inner_rule
def _load_followers(world: Brokers, row: int) -> None:
    """Load what a leader knows of a partition's followers, and who waits for them."""
    width = world.sizes[0].width
    prefetch(world.followers, row * width, width)
    prefetch(world.follower_fetches, row * width, width)
    prefetch(world.delayed_produces, row, 1)
    prefetch(world.delayed_fetches, row, 1)


@BROKER.handles(BrokerStart)
@inner_rule
def _start(world: Brokers, timer: BrokerStart) -> None:
    start(world, timer.destination)


@BROKER.handles(ConfigChanged, ThrottlesChanged)
@inner_rule
def _take_settings(world: Brokers, event: Event) -> None:
    """Settings of ZooKeeper have come; those of an older session are stale."""
    session = world.brokers[event.destination].session
    if event.kind == ConfigChanged.KIND:
        if view_as(event, ConfigChanged).session == session:
            take_configs(world, view_as(event, ConfigChanged))
    elif view_as(event, ThrottlesChanged).session == session:
        take_throttles(world, view_as(event, ThrottlesChanged))


@BROKER.handles(Disconnected)
@inner_rule
def _lose_connection(world: Brokers, event: Event) -> None:
    """A peer has died, or does not listen: a source broker of fetchers, or the controller."""
    broker = event.destination
    state = world.brokers[broker]
    controller = event.source
    until_us = view_as(event, Disconnected).until_us
    if event.source < world.sizes[0].brokers:
        lose_source_broker(world, broker, event.source, until_us)
        if is_kraft(world):
            return
        controller = controller_process(world, event.source)
    elif is_kraft(world):
        lose_metadata_fetch(world, broker, controller, until_us)
        lose_heartbeat(world, broker, controller, until_us)
        lose_allocation(world, broker, controller, until_us)
    if controller == state.shutdown_controller:
        lose_controller(world, broker, until_us)
    if controller == state.alter_partition_controller:
        lose_alter_partition(world, broker, until_us)


#: Calls the handler of an event's kind.
_handle = BROKER.dispatcher(__name__, "_handle", Brokers, Event)


@rule
def take_broker_fault(world: Brokers, event: FaultChange) -> None:
    """A fault has begun or ended at a broker: it may die, be asked to stop, or start again."""
    fault = world.faults[event.fault]
    if fault.kind == LOG_DIRECTORY_FAILURE:
        know_failing_directories(world, event.destination)
    elif fault.stops and event.kind == FaultBegin.KIND:
        _take_down(world, event.destination, event.fault)
    elif fault.stops:
        _bring_back(world, event.destination, event.fault)


@inner_rule
def _take_down(world: Brokers, broker: int, fault: int) -> None:
    kind = world.faults[fault].kind
    is_alive = world.processes[broker].alive
    if kind == RESTART and is_alive and is_kraft(world):
        shut_down(world, broker)
    elif kind == RESTART and is_alive:
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
    if world.faults[fault].stopped_us != NONE and not is_kraft(world):
        tell_controller_of_end(world, broker, fault)
    if world.faults[fault].kind == POWER_LOSS and process.without_power == 0:
        reset_all(world, broker)
    if not process.alive:
        upgrade(world, broker, world.faults[fault].upgrade)
    if process.held_down == 0 and not process.alive:
        start(world, broker)


@inner_rule
def close_broker(world: Brokers, broker: int, reason: int) -> None:
    """Write rows, at the end of a run, about its leaders' promises and its logs' content."""
    for row in LOGS.of(world, world.brokers[broker]):
        if is_leader(world.replicas[row]):
            close_account(world, row, reason)
        write_log_runs(world, row, reason)
