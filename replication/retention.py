"""Retention: which old segments of a log are deleted.

Segments have a size in records here, and begin at its multiples: in reality each replica rolls by
itself, at about the same offsets. The segment that is written to is never deleted.
"""

from __future__ import annotations

from tidegauge.compiled.rules import rule
from tidegauge.replication.records import UNDEFINED, Partition


@rule
def first_kept_offset(
    partition: Partition, segment_records: int, retention_records: int, expired_offset: int
) -> int:
    """The log start offset once old segments are deleted, up to the high watermark at most.

    By size, as many as leave ``retention_records`` or more (UNDEFINED: no limit); by age, those of
    which all records lie below ``expired_offset``.

    Source: Log.deleteRetentionSizeBreachedSegments, deleteRetentionMsBreachedSegments and
    deletableSegments@2.6.0.
    """
    offset = expired_offset
    if retention_records != UNDEFINED:
        offset = max(offset, partition.log_end_offset - retention_records)
    # The last segment is written to.
    offset = min(offset, partition.high_watermark, partition.log_end_offset - 1)
    return max(partition.log_start_offset, offset // segment_records * segment_records)


@rule
def expired_records(existing_records: int, now_s: int, retention_s: int) -> int:
    """How many of the records that existed before the run are older than retention.ms by now.

    They count as written evenly over retention.ms; UNDEFINED: nothing expires.
    """
    if retention_s == UNDEFINED:
        return 0
    passed_s = min(now_s, retention_s)
    whole, rest = existing_records // retention_s, existing_records % retention_s
    return whole * passed_s + rest * passed_s // retention_s
