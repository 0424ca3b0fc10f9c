"""What a step asks of a broker: a batch is produced, a fetch, the end of a leader epoch.

A request goes to the leader that the control plane names, as a test harness would send it, or to
the broker that the step names, and is not repeated.
"""

from __future__ import annotations

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Client, Clients
from tidegauge.clients.control_plane_requests import state_told
from tidegauge.clients.step_codes import ASKS_EPOCH, PRODUCES
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import add_item, old_event, set_timer
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.fault_events import Disconnected
from tidegauge.simulation.messages.kinds import (
    CONSUMER_RESPONSE,
    FETCH,
    OFFSETS_FOR_LEADER_EPOCH,
    PRODUCE,
    PRODUCE_RESPONSE,
    REQUEST_TIMES_OUT,
)
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse
from tidegauge.simulation.rows import new_row, traces_all, write_row
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.fault_rows import StepAnswered, StepUnanswered
from tidegauge.simulation.trace_rows.request_rows import Consumed

#: Number of the request of the first step, if its answer is not waited for; then downwards.
UNATTENDED = code(-2)


_FETCH_TIMEOUT_US = code(30_000_000)
#: How much longer than the broker the operator waits for an answer.
_PATIENCE_US = code(3_000_000)

_FETCH_BYTES = code(50 * 1024 * 1024)


@inner_rule
def request_of_leader(world: Clients, process: int, response: ZkResponse) -> bool:
    """Send a step's request to the leader that a response names; whether one will come to it.

    Where nobody leads the step is over.
    """
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    leader = NONE
    if response.first_item != NONE:
        leader = broker_of(world, step.partition, state_told(world, response).leader)
    if leader >= 0:
        return request_of(world, process, leader)
    row = new_row(world, process, StepAnswered)
    row.step = client.step
    row.from_process = NONE
    row.error = errors.LEADER_NOT_AVAILABLE
    row.offset = NONE
    row.end_offset = NONE
    row.epoch = NONE
    row.high_watermark = NONE
    write_row(world, row)
    return False


@inner_rule
def request_of(world: Clients, process: int, broker: int) -> bool:
    """Send a step's request to a broker; whether its answer is waited for."""
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    client.question += 1
    timeout_us = step.timeout_us
    if step.action == PRODUCES:
        request = old_event(world, process, broker, PRODUCE)
        request.partition = step.partition
        request.count = step.records
        request.acks = step.acks
        request.wait_ms = timeout_us // 1000
        client.records_sent += step.records
    elif step.action == ASKS_EPOCH:
        request = old_event(world, process, broker, OFFSETS_FOR_LEADER_EPOCH)
        item = add_item(world, request, step.partition)
        item.last_fetched_epoch = step.leader_epoch
        timeout_us = _FETCH_TIMEOUT_US
    else:
        request = old_event(world, process, broker, FETCH)
        request.max_bytes = _FETCH_BYTES
        request.partition_max_bytes = _FETCH_BYTES
        item = add_item(world, request, step.partition)
        item.offset = step.offset
        timeout_us = _FETCH_TIMEOUT_US
    now_us = world.context[0].time_us
    if step.unattended:
        request.request = UNATTENDED - client.step
        step.asked = broker
        step.asked_us = now_us
        step.open = True
        send(world, request, now_us)
        return False
    request.request = client.question
    client.asked = broker
    client.asked_us = now_us
    send(world, request, now_us)
    timer = old_event(world, process, process, REQUEST_TIMES_OUT)
    timer.request = client.question
    # A broker answers at its time-out; some time later nothing more will come.
    set_timer(world, timer, now_us + timeout_us + _PATIENCE_US)
    return True


@inner_rule
def take_answer(world: Kernel, client: Client, answer: Event, step: int) -> None:
    """Write down what a step's request was answered, of its one partition."""
    if answer.kind == PRODUCE_RESPONSE:
        client.records_acknowledged += answer.count if answer.error == 0 else 0
    elif answer.kind == CONSUMER_RESPONSE:
        _trace_fetch(world, answer)
    row = new_row(world, answer.destination, StepAnswered)
    row.step = step
    row.from_process = answer.source
    row.error = answer.error
    row.offset = answer.offset
    row.end_offset = NONE if answer.offset == NONE else answer.offset + answer.count
    row.epoch = NONE
    row.high_watermark = NONE
    if answer.first_item != NONE:
        item = world.items[answer.first_item]
        row.error = item.error
        row.offset = item.offset
        row.end_offset = item.end_offset
        row.epoch = item.epoch
        row.high_watermark = item.high_watermark
    write_row(world, row)


@inner_rule
def give_up(world: Kernel, process: int, step: int, asked: int, error: int) -> None:
    """Write down that a step's request has got no answer."""
    row = new_row(world, process, StepUnanswered)
    row.step = step
    row.from_process = asked
    row.error = error
    because_of(world, row, asked)
    write_row(world, row)


@inner_rule
def give_up_unattended(world: Clients, process: int, event: Disconnected) -> None:
    """A broker is gone, and with it the answers that nobody waits for."""
    for number in range(world.pool[0].steps):
        step = world.steps[number]
        if step.open and step.asked == event.source and step.asked_us <= event.until_us:
            step.open = False
            give_up(world, process, number, step.asked, errors.NETWORK_EXCEPTION)


@inner_rule
def all_answered(world: Clients) -> bool:
    """Whether no answer is missing that a step has not waited for."""
    missing = 0
    for number in range(world.pool[0].steps):
        missing += 1 if world.steps[number].open else 0
    return missing == 0


@inner_rule
def _trace_fetch(world: Kernel, answer: Event) -> None:
    cursor = answer.first_item
    while cursor != NONE and traces_all(world):
        item = world.items[cursor]
        cursor = item.next
        row = new_row(world, answer.destination, Consumed)
        row.partition = item.partition
        row.fetch_offset = item.offset
        row.end_offset = item.end_offset
        row.high_watermark = item.high_watermark
        row.error = item.error
        write_row(world, row)
