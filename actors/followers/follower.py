"""A follower's fetcher threads: truncate what has to be, fetch, append, again.

One thread per source broker and number fetches all its partitions with one request at a
time, so one slow broker delays all partitions that are fetched from it. An error of one
partition delays that partition only, for replica.fetch.backoff.ms; a request that fails
delays them all.

Source: ``AbstractFetcherThread`` and ``ReplicaFetcherThread`` @0.11.0.0 to @3.8.0.
"""

from __future__ import annotations

from tidegauge.actors.fetches.fetcher_thread import (
    after_error,
    forget_moves,
    leave_session,
    note_move,
    replica_of_answer,
    send_as_fetcher,
    set_delay,
    take_answer,
    wake_fetcher_at,
    watch_deadline,
)
from tidegauge.actors.fetches.throttled_replication import count_fetched, follower_throttles
from tidegauge.actors.followers.follower_truncation import (
    follow_answer,
    leave_range,
    take_epoch_answers,
    truncate_or_ask,
)
from tidegauge.actors.leaders.leader import append_to_log, trace_high_watermark
from tidegauge.actors.state.broker_stats import mark_replicated
from tidegauge.actors.state.brokers import RUNS_PER_ANSWER, Brokers, Fetcher
from tidegauge.actors.storage.log_dirs import write_fails
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
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.release_rules import TRUNCATE_ON_FETCH
from tidegauge.simulation.costs import APPEND, cost_us
from tidegauge.simulation.events import add_item, free_event, new_event, set_timer
from tidegauge.simulation.kernel import NONE, Event, Kernel, PartitionData
from tidegauge.simulation.kinds import FETCH, LIST_OFFSETS
from tidegauge.simulation.row_kinds import DIVERGING_HIGH_WATERMARK, MOMENT_ANSWER
from tidegauge.simulation.rows import new_row, traces_all, write_canonical
from tidegauge.simulation.slow_disks import disk_delay_us
from tidegauge.simulation.topology import Topology


@inner_rule
def next_round(kernel: Kernel, brokers: Brokers, index: int, departure_us: int) -> None:
    """Truncate and fetch, unless the thread is busy or asleep.

    Source: AbstractFetcherThread.doWork@2.4.0.
    """
    fetcher = brokers.fetchers[index]
    now_us = kernel.context[0].time_us
    if fetcher.in_flight != 0 or fetcher.row_count == 0:
        return
    if now_us < fetcher.asleep_until_us:
        wake_fetcher_at(kernel, brokers, index, fetcher.asleep_until_us)
        return
    if not fetcher.in_session:
        _end_delays(kernel, brokers, fetcher)
        if truncate_or_ask(kernel, brokers, index, departure_us):
            return
    fetch(kernel, brokers, index, departure_us)


@inner_rule
def start_fetchers(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Let all fetchers of a broker go on that have nothing under way.

    Source: ReplicaManager.makeFollowers and AbstractFetcherManager.addFetcherForPartitions@2.4.0.
    """
    room = len(brokers.fetchers) // topology.sizes[0].brokers
    for index in range(broker * room, (broker + 1) * room):
        next_round(kernel, brokers, index, kernel.context[0].time_us)


@inner_rule
def _end_delays(kernel: Kernel, brokers: Brokers, fetcher: Fetcher) -> None:
    row = fetcher.first_row
    while row != NONE:
        hosted = brokers.hosted[row]
        if brokers.fetch_states[row].delayed and (
            hosted.delayed_until_us <= kernel.context[0].time_us
        ):
            brokers.fetch_states[row].delayed = False
        row = hosted.next_in_fetcher


@inner_rule
def fetch(kernel: Kernel, brokers: Brokers, index: int, departure_us: int) -> None:
    """Ask the leader for the records of all partitions that are ready, or wait a while.

    Source: AbstractFetcherThread.maybeFetch and ReplicaFetcherThread.buildFetch@2.4.0, @2.8.0;
    FetchSessionHandler.Builder.build@1.1.0.
    """
    fetcher = brokers.fetchers[index]
    broker = brokers.brokers[fetcher.broker]
    request = new_event(kernel, fetcher.broker, fetcher.source_broker, FETCH)
    request.broker = fetcher.broker
    request.value = index
    request.wait_ms = broker.replica_fetch_wait_max_ms
    request.min_bytes = broker.replica_fetch_min_bytes
    request.partition_max_bytes = broker.replica_fetch_max_bytes
    request.max_bytes = broker.replica_fetch_response_max_bytes
    request.acks = 0 if fetcher.in_session else 1
    if fetcher.in_session:
        _name_moved(kernel, brokers, fetcher, request)
    elif not _name_all(kernel, brokers, fetcher, request):
        free_event(kernel, request)
        backoff_us = broker.replica_fetch_backoff_ms * 1000
        wake_fetcher_at(kernel, brokers, index, kernel.context[0].time_us + backoff_us)
        return
    send_as_fetcher(kernel, brokers, index, request, departure_us)


@inner_rule
def _name_all(kernel: Kernel, brokers: Brokers, fetcher: Fetcher, request: Event) -> bool:
    """Name all partitions that are ready; whether there are any. If all are, a session begins.

    None begins with a throttled one, for each fetch may leave that out.
    """
    throttles = False
    row = fetcher.first_row
    while row != NONE:
        state = brokers.fetch_states[row]
        is_ready = state.state == FETCHING and not state.delayed
        if brokers.hosted[row].follower_throttled:
            throttles = True
            is_ready = is_ready and not follower_throttles(kernel, brokers, row)
        if is_ready:
            _name(kernel, brokers, request, row)
        row = brokers.hosted[row].next_in_fetcher
    if request.item_count == fetcher.row_count and not throttles:
        fetcher.in_session = brokers.rules[fetcher.broker].fetch_sessions
    return request.item_count > 0


@inner_rule
def _name_moved(kernel: Kernel, brokers: Brokers, fetcher: Fetcher, request: Event) -> None:
    """Name the partitions whose fetch offsets have moved since the last request."""
    row = fetcher.first_moved
    while row != NONE:
        _name(kernel, brokers, request, row)
        row = brokers.hosted[row].next_moved
    forget_moves(brokers, fetcher)


@inner_rule
def _name(kernel: Kernel, brokers: Brokers, request: Event, row: int) -> None:
    """Say from which offset on, and in which epoch, a partition is fetched."""
    rules = brokers.rules[request.source]
    state = brokers.fetch_states[row]
    item = add_item(kernel, request, brokers.hosted[row].partition)
    item.offset = state.fetch_offset
    item.leader_epoch = leader_epoch_of_fetch(rules, state)
    # Before, no fetch tells it: the leader would look for divergence by other rules.
    if rules.truncation_protocol == TRUNCATE_ON_FETCH:
        item.last_fetched_epoch = state.last_fetched_epoch


@inner_rule
def handle_fetcher_gives_up(kernel: Kernel, brokers: Brokers, timer: Event) -> None:
    """A request may have got no answer within replica.socket.timeout.ms."""
    fetcher = brokers.fetchers[timer.value]
    now_us = kernel.context[0].time_us
    fetcher.deadline_timer = False
    if fetcher.in_flight == 0:
        return
    if now_us < fetcher.deadline_us:
        watch_deadline(kernel, fetcher, timer.value)
        return
    _fail_request(kernel, brokers, timer.value)


@inner_rule
def lose_source_broker(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int, source: int, until_us: int
) -> None:
    """The connections to a source broker are gone: what was asked up to ``until_us`` has failed.

    Source: ReplicaFetcherBlockingSend.sendRequest@2.4.0.
    """
    sizes = topology.sizes[0]
    room = len(brokers.fetchers) // (sizes.brokers * sizes.brokers)
    first = (broker * sizes.brokers + source) * room
    timeout_us = brokers.brokers[broker].replica_socket_timeout_ms * 1000
    for index in range(first, first + room):
        fetcher = brokers.fetchers[index]
        if fetcher.in_flight != 0 and fetcher.deadline_us - timeout_us <= until_us:
            _fail_request(kernel, brokers, index)


@inner_rule
def _fail_request(kernel: Kernel, brokers: Brokers, index: int) -> None:
    """The request in flight has failed: all partitions of the fetcher are delayed.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0.
    """
    fetcher = brokers.fetchers[index]
    now_us = kernel.context[0].time_us
    fetcher.in_flight = 0
    fetcher.looking_up = NONE
    leave_session(brokers, fetcher)
    broker = brokers.brokers[fetcher.broker]
    backoff_us = broker.replica_fetch_backoff_ms * 1000
    row = fetcher.first_row
    while row != NONE:
        delay_partition(brokers.fetch_states[row])
        set_delay(kernel, brokers, row)
        row = brokers.hosted[row].next_in_fetcher
    if brokers.rules[fetcher.broker].fetcher_sleeps_after_error:
        fetcher.asleep_until_us = now_us + backoff_us
    wake_fetcher_at(kernel, brokers, index, now_us + backoff_us)


@inner_rule
def handle_fetcher_wakes(kernel: Kernel, brokers: Brokers, timer: Event) -> None:
    """A back-off is over."""
    brokers.fetchers[timer.value].wake_timer = False
    next_round(kernel, brokers, timer.value, kernel.context[0].time_us)


@inner_rule
def waits_for_disk(kernel: Kernel, brokers: Brokers, answer: Event) -> bool:
    """Whether what an answer brings is not yet on a slow disk; then it comes again later."""
    if kernel.processes[answer.destination].slow_disks == 0 or answer.phase != 0:
        return False
    appends = 0
    cursor = answer.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        appends += 1 if not item.continues and item.size_bytes > 0 else 0
    if appends == 0 or brokers.fetchers[answer.value].in_flight != answer.request:
        return False
    answer.phase = 1
    answer.source = answer.destination
    delay_us = disk_delay_us(kernel, answer.destination, appends)
    set_timer(kernel, answer, kernel.context[0].time_us + delay_us)
    return True


@inner_rule
def handle_fetch_response(
    kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event
) -> None:
    """Append what the leader has sent, and fetch again.

    Source: AbstractFetcherThread.processFetchRequest@2.4.0.
    """
    if not take_answer(brokers, answer):
        return
    taken_us = 0
    cursor = answer.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        if not item.continues:
            _take_partition(kernel, topology, brokers, answer, item)
            if item.size_bytes > 0:
                taken_us += cost_us(kernel, answer.destination, APPEND)
        cursor = item.next
    departure_us = kernel.context[0].time_us + taken_us
    fetcher = brokers.fetchers[answer.value]
    if fetcher.looking_up != NONE:
        _look_up_offsets(kernel, brokers, answer.value, departure_us)
        return
    next_round(kernel, brokers, answer.value, departure_us)


@inner_rule
def _take_partition(
    kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event, item: PartitionData
) -> None:
    row = replica_of_answer(topology, brokers, answer, item.partition)
    if row == NONE or not takes_response(brokers.fetch_states[row], item.offset):
        return
    state = brokers.fetch_states[row]
    rules = brokers.rules[answer.destination]
    if item.error == errors.OFFSET_OUT_OF_RANGE:
        if brokers.fetchers[answer.value].looking_up == NONE:
            brokers.fetchers[answer.value].looking_up = row
    elif item.error != errors.NONE:
        handle_fetch_error(rules, state, item.error, item.leader_epoch)
        after_error(kernel, brokers, row)
    else:
        _take_records(kernel, brokers, row, item)


@inner_rule
def _take_records(kernel: Kernel, brokers: Brokers, row: int, item: PartitionData) -> None:
    """Append the runs of one partition, and take over the leader's high watermark.

    Source: ReplicaFetcherThread.processPartitionData@2.4.0.
    """
    rules = brokers.rules[brokers.hosted[row].broker]
    partition = brokers.replicas[row]
    state = brokers.fetch_states[row]
    diverges = item.diverging_end_offset != UNDEFINED
    if not diverges:
        if item.end_offset > item.offset and item.offset != partition.log_end_offset:
            handle_append_failure(rules, state, errors.UNKNOWN_SERVER_ERROR)
            after_error(kernel, brokers, row)
            return
        if item.end_offset > item.offset and write_fails(kernel, brokers, row):
            handle_append_failure(rules, state, errors.KAFKA_STORAGE_ERROR)
            after_error(kernel, brokers, row)
            return
        last_epoch = _append_runs(kernel, brokers, row, item)
        mark_replicated(brokers, row, item.size_bytes)
    before = partition.high_watermark
    if takes_high_watermark_of_response(rules, diverges):
        update_high_watermark(rules, partition, item.high_watermark)
        if diverges and partition.high_watermark > before:
            _write_diverging_high_watermark(kernel, brokers, row, before, item.diverging_end_offset)
    if diverges:
        follow_answer(
            kernel, brokers, row, item.diverging_epoch, item.diverging_end_offset, item.offset
        )
    else:
        asked_offset = state.fetch_offset
        asked_epoch = state.last_fetched_epoch
        take_records(rules, state, partition.log_end_offset, last_epoch)
        if state.fetch_offset != asked_offset or state.last_fetched_epoch != asked_epoch:
            note_move(brokers, row)
        brokers.hosted[row].fetcher_lag = max(0, item.high_watermark - partition.log_end_offset)
        state.in_sync = partition.log_end_offset >= item.high_watermark
        if brokers.hosted[row].follower_throttled:
            count_fetched(kernel, brokers, row, item.size_bytes)
    if partition.high_watermark != before and traces_all(kernel):
        trace_high_watermark(kernel, brokers, row, before, MOMENT_ANSWER)


@inner_rule
def _write_diverging_high_watermark(
    kernel: Kernel, brokers: Brokers, row: int, before: int, diverging_end_offset: int
) -> None:
    """Write down that a follower believes more to be committed than it knows (KAFKA-14704)."""
    hosted = brokers.hosted[row]
    partition = brokers.replicas[row]
    written = new_row(kernel, hosted.broker, DIVERGING_HIGH_WATERMARK)
    written.values[0] = hosted.partition
    written.values[1] = brokers.fetchers[hosted.fetcher].source_broker
    written.values[2] = partition.leader_epoch
    written.values[3] = before
    written.values[4] = partition.high_watermark
    written.values[5] = diverging_end_offset
    write_canonical(kernel, written)


@inner_rule
def _append_runs(kernel: Kernel, brokers: Brokers, row: int, item: PartitionData) -> int:
    """Append the records of an answer, epoch by epoch; the epoch of the last one."""
    last_epoch = UNDEFINED
    # At most so many: there has to be room for them, whatever else the group has room for.
    for _ in range(RUNS_PER_ANSWER):
        if item.end_offset <= item.offset:
            break
        append_to_log(kernel, brokers, row, item.epoch, item.end_offset - item.offset)
        last_epoch = item.epoch
        if item.next == NONE or not kernel.items[item.next].continues:
            break
        item = kernel.items[item.next]
    return last_epoch


@inner_rule
def _look_up_offsets(kernel: Kernel, brokers: Brokers, index: int, departure_us: int) -> None:
    """Ask the leader where its log begins and ends, after OFFSET_OUT_OF_RANGE.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate@2.4.0: Kafka asks for the one, and
    then perhaps for the other.
    """
    fetcher = brokers.fetchers[index]
    request = new_event(kernel, fetcher.broker, fetcher.source_broker, LIST_OFFSETS)
    request.broker = fetcher.broker
    item = add_item(kernel, request, brokers.hosted[fetcher.looking_up].partition)
    state = brokers.fetch_states[fetcher.looking_up]
    item.leader_epoch = leader_epoch_of_fetch(brokers.rules[fetcher.broker], state)
    send_as_fetcher(kernel, brokers, index, request, departure_us)


@inner_rule
def handle_epoch_response(
    kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event
) -> None:
    """Truncate as the leader's answers about epochs say, then fetch what is ready.

    Source: AbstractFetcherThread.maybeTruncate@2.4.0.
    """
    if not take_answer(brokers, answer):
        return
    take_epoch_answers(kernel, topology, brokers, answer)
    fetch(kernel, brokers, answer.value, kernel.context[0].time_us)


@inner_rule
def handle_list_offsets_response(
    kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event
) -> None:
    """Bring a log that was out of range to where the leader's begins or ends.

    Source: AbstractFetcherThread.handleOutOfRangeError@2.4.0.
    """
    if not take_answer(brokers, answer):
        return
    item = kernel.items[answer.first_item]
    row = replica_of_answer(topology, brokers, answer, item.partition)
    fetcher = brokers.fetchers[answer.value]
    if row != NONE and row == fetcher.looking_up:
        if item.error != errors.NONE:
            handle_fetch_error(
                brokers.rules[fetcher.broker],
                brokers.fetch_states[row],
                item.error,
                item.leader_epoch,
            )
            after_error(kernel, brokers, row)
        else:
            leave_range(kernel, topology, brokers, row, item)
    fetcher.looking_up = NONE
    next_round(kernel, brokers, answer.value, kernel.context[0].time_us)
