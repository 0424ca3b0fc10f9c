"""The directory of a run, made of its plan: names for the numbers in rows, as a manifest has them.

``traces/directory.py`` reads it, for a run's folder and for a cluster that is being run.
"""

from collections.abc import Sequence
from typing import Any, overload

from tidegauge.replication.releases import rules_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import Fault, fault_name
from tidegauge.simulation.kernel import CLIENT, CONTROLLER, QUORUM_CONTROLLER, RACK_LINK, ZOOKEEPER
from tidegauge.simulation.zookeeper_tree import SORTS

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
    capped = {each: bool(rules_of(*each).min_isr_capped_by_replicas) for each in versions}
    return [capped[each] for each in versions]


class ListedPartitions(Sequence[dict[str, Any]]):
    """The partitions of a plan as a manifest lists them, each made when it is asked for."""

    def __init__(self, plan: ClusterPlan) -> None:
        self._plan = plan
        self._capped = is_min_isr_capped(plan)

    @overload
    def __getitem__(self, place: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, place: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, place: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(place, slice):
            return [self[each] for each in range(len(self))[place]]
        partition = self._plan.partitions[place]
        return {
            "topic": partition.topic,
            "partition": partition.number,
            "replicas": [self._plan.brokers[broker] for broker in partition.replicas],
            "slots": [self._plan.brokers[broker] for broker in partition.slots],
            "min_insync_replicas": partition.min_insync_replicas,
            "most_insync_replicas": (
                len(partition.replicas) if self._capped[partition.replicas[0]] else None
            ),
        }

    def __len__(self) -> int:
        return len(self._plan.partitions)
