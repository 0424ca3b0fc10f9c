"""The duration of each step that moves replicas, and the number of partitions that it moved.

A step (kafka-reassign-partitions, or AlterPartitionReassignments) requests a reassignment. It ends
for each of its partitions when the controller has sent the new state to all brokers. A partition
belongs to the last step that requested it before the controller took it up. The tool requests
nothing while /admin/reassign_partitions exists (ReassignPartitionsCommand@2.4.0), so such a step
moves nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import view_as
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.topic_steps import ReassignStep
from tidegauge.scenario.named_figures import moving_steps
from tidegauge.simulation.trace_rows import controller_rows
from tidegauge.simulation.trace_rows.process_rows import StepTaken
from tidegauge.simulation.zookeeper_tree import REASSIGNMENT

_KINDS = [
    each.KIND
    for each in (
        StepTaken,
        controller_rows.ReassignmentBegun,
        controller_rows.ReassignmentDone,
        controller_rows.ZnodeCreated,
        controller_rows.ZnodeDeleted,
    )
]


@dataclass
class _Reassignment:
    """The reassignment that one step requested."""

    asked_us: int | None = None
    #: The end of the last finished one, moved or replaced.
    done_us: int = 0
    moved: set[int] = field(default_factory=set)
    #: The moves of these that are under way, and those that another step has taken over.
    on_the_way: set[int] = field(default_factory=set)
    replaced: set[int] = field(default_factory=set)

    @property
    def partitions(self) -> tuple[set[int], set[int], set[int]]:
        """The three sets above, in their order."""
        return self.moved, self.on_the_way, self.replaced


class ReassignmentSpans:
    """Takes the rows of a run in their total order."""

    def __init__(self, plan: ClusterPlan) -> None:
        """Begin without rows."""
        self._ends_us = plan.scenario.duration_us
        self._names = moving_steps(plan.scenario)
        self._spans = {place: _Reassignment() for place in self._names}
        self._partitions: dict[int, list[int]] = {}
        self._by_tool: set[int] = set()
        for place in self._names:
            step = plan.scenario.steps[place]
            self._partitions[place] = [
                plan.partition_number(move.topic, move.partition) for move in step.moves()
            ]
            if isinstance(step, ReassignStep):
                self._by_tool.add(place)
        self._znode = plan.tree_ranges[REASSIGNMENT].start
        self._tool_is_busy = False
        #: By partition: the last step that requested it, until the controller takes it up; and the
        #: step for which it is being moved.
        self._asked: dict[int, int] = {}
        self._moving: dict[int, int] = {}

    def saved(self) -> dict[str, Any]:
        """The state after the last row, as msgpack takes it."""
        return {
            "spans": [
                [place, span.asked_us, span.done_us, *map(sorted, span.partitions)]
                for place, span in self._spans.items()
            ],
            "tool_is_busy": self._tool_is_busy,
            "asked": dict(self._asked),
            "moving": dict(self._moving),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a state that :meth:`saved` has given."""
        for place, asked_us, done_us, *partitions in saved["spans"]:
            self._spans[place] = _Reassignment(asked_us, done_us, *map(set, partitions))
        self._tool_is_busy = saved["tool_is_busy"]
        self._asked, self._moving = dict(saved["asked"]), dict(saved["moving"])

    def take(self, rows: NDArray[np.void]) -> None:
        """Take the next rows."""
        if not self._names:
            return
        for row in rows[np.isin(rows["kind"], _KINDS)]:
            if row["time_us"] >= self._ends_us:
                return
            self._take(row)

    def _take(self, row: Any) -> None:
        kind, time_us = int(row["kind"]), int(row["time_us"])
        if kind == StepTaken.KIND:
            self._ask(int(view_as(row, StepTaken).step), time_us)
        elif kind == controller_rows.ReassignmentBegun.KIND:
            self._begin(int(view_as(row, controller_rows.ReassignmentBegun).partition), time_us)
        elif kind == controller_rows.ReassignmentDone.KIND:
            self._end(int(view_as(row, controller_rows.ReassignmentDone).partition), time_us)
        elif view_as(row, controller_rows.ZnodeRow).znode == self._znode:
            self._tool_is_busy = kind == controller_rows.ZnodeCreated.KIND
            if not self._tool_is_busy:
                # The controller has withdrawn the request for partitions that cannot be moved.
                self._asked = {
                    partition: step
                    for partition, step in self._asked.items()
                    if step not in self._by_tool
                }

    def _ask(self, step: int, time_us: int) -> None:
        if step not in self._names or (step in self._by_tool and self._tool_is_busy):
            return
        self._spans[step].asked_us = time_us
        self._asked.update(dict.fromkeys(self._partitions[step], step))

    def _begin(self, partition: int, time_us: int) -> None:
        step = self._asked.pop(partition, None)
        if step is None:
            # Another controller takes it up again.
            return
        former = self._moving.get(partition)
        if former is not None:
            self._spans[former].on_the_way.discard(partition)
            self._spans[former].replaced.add(partition)
            self._spans[former].done_us = time_us
        self._moving[partition] = step
        self._spans[step].moved.add(partition)
        self._spans[step].on_the_way.add(partition)

    def _end(self, partition: int, time_us: int) -> None:
        step = self._moving.pop(partition, None)
        if step is not None:
            self._spans[step].on_the_way.discard(partition)
            self._spans[step].done_us = time_us

    def figures(self) -> Mapping[str, Mapping[str, Any]]:
        """The figures of each step, by its name, after the last row."""
        if self._tool_is_busy:
            for partition, step in self._asked.items():
                if step in self._by_tool:
                    self._spans[step].moved.add(partition)
                    self._spans[step].on_the_way.add(partition)
        return {name: self._part(self._spans[place]) for place, name in self._names.items()}

    def _part(self, span: _Reassignment) -> dict[str, Any]:
        last_us = self._ends_us if span.on_the_way else span.done_us
        lasted_us = 0 if span.asked_us is None else max(0, last_us - span.asked_us)
        return {
            "seconds": lasted_us / 1e6,
            "partitions": len(span.moved),
            "unfinished": len(span.on_the_way),
            "replaced": len(span.replaced),
        }
