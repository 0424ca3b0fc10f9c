"""One Spark for all tests that need it, and a recorded run for them to look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tidegauge.replication.records import new_records
from tidegauge.run_folder import RunFolder
from tidegauge.simulation.kernel import Row
from tidegauge.simulation.run_files import TRACE
from tidegauge.simulation.trace_file import FRAME_ROWS, TraceWriter
from tidegauge.spark_analysis.session import FOR_QUICK_START, spark_session
from written_rows import KINDS, WrittenRows

#: So many rows are details of appends: three frames, the last one of them not full.
APPENDED = 2 * FRAME_ROWS + 7


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with Spark run in one process, so that Java is started once."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("spark"))


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
        cause = rows.write("fault_began", time_us, process, fault=0, kind=2)
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
    rows: Any = new_records(Row, count)
    rows["kind"] = KINDS["appended"].number
    rows["time_us"] = np.arange(count) * 1000
    rows["process"] = 9
    rows["minor"] = np.arange(count) + 1
    rows["values"][:, 3] = np.random.default_rng(1).integers(0, 2**40, count)
    return rows
