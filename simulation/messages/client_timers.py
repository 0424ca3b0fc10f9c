"""Timers of a client: producers, consumers, the operator."""

from __future__ import annotations

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
    """..."""


class StepLooks(Timer, kind=90):
    """..."""


class RollGoesOn(Timer, kind=91):
    """A rolling restart looks how far its brokers are, or goes on after a pause."""


class RollTimesOut(Timer, kind=92):
    """..."""


class GroupDue(Timer, kind=94):
    """..."""


class CommitDue(Timer, kind=95):
    """..."""


class ConsumerSample(Timer, kind=96):
    """..."""


class ConsumerRestarts(News, kind=97):
    """Somebody starts a consumer anew."""
