"""Requests between controllers and brokers, with their responses."""

from __future__ import annotations

from tidegauge.simulation.messages.event import BrokerRequest, ControllerRequest, Response


class LeaderAndIsrRequest(BrokerRequest, kind=15, api_key=4):
    """..."""


class UpdateMetadataRequest(BrokerRequest, kind=16, api_key=6):
    """..."""


class StopReplicaRequest(BrokerRequest, kind=17, api_key=5):
    """..."""


class ControlResponse(Response, kind=73):
    """..."""


class ControlledShutdownRequest(ControllerRequest, kind=75, api_key=7):
    """..."""


class ControlledShutdownResponse(Response, kind=23):
    """..."""


class AlterPartitionRequest(ControllerRequest, kind=69, api_key=56):
    """..."""


class AlterPartitionResponse(Response, kind=24):
    """..."""


class AlterReassignmentsRequest(ControllerRequest, kind=66):
    """Somebody replaces reassignments, or cancels them."""
