"""How a follower truncates: what it asks, and what it does with the answer.

The rules are those of ``replication/truncation.py``; here they meet the requests of a
fetcher thread. After OFFSET_OUT_OF_RANGE the log is cut too, or begun anew.
"""

from __future__ import annotations

from tidegauge.actors.fetcher_thread import (
    after_error,
    replica_of_answer,
    send_as_fetcher,
    set_delay,
)
from tidegauge.actors.state import Brokers, epochs_of, runs_of
from tidegauge.replication.compiled import code, inner_rule
from tidegauge.replication.fetcher import (
    STOP_BROKER,
    TRUNCATE_FULLY_AND_START_AT,
    TRUNCATE_TO,
    TRUNCATING,
    complete_truncation,
    delay_partition,
    fetch_offset_and_truncate,
    mark_partition_failed,
    restart_at,
)
from tidegauge.replication.leader_epoch_cache import end_offset_for, latest_epoch
from tidegauge.replication.log import truncate_fully_and_start_at, truncate_to
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.release_rules import TRUNCATE_KIP_101
from tidegauge.replication.truncation import (
    DROP_ANSWER,
    PARTITION_FENCED,
    TAKE_ANSWER,
    asks_for_epoch_end,
    epoch_answer_action,
    fallback_offset,
    leader_epoch_of_epoch_request,
    offset_truncation_state,
)
from tidegauge.simulation.events import add_item, free_event, new_event
from tidegauge.simulation.kernel import NONE, Event, Kernel, PartitionData
from tidegauge.simulation.kinds import OFFSETS_FOR_LEADER_EPOCH
from tidegauge.simulation.row_kinds import LOG_END, REASON_TRUNCATION, TRUNCATED
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import Topology

_TRUE = code(True)


@inner_rule
def truncate_or_ask(kernel: Kernel, brokers: Brokers, index: int, departure_us: int) -> bool:
    """Truncate all partitions of a fetcher that have to; whether it asks the leader first.

    Source: AbstractFetcherThread.maybeTruncate@0.11.0.0 and @2.4.0.
    """
    fetcher = brokers.fetchers[index]
    rules = brokers.rules[fetcher.broker]
    request = new_event(kernel, fetcher.broker, fetcher.source_broker, OFFSETS_FOR_LEADER_EPOCH)
    request.broker = fetcher.broker
    row = fetcher.first_row
    while row != NONE:
        state = brokers.fetch_states[row]
        partition = brokers.replicas[row]
        if state.state == TRUNCATING and not state.delayed:
            if asks_for_epoch_end(rules, partition):
                item = add_item(kernel, request, brokers.hosted[row].partition)
                item.last_fetched_epoch = latest_epoch(
                    epochs_of(brokers, row), partition.epoch_count
                )
                item.leader_epoch = leader_epoch_of_epoch_request(rules, state)
                # Not on the wire: the fetcher's own memory of when it asked.
                item.version = state.current_leader_epoch
            else:
                offset = fallback_offset(rules, partition, state)
                _truncate(kernel, brokers, row, offset, _TRUE)
        row = brokers.hosted[row].next_in_fetcher
    if request.item_count == 0:
        free_event(kernel, request)
        return False
    send_as_fetcher(kernel, brokers, index, request, departure_us)
    return True


@inner_rule
def take_epoch_answers(kernel: Kernel, topology: Topology, brokers: Brokers, answer: Event) -> None:
    """Truncate each partition as the leader's answer about its epoch says.

    Source: AbstractFetcherThread.truncateToEpochEndOffsets@2.4.0.
    """
    cursor = answer.first_item
    while cursor != NONE:
        item = kernel.items[cursor]
        cursor = item.next
        row = replica_of_answer(topology, brokers, answer, item.partition)
        if row != NONE and brokers.fetch_states[row].state == TRUNCATING:
            _take_epoch_answer(kernel, brokers, row, item)


@inner_rule
def _take_epoch_answer(kernel: Kernel, brokers: Brokers, row: int, item: PartitionData) -> None:
    rules = brokers.rules[brokers.hosted[row].broker]
    state = brokers.fetch_states[row]
    action = epoch_answer_action(rules, item.error, item.version, state.current_leader_epoch)
    if action == DROP_ANSWER:
        return
    if action == TAKE_ANSWER:
        epoch = item.epoch
        if rules.truncation_protocol == TRUNCATE_KIP_101:
            epoch = UNDEFINED  # version 0 of the answer has no such field
        fallback = fallback_offset(rules, brokers.replicas[row], state)
        follow_answer(kernel, brokers, row, epoch, item.end_offset, fallback)
    elif action == PARTITION_FENCED:
        mark_partition_failed(rules, state)
        after_error(kernel, brokers, row)
    else:
        delay_partition(state)
        set_delay(kernel, brokers, row)


@inner_rule
def follow_answer(
    kernel: Kernel, brokers: Brokers, row: int, epoch: int, end_offset: int, fallback: int
) -> None:
    """Truncate as an answer says: (epoch, end offset), of a question or a fetch."""
    rules = brokers.rules[brokers.hosted[row].broker]
    partition = brokers.replicas[row]
    own_epoch, own_end_offset = end_offset_for(
        rules, epochs_of(brokers, row), partition.epoch_count, partition.log_end_offset, epoch
    )
    offset, completed = offset_truncation_state(
        epoch, end_offset, own_epoch, own_end_offset, partition.log_end_offset, fallback
    )
    _truncate(kernel, brokers, row, offset, completed)


@inner_rule
def _truncate(kernel: Kernel, brokers: Brokers, row: int, offset: int, completed: bool) -> None:
    rules = brokers.rules[brokers.hosted[row].broker]
    cut_log(kernel, brokers, row, offset)
    partition = brokers.replicas[row]
    epoch = latest_epoch(epochs_of(brokers, row), partition.epoch_count)
    complete_truncation(rules, brokers.fetch_states[row], offset, completed, epoch)


@inner_rule
def cut_log(kernel: Kernel, brokers: Brokers, row: int, offset: int) -> None:
    """Cut a replica's log at ``offset``, and write down what it held if that removes records.

    Source: Partition.truncateTo@2.4.0.
    """
    partition = brokers.replicas[row]
    hosted = brokers.hosted[row]
    before = partition.log_end_offset
    if offset < before:
        write_log_runs(kernel, brokers, row, REASON_TRUNCATION)
    removed = truncate_to(
        brokers.rules[hosted.broker],
        partition,
        runs_of(brokers, row),
        epochs_of(brokers, row),
        offset,
    )
    if removed > 0:
        _write_truncation(kernel, brokers, row, before)


@inner_rule
def _write_truncation(kernel: Kernel, brokers: Brokers, row: int, before: int) -> None:
    partition = brokers.replicas[row]
    written = new_row(kernel, brokers.hosted[row].broker, TRUNCATED)
    written.values[0] = brokers.hosted[row].partition
    written.values[1] = partition.log_end_offset
    written.values[2] = before
    written.values[3] = partition.leader_epoch
    written.values[4] = partition.high_watermark
    write_canonical(kernel, written)


@inner_rule
def write_log_runs(kernel: Kernel, brokers: Brokers, row: int, reason: int) -> None:
    """Write down what a replica's log holds: a row for each epoch's run of records."""
    partition = brokers.replicas[row]
    runs = runs_of(brokers, row)
    for index in range(partition.run_count):
        end_offset = partition.log_end_offset
        if index + 1 < partition.run_count:
            end_offset = runs[index + 1].start_offset
        written = new_row(kernel, brokers.hosted[row].broker, LOG_END)
        written.values[0] = brokers.hosted[row].partition
        written.values[1] = runs[index].epoch
        written.values[2] = runs[index].start_offset
        written.values[3] = end_offset
        written.values[4] = reason
        write_canonical(kernel, written)


@inner_rule
def leave_range(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, item: PartitionData
) -> None:
    """After OFFSET_OUT_OF_RANGE: cut the log to the leader's, or begin it anew at its start.

    Where Kafka's broker exits (up to 2.0.0, unclean election disabled) the partition fails:
    brokers that exit come with restarts.

    Source: AbstractFetcherThread.fetchOffsetAndTruncate@2.4.0.
    """
    rules = brokers.rules[brokers.hosted[row].broker]
    partition = brokers.replicas[row]
    state = brokers.fetch_states[row]
    action, offset = fetch_offset_and_truncate(
        rules,
        partition.log_end_offset,
        item.log_start_offset,
        item.end_offset,
        topology.partitions[item.partition].unclean_leader_election,
    )
    if action == STOP_BROKER:
        mark_partition_failed(rules, state)
        after_error(kernel, brokers, row)
        return
    if action == TRUNCATE_TO:
        cut_log(kernel, brokers, row, offset)
    elif action == TRUNCATE_FULLY_AND_START_AT:
        before = partition.log_end_offset
        write_log_runs(kernel, brokers, row, REASON_TRUNCATION)
        truncate_fully_and_start_at(rules, partition, offset)
        _write_truncation(kernel, brokers, row, before)
    restart_at(state, offset, latest_epoch(epochs_of(brokers, row), partition.epoch_count))
