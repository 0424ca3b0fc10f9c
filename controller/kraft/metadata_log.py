"""The metadata log at its controller: records that are appended and committed, and snapshots.

A record changes the state in memory of the active controller at once. The log of its voter
(``controller/raft``) knows a record by its epoch and its offset; here is its content, until it is
committed or can never be. The leader that commits it writes a row of the trace, and notifies
readers of the log; one that learns later that it is committed finds that done.

A snapshot has a record for each broker, each topic, its settings and each of its partitions. It
costs the time of its transfer; writing it stops nothing.

Source: QuorumController.appendRecords, QuorumMetaLogListener.handleCommit@4.1.0; SnapshotGenerator,
MetadataImage.write, KafkaRaftClient.handleFetchSnapshotRequest@3.9.0.
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.committed_rows import write_committed
from tidegauge.controller.kraft.event_queue import new_event_row
from tidegauge.controller.kraft.observers import answer_fetches, name_changes, name_settings
from tidegauge.controller.kraft.state import (
    PARTITION_RECORD,
    QUORUM,
    MetadataRecord,
    Quorum,
    copy_registration,
)
from tidegauge.controller.raft.measured import respond, respond_after
from tidegauge.controller.raft.replication import (
    append_offset,
    count_fetching_voter,
    error_of_request,
)
from tidegauge.controller.raft.snapshots import (
    epoch_of,
    snapshot_at,
    snapshot_number,
    write_snapshot,
)
from tidegauge.controller.raft.state import this_voter
from tidegauge.controller.raft.voters import name_voters_of_snapshot
from tidegauge.replication import errors
from tidegauge.simulation.events import append_event, new_response, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.messages.controller_timers import QuorumCommits, SnapshotDue
from tidegauge.simulation.messages.quorum_requests import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
)
from tidegauge.simulation.rows import METADATA_SNAPSHOT_MEBIBYTE, cost_us, record_row

_MEBIBYTE = code(1024 * 1024)


@QUORUM.handles(SnapshotDue)
@inner_rule
def handle_snapshot_due(world: Quorum, timer: SnapshotDue) -> bool:
    """Write a snapshot of the committed state."""
    write_snapshot(world, timer.epoch, timer.offset, _live_records(world))
    return False


@inner_rule
def _live_records(world: Quorum) -> int:
    """The number of records that hold all that is committed."""
    records = 0
    for broker in world.quorum_brokers:
        records += 1 if broker.committed_epoch != NONE else 0
    for topic in world.quorum_topics:
        # Its own record, and one with its settings.
        records += 2 if topic.committed else 0
    for partition in world.committed_partitions:
        records += 1 if partition.exists else 0
    return records


@QUORUM.handles(FetchSnapshotRequest)
@inner_rule
def handle_fetch_snapshot(world: Quorum, request: FetchSnapshotRequest) -> bool:
    """Send a piece of a snapshot; an observer gets the missed state with the last one."""
    voter = this_voter(world)
    response = new_response(world, request, FetchSnapshotResponse)
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    response.error = error_of_request(world, request.current_leader_epoch)
    number = snapshot_number(world, request.snapshot_epoch, request.snapshot_offset)
    if response.error == errors.NONE and number == NONE:
        response.error = errors.SNAPSHOT_NOT_FOUND
    if response.error != errors.NONE:
        respond(world, response)
        return False
    snapshot = snapshot_at(world, number)
    response.snapshot_epoch = snapshot.epoch
    response.snapshot_offset = snapshot.end_offset
    response.position = request.position
    response.size_bytes = snapshot.bytes
    response.bytes = min(request.max_bytes, snapshot.bytes - request.position)
    is_last = response.position + response.bytes == response.size_bytes
    if request.voter != NONE:
        count_fetching_voter(world, request.voter, request.directory)
        if is_last:
            name_voters_of_snapshot(world, response)
    elif is_last:
        since_offset = request.high_watermark
        name_settings(world, response, request.source, since_offset, snapshot.end_offset)
        name_changes(world, response, request.source, since_offset, snapshot.end_offset)
    mebibyte_us = cost_us(world, request.destination, METADATA_SNAPSHOT_MEBIBYTE)
    respond_after(world, response, mebibyte_us * response.bytes // _MEBIBYTE)
    return False


@inner_rule
def append_record(world: Quorum, sort: int, subject: int) -> MetadataRecord:
    """Append a record that the caller fills; its cause is the present event.

    An event that appends any is a row of the trace.
    """
    voter = this_voter(world)
    if not voter.event_written:
        record_row(world, new_event_row(world))
    record = _new_record(world)
    record.offset = append_offset(world)
    record.epoch = voter.epoch
    record.type = sort
    record.subject = subject
    record.reason = voter.reason
    context = world.context[0]
    record.cause_process = context.cause_process
    record.cause_sequence = context.cause_sequence
    record.because_process = voter.because_process
    record.because_sequence = voter.because_sequence
    return record


@inner_rule
def _new_record(world: Quorum) -> MetadataRecord:
    """A blank record in the ring, behind the others."""
    state = world.active_controller[0]
    room = len(world.metadata_records)
    record = world.metadata_records[(state.first_record + state.record_count) % room]
    state.record_count += 1
    if room - state.record_count < state.record_reserve:
        world.context[0].needs_room = True
    record.state = 0
    record.broker_epoch = NONE
    record.incarnation = NONE
    record.registration_offset = NONE
    record.software = 0
    record.offline_directories = 0
    record.cordoned_directories = NONE
    record.leader_rate = NONE
    record.follower_rate = NONE
    record.old_leader = NONE
    record.unclean = False
    record.from_elr = False
    record.min_insync_replicas = 0
    record.unclean_leader_election = False
    return record


@inner_rule
def append_partition(world: Quorum, partition: int) -> MetadataRecord:
    """Append the record of a partition's present state in ``Quorum.registrations``."""
    record = append_record(world, PARTITION_RECORD, partition)
    state = world.active_controller[0]
    last = (state.first_record + state.record_count - 1) % len(world.metadata_records)
    copy_registration(world.recorded_registrations[last], world.registrations[partition])
    return record


@QUORUM.handles(QuorumCommits)
@inner_rule
def handle_quorum_commits(world: Quorum, timer: QuorumCommits) -> bool:
    """Write rows about committed records, and send the responses that have waited for them.

    More records than tables have room for are committed at the same time, but in several events.
    """
    state = world.active_controller[0]
    most = world.context[0].reserve // 2
    while state.committed_offset < timer.offset and most > 0:
        most -= 1
        commit_next(world, epoch_of(world, state.committed_offset))
    if state.committed_offset < timer.offset:
        QuorumCommits.after(world, 0, timer)
        return False
    voter = this_voter(world)
    while voter.deferred.first != NONE:
        first = view_as(world.events[voter.deferred.first], CommittedResponse)
        if first.waits_for_offset > timer.offset:
            break
        respond(world, take_first(world, voter.deferred))
    answer_fetches(world)
    return False


@inner_rule
def commit_next(world: Quorum, epoch: int) -> None:
    """Write rows about the next record that is committed, which is of this epoch."""
    state = world.active_controller[0]
    place = _place_of(world, state.committed_offset, epoch)
    if place != NONE:
        write_committed(world, world.metadata_records[place], world.recorded_registrations[place])
        state.likely_record = (place + 1) % len(world.metadata_records)
    state.committed_offset += 1
    _drop_committed(world)


@inner_rule
def _place_of(world: Quorum, offset: int, epoch: int) -> int:
    """The place of a record in the ring; NONE if it has no content there, and is in logs only."""
    state = world.active_controller[0]
    room = len(world.metadata_records)
    if state.record_count == 0:
        return NONE
    likely = world.metadata_records[state.likely_record]
    passed = (state.likely_record - state.first_record) % room
    if passed < state.record_count and likely.offset == offset and likely.epoch == epoch:
        return state.likely_record
    for number in range(state.record_count):
        place = (state.first_record + number) % room
        record = world.metadata_records[place]
        if record.offset == offset and record.epoch == epoch:
            return place
    return NONE


@inner_rule
def _drop_committed(world: Quorum) -> None:
    """Drop the records below the committed offset: they are committed, or will never be."""
    state = world.active_controller[0]
    while state.record_count > 0:
        if world.metadata_records[state.first_record].offset >= state.committed_offset:
            break
        state.first_record = (state.first_record + 1) % len(world.metadata_records)
        state.record_count -= 1
    if state.record_count == 0:
        # The rest of the ring takes no memory until that many records wait.
        state.first_record = 0
        state.likely_record = 0


@inner_rule
def respond_when_committed(world: Quorum, response: CommittedResponse) -> None:
    """Send a response once all that is appended by now is committed."""
    voter = this_voter(world)
    if world.active_controller[0].committed_offset >= voter.log_end_offset:
        respond(world, response)
        return
    response.waits_for_offset = voter.log_end_offset
    append_event(world, voter.deferred, response)
