"""The faults of a scenario as records: what each is, and which processes it hits."""

from __future__ import annotations

import itertools

from tidegauge.compiled.records import column
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.fault import Stop
from tidegauge.simulation.costs import COST_NAMES
from tidegauge.simulation.faults import FAULT_CODES
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import NETWORK_TABLES


def plan_faults(plan: ClusterPlan, world: Kernel) -> None:
    """Enter what each fault is and which processes it hits; none has begun."""
    count = len(plan.processes)
    for field in ("row_process", "row_sequence", "began_us", "acted_us"):
        column(world.fault_roles, field)[:] = NONE
    tables = itertools.count(int(NETWORK_TABLES) + len(COST_NAMES))
    for number, planned in enumerate(plan.faults):
        fault = world.faults[number]
        fault.kind = FAULT_CODES[planned.kind]
        fault.suspends = planned.suspends
        fault.stops = planned.stop is not Stop.NEVER
        fault.is_between = planned.is_between
        fault.is_over_at_once = planned.is_over_at_once
        fault.lasts_us = NONE
        fault.stopped_us = NONE
        if planned.at_us is None and planned.for_us is not None:
            fault.lasts_us = planned.for_us
        if planned.drawn_delay() is not None:
            fault.delay_table = next(tables)
        planned.plan(fault)
        for bit, hit in enumerate(planned.sides(plan.scenario)):
            for end in hit:
                world.fault_roles[number * count + plan.process_of(end)].side |= 1 << bit
    for place, (roll, _) in enumerate(plan.rolled):
        stopped_us = plan.rolling_restart(roll).stopped_for_us
        world.faults[len(plan.scenario.faults) + place].stopped_us = stopped_us
