"""A fetcher thread's own affairs: its partitions, its one request, its back-offs.

Source: ``AbstractFetcherManager`` and ``AbstractFetcherThread`` @2.4.0.
"""

from tidegauge.actors.idle_fetches.pairs import wake_pair
from tidegauge.actors.state.brokers import FETCHED, MOVED, Brokers
from tidegauge.actors.state.replica_records import Fetcher
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.fetcher import NOT_FETCHED
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import FetcherRequest, FetcherResponse
from tidegauge.simulation.messages.timers import FetcherTimeout, FetcherWakes
from tidegauge.simulation.topology import row_of
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
