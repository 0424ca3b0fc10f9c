"""Publications of the metadata log at a broker: one delta after the other, and its effects.

All records that have arrived when a publication begins are one delta. The metadata cache has it at
once; the replicas change when the work for it is done (costs ``metadata_publication`` and
``metadata_publication_partition``). Until then clients are sent to leaders that do not know yet.
Brokers take different times. A follower that is ahead of its leader fetches in an epoch that the
leader does not know: the response is UNKNOWN_LEADER_EPOCH, and the partition is delayed by
replica.fetch.backoff.ms.

The first publication of a process loads the logs, before it changes the replicas; the very first
start of a run finds none.

A delta first deletes replicas that no longer exist, and those of a topic that was created again
under its name; then the broker becomes leader, then follower. Only the newest entry of a delta
counts for a partition. A fetcher restarts in a new leader epoch only; another ISR or assignment is
taken over in the same term. While it is in controlled shutdown, a broker stops fetching partitions
that have no leader, or do not have it in the ISR. Throttles change last.

The finalized features are a part of the metadata cache: the broker follows the rules of another
metadata.version from the beginning of the publication on.

Source: MetadataLoader, BrokerMetadataPublisher.onMetadataUpdate and initializeManagers,
ReplicaManager.applyDelta, applyLocalLeadersDelta and applyLocalFollowersDelta@4.1.0,
LogManager.isStrayReplica@4.1.0.
"""

from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher, stop_idle_fetchers
from tidegauge.actors.fetches.replication_quotas import publish_throttles
from tidegauge.actors.followers.follower import start_fetchers
from tidegauge.actors.followers.follower_truncation import (
    continue_to_follow,
    start_to_follow,
    turn_follower,
)
from tidegauge.actors.leaders.leader import become_leader, continue_to_lead
from tidegauge.actors.process.hosting import host
from tidegauge.actors.process.lifecycle import begin_loading, end_loading
from tidegauge.actors.process.log_dir_failures import delete_log
from tidegauge.actors.session.zookeeper_client import topic_config
from tidegauge.actors.state.brokers import NEVER_US, Brokers, take_min_insync_replicas
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.lifecycles import APPLIES, IDLE, LOADS_LOGS, READS_CHECKPOINTS
from tidegauge.actors.storage.checkpoints import (
    READ_DUE,
    start_high_watermark_checkpoints,
    want_files,
)
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.partition import is_leader, skips_older_partition_epoch
from tidegauge.replication.release_rules import (
    HEARTBEAT_TIMEOUT_HALF_SESSION,
    HEARTBEAT_TIMEOUT_INTERVAL,
)
from tidegauge.replication.replica_list import contains
from tidegauge.simulation import rows
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE, QUORUM_CONTROLLER
from tidegauge.simulation.messages.controller_timers import (
    MetadataPublicationResume,
    ReadyToUnfence,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.quorum_requests import PublishedPartition, RaftFetchResponse
from tidegauge.simulation.metadata_log import (
    ONE_LOG,
    is_snapshot_due,
    move_on,
    servers_to_ask,
    write_snapshot_row,
)
from tidegauge.simulation.topology import follow_versions, place_of_versions, row_of
from tidegauge.simulation.trace_rows.codes import WRITTEN
from tidegauge.simulation.trace_rows.replica_rows import ReplicaStopped

_FALSE = code(False)


@inner_rule
def publish(world: Brokers, broker: int) -> None:
    """Begin a publication, if there is something new and none is under way.

    The first one waits until something is committed.
    """
    state = world.lifecycles[broker]
    if state.phase != IDLE or state.high_watermark <= state.published_offset:
        return
    state.publishing_offset = state.high_watermark
    state.publishing = state.pending
    state.pending = NONE
    if state.publishing != NONE:
        _publish_features(world, broker)
    known = world.known_metadata[broker]
    move_on(known, ONE_LOG, state.publishing_offset - 1, _FALSE)
    if world.brokers[broker].loaded:
        _apply_later(world, broker)
    elif world.brokers[broker].starts == 1:
        end_loading(world, broker)
        world.brokers[broker].port_opens_us = NEVER_US
        _apply_later(world, broker)
    else:
        # Real files, if there are any, are read between this event and the next.
        want_files(world, world.brokers[broker], READ_DUE)
        _go_on_after(world, broker, READS_CHECKPOINTS, 0)


@inner_rule
def _publish_features(world: Brokers, broker: int) -> None:
    """Follow the finalized features, if the delta has others.

    Source: FeaturesDelta, KRaftMetadataCache.setImage@3.9.0.
    """
    delta = view_as(world.events[world.lifecycles[broker].publishing], RaftFetchResponse)
    if delta.metadata_version != NONE:
        world.node_versions[broker].metadata_version = delta.metadata_version
        world.node_versions[broker].elr_version = delta.elr_version
        follow_versions(world, broker)
        follow_release(world, broker)


@inner_rule
def follow_release(world: Brokers, broker: int) -> None:
    """Communicate with the quorum by the rules of the broker's release and metadata.version."""
    state = world.lifecycles[broker]
    rules = world.kraft_rules[place_of_versions(world, broker)]
    voters = world.process_ranges[QUORUM_CONTROLLER].count
    state.bootstrap_servers = servers_to_ask(rules, state.configured_servers, voters)
    state.returns_to_leader = rules.observer_returns_to_leader
    state.tells_cordoned_directories = rules.cordoned_directories_known
    rule = world.rules[broker].heartbeat_timeout
    state.most_backoff_us = 0
    state.request_timeout_us = state.heartbeat_interval_us
    if rule != HEARTBEAT_TIMEOUT_INTERVAL:
        state.most_backoff_us = state.session_timeout_us
        state.request_timeout_us = state.controller_socket_timeout_us
    if rule == HEARTBEAT_TIMEOUT_HALF_SESSION:
        state.request_timeout_us = state.session_timeout_us // 2


@inner_rule
def _go_on_after(world: Brokers, broker: int, phase: int, delay_us: int) -> None:
    state = world.lifecycles[broker]
    state.phase = phase
    state.loaded_us += delay_us
    state.loads_until_us = world.context[0].time_us + delay_us
    MetadataPublicationResume.after(world, delay_us)


@inner_rule
def _apply_later(world: Brokers, broker: int) -> None:
    """Have the replicas change when the work for the delta is done."""
    state = world.lifecycles[broker]
    work_us = rows.cost_us(world, broker, rows.METADATA_PUBLICATION)
    if state.publishing != NONE:
        partition_us = rows.cost_us(world, broker, rows.METADATA_PUBLICATION_PARTITION)
        work_us += world.events[state.publishing].item_count * partition_us
    _go_on_after(world, broker, APPLIES, work_us)


@BROKER.handles(MetadataPublicationResume)
@inner_rule
def handle_metadata_publication_resume(world: Brokers, timer: MetadataPublicationResume) -> None:
    """Load the logs; then apply the delta, and publish the records that have come since."""
    broker = timer.destination
    state = world.lifecycles[broker]
    if world.brokers[broker].ends:
        return
    if state.phase == READS_CHECKPOINTS:
        _go_on_after(world, broker, LOADS_LOGS, begin_loading(world, broker, 0))
    elif state.phase == LOADS_LOGS:
        end_loading(world, broker)
        world.brokers[broker].port_opens_us = NEVER_US
        _apply_later(world, broker)
    else:
        _end_publication(world, broker)
        publish(world, broker)


@inner_rule
def _end_publication(world: Brokers, broker: int) -> None:
    """The replicas change; after the first publication the broker may be unfenced.

    Source: BrokerMetadataPublisher.finishInitializingReplicaManager@4.1.0.
    """
    state = world.lifecycles[broker]
    state.phase = IDLE
    is_first = state.published_offset == 0
    state.published_offset = state.publishing_offset
    if state.publishing != NONE:
        delta = view_as(world.events[state.publishing], RaftFetchResponse)
        state.publishing = NONE
        apply_delta(world, broker, delta)
        publish_throttles(world, broker, delta)
        free_event(world, delta)
    _look_after_snapshots(world, broker)
    if not is_first:
        return
    start_high_watermark_checkpoints(world, broker)
    ready_us = world.context[0].time_us
    if world.brokers[broker].starts > 1:
        ready_us += rows.cost_us(world, broker, rows.METADATA_FIRST_PUBLICATION)
    ReadyToUnfence.at(world, ready_us)


@inner_rule
def _look_after_snapshots(world: Brokers, broker: int) -> None:
    """Write a snapshot of the metadata log after its limit of bytes, or of time.

    The first publication of a process, and that of a snapshot, begin the count.

    Source: SnapshotGenerator.publishLogDelta@3.9.0.
    """
    state = world.lifecycles[broker]
    now_us = world.context[0].time_us
    offset = state.published_offset
    if state.snapshot_from_offset == NONE:
        state.snapshot_from_offset = offset
        state.snapshot_from_us = now_us
    records = offset - state.snapshot_from_offset
    age_us = now_us - state.snapshot_from_us
    if is_snapshot_due(records, age_us, state.snapshot_max_bytes, state.snapshot_interval_us):
        state.snapshot_from_offset = offset
        state.snapshot_from_us = now_us
        write_down_snapshot(world, broker, WRITTEN, offset, state.leader_epoch, NONE)


@inner_rule
def write_down_snapshot(
    world: Brokers, broker: int, step: int, end_offset: int, epoch: int, size_bytes: int
) -> None:
    """Write a row about a step of a broker's snapshot."""
    begins = world.lifecycles[broker].log_start_offset
    write_snapshot_row(world, broker, step, end_offset, epoch, size_bytes, begins)


_TRUE = code(True)


@inner_rule
def apply_delta(world: Brokers, broker: int, delta: Event) -> None:
    """Change the replicas by the entries of a delta."""
    _find_newest(world, broker, delta)
    _delete(world, broker, delta)
    _change(world, broker, delta, _TRUE)
    _change(world, broker, delta, _FALSE)
    stop_idle_fetchers(world, broker)
    # Partitions that one delta gives to a fetcher are fetched together from the start.
    start_fetchers(world, broker)


@inner_rule
def _find_newest(world: Brokers, broker: int, delta: Event) -> None:
    """Find the newest entry of each partition, and take over the settings of the topics."""
    cursor = delta.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], PublishedPartition)
        hosted = world.hosted[row_of(world, item.partition, broker)]
        if hosted.published_item != NONE:
            # A replica that is new in the delta stays so.
            older = view_as(world.items[hosted.published_item], PublishedPartition)
            item.is_new = item.is_new or older.is_new
        hosted.published_item = cursor
        config = topic_config(world, broker, item.partition)
        config.min_insync_replicas = item.min_insync_replicas
        config.unclean_leader_election = item.unclean_leader_election
        cursor = item.next


@inner_rule
def _delete(world: Brokers, broker: int, delta: Event) -> None:
    """Delete the logs of topics that are gone, and of replicas that are elsewhere.

    Source: ReplicaManager.stopPartitions@4.1.0, LogManager.isStrayReplica@4.1.0.
    """
    cursor = delta.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], PublishedPartition)
        row = row_of(world, item.partition, broker)
        hosted = world.hosted[row]
        on_disk = world.on_disk[row]
        is_newest = hosted.published_item == cursor
        is_stray = item.is_removed or on_disk.topic_id not in (NONE, item.topic_id)
        cursor = item.next
        if not is_newest or not is_stray:
            continue
        rows.caused_by(world, item.row_process, item.row_sequence)
        if hosted.exists:
            ReplicaStopped.write(world, item)
        if on_disk.exists and not hosted.offline:
            delete_log(world, row)
        if item.is_removed:
            hosted.published_item = NONE


@inner_rule
def _change(world: Brokers, broker: int, delta: Event, leads: bool) -> None:
    """Become leader, or follower, by the newest entries."""
    cursor = delta.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], PublishedPartition)
        row = row_of(world, item.partition, broker)
        hosted = world.hosted[row]
        is_newest = hosted.published_item == cursor
        cursor = item.next
        if not is_newest or (item.leader == _slot(world, row)) != leads:
            continue
        hosted.published_item = NONE
        if not hosted.exists and not host(world, row, item):
            continue
        world.on_disk[row].topic_id = item.topic_id
        partition = world.replicas[row]
        take_min_insync_replicas(world, row, item.min_insync_replicas)
        if skips_older_partition_epoch(world.rules[broker], partition, item.partition_epoch):
            continue
        rows.caused_by(world, item.row_process, item.row_sequence)
        if leads:
            _lead(world, row, item)
        else:
            _follow(world, row, item)


@inner_rule
def _slot(world: Brokers, row: int) -> int:
    return row - world.partitions[world.slots[row].partition].first_slot


@inner_rule
def _lead(world: Brokers, row: int, item: PublishedPartition) -> None:
    partition = world.replicas[row]
    if is_leader(partition) and item.leader_epoch == partition.leader_epoch:
        continue_to_lead(world, row, item)
    else:
        become_leader(world, row, item)


@inner_rule
def _follow(world: Brokers, row: int, item: PublishedPartition) -> None:
    """Follow, unless there is no leader; in the same term the fetcher continues."""
    partition = world.replicas[row]
    restarts = item.leader_epoch != partition.leader_epoch
    if restarts:
        turn_follower(world, row, item)
    else:
        continue_to_follow(world, row, item)
    is_stopping = world.brokers[world.slots[row].broker].stopping
    is_member = contains(item.isr, partition.local_replica)
    if is_stopping and (item.leader == NONE or not is_member):
        remove_from_fetcher(world, row)
    elif restarts:
        remove_from_fetcher(world, row)
        if item.leader != NONE:
            start_to_follow(world, row)
