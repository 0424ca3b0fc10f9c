"""Timers of a client: producers, consumers, the operator."""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import News, Timer


class ClientStart(Timer, kind=83):
    """..."""


class ProducerSends(Timer, kind=84):
    """..."""


class ProducerRetries(Timer, kind=85):
    """..."""


class RequestTimesOut(Timer, kind=86):
    """..."""


class ConsumerPolls(Timer, kind=87):
    """..."""


class MetadataRefresh(Timer, kind=88):
    """..."""


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
    """..."""


class CommitDue(Timer, kind=95):
    """..."""


class ConsumerSample(Timer, kind=96):
    """..."""


class ConsumerRestarts(News, kind=97):
    """Somebody starts a consumer anew."""
