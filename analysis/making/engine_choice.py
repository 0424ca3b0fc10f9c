"""The choice between the engines of result tables, by what was measured.

DuckDB is in this process, and makes tables of one group of runs after the other, so that memory is
that of a group. On one machine it takes a third to a fifth of Spark's time, whatever the number of
runs: Spark pays where a cluster has more cores, and where a single run does not fit into memory.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tidegauge.analysis.requests import FoundRun
from tidegauge.scenario.text.errors import counted
from tidegauge.traces.run_files import trace_bytes_of

DUCKDB, SPARK = "duckdb", "spark"
ENGINE_NAMES = {DUCKDB: "DuckDB", SPARK: "Spark"}

#: DuckDB's memory for each byte of the largest trace: ten million rows are 40 MB and took 1.1 GB.
_MEMORY_PER_TRACE_BYTE = 30


class Choice(NamedTuple):
    """An engine by its name, and the reason for it in one line."""

    engine: str
    reason: str


def is_submitted() -> bool:
    """Whether spark-submit has started this process, and with it a session."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def choose(runs: Sequence[FoundRun], *, asked: str | None, has_session: bool) -> Choice:
    """The engine for the tables of some runs.

    Args:
        runs: the runs.
        asked: the name of an engine that is asked for; None: the one that suits.
        has_session: whether this process is of a session of Spark already, as with spark-submit.

    Raises:
        OSError: a trace cannot be read.
    """
    if asked is not None:
        return Choice(asked, "as asked")
    if has_session:
        return Choice(SPARK, "spark-submit has started a session")
    largest_bytes = max(trace_bytes_of(run.folder) for run in runs)
    needed_bytes = largest_bytes * _MEMORY_PER_TRACE_BYTE
    free_bytes = _available_bytes()
    of_largest = (
        f"the largest trace of {counted(len(runs), 'run')} has {largest_bytes / 1e6:,.1f} MB"
        f" and needs some {needed_bytes / 1e9:,.1f} GB"
    )
    if needed_bytes > free_bytes:
        of_memory = f"{of_largest}, and {free_bytes / 1e9:,.1f} GB are free"
        if find_spec("pyspark") is not None:
            return Choice(SPARK, of_memory)
        return Choice(DUCKDB, f"{of_memory}; Spark is not installed")
    return Choice(DUCKDB, f"{of_largest}; Spark pays beyond memory, and on a cluster")


def _available_bytes() -> int:
    """The memory that a process can have, with that of files which the system keeps in memory."""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        available = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(available.split()[1]) << 10
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
