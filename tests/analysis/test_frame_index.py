"""Frames are found without being read, wherever a file ends and whatever wrote it.

Spark has no part in these tests: what it would be handed is looked at directly.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it comes without types
import pytest

from tidegauge.analysis.frame_index import FramePlace, TraceBytes, frames_of_file, read_frame
from tidegauge.analysis.requests import TraceRequest, common_folder, runs_at
from tidegauge.analysis.trace_parts import find_frames, frames_of, parts_of
from tidegauge.traces.run_files import TRACE, RunError
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import TraceError, TraceWriter, checksum_of, read_trace
from written_rows import WrittenRows


def a_trace(path: Path) -> Path:
    """A trace file with three kinds of rows in five frames."""
    rows = WrittenRows()
    for step in range(30):
        rows.write("step_taken", 10 * step, 0, step=step)
        rows.write("exposed", 10 * step, 0, partition=1, high_watermark=1000 * step)
    with TraceWriter(path / "group-0.msgpack") as writer:
        writer.write(rows.array())
        writer.flush()
        writer.write(rows.array())
        writer.flush()
        one = WrittenRows()
        one.write("truncated", 7, 0, end_offset=5)
        writer.write(one.array())
    return path / "group-0.msgpack"


def changed(file: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The file, with each of its frames changed."""
    with file.open("rb") as stream:
        header, *frames = msgpack.Unpacker(stream)
    for frame in frames:
        change(frame)
    file.write_bytes(b"".join(map(msgpack.packb, [header, *frames])))
    return file


def places(file: Path) -> list[FramePlace]:
    with TraceBytes(file) as trace:
        return list(frames_of_file(trace))


def test_each_frame_is_found_where_it_lies(tmp_path: Path) -> None:
    file = a_trace(tmp_path)
    whole = read_trace(file)
    found = places(file)
    assert [place.number for place in found] == [1, 2, 3, 4, 5]
    assert [place.kind for place in found] == [frame.kind for frame in whole.frames]
    assert [place.rows for place in found] == [30, 30, 30, 30, 1]
    assert [place.last_time_us for place in found] == [290, 290, 290, 290, 7]
    assert found[-1].begin + found[-1].size == file.stat().st_size
    with TraceBytes(file) as trace:
        assert [read_frame(trace, place) for place in found] == list(whole.frames)


def test_a_frame_of_an_earlier_release_does_not_say_how_long_it_is(tmp_path: Path) -> None:
    file = a_trace(tmp_path)
    newer = read_trace(file)

    def as_before(frame: dict[str, Any]) -> None:
        del frame["column_bytes"]
        frame["checksum"] = checksum_of(frame)

    older = read_trace(changed(file, as_before))
    assert older.frames == newer.frames
    assert [place.kind.name for place in places(file)] == [
        frame.kind.name for frame in newer.frames
    ]
    with TraceBytes(file) as trace:
        assert [read_frame(trace, place) for place in places(file)] == list(newer.frames)


def test_a_file_cut_off_anywhere_has_its_whole_frames_and_a_warning_of_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = a_trace(tmp_path)
    content = file.read_bytes()
    whole = places(file)
    for size in range(whole[0].begin, len(content), 7):
        file.write_bytes(content[:size])
        caplog.clear()
        found = places(file)
        assert found == [place for place in whole if place.begin + place.size <= size]
        torn_at = whole[len(found)].begin
        warnings = [] if size == torn_at else [f"{file}: ends within a frame, which begins at byte"]
        assert [record.getMessage() for record in caplog.records] == [
            f"{warning} {torn_at}" for warning in warnings
        ]


def test_no_flipped_byte_of_a_frame_goes_unnoticed(tmp_path: Path) -> None:
    """As traces/test_trace_file.py has it: only a length may look like a file that ends."""
    file = a_trace(tmp_path)
    content = file.read_bytes()
    whole = places(file)
    unnoticed = []
    for at in range(whole[0].begin, len(content), 3):
        flipped = bytearray(content)
        flipped[at] ^= 0x21
        file.write_bytes(flipped)
        try:
            with TraceBytes(file) as trace:
                frames = [read_frame(trace, place) for place in frames_of_file(trace)]
        except TraceError as error:
            assert str(error).startswith(f"{file}: frame ")  # noqa: PT017 - it may be either
            assert " at byte " in str(error)  # noqa: PT017
        else:
            if len(frames) == len(whole):
                unnoticed.append(at)
    assert unnoticed == []


def test_a_file_that_grows_is_read_as_far_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one = WrittenRows()
    one.write("step_taken", 1, 0)
    folder = one.run(tmp_path / "run", summary=False)
    request = TraceRequest(folder, "step_taken")
    with TraceWriter(folder / TRACE / "group-1.msgpack") as writer:
        for written in range(1, 4):
            writer.write(one.array())
            writer.flush()
            found = find_frames(request)
            assert sum(frame.rows for file in found for frame in file.frames) == 1 + written
    (folder / TRACE / "group-2.msgpack").touch()  # an actor's that it has not begun
    assert len(find_frames(request)) == 2
    assert caplog.records == []


def test_asking_for_one_kind_reads_its_bytes_and_hardly_any_others(
    story: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    read = TraceBytes.read

    def counted(file: TraceBytes, begin: int, size: int) -> bytes:
        content = read(file, begin, size)
        sizes.append(len(content))
        return content

    monkeypatch.setattr(TraceBytes, "read", counted)

    def bytes_of(kind: str) -> tuple[int, int]:
        """Those of the frames, and all that are read for them."""
        sizes.clear()
        found = find_frames(TraceRequest(story.path, kind))
        list(frames_of(list(found)))
        return sum(frame.size for file in found for frame in file.frames), sum(sizes)

    wanted, all_read = bytes_of("appended")
    assert wanted < all_read <= 1.05 * wanted + 5 * 2**14
    rare_wanted, rare_read = bytes_of("isr_shrunk")
    assert rare_wanted < 0.1 * wanted
    assert rare_read < 0.5 * all_read


@pytest.mark.parametrize("part_bytes", [1, 10_000, 1_000_000_000])
def test_parts_have_all_frames_once_whatever_their_size(story: RunFolder, part_bytes: int) -> None:
    found = find_frames(TraceRequest(story.path))
    parts = parts_of(found, part_bytes)
    frames = [place for part in parts for piece in part for place in piece.frames]
    assert frames == [place for file in found for place in file.frames]
    if part_bytes == 1:
        assert len(parts) == len(frames)
    if part_bytes == 1_000_000_000:
        assert len(parts) == 1
        assert [piece.path for piece in parts[0]] == [file.path for file in found]


@pytest.mark.parametrize(
    ("from_us", "to_us"), [(None, 5_000_000), (5_000_001, None), (5_000_001, 12_000_001), (9, 9)]
)
def test_a_time_range_takes_rows_from_its_beginning_to_before_its_end(
    story: RunFolder, from_us: int | None, to_us: int | None
) -> None:
    request = TraceRequest(story.path, "isr_shrunk", from_us=from_us, to_us=to_us)
    times = [
        time
        for part in parts_of(find_frames(request), 4_000_000)
        for piece, frame in frames_of(part)
        for time in frame.column("time_us")[piece.times.rows_of(frame)].tolist()
    ]
    assert sorted(times) == [
        time
        for time in story.table("isr_shrunk")["time_us"].tolist()
        if (from_us or 0) <= time < (2**62 if to_us is None else to_us)
    ]


def test_frames_before_and_after_a_time_range_are_not_read(story: RunFolder) -> None:
    early = find_frames(TraceRequest(story.path, "appended", to_us=1000))
    late = find_frames(TraceRequest(story.path, "appended", from_us=20_001_000))
    assert [len(file.frames) for file in (*early, *late)] == [1, 1]


def test_runs_are_called_by_their_folders_and_by_more_where_that_is_not_enough(
    tmp_path: Path,
) -> None:
    for name in ("lag=10s/seed-1", "lag=30s/seed-1", "other"):
        WrittenRows().run(tmp_path / name)
    (tmp_path / "sweep.json").touch()
    assert [run.name for run in runs_at(tmp_path / "other")] == ["other"]
    both: list[str | Path] = [tmp_path / "lag=10s" / "seed-1", f"{tmp_path}/lag=*/*"]
    assert [run.name for run in runs_at(both)] == ["lag=10s/seed-1", "lag=30s/seed-1"]
    assert [run.name for run in runs_at(f"{tmp_path}/*")] == ["other"]


def test_the_folder_of_a_sweep_means_all_of_its_runs(tmp_path: Path) -> None:
    """Those of its table, and those of before; tables and report come beside them."""
    sweep = tmp_path / "sweep"
    for name in ("seed=2", "seed=10"):
        WrittenRows().run(sweep / name)
    (sweep / ".sweep.lock").touch()
    assert [run.name for run in runs_at(sweep)] == ["seed=10", "seed=2"], "it was stopped"
    told = {"runs": [{"folder": "seed=2"}, {"folder": "failed"}], "worst": {"folder": "seed=2"}}
    (sweep / "sweep.json").write_text(json.dumps(told))
    assert {run.name for run in runs_at(sweep)} == {"seed=2", "seed=10"}
    assert common_folder([str(sweep)], runs_at(sweep)) == sweep
    assert common_folder([f"{sweep}/*"], runs_at(f"{sweep}/*")) is None
    (one,) = runs_at(sweep / "seed=2")
    assert common_folder([str(one.folder)], [one]) == one.folder
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / ".sweep.lock").touch()
    with pytest.raises(RunError, match="the folder of a sweep, of which no run has begun yet"):
        runs_at(empty)


def test_what_is_no_run_is_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=rf"^{tmp_path}/none: no such folder$"):
        runs_at(tmp_path / "none")
    with pytest.raises(RunError, match=rf"^{tmp_path}: not the folder of a run: it has no"):
        runs_at(tmp_path)
    with pytest.raises(RunError, match=r"/\*: matches no folder of a run$"):
        runs_at(f"{tmp_path}/*")
    with pytest.raises(RunError, match="no path of a run is given"):
        runs_at([])


def test_a_file_of_something_else_is_no_trace(story: RunFolder, tmp_path: Path) -> None:
    folder = shutil.copytree(story.path, tmp_path / "run")
    file = folder / TRACE / "group-0.msgpack"
    file.write_text("orders-0")
    with pytest.raises(TraceError, match=rf"^{file}: not a trace of Tidegauge"):
        find_frames(TraceRequest(folder))
