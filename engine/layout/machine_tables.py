"""The resources of brokers' machines, laid out for a scenario: disks and page caches."""

from __future__ import annotations

import numpy as np

from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.machines import GENERATIONS
from tidegauge.compiled.records import column
from tidegauge.scenario.cluster_plan import ClusterPlan

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
        # What is older is written for certain, also where the disk takes longer to do so.
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
