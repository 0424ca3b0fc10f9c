"""Timers of a controller, and what its own broker tells it."""

from __future__ import annotations

from tidegauge.simulation.messages.event import News, Timer


class ControllerStart(News, kind=70):
    """..."""


class ControllerWorks(Timer, kind=71):
    """..."""


class SessionLost(News, kind=72):
    """..."""


class BrokerDied(News, kind=74):
    """The broker of this controller is gone."""


class ControlRetries(Timer, kind=76):
    """..."""


class ControlGivesUp(Timer, kind=77):
    """..."""


class AutoLeaderRebalance(Timer, kind=78):
    """..."""


class UncleanElectionEnabled(News, kind=79):
    """..."""
