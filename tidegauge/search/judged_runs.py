"""Runs without a trace, judged in this process: a thousand small ones take some seconds.

All processes are one group, and nothing is written: rows go to the checks and figures only. A
verdict and a figure are those of ``simulate`` with the same plan.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.engine.contract import LoopFigures, no_garbage_collection
from tidegauge.engine.group import Group
from tidegauge.engine.group_states import GroupCounts, States, new_states
from tidegauge.engine.liveness import RESTART_US, Liveness, wait_until_well
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import summary_of, verdicts
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.codes import REASON_END, REASON_LIVENESS


class Judged(NamedTuple):
    """A run that has ended."""

    plan: ClusterPlan
    stream: RowStream
    #: The counts of its processes at the end of the run, and of the liveness phase.
    counted: GroupCounts
    ended: GroupCounts
    #: None: there was no such phase.
    liveness: Liveness | None

    def verdicts(self) -> dict[str, dict[str, Any]]:
        """The verdict of each check, as ``summary.json`` has it."""
        return verdicts(self.plan, self.stream, self.liveness)

    def summary(self) -> dict[str, Any]:
        """The summary, with zeros for the speed of the run."""
        return summary_of(
            self.plan, self.stream, LoopFigures(), [self.counted], [self.ended], self.liveness
        )


class _OneGroup:
    """All processes of a run."""

    def __init__(self, plan: ClusterPlan) -> None:
        self.stream = RowStream(plan)
        self._plan = plan
        self._group = Group(plan, range(len(plan.processes)))

    def _take(self, rows: NDArray[np.void]) -> None:
        self.stream.take(rows)
        self.stream.settle(int(rows[-1]["time_us"]))

    def run_to(self, end_us: int) -> None:
        """Handle every event earlier than ``end_us``."""
        self._group.run_to(end_us, self._take)

    def states(self) -> States:
        """All replicas as their brokers have them, all partitions as the control plane has them."""
        states = new_states(self._plan)
        self._group.look_at_states(states)
        return states.arrays()

    def heal(self, time_us: int) -> None:
        """Begin the liveness phase."""
        self._group.heal(time_us, RESTART_US, self._take)

    def close(self, time_us: int, reason: int) -> GroupCounts:
        """Take the rows that belong to the end; the counts until then."""
        self._group.close(time_us, self._take, reason)
        return self._group.counts()


def judged(plan: ClusterPlan) -> Judged:
    """Run a scenario that has its plan, with its liveness phase if it has one."""
    end_us = plan.scenario.duration_us
    with no_garbage_collection():
        run = _OneGroup(plan)
        run.run_to(end_us)
        counted = ended = run.close(end_us, REASON_END)
        liveness = None
        if plan.scenario.liveness:
            run.heal(end_us)
            liveness = wait_until_well(plan, run)
            ended = run.close(end_us + round(liveness.seconds * 1e6), REASON_LIVENESS)
        run.stream.end()
    return Judged(plan, run.stream, counted, ended, liveness)
