"""Tables as files: written run by run as a whole, and read back.

``FOLDER/run=<name>/<table>/*.parquet``. All tables of a run come there by one renaming, so a reader
sees those of before or the new ones, and never some of both.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import quote

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tidegauge.spark_analysis.run_paths import Paths
from tidegauge.spark_analysis.tables.all_tables import TABLES
from tidegauge.spark_analysis.tables.run_rows import RunRows, rows_of_runs

#: How the folder of a run begins; what follows is its name, as an address on the web has it.
_RUN = "run="


def write_tables(
    spark: SparkSession, runs: Paths, folder: Path, names: Iterable[str] = tuple(TABLES)
) -> list[str]:
    """Make the tables of runs and write them; those of the same runs that are there are replaced.

    Args:
        spark: the session.
        runs: folders of runs, or patterns of such folders.
        folder: where tables come; executors have to see it, too.
        names: which tables; all by default.

    Returns:
        The names of the runs.

    Raises:
        KeyError: there is no such table.
        RunError: a folder is no run, or a pattern matches none.
        ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        OSError: the tables cannot be written.
    """
    tables = [TABLES[name] for name in names]
    rows = rows_of_runs(spark, runs)
    folder.mkdir(parents=True, exist_ok=True)
    draft = Path(mkdtemp(prefix=".draft-", dir=folder))
    try:
        for table in tables:
            _write(table.of(rows), rows, draft, table.name)
        for run in rows.runs:
            _take_place(draft / _folder_of(run), folder / _folder_of(run))
    finally:
        rows.release()
        shutil.rmtree(draft)
    return list(rows.runs)


def read_table(spark: SparkSession, folder: Path, name: str) -> DataFrame:
    """A table of all runs that were written to a folder.

    Raises:
        KeyError: there is no such table.
        AnalysisException: no run was written there.
    """
    schema = ", ".join(f"`{column.name}` {column.type}" for column in TABLES[name].columns)
    files = spark.read.schema(schema).option("basePath", str(folder))
    read = files.parquet(f"{folder}/{_RUN}*/{name}").withColumn("run", f.url_decode("run"))
    return read.select(*(column.name for column in TABLES[name].columns))


def _write(table: DataFrame, rows: RunRows, draft: Path, name: str) -> None:
    """Write one table of all runs; of a run without a row in it, an empty one."""
    by_run = table.withColumn("_run", f.url_encode("run")).drop("run")
    together = draft / name
    by_run.write.partitionBy("_run").parquet(str(together))
    for run in rows.runs:
        written = together / f"_run={quote(run, safe='')}"
        place = draft / _folder_of(run) / name
        place.parent.mkdir(exist_ok=True)
        if written.exists():
            written.rename(place)
        else:
            by_run.drop("_run").limit(0).coalesce(1).write.parquet(str(place))
    shutil.rmtree(together)


def _folder_of(run: str) -> str:
    return _RUN + quote(run, safe="")


def _take_place(draft: Path, place: Path) -> None:
    """Put the tables of a run where those of before were."""
    if place.exists():
        place.rename(draft.with_name(f"{draft.name}-before"))
    draft.rename(place)
