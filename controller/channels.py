"""What a controller sends to brokers (Kafka: ``ControllerChannelManager``).

Each broker has a queue and one request in flight. Changes of one step are gathered into one
LeaderAndIsr per broker, for the partitions of which it is a replica, followed by one
UpdateMetadata to every live broker (``ControllerBrokerRequestBatch``).
"""

from __future__ import annotations

from tidegauge.controller.state import ControllerBroker, ControlPlane
from tidegauge.replication.compiled import code, inner_rule
from tidegauge.simulation.events import (
    add_item,
    append_event,
    free_all,
    new_event,
    take_first,
)
from tidegauge.simulation.kernel import NONE, Event, Kernel, PartitionData
from tidegauge.simulation.kinds import LEADER_AND_ISR, UPDATE_METADATA
from tidegauge.simulation.links import send
from tidegauge.simulation.topology import Topology, controller_process

_FALSE = code(False)


@inner_rule
def broker_at(
    topology: Topology, plane: ControlPlane, controller: int, broker: int
) -> ControllerBroker:
    """What a controller knows of a broker."""
    return plane.brokers[controller * topology.sizes[0].brokers + broker]


@inner_rule
def send_requests(kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int) -> None:
    """Tell brokers of all partitions that were touched; forget that they were.

    Source: ControllerBrokerRequestBatch.sendRequestsToBrokers@2.4.0.
    """
    sizes = topology.sizes[0]
    first = controller * sizes.partitions
    for partition in range(sizes.partitions):
        if plane.partitions[first + partition].led_anew:
            plane.partitions[first + partition].led_anew = False
            _tell_replicas(kernel, topology, plane, controller, partition)
    for broker in range(sizes.brokers):
        known = broker_at(topology, plane, controller, broker)
        if known.building != NONE:
            queue_request(kernel, plane, topology, controller, broker, known.building)
            known.building = NONE
    if not _anything_touched(topology, plane, controller):
        return
    send_metadata_to_all(kernel, topology, plane, controller)
    for partition in range(sizes.partitions):
        plane.partitions[first + partition].touched = False


@inner_rule
def _anything_touched(topology: Topology, plane: ControlPlane, controller: int) -> bool:
    first = controller * topology.sizes[0].partitions
    for partition in range(topology.sizes[0].partitions):
        if plane.partitions[first + partition].touched:
            return True
    return False


@inner_rule
def send_metadata_to_all(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int
) -> None:
    """Tell every live broker of the partitions that were touched, and of who is alive."""
    for broker in range(topology.sizes[0].brokers):
        if broker_at(topology, plane, controller, broker).alive:
            send_metadata(kernel, topology, plane, controller, broker, _FALSE)


@inner_rule
def _tell_replicas(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, partition: int
) -> None:
    facts = topology.partitions[partition]
    for slot in range(facts.slot_count):
        broker = topology.slots[facts.first_slot + slot].broker
        if broker_at(topology, plane, controller, broker).alive:
            tell_replica(kernel, topology, plane, controller, partition, broker)


@inner_rule
def tell_replica(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    partition: int,
    broker: int,
) -> None:
    """Put a partition into the LeaderAndIsr that is being made for a broker."""
    known = broker_at(topology, plane, controller, broker)
    if known.building == NONE:
        request = _new_control_request(kernel, topology, plane, controller, broker, LEADER_AND_ISR)
        known.building = request.index
    item = add_item(kernel, kernel.events[known.building], partition)
    _fill(topology, plane, controller, partition, item)


@inner_rule
def _fill(
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    partition: int,
    item: PartitionData,
) -> None:
    index = controller * topology.sizes[0].partitions + partition
    state = plane.leader_and_isr[index]
    item.leader = state.leader
    item.leader_epoch = state.leader_epoch
    item.isr = state.isr
    item.version = state.partition_epoch
    item.controller_epoch = plane.partitions[index].controller_epoch
    item.replicas = topology.partitions[partition].replicas


@inner_rule
def _new_control_request(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    broker: int,
    kind: int,
) -> Event:
    request = new_event(kernel, controller_process(topology, controller), broker, kind)
    request.broker = controller
    request.controller_epoch = plane.controllers[controller].controller_epoch
    known = broker_at(topology, plane, controller, broker)
    request.version = known.broker_epoch
    return request


@inner_rule
def send_metadata(
    kernel: Kernel,
    topology: Topology,
    plane: ControlPlane,
    controller: int,
    broker: int,
    everything: bool,
) -> None:
    """Tell a broker of partitions (those touched, or all) and of who is alive.

    Source: KafkaController.sendUpdateMetadataRequest@2.4.0.
    """
    sizes = topology.sizes[0]
    request = _new_control_request(kernel, topology, plane, controller, broker, UPDATE_METADATA)
    for partition in range(sizes.partitions):
        known = plane.partitions[controller * sizes.partitions + partition]
        if known.touched or (everything and known.has_state):
            item = add_item(kernel, request, partition)
            _fill(topology, plane, controller, partition, item)
    for other in range(sizes.brokers):
        if broker_at(topology, plane, controller, other).alive:
            item = add_item(kernel, request, other)
            item.continues = True
    queue_request(kernel, plane, topology, controller, broker, request.index)


@inner_rule
def queue_request(
    kernel: Kernel,
    plane: ControlPlane,
    topology: Topology,
    controller: int,
    broker: int,
    index: int,
) -> None:
    """Send a request, or let it wait until the one before it is answered."""
    known = broker_at(topology, plane, controller, broker)
    request = kernel.events[index]
    known.requests += 1
    request.request = known.requests
    if known.in_flight == NONE:
        known.in_flight = request.request
        send(kernel, request, kernel.context[0].time_us)
        return
    append_event(kernel, known.queue, request)


@inner_rule
def take_control_response(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, answer: Event
) -> None:
    """A broker has dealt with a request: send the next."""
    known = broker_at(topology, plane, controller, answer.broker)
    if known.in_flight != answer.request:
        return
    known.in_flight = NONE
    if known.queue.first == NONE:
        return
    request = take_first(kernel, known.queue)
    known.in_flight = request.request
    send(kernel, request, kernel.context[0].time_us)


@inner_rule
def close_channel(
    kernel: Kernel, topology: Topology, plane: ControlPlane, controller: int, broker: int
) -> None:
    """A broker is gone: what was to be sent to it is dropped.

    Source: ControllerChannelManager.removeBroker@2.4.0.
    """
    known = broker_at(topology, plane, controller, broker)
    free_all(kernel, known.queue)
    known.in_flight = NONE
