"""Steps that change topics and settings, and move replicas, as Kafka's tools do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, field_validator, model_validator

from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.references import (
    broker_is_there,
    controller_is_there,
    partition_is_there,
    partition_number_is_there,
    topic_is_there,
)
from tidegauge.scenario.model.replica_placement import assign_replicas_to_brokers
from tidegauge.scenario.model.settings import (
    CORDONED_LOG_DIRS,
    THROTTLED_RATES,
    BrokerSettings,
    broker_defaults,
    cordoned_log_dirs,
    problems_of_settings,
    problems_of_topic_settings,
)
from tidegauge.scenario.model.step import AlteredMove, Numbers, StepOfAnyKind
from tidegauge.scenario.text.errors import Path, Problem, ProblemsError

if TYPE_CHECKING:  # as in step.py
    from tidegauge.clients.client_state import Step as StepRecord

#: KIP-455: AlterPartitionReassignments. The rule for deleting topics is from the same release.
_FIRST_TO_REASSIGN = Release.parse("2.4.0")


_Move = TypeVar("_Move", bound=AlteredMove)


class AdminStep(StepOfAnyKind):
    """A step that makes the controller move replicas or delete a topic.

    In a scenario without such a step, the paths in /admin for both are left out
    (``ClusterPlan.tree_ranges``).
    """


class PreferredElectionStep(StepOfAnyKind):
    """Request a preferred election from the controller, by /admin/preferred_replica_election."""

    examples = ("{do: preferred_election, at: 2m, topic: orders, partition: 0}",)

    do: Literal["preferred_election"]
    topic: str | None = Field(default=None, description="Name of the topic. Default: all topics.")
    partition: int | None = Field(
        default=None, ge=0, description="Number of the partition. Default: all of them."
    )

    @model_validator(mode="after")
    def _is_about_one_partition_or_all(self) -> Self:
        if (self.topic is None) != (self.partition is None):
            raise ValueError("topic and partition name one partition: both are there, or neither")
        return self

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A partition that does not exist."""
        if self.topic is not None and self.partition is not None:
            yield from partition_number_is_there(path, self.topic, self.partition, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The partition, if it is one."""
        if self.topic is not None and self.partition is not None:
            record.partition = numbers.partition(self.topic, self.partition)


class UncleanElectionStep(parts.OfPartition, StepOfAnyKind):
    """Request an unclean election of a partition without leader, by ElectLeaders (KIP-460).

    So does kafka-leader-election --election-type unclean. The request goes to the controller that
    ZooKeeper names; if there is none, the step ends. With KRaft the controllers are asked one after
    the other, until the active one answers.
    """

    examples: ClassVar[tuple[str, ...]] = (
        "{do: unclean_election, at: 2m, topic: orders, partition: 0}",
    )

    do: Literal["unclean_election"]

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A partition that does not exist; controllers that do not know the request."""
        yield from partition_is_there(path, self, scenario)
        yield from _old_controllers(path, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The partition."""
        record.partition = numbers.partition(self.topic, self.partition)


class ConfigureStep(StepOfAnyKind):
    """Change settings of a topic or of brokers, in ZooKeeper or by records of the metadata log."""

    examples = (
        "{do: configure, at: 1m, topic: orders, settings: {min.insync.replicas: 1}}",
        (
            "{do: configure, at: 1m, topic: orders, settings: {min.insync.replicas: 1}, to: 0, "
            "timeout: 6s}"
        ),
        (
            "{do: configure, at: 1m, brokers: [1, 2], "
            "settings: {leader.replication.throttled.rate: 1000000}}"
        ),
        '{do: configure, at: 1m, brokers: [3], settings: {cordoned.log.dirs: "*"}}',
    )

    do: Literal["configure"]
    topic: str | None = Field(default=None, description="Name of the topic.")
    brokers: parts.BrokerIds | None = Field(
        default=None,
        description="Ids of brokers, instead of a topic. Only their throttled rates can change "
        "while they run, and from 4.3 on their cordoned.log.dirs: `*`, numbers of log directories "
        "such as 1,2, or nothing.",
    )
    settings: BrokerSettings = Field(
        description="Settings to change; all others keep their values."
    )
    to: Annotated[int | None, parts.Unit("controller number")] = Field(
        default=None,
        ge=0,
        description="Number of the controller of a KRaft quorum that gets the request, once, and "
        "whose response counts, if it is NOT_CONTROLLER. Default: the active one, which is looked "
        "for.",
    )
    timeout_us: parts.PositiveDuration = Field(
        default=30_000_000,
        alias="timeout",
        description="Timeout of the request to a controller of a KRaft quorum.",
    )

    @field_validator("settings")
    @classmethod
    def _change_something(cls, settings: dict[str, int | str]) -> dict[str, int | str]:
        if not settings:
            raise ValueError("must have a setting to change")
        return settings

    @model_validator(mode="after")
    def _is_about_a_topic_or_brokers(self) -> Self:
        if (self.topic is None) == (self.brokers is None):
            raise ValueError("must have either a topic or brokers")
        return self

    def action(self) -> str:
        """Settings of topics and of brokers are changed in different ways."""
        return "configure" if self.brokers is None else "configure_brokers"

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A topic, brokers or a controller that do not exist; settings that cannot change."""
        if self.to is not None and not scenario.has_kraft:
            yield Problem((*path, "to"), "needs mode: kraft")
        elif self.to is not None:
            yield from controller_is_there((*path, "to"), self.to, scenario)
        if self.topic is not None:
            yield from topic_is_there((*path, "topic"), self.topic, scenario)
            yield from problems_of_topic_settings(
                (*path, "settings"), self.settings, scenario.release, scenario.mode
            )
            return
        for broker in self.brokers or ():
            yield from broker_is_there((*path, "brokers"), broker, scenario)
        defaults = broker_defaults(scenario.release, scenario.mode)
        known = {name: defaults[name] for name in THROTTLED_RATES}
        for name, value in self.settings.items():
            if name in defaults and name not in known:
                yield Problem((*path, "settings", name), "is not changed here while a broker runs")
            else:
                yield from problems_of_settings(
                    (*path, "settings"), {name: value}, "brokers", known
                )

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The new settings of a topic or of brokers; -1 for a setting that stays."""
        rates = (int(self.settings.get(name, -1)) for name in THROTTLED_RATES)
        record.leader_rate, record.follower_rate = rates
        brokers = numbers.brokers(self.brokers or ())
        record.first_broker, record.broker_count = brokers.start, len(brokers)
        record.timeout_us = self.timeout_us
        if self.to is not None:
            record.to = self.to
        record.cordoned_log_dirs = -1
        if CORDONED_LOG_DIRS in self.settings:
            record.cordoned_log_dirs = cordoned_log_dirs(self.settings[CORDONED_LOG_DIRS])
        if self.topic is not None:
            record.topic = numbers.topic(self.topic)
            record.min_insync_replicas = int(self.settings.get("min.insync.replicas", -1))
            record.unclean = int(self.settings.get("unclean.leader.election.enable", -1))
            throttled = numbers.throttled(self.topic, self.settings)
            record.first_throttled, record.throttled_count = throttled.start, len(throttled)


class CreateTopicStep(StepOfAnyKind):
    """Create a topic that does not exist: not created yet, or deleted by an earlier step."""

    examples = ("{do: create_topic, at: 1m, topic: orders}",)

    do: Literal["create_topic"]
    topic: str = Field(description="Name of the topic, one of `topics`.")

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A topic that does not exist."""
        yield from topic_is_there((*path, "topic"), self.topic, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The topic."""
        record.topic = numbers.topic(self.topic)


class DeleteTopicStep(AdminStep):
    """Delete a topic, by /admin/delete_topics: it is gone once all its brokers have deleted it."""

    examples = ("{do: delete_topic, at: 1m, topic: orders}",)

    do: Literal["delete_topic"]
    topic: str = Field(description="Name of the topic.")

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A topic that does not exist, and controllers that know no deletion."""
        yield from topic_is_there((*path, "topic"), self.topic, scenario)
        yield from _old_controllers(path, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The topic."""
        record.topic = numbers.topic(self.topic)


def _old_controllers(path: Path, scenario: Deployment) -> Iterator[Problem]:
    """Check the releases of brokers: any of them can become controller and get the request."""
    releases = {scenario.release_of(broker).release for broker in scenario.broker_ids()}
    old = sorted(each for each in releases if Release.parse(each) < _FIRST_TO_REASSIGN)
    if old:
        message = f"is simulated from 2.4 on, and a broker has release {old[0]}"
        yield Problem((*path, "do"), message)


class Move(AlteredMove):
    """The new replicas of a partition."""

    examples = ("{topic: orders, partition: 0, replicas: [2, 3, 4]}",)

    replicas: parts.BrokerIds = Field(description="Ids of brokers, the preferred leader first.")


def _some(moves: tuple[_Move, ...]) -> tuple[_Move, ...]:
    if not moves:
        raise ValueError("must have at least 1 item")
    return _each_once(moves)


def _each_once(moves: tuple[_Move, ...]) -> tuple[_Move, ...]:
    parts.without_repetition(tuple(f"{move.topic}-{move.partition}" for move in moves))
    return moves


class ReassignStep(AdminStep):
    """Move replicas, by /admin/reassign_partitions.

    The JSON of kafka-reassign-partitions can be used here unchanged. Like that tool, the step
    requests nothing while an earlier reassignment is in progress: wait `when: {reassigned: true}`.
    """

    examples = (
        """\
do: reassign
at: 1m
version: 1
partitions: [{topic: orders, partition: 0, replicas: [2, 3, 4]}]
throttle: 10000000
""",
        "{do: reassign, at: 1m, topics: [orders], brokers: [2, 3, 4]}",
    )

    do: Literal["reassign"]
    version: Annotated[Literal[1], parts.Unit("version number")] = Field(
        default=1, description="Version of the format, as in Kafka's JSON."
    )
    partitions: parts.Listed[Move] = Field(
        default=(), description="Partitions to move, and their new replicas."
    )
    topics: Annotated[parts.Listed[str], AfterValidator(parts.without_repetition)] = Field(
        default=(),
        description="Instead of `partitions`: topics whose partitions all move to `brokers`, as "
        "kafka-reassign-partitions --generate places them, round robin over racks and brokers.",
    )
    brokers: parts.BrokerIds | None = Field(
        default=None, description="With `topics`: ids of the brokers that get the replicas."
    )
    throttle: Annotated[int | None, parts.Unit("bytes/s")] = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="The tool's --throttle, in bytes per second: a limit for each broker that "
        "sends or receives moving replicas. It remains until a step verify_reassignment.",
    )

    @model_validator(mode="after")
    def _names_partitions_or_topics(self) -> Self:
        if bool(self.topics) != (self.brokers is not None):
            missing = "brokers" if self.topics else "topics"
            raise ProblemsError([Problem((missing,), "is missing: each needs the other")])
        if bool(self.topics) == bool(self.partitions):
            raise ProblemsError(
                [Problem(("partitions",), "must have at least 1 item, or topics and brokers")]
            )
        try:
            _each_once(self.partitions)
        except ValueError as error:
            raise ProblemsError([Problem(("partitions",), str(error))]) from error
        return self

    def moves(self) -> Sequence[AlteredMove]:
        """The partitions whose replicas it moves."""
        return self.partitions

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """Topics or brokers that do not exist, too few brokers, or nothing to move."""
        for place, topic in enumerate(self.topics):
            yield from topic_is_there((*path, "topics", place), topic, scenario)
        brokers = self.brokers or ()
        for place, broker in enumerate(brokers):
            yield from broker_is_there((*path, "brokers", place), broker, scenario)
        known = [topic for topic in scenario.topics if topic.name in self.topics]
        if any(scenario.replication_factor(topic) > len(brokers) for topic in known):
            yield Problem((*path, "brokers"), "are fewer than the replicas of a partition")
        elif self.topics and len(known) == len(self.topics):
            yield Problem((*path, "brokers"), "have these replicas already: nothing is to be moved")

    def with_partitions(self, scenario: Deployment) -> ReassignStep:
        """The same with the partitions that move; without a change where that is not possible.

        Source: ReassignPartitionsCommand.generateAssignment@2.6.0.
        """
        brokers = self.brokers or ()
        known = {topic.name: topic for topic in scenario.topics}
        if not self.topics or not set(brokers) <= set(scenario.broker_ids()):
            return self
        rack_of = {broker: scenario.rack_of(broker) for broker in brokers}
        moves: list[Move] = []
        for name in self.topics:
            if name not in known or scenario.replication_factor(known[name]) > len(brokers):
                return self
            present = scenario.assignments(known[name])
            factor = scenario.replication_factor(known[name])
            generated = assign_replicas_to_brokers(rack_of, len(present), factor)
            moves += [
                Move(topic=name, partition=number, replicas=tuple(replicas))
                for number, replicas in enumerate(generated)
                if replicas != present[number]
            ]
        if not moves:
            return self
        given = self.model_fields_set - {"topics", "brokers"}
        fields = {name: getattr(self, name) for name in given} | {"partitions": tuple(moves)}
        return ReassignStep.model_construct(set(fields), **fields)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The moves, and their throttle."""
        record.leader_rate = record.follower_rate = -1 if self.throttle is None else self.throttle
        moves = numbers.moves(self.partitions)
        record.first_move, record.move_count = moves.start, len(moves)


class AlterReassignmentsStep(AdminStep):
    """Start, replace or cancel reassignments, by AlterPartitionReassignments.

    The request goes to the controller that ZooKeeper names; if there is none, the step ends. With
    KRaft the controllers are asked one after the other, until the active one answers.
    """

    examples = ("{do: alter_reassignments, at: 70s, partitions: [{topic: orders, partition: 0}]}",)

    do: Literal["alter_reassignments"]
    partitions: Annotated[parts.Listed[AlteredMove], AfterValidator(_some)] = Field(
        description="Partitions to move, and their new replicas."
    )

    def moves(self) -> Sequence[AlteredMove]:
        """The partitions whose replicas it moves."""
        return self.partitions

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """Controllers that do not know the request."""
        yield from _old_controllers(path, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The moves."""
        moves = numbers.moves(self.partitions)
        record.first_move, record.move_count = moves.start, len(moves)


class VerifyReassignmentStep(StepOfAnyKind):
    """kafka-reassign-partitions --verify: remove all throttles if nothing is in progress."""

    examples = ("{do: verify_reassignment, when: {reassigned: true}, within: 10m}",)

    do: Literal["verify_reassignment"]


TopicStep = (
    PreferredElectionStep
    | UncleanElectionStep
    | ConfigureStep
    | CreateTopicStep
    | DeleteTopicStep
    | ReassignStep
    | AlterReassignmentsStep
    | VerifyReassignmentStep
)
