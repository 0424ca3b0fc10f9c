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
from tidegauge.actors.storage.disks import write_back
from tidegauge.actors.storage.page_cache import note_cached
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
from tidegauge.simulation.codes.occasions import MOMENT_APPEND
from tidegauge.simulation.messages.client_requests import FetchPartition
from tidegauge.simulation.rows import new_row, traces_all, write_row
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.replica_rows import Exposed
from tidegauge.simulation.trace_rows.request_rows import Appended, FetchCounted, HighWatermarkMoved

#: Nothing is deleted from the start of a log.
_LOG_START = code(0)


@inner_rule
def try_high_watermark(world: Brokers, row: int, moment: int) -> bool:
    """Attempt to move the high watermark of a leader; who waits for it is woken.

    Source: Partition.maybeIncrementLeaderHW and tryCompleteDelayedRequests@2.4.0.
    """
    partition = world.replicas[row]
    broker = world.brokers[world.hosted[row].broker]
    rules = world.rules[world.hosted[row].broker]
    ineligible = EMPTY
    if rules.expand_requires_eligible:
        ineligible = ineligible_replicas(world, row)
    before = partition.high_watermark
    moved = maybe_increment_leader_high_watermark(
        rules,
        partition,
        world.followers,
        now_ms(world.context[0]),
        broker.replica_lag_time_max_ms,
        ineligible,
    )
    if moved:
        if traces_all(world):
            trace_high_watermark(world, row, before, moment)
        wake_produces(world, row)
        wake_fetches(world, row)
    return moved


@inner_rule
def trace_high_watermark(world: Brokers, row: int, before: int, moment: int) -> None:
    """Record that a replica's high watermark has moved, and at which occasion."""
    partition = world.replicas[row]
    traced = new_row(world, world.hosted[row].broker, HighWatermarkMoved)
    traced.partition = world.hosted[row].partition
    traced.leads = 1 if partition.leader == partition.local_replica else 0
    traced.high_watermark = partition.high_watermark
    traced.old_high_watermark = before
    traced.moment = moment
    write_row(world, traced)


@inner_rule
def append_to_leader(world: Brokers, row: int, record_count: int) -> int:
    """Append a producer's records under the leader's epoch; the offset of the first.

    Source: Partition.appendRecordsToLeader@2.4.0.
    """
    partition = world.replicas[row]
    base_offset = append_to_log(world, row, partition.leader_epoch, record_count)
    try_high_watermark(world, row, MOMENT_APPEND)
    wake_fetches(world, row)
    return base_offset


@inner_rule
def append_to_log(world: Brokers, row: int, epoch: int, record_count: int) -> int:
    """Append records of one epoch to a replica's log; the offset of the first."""
    partition = world.replicas[row]
    broker = world.hosted[row].broker
    epochs = epochs_of(world, row)
    epoch_count = partition.epoch_count
    last_epoch = latest_epoch(epochs, epoch_count)
    base_offset = append(
        world.rules[broker], partition, runs_of(world, row), epochs, epoch, record_count
    )
    if epoch != last_epoch:
        note_epoch(world, row, epoch_count, last_epoch)
    note_append(world.context[0], world, row, base_offset)
    size_bytes = record_count * world.partitions[world.hosted[row].partition].record_bytes
    note_cached(world, row, base_offset, size_bytes)
    write_back(world, row, size_bytes)
    flush_if_due(world, row)
    keep_room_for_epochs(world, row)
    if traces_all(world):
        traced = new_row(world, broker, Appended)
        traced.partition = world.hosted[row].partition
        traced.leads = 1 if partition.leader == partition.local_replica else 0
        traced.base_offset = base_offset
        traced.end_offset = partition.log_end_offset
        traced.epoch = epoch
        traced.high_watermark = partition.high_watermark
        write_row(world, traced)
    return base_offset


@inner_rule
def keep_room_for_epochs(world: Brokers, row: int) -> None:
    """Ask for larger tables when a replica's epochs have nearly filled their room."""
    partition = world.replicas[row]
    if max(partition.run_count, partition.epoch_count) + EPOCH_MARGIN > world.pools[0].epoch_room:
        world.context[0].needs_room = True


@inner_rule
def count_fetch(world: Brokers, row: int, replica: int, item: FetchPartition) -> None:
    """Take a follower's fetch for what it says of the follower's log end offset.

    ``item.may_move`` says afterwards whether it is an occasion to move the high watermark.

    Source: ReplicaManager.updateFollowerFetchState, Partition.updateFollowerFetchState@2.4.0.
    """
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    index = partition.first_follower + replica
    follower = world.followers[index]
    before = follower.log_end_offset
    if item.error != 0:
        update_after_failed_read(rules, follower)
        return
    if not counts_fetch(rules, item.diverging_end_offset >= 0):
        return
    update_fetch_state(
        rules,
        follower,
        item.fetch_offset,
        _LOG_START,
        now_ms(world.context[0]),
        partition.log_end_offset,
    )
    world.follower_fetches[index].last_sent_high_watermark = item.high_watermark
    item.may_move = may_move_after_fetch(rules, before, follower)
    if traces_all(world):
        traced = new_row(world, world.hosted[row].broker, FetchCounted)
        traced.partition = item.partition
        traced.replica = broker_of(world, item.partition, replica)
        traced.fetch_offset = item.fetch_offset
        traced.old_offset = before
        traced.log_end_offset = partition.log_end_offset
        traced.high_watermark = partition.high_watermark
        write_row(world, traced)


@inner_rule
def close_account(world: Brokers, row: int, reason: int) -> None:
    """Write down what this leader's term has acknowledged and exposed so far."""
    write_acknowledged(world, row, ACKS_ALL, reason)
    write_acknowledged(world, row, ACKS_LEADER, reason)
    partition = world.replicas[row]
    written = new_row(world, world.hosted[row].broker, Exposed)
    written.partition = world.hosted[row].partition
    written.leader_epoch = partition.leader_epoch
    written.high_watermark = partition.high_watermark
    written.reason = reason
    write_row(world, written)
