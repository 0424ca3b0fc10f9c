"""Rows of the trace, written by hand as the kernel writes them: numbered and folded.

The tests of trace files and of what reads them build small runs with it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tidegauge.compiled.records import Records, new_records
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import verdicts
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.rows import fold_row
from tidegauge.simulation.trace_rows.codes import STATE_CREATED, STATE_WRITTEN
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS, SCHEMA_VERSION
from tidegauge.traces.run_files import MANIFEST, SUMMARY, TRACE
from tidegauge.traces.run_folder import write_json_atomically
from tidegauge.traces.trace_file import TraceWriter
from tidegauge.traces.trace_hash import NO_ROWS, named_hashes, trace_sha256

#: The kinds of rows by name.
KINDS = {kind.name: kind for kind in ROW_KINDS.values()}

S = 1_000_000

#: The process of ZooKeeper in these tests.
ZOOKEEPER = 4

#: What names a canonical row: its process, and its number there.
Handle = tuple[int, int]


def named_partition(number: int, replicas: list[int], min_isr: int = 1) -> dict[str, Any]:
    """A partition of orders in a manifest."""
    return {
        "topic": "orders",
        "partition": number,
        "replicas": replicas,
        "slots": replicas,
        "min_insync_replicas": min_isr,
        "most_insync_replicas": None,
    }


MANIFEST_OF_TESTS: dict[str, Any] = {
    "format": "tidegauge-run",
    "tidegauge": "0.1.0",
    "schema_version": SCHEMA_VERSION,
    "scenario": {"duration": "1h", "topics": []},
    "seed": 1,
    "trace": "transitions",
    "processes": [
        {"process": 0, "name": "broker 1", "role": "broker", "number": 0},
        {"process": 1, "name": "broker 2", "role": "broker", "number": 1},
        {"process": 2, "name": "broker 3", "role": "broker", "number": 2},
        {"process": 3, "name": "controller of broker 1", "role": "controller", "number": 0},
        {"process": 4, "name": "zookeeper", "role": "zookeeper", "number": 0},
        {"process": 5, "name": "client shop-0", "role": "client", "number": 0},
    ],
    "brokers": [1, 2, 3],
    "controllers": [],
    "registered_before": [],
    "topics": ["orders"],
    "partitions": [named_partition(0, [1, 2, 3]), named_partition(1, [2, 3, 1])],
    "faults": [{"name": "cut-1", "kind": "cut_link", "text": "between broker 1 and broker 3"}],
    "zookeeper_tree": [
        {"sort": "broker", "first": 6, "end": 9},
        {"sort": "topic", "first": 9, "end": 10},
        {"sort": "state", "first": 10, "end": 12},
        {"sort": "notification", "first": 12, "end": 12},
    ],
}


class WrittenRows:
    """Rows in the order in which they are written, and the hash of each process."""

    def __init__(self) -> None:
        self.hashes: dict[int, tuple[int, int]] = {}
        self.rows: list[RowSlot] = []
        self._minor: dict[int, int] = {}
        self._created: set[int] = set()

    def write(
        self,
        kind: str,
        time_us: int,
        process: int,
        /,
        *,
        cause: Handle = (-1, -1),
        because: Handle = (-1, -1),
        **columns: int,
    ) -> Handle:
        """Write a row; columns that are not given are 0. Its process and number come back."""
        row = new_records(RowSlot, 1)[0]
        count, state = self.hashes.get(process, NO_ROWS)
        row.time_us, row.process, row.kind = time_us, process, KINDS[kind].number
        row.cause_process, row.cause_sequence = cause
        row.because_process, row.because_sequence = because
        for name, value in columns.items():
            row.values[KINDS[kind].columns.index(name)] = value
        if KINDS[kind].canonical:
            row.sequence = count
            self.hashes[process] = (count + 1, int(fold_row(state, row)))
            self._minor[process] = 0
        else:
            self._minor[process] = self._minor.get(process, 0) + 1
            row.sequence, row.minor = count - 1, self._minor[process]
        self.rows.append(row)
        return process, int(row.sequence)

    def held(
        self, time_us: int, partition: int, *, leader: int, isr: int, leader_epoch: int = 0
    ) -> None:
        """The control plane holds another state of a partition; the first one creates it."""
        change = STATE_WRITTEN if partition in self._created else STATE_CREATED
        self._created.add(partition)
        self.write(
            "partition_state", time_us, ZOOKEEPER, partition=partition, change=int(change),
            leader=leader, leader_epoch=leader_epoch, isr=isr,
        )  # fmt: skip

    def array(self) -> Records[RowSlot]:
        """All rows."""
        return rows_of(self.rows)

    def run(self, path: Path, *, files: int = 1, summary: bool = True) -> Path:
        """Write the folder of a run; process p goes into file p modulo ``files``."""
        (path / TRACE).mkdir(parents=True)
        write_json_atomically(path / MANIFEST, MANIFEST_OF_TESTS)
        for number in range(files):
            with TraceWriter(path / TRACE / f"group-{number}.msgpack") as writer:
                writer.write(rows_of([row for row in self.rows if row.process % files == number]))
        if summary:
            hashes = {**dict.fromkeys(range(6), NO_ROWS), **self.hashes}
            known = {each["process"]: each["name"] for each in MANIFEST_OF_TESTS["processes"]}
            names = [known.get(number, f"process {number}") for number in range(max(hashes) + 1)]
            process_hashes = named_hashes(hashes, names)
            content = {"trace_sha256": trace_sha256(hashes), "process_hashes": process_hashes}
            write_json_atomically(path / SUMMARY, content)
        return path


def rows_of(rows: list[RowSlot]) -> Records[RowSlot]:
    """An array of these rows."""
    array: Any = new_records(RowSlot, len(rows))
    for place, row in enumerate(rows):
        array[place] = row
    return array  # type: ignore[no-any-return]  # numpy has no type for rows of a class


def first_broken(rows: WrittenRows, plan: ClusterPlan, laws: Iterable[str]) -> dict[str, int]:
    """The checks of some names that rows break, and the time of the first event, in seconds."""
    stream = RowStream(plan)
    stream.take(np.array(rows.rows))
    stream.end()
    found = verdicts(plan, stream, None)
    return {
        name: found[name]["first_event"]["time_us"] // S for name in laws if found[name]["broken"]
    }
