"""A voter's metadata log and its snapshots.

The log has the first offsets of epochs, and its ends in memory, in its file, on its disk.

Every voter writes snapshots of its own, and a log begins where one ends. A follower or observer
that needs records from before the leader's log loads its newest snapshot instead. A record counts
for a fixed number of bytes, in the log and in a snapshot.

Source: KafkaMetadataLog, LeaderEpochFileCache, ReplicatedLog.truncateToEndOffset and
validateOffsetAndEpoch@4.1.0; SnapshotGenerator.publishLogDelta, KafkaMetadataLog.maybeClean,
deleteBeforeSnapshot, truncateToLatestSnapshot@3.9.0 (KIP-630, KIP-876).
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.raft import voters
from tidegauge.controller.raft.measured import respond_when_written, these_stats
from tidegauge.controller.raft.state import (
    EpochStart,
    Raft,
    Snapshot,
    Voter,
    name_of_voter,
    this_voter,
    voter_of,
)
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_timers import RaftFlushed, SnapshotDue
from tidegauge.simulation.messages.quorum_requests import (
    FetchSnapshotResponse,
    RaftFetchRequest,
    RaftFetchResponse,
)
from tidegauge.simulation.metadata_log import (
    METADATA_RECORD_BYTES,
    is_snapshot_due,
    write_snapshot_row,
)
from tidegauge.simulation.rows import METADATA_FSYNC, cost_us
from tidegauge.simulation.slow_disks import disk_delay_us
from tidegauge.simulation.trace_rows.codes import CLEANED, LOADED, WRITTEN
from tidegauge.simulation.trace_rows.controller_rows import VoterLog

_ONE = code(1)


@inner_rule
def epoch_place(world: Raft, number: int) -> int:
    """The place of an epoch in the log of the voter that handles the event; 0 is the oldest."""
    voter = voter_of(world, world.context[0].handling)
    return voter * (len(world.epoch_starts) // len(world.voters)) + number


@inner_rule
def last_epoch(world: Raft) -> int:
    """The epoch of the last record in the log; 0 if it is empty."""
    return last_epoch_of(world, voter_of(world, world.context[0].handling))


@inner_rule
def last_epoch_of(world: Raft, voter: int) -> int:
    """The epoch of the last record in the log of a voter; 0 if it is empty."""
    count = world.voters[voter].epoch_count
    room = len(world.epoch_starts) // len(world.voters)
    return world.epoch_starts[voter * room + count - 1].epoch if count > 0 else 0


@inner_rule
def epoch_of(world: Raft, offset: int) -> int:
    """The epoch of the record at an offset of the log."""
    number = this_voter(world).epoch_count - 1
    while number > 0 and world.epoch_starts[epoch_place(world, number)].start_offset > offset:
        number -= 1
    return world.epoch_starts[epoch_place(world, number)].epoch if number >= 0 else 0


@inner_rule
def begin_epoch(world: Raft, epoch: int, start_offset: int) -> None:
    """Note that the records of an epoch begin at an offset, which is the end of the log."""
    voter = this_voter(world)
    room = len(world.epoch_starts) // len(world.voters)
    entry: EpochStart = world.epoch_starts[epoch_place(world, voter.epoch_count)]
    entry.epoch = epoch
    entry.start_offset = start_offset
    voter.epoch_count += 1
    if 2 * voter.epoch_count > room:
        world.context[0].needs_room = True


@inner_rule
def epoch_end(world: Raft, epoch: int) -> tuple[int, int]:
    """The largest epoch of the log that is not larger than one, and the end of its records."""
    voter = this_voter(world)
    end_offset = voter.drained_offset
    number = voter.epoch_count - 1
    while number >= 0:
        entry = world.epoch_starts[epoch_place(world, number)]
        if entry.epoch <= epoch:
            return entry.epoch, end_offset
        end_offset = entry.start_offset
        number -= 1
    return 0, 0


@inner_rule
def truncate_to(world: Raft, offset: int) -> None:
    """Take the records from an offset on off the log."""
    voter = this_voter(world)
    voter.log_end_offset = offset
    voter.drained_offset = offset
    voter.flushed_offset = min(voter.flushed_offset, offset)
    voter.truncations += 1
    voters.forget_voters_from(world, offset)
    while voter.epoch_count > 0:
        entry = world.epoch_starts[epoch_place(world, voter.epoch_count - 1)]
        if entry.start_offset < offset:
            break
        voter.epoch_count -= 1


@inner_rule
def truncate_to_diverging(world: Raft, epoch: int, offset: int) -> bool:
    """Remove records that the leader lacks: its largest epoch not beyond ours ends at an offset.

    False: the voter knows that one of them is committed, and removes nothing.

    Source: ReplicatedLog.truncateToEndOffset, KafkaMetadataLog.truncateTo@4.1.0.
    """
    own_epoch, own_end = epoch_end(world, epoch)
    end_offset = min(own_end, offset) if own_epoch == epoch else own_end
    if end_offset < this_voter(world).high_watermark:
        return False
    truncate_to(world, end_offset)
    return True


@inner_rule
def write_to_disk(world: Raft, delay_us: int) -> int:
    """Let the disk write for this time after all earlier writes, and flush; the time of the end."""
    voter = this_voter(world)
    process = world.context[0].handling
    begins_us = max(voter.writes_until_us, world.context[0].time_us)
    flush_us = cost_us(world, process, METADATA_FSYNC) + disk_delay_us(world, process, _ONE)
    voter.writes_until_us = begins_us + delay_us + flush_us
    these_stats(world).written_us += delay_us + flush_us
    return voter.writes_until_us


@inner_rule
def flush_later(world: Raft, delay_us: int) -> None:
    """Let the disk write the log for this time, and flush it up to its end."""
    voter = this_voter(world)
    due_us = write_to_disk(world, delay_us)
    RaftFlushed.at(world, due_us, voter, offset=voter.drained_offset)


@inner_rule
def write_log_row(world: Raft, truncated: bool) -> None:
    """Write a row about the ends of the log; the row causes nothing."""
    context = world.context[0]
    cause_process = context.cause_process
    cause_sequence = context.cause_sequence
    voter: Voter = this_voter(world)
    VoterLog.write(
        world,
        broker=name_of_voter(world, context.handling),
        quorum_epoch=last_epoch(world),
        log_end_offset=voter.drained_offset,
        high_watermark=voter.high_watermark,
        truncated=1 if truncated else 0,
    )
    context.cause_process = cause_process
    context.cause_sequence = cause_sequence


@inner_rule
def is_up_to_date(world: Raft, last_epoch_of_other: int, end_offset: int) -> bool:
    """Whether another log is as long as this one, or ends in a later epoch."""
    own_epoch = last_epoch(world)
    if last_epoch_of_other != own_epoch:
        return last_epoch_of_other > own_epoch
    return end_offset >= this_voter(world).drained_offset


#: KafkaRaftClient, RaftMetadataLogCleanerManager.
_CLEANING_US = code(60_000_000)

_NO_TIME_US = code(0)


@inner_rule
def look_after_snapshots(world: Raft) -> None:
    """More is committed: have a snapshot written if one is due, and clean the log."""
    voter = this_voter(world)
    now_us = world.context[0].time_us
    offset = voter.high_watermark
    if voter.snapshot_from_offset == NONE:
        voter.snapshot_from_offset = offset
    records = offset - voter.snapshot_from_offset
    age_us = now_us - voter.snapshot_from_us
    is_due = is_snapshot_due(records, age_us, voter.snapshot_max_bytes, voter.snapshot_interval_us)
    # A process that has just learned what is committed has published nothing that is new.
    if records > 0 and is_due:
        _count_from(world, offset)
        SnapshotDue.after(world, 0, offset=offset, epoch=epoch_of(world, offset - 1))
    if now_us - voter.cleaned_us >= _CLEANING_US:
        voter.cleaned_us = now_us
        _clean(world)


@inner_rule
def _count_from(world: Raft, offset: int) -> None:
    """Bytes and time count for the next snapshot from here on."""
    voter = this_voter(world)
    voter.snapshot_from_offset = offset
    voter.snapshot_from_us = world.context[0].time_us


@inner_rule
def snapshot_at(world: Raft, number: int) -> Snapshot:
    """A snapshot of the voter that handles the event, 0 the oldest."""
    voter = voter_of(world, world.context[0].handling)
    return world.snapshots[voter * (len(world.snapshots) // len(world.voters)) + number]


@inner_rule
def write_snapshot(world: Raft, epoch: int, offset: int, records: int) -> None:
    """Write a snapshot that has so many records."""
    _keep_snapshot(world, epoch, offset, records * METADATA_RECORD_BYTES)
    _write_row(world, WRITTEN, this_voter(world).snapshot_count - 1)


@inner_rule
def _keep_snapshot(world: Raft, epoch: int, offset: int, size_bytes: int) -> None:
    voter = this_voter(world)
    snapshot = snapshot_at(world, voter.snapshot_count)
    snapshot.end_offset = offset
    snapshot.epoch = epoch
    snapshot.bytes = size_bytes
    snapshot.written_us = world.context[0].time_us
    voter.snapshot_count += 1
    if 2 * voter.snapshot_count > len(world.snapshots) // len(world.voters):
        world.context[0].needs_room = True


@inner_rule
def _clean(world: Raft) -> None:
    """Delete the oldest snapshots, and the log up to the one behind each, by size and by time."""
    voter = this_voter(world)
    total_bytes = (voter.log_end_offset - voter.log_start_offset) * METADATA_RECORD_BYTES
    for number in range(voter.snapshot_count):
        total_bytes += snapshot_at(world, number).bytes
    deleted = 0
    while deleted + 1 < voter.snapshot_count:
        oldest = snapshot_at(world, deleted)
        is_old = world.context[0].time_us - oldest.written_us > voter.retention_us
        if total_bytes <= voter.retention_bytes and not is_old:
            break
        deleted += 1
        begins = snapshot_at(world, deleted).end_offset
        total_bytes -= oldest.bytes + (begins - voter.log_start_offset) * METADATA_RECORD_BYTES
        voter.log_start_offset = begins
    if deleted > 0:
        _forget_before(world, deleted)
        _write_row(world, CLEANED, 0)


@inner_rule
def _forget_before(world: Raft, first: int) -> None:
    """Forget the snapshots before one, and the epochs of records before the log."""
    voter = this_voter(world)
    voters.forget_voters_before(world, voter.log_start_offset)
    voter.snapshot_count -= first
    for number in range(voter.snapshot_count):
        kept = snapshot_at(world, number)
        moved = snapshot_at(world, first + number)
        kept.end_offset = moved.end_offset
        kept.epoch = moved.epoch
        kept.bytes = moved.bytes
        kept.written_us = moved.written_us
    # The epoch of the record before the log stays: it is that of the oldest snapshot.
    gone = 0
    while gone + 1 < voter.epoch_count:
        if world.epoch_starts[epoch_place(world, gone + 1)].start_offset >= voter.log_start_offset:
            break
        gone += 1
    voter.epoch_count -= gone
    for number in range(voter.epoch_count):
        entry = world.epoch_starts[epoch_place(world, number)]
        later = world.epoch_starts[epoch_place(world, gone + number)]
        entry.epoch = later.epoch
        entry.start_offset = later.start_offset


@inner_rule
def needs_snapshot(world: Raft, request: RaftFetchRequest) -> bool:
    """Whether a fetch asks for records from before the log, or of epochs before its snapshots.

    An observer does not send the epoch of its last record: it has committed ones only.

    Source: ReplicatedLog.validateOffsetAndEpoch@3.9.0.
    """
    voter = this_voter(world)
    if voter.snapshot_count == 0 or (voter.log_start_offset == 0 and request.fetch_offset == 0):
        return False
    if request.fetch_offset < voter.log_start_offset:
        return True
    if request.voter == NONE:
        return False
    oldest_epoch = snapshot_at(world, 0).epoch
    if request.fetch_offset == voter.log_start_offset:
        return request.last_fetched_epoch != oldest_epoch
    return request.last_fetched_epoch < oldest_epoch


@inner_rule
def offer_snapshot(world: Raft, request: RaftFetchRequest) -> None:
    """Answer a fetch with the id of the newest snapshot."""
    voter = this_voter(world)
    newest = snapshot_at(world, voter.snapshot_count - 1)
    response = new_response(world, request, RaftFetchResponse)
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    response.log_end_offset = voter.drained_offset
    response.snapshot_epoch = newest.epoch
    response.snapshot_offset = newest.end_offset
    respond_when_written(world, response)


@inner_rule
def snapshot_number(world: Raft, epoch: int, offset: int) -> int:
    """The snapshot with this id; NONE: it has been deleted, or was never here."""
    for number in range(this_voter(world).snapshot_count):
        snapshot = snapshot_at(world, number)
        if snapshot.end_offset == offset and snapshot.epoch == epoch:
            return number
    return NONE


@inner_rule
def load_snapshot(world: Raft, response: FetchSnapshotResponse) -> None:
    """Begin the log behind a snapshot, unless the log has all of it by now."""
    voter = this_voter(world)
    epoch = response.snapshot_epoch
    offset = response.snapshot_offset
    own_epoch = last_epoch(world)
    if epoch < own_epoch or (epoch == own_epoch and offset <= voter.drained_offset):
        return
    voter.log_start_offset = offset
    voter.log_end_offset = offset
    voter.drained_offset = offset
    voter.flushed_offset = offset
    voter.high_watermark = offset
    voter.truncations += 1
    voter.epoch_count = 0
    # The record before the log: truncation never goes below the committed end.
    begin_epoch(world, epoch, offset - 1)
    voters.load_voters(world, response)
    voter.snapshot_count = 0
    _keep_snapshot(world, epoch, offset, response.size_bytes)
    _count_from(world, offset)
    write_to_disk(world, _NO_TIME_US)
    _write_row(world, LOADED, 0)
    write_log_row(world, False)


@inner_rule
def _write_row(world: Raft, step: int, number: int) -> None:
    """Write a row about a step of a snapshot."""
    process = world.context[0].handling
    node = name_of_voter(world, process)
    snapshot = snapshot_at(world, number)
    begins = this_voter(world).log_start_offset
    end_offset = snapshot.end_offset
    write_snapshot_row(world, node, step, end_offset, snapshot.epoch, snapshot.bytes, begins)
