"""The memory of checks of voters: the set in force on each controller, and its directory.

A controller whose disk is lost has another directory from then on, and so is no voter any more in
sets that name the former one (KIP-853). The voters of controller.quorum.voters have no directories:
there each controller is a voter with any disk.
"""

from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.replication.records import MOST_VOTERS
from tidegauge.replication.voter_set import (
    ANY_DIRECTORY,
    directory_of,
    has_overlapping_majority,
    is_voter,
    with_voter,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.controller_rows import QuorumVoters, VoterState
from tidegauge.traces.checks.histories import (
    BY_FOLLOWING_OBSERVER,
    BY_LOST_DISKS,
    BY_REMOVED_LEADER,
    NOTHING_PERMITS,
    Histories,
)
from tidegauge.traces.quorum_checks.metadata_logs import (
    epoch_known,
    has_all_committed,
    is_newer_log,
)

_BITS = 4
_MASK = 0b1111


@inner_rule
def is_present(history: Histories, voters: int, controller: int) -> bool:
    """Whether a controller is one of these voters, with the directory that it has now."""
    return is_voter(voters, controller, history.controllers[controller].directory)


@inner_rule
def use_voters(history: Histories, row: QuorumVoters) -> None:
    """Other voters are in force on a controller."""
    known = history.controllers[row.broker - history.quorum[0].first_controller]
    known.voters = row.voters
    known.voters_offset = row.voters_offset


@inner_rule
def commit_voters(history: Histories, row: QuorumVoters) -> None:
    """A leader has committed the voters in force on it; these may be without itself."""
    quorum = history.quorum[0]
    quorum.committed_voters = row.voters
    quorum.committed_voters_offset = row.voters_offset
    quorum.committed_voters_epoch = row.quorum_epoch
    leader = row.broker - quorum.first_controller
    known = history.controllers[leader]
    if not is_present(history, row.voters, leader) and known.commits_since_removal == NONE:
        known.commits_since_removal = 0


@inner_rule
def lose_disk(history: Histories, process: int) -> None:
    """A controller's disk is replaced by an empty one."""
    controller = process - history.quorum[0].first_process
    if 0 <= controller < len(history.controllers):
        history.controllers[controller].directory += 1


@inner_rule
def note_vote(history: Histories, row: VoterState) -> None:
    """A controller has voted in an epoch, with the directory that it has now.

    With a lost disk it may vote once more; the first vote stays.
    """
    if row.voted_for == NONE:
        return
    first = history.quorum[0].first_controller
    epoch = epoch_known(history, row.quorum_epoch)
    shift = _BITS * (row.broker - first)
    if (epoch.votes >> shift) & _MASK == 0:
        epoch.votes |= (row.voted_for - first + 1) << shift
        directory = history.controllers[row.broker - first].directory
        epoch.directories_of_votes |= directory << shift


@inner_rule
def is_elected(history: Histories, epoch: int, leader: int, voters: int) -> bool:
    """Whether a majority of these voters has voted for a leader, each with its own directory."""
    known = epoch_known(history, epoch)
    count = 0
    granted = 0
    for controller in range(len(history.controllers)):
        directory = directory_of(voters, controller)
        shift = _BITS * controller
        voted_with = (known.directories_of_votes >> shift) & _MASK
        is_for_leader = (known.votes >> shift) & _MASK == leader + 1
        count += 1 if directory != 0 else 0
        if is_for_leader and is_voter(voters, controller, voted_with):
            granted += 1
    return 2 * granted > count


@inner_rule
def majority_lacks_committed(history: Histories, voters: int) -> bool:
    """Whether a majority of these voters is without something that is committed."""
    count = 0
    lacking = 0
    for controller in range(len(history.controllers)):
        count += 1 if directory_of(voters, controller) != 0 else 0
        if is_present(history, voters, controller) and not has_all_committed(history, controller):
            lacking += 1
    return 2 * lacking > count


@rule
def what_stops_quorum(history: Histories) -> int:
    """Why a quorum without faults may stay without a leader; NOTHING_PERMITS: it may not.

    A majority of the voters has lost its disks, of those that are committed or of newer ones; or
    none of them can be elected by the rules of the release.
    """
    quorum = history.quorum[0]
    if not quorum.voters_may_change:
        return NOTHING_PERMITS
    if not _majority_is_present(history, quorum.committed_voters):
        return BY_LOST_DISKS
    for controller in range(len(history.controllers)):
        known = history.controllers[controller]
        is_newer = known.voters_offset > quorum.committed_voters_offset
        if is_newer and not _majority_is_present(history, known.voters):
            return BY_LOST_DISKS
    if _somebody_wins(history, True):
        return NOTHING_PERMITS
    return BY_FOLLOWING_OBSERVER if _somebody_wins(history, False) else BY_REMOVED_LEADER


@inner_rule
def _majority_is_present(history: Histories, voters: int) -> bool:
    count = 0
    present = 0
    for controller in range(len(history.controllers)):
        count += 1 if directory_of(voters, controller) != 0 else 0
        present += 1 if is_present(history, voters, controller) else 0
    return 2 * present > count


@inner_rule
def _somebody_wins(history: Histories, with_pre_vote: bool) -> bool:
    """Whether some voter has the votes of a majority of its voters, if it asks for them."""
    for candidate in range(len(history.controllers)):
        voters = history.controllers[candidate].voters
        if not is_present(history, voters, candidate):
            continue
        count = 0
        granted = 0
        for controller in range(len(history.controllers)):
            count += 1 if directory_of(voters, controller) != 0 else 0
            grants = is_present(history, voters, controller) and not is_newer_log(
                history, controller, candidate
            )
            if with_pre_vote and _refuses_pre_votes(history, controller):
                grants = False
            granted += 1 if grants else 0
        if 2 * granted > count:
            return True
    return False


@inner_rule
def _refuses_pre_votes(history: Histories, controller: int) -> bool:
    """Whether a controller follows as an observer, for ever: it has no fetch timeout.

    Source: KafkaRaftClient.pollFollowerAsObserver, FollowerState.canGrantVote@4.1.0.
    """
    known = history.controllers[controller]
    observes = not is_present(history, known.voters, controller)
    return history.quorum[0].has_pre_vote and known.follows and observes


@inner_rule
def share_majorities(voters: int, others: int) -> bool:
    """Whether each majority of one set has a voter in each majority of the next one.

    The voters of controller.quorum.voters get their directories with kraft.version 1.
    """
    named = voters
    for controller in range(MOST_VOTERS):
        if directory_of(voters, controller) == ANY_DIRECTORY:
            directory = directory_of(others, controller)
            named = with_voter(named, controller, directory if directory != 0 else ANY_DIRECTORY)
    return has_overlapping_majority(named, others)
