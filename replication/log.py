"""A replica's log: its records by epoch, its ends, its leader-epoch cache.

A log needs no payloads here. The records that were really written are kept as epoch runs: (leader
epoch, first offset), each reaching to the next one's start and the last to the log end offset.
Beside them lies the leader-epoch cache, which has the *protocol's* knowledge: nothing at all before
0.11, and from 2.0.1 on also an epoch whose leader has not written yet. Truncation decides by the
cache; whether records were lost is judged by the runs.

``runs`` and ``entries`` are the replica's own arrays for the two, with room for one more than
``partition.run_count`` and ``partition.epoch_count``, the used entries.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import rule
from tidegauge.replication import leader_epoch_cache
from tidegauge.replication.high_watermark import update_high_watermark
from tidegauge.replication.records import UNDEFINED, EpochEntry, Partition
from tidegauge.replication.release_rules import EPOCH_CACHE_NONE, ReleaseRules


@rule
def append(
    rules: ReleaseRules,
    partition: Partition,
    runs: Records[EpochEntry],
    entries: Records[EpochEntry],
    epoch: int,
    record_count: int,
) -> int:
    """Append records of one epoch at the log end; the offset of the first one.

    A leader stamps its own epoch, a follower takes the batch's. Either enters the epoch
    in its cache with the first batch of it; batches of an old message format carry none.

    Source: Log.append@0.11.0.0 and @2.4.0.
    """
    base_offset = partition.log_end_offset
    if partition.run_count == 0 or runs[partition.run_count - 1].epoch != epoch:
        runs[partition.run_count].epoch = epoch
        runs[partition.run_count].start_offset = base_offset
        partition.run_count += 1
    if rules.records_carry_epoch:
        partition.epoch_count = leader_epoch_cache.assign(
            rules, entries, partition.epoch_count, epoch, base_offset
        )
    partition.log_end_offset = base_offset + record_count
    return base_offset


@rule
def truncate_to(
    rules: ReleaseRules,
    partition: Partition,
    runs: Records[EpochEntry],
    entries: Records[EpochEntry],
    offset: int,
) -> int:
    """Cut the log so that ``offset`` is its end; the number of removed records.

    At the log end or above nothing is removed, but from 2.6.1 on the cache forgets an epoch
    that was to start at the log end (KAFKA-10706). Up to 2.3 the high watermark stays where
    it was, even above the log end.

    Source: Log.truncateTo@0.11.0.0, @2.4.0 and @2.6.1.
    """
    if offset >= partition.log_end_offset:
        if not rules.epoch_kept_by_empty_truncation:
            partition.epoch_count = leader_epoch_cache.truncate_from_end(
                entries, partition.epoch_count, partition.log_end_offset
            )
        return 0
    removed = partition.log_end_offset - max(offset, partition.log_start_offset)
    if offset < partition.log_start_offset:
        truncate_fully_and_start_at(rules, partition, offset)
        return removed
    partition.log_end_offset = offset
    partition.run_count = leader_epoch_cache.truncate_from_end(runs, partition.run_count, offset)
    partition.epoch_count = leader_epoch_cache.truncate_from_end(
        entries, partition.epoch_count, offset
    )
    _keep_high_watermark_in_log(rules, partition)
    return removed


@rule
def truncate_fully_and_start_at(rules: ReleaseRules, partition: Partition, offset: int) -> None:
    """Delete all records and start an empty log at ``offset``.

    Source: Log.truncateFullyAndStartAt@0.11.0.0 and @2.8.0.
    """
    partition.log_start_offset = offset
    partition.log_end_offset = offset
    partition.run_count = 0
    partition.epoch_count = 0
    _keep_high_watermark_in_log(rules, partition)


@rule
def increment_log_start_offset(
    partition: Partition,
    runs: Records[EpochEntry],
    entries: Records[EpochEntry],
    offset: int,
) -> None:
    """Delete the records below ``offset``: retention, DeleteRecords, or the leader's start.

    Source: Log.maybeIncrementLogStartOffset@0.11.0.0 and @2.4.0.
    """
    if offset <= partition.log_start_offset:
        return
    partition.log_start_offset = offset
    partition.run_count = leader_epoch_cache.truncate_from_start(runs, partition.run_count, offset)
    partition.epoch_count = leader_epoch_cache.truncate_from_start(
        entries, partition.epoch_count, offset
    )


@rule
def first_kept_offset(
    partition: Partition, segment_records: int, retention_records: int, expired_offset: int
) -> int:
    """The log start offset once old segments are deleted, up to the high watermark at most.

    By size, as many as leave ``retention_records`` or more (UNDEFINED: no limit); by age, those of
    which all records lie below ``expired_offset``.

    Segments have a size in records, and begin at its multiples; the last one is written to, and
    stays. In Kafka each replica rolls by itself, at about the same offsets.

    Source: Log.deleteRetentionSizeBreachedSegments, deleteRetentionMsBreachedSegments and
    deletableSegments@2.6.0.
    """
    offset = expired_offset
    if retention_records != UNDEFINED:
        offset = max(offset, partition.log_end_offset - retention_records)
    offset = min(offset, partition.high_watermark, partition.log_end_offset - 1)
    return max(partition.log_start_offset, offset // segment_records * segment_records)


@rule
def expired_records(existing_records: int, now_s: int, retention_s: int) -> int:
    """The number of the records from before the run that are older than retention.ms by now.

    They count as written evenly over retention.ms; UNDEFINED: nothing expires.

    Source: Log.deleteRetentionMsBreachedSegments@2.6.0.
    """
    if retention_s == UNDEFINED:
        return 0
    passed_s = min(now_s, retention_s)
    whole, rest = existing_records // retention_s, existing_records % retention_s
    return whole * passed_s + rest * passed_s // retention_s


@rule
def open_log(
    rules: ReleaseRules,
    partition: Partition,
    checkpoint: Records[EpochEntry],
    checkpoint_count: int,
    entries: Records[EpochEntry],
    checkpointed_high_watermark: int,
) -> None:
    """Restore the state that a restart finds on disk beside the log itself.

    The cache is read from its checkpoint and trimmed to the log, so an epoch whose leader wrote
    nothing is forgotten; without a cache, the file is deleted. The high watermark is the
    checkpointed one, 0 if the file has none.

    Source: Log initialisation and Partition.getOrCreateReplica@0.11.0.0,
    Log.initializeLeaderEpochCache@2.1.1, Partition.createLog@2.4.0.
    """
    if rules.epoch_cache_generation == EPOCH_CACHE_NONE:
        checkpoint_count = 0
    count = leader_epoch_cache.load(rules, checkpoint, checkpoint_count, entries)
    count = leader_epoch_cache.truncate_from_end(entries, count, partition.log_end_offset)
    partition.epoch_count = leader_epoch_cache.truncate_from_start(
        entries, count, partition.log_start_offset
    )
    update_high_watermark(rules, partition, checkpointed_high_watermark)


@rule
def epoch_at(runs: Records[EpochEntry], count: int, offset: int) -> int:
    """The leader epoch under which the record at ``offset`` was written; -1 if unknown."""
    index = leader_epoch_cache.entry_for_offset(runs, count, offset)
    return runs[index].epoch if index >= 0 else UNDEFINED


@rule
def first_difference(
    one: Partition,
    one_runs: Records[EpochEntry],
    other: Partition,
    other_runs: Records[EpochEntry],
) -> int:
    """First offset at which two logs hold different records, or only one holds any.

    -1 if they are equal from the later of the two log starts on. Two records at one offset
    are the same if their leader epochs are.
    """
    offset = max(one.log_start_offset, other.log_start_offset)
    common_end = min(one.log_end_offset, other.log_end_offset)
    while offset < common_end:
        one_run = leader_epoch_cache.entry_for_offset(one_runs, one.run_count, offset)
        other_run = leader_epoch_cache.entry_for_offset(other_runs, other.run_count, offset)
        if one_runs[one_run].epoch != other_runs[other_run].epoch:
            return offset
        one_end = _run_end(one, one_runs, one_run)
        other_end = _run_end(other, other_runs, other_run)
        offset = min(one_end, other_end)
    if one.log_end_offset == other.log_end_offset:
        return UNDEFINED
    return offset


@rule
def _run_end(partition: Partition, runs: Records[EpochEntry], index: int) -> int:
    if index + 1 < partition.run_count:
        return runs[index + 1].start_offset
    return partition.log_end_offset


@rule
def _keep_high_watermark_in_log(rules: ReleaseRules, partition: Partition) -> None:
    if rules.high_watermark_clamped_to_log:
        update_high_watermark(rules, partition, partition.high_watermark)
