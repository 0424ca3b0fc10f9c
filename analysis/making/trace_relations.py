"""The rows of runs, and the origins of rows, as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.cause_table import arrow_of_causes
from tidegauge.analysis.requests import KINDS
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import ROW_COLUMNS, Table

#: Ends the name of the relation of a kind that has the rows of the liveness phase, too.
TO_THE_LAST = "_to_the_last"

#: The columns of every row that tables use.
_OF_ALL = ("time_us", "process", "sequence", "minor")


class TraceRelations:
    """The rows of some runs, read kind by kind when they are asked for."""

    def __init__(self, runs: Sequence[FoundRun], ends_us: Mapping[str, int]) -> None:
        """Take the runs, and where each ends by its name.

        Raises:
            RunError: a folder is not that of a run.
        """
        self._runs = [(run, RunFolder(run.folder)) for run in runs]
        self._ends_us = ends_us

    def rows(self, name: str) -> list[tuple[str, Any]]:
        """The rows of a relation of rows, of each run by its name; a column it lacks is null.

        Args:
            name: the name of a kind, or that with :data:`TO_THE_LAST`.

        Raises:
            TraceError: a trace file is damaged.
        """
        kind, has_all = name.removesuffix(TO_THE_LAST), name.endswith(TO_THE_LAST)
        return [
            (
                run.name,
                _arrow(folder.table(kind), kind, None if has_all else self._ends_us[run.name]),
            )
            for run, folder in self._runs
        ]

    def causes(self) -> Any:
        """The origins of rows of all runs.

        Raises:
            TraceError: a trace file is damaged.
        """
        return pa.concat_tables([arrow_of_causes(run) for run, _ in self._runs])


def _arrow(table: Table, kind: str, until_us: int | None) -> Any:
    columns = [*_OF_ALL, *(each for each in KINDS[kind].columns if each not in ROW_COLUMNS)]
    times_us = table["time_us"] if table else np.zeros(0, np.int64)
    # Rows are in their order, so that all before a time are a slice, which copies nothing.
    rows = len(times_us) if until_us is None else int(np.searchsorted(times_us, until_us))
    arrays = [
        pa.array(table[name][:rows], pa.int64()) if name in table else pa.nulls(rows, pa.int64())
        for name in columns
    ]
    return pa.table(arrays, names=columns)
