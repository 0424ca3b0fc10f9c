"""What a voter measures of itself: records, commits, elections, its thread, its channel.

Nothing in a run reads it. As all that JMX has it ends with the process.

Source: KafkaRaftMetrics, KafkaRaftClient.appendBatch, appendAsLeader, appendAsFollower,
onBecomeCandidate, onBecomeFollower@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import blank
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft.state import Raft, VoterStats
from tidegauge.controller.raft.voters import this_voter, voter_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.metadata_log import METADATA_RECORD_BYTES
from tidegauge.simulation.raft_channel import count_response
from tidegauge.simulation.sampled_stats import record_value


@inner_rule
def these_stats(world: Raft) -> VoterStats:
    """Those of the voter that handles the event."""
    return world.voter_stats[voter_of(world, world.context[0].handling)]


@inner_rule
def note_response(world: Raft, response: Event) -> None:
    """A response of another voter has come."""
    count_response(these_stats(world).channel, response.kind)


@inner_rule
def note_fetched(world: Raft, records: int) -> None:
    """The follower has fetched records, and appends them."""
    stats = these_stats(world)
    record_value(stats.fetched_records, world.context[0].time_us, records)
    stats.channel.incoming_bytes += records * METADATA_RECORD_BYTES


@inner_rule
def note_snapshot(world: Raft, size_bytes: int) -> None:
    """The follower has fetched a piece of a snapshot."""
    these_stats(world).channel.incoming_bytes += size_bytes


@inner_rule
def note_batch(world: Raft) -> None:
    """The leader drains what was appended to its log since it did so last."""
    stats = these_stats(world)
    now_us = world.context[0].time_us
    end_offset = this_voter(world).log_end_offset
    records = end_offset - stats.batched_offset
    if records <= 0:
        return
    stats.batched_offset = end_offset
    record_value(stats.appended_records, now_us, records)
    room = len(world.appended_batches) // len(world.voters)
    if stats.batch_count == room:
        return
    own = voter_of(world, world.context[0].handling)
    place = (stats.first_batch + stats.batch_count) % room
    batch = world.appended_batches[own * room + place]
    batch.end_offset = end_offset
    batch.records = records
    batch.appended_us = now_us
    stats.batch_count += 1


@inner_rule
def note_committed(world: Raft, offset: int) -> None:
    """The leader's log is committed up to an offset: its batches have taken so long."""
    stats = these_stats(world)
    now_us = world.context[0].time_us
    own = voter_of(world, world.context[0].handling)
    room = len(world.appended_batches) // len(world.voters)
    while stats.batch_count > 0:
        batch = world.appended_batches[own * room + stats.first_batch]
        if batch.end_offset > offset:
            break
        record_value(stats.commit_us, now_us, (now_us - batch.appended_us) // batch.records)
        stats.first_batch = (stats.first_batch + 1) % room
        stats.batch_count -= 1


@inner_rule
def note_candidacy(world: Raft) -> None:
    """The voter is a candidate, and waits for a leader from now on; one that is alone does not."""
    if len(world.voters) > 1:
        these_stats(world).candidate_since_us = world.context[0].time_us


@inner_rule
def note_leader(world: Raft) -> None:
    """The voter has a leader of a new epoch: another voter, or itself."""
    stats = these_stats(world)
    now_us = world.context[0].time_us
    stats.leaders += 1
    stats.batch_count = 0
    stats.batched_offset = this_voter(world).log_end_offset
    if stats.candidate_since_us != NONE:
        record_value(stats.election_us, now_us, now_us - stats.candidate_since_us)
        stats.candidate_since_us = NONE


@inner_rule
def forget_measurements(world: Raft) -> None:
    """The next process of this voter measures from the beginning."""
    blank(these_stats(world), VoterStats)
