"""The state that metrics are read from."""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.clients.client_state import Clients
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.state.control_plane import ControlPlane


class MeasuredState(Brokers, ControlPlane, Quorum, Clients):
    """Brokers, control planes and clients of one group."""
