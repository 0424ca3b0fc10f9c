"""The hash of a run, computed again from its trace files.

While a run goes on, the kernel folds every canonical row of a process into a rolling hash
(``simulation/rows.py``). Here the same is done with the columns of the files and the schema in
their headers, so that a trace proves itself: a lost, repeated or changed row shows.

A hash is a *signed* 64-bit integer, as ``Process.hash`` is. From every row are folded, in this
order: the number of its kind, :data:`FOLDED` and the columns of its kind.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import Record, Records, dtype_of, i64
from tidegauge.compiled.rules import rule
from tidegauge.simulation.random_streams import mix
from tidegauge.simulation.rows import EMPTY_HASH
from tidegauge.traces.trace_file import Table, TraceError, TraceKind

#: The columns that are folded between the kind's number and the kind's own columns.
FOLDED = (
    "time_us",
    "sequence",
    "cause_process",
    "cause_sequence",
    "because_process",
    "because_sequence",
)

#: The part of a process without canonical rows, as (count, hash).
NO_ROWS = (0, int(EMPTY_HASH))


class FoldedValue(Record):
    """One integer of those that are folded one after another."""

    value: i64


@rule
def fold(state: int, values: Records[FoldedValue]) -> int:
    """The rolling hash after all of the values."""
    for index in range(len(values)):
        state = mix(state, values[index].value)
    return state


class _Place(NamedTuple):
    """A process's part of the values of all: its places, and the number of its rows."""

    process: int
    rows: int
    first: int
    end: int


def hash_of_rows(rows: Iterable[tuple[TraceKind, Table]]) -> dict[int, tuple[int, int]]:
    """For each process that has canonical rows, their number, and the hash over them.

    Args:
        rows: all rows of the run, a table for each kind, in any order. Kinds that are not
            canonical are left out.

    Raises:
        TraceError: the rows of a process are not numbered 0, 1, 2, ...; the message names the
            process and the first number that is missing or repeated.
    """
    tables = [(kind, table) for kind, table in rows if kind.canonical and len(table["process"])]
    if not tables:
        return {}
    values, places = _laid_out(tables)
    folded = cast("Records[FoldedValue]", values.view(dtype_of(FoldedValue)))
    return {
        place.process: (place.rows, int(fold(EMPTY_HASH, folded[place.first : place.end])))
        for place in places
    }


def trace_sha256(hashes: Mapping[int, tuple[int, int]]) -> str:
    """SHA-256, in hexadecimal, over (process, count, hash) of all processes, in their order.

    Each number is a little-endian signed 64-bit integer. A process without rows counts where
    it is given, as :data:`NO_ROWS`.
    """
    digest = sha256()
    for process, (count, rolling_hash) in sorted(hashes.items()):
        digest.update(struct.pack("<3q", process, count, rolling_hash))
    return digest.hexdigest()


def named_hashes(
    hashes: Mapping[int, tuple[int, int]], processes: Sequence[str]
) -> list[dict[str, str | int]]:
    """The hashes of all processes as a summary has them, with the names of the processes."""
    return [
        {"process": processes[process], "canonical_rows": count, "hash": rolling_hash}
        for process, (count, rolling_hash) in sorted(hashes.items())
    ]


def _laid_out(
    tables: list[tuple[TraceKind, Table]],
) -> tuple[NDArray[np.int64], list[_Place]]:
    """All that is folded, row after row, in the order of processes and their numbers."""
    process = np.concatenate([table["process"] for _, table in tables])
    sequence = np.concatenate([table["sequence"] for _, table in tables])
    lengths = np.concatenate(
        [
            np.full(len(table["process"]), 1 + len(FOLDED) + len(kind.columns))
            for kind, table in tables
        ]
    )
    order = np.lexsort((sequence, process))
    processes, firsts, counts = np.unique(process[order], return_index=True, return_counts=True)
    _check_sequences(process[order], sequence[order], np.repeat(firsts, counts))

    ends = np.cumsum(lengths[order])
    starts = np.empty_like(ends)
    starts[order] = ends - lengths[order]
    values = np.empty(int(ends[-1]), np.int64)
    row = 0
    for kind, table in tables:
        at = starts[row : row + len(table["process"])]
        row += len(at)
        values[at] = kind.number
        for place, name in enumerate(FOLDED + kind.columns, 1):
            values[at + place] = table[name]

    bounds = [0, *ends[firsts + counts - 1].tolist()]
    return values, [
        _Place(owner, count, first, end)
        for owner, count, first, end in zip(
            processes.tolist(), counts.tolist(), bounds, bounds[1:], strict=False
        )
    ]


def _check_sequences(
    process: NDArray[np.int64], sequence: NDArray[np.int64], first: NDArray[np.int64]
) -> None:
    """Refuse gaps and repetitions; ``first`` is where the rows of each row's process begin."""
    expected = np.arange(len(sequence)) - first
    wrong = np.flatnonzero(sequence != expected)
    if not len(wrong):
        return
    place = int(wrong[0])
    owner, found, missing = int(process[place]), int(sequence[place]), int(expected[place])
    if found < missing:
        raise TraceError(f"process {owner}: canonical row {found} is there twice")
    raise TraceError(f"process {owner}: canonical row {missing} is missing")
