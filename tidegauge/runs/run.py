"""A run: its folder, the names in its manifest, its rows as events, its result tables.

A run is made by ``run``, or by ``read-logs`` from the logs of a real cluster.

Tables are made when they are first asked for, and again if the trace has grown or the tables of
this Tidegauge are others. If the folder of the run cannot be written, they lie in a temporary
folder until the process ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tidegauge.runs.trace_events import Names, TraceEvent, event_of
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.traces.trace_file import Table, TraceKind

if TYPE_CHECKING:
    from tidegauge.analysis.making.run_tables import RunTables

#: The folder of the tables within that of a run; ``analyze`` uses the same.
TABLES_FOLDER = "tables"

#: Temporary folders, which are removed as the process ends.
_temporary: list[TemporaryDirectory[str]] = []

#: For each row of a table, whether it is selected.
Mask: TypeAlias = NDArray[np.bool_]


class Run(RunFolder):
    """A run with its names, events and tables; each is read or made on first use."""

    @cached_property
    def names(self) -> Names:
        """The names of all that has a number in its rows.

        Raises:
            TraceError: a trace file is damaged.
        """
        return Names.of(self)

    @cached_property
    def tables(self) -> RunTables:
        """Its result tables."""
        # It is heavy, and `--help` stays quick.
        from tidegauge.analysis.making.run_tables import RunTables  # noqa: PLC0415

        folder = self.path / TABLES_FOLDER
        if not os.access(folder if folder.exists() else self.path, os.W_OK):
            _temporary.append(TemporaryDirectory(prefix="tidegauge-"))
            folder = Path(_temporary[-1].name)
        return RunTables(self.path, folder)

    def event(self, row: TraceRow) -> TraceEvent:
        """A row as an event."""
        return event_of(row, self.names)

    def events(
        self,
        wanted: Callable[[TraceKind], bool] = lambda _: True,
        *,
        partition: int | None = None,
        until_us: int | None = None,
    ) -> Iterator[TraceEvent]:
        """Rows as events, in their total order.

        Args:
            wanted: whether a kind of row is wanted; by default all kinds are.
            partition: only rows about this partition, by its number.
            until_us: only rows up to this time.

        Raises:
            TraceError: a trace file is damaged.
        """
        for row in self.all_rows(partition, wanted=wanted):
            if until_us is not None and row["time_us"] > until_us:
                return
            yield self.event(row)

    def events_of(self, *kinds: str, until_us: int | None = None) -> Iterator[TraceEvent]:
        """The events of some kinds, in their total order.

        Raises:
            TraceError: a trace file is damaged.
        """
        return self.events(lambda kind: kind.name in kinds, until_us=until_us)

    def selected(self, wanted: Callable[[TraceKind, Table], Mask | None]) -> list[TraceEvent]:
        """Selected rows as events, in their total order: those of one broker, among millions.

        Args:
            wanted: makes the mask for a kind and the table of its rows; None for no rows.

        Raises:
            TraceError: a trace file is damaged.
        """
        rows: list[TraceRow] = []
        for kind in self.kinds.values():
            table = self.table(kind.name)
            mask = wanted(kind, table)
            if mask is None:
                continue
            columns = [values[mask].tolist() for values in table.values()]
            rows += (
                TraceRow(kind.name, dict(zip(table, values, strict=True)))
                for values in zip(*columns, strict=True)
            )
        return [self.event(row) for row in sorted(rows, key=lambda row: row.place)]
