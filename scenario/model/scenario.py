"""A scenario as a whole, and the values that follow from it for each broker, topic and client.

The model keeps the values that its author wrote; its methods return the effective values, with
Kafka's defaults. :meth:`Scenario.resolved` is an equal scenario with all effective values written
out. The coherence of the parts is checked in ``coherence/coherence.py``: a scenario that
``reading.py`` has read is valid.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, cast

from pydantic import Field, WithJsonSchema, field_validator

from tidegauge.replication.release_versions import Release
from tidegauge.replication.releases import DEFAULT_RELEASE
from tidegauge.scenario.model.alerts import AlertExpectations
from tidegauge.scenario.model.cluster import (
    NEVER,
    Cluster,
    ProtocolText,
    ReleaseText,
    Topic,
    ZooKeeper,
)
from tidegauge.scenario.model.costs import Costs, Network
from tidegauge.scenario.model.duration_fields import PositiveDuration
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.faults import (
    BROKER,
    CLIENT_GROUP,
    CLIENTS,
    CONTROLLER,
    HOST,
    RACK,
    ZOOKEEPER,
    Fault,
    LinkEnd,
    RollingRestartFault,
    Selector,
)
from tidegauge.scenario.model.limits import MOST_FAULTS, MOST_STEPS
from tidegauge.scenario.model.parts import Listed, Name, Part
from tidegauge.scenario.model.replica_assignment import assign_replicas_to_brokers
from tidegauge.scenario.model.settings import (
    OFFSETS_TOPIC,
    Value,
    acks_number,
    broker_defaults,
    consumer_defaults,
    producer_defaults,
    settings_not_modelled,
)
from tidegauge.scenario.model.steps import (
    AlterReassignmentsStep,
    ConfigureStep,
    ReassignStep,
    Step,
)
from tidegauge.scenario.model.workload import ConsumerGroup, ProducerGroup, Workload
from tidegauge.scenario.text.errors import Path, Problem, ProblemsError, did_you_mean
from tidegauge.simulation.durations import format_duration
from tidegauge.traces.checks import CHECK_NAMES

_DELIVERY_TIMEOUT = "delivery.timeout.ms"
_REQUEST_TIMEOUT = "request.timeout.ms"

_CHECKS_SCHEMA = {
    "type": "object",
    "properties": {name: {"enum": [True, False, "unknown"]} for name in CHECK_NAMES},
    "additionalProperties": False,
}


class Scenario(Part):
    """A cluster, its workload, and the faults and steps of a run."""

    name: Name = Field(description="Name of the scenario. Default: the name of the file.")
    description: str = Field(
        default="", description="The question or story of the scenario, as text."
    )
    seed: int = Field(default=1, ge=0, lt=2**63, description="Seed of all random draws.")
    duration_us: PositiveDuration = Field(
        alias="duration", description="Duration of the run, in virtual time."
    )
    release: ReleaseText = Field(
        default=DEFAULT_RELEASE, validate_default=True, description="Kafka release of all brokers."
    )
    protocol: ProtocolText | None = Field(
        default=None,
        description="inter.broker.protocol.version of all brokers. Default: the release's own.",
    )
    trace: Literal["transitions", "all"] = Field(
        default="transitions",
        description="transitions: changes of state; all: single requests and appends, too.",
    )
    sample_every_us: PositiveDuration = Field(
        default=1_000_000,
        alias="sample_every",
        description="Interval at which the log end offsets of all replicas are recorded. In a "
        "large cluster these rows are most of the trace.",
    )
    checkpoint_files: bool = Field(
        default=False,
        description="true: brokers' checkpoints are also written as real files in Kafka's "
        "format into the run's folder, and read at a restart.",
    )
    cluster: Cluster = Field(description="The brokers.")
    zookeeper: ZooKeeper = Field(default=ZooKeeper(), description="ZooKeeper.")
    topics: Listed[Topic] = Field(default=(), description="The topics that exist from the start.")
    workload: Workload = Field(default=Workload(), description="The clients.")
    network: Network = Field(default=Network(), description="Latencies of messages.")
    costs: Costs = Field(default=Costs(), description="Times of work.")
    faults: Listed[Fault] = Field(
        default=(), max_length=MOST_FAULTS, description="Faults at given times, or begun by steps."
    )
    fault_rates: Listed[FaultRate] = Field(
        default=(),
        description="Rates of further faults, with times and durations drawn from the seed.",
    )
    steps: Listed[Step] = Field(
        default=(),
        max_length=MOST_STEPS,
        description="Actions of the operator and of single clients, in this order.",
    )
    liveness: bool = Field(
        default=True,
        description="true: after the run all faults end, and a liveness phase checks that all "
        "ISRs become full and all logs equal.",
    )
    checks: Annotated[dict[str, Any], WithJsonSchema(_CHECKS_SCHEMA)] = Field(
        default_factory=dict,
        description="Expected verdicts of checks, by name. Default for each: true, or false if "
        "a setting permits it.",
    )
    alerts: AlertExpectations | None = Field(
        default=None,
        description="Alerts that are expected when alert rules are rehearsed on the scenario.",
    )

    @field_validator("checks")
    @classmethod
    def _are_known(cls, checks: dict[str, Any]) -> dict[str, Any]:
        problems = [
            Problem((name,), f"unknown check; {did_you_mean(name, CHECK_NAMES)}")
            for name in checks
            if name not in CHECK_NAMES
        ]
        problems += [
            Problem((name,), f"must be true, false or unknown, not {verdict!r}")
            for name, verdict in checks.items()
            if not isinstance(verdict, bool) and verdict != "unknown"
        ]
        if problems:
            raise ProblemsError(problems)
        return checks

    def __eq__(self, other: object) -> bool:
        """Whether both scenarios have the same effective values, in any form."""
        return isinstance(other, Scenario) and self.resolved() == other.resolved()

    __hash__ = None  # type: ignore[assignment]

    # The cluster.

    def broker_ids(self) -> tuple[int, ...]:
        """The ids of all brokers, in ascending order."""
        return self.cluster.brokers

    @cached_property
    def _racks(self) -> dict[int, str]:
        return {broker: rack for rack, brokers in self.cluster.racks.items() for broker in brokers}

    def rack_of(self, broker: int) -> str:
        """The rack in which a broker stands."""
        return self._racks[broker]

    def release_of(self, broker: int) -> tuple[str, str | None]:
        """A broker's release, and its inter.broker.protocol.version if one is set."""
        own = self.cluster.broker_releases.get(broker)
        if own is None:
            return self.release, self.protocol
        return own.release or self.release, own.protocol or self.protocol

    def settings_of(self, broker: int) -> dict[str, int]:
        """All settings of a broker: its release's defaults, the cluster's, its own."""
        settings = broker_defaults(self.release_of(broker)[0])
        own = self.cluster.broker_settings.get(broker, {})
        return settings | _read_of(self.cluster.settings, settings) | _read_of(own, settings)

    # The topics.

    def topic(self, name: str) -> Topic:
        """The topic of this name."""
        return next(topic for topic in self.topics if topic.name == name)

    def replication_factor(self, topic: Topic) -> int:
        """The number of replicas of each partition of a topic."""
        if topic.assignment is not None:
            return len(topic.assignment[0])
        default = broker_defaults(self.release)
        settings = default | _read_of(self.cluster.settings, default)
        return topic.replication_factor or settings["default.replication.factor"]

    def assignments(self, topic: Topic) -> list[list[int]]:
        """The brokers of each partition of a topic, the preferred leader first."""
        if topic.assignment is None:
            return assign_replicas_to_brokers(
                self._racks, topic.partition_count, self.replication_factor(topic)
            )
        return [list(topic.assignment[number]) for number in range(topic.partition_count)]

    def hosts_of(self, topic: Topic) -> list[list[int]]:
        """The brokers that each partition ever has replicas on: those of its assignment first."""
        if topic.name not in self._hosts:
            self._hosts[topic.name] = self._find_hosts(topic)
        return self._hosts[topic.name]

    @cached_property
    def _hosts(self) -> dict[str, list[list[int]]]:
        return {}

    def _find_hosts(self, topic: Topic) -> list[list[int]]:
        hosts = [dict.fromkeys(replicas) for replicas in self.assignments(topic)]
        for step in self.steps:
            if not isinstance(step, ReassignStep | AlterReassignmentsStep):
                continue
            for move in step.partitions:
                if move.topic == topic.name and move.partition < len(hosts):
                    hosts[move.partition] |= dict.fromkeys(move.replicas or ())
        return [list(brokers) for brokers in hosts]

    # The clients.

    def producer_settings(self, group: ProducerGroup) -> dict[str, int]:
        """All settings of a group of producers; ``acks`` is -1 for all.

        As in Kafka, the default of delivery.timeout.ms is raised to request.timeout.ms. A value
        that is set and smaller than that was refused when the scenario was read.
        Source: KafkaProducer.configureDeliveryTimeout@2.1.0.
        """
        settings = producer_defaults(self.release)
        for name, value in group.settings.items():
            if name in settings:
                settings[name] = acks_number(value) if name == "acks" else int(value)
        if _DELIVERY_TIMEOUT in settings:
            least = settings[_REQUEST_TIMEOUT]
            settings[_DELIVERY_TIMEOUT] = max(settings[_DELIVERY_TIMEOUT], least)
        return settings

    def consumer_settings(self, group: ConsumerGroup) -> dict[str, int | str]:
        """All settings of a group of consumers."""
        defaults = consumer_defaults(self.release)
        own = {name: value for name, value in group.settings.items() if name in defaults}
        return defaults | cast("dict[str, int | str]", own)

    def commits(self) -> bool:
        """Whether any group of consumers commits what it has read."""
        return any(
            self.consumer_settings(group)["enable.auto.commit"] is True
            for group in self.workload.consumers
        )

    def with_offsets_topic(self) -> Scenario:
        """The same with __consumer_offsets as its last topic, if a group commits and there is none.

        Kafka creates it at the first request for a coordinator; here it exists from the start.

        Source: KafkaApis.getOrCreateInternalTopic@2.6.0.
        """
        if not self.commits() or any(topic.name == OFFSETS_TOPIC for topic in self.topics):
            return self
        default = broker_defaults(self.release)
        settings = default | _read_of(self.cluster.settings, default)
        # The limits are checked with all settings and topics.
        topic = Topic.model_construct(
            name=OFFSETS_TOPIC,
            partitions=settings["offsets.topic.num.partitions"],
            replication_factor=settings["offsets.topic.replication.factor"],
        )
        copy = self.model_copy(update={"topics": (*self.topics, topic)})
        # Drop cached values that were derived from fewer topics.
        vars(copy).pop("_hosts", None)
        return copy

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

    def brokers_in_turn(self, roll: RollingRestartFault) -> list[int]:
        """The brokers that a rolling restart restarts, in this order."""
        if not roll.brokers:
            return list(self.broker_ids())
        found = (broker for each in roll.brokers for broker in self.brokers_of([each]))
        return list(dict.fromkeys(found))

    def endpoints_of(self, selectors: Iterable[Selector]) -> list[LinkEnd]:
        """The ends of links that these selectors select, each of them once."""
        ends = (end for selector in selectors for end in self._ends_of(selector))
        return list(dict.fromkeys(ends))

    def _ends_of(self, selector: Selector) -> Iterator[LinkEnd]:
        if selector.kind in {HOST, RACK}:
            for broker in self.brokers_of([selector]):
                yield LinkEnd(BROKER, broker)
                yield LinkEnd(CONTROLLER, broker)
        elif selector.kind in {BROKER, CONTROLLER, ZOOKEEPER}:
            yield LinkEnd(selector.kind, selector.broker)
        for group in self.workload.groups:
            if selector.kind == CLIENTS or selector == (CLIENT_GROUP, -1, group.name):
                for client in range(group.clients):
                    yield LinkEnd(CLIENT_GROUP, group=group.name, client=client)

    # The times for alert rules.

    def trouble_begins_us(self) -> int | None:
        """The time of the first fault or step, or that of its expected alerts; None: never."""
        if self.alerts is not None and self.alerts.after_us is not None:
            return self.alerts.after_us
        times = (each.at_us for each in (*self.faults, *self.steps))
        return min((at_us for at_us in times if at_us is not None), default=None)

    def trouble_ends_us(self) -> int | None:
        """The end of the last fault with `at` and `for`, or the time that its alerts give."""
        if self.alerts is not None and self.alerts.repaired_us is not None:
            return self.alerts.repaired_us
        ends = (
            fault.at_us + fault.for_us
            for fault in self.faults
            if fault.at_us is not None and fault.for_us is not None
        )
        return max(ends, default=None)

    # All of it.

    def settings_not_modelled(self) -> list[str]:
        """The settings of the scenario that the simulator does not read, by their paths."""
        lines: list[str] = []
        for path, settings, kind, release in self.said_settings():
            defaults = broker_defaults(release) if kind == "brokers" else {}
            lines += settings_not_modelled(path, settings, kind, defaults)
        return sorted(lines)

    def said_settings(self) -> Iterator[tuple[Path, Mapping[str, Value], str, str]]:
        """All settings in the scenario: path, settings, kind and release."""
        yield ("cluster", "settings"), self.cluster.settings, "brokers", self.release
        for broker, settings in self.cluster.broker_settings.items():
            path = ("cluster", "broker_settings", broker)
            yield path, settings, "brokers", self.release_of(broker)[0]
        for place, topic in enumerate(self.topics):
            yield ("topics", place, "settings"), topic.settings, "topics", self.release
        for place, step in enumerate(self.steps):
            if isinstance(step, ConfigureStep):
                kind = "brokers" if step.topic is None else "topics"
                yield ("steps", place, "settings"), step.settings, kind, self.release
        workload = self.workload
        for kind, groups in (("producers", workload.producers), ("consumers", workload.consumers)):
            for place, group in enumerate(groups):
                yield ("workload", kind, place, "settings"), group.settings, kind, self.release

    def resolved(self) -> dict[str, Any]:
        """The scenario with all defaults filled in: JSON that is a valid scenario itself."""
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        written["protocol"] = self._protocol(self.release, self.protocol)
        written["cluster"] |= self._resolved_cluster()
        # Never is None in the model, and None is left out, as if it were the default.
        written["cluster"].setdefault("restart_after_exit", NEVER)
        for topic, said in zip(self.topics, written["topics"], strict=True):
            assignments = self.assignments(topic)
            said["partitions"] = len(assignments)
            if len({len(replicas) for replicas in assignments}) == 1:
                said["replication_factor"] = self.replication_factor(topic)
            said["assignment"] = {str(number): ids for number, ids in enumerate(assignments)}
        clients = written["workload"]
        for producers, said in zip(self.workload.producers, clients["producers"], strict=True):
            said["settings"] = producers.settings | self.producer_settings(producers)
            if producers.start_us < self.duration_us:
                said.setdefault("stop", format_duration(self.duration_us))
        for consumers, said in zip(self.workload.consumers, clients["consumers"], strict=True):
            said["settings"] = consumers.settings | self.consumer_settings(consumers)
        return written

    def _resolved_cluster(self) -> dict[str, Any]:
        """The settings and release common to all brokers, and the differences of single brokers."""
        cluster = self.cluster
        settings = broker_defaults(self.release) | cluster.settings
        own_settings = {}
        for broker in self.broker_ids():
            own = cluster.broker_settings.get(broker, {}) | self.settings_of(broker)
            others = {name: value for name, value in own.items() if settings.get(name) != value}
            if others:
                own_settings[str(broker)] = others
        releases = {}
        for broker in cluster.broker_releases:
            release, protocol = self.release_of(broker)
            releases[str(broker)] = {
                "release": release,
                "protocol": self._protocol(release, protocol),
            }
        return {
            "settings": settings,
            "broker_settings": own_settings,
            "broker_releases": releases,
        }

    @staticmethod
    def _protocol(release: str, protocol: str | None) -> str:
        return str(Release.parse(release).protocol(protocol))


def _read_of(settings: Mapping[str, Value], known: Mapping[str, int]) -> dict[str, int]:
    """The settings that the simulator reads; their values are validated numbers or flags."""
    return {
        name: value for name, value in settings.items() if name in known and isinstance(value, int)
    }
