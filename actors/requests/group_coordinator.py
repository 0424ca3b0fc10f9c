"""Requests of consumers to their group's coordinator (Kafka: ``GroupCoordinator``).

The coordinator of a group is the broker that leads the group's partition of __consumer_offsets. Any
broker names it. A consumer joins its group there, shows with heartbeats that it is alive, and
commits offsets: these are records, appended with acks=all, so without enough in-sync replicas no
commit and no join succeeds.

Simplified: joining, being given partitions and fetching their committed offsets is one request, and
partitions are shared out once. The partitions of a member that is gone have no reader until it is
back. A restarted consumer joins when the session of its former member has expired, as the rebalance
would wait for that.
"""

from tidegauge.actors.fetches.fetch_read import row_on
from tidegauge.actors.leaders.leader import append_to_leader
from tidegauge.actors.requests.produce import answer_or_delay, append_records
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.handlers import BROKER, REQUESTS
from tidegauge.actors.state.request_times import mark_error
from tidegauge.actors.storage import group_offsets
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import ACKS_ALL, append_error
from tidegauge.replication.partition import is_leader
from tidegauge.simulation.events import free_event
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import MemberExpires
from tidegauge.simulation.metadata_log import is_known_alive, known_change
from tidegauge.simulation.offset_commits import log_commit
from tidegauge.simulation.rows import REQUEST, cost_us, record_row
from tidegauge.simulation.trace_rows.process_rows import MemberExpired

#: The record of a former member.
_GONE = code(0)
_ONE = code(1)


@REQUESTS.handles(client_requests.FindCoordinatorRequest)
@inner_rule
def handle_find_coordinator(
    world: Brokers, request: client_requests.FindCoordinatorRequest
) -> bool:
    """Name the leader of a group's partition, by this broker's metadata.

    Source: KafkaApis.handleFindCoordinatorRequest@2.6.0.
    """
    known = world.known_metadata[request.destination]
    index = known_change(world, known, request.partition)
    leader = NONE
    if index != NONE:
        leader = world.metadata_changes[index].leader
    error = errors.COORDINATOR_NOT_AVAILABLE
    response = group_offsets.new_group_response(world, request, request.start, error)
    if is_known_alive(world, known, leader):
        response.error = errors.NONE
        response.coordinator = leader
    mark_error(world, request, response.error)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    send(world, response, world.context[0].time_us + request.cost_us)
    free_event(world, request)
    return True


@REQUESTS.handles(client_requests.HeartbeatRequest)
@inner_rule
def handle_heartbeat(world: Brokers, request: client_requests.HeartbeatRequest) -> bool:
    """A member is alive; while the groups are still being read every heartbeat counts.

    Source: GroupCoordinator.handleHeartbeat@2.6.0.
    """
    error = _member_status(world, request, request.partition, request.member_key, request.start)
    if error == errors.COORDINATOR_LOAD_IN_PROGRESS:
        error = errors.NONE
    elif error == errors.NONE:
        group_offsets.hear(world, request.destination, request.member_key)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    mark_error(world, request, error)
    response = group_offsets.new_group_response(world, request, request.start, error)
    send(world, response, world.context[0].time_us + request.cost_us)
    free_event(world, request)
    return True


@inner_rule
def _group_status(world: Brokers, broker: int, partition: int) -> int:
    """A broker's error as it is asked to coordinate a group; NONE if none.

    Source: GroupCoordinator.validateGroupStatus@2.6.0.
    """
    row = row_on(world, broker, partition)
    if row == NONE:
        return errors.NOT_COORDINATOR
    if world.hosted[row].loads_offsets:
        return errors.COORDINATOR_LOAD_IN_PROGRESS
    return errors.NONE if world.hosted[row].coordinates else errors.NOT_COORDINATOR


@inner_rule
def _member_status(world: Brokers, request: Event, partition: int, key: int, start: int) -> int:
    """A coordinator's error for a request of a member, or of a joining consumer; NONE if none.

    Source: GroupCoordinator.doCommitOffsets@2.6.0.
    """
    error = _group_status(world, request.destination, partition)
    if error != errors.NONE:
        return error
    member = group_offsets.member_at(world, request.destination, key)
    if request.kind == client_requests.JoinGroupRequest.KIND:
        is_waited_for = member.present and member.start != start
        return errors.REBALANCE_IN_PROGRESS if is_waited_for else errors.NONE
    is_known = member.present and member.start == start
    return errors.NONE if is_known else errors.UNKNOWN_MEMBER_ID


@REQUESTS.handles(client_requests.OffsetCommitRequest, client_requests.JoinGroupRequest)
@inner_rule
def handle_group_append(world: Brokers, request: client_requests.GroupAppendRequest) -> bool:
    """Append a consumer's commit or membership, and answer or wait.

    False if the partition is locked or the disk is slow.

    Source: GroupCoordinator.doCommitOffsets, GroupMetadataManager.appendForGroup@2.6.0.
    """
    error = _member_status(world, request, request.partition, request.member_key, request.start)
    if error == errors.NONE:
        request.acks = ACKS_ALL
        request.timeout_ms = world.brokers[request.destination].offsets_commit_timeout_ms
        if request.kind != client_requests.JoinGroupRequest.KIND:
            group_offsets.hear(world, request.destination, request.member_key)
        if not append_records(world, request, request.partition, request.append):
            return False
        if request.append.error == errors.NONE:
            row = row_on(world, request.destination, request.partition)
            group_offsets.note_group_append(world, row, request)
        answer_or_delay(world, request)
        return True
    request.append.error = error
    request.cost_us = cost_us(world, request.destination, REQUEST)
    group_offsets.answer_group_append(world, request)
    free_event(world, request)
    return True


@BROKER.handles(MemberExpires)
@inner_rule
def handle_member_expires(world: Brokers, timer: MemberExpires) -> None:
    """Remove a member from its group when its session times out.

    Source: GroupCoordinator.onExpireHeartbeat, removeMemberAndUpdateGroup@2.6.0.
    """
    broker = timer.destination
    key = timer.member_key
    member = group_offsets.member_at(world, broker, key)
    member.watched = False
    partition = world.commit_keys[key].partition
    row = row_on(world, broker, partition)
    if row == NONE or not world.hosted[row].coordinates or not member.present:
        return
    now_us = world.context[0].time_us
    due_us = member.heard_us + world.commit_keys[key].session_timeout_us
    if now_us < due_us:
        member.watched = True
        MemberExpires.at(world, due_us, member_key=key)
        return
    member.present = False
    written = MemberExpired.new(
        world,
        partition=partition,
        from_process=world.commit_keys[key].process,
        silent_us=now_us - member.heard_us,
    )
    because_of(world, written, world.commit_keys[key].process, member.heard_us)
    record_row(world, written)
    _append_removal(world, row, key)


@inner_rule
def _append_removal(world: Brokers, row: int, key: int) -> None:
    """Let the next coordinator find that a member is gone, if it can be appended at all."""
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    if is_leader(partition) and append_error(rules, partition, ACKS_ALL) == errors.NONE:
        offset = append_to_leader(world, row, _ONE)
        log_commit(world, key, partition.leader_epoch, offset, _GONE)
