"""What a node has sent and received as a client of the quorum's voters (``raft-channel-metrics``).

Requests and responses are those that are simulated. Their bytes are those that Kafka's protocol
takes for them, with one topic, one partition, a client id of 16 letters and no hosts' names.

Source: Selector.SelectorMetrics, RequestHeader, ResponseHeader; the schemas of FetchRequest 17,
VoteRequest 2, BeginQuorumEpochRequest 1, EndQuorumEpochRequest 1 and
FetchSnapshotRequest 1@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.records import Record, i64
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.messages.raft_requests import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    RaftFetchRequest,
    RaftFetchResponse,
    VoteRequest,
    VoteResponse,
)

#: With the size in front and the header of each.
_SIZES = {
    RaftFetchRequest: 165,
    RaftFetchResponse: 87,
    VoteRequest: 139,
    VoteResponse: 50,
    BeginQuorumEpochRequest: 111,
    BeginQuorumEpochResponse: 49,
    EndQuorumEpochRequest: 135,
    EndQuorumEpochResponse: 49,
    FetchSnapshotRequest: 135,
    FetchSnapshotResponse: 89,
}
_SIZE_BY_KIND = {each.KIND: size for each, size in _SIZES.items()}
#: By kind of event; 0: it is none of them.
SIZE_BYTES = tuple(_SIZE_BY_KIND.get(kind, 0) for kind in range(KINDS))
_RESPONSES = {each.KIND for each in _SIZES if each.__name__.endswith("Response")}
#: By kind of event: whether it is a response of a voter.
IS_RAFT_RESPONSE = tuple(kind in _RESPONSES for kind in range(KINDS))


class ChannelStats(Record):
    """Counts of one process."""

    requests: i64
    outgoing_bytes: i64
    responses: i64
    incoming_bytes: i64


@inner_rule
def count_request(stats: ChannelStats, kind: int) -> None:
    """A request is sent."""
    stats.requests += 1
    stats.outgoing_bytes += SIZE_BYTES[kind]


@inner_rule
def count_response(stats: ChannelStats, kind: int) -> None:
    """A response has come, without the records in it."""
    stats.responses += 1
    stats.incoming_bytes += SIZE_BYTES[kind]
