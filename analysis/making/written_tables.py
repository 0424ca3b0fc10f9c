"""Tables as files: written run by run as a whole, and read back.

``FOLDER/run=<name>/<table>/*.parquet``, and beside the tables of a run ``made_of.json``: of which
trace they were made, and by which rules. Tables that are there are not made again, unless one of
the two is another one now; the trace of a run that is still going is another one as it grows.
"""

import hashlib
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from urllib.parse import quote

import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis import attribution, causes, cluster_course, fault_reach
from tidegauge.analysis.making.engine import Engine, sql_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.dialect import DUCKDB, SPARK
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.traces.run_files import read_summary, trace_files

#: The beginning of the folder of a run; its URL-encoded name follows.
_RUN = "run="
_MADE_OF = "made_of.json"
_ASCII = 127

#: The inputs of tables, as names and values: equal inputs make equal tables.
MadeOf = dict[str, str]

_ARROW = {
    "string": pa.string(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "array<bigint>": pa.list_(pa.int64()),
}


def made_of(runs: Sequence[FoundRun]) -> dict[FoundRun, MadeOf]:
    """The inputs of the tables of each run, as of its current trace.

    Raises:
        RunError: a summary cannot be read.
    """
    return {run: {**_trace_of(run), "tables_sha256": _sources()} for run in runs}


def _trace_of(run: FoundRun) -> MadeOf:
    summary = read_summary(run.folder)
    if summary is not None:
        return {"trace_sha256": str(summary["trace_sha256"])}
    sizes = {file.name: file.stat().st_size for file in trace_files(run.folder)}
    return {"trace_bytes": json.dumps(sizes)}


def write_tables(
    engine: Engine,
    made_of: Mapping[FoundRun, MadeOf],
    folder: Path,
    names: Iterable[str],
    begins: Callable[[str], None] = lambda _: None,
) -> None:
    """Make the missing tables of runs, as of their current traces.

    Missing tables are made together. They are put in place by renaming when all are complete, so
    that a reader never sees half of a table.

    Args:
        engine: makes them.
        made_of: the runs, as :func:`made_of` found them.
        folder: the folder of the tables; executors of a cluster must see it, too.
        names: the names of the tables.
        begins: called with the name of each missing table as its making begins.

    Raises:
        KeyError: the table does not exist.
        RunError: a run cannot be read.
        ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        OSError: the tables cannot be written.
    """
    tables = [TABLES[name] for name in names]
    missing = {
        run: _missing(folder / _folder_of(run), of_run, tables) for run, of_run in made_of.items()
    }
    lacking = [run for run, tables_of_run in missing.items() if tables_of_run]
    if not lacking:
        return
    wanted = [table for table in tables if any(table in missing[run] for run in lacking)]
    folder.mkdir(parents=True, exist_ok=True)
    with _draft(folder) as draft:
        engine.write(
            lacking, wanted, lambda run, table: draft / _folder_of(run) / table.name, begins
        )
        for run in lacking:
            _take_place(draft, folder / _folder_of(run), made_of[run], missing[run])


def files_of(folder: Path, run: FoundRun, name: str) -> list[Path]:
    """The Parquet files of a table of a run that was written."""
    return sorted((folder / _folder_of(run) / name).glob("*.parquet"))


@cache
def _sources() -> str:
    """A hash of all sources that make tables."""
    found = hashlib.sha256()
    for name in sorted({*TABLES, *VIEWS}):
        found.update((sql_of(name) or "").encode())
    for text in (*DUCKDB, *SPARK, *(name for table in TABLES.values() for name in table.order)):
        found.update(text.encode())
    for module in (causes, attribution, cluster_course, fault_reach, attribution):
        found.update(Path(str(module.__file__)).read_bytes())
    return found.hexdigest()


def _missing(place: Path, made_of: MadeOf, tables: Sequence[ResultTable]) -> list[ResultTable]:
    """Tables of a run that are missing, or are not of its trace."""
    if not _is_of(place, made_of):
        return list(tables)
    return [table for table in tables if not (place / table.name).is_dir()]


def _is_of(place: Path, made_of: MadeOf) -> bool:
    """Whether the tables that are there are made of just this."""
    try:
        there: Any = json.loads((place / _MADE_OF).read_text())
    except (OSError, ValueError):
        return False
    return bool(there == made_of)


@contextmanager
def _draft(folder: Path) -> Iterator[Path]:
    """A folder for incomplete files."""
    draft = Path(mkdtemp(prefix=".draft-", dir=folder))
    try:
        yield draft
    finally:
        shutil.rmtree(draft)


def nothing(table: ResultTable) -> Any:
    """The table without a row, and without the column that its folder stands for."""
    columns = [(column.name, _ARROW[column.type]) for column in table.columns]
    return pa.schema([each for each in columns if each[0] != "run"]).empty_table()


def _folder_of(run: FoundRun) -> str:
    # Spark takes each escaped byte for a character, so that only those of ASCII can be escaped.
    return _RUN + "".join(each if ord(each) > _ASCII else quote(each, safe="") for each in run.name)


def _take_place(draft: Path, place: Path, made_of: MadeOf, tables: Sequence[ResultTable]) -> None:
    """Put tables of a run beside those that are of the same trace, or in place of all others."""
    made = draft / place.name
    (made / _MADE_OF).write_text(json.dumps(made_of))
    if _is_of(place, made_of):
        for table in tables:
            (made / table.name).rename(place / table.name)
        return
    if place.exists():
        place.rename(draft / f"{place.name}-before")
    made.rename(place)
