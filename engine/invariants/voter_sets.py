"""Invariants of a quorum whose voters may change: those of KIP-853's TLA+ specification.

===========================  ===================================================================
of the specification         here
===========================  ===================================================================
NoIllegalState               ``transitions.VALID_PREVIOUS_STATES``, which ends a run
StatesMatchRoles             ``only_voters_ask_for_votes``, ``states_name_their_leader``
NeverTwoLeadersInSameEpoch   ``controllers_know_one_leader_of_an_epoch``
ValidVotesRecv               ``votes_are_those_of_voters``
NoLogDivergence              ``logs_agree_below_their_high_watermarks``
LeaderHasAllAckedValues      ``the_newest_leader_has_what_is_committed``
AckedValueNotLost            ``what_is_committed_is_in_the_log_of_a_voter``
===========================  ===================================================================

With static voters a lost disk takes most of them away: its controller stays a voter.

Source: kraft_kip_853_properties.tla; KRaftControlRecordStateMachine@4.1.0.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.controller_processes import DISK_LOSS
from tidegauge.engine.invariants.checked import HOLDS, Checked, Invariants
from tidegauge.replication.voter_set import directory_of, is_voter
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.codes import CANDIDATE, FOLLOWER, LEADER, PROSPECTIVE, RESIGNED

VOTER_SETS = Invariants()


@inner_rule
def lost_disks(world: Checked) -> int:
    """The number of faults by which controllers lose their disks in this run."""
    count = 0
    for fault in world.faults:
        count += 1 if fault.kind == DISK_LOSS else 0
    return count


@inner_rule
def _forgets(world: Checked) -> bool:
    """Whether a static voter may have lost its disk."""
    room = len(world.voter_sets) // len(world.voters)
    for number in range(len(world.voters)):
        formatted = world.voter_sets[number * room]
        if formatted.voters != 0 and formatted.kraft_version == 0 and lost_disks(world) > 0:
            return True
    return False


@VOTER_SETS.of("voters")
def voters_in_force_are_the_newest_of_the_log(world: Checked) -> int:
    """The voters in force are those of the newest VotersRecord, which is in the log.

    The records of a log ascend. A controller with an empty disk has its formatted voters. One that
    does not run reads its log as it starts.
    """
    if len(world.voters) == 0:
        return HOLDS
    room = len(world.voter_sets) // len(world.voters)
    for number, voter in enumerate(world.voters):
        before = NONE - 1
        for place in range(number * room, number * room + voter.voter_set_count):
            known = world.voter_sets[place]
            if not before < known.offset < max(voter.log_end_offset, 1):
                return number
            before = known.offset
        newest = world.voter_sets[number * room + voter.voter_set_count - 1]
        if voter.runs and newest.voters != voter.voter_set:
            return number
    return HOLDS


@VOTER_SETS.of("voters")
def only_voters_ask_for_votes(world: Checked) -> int:
    """A controller that asks for votes is a voter by its own log, with the disk that it has."""
    for number, voter in enumerate(world.voters):
        asks = voter.state in (PROSPECTIVE, CANDIDATE)
        if asks and not is_voter(voter.voter_set, number, voter.directory):
            return number
    return HOLDS


@VOTER_SETS.of("voters")
def states_name_their_leader(world: Checked) -> int:
    """A leader and one that has resigned know themselves as the leader, a follower another one.

    A candidate has voted for itself.
    """
    for number, voter in enumerate(world.voters):
        if voter.state in (LEADER, RESIGNED) and voter.leader != number:
            return number
        if voter.state == FOLLOWER and voter.leader in (NONE, number):
            return number
        if voter.state == CANDIDATE and voter.voted_for != number:
            return number
    return HOLDS


@VOTER_SETS.of("voters")
def controllers_know_one_leader_of_an_epoch(world: Checked) -> int:
    """No two controllers know different leaders of one epoch."""
    for number, voter in enumerate(world.voters):
        for other in range(number):
            known = world.voters[other]
            is_same = known.epoch == voter.epoch and NONE not in (known.leader, voter.leader)
            if is_same and known.leader != voter.leader and not _forgets(world):
                return number
    return HOLDS


@VOTER_SETS.of("voters")
def votes_are_those_of_voters(world: Checked) -> int:
    """A controller that asks for votes counts its own, and those of the voters in its log."""
    for number, voter in enumerate(world.voters):
        if voter.state not in (PROSPECTIVE, CANDIDATE):
            continue
        for other in range(len(world.voters)):
            has_answered = ((voter.votes_granted | voter.votes_rejected) >> other) & 1
            if has_answered and directory_of(voter.voter_set, other) == 0:
                return number
    return HOLDS


@VOTER_SETS.of("voters")
def logs_agree_below_their_high_watermarks(world: Checked) -> int:
    """Two logs have the same records below the high watermarks of both controllers."""
    if len(world.voters) == 0 or _forgets(world):
        return HOLDS
    room = len(world.epoch_starts) // len(world.voters)
    for number, voter in enumerate(world.voters):
        for other in range(len(world.voters)):
            known = world.voters[other]
            first = max(voter.log_start_offset, known.log_start_offset)
            end = min(voter.high_watermark, known.high_watermark)
            for place in range(number * room, number * room + voter.epoch_count):
                begun = max(first, world.epoch_starts[place].start_offset)
                if begun < end and _epoch_at(world, number, begun) != _epoch_at(
                    world, other, begun
                ):
                    return number
    return HOLDS


@inner_rule
def _epoch_at(world: Checked, number: int, offset: int) -> int:
    """The epoch of a record in a controller's log; NONE if it begins behind that."""
    room = len(world.epoch_starts) // len(world.voters)
    epoch = NONE
    for place in range(number * room, number * room + world.voters[number].epoch_count):
        if world.epoch_starts[place].start_offset <= offset:
            epoch = world.epoch_starts[place].epoch
    return epoch


@VOTER_SETS.of("voters")
def the_newest_leader_has_what_is_committed(world: Checked) -> int:
    """The leader of the newest epoch has all that any controller knows to be committed."""
    for number, voter in enumerate(world.voters):
        if voter.state != LEADER or _forgets(world):
            continue
        is_newest = True
        committed = 0
        for other in world.voters:
            is_newest = is_newest and other.epoch <= voter.epoch
            committed = max(committed, other.high_watermark)
        if is_newest and committed > voter.drained_offset:
            return number
    return HOLDS


@VOTER_SETS.of("voters")
def what_is_committed_is_in_the_log_of_a_voter(world: Checked) -> int:
    """Committed records are in the log of some voter, unless disks are lost."""
    for number, voter in enumerate(world.voters):
        is_there = voter.high_watermark == NONE or lost_disks(world) > 0
        for other in range(len(world.voters)):
            holder = world.voters[other]
            has_it = holder.drained_offset >= voter.high_watermark
            is_there = is_there or (has_it and is_voter(holder.voter_set, other, holder.directory))
        if not is_there:
            return number
    return HOLDS
