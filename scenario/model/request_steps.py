"""Steps that restart clients, record state, wait, and begin or end faults.

Steps that send a request to a broker.

The steps of a scenario: actions, one after the other, each when its condition is met.

``step.py`` says when a step is taken, and how to add a kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, WithJsonSchema

from tidegauge.replication.release_versions import Release
from tidegauge.scenario.model import parts
from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.quorum_steps import QuorumStep
from tidegauge.scenario.model.references import broker_is_there, no_such, partition_is_there
from tidegauge.scenario.model.settings import acks_number
from tidegauge.scenario.model.step import Numbers, StepOfAnyKind
from tidegauge.scenario.model.topic_steps import AdminStep, TopicStep
from tidegauge.scenario.text.errors import Path, Problem

if TYPE_CHECKING:  # as in step.py
    from tidegauge.clients.client_state import Step as StepRecord


class RestartConsumersStep(StepOfAnyKind):
    """Kill and restart the consumers of a group: they resume at their committed offsets."""

    examples = ("{do: restart_consumers, at: 1m, group: billing}",)

    do: Literal["restart_consumers"]
    group: parts.Name = Field(
        description="Name of the group, one that commits (enable.auto.commit)."
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A group that does not exist, or commits nothing."""
        path = (*path, "group")
        groups = {group.name: group for group in scenario.workload.consumers}
        if self.group not in groups:
            yield Problem(path, no_such("group of consumers", self.group, groups))
        elif not scenario.consumer_settings(groups[self.group])["enable.auto.commit"]:
            message = f"{self.group} commits nothing to begin with: it needs enable.auto.commit"
            yield Problem(path, message)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The clients of the group."""
        restarted = numbers.consumers(self.group)
        record.first_process, record.process_count = restarted.start, len(restarted)


class ObserveStep(StepOfAnyKind):
    """Record every replica's log, checkpoint files and high watermark."""

    examples = ("{do: observe, when: {quiescent: true}, within: 30s}",)

    do: Literal["observe"]


class WaitStep(StepOfAnyKind):
    """Wait, without any action."""

    examples = ("{do: wait, after: 10s}",)

    do: Literal["wait"]


class FaultStep(StepOfAnyKind):
    """A step that begins or ends a fault; whether it can is checked with the steps before it."""

    do: str
    fault: parts.Name = Field(description="Name of the fault.")

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The fault."""
        record.fault = numbers.fault(self.fault)


class BeginFaultStep(FaultStep):
    """Begin a fault that has no `at`."""

    examples = ("{do: begin_fault, at: 1m, fault: power}",)

    do: Literal["begin_fault"]


class EndFaultStep(FaultStep):
    """End a fault."""

    examples = ("{do: end_fault, after: 30s, fault: power}",)

    do: Literal["end_fault"]


class ReleaseStep(StepOfAnyKind):
    """Release the messages that a pin holds; it takes no others from then on."""

    examples = (
        (
            "{do: release, when: {leader: {topic: orders, partition: 0, is: 3}}, within: 30s, "
            "pin: stale-epoch}"
        ),
    )

    do: Literal["release"]
    pin: parts.Name = Field(description="Name of the pin.")

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The pin."""
        record.pin = numbers.pin(self.pin)


OperatorStep = (
    RestartConsumersStep | ObserveStep | WaitStep | BeginFaultStep | EndFaultStep | ReleaseStep
)


if TYPE_CHECKING:  # as in step.py
    from tidegauge.clients.client_state import Step as StepRecord

#: KIP-113: AlterReplicaLogDirs moves logs.
_FIRST_TO_MOVE = Release.parse("1.1.0")

_ACKS = ("all", "0", "1", "-1", 0, 1, -1)


def _acks(value: object) -> int:
    if isinstance(value, bool) or value not in _ACKS:
        raise ValueError(f"must be all, 0 or 1, not {value!r}")
    return acks_number(value)


class RequestStep(parts.OfPartition, StepOfAnyKind):
    """A request of a client to a partition's leader."""

    to: parts.BrokerId | None = Field(
        default=None,
        description="Broker that gets the request, such as a former leader whose state is "
        "stale. Default: the leader in ZooKeeper or in the quorum's metadata; if there is none, "
        "the step ends.",
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A partition or a broker that does not exist."""
        yield from partition_is_there(path, self, scenario)
        if self.to is not None:
            yield from broker_is_there((*path, "to"), self.to, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The receiver of the request."""
        record.partition = numbers.partition(self.topic, self.partition)
        if self.to is not None:
            record.to = numbers.broker(self.to)


class ProduceStep(RequestStep):
    """Send one batch, and wait for the response."""

    examples = (
        (
            "{do: produce, at: 10s, topic: orders, partition: 0, to: 1, records: 5, acks: all, "
            "timeout: 5s, wait: false}"
        ),
    )

    do: Literal["produce"]
    records: Annotated[int, parts.Unit("records")] = Field(
        default=1, ge=1, lt=2**31, description="Records in the batch."
    )
    acks: Annotated[int, BeforeValidator(_acks), WithJsonSchema({"enum": list(_ACKS)})] = Field(
        default=-1, description="all (-1), 0 or 1."
    )
    timeout_us: parts.PositiveDuration = Field(
        default=30_000_000, alias="timeout", description="Timeout of the request."
    )
    wait: bool = Field(
        default=True,
        description="true: the step ends with the response. false: it ends at once, and the "
        "response is recorded when it arrives.",
    )

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The batch."""
        super().plan(record, numbers)
        record.records = self.records
        record.acks = self.acks
        record.timeout_us = self.timeout_us
        record.unattended = not self.wait


class FetchStep(RequestStep):
    """Fetch once, as a consumer does."""

    examples = ("{do: fetch, at: 10s, topic: orders, partition: 0, to: 1, offset: 100}",)

    do: Literal["fetch"]
    offset: parts.Offset = Field(description="Offset from which the fetch reads.")

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The offset."""
        super().plan(record, numbers)
        record.offset = self.offset


class ListOffsetsStep(RequestStep):
    """Ask for the latest offset once, by ListOffsets, as a consumer does."""

    examples = ("{do: list_offsets, at: 10s, topic: orders, partition: 0, to: 1}",)

    do: Literal["list_offsets"]


class AskEpochStep(parts.OfPartition, StepOfAnyKind):
    """Ask a broker where a leader epoch ends, by OffsetsForLeaderEpoch."""

    examples = (
        "{do: ask_epoch, at: 10s, topic: orders, partition: 0, broker: 1, leader_epoch: 2}",
    )

    do: Literal["ask_epoch"]
    broker: parts.BrokerId | None = Field(
        default=None,
        description="Broker that gets the request. Default: the leader in ZooKeeper or in the "
        "quorum's metadata.",
    )
    leader_epoch: int = Field(ge=-1, lt=2**31, description="Leader epoch of the request; -1: none.")

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A partition or a broker that does not exist."""
        yield from partition_is_there(path, self, scenario)
        if self.broker is not None:
            yield from broker_is_there((*path, "broker"), self.broker, scenario)

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The epoch, and the receiver of the request."""
        record.partition = numbers.partition(self.topic, self.partition)
        if self.broker is not None:
            record.to = numbers.broker(self.broker)
        record.leader_epoch = self.leader_epoch


class MoveLogDirStep(parts.OfPartition, StepOfAnyKind):
    """Move a broker's replica of a partition to another log directory, by AlterReplicaLogDirs."""

    examples = (
        (
            "{do: move_log_dir, at: 10s, topic: orders, partition: 0, broker: 1, directory: 2, "
            "flush_at_end: false}"
        ),
    )

    do: Literal["move_log_dir"]
    broker: parts.BrokerId = Field(description="Broker whose replica moves.")
    directory: Annotated[int, parts.Unit("directory number")] = Field(
        ge=1, description="Number of the log directory, from 1 to the cluster's `log_directories`."
    )
    flush_at_end: bool = Field(
        default=False,
        description="true: a flush of the log runs as the end of the move closes it. Releases "
        "before 4.0.2, and 4.1.0 and 4.1.1, then give up the whole log directory (KAFKA-19571).",
    )

    def problems(self, path: Path, scenario: Deployment) -> Iterator[Problem]:
        """A partition, a broker or a directory that does not exist, or a release without moves."""
        yield from partition_is_there(path, self, scenario)
        yield from broker_is_there((*path, "broker"), self.broker, scenario)
        count = scenario.cluster.log_directories
        if self.directory > count:
            yield Problem((*path, "directory"), f"each broker has {count} (log_directories)")
        if self.broker in scenario.broker_ids():
            release = scenario.release_of(self.broker).release
            if Release.parse(release) < _FIRST_TO_MOVE:
                message = f"is simulated from 1.1 on, and broker {self.broker} has release"
                yield Problem((*path, "do"), f"{message} {release}")

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """Which replica moves where, and what happens at the end."""
        record.partition = numbers.partition(self.topic, self.partition)
        record.to = numbers.broker(self.broker)
        record.directory = self.directory - 1
        record.flushed = self.flush_at_end


BrokerRequest = ProduceStep | FetchStep | ListOffsetsStep | AskEpochStep | MoveLogDirStep


#: The kinds of steps, by the names that scenarios give them.
STEPS: Mapping[str, type[StepOfAnyKind]] = parts.kinds_of(
    BrokerRequest | TopicStep | QuorumStep | OperatorStep, "do"
)

#: The kinds of :class:`AdminStep`.
ADMIN_STEPS = frozenset(kind for kind, step in STEPS.items() if issubclass(step, AdminStep))

Step = Annotated[
    BrokerRequest | TopicStep | QuorumStep | OperatorStep,
    Discriminator("do"),
    parts.one_of("do", *STEPS),
]
