"""Faults, and what begins or is released after them."""

from __future__ import annotations

from tidegauge.simulation.messages.event import Fault, News


class FaultBegin(Fault, kind=0):
    """..."""


class FaultEnd(Fault, kind=1):
    """..."""


class FaultKnown(Fault, kind=2):
    """..."""


class LinkRelease(Fault, kind=3):
    """..."""


class SupervisorStarts(Fault, kind=4):
    """A supervisor starts a broker again that has exited by itself."""


class Observe(Fault, kind=5):
    """What is on a broker's disk and in its memory is written down, as a test harness sees it."""


class ProcessRelease(Fault, kind=6):
    """A process that goes on has run its own timers, and reads what has come in."""


class Disconnected(News, kind=7):
    """..."""
