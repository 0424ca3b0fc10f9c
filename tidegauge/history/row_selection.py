"""Rows of a trace, selected by whole columns: what one broker or controller did, among millions.

A question about a partition is answered by ``RunFolder.all_rows``. Others say of each kind which
of its rows they want, as a mask over the table, so that only those become rows at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

#: Of each row of a table, whether it is meant.
Mask: TypeAlias = NDArray[np.bool_]

#: Columns of a broker's index that say of a row elsewhere that it is about this broker.
BROKER_COLUMNS = ("broker", "replica")
#: The same, if a row has them both: somebody's role has gone to somebody else.
ROLE_COLUMNS = ("leader", "old_leader")


def selected(run: RunFolder, wanted: Callable[[TraceKind, Table], Mask | None]) -> list[TraceRow]:
    """The rows that are wanted, in their total order.

    Args:
        run: the run.
        wanted: for a kind and all its rows, which of them; None for none.

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
    """Which rows name a broker, by its index, as the one that something happens to.

    A znode's row does not: its ``leader`` is a slot. Nor does a row in which the broker only is
    the leader that somebody follows.
    """
    about: Mask = np.zeros(len(table["process"]), np.bool_)
    if "znode" in table:
        return about
    for column in BROKER_COLUMNS:
        if column in table:
            about |= table[column] == broker
    if all(column in table for column in ROLE_COLUMNS):
        leader, old_leader = (table[column] == broker for column in ROLE_COLUMNS)
        about |= leader | old_leader
    return about


def processes_with_role(run: RunFolder, role: str) -> list[int]:
    """The processes whose role the manifest gives as this one."""
    return [each["process"] for each in run.manifest["processes"] if each.get("role") == role]
