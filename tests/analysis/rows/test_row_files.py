"""Files of rows have the rows of the trace, in order, with the names of their numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it comes without types
import pyarrow.parquet as pq  # type: ignore[import-untyped]  # the same
import pytest

from analysed_runs import recovered_run
from exported_rows import in_any_order, plain_rows
from tidegauge.analysis.requests import KINDS, FoundRun, runs_at
from tidegauge.analysis.rows import row_files
from tidegauge.analysis.rows.row_files import write_rows
from tidegauge.analysis.rows.row_schema import RELATIONS, documentation, schema_of
from tidegauge.traces.run_folder import ORDER, RunFolder
from tidegauge.traces.trace_file import checksum_of


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return recovered_run(tmp_path_factory.mktemp("runs") / "recovered")


def written(runs: list[FoundRun], folder: Path, *relations: str, with_names: bool = True) -> Any:
    """The files of relations, by name."""
    files = {name: folder / f"{name}.parquet" for name in relations}
    counts = write_rows(runs, relations, files.__getitem__, with_names=with_names)
    assert counts == {name: pq.read_metadata(file).num_rows for name, file in files.items()}
    return {name: pq.ParquetFile(file) for name, file in files.items()}


def test_all_relations_of_a_run_with_a_quorum_are_those_of_the_plain_reader(
    recovered: RunFolder, tmp_path: Path
) -> None:
    runs = runs_at(recovered.path)
    files = written(runs, tmp_path, *RELATIONS)
    for name, file in files.items():
        rows, expected = file.read().to_pylist(), plain_rows(runs, name)
        assert in_any_order(rows) == in_any_order(expected), name
        if name in KINDS:
            assert rows == expected, name
    # The active controller writes states: its id is no broker's.
    created, elected, returned = files["partition_state"].read().to_pylist()
    assert [each["change_name"] for each in (created, elected)] == ["created", "written"]
    assert [each["leader_id"] for each in (created, elected)] == [1, 2]
    assert (returned["isr_ids"], returned["writer_id"]) == ([2, 3, 1], 3000)
    assert [each["liveness"] for each in (elected, returned)] == [False, True]


def test_rows_for_queries_have_neither_names_nor_links(
    recovered: RunFolder, tmp_path: Path
) -> None:
    runs = runs_at(recovered.path)
    kind = "partition_state"
    whole = written(runs, tmp_path / "whole", kind)[kind].read()
    bare = written(runs, tmp_path / "bare", kind, with_names=False)[kind].read()
    assert [name for name in whole.column_names if name not in bare.column_names] == [
        *("cause_process", "cause_sequence", "because_process", "because_sequence"),
        *("process_name", "topic_partition", "change_name", "leader_id", "isr_ids", "writer_id"),
    ]
    assert whole.select(bare.column_names).to_pylist() == bare.to_pylist()
    assert bare.num_rows


def test_rows_are_in_order_however_few_are_unpacked_at_a_time(
    recorded: dict[str, RunFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A larger run begins a group of rows, and small ones share one."""
    runs = runs_at([recorded[name].path for name in ("quickstart", "rack-power-loss")])
    whole = written(runs, tmp_path / "whole", "sampled")["sampled"].read()
    monkeypatch.setattr(row_files, "_MOST_ROWS", 1000)
    parts = written(runs, tmp_path / "parts", "sampled", "fault_began")
    assert parts["sampled"].read().to_pylist() == whole.to_pylist()
    assert parts["fault_began"].num_row_groups == 1
    groups = [
        set(parts["sampled"].read_row_group(place, ["run"])["run"].to_pylist())
        for place in range(parts["sampled"].num_row_groups)
    ]
    assert len(groups) > len(runs)
    assert all(len(group) == 1 for group in groups)


def test_files_of_groups_that_write_at_the_same_times_are_merged(
    story: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_files, "_MOST_ROWS", 1)
    runs = runs_at(story.path)
    assert len([trace for trace in story.traces if trace.row_count("isr_shrunk")]) == 2
    rows = written(runs, tmp_path, "isr_shrunk")["isr_shrunk"].read().to_pylist()
    assert rows == plain_rows(runs, "isr_shrunk")
    assert len(rows) == 40


def test_a_run_is_found_by_the_statistics(story: RunFolder, tmp_path: Path) -> None:
    file = written(runs_at(story.path), tmp_path, "appended")["appended"]
    column = file.metadata.row_group(0).column(file.schema_arrow.names.index("time_us"))
    assert (column.statistics.min, column.statistics.max) == (0, 20_006_000)
    assert column.compression == "ZSTD"
    assert list(ORDER) == [name for name in file.schema_arrow.names if name in ORDER]


def test_a_column_that_a_release_did_not_have_is_null(story: RunFolder, tmp_path: Path) -> None:
    old = tmp_path / "old"
    shutil.copytree(story.path, old)
    for file in (old / "trace").iterdir():
        unpacker = msgpack.Unpacker()
        unpacker.feed(file.read_bytes())
        header, *frames = unpacker
        for kind in header["kinds"]:
            if kind["name"] == "isr_shrunk":
                kind["columns"].remove("isr")
        for frame in frames:
            if frame["kind"] == "isr_shrunk":
                del frame["columns"]["isr"]
                frame["column_bytes"] = len(msgpack.packb(frame["columns"]))
                frame["checksum"] = checksum_of(frame)
        file.write_bytes(b"".join(map(msgpack.packb, (header, *frames))))
    rows = written(runs_at(old), tmp_path / "rows", "isr_shrunk")["isr_shrunk"].read().to_pylist()
    assert len(rows) == len(story.table("isr_shrunk")["time_us"])
    assert {(row["isr"], row["isr_ids"]) for row in rows} == {(None, None)}
    assert {row["lag_ms"] for row in rows} == {10_000}


def test_each_column_has_a_unit_and_a_meaning_in_its_file(story: RunFolder, tmp_path: Path) -> None:
    for relation in RELATIONS:
        schema = schema_of(relation, with_names=True)
        assert schema.metadata[b"meaning"], relation
        assert len({*schema.names}) == len(schema.names), relation
        for field in schema:
            assert field.metadata[b"meaning"], (relation, field.name)
    file = written(runs_at(story.path), tmp_path, "isr_shrunk")["isr_shrunk"]
    assert file.schema_arrow.metadata[b"relation"] == b"isr_shrunk"
    field = file.schema_arrow.field("lag_ms")
    assert field.metadata[b"unit"] == b"ms"
    assert field.metadata[b"meaning"].decode() in documentation(["isr_shrunk"])
