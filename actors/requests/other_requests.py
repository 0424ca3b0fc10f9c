"""Small requests that a broker answers at once: epochs, offsets, metadata."""

from __future__ import annotations

from tidegauge.actors.fetches.fetch_read import missing_error, row_on
from tidegauge.actors.state.brokers import Brokers, epochs_of
from tidegauge.actors.state.handlers import REQUESTS
from tidegauge.actors.state.request_times import mark_error
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.leader_read import last_offset_for_leader_epoch, local_log_error
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.costs import REQUEST, REQUEST_PARTITION, cost_us
from tidegauge.simulation.events import free_event, new_item, new_response
from tidegauge.simulation.faults import refuse_connection
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import (
    EpochAsked,
    EpochEndOffset,
    EpochResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListedOffsets,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    OffsetsAsked,
    OffsetsForLeaderEpochRequest,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.metadata_log import name_differences, read_position, write_position
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.replica_rows import EpochAnswered

_TRUE = code(True)
_FALSE = code(False)


@REQUESTS.handles(InitProducerIdRequest)
@inner_rule
def handle_init_producer_id(world: Brokers, request: InitProducerIdRequest) -> bool:
    """Give a producer an id of the broker's block, which is taken to have some left.

    Source: KafkaApis.handleInitProducerIdRequest, ProducerIdManager.generateProducerId@2.6.0.
    """
    request.cost_us = cost_us(world, request.destination, REQUEST)
    mark_error(world, request, errors.NONE)
    response = new_response(world, request, InitProducerIdResponse)
    send(world, response, world.context[0].time_us + request.cost_us)
    free_event(world, request)
    return True


@REQUESTS.handles(OffsetsForLeaderEpochRequest)
@inner_rule
def handle_offsets_for_leader_epoch(world: Brokers, request: OffsetsForLeaderEpochRequest) -> bool:
    """Say where epochs ended in this leader's logs.

    Source: ReplicaManager.lastOffsetForLeaderEpoch@0.11.0.0 and @2.4.0.
    """
    broker = request.destination
    if not world.rules[broker].epoch_requests_answered:
        refuse_connection(world, request)
        free_event(world, request)
        return True
    response = new_response(world, request, EpochResponse)
    response.fetcher = request.fetcher
    cursor = request.first_item
    while cursor != NONE:
        asked = view_as(world.items[cursor], EpochAsked)
        cursor = asked.next
        item = new_item(world, response, asked.partition, EpochEndOffset)
        item.asked_in_epoch = asked.asked_in_epoch
        row = row_on(world, broker, asked.partition)
        if row == NONE:
            item.error = missing_error(world, broker, asked.partition, _TRUE)
        else:
            error, epoch, end_offset = last_offset_for_leader_epoch(
                world.rules[broker],
                world.replicas[row],
                epochs_of(world, row),
                asked.current_leader_epoch,
                asked.leader_epoch,
                _TRUE,
            )
            item.error = error
            item.leader_epoch = epoch
            item.end_offset = end_offset
        mark_error(world, request, item.error)
        _write_epoch_answer(world, request, asked.leader_epoch, item)
    _respond(world, request, response, request.item_count)
    return True


@inner_rule
def _write_epoch_answer(
    world: Kernel, request: Event, asked_epoch: int, item: EpochEndOffset
) -> None:
    row = new_row(world, request.destination, EpochAnswered)
    row.partition = item.partition
    row.to_process = request.source
    row.asked_epoch = asked_epoch
    row.epoch = item.leader_epoch
    row.end_offset = item.end_offset
    row.error = item.error
    write_row(world, row)


@REQUESTS.handles(ListOffsetsRequest)
@inner_rule
def handle_list_offsets(world: Brokers, request: ListOffsetsRequest) -> bool:
    """Say where this leader's log begins and ends.

    Source: ReplicaManager.fetchOffsetForTimestamp@2.4.0.
    """
    broker = request.destination
    response = new_response(world, request, ListOffsetsResponse)
    response.fetcher = request.fetcher
    cursor = request.first_item
    while cursor != NONE:
        asked = view_as(world.items[cursor], OffsetsAsked)
        cursor = asked.next
        item = new_item(world, response, asked.partition, ListedOffsets)
        item.leader_epoch = asked.leader_epoch
        row = row_on(world, broker, asked.partition)
        if row == NONE:
            item.error = missing_error(world, broker, asked.partition, _FALSE)
            mark_error(world, request, item.error)
            continue
        partition = world.replicas[row]
        item.error = local_log_error(
            world.rules[broker],
            partition.leader_epoch,
            asked.leader_epoch,
            is_leader(partition),
            _TRUE,
            _TRUE,
        )
        mark_error(world, request, item.error)
        if item.error == errors.NONE:
            item.log_start_offset = partition.log_start_offset
            item.end_offset = partition.log_end_offset
    _respond(world, request, response, request.item_count)
    return True


@REQUESTS.handles(MetadataRequest)
@inner_rule
def handle_metadata(world: Brokers, request: MetadataRequest) -> bool:
    """Say who leads which partition, as this broker has been told.

    In the simulation the answer names what differs from what the client has said that it knows;
    in Kafka all partitions of the client's topics. Those cost their time (``partition_count``).

    Source: KafkaApis.handleTopicMetadataRequest@2.4.0.
    """
    response = new_response(world, request, MetadataResponse)
    known = world.known_metadata[request.destination]
    asked = world.asked_metadata[0]
    read_position(request, asked)
    name_differences(world, response, known, asked)
    write_position(response, known)
    _respond(world, request, response, request.partition_count)
    return True


@inner_rule
def _respond(world: Kernel, request: Event, response: Event, partitions: int) -> None:
    partition_us = cost_us(world, request.destination, REQUEST_PARTITION)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    request.cost_us += partitions * partition_us
    send(world, response, world.context[0].time_us + request.cost_us)
    free_event(world, request)
