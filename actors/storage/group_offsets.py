"""A coordinator's state of its groups (Kafka: ``GroupMetadataManager``).

The broker that leads a partition of __consumer_offsets coordinates the groups whose ids belong
there. When it becomes leader it reads the partition from its log into its cache, one partition
after the other in one thread; until then it answers COORDINATOR_LOAD_IN_PROGRESS. Later appends
come into the cache when all in-sync replicas have it, or fails as a produce does.

The content of a log's records is in the journal of ``simulation/offset_commits.py``.

Simplified: a record of a group is that of one member. Nothing expires, and nothing is compacted, so
reading a partition takes the longer the more was ever committed.
"""

from tidegauge.actors.state.broker_records import CommittedOffset, GroupMember
from tidegauge.actors.state.brokers import Brokers, runs_of
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.request_times import mark_error
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.partition import is_leader
from tidegauge.replication.replica_list import NO_REPLICA
from tidegauge.simulation import rows
from tidegauge.simulation.events import items_of, new_item, new_response
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import MemberExpires, OffsetsLoaded
from tidegauge.simulation.offset_commits import log_commit, newest_commit
from tidegauge.simulation.topology import slot_of
from tidegauge.simulation.trace_rows.process_rows import (
    CoordinatorLoaded,
    CoordinatorLoading,
    CoordinatorUnloaded,
    MemberJoined,
)

_MEBIBYTE = code(1024 * 1024)


@inner_rule
def begin_loading(world: Brokers, row: int) -> None:
    """A broker becomes leader of a partition: read it if it is one of __consumer_offsets.

    Source: GroupCoordinator.onElection, GroupMetadataManager.scheduleLoadGroupAndOffsets@2.6.0.
    """
    hosted = world.hosted[row]
    if hosted.loads_offsets or not world.partitions[hosted.partition].holds_offsets:
        return
    hosted.loads_offsets = True
    partition = world.replicas[row]
    state = world.brokers[hosted.broker]
    now_us = world.context[0].time_us
    size_bytes = partition.log_end_offset * world.partitions[hosted.partition].record_bytes
    mebibyte_us = rows.cost_us(world, hosted.broker, rows.OFFSETS_LOAD_MEBIBYTE)
    load_us = (
        rows.cost_us(world, hosted.broker, rows.OFFSETS_LOAD)
        + size_bytes * mebibyte_us // _MEBIBYTE
    )
    state.offsets_load_until_us = max(state.offsets_load_until_us, now_us) + load_us
    CoordinatorLoading.write(world, hosted, partition, until_us=state.offsets_load_until_us)
    OffsetsLoaded.at(world, state.offsets_load_until_us, row=row)


@BROKER.handles(OffsetsLoaded)
@inner_rule
def handle_offsets_loaded(world: Brokers, timer: OffsetsLoaded) -> None:
    """The partition is read: its groups are coordinated here, if it is led here still.

    Cached offsets stay as they are.

    Source: GroupMetadataManager.loadGroupsAndOffsets, loadGroup@2.6.0.
    """
    row = timer.row
    hosted = world.hosted[row]
    if not hosted.loads_offsets:
        return
    hosted.loads_offsets = False
    partition = world.replicas[row]
    if not is_leader(partition):
        return
    offsets = 0
    members = 0
    targets = len(world.commit_keys) - _clients(world)
    for key in range(len(world.commit_keys)):
        if world.commit_keys[key].partition != hosted.partition:
            continue
        if not hosted.coordinates:
            _load_key(world, row, key)
        if key < targets:
            offsets += 1 if committed_at(world, hosted.broker, key).offset != NONE else 0
        else:
            members += 1 if member_at(world, hosted.broker, key).present else 0
    hosted.coordinates = True
    CoordinatorLoaded.write(world, hosted, partition, offset_count=offsets, member_count=members)


@inner_rule
def _clients(world: Brokers) -> int:
    return len(world.group_members) // world.sizes[0].width


@inner_rule
def _load_key(world: Brokers, row: int, key: int) -> None:
    """Take the newest record of a key into the cache; the sessions of members start again.

    Source: GroupCoordinator.onGroupLoaded@2.6.0.
    """
    broker = world.hosted[row].broker
    found = newest_commit(world, key, world.replicas[row], runs_of(world, row))
    targets = len(world.commit_keys) - _clients(world)
    if key < targets:
        committed_at(world, broker, key).offset = found
        return
    member = member_at(world, broker, key)
    member.present = found > 0
    member.start = found - 1
    if member.present:
        hear(world, broker, key)


@inner_rule
def stop_coordinating(world: Brokers, row: int) -> None:
    """A broker follows: it drops the groups of the partition.

    Source: GroupCoordinator.onResignation, GroupMetadataManager.removeGroupsForPartition@2.6.0.
    """
    hosted = world.hosted[row]
    hosted.loads_offsets = False
    if not hosted.coordinates:
        return
    hosted.coordinates = False
    CoordinatorUnloaded.write(world, hosted, leader_epoch=world.replicas[row].leader_epoch)


@inner_rule
def committed_at(world: Brokers, broker: int, key: int) -> CommittedOffset:
    """A coordinator's cache of the offset that a key is about."""
    slot = slot_of(world, world.commit_keys[key].partition, broker)
    return world.committed_offsets[key * world.sizes[0].width + slot]


@inner_rule
def member_at(world: Brokers, broker: int, key: int) -> GroupMember:
    """A coordinator's state of the consumer that a key is about."""
    slot = slot_of(world, world.commit_keys[key].partition, broker)
    client = key - (len(world.commit_keys) - _clients(world))
    return world.group_members[client * world.sizes[0].width + slot]


@inner_rule
def hear(world: Brokers, broker: int, key: int) -> None:
    """A member has sent a request: its session lasts session.timeout.ms from now on.

    Source: GroupCoordinator.completeAndScheduleNextHeartbeatExpiration@2.6.0.
    """
    member = member_at(world, broker, key)
    member.heard_us = world.context[0].time_us
    if member.watched:
        return
    member.watched = True
    MemberExpires.after(world, world.commit_keys[key].session_timeout_us, member_key=key)


@inner_rule
def note_group_append(
    world: Brokers, row: int, request: client_requests.GroupAppendRequest
) -> None:
    """Write rows about the records that were just appended for a request.

    Source: GroupMetadataManager.storeOffsets and storeGroup@2.6.0.
    """
    epoch = world.replicas[row].leader_epoch
    if request.kind == client_requests.JoinGroupRequest.KIND:
        log_commit(world, request.member_key, epoch, request.append.offset, request.start + 1)
        return
    offset = request.append.offset
    for item in items_of(world, request, client_requests.GroupOffset):
        log_commit(world, item.commit_key, epoch, offset, item.offset)
        offset += 1


@inner_rule
def answer_group_append(world: Brokers, request: client_requests.GroupAppendRequest) -> None:
    """Send a consumer the outcome of its commit or its joining, once that is known.

    Source: GroupMetadataManager.storeOffsets and storeGroup (putCacheCallback)@2.6.0.
    """
    broker = request.destination
    if request.append.error == errors.NONE:
        if request.kind == client_requests.OffsetCommitRequest.KIND:
            _take_into_cache(world, request)
        else:
            _admit(world, request)
    error = _group_error(request.kind, request.append.error)
    mark_error(world, request, error)
    response = new_group_response(world, request, request.start, error)
    for asked in items_of(world, request, client_requests.GroupOffset):
        if error != errors.NONE:
            break
        told = new_item(world, response, asked.partition, client_requests.GroupOffset)
        told.offset = committed_at(world, broker, asked.commit_key).offset
    send(world, response, world.context[0].time_us + request.cost_us)


@inner_rule
def new_group_response(
    world: Kernel, request: Event, start: int, error: int
) -> client_requests.GroupResponse:
    """A response to a consumer's request about its group."""
    response = new_response(world, request, client_requests.GroupResponse)
    response.request_kind = request.kind
    response.start = start
    response.error = error
    return response


@inner_rule
def _group_error(kind: int, error: int) -> int:
    """The error for a consumer when an append to __consumer_offsets has failed."""
    if error in (
        errors.UNKNOWN_TOPIC_OR_PARTITION,
        errors.NOT_ENOUGH_REPLICAS,
        errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ):
        return errors.COORDINATOR_NOT_AVAILABLE
    if error in (errors.NOT_LEADER_OR_FOLLOWER, errors.KAFKA_STORAGE_ERROR):
        return errors.NOT_COORDINATOR
    if kind == client_requests.JoinGroupRequest.KIND and error == errors.REQUEST_TIMED_OUT:
        return errors.REBALANCE_IN_PROGRESS
    return error


@inner_rule
def _take_into_cache(world: Brokers, request: client_requests.GroupAppendRequest) -> None:
    for item in items_of(world, request, client_requests.GroupOffset):
        committed_at(world, request.destination, item.commit_key).offset = item.offset


@inner_rule
def _admit(world: Brokers, request: client_requests.GroupAppendRequest) -> None:
    """A consumer is a member now."""
    member = member_at(world, request.destination, request.member_key)
    member.present = True
    member.start = request.start
    hear(world, request.destination, request.member_key)
    MemberJoined.write(world, request, from_process=request.source)


@inner_rule
def forget_groups(world: Brokers, broker: int) -> None:
    """A process that begins coordinates no group."""
    for key in range(len(world.commit_keys) - _clients(world), len(world.commit_keys)):
        partition = world.commit_keys[key].partition
        if partition == NONE or slot_of(world, partition, broker) == NO_REPLICA:
            continue
        member = member_at(world, broker, key)
        member.present = False
        member.watched = False
