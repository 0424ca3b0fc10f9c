"""Snapshots of the metadata log, as every node has them: when one is due, and its row.

Source: SnapshotGenerator.publishLogDelta@3.9.0 (KIP-630, KIP-876).
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.metadata_log import METADATA_RECORD_BYTES
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.quorum_rows import MetadataSnapshot


@inner_rule
def is_snapshot_due(records: int, age_us: int, max_bytes: int, interval_us: int) -> bool:
    """Whether so many records, or so long a time, since the last snapshot ask for another.

    Args:
        records: those behind the last snapshot.
        age_us: the time since it.
        max_bytes: metadata.log.max.record.bytes.between.snapshots.
        interval_us: metadata.log.max.snapshot.interval.ms; 0: time does not count.
    """
    is_old = interval_us > 0 and age_us >= interval_us
    return records * METADATA_RECORD_BYTES >= max_bytes or is_old


@inner_rule
def write_snapshot_row(
    world: Kernel,
    process: int,
    node: int,
    step: int,
    end_offset: int,
    epoch: int,
    size_bytes: int,
    log_start_offset: int,
) -> None:
    """Write down what has happened to a snapshot of a node; the row causes nothing."""
    context = world.context[0]
    cause_process = context.cause_process
    cause_sequence = context.cause_sequence
    row = new_row(world, process, MetadataSnapshot)
    row.broker = node
    row.snapshot_step = step
    row.end_offset = end_offset
    row.quorum_epoch = epoch
    row.snapshot_bytes = size_bytes
    row.log_start_offset = log_start_offset
    write_row(world, row)
    context.cause_process = cause_process
    context.cause_sequence = cause_sequence
