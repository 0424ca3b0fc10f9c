"""Retention: a leader deletes old segments, and followers begin their logs where its log begins.

A broker deletes old segments every log.retention.check.interval.ms. Simplified: only leaders do. In
Kafka a follower deletes the same segments by itself, up to an interval earlier or later.

Source: LogManager.cleanupLogs@2.6.0, Log.deleteOldSegments@2.6.0.
"""

from tidegauge.actors.fetches.fetch_sessions import touch
from tidegauge.actors.state.brokers import LOGS, Brokers, epochs_of, runs_of
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.storage.checkpoints import want_epoch_file
from tidegauge.actors.storage.log_dirs import is_unwritable
from tidegauge.actors.storage.producers import cut_producers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.log import expired_records, first_kept_offset, increment_log_start_offset
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.messages.timers import RetentionCheck
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.trace_rows.codes import RAISED_BY_RETENTION
from tidegauge.simulation.trace_rows.replica_rows import LogStartRaised


@inner_rule
def schedule_retention(world: Brokers, broker: int) -> None:
    """Begin to delete old segments, a while after the start; only where there ever are any.

    Source: LogManager.startup@2.6.0 (kafka-log-retention).
    """
    state = world.brokers[broker]
    if state.log_retention_check_interval_ms > 0:
        RetentionCheck.after(world, state.log_initial_task_delay_ms * 1000)


@BROKER.handles(RetentionCheck)
@inner_rule
def handle_retention_check(world: Brokers, timer: RetentionCheck) -> None:
    """Delete old segments of all logs, and again after the interval."""
    broker = timer.destination
    now_us = world.context[0].time_us
    for row in LOGS.of(world, world.brokers[broker]):
        facts = world.partitions[world.hosted[row].partition]
        partition = world.replicas[row]
        is_kept = facts.segment_records == 0 or not world.hosted[row].exists
        if not is_kept and is_leader(partition) and not is_unwritable(world, row):
            existing = world.on_disk[row].existing_records
            expired = expired_records(existing, now_us // 1_000_000, facts.retention_s)
            kept = facts.retention_records
            offset = first_kept_offset(partition, facts.segment_records, kept, expired)
            if offset > partition.log_start_offset:
                touch(world, row)
                raise_log_start(world, row, offset, RAISED_BY_RETENTION)
    RetentionCheck.after(world, world.brokers[broker].log_retention_check_interval_ms * 1000)


@inner_rule
def raise_log_start(world: Brokers, row: int, offset: int, raised_by: int) -> None:
    """Let a log begin at a later offset, and write that down.

    Source: Log.maybeIncrementLogStartOffset@2.6.0.
    """
    partition = world.replicas[row]
    written = LogStartRaised.new(
        world,
        partition=world.hosted[row].partition,
        log_start_offset=offset,
        old_log_start_offset=partition.log_start_offset,
        log_end_offset=partition.log_end_offset,
        raised_by=raised_by,
    )
    increment_log_start_offset(partition, runs_of(world, row), epochs_of(world, row), offset)
    cut_producers(world, row)
    record_row(world, written)
    want_epoch_file(world, row)
