"""Brokers read the metadata log: their fetches wait here until there is more of it.

From metadata version 4.1-IV1 on a fetch is answered when more is committed; before, when more is
appended: then an observer gets the commit with its next fetch only, which the NoOpRecord every
metadata.max.idle.interval.ms bounds. A response names, of the replicas that the broker hosts, the
newest state of each that has changed; no broker has a copy of the cluster's state.

Source: KafkaRaftClient.handleFetchRequest and tryCompleteFetchRequest@4.1.0 (KIP-1166).
"""

from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.state import QUORUM, Quorum
from tidegauge.controller.raft.follower import lose_connection
from tidegauge.controller.raft.measured import respond
from tidegauge.controller.raft.replication import (
    FETCH_WAIT_US,
    fetched_end,
    refuses_fetch,
    take_voter_fetch,
)
from tidegauge.controller.raft.snapshots import needs_snapshot, offer_snapshot
from tidegauge.controller.raft.state import this_voter
from tidegauge.controller.raft.voter_changes import lose_new_voter
from tidegauge.replication.replica_list import contains
from tidegauge.simulation import events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_timers import QuorumAppended, RaftFetchExpires
from tidegauge.simulation.messages.quorum_requests import (
    ObserverResponse,
    PublishedPartition,
    RaftFetchRequest,
    RaftFetchResponse,
)
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.simulation.topology import slot_of


@QUORUM.handles(RaftFetchRequest)
@inner_rule
def handle_raft_fetch(world: Quorum, request: RaftFetchRequest) -> bool:
    """Answer at once if there is more than the observer has, or less, else let the fetch wait.

    A follower of the leader gets its log instead (``controller/raft/replication.py``).
    """
    voter = this_voter(world)
    if refuses_fetch(world, request):
        return False
    if request.voter != NONE:
        return take_voter_fetch(world, request)
    if needs_snapshot(world, request):
        offer_snapshot(world, request)
        return False
    if _has_more(world, request) or request.high_watermark > voter.drained_offset:
        _answer(world, request)
        return False
    request.deadline_us = world.context[0].time_us + FETCH_WAIT_US
    events.append_event(world, voter.fetches, request)
    if not voter.fetch_timer:
        _watch(world, request.deadline_us)
    return True


@inner_rule
def _has_more(world: Quorum, request: RaftFetchRequest) -> bool:
    voter = this_voter(world)
    if voter.fetch_carries_high_watermark:
        return request.high_watermark < _known_high_watermark(world)
    return request.fetch_offset < voter.drained_offset


@inner_rule
def _known_high_watermark(world: Quorum) -> int:
    """The end of the offsets that observers may read: those that are committed and written down."""
    return min(this_voter(world).high_watermark, world.active_controller[0].committed_offset)


@QUORUM.handles(QuorumAppended)
@inner_rule
def handle_quorum_appended(world: Quorum, _: QuorumAppended) -> bool:
    """There is more in the log: before metadata version 4.1-IV1 observers wait for that."""
    answer_fetches(world)
    return False


@inner_rule
def answer_fetches(world: Quorum) -> None:
    """Answer the fetches for which there is more now."""
    voter = this_voter(world)
    for _ in range(voter.fetches.length):
        request = view_as(events.take_first(world, voter.fetches), RaftFetchRequest)
        if _has_more(world, request):
            _answer(world, request)
            events.free_event(world, request)
        else:
            events.append_event(world, voter.fetches, request)


@inner_rule
def _watch(world: Quorum, due_us: int) -> None:
    this_voter(world).fetch_timer = True
    RaftFetchExpires.at(world, due_us)


@QUORUM.handles(RaftFetchExpires)
@inner_rule
def handle_raft_fetch_expires(world: Quorum, _: RaftFetchExpires) -> bool:
    """Answer the fetches that have waited for long enough, with nothing new."""
    voter = this_voter(world)
    voter.fetch_timer = False
    now_us = world.context[0].time_us
    while voter.fetches.first != NONE:
        request = view_as(world.events[voter.fetches.first], RaftFetchRequest)
        if request.deadline_us > now_us:
            _watch(world, request.deadline_us)
            break
        events.take_first(world, voter.fetches)
        _answer(world, request)
        events.free_event(world, request)
    return False


@QUORUM.handles(Disconnected)
@inner_rule
def handle_disconnected(world: Quorum, closed: Disconnected) -> bool:
    """Another process is gone, and with it its pending requests."""
    voter = this_voter(world)
    lose_connection(world, closed)
    lose_new_voter(world, closed)
    for _ in range(voter.fetches.length):
        request = events.take_first(world, voter.fetches)
        if request.source == closed.source and request.asked_us <= closed.until_us:
            events.free_event(world, request)
        else:
            events.append_event(world, voter.fetches, request)
    return False


@inner_rule
def _answer(world: Quorum, request: RaftFetchRequest) -> None:
    voter = this_voter(world)
    response = events.new_response(world, request, RaftFetchResponse)
    response.log_end_offset = fetched_end(world, request)
    response.high_watermark = min(_known_high_watermark(world), response.log_end_offset)
    response.leader = voter.leader
    response.leader_epoch = voter.epoch
    name_settings(
        world, response, request.broker_id, request.high_watermark, response.high_watermark
    )
    if response.high_watermark > request.high_watermark:
        name_changes(
            world, response, request.source, request.high_watermark, response.high_watermark
        )
    respond(world, response)


@inner_rule
def name_settings(
    world: Quorum, response: ObserverResponse, broker: int, since_offset: int, until_offset: int
) -> None:
    """Name the settings of a broker itself, and the features of the cluster."""
    known = world.quorum_brokers[broker]
    response.cordoned_log_dirs = known.committed_cordoned_log_dirs
    if known.rates_offset != NONE and since_offset <= known.rates_offset < until_offset:
        response.leader_rate = known.committed_leader_rate
        response.follower_rate = known.committed_follower_rate
    state = world.active_controller[0]
    if state.features_offset != NONE and since_offset <= state.features_offset < until_offset:
        response.metadata_version = state.committed_metadata_version
        response.elr_version = state.committed_elr_version


@inner_rule
def name_changes(
    world: Quorum, response: ObserverResponse, broker: int, since_offset: int, until_offset: int
) -> None:
    """Name the partitions that a broker hosts, or has a log of, and that have last changed then.

    The log of changes is read backwards: the changes that a broker has missed are at its end, and
    of each partition only the newest change counts.
    """
    index = world.context[0].metadata_changes - 1
    while index >= 0 and world.metadata_changes[index].position >= since_offset:
        change = world.metadata_changes[index]
        index -= 1
        if change.subject < 0:
            continue
        known = world.committed_partitions[change.subject]
        if known.offset != change.position or known.offset >= until_offset:
            continue
        slot = slot_of(world, change.subject, broker)
        if slot >= 0:
            _name(world, response, change.subject, slot)


@inner_rule
def _name(world: Quorum, response: ObserverResponse, partition: int, slot: int) -> None:
    known = world.committed_partitions[partition]
    throttled = world.throttled_replicas[world.partitions[partition].first_slot + slot]
    topic = world.quorum_topics[world.partitions[partition].topic]
    events.new_item(
        world,
        response,
        partition,
        PublishedPartition,
        known,
        topic_id=topic.committed_topic_id,
        controller_epoch=this_voter(world).epoch,
        is_new=known.partition_epoch == 0,
        is_removed=not known.exists or not contains(known.replicas, slot),
        min_insync_replicas=topic.committed_min_insync_replicas,
        unclean_leader_election=topic.committed_unclean_leader_election,
        leader_throttled=throttled.committed_as_leader,
        follower_throttled=throttled.committed_as_follower,
    )
