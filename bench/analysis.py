"""Times of DuckDB and Spark for all result tables, stage by stage from process start.

Two runs: the quickstart, and its twin with ZooKeeper, long enough at trace level ``all`` for ten
million rows. They are simulated once and kept in a temporary folder. A stage of a table lasts until
the next table begins, so that it includes the making of all that the next one needs. Printed are
seconds of the wall. With Spark, a query over one kind of rows follows, without tables.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.engine import Engine
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import FoundRun, runs_at
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION
from tidegauge.traces.run_files import SUMMARY, trace_files
from tidegauge.traces.trace_file import read_trace

CORES = 2
ENGINES = ("duckdb", "spark")

#: The runs by their names: a scenario, and the overridden values.
RUNS: dict[str, tuple[str, dict[str, object]]] = {
    "quickstart": ("quickstart", {}),
    "ten-million-rows": ("quickstart-zookeeper", {"trace": "all", "duration": "35m"}),
}


def recorded_run(name: str) -> Path:
    """A run of :data:`RUNS`; simulated unless it is there from an earlier time."""
    folder = Path(tempfile.gettempdir(), f"tidegauge-bench-{SCHEMA_VERSION}", name)
    if not (folder / SUMMARY).exists():
        scenario, changes = RUNS[name]
        simulate(load_scenario(find_scenario(scenario), changes), folder)
    return folder


def row_count(run: Path) -> int:
    """The number of rows in a run's trace."""
    return sum(frame.rows for file in trace_files(run) for frame in read_trace(file).frames)


def stages(engine: str, run: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """The stages of a process that makes all tables, and the seconds that each took."""
    began = time.perf_counter()
    stage = "process and imports"
    make = [sys.executable, __file__, engine, str(run), str(folder)]
    with subprocess.Popen(make, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            now = time.perf_counter()
            yield stage, now - began
            began, stage = now, line.strip()
    yield stage, time.perf_counter() - began


def make_tables(engine: str, run: str, folder: str) -> None:
    """Make all tables of a run, and print each stage as it begins."""
    begins("session")
    runs = runs_at(run)
    with engine_of(engine, runs) as made_by:
        begins("rows of the first table")
        tables = RunTables(runs, Path(folder), made_by)
        tables.make(TABLES, begins)
        begins("a query over tables")
        tables.rows("select run, count(*) as elections from elections group by run")
        if engine == "spark":
            ask_spark(run)
        begins("end")


def engine_of(engine: str, runs: list[FoundRun]) -> AbstractContextManager[Engine]:
    """The engine of a name."""
    if engine == "duckdb":
        return nullcontext(DuckDBEngine())
    # DuckDB's process does not import Spark.
    from tidegauge.spark_analysis.engine import spark_engine  # noqa: PLC0415

    return spark_engine(runs, CORES)


def ask_spark(run: str) -> None:
    """Group the rows of one kind, twice: the first query starts Spark's Python."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    from tidegauge.spark_analysis.events import events  # noqa: PLC0415 - as above

    spark = SparkSession.getActiveSession()
    assert spark is not None
    for stage in ("a query over rows, the first", "a query over rows, again"):
        begins(stage)
        events(spark, run, "sampled").groupBy("partition").max().collect()


def begins(stage: str) -> None:
    """Notify the measuring process that a stage begins."""
    print(stage, flush=True)


def measure() -> None:
    """Print the stages of both engines for each run."""
    for name in RUNS:
        run = recorded_run(name)
        print(f"{name}: {row_count(run):,} rows")
        for engine in ENGINES:
            with tempfile.TemporaryDirectory() as folder:
                took = list(stages(engine, run, Path(folder)))
            for stage, seconds in took:
                print(f"  {engine:7} {stage:28} {seconds:6.2f} s")
            print(f"  {engine:7} {'in all':28} {sum(seconds for _, seconds in took):6.2f} s")


if __name__ == "__main__":
    if sys.argv[1:]:
        make_tables(*sys.argv[1:])
    else:
        measure()
