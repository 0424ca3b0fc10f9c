"""Fetch sessions: a leader's record of each fetcher, so that a fetch costs only its changes.

A fetcher names all of its partitions once; from then on its requests name only those whose
fetch offset has moved, and the leader looks only at those that are *active*. A partition rests
once its follower is in the ISR and has all that there is, high watermark included. A change on the
leader's side makes it active again (:func:`touch`), and so does a request that
names it.

A resting follower's fetch at the log end is kept once for its session (``fetched_ms``), and copied
to the follower's own record when that is read or changes (:func:`settle`).

When a partition joins or leaves a fetcher, or is delayed, the fetcher begins a new session.
Kafka would name the partition in the old one, which comes to the same.

Source: KIP-227; ``FetchManager``, ``FetchSession`` and ``FetchSessionHandler`` @1.1.0.
"""

from tidegauge.actors.idle_fetches.pairs import wake_fetcher
from tidegauge.actors.idle_fetches.stages import catch_up_fetcher
from tidegauge.actors.state.broker_stats import mark_left
from tidegauge.actors.state.brokers import ACTIVE, IN_SESSION, Brokers, note_change
from tidegauge.actors.state.replica_records import FetchSession, FollowerFetch
from tidegauge.compiled.prefetching import prefetch
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import free_event, free_items, items_of, new_item
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import FetchPartition, FetchRequest
from tidegauge.simulation.topology import Topology, row_of, slot_of

#: A fetch that has brought records, so soon after another one, makes no pair of brokers idle: it
#: would be woken by the next records, and costs more than the events that it saves.
_TRAFFIC_US = code(200_000)


@inner_rule
def update_session(world: Brokers, request: FetchRequest) -> None:
    """Apply a follower's request: all of its partitions, or the changed ones.

    Source: FetchManager.newContext@1.1.0, FetchSession.update@1.1.0.
    """
    session = world.fetch_sessions[request.fetcher]
    if session.waiting != NONE:
        # The follower has given that one up, and asks again on another connection.
        free_event(world, world.events[session.waiting])
        session.waiting = NONE
    if request.is_full:
        end_session(world, session)
    _note_traffic(session, request, world.context[0].time_us)
    _take_broker_epoch(world, session, request.replica_epoch)
    for item in items_of(world, request, FetchPartition):
        index = place_of_fetch(world, item.partition, request)
        told = world.follower_fetches[index]
        if not told.in_session:
            _join(world, session, request.fetcher, index)
        told.topic_id = item.topic_id
        told.fetch_offset = item.fetch_offset
        told.leader_epoch = item.leader_epoch
        told.last_fetched_epoch = item.last_fetched_epoch
        told.broker_epoch = request.replica_epoch
        if not told.active:
            _activate(world, session, index)
        told.unread = True
    free_items(world, request)


@inner_rule
def _take_broker_epoch(world: Brokers, session: FetchSession, broker_epoch: int) -> None:
    """A follower fetches all partitions of its session under another broker epoch.

    It has registered meanwhile. Source: Replica.updateFetchStateOrThrow@3.7.0.
    """
    if session.replica_epoch != broker_epoch:
        session.replica_epoch = broker_epoch
        for index in IN_SESSION.of(world, session):
            world.follower_fetches[index].broker_epoch = broker_epoch


@inner_rule
def _note_traffic(session: FetchSession, request: FetchRequest, now_us: int) -> None:
    """Note whether the followers of a session get records again and again."""
    session.has_traffic = False
    if request.item_count > 0 and not request.is_full:
        session.has_traffic = now_us - session.named_us < _TRAFFIC_US
        session.named_us = now_us


@inner_rule
def place_of_fetch(world: Topology, partition: int, request: FetchRequest) -> int:
    """The place in ``Brokers.follower_fetches`` of the leader's record of a follower's request."""
    row = row_of(world, partition, request.destination)
    return row * world.sizes[0].width + slot_of(world, partition, request.replica_id)


@inner_rule
def _join(world: Brokers, session: FetchSession, fetcher: int, index: int) -> None:
    """One more partition: no answer of this session has named it yet."""
    told = world.follower_fetches[index]
    told.in_session = True
    told.active = False
    told.fetcher = fetcher
    told.session_high_watermark = UNDEFINED
    told.session_log_start_offset = UNDEFINED
    told.reads_before = session.reads
    IN_SESSION.insert(world, session, NONE, index)
    session.partition_count += 1


@inner_rule
def end_session(world: Brokers, session: FetchSession) -> None:
    """Forget the partitions of a session; its facts about their followers are kept."""
    while session.first != NONE:
        index = IN_SESSION.take_first(world, session)
        told = world.follower_fetches[index]
        if not told.active:
            _settle(world, session, index)
        mark_left(world, session, index)
        told.in_session = False
        told.active = False
    session.partition_count = 0
    session.first_active = NONE
    session.last_active = NONE


@inner_rule
def forget_sessions(world: Brokers, broker: int) -> None:
    """A broker's process ends: its sessions are over."""
    count = world.sizes[0].brokers
    room = world.pools[0].fetchers_of_source
    for follower in range(count):
        first = (follower * count + broker) * room
        for index in range(first, first + room):
            end_session(world, world.fetch_sessions[index])
            world.fetch_sessions[index].waiting = NONE
            world.fetch_sessions[index].expiry_us = 0


@inner_rule
def _activate(world: Brokers, session: FetchSession, index: int) -> None:
    told = world.follower_fetches[index]
    told.active = True
    ACTIVE.append(world, session, index)


@inner_rule
def _settle(world: Brokers, session: FetchSession, index: int) -> None:
    """Update a resting follower's record by the last fetch, which was at the log end.

    The result is that of Replica.updateFetchState@2.4.0 at each fetch since it rests.
    """
    follower = world.followers[index]
    follower.last_fetch_time_ms = session.fetched_ms
    follower.last_caught_up_time_ms = max(follower.last_caught_up_time_ms, session.fetched_ms)


@inner_rule
def settle(world: Brokers, row: int) -> None:
    """Update the leader's views of a partition's followers, before they are read."""
    width = world.sizes[0].width
    for index in range(row * width, (row + 1) * width):
        told = world.follower_fetches[index]
        if told.in_session and not told.active:
            catch_up_fetcher(world, told.fetcher)
            _settle(world, world.fetch_sessions[told.fetcher], index)


@inner_rule
def touch(world: Brokers, row: int) -> None:
    """A partition changes, or is about to: the next check of its followers' fetches reads it.

    Called before the leader's views of the followers are changed otherwise.
    """
    note_change(world, row)
    width = world.sizes[0].width
    for index in range(row * width, (row + 1) * width):
        told = world.follower_fetches[index]
        if told.in_session:
            told.unread = True
            if not told.active:
                wake_fetcher(world, told.fetcher)
                session = world.fetch_sessions[told.fetcher]
                _settle(world, session, index)
                _activate(world, session, index)


@inner_rule
def was_touched(world: Brokers, session: FetchSession) -> bool:
    """Whether a partition of a session has changed since it was read last."""
    touched = False
    for index in ACTIVE.of(world, session):
        touched = touched or world.follower_fetches[index].unread
    return touched


@inner_rule
def load_waiting_fetches(world: Brokers, row: int) -> None:
    """Have the processor load the fetches that wait for a partition: it is about to change."""
    width = world.sizes[0].width
    for index in range(row * width, (row + 1) * width):
        if world.follower_fetches[index].in_session:
            session = world.fetch_sessions[world.follower_fetches[index].fetcher]
            prefetch(world.events, session.waiting, 1)


@inner_rule
def name_active(world: Brokers, request: FetchRequest) -> None:
    """Have the request name the active partitions of its session, as they were last asked for."""
    free_items(world, request)
    width = world.sizes[0].width
    for index in ACTIVE.of(world, world.fetch_sessions[request.fetcher]):
        row = index // width
        hosted = world.hosted[row]
        new_item(
            world,
            request,
            hosted.partition,
            FetchPartition,
            world.follower_fetches[index],
            row=row if hosted.exists else NONE,
            place=index,
        )


@inner_rule
def let_others_come_first(world: Brokers, session: FetchSession, last_sent: int) -> None:
    """Have the next fetch begin behind the last partition of which a full response brought records.

    In Kafka each partition that a response names moves to the end; that matters only if the limit
    of a response cuts some off.

    Source: FetchSession.PartitionIterator@1.1.0 (KIP-227).
    """
    told = world.follower_fetches[last_sent]
    if not told.active or told.next_active == NONE:
        return
    world.follower_fetches[session.last_active].next_active = session.first_active
    session.first_active = told.next_active
    session.last_active = last_sent
    told.next_active = NONE


@inner_rule
def put_to_rest(world: Brokers, session: FetchSession) -> None:
    """Let the partitions rest whose next fetch would bring nothing new."""
    width = world.sizes[0].width
    previous = NONE
    index = session.first_active
    while index != NONE:
        told = world.follower_fetches[index]
        following = told.next_active
        if _may_rest(world, told, index // width, index):
            told.active = False
            if previous == NONE:
                session.first_active = following
            else:
                world.follower_fetches[previous].next_active = following
        else:
            previous = index
        index = following
    session.last_active = previous


@inner_rule
def _may_rest(world: Brokers, told: FollowerFetch, row: int, index: int) -> bool:
    """Whether leader and follower have the same, know it, and the ISR has the follower."""
    partition = world.replicas[row]
    end_offset = partition.log_end_offset
    return (
        not told.unread
        and told.fetch_offset == end_offset
        and partition.high_watermark == end_offset
        and told.session_high_watermark == end_offset
        and told.last_sent_high_watermark == end_offset
        and told.session_log_start_offset == partition.log_start_offset
        and world.followers[index].log_end_offset == end_offset
        and is_leader(partition)
        and not world.hosted[row].locked
        and contains(partition.isr, index - partition.first_follower)
    )
