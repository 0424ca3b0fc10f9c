"""A leader's log: appends, its followers' fetches, and the high watermark that follows.

The four moments at which a leader tries to move its high watermark all come through
:func:`try_high_watermark`: it becomes leader, the ISR shrinks, it appends, a follower
fetches.
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import (
    wake_fetches,
    wake_produces,
    write_acknowledged,
)
from tidegauge.actors.state.brokers import (
    EPOCH_MARGIN,
    Brokers,
    epochs_of,
    ineligible_replicas,
    now_ms,
    runs_of,
)
from tidegauge.actors.storage.checkpoints import note_epoch
from tidegauge.actors.storage.write_back import flush_if_due, note_append
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.high_watermark import (
    may_move_after_fetch,
    maybe_increment_leader_high_watermark,
)
from tidegauge.replication.leader_epoch_cache import latest_epoch
from tidegauge.replication.log import append
from tidegauge.replication.min_insync_replicas import ACKS_ALL, ACKS_LEADER
from tidegauge.replication.remote_replica import (
    counts_fetch,
    update_after_failed_read,
    update_fetch_state,
)
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.kernel import Kernel, PartitionData
from tidegauge.simulation.row_kinds import (
    APPENDED,
    EXPOSED,
    FETCH_COUNTED,
    HIGH_WATERMARK_MOVED,
    MOMENT_APPEND,
)
from tidegauge.simulation.rows import new_row, traces_all, write_canonical, write_minor
from tidegauge.simulation.topology import Topology, broker_of

#: Nothing is deleted from the start of a log.
_LOG_START = code(0)


@inner_rule
def try_high_watermark(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, moment: int
) -> bool:
    """Attempt to move the high watermark of a leader; who waits for it is woken.

    Source: Partition.maybeIncrementLeaderHW and tryCompleteDelayedRequests@2.4.0.
    """
    partition = brokers.replicas[row]
    broker = brokers.brokers[brokers.hosted[row].broker]
    rules = brokers.rules[brokers.hosted[row].broker]
    ineligible = EMPTY
    if rules.expand_requires_eligible:
        ineligible = ineligible_replicas(kernel, topology, brokers, row)
    before = partition.high_watermark
    moved = maybe_increment_leader_high_watermark(
        rules,
        partition,
        brokers.followers,
        now_ms(kernel.context[0]),
        broker.replica_lag_time_max_ms,
        ineligible,
    )
    if moved:
        if traces_all(kernel):
            trace_high_watermark(kernel, brokers, row, before, moment)
        wake_produces(kernel, topology, brokers, row)
        wake_fetches(kernel, topology, brokers, row)
    return moved


@inner_rule
def trace_high_watermark(
    kernel: Kernel, brokers: Brokers, row: int, before: int, moment: int
) -> None:
    """Record that a replica's high watermark has moved, and at which occasion."""
    partition = brokers.replicas[row]
    traced = new_row(kernel, brokers.hosted[row].broker, HIGH_WATERMARK_MOVED)
    traced.values[0] = brokers.hosted[row].partition
    traced.values[1] = 1 if partition.leader == partition.local_replica else 0
    traced.values[2] = partition.high_watermark
    traced.values[3] = before
    traced.values[4] = moment
    write_minor(kernel, traced)


@inner_rule
def append_to_leader(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, record_count: int
) -> int:
    """Append a producer's records under the leader's epoch; the offset of the first.

    Source: Partition.appendRecordsToLeader@2.4.0.
    """
    partition = brokers.replicas[row]
    base_offset = append_to_log(kernel, brokers, row, partition.leader_epoch, record_count)
    try_high_watermark(kernel, topology, brokers, row, MOMENT_APPEND)
    wake_fetches(kernel, topology, brokers, row)
    return base_offset


@inner_rule
def append_to_log(kernel: Kernel, brokers: Brokers, row: int, epoch: int, record_count: int) -> int:
    """Append records of one epoch to a replica's log; the offset of the first."""
    partition = brokers.replicas[row]
    broker = brokers.hosted[row].broker
    epochs = epochs_of(brokers, row)
    epoch_count = partition.epoch_count
    last_epoch = latest_epoch(epochs, epoch_count)
    base_offset = append(
        brokers.rules[broker], partition, runs_of(brokers, row), epochs, epoch, record_count
    )
    if epoch != last_epoch:
        note_epoch(kernel, brokers, row, epoch_count, last_epoch)
    note_append(kernel.context[0], brokers, row, base_offset)
    flush_if_due(brokers, row)
    keep_room_for_epochs(kernel, brokers, row)
    if traces_all(kernel):
        traced = new_row(kernel, broker, APPENDED)
        traced.values[0] = brokers.hosted[row].partition
        traced.values[1] = 1 if partition.leader == partition.local_replica else 0
        traced.values[2] = base_offset
        traced.values[3] = partition.log_end_offset
        traced.values[4] = epoch
        traced.values[5] = partition.high_watermark
        write_minor(kernel, traced)
    return base_offset


@inner_rule
def keep_room_for_epochs(kernel: Kernel, brokers: Brokers, row: int) -> None:
    """Ask for larger tables when a replica's epochs have nearly filled their room."""
    partition = brokers.replicas[row]
    if max(partition.run_count, partition.epoch_count) + EPOCH_MARGIN > brokers.pools[0].epoch_room:
        kernel.context[0].needs_room = True


@inner_rule
def count_fetch(
    kernel: Kernel,
    topology: Topology,
    brokers: Brokers,
    row: int,
    replica: int,
    item: PartitionData,
) -> None:
    """Take a follower's fetch for what it says of the follower's log end offset.

    ``item.may_move`` says afterwards whether it is an occasion to move the high watermark.

    Source: ReplicaManager.updateFollowerFetchState, Partition.updateFollowerFetchState@2.4.0.
    """
    partition = brokers.replicas[row]
    rules = brokers.rules[brokers.hosted[row].broker]
    index = partition.first_follower + replica
    follower = brokers.followers[index]
    before = follower.log_end_offset
    if item.error != 0:
        update_after_failed_read(rules, follower)
        return
    if not counts_fetch(rules, item.diverging_end_offset >= 0):
        return
    update_fetch_state(
        rules,
        follower,
        item.offset,
        _LOG_START,
        now_ms(kernel.context[0]),
        partition.log_end_offset,
    )
    brokers.follower_fetches[index].last_sent_high_watermark = item.high_watermark
    item.may_move = may_move_after_fetch(rules, before, follower)
    if traces_all(kernel):
        traced = new_row(kernel, brokers.hosted[row].broker, FETCH_COUNTED)
        traced.values[0] = item.partition
        traced.values[1] = broker_of(topology, item.partition, replica)
        traced.values[2] = item.offset
        traced.values[3] = before
        traced.values[4] = partition.log_end_offset
        traced.values[5] = partition.high_watermark
        write_minor(kernel, traced)


@inner_rule
def close_account(kernel: Kernel, brokers: Brokers, row: int, reason: int) -> None:
    """Write down what this leader's term has acknowledged and exposed so far."""
    write_acknowledged(kernel, brokers, row, ACKS_ALL, reason)
    write_acknowledged(kernel, brokers, row, ACKS_LEADER, reason)
    partition = brokers.replicas[row]
    written = new_row(kernel, brokers.hosted[row].broker, EXPOSED)
    written.values[0] = brokers.hosted[row].partition
    written.values[1] = partition.leader_epoch
    written.values[2] = partition.high_watermark
    written.values[3] = reason
    write_canonical(kernel, written)
