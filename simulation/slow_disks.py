"""Faults that last: slow disks, and restarts whose end is a time after their start.

Appends take longer while faults make a broker's disks slow. A restart of a rolling one lasts for
its time from the end of the broker's process on.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.faults import SLOW_DISK
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.timers import FaultEnd
from tidegauge.simulation.random_streams import DISK, QUANTILES, draw, quantile_us
from tidegauge.simulation.topology import Cluster, controller_process


@inner_rule
def disk_delay_us(world: Kernel, process: int, appends: int) -> int:
    """The additional time of so many appends of a broker, one after the other."""
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


@inner_rule
def end_restarts_later(world: Kernel, broker: int) -> None:
    """A broker's process is gone: restarts that have waited for that count from now."""
    count = world.context[0].process_count
    for number in range(len(world.faults)):
        if world.fault_roles[number * count + broker].active:
            end_restart_later(world, broker, number)


@inner_rule
def end_restart_later(world: Kernel, broker: int, fault: int) -> None:
    """A restart that is at a broker whose process is gone: it counts from now, if it is timed."""
    stopped_us = world.faults[fault].stopped_us
    hits = world.fault_roles[fault * world.context[0].process_count + broker].side != 0
    if hits and stopped_us != NONE:
        FaultEnd.after(world, stopped_us, fault=fault)


@inner_rule
def tell_controller_of_end(world: Cluster, broker: int, fault: int) -> None:
    """A timed restart ends at a broker: it ends at its controller, too."""
    end = FaultEnd.to(world, controller_process(world, broker), fault=fault)
    send(world, end, world.context[0].time_us)
