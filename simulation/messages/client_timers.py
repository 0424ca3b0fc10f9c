"""Timers of a client: producers, consumers, the operator."""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import News, Timer


class ClientStart(Timer, kind=83):
    """A client begins."""


class ProducerSends(Timer, kind=84):
    """A producer's next batch is due."""


class ProducerWakes(Timer, kind=85):
    """The retry.backoff.ms, or linger.ms, of a partition's first batch are over."""

    #: The partition's place in ``Clients.client_targets``.
    target: i64


class BatchExpires(Timer, kind=130):
    """The delivery.timeout.ms of a partition's first batch are over."""

    #: The partition's place in ``Clients.client_targets``.
    target: i64


class SendBlocks(Timer, kind=131):
    """The application has waited max.block.ms for memory."""

    #: Which of its waits it was.
    block: i64


class StallLooks(Timer, kind=166):
    """A batch, or a partition that a consumer reads, may have waited for too long."""


class RequestTimesOut(Timer, kind=86):
    """A request may have got no response within request.timeout.ms."""

    #: The kind of the request, its number, and the broker that was asked, where these matter.
    request_kind: i64 = -1
    broker: i64 = -1


class ConsumerPolls(Timer, kind=87):
    """What a consumer has fetched is processed, or its back-off is over."""

    #: The broker that it fetches from.
    broker: i64


class MetadataRefresh(Timer, kind=88):
    """A client's metadata.max.age.ms are over."""


class StepDue(Timer, kind=89):
    """The time of a step has come, or that within which its condition should hold."""

    step: i64


class StepLooks(Timer, kind=90):
    """The operator looks at what cannot be watched, unless it has asked anything since."""

    step: i64
    question: i64


class RollGoesOn(Timer, kind=91):
    """A rolling restart looks how far its brokers are, or goes on after a pause.

    Unless it has asked anything since.
    """

    roll: i64
    question: i64


class RollTimesOut(Timer, kind=92):
    """The batch that begins at a position has had its time."""

    roll: i64
    position: i64


class GroupDue(Timer, kind=94):
    """What a consumer is to ask its coordinator next, or a response that is overdue."""

    #: Which such timer: only the last one counts.
    turn: i64


class CommitDue(Timer, kind=95):
    """auto.commit.interval.ms are over, or the response to a commit is overdue."""

    #: Which such timer: only the last one counts.
    turn: i64


class ConsumerSample(Timer, kind=96):
    """How far a consumer is behind is written down, every sample_every."""


class ConsumerRestarts(News, kind=97):
    """Somebody starts a consumer anew."""
