"""A run's rows come in one order whichever files they lie in; its JSON files are whole."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgpack  # type: ignore[import-untyped]  # it comes without types
import pytest

from tidegauge.engine.simulate import manifest_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, write_json_atomically
from tidegauge.traces.trace_file import TraceError
from written_rows import WrittenRows


def tied_rows() -> WrittenRows:
    """Rows of three processes at two times, written process by process."""
    rows = WrittenRows()
    for process in (2, 0, 1):
        for time_us in (5, 5, 7):
            rows.write("step_taken", time_us, process, step=process)
            rows.write("sampled", time_us, process, partition=process)
            rows.write("appended", time_us, process, partition=0)
            rows.write("exposed", time_us, process, partition=process)
    return rows


@pytest.mark.parametrize("files", [1, 2, 3])
def test_rows_come_in_their_total_order_from_any_number_of_files(
    tmp_path: Path, files: int
) -> None:
    run = RunFolder(tied_rows().run(tmp_path / "run", files=files))
    places = [row.place for row in run.all_rows()]
    assert len(places) == 36
    assert places == sorted(places)
    assert [row.place for row in run.rows("step_taken")] == sorted(
        (time_us, process, sequence, 0)
        for process in range(3)
        for sequence, time_us in ((0, 5), (2, 5), (4, 7))
    )


def test_rows_of_one_partition_are_those_with_its_number(tmp_path: Path) -> None:
    run = RunFolder(tied_rows().run(tmp_path / "run"))
    about_1 = [(row.kind, row["process"]) for row in run.all_rows(1)]
    assert about_1 == 3 * [("sampled", 1), ("exposed", 1)]
    canonical = {row.kind for row in run.all_rows(0, wanted=lambda kind: kind.canonical)}
    assert canonical == {"exposed"}


def test_a_canonical_row_is_found_by_process_and_number(tmp_path: Path) -> None:
    run = RunFolder(tied_rows().run(tmp_path / "run", files=2))
    for row in run.all_rows(wanted=lambda kind: kind.canonical):
        assert run.canonical_row(row["process"], row["sequence"]) == row
    assert run.canonical_row(1, 6) is None
    assert run.canonical_row(1, -1) is None
    assert run.canonical_row(9, 0) is None


def test_a_row_of_the_cluster_s_state_stands_for_the_change_before_it(tmp_path: Path) -> None:
    """Causes are told with what was done; a state that nobody's row comes before is told itself."""
    rows = WrittenRows()
    done = rows.write("session_expired", 5, 4, broker=1)
    deleted = rows.write("znode_deleted", 5, 4, cause=done, znode=7)
    state = rows.write("broker_state", 5, 4, cause=deleted, broker=1)
    alone = rows.write("broker_state", 9, 4, cause=done, broker=2)
    run = RunFolder(rows.run(tmp_path / "run"))
    assert run.change_row(*state) == run.change_row(*deleted) == run.canonical_row(*deleted)
    assert run.change_row(*alone) == run.canonical_row(*alone)
    assert run.change_row(4, 4) is None


def test_a_run_without_rows_has_none(tmp_path: Path) -> None:
    run = RunFolder(tied_rows().run(tmp_path / "run", files=0))
    assert list(run.all_rows()) == []
    assert list(run.rows("step_taken")) == []
    assert run.canonical_row(0, 0) is None


def test_a_file_that_an_actor_has_not_begun_has_no_rows(tmp_path: Path) -> None:
    """A run that is under way: the driver makes the files, and actors fill them when they can."""
    folder = tied_rows().run(tmp_path / "run", files=2)
    whole = list(RunFolder(folder).all_rows())
    (folder / "trace" / "group-9.msgpack").touch()
    assert list(RunFolder(folder).all_rows()) == whole


def test_files_of_different_schemas_are_no_run(tmp_path: Path) -> None:
    folder = tied_rows().run(tmp_path / "run", files=2)
    file = folder / "trace" / "group-1.msgpack"
    with file.open("rb") as stream:
        header: Any = next(msgpack.Unpacker(stream))
    header["kinds"].pop()
    file.write_bytes(msgpack.packb(header))
    with pytest.raises(TraceError, match=r"group-1.msgpack: has another schema"):
        _ = RunFolder(folder).traces


def test_a_json_file_is_the_old_one_until_the_new_one_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "summary.json"
    write_json_atomically(file, {"topic": "größe"})
    seen = []

    def crash(_descriptor: int) -> None:
        seen.append(json.loads(file.read_text(encoding="utf-8")))
        raise InterruptedError

    monkeypatch.setattr(os, "fsync", crash)
    with pytest.raises(InterruptedError):
        write_json_atomically(file, {"topic": "new"})
    assert seen == [{"topic": "größe"}]
    assert json.loads(file.read_text(encoding="utf-8")) == {"topic": "größe"}


def test_what_json_cannot_express_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    with pytest.raises(ValueError, match="JSON"):
        write_json_atomically(file, {"share": float("nan")})
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_is_written_line_by_line_and_read_as_it_is(tmp_path: Path) -> None:
    """Partitions of several topics and releases, with two replicas or three, moved or not."""
    topics = [
        {"name": "pinned", "assignment": {0: [3, 1], 1: [1, 2]}},
        {"name": "orders", "partitions": 5000, "replication_factor": 3},
    ]
    move = {"topic": "pinned", "partition": 1, "replicas": [4, 3]}
    scenario = scenario_from_mapping(
        {
            "duration": "1m",
            "mode": "zookeeper",
            "release": "3.7",
            "topics": topics,
            "cluster": {"brokers": 4, "broker_releases": {4: {"release": "3.6"}}},
            "steps": [{"do": "reassign", "at": "30s", "partitions": [move]}],
        },
        "manifest",
    )
    plan = ClusterPlan(scenario)
    manifest = manifest_of(plan)
    file = tmp_path / "manifest.json"
    write_json_atomically(file, manifest)
    read = json.loads(file.read_text())
    assert read["scenario"] == scenario.resolved()
    assert read["partitions"] == list(manifest["partitions"])
    assert manifest["partitions"][-1] == read["partitions"][-1]
    expected = [([3, 1], [3, 1], 2), ([1, 2], [1, 2, 4, 3], 2), ([1, 2, 3], [1, 2, 3], 3)]
    named = [(e["replicas"], e["slots"], e["most_insync_replicas"]) for e in read["partitions"]]
    assert named[:3] == expected
    assert {each["most_insync_replicas"] for each in read["partitions"]} == {2, 3, None}
    assert file.read_text().count("\n") < 1.1 * 2 * len(plan.partitions)
