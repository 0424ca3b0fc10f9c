"""A voter's metadata log: its ends, the epochs of its records, truncation.

Only where epochs begin is kept, and how far the log is in memory, in its file, on its disk.

Source: KafkaMetadataLog, LeaderEpochFileCache, ReplicatedLog.truncateToEndOffset and
validateOffsetAndEpoch@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.raft.measured import these_stats
from tidegauge.controller.raft.state import EpochStart, Raft, Voter
from tidegauge.controller.raft.voters import name_of_voter, this_voter, voter_of
from tidegauge.simulation.costs import METADATA_FSYNC, cost_us
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.messages.raft_timers import RaftFlushed
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.slow_disks import disk_delay_us
from tidegauge.simulation.trace_rows.quorum_rows import VoterLog

_ONE = code(1)


@inner_rule
def epoch_place(world: Raft, number: int) -> int:
    """Where an epoch of the log of the voter that handles the event lies, 0 the oldest."""
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
    while voter.epoch_count > 0:
        entry = world.epoch_starts[epoch_place(world, voter.epoch_count - 1)]
        if entry.start_offset < offset:
            break
        voter.epoch_count -= 1


@inner_rule
def truncate_to_diverging(world: Raft, epoch: int, offset: int) -> None:
    """Take off what the leader does not have: its largest epoch not beyond ours ends at an offset.

    Source: ReplicatedLog.truncateToEndOffset@4.1.0.
    """
    own_epoch, own_end = epoch_end(world, epoch)
    truncate_to(world, min(own_end, offset) if own_epoch == epoch else own_end)


@inner_rule
def write_to_disk(world: Raft, delay_us: int) -> int:
    """Have the disk write for so long, and flush that, once it is done with all before; when."""
    voter = this_voter(world)
    process = world.context[0].handling
    begins_us = max(voter.writes_until_us, world.context[0].time_us)
    flush_us = cost_us(world, process, METADATA_FSYNC) + disk_delay_us(world, process, _ONE)
    voter.writes_until_us = begins_us + delay_us + flush_us
    these_stats(world).written_us += delay_us + flush_us
    return voter.writes_until_us


@inner_rule
def flush_later(world: Raft, delay_us: int) -> None:
    """Have the log written for so long, and flushed up to its end."""
    voter = this_voter(world)
    due_us = write_to_disk(world, delay_us)
    process = world.context[0].handling
    flushed = new_event(world, process, process, RaftFlushed)
    flushed.offset = voter.drained_offset
    flushed.truncations = voter.truncations
    set_timer(world, flushed, due_us)


@inner_rule
def write_log_row(world: Raft, truncated: bool) -> None:
    """Write down how far the log is; the row causes nothing."""
    context = world.context[0]
    cause_process = context.cause_process
    cause_sequence = context.cause_sequence
    voter: Voter = this_voter(world)
    row = new_row(world, context.handling, VoterLog)
    row.broker = name_of_voter(world, context.handling)
    row.quorum_epoch = last_epoch(world)
    row.log_end_offset = voter.drained_offset
    row.high_watermark = voter.high_watermark
    row.truncated = 1 if truncated else 0
    write_row(world, row)
    context.cause_process = cause_process
    context.cause_sequence = cause_sequence


@inner_rule
def is_up_to_date(world: Raft, last_epoch_of_other: int, end_offset: int) -> bool:
    """Whether another log is as long as this one, or ends in a later epoch."""
    own_epoch = last_epoch(world)
    if last_epoch_of_other != own_epoch:
        return last_epoch_of_other > own_epoch
    return end_offset >= this_voter(world).drained_offset
