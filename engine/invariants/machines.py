"""Invariants of brokers' machines: their disks and page caches."""

from __future__ import annotations

from tidegauge.actors.state.machines import GENERATIONS
from tidegauge.engine.invariants.checked import HOLDS, Checked
from tidegauge.engine.invariants.registry import Invariants
from tidegauge.simulation.bandwidth import FLOWS

MACHINES = Invariants()


@MACHINES.of("brokers")
def page_caches_have_room_left(world: Checked) -> int:
    """The generation of a page cache that is filled now is not full."""
    for number in range(len(world.brokers)):
        broker = world.brokers[number]
        if not 0 < broker.generation_left_bytes <= broker.generation_bytes:
            return number
    return HOLDS


@MACHINES.of("cached_logs")
def logs_know_no_later_generation(world: Checked) -> int:
    """A log was looked at in a generation of its broker's page cache that has begun."""
    for row in range(len(world.cached_logs)):
        log = world.cached_logs[row]
        if not 0 <= log.generation <= world.brokers[world.hosted[row].broker].generation:
            return row
        for back in range(GENERATIONS + 1):
            if log.starts[back] < 0:
                return row
    return HOLDS


@MACHINES.of("disk_reads")
def reads_end_with_the_last(world: Checked) -> int:
    """No read of a disk ends after everything is read that it has taken on."""
    for place in range(len(world.disk_reads)):
        disk = world.disk_reads[place]
        for flow in range(FLOWS):
            if disk.ends_ns[flow] > disk.free_ns:
                return place
    return HOLDS


@MACHINES.of("brokers")
def appends_wait_for_no_more_than_the_writes(world: Checked) -> int:
    """Appends wait at most until the last of a broker's disks has written what it has."""
    for number in range(len(world.brokers)):
        broker = world.brokers[number]
        first = number * broker.log_directories
        latest_ns = 0
        for place in range(first, first + broker.log_directories):
            latest_ns = max(latest_ns, world.disk_writes[place].free_ns)
        if broker.writes_wait_until_us * 1000 > latest_ns + 1000:
            return number
    return HOLDS
