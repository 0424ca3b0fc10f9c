"""A follower's fetcher threads: truncate if needed, fetch, append, again.

One thread per source broker and number fetches all its partitions with one request at a
time, so one slow broker delays all partitions that are fetched from it. An error of one
partition delays that partition only, for replica.fetch.backoff.ms; a request that fails
delays them all.

Source: ``AbstractFetcherThread`` and ``ReplicaFetcherThread`` @0.11.0.0 to @3.8.0.
"""

from tidegauge.actors.fetches import fetcher_thread, replication_quotas
from tidegauge.actors.fetches.fetch_purgatory import wake_consumers
from tidegauge.actors.followers.follower_truncation import (
    follow_answer,
    leave_range,
    take_epoch_end_offsets,
    truncate_or_ask,
)
from tidegauge.actors.idle_fetches.pairs import wake_pair
from tidegauge.actors.idle_fetches.pending import new_fetch_request
from tidegauge.actors.idle_fetches.stages import deadline_us, is_computed
from tidegauge.actors.leaders.leader import append_to_log, trace_high_watermark
from tidegauge.actors.process.retention import raise_log_start
from tidegauge.actors.state.broker_stats import mark_replicated
from tidegauge.actors.state.brokers import FETCHED, MOVED, RUNS_PER_ANSWER, Brokers, note_change
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.replica_records import Fetcher
from tidegauge.actors.storage.disks import (
    flush_wait_us,
    flushes_by_itself,
    write_wait_us,
    writes_wait,
)
from tidegauge.actors.storage.log_dirs import write_fails
from tidegauge.actors.storage.producers import note_batch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.replication.fetcher import (
    FETCHING,
    delay_partition,
    handle_append_failure,
    handle_fetch_error,
    leader_epoch_of_fetch,
    take_records,
    takes_response,
)
from tidegauge.replication.high_watermark import (
    takes_high_watermark_of_response,
    update_high_watermark,
)
from tidegauge.replication.producer_state import decrement_sequence
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.release_rules import TRUNCATE_ON_FETCH
from tidegauge.simulation.events import free_event, items_of, new_item, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.timers import FetcherTimeout, FetcherWakes
from tidegauge.simulation.rows import APPEND, cost_us, traces_all
from tidegauge.simulation.slow_disks import disk_delay_us
from tidegauge.simulation.topology import row_of
from tidegauge.simulation.trace_rows.codes import MOMENT_ANSWER, RAISED_BY_LEADER
from tidegauge.simulation.trace_rows.replica_rows import DivergingHighWatermark


@inner_rule
def next_round(world: Brokers, index: int, departure_us: int) -> None:
    """Truncate and fetch, unless the thread is busy or asleep.

    Source: AbstractFetcherThread.doWork@2.4.0.
    """
    fetcher = world.fetchers[index]
    now_us = world.context[0].time_us
    if fetcher.in_flight != 0 or fetcher.row_count == 0:
        return
    if now_us < fetcher.asleep_until_us:
        fetcher_thread.wake_fetcher_at(world, index, fetcher.asleep_until_us)
        return
    if not fetcher.in_session:
        _end_delays(world, fetcher)
        if truncate_or_ask(world, index, departure_us):
            return
    fetch(world, index, departure_us)


@inner_rule
def start_fetchers(world: Brokers, broker: int) -> None:
    """Let all fetchers of a broker go on that have nothing under way.

    Source: ReplicaManager.makeFollowers and AbstractFetcherManager.addFetcherForPartitions@2.4.0.
    """
    room = len(world.fetchers) // world.sizes[0].brokers
    for index in range(broker * room, (broker + 1) * room):
        next_round(world, index, world.context[0].time_us)


@inner_rule
def _end_delays(world: Brokers, fetcher: Fetcher) -> None:
    for row in FETCHED.of(world, fetcher):
        hosted = world.hosted[row]
        if world.fetch_states[row].delayed and (
            hosted.delayed_until_us <= world.context[0].time_us
        ):
            world.fetch_states[row].delayed = False


@inner_rule
def fetch(world: Brokers, index: int, departure_us: int) -> None:
    """Ask the leader for the records of all partitions that are ready, or wait a while.

    Source: AbstractFetcherThread.maybeFetch and ReplicaFetcherThread.buildFetch@2.4.0, @2.8.0;
    FetchSessionHandler.Builder.build@1.1.0.
    """
    fetcher = world.fetchers[index]
    request = new_fetch_request(world, index)
    request.is_full = not fetcher.in_session
    if fetcher.in_session:
        _name_moved(world, fetcher, request)
    elif not _name_all(world, fetcher, request):
        free_event(world, request)
        backoff_us = world.brokers[fetcher.broker].replica_fetch_backoff_ms * 1000
        fetcher_thread.wake_fetcher_at(world, index, world.context[0].time_us + backoff_us)
        return
    fetcher_thread.send_as_fetcher(world, index, request, departure_us)


@inner_rule
def _name_all(world: Brokers, fetcher: Fetcher, request: client_requests.FetchRequest) -> bool:
    """Name all partitions that are ready; whether there are any. If all are, a session begins.

    None begins with a throttled one, for each fetch may leave that out.
    """
    throttles = False
    for row in FETCHED.of(world, fetcher):
        state = world.fetch_states[row]
        is_ready = state.state == FETCHING and not state.delayed
        if world.hosted[row].follower_throttled:
            throttles = True
            is_ready = is_ready and not replication_quotas.follower_throttles(world, row)
        if is_ready:
            _name(world, request, row)
    if request.item_count == fetcher.row_count and not throttles:
        fetcher.in_session = world.rules[fetcher.broker].fetch_sessions
    return request.item_count > 0


@inner_rule
def _name_moved(world: Brokers, fetcher: Fetcher, request: client_requests.FetchRequest) -> None:
    """Name the partitions whose fetch offsets have moved since the last request."""
    for row in MOVED.of(world, fetcher):
        _name(world, request, row)
    fetcher_thread.forget_moves(world, fetcher)


@inner_rule
def _name(world: Brokers, request: client_requests.FetchRequest, row: int) -> None:
    """Set the offset and the epoch from which a partition is fetched."""
    rules = world.rules[request.source]
    state = world.fetch_states[row]
    item = new_item(world, request, world.hosted[row].partition, client_requests.FetchPartition)
    item.topic_id = world.on_disk[row].topic_id
    item.fetch_offset = state.fetch_offset
    item.leader_epoch = leader_epoch_of_fetch(rules, state)
    # Before, no fetch has it: the leader would look for divergence by other rules.
    if rules.truncation_protocol == TRUNCATE_ON_FETCH:
        item.last_fetched_epoch = state.last_fetched_epoch


@BROKER.handles(FetcherTimeout)
@inner_rule
def handle_fetcher_timeout(world: Brokers, timer: FetcherTimeout) -> None:
    """A request may have got no answer within replica.socket.timeout.ms."""
    fetcher = world.fetchers[timer.fetcher]
    now_us = world.context[0].time_us
    fetcher.deadline_timer = False
    if fetcher.in_flight == 0:
        return
    if is_computed(world, timer.fetcher):
        fetcher.deadline_us = deadline_us(world, timer.fetcher)
    if now_us < fetcher.deadline_us:
        fetcher_thread.watch_deadline(world, fetcher, timer.fetcher)
        return
    _fail_request(world, timer.fetcher)


@inner_rule
def lose_source_broker(world: Brokers, broker: int, source: int, until_us: int) -> None:
    """The connections to a source broker are gone: requests sent up to ``until_us`` have failed.

    Source: ReplicaFetcherBlockingSend.sendRequest@2.4.0.
    """
    sizes = world.sizes[0]
    room = world.pools[0].fetchers_of_source
    first = (broker * sizes.brokers + source) * room
    timeout_us = world.brokers[broker].replica_socket_timeout_ms * 1000
    wake_pair(world, broker, source)
    for index in range(first, first + room):
        fetcher = world.fetchers[index]
        if fetcher.in_flight != 0 and fetcher.deadline_us - timeout_us <= until_us:
            _fail_request(world, index)


@inner_rule
def _fail_request(world: Brokers, index: int) -> None:
    """The request in flight has failed: all partitions of the fetcher are delayed.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0.
    """
    fetcher = world.fetchers[index]
    now_us = world.context[0].time_us
    fetcher.in_flight = 0
    fetcher.looking_up = NONE
    fetcher_thread.leave_session(world, fetcher)
    broker = world.brokers[fetcher.broker]
    backoff_us = broker.replica_fetch_backoff_ms * 1000
    for row in FETCHED.of(world, fetcher):
        delay_partition(world.fetch_states[row])
        fetcher_thread.set_delay(world, row)
    if world.rules[fetcher.broker].fetcher_sleeps_after_error:
        fetcher.asleep_until_us = now_us + backoff_us
    fetcher_thread.wake_fetcher_at(world, index, now_us + backoff_us)


@BROKER.handles(FetcherWakes)
@inner_rule
def handle_fetcher_wakes(world: Brokers, timer: FetcherWakes) -> None:
    """A back-off is over."""
    world.fetchers[timer.fetcher].wake_timer = False
    next_round(world, timer.fetcher, world.context[0].time_us)


@inner_rule
def waits_for_disk(world: Brokers, response: client_requests.FetchResponse) -> bool:
    """Whether the records of a response wait for a slow disk, or one that is behind.

    Then it comes again later.
    """
    is_slow = world.processes[response.destination].slow_disks > 0
    if response.phase != 0 or not (is_slow or writes_wait(world, response.destination)):
        return False
    appends = 0
    wait_us = 0
    for item in items_of(world, response, client_requests.FetchedRecords):
        if not item.continues and item.size_bytes > 0:
            appends += 1
            row = row_of(world, item.partition, response.destination)
            wait_us = max(wait_us, write_wait_us(world, row))
    fetcher = world.fetchers[response.fetcher]
    if appends == 0 or fetcher.in_flight != response.correlation_id:
        return False
    if not is_slow and wait_us == 0:
        return False
    response.phase = 1
    response.source = response.destination
    wait_us += disk_delay_us(world, response.destination, appends)
    set_timer(world, response, world.context[0].time_us + wait_us)
    # The response is there: its request cannot fail.
    fetcher.deadline_us = max(fetcher.deadline_us, response.time_us)
    return True


@BROKER.handles(client_requests.FetchResponse)
@inner_rule
def handle_fetch_response(world: Brokers, response: client_requests.FetchResponse) -> None:
    """Append the leader's records, and fetch again.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0.
    """
    if not fetcher_thread.take_response(world, response):
        return
    if response.error == errors.FETCH_SESSION_ID_NOT_FOUND:
        fetcher_thread.leave_session(world, world.fetchers[response.fetcher])
    taken_us = 0
    last_partition = NONE
    flushed_us = 0
    flushes = flushes_by_itself(world, response.destination)
    for item in items_of(world, response, client_requests.FetchedRecords):
        if not item.continues:
            _take_partition(world, response, item)
            if item.size_bytes > 0:
                last_partition = item.partition
                taken_us += cost_us(world, response.destination, APPEND)
                if flushes:
                    row = row_of(world, item.partition, response.destination)
                    flushed_us = max(flushed_us, flush_wait_us(world, row))
    departure_us = world.context[0].time_us + taken_us + flushed_us
    fetcher = world.fetchers[response.fetcher]
    if not fetcher.in_session and last_partition != NONE:
        last_row = fetcher_thread.replica_of_response(world, response, last_partition)
        if last_row != NONE:
            fetcher_thread.fetch_others_first(world, fetcher, last_row)
    if fetcher.looking_up != NONE:
        _look_up_offsets(world, response.fetcher, departure_us)
        return
    next_round(world, response.fetcher, departure_us)


@inner_rule
def _take_partition(
    world: Brokers, response: client_requests.FetchResponse, item: client_requests.FetchedRecords
) -> None:
    row = fetcher_thread.replica_of_response(world, response, item.partition)
    if row == NONE:
        return
    state = world.fetch_states[row]
    rules = world.rules[response.destination]
    if not takes_response(rules, state, item.offset, item.leader_epoch):
        return
    if item.error == errors.OFFSET_OUT_OF_RANGE:
        if world.fetchers[response.fetcher].looking_up == NONE:
            world.fetchers[response.fetcher].looking_up = row
    elif item.error != errors.NONE:
        handle_fetch_error(rules, state, item.error, item.leader_epoch)
        fetcher_thread.after_error(world, row)
    else:
        _take_records(world, row, item)


@inner_rule
def _take_records(world: Brokers, row: int, item: client_requests.FetchedRecords) -> None:
    """Append the runs of one partition, and take over the leader's high watermark.

    Source: ReplicaFetcherThread.processPartitionData@2.4.0.
    """
    rules = world.rules[world.hosted[row].broker]
    partition = world.replicas[row]
    state = world.fetch_states[row]
    diverges = item.diverging_end_offset != UNDEFINED
    if not diverges:
        if item.end_offset > item.offset and item.offset != partition.log_end_offset:
            handle_append_failure(rules, state, errors.UNKNOWN_SERVER_ERROR)
            fetcher_thread.after_error(world, row)
            return
        if item.end_offset > item.offset and write_fails(world, row):
            handle_append_failure(rules, state, errors.KAFKA_STORAGE_ERROR)
            fetcher_thread.after_error(world, row)
            return
        last_epoch = _append_runs(world, row, item)
        mark_replicated(world, row, item.size_bytes)
    before = partition.high_watermark
    if takes_high_watermark_of_response(rules, diverges):
        update_high_watermark(rules, partition, item.high_watermark)
        if diverges and partition.high_watermark > before:
            _write_diverging_high_watermark(world, row, before, item.diverging_end_offset)
    if diverges:
        follow_answer(world, row, item.diverging_epoch, item.diverging_end_offset, item.offset)
    else:
        _take_log_start(world, row, item.log_start_offset)
        asked_offset = state.fetch_offset
        asked_epoch = state.last_fetched_epoch
        take_records(rules, state, partition.log_end_offset, last_epoch)
        if state.fetch_offset != asked_offset or state.last_fetched_epoch != asked_epoch:
            fetcher_thread.note_move(world, row)
        world.hosted[row].fetcher_lag = max(0, item.high_watermark - partition.log_end_offset)
        state.in_sync = partition.log_end_offset >= item.high_watermark
        if world.hosted[row].follower_throttled:
            replication_quotas.count_fetched(world, row, item.size_bytes)
    if partition.high_watermark != before:
        _note_high_watermark(world, row, before)


@inner_rule
def _note_high_watermark(world: Brokers, row: int, before: int) -> None:
    """The high watermark has moved: consumers that fetch from this follower may read on."""
    note_change(world, row)
    if traces_all(world):
        trace_high_watermark(world, row, before, MOMENT_ANSWER)
    if world.rules[world.hosted[row].broker].follower_wakes_fetches:
        wake_consumers(world, row)


@inner_rule
def _take_log_start(world: Brokers, row: int, offset: int) -> None:
    """Begin where the leader's log begins, if that is later and the high watermark is there.

    Source: ReplicaFetcherThread.processPartitionData@2.4.0, Log.maybeIncrementLogStartOffset@2.4.0.
    """
    partition = world.replicas[row]
    if partition.log_start_offset < offset <= partition.high_watermark:
        raise_log_start(world, row, offset, RAISED_BY_LEADER)


@inner_rule
def _write_diverging_high_watermark(
    world: Brokers, row: int, before: int, diverging_end_offset: int
) -> None:
    """Write the row of a follower with its high watermark above the committed end (KAFKA-14704)."""
    hosted = world.hosted[row]
    partition = world.replicas[row]
    DivergingHighWatermark.write(
        world,
        partition,
        partition=hosted.partition,
        leader=world.fetchers[hosted.fetcher].source_broker,
        old_high_watermark=before,
        diverging_end_offset=diverging_end_offset,
    )


@inner_rule
def _append_runs(world: Brokers, row: int, item: client_requests.FetchedRecords) -> int:
    """Append the records of a response, epoch by epoch; the epoch of the last one."""
    last_epoch = UNDEFINED
    # At most so many: there has to be room for them, whatever else the group has room for.
    room = RUNS_PER_ANSWER
    while True:
        if item.end_offset > item.offset and room > 0:
            append_to_log(world, row, item.epoch, item.end_offset - item.offset)
            last_epoch = item.epoch
            room -= 1
        if item.producer_id != NONE:
            _note_batch(world, row, item)
        if item.next == NONE:
            break
        item = view_as(world.items[item.next], client_requests.FetchedRecords)
        if not item.continues:
            break
    return last_epoch


@inner_rule
def _note_batch(world: Brokers, row: int, item: client_requests.FetchedRecords) -> None:
    """Remember a batch of an idempotent producer, if it was appended as a whole."""
    last_offset = item.batch_offset + decrement_sequence(item.last_sequence, item.first_sequence)
    if last_offset < world.replicas[row].log_end_offset:
        note_batch(
            world,
            row,
            item.producer_id,
            item.producer_epoch,
            item.first_sequence,
            item.last_sequence,
            item.batch_offset,
        )


@inner_rule
def _look_up_offsets(world: Brokers, index: int, departure_us: int) -> None:
    """Ask the leader where its log begins and ends, after OFFSET_OUT_OF_RANGE.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate@2.4.0: Kafka asks for the one, and
    then perhaps for the other.
    """
    fetcher = world.fetchers[index]
    request = client_requests.ListOffsetsRequest.to(world, fetcher.source_broker)
    item = new_item(
        world, request, world.hosted[fetcher.looking_up].partition, client_requests.OffsetsAsked
    )
    state = world.fetch_states[fetcher.looking_up]
    item.leader_epoch = leader_epoch_of_fetch(world.rules[fetcher.broker], state)
    fetcher_thread.send_as_fetcher(world, index, request, departure_us)


@BROKER.handles(client_requests.EpochResponse)
@inner_rule
def handle_epoch_response(world: Brokers, response: client_requests.EpochResponse) -> None:
    """Truncate by the leader's response about epochs, then fetch what is ready.

    Source: AbstractFetcherThread.maybeTruncate@2.4.0.
    """
    if not fetcher_thread.take_response(world, response):
        return
    take_epoch_end_offsets(world, response)
    fetch(world, response.fetcher, world.context[0].time_us)


@BROKER.handles(client_requests.ListOffsetsResponse)
@inner_rule
def handle_list_offsets_response(
    world: Brokers, response: client_requests.ListOffsetsResponse
) -> None:
    """Bring a log that was out of range to where the leader's begins or ends.

    Source: AbstractFetcherThread.handleOutOfRangeError@2.4.0.
    """
    if not fetcher_thread.take_response(world, response):
        return
    item = view_as(world.items[response.first_item], client_requests.ListedOffsets)
    row = fetcher_thread.replica_of_response(world, response, item.partition)
    fetcher = world.fetchers[response.fetcher]
    if row != NONE and row == fetcher.looking_up:
        if item.error != errors.NONE:
            handle_fetch_error(
                world.rules[fetcher.broker],
                world.fetch_states[row],
                item.error,
                item.leader_epoch,
            )
            fetcher_thread.after_error(world, row)
        else:
            leave_range(world, row, item)
    fetcher.looking_up = NONE
    next_round(world, response.fetcher, world.context[0].time_us)
