"""Steps that send a request to a broker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from tidegauge.scenario.model.deployment import Deployment
from tidegauge.scenario.model.duration_fields import PositiveDuration
from tidegauge.scenario.model.parts import BrokerId, Offset, OfPartition, Unit
from tidegauge.scenario.model.references import broker_is_there, partition_is_there
from tidegauge.scenario.model.settings import acks_number
from tidegauge.scenario.model.step import Numbers, StepOfAnyKind
from tidegauge.scenario.text.errors import Path, Problem

if TYPE_CHECKING:  # as in step.py
    from tidegauge.clients.client_state import Step as StepRecord

_ACKS = ("all", "0", "1", "-1", 0, 1, -1)


def _acks(value: object) -> int:
    if isinstance(value, bool) or value not in _ACKS:
        raise ValueError(f"must be all, 0 or 1, not {value!r}")
    return acks_number(value)


class RequestStep(OfPartition, StepOfAnyKind):
    """A request of a client to a partition's leader."""

    to: BrokerId | None = Field(
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
        """Where the request goes."""
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
    records: Annotated[int, Unit("records")] = Field(
        default=1, ge=1, lt=2**31, description="Records in the batch."
    )
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
    offset: Offset = Field(description="Offset from which the fetch reads.")

    def plan(self, record: StepRecord, numbers: Numbers) -> None:
        """The offset."""
        super().plan(record, numbers)
        record.offset = self.offset


class AskEpochStep(OfPartition, StepOfAnyKind):
    """Ask a broker where a leader epoch ends, by OffsetsForLeaderEpoch."""

    examples = (
        "{do: ask_epoch, at: 10s, topic: orders, partition: 0, broker: 1, leader_epoch: 2}",
    )

    do: Literal["ask_epoch"]
    broker: BrokerId | None = Field(
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
        """Which epoch, and where the request goes."""
        record.partition = numbers.partition(self.topic, self.partition)
        if self.broker is not None:
            record.to = numbers.broker(self.broker)
        record.leader_epoch = self.leader_epoch


BrokerRequest = ProduceStep | FetchStep | AskEpochStep
