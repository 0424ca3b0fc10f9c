"""Produce requests that wait in the purgatory for the ISR, and their end (DelayedProduce).

A produce gets its response once every replica that counts has its records, or once that has become
impossible.
"""

from tidegauge.actors.fetches import producer_connections
from tidegauge.actors.fetches.produce_response import answer_produce
from tidegauge.actors.state import brokers
from tidegauge.actors.state.brokers import LOGS, WATCHES
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import mark_delayed, taken_us
from tidegauge.compiled.prefetching import prefetch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import check_enough_replicas_reach_offset
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.events import ITEMS, free_event, items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.timers import ProduceExpires
from tidegauge.simulation.rows import REQUEST, cost_us
from tidegauge.simulation.topology import row_of


@inner_rule
def _is_acknowledged(
    world: brokers.Brokers, row: int, append: client_requests.PartitionAppend
) -> bool:
    """Whether an acks=all append is to be answered, with ``append.error``.

    Source: DelayedProduce.tryComplete@2.4.0.
    """
    partition = world.replicas[row]
    if not is_leader(partition):
        append.error = errors.NOT_LEADER_OR_FOLLOWER
        return True
    done, error = check_enough_replicas_reach_offset(
        world.rules[world.hosted[row].broker], partition, append.offset + append.record_count
    )
    append.error = error
    return done


@inner_rule
def delay_produce(world: brokers.Brokers, request: client_requests.AppendRequest) -> bool:
    """Let an acks=all request wait in the purgatory; False if all its partitions are done.

    Source: DelayedOperationPurgatory.tryCompleteElseWatch@2.4.0.
    """
    if request.kind == client_requests.ProduceRequest.KIND:
        for entry in ITEMS.of(world, request):
            item = view_as(world.items[entry], client_requests.ProducedBatch)
            _watch_append(world, request, item.partition, item.append, entry)
    else:
        single = view_as(request, client_requests.GroupAppendRequest)
        _watch_append(world, request, single.partition, single.append, NONE)
    if request.awaited == 0:
        return False
    request.taken_us = taken_us(world, request)
    request.handled_us = world.context[0].time_us + request.cost_us
    request.deadline_us = world.context[0].time_us + request.timeout_ms * 1000
    _expire_produces_at(world, request.destination, request.deadline_us)
    return True


@inner_rule
def _watch_append(
    world: brokers.Brokers,
    request: client_requests.AppendRequest,
    partition: int,
    append: client_requests.PartitionAppend,
    entry: int,
) -> None:
    """Let a request wait for one of its partitions, unless that has failed or is done."""
    if append.error != errors.NONE:
        return
    row = row_of(world, partition, request.destination)
    if not _is_acknowledged(world, row, append):
        append.waits = True
        request.awaited += 1
        producer_connections.watch(world, world.delayed_produces[row], request.index, entry)


@inner_rule
def _expire_produces_at(world: brokers.Brokers, broker: int, time_us: int) -> None:
    # One timer for a broker's produces, not one each: nearly all are answered long before.
    state = world.brokers[broker]
    if 0 < state.produces_expire_us <= time_us:
        return
    state.produces_expire_us = time_us
    ProduceExpires.at(world, time_us)


@inner_rule
def load_waiting_produce(world: brokers.Brokers, row: int) -> None:
    """Have the processor load the produce that waits for a replica first: it may be complete."""
    first = world.delayed_produces[row].first
    if first != NONE:
        prefetch(world.events, world.watches[first].event, 1)
        prefetch(world.items, world.watches[first].entry, 1)


@inner_rule
def wake_produces(world: brokers.Brokers, row: int) -> None:
    """Complete the produces that wait for this replica and can be.

    Source: DelayedOperationPurgatory.checkAndComplete@2.4.0.
    """
    for index in WATCHES.of(world, world.delayed_produces[row]):
        waiting = world.watches[index]
        request = view_as(world.events[waiting.event], client_requests.AppendRequest)
        append = _append_of(world, request, waiting.entry)
        if _is_acknowledged(world, row, append):
            _await_no_more(world, row, request, append)
            if request.awaited == 0:
                _complete_produce(world, request)


@inner_rule
def _append_of(
    world: brokers.Brokers, request: client_requests.AppendRequest, entry: int
) -> client_requests.PartitionAppend:
    """The append of a request that a watch is about."""
    if entry == NONE:
        return view_as(request, client_requests.GroupAppendRequest).append
    return view_as(world.items[entry], client_requests.ProducedBatch).append


@inner_rule
def _await_no_more(
    world: brokers.Brokers,
    row: int,
    request: client_requests.AppendRequest,
    append: client_requests.PartitionAppend,
) -> None:
    append.waits = False
    request.awaited -= 1
    producer_connections.unwatch(world, world.delayed_produces[row], request.index)


@inner_rule
def _complete_produce(world: brokers.Brokers, request: client_requests.AppendRequest) -> None:
    """Answer a produce that waited, not before its append has ended."""
    answer_us = world.context[0].time_us + cost_us(world, request.destination, REQUEST)
    request.cost_us = max(request.handled_us, answer_us) - world.context[0].time_us
    answer_produce(world, request)
    mark_delayed(world, request, request.taken_us, request.handled_us)
    free_event(world, request)


@BROKER.handles(ProduceExpires)
@inner_rule
def handle_produce_expires(world: brokers.Brokers, timer: ProduceExpires) -> None:
    """Answer REQUEST_TIMED_OUT where the time is up; the records stay in the log.

    Source: DelayedProduce.onExpiration@2.4.0.
    """
    state = world.brokers[timer.destination]
    now_us = world.context[0].time_us
    if now_us < state.produces_expire_us:
        return
    state.produces_expire_us = 0
    next_us = 0
    expired = 0
    for row in LOGS.of(world, state):
        for index in WATCHES.of(world, world.delayed_produces[row]):
            request = view_as(
                world.events[world.watches[index].event], client_requests.AppendRequest
            )
            if request.deadline_us <= now_us and expired < brokers.MOST_EXPIRED:
                expired += max(1, request.item_count)
                _expire_produce(world, request)
            elif next_us == 0 or request.deadline_us < next_us:
                next_us = request.deadline_us
    if next_us > 0:
        _expire_produces_at(world, timer.destination, max(next_us, now_us + 1))


@inner_rule
def _expire_produce(world: brokers.Brokers, request: client_requests.AppendRequest) -> None:
    """Answer a produce with REQUEST_TIMED_OUT for those partitions that it still waits for."""
    if request.kind == client_requests.ProduceRequest.KIND:
        for item in items_of(world, request, client_requests.ProducedBatch):
            _expire_append(world, request, item.partition, item.append)
    else:
        single = view_as(request, client_requests.GroupAppendRequest)
        _expire_append(world, request, single.partition, single.append)
    _complete_produce(world, request)


@inner_rule
def _expire_append(
    world: brokers.Brokers,
    request: client_requests.AppendRequest,
    partition: int,
    append: client_requests.PartitionAppend,
) -> None:
    if append.waits:
        append.error = errors.REQUEST_TIMED_OUT
        row = row_of(world, partition, request.destination)
        _await_no_more(world, row, request, append)
