"""Faults, and what begins or is released after them."""

from __future__ import annotations

from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages.event import Fault, News


class FaultChange(Fault):
    """A fault begins or ends at a process."""

    #: Its number in the scenario.
    fault: i64


class FaultBegin(FaultChange, kind=0):
    """A fault begins."""


class FaultEnd(FaultChange, kind=1):
    """A fault ends."""


class FaultKnown(FaultChange, kind=2):
    """A fault has begun or ended at the process that says so."""

    begins: flag
    #: The row that says so.
    row_sequence: i64


class LinkRelease(Fault, kind=3):
    """TCP sends again what a cut has held back."""

    #: The process at the other end, from which it comes.
    peer: i64


class SupervisorStarts(Fault, kind=4):
    """A supervisor starts a broker again that has exited by itself."""

    #: Which start of the broker has ended so.
    start: i64


class Observe(Fault, kind=5):
    """What is on a broker's disk and in its memory is written down, as a test harness sees it."""

    step: i64


class ProcessRelease(Fault, kind=6):
    """A process that goes on has run its own timers, and reads what has come in."""


class Disconnected(News, kind=7):
    """A process is gone or does not listen: its connections are closed."""

    #: What was asked on them up to then is lost.
    until_us: i64
