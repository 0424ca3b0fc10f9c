"""Reads of a leader for a fetch, and the response.

A follower reads up to the log end, a consumer up to the high watermark; between a reader's
limit and the log end there is nothing to read and no error. The records lie in the entries of the
request itself; the answer brings, for each partition, the records as runs of
one leader epoch each.
"""

from tidegauge.actors.fetches.fetch_sessions import let_others_come_first, put_to_rest
from tidegauge.actors.fetches.replication_quotas import count_sent, leader_throttles
from tidegauge.actors.idle_fetches.pairs import wake_all, wake_pair
from tidegauge.actors.state.broker_stats import mark_bytes_out
from tidegauge.actors.state.brokers import MOST_ENTRIES_TOLD, Brokers, epochs_of, runs_of
from tidegauge.actors.state.request_times import mark_error
from tidegauge.actors.storage.disks import ALL_IN_MEMORY, cached_from, old_bytes
from tidegauge.actors.storage.producers import end_of_whole_batches, tell_batches
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors, leader_read
from tidegauge.replication.leader_epoch_cache import entry_for_offset
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY, NO_REPLICA, append, contains
from tidegauge.simulation.bandwidth import transfer_end_us
from tidegauge.simulation.events import items_of, new_item, new_response
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.metadata_log import is_known_alive, known_change
from tidegauge.simulation.rows import traces_all
from tidegauge.simulation.topology import broker_of, slot_of
from tidegauge.simulation.trace_rows.detail_rows import FetchAnswered
from tidegauge.simulation.transfers import block_network_thread, departure_from_thread_us

_TRUE = code(True)
_FALSE = code(False)


@inner_rule
def row_on(world: Brokers, broker: int, partition: int) -> int:
    """The row of a broker's replica of a partition; NONE if it hosts none."""
    slot = slot_of(world, partition, broker)
    if slot == NO_REPLICA:
        return NONE
    row = world.partitions[partition].first_slot + slot
    return row if world.hosted[row].exists else NONE


@inner_rule
def missing_error(world: Brokers, broker: int, partition: int, asked_for_epoch: bool) -> int:
    """The error for a partition that the broker does not host."""
    is_known = known_change(world, world.known_metadata[broker], partition) != NONE
    slot = slot_of(world, partition, broker)
    row = world.partitions[partition].first_slot + slot
    is_offline = slot != NO_REPLICA and world.hosted[row].offline
    return leader_read.missing_partition_error(
        world.rules[broker], is_offline, is_known, asked_for_epoch
    )


@inner_rule
def read_partition(
    world: Brokers,
    request: client_requests.FetchRequest,
    item: client_requests.FetchPartition,
    budget_bytes: int,
) -> int:
    """Read one partition of a fetch into its entry; the bytes that it takes.

    Source: ReplicaManager.readFromLocalLog@2.4.0, Partition.readRecords@2.4.0.
    """
    broker = request.destination
    item.size_bytes = 0
    item.end_offset = item.fetch_offset
    item.diverging_end_offset = UNDEFINED
    item.preferred_read_replica = NONE
    row = item.row
    if row == NONE:
        item.error = missing_error(world, broker, item.partition, _FALSE)
        return 0
    if item.topic_id not in (NONE, world.on_disk[row].topic_id):
        item.error = errors.UNKNOWN_TOPIC_ID
        return 0
    rules = world.rules[broker]
    partition = world.replicas[row]
    # A consumer that names its rack may fetch from any replica.
    leads = is_leader(partition)
    requested_epoch = leader_read.epoch_to_check(
        rules, item.leader_epoch, request.replica_id != NONE
    )
    item.error = leader_read.local_log_error(
        rules, partition.leader_epoch, requested_epoch, leads, request.rack == NONE, _TRUE
    )
    item.high_watermark = partition.high_watermark
    item.log_start_offset = partition.log_start_offset
    if item.error != errors.NONE:
        return 0
    error, epoch, end_offset = leader_read.diverging_epoch(
        rules, partition, epochs_of(world, row), item.fetch_offset, item.last_fetched_epoch
    )
    if error == errors.NONE and end_offset == UNDEFINED:
        error = leader_read.offset_error(partition, item.fetch_offset)
    item.error = error
    item.diverging_epoch = epoch
    item.diverging_end_offset = end_offset
    if error != errors.NONE or end_offset != UNDEFINED:
        return 0
    if request.rack != NONE and leads and world.brokers[broker].selects_by_rack:
        item.preferred_read_replica = nearest_replica(world, row, request.rack, item.fetch_offset)
        if item.preferred_read_replica != NONE:
            return 0
    return _read_records(world, request, item, row, budget_bytes)


@inner_rule
def _read_records(
    world: Brokers,
    request: client_requests.FetchRequest,
    item: client_requests.FetchPartition,
    row: int,
    budget_bytes: int,
) -> int:
    """Read as many records as the limits of the fetch allow; their bytes."""
    broker = request.destination
    partition = world.replicas[row]
    reader = leader_read.FOLLOWER if request.replica_id != NONE else leader_read.READ_UNCOMMITTED
    limit = leader_read.read_limit(partition, reader, partition.high_watermark)
    if limit <= item.fetch_offset and budget_bytes >= 0:
        # Most partitions of a fetch have no news: without a division the loop took 4 % less.
        return 0
    record_bytes = world.partitions[item.partition].record_bytes
    available = max(0, limit - item.fetch_offset)
    wanted = min(request.partition_max_bytes, budget_bytes) // record_bytes
    # The first records of a response come even if they are larger than the wanted bytes.
    if wanted == 0 and budget_bytes == request.max_bytes:
        wanted = 1
    records = min(available, wanted)
    if records < available and budget_bytes < request.partition_max_bytes:
        request.is_cut = True
    if world.brokers[broker].throttles and request.replica_id != NONE:
        is_held_back = leader_throttles(world, row, request.replica_id)
        records = 0 if is_held_back else records
    if 0 < records < available and request.replica_id != NONE:
        end_offset = item.fetch_offset + records
        is_first = budget_bytes == request.max_bytes
        end_offset = end_of_whole_batches(world, row, item.fetch_offset, end_offset, is_first)
        records = end_offset - item.fetch_offset
    item.end_offset = item.fetch_offset + records
    item.size_bytes = records * record_bytes
    return item.size_bytes


@inner_rule
def nearest_replica(world: Brokers, row: int, rack: int, fetch_offset: int) -> int:
    """The broker in a consumer's rack that it is to fetch from; NONE: from this leader.

    Source: ReplicaManager.findPreferredReadReplica, RackAwareReplicaSelector@2.4.0 (KIP-392).
    """
    hosted = world.hosted[row]
    known = world.known_metadata[hosted.broker]
    same_rack = EMPTY
    for slot in range(world.partitions[hosted.partition].slot_count):
        broker = broker_of(world, hosted.partition, slot)
        if (
            world.processes[broker].rack == rack
            and contains(world.replicas[row].replicas, slot)
            and is_known_alive(world, known, broker)
        ):
            same_rack = append(same_rack, slot)
    preferred = leader_read.preferred_read_replica(
        world.rules[hosted.broker], world.replicas[row], world.followers, fetch_offset, same_rack
    )
    return broker_of(world, hosted.partition, preferred) if preferred != NO_REPLICA else NONE


@inner_rule
def answer_fetch(world: Brokers, request: client_requests.FetchRequest, waited: bool) -> None:
    """Send the read records; a partition without anything new is left out of a session.

    Source: KafkaApis.handleFetchRequest@2.4.0; FetchSession's CachedPartition@1.1.0
    maybeUpdateResponseData (KIP-227).
    """
    response = _new_response(world, request)
    mark_error(world, request, errors.NONE)
    counts_sent = request.replica_id != NONE and world.brokers[request.destination].throttles
    last_sent = NONE
    looks_at_memory = world.brokers[request.destination].generation > ALL_IN_MEMORY
    is_in_memory = True
    for item in items_of(world, request, client_requests.FetchPartition):
        if item.size_bytes > 0 and response.item_count > MOST_ENTRIES_TOLD:
            item.end_offset = item.fetch_offset
            item.size_bytes = 0
        if item.size_bytes > 0:
            last_sent = item.place
            response.size_bytes += item.size_bytes
            row = item.row
            if looks_at_memory and item.fetch_offset < cached_from(world, row):
                is_in_memory = False
            mark_bytes_out(world, request, row, item)
            if counts_sent:
                count_sent(world, row, item.size_bytes)
        if traces_all(world):
            FetchAnswered.write(world, item, to_process=request.source, waited=1 if waited else 0)
        if _is_named(world, request, item):
            mark_error(world, request, item.error)
            _add_records(world, response, item)
    if request.replica_id != NONE:
        session = world.fetch_sessions[request.fetcher]
        if request.is_cut and last_sent != NONE:
            let_others_come_first(world, session, last_sent)
        put_to_rest(world, session)
    _send_response(world, request, response, is_in_memory)


@inner_rule
def answer_unknown_session(world: Brokers, request: client_requests.FetchRequest) -> None:
    """Have a follower name all of its partitions again.

    Source: FetchManager.newContext, SessionErrorContext@1.1.0.
    """
    response = view_as(_new_response(world, request), client_requests.FetchResponse)
    response.error = errors.FETCH_SESSION_ID_NOT_FOUND
    mark_error(world, request, response.error)
    _send_response(world, request, view_as(response, Event), _TRUE)


@inner_rule
def _send_response(
    world: Brokers, request: client_requests.FetchRequest, response: Event, is_in_memory: bool
) -> None:
    """Send a response; its network thread is blocked while it reads records from disks."""
    departure_us = world.context[0].time_us + request.cost_us
    if request.replica_id != NONE:
        # A thread that has ended since asked: the pair's other fetches may be idle.
        wake_pair(world, request.source, request.destination)
    if is_in_memory:
        send(world, response, departure_us)
        return
    wake_all(world, request.destination)
    begin_us = departure_from_thread_us(world, response, departure_us)
    read_us = _read_from_disks(world, request, begin_us)
    # Records are read and sent at the same time, so the slower of the two counts.
    response.transfer_us = read_us - begin_us
    send(world, response, begin_us)
    block_network_thread(world, request.destination, request.source, read_us)


@inner_rule
def _read_from_disks(world: Brokers, request: client_requests.FetchRequest, begin_us: int) -> int:
    """The time at which the records of a response that are not in memory have been read.

    The network thread sends partition after partition, so it reads one disk at a time.

    Source: MultiRecordsSend.writeTo@2.6.0, FileRecords.writeTo@2.6.0.
    """
    broker = request.destination
    directories = world.brokers[broker].log_directories
    end_us = begin_us
    for directory in range(directories):
        size_bytes = 0
        for item in items_of(world, request, client_requests.FetchPartition):
            if item.size_bytes > 0 and world.on_disk[item.row].directory == directory:
                size_bytes += old_bytes(world, item.row, item.fetch_offset, item.end_offset)
        disk = world.disk_reads[broker * directories + directory]
        end_us = transfer_end_us(disk, size_bytes, end_us)
    return end_us


@inner_rule
def _new_response(world: Kernel, request: client_requests.FetchRequest) -> Event:
    if request.replica_id == NONE:
        return view_as(new_response(world, request, client_requests.ConsumerResponse), Event)
    response = new_response(world, request, client_requests.FetchResponse, fetcher=request.fetcher)
    return view_as(response, Event)


@inner_rule
def _is_named(
    world: Brokers, request: client_requests.FetchRequest, item: client_requests.FetchPartition
) -> bool:
    """Whether the answer names a partition: always, unless a fetch session leaves it out."""
    if request.replica_id == NONE:
        return True
    told = world.follower_fetches[item.place]
    if item.error != errors.NONE:
        told.session_high_watermark = UNDEFINED
        return True
    named = (
        item.size_bytes > 0
        or item.diverging_end_offset != UNDEFINED
        or told.session_high_watermark != item.high_watermark
        or told.session_log_start_offset != item.log_start_offset
    )
    told.session_high_watermark = item.high_watermark
    told.session_log_start_offset = item.log_start_offset
    return named


@inner_rule
def _add_records(world: Brokers, response: Event, read: client_requests.FetchPartition) -> None:
    """Name a partition in the response: its state, and its records epoch by epoch."""
    first = new_item(world, response, read.partition, client_requests.FetchedRecords)
    item = first
    item.error = read.error
    item.leader_epoch = read.leader_epoch
    item.offset = read.fetch_offset
    item.end_offset = read.fetch_offset
    item.high_watermark = read.high_watermark
    item.log_start_offset = read.log_start_offset
    item.diverging_epoch = read.diverging_epoch
    item.diverging_end_offset = read.diverging_end_offset
    item.size_bytes = read.size_bytes
    item.preferred_read_replica = read.preferred_read_replica
    if read.error != errors.NONE or read.end_offset <= read.fetch_offset:
        return
    row = read.row
    partition = world.replicas[row]
    runs = runs_of(world, row)
    end_offset = min(read.end_offset, partition.log_end_offset)
    run = entry_for_offset(runs, partition.run_count, read.fetch_offset)
    offset = read.fetch_offset
    while offset < end_offset:
        run_end = partition.log_end_offset
        if run + 1 < partition.run_count:
            run_end = runs[run + 1].start_offset
        if offset != read.fetch_offset:
            item = new_item(world, response, read.partition, client_requests.FetchedRecords)
            item.continues = True
            item.offset = offset
        item.epoch = runs[run].epoch
        offset = min(run_end, end_offset)
        item.end_offset = offset
        run += 1
    if (
        response.kind == client_requests.FetchResponse.KIND
        and world.hosted[row].first_producer != NONE
    ):
        tell_batches(world, row, response, first, end_offset)
