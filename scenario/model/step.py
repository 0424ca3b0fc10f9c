"""A step of any kind: when it is taken, and the facts that each kind gives about itself.

A step waits for the one before it, and then for a time (``at``), for a while (``after``, from
the end of the step before, or from the start of the run), or until a condition holds
(``when``). A condition that does not hold ``within`` its time fails the run: it continues without
that step and the later ones.

**To add a step** takes two files. One is ``request_steps.py``, ``topic_steps.py`` or
``quorum_steps.py``: a class that gives the facts of :class:`StepOfAnyKind` that differ from the
defaults here, and its name in the union at the end of that file. The other has its rule in the
kernel, with the code of its action beside it: ``X = STEP_CODES.new("x", number)``
(``clients/steps.py``, ``clients/admin_requests.py``, ``clients/step_requests.py``). Then the pages
and the schema are written again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self

from pydantic import Field, model_validator

from tidegauge.scenario.model import parts
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.settings import Value
from tidegauge.scenario.text.errors import Path, Problem

if TYPE_CHECKING:  # scenarios are read without the kernel: its import takes a second
    from tidegauge.clients.client_state import Step as StepRecord

#: In a condition on the leader: the partition has no leader.
NO_LEADER = -1


class IsrIs(parts.OfPartition):
    """The ISR in ZooKeeper or in the quorum's metadata has exactly these members, in any order."""

    examples = ("{topic: orders, partition: 0, is: [1, 2]}",)

    members: parts.BrokerIds = Field(alias="is", description="Ids of brokers.")


class LeaderIs(parts.OfPartition):
    """The leader in ZooKeeper or in the quorum's metadata is this broker, or is not this broker."""

    examples = (
        "{topic: orders, partition: 0, is: 2}",
        "{topic: orders, partition: 0, is_not: 1}",
    )

    leader: int | None = Field(
        default=None,
        alias="is",
        ge=NO_LEADER,
        description="Id of the broker that leads; -1: the partition has no leader.",
    )
    former: parts.BrokerId | None = Field(
        default=None,
        alias="is_not",
        description="Id of a broker that does not lead: another broker leads, or none.",
    )

    @model_validator(mode="after")
    def _says_one_thing(self) -> Self:
        if (self.leader is None) == (self.former is None):
            raise ValueError("must have either `is` or `is_not`")
        return self


class Condition(parts.Part):
    """The condition that a step waits for: exactly one field."""

    examples = (
        "{isr: {topic: orders, partition: 0, is: [1, 2]}}",
        "{leader: {topic: orders, partition: 0, is: 2}}",
        "{registered: [1, 2, 3]}",
        "{unregistered: [2]}",
        "{controller: 4}",
        "{answered: true}",
        "{reassigned: true}",
        "{quiescent: true}",
        "{rolled: roll}",
        "{observes: 3}",
        "{voters: [0, 1, 3]}",
        "{leads: [0, 2]}",
    )

    isr: IsrIs | None = Field(default=None, description="The ISR of a partition is as given.")
    leader: LeaderIs | None = Field(
        default=None, description="The leader of a partition is as given."
    )
    registered: parts.BrokerIds | None = Field(
        default=None,
        description="At least these brokers are registered in ZooKeeper; in mode kraft: unfenced.",
    )
    unregistered: parts.BrokerIds | None = Field(
        default=None,
        description="None of these brokers is registered in ZooKeeper; in mode kraft: each is "
        "fenced, or has not registered yet.",
    )
    controller: parts.BrokerId | None = Field(
        default=None, description="This broker is controller."
    )
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
        "and ZooKeeper has had no write for a while (1.5 s). In mode kraft: the unfenced brokers "
        "are those that run, no partition without leader has an unfenced replica in its ISR or "
        "among its eligible leaders, and no record was committed for that while.",
    )

    rolled: parts.Name | None = Field(
        default=None,
        description="This rolling restart has restarted all its servers; one that has given up "
        "never has.",
    )
    observes: parts.ControllerNumber | None = Field(
        default=None,
        description="This controller, by its number, is no voter with the directory that it has: "
        "it fetches from the active one, and is caught up.",
    )
    voters: parts.ControllerNumbers | None = Field(
        default=None,
        description="The voters are exactly these controllers, by their numbers, and the active "
        "one has committed that.",
    )

    leads: parts.ControllerNumbers | None = Field(
        default=None,
        description="One of these controllers of a KRaft quorum, by their numbers, is the active "
        "one.",
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if sum(getattr(self, name) is not None for name in type(self).model_fields) != 1:
            raise ValueError(
                "must be one condition: isr, leader, registered, unregistered, controller, "
                "answered, reassigned, quiescent, rolled, observes, voters or leads"
            )
        return self


class AlteredMove(parts.OfPartition):
    """The new replicas of a partition, or the cancellation of its reassignment."""

    examples: ClassVar[tuple[str, ...]] = ("{topic: orders, partition: 0, replicas: [2, 3, 5]}",)

    replicas: parts.BrokerIds | None = Field(
        default=None,
        description="Ids of brokers, the preferred leader first. Default: the reassignment in "
        "progress is cancelled.",
    )


class Numbers(Protocol):
    """The numbers in the kernel of all that a step can name."""

    def broker(self, id_: int) -> int:
        """The index of a broker."""

    def partition(self, topic: str, partition: int) -> int:
        """The number of a partition within the cluster."""

    def topic(self, name: str) -> int:
        """The number of a topic."""

    def fault(self, name: str) -> int:
        """The number of a fault."""

    def pin(self, name: str) -> int:
        """The number of a pin."""

    def metadata_version(self, text: str) -> int:
        """The place of a metadata.version, in full, among those of the run."""

    def consumers(self, group: str) -> range:
        """The processes of a group of consumers."""

    def brokers(self, ids: Iterable[int]) -> range:
        """The places of these brokers among the members that steps name."""

    def moves(self, moves: Sequence[AlteredMove]) -> range:
        """The places of these moves among those of all steps."""

    def throttled(self, topic: str, settings: Mapping[str, Value]) -> range:
        """The places of the replicas that these settings throttle among those of all steps."""


class StepOfAnyKind(parts.Part):
    """The time at which a step is taken."""

    examples: ClassVar[tuple[str, ...]] = (
        "{at: 90s}",
        "{after: 5s}",
        "{when: {quiescent: true}, within: 30s}",
    )

    at_us: parts.Duration | None = Field(
        default=None, alias="at", description="At this time of the run."
    )
    after_us: parts.Duration | None = Field(
        default=None,
        alias="after",
        description="Delay after the step before, or after the start of the run.",
    )
    when: Condition | None = Field(default=None, description="As soon as this condition holds.")
    within_us: parts.PositiveDuration | None = Field(
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
            raise ValueError("within is the timeout of `when`: both are there, or neither")
        return self

    def action(self) -> str:
        """The name of its code in the kernel, which is that of its kind unless it has several."""
        return parts.kind_of(type(self), "do")

    def moves(self) -> Sequence[AlteredMove]:
        """The partitions whose replicas it moves."""
        return ()

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """The problems of its fields with the cluster and the clients."""
        del path, scenario
        yield from ()

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """Enter its own fields into its record in the kernel."""
