"""The schema of the trace: every kind of row, and the version of it all.

The names of numbers in rows of the trace: requests, errors, reasons, a controller's events.

A number has the meaning that the release that wrote it gave to it: a later release may assign other
numbers. So the header of every trace file holds :data:`ALL_ENUMERATIONS`, and a reader takes the
names from there.
"""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import NamedTuple

# Each module enters the kinds that it declares.
from tidegauge.simulation.trace_rows import (  # noqa: F401
    client_rows,
    controller_rows,
    detail_rows,
    process_rows,
    replica_rows,
)
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.controller_rows import (
    BrokerState,
    ControllerActive,
    PartitionState,
)
from tidegauge.simulation.trace_rows.row import KINDS, Row, RowKind, described_columns

#: Version of the schema. It grows when a kind or column changes its meaning.
SCHEMA_VERSION = 5

#: Every kind of row, by number.
ROW_KINDS: dict[int, RowKind] = dict(sorted(KINDS.items()))

#: The kinds of rows that repeat, right after the row of a change, the cluster's state.
STATE_KINDS = (PartitionState.KIND, BrokerState.KIND, ControllerActive.KIND)
STATE_ROWS = frozenset(ROW_KINDS[kind].name for kind in STATE_KINDS)

#: The columns of every row, before those of its kind.
COMMON_COLUMNS: dict[str, Column] = described_columns(Row)

#: The number of columns of each kind, by its number, for compiled code.
COLUMN_COUNTS = tuple(
    len(ROW_KINDS[number].columns) if number in ROW_KINDS else 0
    for number in range(max(ROW_KINDS) + 1)
)

#: Whether the kind with each number is canonical, for compiled code.
IS_CANONICAL = tuple(
    number in ROW_KINDS and ROW_KINDS[number].canonical for number in range(max(ROW_KINDS) + 1)
)


@cache
def tidegauge_version() -> str:
    """The release of Tidegauge, which every file that it writes names.

    Executors of Spark read traces without an installed Tidegauge, so it is looked up on demand.
    """
    return version("tidegauge")


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
