"""Small requests that a broker answers at once: epochs, offsets, metadata.

A harness's view of a broker: the files of its logs, and its own responses.

A step ``observe`` asks for it. It is written whether the broker runs or not, for the files exist
either way; only a running broker has high watermarks.
"""

from tidegauge.actors.fetches.fetch_read import missing_error, row_on
from tidegauge.actors.idle_fetches.pairs import wake_fetcher
from tidegauge.actors.state.brokers import LOGS, Brokers, epochs_of, listens
from tidegauge.actors.state.handlers import REQUESTS
from tidegauge.actors.state.request_times import mark_error
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.leader_read import (
    READ_UNCOMMITTED,
    last_offset_for_leader_epoch,
    latest_offset,
    local_log_error,
)
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.events import free_event, items_of, new_item, new_response
from tidegauge.simulation.faults import refuse_connection
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import FAULTS, send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import Observe
from tidegauge.simulation.metadata_log import name_differences, read_position, write_position
from tidegauge.simulation.rows import REQUEST, REQUEST_PARTITION, cost_us
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.process_rows import EpochObserved, HighWatermarkTold, Observed
from tidegauge.simulation.trace_rows.replica_rows import EndOffsetTold, EpochAnswered

_TRUE = code(True)
_FALSE = code(False)


@REQUESTS.handles(client_requests.OffsetsForLeaderEpochRequest)
@inner_rule
def handle_offsets_for_leader_epoch(
    world: Brokers, request: client_requests.OffsetsForLeaderEpochRequest
) -> bool:
    """Answer where epochs ended in this leader's logs.

    Source: ReplicaManager.lastOffsetForLeaderEpoch@0.11.0.0 and @2.4.0.
    """
    broker = request.destination
    if not world.rules[broker].epoch_requests_answered:
        refuse_connection(world, request)
        free_event(world, request)
        return True
    response = new_response(world, request, client_requests.EpochResponse, fetcher=request.fetcher)
    for asked in items_of(world, request, client_requests.EpochAsked):
        item = new_item(world, response, asked.partition, client_requests.EpochEndOffset)
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
        EpochAnswered.write(
            world,
            item,
            to_process=request.source,
            asked_epoch=asked.leader_epoch,
            epoch=item.leader_epoch,
        )
    if request.fetcher != NONE:
        wake_fetcher(world, request.fetcher)
    _respond(world, request, response, request.item_count)
    return True


@REQUESTS.handles(client_requests.ListOffsetsRequest)
@inner_rule
def handle_list_offsets(world: Brokers, request: client_requests.ListOffsetsRequest) -> bool:
    """Answer where this leader's log begins and ends; for a client it ends where it may read to.

    Source: ReplicaManager.fetchOffsetForTimestamp@2.4.0.
    """
    broker = request.destination
    response = new_response(world, request, client_requests.ListOffsetsResponse, request)
    for asked in items_of(world, request, client_requests.OffsetsAsked):
        item = new_item(world, response, asked.partition, client_requests.ListedOffsets)
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
        if item.error == errors.NONE:
            item.log_start_offset = partition.log_start_offset
            item.end_offset = partition.log_end_offset
            if request.fetcher == NONE:
                _tell_client(world, request, item, row)
        mark_error(world, request, item.error)
    _respond(world, request, response, request.item_count)
    return True


@inner_rule
def _tell_client(
    world: Brokers, request: Event, item: client_requests.ListedOffsets, row: int
) -> None:
    """Answer a client with the latest offset that it may read to, or why it is not known yet."""
    partition = world.replicas[row]
    item.error, item.end_offset = latest_offset(
        world.rules[request.destination], partition, READ_UNCOMMITTED, partition.high_watermark
    )
    EndOffsetTold.write(world, item, to_process=request.source)


@REQUESTS.handles(client_requests.MetadataRequest)
@inner_rule
def handle_metadata(world: Brokers, request: client_requests.MetadataRequest) -> bool:
    """Name the leaders of partitions, by this broker's metadata.

    In the simulation the response names the differences from the client's own metadata; in Kafka
    all partitions of the client's topics. Those cost their time (``partition_count``).

    Source: KafkaApis.handleTopicMetadataRequest@2.4.0.
    """
    response = new_response(world, request, client_requests.MetadataResponse)
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


@FAULTS.handles(Observe)
@inner_rule
def observe(world: Brokers, event: Observe) -> None:
    """Write down each replica of a broker that has a log."""
    for row in LOGS.of(world, world.brokers[event.destination]):
        if world.on_disk[row].exists:
            _observe_replica(world, row, event.step)


@inner_rule
def _answer_about(world: Brokers, row: int) -> int:
    """The high watermark that a fetch would get now, or the reason why it would get none."""
    hosted = world.hosted[row]
    if not world.processes[hosted.broker].alive:
        return codes.NOT_UP
    if not listens(world, hosted.broker):
        return codes.NOT_LISTENING
    if not hosted.exists:
        return codes.DIRECTORY_OFFLINE if hosted.offline else codes.NOT_HOSTED
    return codes.WAITS_FOR_LOCK if hosted.locked else world.replicas[row].high_watermark


@inner_rule
def tell_observer(world: Brokers, row: int) -> None:
    """A replica that a step observes is unlocked: a fetch would have a response now."""
    hosted = world.hosted[row]
    if hosted.observer > 0:
        HighWatermarkTold.write(world, hosted, world.replicas[row], step=hosted.observer - 1)
        hosted.observer = 0


@inner_rule
def _observe_replica(world: Brokers, row: int, step: int) -> None:
    hosted = world.hosted[row]
    replica = world.replicas[row]
    on_disk = world.on_disk[row]
    high_watermark = _answer_about(world, row)
    if high_watermark == codes.WAITS_FOR_LOCK and hosted.observer == 0:
        hosted.observer = 1 + step
    Observed.write(
        world,
        replica,
        step=step,
        partition=hosted.partition,
        high_watermark=high_watermark,
        checkpointed=on_disk.high_watermark,
        recovery_point=on_disk.recovery_point_checkpoint,
    )
    write_log_runs(world, row, codes.REASON_OBSERVED)
    epochs = epochs_of(world, row)
    for index in range(replica.epoch_count):
        EpochObserved.write(world, epochs[index], step=step, partition=hosted.partition)
