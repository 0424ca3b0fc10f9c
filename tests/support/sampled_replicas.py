"""Samples of replicas: all of them, and only the rows of those that differ from the one before.

Written anew in plain Python, by the lives of processes, which the queries of ``leader_samples`` do
not read: a test may put one beside the other.
"""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tidegauge.compiled.records import Records, new_records
from tidegauge.runs.run import TABLES_FOLDER
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.traces.run_files import TRACE
from tidegauge.traces.run_folder import ORDER, RunFolder, TraceRow
from tidegauge.traces.trace_file import ROW_COLUMNS, Table, TraceWriter
from written_rows import KINDS

#: More than any cluster of a test has.
_MOST_PARTITIONS = 1 << 20

#: The rows of samples of replicas.
SAMPLES = frozenset({"sampled", "no_longer_sampled"})
_READ = SAMPLES | {"broker_sampled", "broker_started", "broker_stopped"}

#: The rows of a process's replicas at a sample, by partition.
_Hosted = dict[int, TraceRow]


def samples_of(run: RunFolder, **columns: int) -> list[TraceRow]:
    """Each replica at each sample, as a row ``sampled``; those whose columns have these values."""
    return [
        row
        for _, hosted in _taken(run)
        for row in hosted.values()
        if all(row[name] == value for name, value in columns.items())
    ]


def with_all_samples(run: RunFolder, folder: Path) -> RunFolder:
    """The same run with a row for every replica at every sample, as earlier releases wrote it."""
    return _rewritten(run, folder, samples_of(run))


def with_changes_alone(run: RunFolder, folder: Path) -> RunFolder:
    """The same run with a row of a replica only where it differs from the sample before."""
    return _rewritten(run, folder, _changes(run))


def _taken(run: RunFolder) -> Iterator[tuple[TraceRow, _Hosted]]:
    """Each sample of each process, with the replicas that it hosts; its lives begin with none."""
    hosted: defaultdict[int, _Hosted] = defaultdict(dict)
    is_full = _is_full(run)
    written: defaultdict[int, _Hosted] = defaultdict(dict)
    for row in run.all_rows(wanted=lambda kind: kind.name in _READ):
        process = row["process"]
        if row.kind == "sampled":
            written[process][row["partition"]] = row
        elif row.kind == "no_longer_sampled":
            hosted[process].pop(row["partition"], None)
        elif row.kind == "broker_sampled":
            before = {} if is_full else hosted[process]
            hosted[process] = before | written.pop(process, {})
            yield row, {n: _placed(each, row) for n, each in sorted(hosted[process].items())}
        else:
            hosted[process] = {}
            yield row, {}


def _is_full(run: RunFolder) -> bool:
    """Whether each sample of a broker has a row for every replica that it hosts."""
    written = Counter((row["process"], row["time_us"]) for row in run.rows("sampled"))
    return all(
        written[row["process"], row["time_us"]] == row["partitions"]
        for row in run.rows("broker_sampled")
    )


def _placed(row: TraceRow, sample: TraceRow, kind: str = "sampled") -> TraceRow:
    """A row of a replica at a sample: before that of its broker, in the order of partitions."""
    place = {name: sample[name] for name in ORDER} | {"minor": row["partition"] - _MOST_PARTITIONS}
    return TraceRow(kind, row.columns | place)


def _changes(run: RunFolder) -> Iterator[TraceRow]:
    before: defaultdict[int, _Hosted] = defaultdict(dict)
    for sample, hosted in _taken(run):
        known = before[sample["process"]]
        before[sample["process"]] = hosted
        if sample.kind != "broker_sampled":
            continue
        for partition in known.keys() - hosted.keys():
            yield _placed(known[partition], sample, "no_longer_sampled")
        for partition, row in hosted.items():
            if partition not in known or _ends(row) != _ends(known[partition]):
                yield row


def _ends(row: TraceRow) -> tuple[int, ...]:
    return row["leads"], row["log_end_offset"], row["high_watermark"]


def _rewritten(run: RunFolder, folder: Path, samples: Iterable[TraceRow]) -> RunFolder:
    """A copy of a run with other samples of replicas."""
    shutil.copytree(run.path, folder, ignore=shutil.ignore_patterns(TRACE, TABLES_FOLDER))
    (folder / TRACE).mkdir()
    by_kind: defaultdict[str, list[TraceRow]] = defaultdict(list)
    for row in samples:
        by_kind[row.kind].append(row)
    with TraceWriter(folder / TRACE / "group-0.msgpack") as writer:
        for kind in run.kinds.keys() - SAMPLES:
            writer.write(_slots(kind, run.table(kind)))
        for kind, rows in by_kind.items():
            names = (*ROW_COLUMNS, *KINDS[kind].columns)
            writer.write(
                _slots(kind, {name: np.array([row[name] for row in rows]) for name in names})
            )
    return RunFolder(folder)


def _slots(kind: str, table: Table) -> Records[RowSlot]:
    rows: Any = new_records(RowSlot, len(table["process"]))
    rows["kind"] = KINDS[kind].number
    for name in ROW_COLUMNS:
        rows[name] = table[name]
    for place, name in enumerate(KINDS[kind].columns):
        rows["values"][:, place] = table[name]
    return rows  # type: ignore[no-any-return]  # numpy has no type for rows of a class
