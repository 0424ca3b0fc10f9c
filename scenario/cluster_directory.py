"""The directory of a run, made of its plan: names for the numbers in rows, as a manifest has them.

``traces/directory.py`` reads it, for a run's folder and for a cluster that is being run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

import numpy as np

from tidegauge.replication.releases import rules_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import Fault, fault_name
from tidegauge.scenario.model.replica_placement import Assignments
from tidegauge.scenario.planned_partitions import Numbers
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, QUORUM_CONTROLLER, RACK_LINK, ZOOKEEPER
from tidegauge.simulation.zookeeper_tree import SORTS

#: Partitions of which lists are made at the same time.
_AT_ONCE = 4096

_ROLES = {
    int(CONTROLLER): "controller",
    int(ZOOKEEPER): "zookeeper",
    int(CLIENT): "client",
    int(QUORUM_CONTROLLER): "quorum controller",
    int(RACK_LINK): "link between racks",
}


def directory_of(plan: ClusterPlan) -> dict[str, Any]:
    """All names: processes, brokers, topics, partitions, faults, and ranges of ZooKeeper's tree."""
    return {
        "processes": [
            {
                "process": number,
                "name": each.name,
                "role": _ROLES.get(each.role, "broker"),
                "number": each.number,
            }
            for number, each in enumerate(plan.processes)
        ],
        "brokers": list(plan.brokers),
        "controllers": list(plan.controllers),
        "registered_before": [
            broker
            for broker, is_registered in zip(plan.brokers, plan.registered_before, strict=True)
            if is_registered
        ],
        "topics": [topic.name for topic in plan.scenario.topics],
        "partitions": ListedPartitions(plan),
        "faults": [
            {
                "name": fault_name(plan.faults, number),
                "kind": fault.kind,
                "text": fault.short_words(),
                **({"sides": _sides(plan, fault)} if fault.is_between else {}),
            }
            for number, fault in enumerate(plan.faults)
        ],
        "zookeeper_tree": [
            {"sort": sort, "first": numbers.start, "end": numbers.stop}
            for sort, numbers in zip(SORTS, plan.tree_ranges, strict=True)
        ],
    }


def _sides(plan: ClusterPlan, fault: Fault) -> list[list[int]]:
    """The processes at both ends of the links that a fault hits."""
    return [[plan.process_of(end) for end in side] for side in fault.sides(plan.scenario)]


def is_min_isr_capped(plan: ClusterPlan) -> list[bool]:
    """For each broker, whether its min.insync.replicas is at most a partition's replicas.

    Source: Partition.effectiveMinIsr@3.7.0.
    """
    versions = [plan.scenario.release_of(broker) for broker in plan.brokers]
    capped = {each: bool(rules_of(*each).min_isr_capped_by_replicas) for each in {*versions}}
    return [capped[each] for each in versions]


class ListedPartitions(Sequence[dict[str, Any]]):
    """The partitions of a plan as a manifest lists them, each made when it is asked for."""

    def __init__(self, plan: ClusterPlan) -> None:
        self._plan = plan
        self._topics = [topic.name for topic in plan.scenario.topics]
        self._brokers = np.array(plan.brokers)
        self._capped = np.array(is_min_isr_capped(plan))

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        numbers = range(len(self))[place]
        if isinstance(numbers, int):
            return next(self._listed(range(numbers, numbers + 1)))
        return list(self._listed(numbers))

    def __len__(self) -> int:
        return len(self._plan.partitions)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for first in range(0, len(self), _AT_ONCE):
            yield from self._listed(range(first, min(first + _AT_ONCE, len(self))))

    def _listed(self, numbers: range) -> Iterator[dict[str, Any]]:
        planned, columns, which = self._plan.partitions, self._plan.partitions.columns, [*numbers]
        replicas, slots = columns.replica_counts[which], columns.slot_counts[which]
        rows = zip(
            columns.topic_numbers[which].tolist(),
            columns.numbers[which].tolist(),
            _cut(self._brokers, columns.replicas, planned.first_replicas[which], replicas),
            _cut(self._brokers, columns.hosts, planned.first_slots[which], slots),
            columns.min_insync_replicas[which].tolist(),
            self._capped[columns.replicas[planned.first_replicas[which]]].tolist(),
            strict=True,
        )
        for topic, number, of_replicas, of_slots, min_insync_replicas, is_capped in rows:
            yield {
                "topic": self._topics[topic],
                "partition": number,
                "replicas": of_replicas,
                "slots": of_slots,
                "min_insync_replicas": min_insync_replicas,
                "most_insync_replicas": len(of_replicas) if is_capped else None,
            }

    def json_brackets(self) -> str:
        """Those of a list."""
        return "[]"

    def json_lines(self) -> Iterator[str]:
        """The JSON of each partition, in a third of the time that an encoder takes."""
        for each in self:
            most = each["most_insync_replicas"]
            # Names of topics need no escapes, and a list of numbers is written as in Python.
            yield (
                f'{{"topic": "{each["topic"]}", "partition": {each["partition"]}, '
                f'"replicas": {each["replicas"]}, "slots": {each["slots"]}, '
                f'"min_insync_replicas": {each["min_insync_replicas"]}, '
                f'"most_insync_replicas": {"null" if most is None else most}}}'
            )


def _cut(
    brokers: Numbers, indexes: Numbers, firsts: Numbers, counts: Numbers
) -> Iterator[list[int]]:
    """Lists of ids, each of so many brokers whose indexes begin at a place."""
    ends = np.cumsum(counts)
    begins = ends - counts
    places = np.repeat(firsts - begins, counts) + np.arange(counts.sum())
    ids: list[int] = brokers[indexes[places]].tolist()
    cuts = zip(begins.tolist(), ends.tolist(), strict=True)
    return (ids[begin:end] for begin, end in cuts)


class ListedAssignments(Mapping[str, list[int]]):
    """The assignments of a topic as a manifest lists them, by partitions' numbers as text."""

    def __init__(self, assignments: Assignments) -> None:
        self._assignments = assignments

    def __getitem__(self, partition: str) -> list[int]:
        return self._assignments[int(partition)]

    def __iter__(self) -> Iterator[str]:
        return map(str, range(len(self)))

    def __len__(self) -> int:
        return len(self._assignments)

    def json_brackets(self) -> str:
        """Those of a mapping."""
        return "{}"

    def json_lines(self) -> Iterator[str]:
        """The JSON of each partition's brokers."""
        return (f'"{number}": {brokers}' for number, brokers in enumerate(self._assignments))
