"""Ctrl-C ends a command with one line and status 130; no process and no half of a file stays."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir

import pytest

from scenario_runs import run_of, shipped
from tidegauge.views.output import CLOSED, INTERRUPTED

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "deploy" / "prometheus" / "rules" / "tidegauge.rules.yml"

#: A promtool that takes the rules, never comes to an end with an incident, and says when it begins.
PROMTOOL = """#!/bin/sh
if [ "$1" = --version ]; then
  echo "promtool, version 2.50.1 (branch: HEAD)"
elif grep -q "eval_time: 15000ms" test.yml; then
  echo $$ >> {begun}
  exec sleep 300
else
  printf '    expr: "ALERTS", time: 0s,\\n        got: \\n'
fi
"""
#: Ctrl-C reaches all processes of the terminal, as it does those of a group.
WITH_INTERRUPTIONS = (
    "import os, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "os.setpgid(0, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


@contextmanager
def begun(folder: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    """A command of Tidegauge in a group of processes of its own."""
    command = [sys.executable, "-m", "tidegauge", *map(str, words)]
    process = subprocess.Popen(
        [sys.executable, "-c", WITH_INTERRUPTIONS, *command],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Ray has sockets there, whose paths have to be short.
        env=os.environ | {"TMPDIR": str(folder), "RAY_TMPDIR": gettempdir()},
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(what: str, is_so: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, f"not within {seconds} s: {what}"
        time.sleep(0.05)


def processes_of_group(group: int) -> list[str]:
    """The processes of a group that still do something."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, its_group = status.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(its_group) == group and state != "Z":
            found.append(status.parent.name)
    return found


def interrupted(process: subprocess.Popen[str]) -> tuple[str, str]:
    """What a command says once Ctrl-C was pressed; with it all its processes have ended."""
    os.killpg(process.pid, signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    wait_for("all processes have ended", lambda: not processes_of_group(process.pid), 20)
    assert "Traceback" not in output + errors
    return output, errors


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.long), 2])
def test_alerts_end_with_one_line_and_keep_nothing_half_written(jobs: int, tmp_path: Path) -> None:
    """Two incidents are with promtool, in a process each, when somebody presses Ctrl-C."""
    promtool, told = tmp_path / "promtool", tmp_path / "told"
    promtool.write_text(PROMTOOL.format(begun=told))
    promtool.chmod(0o755)
    before = {path.name for path in tmp_path.iterdir()} | {"told", "kept"}
    words = ("--rules", RULES, "--promtool", promtool, "--jobs", jobs, "--keep", "kept")
    incidents = ("--incidents", "broker-crash,follower-blip,controller-crash")
    with begun(tmp_path, "alerts", *words, *incidents) as process:
        wait_for(
            "promtool has begun",
            lambda: told.exists() and len(told.read_text().split()) == jobs,
        )
        output, errors = interrupted(process)
    assert output.splitlines()[-1] == "Stopped: 0 of 3 incidents were tried"
    assert all(line.startswith("0 of 3 incidents tried: ") for line in errors.splitlines())
    assert {path.name for path in tmp_path.iterdir()} == before
    assert not any((tmp_path / "kept").iterdir())


def test_alerts_that_are_interrupted_as_they_begin_end_with_one_line(tmp_path: Path) -> None:
    """The processes of incidents begin meanwhile: they must not tell of a KeyboardInterrupt."""
    promtool = tmp_path / "promtool"
    promtool.write_text(PROMTOOL.format(begun=tmp_path / "told"))
    promtool.chmod(0o755)
    words = ("--rules", RULES, "--promtool", promtool, "--jobs", "2")
    with begun(tmp_path, "alerts", *words) as process:
        assert process.stdout is not None
        assert "alerts of 1 file" in process.stdout.readline()
        time.sleep(0.3)
        interrupted(process)


@pytest.mark.long
@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_analyze_ends_with_one_line_and_leaves_no_half_written_table(
    engine: str, tmp_path: Path
) -> None:
    run = run_of(shipped("quickstart"), tmp_path / "run")
    words = ("analyze", run.path, "--out", "analysis", "--engine", engine)
    with begun(tmp_path, *words) as process:
        wait_for("a table is being made", (tmp_path / "analysis").exists)
        _, errors = interrupted(process)
    lines = [line for line in errors.splitlines() if line and "incubator" not in line]
    assert [line for line in lines if not re.match(r"(Spark|DuckDB) makes ", line)] == [
        "tidegauge: stopped"
    ]
    assert not list((tmp_path / "analysis").rglob("*.parquet"))
    assert not (tmp_path / "analysis" / "report.html").exists()


def test_a_reader_that_has_enough_ends_a_command_without_a_word(tmp_path: Path) -> None:
    """As ``| head`` does: no traceback and no "Broken pipe", and the status of SIGPIPE."""
    run = run_of(shipped("isolated-leader", {"duration": "5s", "faults": []}), tmp_path / "run")
    for words in (("show", "partitions", run.path), ("describe", run.path)):
        reader, writer = os.pipe()
        os.close(reader)
        command = [sys.executable, "-m", "tidegauge", *map(str, words)]
        ended = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
        os.close(writer)
        assert (ended.stderr, ended.returncode) == (b"", CLOSED), words
