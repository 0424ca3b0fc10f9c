"""Fetches that wait in the purgatory, and the events that complete them (DelayedFetch).

A fetch that waited is read again when it completes, so it brings the high watermark of that
moment. A follower's waits in its session, a consumer's is watched by each of its partitions.
"""

from tidegauge.actors.fetches import producer_connections
from tidegauge.actors.fetches.fetch_read import answer_fetch, read_partition, row_on
from tidegauge.actors.fetches.fetch_sessions import name_active, put_to_rest, touch
from tidegauge.actors.idle_fetches.pairs import becomes_idle
from tidegauge.actors.idle_fetches.stages import is_computed
from tidegauge.actors.state import brokers, replica_records
from tidegauge.actors.state.broker_stats import mark_fetch
from tidegauge.actors.state.brokers import WATCHES
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import mark_delayed, taken_us
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import free_event, free_items, items_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import PartitionData
from tidegauge.simulation.messages.timers import FetchExpires, FollowerFetchExpires
from tidegauge.simulation.rows import REQUEST, cost_us
from tidegauge.simulation.topology import row_of

_TRUE = code(True)


@inner_rule
def fetch_is_complete(world: brokers.Brokers, request: client_requests.FetchRequest) -> bool:
    """Read all partitions of a fetch again; whether it must be answered now.

    Source: DelayedFetch.tryComplete@2.4.0.
    """
    name_partitions(world, request)
    return read_all(world, request)


@inner_rule
def name_partitions(world: brokers.Brokers, request: client_requests.FetchRequest) -> None:
    """Have a fetch name the partitions to read: a consumer's own, the active ones of a session."""
    if request.replica_id != NONE:
        name_active(world, request)
        return
    for item in items_of(world, request, client_requests.FetchPartition):
        item.row = row_on(world, request.destination, item.partition)


@inner_rule
def read_all(world: brokers.Brokers, request: client_requests.FetchRequest) -> bool:
    """Read the partitions that a fetch names; whether it must be answered now.

    Resting partitions of a follower have no records to read.

    Source: ReplicaManager.fetchMessages@0.10.2.0, @2.7.0.
    """
    budget_bytes = request.max_bytes
    request.is_cut = False
    complete = request.item_count == 0
    if request.replica_id != NONE:
        complete = world.fetch_sessions[request.fetcher].partition_count == 0
    for item in items_of(world, request, client_requests.FetchPartition):
        budget_bytes -= read_partition(world, request, item, budget_bytes)
        if (
            item.error != errors.NONE
            or item.diverging_end_offset != UNDEFINED
            or _is_sent_elsewhere(world, request, item)
            or (request.replica_id != NONE and _brings_newer(world, request, item))
        ):
            complete = True
    return complete or request.max_bytes - budget_bytes >= request.min_bytes


@inner_rule
def _brings_newer(
    world: brokers.Brokers,
    request: client_requests.FetchRequest,
    item: client_requests.FetchPartition,
) -> bool:
    """Note that a partition was read; whether its high watermark alone is worth a response."""
    told = world.follower_fetches[item.place]
    told.unread = False
    return (
        world.rules[request.destination].fetch_answers_newer_high_watermark
        and item.high_watermark > told.last_sent_high_watermark
    )


@inner_rule
def _is_sent_elsewhere(
    world: brokers.Brokers,
    request: client_requests.FetchRequest,
    item: client_requests.FetchPartition,
) -> bool:
    """Whether a response sends a consumer to another replica at once."""
    return (
        item.preferred_read_replica != NONE
        and world.rules[request.destination].preferred_read_replica_answered_at_once
    )


@inner_rule
def delay_fetch(world: brokers.Brokers, request: client_requests.FetchRequest) -> None:
    """Let a fetch wait in the purgatory: a follower's in its session, a consumer's watched."""
    request.taken_us = taken_us(world, request)
    request.handled_us = world.context[0].time_us + request.cost_us
    if request.replica_id != NONE:
        session = world.fetch_sessions[request.fetcher]
        session.waiting = request.index
        # Each check of it names its partitions again: others use the slots until then, which are
        # still in the cache.
        free_items(world, request)
        request.deadline_us = world.context[0].time_us + request.max_wait_ms * 1000
        _take_cause(world, request)
        put_to_rest(world, session)
        is_calm = (
            session.expiry_us == 0 and session.first_active == NONE and not session.has_traffic
        )
        if is_calm and world.context[0].computes_idle and becomes_idle(world, request):
            return
        if session.expiry_us == 0:
            _look_at_expiry(world, session, request)
        return
    for item in items_of(world, request, PartitionData):
        row = row_on(world, request.destination, item.partition)
        producer_connections.watch(world, world.delayed_fetches[row], request.index, NONE)
    producer_connections.expire_later(world, request)


@inner_rule
def _take_cause(world: Kernel, request: client_requests.FetchRequest) -> None:
    """If a fetch expires, its response has the cause of the timer that is set now."""
    request.cause_process = world.context[0].cause_process
    request.cause_sequence = world.context[0].cause_sequence


@inner_rule
def complete_fetch(world: brokers.Brokers, request: client_requests.FetchRequest) -> None:
    """Send the response of a fetch that waited; its records were just read."""
    cursor = request.first_item
    if request.replica_id != NONE:
        world.fetch_sessions[request.fetcher].waiting = NONE
        cursor = NONE
    while cursor != NONE:
        item = view_as(world.items[cursor], client_requests.FetchPartition)
        # It was read just now, if it is still there.
        row = item.row
        if row == NONE:
            row = row_of(world, item.partition, request.destination)
        producer_connections.unwatch(world, world.delayed_fetches[row], request.index)
        cursor = item.next
    mark_fetch(world, request)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    answer_fetch(world, request, _TRUE)
    mark_delayed(world, request, request.taken_us, request.handled_us)
    free_event(world, request)


@inner_rule
def wake_fetches(world: brokers.Brokers, row: int) -> None:
    """Complete the fetches that wait for this replica and can be.

    Source: DelayedOperationPurgatory.checkAndComplete@2.4.0.
    """
    touch(world, row)
    width = world.sizes[0].width
    for index in range(row * width, (row + 1) * width):
        if world.follower_fetches[index].in_session:
            session = world.fetch_sessions[world.follower_fetches[index].fetcher]
            if session.waiting != NONE:
                request = view_as(world.events[session.waiting], client_requests.FetchRequest)
                if fetch_is_complete(world, request):
                    complete_fetch(world, request)
    wake_consumers(world, row)


@inner_rule
def wake_consumers(world: brokers.Brokers, row: int) -> None:
    """Complete the fetches of consumers that wait for this replica and can be.

    Source: ReplicaFetcherThread.completeDelayedFetchRequests@3.4.0 of a follower's.
    """
    for index in WATCHES.of(world, world.delayed_fetches[row]):
        waiting = world.watches[index]
        request = view_as(world.events[waiting.event], client_requests.FetchRequest)
        if fetch_is_complete(world, request):
            complete_fetch(world, request)


@BROKER.handles(FetchExpires)
@inner_rule
def handle_fetch_expires(world: brokers.Brokers, timer: FetchExpires) -> None:
    """Answer a consumer's fetch that has waited fetch.max.wait.ms.

    Source: DelayedFetch.onComplete@2.4.0 after forceComplete.
    """
    if producer_connections.still_waits(world, timer):
        request = view_as(world.events[timer.request_index], client_requests.FetchRequest)
        fetch_is_complete(world, request)
        complete_fetch(world, request)


@inner_rule
def _look_at_expiry(
    world: Kernel, session: replica_records.FetchSession, request: client_requests.FetchRequest
) -> None:
    # One timer for a session, not one for each fetch: nearly all are answered before.
    session.expiry_us = request.deadline_us
    FollowerFetchExpires.at(world, request.deadline_us, request)


@BROKER.handles(FollowerFetchExpires)
@inner_rule
def handle_follower_fetch_expires(world: brokers.Brokers, timer: FollowerFetchExpires) -> None:
    """Answer a follower's fetch that has waited replica.fetch.wait.max.ms.

    Source: DelayedFetch.onComplete@2.4.0 after forceComplete.
    """
    session = world.fetch_sessions[timer.fetcher]
    session.expiry_us = 0
    if session.waiting == NONE:
        if is_computed(world, timer.fetcher):
            # It was set before, and its event is counted with the others.
            world.context[0].handled -= 1
            world.kind_counts[timer.kind].handled -= 1
        return
    request = view_as(world.events[session.waiting], client_requests.FetchRequest)
    if world.context[0].time_us < request.deadline_us:
        _look_at_expiry(world, session, request)
        _take_cause(world, request)
        return
    fetch_is_complete(world, request)
    complete_fetch(world, request)
