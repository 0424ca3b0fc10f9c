"""The first difference between two runs of the same scenario and seed, row by row.

Such runs have the same rows. If they do not, all later differences follow from the first one, so
only that row is worth a look. It is found in the tables of all kinds: the first place in the total
order (``run_folder.ORDER``) at which one of them differs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tidegauge.traces.run_folder import ORDER, RunFolder, TraceRow
from tidegauge.traces.trace_file import Table

#: The place of a row in the total order.
Place = tuple[int, ...]


class Difference(NamedTuple):
    """The first different rows of two runs; None: a run has no more rows."""

    one: TraceRow | None
    other: TraceRow | None

    def columns(self) -> list[str]:
        """The columns in which both rows differ; none if they are of different kinds."""
        if self.one is None or self.other is None or self.one.kind != self.other.kind:
            return []
        mine, its = self.one.columns, self.other.columns
        return [name for name in mine if name in its and mine[name] != its[name]]


def first_difference(
    one: RunFolder, other: RunFolder, *, one_is_unfinished: bool = False
) -> Difference | None:
    """The first rows in the total order that differ; None if all are equal.

    Kinds and columns that only one schema has are left out.

    Args:
        one: a run.
        other: another run of the same scenario.
        one_is_unfinished: missing rows of the first run are no difference, if they come after its
            last row of that kind and process.

    Raises:
        TraceError: a trace file is damaged.
    """
    kinds = [kind for kind in one.kinds if kind in other.kinds]
    mine = {kind: one.table(kind) for kind in kinds}
    its = {kind: other.table(kind) for kind in kinds}
    if one_is_unfinished:
        its = {kind: _as_far_as(mine[kind], its[kind]) for kind in kinds}
    places = (_first_different_place(mine[kind], its[kind]) for kind in kinds)
    first = min((place for place in places if place is not None), default=None)
    if first is None:
        return None
    return Difference(_next_row(mine, first), _next_row(its, first))


def row_count(run: RunFolder) -> int:
    """The number of rows of a run, of all kinds.

    Raises:
        TraceError: a trace file is damaged.
    """
    return sum(trace.row_count(kind) for trace in run.traces for kind in trace.kinds)


def _as_far_as(recorded: Table, table: Table) -> Table:
    """The first rows of each process in a table, as many as were recorded."""
    kept = np.zeros(len(table["process"]), np.bool_)
    processes, counts = np.unique(recorded["process"], return_counts=True)
    for process, count in zip(processes.tolist(), counts.tolist(), strict=True):
        kept[np.flatnonzero(table["process"] == process)[:count]] = True
    return {name: values[kept] for name, values in table.items()}


def _first_different_place(mine: Table, its: Table) -> Place | None:
    """The place of the first row that differs, or that is in one of two tables only."""
    shared = min(len(mine["process"]), len(its["process"]))
    differs = np.zeros(shared, np.bool_)
    for name in mine.keys() & its.keys():
        differs |= mine[name][:shared] != its[name][:shared]
    found = np.flatnonzero(differs)
    first = int(found[0]) if len(found) else shared
    places = [_place(table, first) for table in (mine, its) if first < len(table["process"])]
    return min(places, default=None)


def _place(table: Table, row: int) -> Place:
    return tuple(int(table[name][row]) for name in ORDER)


def _next_row(tables: dict[str, Table], place: Place) -> TraceRow | None:
    """The first row of all kinds at a place of the total order, or after it."""
    found = []
    for kind, table in tables.items():
        row = int(np.searchsorted(table["time_us"], place[0]))
        while row < len(table["time_us"]) and _place(table, row) < place:
            row += 1
        if row < len(table["time_us"]):
            found.append((_place(table, row), kind, row))
    if not found:
        return None
    _, kind, row = min(found)
    return TraceRow(kind, {name: int(values[row]) for name, values in tables[kind].items()})
