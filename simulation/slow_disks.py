"""Slow disks: how much longer appends take while faults make a broker's disks slow.

Faults add up. Each has a table of its own, from which every append draws; one that is a plain
duration draws nothing.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.faults import SLOW_DISK
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.random_streams import DISK, QUANTILES, draw, quantile_us


@inner_rule
def disk_delay_us(world: Kernel, process: int, appends: int) -> int:
    """How much longer so many appends of a broker take, one after the other."""
    count = world.context[0].process_count
    delay_us = 0
    for number in range(len(world.faults)):
        role = world.fault_roles[number * count + process]
        if role.active and role.side != 0 and world.faults[number].kind == SLOW_DISK:
            for _ in range(appends):
                delay_us += _drawn_us(world, process, world.faults[number].delay_table)
    return delay_us


@inner_rule
def _drawn_us(world: Kernel, process: int, table: int) -> int:
    first = table * QUANTILES
    least_us = world.quantiles[first].value_us
    if world.quantiles[first + QUANTILES - 1].value_us == least_us:
        return least_us
    state = world.processes[process]
    uniform = draw(world.context[0].seed, DISK, process, state.disk_draws)
    state.disk_draws += 1
    return quantile_us(world.quantiles, first, uniform)
