"""The deadlines of a voter's states (Kafka: KafkaRaftClient.pollCurrentState).

Elections: requests for votes, their responses, and the end of a lost election.

From 4.0 on a voter asks first whether it would be elected (pre-vote, KIP-996), which raises no
epoch and is refused by voters with a live leader. Before, it begins an epoch at once, and so
unseats a leader that the others are content with.

Source: KafkaRaftClient.handleVoteRequest, handleVoteResponse, maybeHandleElectionLoss, the methods
canGrantVote of each state @4.1.0; @3.9.0.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.raft import transitions, voters
from tidegauge.controller.raft.follower import follow, learn, tell_stopped
from tidegauge.controller.raft.leadership import resign, tell_epoch
from tidegauge.controller.raft.measured import respond_when_written
from tidegauge.controller.raft.replication import append_leader_change
from tidegauge.controller.raft.snapshots import is_up_to_date, last_epoch
from tidegauge.controller.raft.state import RAFT, Raft, these_rules, this_voter, voter_of
from tidegauge.replication.errors import FENCED_LEADER_EPOCH, INVALID_VOTER_KEY
from tidegauge.replication.kraft_releases import (
    ELECTION_LOSS_BACKS_OFF_WITH_JITTER,
    ELECTION_LOSS_WAITS,
)
from tidegauge.replication.voter_set import directory_of, is_key, voter_count
from tidegauge.simulation.events import append_event, free_event, new_response, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_timers import VoterDeadline, VoteTaken
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.random_streams import RAFT as RAFT_DRAWS
from tidegauge.simulation.random_streams import draw_below
from tidegauge.simulation.rows import METADATA_VOTE, cost_us
from tidegauge.simulation.topology import quorum_process
from tidegauge.simulation.trace_rows import codes


@RAFT.handles(VoterDeadline)
@inner_rule
def handle_voter_deadline(world: Raft, timer: VoterDeadline) -> bool:
    """Act at the end of the time in a state, or wait on if it was prolonged."""
    voter = this_voter(world)
    if timer.number != voter.deadline_number:
        return False
    voter.deadline_timer_us = NONE
    deadline_us = voter.deadline_us
    if deadline_us == NONE:
        return False
    if deadline_us > world.context[0].time_us:
        transitions.wait_until(world, deadline_us)
        return False
    voter.deadline_us = NONE
    if voter.stops:
        tell_stopped(world)
    elif voter.state in (codes.UNATTACHED, codes.FOLLOWER) and voters.may_stand(world):
        begin_election(world)
    elif voter.state == codes.PROSPECTIVE:
        end_pre_vote(world)
    elif voter.state == codes.CANDIDATE:
        end_candidacy(world)
    elif voter.state == codes.LEADER and voter_count(voter.voter_set) > 1:
        resign(world)
    elif voter.state == codes.RESIGNED:
        end_resignation(world)
    return False


@inner_rule
def begin_election(world: Raft) -> None:
    """Ask for votes: as a prospective candidate, before 4.0 as a candidate."""
    if this_voter(world).has_pre_vote and not voters.is_only_voter(world):
        transitions.become_prospective(world)
        ask_for_votes(world)
    else:
        stand_for_election(world)


@inner_rule
def stand_for_election(world: Raft) -> None:
    """Begin an epoch as its candidate; a single voter is elected."""
    transitions.become_candidate(world)
    if voters.is_only_voter(world):
        lead(world)
    else:
        ask_for_votes(world)


@inner_rule
def ask_for_votes(world: Raft) -> None:
    """Send each other voter a request for its vote."""
    voter = this_voter(world)
    process = world.context[0].handling
    own = voter_of(world, process)
    known = voters.counted_voters(world)
    for other in range(len(world.voters)):
        directory = directory_of(known, other)
        if other != own and directory != 0:
            request = quorum_requests.VoteRequest.to(world, quorum_process(world, other))
            request.candidate = own
            request.candidate_directory = voter.directory
            request.voter_directory = directory
            request.epoch = voter.epoch
            request.last_epoch = last_epoch(world)
            request.last_offset = voter.drained_offset
            request.pre_vote = voter.state == codes.PROSPECTIVE
            transitions.send_when_written(world, request)


@RAFT.handles(quorum_requests.VoteRequest, quorum_requests.VoteResponse)
@inner_rule
def handle_vote_message(world: Raft, message: Event) -> bool:
    """Let a request for a vote, or a response to one, take its time to come to the thread.

    Requests and responses come by connections of their own, so one may overtake another.
    """
    append_event(world, this_voter(world).votes, message)
    delay_us = cost_us(world, message.destination, METADATA_VOTE)
    VoteTaken.after(world, delay_us, message_index=message.index)
    return True


@RAFT.handles(VoteTaken)
@inner_rule
def handle_vote_taken(world: Raft, timer: VoteTaken) -> bool:
    """Take the request for a vote, or the response to one, whose time has come."""
    votes = this_voter(world).votes
    for _ in range(votes.length):
        message = take_first(world, votes)
        if message.index != timer.message_index:
            append_event(world, votes, message)
            continue
        if message.kind == quorum_requests.VoteRequest.KIND:
            _take_vote_request(world, view_as(message, quorum_requests.VoteRequest))
        else:
            _take_vote(world, view_as(message, quorum_requests.VoteResponse))
        free_event(world, message)
    return False


@inner_rule
def _take_vote_request(world: Raft, request: quorum_requests.VoteRequest) -> None:
    """Vote for a candidate, or respond whether the voter would; one that is none votes, too.

    A request for the vote of another directory than its own is refused (KIP-853).

    A stopping controller takes no requests any more (ControllerServer.shutdown), so with a pre-vote
    its first successor is refused by all that have fetched, and a later one is elected.
    """
    voter = this_voter(world)
    if voter.stops:
        return
    response = new_response(world, request, quorum_requests.VoteResponse)
    response.voter = voter_of(world, request.destination)
    response.pre_vote = request.pre_vote
    if request.epoch < voter.epoch:
        response.error = FENCED_LEADER_EPOCH
    else:
        if request.epoch > voter.epoch:
            transitions.become_unattached(world, request.epoch, NONE)
        rules = these_rules(world)
        is_asked = is_key(request.voter_directory, voter.directory)
        if not is_asked and rules.voter_directory_checked:
            response.error = INVALID_VOTER_KEY
        elif rules.observer_votes or voters.is_voter(world):
            response.granted = _grants(world, request)
        if response.granted and not request.pre_vote and voter.voted_for == NONE:
            transitions.vote_for(world, request.candidate, request.candidate_directory)
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    respond_when_written(world, response)


@inner_rule
def _grants(world: Raft, request: quorum_requests.VoteRequest) -> bool:
    """Whether the candidate's log is as good as the voter's, and nothing else speaks against it."""
    voter = this_voter(world)
    rules = these_rules(world)
    is_good = is_up_to_date(world, request.last_epoch, request.last_offset)
    is_good = is_good or not rules.vote_needs_good_log
    if request.pre_vote:
        if voter.state == codes.FOLLOWER:
            return is_good and not voter.has_fetched
        if voter.state == codes.LEADER:
            return is_good and voter.high_watermark == NONE
        return is_good
    if voter.state not in (codes.UNATTACHED, codes.FOLLOWER, codes.PROSPECTIVE):
        return False
    if voter.voted_for != NONE and rules.vote_given_once:
        is_same = voter.voted_directory == request.candidate_directory
        return voter.voted_for == request.candidate and (is_same or voter.kraft_version == 0)
    return is_good and voter.leader == NONE


@inner_rule
def _take_vote(world: Raft, response: quorum_requests.VoteResponse) -> None:
    """Count a vote."""
    voter = this_voter(world)
    if learn(world, response.leader_epoch, response.leader):
        return
    counts = voter.state == (codes.PROSPECTIVE if response.pre_vote else codes.CANDIDATE)
    if counts and response.leader_epoch == voter.epoch and response.error == 0:
        if response.granted:
            voter.votes_granted |= 1 << response.voter
        else:
            voter.votes_rejected |= 1 << response.voter
        _count(world)


@inner_rule
def _count(world: Raft) -> None:
    """Proceed if a majority has voted for this voter, or can do so no more."""
    voter = this_voter(world)
    known = voters.counted_voters(world)
    count = voter_count(known)
    granted = 0
    rejected = 0
    for other in range(len(world.voters)):
        if directory_of(known, other) == 0:
            continue
        granted += (voter.votes_granted >> other) & 1
        rejected += (voter.votes_rejected >> other) & 1
    if 2 * granted > count:
        if voter.state == codes.PROSPECTIVE:
            stand_for_election(world)
        else:
            lead(world)
            if voter.stops:
                resign(world)
    elif 2 * (count - rejected) <= count and not voter.backs_off:
        _lose_election(world)


@inner_rule
def _lose_election(world: Raft) -> None:
    """A majority does not vote for this voter: wait, before 4.1 less long than for no answer."""
    voter = this_voter(world)
    if voter.election_loss_rule == ELECTION_LOSS_WAITS:
        return
    if voter.state == codes.PROSPECTIVE:
        end_pre_vote(world)
    else:
        back_off(world)


@inner_rule
def end_pre_vote(world: Raft) -> None:
    """The voter would not be elected: follow the known leader, if there is one.

    Source: KafkaRaftClient.prospectiveTransitionAfterElectionLoss@4.1.0.
    """
    voter = this_voter(world)
    if voter.leader != NONE and voter.leader != voter_of(world, world.context[0].handling):
        follow(world, voter.epoch, voter.leader)
    else:
        transitions.become_unattached(world, voter.epoch, voter.voted_for)


#: KafkaRaftClient.RETRY_BACKOFF_BASE_MS@3.9.1, @3.9.2
_BACKOFF_BASE_US = code(100_000)
_BACKOFF_BASE_WITH_JITTER_US = code(50_000)


@rule
def election_backoff_us(
    has_jitter: bool, retries: int, max_us: int, seed: int, owner: int, counter: int
) -> int:
    """How long a candidate waits after it has lost its election number ``retries`` in a row.

    Without the jitter all candidates whose backoff is at its maximum begin their next election
    together, and split the vote again (KAFKA-18345).

    Source: KafkaRaftClient.binaryExponentialElectionBackoffMs@3.9.1,
    RaftUtil.binaryExponentialElectionBackoffMs@3.9.2.
    """
    if not has_jitter:
        drawn = draw_below(2 << min(20, retries - 1), seed, RAFT_DRAWS, owner, counter)
        return min(_BACKOFF_BASE_US * drawn, max_us)
    drawn = 1 + draw_below(2 << min(10, retries - 1), seed, RAFT_DRAWS, owner, counter)
    jitter_us = draw_below(_BACKOFF_BASE_WITH_JITTER_US, seed, RAFT_DRAWS, owner, counter + 1)
    return min(_BACKOFF_BASE_WITH_JITTER_US * drawn, max_us + jitter_us)


@inner_rule
def back_off(world: Raft) -> None:
    """Wait before the next election, about controller.quorum.election.backoff.max.ms at most."""
    voter = this_voter(world)
    context = world.context[0]
    delay_us = election_backoff_us(
        voter.election_loss_rule == ELECTION_LOSS_BACKS_OFF_WITH_JITTER,
        voter.retries,
        voter.election_backoff_max_us,
        context.seed,
        context.handling,
        voter.raft_draws,
    )
    voter.raft_draws += 2
    voter.backs_off = True
    transitions.wait_until(world, world.context[0].time_us + delay_us)


@inner_rule
def end_candidacy(world: Raft) -> None:
    """The time of a candidate is over, or that of its back-off after it.

    Source: KafkaRaftClient.pollCandidate@3.9.0, @4.0.1.
    """
    voter = this_voter(world)
    if voter.has_pre_vote:
        begin_election(world)
    elif voter.backs_off:
        stand_for_election(world)
    else:
        back_off(world)


@inner_rule
def end_resignation(world: Raft) -> None:
    """No other leader is known: 4.0 gives up the epoch, before that a voter is a candidate.

    Source: KafkaRaftClient.pollResigned@4.1.0, @3.9.0.
    """
    voter = this_voter(world)
    if voter.state != codes.RESIGNED:
        return
    if voter.has_pre_vote or not voters.is_voter(world):
        transitions.become_unattached(world, voter.epoch + 1, NONE)
    else:
        stand_for_election(world)


@inner_rule
def lead(world: Raft) -> None:
    """Lead the epoch that the voter was elected for: append its first record, notify the others."""
    transitions.become_leader(world)
    append_leader_change(world)
    tell_epoch(world)
