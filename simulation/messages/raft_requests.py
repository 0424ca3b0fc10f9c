"""Requests between the voters of a KRaft quorum, and of observers that read its log.

A voter is named by its number within the quorum, -1: none.
"""

from __future__ import annotations

from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages.event import ControllerRequest, PartitionData, Response


class RaftRequest(ControllerRequest):
    """A request of one voter to another."""


class RaftResponse(Response):
    """What every response of a voter says: an error, and the epoch and leader that it knows."""

    error: i64
    leader: i64 = -1
    leader_epoch: i64


class RaftFetchRequest(ControllerRequest, kind=102, api_key=1):
    """A voter or an observer fetches the metadata log, and waits until there is more of it."""

    #: The broker that observes; -1: a voter fetches.
    broker_id: i64 = -1
    #: The voter that follows; -1: an observer fetches.
    voter: i64 = -1
    #: The epoch of the leader that it knows; -1: none.
    current_leader_epoch: i64 = -1
    #: The end of the log that it has, the epoch of the last record before that (-1: none, or of an
    #: observer, which only has what is committed), and the high watermark that it knows.
    fetch_offset: i64
    last_fetched_epoch: i64 = -1
    high_watermark: i64


class RaftFetchResponse(RaftResponse, kind=103):
    """The end of the leader's log, and how far it is committed; or why there is nothing.

    To a voter its entries are of :class:`FetchedEpoch`. To an observer they are of
    ``PublishedPartition``: of the replicas that the broker hosts, all that was committed between
    the high watermark that it knew and this one, the newest of each.
    """

    log_end_offset: i64
    #: -1: the leader does not know it yet.
    high_watermark: i64 = -1
    #: The log of who fetches differs from here on: the largest epoch of the leader that is not
    #: larger than the last one fetched, and its end; -1: it does not.
    diverging_epoch: i64 = -1
    diverging_offset: i64 = -1
    #: The leader's log begins later: a fetch needs this snapshot, named by the epoch of its last
    #: record and its end offset; -1: none.
    snapshot_epoch: i64 = -1
    snapshot_offset: i64 = -1


class FetchedEpoch(PartitionData):
    """Records of one epoch: where they begin, of those that are fetched, and where they end."""

    epoch: i64
    start_offset: i64
    end_offset: i64


class FetchSnapshotRequest(ControllerRequest, kind=163, api_key=59):
    """A voter or an observer fetches a piece of a snapshot, from a position in bytes on."""

    #: As in :class:`RaftFetchRequest`.
    voter: i64 = -1
    current_leader_epoch: i64 = -1
    high_watermark: i64
    snapshot_epoch: i64
    snapshot_offset: i64
    position: i64


class FetchSnapshotResponse(RaftResponse, kind=164):
    """A piece of a snapshot, and the size of all of it; or why there is none.

    To an observer the last piece has entries of ``PublishedPartition``: of the replicas that the
    broker hosts, all that was committed between the high watermark that it knew and the end of the
    snapshot, the newest of each.
    """

    snapshot_epoch: i64
    snapshot_offset: i64
    position: i64
    bytes: i64
    size_bytes: i64


class VoteRequest(RaftRequest, kind=145, api_key=52):
    """A candidate asks for a vote, or whether it would get it (pre-vote)."""

    candidate: i64
    #: Its epoch: with a pre-vote the one that it is in, else a new one.
    epoch: i64
    #: The last epoch in its log, and the end of its log.
    last_epoch: i64
    last_offset: i64
    pre_vote: flag


class VoteResponse(RaftResponse, kind=146):
    """Whether a voter votes for who has asked."""

    voter: i64
    granted: flag
    pre_vote: flag


class BeginQuorumEpochRequest(RaftRequest, kind=147, api_key=53):
    """A new leader notifies a voter of its election."""

    leader: i64
    epoch: i64


class BeginQuorumEpochResponse(RaftResponse, kind=148):
    """A voter has heard of a leader."""


class EndQuorumEpochRequest(RaftRequest, kind=149, api_key=54):
    """A leader resigns; its receiver is at a place among its successors."""

    leader: i64
    epoch: i64
    #: How many of the other voters have fetched more, or as much and come first.
    successor: i64


class EndQuorumEpochResponse(RaftResponse, kind=150):
    """A voter has heard that its leader has resigned."""
