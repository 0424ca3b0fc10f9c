"""Kinds of events: every message, timer and fault there is, by number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tidegauge.compiled.records import dtype_of

# Each module enters the kinds that it declares.
from tidegauge.simulation.messages import (  # noqa: F401
    broker_timers,
    client_requests,
    client_timers,
    controller_requests,
    controller_timers,
    fault_events,
    quorum_requests,
    quorum_timers,
    raft_requests,
    raft_timers,
    zookeeper_requests,
)
from tidegauge.simulation.messages.event import KINDS as CLASSES
from tidegauge.simulation.messages.event import (
    BrokerRequest,
    ControllerRequest,
    Event,
    EventSlot,
    Response,
)

#: One more than the largest kind.
KINDS = max(CLASSES) + 1

#: What people call each kind.
NAMES: dict[int, str] = {kind: each.NAME for kind, each in sorted(CLASSES.items())}

#: Kafka's number of each kind of event, for compiled code; -1: it is no request of Kafka.
KEY_OF_KIND = tuple(CLASSES[kind].API_KEY if kind in CLASSES else -1 for kind in range(KINDS))

#: Whether one of num.io.threads handles the kind, and whether nothing holds it back.
IS_REQUEST = tuple(kind in CLASSES and CLASSES[kind].IS_REQUEST for kind in range(KINDS))
#: ... and whether its sender sees the connection refused if the process does not run.
IS_REFUSED = tuple(
    kind in CLASSES and issubclass(CLASSES[kind], BrokerRequest | ControllerRequest)
    for kind in range(KINDS)
)
IS_RESPONSE = tuple(
    kind in CLASSES and issubclass(CLASSES[kind], Response) for kind in range(KINDS)
)
IS_UNHELD = tuple(kind in CLASSES and CLASSES[kind].IS_UNHELD for kind in range(KINDS))

#: ``api_key``: Kafka's name of each number.
API_KEYS = {each.API_KEY: each.NAME for each in CLASSES.values() if each.API_KEY >= 0}


def _word_of(field: str) -> tuple[int, ...]:
    """The place of a field among the words of a body, for each kind; -1: it has no such field."""
    begin = dtype_of(EventSlot).fields["body"][1]  # type: ignore[index]  # it has fields
    words = []
    for kind in range(KINDS):
        layout = dtype_of(CLASSES[kind]) if kind in CLASSES else dtype_of(Event)
        fields: Mapping[str, Any] = layout.fields or {}
        words.append((fields[field][1] - begin) // 8 if field in fields else -1)
    return tuple(words)


#: Where a body of each kind names its partition, its offset and its error, for compiled code.
PARTITION_WORD = _word_of("partition")
OFFSET_WORD = _word_of("offset")
ERROR_WORD = _word_of("error")
