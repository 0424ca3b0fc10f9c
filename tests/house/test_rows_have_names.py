"""Columns of rows and fields of events have names: a position never stands for one."""

from __future__ import annotations

import re
from pathlib import Path

from tidegauge.simulation.messages.event import KINDS, Event
from tidegauge.simulation.trace_rows.row import Row, described_columns
from tidegauge.simulation.trace_rows.schema import ROW_KINDS

ROOT = Path(__file__).resolve().parents[2]

#: The rooms that write rows, and those that read them as they were written.
ROOMS = ("simulation", "clients", "controller", "actors", "traces", "engine", "metrics")
#: The writer, which hashes rows of any kind, and the packer of trace files.
GENERIC = {"simulation/rows.py", "traces/trace_file.py"}

#: A row's column, or a word of a body, by its place.
_BY_PLACE = re.compile(r"\.values\[|\[\"values\"\]\[")


def test_no_column_of_a_row_is_written_or_read_by_its_place() -> None:
    found = {
        file.relative_to(ROOT).as_posix()
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        if _BY_PLACE.search(file.read_text(encoding="utf-8"))
    }
    assert found <= GENERIC


def test_the_search_finds_a_place() -> None:
    assert _BY_PLACE.search("row.values[3] = 1")
    assert _BY_PLACE.search('rows["values"][:, 0]')
    assert not _BY_PLACE.search("row.leader = 1")


def test_each_column_of_each_kind_of_row_says_what_it_is() -> None:
    for kind in ROW_KINDS.values():
        assert tuple(kind.described) == kind.columns, kind.name
        assert all(column.meaning for column in kind.described.values()), kind.name
    assert described_columns(Row)


def test_each_kind_of_event_says_what_it_tells() -> None:
    for each in KINDS.values():
        assert each.__doc__ not in {None, "...", Event.__doc__}, each.__name__
