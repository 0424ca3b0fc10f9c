"""Brokers read the metadata log: their fetches wait here until there is more of it.

From metadata version 4.1-IV1 on a fetch is answered when more is committed; before, when more is
appended: then an observer hears of the commit with its next fetch only, which the NoOpRecord every
metadata.max.idle.interval.ms bounds. A response names, of the replicas that the broker hosts, the
newest state of each that has changed; no broker has a copy of the cluster's state.

Source: KafkaRaftClient.handleFetchRequest and tryCompleteFetchRequest@4.1.0 (KIP-1166).
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.handlers import QUORUM
from tidegauge.controller.kraft.responses import respond
from tidegauge.controller.kraft.state import Quorum
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import (
    append_event,
    free_event,
    new_event,
    new_item,
    new_response,
    set_timer,
    take_first,
)
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.fault_events import Disconnected
from tidegauge.simulation.messages.quorum_requests import (
    PublishedPartition,
    RaftFetchRequest,
    RaftFetchResponse,
)
from tidegauge.simulation.messages.quorum_timers import RaftFetchExpires
from tidegauge.simulation.topology import active_controller_process, slot_of

#: KafkaRaftClient.MAX_FETCH_WAIT_MS
_FETCH_WAIT_US = code(500_000)


@QUORUM.handles(RaftFetchRequest)
@inner_rule
def handle_raft_fetch(world: Quorum, request: RaftFetchRequest) -> bool:
    """Answer at once if there is more than the observer has, else let the fetch wait."""
    state = world.active_controller[0]
    if _has_more(world, request):
        _answer(world, request)
        return False
    request.deadline_us = world.context[0].time_us + _FETCH_WAIT_US
    append_event(world, state.fetches, request)
    if not state.fetch_timer:
        _watch(world, request.deadline_us)
    return True


@inner_rule
def _has_more(world: Quorum, request: RaftFetchRequest) -> bool:
    state = world.active_controller[0]
    if state.fetch_carries_high_watermark:
        return request.high_watermark < state.high_watermark
    return request.fetch_offset < state.drained_offset


@inner_rule
def answer_fetches(world: Quorum) -> None:
    """Answer the fetches for which there is more now."""
    state = world.active_controller[0]
    for _ in range(state.fetches.length):
        request = view_as(take_first(world, state.fetches), RaftFetchRequest)
        if _has_more(world, request):
            _answer(world, request)
            free_event(world, request)
        else:
            append_event(world, state.fetches, request)


@inner_rule
def _watch(world: Quorum, due_us: int) -> None:
    world.active_controller[0].fetch_timer = True
    process = active_controller_process(world)
    set_timer(world, new_event(world, process, process, RaftFetchExpires), due_us)


@QUORUM.handles(RaftFetchExpires)
@inner_rule
def handle_raft_fetch_expires(world: Quorum, _: RaftFetchExpires) -> bool:
    """Answer the fetches that have waited for long enough, with nothing new."""
    state = world.active_controller[0]
    state.fetch_timer = False
    now_us = world.context[0].time_us
    while state.fetches.first != NONE:
        request = view_as(world.events[state.fetches.first], RaftFetchRequest)
        if request.deadline_us > now_us:
            _watch(world, request.deadline_us)
            break
        take_first(world, state.fetches)
        _answer(world, request)
        free_event(world, request)
    return False


@QUORUM.handles(Disconnected)
@inner_rule
def handle_disconnected(world: Quorum, closed: Disconnected) -> bool:
    """A broker's connection is gone, and with it what it has asked for."""
    state = world.active_controller[0]
    for _ in range(state.fetches.length):
        request = take_first(world, state.fetches)
        if request.source == closed.source and request.asked_us <= closed.until_us:
            free_event(world, request)
        else:
            append_event(world, state.fetches, request)
    return False


@inner_rule
def _answer(world: Quorum, request: RaftFetchRequest) -> None:
    state = world.active_controller[0]
    response = new_response(world, request, RaftFetchResponse)
    response.log_end_offset = state.drained_offset
    response.high_watermark = state.high_watermark
    response.leader_epoch = state.epoch
    _name_changes(world, response, request.source, request.high_watermark)
    respond(world, response)


@inner_rule
def _name_changes(
    world: Quorum, response: RaftFetchResponse, broker: int, since_offset: int
) -> None:
    """Name the partitions that a broker hosts, or has a log of, and that have changed.

    The log of changes is read backwards: what a broker has missed is at its end, and of each
    partition only the newest change counts.
    """
    index = world.context[0].metadata_changes - 1
    while index >= 0 and world.metadata_changes[index].position >= since_offset:
        change = world.metadata_changes[index]
        index -= 1
        if change.subject < 0:
            continue
        known = world.committed_partitions[change.subject]
        if known.offset != change.position:
            continue
        slot = slot_of(world, change.subject, broker)
        if slot >= 0:
            _name(world, response, change.subject, slot)


@inner_rule
def _name(world: Quorum, response: RaftFetchResponse, partition: int, slot: int) -> None:
    known = world.committed_partitions[partition]
    topic = world.quorum_topics[world.partitions[partition].topic]
    item = new_item(world, response, partition, PublishedPartition)
    item.topic_id = topic.committed_topic_id
    item.leader = known.leader
    item.leader_epoch = known.leader_epoch
    item.isr = known.isr
    item.partition_epoch = known.partition_epoch
    item.replicas = known.replicas
    item.adding = known.adding
    item.removing = known.removing
    item.controller_epoch = world.active_controller[0].epoch
    item.is_new = known.partition_epoch == 0
    item.is_removed = not known.exists or not contains(known.replicas, slot)
    item.min_insync_replicas = topic.committed_min_insync_replicas
    item.unclean_leader_election = topic.committed_unclean_leader_election
    item.row_process = active_controller_process(world)
    item.row_sequence = known.row_sequence
