"""The differences between two runs of the same scenario and seed, row by row.

Such runs have the same rows. If they do not, all later differences may follow from the first one,
so only the first row that differs is worth a look, or that of each process. A place of the total
order (``run_folder.ORDER``) differs if only one run has a row there, or if the rows are not equal.
"""

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.traces.run_folder import ORDER, RunFolder, TraceRow
from tidegauge.traces.trace_file import Table

#: The place of a row in the total order.
Place = tuple[int, ...]

#: For the rows at one time: the first one, and the first one behind them.
_SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


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


class RunComparison:
    """Two runs, compared; kinds and columns that only one schema has are left out."""

    def __init__(
        self,
        one: RunFolder,
        other: RunFolder,
        *,
        canonical: bool = False,
        one_is_unfinished: bool = False,
    ) -> None:
        """Compare all rows.

        Args:
            one: a run.
            other: another run of the same scenario.
            canonical: only canonical rows are compared.
            one_is_unfinished: missing rows of the first run are no difference, if they come after
                its last row of that kind and process.

        Raises:
            TraceError: a trace file is damaged.
        """
        kinds = [
            name
            for name, kind in one.kinds.items()
            if name in other.kinds and (kind.canonical or not canonical)
        ]
        self._mine = {kind: one.table(kind) for kind in kinds}
        self._its = {kind: other.table(kind) for kind in kinds}
        if one_is_unfinished:
            self._its = {kind: _as_far_as(self._mine[kind], self._its[kind]) for kind in kinds}
        #: The first place of each process that differs.
        self._places: dict[int, Place] = {}
        for kind in kinds:
            for process, place in _first_places(self._mine[kind], self._its[kind]).items():
                self._places[process] = min(place, self._places.get(process, place))

    @property
    def first(self) -> Difference | None:
        """The first rows in the total order that differ; None if all are equal."""
        if not self._places:
            return None
        place = min(self._places.values())
        return Difference(_next_row(self._mine, place), _next_row(self._its, place))

    @property
    def by_process(self) -> dict[int, Difference]:
        """The first rows that differ of each process that has any, in the order of their places."""
        return {
            process: Difference(
                _next_row(self._mine, place, process), _next_row(self._its, place, process)
            )
            for process, place in sorted(self._places.items(), key=lambda each: each[1])
        }


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


def _first_places(mine: Table, its: Table) -> dict[int, Place]:
    """The first place of each process at which two tables of one kind differ."""
    if all(np.array_equal(mine[name], its[name]) for name in mine.keys() & its.keys()):
        return {}
    rows, their_rows = _by_process(mine), _by_process(its)
    nothing = np.empty(0, np.int64)
    found = {}
    for process in rows.keys() | their_rows.keys():
        both = (rows.get(process, nothing), their_rows.get(process, nothing))
        place = _first_place(mine, its, *both)
        if place is not None:
            found[process] = place
    return found


def _by_process(table: Table) -> dict[int, NDArray[np.int64]]:
    """The rows of each process in a table, in their order."""
    order = np.argsort(table["process"], kind="stable")
    processes, firsts = np.unique(table["process"][order], return_index=True)
    ends = [*firsts.tolist(), len(order)][1:]
    return {
        process: order[first:end]
        for process, first, end in zip(processes.tolist(), firsts.tolist(), ends, strict=True)
    }


def _first_place(
    mine: Table, its: Table, rows: NDArray[np.int64], their_rows: NDArray[np.int64]
) -> Place | None:
    """The place of the first row that differs, or that only one of two tables has."""
    shared = min(len(rows), len(their_rows))
    differs = np.zeros(shared, np.bool_)
    for name in mine.keys() & its.keys():
        differs |= mine[name][rows[:shared]] != its[name][their_rows[:shared]]
    found = np.flatnonzero(differs)
    first = int(found[0]) if len(found) else shared
    places = [
        _place(table, int(each[first]))
        for table, each in ((mine, rows), (its, their_rows))
        if first < len(each)
    ]
    return min(places, default=None)


def _place(table: Table, row: int) -> Place:
    return tuple(int(table[name][row]) for name in ORDER)


def _next_row(
    tables: Mapping[str, Table], place: Place, process: int | None = None
) -> TraceRow | None:
    """The first row at a place of the total order, or after it: of all processes, or of one."""
    found = []
    for kind, table in tables.items():
        times_us = table["time_us"]
        then = range(*(int(np.searchsorted(times_us, place[0], side)) for side in _SIDES))
        later: Iterable[int] = range(then.stop, len(times_us))
        if process is not None:
            its_rows = table["process"][then.stop :] == process
            later = (np.flatnonzero(its_rows)[:1] + then.stop).tolist()
        at_once = (
            row
            for row in then
            if _place(table, row) >= place and process in {None, int(table["process"][row])}
        )
        row = next(chain(at_once, later), None)
        if row is not None:
            found.append((_place(table, row), kind, row))
    if not found:
        return None
    _, kind, row = min(found)
    return TraceRow(kind, {name: int(values[row]) for name, values in tables[kind].items()})
