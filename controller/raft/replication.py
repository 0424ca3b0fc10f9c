"""The log of a leader: it is appended to, fetched by the other voters, and committed.

Appended records wait for company for controller.quorum.append.linger.ms, is written, and is flushed
while followers fetch it already. The leader counts itself up to where its log is flushed, a
follower from its next fetch on, since it has flushed the records of the last one before that. A
record is committed once a majority has it, and only together with one of the leader's own epoch.

A fetch that waits counts once more when it is answered, also if its sender is gone since, so a
death shows up to half a second later. Simplified: a leader of static voters forgets such a fetch
with the connection, and counts none twice.

A VotersRecord counts from its append on, for itself, too: a leader that is no voter by it does not
count itself any more.

Source: BatchAccumulator, LeaderState.maybeUpdateHighWatermark, updateReplicaState,
KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest@4.1.0 (KIP-1166).
"""

from tidegauge.compiled.records import blank, view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.raft import snapshots, voters
from tidegauge.controller.raft.measured import (
    note_batch,
    note_committed,
    respond_when_written,
    these_stats,
)
from tidegauge.controller.raft.state import (
    RAFT,
    FollowerProgress,
    Raft,
    these_rules,
    this_voter,
    voter_of,
)
from tidegauge.controller.raft.transitions import NO_TIME_US, check_quorum_later, refuse_fetch
from tidegauge.replication import errors, voter_set
from tidegauge.simulation import events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import controller_timers
from tidegauge.simulation.messages.quorum_requests import (
    FetchedEpoch,
    RaftFetchRequest,
    RaftFetchResponse,
)
from tidegauge.simulation.metadata_log import METADATA_RECORD_BYTES
from tidegauge.simulation.rows import METADATA_APPEND, cost_us
from tidegauge.simulation.trace_rows.codes import LEADER, REMOVE_VOTER

#: KafkaRaftClient.MAX_FETCH_WAIT_MS
FETCH_WAIT_US = code(500_000)


@inner_rule
def append_offset(world: Raft) -> int:
    """Append a record to the log of the leader that handles the event; the record's offset."""
    voter = this_voter(world)
    offset = voter.log_end_offset
    voter.log_end_offset += 1
    if not voter.drains:
        voter.drains = True
        controller_timers.QuorumDrains.after(world, voter.append_linger_us, voter)
    return offset


@inner_rule
def append_leader_change(world: Raft) -> None:
    """Append the first record of a leader's epoch, which is written at once."""
    voter = this_voter(world)
    voter.log_end_offset += 1
    _write(world)


@inner_rule
def append_voters(world: Raft, new_voters: int, kraft_version: int) -> int:
    """Append a VotersRecord, which is written at once and in force; its offset.

    A new kraft.version is a record before it.

    Source: LeaderState.appendVotersRecord, updateVoterAndObserverStates@4.1.0.
    """
    voter = this_voter(world)
    before = voter.voter_set
    if kraft_version != voter.kraft_version:
        voter.log_end_offset += 1
    offset = voter.log_end_offset
    voter.log_end_offset += 1
    voters.note_voters(world, offset, new_voters, kraft_version)
    for other in range(len(world.voters)):
        _move_progress(world, other, voter_set.directory_of(before, other))
    if voter_set.voter_count(before) == 1:
        check_quorum_later(world)
    _write(world)
    return offset


@inner_rule
def _move_progress(world: Raft, other: int, directory_before: int) -> None:
    """What the leader knows of an observer that is a voter now is kept, and the other way round."""
    directory = voters.directory_of(world, other)
    if voter_set.is_key(directory_before, directory) or directory == directory_before:
        return
    own = voter_of(world, world.context[0].handling)
    place = own * len(world.voters) + other
    as_voter = world.follower_progress[place]
    as_observer = world.observer_progress[place]
    if directory == 0:
        if as_observer.directory == 0:
            _copy(as_voter, as_observer)
        blank(as_voter, FollowerProgress)
    elif as_observer.directory == directory:
        _copy(as_observer, as_voter)
        blank(as_observer, FollowerProgress)
    else:
        blank(as_voter, FollowerProgress)


@inner_rule
def _copy(progress: FollowerProgress, target: FollowerProgress) -> None:
    target.end_offset = progress.end_offset
    target.fetched_us = progress.fetched_us
    target.directory = progress.directory
    target.leader_end_offset = progress.leader_end_offset
    target.caught_up_us = progress.caught_up_us
    target.has_acknowledged = progress.has_acknowledged


@RAFT.handles(controller_timers.QuorumDrains)
@inner_rule
def handle_quorum_drains(world: Raft, timer: controller_timers.QuorumDrains) -> bool:
    """Write pending appends, unless the voter has lost the leadership of that epoch."""
    voter = this_voter(world)
    if voter.state == LEADER and voter.epoch == timer.epoch:
        voter.drains = False
        _write(world)
    return False


@inner_rule
def _write(world: Raft) -> None:
    """Write the log up to its end in memory, after all that the disk has to do before."""
    voter = this_voter(world)
    process = world.context[0].handling
    append_us = cost_us(world, process, METADATA_APPEND)
    voter.writes_until_us = max(voter.writes_until_us, world.context[0].time_us) + append_us
    these_stats(world).written_us += append_us
    note_batch(world)
    controller_timers.RaftAppended.at(
        world, voter.writes_until_us, voter, offset=voter.log_end_offset
    )


@RAFT.handles(controller_timers.RaftAppended)
@inner_rule
def handle_raft_appended(world: Raft, timer: controller_timers.RaftAppended) -> bool:
    """Records are in the leader's log: others may fetch them while they are flushed."""
    voter = this_voter(world)
    if voter.state != LEADER or voter.epoch != timer.epoch:
        return False
    voter.drained_offset = timer.offset
    snapshots.flush_later(world, NO_TIME_US)
    snapshots.write_log_row(world, False)
    _answer_voters(world)
    if voter.fetches.first != NONE and not voter.fetch_carries_high_watermark:
        controller_timers.QuorumAppended.after(world, 0)
    return False


@inner_rule
def advance_high_watermark(world: Raft) -> None:
    """Commit a majority's records, and notify the controller; not before a record of this epoch.

    Source: LeaderState.maybeUpdateHighWatermark@4.1.0.
    """
    voter = this_voter(world)
    offset = _majority_offset(world)
    if offset <= voter.epoch_start_offset or offset <= voter.high_watermark:
        return
    _note_committed_voters(world, voter.high_watermark, offset)
    voter.high_watermark = offset
    note_committed(world, offset)
    snapshots.write_log_row(world, False)
    snapshots.look_after_snapshots(world)
    controller_timers.QuorumCommits.after(world, 0, offset=offset, epoch=voter.epoch)
    if not voter.claimed:
        claim(world)
    _answer_voters(world)


@inner_rule
def _note_committed_voters(world: Raft, before: int, offset: int) -> None:
    """A change of the voters may be committed; a leader that is none any more is to resign.

    Source: AddVoterHandler.highWatermarkUpdated, RemoveVoterHandler.highWatermarkUpdated@3.9.0.
    """
    voter = this_voter(world)
    if not voter.voters_may_change:
        return
    own = voter_of(world, world.context[0].handling)
    newest = voters.newest_voters(world, own, offset)
    if newest.offset != NONE and before <= newest.offset:
        voters.write_voters_row(world, newest, True)
    if voter.change_offset == NONE or voter.change_offset >= offset:
        return
    is_removal = voter.change == REMOVE_VOTER
    voters.end_change(world, errors.NONE, 0)
    resigns = is_removal and these_rules(world).removed_leader_resigns
    if resigns and not voters.is_voter(world):
        controller_timers.ResignRequested.after(world, 0, epoch=voter.epoch)


@inner_rule
def claim(world: Raft) -> None:
    """A record of the leader's epoch is committed: its controller may act."""
    voter = this_voter(world)
    voter.claimed = True
    controller_timers.LeadershipClaimed.after(
        world, 0, epoch=voter.epoch, offset=voter.epoch_start_offset + 1
    )


@inner_rule
def _majority_offset(world: Raft) -> int:
    """The largest offset up to which a majority of the voters has the leader's log."""
    known = voters.counted_voters(world)
    count = voter_set.voter_count(known)
    if these_rules(world).removed_leader_counts:
        own = voter_of(world, world.context[0].handling)
        known = voter_set.with_voter(known, own, this_voter(world).directory)
    found = NONE
    for one in range(len(world.voters)):
        if voter_set.directory_of(known, one) == 0:
            continue
        offset = _end_of(world, one)
        have = 0
        for other in range(len(world.voters)):
            if voter_set.directory_of(known, other) != 0 and _end_of(world, other) >= offset:
                have += 1
        if 2 * have > count:
            found = max(found, offset)
    return found


@inner_rule
def _end_of(world: Raft, voter: int) -> int:
    """The end of a voter's log, as the leader counts it."""
    own = voter_of(world, world.context[0].handling)
    if voter == own:
        return this_voter(world).flushed_offset
    return world.follower_progress[own * len(world.voters) + voter].end_offset


@inner_rule
def error_of_request(world: Raft, asked_epoch: int) -> int:
    """Why a request to the leader of an epoch is refused: there is none here, or of another one.

    An observer without an epoch (-1) asks any leader.

    Source: KafkaRaftClient.validateLeaderOnlyRequest@4.1.0.
    """
    voter = this_voter(world)
    if asked_epoch != NONE and asked_epoch < voter.epoch:
        return errors.FENCED_LEADER_EPOCH
    if asked_epoch > voter.epoch:
        return errors.UNKNOWN_LEADER_EPOCH
    return errors.NONE if voter.state == LEADER else errors.NOT_LEADER_OR_FOLLOWER


@inner_rule
def refuses_fetch(world: Raft, request: RaftFetchRequest) -> bool:
    """Whether a fetch is answered with an error."""
    error = error_of_request(world, request.current_leader_epoch)
    if error != errors.NONE:
        refuse_fetch(world, request, error)
    return error != errors.NONE


@inner_rule
def take_voter_fetch(world: Raft, request: RaftFetchRequest) -> bool:
    """Note a follower's position, and answer it, or let it wait; whether it waits.

    Source: KafkaRaftClient.tryCompleteFetchRequest@4.1.0.
    """
    voter = this_voter(world)
    if snapshots.needs_snapshot(world, request):
        snapshots.offer_snapshot(world, request)
        return False
    if _diverges(world, request):
        return False
    _note_fetch(world, request)
    if _has_more(world, request):
        _answer(world, request)
        return False
    request.deadline_us = world.context[0].time_us + FETCH_WAIT_US
    events.append_event(world, voter.voter_fetches, request)
    if not voter.voter_fetch_timer:
        _watch(world, request.deadline_us)
    return True


@inner_rule
def _diverges(world: Raft, request: RaftFetchRequest) -> bool:
    """Whether a follower has something else in its log, which is its answer then.

    Source: ReplicatedLog.validateOffsetAndEpoch@4.1.0.
    """
    voter = this_voter(world)
    if request.fetch_offset == 0 or not these_rules(world).diverging_fetch_refused:
        return False
    epoch, end_offset = snapshots.epoch_end(world, request.last_fetched_epoch)
    if epoch == request.last_fetched_epoch and end_offset >= request.fetch_offset:
        return False
    response = events.new_response(world, request, RaftFetchResponse)
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    response.log_end_offset = voter.drained_offset
    response.high_watermark = voter.high_watermark
    response.diverging_epoch = epoch
    response.diverging_offset = end_offset
    respond_when_written(world, response)
    return True


@inner_rule
def _note_fetch(world: Raft, request: RaftFetchRequest) -> None:
    """A follower has all before its fetch offset on its disk.

    Source: LeaderState.updateReplicaState@4.1.0.
    """
    voter = this_voter(world)
    now_us = world.context[0].time_us
    is_voter = count_fetching_voter(world, request.voter, request.directory)
    progress = progress_of(world, request.voter, request.directory)
    if request.fetch_offset >= voter.drained_offset:
        progress.caught_up_us = now_us
    elif progress.leader_end_offset > 0 and request.fetch_offset >= progress.leader_end_offset:
        progress.caught_up_us = max(progress.caught_up_us, progress.fetched_us)
    progress.directory = request.directory
    progress.end_offset = request.fetch_offset
    progress.leader_end_offset = voter.drained_offset
    progress.fetched_us = now_us
    progress.has_acknowledged = True
    if is_voter:
        advance_high_watermark(world)


@inner_rule
def progress_of(world: Raft, follower: int, directory: int) -> FollowerProgress:
    """What the leader knows of a controller with this directory, as a voter or an observer.

    One that observes, with a new directory, takes the place of the one before.

    Source: LeaderState.getOrCreateReplicaState@4.1.0.
    """
    own = voter_of(world, world.context[0].handling)
    place = own * len(world.voters) + follower
    if voter_set.is_key(voters.directory_of(world, follower), directory):
        return world.follower_progress[place]
    progress = world.observer_progress[place]
    if progress.directory != directory:
        blank(progress, FollowerProgress)
    return progress


@inner_rule
def count_fetching_voter(world: Raft, follower: int, directory: int) -> bool:
    """A controller has fetched from the log or from a snapshot: the leader may still have a quorum.

    Whether it is a voter. A leader that is a voter counts as one that has fetched.

    Source: LeaderState.updateCheckQuorumForFollowingVoter@4.1.0.
    """
    voter = this_voter(world)
    is_voter = voter_set.is_key(voters.directory_of(world, follower), directory)
    if is_voter:
        voter.fetched_voters |= 1 << follower
    fetched = 1 if voters.is_voter(world) else 0
    for other in range(len(world.voters)):
        fetched += (voter.fetched_voters >> other) & 1
    if 2 * fetched > voter_set.voter_count(voter.voter_set):
        voter.fetched_voters = 0
        check_quorum_later(world)
    return is_voter


@inner_rule
def _has_more(world: Raft, request: RaftFetchRequest) -> bool:
    voter = this_voter(world)
    if request.fetch_offset < voter.drained_offset:
        return True
    return voter.fetch_carries_high_watermark and request.high_watermark < voter.high_watermark


@inner_rule
def _answer_voters(world: Raft) -> None:
    """Answer the fetches of voters for which there is more now."""
    voter = this_voter(world)
    for _ in range(voter.voter_fetches.length):
        request = view_as(events.take_first(world, voter.voter_fetches), RaftFetchRequest)
        if _has_more(world, request):
            _answer_late(world, request)
        else:
            events.append_event(world, voter.voter_fetches, request)


@inner_rule
def _answer_late(world: Raft, request: RaftFetchRequest) -> None:
    """Answer a fetch that has waited, which counts as one that has come now.

    Source: KafkaRaftClient.handleFetchRequest, tryCompleteFetchRequest@3.9.0.
    """
    if this_voter(world).voters_may_change:
        progress_of(world, request.voter, request.directory).fetched_us = world.context[0].time_us
        count_fetching_voter(world, request.voter, request.directory)
    if not request.is_lost:
        _answer(world, request)
    events.free_event(world, request)


@inner_rule
def fetched_end(world: Raft, request: RaftFetchRequest) -> int:
    """The end of the records that fit into the response to a fetch; one record always does.

    Source: KafkaRaftClient.tryCompleteFetchRequest@4.3.1, with KIP-1219; up to 4.2 the limit is a
    constant.
    """
    records = max(1, request.max_bytes // METADATA_RECORD_BYTES)
    return min(this_voter(world).drained_offset, request.fetch_offset + records)


@inner_rule
def _answer(world: Raft, request: RaftFetchRequest) -> None:
    """Send a follower its missing records, by epoch, and the committed end.

    Fetched records can be on the wire before they are flushed here.
    """
    voter = this_voter(world)
    response = events.new_response(world, request, RaftFetchResponse)
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    response.log_end_offset = fetched_end(world, request)
    response.high_watermark = voter.high_watermark
    end_offset = voter.drained_offset
    first = voter.epoch_count
    while first > 0 and end_offset > request.fetch_offset:
        first -= 1
        end_offset = world.epoch_starts[snapshots.epoch_place(world, first)].start_offset
    for number in range(first, voter.epoch_count):
        _name_epoch(world, request, response, number)
    respond_when_written(world, response)


@inner_rule
def _name_epoch(
    world: Raft, request: RaftFetchRequest, response: RaftFetchResponse, number: int
) -> None:
    """Name the records of one epoch of the log that a follower does not have."""
    voter = this_voter(world)
    begun = world.epoch_starts[snapshots.epoch_place(world, number)]
    end_offset = response.log_end_offset
    if number + 1 < voter.epoch_count:
        next_start = world.epoch_starts[snapshots.epoch_place(world, number + 1)].start_offset
        end_offset = min(end_offset, next_start)
    start_offset = max(begun.start_offset, request.fetch_offset)
    while start_offset < end_offset:
        fetched = events.new_item(world, response, NONE, FetchedEpoch)
        fetched.epoch = begun.epoch
        fetched.start_offset = start_offset
        fetched.end_offset = end_offset
        voters.name_voters(world, fetched)
        start_offset = fetched.end_offset


@inner_rule
def _watch(world: Raft, due_us: int) -> None:
    this_voter(world).voter_fetch_timer = True
    controller_timers.VoterFetchExpires.at(world, due_us)


@RAFT.handles(controller_timers.VoterFetchExpires)
@inner_rule
def handle_voter_fetch_expires(world: Raft, _: controller_timers.VoterFetchExpires) -> bool:
    """Answer the fetches of voters that have waited for long enough, with nothing new."""
    voter = this_voter(world)
    voter.voter_fetch_timer = False
    now_us = world.context[0].time_us
    while voter.voter_fetches.first != NONE:
        request = view_as(world.events[voter.voter_fetches.first], RaftFetchRequest)
        if request.deadline_us > now_us:
            _watch(world, request.deadline_us)
            break
        events.take_first(world, voter.voter_fetches)
        _answer_late(world, request)
    return False
