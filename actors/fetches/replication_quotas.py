"""Throttled replication: the quotas of a broker, and the replicas that they hold back.

The rules are in ``replication/replication_quota.py``. A broker has two quotas: one counts bytes of
throttled replicas that its leaders send, the other those that its followers get.

With ZooKeeper a message has all throttles of a broker. With KRaft a publication of the metadata log
has those that have changed, and they are applied after its replicas have changed.

Simplified: bytes are those of records, without the headers of answers.

Source: BrokerConfigHandler, TopicConfigHandler.updateThrottledList@2.6.0 and @4.1.0,
DynamicConfigPublisher.onMetadataUpdate, BrokerMetadataPublisher.onMetadataUpdate@4.1.0.
"""

from tidegauge.actors.fetches.fetcher_thread import leave_session
from tidegauge.actors.state.brokers import Brokers, now_ms
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import replication_quota
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_requests import PublishedPartition, RaftFetchResponse
from tidegauge.simulation.messages.zookeeper_requests import ThrottledReplica, ThrottlesChanged
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import row_of, slot_of
from tidegauge.simulation.trace_rows.process_rows import ThrottlesApplied


@inner_rule
def take_throttles(world: Brokers, news: ThrottlesChanged) -> None:
    """Apply the rates that ZooKeeper has sent, and throttle the replicas that it names."""
    broker = news.destination
    unthrottle_all(world, broker)
    _limit(world, broker, news.leader_rate, news.follower_rate)
    for item in items_of(world, news, ThrottledReplica):
        row = row_of(world, item.partition, broker)
        _throttle(world, row, item.as_leader, item.as_follower)
    _end_change(world, broker)


@inner_rule
def publish_throttles(world: Brokers, broker: int, delta: RaftFetchResponse) -> None:
    """Apply the rates and the throttled replicas that a delta of the metadata log changes."""
    changes = delta.leader_rate != NONE
    if changes:
        _limit(world, broker, delta.leader_rate, delta.follower_rate)
    for item in items_of(world, delta, PublishedPartition):
        row = row_of(world, item.partition, broker)
        hosted = world.hosted[row]
        if (
            item.leader_throttled != hosted.leader_throttled
            or item.follower_throttled != hosted.follower_throttled
        ):
            changes = True
            _throttle(world, row, item.leader_throttled, item.follower_throttled)
    if changes:
        _end_change(world, broker)


@inner_rule
def _limit(world: Brokers, broker: int, leader_rate: int, follower_rate: int) -> None:
    leader = world.quotas[2 * broker + replication_quota.LEADER_QUOTA]
    leader.bytes_per_second = leader_rate
    follower = world.quotas[2 * broker + replication_quota.FOLLOWER_QUOTA]
    follower.bytes_per_second = follower_rate


@inner_rule
def _throttle(world: Brokers, row: int, as_leader: bool, as_follower: bool) -> None:
    hosted = world.hosted[row]
    hosted.leader_throttled = as_leader
    hosted.follower_throttled = as_follower
    if as_follower and hosted.fetcher != NONE:
        leave_session(world, world.fetchers[hosted.fetcher])


@inner_rule
def _end_change(world: Brokers, broker: int) -> None:
    """Write down the throttles that a broker has now."""
    written = ThrottlesApplied.new(
        world,
        broker=broker,
        leader_rate_bytes=_written_rate(world, broker, replication_quota.LEADER_QUOTA),
        follower_rate_bytes=_written_rate(world, broker, replication_quota.FOLLOWER_QUOTA),
        leader_replicas=0,
        follower_replicas=0,
    )
    for row in range(len(world.slots)):
        if world.slots[row].broker == broker:
            written.leader_replicas += 1 if world.hosted[row].leader_throttled else 0
            written.follower_replicas += 1 if world.hosted[row].follower_throttled else 0
    world.brokers[broker].throttles = written.leader_replicas + written.follower_replicas > 0
    record_row(world, written)


@inner_rule
def _written_rate(world: Brokers, broker: int, which: int) -> int:
    rate = world.quotas[2 * broker + which].bytes_per_second
    return NONE if rate == replication_quota.UNLIMITED else rate


@inner_rule
def unthrottle_all(world: Brokers, broker: int) -> None:
    """No replica of a broker is throttled any more, and it has no limits."""
    world.brokers[broker].throttles = False
    for row in range(len(world.slots)):
        if world.slots[row].broker == broker:
            world.hosted[row].leader_throttled = False
            world.hosted[row].follower_throttled = False
    for which in (replication_quota.LEADER_QUOTA, replication_quota.FOLLOWER_QUOTA):
        world.quotas[2 * broker + which].bytes_per_second = replication_quota.UNLIMITED


@inner_rule
def forget_quotas(world: Brokers, broker: int) -> None:
    """A process that begins has no throttle, and has counted nothing."""
    unthrottle_all(world, broker)
    for which in (replication_quota.LEADER_QUOTA, replication_quota.FOLLOWER_QUOTA):
        replication_quota.forget_samples(world.quotas[2 * broker + which])


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
    quota = world.quotas[2 * world.hosted[row].broker + replication_quota.LEADER_QUOTA]
    time_ms = now_ms(world.context[0])
    replication_quota.count_idle_windows(quota, world.quota_samples, time_ms)
    return replication_quota.is_quota_exceeded(quota, world.quota_samples, time_ms)


@inner_rule
def follower_throttles(world: Brokers, row: int) -> bool:
    """Whether a follower leaves a throttled replica out of its fetch, for the time being.

    Source: ReplicaFetcherThread.shouldFollowerThrottle@2.6.0.
    """
    if world.fetch_states[row].in_sync:
        return False
    quota = world.quotas[2 * world.hosted[row].broker + replication_quota.FOLLOWER_QUOTA]
    return replication_quota.is_quota_exceeded(quota, world.quota_samples, now_ms(world.context[0]))


@inner_rule
def count_sent(world: Brokers, row: int, size_bytes: int) -> None:
    """Count the bytes of a replica in a response to a follower, if it is throttled.

    Source: KafkaApis.handleFetchRequest@2.6.0.
    """
    if not world.hosted[row].leader_throttled:
        return
    quota = world.quotas[2 * world.hosted[row].broker + replication_quota.LEADER_QUOTA]
    time_ms = now_ms(world.context[0])
    replication_quota.count_idle_windows(quota, world.quota_samples, time_ms)
    replication_quota.record_bytes(quota, world.quota_samples, size_bytes, time_ms)


@inner_rule
def count_fetched(world: Brokers, row: int, size_bytes: int) -> None:
    """Count the bytes that a follower has got of a throttled replica.

    Source: ReplicaFetcherThread.processPartitionData@2.6.0.
    """
    quota = world.quotas[2 * world.hosted[row].broker + replication_quota.FOLLOWER_QUOTA]
    replication_quota.record_bytes(quota, world.quota_samples, size_bytes, now_ms(world.context[0]))
