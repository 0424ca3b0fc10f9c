"""The names of numbers in rows of the trace: requests, errors, reasons, a controller's events.

A number has the meaning that the release that wrote it gave to it: a later release may assign other
numbers. So the header of every trace file holds :data:`ALL_ENUMERATIONS`, and a reader takes the
names from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidegauge.replication import errors
from tidegauge.simulation import controller_events, kinds, zookeeper_errors
from tidegauge.simulation.api_keys import API_KEYS
from tidegauge.simulation.row_kinds import (
    BROKER_STATES,
    CHECKPOINTS,
    MOMENTS,
    REASONS,
    ROLL_STATES,
    STATE_CHANGES,
    STATE_REASONS,
    STOPS,
)

#: The names of each column that holds such a number, by the number.
Enumerations = Mapping[str, Mapping[int, str]]


class Enumeration(NamedTuple):
    """The names of some numbers, and the columns that hold these."""

    columns: tuple[str, ...]
    names: Mapping[int, str]


ALL_ENUMERATIONS = (
    Enumeration(("message_kind",), kinds.NAMES),
    Enumeration(("api_key",), API_KEYS),
    Enumeration(("error",), zookeeper_errors.NAMES | errors.NAMES),
    Enumeration(("event_kind",), controller_events.NAMES),
    Enumeration(("reason",), REASONS),
    Enumeration(("moment",), MOMENTS),
    Enumeration(("stop",), STOPS),
    Enumeration(("checkpoint",), CHECKPOINTS),
    Enumeration(("progress",), ROLL_STATES),
    Enumeration(("change",), STATE_CHANGES),
    Enumeration(("state",), BROKER_STATES),
    Enumeration(("state_reason",), STATE_REASONS),
)

ENUMERATIONS: Enumerations = {
    column: each.names for each in ALL_ENUMERATIONS for column in each.columns
}
