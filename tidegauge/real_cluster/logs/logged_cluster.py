"""The cluster of the logs as a scenario without clients or faults; names for numbers in rows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, count, islice
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.broker_states import REGISTERED, of_kind
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.logged_configuration import Configuration, value_of
from tidegauge.real_cluster.logs.logged_voters import first_voters
from tidegauge.real_cluster.logs.partition_history import PartitionHistory
from tidegauge.real_cluster.logs.real_history import RealHistory
from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.records import SLOTS
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.settings import AUTO_JOIN
from tidegauge.scenario.planned_partitions import PlannedPartitions
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping

#: Controllers without an id in the logs have larger ones.
_LARGEST_ID = 2999


class LoggedCluster(NamedTuple):
    """The cluster that the logs are of."""

    plan: LoggedPlan
    #: The partitions in the order of their numbers in rows; None: no line is about it.
    partitions: list[PartitionHistory | None]
    #: Ids of controllers of a quorum, in their order.
    controllers: list[int]


class LoggedPlan(ClusterPlan):
    """The plan of a cluster whose replicas, and the brokers registered before, are from logs."""

    def with_logged(
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
    def partitions(self) -> PlannedPartitions:
        """All partitions, with a slot for each broker that ever has a replica."""
        return super().partitions.with_hosts(
            {
                self.partition_number(topic, number): [*map(self.broker_index, brokers)]
                for (topic, number), brokers in vars(self)["_hosts"].items()
                if brokers
            }
        )

    @cached_property
    def registered_before(self) -> tuple[bool, ...]:
        """For each broker, whether it was registered before its first line."""
        return tuple(broker in vars(self)["_registered"] for broker in self.brokers)


def logged_cluster(history: RealHistory, name: str) -> LoggedCluster:
    """The cluster of a history, as a plan that rows can be numbered by."""
    brokers = brokers_of(history)
    controllers = _controllers_of(history) if history.is_kraft else []
    topics, partitions = _topics(history, brokers)
    configuration = history.configuration
    own = {node: values for node, values in configuration.settings.own.items() if node in brokers}
    data: dict[str, Any] = {
        "name": name,
        "release": configuration.release.number,
        "mode": configuration.mode,
        "duration": f"{history.last_ms - history.first_ms + 1}ms",
        "measure_from": "0s",
        "liveness": False,
        "cluster": {
            "brokers": brokers,
            "settings": configuration.settings.common,
            "broker_settings": own,
        },
        "topics": topics,
    }
    if history.is_kraft:
        data |= _of_quorum(configuration, controllers, first_voters(history.events))
    try:
        scenario = scenario_from_mapping(data, name)
    except ScenarioError as error:
        problem = str(error).splitlines()[0]
        raise LogsError(f"the cluster of the logs cannot be described: {problem}") from error
    hosts = {
        (each.partition.topic, each.partition.number): _hosts(each) for each in history.partitions
    }
    if history.is_kraft and len(controllers) != scenario.controllers.count:
        spare = count(max([*brokers, *controllers, _LARGEST_ID]) + 1)
        controllers = [*islice(chain(controllers, spare), scenario.controllers.count)]
    plan = LoggedPlan(scenario).with_logged(hosts, _registered_before(history), controllers)
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


def _of_quorum(
    configuration: Configuration, controllers: Sequence[int], voters: Sequence[int]
) -> dict[str, Any]:
    """The fields of a scenario with a quorum; some controllers may have left no logs."""
    features = configuration.features
    settings = dict(configuration.settings.controllers)
    data: dict[str, Any] = {
        "controllers": {"count": max(len(controllers), 1), "settings": settings}
    }
    if voters:
        data["controllers"]["voters"] = sorted(map(controllers.index, voters))
    else:
        settings.pop(AUTO_JOIN, None)
    if features.metadata_version is not None:
        data["metadata_version"] = features.metadata_version
    cells = kraft_cells_of(configuration.release.number, features.metadata_version)
    if cells["eligible_leader_replicas_possible"].value:
        data["eligible_leader_replicas"] = features.has_eligible_leader_replicas
    return data


def _controllers_of(history: RealHistory) -> list[int]:
    found = {change.node for change in history.controllers}
    found |= {
        file.node
        for file in history.found.files
        if file.node is not None and file.node_role == "controller"
    }
    for event in history.events:
        if isinstance(event, log_events.Setting) and event.name == "controller.quorum.voters":
            found.update(int(each) for each in re.findall(r"(\d+)@", event.value))
        elif isinstance(event, log_events.RegisterBrokerRecord | log_events.LeaderLearned):
            found.add(event.node)
        elif isinstance(event, log_events.VotersLearned):
            found.update(node for node, _ in event.voters)
    # The first one leads a quorum at first, so it has to be a voter.
    first = {*first_voters(history.events)}
    return sorted(found, key=lambda node: (node not in first, node))


def _hosts(each: PartitionHistory) -> list[int]:
    """All brokers that ever have a replica: those of the first assignment first."""
    assigned = (
        (change.assignment.replicas or (), change.assignment.adding or ())
        for change in each.assignments
    )
    isrs = ((*(state.isr or ()), state.leader) for state in each.states)
    named = chain(chain.from_iterable(chain.from_iterable(assigned)), chain.from_iterable(isrs))
    hosts = dict.fromkeys(broker for broker in named if broker >= 0)
    return list(hosts)[:SLOTS]


def _first_replicas(each: PartitionHistory) -> list[int]:
    for change in each.assignments:
        if change.assignment.replicas:
            return list(change.assignment.replicas)
    # No line has the assignment: the ISR at first, and the brokers that join it later.
    return _hosts(each)


def _topics(
    history: RealHistory, brokers: list[int]
) -> tuple[list[dict[str, Any]], list[PartitionHistory | None]]:
    by_topic: dict[str, dict[int, PartitionHistory]] = defaultdict(dict)
    for each in history.partitions:
        by_topic[each.partition.topic][each.partition.number] = each
    settings: dict[str, dict[str, Any]] = defaultdict(dict)
    for setting in of_kind(history.events, log_events.TopicSetting):
        settings[setting.topic][setting.name] = value_of(setting.value)
    topics: list[dict[str, Any]] = []
    partitions: list[PartitionHistory | None] = []
    for topic, known in by_topic.items():
        numbers = range(max(known) + 1)
        any_replicas = _first_replicas(next(iter(known.values()))) or brokers[:1]
        assignment = {
            number: (_first_replicas(known[number]) if number in known else any_replicas)[:SLOTS]
            or any_replicas
            for number in numbers
        }
        described: dict[str, Any] = {"name": topic, "assignment": assignment}
        if topic in settings:
            described["settings"] = settings[topic]
        topics.append(described)
        partitions += [known.get(number) for number in numbers]
    return topics, partitions


def _registered_before(history: RealHistory) -> set[int]:
    """Brokers whose first line has a state, and not their registration."""
    first: dict[int, bool] = {}
    for change in history.brokers:
        first.setdefault(change.broker, change.reason != REGISTERED)
    registered = {broker for broker, was_there in first.items() if was_there}
    registered |= history.active_at_begin
    # Members of an ISR without any line of the control plane were there all the time.
    silent = {
        broker
        for each in history.partitions
        for state in each.states
        for broker in (state.isr or ())
        if broker not in first
    }
    return registered | silent
