"""A sweep that was stopped, had a run that failed, or is to have more: it goes on where it was."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import ray
from filelock import FileLock

from descendants import descendants
from swept_scenario import CRASHES, sweep
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
from tidegauge.sweeps.many_runs import Outcome, PlannedRun, run_all
from tidegauge.sweeps.sweep_folder import run_name
from tidegauge.traces.run_files import MANIFEST, SUMMARY, SWEEP, SWEEP_LOCK, TRACE
from tidegauge.traces.run_folder import RunFolder

pytestmark = pytest.mark.usefixtures("ray_here")

SESSION = "zookeeper.session.timeout.ms"
VALUES = ("--set", f"cluster.settings.{SESSION}=4000,12000")


@pytest.fixture
def crashes(tmp_path: Path) -> Path:
    file = tmp_path / "crashes.yaml"
    file.write_text(CRASHES)
    return file


def written(out: Path) -> dict[str, int]:
    """When the summary of each run was written, to the nanosecond."""
    return {file.parent.name: file.stat().st_mtime_ns for file in out.glob(f"*/{SUMMARY}")}


def test_more_values_and_seeds_run_only_what_is_new(crashes: Path, tmp_path: Path) -> None:
    """Names of runs do not depend on what else is in the sweep."""
    out = tmp_path / "sweep"
    assert sweep(crashes, "--seeds", "1..2", *VALUES, "--out", out).exit_code == 0
    first = written(out)
    assert {*first} == {f"{SESSION}={value},seed={n}" for value in (4000, 12000) for n in (1, 2)}

    values = f"cluster.settings.{SESSION}=4000,8000,12000"
    result = sweep(crashes, "--seeds", "1..3", "--set", values, "--out", out)
    assert result.exit_code == 0, result.output
    assert f"9 runs into {out}, 4 of them already finished" in result.stdout
    assert first.items() <= written(out).items()
    assert len(written(out)) == 9
    assert (
        sweep(crashes, "--seeds", "1..3", "--set", values, "--out", tmp_path / "new").exit_code == 0
    )
    assert (out / SWEEP).read_bytes() == (tmp_path / "new" / SWEEP).read_bytes()


def test_what_is_unfinished_is_run_anew_and_comes_to_the_same(
    crashes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    command = (crashes, "--seeds", "1..3", "--out", out)
    assert sweep(*command).exit_code == 0
    told, before = (out / SWEEP).read_bytes(), written(out)
    # One lost its end, one had only begun.
    (out / "seed=1" / SUMMARY).unlink()
    for file in (MANIFEST, SUMMARY):
        (out / "seed=3" / file).unlink()
    result = sweep(*command)
    assert result.exit_code == 0, result.output
    assert "3 runs into" in result.stdout
    assert "1 of them already finished" in result.stdout
    assert (out / SWEEP).read_bytes() == told
    kept = {name for name, when in written(out).items() if before[name] == when}
    assert kept == {"seed=2"}


def test_a_run_that_fails_loses_no_other_and_is_tried_again(crashes: Path, tmp_path: Path) -> None:
    out = tmp_path / "sweep"
    assert sweep(crashes, "--seeds", "1..1", "--out", out).exit_code == 0
    notes = out / "seed=2" / "notes.txt"
    notes.parent.mkdir()
    notes.write_text("mine")
    result = sweep(crashes, "--seeds", "1..3", "--out", out)
    assert result.exit_code == 1, result.output
    errors = {each["seed"]: each["error"] for each in json.loads((out / SWEEP).read_text())["runs"]}
    assert (errors[1], errors[3]) == (None, None)
    assert "is not empty" in errors[2]
    assert "0 of 3 runs had an unexpected verdict, 1 failed" in result.stdout
    assert notes.read_text() == "mine"

    shutil.rmtree(notes.parent)
    result = sweep(crashes, "--seeds", "1..3", "--out", out)
    assert result.exit_code == 0, result.output
    assert "2 of them already finished" in result.stdout


@pytest.mark.parametrize(
    ("scenario", "options", "said"),
    [
        (CRASHES.replace("20s, repair", "30s, repair"), [], "faults.0.at is"),
        (CRASHES, ["--trace-level", "all"], "trace is transitions there, all here"),
        (CRASHES.replace("partitions: 3", "partitions: 4"), [], "topics.0.partitions is 3 there"),
    ],
    ids=["faults", "level", "partitions"],
)
def test_the_folder_of_another_sweep_is_not_mixed_with_this_one(
    scenario: str, options: list[str], said: str, crashes: Path, tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    assert sweep(crashes, "--seeds", "1..1", "--out", out).exit_code == 0
    before = written(out)
    crashes.write_text(scenario)
    result = sweep(crashes, "--seeds", "1..2", "--out", out, *options)
    assert result.exit_code == 2, result.output
    assert f"{out / 'seed=1'}: is of another sweep: " in result.stderr
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert written(out) == before


def test_a_folder_of_something_else_is_left_as_it_is(crashes: Path, tmp_path: Path) -> None:
    result = sweep(crashes, "--seeds", "1..2", "--out", tmp_path)
    assert result.exit_code == 2
    assert "is not empty, and has no sweep to resume" in result.stderr
    assert {each.name for each in tmp_path.iterdir()} == {crashes.name}


def test_two_sweeps_do_not_run_into_one_folder(crashes: Path, tmp_path: Path) -> None:
    with FileLock(tmp_path / "sweep" / SWEEP_LOCK):
        result = sweep(crashes, "--seeds", "1..2", "--out", tmp_path / "sweep")
    assert result.exit_code == 2
    assert "another sweep is running in it" in result.stderr


def test_folders_have_names_that_any_file_system_takes() -> None:
    changes = {
        "topics.a/b.partitions": "3",
        "cluster.settings.x": "1",
        "release": "2.6 *",
        "seed": "9",
    }
    assert run_name(changes, 9) == "x=1,release=2.6_%2A,topics.a%2Fb.partitions=3,seed=9"
    assert run_name(dict(reversed(changes.items())), 9) == run_name(changes, 9)
    long = [
        run_name({f"faults.{number}.for": "1s" for number in range(count)}, 1) for count in (40, 41)
    ]
    assert long[0] != long[1]
    assert max(map(len, long)) < 255


# Processes that die, and Ctrl-C.


def test_a_process_that_dies_is_that_runs_error_and_the_others_go_on(
    crashes: Path, tmp_path: Path
) -> None:
    """A task that Ray would try again by itself would hide it; the next run has a new process."""
    planned = [
        PlannedRun(
            crashes, {"seed": seed, "duration": duration, "trace": "all"}, tmp_path / f"{seed}"
        )
        for seed, duration in ((1, "20s"), (2, "3h"), (3, "20s"))
    ]
    found: dict[int, Outcome] = {}
    with closing(run_all(planned, jobs=1)) as runs:
        found.update([next(runs)])
        while not (tmp_path / "2" / MANIFEST).exists():
            time.sleep(0.02)
        below = descendants(os.getpid()).items()
        (process,) = (pid for pid, line in below if "ray::PoolActor.call" in line)
        os.kill(process, signal.SIGKILL)
        found.update(runs)
    assert [found[number].error is None for number in range(3)] == [True, False, True]
    assert str(found[1].error).startswith("its process died")
    alone = simulate(load_scenario(crashes, {"seed": 3}), tmp_path / "alone", make_engine=inline())
    assert alone.summary is not None
    assert found[2].trace_sha256 == alone.summary["trace_sha256"]


def has_begun(run: Path) -> bool:
    """Whether rows of its trace are on disk."""
    return any(file.stat().st_size > 1 << 14 for file in (run / TRACE).glob("*"))


@pytest.mark.long
def test_ctrl_c_leaves_what_is_done_and_no_process_and_the_sweep_goes_on(
    crashes: Path, tmp_path: Path
) -> None:
    """... to the same sweep.json as one that nobody stopped."""
    out = tmp_path / "sweep"
    options = ["--seeds", "1..3", "--set", "duration=1h", "--trace-level", "all", "--jobs", "1"]
    command = [
        sys.executable,
        "-m",
        "tidegauge",
        "sweep",
        str(crashes),
        *options,
        "--out",
        str(out),
    ]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as driver:
        second = out / "duration=1h,seed=2"
        while driver.poll() is None and not has_begun(second):
            time.sleep(0.02)
        processes = descendants(driver.pid)
        # A terminal sends it to all of them.
        os.killpg(driver.pid, signal.SIGINT)
        told, complaints = driver.communicate(timeout=60)
    assert driver.returncode == 130, complaints
    assert f"Stopped: 1 of 3 runs are finished in {out}" in told
    assert complaints == ""
    assert any("ray::PoolActor" in line for line in processes.values())
    time.sleep(1)
    assert [line for pid, line in processes.items() if Path(f"/proc/{pid}").exists()] == []
    stopped = RunFolder(second)
    assert stopped.summary is None
    assert any(list(stopped.rows("broker_started")))

    gone_on = sweep(crashes, *options, "--out", out)
    assert gone_on.exit_code == 0, gone_on.output
    assert "1 of them already finished" in gone_on.stdout
    assert sweep(crashes, *options, "--out", tmp_path / "new").exit_code == 0
    found: list[dict[str, Any]] = [
        json.loads((folder / SWEEP).read_text()) for folder in (out, tmp_path / "new")
    ]
    assert found[0] == found[1]


@pytest.mark.long
def test_a_sweep_joins_a_cluster_that_is_there_already(crashes: Path, tmp_path: Path) -> None:
    """Its actors are there, whatever the working directory; the cluster stays when it has ended."""
    address = ray.get_runtime_context().gcs_address
    options = ["--seeds", "1..2", "--address", address, "--out", "sweep", "--json"]
    command = [sys.executable, "-m", "tidegauge", "sweep", crashes.name, *options]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    hashes = [each["trace_sha256"] for each in json.loads(ended.stdout)["runs"]]
    here = tmp_path / "here"
    assert sweep(crashes, "--seeds", "1..2", "--out", here).exit_code == 0
    assert [
        each["trace_sha256"] for each in json.loads((here / SWEEP).read_text())["runs"]
    ] == hashes
