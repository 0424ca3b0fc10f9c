"""The processes of a scenario, dealt out to groups."""

from __future__ import annotations

from random import Random

from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.kernel import QUORUM_CONTROLLER


def groups_of(scenario: Scenario, count: int) -> list[list[int]]:
    """Processes dealt out in turn: neighbours are never in one group, but for the controllers.

    Those of a quorum share their state, so they are in one group.
    """
    plan = ClusterPlan(scenario)
    quorum = plan.process_ranges[QUORUM_CONTROLLER]
    processes = [number for number in range(len(plan.processes)) if number not in quorum]
    first, *others = [processes[place::count] for place in range(min(count, len(processes)))]
    return [[*first, *quorum], *others]


def drawn_groups(scenario: Scenario, seed: int) -> list[list[int]]:
    """Two to seven groups, each process in any of them; the controllers of a quorum in one."""
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    plan = ClusterPlan(scenario)
    quorum = plan.process_ranges[QUORUM_CONTROLLER]
    groups: list[list[int]] = [[] for _ in range(draw.randint(2, 7))]
    for process in range(len(plan.processes)):
        if process not in quorum:
            draw.choice(groups).append(process)
    draw.choice(groups).extend(quorum)
    return [group for group in groups if group]
