"""The codes of a step's actions, ``Step.action``.

Requests of a step to a broker: a batch is produced, a fetch, the end of a leader epoch, the latest
offset.

A request goes to the leader that the control plane names, as a test harness would send it, or to
the broker that the step names, and is not repeated.
"""

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Answer, Client, Clients, Step
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import NamedCodes, code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import items_of, new_item
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import Disconnected, RequestTimesOut
from tidegauge.simulation.rows import record_row, traces_all
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.detail_rows import Consumed
from tidegauge.simulation.trace_rows.process_rows import StepAnswered, StepUnanswered

#: Step.action, by the action of a step in a scenario; each stands beside its rule.
STEP_CODES = NamedCodes()


# Step.action
PRODUCES = STEP_CODES.new("produce", 0)
FETCHES = STEP_CODES.new("fetch", 1)
ASKS_EPOCH = STEP_CODES.new("ask_epoch", 4)
MOVES_LOG_DIR = STEP_CODES.new("move_log_dir", 17)
LISTS_OFFSETS = STEP_CODES.new("list_offsets", 20)

#: Number of the request of the first step, if its answer is not waited for; then downwards.
UNATTENDED = code(-2)


_FETCH_TIMEOUT_US = code(30_000_000)
#: The operator's timeout is longer than the broker's by this.
_PATIENCE_US = code(3_000_000)

_FETCH_BYTES = code(50 * 1024 * 1024)


@inner_rule
def request_of_leader(world: Clients, process: int, state: Answer) -> bool:
    """Send a step's request to the leader that an answer names; whether one will come to it.

    Without a leader the step is over.
    """
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    leader = NONE
    if state.holds:
        leader = broker_of(world, step.partition, state.leader)
    if leader >= 0:
        return request_of(world, process, leader)
    end_with(world, client.step, NONE, errors.LEADER_NOT_AVAILABLE)
    return False


@inner_rule
def end_with(world: Kernel, step: int, source: int, error: int) -> None:
    """Write down that a step ends with an error, or none, that a process has answered."""
    StepAnswered.write(
        world,
        step=step,
        from_process=source,
        error=error,
        offset=NONE,
        end_offset=NONE,
        epoch=NONE,
        high_watermark=NONE,
    )


@inner_rule
def request_of(world: Clients, process: int, broker: int) -> bool:
    """Send a step's request to a broker; whether its answer is waited for."""
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    client.question += 1
    if step.action == PRODUCES:
        produce = client_requests.ProduceRequest.to(world, broker, acks=step.acks)
        batch = new_item(world, produce, step.partition, client_requests.ProducedBatch)
        batch.append.record_count = step.records
        produce.timeout_ms = step.timeout_us // 1000
        client.records_sent += step.records
        return _send(world, client, step, produce, step.timeout_us)
    if step.action == ASKS_EPOCH:
        ask = client_requests.OffsetsForLeaderEpochRequest.to(world, broker)
        asked = new_item(world, ask, step.partition, client_requests.EpochAsked)
        asked.leader_epoch = step.leader_epoch
        return _send(world, client, step, ask, _FETCH_TIMEOUT_US)
    if step.action == LISTS_OFFSETS:
        offsets = client_requests.ListOffsetsRequest.to(world, broker)
        new_item(world, offsets, step.partition, client_requests.OffsetsAsked)
        return _send(world, client, step, offsets, _FETCH_TIMEOUT_US)
    if step.action == MOVES_LOG_DIR:
        move = client_requests.AlterReplicaLogDirsRequest.to(world, broker, step)
        return _send(world, client, step, move, _FETCH_TIMEOUT_US)
    fetch = client_requests.FetchRequest.to(
        world, broker, max_bytes=_FETCH_BYTES, partition_max_bytes=_FETCH_BYTES
    )
    wanted = new_item(world, fetch, step.partition, client_requests.FetchPartition)
    wanted.fetch_offset = step.offset
    return _send(world, client, step, fetch, _FETCH_TIMEOUT_US)


@inner_rule
def _send(world: Kernel, client: Client, step: Step, request: Event, timeout_us: int) -> bool:
    """Send a step's request; whether its response is waited for."""
    now_us = world.context[0].time_us
    if step.unattended:
        request.correlation_id = UNATTENDED - client.step
        step.asked = request.destination
        step.asked_us = now_us
        step.open = True
        send(world, request, now_us)
        return False
    request.correlation_id = client.question
    client.asked = request.destination
    client.asked_us = now_us
    send(world, request, now_us)
    # A broker answers at its time-out; some time later nothing more will come.
    RequestTimesOut.after(world, timeout_us + _PATIENCE_US, correlation_id=client.question)
    return True


@inner_rule
def take_answer(world: Kernel, client: Client, response: Event, step: int) -> None:
    """Write a row about the response to a step's request, for its one partition."""
    if response.kind == client_requests.ConsumerResponse.KIND:
        _trace_fetch(world, response)
    row = StepAnswered.new(
        world,
        step=step,
        from_process=response.source,
        offset=NONE,
        end_offset=NONE,
        epoch=NONE,
        high_watermark=NONE,
        error=errors.NONE,
    )
    if response.kind == client_requests.ProduceResponse.KIND:
        produced = view_as(world.items[response.first_item], client_requests.ProducedBatch).append
        row.error = produced.error
        if produced.error == errors.NONE:
            client.records_acknowledged += produced.record_count
        else:
            client.records_failed += produced.record_count
        if produced.offset != NONE:
            row.offset = produced.offset
            row.end_offset = produced.offset + produced.record_count
    elif response.kind == client_requests.ConsumerResponse.KIND:
        fetched = view_as(world.items[response.first_item], client_requests.FetchedRecords)
        row.error = fetched.error
        row.offset = fetched.offset
        row.end_offset = fetched.end_offset
        row.epoch = fetched.epoch
        row.high_watermark = fetched.high_watermark
    elif response.kind == client_requests.AlterReplicaLogDirsResponse.KIND:
        row.error = view_as(response, client_requests.AlterReplicaLogDirsResponse).error
    elif response.kind == client_requests.ListOffsetsResponse.KIND:
        listed = view_as(world.items[response.first_item], client_requests.ListedOffsets)
        row.error = listed.error
        row.end_offset = listed.end_offset
    else:
        told = view_as(world.items[response.first_item], client_requests.EpochEndOffset)
        row.error = told.error
        row.end_offset = told.end_offset
        row.epoch = told.leader_epoch
    record_row(world, row)


@inner_rule
def give_up(world: Kernel, step: int, asked: int, asked_us: int, error: int) -> None:
    """Write down that a step's request of ``asked_us`` has got no answer."""
    row = StepUnanswered.new(world, step=step, from_process=asked, error=error)
    because_of(world, row, asked, asked_us)
    record_row(world, row)


@inner_rule
def give_up_unattended(world: Clients, event: Disconnected) -> None:
    """A broker is gone, and with it its pending responses."""
    for number in range(world.pool[0].steps):
        step = world.steps[number]
        if step.open and step.asked == event.source and step.asked_us <= event.until_us:
            step.open = False
            give_up(world, number, step.asked, step.asked_us, errors.NETWORK_EXCEPTION)


@inner_rule
def all_answered(world: Clients) -> bool:
    """Whether no answer is missing that a step has not waited for."""
    missing = 0
    for number in range(world.pool[0].steps):
        missing += 1 if world.steps[number].open else 0
    return missing == 0


@inner_rule
def _trace_fetch(world: Kernel, response: Event) -> None:
    if traces_all(world):
        for item in items_of(world, response, client_requests.FetchedRecords):
            Consumed.write(world, item, fetch_offset=item.offset)
