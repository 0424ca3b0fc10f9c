"""A scenario's mapping as it is in another mode or release."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from tidegauge.replication.release_versions import Mode, Release
from tidegauge.scenario.model.cluster import racks_of_controllers
from tidegauge.scenario.model.costs import costs_of_other_modes
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.other_mode import settings
from tidegauge.scenario.other_mode.faults import faults, steps
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.scenario.text.errors import Path, ScenarioError, scenario_error

#: The numbers of controllers that a quorum can have.
_QUORUMS = (1, 3, 5)
#: The parts of a partition's state that only KRaft has.
_OF_KRAFT = ("elr", "last_known_leader", "adding", "removing")


class ConvertedScenario(NamedTuple):
    """A scenario in another mode or release."""

    #: As a file has it.
    data: dict[str, Any]
    scenario: Scenario
    #: The parts that are changed or left out.
    changes: tuple[settings.Change, ...]


def converted(data: Mapping[str, Any], source: str, mode: Mode, release: str) -> ConvertedScenario:
    """The scenario that a mapping describes, in this mode and release.

    Brokers, topics and clients stay as they are. Faults are those with the same cause.

    Args:
        data: a scenario, as a file has it.
        source: the name of the scenario in errors.
        mode: the mode to convert it into.
        release: the release, in full or as a line.

    Raises:
        ScenarioError: the scenario is not valid, or a part of it cannot be converted; one line
            names the part.
    """
    scenario = scenario_from_mapping(data, source)
    to = settings.Conversion(scenario, mode, str(Release.parse(release)))
    target = f"{source} in mode {mode}, release {to.release}"
    if (scenario.mode, scenario.release) == (mode, to.release):
        return ConvertedScenario({**data, "mode": mode}, scenario, ())
    try:
        changed = _changed(to, data)
    except settings.NotConvertibleError as error:
        raise scenario_error(target, [error.problem], lambda _: None) from error
    try:
        return ConvertedScenario(changed, scenario_from_mapping(changed, target), tuple(to.changes))
    except ScenarioError as error:
        # One part without a counterpart is enough.
        raise ScenarioError(str(error).splitlines()[0]) from error


def _changed(to: settings.Conversion, data: Mapping[str, Any]) -> dict[str, Any]:
    changed = _versions(to, data)
    cluster, controllers = settings.cluster_and_controllers(
        to, changed["cluster"], changed.get("controllers") or {}
    )
    changed["cluster"] = _cluster(to, cluster)
    changed = _parts(to, changed, controllers)
    changed = _costs(to, changed)
    if "topics" in changed:
        changed["topics"] = _topics(to, changed["topics"])
    if "workload" in changed:
        changed["workload"] = settings.workload(to, changed["workload"])
    left_out: set[str] = set()
    over_at_once: set[str] = set()
    for part in ("faults", "fault_rates"):
        if changed.get(part):
            changed[part], out, over = faults(to, part, changed[part])
            left_out, over_at_once = left_out | out, over_at_once | over
    if to.leaves_mode and changed.get("pins"):
        to.note(("pins",), "left out: the control planes have other messages, in another order")
        changed = settings.without(changed, "pins")
    if changed.get("steps"):
        changed["steps"] = steps(to, changed["steps"], left_out, over_at_once)
    return _expectations(to, changed)


def _versions(to: settings.Conversion, data: Mapping[str, Any]) -> dict[str, Any]:
    """The release, the mode, and the protocol version or metadata.version."""
    changed = {**data, "release": to.release, "mode": to.mode}
    for name in ("protocol", "metadata_version"):
        version = data.get(name)
        if version is None:
            continue
        if to.leaves_mode or not to.knows(str(version)):
            to.note((name,), f"{version} left out: that of release {to.release} is in force")
            changed = settings.without(changed, name)
        else:
            to.note((name,), f"stays {version}")
    if "eligible_leader_replicas" in data and to.to_zookeeper:
        to.note(("eligible_leader_replicas",), "left out: ZooKeeper mode has none")
        changed = settings.without(changed, "eligible_leader_replicas")
    return changed


def _cluster(to: settings.Conversion, cluster: dict[str, Any]) -> dict[str, Any]:
    if not cluster.get("broker_releases"):
        return cluster
    path: Path = ("cluster", "broker_releases")
    to.note(path, f"left out: all brokers have release {to.release}")
    return settings.without(cluster, "broker_releases")


def _parts(
    to: settings.Conversion, data: dict[str, Any], controllers: Mapping[str, Any]
) -> dict[str, Any]:
    """The parts ``zookeeper`` and ``controllers``; the latter comes with its settings."""
    if to.to_kraft:
        data = settings.without(data, "zookeeper")
        ensemble = to.scenario.zookeeper
        for name in sorted(ensemble.model_fields_set - {"servers"}):
            to.note(("zookeeper", name), "left out: KRaft has no ZooKeeper")
        if "servers" in ensemble.model_fields_set:
            count = ensemble.servers if ensemble.servers in _QUORUMS else 3
            to.note(("zookeeper", "servers"), f"controllers.count is {count}")
            controllers = {"count": count, **controllers}
        controllers = _in_racks(to, controllers)
    elif to.to_zookeeper:
        data = settings.without(data, "controllers")
        quorum = to.scenario.controllers
        if "racks" in quorum.model_fields_set:
            to.note(("controllers", "racks"), "left out: ZooKeeper stands outside of all racks")
        if {"count", "voters"} & quorum.model_fields_set:
            servers = len(quorum.first_voters)
            to.note(("controllers", "count"), f"zookeeper.servers is {servers}")
            data["zookeeper"] = {"servers": servers}
        return data
    return {**data, "controllers": dict(controllers)} if controllers else data


def _in_racks(to: settings.Conversion, controllers: Mapping[str, Any]) -> Mapping[str, Any]:
    """The controllers in the brokers' racks."""
    count = controllers.get("count", to.scenario.controllers.count)
    placed = racks_of_controllers(to.scenario.cluster.racks, count)
    if not placed:
        return controllers
    to.note(("controllers", "racks"), f"assumed are those of the brokers: {', '.join(placed)}")
    return {**controllers, "racks": placed}


def _costs(to: settings.Conversion, data: dict[str, Any]) -> dict[str, Any]:
    others = costs_of_other_modes(to.mode)
    written = data.get("costs") or {}
    for name in written:
        if name in others:
            to.note(("costs", name), "left out: a cost of the other mode")
    kept = settings.without(written, *others)
    return {**data, "costs": kept} if kept else settings.without(data, "costs")


def _topics(to: settings.Conversion, written: list[dict[str, Any]]) -> list[dict[str, Any]]:
    topics = []
    for place, topic in enumerate(written):
        changed = dict(topic)
        if to.to_zookeeper and topic.get("state"):
            changed["state"] = {
                number: _state(to, ("topics", place, "state", number), state)
                for number, state in topic["state"].items()
            }
        topics.append(changed)
    return topics


def _state(to: settings.Conversion, path: Path, state: Mapping[str, Any]) -> dict[str, Any]:
    """The state of a partition with ZooKeeper, whose ISR is never empty."""
    for name in _OF_KRAFT:
        if state.get(name) not in (None, []):
            to.note((*path, name), "left out: a field of KRaft mode")
    changed = settings.without(state, *_OF_KRAFT)
    if not state["isr"]:
        last = state.get("last_known_leader") or next(iter(state.get("elr") or ()), None)
        if last is None:
            raise settings.NotConvertibleError(
                (*path, "isr"), "with ZooKeeper an ISR is never empty"
            )
        to.note((*path, "isr"), f"[{last}]: with ZooKeeper an ISR is never empty")
        changed["isr"] = [last]
    return changed


def _expectations(to: settings.Conversion, data: dict[str, Any]) -> dict[str, Any]:
    """The verdicts and alerts that the scenario expects; they are about one mode."""
    if not to.leaves_mode:
        return data
    for name, verdict in (data.get("checks") or {}).items():
        text = f"{str(verdict).lower()} left out: the verdict is expected in the other mode"
        to.note(("checks", name), text)
    if data.get("alerts"):
        to.note(("alerts",), "left out: the expected alerts depend on the mode")
    if data.get("sometimes"):
        to.note(("sometimes",), "left out: what some seed shows depends on the mode")
    return settings.without(data, "checks", "sometimes", "alerts")
