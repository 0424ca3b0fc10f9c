"""The tables of networks, laid out for a scenario: bandwidths, socket buffers, network threads.

The resources of brokers' machines, laid out for a scenario: disks and page caches.
"""

from typing import NamedTuple

import numpy as np

from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.machines import GENERATIONS
from tidegauge.compiled.records import Records, column, new_records
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


_US_PER_SECOND = 1_000_000


def lay_out_machines(world: Brokers, plan: ClusterPlan) -> None:
    """Give each broker its disks and its page cache; no log is in memory yet."""
    directories = plan.scenario.cluster.log_directories
    for index, broker in enumerate(plan.brokers):
        machine = plan.scenario.resources.of_broker(broker)
        for place in range(index * directories, (index + 1) * directories):
            world.disk_reads[place].bytes_per_second = machine.disk_read
            world.disk_writes[place].bytes_per_second = machine.disk_write
        state = world.brokers[index]
        if machine.disk_write > 0:
            dirty_bytes = machine.dirty_limit // directories
            state.dirty_us = dirty_bytes * _US_PER_SECOND // machine.disk_write
        # Older records are written for certain, also where the disk takes longer to do so.
        state.write_back_us = max(state.write_back_us, state.dirty_us)
        page_cache = max(machine.page_cache, machine.dirty_limit)
        state.generation_bytes = max(1, page_cache // int(GENERATIONS))
        state.generation_left_bytes = state.generation_bytes


def cache_tails(world: Brokers) -> None:
    """Fill the page caches with the logs that exist when a run begins.

    Each log has its tail in memory, in proportion to its size, as if all had grown together; of
    a broker whose logs are smaller than its page cache that is all.
    """
    column(world.brokers, "generation")[:] = 1
    column(world.cached_logs, "generation")[:] = 1
    starts = column(world.cached_logs, "starts")
    brokers = column(world.hosted, "broker")
    first = column(world.replicas, "log_start_offset")
    end = column(world.replicas, "log_end_offset")
    record_bytes = column(world.partitions, "record_bytes")[column(world.hosted, "partition")]
    sizes = (end - first) * record_bytes
    held = np.bincount(brokers, weights=sizes, minlength=len(world.brokers))
    caches = column(world.brokers, "generation_bytes") * int(GENERATIONS)
    parts = np.minimum(1.0, caches / np.maximum(1.0, held))[brokers]
    for back in range(int(GENERATIONS) + 1):
        tail = (end - first) * parts * (back / int(GENERATIONS))
        starts[:, back] = end - tail.astype(np.int64)
