"""Throttled replication at a broker: what it is told, and whom it holds back.

The rules are in ``replication/replication_quota.py``. A broker has two quotas: one counts what its
leaders send of throttled replicas, the other what its followers get of them.

Simplified: bytes are those of records, without the headers of answers.

Source: BrokerConfigHandler, TopicConfigHandler.updateThrottledList@2.6.0.
"""

from __future__ import annotations

from tidegauge.actors.fetches.fetcher_thread import leave_session
from tidegauge.actors.state.brokers import Brokers, now_ms
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.replica_list import contains
from tidegauge.replication.replication_quota import (
    FOLLOWER_QUOTA,
    LEADER_QUOTA,
    UNLIMITED,
    count_idle_windows,
    forget_samples,
    is_quota_exceeded,
    record_bytes,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.zookeeper_requests import ThrottledReplica, ThrottlesChanged
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import row_of, slot_of
from tidegauge.simulation.trace_rows.broker_rows import ThrottlesApplied


@inner_rule
def take_throttles(world: Brokers, news: ThrottlesChanged) -> None:
    """Apply the rates that ZooKeeper has told, and throttle the replicas that it names."""
    broker = news.destination
    unthrottle_all(world, broker)
    world.quotas[2 * broker + LEADER_QUOTA].bytes_per_second = news.leader_rate
    world.quotas[2 * broker + FOLLOWER_QUOTA].bytes_per_second = news.follower_rate
    written = new_row(world, broker, ThrottlesApplied)
    written.broker = broker
    written.leader_rate_bytes = NONE if news.leader_rate == UNLIMITED else news.leader_rate
    written.follower_rate_bytes = NONE if news.follower_rate == UNLIMITED else news.follower_rate
    written.leader_replicas = 0
    written.follower_replicas = 0
    cursor = news.first_item
    while cursor != NONE:
        item = view_as(world.items[cursor], ThrottledReplica)
        cursor = item.next
        hosted = world.hosted[row_of(world, item.partition, broker)]
        hosted.leader_throttled = item.as_leader
        hosted.follower_throttled = item.as_follower
        if item.as_follower and hosted.fetcher != NONE:
            leave_session(world, world.fetchers[hosted.fetcher])
        world.brokers[broker].throttles = True
        written.leader_replicas += 1 if item.as_leader else 0
        written.follower_replicas += 1 if item.as_follower else 0
    write_row(world, written)


@inner_rule
def unthrottle_all(world: Brokers, broker: int) -> None:
    """No replica of a broker is throttled any more, and it has no limits."""
    world.brokers[broker].throttles = False
    for row in range(len(world.slots)):
        if world.slots[row].broker == broker:
            world.hosted[row].leader_throttled = False
            world.hosted[row].follower_throttled = False
    for which in (LEADER_QUOTA, FOLLOWER_QUOTA):
        world.quotas[2 * broker + which].bytes_per_second = UNLIMITED


@inner_rule
def forget_quotas(world: Brokers, broker: int) -> None:
    """A process that begins knows of no throttle, and has counted nothing."""
    unthrottle_all(world, broker)
    for which in (LEADER_QUOTA, FOLLOWER_QUOTA):
        forget_samples(world.quotas[2 * broker + which])


@inner_rule
def leader_throttles(world: Brokers, row: int, follower: int) -> bool:
    """Whether a leader sends a follower nothing of a replica, for the time being.

    Source: ReplicaManager.shouldLeaderThrottle@2.6.0.
    """
    if not world.hosted[row].leader_throttled:
        return False
    partition = world.hosted[row].partition
    if contains(world.replicas[row].isr, slot_of(world, partition, follower)):
        return False
    quota = world.quotas[2 * world.hosted[row].broker + LEADER_QUOTA]
    time_ms = now_ms(world.context[0])
    count_idle_windows(quota, world.quota_samples, time_ms)
    return is_quota_exceeded(quota, world.quota_samples, time_ms)


@inner_rule
def follower_throttles(world: Brokers, row: int) -> bool:
    """Whether a follower leaves a throttled replica out of its fetch, for the time being.

    Source: ReplicaFetcherThread.shouldFollowerThrottle@2.6.0.
    """
    if world.fetch_states[row].in_sync:
        return False
    quota = world.quotas[2 * world.hosted[row].broker + FOLLOWER_QUOTA]
    return is_quota_exceeded(quota, world.quota_samples, now_ms(world.context[0]))


@inner_rule
def count_sent(world: Brokers, row: int, size_bytes: int) -> None:
    """Count what an answer to a follower brings of a replica, if it is throttled.

    Source: KafkaApis.handleFetchRequest@2.6.0.
    """
    if not world.hosted[row].leader_throttled:
        return
    quota = world.quotas[2 * world.hosted[row].broker + LEADER_QUOTA]
    time_ms = now_ms(world.context[0])
    count_idle_windows(quota, world.quota_samples, time_ms)
    record_bytes(quota, world.quota_samples, size_bytes, time_ms)


@inner_rule
def count_fetched(world: Brokers, row: int, size_bytes: int) -> None:
    """Count what a follower has got of a throttled replica.

    Source: ReplicaFetcherThread.processPartitionData@2.6.0.
    """
    quota = world.quotas[2 * world.hosted[row].broker + FOLLOWER_QUOTA]
    record_bytes(quota, world.quota_samples, size_bytes, now_ms(world.context[0]))
