"""Scrape targets: one for each broker, and three for metrics that belong to no broker.

A broker's target is its index. The others are numbers below 0, so that an array over the brokers
with three more places at its end has a place for each target.

The labels are those that a Strimzi cluster on Kubernetes would give: dashboards and alert rules
find brokers by them. The discovery provides them, not the samples, as Prometheus expects; only the
page of all targets has them on each sample.
"""

from __future__ import annotations

import re

from tidegauge.scenario.cluster_plan import ClusterPlan

#: The metrics of kafka_exporter: the cluster's metadata, offsets and consumer groups.
EXPORTER = -3
#: The cluster's state in ZooKeeper.
CONTROLLER = -2
#: The simulation itself: its speed and its cost.
SIMULATION = -1

#: In the order of their numbers, after the brokers.
OTHER_TARGETS = (EXPORTER, CONTROLLER, SIMULATION)

#: A target that is not a broker: its part of names, its job and the path of its page.
_OTHERS = {
    EXPORTER: ("kafka-exporter", "kafka-exporter", "/exporter/metrics"),
    CONTROLLER: ("controller", "tidegauge-controller", "/controller/metrics"),
    SIMULATION: ("simulation", "tidegauge", "/simulation/metrics"),
}

NAMESPACE = "tidegauge"
_LONGEST_NAME = 40


def targets_of(plan: ClusterPlan) -> tuple[int, ...]:
    """All targets: the brokers in order, then the others."""
    return (*range(len(plan.brokers)), *OTHER_TARGETS)


def cluster_name(plan: ClusterPlan) -> str:
    """The scenario's name in Kubernetes's form: small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", plan.scenario.name.lower())
    return name[:_LONGEST_NAME].strip("-") or "cluster"


def metrics_path(plan: ClusterPlan, target: int) -> str:
    """The path of a target's page."""
    if target in _OTHERS:
        return _OTHERS[target][2]
    return f"/b/{plan.brokers[target]}/metrics"


def target_name(plan: ClusterPlan, target: int) -> str:
    """Instance and pod of a target: ``<cluster>-kafka-<id>``, as Strimzi names its brokers."""
    own = _OTHERS[target][0] if target in _OTHERS else f"kafka-{plan.brokers[target]}"
    return f"{cluster_name(plan)}-{own}"


def target_labels(plan: ClusterPlan, target: int) -> dict[str, str]:
    """The labels that the discovery gives a target, ``job`` and ``instance`` among them."""
    cluster = cluster_name(plan)
    name = target_name(plan, target)
    labels = {
        "job": _OTHERS[target][1] if target in _OTHERS else "kafka",
        "instance": name,
        "kafka_cluster": cluster,
        "strimzi_io_cluster": cluster,
        "namespace": NAMESPACE,
        "kubernetes_namespace": NAMESPACE,
        "env": NAMESPACE,
    }
    if target >= 0:
        labels |= {"strimzi_io_name": f"{cluster}-kafka", "strimzi_io_kind": "Kafka"}
        labels |= {"kubernetes_pod_name": name, "pod": name, "container": "kafka"}
    elif target == EXPORTER:
        labels |= {"strimzi_io_name": name, "kubernetes_pod_name": name, "pod": name}
        labels |= {"container": "kafka-exporter"}
    return labels
