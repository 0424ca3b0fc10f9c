"""The steps of a scenario: actions, one after the other, each when its condition is met.

A step waits for the one before it, and then for a time (``at``), for a while (``after``, from
the end of the step before, or from the start of the run), or until a condition holds
(``when``). A condition that does not hold ``within`` its time fails the run: it continues without
that step and the later ones.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, get_args

from pydantic import (
    BeforeValidator,
    Discriminator,
    Field,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from tidegauge.scenario.model.duration_fields import Duration, PositiveDuration
from tidegauge.scenario.model.parts import (
    BrokerId,
    BrokerIds,
    Listed,
    Name,
    Offset,
    OfPartition,
    Part,
    one_of,
    without_repetition,
)
from tidegauge.scenario.model.settings import Settings, acks_number

#: In a condition on the leader: the partition has no leader.
NO_LEADER = -1


_ACKS = ("all", "0", "1", "-1", 0, 1, -1)


def _acks(value: object) -> int:
    if isinstance(value, bool) or value not in _ACKS:
        raise ValueError(f"must be all, 0 or 1, not {value!r}")
    return acks_number(value)


class IsrIs(OfPartition):
    """The ISR in ZooKeeper has exactly these members, in any order."""

    members: BrokerIds = Field(alias="is", description="Ids of brokers.")


class LeaderIs(OfPartition):
    """The leader in ZooKeeper is this broker, or is not this broker."""

    leader: int | None = Field(
        default=None,
        alias="is",
        ge=NO_LEADER,
        description="Id of the broker that leads; -1: the partition has no leader.",
    )
    former: BrokerId | None = Field(
        default=None,
        alias="is_not",
        description="Id of a broker that does not lead: another broker leads, or none.",
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.leader is None) == (self.former is None):
            raise ValueError("must have either `is` or `is_not`")
        return self


class Condition(Part):
    """The condition that a step waits for: exactly one field."""

    isr: IsrIs | None = Field(default=None, description="The ISR of a partition is as given.")
    leader: LeaderIs | None = Field(
        default=None, description="The leader of a partition is as given."
    )
    registered: BrokerIds | None = Field(
        default=None, description="At least these brokers are registered in ZooKeeper."
    )
    unregistered: BrokerIds | None = Field(
        default=None, description="None of these brokers is registered in ZooKeeper."
    )
    controller: BrokerId | None = Field(default=None, description="This broker is controller.")
    answered: Literal[True] | None = Field(
        default=None,
        description="All responses have arrived that a produce step did not wait for, or the "
        "connections of their requests are closed.",
    )
    reassigned: Literal[True] | None = Field(
        default=None, description="No reassignment of a partition is in progress."
    )
    quiescent: Literal[True] | None = Field(
        default=None,
        description="Every live leader's ISR has all live replicas, no notification is pending, "
        "and ZooKeeper has had no write for a while (1.5 s).",
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError(
                "must be one condition: isr, leader, registered, unregistered, controller, "
                "answered, reassigned or quiescent"
            )
        return self


class StepOfAnyKind(Part):
    """The time at which a step is taken."""

    at_us: Duration | None = Field(default=None, alias="at", description="At this time of the run.")
    after_us: Duration | None = Field(
        default=None,
        alias="after",
        description="Delay after the step before, or after the start of the run.",
    )
    when: Condition | None = Field(default=None, description="As soon as this condition holds.")
    within_us: PositiveDuration | None = Field(
        default=None,
        alias="within",
        description="With `when`: longest wait. After it this step and all later ones are not "
        "taken, and the run counts as failed.",
    )

    @model_validator(mode="after")
    def _begins_in_one_way(self) -> Self:
        if sum(begin is not None for begin in (self.at_us, self.after_us, self.when)) != 1:
            raise ValueError("must begin in one way: at, after or when")
        if (self.when is None) != (self.within_us is None):
            raise ValueError("within says how long `when` may take: both are there, or neither")
        return self


class AdminStep(StepOfAnyKind):
    """A step that makes the controller move replicas or delete a topic.

    In a scenario without such a step, what is written into /admin for both is left out
    (``ClusterPlan.tree_ranges``).
    """


class RequestStep(OfPartition, StepOfAnyKind):
    """A request of a client to a partition's leader."""

    to: BrokerId | None = Field(
        default=None,
        description="Broker that gets the request, such as a former leader whose state is "
        "stale. Default: the leader in ZooKeeper; if there is none, the step ends.",
    )


class ProduceStep(RequestStep):
    """Send one batch, and wait for the response."""

    do: Literal["produce"]
    records: int = Field(default=1, ge=1, lt=2**31, description="Records in the batch.")
    acks: Annotated[int, BeforeValidator(_acks), WithJsonSchema({"enum": list(_ACKS)})] = Field(
        default=-1, description="all (-1), 0 or 1."
    )
    timeout_us: PositiveDuration = Field(
        default=30_000_000, alias="timeout", description="Timeout of the request."
    )
    wait: bool = Field(
        default=True,
        description="true: the step ends with the response. false: it ends at once, and the "
        "response is recorded when it arrives.",
    )


class FetchStep(RequestStep):
    """Fetch once, as a consumer does."""

    do: Literal["fetch"]
    offset: Offset = Field(description="Offset from which the fetch reads.")


class AskEpochStep(OfPartition, StepOfAnyKind):
    """Ask a broker where a leader epoch ends, by OffsetsForLeaderEpoch."""

    do: Literal["ask_epoch"]
    broker: BrokerId | None = Field(
        default=None, description="Broker that gets the request. Default: the leader in ZooKeeper."
    )
    leader_epoch: int = Field(ge=-1, lt=2**31, description="Leader epoch of the request; -1: none.")


class PreferredElectionStep(StepOfAnyKind):
    """Request a preferred election from the controller, by /admin/preferred_replica_election."""

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


class ConfigureStep(StepOfAnyKind):
    """Change settings of a topic or of brokers in ZooKeeper, and notify the brokers."""

    do: Literal["configure"]
    topic: str | None = Field(default=None, description="Name of the topic.")
    brokers: BrokerIds | None = Field(
        default=None,
        description="Ids of brokers, instead of a topic. Only their throttled rates can change "
        "while they run.",
    )
    settings: Settings = Field(description="Settings to change; all others keep their values.")

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


class CreateTopicStep(StepOfAnyKind):
    """Create a topic that does not exist: not created yet, or deleted by an earlier step."""

    do: Literal["create_topic"]
    topic: str = Field(description="Name of the topic, one of `topics`.")


class DeleteTopicStep(AdminStep):
    """Delete a topic, by /admin/delete_topics: it is gone once all its brokers have deleted it."""

    do: Literal["delete_topic"]
    topic: str = Field(description="Name of the topic.")


class AlteredMove(OfPartition):
    """The new replicas of a partition, or the cancellation of its reassignment."""

    replicas: BrokerIds | None = Field(
        default=None,
        description="Ids of brokers, the preferred leader first. Default: the reassignment in "
        "progress is cancelled.",
    )


class Move(AlteredMove):
    """The new replicas of a partition."""

    replicas: BrokerIds = Field(description="Ids of brokers, the preferred leader first.")


class ReassignStep(AdminStep):
    """Move replicas, by /admin/reassign_partitions.

    The JSON of kafka-reassign-partitions can be used here unchanged. Like that tool, the step
    requests nothing while an earlier reassignment is in progress: wait `when: {reassigned: true}`.
    """

    do: Literal["reassign"]
    version: Literal[1] = Field(default=1, description="Version of the format, as in Kafka's JSON.")
    partitions: Listed[Move] = Field(description="Partitions to move, and their new replicas.")
    throttle: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="The tool's --throttle, in bytes per second: a limit for each broker that "
        "sends or receives moving replicas. It remains until a step verify_reassignment.",
    )

    @field_validator("partitions")
    @classmethod
    def _name_each_once(cls, moves: tuple[Move, ...]) -> tuple[Move, ...]:
        if not moves:
            raise ValueError("must have at least 1 item")
        without_repetition(tuple(f"{move.topic}-{move.partition}" for move in moves))
        return moves


class AlterReassignmentsStep(AdminStep):
    """Start, replace or cancel reassignments, by AlterPartitionReassignments.

    The request goes to the controller named in ZooKeeper; if there is none, the step ends.
    """

    do: Literal["alter_reassignments"]
    partitions: Listed[AlteredMove] = Field(
        description="Partitions to move, and their new replicas."
    )

    @field_validator("partitions")
    @classmethod
    def _name_each_once(cls, moves: tuple[AlteredMove, ...]) -> tuple[AlteredMove, ...]:
        if not moves:
            raise ValueError("must have at least 1 item")
        without_repetition(tuple(f"{move.topic}-{move.partition}" for move in moves))
        return moves


class VerifyReassignmentStep(StepOfAnyKind):
    """kafka-reassign-partitions --verify: remove all throttles if nothing is in progress."""

    do: Literal["verify_reassignment"]


class RestartConsumersStep(StepOfAnyKind):
    """Kill and restart the consumers of a group: they resume at their committed offsets."""

    do: Literal["restart_consumers"]
    group: Name = Field(description="Name of the group, one that commits (enable.auto.commit).")


class ObserveStep(StepOfAnyKind):
    """Record every replica's log, checkpoint files and high watermark."""

    do: Literal["observe"]


class WaitStep(StepOfAnyKind):
    """Wait, without any action."""

    do: Literal["wait"]


class BeginFaultStep(StepOfAnyKind):
    """Begin a fault that has no `at`."""

    do: Literal["begin_fault"]
    fault: Name = Field(description="Name of the fault.")


class EndFaultStep(StepOfAnyKind):
    """End a fault."""

    do: Literal["end_fault"]
    fault: Name = Field(description="Name of the fault.")


#: The kinds of :class:`AdminStep`, as written in a file.
ADMIN_STEPS = frozenset(
    kind
    for step in AdminStep.__subclasses__()
    for kind in get_args(step.model_fields["do"].annotation)
)

Step = Annotated[
    ProduceStep
    | FetchStep
    | AskEpochStep
    | PreferredElectionStep
    | ConfigureStep
    | CreateTopicStep
    | DeleteTopicStep
    | ReassignStep
    | AlterReassignmentsStep
    | VerifyReassignmentStep
    | RestartConsumersStep
    | ObserveStep
    | WaitStep
    | BeginFaultStep
    | EndFaultStep,
    Discriminator("do"),
    one_of(
        "do",
        *("produce", "fetch", "ask_epoch", "preferred_election", "configure"),
        *(
            "create_topic",
            "delete_topic",
            "reassign",
            "alter_reassignments",
            "verify_reassignment",
            "restart_consumers",
            "observe",
            "wait",
            "begin_fault",
            "end_fault",
        ),
    ),
]
