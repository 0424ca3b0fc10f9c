"""The state that metrics are read from."""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.controller.state.control_plane import ControlPlane


class MeasuredState(Brokers, ControlPlane):
    """Brokers and control plane of one group."""
