"""Labels in the form of a page, and scrape targets with their labels.

A label's text is ``topic="orders",partition="3"``; between the quotes backslash, quote and end of
line are escaped, as both formats require.

There is a target for each broker, one for each controller of a quorum, and three others. A broker's
target is its index. The others are numbers below 0: those of metrics that belong to no node first,
from -1 down, then the controllers. So an array over the brokers, the controllers and three more
places has an element for each target.

The labels of targets are those that a Strimzi cluster on Kubernetes would give: dashboards and
alert rules find brokers by them. The discovery provides them, not the samples, as Prometheus
expects; only the page of all targets has them on each sample.
"""

import re
from collections.abc import Mapping

from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.metrics.spellings.all_spellings import STRIMZI
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.scenario.cluster_plan import ClusterPlan

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_MEANINGS = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
_ESCAPED = re.compile(r"\\[\\\"n]")
_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def label_text(labels: Mapping[str, object]) -> str:
    """The text of labels between the braces of a page, in the given order."""
    return ",".join(f'{name}="{str(value).translate(_ESCAPES)}"' for name, value in labels.items())


def labels_of(text: str) -> dict[str, str]:
    """The labels that :func:`label_text` has written."""
    return {
        name: _ESCAPED.sub(lambda escape: _MEANINGS[escape[0]], value)
        for name, value in _LABEL.findall(text)
    }


def joined(*texts: str) -> str:
    """Several label texts joined into one; empty ones add no comma."""
    return ",".join(text for text in texts if text)


#: The metrics of kafka_exporter: the cluster's metadata, offsets and consumer groups.
EXPORTER = -3
#: The cluster's state in ZooKeeper, or in the log of a quorum.
CONTROL_PLANE = -2
#: The simulation itself: its speed and its cost.
SIMULATION = -1

#: In the order of their numbers, after the brokers and the controllers.
_OTHER_TARGETS = (EXPORTER, CONTROL_PLANE, SIMULATION)

#: A target that is no node: its part of names, its job and the path of its page.
_OTHERS = {
    EXPORTER: ("kafka-exporter", "", "/exporter/metrics"),
    CONTROL_PLANE: ("controller", "tidegauge-controller", "/controller/metrics"),
    SIMULATION: ("simulation", "tidegauge", "/simulation/metrics"),
}

NAMESPACE = "tidegauge"
_LONGEST_NAME = 40


def targets_of(plan: ClusterPlan) -> tuple[int, ...]:
    """All targets: the brokers in order, the controllers of a quorum, then the others."""
    return (*range(len(plan.brokers)), *controllers_of(plan), *_OTHER_TARGETS)


def controllers_of(plan: ClusterPlan) -> range:
    """The targets of a quorum's controllers, in their order; in ZooKeeper mode none."""
    return range(-len(_OTHER_TARGETS) - len(plan.controllers), -len(_OTHER_TARGETS))


def is_node(target: int) -> bool:
    """Whether a target is a broker or a controller, which can be down."""
    return target not in _OTHERS


def is_alive(snapshot: Snapshot, target: int) -> bool:
    """Whether the process of a broker or controller runs; other targets always do."""
    return not is_node(target) or _flag_of(snapshot, target, "alive")


def responds(snapshot: Snapshot, target: int) -> bool:
    """Whether a target can be scraped: a broker or controller that runs, and is not paused."""
    return not is_node(target) or _flag_of(snapshot, target, "answers")


def _flag_of(snapshot: Snapshot, target: int, name: str) -> bool:
    if target >= 0:
        return bool(snapshot.brokers[name][target])
    return bool(snapshot.controllers[name][target + len(_OTHER_TARGETS)])


def label_texts(plan: ClusterPlan, spelling: Spelling = STRIMZI) -> list[str]:
    """The labels of all targets as texts, so that a target is an index of the list."""
    return [label_text(target_labels(plan, target, spelling)) for target in targets_of(plan)]


def cluster_name(plan: ClusterPlan) -> str:
    """The scenario's name in Kubernetes's form: small letters, digits and hyphens."""
    name = re.sub(r"[^a-z0-9]+", "-", plan.scenario.name.lower())
    return name[:_LONGEST_NAME].strip("-") or "cluster"


def metrics_path(plan: ClusterPlan, target: int) -> str:
    """The path of a target's page."""
    if target in _OTHERS:
        return _OTHERS[target][2]
    return f"/{'b' if target >= 0 else 'c'}/{node_of(plan, target)}/metrics"


def node_of(plan: ClusterPlan, target: int) -> int:
    """The id of the broker or controller that is a target."""
    if target >= 0:
        return plan.brokers[target]
    return plan.controllers[controllers_of(plan).index(target)]


def target_name(plan: ClusterPlan, target: int) -> str:
    """Instance and pod of a target: ``<cluster>-kafka-<id>``, as Strimzi names its brokers."""
    if target in _OTHERS:
        own = _OTHERS[target][0]
    else:
        own = f"{'kafka' if target >= 0 else 'controller'}-{node_of(plan, target)}"
    return f"{cluster_name(plan)}-{own}"


def target_labels(plan: ClusterPlan, target: int, spelling: Spelling = STRIMZI) -> dict[str, str]:
    """The labels that the discovery gives a target, ``job`` and ``instance`` among them."""
    cluster = cluster_name(plan)
    name = target_name(plan, target)
    labels = {
        "job": _job_of(target, spelling),
        "instance": name,
        "kafka_cluster": cluster,
        "strimzi_io_cluster": cluster,
        "namespace": NAMESPACE,
        "kubernetes_namespace": NAMESPACE,
        "env": NAMESPACE,
    }
    if is_node(target):
        labels |= {"strimzi_io_name": f"{cluster}-kafka", "strimzi_io_kind": "Kafka"}
        labels |= {"kubernetes_pod_name": name, "pod": name, "container": "kafka"}
    elif target == EXPORTER:
        labels |= {"strimzi_io_name": name, "kubernetes_pod_name": name, "pod": name}
        labels |= {"container": "kafka-exporter"}
    return labels


def _job_of(target: int, spelling: Spelling) -> str:
    of_brokers, of_controllers, of_exporter = spelling.jobs
    if is_node(target):
        return of_brokers if target >= 0 else of_controllers
    return of_exporter if target == EXPORTER else _OTHERS[target][1]
