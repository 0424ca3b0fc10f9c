"""The state that metrics are read from."""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.controller.kraft.state import Quorum
from tidegauge.controller.state.control_plane import ControlPlane


class MeasuredState(Brokers, ControlPlane, Quorum):
    """Brokers and control planes of one group."""
