"""``tidegauge run --seeds``: many seeds at once, and how their figures are distributed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.run_folder import RunFolder
from tidegauge.seed_runs import FIGURES, SeedRun, SeedsInput, folder_of, run_seeds
from tidegauge.simulation.run_files import MANIFEST, SUMMARY, TRACE

#: One of the brokers is dead for a while; when, and which, is for the seed to say.
SCENARIO = """\
name: crashes
duration: 20s
cluster: {brokers: 3, settings: {zookeeper.session.timeout.ms: 4000}}
topics: [{name: orders, partitions: 3, replication_factor: 2}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 20, settings: {acks: "all"}}]
fault_rates: [{kind: crash, brokers: [1, 2, 3], mtbf: 20s, repair_time: 5s}]
"""


@pytest.fixture
def crashes(tmp_path: Path) -> Path:
    file = tmp_path / "crashes.yaml"
    file.write_text(SCENARIO)
    return file


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["run", *map(str, arguments)])


def has_rows(run: Path) -> bool:
    """Whether more than the header of its trace is on disk."""
    return any(file.stat().st_size > 1 << 16 for file in (run / TRACE).glob("*"))


def test_each_seed_is_the_run_that_it_is_alone_and_the_worst_can_be_had_again(
    crashes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "seeds"
    result = run(crashes, "--seeds", "3..6", "--jobs", "2", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    assert found == json.loads((out / "seeds.json").read_text())
    assert [each["seed"] for each in found["seeds"]] == [3, 4, 5, 6]
    for each in found["seeds"]:
        summary = RunFolder(Path(each["folder"])).summary
        assert summary is not None
        assert {name: each[name] for name in FIGURES} == {name: summary[name] for name in FIGURES}
        assert each["trace_sha256"] == summary["trace_sha256"]

    offline = sorted(each["partition_seconds_offline"] for each in found["seeds"])
    expected = {"p50": offline[1], "p99": offline[3], "worst": offline[3]}
    assert found["distribution"]["partition_seconds_offline"] == expected
    assert "percentiles by nearest rank" in result.stderr
    assert f"Worst: {found['worst']['command']}" in result.stderr

    worst = found["seeds"][found["worst"]["seed"] - 3]
    assert worst["partition_seconds_offline"] == offline[3]
    words = found["worst"]["command"].split()[2:]
    assert run(*words, "--out", tmp_path / "alone").exit_code == 0
    alone = RunFolder(tmp_path / "alone").summary
    assert alone is not None
    assert alone["trace_sha256"] == worst["trace_sha256"]


def test_a_seed_with_an_unexpected_verdict_ends_with_1(crashes: Path, tmp_path: Path) -> None:
    change = "checks={strong_isr: false}"
    result = run(crashes, "--seeds", "1..1", "--set", change, "--out", tmp_path / "seeds")
    assert result.exit_code == 1, result.output
    assert "1 of 1 seeds had an unexpected verdict, 0 failed" in result.output
    assert "strong_isr" in result.output
    (found,) = json.loads((tmp_path / "seeds" / "seeds.json").read_text())["seeds"]
    assert found["unexpected"] == ["strong_isr"]


@pytest.mark.long
def test_a_seed_that_fails_and_a_process_that_dies_lose_no_other(
    crashes: Path, tmp_path: Path
) -> None:
    folder_of(tmp_path, 1).mkdir()
    (folder_of(tmp_path, 1) / "notes.txt").write_text("mine")
    runs = run_seeds(SeedsInput(crashes, {"duration": "2m"}, tmp_path), [1, 2, 3], jobs=1)
    found = [next(runs)]
    (process,) = active_children()
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    found += runs
    assert [(each.seed, each.error is None) for each in found] == [
        (1, False), (2, False), (3, True),
    ]  # fmt: skip
    assert "is not empty" in str(found[0].error)
    assert found[1].error == "its process died, exit status -9"
    assert active_children() == []


def test_an_interruption_ends_all_processes_and_leaves_traces_that_can_be_read(
    crashes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "seeds"
    changes = ["--set", "duration=9h", "--set", "fault_rates=[]"]
    options = ["--seeds", "1..9", "--jobs", "2", *changes, "--out", str(out)]
    command = [sys.executable, "-m", "tidegauge", "run", str(crashes), *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as driver:
        folders = [folder_of(out, seed) for seed in (1, 2)]
        while driver.poll() is None and not all(map(has_rows, folders)):
            time.sleep(0.05)
        driver.send_signal(signal.SIGINT)
        told, complaints = driver.communicate(timeout=30)
    assert driver.returncode == 130, complaints
    # On a busy machine the first may have come to its end before the second has begun.
    assert f" of 9 seeds have come to their end in {out}" in told.partition("Stopped: ")[2]
    assert complaints == ""
    runs = [RunFolder(folder) for folder in out.glob("seed-*") if (folder / MANIFEST).exists()]
    unfinished = [each for each in runs if each.summary is None]
    assert 1 <= len(unfinished) <= 2
    for each in unfinished:
        assert not each.torn
    assert any(list(each.rows("broker_started")) for each in unfinished)
    assert not folder_of(out, 9).exists()


def test_of_surprises_the_worst_is_the_one_that_lost_most() -> None:
    def seed_run(seed: int, lost: int, offline: float, *unexpected: str) -> SeedRun:
        figures = dict(zip(FIGURES, (lost, offline, 0.0), strict=True))
        return SeedRun(seed, "", unexpected=unexpected, figures=figures)

    runs = [
        seed_run(1, 0, 9.0),
        seed_run(2, 5, 1.0),
        seed_run(3, 5, 1.0),
        seed_run(4, 0, 0.0, "liveness"),
    ]
    ordered = sorted(runs, key=lambda each: each.badness, reverse=True)
    assert [each.seed for each in ordered] == [4, 2, 3, 1]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--seeds", "5..1"], "--seeds 5..1: the last one is before the first"),
        (["--seeds", "5"], "--seeds 5: must be the first and the last one, such as 1..20"),
        (["--seeds", f"1..{2**63}"], "a seed is less than 2**63"),
        (["--seeds", "1..999999"], "are too many"),
        (["--seeds", "1..2", "--jobs", "0"], "--jobs 0: must be 1 or more"),
        (["--jobs", "2"], "--jobs needs --seeds"),
        (["--seeds", "1..2", "--seed", "1"], "--seeds and --seed exclude each other"),
        (["--seeds", "1..2", "--actors", "1"], "leave out --actors"),
        (["--seeds", "1..2", "--set", "duration=soon"], "duration: must be a duration"),
    ],
)
def test_what_cannot_be_run_is_said_before_anything_is_written(
    options: list[str], complaint: str, crashes: Path, tmp_path: Path
) -> None:
    result = run(crashes, "--out", tmp_path / "seeds", *options)
    assert result.exit_code == 2, result.output
    assert complaint in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "seeds").exists()


def test_a_folder_that_is_not_empty_is_left_as_it_is(crashes: Path, tmp_path: Path) -> None:
    result = run(crashes, "--seeds", "1..2", "--out", tmp_path)
    assert result.exit_code == 2
    assert "is not empty" in result.stderr
    assert not list(tmp_path.glob(f"**/{SUMMARY}"))
