"""The names of numbers in rows of the trace: requests, errors, reasons, a controller's events.

A number has the meaning that the release that wrote it gave to it: a later release may assign other
numbers. So the header of every trace file holds :data:`ALL_ENUMERATIONS`, and a reader takes the
names from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tidegauge.simulation.trace_rows.columns import Type
from tidegauge.simulation.trace_rows.schema import ROW_KINDS

#: The names of each column that holds such a number, by the number.
Enumerations = Mapping[str, Mapping[int, str]]


class Enumeration(NamedTuple):
    """The names of some numbers, and the columns that hold these."""

    columns: tuple[str, ...]
    names: Mapping[int, str]


def _all_enumerations() -> tuple[Enumeration, ...]:
    """Each mapping of codes once, with all columns that have it."""
    columns: dict[int, dict[str, None]] = {}
    names: dict[int, Mapping[int, str]] = {}
    for kind in ROW_KINDS.values():
        for name, column in kind.described.items():
            if column.type == Type.CODE and column.names is not None:
                columns.setdefault(id(column.names), {})[name] = None
                names[id(column.names)] = column.names
    return tuple(Enumeration(tuple(columns[each]), names[each]) for each in columns)


ALL_ENUMERATIONS = _all_enumerations()

ENUMERATIONS: Enumerations = {
    column: each.names for each in ALL_ENUMERATIONS for column in each.columns
}
