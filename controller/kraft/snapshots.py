"""Snapshots as the controller has them: what is in one, and who is sent it.

A snapshot has a record for each broker, each topic, its settings and each of its partitions. It
costs the time of its transfer; writing it stops nothing.

Source: SnapshotGenerator, MetadataImage.write, KafkaRaftClient.handleFetchSnapshotRequest@3.9.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.kraft.handlers import QUORUM
from tidegauge.controller.kraft.observers import name_changes
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.raft.replication import count_fetching_voter, error_of_request
from tidegauge.controller.raft.responses import respond, respond_after
from tidegauge.controller.raft.snapshots import snapshot_at, snapshot_number, write_snapshot
from tidegauge.controller.raft.voters import this_voter
from tidegauge.replication import errors
from tidegauge.simulation.costs import METADATA_SNAPSHOT_MEBIBYTE, cost_us
from tidegauge.simulation.events import new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.raft_requests import FetchSnapshotRequest, FetchSnapshotResponse
from tidegauge.simulation.messages.raft_timers import SnapshotDue

_MEBIBYTE = code(1024 * 1024)
#: KafkaRaftClient.MAX_BATCH_SIZE_BYTES
_PIECE_BYTES = code(8 * 1024 * 1024)


@QUORUM.handles(SnapshotDue)
@inner_rule
def handle_snapshot_due(world: Quorum, timer: SnapshotDue) -> bool:
    """Write a snapshot of what is committed."""
    write_snapshot(world, timer.epoch, timer.offset, _live_records(world))
    return False


@inner_rule
def _live_records(world: Quorum) -> int:
    """How many records say all that is committed."""
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
    """Send a piece of a snapshot; an observer learns from the last one what it has missed."""
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
    response.bytes = min(_PIECE_BYTES, snapshot.bytes - request.position)
    if request.voter != NONE:
        count_fetching_voter(world, request.voter)
    elif response.position + response.bytes == response.size_bytes:
        name_changes(world, response, request.source, request.high_watermark, snapshot.end_offset)
    mebibyte_us = cost_us(world, request.destination, METADATA_SNAPSHOT_MEBIBYTE)
    respond_after(world, response, mebibyte_us * response.bytes // _MEBIBYTE)
    return False
