"""Handlers enter themselves where they are: none may be in a module that nobody imports."""

from __future__ import annotations

import tidegauge.engine.event_loop  # noqa: F401 - its import enters all handlers
from tidegauge.actors.state.handlers import BROKER, REQUESTS
from tidegauge.clients.handlers import CLIENT, OPERATOR
from tidegauge.simulation.links import FAULTS
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.event import KINDS


def test_each_timer_and_each_request_to_a_broker_has_a_handler() -> None:
    """An event without a handler would be dropped without a word."""
    handled = {*BROKER.classes, *CLIENT.classes, *OPERATOR.classes, *FAULTS.classes}
    known = [each for each in KINDS.values() if each.__module__ == timers.__name__]
    requests = [each for each in KINDS.values() if each.IS_REQUEST]
    assert [each.NAME for each in known if each not in handled] == []
    assert [each.NAME for each in requests if each not in REQUESTS.classes] == []
