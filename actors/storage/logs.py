"""What happens to a replica's log as a whole: it is cut, begun anew, written down."""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, epochs_of, runs_of
from tidegauge.actors.storage.checkpoints import checkpoint_recovery_points, note_cut_epochs
from tidegauge.actors.storage.producers import cut_producers, forget_producers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.log import truncate_fully_and_start_at, truncate_to
from tidegauge.simulation.codes.occasions import REASON_TRUNCATION
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.replica_rows import LogEnd, Truncated


@inner_rule
def cut_log(world: Brokers, row: int, offset: int) -> None:
    """Cut a replica's log at ``offset``, and write down what it held if that removes records.

    Source: Partition.truncateTo@2.4.0.
    """
    partition = world.replicas[row]
    hosted = world.hosted[row]
    before = partition.log_end_offset
    epoch_count = partition.epoch_count
    if offset < before:
        write_log_runs(world, row, REASON_TRUNCATION)
    rules = world.rules[hosted.broker]
    removed = truncate_to(rules, partition, runs_of(world, row), epochs_of(world, row), offset)
    if removed > 0:
        cut_producers(world, row)
        _write_truncation(world, row, before)
        _lower_recovery_point(world, row)
    elif rules.truncation_always_checkpoints:
        on_disk = world.on_disk[row]
        # The first of many partitions has written the file for all of them.
        if on_disk.recovery_point_checkpoint != on_disk.recovery_point:
            checkpoint_recovery_points(world, hosted.broker)
    note_cut_epochs(world, row, epoch_count)


@inner_rule
def empty_log(world: Brokers, row: int, offset: int) -> None:
    """Begin a replica's log anew at ``offset``.

    Source: Partition.truncateFullyAndStartAt@2.4.0.
    """
    partition = world.replicas[row]
    before = partition.log_end_offset
    epoch_count = partition.epoch_count
    write_log_runs(world, row, REASON_TRUNCATION)
    truncate_fully_and_start_at(world.rules[world.hosted[row].broker], partition, offset)
    forget_producers(world, row)
    _write_truncation(world, row, before)
    _lower_recovery_point(world, row)
    note_cut_epochs(world, row, epoch_count)


@inner_rule
def _lower_recovery_point(world: Brokers, row: int) -> None:
    """What is cut is not on disk any more: the checkpoint says so at once.

    Source: LogManager.truncateTo@0.10.2.0 and @2.4.0.
    """
    on_disk = world.on_disk[row]
    on_disk.recovery_point = min(on_disk.recovery_point, world.replicas[row].log_end_offset)
    checkpoint_recovery_points(world, world.hosted[row].broker)


@inner_rule
def _write_truncation(world: Brokers, row: int, before: int) -> None:
    partition = world.replicas[row]
    hosted = world.hosted[row]
    written = new_row(world, hosted.broker, Truncated)
    written.partition = hosted.partition
    if hosted.follows_row != NONE:
        # A response is about many partitions, which may have other leaders for other reasons.
        written.because_process = hosted.broker
        written.because_sequence = hosted.follows_row
    written.end_offset = partition.log_end_offset
    written.old_end_offset = before
    written.leader_epoch = partition.leader_epoch
    written.high_watermark = partition.high_watermark
    write_row(world, written)


@inner_rule
def write_log_runs(world: Brokers, row: int, reason: int) -> None:
    """Write down what a replica's log holds: a row for each epoch's run of records."""
    partition = world.replicas[row]
    runs = runs_of(world, row)
    for index in range(partition.run_count):
        end_offset = partition.log_end_offset
        if index + 1 < partition.run_count:
            end_offset = runs[index + 1].start_offset
        written = new_row(world, world.hosted[row].broker, LogEnd)
        written.partition = world.hosted[row].partition
        written.epoch = runs[index].epoch
        written.start_offset = runs[index].start_offset
        written.end_offset = end_offset
        written.reason = reason
        written.high_watermark = partition.high_watermark
        write_row(world, written)
