"""A broker asks to be taken out of everything (``KafkaController.doControlledShutdown``).

What it leads is led by others from then on, as far as there are others in the ISR, and it is
taken out of the ISRs that it follows in. Only partitions with more than one replica count.
The answer says how many partitions it still leads; with these it may ask again.

Source: KafkaController.doControlledShutdown@2.6.3, shutdownBroker@0.10.2.2.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.controller.partitions.elections import CONTROLLED_SHUTDOWN
from tidegauge.controller.partitions.partition_changes import elect_selected, remove_from_isr
from tidegauge.controller.partitions.replica_state_machine import OFFLINE_REPLICA
from tidegauge.controller.partitions.replica_states import enter_replica_state
from tidegauge.controller.partitions.request_batch import (
    add_stop_replica_request,
    send_requests_to_brokers,
)
from tidegauge.controller.state.control_plane import (
    ControlPlane,
    broker_at,
    is_deleted,
    partition_at,
    state_at,
)
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import contains, size
from tidegauge.simulation.events import free_event, new_response
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import broker_of, controller_process, row_of, slot_of
from tidegauge.simulation.trace_rows.controller_rows import BrokerShutsDown

# Phases.
_ELECT = code(0)
_STOP = code(1)

_FALSE = code(False)


@inner_rule
def advance_broker_shutdown(world: ControlPlane, controller: int) -> None:
    """One phase of a controlled shutdown."""
    state = world.controllers[controller]
    request = view_as(world.events[state.request], ControlledShutdownRequest)
    broker = request.broker_id
    phase = state.phase
    state.phase += 1
    if phase == _ELECT:
        error = _error_of(world, controller, request)
        if error != errors.NONE:
            _end(world, controller, error, UNDEFINED)
            return
        broker_at(world, controller, broker).shutting_down = True
        _select_led(world, controller, broker)
        elect_selected(world, controller, CONTROLLED_SHUTDOWN)
    elif phase == _STOP:
        send_requests_to_brokers(world, controller)
        _stop_followed(world, controller, broker)
    else:
        send_requests_to_brokers(world, controller)
        remaining = _count_led(world, controller, broker)
        written = new_row(world, controller_process(world, controller), BrokerShutsDown)
        written.broker = broker
        written.remaining = remaining
        write_row(world, written)
        _end(world, controller, errors.NONE, remaining)


@inner_rule
def _error_of(world: ControlPlane, controller: int, request: ControlledShutdownRequest) -> int:
    if not world.controllers[controller].active:
        return errors.STALE_CONTROLLER_EPOCH
    known = broker_at(world, controller, request.broker_id)
    is_fenced = world.rules[controller].broker_epoch_fenced
    if is_fenced and request.broker_epoch < known.broker_epoch:
        return errors.STALE_BROKER_EPOCH
    if not known.alive:
        return errors.BROKER_NOT_AVAILABLE
    return errors.NONE


@inner_rule
def _end(world: ControlPlane, controller: int, error: int, remaining: int) -> None:
    state = world.controllers[controller]
    request = view_as(world.events[state.request], ControlledShutdownRequest)
    answer_shutdown(world, request, error, remaining)
    state.request = NONE
    state.event = NONE


@inner_rule
def answer_shutdown(
    world: Kernel, request: ControlledShutdownRequest, error: int, remaining: int
) -> None:
    """Tell a broker how many partitions it still leads, or why that is not known."""
    response = new_response(world, request, ControlledShutdownResponse)
    response.error = error
    response.remaining_partitions = remaining
    send(world, response, world.context[0].time_us)
    free_event(world, request)


@inner_rule
def _is_concerned(world: ControlPlane, controller: int, partition: int, broker: int) -> bool:
    known = partition_at(world, controller, partition)
    if is_deleted(world, controller, partition):
        return False
    slot = slot_of(world, partition, broker)
    return known.has_state and size(known.replicas) > 1 and contains(known.replicas, slot)


@inner_rule
def _is_led_by(world: ControlPlane, controller: int, partition: int, broker: int) -> bool:
    leader = state_at(world, controller, partition).leader
    return broker_of(world, partition, leader) == broker


@inner_rule
def _select_led(world: ControlPlane, controller: int, broker: int) -> None:
    """Select what the broker leads; what it follows in is stopped afterwards."""
    for partition in range(world.sizes[0].partitions):
        if _is_concerned(world, controller, partition, broker):
            known = partition_at(world, controller, partition)
            leads = _is_led_by(world, controller, partition, broker)
            known.selected = leads
            known.is_followed = not leads


@inner_rule
def _stop_followed(world: ControlPlane, controller: int, broker: int) -> None:
    """Let the broker fetch no more of what it followed in, and take it out of the ISRs."""
    for partition in range(world.sizes[0].partitions):
        if partition_at(world, controller, partition).is_followed:
            add_stop_replica_request(world, controller, partition, broker, _FALSE)
    send_requests_to_brokers(world, controller)
    for partition in range(world.sizes[0].partitions):
        known = partition_at(world, controller, partition)
        if known.is_followed:
            known.is_followed = False
            row = row_of(world, partition, broker)
            if enter_replica_state(world, controller, row, OFFLINE_REPLICA):
                add_stop_replica_request(world, controller, partition, broker, _FALSE)
                remove_from_isr(world, controller, partition, broker)


@inner_rule
def _count_led(world: ControlPlane, controller: int, broker: int) -> int:
    """How many partitions with other replicas the broker still leads."""
    count = 0
    for partition in range(world.sizes[0].partitions):
        if _is_concerned(world, controller, partition, broker) and (
            _is_led_by(world, controller, partition, broker)
        ):
            count += 1
    return count
