"""The faults of a scenario as records: what each is, and which processes it hits."""

from __future__ import annotations

import itertools

from tidegauge.compiled.records import column
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.faults import (
    CLIENT_GROUP,
    ZOOKEEPER,
    ControllerMoveFault,
    CrashFault,
    CutLinkFault,
    Fault,
    FaultOfAnyKind,
    LogDirectoryFailureFault,
    PauseFault,
    PowerLossFault,
    RestartFault,
    RollingRestartFault,
    SlowDiskFault,
    SlowLinkFault,
    ZooKeeperOutageFault,
)
from tidegauge.simulation import faults
from tidegauge.simulation.costs import COST_NAMES
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, NONE, Kernel
from tidegauge.simulation.kernel import ZOOKEEPER as ZOOKEEPER_ROLE
from tidegauge.simulation.kernel import Fault as FaultRecord
from tidegauge.simulation.links import NETWORK_TABLES

_KINDS: dict[type[FaultOfAnyKind], int] = {
    PauseFault: faults.PAUSE,
    CrashFault: faults.CRASH,
    PowerLossFault: faults.POWER_LOSS,
    RestartFault: faults.RESTART,
    SlowDiskFault: faults.SLOW_DISK,
    SlowLinkFault: faults.SLOW_LINK,
    CutLinkFault: faults.CUT_LINK,
    ZooKeeperOutageFault: faults.ZOOKEEPER_OUTAGE,
    ControllerMoveFault: faults.CONTROLLER_MOVE,
    RollingRestartFault: faults.ROLLING_RESTART,
    LogDirectoryFailureFault: faults.LOG_DIRECTORY_FAILURE,
}


def plan_faults(plan: ClusterPlan, world: Kernel) -> None:
    """Enter what each fault is and which processes it hits; none has begun."""
    count = len(plan.processes)
    for field in ("row_process", "row_sequence", "went_on_us"):
        column(world.fault_roles, field)[:] = NONE
    tables = itertools.count(int(NETWORK_TABLES) + len(COST_NAMES))
    for number, planned in enumerate(plan.faults):
        fault = world.faults[number]
        fault.kind = _KINDS[type(planned)]
        fault.lasts_us = NONE
        fault.stopped_us = NONE
        if planned.at_us is None and planned.for_us is not None:
            fault.lasts_us = planned.for_us
        if isinstance(planned, SlowDiskFault):
            fault.delay_table = next(tables)
        _plan_details(planned, fault)
        for bit, processes in enumerate(_sides(plan, planned)):
            for process in processes:
                world.fault_roles[number * count + process].side |= 1 << bit
    for place, (roll, _) in enumerate(plan.rolled):
        stopped_us = plan.rolling_restart(roll).stopped_for_us
        world.faults[len(plan.scenario.faults) + place].stopped_us = stopped_us


def _plan_details(planned: Fault, fault: FaultRecord) -> None:
    """Take over what faults of some kinds have beside their times."""
    if isinstance(planned, SlowLinkFault):
        fault.delay_us = planned.delay_us
    if isinstance(planned, SlowLinkFault | CutLinkFault):
        fault.one_way = planned.one_way
    if isinstance(planned, LogDirectoryFailureFault):
        fault.directory = planned.directory - 1
        fault.is_full = planned.how == "full"
    if isinstance(planned, ZooKeeperOutageFault):
        fault.refreshes_sessions = planned.how == "restart"
    if isinstance(planned, PowerLossFault):
        fault.refreshes_sessions = True


def _sides(plan: ClusterPlan, planned: Fault) -> tuple[list[int], list[int]]:
    """The processes that a fault hits; of one that hits links, those at both ends."""
    if isinstance(planned, SlowLinkFault | CutLinkFault):
        one, other = planned.between
        return (
            [plan.process_of(end) for end in plan.scenario.endpoints_of(one)],
            [plan.process_of(end) for end in plan.scenario.endpoints_of(other)],
        )
    if isinstance(planned, ZooKeeperOutageFault | ControllerMoveFault):
        return [*plan.process_ranges[ZOOKEEPER_ROLE]], []
    if isinstance(planned, RollingRestartFault):
        # It is the operator's; what brokers are hit by are the restarts that he begins.
        return [plan.process_ranges[CLIENT][-1]], []
    hit = [plan.broker_index(broker) for broker in plan.scenario.brokers_of(planned.brokers)]
    others = [
        plan.process_of(end)
        for end in plan.scenario.endpoints_of(planned.brokers)
        if end.kind in {ZOOKEEPER, CLIENT_GROUP}
    ]
    if isinstance(planned, SlowDiskFault | LogDirectoryFailureFault):
        return hit, []
    controllers = plan.process_ranges[CONTROLLER]
    return [*hit, *(controllers[broker] for broker in hit), *others], []
