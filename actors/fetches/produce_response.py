"""Responses to produce requests, and the rows about a leader's acknowledgements.

Acknowledgements are gathered by replica, a range for each kind of acks, and written as rows when
something changes that they rest on: the ISR, the leader's term, the log.
"""

from tidegauge.actors.fetches import producer_connections
from tidegauge.actors.idle_fetches.stages import catch_up
from tidegauge.actors.state import brokers, replica_records
from tidegauge.actors.state.request_times import mark_error
from tidegauge.actors.storage.group_offsets import answer_group_append
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import ACKS_ALL
from tidegauge.replication.leader_epoch_cache import entry_for_offset
from tidegauge.replication.replica_list import EMPTY, first, rest
from tidegauge.simulation.events import items_of, move_items, new_response
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.simulation.rows import record_row, traces_all
from tidegauge.simulation.topology import broker_of, row_of
from tidegauge.simulation.trace_rows.codes import REASON_TERM
from tidegauge.simulation.trace_rows.detail_rows import ProduceAnswered
from tidegauge.simulation.trace_rows.process_rows import RequestRefused
from tidegauge.simulation.trace_rows.replica_rows import Acknowledged


@inner_rule
def answer_produce(world: brokers.Brokers, request: client_requests.AppendRequest) -> None:
    """Send the producer the outcome; with acks=0 there is no response.

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
    """Write a row about the outcome of an append."""
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
            catch_up(world, request.destination, late)
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
    """Extend the range of this term's acknowledgements; a gap begins another one."""
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
    """Write a row about the acknowledgements since the last such row, if there are any.

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
def forget_acknowledged(hosted: replica_records.HostedReplica) -> None:
    """Begin a term, or a process, in which nothing is acknowledged yet."""
    hosted.acknowledged_all_first = 0
    hosted.acknowledged_all_end = 0
    hosted.acknowledged_leader_first = 0
    hosted.acknowledged_leader_end = 0
