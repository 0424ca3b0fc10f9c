"""Events that a scenario plans: the starts of processes, and the faults that have a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.steps import wait_for_step
from tidegauge.compiled.records import Records, view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.engine.doors import World
from tidegauge.engine.event_loop import begin_moment
from tidegauge.engine.run_snapshots.merged_tables import MergeError
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation import kernel
from tidegauge.simulation.events import (
    append_event,
    free_event,
    pop,
    push,
    set_timer,
    take_first,
    take_slot,
    waiting_count,
)
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.controller_timers import QuorumStart
from tidegauge.simulation.messages.event import EventList
from tidegauge.simulation.messages.zookeeper_requests import ZkTick
from tidegauge.simulation.random_streams import START, draw_below

#: The time before its start at which a client requests metadata.
_METADATA_LEAD_US = 1_000_000


class PlannedChange(NamedTuple):
    """A fault begins or ends in one process that it hits."""

    process: int
    kind: int
    fault: int
    time_us: int
    #: The scenario's number of the event.
    sequence: int


@rule
def plan_timer(world: kernel.Kernel, process: int, kind: int, time_us: int) -> None:
    """Have a process handle an event of its own, of a kind without a body, at ``time_us``."""
    set_timer(world, take_slot(world, process, process, kind), time_us)


@rule
def plan_fault(
    world: kernel.Kernel, process: int, kind: int, fault: int, time_us: int, sequence: int
) -> None:
    """Have a fault begin or end in a process at ``time_us``."""
    event = take_slot(world, process, process, kind)
    # It comes from the scenario, whenever it is planned: no process and no row has caused it.
    event.source = kernel.SCENARIO
    event.sequence = sequence
    event.source_rows = 0
    event.asked_us = 0
    event.cause_process = kernel.NONE
    event.cause_sequence = kernel.NONE
    view_as(event, timers.FaultChange).fault = fault
    event.time_us = time_us
    push(world, event)


@inner_rule
def take_waiting(world: kernel.Kernel) -> EventList:
    """Take out all events that wait for their time: each is then freed, or pushed again.

    Only between two events, when no event is ready.
    """
    waiting = world.context[0].ready
    for _ in range(waiting_count(world)):
        append_event(world, waiting, pop(world))
    return waiting


@rule
def drop_planned_faults(world: kernel.Kernel) -> None:
    """Take back all faults that the scenario has planned; between two events."""
    waiting = take_waiting(world)
    for _ in range(waiting.length):
        event = take_first(world, waiting)
        if event.source == kernel.SCENARIO:
            free_event(world, event)
        else:
            push(world, event)


@rule
def wait_for_next_step(world: World, process: int, time_us: int) -> None:
    """Have the operator wait for its next step, which is another one than before."""
    step = world.clients[client_of(world, process)].step
    waiting = take_waiting(world)
    for _ in range(waiting.length):
        event = take_first(world, waiting)
        if event.kind == timers.StepDue.KIND and view_as(event, timers.StepDue).step == step:
            free_event(world, event)
        else:
            push(world, event)
    begin_moment(world, process, time_us)
    wait_for_step(world, process)


def is_next_step_changed(past: ClusterPlan, plan: ClusterPlan, world: World) -> bool:
    """Whether the operator's next step is another one than in the past.

    Raises:
        MergeError: a step that has been taken is another one.
    """
    operator = world.clients[len(plan.clients) - 1]
    before, now = past.scenario.steps, plan.scenario.steps
    for place in range(int(operator.steps_taken)):
        if place >= len(now) or before[place] != now[place]:
            raise MergeError(f"steps[{place}] has been taken already")
    pending = int(operator.step)
    return before[pending : pending + 1] != now[pending : pending + 1]


def plan_beginning(plan: ClusterPlan, world: kernel.Kernel, hosted: Iterable[int]) -> None:
    """Plan the starts of brokers, clients and the quorum, and the first tick of ZooKeeper."""
    for process in hosted:
        role = plan.processes[process].role
        if role == kernel.BROKER:
            plan_timer(world, process, timers.BrokerStart.KIND, _start_us(plan, process))
        elif role == kernel.ZOOKEEPER:
            first_us = 0 if plan.was_there_before else plan.scenario.zookeeper.tick_ms * 1000
            plan_timer(world, process, ZkTick.KIND, first_us)
        elif role == kernel.QUORUM_CONTROLLER:
            starts_us = plan.scenario.controllers.start_us
            first_us = starts_us.get(plan.processes[process].number, 0)
            plan_timer(world, process, QuorumStart.KIND, first_us)
        elif role == kernel.CLIENT:
            group = plan.clients[plan.processes[process].number].group
            start_us = 0 if group is None else max(0, group.start_us - _METADATA_LEAD_US)
            plan_timer(world, process, timers.ClientStart.KIND, start_us)


def _start_us(plan: ClusterPlan, broker: int) -> int:
    """The start time of a broker: pinned, or drawn from the spread."""
    cluster = plan.scenario.cluster
    pinned = cluster.start_us.get(plan.brokers[broker])
    if pinned is not None:
        return int(pinned)
    # In milliseconds: the limit of a draw is 2**31.
    spread_ms = cluster.start_spread_us // 1000
    return 1000 * int(draw_below(spread_ms + 1, plan.scenario.seed, START, broker, 0))


def planned_changes(
    plan: ClusterPlan,
    fault_roles: Records[kernel.FaultRole],
    hosted: Iterable[int],
    from_us: int = 0,
) -> list[PlannedChange]:
    """The begins and ends, from a time on, of faults that have a time, in processes that they hit.

    Args:
        plan: the scenario in numbers.
        fault_roles: the part of each process in each fault.
        hosted: the processes that count.
        from_us: the first time that counts.
    """
    count = len(plan.processes)
    changes = []
    for number, fault in zip(plan.fault_numbers, plan.scenario.faults, strict=True):
        if fault.at_us is None:
            continue
        times = [(timers.FaultBegin.KIND, fault.at_us, 2 * number)]
        if fault.for_us is not None:
            times.append((timers.FaultEnd.KIND, fault.at_us + fault.for_us, 2 * number + 1))
        changes += [
            PlannedChange(process, kind, number, time_us, sequence)
            for process in hosted
            if fault_roles[number * count + process].side != 0
            for kind, time_us, sequence in times
            if time_us >= from_us
        ]
    return changes
