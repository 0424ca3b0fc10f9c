"""A broker as an observer of the quorum: it fetches the metadata log, one request after the other.

A broker's fetches of the metadata log, and its search for the quorum's leader. It asks the leader
that it knows. If it knows none, if the last request to the leader has timed out, or if its
connection to the leader was lost less than controller.quorum.retry.backoff.ms ago, it asks a random
bootstrap server: the response names the leader and the epoch. Up to 4.1 it also does so if the
leader has not responded for controller.quorum.fetch.timeout.ms, until there is another leader or a
bootstrap server is the leader: a broker whose bootstrap servers are other controllers never fetches
again (KAFKA-19354). From 4.2 on it asks the leader between the others. There a broker whose backoff
is over before its next request never finds the leader's successor (KAFKA-20514).

The response comes when more is committed, or after a while. Its entries are kept until a
publication takes them. A process begins with the log on its disk, whose entries come with its first
response, and never reads a committed record twice.

If the leader's log begins behind the end of the broker's, the response names a snapshot instead.
The broker fetches that piece by piece, publishes the missed changes at once, and fetches the log
from there on.

Simplified: after a response that names no other leader the broker waits for
controller.quorum.retry.backoff.ms, where Kafka's asks again at once. Uncommitted records of its log
have no contents here: its log ends where that of the newest leader does.

Source: KafkaRaftClient.pollFollowerAsObserver, pollUnattachedAsObserver, handleFetchResponse,
handleFetchSnapshotResponse and maybeHandleCommonResponse@3.9.0; RequestManager@3.9.0;
KafkaRaftClient.maybeSendFetchToBestNode@4.2.0.
"""

from tidegauge.actors.metadata.metadata_publisher import publish, write_down_snapshot
from tidegauge.actors.process.lifecycle import halt
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.lifecycles import Lifecycle
from tidegauge.actors.state.request_times import depart, has_timed_out, is_lost, watch
from tidegauge.actors.storage.log_dirs import cordon_directories
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import move_items, new_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_timers import RaftFetchDue, RaftFetchTimeout
from tidegauge.simulation.messages.event import ControllerRequest
from tidegauge.simulation.metadata_log import METADATA_RECORD_BYTES, drawn_server
from tidegauge.simulation.random_streams import BOOTSTRAP_VOTERS
from tidegauge.simulation.sampled_stats import count_request, count_response, record_value
from tidegauge.simulation.topology import quorum_process
from tidegauge.simulation.trace_rows.codes import LOADED, STOP_METADATA_TRUNCATED


@inner_rule
def fetch_metadata(world: Brokers, broker: int) -> None:
    """Fetch the metadata log behind the broker's own, unless a fetch is in flight."""
    state = world.lifecycles[broker]
    if state.fetch.number != 0 or world.brokers[broker].ends:
        return
    voter = _voter_to_ask(world, broker)
    if voter == NONE:
        RaftFetchDue.after(world, state.fetch_backoff_us)
        return
    request = quorum_requests.RaftFetchRequest.to(world, quorum_process(world, voter))
    request.broker_id = broker
    request.current_leader_epoch = state.leader_epoch
    request.fetch_offset = state.log_end_offset
    request.high_watermark = state.high_watermark
    request.max_bytes = state.metadata_fetch_max_bytes
    _depart(world, broker, request)


@inner_rule
def _fetch_snapshot(world: Brokers, broker: int, epoch: int, offset: int, position: int) -> None:
    """Ask the leader for a piece of a snapshot."""
    state = world.lifecycles[broker]
    to = quorum_process(world, state.leader)
    request = quorum_requests.FetchSnapshotRequest.to(world, to)
    request.current_leader_epoch = state.leader_epoch
    request.high_watermark = state.high_watermark
    request.snapshot_epoch = epoch
    request.snapshot_offset = offset
    request.position = position
    request.max_bytes = state.snapshot_fetch_max_bytes
    _depart(world, broker, request)


@inner_rule
def _depart(world: Brokers, broker: int, request: ControllerRequest) -> None:
    state = world.lifecycles[broker]
    count_request(state.channel, request.kind)
    depart(world, broker, state.fetch, request)
    if not state.fetch.timer:
        _watch(world, broker)


@inner_rule
def _voter_to_ask(world: Brokers, broker: int) -> int:
    """The leader that is known, if it may respond; else a random bootstrap server; NONE: none."""
    state = world.lifecycles[broker]
    now_us = world.context[0].time_us
    backs_off = state.leader != NONE and now_us < state.leader_backs_off_until_us
    is_believed = state.returns_to_leader or now_us < state.leader_expires_us
    if state.leader != NONE and is_believed and not backs_off and not state.leader_timed_out:
        return state.leader
    state.leader_timed_out = False
    state.voters_drawn += 1
    excluded = state.leader if backs_off else NONE
    return drawn_server(
        world, state.bootstrap_servers, excluded, BOOTSTRAP_VOTERS, broker, state.voters_drawn
    )


@inner_rule
def _watch(world: Brokers, broker: int) -> None:
    state = world.lifecycles[broker]
    watch(world, state.fetch, RaftFetchTimeout.to(world, broker), state.fetch_request_timeout_us)


@BROKER.handles(RaftFetchTimeout)
@inner_rule
def handle_raft_fetch_timeout(world: Brokers, timer: RaftFetchTimeout) -> None:
    """The fetch in flight may have got no response in time: then ask another controller at once."""
    broker = timer.destination
    state = world.lifecycles[broker]
    state.fetch.timer = False
    if has_timed_out(world, state.fetch, state.fetch_request_timeout_us):
        state.leader_timed_out = _fail(world, broker)
        fetch_metadata(world, broker)
    elif state.fetch.number != 0:
        _watch(world, broker)


@inner_rule
def lose_metadata_fetch(world: Brokers, broker: int, process: int, until_us: int) -> None:
    """The connection to a controller is gone: requests sent to it up to ``until_us`` are lost.

    If that was the leader, another one is asked at once.
    """
    state = world.lifecycles[broker]
    if not is_lost(state.fetch, process, until_us):
        return
    if _fail(world, broker):
        state.leader_backs_off_until_us = world.context[0].time_us + state.fetch_backoff_us
        fetch_metadata(world, broker)
    else:
        RaftFetchDue.after(world, state.fetch_backoff_us)


@inner_rule
def _fail(world: Brokers, broker: int) -> bool:
    """The fetch in flight gets no response; whether it was to the leader that is known."""
    state = world.lifecycles[broker]
    state.fetch.number = 0
    return state.leader != NONE and state.fetch.to == quorum_process(world, state.leader)


@BROKER.handles(RaftFetchDue)
@inner_rule
def handle_raft_fetch_due(world: Brokers, timer: RaftFetchDue) -> None:
    """The back-off after a failure is over."""
    fetch_metadata(world, timer.destination)


@BROKER.handles(quorum_requests.RaftFetchResponse)
@inner_rule
def handle_raft_fetch_response(world: Brokers, response: quorum_requests.RaftFetchResponse) -> None:
    """Learn of the leader; keep the committed records for the next publication, and fetch again."""
    broker = response.destination
    if not _has_answer(world, broker, response):
        return
    if response.snapshot_offset != NONE:
        _fetch_snapshot(world, broker, response.snapshot_epoch, response.snapshot_offset, 0)
        return
    if response.log_end_offset < world.lifecycles[broker].high_watermark:
        # Source: KafkaMetadataLog.truncateTo@3.9.0.
        halt(world, broker, STOP_METADATA_TRUNCATED)
        return
    _note_fetched(world, world.lifecycles[broker], response)
    cordon_directories(world, broker, response.cordoned_log_dirs)
    # Records of an earlier leader that this one has not are truncated.
    _take(world, broker, response, response.log_end_offset, response.high_watermark)


@BROKER.handles(quorum_requests.FetchSnapshotResponse)
@inner_rule
def handle_fetch_snapshot_response(
    world: Brokers, response: quorum_requests.FetchSnapshotResponse
) -> None:
    """Fetch the next piece of a snapshot; the whole of it takes the place of the log."""
    broker = response.destination
    if not _has_answer(world, broker, response):
        return
    epoch = response.snapshot_epoch
    offset = response.snapshot_offset
    position = response.position + response.bytes
    world.lifecycles[broker].channel.incoming_bytes += response.bytes
    if position < response.size_bytes:
        _fetch_snapshot(world, broker, epoch, offset, position)
        return
    world.lifecycles[broker].log_start_offset = offset
    world.lifecycles[broker].fetched_epoch = response.leader_epoch
    write_down_snapshot(world, broker, LOADED, offset, epoch, response.size_bytes)
    # The publication of a snapshot resets the counts for the next one.
    world.lifecycles[broker].snapshot_from_offset = NONE
    cordon_directories(world, broker, response.cordoned_log_dirs)
    _take(world, broker, response, offset, offset)


@inner_rule
def _has_answer(world: Brokers, broker: int, response: quorum_requests.RaftResponse) -> bool:
    """Whether the leader has answered the fetch in flight; after an error the broker asks again."""
    state = world.lifecycles[broker]
    count_response(state.channel, response.kind)
    if response.correlation_id != state.fetch.number or world.brokers[broker].ends:
        return False
    state.fetch.number = 0
    is_news = _learn_leader(world, state, response)
    if response.error != errors.NONE or response.leader_epoch < state.leader_epoch:
        if is_news and state.leader != NONE:
            fetch_metadata(world, broker)
        else:
            RaftFetchDue.after(world, world.lifecycles[broker].fetch_backoff_us)
        return False
    state.leader_expires_us = world.context[0].time_us + state.fetch_timeout_us
    return True


@inner_rule
def _take(
    world: Brokers,
    broker: int,
    response: quorum_requests.ObserverResponse,
    log_end_offset: int,
    high_watermark: int,
) -> None:
    """Keep the fetched records for the next publication, and fetch on."""
    state = world.lifecycles[broker]
    state.log_end_offset = log_end_offset
    state.high_watermark = max(state.high_watermark, high_watermark)
    has_rates = response.leader_rate != NONE
    has_features = response.metadata_version != NONE
    if response.first_item != NONE or has_rates or has_features:
        if state.pending == NONE:
            state.pending = new_event(
                world, broker, broker, quorum_requests.RaftFetchResponse
            ).index
        pending = view_as(world.events[state.pending], quorum_requests.RaftFetchResponse)
        move_items(world, response, pending)
        if has_rates:
            pending.leader_rate = response.leader_rate
            pending.follower_rate = response.follower_rate
        if has_features:
            pending.metadata_version = response.metadata_version
            pending.elr_version = response.elr_version
    publish(world, broker)
    fetch_metadata(world, broker)


@inner_rule
def _note_fetched(
    world: Brokers, state: Lifecycle, response: quorum_requests.RaftFetchResponse
) -> None:
    """Measure the fetched part of the log."""
    state.fetched_epoch = response.leader_epoch
    records = response.log_end_offset - state.log_end_offset
    if records > 0:
        record_value(state.fetched_records, world.context[0].time_us, records)
        state.channel.incoming_bytes += records * METADATA_RECORD_BYTES


@inner_rule
def _learn_leader(world: Brokers, state: Lifecycle, response: quorum_requests.RaftResponse) -> bool:
    """Learn of a new epoch, or of the leader of the known one; whether there was such news.

    Source: KafkaRaftClient.maybeTransition@3.9.0.
    """
    is_found = response.leader_epoch == state.leader_epoch and state.leader == NONE
    if response.leader_epoch <= state.leader_epoch and not (is_found and response.leader != NONE):
        return False
    state.leader_epoch = response.leader_epoch
    state.leader = response.leader
    state.leader_backs_off_until_us = 0
    state.leader_expires_us = world.context[0].time_us + state.fetch_timeout_us
    return True
