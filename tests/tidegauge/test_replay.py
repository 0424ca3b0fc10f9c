"""``tidegauge replay``: a run that is run again, and where two runs begin to differ."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from small_clusters import cluster_of, producers_of
from tidegauge import __version__
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION
from tidegauge.traces.run_comparison import RunComparison
from tidegauge.traces.run_files import MANIFEST, SUMMARY, TRACE
from tidegauge.traces.run_folder import RunFolder
from written_rows import S, WrittenRows

CRASH = {"name": "crash", "kind": "crash", "brokers": [2], "at": "3s"}


def replay(run: Path, *options: str | Path) -> Result:
    return CliRunner().invoke(app, ["replay", str(run), *map(str, options)])


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A leader loses a follower, with records on their way."""
    producers = {"producers": [producers_of(20, "2s", "4s")]}
    folder = tmp_path_factory.mktemp("replay") / "recorded"
    return simulate(cluster_of(workload=producers, faults=[CRASH]), folder).path


@pytest.fixture
def copied(recorded: Path, tmp_path: Path) -> Path:
    """The same run, to be bent."""
    copy = tmp_path / "copied"
    (copy / TRACE).mkdir(parents=True)
    for file in recorded.rglob("*.*"):
        (copy / file.relative_to(recorded)).write_bytes(file.read_bytes())
    return copy


def change_manifest(run: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((run / MANIFEST).read_text())
    change(manifest)
    (run / MANIFEST).write_text(json.dumps(manifest))


def trace_of(run: Path) -> Path:
    (file,) = (run / TRACE).iterdir()
    return file


def refusal(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr.splitlines()[-1].removeprefix("tidegauge: ")


# What is run again.


def test_a_run_comes_out_as_it_did(recorded: Path, tmp_path: Path) -> None:
    result = replay(recorded, "--out", tmp_path / "again")
    assert result.exit_code == 0, result.output
    summary = RunFolder(recorded).summary
    assert summary is not None
    assert f"trace_sha256 {summary['trace_sha256']}\n" in result.stdout
    assert result.stdout.startswith("equal: ")
    assert RunComparison(RunFolder(recorded), RunFolder(tmp_path / "again")).first is None


def test_a_manifest_that_says_otherwise_shows_the_first_row_that_differs(copied: Path) -> None:
    change_manifest(
        copied, lambda manifest: manifest["scenario"]["cluster"]["start"].update({"3": "1ms"})
    )
    result = replay(copied)
    assert result.exit_code == 1, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "The first row that differs:"
    assert lines[1].split() == (
        ["recorded", "0.000s", "2:0", "broker", "3", "broker_started:", "broker", "3", "starts"]
    )
    assert lines[3].split() == ["time_us", "recorded", "0,", "replayed", "1000"]
    assert lines[-1].startswith("not equal: trace_sha256 was ")


def test_an_unfinished_run_is_compared_as_far_as_it_came(copied: Path) -> None:
    (copied / SUMMARY).unlink()
    trace = trace_of(copied)
    trace.write_bytes(trace.read_bytes()[:-100])
    result = replay(copied)
    assert result.exit_code == 0, result.output
    assert "is unfinished: the comparison covers its " in result.stderr
    assert result.stdout == "equal up to its last row\n"

    change_manifest(copied, lambda manifest: manifest["scenario"].update(seed=2))
    assert replay(copied).exit_code == 1


def test_a_run_of_another_release_is_compared_and_its_writer_named(copied: Path) -> None:
    change_manifest(copied, lambda manifest: manifest.update(tidegauge="0.0.7"))
    result = replay(copied)
    assert result.exit_code == 0
    assert f"was written by Tidegauge 0.0.7 with schema version {SCHEMA_VERSION}" in result.stderr


# What cannot be run again.


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    assert "not the folder of a run" in refusal(replay(tmp_path))
    assert "not the folder of a run" in refusal(replay(tmp_path / "nowhere"))


def test_a_scenario_that_this_release_cannot_run_is_refused(copied: Path) -> None:
    change_manifest(copied, lambda manifest: manifest["scenario"].update(gravity="low", wind=1))
    said = refusal(replay(copied))
    assert f"{copied / MANIFEST}: gravity: unknown name" in said
    assert f"and 1 problem more; Tidegauge {__version__} cannot run it" in said


def test_a_newer_schema_is_refused(copied: Path) -> None:
    change_manifest(copied, lambda manifest: manifest.update(schema_version=SCHEMA_VERSION + 1))
    assert "has schema version" in refusal(replay(copied))


def test_a_trace_that_was_cut_or_damaged_is_refused(copied: Path) -> None:
    trace = trace_of(copied)
    whole = trace.read_bytes()
    trace.write_bytes(whole[:-100])
    assert f"{trace}: ends within a frame, after byte " in refusal(replay(copied))
    trace.write_bytes(whole[:-50] + bytes([whole[-50] ^ 1]) + whole[-49:])
    assert "is damaged" in refusal(replay(copied))
    trace.unlink()
    assert "has no trace of the run" in refusal(replay(copied))


def test_a_folder_that_is_not_empty_is_left_as_it_is(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    assert "is not empty" in refusal(replay(recorded, "--out", tmp_path))
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


# Where two runs begin to differ.


def two_terms(leader_epoch: int = 2, version: int = 0) -> WrittenRows:
    """Broker 1 leads, then broker 2; at 2 s two brokers write at the same time."""
    rows = WrittenRows()
    rows.write("became_leader", 1 * S, 0, partition=0, leader_epoch=1)
    rows.write("became_follower", 2 * S, 0, partition=0, leader_epoch=2)
    rows.write("became_leader", 2 * S, 1, partition=0, leader_epoch=leader_epoch, version=version)
    rows.write("truncated", 3 * S, 0, partition=0, end_offset=5)
    return rows


def test_the_row_and_the_columns_that_differ_are_found(tmp_path: Path) -> None:
    one = RunFolder(two_terms().run(tmp_path / "one"))
    other = RunFolder(two_terms(leader_epoch=3, version=7).run(tmp_path / "other", files=2))
    found = RunComparison(one, other).first
    assert found is not None
    assert found.one is not None
    assert (found.one.kind, found.one.place) == ("became_leader", (2 * S, 1, 0, 0))
    assert sorted(found.columns()) == ["leader_epoch", "version"]


def test_a_row_that_only_one_run_has_stands_against_the_next_of_the_other(tmp_path: Path) -> None:
    longer = two_terms()
    longer.write("log_deleted", 2_500_000, 2, partition=0)
    one = RunFolder(two_terms().run(tmp_path / "one"))
    other = RunFolder(longer.run(tmp_path / "other"))
    found = RunComparison(one, other).first
    assert found is not None
    assert found.one is not None
    assert found.other is not None
    assert (found.one.kind, found.other.kind) == ("truncated", "log_deleted")
    assert found.columns() == []
    # What comes behind the last row of an unfinished run is none of its own.
    assert RunComparison(one, other, one_is_unfinished=True).first is None
    assert RunComparison(other, one, one_is_unfinished=True).first is not None


def test_a_run_that_ends_before_the_other_has_no_more_rows(tmp_path: Path) -> None:
    longer = two_terms()
    longer.write("truncated", 9 * S, 0, partition=0)
    one = RunFolder(two_terms().run(tmp_path / "one"))
    found = RunComparison(one, RunFolder(longer.run(tmp_path / "other"))).first
    assert found is not None
    assert found.one is None
    assert found.other is not None
    assert found.other["time_us"] == 9 * S


def test_the_first_row_of_each_process_that_differs_is_found(tmp_path: Path) -> None:
    """Later rows of the process may follow from it; a process without a difference is left out."""
    longer = two_terms(leader_epoch=3)
    longer.write("truncated", 9 * S, 0, partition=0)
    one = RunFolder(two_terms().run(tmp_path / "one", files=2))
    compared = RunComparison(one, RunFolder(longer.run(tmp_path / "other")))
    assert [*compared.by_process] == [1, 0], "in the order of time"
    assert compared.by_process[1] == compared.first
    assert compared.by_process[1].columns() == ["leader_epoch"]
    nothing, row = compared.by_process[0]
    assert nothing is None
    assert row is not None
    assert row.place == (9 * S, 0, 3, 0)


def test_samples_are_no_difference_of_what_happened(tmp_path: Path) -> None:
    other = two_terms()
    other.write("sampled", 4 * S, 1, partition=0)
    runs = [
        RunFolder(each.run(tmp_path / name)) for each, name in ((two_terms(), "a"), (other, "b"))
    ]
    assert RunComparison(*runs).first is not None
    assert RunComparison(*runs, canonical=True).first is None
