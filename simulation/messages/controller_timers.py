"""Timers of a controller, and what its own broker tells it."""

from __future__ import annotations

from tidegauge.compiled.records import i64
from tidegauge.simulation.messages.event import News, Timer


class ControllerStart(News, kind=70):
    """The broker of this controller has registered."""

    session: i64


class ControllerWorks(Timer, kind=71):
    """The work of a phase is done, and its answers are there."""

    #: Of the controller's session; what was under way in an older one is void.
    generation: i64


class SessionLost(News, kind=72):
    """The session of this controller's broker has expired."""


class BrokerDied(News, kind=74):
    """The broker of this controller is gone."""


class ControlRetries(Timer, kind=76):
    """A request to a broker is sent again after the back-off."""

    generation: i64
    #: The broker, and the number under which the request was sent.
    broker: i64


class ControlGivesUp(Timer, kind=77):
    """A broker may not have responded within controller.socket.timeout.ms."""

    generation: i64
    broker: i64


class AutoLeaderRebalance(Timer, kind=78):
    """The controller looks whether leaders are where they should be."""

    controller_epoch: i64


class UncleanElectionEnabled(News, kind=79):
    """A topic's settings allow unclean election from now on."""

    topic: i64
