"""The steps of a scenario: what is done, one after the other, each when its time has come.

A step waits for the one before it, and then for a time (``at``), for a while (``after``, from
the end of the step before, or from the start of the run), or until a condition holds
(``when``). A condition that does not hold ``within`` its time ends the run as a failure.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, model_validator

from tidegauge.simulation.durations import Duration, PositiveDuration
from tidegauge.simulation.scenario_parts import BrokerIds, Name, Part, one_of
from tidegauge.simulation.scenario_settings import acks_number

#: In a condition on the leader: nobody leads.
NO_LEADER = -1


def _acks(value: object) -> int:
    if isinstance(value, bool) or value not in ("all", "0", "1", "-1", 0, 1, -1):
        raise ValueError(f"must be all, 0 or 1, not {value!r}")
    return acks_number(value)


Offset = Annotated[int, Field(ge=0, lt=2**63)]


class OfPartition(Part):
    """What has to do with one partition."""

    topic: str = Field(description="Name of the topic.")
    partition: int = Field(ge=0, description="Number of the partition.")


class IsrIs(OfPartition):
    """The ISR in ZooKeeper has exactly these members, in any order."""

    members: BrokerIds = Field(alias="is", description="Ids of brokers.")


class LeaderIs(OfPartition):
    """The leader in ZooKeeper is this broker."""

    leader: int = Field(alias="is", ge=NO_LEADER, description="Id of a broker, -1 for nobody.")


class Condition(Part):
    """What a step waits for; one of these."""

    isr: IsrIs | None = Field(default=None, description="The ISR of a partition.")
    leader: LeaderIs | None = Field(default=None, description="The leader of a partition.")
    registered: BrokerIds | None = Field(default=None, description="These brokers are, or more.")

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(part is not None for part in (self.isr, self.leader, self.registered)) != 1:
            raise ValueError("must be one condition: isr, leader or registered")
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


class ProduceStep(OfPartition, StepOfAnyKind):
    """Send one batch to the partition's leader, and wait for its answer."""

    do: Literal["produce"]
    records: int = Field(default=1, ge=1, lt=2**31, description="Records in the batch.")
    acks: Annotated[int, BeforeValidator(_acks)] = Field(
        default=-1, description="all (-1), 0 or 1."
    )
    timeout_us: PositiveDuration = Field(
        default=30_000_000, alias="timeout", description="How long the answer may take."
    )


class FetchStep(OfPartition, StepOfAnyKind):
    """Fetch once from the partition's leader, as a consumer does."""

    do: Literal["fetch"]
    offset: Offset = Field(description="From which offset on.")


class BeginFaultStep(StepOfAnyKind):
    """Begin a fault that has no `at`."""

    do: Literal["begin_fault"]
    fault: Name = Field(description="Name of the fault.")


class EndFaultStep(StepOfAnyKind):
    """End a fault."""

    do: Literal["end_fault"]
    fault: Name = Field(description="Name of the fault.")


Step = Annotated[
    ProduceStep | FetchStep | BeginFaultStep | EndFaultStep,
    Discriminator("do"),
    one_of("do", "produce", "fetch", "begin_fault", "end_fault"),
]
