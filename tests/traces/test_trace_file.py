"""A trace file gives back what was written, and says so where it cannot."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it comes without types
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tidegauge.compiled.records import Records, new_records
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.simulation.trace_rows.schema import ROW_KINDS, SCHEMA_VERSION
from tidegauge.traces.trace_file import (
    FRAME_ROWS,
    ROW_COLUMNS,
    Frame,
    TraceError,
    TraceWriter,
    checksum_of,
    read_trace,
)
from written_rows import KINDS, WrittenRows

INT64 = st.integers(-(2**63), 2**63 - 1)


def numbered_rows(count: int, kind: str = "step_taken") -> Records[RowSlot]:
    """Rows of one kind, one a microsecond."""
    rows: Any = new_records(RowSlot, count)
    rows["kind"] = KINDS[kind].number
    rows["time_us"] = np.arange(count)
    rows["sequence"] = np.arange(count)
    return rows  # type: ignore[no-any-return]  # numpy has no type for rows of a class


def a_trace(path: Path, rows: Records[RowSlot] | None = None) -> Path:
    """A trace file with these rows, by default of two kinds and three frames."""
    with TraceWriter(path / "a.msgpack") as writer:
        if rows is None:
            writer.write(numbered_rows(3, "exposed"))
            writer.flush()
            writer.write(numbered_rows(4))
            writer.flush()
            rows = numbered_rows(2)
        writer.write(rows)
    return path / "a.msgpack"


def ends_of_objects(file: Path) -> list[int]:
    """Where the header and each frame of a file end, in bytes."""
    ends = []
    with file.open("rb") as stream:
        unpacker = msgpack.Unpacker(stream)
        for _ in unpacker:
            ends.append(unpacker.tell())  # noqa: PERF401 - it is only true right now
    return ends


def changed(file: Path, change: Callable[[list[Any]], object]) -> Path:
    """The file, with its header and frames changed as objects."""
    with file.open("rb") as stream:
        objects = list(msgpack.Unpacker(stream))
    change(objects)
    file.write_bytes(b"".join(map(msgpack.packb, objects)))
    return file


@given(st.sampled_from(sorted(KINDS)), st.data())
def test_any_64_bit_integers_come_back_as_they_were(
    tmp_path_factory: pytest.TempPathFactory, kind: str, data: st.DataObject
) -> None:
    shape = (data.draw(st.integers(1, 5)), len(ROW_COLUMNS) + 10)
    values = data.draw(arrays.arrays(np.int64, shape, elements=INT64))
    rows: Any = new_records(RowSlot, len(values))
    rows["kind"] = KINDS[kind].number
    for place, name in enumerate(ROW_COLUMNS):
        rows[name] = values[:, place]
    rows["values"] = values[:, len(ROW_COLUMNS) :]

    table = read_trace(a_trace(tmp_path_factory.mktemp("trace"), rows)).table(kind)

    for place, name in enumerate(ROW_COLUMNS + KINDS[kind].columns):
        assert table[name].dtype == np.int64
        assert table[name].tolist() == values[:, place].tolist()


@pytest.mark.parametrize(
    ("values", "width"),
    [
        ([7, 7, 7], 1),
        ([-1, 254], 1),
        ([-1, 255], 2),
        ([5, 5 + 2**16 - 1], 2),
        ([0, 2**16], 4),
        ([-(2**31), 2**31 - 1], 4),
        ([0, 2**32], 8),
        ([-(2**63), 2**63 - 1], 8),
    ],
)
def test_a_column_is_as_narrow_as_its_span_lets_it_be(
    tmp_path: Path, values: list[int], width: int
) -> None:
    rows: Any = numbered_rows(len(values))
    rows["values"][:, 0] = values
    (frame,) = read_trace(a_trace(tmp_path, rows)).frames
    assert frame.packed["step"]["width"] == width
    assert frame.column("step").tolist() == values


def test_no_column_of_a_kind_is_called_as_one_that_every_row_has() -> None:
    for kind in ROW_KINDS.values():
        assert len({*ROW_COLUMNS, *kind.columns}) == len(ROW_COLUMNS) + len(kind.columns)


def test_kinds_are_kept_apart_and_each_in_its_order(tmp_path: Path) -> None:
    rows = WrittenRows()
    for step in (5, 3, 4):
        rows.write("step_taken", 10, 0, step=step)
        rows.write("exposed", 10, 0, high_watermark=10 * step)
    trace = read_trace(a_trace(tmp_path, rows.array()))
    assert trace.table("step_taken")["step"].tolist() == [5, 3, 4]
    assert trace.table("exposed")["high_watermark"].tolist() == [50, 30, 40]
    assert trace.table("exposed")["sequence"].tolist() == [1, 3, 5]
    assert trace.table("truncated")["partition"].tolist() == []


def test_rows_are_copied_since_the_kernel_uses_their_places_again(tmp_path: Path) -> None:
    rows: Any = numbered_rows(3)
    with TraceWriter(tmp_path / "a.msgpack") as writer:
        writer.write(rows)
        rows["time_us"] = 99
        writer.write(rows)
    times = read_trace(tmp_path / "a.msgpack").table("step_taken")["time_us"]
    assert times.tolist() == [0, 1, 2, 99, 99, 99]


@pytest.mark.parametrize("batch", [999, 2 * FRAME_ROWS + 7])
def test_frames_are_full_but_for_the_last_however_rows_come(tmp_path: Path, batch: int) -> None:
    count = 2 * FRAME_ROWS + 7
    rows = numbered_rows(count)
    with TraceWriter(tmp_path / "a.msgpack") as writer:
        for first in range(0, count, batch):
            writer.write(rows[first : first + batch])
    trace = read_trace(tmp_path / "a.msgpack")
    assert [frame.rows for frame in trace.frames] == [FRAME_ROWS, FRAME_ROWS, 7]
    assert [frame.first_time_us for frame in trace.frames] == [0, FRAME_ROWS, 2 * FRAME_ROWS]
    assert [frame.last_time_us for frame in trace.frames][1:] == [2 * FRAME_ROWS - 1, count - 1]
    assert trace.table("step_taken")["time_us"].tolist() == list(range(count))
    assert trace.row_count("step_taken") == count


def test_what_was_flushed_is_read_while_the_file_grows(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.msgpack") as writer:
        assert read_trace(tmp_path / "a.msgpack").frames == ()
        writer.write(numbered_rows(2))
        writer.flush()
        trace = read_trace(tmp_path / "a.msgpack")
        assert trace.row_count("step_taken") == 2
        assert not trace.torn


def test_a_run_that_fails_leaves_all_rows_written_so_far(tmp_path: Path) -> None:
    def fails() -> None:
        with TraceWriter(tmp_path / "a.msgpack") as writer:
            writer.write(numbered_rows(2))
            raise InterruptedError

    with pytest.raises(InterruptedError):
        fails()
    assert read_trace(tmp_path / "a.msgpack").row_count("step_taken") == 2


def test_the_header_explains_the_file_in_text_keys_only(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "a.msgpack", {"group": 3, "format": "other"}):
        pass
    header = read_trace(tmp_path / "a.msgpack").header
    assert header["format"] == "tidegauge-trace"
    assert header["schema_version"] == SCHEMA_VERSION
    assert header["group"] == 3
    assert header["row_columns"] == list(ROW_COLUMNS)
    shrunk = next(kind for kind in header["kinds"] if kind["name"] == "isr_shrunk")
    assert shrunk["columns"][:3] == ["partition", "isr", "old_isr"]
    assert shrunk["canonical"]
    assert len(header["kinds"]) == len(ROW_KINDS)


def test_a_file_cut_off_anywhere_is_read_up_to_its_last_whole_frame(tmp_path: Path) -> None:
    file = a_trace(tmp_path)
    content = file.read_bytes()
    ends = ends_of_objects(file)
    assert len(ends) == 4
    for size in range(ends[0], len(content)):
        file.write_bytes(content[:size])
        trace = read_trace(file)
        whole = [end for end in ends if end <= size]
        assert len(trace.frames) == len(whole) - 1
        assert trace.torn == (size != whole[-1])
        assert trace.torn_at == (whole[-1] if trace.torn else None)


def test_no_flipped_byte_of_a_frame_goes_unnoticed(tmp_path: Path) -> None:
    file = a_trace(tmp_path)
    content = file.read_bytes()
    header_end = ends_of_objects(file)[0]
    damaged = []
    for place in range(header_end, len(content)):
        flipped = bytearray(content)
        flipped[place] ^= 0x21
        file.write_bytes(flipped)
        try:
            assert read_trace(file).torn, f"byte {place}"
        except TraceError as error:
            damaged.append(str(error))
    # Only the lengths of what follows look like a file that ends too early.
    assert len(damaged) > 0.9 * (len(content) - header_end)
    assert all(message.startswith(f"{file}: frame ") for message in damaged)


def test_a_wrong_checksum_is_told_with_frame_and_byte(tmp_path: Path) -> None:
    file = a_trace(tmp_path)
    second = ends_of_objects(file)[1]

    def one_more(objects: list[Any]) -> None:
        objects[2]["columns"]["step"]["base"] += 1

    with pytest.raises(TraceError) as error:
        read_trace(changed(file, one_more))
    assert str(error.value) == (
        f"{file}: frame 2 at byte {second} is damaged: its checksum does not match"
    )


def test_a_frame_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    def without_step(objects: list[Any]) -> None:
        del objects[2]["columns"]["step"]
        del objects[2]["checksum"]
        objects[2]["checksum"] = checksum_of(objects[2])

    with pytest.raises(TraceError, match="does not have the columns of step_taken"):
        read_trace(changed(a_trace(tmp_path), without_step))


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"\x80", b"\xc1", b"not a trace at all", msgpack.packb({"format": "x"})]
)
def test_another_file_is_no_trace(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.msgpack"
    file.write_bytes(content)
    with pytest.raises(TraceError) as error:
        read_trace(file)
    assert str(error.value) == f"{file}: not a trace of Tidegauge: it does not begin as one"


def test_a_newer_schema_is_refused_with_the_release_that_reads_it(tmp_path: Path) -> None:
    def newer(objects: list[Any]) -> None:
        objects[0].update(schema_version=SCHEMA_VERSION + 1, tidegauge="7.8.9", kinds={})

    with pytest.raises(TraceError) as error:
        read_trace(changed(a_trace(tmp_path), newer))
    message = str(error.value)
    assert f"has schema version {SCHEMA_VERSION + 1}" in message
    assert f"reads up to {SCHEMA_VERSION}" in message
    assert "use Tidegauge 7.8.9" in message
    assert "\n" not in message


def test_an_older_schema_is_read_with_its_own_columns(tmp_path: Path) -> None:
    def older(objects: list[Any]) -> None:
        objects[0]["schema_version"] = SCHEMA_VERSION - 1
        step_taken = next(kind for kind in objects[0]["kinds"] if kind["name"] == "step_taken")
        step_taken["columns"] = ["stage"]
        for frame in objects[2:]:
            frame["columns"]["stage"] = frame["columns"].pop("step")
            frame.pop("checksum")
            frame["checksum"] = checksum_of(frame)

    trace = read_trace(changed(a_trace(tmp_path), older))
    assert trace.table("step_taken")["stage"].tolist() == [0] * 6
    assert "step" not in trace.table("step_taken")


def test_a_frame_unpacks_only_what_is_asked_for(tmp_path: Path) -> None:
    frame = read_trace(a_trace(tmp_path)).frames[0]
    packed = {name: {**column, "data": b"broken"} for name, column in frame.packed.items()}
    packed["time_us"] = dict(frame.packed["time_us"])
    partly = Frame(frame.kind, frame.rows, frame.first_time_us, frame.last_time_us, packed)
    assert partly.column("time_us").tolist() == [0, 1, 2]


def test_the_header_does_not_depend_on_the_order_of_imports() -> None:
    """A run that is resumed by another command continues the trace with an equal header.

    FETCH is the request of replicas, and of observers of a quorum: one key, one name.
    """
    written = set()
    for first in ("client_requests", "quorum_requests"):
        code = (
            f"import tidegauge.simulation.messages.{first}\n"
            "from io import BytesIO\n"
            "from tidegauge.traces.trace_file import TraceWriter\n"
            "file = BytesIO()\n"
            "TraceWriter(file)\n"
            "print(file.getvalue().hex())\n"
        )
        ran = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        written.add(ran.stdout)
    assert len(written) == 1
