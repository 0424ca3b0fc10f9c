"""The rows of runs, and the origins of rows, as Arrow tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.causes import arrow_of_causes
from tidegauge.analysis.requests import KINDS
from tidegauge.analysis.run_paths import FoundRun
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import ROW_COLUMNS

#: The columns of every row that tables use.
_OF_ALL = ("time_us", "process", "sequence", "minor")


class TraceRelations:
    """The rows of some runs, read kind by kind when they are asked for."""

    def __init__(self, runs: Sequence[FoundRun]) -> None:
        """Take the runs.

        Raises:
            RunError: a folder is not that of a run.
        """
        self._runs = [(run, RunFolder(run.folder)) for run in runs]

    def rows(self, kind: str) -> list[tuple[str, Any]]:
        """The rows of a kind of each run, by the name of the run; a column it lacks is null.

        Raises:
            TraceError: a trace file is damaged.
        """
        return [(run.name, self._table(folder, kind)) for run, folder in self._runs]

    def causes(self) -> Any:
        """The origins of rows of all runs.

        Raises:
            TraceError: a trace file is damaged.
        """
        return pa.concat_tables([arrow_of_causes(run) for run, _ in self._runs])

    def _table(self, folder: RunFolder, kind: str) -> Any:
        table = folder.table(kind)
        columns = [*_OF_ALL, *(each for each in KINDS[kind].columns if each not in ROW_COLUMNS)]
        rows = len(table["time_us"]) if table else 0
        arrays = [
            pa.array(table[name]) if name in table else pa.nulls(rows, pa.int64())
            for name in columns
        ]
        return pa.table([each.cast(pa.int64()) for each in arrays], names=columns)
