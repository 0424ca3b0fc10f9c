"""A consumer and its group: joining, heartbeats, commits, and a coordinator that can be another.

A consumer whose group commits finds the coordinator, joins, and gets the group's committed offset:
there it reads on. From then on it sends a heartbeat every heartbeat.interval.ms, and commits its
processed offsets every auto.commit.interval.ms. A response that names another coordinator, or a
timeout, makes it look for the coordinator again; it reads on meanwhile. If the coordinator does not
know it any more it joins again, and reads the records since its last commit once more.

The group has one request in flight at a time, and one commit beside it.

Source: AbstractCoordinator, ConsumerCoordinator@2.6.0 of the clients.
"""

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Client, Clients
from tidegauge.clients.handlers import CLIENT
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import items_of, new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import CommitDue, ConsumerSample, GroupDue
from tidegauge.simulation.rows import traces_all
from tidegauge.simulation.trace_rows import client_rows
from tidegauge.simulation.trace_rows.detail_rows import ConsumerSampled, OffsetCommitted

_AT_ONCE_US = code(1)


@inner_rule
def commits(client: Client) -> bool:
    """Whether a client is a consumer whose group commits."""
    return client.group_partition != NONE


@inner_rule
def reads(client: Client) -> bool:
    """Whether a consumer has an offset to read from, if it gets one from its coordinator, and may.

    Source: KafkaConsumer.poll@2.4.0 and @2.5.0, ConsumerCoordinator.poll@2.6.0.
    """
    if client.group_partition == NONE:
        return True
    return client.joined and (client.coordinator != NONE or client.reads_without_coordinator)


@inner_rule
def begin_group(world: Kernel, client: Client) -> None:
    """Look for the coordinator, and set the timer of samples."""
    client.coordinator_lost_us = world.context[0].time_us
    _turn_after(world, client, _AT_ONCE_US)
    ConsumerSample.after(world, world.context[0].sample_period_us)


@inner_rule
def restart_consumer(world: Kernel, client: Client) -> None:
    """The process is killed and restarted: its uncommitted progress is lost."""
    client.restarts += 1
    client.joined = False
    client.coordinator = NONE
    client.coordinator_answers = False
    client.coordinator_lost_us = world.context[0].time_us
    client.group_waits = False
    client.commit_waits = False
    client.commit_turn += 1
    client.commit_failures = 0
    client.busy_until_us = world.context[0].time_us
    _turn_after(world, client, _AT_ONCE_US)


@inner_rule
def _turn_after(world: Kernel, client: Client, delay_us: int) -> None:
    """Do the group's next request after a while, unless another comes before."""
    client.group_turn += 1
    GroupDue.after(world, delay_us, turn=client.group_turn)


@inner_rule
def _commit_after(world: Kernel, client: Client, delay_us: int) -> None:
    client.commit_turn += 1
    CommitDue.after(world, delay_us, turn=client.commit_turn)


@CLIENT.handles(GroupDue)
@inner_rule
def handle_group_due(world: Clients, timer: GroupDue) -> None:
    """Send the next request: for the coordinator, to join, or a heartbeat."""
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if timer.turn != client.group_turn:
        return
    if client.group_waits:
        # Nothing has come in time.
        client.group_waits = False
        lose_coordinator(world, client, errors.REQUEST_TIMED_OUT)
        return
    timeout_ms = client.request_timeout_ms
    if client.coordinator == NONE:
        asked = (process + client.group_request) % world.sizes[0].brokers
        find = client_requests.FindCoordinatorRequest.to(
            world, asked, partition=client.group_partition, start=client.restarts
        )
        _ask(world, client, find, timeout_ms)
    elif not client.joined:
        join = client_requests.JoinGroupRequest.to(world, client.coordinator)
        _sign(client, join)
        join.append.record_count = 1
        _name_targets(world, client, join)
        _ask(world, client, join, timeout_ms)
    else:
        heartbeat = client_requests.HeartbeatRequest.to(world, client.coordinator)
        heartbeat.partition = client.group_partition
        heartbeat.member_key = client.member_key
        heartbeat.start = client.restarts
        _ask(world, client, heartbeat, min(timeout_ms, client.session_timeout_ms))


@inner_rule
def _ask(world: Kernel, client: Client, request: Event, timeout_ms: int) -> None:
    """Send the one request in flight, and set the timer of its timeout."""
    client.group_request += 1
    request.correlation_id = client.group_request
    client.group_waits = True
    client.group_asked = request.destination
    client.group_sent_us = world.context[0].time_us
    send(world, request, client.group_sent_us)
    _turn_after(world, client, timeout_ms * 1000)


@inner_rule
def _sign(client: Client, request: client_requests.GroupAppendRequest) -> None:
    """The asking member, and its group."""
    request.partition = client.group_partition
    request.member_key = client.member_key
    request.start = client.restarts


@inner_rule
def _name_targets(
    world: Clients, client: Client, request: client_requests.GroupAppendRequest
) -> None:
    for target in range(client.first_target, client.first_target + client.target_count):
        item = new_item(
            world, request, world.client_targets[target].partition, client_requests.GroupOffset
        )
        item.commit_key = client.first_key + target - client.first_target
        item.offset = world.client_targets[target].processed


@inner_rule
def lose_coordinator(world: Kernel, client: Client, error: int) -> None:
    """Look for the coordinator again, after the retry back-off.

    Where commits fail again and again at a coordinator that is found again each time, only the
    first loss is written down.

    Source: AbstractCoordinator.markCoordinatorUnknown@2.6.0.
    """
    if client.coordinator_answers:
        if client.commit_failures <= 1:
            client.loss_told = True
            client_rows.CoordinatorLost.write(
                world, partition=client.group_partition, broker=client.coordinator, error=error
            )
        client.coordinator_answers = False
        client.coordinator_lost_us = world.context[0].time_us
    client.coordinator = NONE
    if not client.group_waits:
        _turn_after(world, client, client.retry_backoff_ms * 1000)


@inner_rule
def handle_group_response(world: Clients, response: client_requests.GroupResponse) -> bool:
    """Take a response about the group; True if the consumer reads from now on."""
    process = response.destination
    client = world.clients[client_of(world, process)]
    if response.start != client.restarts:
        return False
    if response.request_kind == client_requests.OffsetCommitRequest.KIND:
        _take_commit_response(world, client, response)
        return False
    if not client.group_waits or response.correlation_id != client.group_request:
        return False
    client.group_waits = False
    error = response.error
    if response.request_kind == client_requests.FindCoordinatorRequest.KIND:
        _take_coordinator(world, client, response)
        return reads(client)
    if error == errors.NONE:
        _note_answer(world, client)
    if error == errors.NONE and response.request_kind == client_requests.JoinGroupRequest.KIND:
        client.joined = True
        _resume(world, client, response)
        _turn_after(world, client, client.heartbeat_interval_ms * 1000)
        client.commit_waits = False
        _commit_after(world, client, client.auto_commit_interval_ms * 1000)
        return True
    if error == errors.NONE:
        _turn_after(world, client, client.heartbeat_interval_ms * 1000)
    elif _is_elsewhere(error):
        lose_coordinator(world, client, error)
    else:
        client.joined = client.joined and error != errors.UNKNOWN_MEMBER_ID
        _turn_after(world, client, client.retry_backoff_ms * 1000)
    return False


@inner_rule
def _is_elsewhere(error: int) -> bool:
    return error in (
        errors.NOT_COORDINATOR,
        errors.COORDINATOR_NOT_AVAILABLE,
        errors.REQUEST_TIMED_OUT,
    )


@inner_rule
def _take_coordinator(
    world: Kernel, client: Client, response: client_requests.GroupResponse
) -> None:
    """Source: AbstractCoordinator.FindCoordinatorResponseHandler@2.6.0."""
    if response.error != errors.NONE:
        _turn_after(world, client, client.retry_backoff_ms * 1000)
        return
    client.coordinator = response.coordinator
    _turn_after(world, client, _AT_ONCE_US)


@inner_rule
def _note_answer(world: Kernel, client: Client) -> None:
    """Whether the named broker coordinates the group: metadata may be old, and a broker dead."""
    if client.coordinator_answers or client.coordinator == NONE:
        return
    client.coordinator_answers = True
    if client.coordinator == client.coordinator_told and not client.loss_told:
        return
    client.coordinator_told = client.coordinator
    client.loss_told = False
    client_rows.CoordinatorFound.write(
        world,
        partition=client.group_partition,
        broker=client.coordinator,
        missing_us=world.context[0].time_us - client.coordinator_lost_us,
    )


@inner_rule
def _resume(world: Clients, client: Client, response: client_requests.GroupResponse) -> None:
    """Read on where the group has committed; where it has not, from the start on, or go on.

    The response names the partitions in the order in which they were asked for.

    Source: ConsumerCoordinator.refreshCommittedOffsetsIfNeeded@2.6.0.
    """
    target = client.first_target
    for item in items_of(world, response, client_requests.GroupOffset):
        known = world.client_targets[target]
        target += 1
        offset = known.position
        known.committed = item.offset
        known.position = item.offset if item.offset >= 0 else known.begins
        known.processed = known.position
        known.processed_us = world.context[0].time_us
        client_rows.ConsumerResumed.write(
            world,
            partition=known.partition,
            offset=offset,
            committed_offset=item.offset,
            new_offset=known.position,
        )


@CLIENT.handles(CommitDue)
@inner_rule
def handle_commit_due(world: Clients, timer: CommitDue) -> None:
    """Commit the processed offsets of all partitions, or note that there are no new ones.

    In the liveness phase there are no commits: as long as commits are appended no logs are equal
    for good.

    Source: ConsumerCoordinator.maybeAutoCommitOffsetsAsync@2.6.0.
    """
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if timer.turn != client.commit_turn or not client.joined or world.context[0].healing:
        return
    now_us = world.context[0].time_us
    if client.commit_waits:
        client.commit_waits = False
        _fail_commit(world, client, errors.REQUEST_TIMED_OUT)
        return
    if client.coordinator == NONE:
        _fail_commit(world, client, errors.COORDINATOR_NOT_AVAILABLE)
        return
    for target in range(client.first_target, client.first_target + client.target_count):
        known = world.client_targets[target]
        if known.processed_us <= now_us:
            known.processed = known.position
    request = client_requests.OffsetCommitRequest.to(world, client.coordinator)
    _sign(client, request)
    _name_targets(world, client, request)
    request.append.record_count = request.item_count
    client.commit_request += 1
    request.correlation_id = client.commit_request
    client.commit_waits = True
    client.commit_asked = client.coordinator
    client.commit_sent_us = now_us
    send(world, request, now_us)
    _commit_after(world, client, client.request_timeout_ms * 1000)


@inner_rule
def _take_commit_response(
    world: Clients, client: Client, response: client_requests.GroupResponse
) -> None:
    """Source: ConsumerCoordinator.OffsetCommitResponseHandler@2.6.0."""
    if not client.commit_waits or response.correlation_id != client.commit_request:
        return
    client.commit_waits = False
    if response.error != errors.NONE:
        _fail_commit(world, client, response.error)
        return
    target = client.first_target
    for item in items_of(world, response, client_requests.GroupOffset):
        _note_committed(world, target, item)
        target += 1
    now_us = world.context[0].time_us
    if client.commit_failures > 0:
        client_rows.CommitsSucceedAgain.write(
            world,
            partition=client.group_partition,
            broker=response.source,
            failures=client.commit_failures,
            failing_us=now_us - client.commits_fail_since_us,
        )
        client.commit_failures = 0
    due_us = client.commit_sent_us + client.auto_commit_interval_ms * 1000
    _commit_after(world, client, max(1, due_us - now_us))


@inner_rule
def _note_committed(world: Clients, target: int, item: client_requests.GroupOffset) -> None:
    known = world.client_targets[target]
    if known.committed == item.offset:
        return
    known.committed = item.offset
    if traces_all(world):
        OffsetCommitted.write(world, partition=known.partition, committed_offset=item.offset)


@inner_rule
def _fail_commit(world: Kernel, client: Client, error: int) -> None:
    """Try again after a while: at another coordinator, or as a member once more, if need be."""
    if client.commit_failures == 0:
        client.commits_fail_since_us = world.context[0].time_us
        client_rows.CommitsFail.write(
            world, partition=client.group_partition, broker=client.coordinator, error=error
        )
    client.commit_failures += 1
    if _is_elsewhere(error) and client.coordinator != NONE:
        lose_coordinator(world, client, error)
    if error == errors.UNKNOWN_MEMBER_ID:
        client.joined = False
        if not client.group_waits:
            _turn_after(world, client, _AT_ONCE_US)
        return
    _commit_after(world, client, client.retry_backoff_ms * 1000)


@inner_rule
def lose_group_requests(world: Kernel, client: Client, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: requests sent up to ``until_us`` have failed.

    Source: AbstractCoordinator.CoordinatorResponseHandler.onFailure@2.6.0.
    """
    error = errors.NETWORK_EXCEPTION
    was_asked = client.group_waits and client.group_asked == broker
    if was_asked and client.group_sent_us <= until_us:
        client.group_waits = False
        lose_coordinator(world, client, error)
    was_asked = client.commit_waits and client.commit_asked == broker
    if was_asked and client.commit_sent_us <= until_us:
        client.commit_waits = False
        _fail_commit(world, client, error)
    if client.coordinator == broker:
        lose_coordinator(world, client, error)


@CLIENT.handles(ConsumerSample)
@inner_rule
def handle_consumer_sample(world: Clients, timer: ConsumerSample) -> None:
    """Write a row about a consumer's lag: its position, and its committed offset."""
    client = world.clients[client_of(world, timer.destination)]
    for target in range(client.first_target, client.first_target + client.target_count):
        known = world.client_targets[target]
        ConsumerSampled.write(world, known, offset=known.position, committed_offset=known.committed)
    ConsumerSample.after(world, world.context[0].sample_period_us)
