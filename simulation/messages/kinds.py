"""Kinds of events: every message, timer and fault there is, by number.

The types of requests to brokers and controllers that Kafka's ``RequestMetrics`` distinguishes.

There is one for each request, but for Fetch: FetchConsumer and FetchFollower are types of their
own, and the counts of Fetch are the sums of the two.
"""

from collections.abc import Mapping
from types import UnionType
from typing import Any

from tidegauge.compiled.codes import code
from tidegauge.compiled.records import dtype_of
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE, Mode

# Each module enters the kinds that it declares.
from tidegauge.simulation.messages import (  # noqa: F401
    client_requests,
    controller_requests,
    controller_timers,
    event,
    idle_fetches,
    quorum_requests,
    timers,
    zookeeper_requests,
)
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.controller_requests import AlterPartitionResponse
from tidegauge.simulation.messages.event import KINDS as CLASSES

#: One more than the largest kind.
KINDS = max(CLASSES) + 1

#: The name of each kind.
NAMES: dict[int, str] = {kind: each.NAME for kind, each in sorted(CLASSES.items())}


def _names_of(classes: type | UnionType) -> frozenset[str]:
    return frozenset(each.NAME for each in CLASSES.values() if issubclass(each, classes))


#: The messages of a session of ZooKeeper, which numbers them: it ends if one is missing, or comes
#: twice.
SESSION_MESSAGES = _names_of(zookeeper_requests.ZooKeeperRequest | zookeeper_requests.ZkResponse)

#: The names of the messages that the protocols of Kafka and ZooKeeper have, in alphabetical order.
MESSAGES = tuple(
    sorted(
        SESSION_MESSAGES
        | _names_of(event.BrokerRequest | event.ControllerRequest | event.Response)
        | _names_of(client_requests.MetadataMessage | zookeeper_requests.ZkWatch)
    )
)

#: Those that only one of both control planes has.
MESSAGES_OF_MODE: Mapping[Mode, frozenset[str]] = {
    ZOOKEEPER_MODE: SESSION_MESSAGES
    | _names_of(
        zookeeper_requests.ZkWatch
        | controller_requests.ControlRequest
        | controller_requests.ControlResponse
    ),
    KRAFT_MODE: _names_of(
        quorum_requests.BrokerRegistrationRequest
        | quorum_requests.BrokerRegistrationResponse
        | quorum_requests.BrokerHeartbeatRequest
        | quorum_requests.BrokerHeartbeatResponse
        | quorum_requests.RaftFetchRequest
        | quorum_requests.FetchSnapshotRequest
        | quorum_requests.RaftRequest
        | quorum_requests.RaftResponse
    ),
}

#: Kafka's number of each kind of event, for compiled code; -1: it is no request of Kafka.
KEY_OF_KIND = tuple(CLASSES[kind].API_KEY if kind in CLASSES else -1 for kind in range(KINDS))

#: Whether one of num.io.threads handles the kind, and whether nothing holds it back.
IS_REQUEST = tuple(kind in CLASSES and CLASSES[kind].IS_REQUEST for kind in range(KINDS))
#: ... and whether its sender sees the connection refused if the process does not run.
IS_REFUSED = tuple(
    kind in CLASSES and issubclass(CLASSES[kind], event.BrokerRequest | event.ControllerRequest)
    for kind in range(KINDS)
)
IS_RESPONSE = tuple(
    kind in CLASSES and issubclass(CLASSES[kind], event.Response) for kind in range(KINDS)
)
IS_UNHELD = tuple(kind in CLASSES and CLASSES[kind].IS_UNHELD for kind in range(KINDS))

#: ``api_key``: Kafka's name of each number.
API_KEYS = {
    # Of two requests with one key the first by its number has the name, in any order of imports:
    # replicas and observers of a quorum both send FETCH.
    CLASSES[kind].API_KEY: CLASSES[kind].NAME
    for kind in sorted(CLASSES, reverse=True)
    if CLASSES[kind].API_KEY >= 0
}


def _word_of(field: str) -> tuple[int, ...]:
    """The place of a field among the words of a body, for each kind; -1: it has no such field."""
    begin = dtype_of(event.EventSlot).fields["body"][1]  # type: ignore[index]  # it has fields
    words = []
    for kind in range(KINDS):
        layout = dtype_of(CLASSES[kind]) if kind in CLASSES else dtype_of(event.Event)
        fields: Mapping[str, Any] = layout.fields or {}
        words.append((fields[field][1] - begin) // 8 if field in fields else -1)
    return tuple(words)


#: The word of a body, by kind, with its partition, its offset and its error, for compiled code.
PARTITION_WORD = _word_of("partition")
OFFSET_WORD = _word_of("offset")
ERROR_WORD = _word_of("error")


FETCH = "Fetch"

#: Kafka's name of a request (``ApiKeys``), where it is not that of its class.
_SPELT = {"OffsetsForLeaderEpoch": "OffsetForLeaderEpoch", FETCH: "FetchConsumer"}

_REQUESTS = sorted((each.API_KEY, kind) for kind, each in CLASSES.items() if each.IS_REQUEST)
_NAMES = [CLASSES[kind].__name__.removesuffix("Request") for _, kind in _REQUESTS]

#: Their names.
REQUEST_TYPES = (*(_SPELT.get(name, name) for name in _NAMES), "FetchFollower")

#: The number of types, for compiled code; and of those whose errors are counted: all but the last,
#: as those of all fetches are counted together.
TYPES = code(len(REQUEST_TYPES))
ERROR_TYPES = code(len(REQUEST_TYPES) - 1)

_PLACES = {kind: place for place, (_, kind) in enumerate(_REQUESTS)}
#: The type of each kind of event: that of a fetch is a consumer's; -1: no request to a broker.
TYPE_OF_KIND = tuple(_PLACES.get(kind, -1) for kind in range(KINDS))

#: The types of requests to a controller of a quorum, by the class of their response: a fetch of the
#: metadata log, by a voter or a broker, is a follower's. Those of operators share one class.
_OF_RESPONSES = {
    quorum_requests.BrokerRegistrationResponse: "BrokerRegistration",
    quorum_requests.BrokerHeartbeatResponse: "BrokerHeartbeat",
    AlterPartitionResponse: "AlterPartition",
    quorum_requests.AllocateProducerIdsResponse: "AllocateProducerIds",
    quorum_requests.VoteResponse: "Vote",
    quorum_requests.BeginQuorumEpochResponse: "BeginQuorumEpoch",
    quorum_requests.EndQuorumEpochResponse: "EndQuorumEpoch",
    quorum_requests.FetchSnapshotResponse: "FetchSnapshot",
    # The last one: Fetch, which is served behind it, counts the same requests.
    quorum_requests.RaftFetchResponse: "FetchFollower",
}
CONTROLLER_TYPES = tuple(_OF_RESPONSES.values())
CONTROLLER_TYPE_COUNT = code(len(CONTROLLER_TYPES))
_PLACES_OF_RESPONSES = {each.KIND: place for place, each in enumerate(_OF_RESPONSES)}
#: By the kind of the response; -1: none of them.
TYPE_OF_RESPONSE = tuple(_PLACES_OF_RESPONSES.get(kind, -1) for kind in range(KINDS))

FETCH_CONSUMER = code(_PLACES[FetchRequest.KIND])
FETCH_FOLLOWER = code(REQUEST_TYPES.index("FetchFollower"))
