"""Rows of a trace, selected by whole columns: those of one broker or controller, among millions.

``RunFolder.all_rows`` selects the rows of a partition. Other selections are a mask over the table
of each kind, so only the selected entries become row objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegauge.replication import errors
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

#: For each row of a table, whether it is selected.
Mask: TypeAlias = NDArray[np.bool_]

#: Columns with a broker's index that relate a row of another process to this broker.
BROKER_COLUMNS = ("broker", "replica")
#: The same, if a row has them both: a role has passed from one broker to another.
ROLE_COLUMNS = ("leader", "old_leader")


def selected(run: RunFolder, wanted: Callable[[TraceKind, Table], Mask | None]) -> list[TraceRow]:
    """The selected rows, in their total order.

    Args:
        run: the run.
        wanted: makes the mask for a kind and the table of its rows; None for no rows.

    Raises:
        TraceError: a trace file is damaged.
    """
    rows: list[TraceRow] = []
    for kind in run.kinds.values():
        table = run.table(kind.name)
        mask = wanted(kind, table)
        if mask is not None:
            rows += _rows(kind.name, table, mask)
    return sorted(rows, key=lambda row: row.place)


def _rows(kind: str, table: Table, mask: Mask) -> Iterator[TraceRow]:
    columns = [values[mask].tolist() for values in table.values()]
    for values in zip(*columns, strict=True):
        yield TraceRow(kind, dict(zip(table, values, strict=True)))


def is_about_broker(table: Table, broker: int) -> Mask:
    """A mask of the rows about a broker, by its index.

    A row in which the broker is only the leader of a follower is not about it.
    """
    about: Mask = np.zeros(len(table["process"]), np.bool_)
    for column in BROKER_COLUMNS:
        if column in table:
            about |= table[column] == broker
    if all(column in table for column in ROLE_COLUMNS):
        leader, old_leader = (table[column] == broker for column in ROLE_COLUMNS)
        about |= leader | old_leader
    if all(column in table for column in ("from_process", "error")):
        # Its registration is refused.
        is_its = table["from_process"] == broker
        about |= is_its & (table["error"] == errors.DUPLICATE_BROKER_REGISTRATION)
    return about
