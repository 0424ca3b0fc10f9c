"""Changes of a quorum's voters, one after the other: each is a VotersRecord of the metadata log.

A leader refuses a change, in this order (in Kafka's words):

=======================================================  ========================  ==============
because                                                  answer                    of
=======================================================  ========================  ==============
it is not the leader                                     NOT_LEADER_OR_FOLLOWER    all
another change is pending                                REQUEST_TIMED_OUT         all
it has no high watermark in its epoch yet                REQUEST_TIMED_OUT         all
kraft.version is 0                                       UNSUPPORTED_VERSION       add, remove
the last VotersRecord is not committed                   REQUEST_TIMED_OUT         all
the id is one of a voter, with any directory             DUPLICATE_VOTER           add
the voter is unknown, or the only one                    VOTER_NOT_FOUND           remove
API_VERSIONS of the new voter fails                      REQUEST_TIMED_OUT         add
the new voter does not support the kraft.version         INVALID_REQUEST           add
the new voter has not caught up, or not fetched for an   REQUEST_TIMED_OUT         add
hour
=======================================================  ========================  ==============

The record is in force on each controller as soon as it is in its log. The response comes when it is
committed by the new voters, or (ackWhenCommitted=false) when it is appended; the change is pending
until its commit in any case. After controller.quorum.request.timeout.ms the response is
REQUEST_TIMED_OUT, and the record stays in the log. A leader that has removed itself leads on
without counting itself, until that is committed; then it resigns.

An observer with controller.quorum.auto.join.enable asks for a change itself (``follower.py``).

**kraft.version 0**, that of static voters: each voter tells each new leader its directory. Once a
leader knows those of all, the version may be raised to 1.

Simplified: a voter has no endpoints, so it updates its entry at kraft.version 0 only.

Source: AddVoterHandler, RemoveVoterHandler, UpdateVoterHandler@3.9.0,
KafkaRaftClient.handleAddVoterRequest@4.2.0,
LeaderState.maybeAppendUpgradedKRaftVersion, isReplicaCaughtUp@4.1.0.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.raft import transitions, voters
from tidegauge.controller.raft.measured import respond_when_written
from tidegauge.controller.raft.replication import append_voters
from tidegauge.controller.raft.state import RAFT, Raft, these_rules, this_voter, voter_of
from tidegauge.replication import errors, voter_set
from tidegauge.simulation.events import append_event, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_timers import VoterChangeExpires
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.simulation.topology import quorum_process
from tidegauge.simulation.trace_rows import codes

_HOUR_US = code(3_600_000_000)


@inner_rule
def _refusal_of_leader(world: Raft, change: int) -> int:
    """Why a controller makes no change of the voters now; 0: it may make one.

    Source: AddVoterHandler.handleAddVoterRequest,
    RemoveVoterHandler.handleRemoveVoterRequest@3.9.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    if voter.state != codes.LEADER:
        return codes.NOT_THE_LEADER
    rules = these_rules(world)
    is_answered = voter.change_responses.first == NONE
    if voter.change != 0 and (rules.voter_change_awaits_last_one or not is_answered):
        return codes.CHANGE_IS_PENDING
    if voter.high_watermark == NONE and rules.voter_change_awaits_epoch:
        return codes.NO_HIGH_WATERMARK
    if voter.kraft_version == 0:
        return 0 if change == codes.UPDATE_VOTER else codes.NO_RECONFIGURATION
    newest = voters.newest_voters(world, own, voter.log_end_offset)
    is_committed = newest.offset < voter.high_watermark or voter.high_watermark == NONE
    if not is_committed and rules.voter_change_awaits_last_one:
        return codes.VOTERS_NOT_COMMITTED
    return 0


#: The error of each refusal, by its code.
_ERROR_OF_REFUSAL = (
    *(errors.NONE, errors.REQUEST_TIMED_OUT, errors.REQUEST_TIMED_OUT),
    *(errors.UNSUPPORTED_VERSION, errors.REQUEST_TIMED_OUT, errors.DUPLICATE_VOTER),
    *(errors.VOTER_NOT_FOUND, errors.REQUEST_TIMED_OUT, errors.INVALID_REQUEST),
    *(errors.REQUEST_TIMED_OUT, errors.REQUEST_TIMED_OUT, errors.NOT_LEADER_OR_FOLLOWER),
)


@inner_rule
def _answer(
    world: Raft,
    request: quorum_requests.ChangedVoter,
    response: quorum_requests.RaftResponse,
    change: int,
    refusal: int,
) -> None:
    """Answer a request at once."""
    error = _ERROR_OF_REFUSAL[refusal]
    voters.answer_change(world, response, change, request.voter, request.directory, error, refusal)


@inner_rule
def _begin(
    world: Raft,
    request: quorum_requests.ChangedVoter,
    response: quorum_requests.RaftResponse,
    change: int,
) -> None:
    """The leader makes a change from now on; its response waits."""
    voter = this_voter(world)
    voter.change = change
    voter.changed_voter = request.voter
    voter.changed_directory = request.directory
    voter.change_offset = NONE
    voter.acks_at_append = False
    voter.change_number += 1
    append_event(world, voter.change_responses, response)
    VoterChangeExpires.after(world, voter.request_timeout_us, number=voter.change_number)


@RAFT.handles(VoterChangeExpires)
@inner_rule
def handle_voter_change_expires(world: Raft, timer: VoterChangeExpires) -> bool:
    """A change was not committed in time: its record stays in the log.

    Source: LeaderState.maybeExpirePendingOperation@4.1.0.
    """
    if this_voter(world).change_number == timer.number:
        voters.end_change(world, errors.REQUEST_TIMED_OUT, codes.CHANGE_TIMED_OUT)
    return False


# A voter is added.


@RAFT.handles(quorum_requests.AddRaftVoterRequest)
@inner_rule
def handle_add_raft_voter(world: Raft, request: quorum_requests.AddRaftVoterRequest) -> bool:
    """Ask the new voter for the kraft.version that it supports, or refuse it.

    Source: KafkaRaftClient.handleAddVoterRequest, AddVoterHandler.handleAddVoterRequest@3.9.0.
    """
    voter = this_voter(world)
    response = new_response(world, request, quorum_requests.AddRaftVoterResponse)
    if request.directory == 0:
        request.directory = world.voters[request.voter].directory
    refusal = _refusal_of_leader(world, codes.ADD_VOTER)
    if refusal == 0 and voters.directory_of(world, request.voter) != 0:
        refusal = codes.IS_VOTER_ALREADY
    if refusal != 0:
        _answer(world, request, response, codes.ADD_VOTER, refusal)
        return False
    _begin(world, request, response, codes.ADD_VOTER)
    voter.acks_at_append = not request.acks_when_committed
    to = quorum_process(world, request.voter)
    asked = quorum_requests.ApiVersionsRequest.to(world, to, correlation_id=voter.change_number)
    transitions.send_when_written(world, asked)
    return False


@RAFT.handles(quorum_requests.ApiVersionsRequest)
@inner_rule
def handle_api_versions(world: Raft, request: quorum_requests.ApiVersionsRequest) -> bool:
    """Tell a leader the kraft.version that this controller supports."""
    response = new_response(world, request, quorum_requests.ApiVersionsResponse)
    response.newest_kraft_version = this_voter(world).newest_kraft_version
    response.leader = NONE
    response.leader_epoch = NONE
    respond_when_written(world, response)
    return False


@RAFT.handles(quorum_requests.ApiVersionsResponse)
@inner_rule
def handle_api_versions_response(
    world: Raft, response: quorum_requests.ApiVersionsResponse
) -> bool:
    """Append the VotersRecord with the new voter, if that supports it and has caught up.

    Source: AddVoterHandler.handleApiVersionsResponse@3.9.0.
    """
    voter = this_voter(world)
    is_expected = voter.change == codes.ADD_VOTER and voter.change_offset == NONE
    if not is_expected or response.correlation_id != voter.change_number:
        return False
    refusal = 0
    if response.newest_kraft_version < voter.kraft_version:
        refusal = codes.KRAFT_VERSION_NOT_SUPPORTED
    elif these_rules(world).new_voter_catches_up and not _is_caught_up(
        world, voter.changed_voter, voter.changed_directory
    ):
        refusal = codes.NEW_VOTER_LAGS
    if refusal != 0:
        voters.end_change(world, _ERROR_OF_REFUSAL[refusal], refusal)
        return False
    added = voter_set.with_voter(voter.voter_set, voter.changed_voter, voter.changed_directory)
    voter.change_offset = append_voters(world, added, voter.kraft_version)
    if voter.acks_at_append:
        voters.answer_pending_change(world, errors.NONE, 0)
    return False


@inner_rule
def _is_caught_up(world: Raft, controller: int, directory: int) -> bool:
    """Whether an observer once had all of the leader's log, and has fetched within the last hour.

    Source: LeaderState.isReplicaCaughtUp@4.1.0.
    """
    own = voter_of(world, world.context[0].handling)
    progress = world.observer_progress[own * len(world.voters) + controller]
    is_recent = progress.fetched_us > world.context[0].time_us - _HOUR_US
    return progress.directory == directory and progress.caught_up_us != NONE and is_recent


@inner_rule
def lose_new_voter(world: Raft, closed: Disconnected) -> None:
    """The connection to a new voter is gone before it has told its kraft.version."""
    voter = this_voter(world)
    is_awaited = voter.change == codes.ADD_VOTER and voter.change_offset == NONE
    if is_awaited and closed.source == quorum_process(world, voter.changed_voter):
        refusal = codes.NEW_VOTER_NOT_AVAILABLE
        voters.end_change(world, _ERROR_OF_REFUSAL[refusal], refusal)


# A voter is removed.


@RAFT.handles(quorum_requests.RemoveRaftVoterRequest)
@inner_rule
def handle_remove_raft_voter(world: Raft, request: quorum_requests.RemoveRaftVoterRequest) -> bool:
    """Append the VotersRecord without a voter, or refuse that.

    Source: RemoveVoterHandler.handleRemoveVoterRequest@3.9.0, VoterSet.removeVoter@3.9.0.
    """
    voter = this_voter(world)
    response = new_response(world, request, quorum_requests.RemoveRaftVoterResponse)
    named = voters.directory_of(world, request.voter)
    if request.directory == 0:
        is_named = named not in (0, voter_set.ANY_DIRECTORY)
        request.directory = named if is_named else world.voters[request.voter].directory
    refusal = _refusal_of_leader(world, codes.REMOVE_VOTER)
    is_known = named == request.directory
    if refusal == 0 and (not is_known or voter_set.voter_count(voter.voter_set) == 1):
        refusal = codes.IS_NO_VOTER
    if refusal != 0:
        _answer(world, request, response, codes.REMOVE_VOTER, refusal)
        return False
    _begin(world, request, response, codes.REMOVE_VOTER)
    left = voter_set.without_voter(voter.voter_set, request.voter)
    voter.change_offset = append_voters(world, left, voter.kraft_version)
    return False


# Static voters become such that may change.


@RAFT.handles(quorum_requests.UpdateRaftVoterRequest)
@inner_rule
def handle_update_raft_voter(world: Raft, request: quorum_requests.UpdateRaftVoterRequest) -> bool:
    """Note the directory of a static voter that supports kraft.version 1.

    Source: UpdateVoterHandler.handleUpdateVoterRequest@4.1.0.
    """
    voter = this_voter(world)
    response = new_response(world, request, quorum_requests.UpdateRaftVoterResponse)
    refusal = _refusal_of_leader(world, codes.UPDATE_VOTER)
    if refusal == 0 and voter.kraft_version == 0 and not voter.kraft_version_upgradable:
        refusal = codes.NO_RECONFIGURATION
    if refusal == 0 and request.newest_kraft_version < voter.kraft_version:
        refusal = codes.KRAFT_VERSION_NOT_SUPPORTED
    if refusal == 0 and not voter_set.is_voter(voter.voter_set, request.voter, request.directory):
        refusal = codes.IS_NO_VOTER
    if refusal == 0 and voter.kraft_version == 0 and request.newest_kraft_version > 0:
        voter.told_voters = voter_set.with_voter(
            voter.told_voters, request.voter, request.directory
        )
    _answer(world, request, response, codes.UPDATE_VOTER, refusal)
    return False


@inner_rule
def knows_all_voters(world: Raft) -> bool:
    """Whether the leader knows the directories of all static voters, which support kraft.version 1.

    Source: LeaderState.maybeAppendUpgradedKRaftVersion@4.1.0.
    """
    voter = this_voter(world)
    return voter_set.voter_count(voter.told_voters) == voter_set.voter_count(voter.voter_set)


@inner_rule
def upgrade_kraft_version(world: Raft) -> None:
    """Append the KRaftVersionRecord and the VotersRecord of kraft.version 1, in one batch.

    Source: LeaderState.maybeAppendUpgradedKRaftVersion@4.1.0.
    """
    append_voters(world, this_voter(world).told_voters, 1)
