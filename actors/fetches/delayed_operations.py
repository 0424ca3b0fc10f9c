"""Completing what waits in the purgatories: DelayedFetch and DelayedProduce.

A fetch that waited is read again when it completes, so it brings the high watermark of that
moment. A produce is answered once every replica that counts has its records, or once it
can no longer be.
"""

from tidegauge.actors.fetches import producer_connections
from tidegauge.actors.fetches.fetch_read import answer_fetch, read_partition, row_on
from tidegauge.actors.fetches.fetch_sessions import name_active, place_of_fetch, put_to_rest, touch
from tidegauge.actors.state import brokers
from tidegauge.actors.state.broker_stats import mark_fetch
from tidegauge.actors.state.brokers import LOGS, WATCHES
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import (
    mark_error,
    mark_request,
    taken_us,
    type_of_request,
)
from tidegauge.actors.storage.group_offsets import answer_group_append
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import ACKS_ALL, check_enough_replicas_reach_offset
from tidegauge.replication.leader_epoch_cache import entry_for_offset
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import EMPTY, UNDEFINED, first, rest
from tidegauge.simulation.events import (
    free_event,
    items_of,
    move_items,
    new_response,
)
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event, PartitionData
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.simulation.messages.timers import FetchExpires, FollowerFetchExpires, ProduceExpires
from tidegauge.simulation.rows import REQUEST, cost_us, record_row, traces_all
from tidegauge.simulation.topology import broker_of, row_of
from tidegauge.simulation.trace_rows.codes import REASON_TERM
from tidegauge.simulation.trace_rows.detail_rows import ProduceAnswered
from tidegauge.simulation.trace_rows.process_rows import RequestRefused
from tidegauge.simulation.trace_rows.replica_rows import Acknowledged

_TRUE = code(True)


@inner_rule
def fetch_is_complete(world: brokers.Brokers, request: client_requests.FetchRequest) -> bool:
    """Read all partitions of a fetch anew; whether it has to be answered now.

    Of a follower's partitions those that rest have nothing to be read.

    Source: DelayedFetch.tryComplete@2.4.0; ReplicaManager.fetchMessages@0.10.2.0, @2.7.0.
    """
    budget_bytes = request.max_bytes
    request.is_cut = False
    complete = request.item_count == 0
    if request.replica_id != NONE:
        name_active(world, request)
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
    """Note that a partition was read; whether its high watermark alone is worth an answer."""
    told = world.follower_fetches[place_of_fetch(world, item.partition, request)]
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
        request.deadline_us = world.context[0].time_us + request.max_wait_ms * 1000
        put_to_rest(world, session)
        if not session.expiry_timer:
            _look_at_expiry(world, session, request)
        return
    for item in items_of(world, request, PartitionData):
        row = row_on(world, request.destination, item.partition)
        producer_connections.watch(world, world.delayed_fetches[row], request.index)
    producer_connections.expire_later(world, request)


@inner_rule
def complete_fetch(world: brokers.Brokers, request: client_requests.FetchRequest) -> None:
    """Answer a fetch that waited; what it brings was just read."""
    cursor = request.first_item
    if request.replica_id != NONE:
        world.fetch_sessions[request.fetcher].waiting = NONE
        cursor = NONE
    while cursor != NONE:
        item = world.items[cursor]
        row = row_of(world, item.partition, request.destination)
        producer_connections.unwatch(world, world.delayed_fetches[row], request.index)
        cursor = item.next
    mark_fetch(world, request)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    answer_fetch(world, request, _TRUE)
    _mark_delayed(world, request, request.taken_us, request.handled_us)
    free_event(world, request)


@inner_rule
def wake_fetches(world: brokers.Brokers, row: int) -> None:
    """Look whether fetches that wait for this replica are complete now.

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
    """Look whether fetches of consumers that wait for this replica are complete now.

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
    world: Kernel, session: brokers.FetchSession, request: client_requests.FetchRequest
) -> None:
    # One timer for a session, not one for each fetch: nearly all are answered before.
    session.expiry_timer = True
    FollowerFetchExpires.at(world, request.deadline_us, request)


@BROKER.handles(FollowerFetchExpires)
@inner_rule
def handle_follower_fetch_expires(world: brokers.Brokers, timer: FollowerFetchExpires) -> None:
    """Answer a follower's fetch that has waited replica.fetch.wait.max.ms.

    Source: DelayedFetch.onComplete@2.4.0 after forceComplete.
    """
    session = world.fetch_sessions[timer.fetcher]
    session.expiry_timer = False
    if session.waiting == NONE:
        return
    request = view_as(world.events[session.waiting], client_requests.FetchRequest)
    if world.context[0].time_us < request.deadline_us:
        _look_at_expiry(world, session, request)
        return
    fetch_is_complete(world, request)
    complete_fetch(world, request)


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
        for item in items_of(world, request, client_requests.ProducedBatch):
            _watch_append(world, request, item.partition, item.append)
    else:
        single = view_as(request, client_requests.GroupAppendRequest)
        _watch_append(world, request, single.partition, single.append)
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
) -> None:
    """Let a request wait for one of its partitions, unless that has failed or is done."""
    if append.error != errors.NONE:
        return
    row = row_of(world, partition, request.destination)
    if not _is_acknowledged(world, row, append):
        append.waits = True
        request.awaited += 1
        producer_connections.watch(world, world.delayed_produces[row], request.index)


@inner_rule
def _expire_produces_at(world: brokers.Brokers, broker: int, time_us: int) -> None:
    # One timer for a broker's produces, not one each: nearly all are answered long before.
    state = world.brokers[broker]
    if 0 < state.produces_expire_us <= time_us:
        return
    state.produces_expire_us = time_us
    ProduceExpires.at(world, time_us)


@inner_rule
def wake_produces(world: brokers.Brokers, row: int) -> None:
    """Look whether produces that wait for this replica are complete now.

    Source: DelayedOperationPurgatory.checkAndComplete@2.4.0.
    """
    for index in WATCHES.of(world, world.delayed_produces[row]):
        waiting = world.watches[index]
        request = view_as(world.events[waiting.event], client_requests.AppendRequest)
        append = _append_of(world, request, world.hosted[row].partition)
        if _is_acknowledged(world, row, append):
            _await_no_more(world, row, request, append)
            if request.awaited == 0:
                _complete_produce(world, request)


@inner_rule
def _append_of(
    world: brokers.Brokers, request: client_requests.AppendRequest, partition: int
) -> client_requests.PartitionAppend:
    """The append of a request that concerns a partition: there is one."""
    if request.kind != client_requests.ProduceRequest.KIND:
        return view_as(request, client_requests.GroupAppendRequest).append
    item = view_as(world.items[request.first_item], client_requests.ProducedBatch)
    while item.partition != partition:
        item = view_as(world.items[item.next], client_requests.ProducedBatch)
    return item.append


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
    _mark_delayed(world, request, request.taken_us, request.handled_us)
    free_event(world, request)


@inner_rule
def _mark_delayed(world: brokers.Brokers, request: Event, taken: int, handled: int) -> None:
    """A request that waited is answered: count it, and its times."""
    completed_us = world.context[0].time_us + request.cost_us
    mark_request(world, request, type_of_request(request), taken, handled, completed_us)


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


@inner_rule
def answer_produce(world: brokers.Brokers, request: client_requests.AppendRequest) -> None:
    """Tell the producer the outcome; with acks=0 there is no answer to send.

    Source: KafkaApis.handleProduceRequest@2.4.0.
    """
    if request.kind != client_requests.ProduceRequest.KIND:
        single = view_as(request, client_requests.GroupAppendRequest)
        _note_outcome(world, request, single.partition, single.append)
        answer_group_append(world, single)
        return
    for item in items_of(world, request, client_requests.ProducedBatch):
        _note_outcome(world, request, item.partition, item.append)
        if request.acks != 0:
            mark_error(world, request, item.append.error)
    producer_connections.free_connection(world, view_as(request, client_requests.ProduceRequest))
    response = new_response(world, request, client_requests.ProduceResponse, acks=request.acks)
    move_items(world, request, response)
    send(world, response, world.context[0].time_us + request.cost_us)


@inner_rule
def _note_outcome(
    world: brokers.Brokers,
    request: client_requests.AppendRequest,
    partition: int,
    append: client_requests.PartitionAppend,
) -> None:
    """Write down what has become of an append."""
    if append.error != errors.NONE:
        _write_refusal(world, request, partition, append)
    elif request.acks != 0:
        _note_acknowledgement(world, row_of(world, partition, request.destination), request, append)
    if traces_all(world):
        _trace_answer(world, request, partition, append)


@inner_rule
def _write_refusal(
    world: brokers.Brokers,
    request: client_requests.AppendRequest,
    partition: int,
    append: client_requests.PartitionAppend,
) -> None:
    row = RequestRefused.new(
        world,
        append,
        api_key=KEY_OF_KIND[request.kind],
        partition=partition,
        from_process=request.source,
    )
    if append.error == errors.REQUEST_TIMED_OUT:
        late = _late_follower(world, row_of(world, partition, request.destination), append)
        if late != NONE:
            because_of(world, row, late, request.asked_us)
    record_row(world, row)


@inner_rule
def _late_follower(
    world: brokers.Brokers, row: int, append: client_requests.PartitionAppend
) -> int:
    """The broker of the first in-sync follower that has not fetched the records; or NONE."""
    partition = world.replicas[row]
    members = partition.maximal_isr
    while members != EMPTY:
        replica = first(members)
        members = rest(members)
        reached = world.followers[partition.first_follower + replica].log_end_offset
        if replica != partition.local_replica and reached < append.offset + append.record_count:
            return broker_of(world, world.hosted[row].partition, replica)
    return NONE


@inner_rule
def _trace_answer(
    world: Kernel,
    request: client_requests.AppendRequest,
    partition: int,
    append: client_requests.PartitionAppend,
) -> None:
    ProduceAnswered.write(
        world,
        partition=partition,
        to_process=request.source,
        base_offset=append.offset,
        end_offset=append.offset + append.record_count,
        acks=request.acks,
        error=append.error,
    )


@inner_rule
def _note_acknowledgement(
    world: brokers.Brokers,
    row: int,
    request: client_requests.AppendRequest,
    append: client_requests.PartitionAppend,
) -> None:
    """Extend the range of what this term has acknowledged; a gap begins another one."""
    hosted = world.hosted[row]
    end_offset = append.offset + append.record_count
    if request.acks == ACKS_ALL:
        if hosted.acknowledged_all_end != append.offset:
            write_acknowledged(world, row, ACKS_ALL, REASON_TERM)
            hosted.acknowledged_all_first = append.offset
        hosted.acknowledged_all_end = end_offset
    else:
        if hosted.acknowledged_leader_end != append.offset:
            write_acknowledged(world, row, request.acks, REASON_TERM)
            hosted.acknowledged_leader_first = append.offset
        hosted.acknowledged_leader_end = end_offset


@inner_rule
def write_acknowledged(world: brokers.Brokers, row: int, acks: int, reason: int) -> None:
    """Write down what was acknowledged since the last such row, if anything was.

    A row for each epoch in which the records were written: this term's, or that of an earlier
    one of the same leader.
    """
    hosted = world.hosted[row]
    first_offset = hosted.acknowledged_leader_first
    end_offset = hosted.acknowledged_leader_end
    if acks == ACKS_ALL:
        first_offset = hosted.acknowledged_all_first
        end_offset = hosted.acknowledged_all_end
        hosted.acknowledged_all_first = end_offset
    else:
        hosted.acknowledged_leader_first = end_offset
    partition = world.replicas[row]
    runs = brokers.runs_of(world, row)
    while first_offset < end_offset:
        run = entry_for_offset(runs, partition.run_count, first_offset)
        run_end = end_offset
        if run + 1 < partition.run_count:
            run_end = min(run_end, runs[run + 1].start_offset)
        Acknowledged.write(
            world,
            partition=hosted.partition,
            leader_epoch=runs[run].epoch,
            acks=acks,
            first_offset=first_offset,
            end_offset=run_end,
            reason=reason,
        )
        first_offset = run_end


@inner_rule
def forget_acknowledged(hosted: brokers.HostedReplica) -> None:
    """Begin a term, or a process, in which nothing is acknowledged yet."""
    hosted.acknowledged_all_first = 0
    hosted.acknowledged_all_end = 0
    hosted.acknowledged_leader_first = 0
    hosted.acknowledged_leader_end = 0
