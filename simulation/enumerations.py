"""The names of numbers in rows of the trace: requests, errors, reasons, a controller's events.

A number means what the release that wrote it says. So the header of every trace file holds
:data:`ENUMERATIONS`, and a reader takes the names from there: a later release may number anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from tidegauge.replication import errors
from tidegauge.simulation import controller_events, kinds, zookeeper_errors
from tidegauge.simulation.row_kinds import CHECKPOINTS, MOMENTS, REASONS, ROLL_STATES, STOPS

#: The names of each column that holds such a number, by the number.
Enumerations = Mapping[str, Mapping[int, str]]

ENUMERATIONS: Enumerations = {
    **dict.fromkeys(("request_kind", "message_kind"), kinds.NAMES),
    "error": zookeeper_errors.NAMES | errors.NAMES,
    "event_kind": controller_events.NAMES,
    "reason": REASONS,
    "moment": MOMENTS,
    "stop": STOPS,
    "checkpoint": CHECKPOINTS,
    "progress": ROLL_STATES,
}
