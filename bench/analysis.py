"""Times of DuckDB and Spark for all result tables, stage by stage from process start.

The cases: quickstart, forty seeds of it, and its twin with ZooKeeper, long enough at trace level
``all`` for ten million rows; with ``--large`` also a thousand seeds of quickstart, which take ten
minutes. Runs are simulated once and kept in a temporary folder. A stage of a table lasts until the
next table begins, so that it includes the making of all that the next one needs; it is the sum over
all groups of runs. Printed are seconds of the wall. With Spark, a query over one kind of rows
follows, without tables.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import NamedTuple

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


class Case(NamedTuple):
    """Runs of a scenario with overridden values, one for each seed."""

    scenario: str
    changes: dict[str, object]
    seeds: int = 1


CASES = {
    "quickstart": Case("quickstart", {}),
    "forty runs": Case("quickstart", {}, 40),
    "ten million rows": Case("quickstart-zookeeper", {"trace": "all", "duration": "35m"}),
}
LARGE = {"a thousand runs": Case("quickstart", {}, 1000)}


def recorded_runs(case: Case) -> Path:
    """The folder of the runs of a case; simulated unless they are there from an earlier time."""
    temporary = Path(tempfile.gettempdir(), f"tidegauge-bench-{SCHEMA_VERSION}")
    folder = temporary / f"{case.scenario}-{case.seeds}"
    for seed in range(1, case.seeds + 1):
        run = folder / f"seed={seed}"
        if not (run / SUMMARY).exists():
            changes = {**case.changes, "seed": seed}
            simulate(load_scenario(find_scenario(case.scenario), changes), run)
    return folder


def row_count(runs: Path) -> int:
    """The number of rows in the traces of runs."""
    files = (file for run in runs.iterdir() for file in trace_files(run))
    return sum(frame.rows for file in files for frame in read_trace(file).frames)


def stages(engine: str, runs: Path, folder: Path) -> Iterator[tuple[str, float]]:
    """The stages of a process that makes all tables, and the seconds that each took."""
    began = time.perf_counter()
    stage = "process and imports"
    make = [sys.executable, __file__, engine, f"{runs}/*", str(folder)]
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


def measure(cases: Mapping[str, Case]) -> None:
    """Print the stages of both engines for each case."""
    for name, case in cases.items():
        runs = recorded_runs(case)
        print(f"{name}: {row_count(runs):,} rows")
        for engine in ENGINES:
            with tempfile.TemporaryDirectory() as folder:
                took: dict[str, float] = {}
                for stage, seconds in stages(engine, runs, Path(folder)):
                    of_all = stage.partition(" of runs ")[0]
                    took[of_all] = took.get(of_all, 0) + seconds
            for stage, seconds in took.items():
                print(f"  {engine:7} {stage:28} {seconds:6.2f} s")
            print(f"  {engine:7} {'in all':28} {sum(took.values()):6.2f} s")


if __name__ == "__main__":
    if sys.argv[2:]:
        make_tables(*sys.argv[1:])
    else:
        measure({**CASES, **(LARGE if sys.argv[1:] == ["--large"] else {})})
