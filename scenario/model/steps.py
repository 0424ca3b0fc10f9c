"""The steps of a scenario: what is done, one after the other, each when its time has come.

A step waits for the one before it, and then for a time (``at``), for a while (``after``, from
the end of the step before, or from the start of the run), or until a condition holds
(``when``). A condition that does not hold ``within`` its time ends the run as a failure.
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

#: In a condition on the leader: nobody leads.
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
    """The leader in ZooKeeper is this broker, or is any other."""

    leader: int | None = Field(
        default=None, alias="is", ge=NO_LEADER, description="Id of a broker, -1 for nobody."
    )
    former: BrokerId | None = Field(
        default=None, alias="is_not", description="Id of a broker: somebody else, or nobody, leads."
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.leader is None) == (self.former is None):
            raise ValueError("must say who it `is`, or who it `is_not`")
        return self


class Condition(Part):
    """What a step waits for; one of these."""

    isr: IsrIs | None = Field(default=None, description="The ISR of a partition.")
    leader: LeaderIs | None = Field(default=None, description="The leader of a partition.")
    registered: BrokerIds | None = Field(default=None, description="These brokers are, or more.")
    unregistered: BrokerIds | None = Field(default=None, description="None of these brokers is.")
    controller: BrokerId | None = Field(default=None, description="This broker is controller.")
    answered: Literal[True] | None = Field(
        default=None,
        description="All answers have come that a produce step has not waited for, or the "
        "connections are closed on which they were asked for.",
    )
    reassigned: Literal[True] | None = Field(
        default=None, description="No partition is being reassigned any more."
    )
    quiescent: Literal[True] | None = Field(
        default=None,
        description="Every live leader's ISR has all live replicas, no notification is left, and "
        "ZooKeeper has not been written to for a while (1.5 s).",
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
    """When a step is done."""

    at_us: Duration | None = Field(default=None, alias="at", description="At this time of the run.")
    after_us: Duration | None = Field(
        default=None,
        alias="after",
        description="So long after the step before, or the start of the run.",
    )
    when: Condition | None = Field(default=None, description="As soon as this holds.")
    within_us: PositiveDuration | None = Field(
        default=None, alias="within", description="With `when`: how long that may take."
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

    Where there is none, the znodes of /admin for both are left out (``ClusterPlan.admin_znodes``).
    """


class RequestStep(OfPartition, StepOfAnyKind):
    """What a client asks of a partition's leader."""

    to: BrokerId | None = Field(
        default=None,
        description="The broker that is asked, such as a former leader that does not know yet. "
        "Default: whoever leads by ZooKeeper; if nobody does, the step is over.",
    )


class ProduceStep(RequestStep):
    """Send one batch, and wait for the answer."""

    do: Literal["produce"]
    records: int = Field(default=1, ge=1, lt=2**31, description="Records in the batch.")
    acks: Annotated[int, BeforeValidator(_acks), WithJsonSchema({"enum": list(_ACKS)})] = Field(
        default=-1, description="all (-1), 0 or 1."
    )
    timeout_us: PositiveDuration = Field(
        default=30_000_000, alias="timeout", description="How long the answer may take."
    )
    wait: bool = Field(
        default=True,
        description="Go on when the answer is there. Else go on at once; the answer is written "
        "down when it comes.",
    )


class FetchStep(RequestStep):
    """Fetch once, as a consumer does."""

    do: Literal["fetch"]
    offset: Offset = Field(description="From which offset on.")


class AskEpochStep(OfPartition, StepOfAnyKind):
    """Ask a broker where a leader epoch ends, by OffsetsForLeaderEpoch."""

    do: Literal["ask_epoch"]
    broker: BrokerId | None = Field(
        default=None, description="Which broker. Default: whoever leads by ZooKeeper."
    )
    leader_epoch: int = Field(ge=-1, lt=2**31, description="Which epoch; -1: none.")


class PreferredElectionStep(StepOfAnyKind):
    """Ask the controller for a preferred election, by /admin/preferred_replica_election."""

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
    """Change settings of a topic or of brokers: in ZooKeeper, and the brokers are told."""

    do: Literal["configure"]
    topic: str | None = Field(default=None, description="Name of the topic.")
    brokers: BrokerIds | None = Field(
        default=None,
        description="... or ids of brokers, whose throttled rates alone change while they run.",
    )
    settings: Settings = Field(description="What changes; other settings stay.")

    @field_validator("settings")
    @classmethod
    def _change_something(cls, settings: dict[str, int | str]) -> dict[str, int | str]:
        if not settings:
            raise ValueError("must have a setting to change")
        return settings

    @model_validator(mode="after")
    def _is_about_a_topic_or_brokers(self) -> Self:
        if (self.topic is None) == (self.brokers is None):
            raise ValueError("must say whose settings: a topic's, or those of brokers")
        return self


class CreateTopicStep(StepOfAnyKind):
    """Create a topic that is not there: no step before has created it, or one has deleted it."""

    do: Literal["create_topic"]
    topic: str = Field(description="Name of the topic, one of `topics`.")


class DeleteTopicStep(AdminStep):
    """Delete a topic, by /admin/delete_topics; it is gone when all its brokers have deleted it."""

    do: Literal["delete_topic"]
    topic: str = Field(description="Name of the topic.")


class AlteredMove(OfPartition):
    """The replicas that a partition is to have instead."""

    replicas: BrokerIds | None = Field(
        default=None,
        description="Ids of brokers, the preferred leader first. Default: what is on its way is "
        "cancelled.",
    )


class Move(AlteredMove):
    """The replicas that a partition is to have."""

    replicas: BrokerIds = Field(description="Ids of brokers, the preferred leader first.")


class ReassignStep(AdminStep):
    """Move replicas, by /admin/reassign_partitions.

    What kafka-reassign-partitions takes as JSON can stand here as it is. As that tool does, it
    asks for nothing as long as an earlier one has not ended: wait `when: {reassigned: true}`.
    """

    do: Literal["reassign"]
    version: Literal[1] = Field(default=1, description="Of Kafka's JSON.")
    partitions: Listed[Move] = Field(description="Which partitions, and where to.")
    throttle: int | None = Field(
        default=None,
        ge=0,
        lt=2**63,
        description="The tool's --throttle, in bytes a second: a limit for each broker that sends "
        "or gets the replicas that move. It stays until a step verify_reassignment.",
    )

    @field_validator("partitions")
    @classmethod
    def _name_each_once(cls, moves: tuple[Move, ...]) -> tuple[Move, ...]:
        if not moves:
            raise ValueError("must have at least 1 item")
        without_repetition(tuple(f"{move.topic}-{move.partition}" for move in moves))
        return moves


class AlterReassignmentsStep(AdminStep):
    """Move replicas, or replace or cancel what is on its way, by AlterPartitionReassignments.

    The broker that is controller by ZooKeeper is asked; if there is none the step is over.
    """

    do: Literal["alter_reassignments"]
    partitions: Listed[AlteredMove] = Field(description="Which partitions, and where to.")

    @field_validator("partitions")
    @classmethod
    def _name_each_once(cls, moves: tuple[AlteredMove, ...]) -> tuple[AlteredMove, ...]:
        if not moves:
            raise ValueError("must have at least 1 item")
        without_repetition(tuple(f"{move.topic}-{move.partition}" for move in moves))
        return moves


class VerifyReassignmentStep(StepOfAnyKind):
    """kafka-reassign-partitions --verify: if nothing is being moved, all throttles are removed."""

    do: Literal["verify_reassignment"]


class RestartConsumersStep(StepOfAnyKind):
    """Kill the consumers of a group and start them anew: they read on where they have committed."""

    do: Literal["restart_consumers"]
    group: Name = Field(description="Name of the group, one that commits (enable.auto.commit).")


class ObserveStep(StepOfAnyKind):
    """Write down what every replica has in its log and files, and its high watermark."""

    do: Literal["observe"]


class WaitStep(StepOfAnyKind):
    """Do nothing but wait."""

    do: Literal["wait"]


class BeginFaultStep(StepOfAnyKind):
    """Begin a fault that has no `at`."""

    do: Literal["begin_fault"]
    fault: Name = Field(description="Name of the fault.")


class EndFaultStep(StepOfAnyKind):
    """End a fault."""

    do: Literal["end_fault"]
    fault: Name = Field(description="Name of the fault.")


#: The kinds of :class:`AdminStep`, as they are in a file.
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
