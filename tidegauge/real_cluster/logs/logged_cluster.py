"""The cluster of the logs as a scenario without clients or faults; names for numbers in rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs.broker_states import REGISTERED
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.real_history import PartitionTold, RealHistory
from tidegauge.replication.records import SLOTS
from tidegauge.replication.releases import DEFAULT_RELEASE
from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedPartition
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping

#: Settings of brokers that matter for what rows mean.
_SETTINGS = ("min.insync.replicas", "unclean.leader.election.enable", "replica.lag.time.max.ms")
#: Logs without any line of the release: a release that knows both modes.
_RELEASE_OF_KRAFT = "3.9"


class LoggedCluster(NamedTuple):
    """The cluster that the logs are of."""

    plan: LoggedPlan
    #: The partitions in the order of their numbers in rows; None: no line tells of it.
    partitions: list[PartitionTold | None]
    #: Ids of controllers of a quorum, in their order.
    controllers: list[int]


class LoggedPlan(ClusterPlan):
    """The plan of a cluster whose replicas, and the brokers registered before, logs tell."""

    def with_told(
        self,
        hosts: Mapping[tuple[str, int], list[int]],
        registered: set[int],
        controllers: list[int],
    ) -> LoggedPlan:
        """This plan with all brokers that ever have replicas, by topic and partition."""
        vars(self)["_hosts"] = hosts
        vars(self)["_registered"] = registered
        vars(self)["controllers"] = tuple(controllers)
        return self

    @cached_property
    def partitions(self) -> tuple[PlannedPartition, ...]:
        """All partitions, with a slot for each broker that ever has a replica."""
        hosts = vars(self)["_hosts"]
        return tuple(
            each._replace(
                slots=tuple(
                    self.broker_index(broker) for broker in hosts.get((each.topic, each.number), ())
                )
                or each.slots
            )
            for each in super().partitions
        )

    @cached_property
    def registered_before(self) -> tuple[bool, ...]:
        """For each broker, whether its first line tells that it was registered before."""
        return tuple(broker in vars(self)["_registered"] for broker in self.brokers)


def logged_cluster(history: RealHistory, name: str) -> LoggedCluster:
    """The cluster of a history, as a plan that rows can be numbered by."""
    brokers = brokers_of(history)
    controllers = _controllers_of(history) if history.is_kraft else []
    topics, partitions = _topics(history, brokers)
    data: dict[str, Any] = {
        "name": name,
        "duration": f"{history.last_ms - history.first_ms + 1}ms",
        "measure_from": "0s",
        "liveness": False,
        "cluster": {"brokers": brokers, "settings": settings_of(history)},
        "topics": topics,
    }
    if history.is_kraft:
        data["mode"] = "kraft"
        data["controllers"] = {"count": _odd(len(controllers))}
    scenario = _scenario(data, history, name)
    hosts = {
        (each.partition.topic, each.partition.number): _hosts(each) for each in history.partitions
    }
    if history.is_kraft and len(controllers) != scenario.controllers.count:
        spare = chain(controllers, _spare(brokers, controllers))
        controllers = [next(spare) for _ in range(scenario.controllers.count)]
    plan = LoggedPlan(scenario).with_told(hosts, _registered_before(history), controllers)
    return LoggedCluster(plan, partitions, controllers)


def brokers_of(history: RealHistory) -> list[int]:
    """Ids of all brokers that lines or folders name."""
    found = {change.broker for change in history.brokers}
    found |= {
        file.node
        for file in history.found.files
        if file.node is not None and file.node_role != "controller"
    }
    for each in history.partitions:
        found.update(_hosts(each))
    return sorted(found) or [0]


def _scenario(data: dict[str, Any], history: RealHistory, name: str) -> Scenario:
    """The scenario, with the release that most starts name or the next one that is known."""
    counts: dict[str, int] = defaultdict(int)
    for event in history.events:
        if event.kind == "release":
            counts[str(event.values[0])] += 1
    said = max(sorted(counts), key=lambda release: counts[release], default="")
    default = _RELEASE_OF_KRAFT if history.is_kraft else DEFAULT_RELEASE
    choices = [said, ".".join(said.split(".")[:2])] if said else []
    problem: ScenarioError | None = None
    for release in (*choices, default):
        try:
            return scenario_from_mapping({**data, "release": release}, name)
        except ScenarioError as error:
            problem = problem or error
    raise LogsError(f"the cluster of the logs cannot be described: {problem}".splitlines()[0])


def settings_of(history: RealHistory) -> dict[str, Any]:
    """The brokers' settings that their starts print, where all agree."""
    said: dict[str, set[str]] = defaultdict(set)
    for event in history.events:
        if event.kind == "setting":
            said[str(event.values[0])].add(str(event.values[1]).strip())
    return {
        name: _value(next(iter(said[name]))) for name in _SETTINGS if len(said.get(name, ())) == 1
    }


def _value(text: str) -> int | bool | str:
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _odd(count: int) -> int:
    """A quorum's size: some of its controllers may have left no logs."""
    return max(count, 1)


def _spare(brokers: list[int], controllers: list[int]) -> Iterator[int]:
    identity = max([*brokers, *controllers, 2999]) + 1
    while True:
        yield identity
        identity += 1


def _controllers_of(history: RealHistory) -> list[int]:
    found = {change.node for change in history.controllers}
    found |= {
        file.node
        for file in history.found.files
        if file.node is not None and file.node_role == "controller"
    }
    for event in history.events:
        if event.kind == "setting" and event.values[0] == "controller.quorum.voters":
            found.update(int(each) for each in re.findall(r"(\d+)@", str(event.values[1])))
        elif event.kind in ("register_record", "active_seen"):
            found.add(event.teller)
    return sorted(found)


def _hosts(each: PartitionTold) -> list[int]:
    """All brokers that ever have a replica: those of the first assignment first."""
    assigned = (
        (told.assignment.replicas or (), told.assignment.adding or ()) for told in each.assignments
    )
    isrs = ((*(state.isr or ()), state.leader) for state in each.states)
    named = chain(chain.from_iterable(chain.from_iterable(assigned)), chain.from_iterable(isrs))
    hosts = dict.fromkeys(broker for broker in named if broker >= 0)
    return list(hosts)[:SLOTS]


def _first_replicas(each: PartitionTold) -> list[int]:
    for told in each.assignments:
        if told.assignment.replicas:
            return list(told.assignment.replicas)
    # No line has the assignment: the ISR at first, and who joins it later.
    return _hosts(each)


def _topics(
    history: RealHistory, brokers: list[int]
) -> tuple[list[dict[str, Any]], list[PartitionTold | None]]:
    by_topic: dict[str, dict[int, PartitionTold]] = defaultdict(dict)
    for each in history.partitions:
        by_topic[each.partition.topic][each.partition.number] = each
    settings: dict[str, dict[str, Any]] = defaultdict(dict)
    for event in history.events:
        if event.kind == "topic_setting":
            topic, name, value = map(str, event.values)
            settings[topic][name] = _value(value)
    topics: list[dict[str, Any]] = []
    partitions: list[PartitionTold | None] = []
    for topic, told in by_topic.items():
        numbers = range(max(told) + 1)
        any_replicas = _first_replicas(next(iter(told.values()))) or brokers[:1]
        assignment = {
            number: (_first_replicas(told[number]) if number in told else any_replicas)[:SLOTS]
            or any_replicas
            for number in numbers
        }
        described: dict[str, Any] = {"name": topic, "assignment": assignment}
        if topic in settings:
            described["settings"] = settings[topic]
        topics.append(described)
        partitions += [told.get(number) for number in numbers]
    return topics, partitions


def _registered_before(history: RealHistory) -> set[int]:
    """Brokers that no line tells the arrival of before it tells that they are there."""
    first: dict[int, bool] = {}
    for change in history.brokers:
        first.setdefault(change.broker, change.reason != REGISTERED)
    told = {broker for broker, was_there in first.items() if was_there}
    # Members of an ISR that the control plane says nothing of were there all the time.
    silent = {
        broker
        for each in history.partitions
        for state in each.states
        for broker in (state.isr or ())
        if broker not in first
    }
    return told | silent
