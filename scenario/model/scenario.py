"""The alerts that a scenario expects when rules are rehearsed on it (``tidegauge alerts``).

A run ignores these expectations. Alerts have the names that rule files give them. An alert that is
not named here may fire or stay silent.

A scenario as a whole: a deployment, and the faults and steps of a run.

:meth:`Scenario.resolved` is an equal scenario with all effective values written out. The coherence
of the parts is checked in ``coherence/coherence.py``: a scenario that ``reading.py`` has read is
valid.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    PrivateAttr,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tidegauge.replication.ablations import ABLATIONS
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.cluster import NEVER, Topic
from tidegauge.scenario.model.component_faults import Fault
from tidegauge.scenario.model.costs import costs_of_other_modes
from tidegauge.scenario.model.deployment import Deployment, Versions, read_of
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.limits import MOST_FAULTS, MOST_PINS, MOST_STEPS
from tidegauge.scenario.model.pins import Pin
from tidegauge.scenario.model.process_faults import RollingRestartFault
from tidegauge.scenario.model.quorum_steps import UpdateFeaturesStep
from tidegauge.scenario.model.replica_placement import Assignments, by_number
from tidegauge.scenario.model.request_steps import Step
from tidegauge.scenario.model.selectors import CONTROLLER, LinkEnd
from tidegauge.scenario.model.settings import (
    CORDONED_LOG_DIRS,
    OFFSETS_TOPIC,
    Value,
    broker_defaults,
    controllers_may_set,
    cordoned_log_dirs,
    settings_not_modelled,
)
from tidegauge.scenario.model.sometimes import Sometimes
from tidegauge.scenario.model.step import AlteredMove
from tidegauge.scenario.model.topic_steps import (
    ConfigureStep,
    CreateTopicStep,
    DeleteTopicStep,
    ReassignStep,
)
from tidegauge.scenario.text.errors import Path, Problem, ProblemsError, did_you_mean
from tidegauge.simulation.quantities import format_duration
from tidegauge.traces.checks import CHECK_NAMES, Check
from tidegauge.traces.directory import created_later

#: Instead of names: every alert that must not fire.
ALL = "all"

_SILENT_SCHEMA = {
    "anyOf": [{"const": ALL}, {"type": "array", "items": {"type": "string", "minLength": 1}}]
}


class AlertExpectations(parts.Part):
    """The alerts that fire, how soon and until when, and the alerts that stay silent."""

    after_us: parts.Duration | None = Field(
        default=None,
        alias="after",
        description="The start of the trouble; the delay of an alert is counted from here. "
        "Default: the first fault or step that has an `at`.",
    )
    repaired_us: parts.Duration | None = Field(
        default=None,
        alias="repaired",
        description="The end of the trouble. Default: the end of the last fault that has `at` "
        "and `for`.",
    )
    fire: dict[parts.Name, parts.PositiveDuration] = Field(
        default_factory=dict,
        description="Alerts that fire, each with the longest time from the beginning of the "
        "trouble until it fires.",
    )
    clear: dict[parts.Name, parts.PositiveDuration] = Field(
        default_factory=dict,
        description="Alerts of `fire` that resolve, each with the longest time from the end of "
        "the trouble until it is resolved; it stays resolved until the run ends.",
    )
    beyond_for: bool = Field(
        default=False,
        description="Whether the times of `fire` and `clear` begin when the rule's own `for` and "
        "`keep_firing_for` are over; an alert whose `for` is longer than the trouble need not "
        "fire. Default: the times include both.",
    )
    silent: Annotated[Literal["all"] | parts.Listed[parts.Name], WithJsonSchema(_SILENT_SCHEMA)] = (
        Field(
            default=(),
            description="Alerts that never fire; all: every alert that `fire` and `may_fire` do "
            "not name.",
        )
    )
    may_fire: Annotated[parts.Listed[parts.Name], AfterValidator(parts.without_repetition)] = Field(
        default=(), description="Alerts that `silent: all` excludes."
    )

    @field_validator("silent", mode="before")
    @classmethod
    def _is_all_or_names(cls, silent: object) -> object:
        if silent == ALL:
            return silent
        if not isinstance(silent, list | tuple) or not all(
            isinstance(name, str) for name in silent
        ):
            raise ValueError(f"must be {ALL}, or a list of alerts, not {silent!r}")
        return parts.without_repetition(tuple(silent))

    @model_validator(mode="after")
    def _does_not_contradict_itself(self) -> Self:
        problems = [
            Problem(("clear", name), "is resolved at some time, so it must be in `fire`, too")
            for name in self.clear
            if name not in self.fire
        ]
        if self.silent != ALL:
            problems += [
                Problem(("silent", place), f"{name} is in `fire`, too")
                for place, name in enumerate(self.silent)
                if name in self.fire
            ]
        if self.may_fire and self.silent != ALL:
            problems.append(
                Problem(("may_fire",), "has a meaning only together with `silent: all`")
            )
        if problems:
            raise ProblemsError(problems)
        return self

    def named(self) -> list[str]:
        """The alerts that the expectations name, each once."""
        silent = () if self.silent == ALL else self.silent
        return list(dict.fromkeys([*self.fire, *silent, *self.may_fire]))

    def stays_silent(self, alert: str) -> bool:
        """Whether an alert of this name must not fire."""
        if self.silent == ALL:
            return alert not in self.fire and alert not in self.may_fire
        return alert in self.silent


#: The expected verdict of a check of which nothing is expected.
ANY_VERDICT = "any"

_CHECKS_SCHEMA = {
    "type": "object",
    "properties": {name: {"enum": [True, False, "unknown", ANY_VERDICT]} for name in CHECK_NAMES},
    "additionalProperties": False,
}


class RolledServer(NamedTuple):
    """A server that a rolling restart restarts, and its versions before and after that."""

    #: The place of the rolling restart among the faults.
    place: int
    server: LinkEnd
    before: Versions
    after: Versions


class Scenario(Deployment):
    """A cluster, its workload, and the faults and steps of a run."""

    faults: parts.Listed[Fault] = Field(
        default=(), max_length=MOST_FAULTS, description="Faults at given times, or begun by steps."
    )
    pins: parts.Listed[Pin] = Field(
        default=(),
        max_length=MOST_PINS,
        description="Single messages that are held, dropped or delivered twice.",
    )
    fault_rates: parts.Listed[FaultRate] = Field(
        default=(),
        description="Rates of further faults, with times and durations drawn from the seed.",
    )
    steps: parts.Listed[Step] = Field(
        default=(),
        max_length=MOST_STEPS,
        description="Actions of the operator and of single clients, in this order.",
    )
    ablations: Annotated[parts.Listed[str], AfterValidator(parts.without_repetition)] = Field(
        default=(),
        description="Rules of Kafka's protocol that are taken away from all brokers and "
        "controllers, by the names that `tidegauge releases --ablations` lists. Default: none.",
    )
    measure_from_us: parts.Duration | None = Field(
        default=None,
        alias="measure_from",
        description="Time from which on figures are counted. Default: the time at which every "
        "partition has a leader for the first time, or the first fault begins.",
    )
    liveness: bool = Field(
        default=True,
        description="true: after the run all faults end, and a liveness phase checks that all "
        "ISRs become full and all logs equal.",
    )
    checks: Annotated[dict[str, Any], WithJsonSchema(_CHECKS_SCHEMA)] = Field(
        default_factory=dict,
        description="Expected verdicts of checks, by name. Default for each: true, or false if "
        "a setting permits it. With `any` no verdict fails the run: so false becomes if --set "
        "changes the release or the mode.",
    )
    sometimes: parts.Listed[Sometimes] = Field(
        default=(),
        description="Verdicts, figures and events of which each has to occur with at least one of "
        "the seeds of a sweep. A single run only notes which of them it has.",
    )
    alerts: AlertExpectations | None = Field(
        default=None,
        description="Alerts that are expected when alert rules are rehearsed on the scenario.",
    )
    _drawn_faults: int = PrivateAttr(default=0)

    @field_validator("ablations")
    @classmethod
    def _are_ablations(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        problems = [
            Problem((place,), f"unknown ablation {name}; {did_you_mean(name, ABLATIONS)}")
            for place, name in enumerate(names)
            if name not in ABLATIONS
        ]
        if problems:
            raise ProblemsError(problems)
        return names

    @field_validator("checks")
    @classmethod
    def _are_known(cls, checks: dict[str, Any]) -> dict[str, Any]:
        problems = [
            Problem((name,), f"unknown check; {did_you_mean(name, CHECK_NAMES)}")
            for name in checks
            if name not in CHECK_NAMES
        ]
        problems += [
            Problem((name,), f"must be true, false, unknown or {ANY_VERDICT}, not {verdict!r}")
            for name, verdict in checks.items()
            if not isinstance(verdict, bool) and verdict not in ("unknown", ANY_VERDICT)
        ]
        if problems:
            raise ProblemsError(problems)
        return checks

    def __eq__(self, other: object) -> bool:
        """Whether both scenarios have the same effective values, in any form."""
        return isinstance(other, Scenario) and self.resolved() == other.resolved()

    __hash__ = None  # type: ignore[assignment]

    @property
    def draws_parts(self) -> bool:
        """Whether the seed decides parts of it: placements, or the faults of rates."""
        return bool(self.cluster.placement == "drawn" or self.fault_rates or self._drawn_faults)

    # The faults of rates.

    @property
    def drawn_faults(self) -> int:
        """The number of its faults, the last ones, that are drawn from rates."""
        return self._drawn_faults

    def with_drawn_faults(self, drawn: Sequence[Fault]) -> Self:
        """The scenario with these faults behind those that it names, in the place of its rates."""
        changed = self.model_copy(update={"faults": (*self.faults, *drawn), "fault_rates": ()})
        changed._drawn_faults = len(drawn)  # noqa: SLF001 - it is of this class
        return changed

    # The controller.

    def first_controller(self) -> int | None:
        """The broker that becomes controller with ZooKeeper; None: the seed decides.

        It is the one that registers first, so the one with the earliest start, if all starts are
        given, or those of others are drawn and it starts at once.
        """
        starts = self.cluster.start_us
        if not starts:
            return None
        first = min(starts, key=lambda broker: starts[broker])
        is_alone = list(starts.values()).count(starts[first]) == 1
        others_are_later = len(starts) == len(self.broker_ids()) or (
            starts[first] == 0 and self.cluster.start_spread_us > 0
        )
        # A cluster that existed before has a former controller; all watch for its end.
        existed = any(topic.existed for topic in self.topics)
        return first if is_alone and others_are_later and not existed else None

    # The topics.

    def is_judged_by(self, check: Check) -> bool:
        """Whether a check is about clusters as this one."""
        return check.is_about(has_kraft=self.has_kraft, voters_may_change=self.voters_may_change())

    def topics_to_come(self) -> set[str]:
        """The topics that do not exist from the start: the first step about them creates them."""
        steps = (each for each in self.steps if isinstance(each, CreateTopicStep | DeleteTopicStep))
        return created_later((step.do, step.topic) for step in steps)

    def cordons_at_creation(self, topic: Topic) -> Mapping[int, int]:
        """The cordoned log directories of each broker as a topic is created: bits.

        Steps before the one that creates the topic may have changed them.
        """
        if topic.name not in self.topics_to_come():
            return super().cordons_at_creation(topic)
        cordons = dict(super().cordons_at_creation(topic))
        for step in self.steps:
            if isinstance(step, CreateTopicStep) and step.topic == topic.name:
                break
            if isinstance(step, ConfigureStep) and CORDONED_LOG_DIRS in step.settings:
                changed = cordoned_log_dirs(step.settings[CORDONED_LOG_DIRS])
                cordons |= dict.fromkeys(step.brokers or (), changed)
        return cordons

    def hosts_of(self, topic: Topic) -> Assignments:
        """The brokers that each partition ever has replicas on: those of its assignment first."""
        if topic.name not in self._hosts:
            self._hosts[topic.name] = self._find_hosts(topic)
        return self._hosts[topic.name]

    @cached_property
    def _hosts(self) -> dict[str, Assignments]:
        return {}

    def _find_hosts(self, topic: Topic) -> Assignments:
        assigned = self.assignments(topic)
        hosts: dict[int, dict[int, None]] = {}
        for move in self._moves[topic.name]:
            if move.partition < len(assigned):
                own = hosts.setdefault(move.partition, dict.fromkeys(assigned[move.partition]))
                own |= dict.fromkeys(move.replicas or ())
        if not hosts:
            return assigned
        return assigned.replaced({number: [*brokers] for number, brokers in hosts.items()})

    @cached_property
    def _moves(self) -> defaultdict[str, list[AlteredMove]]:
        """The moves of all steps, by their topics."""
        moves: defaultdict[str, list[AlteredMove]] = defaultdict(list)
        for step in self.steps:
            for move in step.moves():
                moves[move.topic].append(move)
        return moves

    def versions_after_rolls(self) -> Iterator[RolledServer]:
        """The servers of all rolling restarts, in the order of the faults, then in their own."""
        known: dict[LinkEnd, Versions] = {}
        for place, fault in enumerate(self.faults):
            if isinstance(fault, RollingRestartFault):
                for server in fault.servers(self):
                    before = known.get(server) or self._release_of(server)
                    known[server] = fault.after(before)
                    yield RolledServer(place, server, before, known[server])

    def releases_of_controllers(self) -> Iterator[str]:
        """The release of the controllers of a KRaft cluster, and those they are upgraded to."""
        yield self.release
        for _, server, _, after in self.versions_after_rolls():
            if server.kind == CONTROLLER:
                yield after.release

    def voters_may_change(self) -> bool:
        """Whether the voters of the quorum may change: from the beginning, or once a step is taken.

        The step raises kraft.version (KAFKA-16538).
        """
        raised = (
            isinstance(step, UpdateFeaturesStep) and step.finalized_kraft_version > 0
            for step in self.steps
        )
        return self.has_kraft and (bool(self.controllers.voters) or any(raised))

    def _release_of(self, server: LinkEnd) -> Versions:
        if server.kind == CONTROLLER:
            return self.release_of_controllers()
        return self.release_of(server.broker)

    def metadata_versions_of_steps(self) -> Iterator[str]:
        """The metadata.version that each step asks for, in full."""
        for step in self.steps:
            if isinstance(step, UpdateFeaturesStep) and step.finalized_version is not None:
                yield step.finalized_version

    def with_offsets_topic(self) -> Scenario:
        """The same with __consumer_offsets as its last topic, if a group commits and there is none.

        Kafka creates it at the first request for a coordinator; here it exists from the start.

        Source: KafkaApis.getOrCreateInternalTopic@2.6.0.
        """
        if not self.commits() or any(topic.name == OFFSETS_TOPIC for topic in self.topics):
            return self
        # These two are the same in each mode; whether the release has this one is checked later.
        default = broker_defaults(self.release, Release.parse(self.release).mode())
        settings = default | read_of(self.cluster.settings, default)
        # The limits are checked with all settings and topics.
        topic = Topic.model_construct(
            name=OFFSETS_TOPIC,
            partitions=settings["offsets.topic.num.partitions"],
            replication_factor=settings["offsets.topic.replication.factor"],
        )
        copy = self.model_copy(update={"topics": (*self.topics, topic)})
        copy._drop_derived()  # noqa: SLF001 - it is of this class
        return copy

    def with_generated_moves(self) -> Scenario:
        """The same with the partitions of reassignments that name topics and brokers only."""
        generated = [
            step.with_partitions(self) if isinstance(step, ReassignStep) else step
            for step in self.steps
        ]
        copy = self.model_copy(update={"steps": tuple(generated)})
        copy._drop_derived()  # noqa: SLF001 - it is of this class
        return copy

    def _drop_derived(self) -> None:
        """Drop cached values that were derived from other topics and steps."""
        for name in ("_hosts", "_moves"):
            vars(self).pop(name, None)

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
            defaults: Mapping[str, int] = {}
            if kind == "brokers":
                defaults = broker_defaults(release, self.mode)
            elif kind == "controllers":
                defaults = controllers_may_set(release)
            lines += settings_not_modelled(path, settings, kind, defaults)
        return sorted(lines)

    def said_settings(self) -> Iterator[tuple[Path, Mapping[str, Value], str, str]]:
        """All settings in the scenario: path, settings, kind and release."""
        yield ("cluster", "settings"), self.cluster.settings, "brokers", self.release
        for broker, settings in self.cluster.broker_settings.items():
            path = ("cluster", "broker_settings", broker)
            yield path, settings, "brokers", self.release_of(broker).release
        if self.has_kraft:
            settings = self.controllers.settings
            yield ("controllers", "settings"), settings, "controllers", self.release
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

    def said_of_broker(self, broker: int) -> Mapping[str, Value]:
        """The settings that the scenario gives for a broker, by its id: without defaults."""
        own = self.cluster.broker_settings.get(broker, {})
        return {**self.cluster.settings, **own}

    def resolved(
        self, listed: Callable[[Assignments], Mapping[str, list[int]]] = by_number
    ) -> dict[str, Any]:
        """The scenario with all defaults filled in: JSON that is a valid scenario itself.

        Args:
            listed: makes the mapping of a topic's assignments, by partitions' numbers as text.
        """
        written = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._resolve_mode(written)
        written["cluster"] |= self._resolved_cluster()
        # Never is None in the model, and None is left out, as if it were the default.
        written["cluster"].setdefault("restart_after_exit", NEVER)
        for topic, said in zip(self.topics, written["topics"], strict=True):
            assignments = self.assignments(topic)
            said["partitions"] = len(assignments)
            if len(np.unique(assignments.counts)) == 1:
                said["replication_factor"] = self.replication_factor(topic)
            said["assignment"] = listed(assignments)
        clients = written["workload"]
        for producers, said in zip(self.workload.producers, clients["producers"], strict=True):
            said["settings"] = {
                **producers.settings,
                **self.producer_settings(producers),
                **self.connection_settings(producers),
            }
            if producers.start_us < self.duration_us:
                said.setdefault("stop", format_duration(self.duration_us))
        for consumers, said in zip(self.workload.consumers, clients["consumers"], strict=True):
            said["settings"] = consumers.settings | self.consumer_settings(consumers)
        return written

    def _resolve_mode(self, written: dict[str, Any]) -> None:
        """Fill in the versions of the mode, and leave out the parts of the other mode."""
        name = "metadata_version" if self.has_kraft else "protocol"
        written[name] = self.version_in_force()
        costs = self.costs_in_force
        written["costs"] = costs.model_dump(mode="json", by_alias=True, exclude_none=True)
        if self.has_kraft:
            written["eligible_leader_replicas"] = self.has_eligible_leader_replicas()
            written["controllers"]["settings"] = (
                self.controllers.settings | self.controller_settings()
            )
        del written[self.part_of_other_mode]
        for cost in costs_of_other_modes(self.mode):
            del written["costs"][cost]

    def _resolved_cluster(self) -> dict[str, Any]:
        """The settings and release common to all brokers, and the differences of single brokers."""
        cluster = self.cluster
        settings = broker_defaults(self.release, self.mode) | cluster.settings
        own_settings = {}
        for broker in self.broker_ids():
            own = cluster.broker_settings.get(broker, {}) | self.settings_of(broker)
            others = {name: value for name, value in own.items() if settings.get(name) != value}
            if others:
                own_settings[str(broker)] = others
        releases = {}
        for broker in cluster.broker_releases:
            release, protocol, mode = self.release_of(broker)
            releases[str(broker)] = {"release": release}
            if not self.has_kraft:
                version = str(Release.parse(release).version(mode, protocol))
                releases[str(broker)]["protocol"] = version
        return {
            "settings": settings,
            "broker_settings": own_settings,
            "broker_releases": releases,
        }
