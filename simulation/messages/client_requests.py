"""Requests of clients and followers to brokers, with their responses."""

from __future__ import annotations

from tidegauge.simulation.messages.event import BrokerRequest, Response


class FindCoordinatorRequest(BrokerRequest, kind=8, api_key=10):
    """..."""


class HeartbeatRequest(BrokerRequest, kind=9, api_key=12):
    """..."""


class ProduceRequest(BrokerRequest, kind=10, api_key=0):
    """..."""


class FetchRequest(BrokerRequest, kind=11, api_key=1):
    """..."""


class OffsetsForLeaderEpochRequest(BrokerRequest, kind=12, api_key=23):
    """..."""


class ListOffsetsRequest(BrokerRequest, kind=13, api_key=2):
    """..."""


class MetadataRequest(BrokerRequest, kind=14, api_key=3):
    """..."""


class OffsetCommitRequest(BrokerRequest, kind=18, api_key=8):
    """..."""


class JoinGroupRequest(BrokerRequest, kind=19, api_key=11):
    """A consumer joins its group, and is told what the group has committed."""


class FetchResponse(Response, kind=20):
    """..."""


class EpochResponse(Response, kind=21):
    """..."""


class ListOffsetsResponse(Response, kind=22):
    """..."""


class ProduceResponse(Response, kind=80):
    """..."""


class ConsumerResponse(Response, kind=81):
    """..."""


class MetadataResponse(Response, kind=82):
    """..."""


class GroupResponse(Response, kind=93):
    """A consumer and its group's coordinator: an answer, something to ask, a commit that is due."""
