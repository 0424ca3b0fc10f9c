"""The state of a group of processes: all tables under one name."""

from __future__ import annotations

from tidegauge.metrics.snapshots.measured_state import MeasuredState


class World(MeasuredState):
    """Brokers, controllers, ZooKeeper and clients of one group, with time and topology.

    A rule of a room takes the class of tables that concern the room, of which this is one.
    """
