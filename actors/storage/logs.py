"""A replica's log as a whole: it is cut, restarted, recorded in rows, and flushed to disk.

Kafka flushes a log every log.flush.interval.messages (never, by default) and at a clean stop, and
leaves the rest to the operating system, which writes pages that have been in memory for its
write-back time. Until then a loss of power takes it.

A loss of power leaves whole batches: the recovery of a log cuts off a torn one. The kernel has no
batches in logs, but their sizes do not vary within a producer: the ends of batches are the
multiples of that size, or where producers differ of the greatest common divisor.

The age of records in memory is kept in spans: appends within a sixth of the write-back time are one
span, and count as written when the whole span is old enough. (Linux looks only every 5 s, too, for
pages older than 30 s.)
"""

from tidegauge.actors.state.brokers import Brokers, epochs_of, note_change, runs_of
from tidegauge.actors.storage.checkpoints import checkpoint_recovery_points, note_cut_epochs
from tidegauge.actors.storage.producers import cut_producers, forget_producers
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.log import truncate_fully_and_start_at, truncate_to
from tidegauge.simulation.kernel import NONE, Context
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.trace_rows.codes import REASON_TRUNCATION
from tidegauge.simulation.trace_rows.replica_rows import LogEnd, Truncated


@inner_rule
def cut_log(world: Brokers, row: int, offset: int) -> None:
    """Cut a replica's log at ``offset``, and write rows about its content if that removes records.

    Source: Partition.truncateTo@2.4.0.
    """
    note_change(world, row)
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
    """Restart a replica's log at ``offset``.

    Source: Partition.truncateFullyAndStartAt@2.4.0.
    """
    note_change(world, row)
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
    """Cut records are not on disk any more: the checkpoint is lowered at once, a future log cut.

    Source: LogManager.truncateTo@0.10.2.0 and @2.4.0,
    ReplicaAlterLogDirsManager.markPartitionsForTruncation@1.1.0.
    """
    on_disk = world.on_disk[row]
    on_disk.future_end_offset = min(on_disk.future_end_offset, world.replicas[row].log_end_offset)
    on_disk.recovery_point = min(on_disk.recovery_point, world.replicas[row].log_end_offset)
    checkpoint_recovery_points(world, world.hosted[row].broker)


@inner_rule
def _write_truncation(world: Brokers, row: int, before: int) -> None:
    partition = world.replicas[row]
    hosted = world.hosted[row]
    written = Truncated.new(
        world,
        partition,
        partition=hosted.partition,
        end_offset=partition.log_end_offset,
        old_end_offset=before,
    )
    if hosted.follows_row != NONE:
        # A response is about many partitions, which may have other leaders for other reasons.
        written.because_process = hosted.broker
        written.because_sequence = hosted.follows_row
    record_row(world, written)


@inner_rule
def write_log_runs(world: Brokers, row: int, reason: int) -> None:
    """Write a replica's log: a row for each epoch's run of records."""
    partition = world.replicas[row]
    runs = runs_of(world, row)
    for index in range(partition.run_count):
        end_offset = partition.log_end_offset
        if index + 1 < partition.run_count:
            end_offset = runs[index + 1].start_offset
        LogEnd.write(
            world, world.hosted[row], runs[index], partition, end_offset=end_offset, reason=reason
        )


#: The number of spans of each log, and of those in the write-back time.
MARKS = code(8)
_SPANS = code(6)

#: Kafka's default of log.flush.interval.messages.
NEVER_FLUSHED = code(2**63 - 1)


@inner_rule
def note_append(context: Context, world: Brokers, row: int, base_offset: int) -> None:
    """Records were appended from ``base_offset`` on: they lie in memory from now on."""
    if len(world.marks) == 0:
        return
    on_disk = world.on_disk[row]
    span_us = world.brokers[world.hosted[row].broker].write_back_us // _SPANS
    last = world.marks[row * MARKS + (on_disk.marks + MARKS - 1) % MARKS]
    if on_disk.marks > 0 and context.time_us < last.time_us + span_us:
        # A log that was cut meanwhile begins its span where it is now.
        last.offset = min(last.offset, base_offset)
        return
    mark = world.marks[row * MARKS + on_disk.marks % MARKS]
    mark.time_us = context.time_us
    mark.offset = base_offset
    on_disk.marks += 1


@inner_rule
def offset_on_disk(context: Context, world: Brokers, row: int) -> int:
    """Up to which offset a log is on disk now, if it was not cut to less."""
    on_disk = world.on_disk[row]
    broker = world.brokers[world.hosted[row].broker]
    log_end_offset = world.replicas[row].log_end_offset
    written = log_end_offset
    span_us = broker.write_back_us // _SPANS
    for back in range(1, min(on_disk.marks, MARKS) + 1):
        mark = world.marks[row * MARKS + (on_disk.marks - back) % MARKS]
        if mark.time_us + span_us + broker.write_back_us > context.time_us:
            written = min(written, mark.offset)
    return max(written, min(on_disk.recovery_point, log_end_offset))


@inner_rule
def whole_batches(world: Brokers, row: int, offset: int) -> int:
    """The end of the last batch of a log that ends at an offset or before it.

    Source: LogSegment.recover@2.6.0.
    """
    partition = world.partitions[world.hosted[row].partition]
    written = offset - partition.existing_records
    return offset - written % partition.batch_records if written > 0 else offset


@inner_rule
def flush_if_due(world: Brokers, row: int) -> None:
    """Flush a log in which enough records have gathered.

    Source: Log.append and unflushedMessages@0.10.2.0 and @2.4.0.
    """
    interval = world.brokers[world.hosted[row].broker].log_flush_interval_messages
    if interval == NEVER_FLUSHED:
        return
    on_disk = world.on_disk[row]
    end_offset = world.replicas[row].log_end_offset
    if end_offset - on_disk.recovery_point >= interval:
        on_disk.recovery_point = end_offset
