"""A follower fetches its leader's log: one fetch at a time, and the next after a flush.

From 3.9.1 on a voter that knows no leader, or whose leader does not respond, fetches from a random
bootstrap server, which may be itself: the response names the leader and the epoch.

Instead of a fetch a follower may send its leader a request about itself, one fetch timeout after it
has begun to follow, or has asked before: a static voter tells its directory, an observer with
controller.quorum.auto.join.enable asks for the removal of the voter with its id and another
directory, then for its own addition.

Source: KafkaRaftClient.pollFollowerAsVoter, pollFollowerAsObserver, handleFetchResponse,
appendAsFollower, maybeTransition@4.1.0; shouldSendAddOrRemoveVoterRequest@4.2.0 (KIP-1186).
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft import snapshots, transitions, voters
from tidegauge.controller.raft.measured import note_fetched, note_snapshot
from tidegauge.controller.raft.replication import advance_high_watermark
from tidegauge.controller.raft.state import RAFT, Raft, this_voter, voter_of
from tidegauge.replication import errors
from tidegauge.simulation.events import append_event, free_event, items_of, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_timers import (
    RaftFlushed,
    VoterFetchDue,
    VoterFetchTimeout,
    VoterStopped,
)
from tidegauge.simulation.messages.event import ControllerRequest
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.simulation.metadata_log import drawn_server
from tidegauge.simulation.random_streams import BOOTSTRAP_VOTERS
from tidegauge.simulation.rows import METADATA_APPEND, cost_us
from tidegauge.simulation.topology import quorum_process
from tidegauge.simulation.trace_rows.codes import FOLLOWER, LEADER, UNATTACHED


@inner_rule
def learn(world: Raft, epoch: int, leader: int) -> bool:
    """Another voter knows an epoch and its leader (-1: none); whether that changes anything.

    Source: KafkaRaftClient.maybeTransition@4.1.0.
    """
    voter = this_voter(world)
    own = voter_of(world, world.context[0].handling)
    if epoch > voter.epoch:
        if leader in (NONE, own):
            transitions.become_unattached(world, epoch, NONE)
        else:
            follow(world, epoch, leader)
        return True
    is_unknown = voter.leader == NONE or voter.state == UNATTACHED
    if epoch == voter.epoch and is_unknown and leader not in (NONE, own):
        follow(world, epoch, leader)
        return True
    return False


@inner_rule
def follow(world: Raft, epoch: int, leader: int) -> None:
    """Follow the leader of an epoch, and fetch from it; this ends the voter's own resignation."""
    voter = this_voter(world)
    transitions.become_follower(world, epoch, leader)
    if voter.stops:
        tell_stopped(world)
    else:
        fetch_log(world)


@inner_rule
def tell_stopped(world: Raft) -> None:
    """The voter may stop now."""
    this_voter(world).stops = False
    transitions.wait_until(world, NONE)
    VoterStopped.after(world, 0)


@inner_rule
def fetch_log(world: Raft) -> None:
    """Send the next fetch: to the leader, or to a voter that may know it."""
    voter = this_voter(world)
    if voter.state == FOLLOWER and _asks_for_change(world):
        return
    process = world.context[0].handling
    to = _voter_to_ask(world)
    if to == NONE:
        transitions.fetch_after(world, voter.retry_backoff_us)
        return
    voter.fetch_to = to
    request = quorum_requests.RaftFetchRequest.to(world, quorum_process(world, to))
    request.voter = voter_of(world, process)
    request.directory = voter.directory
    request.current_leader_epoch = voter.epoch
    request.fetch_offset = voter.drained_offset
    request.last_fetched_epoch = snapshots.last_epoch(world)
    request.high_watermark = voter.high_watermark
    request.max_bytes = voter.metadata_fetch_max_bytes
    _send_fetch(world, request)


@inner_rule
def _voter_to_ask(world: Raft) -> int:
    """The leader, if it may respond; else a random bootstrap server; NONE: there is none.

    Up to 4.1 an observer asks these also once its fetch timeout is over, until the leader answers.

    Source: KafkaRaftClient.maybeSendFetchToBestNode, pollUnattachedCommon@3.9.1,
    pollFollowerAsObserver@4.1.0.
    """
    voter = this_voter(world)
    context = world.context[0]
    backs_off = voter.leader != NONE and context.time_us < voter.leader_backs_off_until_us
    is_believed = voter.deadline_us != NONE or voter.returns_to_leader or voters.is_voter(world)
    is_reachable = voter.leader != NONE and voter.state != UNATTACHED
    if is_reachable and is_believed and not backs_off and not voter.leader_timed_out:
        return voter.leader
    voter.leader_timed_out = False
    voter.servers_drawn += 1
    return drawn_server(
        world,
        voters.bootstrap_servers(world),
        voter.leader if backs_off else NONE,
        BOOTSTRAP_VOTERS,
        context.handling,
        voter.servers_drawn,
    )


@inner_rule
def fetch_snapshot(world: Raft, epoch: int, offset: int, position: int) -> None:
    """Send a fetch for a piece of the leader's snapshot instead."""
    voter = this_voter(world)
    process = world.context[0].handling
    voter.fetch_to = voter.leader
    request = quorum_requests.FetchSnapshotRequest.to(world, quorum_process(world, voter.leader))
    request.voter = voter_of(world, process)
    request.directory = voter.directory
    request.current_leader_epoch = voter.epoch
    request.snapshot_epoch = epoch
    request.snapshot_offset = offset
    request.position = position
    request.max_bytes = voter.snapshot_fetch_max_bytes
    _send_fetch(world, request)


@inner_rule
def _send_fetch(world: Raft, request: ControllerRequest) -> None:
    """Send a fetch once the one before is on disk, and set its timeout."""
    voter = this_voter(world)
    voter.fetch_number += 1
    voter.fetch_sent_us = world.context[0].time_us
    request.correlation_id = voter.fetch_number
    transitions.send_when_written(world, request)
    if not voter.fetch_watch:
        _watch(world, voter.fetch_sent_us + voter.request_timeout_us)


@inner_rule
def _watch(world: Raft, due_us: int) -> None:
    this_voter(world).fetch_watch = True
    VoterFetchTimeout.at(world, due_us)


@RAFT.handles(VoterFetchTimeout)
@inner_rule
def handle_voter_fetch_timeout(world: Raft, _: VoterFetchTimeout) -> bool:
    """Give up a fetch that got no response in controller.quorum.request.timeout.ms."""
    voter = this_voter(world)
    voter.fetch_watch = False
    if voter.fetch_sent_us == NONE:
        return False
    due_us = voter.fetch_sent_us + voter.request_timeout_us
    if due_us > world.context[0].time_us:
        _watch(world, due_us)
        return False
    voter.fetch_sent_us = NONE
    if voters.bootstrap_servers(world) == 0:
        transitions.fetch_after(world, voter.retry_backoff_us)
    else:
        voter.leader_timed_out = voter.fetch_to == voter.leader
        transitions.fetch_after(world, transitions.NO_TIME_US)
    return False


@RAFT.handles(VoterFetchDue)
@inner_rule
def handle_voter_fetch_due(world: Raft, _: VoterFetchDue) -> bool:
    """Fetch again after a failure, or look for the leader, unless a fetch is under way."""
    voter = this_voter(world)
    voter.fetch_due = False
    looks = voter.state == UNATTACHED and voters.bootstrap_servers(world) != 0 and not voter.stops
    if (looks or voter.state == FOLLOWER) and voter.fetch_sent_us == NONE:
        fetch_log(world)
    return False


@inner_rule
def lose_connection(world: Raft, closed: Disconnected) -> None:
    """Another process is gone, and with it a fetch from it, and the receiver of an answer."""
    voter = this_voter(world)
    if (
        voter.fetch_sent_us != NONE
        and closed.source == quorum_process(world, voter.fetch_to)
        and voter.fetch_sent_us <= closed.until_us
    ):
        _lose_fetch(world)
    for _ in range(voter.voter_fetches.length):
        request = view_as(take_first(world, voter.voter_fetches), quorum_requests.RaftFetchRequest)
        if request.source == closed.source and request.asked_us <= closed.until_us:
            request.is_lost = True
        if request.is_lost and not voter.voters_may_change:
            free_event(world, request)
        else:
            append_event(world, voter.voter_fetches, request)


@inner_rule
def _lose_fetch(world: Raft) -> None:
    """The connection is gone: if it was to the leader, ask another voter at once (from 3.9.1)."""
    voter = this_voter(world)
    voter.fetch_sent_us = NONE
    if voters.bootstrap_servers(world) != 0 and voter.fetch_to == voter.leader:
        now_us = world.context[0].time_us
        voter.leader_backs_off_until_us = now_us + voter.retry_backoff_us
        transitions.fetch_after(world, transitions.NO_TIME_US)
    else:
        transitions.fetch_after(world, voter.retry_backoff_us)


@inner_rule
def _is_awaited(world: Raft, response: quorum_requests.RaftResponse) -> bool:
    """Whether the request under way is answered, by a leader that is not known to be superseded."""
    voter = this_voter(world)
    is_answer = voter.fetch_sent_us != NONE and response.correlation_id == voter.fetch_number
    if is_answer:
        voter.fetch_sent_us = NONE
    return not learn(world, response.leader_epoch, response.leader) and is_answer


@inner_rule
def _has_answer(world: Raft, response: quorum_requests.RaftResponse) -> bool:
    """Whether the leader has answered the fetch under way; a newer leader is followed instead.

    After an error the follower fetches again, later.
    """
    voter = this_voter(world)
    if not _is_awaited(world, response):
        return False
    if voter.state != FOLLOWER or response.error != 0 or response.leader_epoch < voter.epoch:
        transitions.fetch_after(world, voter.retry_backoff_us)
        return False
    voter.has_fetched = True
    transitions.wait_for_leader(world)
    return True


@RAFT.handles(quorum_requests.FetchSnapshotResponse)
@inner_rule
def handle_fetch_snapshot_response(
    world: Raft, response: quorum_requests.FetchSnapshotResponse
) -> bool:
    """Fetch the next piece of a snapshot; the whole of it takes the place of the log.

    Source: KafkaRaftClient.handleFetchSnapshotResponse@4.1.0.
    """
    if not _has_answer(world, response):
        return False
    note_snapshot(world, response.bytes)
    position = response.position + response.bytes
    if position < response.size_bytes:
        fetch_snapshot(world, response.snapshot_epoch, response.snapshot_offset, position)
    else:
        snapshots.load_snapshot(world, response)
        fetch_log(world)
    return False


@RAFT.handles(quorum_requests.RaftFetchResponse)
@inner_rule
def handle_voter_fetch_response(world: Raft, response: quorum_requests.RaftFetchResponse) -> bool:
    """Append the leader's records, or truncate the log where it diverges.

    Source: KafkaRaftClient.handleFetchResponse@4.1.0.
    """
    if not _has_answer(world, response):
        return False
    if response.snapshot_offset != NONE:
        fetch_snapshot(world, response.snapshot_epoch, response.snapshot_offset, 0)
        return False
    if response.diverging_epoch != NONE:
        _truncate(world, response)
        return False
    if not _append(world, response):
        fetch_log(world)
    return False


@inner_rule
def _truncate(world: Raft, response: quorum_requests.RaftFetchResponse) -> None:
    """Truncate the log, and fetch on; the process exits if the leader lacks a committed record."""
    if snapshots.truncate_to_diverging(world, response.diverging_epoch, response.diverging_offset):
        snapshots.write_log_row(world, True)
        fetch_log(world)
    else:
        tell_stopped(world)


@inner_rule
def _append(world: Raft, response: quorum_requests.RaftFetchResponse) -> bool:
    """Append the fetched records, and have them flushed; whether there are any."""
    voter = this_voter(world)
    old_end = voter.drained_offset
    old_high_watermark = voter.high_watermark
    for fetched in items_of(world, response, quorum_requests.FetchedEpoch):
        if fetched.epoch > snapshots.last_epoch(world):
            if voter.drained_offset > old_end:
                # Each epoch that is new in the log has a row of its own.
                snapshots.write_log_row(world, False)
            snapshots.begin_epoch(world, fetched.epoch, fetched.start_offset)
        voter.drained_offset = fetched.end_offset
        voter.log_end_offset = fetched.end_offset
        if fetched.voters != 0:
            offset = fetched.end_offset - 1
            voters.note_voters(world, offset, fetched.voters, fetched.kraft_version)
    known = min(response.high_watermark, voter.drained_offset)
    voter.high_watermark = max(voter.high_watermark, known)
    has_grown = voter.drained_offset > old_end
    if has_grown or voter.high_watermark != old_high_watermark:
        snapshots.write_log_row(world, False)
        snapshots.look_after_snapshots(world)
    if has_grown:
        note_fetched(world, voter.drained_offset - old_end)
        process = world.context[0].handling
        snapshots.flush_later(world, cost_us(world, process, METADATA_APPEND))
    return has_grown


@RAFT.handles(RaftFlushed)
@inner_rule
def handle_raft_flushed(world: Raft, timer: RaftFlushed) -> bool:
    """The log is on disk: a leader counts itself, a follower fetches on."""
    voter = this_voter(world)
    if timer.truncations == voter.truncations:
        voter.flushed_offset = max(voter.flushed_offset, timer.offset)
    if voter.state == LEADER:
        advance_high_watermark(world)
    elif voter.state == FOLLOWER and voter.fetch_sent_us == NONE and not voter.fetch_due:
        fetch_log(world)
    return False


# Requests of a follower about itself.


@inner_rule
def _asks_for_change(world: Raft) -> bool:
    """Whether a follower sends its leader a request about itself, and no fetch.

    It looks each controller.quorum.fetch.timeout.ms. Up to 4.0 static voters tell nothing: they
    send the request only from kraft.version 1 on.

    Source: KafkaRaftClient.pollFollowerAsVoter@3.9.0, pollFollowerAsObserver,
    shouldSendUpdateVoteRequest, shouldSendAddOrRemoveVoterRequest@4.2.0.
    """
    voter = this_voter(world)
    if not voter.voters_may_change or world.context[0].time_us < voter.voter_update_us:
        return False
    own = voter_of(world, world.context[0].handling)
    to = quorum_process(world, voter.leader)
    is_voter = voters.is_voter(world)
    if is_voter and (voter.kraft_version > 0 or voter.has_told_leader):
        # It has nothing to tell: the next period began with the end of this one.
        late_us = world.context[0].time_us - voter.voter_update_us
        voter.voter_update_us += (late_us // voter.fetch_timeout_us + 1) * voter.fetch_timeout_us
        return False
    if voter.kraft_version == 0:
        if not (voter.kraft_version_upgradable and is_voter):
            return False
        update = quorum_requests.UpdateRaftVoterRequest.to(world, to)
        update.newest_kraft_version = voter.newest_kraft_version
        _ask(world, update, own, voter.directory)
        return True
    if not (voter.auto_join_enable and voter.can_join):
        return False
    named = voters.directory_of(world, own)
    if named != 0:
        removal = quorum_requests.RemoveRaftVoterRequest.to(world, to)
        _ask(world, removal, own, named)
    else:
        addition = quorum_requests.AddRaftVoterRequest.to(world, to)
        _ask(world, addition, own, voter.directory)
    return True


@inner_rule
def _ask(world: Raft, request: quorum_requests.ChangedVoter, own: int, directory: int) -> None:
    """Send a request as the one that is under way to the leader."""
    voter = this_voter(world)
    voter.voter_update_us = world.context[0].time_us + voter.fetch_timeout_us
    voter.fetch_to = voter.leader
    request.voter = own
    request.directory = directory
    _send_fetch(world, request)


@RAFT.handles(
    quorum_requests.AddRaftVoterResponse,
    quorum_requests.RemoveRaftVoterResponse,
    quorum_requests.UpdateRaftVoterResponse,
)
@inner_rule
def handle_change_response(world: Raft, response: quorum_requests.RaftResponse) -> bool:
    """The leader has answered a request about this follower, which fetches on."""
    voter = this_voter(world)
    if not _is_awaited(world, response) or voter.state != FOLLOWER:
        return False
    if response.kind == quorum_requests.UpdateRaftVoterResponse.KIND:
        # A leader of a release that takes no note of it is not asked again, either.
        voter.has_told_leader = response.error in (errors.NONE, errors.UNSUPPORTED_VERSION)
    fetch_log(world)
    return False
