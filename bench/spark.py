"""What it costs to ask Spark: ten million rows of a generated trace, of many kinds.

The trace is written once and kept in a temporary folder. Printed are seconds of the wall, after the
session was started: a group-by over one kind as the first thing that is asked, and again; the same
over all kinds; and how much of the files is read for one kind. Beside it the first group-by in
DuckDB, over the same files: on one machine Spark is slower, it is here to scale out.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]  # it comes without types

from tidegauge.analysis.requests import TraceRequest
from tidegauge.analysis.trace_parts import read_share
from tidegauge.compiled.records import new_records
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS, SCHEMA_VERSION
from tidegauge.spark_analysis.events import events
from tidegauge.spark_analysis.session import spark_session
from tidegauge.traces.directory import LISTS
from tidegauge.traces.run_files import FORMAT, MANIFEST, TRACE, trace_files
from tidegauge.traces.run_folder import write_json_atomically
from tidegauge.traces.trace_file import TraceWriter, read_trace

ROWS = 10_000_000
FILES = 13
CHUNK = 100_000
CORES = 2

#: Kinds and their shares of the rows: a trace of level ``all`` is mostly details.
SHARES = {
    "fetch_answered": 0.30,
    "appended": 0.25,
    "high_watermark_moved": 0.20,
    "sampled": 0.10,
    "produce_answered": 0.10,
    "became_follower": 0.02,
    "isr_shrunk": 0.01,
    "isr_expanded": 0.01,
    "leader_elected": 0.01,
}


def generated_run(folder: Path) -> Path:
    """A run whose trace has :data:`ROWS` rows; made unless it is there from an earlier time."""
    run = folder / f"tidegauge-bench-{ROWS}-{SCHEMA_VERSION}"
    if (run / MANIFEST).exists():
        return run
    (run / TRACE).mkdir(parents=True, exist_ok=True)
    began = time.perf_counter()
    for number in range(FILES):
        with TraceWriter(run / TRACE / f"group-{number}.msgpack") as writer:
            for first in range(0, ROWS // FILES, CHUNK):
                writer.write(generated_rows(number, first, min(CHUNK, ROWS // FILES - first)))
    print(f"written in {time.perf_counter() - began:.1f} s")
    manifest = {"format": FORMAT, "schema_version": SCHEMA_VERSION} | {name: [] for name in LISTS}
    write_json_atomically(run / MANIFEST, manifest)
    return run


def generated_rows(process: int, first: int, count: int) -> Any:
    """Rows of one process: partitions at random, offsets that grow, times well apart."""
    numbers = {kind.name: kind.number for kind in ROW_KINDS.values()}
    random = np.random.default_rng([process, first])
    kinds = random.choice([numbers[name] for name in SHARES], count, p=list(SHARES.values()))
    rows: Any = new_records(RowSlot, count)
    rows["kind"] = kinds
    rows["time_us"] = first * 350 + np.cumsum(random.integers(1, 700, count))
    rows["process"] = process
    rows["sequence"] = np.arange(first, first + count) // 20
    rows["minor"] = np.arange(first, first + count) % 20
    rows["cause_process"] = random.integers(0, FILES, count)
    rows["cause_sequence"] = rows["sequence"] - random.integers(0, 30, count)
    rows["because_process"] = rows["because_sequence"] = -1
    rows["values"][:, 0] = random.integers(0, 360, count)
    rows["values"][:, 1] = random.integers(0, 6, count)
    for column in range(2, 6):
        rows["values"][:, column] = rows["time_us"] // 1000 + random.integers(0, 500, count)
    return rows


def seconds(work: Callable[[], object]) -> float:
    """How long the work takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def grouped_by_duckdb(run: Path, kind: str, columns: Sequence[str]) -> None:
    """The largest values of a kind's columns, by the first one; frames are read and unpacked."""
    frames = [
        frame
        for file in trace_files(run)
        for frame in read_trace(file).frames
        if frame.kind.name == kind
    ]
    sampled = pa.concat_tables(
        pa.table({name: frame.column(name) for name in columns}) for frame in frames
    )
    database = duckdb.connect()
    database.execute(f"set threads to {CORES}")
    database.register("sampled", sampled)
    largest = ", ".join(f"max({name})" for name in columns)
    database.sql(f"select {columns[0]}, {largest} from sampled group by {columns[0]}").fetchall()  # noqa: S608 - names of columns


def measure() -> None:
    """Write, start, ask."""
    run = generated_run(Path(tempfile.gettempdir()))
    sampled = ["partition", "log_end_offset", "high_watermark"]
    for kind in ("fetch_answered", "sampled", "isr_shrunk"):
        share = read_share(TraceRequest(run, kind))
        print(f"{kind:16} {share}; beside them {share.beside:.2%} of all")
    in_duckdb = seconds(lambda: grouped_by_duckdb(run, "sampled", sampled))
    print(f"{'one kind, 1 million rows, in DuckDB':40} {in_duckdb:6.2f} s")
    began = time.perf_counter()
    with spark_session(CORES) as spark:
        print(f"session {time.perf_counter() - began:.1f} s")
        for what, work in {
            "one kind, 1 million rows, first of all": lambda: (
                events(spark, run, "sampled", sampled).groupBy("partition").max().collect()
            ),
            "... again": lambda: (
                events(spark, run, "sampled", sampled).groupBy("partition").max().collect()
            ),
            "... all its columns": lambda: (
                events(spark, run, "sampled").groupBy("partition").max().collect()
            ),
            "all kinds, two columns": lambda: (
                events(spark, run, columns=["kind", "time_us"]).groupBy("kind").max().collect()
            ),
            "all kinds, all columns": lambda: events(spark, run).groupBy("kind").max().collect(),
        }.items():
            print(f"{what:40} {seconds(work):6.2f} s")


if __name__ == "__main__":
    measure()
