"""``tidegauge run --snapshot-every`` and ``tidegauge resume``, as a person meets them."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner, Result

import tidegauge
from both_modes import in_mode
from importing import in_one_line
from interrupted_runs import figures_of_meaning, interrupted
from tidegauge.command_line import app
from tidegauge.commands.verify import verified
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.yaml_file import lines_of
from tidegauge.traces.run_files import SNAPSHOTS, SUMMARY, snapshot_times_us
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import INTERRUPTED

SECOND = 1_000_000

#: Half of the brokers lose power, and come back.
RACK_LOSES_POWER = in_mode(
    "kraft",
    duration="60s",
    liveness=True,
    faults=[
        {"name": "power", "kind": "power_loss", "brokers": ["rack:a"], "at": "20s", "for": "20s"}
    ],
)


def tidegauge_(*words: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def done(*words: str | Path) -> str:
    """The output of a command that succeeds."""
    result = tidegauge_(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def refusal(*words: str | Path) -> str:
    """The one line in which a command refuses its input."""
    result = tidegauge_(*words)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line.removeprefix("tidegauge: ")


def file_of(scenario: Scenario, file: Path) -> Path:
    file.write_text("\n".join(lines_of(scenario.resolved())) + "\n")
    return file


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return file_of(RACK_LOSES_POWER, tmp_path_factory.mktemp("scenario") / "rack.yaml")


class Undisturbed:
    """A complete run, and its output."""

    def __init__(self, scenario: Path, folder: Path) -> None:
        words = ("--snapshot-every", "20s", "--snapshot-at", "33.25s,50s", "--snapshot-at", "7s")
        self.output = done("run", scenario, "--out", folder, *words)
        self.run = RunFolder(folder)


@pytest.fixture(scope="module")
def undisturbed(scenario: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    return Undisturbed(scenario, tmp_path_factory.mktemp("undisturbed") / "run")


def test_the_times_of_snapshots_are_those_asked_for(undisturbed: Undisturbed) -> None:
    times_us = [7 * SECOND, 20 * SECOND, 33_250_000, 40 * SECOND, 50 * SECOND]
    assert undisturbed.run.manifest["snapshots_us"] == times_us
    assert snapshot_times_us(undisturbed.run.path) == times_us
    shown = done("show", "partitions", undisturbed.run.path)
    assert "Snapshots:   7s, 20s, 33.25s, 40s, 50s" in shown.splitlines()
    assert "--snapshot-every 20s --snapshot-at 33.25s,50s --snapshot-at 7s" in in_one_line(
        undisturbed.output.replace("\\\n", "")
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("--snapshot-every", "60s"),
            "--snapshot-every 60s: the run ends at 1m, before a snapshot",
        ),
        (("--snapshot-every", "0s"), "--snapshot-every 0s: must be more than 0"),
        (("--snapshot-every", "1us"), "--snapshot-every 1us: 59,999,999 snapshots are too many; "),
        (("--snapshot-every", "often"), "--snapshot-every often: must be a duration"),
        (("--snapshot-at", "0s"), "--snapshot-at 0s: must be more than 0"),
        (("--snapshot-at", "5s,1m"), "--snapshot-at 1m: must be before the end of the run, 1m"),
        (("--snapshot-at", "5s,,6s"), "--snapshot-at : must be a duration"),
        (
            ("--snapshot-every", "20s", "--seeds", "1..2"),
            "--seeds and --snapshot-every exclude each other",
        ),
        (
            ("--snapshot-at", "20s", "--seeds", "1..2"),
            "--seeds and --snapshot-at exclude each other",
        ),
    ],
)
def test_a_snapshot_outside_of_the_run_is_refused(
    words: tuple[str, ...], told: str, scenario: Path, tmp_path: Path
) -> None:
    assert refusal("run", scenario, "--out", tmp_path / "run", *words).startswith(told)
    assert not (tmp_path / "run").exists()


def test_a_resumed_run_says_what_the_undisturbed_one_said(
    undisturbed: Undisturbed, tmp_path: Path
) -> None:
    folder = interrupted(undisturbed.run, 33_250_000, tmp_path / "run")
    resumed = done("resume", folder)
    said, expected = (
        in_one_line(output).partition(" Next: ")[0] for output in (resumed, undisturbed.output)
    )
    assert ", seed 1, from the snapshot at 33.25s " in said
    assert said.replace(", from the snapshot at 33.25s", "") == expected
    assert f"Again: tidegauge replay {folder}" in in_one_line(resumed.replace("\\\n", ""))
    assert refusal("resume", folder) == f"{folder}: is complete: there is nothing to resume"


def test_all_that_reads_a_run_reads_a_resumed_one(undisturbed: Undisturbed, tmp_path: Path) -> None:
    """Its trace has a file from each beginning; tables of before are made again."""
    folder = interrupted(undisturbed.run, 33_250_000, tmp_path / "run")
    unfinished = tidegauge_("show", "partitions", folder)
    note = f"note: tidegauge resume {folder} continues from 33.25s"
    assert note in unfinished.stderr.splitlines()
    done("resume", folder)
    assert (
        verified(RunFolder(folder)).trace_sha256
        == (figures_of_meaning(undisturbed.run)["trace_sha256"])
    )
    for words in (("show", "partitions"), ("show", "partition"), ("picture",), ("describe",)):
        whole, resumed = (done(*words, path) for path in (undisturbed.run.path, folder))
        assert resumed == whole.replace(str(undisturbed.run.path), str(folder)), words
    done("report", folder)
    done("replay", folder)


def test_for_programs_it_prints_its_summary_and_its_status_is_that_of_a_run(tmp_path: Path) -> None:
    """A check with another verdict than expected: status 1."""
    story = in_mode("kraft", duration="10s", faults=[]).resolved()
    expected = {"checks": {"acknowledged_records_lost": False}}
    file = tmp_path / "loses.yaml"
    file.write_text("\n".join(lines_of({**story, **expected})) + "\n")
    begun = tidegauge_("run", file, "--out", tmp_path / "run", "--snapshot-at", "5s")
    assert begun.exit_code == 1, begun.output
    folder = interrupted(RunFolder(tmp_path / "run"), 5 * SECOND, tmp_path / "again")
    resumed = tidegauge_("resume", folder, "--json")
    assert resumed.exit_code == 1
    assert json.loads(resumed.stdout) == json.loads((folder / SUMMARY).read_text())
    assert "Not as expected, with seed 1: acknowledged_records_lost" in resumed.stderr


def test_from_python(undisturbed: Undisturbed, tmp_path: Path) -> None:
    result = tidegauge.run(
        RACK_LOSES_POWER, out=tmp_path / "run", snapshot_every="25s", snapshot_at=["33.25s"]
    )
    assert result.snapshots == ["25s", "33.25s", "50s"]
    folder = interrupted(RunFolder(result.path), 33_250_000, tmp_path / "again")
    resumed = tidegauge.Result(folder).resume()
    assert resumed.trace_sha256 == figures_of_meaning(undisturbed.run)["trace_sha256"]
    with pytest.raises(tidegauge.TidegaugeError, match="is complete"):
        tidegauge.resume(folder)
    with pytest.raises(tidegauge.TidegaugeError, match=r"^snapshot_every 90s: the run ends at 1m"):
        tidegauge.run(RACK_LOSES_POWER, out=tmp_path / "none", snapshot_every="90s")
    with pytest.raises(tidegauge.TidegaugeError, match=r"^snapshot_at 90s: must be before the end"):
        tidegauge.run(RACK_LOSES_POWER, out=tmp_path / "none", snapshot_at=["90s"])


# Interrupted, killed, without room.


def after(is_so: Callable[[], bool], then: Callable[[], object], seconds: float = 60) -> None:
    """Do something as soon as a fact holds."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.01)
    then()


def test_ctrl_c_names_the_command_that_continues(
    scenario: Path, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """Also while it is resumed; at 20 times real time each part takes a second."""
    out = tmp_path / "run"

    def stopped_after(time_us: int, *words: str | Path) -> str:
        waits = threading.Thread(
            target=after,
            args=(
                lambda: time_us in snapshot_times_us(out),
                lambda: os.kill(os.getpid(), signal.SIGINT),
            ),
        )
        waits.start()
        result = tidegauge_(*words, "--speed", "20")
        waits.join()
        assert result.exit_code == INTERRUPTED, result.output
        return in_one_line(result.stdout.replace("\\\n", "")).partition("Stopped: ")[2]

    unfinished = f"{out} is unfinished but readable: tidegauge show partitions {out}"
    first = stopped_after(
        10 * SECOND, "run", scenario, "--out", out, "--snapshot-at", "10s,25s,50s"
    )
    so_far = f"{unfinished}. tidegauge resume {out} continues from 10s"
    assert first.startswith(f"{so_far}. Again: tidegauge run {scenario} --speed 20")
    assert stopped_after(25 * SECOND, "resume", out) == so_far.replace("from 10s", "from 25s")
    assert not (out / SUMMARY).exists()
    done("resume", out)
    assert figures_of_meaning(RunFolder(out)) == figures_of_meaning(undisturbed.run)


def killed_behind(time_us: int, scenario: Path | str, out: Path, speed: int) -> None:
    """Begin a run in a process of its own, and kill that behind its snapshot at this time."""
    words = ("run", scenario, "--out", out, "--snapshot-every", "5s", "--speed", speed, "--inline")
    command = [sys.executable, "-m", "tidegauge", *map(str, words)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after(lambda: time_us in snapshot_times_us(out), process.kill)
    process.wait()
    assert not (out / SUMMARY).exists()


@pytest.mark.parametrize(
    "moments_s",
    [[20], pytest.param([5, 15, 20, 40, 55], marks=pytest.mark.long)],
    ids=["once", "five moments"],
)
def test_a_driver_that_was_killed_is_resumed_to_the_undisturbed_hash(
    moments_s: list[int], scenario: Path, undisturbed: Undisturbed, tmp_path: Path
) -> None:
    """SIGKILL at 30 times real time: before the loss of power, in it, and behind it."""
    for moment_s in moments_s:
        out = tmp_path / str(moment_s)
        killed_behind(moment_s * SECOND, scenario, out, 30)
        done("resume", out)
        assert figures_of_meaning(RunFolder(out)) == figures_of_meaning(undisturbed.run)
        done("verify", out)


@pytest.mark.long
def test_quickstart_killed_at_five_moments_is_resumed_to_its_hash(tmp_path: Path) -> None:
    done("run", "quickstart", "--out", tmp_path / "whole")
    expected = figures_of_meaning(RunFolder(tmp_path / "whole"))
    for moment_s in (5, 45, 105, 160, 235):
        out = tmp_path / str(moment_s)
        killed_behind(moment_s * SECOND, "quickstart", out, 100)
        done("resume", out)
        assert figures_of_meaning(RunFolder(out)) == expected
        done("verify", out)


class Disk(NamedTuple):
    """A folder in which a run finds too little room, until there is more."""

    folder: Path
    error: str
    make_room: Callable[[], object]


@contextmanager
def of_small_files(folder: Path) -> Iterator[Disk]:
    """No file can be larger: the snapshot of 10 s is smaller, the trace of all requests is not."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, before[1]))
    make_room = partial(resource.setrlimit, resource.RLIMIT_FSIZE, before)
    try:
        yield Disk(folder, "File too large", make_room)
    finally:
        make_room()


@contextmanager
def small_disk(folder: Path) -> Iterator[Disk]:
    """A disk that is soon full of snapshots, if one can be mounted here."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=500k", "tmpfs", str(folder)]
    if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode:
        pytest.skip("only root can mount a small disk")
    enlarge = partial(subprocess.run, ["mount", "-o", "remount,size=64m", folder], check=True)
    try:
        yield Disk(folder, "No space left on device", enlarge)
    finally:
        subprocess.run(["umount", folder], check=True)


@pytest.mark.parametrize(
    ("full", "level", "every"),
    [(of_small_files, "all", "10s"), (small_disk, "transitions", "2s")],
    ids=["while tracing", "while saving"],
)
def test_without_room_a_run_ends_with_one_line_and_is_resumed_once_there_is_some(
    full: Callable[[Path], AbstractContextManager[Disk]], level: str, every: str, tmp_path: Path
) -> None:
    file = file_of(in_mode("kraft", trace=level), tmp_path / "both.yaml")
    words = ("--snapshot-every", every)
    done("run", file, "--out", tmp_path / "whole", *words)
    with full(tmp_path / "disk") as disk:
        out = disk.folder / "run"
        stopped = refusal("run", file, "--out", out, *words)
        begin = f"{out}: cannot be written to: {disk.error}; tidegauge resume {out} continues from "
        assert stopped.startswith(begin)
        assert not (out / SUMMARY).exists()
        assert not list((out / SNAPSHOTS).glob("*.tmp"))
        assert refusal("resume", out).startswith(begin)
        disk.make_room()
        done("resume", out)
        whole, resumed = (figures_of_meaning(RunFolder(each)) for each in (tmp_path / "whole", out))
        assert resumed == whole
        done("verify", out)
