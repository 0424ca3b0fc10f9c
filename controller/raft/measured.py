"""A voter's measures of itself: records, commits, elections, its thread, its channel.

Nothing in a run reads it. As all that JMX has it ends with the process.

Source: KafkaRaftMetrics, KafkaRaftClient.appendBatch, appendAsLeader, appendAsFollower,
onBecomeCandidate, onBecomeFollower@4.1.0.

Responses of a controller: each is sent here, and its request counted for JMX.

Source: ControllerApis@4.1.0, RequestChannel.Request.updateRequestMetrics@4.1.0. The wait of a
request for the controller's queue, its disk and the commit of its records is RemoteTimeMs there: a
request handler only hands it to the controller's thread, which takes no simulated time.
"""

from tidegauge.compiled.records import blank, view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.raft import state
from tidegauge.replication.errors import ERROR_COUNT, ERROR_PLACES
from tidegauge.replication.voter_set import voter_count
from tidegauge.simulation import sampled_stats
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event, EventSlot
from tidegauge.simulation.messages.kinds import CONTROLLER_TYPE_COUNT, ERROR_WORD, TYPE_OF_RESPONSE
from tidegauge.simulation.metadata_log import METADATA_RECORD_BYTES


@inner_rule
def these_stats(world: state.Raft) -> state.VoterStats:
    """Those of the voter that handles the event."""
    return world.voter_stats[state.voter_of(world, world.context[0].handling)]


@inner_rule
def note_response(world: state.Raft, response: Event) -> None:
    """A response of another voter has come."""
    sampled_stats.count_response(these_stats(world).channel, response.kind)


@inner_rule
def note_fetched(world: state.Raft, records: int) -> None:
    """The follower has fetched records, and appends them."""
    stats = these_stats(world)
    sampled_stats.record_value(stats.fetched_records, world.context[0].time_us, records)
    stats.channel.incoming_bytes += records * METADATA_RECORD_BYTES


@inner_rule
def note_snapshot(world: state.Raft, size_bytes: int) -> None:
    """The follower has fetched a piece of a snapshot."""
    these_stats(world).channel.incoming_bytes += size_bytes


@inner_rule
def note_batch(world: state.Raft) -> None:
    """The leader drains the records that were appended to its log since the last time."""
    stats = these_stats(world)
    now_us = world.context[0].time_us
    end_offset = state.this_voter(world).log_end_offset
    records = end_offset - stats.batched_offset
    if records <= 0:
        return
    stats.batched_offset = end_offset
    sampled_stats.record_value(stats.appended_records, now_us, records)
    room = len(world.appended_batches) // len(world.voters)
    if stats.batch_count == room:
        return
    own = state.voter_of(world, world.context[0].handling)
    place = (stats.first_batch + stats.batch_count) % room
    batch = world.appended_batches[own * room + place]
    batch.end_offset = end_offset
    batch.records = records
    batch.appended_us = now_us
    stats.batch_count += 1


@inner_rule
def note_committed(world: state.Raft, offset: int) -> None:
    """The leader's log is committed up to an offset: add the times of its batches."""
    stats = these_stats(world)
    now_us = world.context[0].time_us
    own = state.voter_of(world, world.context[0].handling)
    room = len(world.appended_batches) // len(world.voters)
    while stats.batch_count > 0:
        batch = world.appended_batches[own * room + stats.first_batch]
        if batch.end_offset > offset:
            break
        sampled_stats.record_value(
            stats.commit_us, now_us, (now_us - batch.appended_us) // batch.records
        )
        stats.first_batch = (stats.first_batch + 1) % room
        stats.batch_count -= 1


@inner_rule
def note_candidacy(world: state.Raft) -> None:
    """The voter is a candidate, and waits for a leader from now on; one that is alone does not."""
    if voter_count(state.this_voter(world).voter_set) > 1:
        these_stats(world).candidate_since_us = world.context[0].time_us


@inner_rule
def note_leader(world: state.Raft) -> None:
    """The voter has a leader of a new epoch: another voter, or itself."""
    stats = these_stats(world)
    now_us = world.context[0].time_us
    stats.leaders += 1
    stats.batch_count = 0
    stats.batched_offset = state.this_voter(world).log_end_offset
    if stats.candidate_since_us != NONE:
        sampled_stats.record_value(stats.election_us, now_us, now_us - stats.candidate_since_us)
        stats.candidate_since_us = NONE


@inner_rule
def forget_measurements(world: state.Raft) -> None:
    """The next process of this voter measures from the beginning."""
    blank(these_stats(world), state.VoterStats)


@inner_rule
def respond(world: state.Raft, response: Event) -> None:
    """Send a response now, and count the request that it is to."""
    _respond_at(world, response, world.context[0].time_us)


@inner_rule
def respond_when_written(world: state.Raft, response: Event) -> None:
    """Send a response once all is on disk that it may rest on."""
    _respond_at(
        world, response, max(world.context[0].time_us, state.this_voter(world).writes_until_us)
    )


@inner_rule
def respond_after(world: state.Raft, response: Event, delay_us: int) -> None:
    """Send a response after its sending time."""
    _respond_at(world, response, world.context[0].time_us + delay_us)


@inner_rule
def _respond_at(world: state.Raft, response: Event, at_us: int) -> None:
    if TYPE_OF_RESPONSE[response.kind] >= 0:
        _mark(world, response, at_us)
    send(world, response, at_us)


@inner_rule
def _mark(world: state.Raft, response: Event, at_us: int) -> None:
    controller = state.voter_of(world, response.source)
    index = controller * CONTROLLER_TYPE_COUNT + TYPE_OF_RESPONSE[response.kind]
    stats = world.controller_requests[index]
    # Until a response is sent it has the time at which its request came.
    waited_us = at_us - response.time_us
    stats.requests += 1
    stats.remote_us += waited_us
    buckets = world.controller_request_times[
        index * sampled_stats.BUCKETS : (index + 1) * sampled_stats.BUCKETS
    ]
    weight = sampled_stats.weight_at(at_us, stats, buckets)
    buckets[sampled_stats.bucket_of(waited_us)].weight += weight
    error = view_as(response, EventSlot).body[ERROR_WORD[response.kind]]
    place = index * ERROR_COUNT + ERROR_PLACES[error + 1]
    world.controller_request_errors[place].responses += 1


@inner_rule
def forget_request_times(world: state.Raft) -> None:
    """The next process of this controller counts from 0."""
    controller = state.voter_of(world, world.context[0].handling)
    first, last = controller * CONTROLLER_TYPE_COUNT, (controller + 1) * CONTROLLER_TYPE_COUNT
    for index in range(first, last):
        blank(world.controller_requests[index], state.ControllerRequestStats)
    for index in range(first * sampled_stats.BUCKETS, last * sampled_stats.BUCKETS):
        world.controller_request_times[index].weight = 0
    for index in range(first * ERROR_COUNT, last * ERROR_COUNT):
        world.controller_request_errors[index].responses = 0
