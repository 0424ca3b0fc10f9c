"""A fetcher thread's own affairs: its partitions, its one request, its back-offs.

Source: ``AbstractFetcherManager`` and ``AbstractFetcherThread`` @2.4.0.

Throttled replication: the quotas of a broker, and the partitions that a fetch leaves out for them.
The rules are in ``replication/replication_quota.py``. A broker has two quotas: one counts bytes of
throttled replicas that its leaders send, the other those that its followers get.

Simplified: bytes are those of records, without the headers of answers.

Source: BrokerConfigHandler, TopicConfigHandler.updateThrottledList@2.6.0.
"""

from tidegauge.actors.idle_fetches.pairs import wake_pair
from tidegauge.actors.state.brokers import FETCHED, MOVED, Brokers, now_ms
from tidegauge.actors.state.replica_records import Fetcher
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import replication_quota
from tidegauge.replication.fetcher import NOT_FETCHED
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import FetcherRequest, FetcherResponse
from tidegauge.simulation.messages.timers import FetcherTimeout, FetcherWakes
from tidegauge.simulation.messages.zookeeper_requests import ThrottledReplica, ThrottlesChanged
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import row_of, slot_of
from tidegauge.simulation.trace_rows.process_rows import ThrottlesApplied
from tidegauge.simulation.trace_rows.replica_rows import PartitionFailed


@inner_rule
def fetcher_for(world: Brokers, row: int, source_broker: int) -> int:
    """The fetcher of a replica: by its source broker and the hash of its name.

    Source: AbstractFetcherManager.getFetcherId@0.10.2.0 and @2.8.0.
    """
    hosted = world.hosted[row]
    count = world.brokers[hosted.broker].num_replica_fetchers
    room = world.pools[0].fetchers_of_source
    pair = hosted.broker * world.sizes[0].brokers + source_broker
    return pair * room + world.partitions[hosted.partition].fetcher_hash % count


@inner_rule
def add_to_fetcher(world: Brokers, row: int, index: int) -> None:
    """Put a replica behind the others of a fetcher."""
    fetcher = world.fetchers[index]
    leave_session(world, fetcher)
    hosted = world.hosted[row]
    hosted.fetcher = index
    hosted.fetcher_lag = UNDEFINED
    FETCHED.append(world, fetcher, row)
    fetcher.row_count += 1


@inner_rule
def fetch_others_first(world: Brokers, fetcher: Fetcher, row: int) -> None:
    """Have the next request begin behind the last replica of which a response brought records.

    In Kafka each of those moves to the end; that matters only without a session, and if the limit
    of a response cuts some off (KIP-74).

    Source: AbstractFetcherThread.processFetchRequest@0.10.2.0, PartitionStates.updateAndMoveToEnd.
    """
    following = world.hosted[row].next_in_fetcher
    if following == NONE:
        return
    world.hosted[fetcher.last_row].next_in_fetcher = fetcher.first_row
    fetcher.first_row = following
    fetcher.last_row = row
    world.hosted[row].next_in_fetcher = NONE


@inner_rule
def remove_from_fetcher(world: Brokers, row: int) -> None:
    """Take a replica out of its fetcher, if it is in one.

    Source: AbstractFetcherManager.removeFetcherForPartitions@2.4.0.
    """
    hosted = world.hosted[row]
    if hosted.fetcher == NONE:
        return
    fetcher = world.fetchers[hosted.fetcher]
    leave_session(world, fetcher)
    FETCHED.remove(world, fetcher, row)
    fetcher.row_count -= 1
    hosted.fetcher = NONE
    world.fetch_states[row].state = NOT_FETCHED


@inner_rule
def stop_fetcher(world: Brokers, index: int) -> None:
    """A fetcher thread ends, and with it its connection: no response is awaited.

    Source: AbstractFetcherManager.shutdownIdleFetcherThreads@0.10.2.0 and @2.4.0.
    """
    fetcher = world.fetchers[index]
    leave_session(world, fetcher)
    fetcher.in_flight = 0
    fetcher.looking_up = NONE
    fetcher.asleep_until_us = 0


@inner_rule
def note_move(world: Brokers, row: int) -> None:
    """A replica's fetch offset has moved: the next request of the session names it."""
    hosted = world.hosted[row]
    fetcher = world.fetchers[hosted.fetcher]
    if not fetcher.in_session or hosted.moved:
        return
    wake_pair(world, fetcher.broker, fetcher.source_broker)
    hosted.moved = True
    MOVED.append(world, fetcher, row)


@inner_rule
def forget_moves(world: Brokers, fetcher: Fetcher) -> None:
    """Clear the list of those that have moved."""
    while fetcher.first_moved != NONE:
        world.hosted[MOVED.take_first(world, fetcher)].moved = False


@inner_rule
def leave_session(world: Brokers, fetcher: Fetcher) -> None:
    """A fetcher's partitions change: its next request names all of it."""
    if fetcher.in_session:
        wake_pair(world, fetcher.broker, fetcher.source_broker)
    fetcher.in_session = False
    forget_moves(world, fetcher)


@inner_rule
def stop_idle_fetchers(world: Brokers, broker: int) -> None:
    """End the fetcher threads of a broker that have nothing to fetch."""
    room = len(world.fetchers) // world.sizes[0].brokers
    for index in range(broker * room, (broker + 1) * room):
        if world.fetchers[index].row_count == 0:
            stop_fetcher(world, index)


@inner_rule
def send_as_fetcher(world: Brokers, index: int, request: FetcherRequest, departure_us: int) -> None:
    """Send a fetcher's one request, and give it replica.socket.timeout.ms."""
    fetcher = world.fetchers[index]
    # The draws of a link are numbered: those of the pair's idle fetches come first.
    wake_pair(world, fetcher.broker, fetcher.source_broker)
    fetcher.requests += 1
    fetcher.in_flight = fetcher.requests
    request.correlation_id = fetcher.requests
    request.fetcher = index
    timeout_us = world.brokers[fetcher.broker].replica_socket_timeout_ms * 1000
    fetcher.deadline_us = departure_us + timeout_us
    if not fetcher.deadline_timer:
        watch_deadline(world, fetcher, index)
    send(world, request, departure_us)


@inner_rule
def watch_deadline(world: Kernel, fetcher: Fetcher, index: int) -> None:
    """Check the request in flight when its timeout is over."""
    # One timer for all requests of a fetcher, not one each: most are answered long before.
    fetcher.deadline_timer = True
    FetcherTimeout.at(world, fetcher.deadline_us, fetcher=index)


@inner_rule
def set_delay(world: Brokers, row: int) -> None:
    """A partition was delayed by a rule: note until when, and wake its fetcher then."""
    hosted = world.hosted[row]
    backoff_us = world.brokers[hosted.broker].replica_fetch_backoff_ms * 1000
    leave_session(world, world.fetchers[hosted.fetcher])
    hosted.delayed_until_us = world.context[0].time_us + backoff_us
    wake_fetcher_at(world, hosted.fetcher, hosted.delayed_until_us)


@inner_rule
def wake_fetcher_at(world: Brokers, index: int, time_us: int) -> None:
    """Have a fetcher look for work at ``time_us``, unless it does so before."""
    fetcher = world.fetchers[index]
    if fetcher.wake_timer:
        return
    fetcher.wake_timer = True
    FetcherWakes.at(world, time_us, fetcher=index)


@inner_rule
def take_response(world: Brokers, response: FetcherResponse) -> bool:
    """Whether a response is the one that its fetcher waits for; it waits no longer then."""
    fetcher = world.fetchers[response.fetcher]
    if fetcher.in_flight != response.correlation_id:
        return False
    fetcher.in_flight = 0
    return True


@inner_rule
def replica_of_response(world: Brokers, response: FetcherResponse, partition: int) -> int:
    """The replica that an entry of a response is about; NONE if its fetcher has it no more."""
    row = row_of(world, partition, response.destination)
    return row if world.hosted[row].fetcher == response.fetcher else NONE


@inner_rule
def after_error(world: Brokers, row: int) -> None:
    """A partition was delayed, or given up until the next LeaderAndIsr."""
    if world.fetch_states[row].delayed:
        set_delay(world, row)
        return
    PartitionFailed.write(world, world.hosted[row], leader_epoch=world.replicas[row].leader_epoch)
    remove_from_fetcher(world, row)


@inner_rule
def take_throttles(world: Brokers, news: ThrottlesChanged) -> None:
    """Apply the rates that ZooKeeper has sent, and throttle the replicas that it names."""
    broker = news.destination
    unthrottle_all(world, broker)
    world.quotas[2 * broker + replication_quota.LEADER_QUOTA].bytes_per_second = news.leader_rate
    world.quotas[
        2 * broker + replication_quota.FOLLOWER_QUOTA
    ].bytes_per_second = news.follower_rate
    written = ThrottlesApplied.new(
        world,
        broker=broker,
        leader_rate_bytes=NONE
        if news.leader_rate == replication_quota.UNLIMITED
        else news.leader_rate,
        follower_rate_bytes=NONE
        if news.follower_rate == replication_quota.UNLIMITED
        else news.follower_rate,
        leader_replicas=0,
        follower_replicas=0,
    )
    for item in items_of(world, news, ThrottledReplica):
        hosted = world.hosted[row_of(world, item.partition, broker)]
        hosted.leader_throttled = item.as_leader
        hosted.follower_throttled = item.as_follower
        if item.as_follower and hosted.fetcher != NONE:
            leave_session(world, world.fetchers[hosted.fetcher])
        world.brokers[broker].throttles = True
        written.leader_replicas += 1 if item.as_leader else 0
        written.follower_replicas += 1 if item.as_follower else 0
    record_row(world, written)


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
