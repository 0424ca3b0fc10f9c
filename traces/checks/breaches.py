"""The replica of a partition that a broker hosts, in the memory of checks.

Noting that a check was broken: once for each partition, with the event that did it.

A check may find out later than it happened, so the first event is not the first one noted but
the one that comes first in the total order of rows.

The rows that checks and figures read.
"""

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.trace_rows.controller_rows import ZnodeCreated, ZnodeDeleted, ZnodeSet
from tidegauge.simulation.trace_rows.replica_rows import EpochAnswered, EpochAssigned, EpochsCut
from tidegauge.simulation.trace_rows.row import PartitionRow, Row
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.checks.histories import (
    BY_EARLIER_ISR,
    BY_FORGOTTEN_EXPANSION,
    BY_LOSS_OF_POWER,
    NOTHING_PERMITS,
    Histories,
    RowPlace,
)


@inner_rule
def slot_of(history: Histories, partition: int, broker: int) -> int:
    """The slot of a broker in the partition's table of brokers; NONE if it has none."""
    place = history.places[partition]
    for slot in range(place.slot_count):
        if history.slots[place.first_slot + slot].broker == broker:
            return slot
    return NONE


@inner_rule
def what_permits(history: Histories, partition: int) -> int:
    """The setting or release that has given up a promise to a partition, if one has."""
    known = history.partitions[partition]
    if known.unclean != NOTHING_PERMITS:
        return known.unclean
    if known.lost_power:
        return BY_LOSS_OF_POWER
    if known.forgot_expansion:
        return BY_FORGOTTEN_EXPANSION
    if known.led_by_earlier_isr:
        return BY_EARLIER_ISR
    return NOTHING_PERMITS


@inner_rule
def note_breach(history: Histories, check: int, event: RowPlace, permitted_by: int) -> None:
    """An event has broken a check, in the partition that it is about."""
    finding = history.findings[check]
    breach = history.breaches[check * len(history.partitions) + event.partition]
    if permitted_by == NOTHING_PERMITS:
        if not breach.broken and (finding.broken == 0 or comes_before(event, finding.first)):
            copy_place(finding.first, event)
        finding.broken += 0 if breach.broken else 1
        breach.broken = True
        return
    if not breach.permitted and (
        finding.permitted == 0 or comes_before(event, finding.first_permitted)
    ):
        copy_place(finding.first_permitted, event)
        finding.permitted_by = permitted_by
    finding.permitted += 0 if breach.permitted else 1
    breach.permitted = True


@inner_rule
def note_breach_of_quorum(history: Histories, check: int, row: Row) -> None:
    """A row has broken a check that is about no partition; nothing permits that."""
    note_breach_of_voters(history, check, row, NOTHING_PERMITS)


@inner_rule
def note_breach_of_voters(history: Histories, check: int, row: Row, permitted_by: int) -> None:
    """A row has broken a check about the voters of a quorum, which the release may permit."""
    finding = history.findings[check]
    if permitted_by != NOTHING_PERMITS and finding.permitted == 0:
        finding.permitted = 1
        finding.permitted_by = permitted_by
        _take_row(finding.first_permitted, row)
    elif permitted_by == NOTHING_PERMITS and finding.broken == 0:
        finding.broken = 1
        _take_row(finding.first, row)


@inner_rule
def _take_row(to: RowPlace, row: Row) -> None:
    """Remember a row that is about no partition."""
    to.time_us = row.time_us
    to.process = row.process
    to.sequence = row.sequence
    to.partition = NONE


@inner_rule
def comes_before(one: RowPlace, other: RowPlace) -> bool:
    """Whether one row comes before another in the total order."""
    if one.time_us != other.time_us:
        return one.time_us < other.time_us
    if one.process != other.process:
        return one.process < other.process
    return one.sequence < other.sequence


@inner_rule
def copy_place(to: RowPlace, event: RowPlace) -> None:
    """Remember an event."""
    to.time_us = event.time_us
    to.process = event.process
    to.sequence = event.sequence
    to.partition = event.partition


@inner_rule
def take_place(to: RowPlace, row: PartitionRow) -> None:
    """Remember a row that is about a partition."""
    to.time_us = row.time_us
    to.process = row.process
    to.sequence = row.sequence
    to.partition = row.partition


#: Canonical rows that neither a check nor a figure asks for, and of which there are many.
_LEFT_OUT = (
    *(EpochAnswered.KIND, EpochAssigned.KIND, EpochsCut.KIND),
    *(ZnodeCreated.KIND, ZnodeSet.KIND, ZnodeDeleted.KIND),
)

_JUDGED = np.zeros(max(ROW_KINDS) + 1, np.bool_)
_JUDGED[[number for number, kind in ROW_KINDS.items() if kind.canonical]] = True
_JUDGED[list(_LEFT_OUT)] = False
#: Whether checks and figures read a kind of row, for compiled code.
IS_JUDGED = tuple(_JUDGED.tolist())


def judged_rows(rows: NDArray[np.void]) -> NDArray[np.void]:
    """A copy of those of the rows that checks and figures read."""
    # Numpy copies bytes five times as fast as records.
    as_bytes = rows.view(np.dtype((np.void, rows.dtype.itemsize)))
    judged: NDArray[np.void] = as_bytes[_JUDGED[rows["kind"]]].view(rows.dtype)
    return judged
