"""A folder of exported rows knows its runs: it grows, and is never half-written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import pyarrow.parquet as pq  # type: ignore[import-untyped]  # it comes without types
import pytest
from filelock import FileLock
from typer.testing import CliRunner, Result

from exported_rows import in_any_order, plain_rows
from tidegauge.analysis.requests import KINDS, runs_at
from tidegauge.analysis.rows import export
from tidegauge.analysis.rows.export import export_rows
from tidegauge.analysis.rows.exported_rows import RowsError
from tidegauge.analysis.rows.row_files import PartWork, WrittenPart
from tidegauge.analysis.rows.row_schema import RELATIONS
from tidegauge.command_line import app
from tidegauge.traces.run_files import MANIFEST, SUMMARY
from tidegauge.traces.run_folder import write_json_atomically
from written_rows import MANIFEST_OF_TESTS, WrittenRows


def written_run(folder: Path, shrinks: int, *, summary: bool = True) -> Path:
    rows = WrittenRows()
    for second in range(shrinks):
        rows.write("isr_shrunk", second * 1_000_000, second % 3, partition=0, isr=1)
    rows.run(folder, summary=summary)
    # With ZooKeeper there would be settings of brokers, of a whole scenario.
    write_json_atomically(folder / MANIFEST, {**MANIFEST_OF_TESTS, "controllers": [3000]})
    return folder


def exported_rows(folder: Path) -> dict[str, int]:
    """The number of shrinks of each run, as a reader without the manifest finds them."""
    runs = pq.read_table(folder / "isr_shrunk")["run"].to_pylist()
    return {run: runs.count(run) for run in runs}


def test_exporting_again_adds_only_what_is_new(tmp_path: Path) -> None:
    one, other = (written_run(tmp_path / name, 3) for name in ("one", "other"))
    rows = tmp_path / "rows"
    first = export_rows(runs_at(one), rows)
    assert (first.new, first.changed, first.unchanged) == (("one",), (), ())
    assert first.rows == 3
    before = {file: file.stat().st_mtime_ns for file in rows.glob("*/*.parquet")}
    assert {file.parent.name for file in before} == set(RELATIONS)

    second = export_rows(runs_at([one, other]), rows)
    assert (second.new, second.changed, second.unchanged) == (("other",), (), ("one",))
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert exported_rows(rows) == {"one": 3, "other": 3}
    assert export_rows(runs_at([one, other]), rows).rows == 0

    manifest = json.loads((rows / "rows.json").read_text())
    summary = json.loads((one / SUMMARY).read_text())
    assert manifest["format"] == "tidegauge-rows"
    assert [[run["run"] for run in part["runs"]] for part in manifest["parts"]] == [
        ["one"],
        ["other"],
    ]
    assert manifest["parts"][0]["runs"][0]["trace_sha256"] == summary["trace_sha256"]
    assert manifest["parts"][0]["rows"]["isr_shrunk"] == 3


def test_a_run_with_another_trace_is_written_anew_and_the_others_stay(tmp_path: Path) -> None:
    """Those need not exist any more."""
    grows = written_run(tmp_path / "grows", 2, summary=False)
    stays = written_run(tmp_path / "stays", 3)
    rows = tmp_path / "rows"
    export_rows(runs_at([grows, stays]), rows)
    expected = in_any_order(plain_rows(runs_at(stays), "isr_shrunk"))
    shutil.rmtree(grows)
    shutil.rmtree(stays)

    written_run(grows, 4, summary=False)
    exported = export_rows(runs_at(grows), rows)
    assert (exported.new, exported.changed) == ((), ("grows",))
    assert exported_rows(rows) == {"grows": 4, "stays": 3}
    kept = [row for row in pq.read_table(rows / "isr_shrunk").to_pylist() if row["run"] == "stays"]
    assert in_any_order(kept) == expected
    assert {row["run"] for row in pq.read_table(rows / "processes").to_pylist()} == {
        *("grows", "stays"),
    }

    # A part without any other run is gone as a whole, and its number is not given again.
    written_run(tmp_path / "again", 5, summary=False)
    shutil.rmtree(grows)
    (tmp_path / "again").rename(grows)
    export_rows(runs_at(grows), rows)
    assert exported_rows(rows) == {"grows": 5, "stays": 3}
    assert {file.name for file in (rows / "isr_shrunk").iterdir()} == {
        *("part-1.parquet", "part-3.parquet"),
    }


def test_small_runs_share_a_part_and_a_large_one_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PART_ROWS", 10)
    for name, shrinks in (("a", 4), ("b", 5), ("c", 20), ("d", 1)):
        written_run(tmp_path / "runs" / name, shrinks)
    export_rows(runs_at(str(tmp_path / "runs" / "*")), tmp_path / "rows")
    manifest = json.loads((tmp_path / "rows" / "rows.json").read_text())
    assert [[run["run"] for run in part["runs"]] for part in manifest["parts"]] == [
        ["a", "b"],
        ["c"],
        ["d"],
    ]


def test_a_broken_export_leaves_whole_parts_and_the_next_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PART_ROWS", 1)
    runs = [written_run(tmp_path / "runs" / name, 3) for name in ("a", "b", "c")]
    rows = tmp_path / "rows"

    def interrupted(
        work: Callable[[PartWork], WrittenPart], inputs: Sequence[PartWork]
    ) -> Generator[WrittenPart]:
        yield work(inputs[0])
        work(inputs[1])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_rows(runs_at(runs), rows, calls=interrupted)
    assert exported_rows(rows) == {"a": 3}
    assert list(rows.glob(".draft-*")) == []

    # A part that was renamed before its manifest was written does not count.
    (rows / "isr_shrunk" / "part-7.parquet").write_bytes(
        (rows / "isr_shrunk" / "part-0.parquet").read_bytes()
    )
    # Nor does the draft of an export that was killed.
    (rows / ".draft-1" / "isr_shrunk").mkdir(parents=True)
    assert export_rows(runs_at(runs), rows).new == ("b", "c")
    assert list(rows.glob(".draft-*")) == []
    assert exported_rows(rows) == {"a": 3, "b": 3, "c": 3}


def test_only_the_kinds_that_are_asked_for_are_written(tmp_path: Path) -> None:
    one, other = (written_run(tmp_path / name, 3) for name in ("one", "other"))
    rows = tmp_path / "rows"
    export_rows(runs_at(one), rows, ["isr_shrunk"])
    assert {file.parent.name for file in rows.glob("*/*.parquet")} == {
        "isr_shrunk",
        *(set(RELATIONS) - set(KINDS) - {"causes"}),
    }
    # The folder has that selection from then on.
    export_rows(runs_at([one, other]), rows)
    assert exported_rows(rows) == {"one": 3, "other": 3}
    with pytest.raises(RowsError, match=r"rows\.json: has rows of other kinds"):
        export_rows(runs_at(one), rows, ["isr_expanded"])


def test_what_cannot_be_exported_is_said_in_a_line(tmp_path: Path) -> None:
    one = written_run(tmp_path / "one", 3)
    rows = tmp_path / "rows"
    with pytest.raises(RowsError, match=r"no kind of rows 'isr_shrnk'.*isr_shrunk"):
        export_rows(runs_at(one), rows, ["isr_shrnk"])
    with pytest.raises(RowsError, match=r"one: is not empty, and has no rows\.json"):
        export_rows(runs_at(one), one)
    assert not (one / ".rows.lock").exists()

    export_rows(runs_at(one), rows)
    same_name = written_run(tmp_path / "elsewhere" / "one", 1)
    with pytest.raises(RowsError, match="has another run 'one'"):
        export_rows(runs_at(same_name), rows)
    with FileLock(rows / ".rows.lock"), pytest.raises(RowsError, match="another export"):
        export_rows(runs_at(one), rows)

    manifest = json.loads((rows / "rows.json").read_text())
    for content, error in (
        ("{", "cannot be read"),
        ('{"format": "other"}', "not the manifest of rows"),
        (json.dumps({**manifest, "parts": [{}]}), "is damaged"),
        (json.dumps({**manifest, "columns_sha256": ""}), r"the columns of Tidegauge \S+, and"),
    ):
        (rows / "rows.json").write_text(content)
        with pytest.raises(RowsError, match=rf"rows\.json: .*{error}"):
            export_rows(runs_at(one), rows)


def exported(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_the_command_exports_runs_and_says_what_it_wrote(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written_run(tmp_path / "runs" / name, 3)
    pattern, rows = tmp_path / "runs" / "*", tmp_path / "rows"
    result = exported(pattern, "--to", rows, "--kind", "isr_shrunk")
    assert result.exit_code == 0, result.output
    assert "2 runs added: 6 rows written" in result.output
    assert "| `isr` | replica list |" in (rows / "ROWS.md").read_text()
    result = exported(pattern, "--to", rows, "--json")
    figures = json.loads(result.stdout)
    assert figures["unchanged"] == ["a", "b"]
    assert figures["rows"] == 0
    assert exported(tmp_path / "none", "--to", rows).exit_code == 2


@pytest.mark.long
def test_several_parts_are_written_by_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "PART_ROWS", 1)
    for name in ("a", "b", "c"):
        written_run(tmp_path / "runs" / name, 3)
    result = exported(tmp_path / "runs" / "*", "--to", tmp_path / "rows", "--jobs", "2")
    assert result.exit_code == 0, result.output
    assert exported_rows(tmp_path / "rows") == {"a": 3, "b": 3, "c": 3}
