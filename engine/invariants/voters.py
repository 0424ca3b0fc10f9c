"""Invariants of the voters of a KRaft quorum: leaders, logs, timers."""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.engine.invariants.checked import HOLDS, Checked, pending
from tidegauge.engine.invariants.registry import Invariants
from tidegauge.simulation.codes.voter_states import LEADER
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.raft_timers import (
    QuorumDrains,
    RaftAppended,
    VoterDeadline,
    VoterFetchDue,
    VoterFetchExpires,
    VoterFetchGivesUp,
)
from tidegauge.simulation.topology import quorum_process

VOTERS = Invariants()


@VOTERS.of("voters")
def one_voter_leads_an_epoch(world: Checked) -> int:
    """No two voters are leaders of one epoch, and a leader knows itself as that."""
    for number in range(len(world.voters)):
        voter = world.voters[number]
        if voter.state != LEADER:
            continue
        if voter.leader != number:
            return number
        for other in range(number):
            if world.voters[other].state == LEADER and world.voters[other].epoch == voter.epoch:
                return number
    return HOLDS


@VOTERS.of("epoch_starts")
def epochs_of_a_log_ascend(world: Checked) -> int:
    """The epochs of a log ascend, and so does where they begin; none is beyond the voter's."""
    if len(world.voters) == 0:
        return HOLDS
    room = len(world.epoch_starts) // len(world.voters)
    for number in range(len(world.voters)):
        voter = world.voters[number]
        before = 0
        for place in range(number * room, number * room + voter.epoch_count):
            entry = world.epoch_starts[place]
            if not before < entry.epoch <= voter.epoch:
                return place
            if place > number * room:
                start_before = world.epoch_starts[place - 1].start_offset
                if entry.start_offset <= start_before:
                    return place
            if entry.start_offset > voter.log_end_offset:
                return place
            before = entry.epoch
    return HOLDS


@VOTERS.of("snapshots")
def snapshots_of_a_voter_ascend(world: Checked) -> int:
    """The snapshots of a voter ascend and are of its log, which begins with none or the oldest."""
    if len(world.voters) == 0:
        return HOLDS
    room = len(world.snapshots) // len(world.voters)
    for number in range(len(world.voters)):
        voter = world.voters[number]
        before = voter.log_start_offset - 1
        for place in range(number * room, number * room + voter.snapshot_count):
            snapshot = world.snapshots[place]
            if not before < snapshot.end_offset <= voter.drained_offset:
                return place
            before = snapshot.end_offset
    return HOLDS


@VOTERS.of("follower_progress")
def a_follower_has_no_more_than_its_leader(world: Checked) -> int:
    """A leader counts no follower beyond the end of its own log."""
    count = len(world.voters)
    for number in range(count):
        voter = world.voters[number]
        for other in range(count):
            place = number * count + other
            end_offset = world.follower_progress[place].end_offset
            if voter.state == LEADER and end_offset > voter.drained_offset:
                return place
    return HOLDS


@VOTERS.of("voters")
def voter_timers_match_their_flags(world: Checked) -> int:
    """A timer of a voter is set exactly while its flag says so.

    What a leader has appended is going to be written.
    """
    for number in range(len(world.voters)):
        voter = world.voters[number]
        process = quorum_process(world, number)
        if not voter.runs:
            continue
        if (
            (pending(world, process, VoterFetchExpires.KIND) == 1) != voter.voter_fetch_timer
            or (pending(world, process, VoterFetchGivesUp.KIND) == 1) != voter.fetch_watch
            or (pending(world, process, VoterFetchDue.KIND) == 1) != voter.fetch_due
        ):
            return number
        if (_deadlines(world, number) == 1) != (voter.deadline_timer_us != NONE):
            return number
        is_written = pending(world, process, RaftAppended.KIND) > 0 or voter.drains
        if voter.drained_offset < voter.log_end_offset and not is_written:
            return number
        if voter.drains and pending(world, process, QuorumDrains.KIND) == 0:
            return number
    return HOLDS


@inner_rule
def _deadlines(world: Checked, number: int) -> int:
    """How many timers there are for the end of a voter's time in its state."""
    process = quorum_process(world, number)
    state = world.processes[process]
    count = 0
    for index in range(len(world.events)):
        event = world.events[index]
        if event.kind != VoterDeadline.KIND or event.destination != process:
            continue
        is_valid = view_as(event, VoterDeadline).number == world.voters[number].deadline_number
        count += 1 if is_valid and event.asked_us >= state.up_since_us else 0
    return count
