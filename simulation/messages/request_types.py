"""The types of requests to brokers and controllers that Kafka's ``RequestMetrics`` distinguishes.

There is one for each request, but for Fetch: FetchConsumer and FetchFollower are types of their
own, and what is counted of Fetch is the sum of the two.
"""

from __future__ import annotations

from tidegauge.compiled.codes import code
from tidegauge.simulation.messages.client_requests import FetchRequest
from tidegauge.simulation.messages.controller_requests import AlterPartitionResponse
from tidegauge.simulation.messages.event import KINDS as CLASSES
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.messages.quorum_requests import (
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
)
from tidegauge.simulation.messages.raft_requests import (
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchSnapshotResponse,
    RaftFetchResponse,
    VoteResponse,
)

FETCH = "Fetch"

#: Kafka's name of a request (``ApiKeys``), where it is not that of its class.
_SPELT = {"OffsetsForLeaderEpoch": "OffsetForLeaderEpoch", FETCH: "FetchConsumer"}

_REQUESTS = sorted((each.API_KEY, kind) for kind, each in CLASSES.items() if each.IS_REQUEST)
_NAMES = [CLASSES[kind].__name__.removesuffix("Request") for _, kind in _REQUESTS]

#: Their names.
REQUEST_TYPES = (*(_SPELT.get(name, name) for name in _NAMES), "FetchFollower")

#: How many there are, for compiled code; and how many are counted by errors: all but the last, as
#: those of all fetches are counted together.
TYPES = code(len(REQUEST_TYPES))
ERROR_TYPES = code(len(REQUEST_TYPES) - 1)

_PLACES = {kind: place for place, (_, kind) in enumerate(_REQUESTS)}
#: The type of each kind of event: that of a fetch is a consumer's; -1: no request to a broker.
TYPE_OF_KIND = tuple(_PLACES.get(kind, -1) for kind in range(KINDS))

#: The types of requests to a controller of a quorum, by the class of their response: a fetch of the
#: metadata log, by a voter or a broker, is a follower's. Those of operators share one class.
_OF_RESPONSES = {
    BrokerRegistrationResponse: "BrokerRegistration",
    BrokerHeartbeatResponse: "BrokerHeartbeat",
    AlterPartitionResponse: "AlterPartition",
    VoteResponse: "Vote",
    BeginQuorumEpochResponse: "BeginQuorumEpoch",
    EndQuorumEpochResponse: "EndQuorumEpoch",
    FetchSnapshotResponse: "FetchSnapshot",
    # The last one: Fetch, which is served behind it, counts the same requests.
    RaftFetchResponse: "FetchFollower",
}
CONTROLLER_TYPES = tuple(_OF_RESPONSES.values())
CONTROLLER_TYPE_COUNT = code(len(CONTROLLER_TYPES))
_PLACES_OF_RESPONSES = {each.KIND: place for place, each in enumerate(_OF_RESPONSES)}
#: By the kind of the response; -1: none of them.
TYPE_OF_RESPONSE = tuple(_PLACES_OF_RESPONSES.get(kind, -1) for kind in range(KINDS))

FETCH_CONSUMER = code(_PLACES[FetchRequest.KIND])
FETCH_FOLLOWER = code(REQUEST_TYPES.index("FetchFollower"))
