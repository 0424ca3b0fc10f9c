"""The directory of a run, made of its plan: names for the numbers in rows, as a manifest has them.

``traces/directory.py`` reads it, for a run's folder and for a cluster that is being run.
"""

from typing import Any

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
        "partitions": _partitions(plan),
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


def _partitions(plan: ClusterPlan) -> list[dict[str, Any]]:
    # Looked up once for each broker: it takes longer than all else here.
    capped = [
        rules_of(*plan.scenario.release_of(broker)).min_isr_capped_by_replicas
        for broker in plan.brokers
    ]
    return [
        {
            "topic": partition.topic,
            "partition": partition.number,
            "replicas": [plan.brokers[broker] for broker in partition.replicas],
            "slots": [plan.brokers[broker] for broker in partition.slots],
            "min_insync_replicas": partition.min_insync_replicas,
            "most_insync_replicas": (
                len(partition.replicas) if capped[partition.replicas[0]] else None
            ),
        }
        for partition in plan.partitions
    ]
