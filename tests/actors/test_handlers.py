"""Handlers enter themselves where they are: none may be in a module that nobody imports."""

from __future__ import annotations

import tidegauge.actors.broker  # noqa: F401 - its import enters all handlers
from tidegauge.actors.state.handlers import BROKER, REQUESTS
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.event import KINDS


def test_a_broker_handles_each_of_its_timers_and_each_request() -> None:
    """An event without a handler would be dropped without a word."""
    of_timers = [each for each in KINDS.values() if each.__module__ == timers.__name__]
    requests = [each for each in KINDS.values() if each.IS_REQUEST]
    assert [each.NAME for each in of_timers if each not in BROKER.classes] == []
    assert [each.NAME for each in requests if each not in REQUESTS.classes] == []
