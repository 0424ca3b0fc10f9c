"""The metadata log: records are appended, drained into batches, committed, and read.

A record changes the controller's state in memory at once. It waits for company for
controller.quorum.append.linger.ms, is written, forced to disk and replicated (costs
``metadata_append``, ``metadata_fsync``, ``metadata_commit``), and is committed: then it is a row of
the trace, others can read it, and responses that waited for it are sent.

Source: QuorumController.appendRecords, BatchAccumulator,
KafkaRaftClient.onUpdateLeaderHighWatermark@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.committed_rows import write_committed
from tidegauge.controller.kraft.event_queue import new_event_row
from tidegauge.controller.kraft.handlers import QUORUM
from tidegauge.controller.kraft.observers import answer_fetches
from tidegauge.controller.kraft.registrations import (
    PARTITION_RECORD,
    copy_registration,
)
from tidegauge.controller.kraft.state import MetadataRecord, Quorum
from tidegauge.controller.kraft.voters import this_voter
from tidegauge.simulation.costs import METADATA_APPEND, METADATA_COMMIT, METADATA_FSYNC, cost_us
from tidegauge.simulation.events import append_event, new_event, set_timer, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.messages.quorum_timers import QuorumCommits, QuorumDrains
from tidegauge.simulation.rows import write_row


@inner_rule
def append_no_op(world: Quorum) -> None:
    """Append a record that says nothing."""
    this_voter(world).log_end_offset += 1
    _drain_later(world)


@inner_rule
def append_record(world: Quorum, sort: int, subject: int) -> MetadataRecord:
    """Append a record that the caller fills; it is caused by what happens now.

    An event that appends any is a row of the trace.
    """
    voter = this_voter(world)
    if not voter.event_written:
        write_row(world, new_event_row(world))
    record = _new_record(world)
    record.offset = voter.log_end_offset
    record.epoch = voter.epoch
    voter.log_end_offset += 1
    record.type = sort
    record.subject = subject
    record.reason = voter.reason
    context = world.context[0]
    record.cause_process = context.cause_process
    record.cause_sequence = context.cause_sequence
    record.because_process = voter.because_process
    record.because_sequence = voter.because_sequence
    _drain_later(world)
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
    record.offline_directories = 0
    record.old_leader = NONE
    record.unclean = False
    record.min_insync_replicas = 0
    record.unclean_leader_election = False
    return record


@inner_rule
def append_partition(world: Quorum, partition: int) -> MetadataRecord:
    """Append the record that makes a partition what ``Quorum.registrations`` has by now."""
    record = append_record(world, PARTITION_RECORD, partition)
    state = world.active_controller[0]
    last = (state.first_record + state.record_count - 1) % len(world.metadata_records)
    copy_registration(world.recorded_registrations[last], world.registrations[partition])
    return record


@inner_rule
def _drain_later(world: Quorum) -> None:
    voter = this_voter(world)
    if not voter.drains:
        voter.drains = True
        process = world.context[0].handling
        timer = new_event(world, process, process, QuorumDrains)
        set_timer(world, timer, world.context[0].time_us + voter.append_linger_us)


@QUORUM.handles(QuorumDrains)
@inner_rule
def handle_quorum_drains(world: Quorum, timer: QuorumDrains) -> bool:
    """Write what has been appended, and have it replicated."""
    state = world.active_controller[0]
    voter = this_voter(world)
    voter.drains = False
    voter.drained_offset = voter.log_end_offset
    process = timer.destination
    due_us = world.context[0].time_us + cost_us(world, process, METADATA_APPEND)
    due_us += cost_us(world, process, METADATA_FSYNC)
    if state.voters > 1:
        due_us += cost_us(world, process, METADATA_COMMIT)
    voter.committed_us = max(voter.committed_us, due_us)
    commits = new_event(world, process, process, QuorumCommits)
    commits.offset = voter.drained_offset
    set_timer(world, commits, voter.committed_us)
    return False


@QUORUM.handles(QuorumCommits)
@inner_rule
def handle_quorum_commits(world: Quorum, timer: QuorumCommits) -> bool:
    """Commit up to an offset, write rows about it, and send the responses that have waited for it.

    More records than tables have room for are committed at the same time, but in several events.
    """
    voter = this_voter(world)
    most = world.context[0].reserve // 2
    while voter.high_watermark < timer.offset and most > 0:
        most -= 1
        commit_next(world, voter.epoch)
        voter.high_watermark += 1
    if voter.high_watermark < timer.offset:
        goes_on = new_event(world, timer.destination, timer.destination, QuorumCommits)
        goes_on.offset = timer.offset
        set_timer(world, goes_on, world.context[0].time_us)
        return False
    while voter.deferred.first != NONE:
        first = view_as(world.events[voter.deferred.first], CommittedResponse)
        if first.waits_for_offset > voter.high_watermark:
            break
        send(world, take_first(world, voter.deferred), world.context[0].time_us)
    answer_fetches(world)
    return False


@inner_rule
def commit_next(world: Quorum, epoch: int) -> None:
    """Write rows about the next record that is committed, of this epoch; at once for all readers.

    A controller that learns later that it is committed finds it done.
    """
    state = world.active_controller[0]
    place = _place_of(world, state.committed_offset, epoch)
    if place != NONE:
        write_committed(world, world.metadata_records[place], world.recorded_registrations[place])
        state.likely_record = (place + 1) % len(world.metadata_records)
    state.committed_offset += 1
    _drop_committed(world)


@inner_rule
def _place_of(world: Quorum, offset: int, epoch: int) -> int:
    """Where a record lies in the ring; NONE if it says nothing, and so is in logs only."""
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
    """Drop what lies below the committed offset: it is committed, or it will never be."""
    state = world.active_controller[0]
    while state.record_count > 0:
        if world.metadata_records[state.first_record].offset >= state.committed_offset:
            break
        state.first_record = (state.first_record + 1) % len(world.metadata_records)
        state.record_count -= 1


@inner_rule
def commit_former_records(world: Quorum) -> None:
    """Commit at once what has been there before the run; nobody has caused it."""
    voter = this_voter(world)
    context = world.context[0]
    while voter.high_watermark < voter.log_end_offset:
        context.cause_process = NONE
        context.cause_sequence = NONE
        commit_next(world, voter.epoch)
        voter.high_watermark += 1
    context.cause_process = NONE
    context.cause_sequence = NONE
    voter.drained_offset = voter.high_watermark


@inner_rule
def respond_when_committed(world: Quorum, response: CommittedResponse) -> None:
    """Send a response once all that is appended by now is committed."""
    voter = this_voter(world)
    if voter.high_watermark >= voter.log_end_offset:
        send(world, response, world.context[0].time_us)
        return
    response.waits_for_offset = voter.log_end_offset
    append_event(world, voter.deferred, response)
