"""A change of release or mode of an imported cluster: changed defaults, and standard faults.

Only settings that are simulated have a table of defaults (``replication/release_defaults.py``).
Each standard fault is a run of its own. The cluster begins in health: all brokers are up, the first
replica of every partition leads it, and no reassignment is in progress. So a dump from a bad day
gives the same answer.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tidegauge.real_cluster.describe.rolled_upgrade import RolledUpgrade, rolled_upgrade
from tidegauge.replication.release_defaults import default_cells_of
from tidegauge.replication.release_versions import KRAFT_MODE, Mode
from tidegauge.scenario.lint.linted_cluster import LintedCluster
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import (
    CONTROLLER_SETTINGS,
    PRODUCER_SETTINGS,
    Value,
    is_internal,
)
from tidegauge.scenario.text.errors import counted

_OF_TIDEGAUGE = "_"


class ChangedDefault(NamedTuple):
    """A setting with another default, or with one in one of two releases only."""

    name: str
    #: None: the release or mode does not have the setting.
    before: int | str | None
    after: int | str | None
    #: The cluster's own value, with which the default has no effect; None: it has none.
    own: Value | None
    #: It is a setting of producers.
    is_of_clients: bool
    #: Method or proposal that made the later value.
    source: str


def changed_defaults(before: Scenario, after: Scenario) -> list[ChangedDefault]:
    """The differences between the defaults of two variants of a cluster, by name."""
    old = default_cells_of(before.release, before.mode)
    new = default_cells_of(after.release, after.mode)
    own = {**before.controllers.settings, **before.cluster.settings}
    changed = []
    for name in sorted({*old, *new}):
        one, other = old.get(name), new.get(name)
        is_same = one is not None and other is not None and one.value == other.value
        # Names with an underscore are constants of Kafka, and no settings.
        if is_same or _OF_TIDEGAUGE in name:
            continue
        cell = other or one
        assert cell is not None
        changed.append(
            ChangedDefault(
                name,
                None if one is None else one.value,
                None if other is None else other.value,
                own.get(name),
                name in PRODUCER_SETTINGS and name not in CONTROLLER_SETTINGS,
                cell.source,
            )
        )
    return changed


#: The start of each case's fault, in seconds: topics are created, and clients run.
_BEGIN_S = 60
#: With ZooKeeper a large cluster needs longer for the creation of its topics.
_CREATED_PER_S = 400
#: From the end of the last fault to the end of the run: sessions, elections, catching up.
AFTER_S = 120
#: The most brokers that are restarted one after the other.
_RESTARTED = 3


class FaultCase(NamedTuple):
    """A standard fault of a cluster."""

    #: For the folder of its runs.
    name: str
    title: str
    #: As in a scenario; with KRaft the controllers are nodes of their own.
    with_zookeeper: Mapping[str, Any]
    with_kraft: Mapping[str, Any]
    duration_s: int

    def fault(self, mode: Mode) -> dict[str, Any]:
        """The fault in a mode, as in a scenario."""
        return dict(self.with_kraft if mode == KRAFT_MODE else self.with_zookeeper)


class UpgradeCase(NamedTuple):
    """The upgrade of a cluster that keeps its mode, beside the same restarts without one."""

    name: str
    title: str
    without: RolledUpgrade
    upgrade: RolledUpgrade
    duration_s: int


def in_health(data: Mapping[str, Any], brokers: Sequence[int]) -> dict[str, Any]:
    """The mapping of a scenario, without the state of a dump and without any fault.

    The last broker starts first: with ZooKeeper it is the controller.

    Args:
        data: the scenario as written.
        brokers: the ids of its brokers; the file may have only their number.
    """
    starts = {broker: "0s" if broker == brokers[-1] else "300ms" for broker in brokers}
    topics = [
        {name: part for name, part in topic.items() if name != "state"}
        for topic in data.get("topics", ())
    ]
    plain = {name: part for name, part in data.items() if name not in ("steps", "faults")}
    cluster = {**data["cluster"], "brokers": [*brokers], "start": starts}
    return plain | {"cluster": cluster, "topics": topics}


def never_accepting(scenario: Scenario, kept: Collection[str] = ()) -> dict[str, str]:
    """The topics that refuse acks=all without any fault, each with the reason and the remedy.

    Their figures are not due to a fault, and are larger than any that are. Kafka's own topics stay,
    and so do all if there are no others.

    Args:
        scenario: the cluster.
        kept: topics that are not left out.

    Source: Partition.effectiveMinIsr@3.8.0, KAFKA-15583.
    """
    cluster = LintedCluster(scenario)
    if cluster.caps_min_insync_replicas:
        return {}
    found = {}
    for topic in cluster.topics:
        name = topic.topic.name
        if name in kept or is_internal(name) or not topic.takes_acks_all:
            continue
        required, replicas = topic.min_insync_replicas, topic.replicas
        refusing = np.flatnonzero(required > replicas)
        if len(refusing):
            least, factor = int(required[refusing[0]]), int(replicas[refusing[0]])
            found[name] = (
                f"{name}: never accepts acks=all (min.insync.replicas {least} above RF {factor}): "
                f"left out of the figures; min.insync.replicas={max(1, factor - 1)} would mend it"
            )
    return found if len(found) < len(scenario.topics) else {}


def without_topics(data: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The mapping of a scenario without these topics, and without clients that have no others."""
    workload = {
        kind: [
            {**group, "topics": left}
            for group in groups or ()
            if (left := [topic for topic in group["topics"] if topic not in names])
        ]
        for kind, groups in (data.get("workload") or {}).items()
    }
    topics = [topic for topic in data.get("topics", ()) if topic["name"] not in names]
    return {**data, "topics": topics, "workload": workload}


def fault_begins_s(scenario: Scenario) -> int:
    """The time at which the first fault of a cluster in health begins, in seconds."""
    partitions = sum(topic.partition_count for topic in scenario.topics)
    return _BEGIN_S + partitions // _CREATED_PER_S


def fault_cases(scenario: Scenario) -> Iterator[FaultCase]:
    """The standard faults of a cluster in health, one after the other.

    Args:
        scenario: of :func:`in_health`, in its own mode.
    """
    brokers, racks = scenario.broker_ids(), scenario.cluster.racks
    begin_s = fault_begins_s(scenario)
    controller = brokers[-1]
    title = f"Broker {brokers[0]} is killed, and returns after 60 s"
    crash = {"name": "crash", "kind": "crash", "brokers": [brokers[0]]}
    yield _case(title, begin_s, 60, crash)
    rolled = list(next(iter(racks.values())))[:_RESTARTED]
    title = f"{counted(len(rolled), 'broker')} are restarted cleanly, one after the other"
    roll = {"name": "roll", "kind": "rolling_restart", "brokers": rolled, "stopped_for": "5s"}
    timeout = {"poll": "1s", "timeout": f"{60 * len(rolled)}s"}
    yield _case(title, begin_s, 60 * len(rolled), roll | timeout)
    title = (
        f"The active controller's node is killed for 60 s: broker {controller} with ZooKeeper, "
        "controller:0 with KRaft"
    )
    lost = _case(title, begin_s, 60, crash | {"name": "controller", "brokers": [controller]})
    yield lost._replace(with_kraft={**lost.with_kraft, "brokers": ["controller:0"]})
    if len(racks) > 1:
        rack = next(name for name, those in racks.items() if controller not in those)
        power_loss = {"name": "rack", "kind": "power_loss", "brokers": [f"rack:{rack}"]}
        yield _case(f"Rack {rack} loses power for 60 s", begin_s, 60, power_loss)


def upgrade_case(scenario: Scenario, target: str) -> UpgradeCase:
    """The rolls of a cluster in health to a release, beside the same rolls without it.

    Args:
        scenario: of :func:`in_health`, in its own release.
        target: a later release that has its mode.
    """
    begin_s = fault_begins_s(scenario)
    servers = scenario.controllers.count if scenario.has_kraft else len(scenario.broker_ids())
    lasts_s = 60 * (len(scenario.broker_ids()) + servers)
    without, upgrade = (
        rolled_upgrade(
            scenario, begin_s * 1_000_000, lasts_s * 1_000_000, each, stopped_for="5s", poll="1s"
        )
        for each in (None, target)
    )
    rolled = "controllers, then brokers" if scenario.has_kraft else "brokers"
    version = "metadata.version" if scenario.has_kraft else "inter.broker.protocol.version"
    title = (
        f"The upgrade itself: {rolled} are restarted one after the other, with {target}, which "
        f"{version} follows; on the left without it"
    )
    return UpgradeCase("upgrade", title, without, upgrade, begin_s + lasts_s + AFTER_S)


def _case(title: str, begin_s: int, lasts_s: int, fault: Mapping[str, Any]) -> FaultCase:
    whole = {**fault, "at": f"{begin_s}s"}
    if fault["kind"] != "rolling_restart":
        whole["for"] = f"{lasts_s}s"
    return FaultCase(fault["name"], title, whole, whole, begin_s + lasts_s + AFTER_S)
