"""What a delta of the metadata log does to the replicas that a broker hosts.

Replicas that are not there any more are deleted, and those of a topic that was created again under
its name; then the broker becomes leader, then follower. Of a partition only the newest entry of a
delta counts. A fetcher restarts in a new leader epoch only; another ISR or assignment is taken over
in the same term. While it is in controlled shutdown, a broker stops fetching partitions that have
no leader, or do not have it in the ISR.

Source: ReplicaManager.applyDelta, applyLocalLeadersDelta and applyLocalFollowersDelta@4.1.0,
LogManager.isStrayReplica@4.1.0.
"""

from __future__ import annotations

from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher, stop_idle_fetchers
from tidegauge.actors.followers.becoming_follower import (
    continue_to_follow,
    start_to_follow,
    turn_follower,
)
from tidegauge.actors.followers.follower import start_fetchers
from tidegauge.actors.leaders.becoming_leader import become_leader, continue_to_lead
from tidegauge.actors.process.deleted_logs import delete_log
from tidegauge.actors.process.hosting import host
from tidegauge.actors.session.topic_configs import topic_config
from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.controller_requests import skips_older_partition_epoch
from tidegauge.replication.partition import is_leader
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.quorum_requests import PublishedPartition
from tidegauge.simulation.rows import caused_by, new_row, write_row
from tidegauge.simulation.topology import row_of
from tidegauge.simulation.trace_rows.replica_rows import ReplicaStopped

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def apply_delta(world: Brokers, broker: int, delta: Event) -> None:
    """Change the replicas as the entries of a delta say."""
    _find_newest(world, broker, delta)
    _delete(world, broker, delta)
    _change(world, broker, delta, _TRUE)
    _change(world, broker, delta, _FALSE)
    stop_idle_fetchers(world, broker)
    # What one delta gives to a fetcher is fetched together from the start.
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
        caused_by(world, item.row_process, item.row_sequence)
        if hosted.exists:
            stopped = new_row(world, broker, ReplicaStopped)
            stopped.partition = item.partition
            stopped.leader_epoch = item.leader_epoch
            write_row(world, stopped)
        if on_disk.exists and not hosted.offline:
            delete_log(world, row)
        if item.is_removed:
            hosted.published_item = NONE


@inner_rule
def _change(world: Brokers, broker: int, delta: Event, leads: bool) -> None:
    """Become leader, or follower, of what the newest entries say."""
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
        partition.min_insync_replicas = item.min_insync_replicas
        if skips_older_partition_epoch(world.rules[broker], partition, item.partition_epoch):
            continue
        caused_by(world, item.row_process, item.row_sequence)
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
