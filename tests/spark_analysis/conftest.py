"""One Spark for all tests that need it, and recorded runs for them to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from fault_schedules import schedule
from recorded_tables import RUNS, WILD_SEED
from small_clusters import cluster_of, producers_of
from tidegauge.analysis.tables.run_rows import RunRows, rows_of_runs
from tidegauge.compiled.records import new_records
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.spark_analysis.session import FOR_QUICK_START, spark_session
from tidegauge.traces.run_files import TRACE
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import FRAME_ROWS, TraceWriter
from twelve_brokers import twelve_brokers
from written_rows import KINDS, WrittenRows

#: So many rows are details of appends: three frames, the last one of them not full.
APPENDED = 2 * FRAME_ROWS + 7


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with Spark run in one process, so that Java is started once.

    All tables of three runs take minutes: what looks at them is left out unless asked for.
    """
    for item in items:
        names = {*getattr(item, "fixturenames", ())}
        if "spark" in names:
            item.add_marker(pytest.mark.xdist_group("spark"))
        if "recorded" in names:
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    with spark_session(2, java_options=FOR_QUICK_START) as session:
        yield session


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run of two files: ISRs that shrink and expand, a cut, and many appends."""
    rows = WrittenRows()
    for second in range(40):
        process = second % 3
        time_us = second * 1_000_000
        cause = rows.write("fault_began", time_us, process, fault=0, fault_kind=2)
        rows.write(
            *("isr_shrunk", time_us + 1, process),
            partition=second % 2,
            isr=second,
            lag_ms=10_000,
            because=cause,
        )
        rows.write("isr_expanded", time_us + 2, process, partition=second % 2, isr=2**62 - second)
        rows.write("sampled", time_us + 3, process, partition=second % 2, log_end_offset=-1)
    folder = rows.run(tmp_path_factory.mktemp("runs") / "story", files=2)
    with TraceWriter(folder / TRACE / "group-2.msgpack") as writer:
        writer.write(appended_rows(APPENDED))
    return RunFolder(folder)


def appended_rows(count: int) -> Any:
    """Rows about appends: one a millisecond, of process 9."""
    rows: Any = new_records(RowSlot, count)
    rows["kind"] = KINDS["appended"].number
    rows["time_us"] = np.arange(count) * 1000
    rows["process"] = 9
    rows["minor"] = np.arange(count) + 1
    rows["values"][:, 3] = np.random.default_rng(1).integers(0, 2**40, count)
    return rows


@pytest.fixture(scope="session")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A leader is killed, and its partition has another one soon."""
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 4000},
        duration="20s",
        liveness=True,
        workload={"producers": [producers_of(10, "2s", "18s", acks="all")]},
        faults=[{"kind": "crash", "at": "5s", "for": "9s", "brokers": [1]}],
    )
    return simulate(scenario, tmp_path_factory.mktemp("runs") / "crashed")


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, RunFolder]:
    """Three runs by their names: a crash, a rack without power, a wild schedule."""
    folder = tmp_path_factory.mktemp("recorded")
    scenarios = (load_scenario(find_scenario("quickstart")), twelve_brokers(), schedule(WILD_SEED))
    return {
        name: simulate(scenario, folder / name)
        for name, scenario in zip(RUNS, scenarios, strict=True)
    }


@pytest.fixture(scope="session")
def rows(spark: SparkSession, recorded: dict[str, RunFolder]) -> Iterator[RunRows]:
    """The rows of all three: each table is made once for all of them."""
    kept = rows_of_runs(spark, [run.path for run in recorded.values()])
    yield kept
    kept.release()
