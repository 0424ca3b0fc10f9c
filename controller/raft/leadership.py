"""A leader notifies the other voters that its epoch has begun, and that it resigns.

Source: KafkaRaftClient.maybeSendBeginQuorumEpochRequests, buildEndQuorumEpochRequest,
endEpochElectionBackoff@4.1.0.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft import transitions, voters
from tidegauge.controller.raft.follower import learn
from tidegauge.controller.raft.measured import respond_when_written
from tidegauge.controller.raft.state import RAFT, Raft, this_voter, voter_of
from tidegauge.replication.errors import FENCED_LEADER_EPOCH, INVALID_VOTER_KEY
from tidegauge.replication.kraft_releases import BEGIN_EPOCH_TO_ALL, BEGIN_EPOCH_UNTIL_ACKNOWLEDGED
from tidegauge.replication.voter_set import is_key, voter_count
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_timers import BeginQuorumEpochDue, ResignRequested
from tidegauge.simulation.topology import quorum_process
from tidegauge.simulation.trace_rows import codes


@inner_rule
def tell_epoch(world: Raft) -> None:
    """Notify the other voters of the epoch: all of them, or those that do not know it yet.

    Simplified: up to 3.8 a voter that does not respond is notified again each half fetch timeout,
    as later, where Kafka retries once the request has failed.
    """
    voter = this_voter(world)
    process = world.context[0].handling
    own = voter_of(world, process)
    count = len(world.voters)
    if count == 1:
        return
    period_us = voter.fetch_timeout_us // 2
    for other in range(count):
        directory = voters.directory_of(world, other)
        if other == own or directory == 0:
            continue
        if not _is_notified(world, own * count + other, period_us):
            continue
        request = quorum_requests.BeginQuorumEpochRequest.to(
            world, quorum_process(world, other), leader=own, epoch=voter.epoch
        )
        request.voter_directory = directory
        transitions.send_when_written(world, request)
    BeginQuorumEpochDue.after(world, period_us, epoch=voter.epoch)


@inner_rule
def _is_notified(world: Raft, follower: int, period_us: int) -> bool:
    """Whether a follower is to be notified of the epoch now."""
    rule_of_release = this_voter(world).begin_quorum_epoch_rule
    progress = world.follower_progress[follower]
    if rule_of_release == BEGIN_EPOCH_TO_ALL:
        return True
    if rule_of_release == BEGIN_EPOCH_UNTIL_ACKNOWLEDGED:
        return not progress.has_acknowledged
    has_fetched = progress.fetched_us != NONE
    return not has_fetched or progress.fetched_us <= world.context[0].time_us - period_us


@RAFT.handles(BeginQuorumEpochDue)
@inner_rule
def handle_begin_quorum_epoch_due(world: Raft, timer: BeginQuorumEpochDue) -> bool:
    """Notify voters again, as long as the voter leads this epoch."""
    voter = this_voter(world)
    if voter.state == codes.LEADER and voter.epoch == timer.epoch:
        tell_epoch(world)
    return False


@RAFT.handles(quorum_requests.BeginQuorumEpochRequest)
@inner_rule
def handle_begin_quorum_epoch(
    world: Raft, request: quorum_requests.BeginQuorumEpochRequest
) -> bool:
    """Hear of a leader: follow it, unless its epoch is over.

    Source: KafkaRaftClient.handleBeginQuorumEpochRequest@3.9.0.
    """
    learn(world, request.epoch, request.leader)
    response = new_response(world, request, quorum_requests.BeginQuorumEpochResponse)
    response.voter = voter_of(world, request.destination)
    is_meant = is_key(request.voter_directory, this_voter(world).directory)
    _respond_to_leader(world, response, request.epoch, 0 if is_meant else INVALID_VOTER_KEY)
    return False


@inner_rule
def _respond_to_leader(
    world: Raft, response: quorum_requests.RaftResponse, epoch: int, error: int
) -> None:
    """Tell the leader of an epoch which epoch the voter knows, and whether it is a later one."""
    voter = this_voter(world)
    response.error = FENCED_LEADER_EPOCH if epoch < voter.epoch else error
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    respond_when_written(world, response)


@RAFT.handles(quorum_requests.BeginQuorumEpochResponse)
@inner_rule
def handle_begin_quorum_epoch_response(
    world: Raft, response: quorum_requests.BeginQuorumEpochResponse
) -> bool:
    """Note that a voter knows the epoch, or learn of a later one."""
    voter = this_voter(world)
    is_known = response.leader_epoch == voter.epoch and response.error == 0
    if voter.state == codes.LEADER and is_known:
        own = voter_of(world, response.destination)
        world.follower_progress[own * len(world.voters) + response.voter].has_acknowledged = True
    learn(world, response.leader_epoch, response.leader)
    return False


@inner_rule
def resign(world: Raft) -> None:
    """Give up the leadership, and send each of the others its place among the successors."""
    voter = this_voter(world)
    process = world.context[0].handling
    own = voter_of(world, process)
    transitions.become_resigned(world)
    successors = voter_count(voter.voter_set) - (1 if voters.is_voter(world) else 0)
    for other in range(len(world.voters)):
        if other != own and voters.directory_of(world, other) != 0:
            request = quorum_requests.EndQuorumEpochRequest.to(world, quorum_process(world, other))
            request.leader = own
            request.epoch = voter.epoch
            request.successor = _place_of(world, own, other)
            request.successors = successors
            transitions.send_when_written(world, request)


@inner_rule
def _place_of(world: Raft, own: int, other: int) -> int:
    """A voter's place among the successors of a leader: most fetched records come first."""
    count = len(world.voters)
    end_offset = world.follower_progress[own * count + other].end_offset
    place = 0
    for one in range(count):
        if one in (own, other) or voters.directory_of(world, one) == 0:
            continue
        end_of_one = world.follower_progress[own * count + one].end_offset
        if end_of_one > end_offset or (end_of_one == end_offset and one < other):
            place += 1
    return place


@RAFT.handles(ResignRequested)
@inner_rule
def handle_resign_requested(world: Raft, timer: ResignRequested) -> bool:
    """The leader has committed that it is no voter any more, and resigns.

    Source: LeaderState.requestResign, KafkaRaftClient.pollLeader@3.9.0.
    """
    voter = this_voter(world)
    if voter.state == codes.LEADER and voter.epoch == timer.epoch:
        resign(world)
    return False


@RAFT.handles(quorum_requests.EndQuorumEpochRequest)
@inner_rule
def handle_end_quorum_epoch(world: Raft, request: quorum_requests.EndQuorumEpochRequest) -> bool:
    """The leader resigns: the first of its successors begins an election at once.

    The one ``k`` places behind it waits (election.backoff.max >> (n - 1)) << (k - 1), of n.

    Source: KafkaRaftClient.strictExponentialElectionBackoffMs@4.1.0.
    """
    voter = this_voter(world)
    learn(world, request.epoch, request.leader)
    if voter.epoch == request.epoch and voter.state == codes.FOLLOWER:
        delay_us = 0
        if request.successor > 0:
            shortest_us = voter.election_backoff_max_us >> (request.successors - 1)
            delay_us = shortest_us << (request.successor - 1)
        transitions.wait_until(world, world.context[0].time_us + delay_us)
    response = new_response(world, request, quorum_requests.EndQuorumEpochResponse)
    _respond_to_leader(world, response, request.epoch, 0)
    return False


@RAFT.handles(quorum_requests.EndQuorumEpochResponse)
@inner_rule
def handle_end_quorum_epoch_response(
    world: Raft, response: quorum_requests.EndQuorumEpochResponse
) -> bool:
    """Hear whether there is a later epoch."""
    learn(world, response.leader_epoch, response.leader)
    return False
