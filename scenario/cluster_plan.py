"""A scenario in numbers: the indexes of brokers, processes and slots.

All tables of a run are allocated from this one plan, so every group of processes uses the same
numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import gcd
from typing import Any, NamedTuple, Self, TypeVar, TypeVarTuple, cast

import numpy as np

from tidegauge.replication.ablations import switches_of
from tidegauge.replication.release_versions import Mode, ProtocolVersion, Release
from tidegauge.scenario.model.component_faults import Fault, LogDirectoryFailureFault, fault_name
from tidegauge.scenario.model.deployment import Versions
from tidegauge.scenario.model.fault import Stop
from tidegauge.scenario.model.process_faults import RestartFault, RollingRestartFault
from tidegauge.scenario.model.request_steps import ProduceStep
from tidegauge.scenario.model.selectors import BROKER, CONTROLLER, HOST, OPERATOR, LinkEnd, Selector
from tidegauge.scenario.model.settings import OFFSETS_TOPIC, SESSION_TIMEOUTS
from tidegauge.scenario.model.topic_steps import AdminStep
from tidegauge.scenario.model.workload import ClientGroup, ConsumerGroup, ProducerGroup
from tidegauge.scenario.planned_partitions import Numbers, PlannedPartitions
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.timetable import check_interval_ms
from tidegauge.simulation import kernel
from tidegauge.simulation.jvm_orders import java_abs, java_hash
from tidegauge.simulation.topology import process_ranges
from tidegauge.simulation.zookeeper_tree import tree_ranges

#: The name of the client that creates topics and takes the steps.
OPERATOR_NAME = "operator"

_FIRST_CONTROLLER = 3000

Made = TypeVar("Made")
Arguments = TypeVarTuple("Arguments")


class PlannedProcess(NamedTuple):
    """A process: its name in output, and its role."""

    name: str
    role: int
    #: Number within its role.
    number: int
    #: The machine that it shares with others, -1 for none.
    host: int
    #: Number of its rack, -1 for none.
    rack: int


class PlannedClient(NamedTuple):
    """A client: its group and its number within the group; no group for the operator."""

    name: str
    group: ClientGroup | None
    number: int


@dataclass(frozen=True)
class ClusterPlan:
    """All parts that a scenario fixes, with their numbers."""

    scenario: Scenario
    #: Rules that differ from their release in all brokers and controllers, beside the ablations of
    #: the scenario: fields of ``ReleaseRules`` and ``KRaftRules``.
    switches: Mapping[str, int | bool] = field(default_factory=dict)
    #: The metrics are read: brokers measure their requests, which takes time.
    is_measured: bool = False
    #: Of a branch: the number of faults that the scenario had before each joint with a past.
    #: Numbers in the rows of the past stay, so new faults are behind all older ones.
    faults_before_joints: tuple[int, ...] = ()
    #: The run may be continued with other faults: brokers keep what a loss of power would need.
    may_branch: bool = False
    #: The places of faults of the scenario that never begin: what they cost is the difference. They
    #: keep their numbers, names and random streams.
    without: frozenset[int] = frozenset()
    #: What is made of the plan and is the same for each seed; None: the plan is for one run.
    kept: dict[object, Any] | None = field(default=None, compare=False, repr=False)

    def with_seed(self, seed: int) -> Self:
        """The plan of the same scenario with another seed, which shares all that is derived.

        Only a scenario without draws has such a plan (``Scenario.draws_parts``).
        """
        assert not self.scenario.draws_parts
        other = copy(self)
        vars(other)["scenario"] = self.scenario.model_copy(update={"seed": seed})
        return other

    def alone(self) -> Self:
        """The same plan without all that is derived, to be sent to another process."""
        return replace(self, switches=dict(self.switches), kept=None)

    def keep(self, make: Callable[[ClusterPlan, *Arguments], Made], *arguments: *Arguments) -> Made:
        """What a function makes of the plan: once for all seeds, if it is for several runs."""
        if self.kept is None:
            return make(self, *arguments)
        key = (make, *arguments)
        if key not in self.kept:
            self.kept[key] = make(self, *arguments)
        return cast("Made", self.kept[key])

    @property
    def all_switches(self) -> dict[str, int | bool]:
        """The rules that differ from their release, with those of the scenario's ablations."""
        return {**switches_of(self.scenario.ablations), **self.switches}

    @cached_property
    def brokers(self) -> tuple[int, ...]:
        """Ids of the brokers; a broker's place is its index."""
        return self.scenario.broker_ids()

    def broker_index(self, broker: int) -> int:
        """The index of a broker by its id; -1 (no broker) remains -1."""
        return self._indexes[broker] if broker >= 0 else broker

    @cached_property
    def _indexes(self) -> dict[int, int]:
        return {broker: index for index, broker in enumerate(self.brokers)}

    @cached_property
    def controllers(self) -> tuple[int, ...]:
        """Ids of the controllers of a KRaft quorum, behind those of brokers; else none.

        They begin at 3000, as in Kafka's examples, or at the next thousand that is free.
        """
        if not self.is_kraft:
            return ()
        first = max(_FIRST_CONTROLLER, (max(self.brokers) // 1000 + 1) * 1000)
        return tuple(range(first, first + self.scenario.controllers.count))

    @property
    def mode(self) -> Mode:
        """Whether ZooKeeper or a quorum of controllers keeps the cluster's state."""
        return self.scenario.mode

    def retention_check_interval_ms(self, broker: int) -> int:
        """The interval in which a broker, by its id, deletes old segments; 0: it never has any."""
        if self.broker_index(broker) not in self._hosts_of_retention:
            return 0
        return check_interval_ms(self.scenario.said_of_broker(broker))

    @cached_property
    def _hosts_of_retention(self) -> frozenset[int]:
        """The brokers, by their numbers, with partitions that delete old segments."""
        columns = self.partitions.columns
        deletes = columns.retentions[self.partitions.of_slots] >= 0
        return frozenset(np.unique(columns.hosts[deletes]).tolist())

    def session_timeout_ms(self, broker: int) -> int:
        """The time after which the control plane gives up a silent broker, by its id."""
        name = SESSION_TIMEOUTS[self.scenario.mode]
        if self.is_kraft:
            return self.scenario.controller_settings()[name]
        return self.scenario.settings_of(broker)[name]

    @cached_property
    def clients(self) -> tuple[PlannedClient, ...]:
        """All clients; the operator is the last."""
        planned = [
            PlannedClient(f"{group.name}-{number}", group, number)
            for group in self.scenario.workload.groups
            for number in range(group.clients)
        ]
        return (*planned, PlannedClient(OPERATOR_NAME, None, 0))

    @cached_property
    def processes(self) -> tuple[PlannedProcess, ...]:
        """All processes in the order of their numbers."""
        racks = self.racks
        rack_of = [racks.index(self.scenario.rack_of(broker)) for broker in self.brokers]
        planned = [
            PlannedProcess(f"broker {broker}", int(kernel.BROKER), index, index, rack_of[index])
            for index, broker in enumerate(self.brokers)
        ]
        if not self.scenario.has_kraft:
            planned += [
                PlannedProcess(
                    f"controller of broker {broker}",
                    int(kernel.CONTROLLER),
                    index,
                    index,
                    rack_of[index],
                )
                for index, broker in enumerate(self.brokers)
            ]
            rack = self.scenario.zookeeper.rack
            own = racks.index(rack) if rack is not None else -1
            planned.append(PlannedProcess("zookeeper", int(kernel.ZOOKEEPER), 0, -1, own))
        planned += [
            PlannedProcess(
                client.name if client.group is None else f"client {client.name}",
                int(kernel.CLIENT),
                number,
                -1,
                self.rack_number(client.group),
            )
            for number, client in enumerate(self.clients)
        ]
        if self.scenario.has_kraft:
            for number, controller in enumerate(self.controllers):
                in_rack = self.scenario.controller_rack(number)
                own = -1 if in_rack is None else racks.index(in_rack)
                name = f"controller {controller}"
                planned.append(PlannedProcess(name, int(kernel.QUORUM_CONTROLLER), number, -1, own))
        planned += [
            PlannedProcess(
                f"link from rack {one} to rack {other}", int(kernel.RACK_LINK), number, -1, -1
            )
            for number, (one, other) in enumerate(self.rack_links)
        ]
        return tuple(planned)

    def rack_number(self, group: ClientGroup | None) -> int:
        """The number of the rack that the clients of a group are in, -1 for none."""
        if group is None or group.rack is None:
            return -1
        racks = sorted({self.scenario.rack_of(broker) for broker in self.brokers})
        return racks.index(group.rack)

    @property
    def is_kraft(self) -> bool:
        """Whether a KRaft quorum is the control plane."""
        return self.scenario.has_kraft

    @cached_property
    def process_ranges(self) -> tuple[range, ...]:
        """The numbers of processes, by their role."""
        brokers, clients = len(self.brokers), len(self.clients)
        return process_ranges(brokers, clients, len(self.controllers), len(self.rack_links))

    @cached_property
    def racks(self) -> tuple[str, ...]:
        """The racks in which there are brokers; a rack's place is its number."""
        return tuple(sorted({self.scenario.rack_of(broker) for broker in self.brokers}))

    @cached_property
    def rack_links(self) -> tuple[tuple[str, str], ...]:
        """The racks between which links have a limit, each in both directions; else none."""
        if not self.scenario.resources.between_racks:
            return ()
        return tuple((one, other) for one in self.racks for other in self.racks if one != other)

    @cached_property
    def partitions(self) -> PlannedPartitions:
        """All partitions, topic by topic."""
        return PlannedPartitions.of(self.scenario, self._record_bytes, self._batch_records)

    @cached_property
    def _record_bytes(self) -> dict[str, int]:
        """Size of the records of topics that have producers: the largest of their record sizes."""
        sizes: dict[str, int] = {}
        for group in self.scenario.workload.producers:
            for topic in group.topics:
                sizes[topic] = max(sizes.get(topic, 0), group.record_bytes)
        return sizes

    @cached_property
    def _batch_records(self) -> dict[str, int]:
        """For topics with producers: the greatest common divisor of their batches' records."""
        sizes: dict[str, int] = {}
        for group in self.scenario.workload.producers:
            for topic in group.topics:
                sizes[topic] = gcd(sizes.get(topic, 0), group.records_per_batch)
        for step in self.scenario.steps:
            if isinstance(step, ProduceStep):
                sizes[step.topic] = gcd(sizes.get(step.topic, 0), step.records)
        return sizes

    @cached_property
    def was_there_before(self) -> bool:
        """Whether the cluster existed before the run, with partition states and a controller."""
        return bool(self.partitions.columns.existed.any())

    @cached_property
    def registered_before(self) -> tuple[bool, ...]:
        """For each broker, whether it counts as registered until ZooKeeper has another state.

        Brokers of a cluster that existed before return at once: within milliseconds.
        """
        return tuple(
            self.was_there_before and broker not in self.down_at_first for broker in self.brokers
        )

    @cached_property
    def down_at_first(self) -> frozenset[int]:
        """Ids of the brokers that a fault keeps from starting as the run begins."""
        return frozenset(
            broker
            for place, fault in enumerate(self.scenario.faults)
            if fault.at_us == 0 and fault.stop is Stop.KILLED and place not in self.without
            for broker in fault.hit_brokers(self.scenario)
        )

    @cached_property
    def has_commits(self) -> bool:
        """Whether any group commits offsets."""
        return self.scenario.commits()

    def commits(self, group: ConsumerGroup) -> bool:
        """Whether a group commits offsets."""
        return bool(self.scenario.consumer_settings(group)["enable.auto.commit"])

    def group_partition(self, group: ConsumerGroup) -> int:
        """The partition of __consumer_offsets whose leader coordinates a group.

        Source: GroupMetadataManager.partitionFor@2.6.0.
        """
        numbers = self._offsets_partitions
        return numbers[java_abs(java_hash(group.name)) % len(numbers)]

    @cached_property
    def _offsets_partitions(self) -> list[int]:
        return list(self.numbers_of.get(OFFSETS_TOPIC, ()))

    @cached_property
    def tree_ranges(self) -> tuple[range, ...]:
        """The numbers in ZooKeeper's tree, by sort.

        Paths that only a step that moves replicas or deletes a topic changes, or only the failure
        of a log directory, are left out where there is none: there are no watches of them then.
        """
        is_administered = any(isinstance(step, AdminStep) for step in self.scenario.steps)
        directories_fail = any(
            isinstance(fault, LogDirectoryFailureFault) for fault in self.scenario.faults
        )
        directories = len(self.brokers) * self.scenario.cluster.log_directories
        return tree_ranges(
            len(self.brokers),
            len(self.scenario.topics),
            len(self.partitions),
            is_administered,
            directories if directories_fail else 0,
        )

    @cached_property
    def width(self) -> int:
        """The most brokers that ever have a replica of one partition."""
        return int(self.partitions.columns.slot_counts.max()) if self.partitions else 1

    @cached_property
    def rolled(self) -> tuple[tuple[int, LinkEnd], ...]:
        """The servers that rolling restarts restart, each with the place of the fault."""
        return tuple((each.place, each.server) for each in self.scenario.versions_after_rolls())

    def node_of(self, server: LinkEnd) -> int:
        """The number of a broker or controller among the nodes: controllers behind the brokers."""
        if server.kind == CONTROLLER:
            return len(self.brokers) + server.broker
        return self.broker_index(server.broker)

    @cached_property
    def faults(self) -> tuple[Fault, ...]:
        """All faults by number: the scenario's, then the parts of rolling restarts.

        A rolling restart is one restart for each server, which the operator begins. After a joint
        with a past come the faults that the past did not have, and then their parts.
        """
        faults: Iterable[Fault] = self.scenario.faults
        numbered = dict(zip(self.fault_numbers, faults, strict=True))
        for number, (place, server) in zip(self.restart_numbers, self.rolled, strict=True):
            numbered[number] = self._restart(place, server)
        return tuple(numbered[number] for number in range(len(numbered)))

    @cached_property
    def fault_numbers(self) -> tuple[int, ...]:
        """The number of each fault of the scenario."""
        return self._fault_numbers[0]

    @cached_property
    def restart_numbers(self) -> tuple[int, ...]:
        """The number of each restart in :attr:`rolled`."""
        return self._fault_numbers[1]

    @cached_property
    def _fault_numbers(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        of_faults: list[int] = []
        of_restarts: list[int] = []
        ends = (*self.faults_before_joints, len(self.scenario.faults))
        for first, end in zip((0, *self.faults_before_joints), ends, strict=True):
            following = len(of_faults) + len(of_restarts)
            of_faults += range(following, following + end - first)
            following += end - first
            parts = sum(first <= place < end for place, _ in self.rolled)
            of_restarts += range(following, following + parts)
        return tuple(of_faults), tuple(of_restarts)

    def _restart(self, place: int, server: LinkEnd) -> RestartFault:
        """The restart of a server by the rolling restart at a place."""
        is_broker = server.kind == BROKER
        id_ = server.broker if is_broker else self.controllers[server.broker]
        return RestartFault(
            kind="restart",
            name=f"{fault_name(self.scenario.faults, place)} of {server.kind} {id_}",
            brokers=(Selector(HOST if is_broker else CONTROLLER, server.broker),),
        )

    @cached_property
    def left_out(self) -> frozenset[int]:
        """The numbers of faults that never begin, among :attr:`faults`."""
        restarts = zip(self.restart_numbers, self.rolled, strict=True)
        parts = (number for number, (roll, _) in restarts if roll in self.without)
        return frozenset((*(self.fault_numbers[place] for place in self.without), *parts))

    @cached_property
    def upgrades(self) -> tuple[Versions | None, ...]:
        """The versions of each server in ``rolled`` from that restart on; None: no others."""
        return tuple(
            each.after if self.rolling_restart(each.place).is_upgrade else None
            for each in self.scenario.versions_after_rolls()
        )

    @cached_property
    def software(self) -> tuple[Versions, ...]:
        """The versions that any node ever starts with, each once."""
        own = [self.scenario.release_of(broker) for broker in self.brokers]
        of_controllers = [self.scenario.release_of_controllers()] if self.is_kraft else []
        upgraded = [each for each in self.upgrades if each is not None]
        return tuple(dict.fromkeys([*own, *of_controllers, *upgraded]))

    def software_of(self, versions: Versions) -> int:
        """The place of a node's versions in ``software``."""
        return self.software.index(versions)

    @cached_property
    def metadata_versions(self) -> tuple[str | None, ...]:
        """metadata.version as the run begins, then those that steps ask for; else only None."""
        if not self.is_kraft:
            return (None,)
        asked = self.scenario.metadata_versions_of_steps()
        return tuple(dict.fromkeys([self.scenario.version_in_force(), *asked]))

    def with_metadata_version(self, software: Versions, version: str | None) -> Versions:
        """A node's versions in a cluster with this metadata.version; None: as they are.

        One that the node does not support is never in force there: its newest stands for it.
        """
        if version is None:
            return software
        newest = Release.parse(software.release).metadata_version()
        return software._replace(protocol=str(min(newest, ProtocolVersion.parse(version))))

    def rolling_restart(self, place: int) -> RollingRestartFault:
        """The rolling restart at a place among the scenario's faults."""
        fault = self.scenario.faults[place]
        assert isinstance(fault, RollingRestartFault)
        return fault

    def partition_number(self, topic: str, number: int) -> int:
        """The number within the cluster of a topic's partition."""
        return self.numbers_of[topic][number]

    @cached_property
    def numbers_of(self) -> dict[str, range]:
        """The numbers of each topic's partitions, within the cluster."""
        numbers: dict[str, range] = {}
        first = 0
        for topic in self.scenario.topics:
            numbers[topic.name] = range(first, first + topic.partition_count)
            first += topic.partition_count
        return numbers

    def numbers_of_topics(self, topics: Iterable[str]) -> Numbers:
        """The numbers of the partitions of some topics, within the cluster, in their order."""
        numbers = [self.numbers_of[topic] for topic in self.numbers_of if topic in {*topics}]
        return np.concatenate([np.empty(0, np.int64), *map(np.array, numbers)]).astype(np.int64)

    @cached_property
    def _numbers_of_groups(self) -> dict[frozenset[str], Numbers]:
        """The numbers of the partitions of all topics of a group of clients."""
        workload = self.scenario.workload
        groups = (*workload.producers, *workload.consumers)
        topics = {frozenset(each.topics) for each in groups}
        return {names: self.numbers_of_topics(names) for names in topics}

    def partitions_of(self, client: PlannedClient) -> Numbers:
        """The partitions that are in a client's metadata, in ascending order.

        Producers know all partitions of their topics; consumers divide them among each other.
        """
        group = client.group
        if group is None:
            return np.arange(0)
        numbers = self._numbers_of_groups[frozenset(group.topics)]
        return (
            numbers[client.number :: group.clients] if isinstance(group, ConsumerGroup) else numbers
        )

    def targets_of(self, client: PlannedClient) -> range:
        """The places of those among them that a client writes to, or reads.

        The producers of a group take turns at its partitions: one may never come to most of them.
        """
        known = len(self.partitions_of(client))
        if not isinstance(client.group, ProducerGroup) or known == 0:
            return range(known)
        every = gcd(client.group.clients, known)
        return range(client.number % every, known, every)

    def committed_by(self, client: PlannedClient) -> Numbers:
        """The partitions of which a client commits offsets."""
        group = client.group
        if not isinstance(group, ConsumerGroup) or not self.commits(group):
            return np.arange(0)
        return self.partitions_of(client)

    def process_of(self, endpoint: LinkEnd) -> int:
        """The process that a fault hits, or at the end of a link that it hits."""
        numbers = self.process_ranges
        if endpoint.kind == "broker":
            return numbers[kernel.BROKER][self.broker_index(endpoint.broker)]
        if endpoint.kind == "controller":
            if self.is_kraft:
                return numbers[kernel.QUORUM_CONTROLLER][endpoint.broker]
            return numbers[kernel.CONTROLLER][self.broker_index(endpoint.broker)]
        if endpoint.kind == "zookeeper":
            return numbers[kernel.ZOOKEEPER][0]
        if endpoint.kind == OPERATOR:
            return numbers[kernel.CLIENT][-1]
        for number, client in enumerate(self.clients):
            if client.group is not None and client.group.name == endpoint.group:
                return numbers[kernel.CLIENT][number + endpoint.client]
        raise AssertionError(f"no process is {endpoint}")
