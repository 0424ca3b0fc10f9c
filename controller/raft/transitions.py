"""The states of a voter, and the first actions of each.

=============  ==========================================  ======================================
state          its time in it                              what it does
=============  ==========================================  ======================================
unattached     an election time-out, drawn                 votes; knows no leader
follower       controller.quorum.fetch.timeout.ms since    fetches from its leader
..             its last fetch
prospective    an election time-out, drawn                 asks who would vote for it (4.0 on)
candidate      an election time-out, drawn                 has voted for itself, asks for votes
leader         1.5 fetch time-outs since a majority has    appends; announces its epoch
..             fetched (3.7 on)
resigned       an election time-out, drawn                 announces that it has resigned
=============  ==========================================  ======================================

``elections.py`` has the actions at the end of that time. The epoch, the leader and the vote are
written to disk before anything is answered. Any other transition than those of
``VALID_PREVIOUS_STATES`` is an error of the simulator, and ends the run.

Source: QuorumState.transitionTo*@4.1.0.
"""

from typing import Final

from tidegauge.compiled.codes import previous_state_bits
from tidegauge.compiled.records import blank, view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.raft import voters
from tidegauge.controller.raft.measured import (
    note_candidacy,
    note_leader,
    respond_when_written,
    these_stats,
)
from tidegauge.controller.raft.snapshots import begin_epoch, write_to_disk
from tidegauge.controller.raft.state import (
    FollowerProgress,
    Raft,
    name_of_voter,
    this_voter,
    voter_of,
)
from tidegauge.replication import voter_set
from tidegauge.replication.errors import NOT_LEADER_OR_FOLLOWER
from tidegauge.simulation import events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_timers import (
    LeadershipLost,
    VoterDeadline,
    VoterFetchDue,
)
from tidegauge.simulation.messages.event import Event, EventList
from tidegauge.simulation.messages.quorum_requests import RaftFetchRequest, RaftFetchResponse
from tidegauge.simulation.random_streams import RAFT, draw_below
from tidegauge.simulation.sampled_stats import count_request
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.controller_rows import VoterState

#: Only the flush of a vote takes time.
NO_TIME_US = code(0)

_ANY = frozenset(int(state) for state in codes.VOTER_STATES)

#: State entered -> states from which it may be. A process begins in VOTER_STOPPED, with the epoch,
#: the leader and the vote of its disk. Up to 3.9 a voter stands for election without a pre-vote.
VALID_PREVIOUS_STATES: Final[dict[int, frozenset[int]]] = {
    codes.UNATTACHED: _ANY,
    codes.FOLLOWER: _ANY,
    codes.PROSPECTIVE: frozenset(
        {codes.UNATTACHED, codes.FOLLOWER, codes.PROSPECTIVE, codes.CANDIDATE}
    ),
    codes.CANDIDATE: _ANY - {codes.LEADER},
    codes.LEADER: frozenset({codes.VOTER_STOPPED, codes.CANDIDATE}),
    codes.RESIGNED: frozenset({codes.VOTER_STOPPED, codes.LEADER}),
}

_VALID_PREVIOUS = previous_state_bits(VALID_PREVIOUS_STATES)


@rule
def may_enter(state: int, target: int) -> bool:
    """Whether a voter in ``state`` may enter ``target``.

    Source: QuorumState.transitionToLeader@4.1.0 and its like, which throw IllegalStateException.
    """
    return (_VALID_PREVIOUS[target] >> state) & 1 == 1


@inner_rule
def become_unattached(world: Raft, epoch: int, voted_for: int) -> None:
    """The leader of an epoch is unknown; of a later one than that of the voter if it does not vote.

    A voter that waits for an election already waits no longer because of a later epoch, but once
    more when it has voted. A leader of the same epoch that is no voter stays known, so that nobody
    else gets the vote in its epoch; the voter looks for its endpoint.

    Source: QuorumState.transitionToUnattached, initialize,
    unattachedOrProspectiveCanGrantVote@4.1.0.
    """
    voter = this_voter(world)
    waits = (
        voter.state in (codes.UNATTACHED, codes.CANDIDATE, codes.PROSPECTIVE, codes.RESIGNED)
        and not voter.backs_off
    )
    deadline_us = voter.deadline_us
    is_known = epoch == voter.epoch and voter.leader != NONE
    keeps = is_known and voters.directory_of(world, voter.leader) == 0
    _change(world, codes.UNATTACHED, epoch, voter.leader if keeps else NONE, voted_for)
    if not voters.may_stand(world):
        # An observer stands for no election.
        wait_until(world, NONE)
    elif waits and voted_for == NONE and deadline_us > world.context[0].time_us:
        wait_until(world, deadline_us)
    else:
        wait_until(world, world.context[0].time_us + election_timeout_us(world))
    if voters.bootstrap_servers(world) != 0:
        fetch_after(world, NO_TIME_US)


@inner_rule
def fetch_after(world: Raft, delay_us: int) -> None:
    """Fetch after a while, or look for the leader, unless a fetch is under way then."""
    voter = this_voter(world)
    if not voter.fetch_due:
        voter.fetch_due = True
        VoterFetchDue.after(world, delay_us)


@inner_rule
def become_follower(world: Raft, epoch: int, leader: int) -> None:
    """Follow the leader of an epoch."""
    voter = this_voter(world)
    voted_for = voter.voted_for if epoch == voter.epoch else NONE
    _change(world, codes.FOLLOWER, epoch, leader, voted_for)
    voter.has_fetched = False
    voter.fetch_sent_us = NONE
    voter.leader_timed_out = False
    voter.leader_backs_off_until_us = 0
    voter.voter_update_us = world.context[0].time_us + voter.fetch_timeout_us
    voter.has_told_leader = False
    note_leader(world)
    wait_for_leader(world)


@inner_rule
def wait_for_leader(world: Raft) -> None:
    """The leader has responded: the follower waits for a fetch timeout, which has no random part.

    The last responses of a leader reach its followers in the same milliseconds, so they ask for
    votes at the same time. Their requests take longer than that (cost ``metadata_vote``): each is
    told that it would be elected, and most of the losses of a leader with two living followers
    split the first vote, as 9 of 15 recorded ones did.
    """
    wait_until(world, world.context[0].time_us + this_voter(world).fetch_timeout_us)


@inner_rule
def become_prospective(world: Raft) -> None:
    """Ask for votes in advance; the epoch stays, and the known leader."""
    voter = this_voter(world)
    voter.retries = voter.retries + 1 if voter.state == codes.CANDIDATE else 1
    _change(world, codes.PROSPECTIVE, voter.epoch, voter.leader, voter.voted_for)
    _count_votes(world)
    wait_until(world, world.context[0].time_us + election_timeout_us(world))


@inner_rule
def become_candidate(world: Raft) -> None:
    """Begin an epoch, and vote for itself."""
    voter = this_voter(world)
    if voter.state != codes.PROSPECTIVE:
        voter.retries = voter.retries + 1 if voter.state == codes.CANDIDATE else 1
    own = voter_of(world, world.context[0].handling)
    voter.voted_directory = voter.directory
    _change(world, codes.CANDIDATE, voter.epoch + 1, NONE, own)
    note_candidacy(world)
    _count_votes(world)
    wait_until(world, world.context[0].time_us + election_timeout_us(world))


@inner_rule
def resume_candidacy(world: Raft) -> None:
    """Be the candidate of an epoch that the voter has voted for itself in before it was started."""
    voter = this_voter(world)
    voter.retries = 1
    _change(world, codes.CANDIDATE, voter.epoch, NONE, voter.voted_for)
    note_candidacy(world)
    _count_votes(world)
    wait_until(world, world.context[0].time_us + election_timeout_us(world))


@inner_rule
def vote_for(world: Raft, candidate: int, directory: int) -> None:
    """Vote for a candidate of the voter's epoch; a prospective voter continues."""
    voter = this_voter(world)
    voter.voted_directory = directory
    deadline_us = voter.deadline_us
    if voter.state == codes.PROSPECTIVE:
        _change(world, codes.PROSPECTIVE, voter.epoch, voter.leader, candidate)
        wait_until(world, deadline_us)
    else:
        become_unattached(world, voter.epoch, candidate)


@inner_rule
def become_leader(world: Raft) -> None:
    """Lead the epoch: its first record is the change of the leader.

    Up to where the log is committed the leader does not know until that record is.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    count = len(world.voters)
    _change(world, codes.LEADER, voter.epoch, own, voter.voted_for)
    note_leader(world)
    voter.high_watermark = NONE
    voter.claimed = False
    voter.fetched_voters = 0
    voter.epoch_start_offset = voter.log_end_offset
    voter.told_voters = voter_set.with_voter(0, own, voter.directory)
    for other in range(count):
        blank(world.follower_progress[own * count + other], FollowerProgress)
        blank(world.observer_progress[own * count + other], FollowerProgress)
    begin_epoch(world, voter.epoch, voter.log_end_offset)
    check_quorum_later(world)


@inner_rule
def found_epoch(world: Raft) -> None:
    """Lead an epoch that has begun before the run."""
    voter = this_voter(world)
    _change(world, codes.LEADER, voter.epoch, voter.leader, voter.voted_for)
    voter.told_voters = voter_set.with_voter(0, voter.leader, voter.directory)
    note_leader(world)
    check_quorum_later(world)


@inner_rule
def check_quorum_later(world: Raft) -> None:
    """A majority has fetched: it has 1.5 fetch time-outs until it has to have fetched again."""
    voter = this_voter(world)
    if voter.checks_quorum and voter_set.voter_count(voter.voter_set) > 1:
        wait_until(world, world.context[0].time_us + voter.fetch_timeout_us * 3 // 2)


@inner_rule
def become_resigned(world: Raft) -> None:
    """Lead no more; the epoch stays until another one is known."""
    voter = this_voter(world)
    _change(world, codes.RESIGNED, voter.epoch, voter.leader, voter.voted_for)
    wait_until(world, world.context[0].time_us + election_timeout_us(world))


@inner_rule
def _change(world: Raft, state: int, epoch: int, leader: int, voted_for: int) -> None:
    """Leave a state and enter another one, with the disk write that this needs."""
    voter = this_voter(world)
    assert may_enter(voter.state, state), "a voter entered a state that is illegal from its own"
    if voter.state == codes.LEADER:
        _leave_leadership(world)
    is_stored = (
        epoch == voter.epoch
        and voted_for == voter.voted_for
        and (leader == voter.leader or state in (codes.PROSPECTIVE, codes.RESIGNED))
    )
    voter.state = state
    voter.epoch = epoch
    voter.leader = leader
    voter.voted_for = voted_for
    voter.backs_off = False
    wait_until(world, NONE)
    if not is_stored:
        write_to_disk(world, NO_TIME_US)
    write_state_row(world)


@inner_rule
def write_state_row(world: Raft) -> None:
    """Write down the state that the voter is in."""
    voter = this_voter(world)
    brokers = world.sizes[0].brokers
    process = world.context[0].handling
    VoterState.write(
        world,
        broker=name_of_voter(world, process),
        voter_state=voter.state,
        quorum_epoch=voter.epoch,
        quorum_leader=voter.leader if voter.leader == NONE else brokers + voter.leader,
        voted_for=voter.voted_for if voter.voted_for == NONE else brokers + voter.voted_for,
    )


@inner_rule
def _leave_leadership(world: Raft) -> None:
    """Drop appends that are in no log, refuse pending requests, and notify the controller."""
    voter = this_voter(world)
    voter.log_end_offset = voter.drained_offset
    voters.forget_voters_from(world, voter.drained_offset)
    voters.end_change(world, NOT_LEADER_OR_FOLLOWER, codes.NOT_THE_LEADER)
    if voter.epoch_start_offset == voter.drained_offset:
        voter.epoch_count -= 1
    voter.drains = False
    refuse_fetches(world, voter.fetches)
    refuse_fetches(world, voter.voter_fetches)
    LeadershipLost.after(world, 0, epoch=voter.epoch)


@inner_rule
def refuse_fetches(world: Raft, fetches: EventList) -> None:
    """Answer all fetches that wait and have a connection: the leader has changed."""
    while fetches.first != NONE:
        request = view_as(events.take_first(world, fetches), RaftFetchRequest)
        if not request.is_lost:
            refuse_fetch(world, request, NOT_LEADER_OR_FOLLOWER)
        events.free_event(world, request)


@inner_rule
def refuse_fetch(world: Raft, request: Event, error: int) -> None:
    """Answer a fetch with an error, and with the leader and the epoch that the voter knows."""
    voter = this_voter(world)
    response = events.new_response(world, request, RaftFetchResponse)
    response.error = error
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    respond_when_written(world, response)


@inner_rule
def send_when_written(world: Raft, request: Event) -> None:
    """Send a request once all is on disk that it may rest on."""
    count_request(these_stats(world).channel, request.kind)
    send(world, request, max(world.context[0].time_us, this_voter(world).writes_until_us))


@inner_rule
def _count_votes(world: Raft) -> None:
    """Begin a count with the voter's own vote."""
    voter = this_voter(world)
    voter.votes_granted = 1 << voter_of(world, world.context[0].handling)
    voter.votes_rejected = 0


@inner_rule
def election_timeout_us(world: Raft) -> int:
    """Source: QuorumState.randomElectionTimeoutMs@4.1.0: from one to two election time-outs."""
    timeout_us = this_voter(world).election_timeout_us
    return timeout_us + draw_raft(world, timeout_us)


@inner_rule
def draw_raft(world: Raft, limit: int) -> int:
    """A random number below a limit, of the voter's own stream."""
    voter = this_voter(world)
    context = world.context[0]
    voter.raft_draws += 1
    return draw_below(limit, context.seed, RAFT, context.handling, voter.raft_draws - 1)


@inner_rule
def wait_until(world: Raft, deadline_us: int) -> None:
    """Let the time in the state be over at a time (-1: never).

    A later deadline needs no timer of its own: the one that is set checks again.
    """
    voter = this_voter(world)
    voter.deadline_us = deadline_us
    if deadline_us == NONE:
        return
    if voter.deadline_timer_us == NONE or deadline_us < voter.deadline_timer_us:
        voter.deadline_number += 1
        voter.deadline_timer_us = deadline_us
        VoterDeadline.at(world, deadline_us, number=voter.deadline_number)
