"""Tables as files: written run by run as a whole, and read back.

``FOLDER/run=<name>/<table>/*.parquet``, and beside the tables of a run ``made_of.json``: of which
trace they were made, and by which rules. Tables that are there are not made again, unless one of
the two is another one now; the trace of a run that is still going is another one as it grows.
"""

from __future__ import annotations

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
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.spark_analysis.run_paths import FoundRun
from tidegauge.spark_analysis.tables.all_tables import TABLES
from tidegauge.spark_analysis.tables.result_table import ResultTable
from tidegauge.spark_analysis.tables.run_rows import rows_of_runs
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
    spark: SparkSession,
    made_of: Mapping[FoundRun, MadeOf],
    folder: Path,
    names: Iterable[str],
    begins: Callable[[str], None] = lambda _: None,
) -> None:
    """Make the missing tables of runs, as of their current traces.

    Missing tables are made together. They are put in place by renaming when all are complete, so
    that a reader never sees half of a table.

    Args:
        spark: the session.
        made_of: the runs, as :func:`made_of` found them.
        folder: the folder of the tables; executors must see it, too.
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
        rows = rows_of_runs(spark, lacking)
        try:
            for table in wanted:
                begins(table.name)
                _write(table, table.of(rows), lacking, draft)
        finally:
            rows.release()
        for run in lacking:
            _take_place(draft, folder / _folder_of(run), made_of[run], missing[run])


def read_table(
    spark: SparkSession, folder: Path, name: str, runs: Sequence[FoundRun] | None = None
) -> DataFrame:
    """A table of these runs, or of all that were written to a folder.

    Raises:
        KeyError: the table does not exist.
        AnalysisException: no run was written there.
    """
    schema = ", ".join(f"`{column.name}` {column.type}" for column in TABLES[name].columns)
    files = spark.read.schema(schema).option("basePath", str(folder))
    folders = [f"{_RUN}*"] if runs is None else [_folder_of(run) for run in runs]
    read = files.parquet(*(f"{folder}/{each}/{name}" for each in folders))
    return read.select(*(column.name for column in TABLES[name].columns))


@cache
def _sources() -> str:
    """A hash of all that says how tables are made."""
    found = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        found.update(file.read_bytes())
    return found.hexdigest()


def _missing(place: Path, made_of: MadeOf, tables: Sequence[ResultTable]) -> list[ResultTable]:
    """Which tables of a run are not there, or not of its trace."""
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
    """A folder for what is not whole yet."""
    draft = Path(mkdtemp(prefix=".draft-", dir=folder))
    try:
        yield draft
    finally:
        shutil.rmtree(draft)


def _write(table: ResultTable, made: DataFrame, runs: Sequence[FoundRun], draft: Path) -> None:
    """Write one table of all runs; of a run without a row in it, an empty one."""
    # A run can be called anything, and Spark has its own mind about what a folder can be called.
    by_run = made.withColumn("_run", f.sha2("run", 256)).drop("run")
    together = draft / table.name
    by_run.write.partitionBy("_run").parquet(str(together))
    for run in runs:
        written = together / f"_run={hashlib.sha256(run.name.encode()).hexdigest()}"
        place = draft / _folder_of(run) / table.name
        place.parent.mkdir(exist_ok=True)
        if written.exists():
            written.rename(place)
        else:
            place.mkdir()
            pq.write_table(_nothing(table), place / "part-0.parquet")
    shutil.rmtree(together)


def _nothing(table: ResultTable) -> Any:
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
