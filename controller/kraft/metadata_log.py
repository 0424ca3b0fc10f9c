"""The contents of the metadata log: what records say, until they are committed.

A record changes the controller's state in memory at once. Its voter appends it to its log
(``controller/raft/replication.py``). Until it is committed what it says is kept here, whoever has
it in its log: leaders that were lost and their successors can have different records at the same
offset, which their epochs tell apart. Once it is committed it is a row of the trace, others can
read it, and responses that waited for it are sent. A later leader that learns of the same commit
writes nothing.

Source: QuorumController.appendRecords, handleCommit@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.committed_rows import write_committed
from tidegauge.controller.kraft.event_queue import new_event_row
from tidegauge.controller.kraft.handlers import QUORUM
from tidegauge.controller.kraft.observers import answer_fetches
from tidegauge.controller.kraft.registrations import PARTITION_RECORD, copy_registration
from tidegauge.controller.kraft.state import MetadataRecord, Quorum
from tidegauge.controller.raft.log import epoch_of
from tidegauge.controller.raft.processes import found_log
from tidegauge.controller.raft.replication import append_offset
from tidegauge.controller.raft.voters import this_voter
from tidegauge.simulation.events import append_event, new_event, set_timer, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.messages.raft_timers import QuorumCommits
from tidegauge.simulation.rows import write_row


@inner_rule
def append_record(world: Quorum, sort: int, subject: int) -> MetadataRecord:
    """Append a record that the caller fills; it is caused by what happens now.

    An event that appends any is a row of the trace.
    """
    voter = this_voter(world)
    if not voter.event_written:
        write_row(world, new_event_row(world))
    return _keep(world, sort, subject, append_offset(world))


@inner_rule
def append_former(world: Quorum, sort: int, subject: int) -> MetadataRecord:
    """Append a record that all voters have had in their logs before the run."""
    voter = this_voter(world)
    voter.log_end_offset += 1
    return _keep(world, sort, subject, voter.log_end_offset - 1)


@inner_rule
def _keep(world: Quorum, sort: int, subject: int, offset: int) -> MetadataRecord:
    """Keep a record until it is committed, blank but for its place in the log and its subject."""
    state = world.active_controller[0]
    voter = this_voter(world)
    record = world.metadata_records[_next_place(world)]
    state.record_count += 1
    record.offset = offset
    record.epoch = voter.epoch
    record.type = sort
    record.subject = subject
    record.state = 0
    record.broker_epoch = NONE
    record.incarnation = NONE
    record.registration_offset = NONE
    record.offline_directories = 0
    record.reason = voter.reason
    record.old_leader = NONE
    record.unclean = False
    record.min_insync_replicas = 0
    record.unclean_leader_election = False
    context = world.context[0]
    if len(world.metadata_records) - state.record_count < state.record_reserve:
        context.needs_room = True
    record.cause_process = context.cause_process
    record.cause_sequence = context.cause_sequence
    record.because_process = voter.because_process
    record.because_sequence = voter.because_sequence
    return record


@inner_rule
def _next_place(world: Quorum) -> int:
    """Where in the ring the next record comes."""
    state = world.active_controller[0]
    return (state.first_record + state.record_count) % len(world.metadata_records)


@inner_rule
def append_partition(world: Quorum, partition: int) -> MetadataRecord:
    """Append the record that makes a partition what ``Quorum.registrations`` has by now."""
    place = _next_place(world)
    record = append_record(world, PARTITION_RECORD, partition)
    copy_registration(world.recorded_registrations[place], world.registrations[partition])
    return record


@inner_rule
def append_former_partition(world: Quorum, partition: int) -> None:
    """Append the record of a partition that was there before the run."""
    place = _next_place(world)
    append_former(world, PARTITION_RECORD, partition)
    copy_registration(world.recorded_registrations[place], world.registrations[partition])


@QUORUM.handles(QuorumCommits)
@inner_rule
def handle_quorum_commits(world: Quorum, timer: QuorumCommits) -> bool:
    """Commit up to an offset, write rows about it, and send the responses that have waited for it.

    More records than tables have room for are committed at the same time, but in several events.
    The log below the offset stays as it is, whatever has become of the leader.
    """
    state = world.active_controller[0]
    voter = this_voter(world)
    most = world.context[0].reserve // 2
    while state.committed_offset < timer.offset and most > 0:
        most -= 1
        _commit_next(world)
    if state.committed_offset < timer.offset:
        goes_on = new_event(world, timer.destination, timer.destination, QuorumCommits)
        goes_on.offset = timer.offset
        goes_on.epoch = timer.epoch
        set_timer(world, goes_on, world.context[0].time_us)
        return False
    while voter.deferred.first != NONE:
        first = view_as(world.events[voter.deferred.first], CommittedResponse)
        if first.waits_for_offset > timer.offset:
            break
        send(world, take_first(world, voter.deferred), world.context[0].time_us)
    answer_fetches(world)
    return False


@inner_rule
def _commit_next(world: Quorum) -> None:
    """Commit the next record, as it is in the log of this voter."""
    state = world.active_controller[0]
    place = _place_of(world, state.committed_offset, epoch_of(world, state.committed_offset))
    if place != NONE:
        write_committed(world, world.metadata_records[place], world.recorded_registrations[place])
        state.likely_record = (place + 1) % len(world.metadata_records)
    state.committed_offset += 1
    _drop_committed(world)


@inner_rule
def _place_of(world: Quorum, offset: int, epoch: int) -> int:
    """Where a record lies in the ring; NONE if it says nothing (NoOpRecord, LeaderChange)."""
    state = world.active_controller[0]
    room = len(world.metadata_records)
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
    """Drop the oldest records of the ring, whose offsets are committed: these, or others there."""
    state = world.active_controller[0]
    while state.record_count > 0:
        if world.metadata_records[state.first_record].offset >= state.committed_offset:
            break
        state.first_record = (state.first_record + 1) % len(world.metadata_records)
        state.record_count -= 1


@inner_rule
def commit_former_records(world: Quorum) -> None:
    """Commit at once what has been there before the run; nobody has caused it."""
    state = world.active_controller[0]
    context = world.context[0]
    while state.committed_offset < this_voter(world).log_end_offset:
        context.cause_process = NONE
        context.cause_sequence = NONE
        _commit_next(world)
    context.cause_process = NONE
    context.cause_sequence = NONE
    found_log(world)


@inner_rule
def respond_when_committed(world: Quorum, response: CommittedResponse) -> None:
    """Send a response once all that is appended by now is committed."""
    voter = this_voter(world)
    is_committed = voter.high_watermark >= voter.log_end_offset
    if is_committed and world.active_controller[0].committed_offset >= voter.log_end_offset:
        send(world, response, world.context[0].time_us)
        return
    response.waits_for_offset = voter.log_end_offset
    append_event(world, voter.deferred, response)
