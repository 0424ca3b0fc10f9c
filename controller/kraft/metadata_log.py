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
    NO_OP_RECORD,
    PARTITION_RECORD,
    copy_registration,
)
from tidegauge.controller.kraft.responses import respond
from tidegauge.controller.kraft.state import MetadataRecord, Quorum
from tidegauge.simulation.costs import METADATA_APPEND, METADATA_COMMIT, METADATA_FSYNC, cost_us
from tidegauge.simulation.events import append_event, new_event, set_timer, take_first
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_requests import CommittedResponse
from tidegauge.simulation.messages.quorum_timers import QuorumCommits, QuorumDrains
from tidegauge.simulation.rows import write_row
from tidegauge.simulation.topology import active_controller_process


@inner_rule
def append_record(world: Quorum, sort: int, subject: int) -> MetadataRecord:
    """Append a record that the caller fills; it is caused by what happens now.

    An event that appends any, other than a NoOpRecord, is a row of the trace.
    """
    state = world.active_controller[0]
    if sort != NO_OP_RECORD and not state.event_written:
        write_row(world, new_event_row(world))
    place = (state.first_record + state.record_count) % len(world.metadata_records)
    record = world.metadata_records[place]
    state.record_count += 1
    record.offset = state.log_end_offset
    state.log_end_offset += 1
    record.type = sort
    record.subject = subject
    record.state = 0
    record.broker_epoch = NONE
    record.reason = state.reason
    record.old_leader = NONE
    record.unclean = False
    record.min_insync_replicas = 0
    record.unclean_leader_election = False
    context = world.context[0]
    if len(world.metadata_records) - state.record_count < state.record_reserve:
        context.needs_room = True
    record.cause_process = context.cause_process
    record.cause_sequence = context.cause_sequence
    record.because_process = state.because_process
    record.because_sequence = state.because_sequence
    _drain_later(world)
    return record


@inner_rule
def append_partition(world: Quorum, partition: int) -> MetadataRecord:
    """Append the record that makes a partition what ``Quorum.registrations`` has by now."""
    record = append_record(world, PARTITION_RECORD, partition)
    place = _place_of(world, record.offset)
    copy_registration(world.recorded_registrations[place], world.registrations[partition])
    return record


@inner_rule
def _place_of(world: Quorum, offset: int) -> int:
    """Where a record that is not committed lies in the ring."""
    state = world.active_controller[0]
    return (state.first_record + offset - (state.log_end_offset - state.record_count)) % len(
        world.metadata_records
    )


@inner_rule
def _drain_later(world: Quorum) -> None:
    state = world.active_controller[0]
    if not state.drains:
        state.drains = True
        process = active_controller_process(world)
        timer = new_event(world, process, process, QuorumDrains)
        set_timer(world, timer, world.context[0].time_us + state.append_linger_us)


@QUORUM.handles(QuorumDrains)
@inner_rule
def handle_quorum_drains(world: Quorum, timer: QuorumDrains) -> bool:
    """Write what has been appended, and have it replicated."""
    state = world.active_controller[0]
    state.drains = False
    state.drained_offset = state.log_end_offset
    process = timer.destination
    due_us = world.context[0].time_us + cost_us(world, process, METADATA_APPEND)
    due_us += cost_us(world, process, METADATA_FSYNC)
    if state.voters > 1:
        due_us += cost_us(world, process, METADATA_COMMIT)
    state.committed_us = max(state.committed_us, due_us)
    commits = new_event(world, process, process, QuorumCommits)
    commits.offset = state.drained_offset
    set_timer(world, commits, state.committed_us)
    return False


@QUORUM.handles(QuorumCommits)
@inner_rule
def handle_quorum_commits(world: Quorum, timer: QuorumCommits) -> bool:
    """Commit up to an offset, write rows about it, and send the responses that have waited for it.

    More records than tables have room for are committed at the same time, but in several events.
    """
    state = world.active_controller[0]
    most = world.context[0].reserve // 2
    while state.high_watermark < timer.offset and most > 0:
        most -= 1
        _commit_first(world)
    if state.high_watermark < timer.offset:
        goes_on = new_event(world, timer.destination, timer.destination, QuorumCommits)
        goes_on.offset = timer.offset
        set_timer(world, goes_on, world.context[0].time_us)
        return False
    while state.deferred.first != NONE:
        first = view_as(world.events[state.deferred.first], CommittedResponse)
        if first.waits_for_offset > state.high_watermark:
            break
        respond(world, take_first(world, state.deferred))
    answer_fetches(world)
    return False


@inner_rule
def _commit_first(world: Quorum) -> None:
    """Commit the oldest record that is not committed."""
    state = world.active_controller[0]
    place = state.first_record
    write_committed(world, world.metadata_records[place], world.recorded_registrations[place])
    state.first_record = (place + 1) % len(world.metadata_records)
    state.record_count -= 1
    state.high_watermark += 1


@inner_rule
def commit_former_records(world: Quorum) -> None:
    """Commit at once what has been there before the run; nobody has caused it."""
    state = world.active_controller[0]
    context = world.context[0]
    while state.high_watermark < state.log_end_offset:
        context.cause_process = NONE
        context.cause_sequence = NONE
        _commit_first(world)
    context.cause_process = NONE
    context.cause_sequence = NONE
    state.drained_offset = state.high_watermark


@inner_rule
def respond_when_committed(world: Quorum, response: CommittedResponse) -> None:
    """Send a response once all that is appended by now is committed."""
    state = world.active_controller[0]
    if state.high_watermark >= state.log_end_offset:
        respond(world, response)
        return
    response.waits_for_offset = state.log_end_offset
    append_event(world, state.deferred, response)
