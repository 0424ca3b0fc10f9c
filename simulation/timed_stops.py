"""Restarts that last for so long from the end of a broker's process on: those of a rolling one.

Who runs a broker's machine stops it, waits until its process is gone, does what there is to
do and starts it. If the process is gone already it does so at once.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.fault_events import FaultEnd
from tidegauge.simulation.topology import Cluster, controller_process


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
        end = new_event(world, broker, broker, FaultEnd)
        end.fault = fault
        set_timer(world, end, world.context[0].time_us + stopped_us)


@inner_rule
def tell_controller_of_end(world: Cluster, broker: int, fault: int) -> None:
    """A timed restart ends at a broker: it ends at its controller, too."""
    end = new_event(world, broker, controller_process(world, broker), FaultEnd)
    end.fault = fault
    send(world, end, world.context[0].time_us)
