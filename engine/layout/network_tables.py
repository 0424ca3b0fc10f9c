"""The tables of networks, laid out for a scenario: bandwidths, socket buffers, network threads."""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.compiled.records import Records, new_records
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.workload import ConsumerGroup, ProducerGroup
from tidegauge.simulation.bandwidth import Bandwidth, IncomingBandwidth
from tidegauge.simulation.kernel import CLIENT, RACK_LINK, Kernel, NetworkThread, SocketBuffers


class Networks(NamedTuple):
    """The tables of networks: all but the last by process."""

    outgoing: Records[Bandwidth]
    incoming: Records[IncomingBandwidth]
    socket_buffers: Records[SocketBuffers]
    threads: Records[NetworkThread]


def new_networks(plan: ClusterPlan) -> Networks:
    """Networks on which nothing has been sent."""
    count = len(plan.processes)
    threads = sum(_network_threads(plan))
    networks = Networks(
        new_records(Bandwidth, count),
        new_records(IncomingBandwidth, count),
        new_records(SocketBuffers, count),
        new_records(NetworkThread, threads),
    )
    resources = plan.scenario.resources
    for index, broker in enumerate(plan.brokers):
        machine = resources.of_broker(broker)
        settings = plan.scenario.settings_of(broker)
        networks.outgoing[index].bytes_per_second = machine.network_out
        networks.incoming[index].bytes_per_second = machine.network_in
        buffers = networks.socket_buffers[index]
        buffers.send_bytes = _bytes_of(settings["socket.send.buffer.bytes"])
        buffers.receive_bytes = _bytes_of(settings["socket.receive.buffer.bytes"])
        buffers.fetch_bytes = _bytes_of(settings["replica.socket.receive.buffer.bytes"])
    for number, client in zip(plan.process_ranges[CLIENT], plan.clients, strict=True):
        buffers = networks.socket_buffers[number]
        if isinstance(client.group, ProducerGroup):
            own = plan.scenario.producer_settings(client.group)
            buffers.send_bytes = _bytes_of(own["send.buffer.bytes"])
        elif isinstance(client.group, ConsumerGroup):
            read = plan.scenario.consumer_settings(client.group)
            buffers.fetch_bytes = _bytes_of(int(read["receive.buffer.bytes"]))
    for number in plan.process_ranges[RACK_LINK]:
        networks.incoming[number].bytes_per_second = resources.between_racks
    return networks


def enter_networks(plan: ClusterPlan, kernel: Kernel) -> None:
    """Enter where brokers have their network threads, and where the links between racks are."""
    first_thread = 0
    for index, threads in enumerate(_network_threads(plan)):
        kernel.processes[index].first_network_thread = first_thread
        kernel.processes[index].network_threads = threads
        first_thread += threads
    context = kernel.context[0]
    context.racks = len(plan.racks)
    if plan.rack_links:
        context.first_rack_link = plan.process_ranges[RACK_LINK].start


def _network_threads(plan: ClusterPlan) -> list[int]:
    return [plan.scenario.settings_of(broker)["num.network.threads"] for broker in plan.brokers]


def _bytes_of(setting: int) -> int:
    """The size of a buffer; that of the operating system (-1) grows with the connection."""
    return max(0, setting)
