"""The cluster of a scenario with its topics and clients, before any fault or step of a run.

It is the base of :class:`~tidegauge.scenario.model.scenario.Scenario`, and all that the kinds of
faults and steps know of it. The model keeps the values that its author wrote; its methods return
the effective values, with Kafka's defaults.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

from pydantic import Field, model_validator

from tidegauge.replication.kraft_releases import kraft_cells_of
from tidegauge.replication.release_versions import (
    DEFAULT_RELEASE,
    DEFAULT_RELEASES,
    KRAFT_MODE,
    Mode,
    Release,
)
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.cluster import (
    Cluster,
    Controllers,
    ProtocolText,
    ReleaseText,
    Topic,
    ZooKeeper,
)
from tidegauge.scenario.model.costs import Costs, Network
from tidegauge.scenario.model.limits import Resources
from tidegauge.scenario.model.replica_placement import (
    Assignments,
    JavaRandom,
    assign_replicas_to_brokers,
    drawn_placement,
)
from tidegauge.scenario.model.selectors import (
    BROKER,
    CLIENT_GROUP,
    CLIENTS,
    CONTROLLER,
    CONTROLLERS,
    HOST,
    RACK,
    ZOOKEEPER,
    LinkEnd,
    Selector,
)
from tidegauge.scenario.model.settings import (
    CORDONED_LOG_DIRS,
    DECIDED_BY_CONTROLLERS,
    Value,
    broker_defaults,
    consumer_defaults,
    controller_defaults,
    cordoned_log_dirs,
    producer_settings,
)
from tidegauge.scenario.model.workload import ClientGroup, ConsumerGroup, ProducerGroup, Workload


class Versions(NamedTuple):
    """The versions of a broker, as :func:`~tidegauge.replication.releases.rules_of` takes them."""

    release: str
    #: inter.broker.protocol.version if one is set; with KRaft the cluster's metadata.version.
    protocol: str | None
    mode: Mode


def _default_mode(data: dict[str, Any]) -> Mode:
    """The default mode of the release; of a release that does not exist, any."""
    return Release.parse(data.get("release", DEFAULT_RELEASE)).mode()


def _default_release(mode: object) -> str:
    """The newest release, of those that have the mode."""
    return next((text for name, text in DEFAULT_RELEASES.items() if name == mode), DEFAULT_RELEASE)


class Deployment(parts.Part):
    """A cluster with its topics and clients, and the duration of its run."""

    name: parts.Name = Field(description="Name of the scenario. Default: the name of the file.")
    description: str = Field(
        default="", description="The question or story of the scenario, as text."
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Seed of all random draws.")
    duration_us: parts.PositiveDuration = Field(
        alias="duration", description="Duration of the run, in virtual time."
    )
    release: ReleaseText = Field(
        default=DEFAULT_RELEASE,
        validate_default=True,
        description="Kafka release of all brokers. Default: the newest one; with `mode: zookeeper` "
        "the newest one that has it. A release that is newer than the known ones is read as the "
        "newest of them, with a warning.",
    )
    mode: Mode = Field(
        default_factory=_default_mode,
        description="zookeeper: ZooKeeper and an elected controller (up to 3.9); kraft: a quorum "
        "of controllers (from 3.3). Default: `zookeeper` up to 3.9, `kraft` from 4.0.",
    )
    protocol: ProtocolText | None = Field(
        default=None,
        description="inter.broker.protocol.version of all brokers, with ZooKeeper. Default: the "
        "release's own.",
    )
    metadata_version: ProtocolText | None = Field(
        default=None,
        description="metadata.version of the cluster, with KRaft, such as 4.1 or 4.1-IV1. "
        "Default: the release's own.",
    )
    eligible_leader_replicas: bool | None = Field(
        default=None,
        description="Whether the cluster has eligible leader replicas (ELR, KIP-966), with KRaft. "
        "Default: as in a new cluster, so from metadata_version 4.1-IV0. A cluster that was "
        "upgraded to 4.1 does not have them. From 4.0 they can be turned on.",
    )
    trace: Literal["transitions", "all"] = Field(
        default="transitions",
        description="transitions: changes of state; all: single requests and appends, too.",
    )
    sample_every_us: parts.PositiveDuration = Field(
        default=1_000_000,
        alias="sample_every",
        description="Interval at which the ends of all replicas' logs, and the gauges of brokers, "
        "are sampled. A replica has a row where its ends have changed since the sample before.",
    )
    checkpoint_files: bool = Field(
        default=False,
        description="true: brokers' checkpoints are also written as real files in Kafka's "
        "format into the run's folder, and read at a restart.",
    )
    cluster: Cluster = Field(description="The brokers.")
    zookeeper: ZooKeeper = Field(default=ZooKeeper(), description="ZooKeeper.")
    controllers: Controllers = Field(
        default=Controllers(), description="The controllers, with KRaft."
    )
    topics: parts.Listed[Topic] = Field(
        default=(), description="The topics that exist from the start."
    )
    workload: Workload = Field(default=Workload(), description="The clients.")
    network: Network = Field(default=Network(), description="Latencies of messages.")
    costs: Costs = Field(default=Costs(), description="Times of work.")
    resources: Resources = Field(
        default=Resources(), description="Bandwidth of disks and networks, memory of machines."
    )

    @model_validator(mode="before")
    @classmethod
    def _names_its_release(cls, written: Any) -> Any:
        if isinstance(written, Mapping) and "release" not in written:
            return {**written, "release": _default_release(written.get("mode"))}
        return written

    # The cluster.

    def controller_rack(self, number: int) -> str | None:
        """The rack in which a controller of a KRaft quorum stands; None: outside of all."""
        racks = self.controllers.racks
        return racks[number % len(racks)] if racks else None

    def broker_ids(self) -> tuple[int, ...]:
        """The ids of all brokers, in ascending order."""
        return self.cluster.brokers

    @cached_property
    def _racks(self) -> dict[int, str]:
        return {broker: rack for rack, brokers in self.cluster.racks.items() for broker in brokers}

    def rack_of(self, broker: int) -> str:
        """The rack in which a broker stands."""
        return self._racks[broker]

    @property
    def has_kraft(self) -> bool:
        """Whether a quorum of controllers keeps the cluster's state, and not ZooKeeper."""
        return self.mode == KRAFT_MODE

    @property
    def part_of_other_mode(self) -> str:
        """The part that has no meaning in this mode."""
        return "zookeeper" if self.has_kraft else "controllers"

    @cached_property
    def costs_in_force(self) -> Costs:
        """The times of work, as given or by default in this mode."""
        return self.costs.in_mode(self.mode)

    def version_in_force(self) -> str:
        """The inter.broker.protocol.version, or with KRaft the metadata.version, in full."""
        return self._version_in_force

    @cached_property
    def _version_in_force(self) -> str:
        setting = self.metadata_version if self.has_kraft else self.protocol
        return str(Release.parse(self.release).version(self.mode, setting))

    def has_eligible_leader_replicas(self) -> bool:
        """Whether partitions have eligible leader replicas, as set or as in a new cluster."""
        if self.eligible_leader_replicas is not None:
            return self.eligible_leader_replicas
        if not self.has_kraft:
            return False
        cells = kraft_cells_of(self.release, self.metadata_version)
        return bool(cells["eligible_leader_replicas_by_default"].value)

    def release_of(self, broker: int) -> Versions:
        """A broker's release, and the protocol version or metadata version that it has."""
        own = self.cluster.broker_releases.get(broker)
        release = self.release if own is None else own.release or self.release
        if self.has_kraft:
            return Versions(release, self.version_in_force(), self.mode)
        protocol = self.protocol if own is None else own.protocol or self.protocol
        return Versions(release, protocol, self.mode)

    def release_of_controllers(self) -> Versions:
        """The release of the controllers of a KRaft cluster, and its metadata.version."""
        return Versions(self.release, self.version_in_force(), self.mode)

    def controller_settings(self) -> dict[str, int]:
        """All settings of the controllers of a KRaft cluster."""
        settings = controller_defaults(self.release)
        return settings | read_of(self.controllers.settings, settings)

    def decided_by_controllers(self) -> dict[str, int]:
        """The settings of brokers for which the controllers of a KRaft cluster have own values."""
        return read_of(self.controllers.settings, dict.fromkeys(DECIDED_BY_CONTROLLERS, 0))

    def settings_of(self, broker: int) -> dict[str, int]:
        """All settings of a broker: its release's defaults, the cluster's, its own."""
        settings = broker_defaults(self.release_of(broker).release, self.mode)
        own = self.cluster.broker_settings.get(broker, {})
        return settings | read_of(self.cluster.settings, settings) | read_of(own, settings)

    def selects_by_rack(self, broker: int) -> bool:
        """Whether a broker, by its id, sends consumers to a replica in their rack (KIP-392)."""
        own = self.cluster.broker_settings.get(broker, {})
        selector = {**self.cluster.settings, **own}.get(parts.REPLICA_SELECTOR)
        return (
            selector == parts.BY_RACK
            and Release.parse(self.release_of(broker).release) >= parts.CLOSEST_REPLICA
        )

    def cordoned_log_dirs(self, broker: int) -> int:
        """The log directories that a broker, by its id, has cordoned as it starts: bits."""
        own = self.cluster.broker_settings.get(broker, {})
        return cordoned_log_dirs({**self.cluster.settings, **own}.get(CORDONED_LOG_DIRS, ""))

    # The topics.

    def topic(self, name: str) -> Topic:
        """The topic of this name."""
        return next(topic for topic in self.topics if topic.name == name)

    def replication_factor(self, topic: Topic) -> int:
        """The number of replicas of each partition of a topic."""
        if topic.assignment is not None:
            return len(topic.assignment[0])
        if topic.replication_factor:
            return topic.replication_factor
        default = broker_defaults(self.release, self.mode)
        settings = default | read_of(self.cluster.settings, default) | self.decided_by_controllers()
        return settings["default.replication.factor"]

    def assignments(self, topic: Topic) -> Assignments:
        """The brokers of each partition of a topic, the preferred leader first."""
        partitions = topic.partition_count
        if topic.assignment is not None:
            return Assignments.of([topic.assignment[number] for number in range(partitions)])
        factor = self.replication_factor(topic)
        racks = self._usable_racks(topic, factor)
        if self.cluster.placement == "fixed":
            return assign_replicas_to_brokers(racks, partitions, factor)
        random = JavaRandom.of(self.seed, topic.name)
        return drawn_placement(racks, partitions, factor, self.mode, random)

    def _usable_racks(self, topic: Topic, factor: int) -> Mapping[int, str]:
        """The racks of the brokers on which Kafka places the replicas of a topic.

        They are those with a log directory that is not cordoned; if these are too few, all of them:
        the controller refuses the topic then.

        Source: BrokerHeartbeatManager.UsableBrokerIterator@4.3.0.
        """
        everywhere = (1 << self.cluster.log_directories) - 1
        cordons = self.cordons_at_creation(topic)
        usable = {
            broker: rack
            for broker, rack in self._racks.items()
            if cordons[broker] & everywhere != everywhere
        }
        return usable if len(usable) >= factor else self._racks

    def cordons_at_creation(self, topic: Topic) -> Mapping[int, int]:
        """The cordoned log directories of each broker as a topic is created: bits.

        A topic that existed before the run was created without any.
        """
        return self._without_cordons if topic.existed else self._cordons

    @cached_property
    def _without_cordons(self) -> Mapping[int, int]:
        return dict.fromkeys(self.broker_ids(), 0)

    @cached_property
    def _cordons(self) -> Mapping[int, int]:
        """The cordoned log directories of each broker by its settings: the same for each topic."""
        return {broker: self.cordoned_log_dirs(broker) for broker in self.broker_ids()}

    def hosts_of(self, topic: Topic) -> Assignments:
        """The brokers that each partition ever has replicas on: those of its assignment first."""
        return self.assignments(topic)

    # The clients.

    def producer_settings(self, group: ProducerGroup) -> dict[str, int]:
        """All settings of a group of producers; ``acks`` is -1 for all.

        They are those in force (:func:`~tidegauge.scenario.model.settings.producer_settings`).
        """
        return producer_settings(self.release, group.settings)

    def connection_settings(self, group: ClientGroup) -> dict[str, int | str]:
        """The settings of a group of clients for its connections to brokers.

        As in Kafka, back-offs do not grow if only the first one is set.
        Source: CommonClientConfigs.postProcessReconnectBackoffConfigs@0.11.0.0.
        """
        defaults = parts.connection_defaults(self.release)
        own = {name: value for name, value in group.settings.items() if name in defaults}
        if "reconnect.backoff.ms" in own:
            own.setdefault("reconnect.backoff.max.ms", own["reconnect.backoff.ms"])
        return defaults | cast("dict[str, int | str]", own)

    def consumer_settings(self, group: ConsumerGroup) -> dict[str, int | str]:
        """All settings of a group of consumers."""
        defaults = consumer_defaults(self.release)
        own = {name: value for name, value in group.settings.items() if name in defaults}
        return defaults | cast("dict[str, int | str]", own)

    def commits(self) -> bool:
        """Whether any group of consumers commits its offsets."""
        return any(
            self.consumer_settings(group)["enable.auto.commit"] is True
            for group in self.workload.consumers
        )

    # The targets of faults.

    def brokers_of(self, selectors: Iterable[Selector]) -> list[int]:
        """The brokers that these selectors select, in ascending order."""
        found: set[int] = set()
        for selector in selectors:
            if selector.kind == RACK:
                found.update(self.cluster.racks[selector.name])
            elif selector.selects_brokers:
                found.add(selector.broker)
        return sorted(found)

    def controllers_of(self, selectors: Iterable[Selector]) -> list[int]:
        """The numbers of the controllers of a KRaft quorum that these selectors select."""
        if not self.has_kraft:
            return []
        found: set[int] = set()
        for selector in selectors:
            if selector.kind == CONTROLLER:
                found.add(selector.broker)
            found.update(
                number
                for number in range(self.controllers.count)
                if selector.kind == CONTROLLERS
                or (selector.kind == RACK and selector.name == self.controller_rack(number))
            )
        return sorted(found)

    def endpoints_of(self, selectors: Iterable[Selector]) -> list[LinkEnd]:
        """The ends of links that these selectors select, each of them once."""
        ends = (end for selector in selectors for end in self._ends_of(selector))
        return list(dict.fromkeys(ends))

    def _ends_of(self, selector: Selector) -> Iterator[LinkEnd]:
        if selector.kind in {HOST, RACK}:
            for broker in self.brokers_of([selector]):
                yield LinkEnd(BROKER, broker)
                if not self.has_kraft:
                    yield LinkEnd(CONTROLLER, broker)
        elif selector.kind in {BROKER, ZOOKEEPER} or (
            selector.kind == CONTROLLER and not self.has_kraft
        ):
            yield LinkEnd(selector.kind, selector.broker)
        for number in self.controllers_of([selector]):
            yield LinkEnd(CONTROLLER, number)
        for group in self.workload.groups:
            if selector.kind == CLIENTS or selector == (CLIENT_GROUP, -1, group.name):
                for client in range(group.clients):
                    yield LinkEnd(CLIENT_GROUP, group=group.name, client=client)


def read_of(settings: Mapping[str, Value], known: Mapping[str, int]) -> dict[str, int]:
    """The settings that the simulator reads; their values are validated numbers or flags."""
    return {
        name: value for name, value in settings.items() if name in known and isinstance(value, int)
    }
