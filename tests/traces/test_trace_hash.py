"""The hash that the kernel folds while a run goes on is found again in the trace files."""

from __future__ import annotations

import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tidegauge.compiled.records import new_records
from tidegauge.compiled.rules import COMPILED
from tidegauge.simulation.random_streams import GOLDEN, MIX_1, MIX_2
from tidegauge.traces.trace_file import Table, TraceError, TraceKind, TraceWriter, read_trace
from tidegauge.traces.trace_hash import NO_ROWS, FoldedValue, fold, hash_of_rows, trace_sha256
from written_rows import WrittenRows

INT64 = st.integers(-(2**63), 2**63 - 1)
MASK = (1 << 64) - 1

#: Of kind 41 at 7 us, sequence 0, without cause and because, with 3 in its only column.
KNOWN_HASH = 1739803101853547682


def fold_plainly(state: int, values: list[int]) -> int:
    """A second opinion: Python's integers, masked; the hash as a signed integer."""
    state &= MASK
    for value in values:
        mixed = ((state ^ value) + GOLDEN) & MASK
        mixed = ((mixed ^ (mixed >> 30)) * MIX_1) & MASK
        mixed = ((mixed ^ (mixed >> 27)) * MIX_2) & MASK
        state = mixed ^ (mixed >> 31)
    return state - (1 << 64) if state >> 63 else state


def folded(state: int, values: list[int]) -> int:
    records: Any = new_records(FoldedValue, len(values))
    records["value"] = values
    return int(fold(state, records))


def tables_of(rows: WrittenRows, folder: Path) -> list[tuple[TraceKind, Table]]:
    """The rows as a trace file gives them back."""
    with TraceWriter(folder / "a.msgpack") as writer:
        writer.write(rows.array())
    trace = read_trace(folder / "a.msgpack")
    return [(kind, trace.table(kind.name)) for kind in trace.kinds.values()]


def some_rows() -> WrittenRows:
    rows = WrittenRows()
    for step in range(5):
        rows.write("became_leader", 10 + step, 1, partition=step, isr=0x321, is_new_leader=1)
        rows.write("sampled", 10 + step, 1, log_end_offset=7)
        rows.write("exposed", 10 + step, 1, partition=step, high_watermark=-(2**63))
        rows.write("session_expired", 20 + step, 4, because=(1, step), silent_us=2**62)
    return rows


def without(table: Table, row: int) -> Table:
    return {name: np.delete(values, row) for name, values in table.items()}


@settings(deadline=None)
@given(INT64, st.lists(INT64, max_size=8))
def test_masked_python_integers_give_the_same_hash(state: int, values: list[int]) -> None:
    assert folded(state, values) == fold_plainly(state, values)


def test_the_hash_of_a_known_row_never_changes() -> None:
    assert fold_plainly(0, [41, 7, 0, -1, -1, -1, -1, 3]) == KNOWN_HASH
    rows = WrittenRows()
    rows.write("step_taken", 7, 2, step=3)
    assert rows.hashes == {2: (1, KNOWN_HASH)}


def test_trace_files_give_the_hash_that_the_kernel_folded(tmp_path: Path) -> None:
    rows = some_rows()
    assert hash_of_rows(tables_of(rows, tmp_path)) == rows.hashes
    assert rows.hashes.keys() == {1, 4}
    assert rows.hashes[1][0] == 10


def test_the_order_of_tables_and_rows_makes_no_difference(tmp_path: Path) -> None:
    rows = some_rows()
    tables = tables_of(rows, tmp_path)
    turned = [
        (kind, {name: values[::-1] for name, values in table.items()})
        for kind, table in reversed(tables)
    ]
    assert hash_of_rows(turned) == rows.hashes


def test_every_column_that_a_canonical_row_has_counts_but_no_other_row(tmp_path: Path) -> None:
    rows = some_rows()
    for kind, table in (tables := tables_of(rows, tmp_path)):
        for name, values in table.items():
            if not len(values) or name in {"process", "sequence", "minor"}:
                continue
            values[0] += 1
            assert (hash_of_rows(tables) != rows.hashes) == kind.canonical, (kind.name, name)
            values[0] -= 1
    assert hash_of_rows(tables) == rows.hashes


@pytest.mark.parametrize(("row", "number"), [(0, 0), (2, 4)])
def test_a_missing_row_is_named(tmp_path: Path, row: int, number: int) -> None:
    tables = dict(tables_of(some_rows(), tmp_path))
    kind = next(kind for kind in tables if kind.name == "became_leader")
    tables[kind] = without(tables[kind], row)
    with pytest.raises(TraceError, match=f"process 1: canonical row {number} is missing"):
        hash_of_rows(tables.items())


def test_a_row_that_is_there_twice_is_named(tmp_path: Path) -> None:
    tables = tables_of(some_rows(), tmp_path)
    twice = [
        (kind, {name: values[3:4] for name, values in table.items()}) for kind, table in tables
    ]
    exposed = [entry for entry in twice if entry[0].name == "exposed"]
    with pytest.raises(TraceError, match="process 1: canonical row 7 is there twice"):
        hash_of_rows([*tables, *exposed])


def test_a_trace_without_rows_has_no_hashes(tmp_path: Path) -> None:
    assert hash_of_rows(tables_of(WrittenRows(), tmp_path)) == {}
    assert hash_of_rows([]) == {}


def test_trace_sha256_is_over_little_endian_triples_in_the_order_of_processes() -> None:
    triples = b"".join(
        number.to_bytes(8, "little", signed=True)
        for number in (0, 0, 0, 3, 5, -2, 11, 1, 2**63 - 1)
    )
    hashes = {11: (1, 2**63 - 1), 0: NO_ROWS, 3: (5, -2)}
    assert trace_sha256(hashes) == sha256(triples).hexdigest()
    assert trace_sha256({11: (1, 2**63 - 1), 3: (5, -2)}) != trace_sha256(hashes)


@pytest.mark.skipif(not COMPILED, reason="plain Python takes half a minute")
def test_a_million_rows_take_seconds() -> None:
    count = 1_000_000
    kind = TraceKind(41, "step_taken", ("step",), canonical=True)
    zeros = np.zeros(count, np.int64)
    names = ("time_us", "minor", "cause_process", "cause_sequence", "because_process")
    table = dict.fromkeys((*names, "because_sequence", "step"), zeros)
    place = np.arange(count)
    table |= {"process": place % 7, "sequence": place // 7}
    started = time.perf_counter()
    hashes = hash_of_rows([(kind, table)])
    assert time.perf_counter() - started < 10
    assert sum(rows for rows, _ in hashes.values()) == count
