"""Runs on a warm actor or process: each is what it is alone, whatever has run there before."""

from __future__ import annotations

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
import ray
from typer.testing import CliRunner

from descendants import descendants
from swept_scenario import CRASHES
from tidegauge.command_line import app
from tidegauge.engine import process_pool
from tidegauge.engine.contract import HERE, RayUnavailableError
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.layout.kept_tables import KeptTables
from tidegauge.engine.pool import in_order, run_on_pool
from tidegauge.engine.process_pool import calls_in_processes
from tidegauge.engine.simulate import simulate, simulate_plan
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import load_scenario
from tidegauge.sweeps.many_runs import PlannedRun, run_all
from tidegauge.traces.run_files import MANIFEST, SUMMARY, trace_files

#: Every seed has the same faults, so runs share the plan and the tables. With CRASHES they do not.
ONE_CRASH = """\
name: one-crash
duration: 40s
cluster: {brokers: 3, racks: [a, b, c], settings: {replica.lag.time.max.ms: 10000}}
controllers: {count: 3}
topics: [{name: orders, partitions: 6, replication_factor: 3, settings: {min.insync.replicas: 2}}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 20, settings: {acks: all}}]
  consumers: [{name: billing, topics: [orders], settings: {enable.auto.commit: true}}]
faults: [{name: crash, kind: crash, at: 15s, for: 10s, brokers: [2]}]
"""
#: What depends on the machine, and how busy it is.
OF_REAL_TIME = {
    *("wall_seconds", "loop_seconds", "loop_seconds_by_process_kind", "loop_samples"),
    *("events_per_second", "times_real_time", "groups"),
}


def results_of(run: Path) -> tuple[dict[str, Any], bytes, list[bytes]]:
    """All that a run has left behind, but real time: summary, manifest and trace."""
    summary = json.loads((run / SUMMARY).read_text())
    said = {name: value for name, value in summary.items() if name not in OF_REAL_TIME}
    traces = [file.read_bytes() for file in trace_files(run)]
    return said, (run / MANIFEST).read_bytes(), traces


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("text", [ONE_CRASH, CRASHES], ids=["shared tables", "drawn faults"])
def test_a_run_is_what_it_is_alone_whatever_was_run_before(text: str, tmp_path: Path) -> None:
    """One actor has them all: other seeds, another value, and the first run once more."""
    file = tmp_path / "scenario.yaml"
    file.write_text(text)
    quick: dict[str, object] = {"topics.orders.partitions": 2, "duration": "20s"}
    changes: list[Mapping[str, object]] = [
        *({"seed": 1}, {"seed": 2}, {"seed": 3, **quick}, {"seed": 4}, {"seed": 1})
    ]
    planned = [
        PlannedRun(file, each, tmp_path / f"pool-{place}") for place, each in enumerate(changes)
    ]
    with closing(run_all(planned, jobs=1)) as runs:
        found = dict(runs)
    assert [found[place].error for place in range(len(planned))] == [None] * len(planned)
    for place in (0, 2, 3):
        simulate(load_scenario(file, changes[place]), tmp_path / f"alone-{place}")
        assert results_of(planned[place].folder) == results_of(tmp_path / f"alone-{place}")
    assert results_of(planned[4].folder) == results_of(planned[0].folder)
    assert len({found[place].trace_sha256 for place in range(4)}) == 4


def test_tables_that_a_run_has_used_are_not_those_that_the_next_one_begins_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The negative twin: without a copy a run goes on where the one before has ended."""
    file = tmp_path / "scenario.yaml"
    file.write_text(ONE_CRASH)

    def second_run(name: str) -> str:
        plan = ClusterPlan(load_scenario(file), kept={})
        for seed in (1, 2):
            run = simulate_plan(plan.with_seed(seed), tmp_path / f"{name}-{seed}", inline())
        assert run.summary is not None
        return str(run.summary["trace_sha256"])

    alone = simulate(load_scenario(file, {"seed": 2}), tmp_path / "alone").summary
    assert alone is not None
    assert second_run("copies") == alone["trace_sha256"]
    monkeypatch.setattr(KeptTables, "copy", lambda kept: kept.tables)
    try:
        leaked = second_run("same")
    except AssertionError as error:
        # An event needs more room than the run before has left.
        leaked = str(error)
    assert leaked != alone["trace_sha256"]


@pytest.fixture
def with_ctrl_c() -> Iterator[None]:
    """The handler of SIGINT that a program begins with in a terminal."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former)


class NotInstalled:
    """A function of a module that the actors do not have."""

    def __reduce__(self) -> tuple[Any, ...]:
        return __import__, ("no_such_module",)

    def __call__(self, each: int) -> int:
        raise NotImplementedError(each)


@pytest.mark.usefixtures("ray_here")
def test_actors_that_cannot_start_are_the_error_of_each_run() -> None:
    with closing(run_on_pool(NotInstalled(), [10, 20], jobs=1)) as calls:
        errors = {ended.number: ended.error for ended in calls}
    assert sorted(errors) == [0, 1]
    assert all("No module named 'no_such_module'" in str(each) for each in errors.values())


@pytest.fixture
def no_ray(monkeypatch: pytest.MonkeyPatch) -> str:
    """A Ray that does not start in time, and the line about it.

    Ray raises a plain Exception then, which is none of its own kinds of errors.
    """

    def time_out(**_options: object) -> None:
        raise Exception("The node timed out during startup.\nSee its logs.")  # noqa: TRY002

    # Other tests of this process may have a Ray, which would be used instead.
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", time_out)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    return "Ray does not start here: The node timed out during startup."


def test_where_ray_does_not_start_calls_are_made_in_as_many_processes(no_ray: str) -> None:
    warnings: list[str] = []
    with closing(run_on_pool(math.sqrt, [25, -1, 36], 2, HERE, warnings.append)) as calls:
        ended = [*in_order(calls)]
    assert ended == [(0, 5.0, None), (1, None, "math domain error"), (2, 6.0, None)]
    assert warnings == [f"{no_ray}: plain processes replace it, 2 at once"]


def test_where_ray_is_not_installed_calls_are_made_in_processes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "tidegauge.engine.ray_cluster", None)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    warnings: list[str] = []
    with closing(run_on_pool(math.sqrt, [25], warn=warnings.append)) as calls:
        assert [*calls] == [(0, 5.0, None)]
    (line,) = warnings
    assert re.fullmatch(r"Ray cannot be imported: .*: plain processes replace it, 1 at once", line)


def test_a_process_that_dies_is_the_error_of_its_call_and_another_takes_its_place() -> None:
    signals = [signal.SIGCONT, signal.SIGKILL, signal.SIGCONT]
    with closing(calls_in_processes(signal.raise_signal, signals, 1)) as calls:
        errors = [ended.error for ended in calls]
    assert errors == [None, "its process died: SIGKILL", None]


def test_calls_in_processes_are_interrupted_and_no_process_stays(tmp_path: Path) -> None:
    """One sleeps for a minute, and cleans up; closing the calls waits for that, and no longer."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    program = f"""
import time
from pathlib import Path
Path({str(begun)!r}).touch()
try:
    time.sleep(60)
finally:
    Path({str(ended)!r}).touch()
"""
    before = {*descendants(os.getpid())}
    since_s = time.monotonic()
    with closing(calls_in_processes(exec, ["", program, program], 2)) as calls:
        assert next(calls).number == 0
        while not begun.exists():
            time.sleep(0.01)
    assert ended.exists()
    assert time.monotonic() - since_s < 30
    assert {*descendants(os.getpid())} <= before


@pytest.mark.usefixtures("with_ctrl_c")
def test_an_interruption_while_a_process_starts_ends_that_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between its start and the return to the pool nobody would know of it."""

    class Interrupted(subprocess.Popen[bytes]):
        def __init__(self, *words: Any, **options: Any) -> None:
            super().__init__(*words, **options)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(process_pool, "Popen", Interrupted)
    before = {*descendants(os.getpid())}
    with pytest.raises(KeyboardInterrupt), closing(calls_in_processes(math.sqrt, [4], 1)) as calls:
        next(calls)
    assert {*descendants(os.getpid())} <= before


def test_a_program_without_a_guard_can_call_in_processes(tmp_path: Path) -> None:
    """It is not imported by the processes, which would begin processes of their own."""
    program = tmp_path / "program.py"
    program.write_text(
        "import math\n"
        "from tidegauge.engine.process_pool import calls_in_processes\n"
        "print([ended.result for ended in calls_in_processes(math.sqrt, [4], 1)])\n"
    )
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("[2.0]\n", "")


@pytest.mark.usefixtures("with_ctrl_c", "no_ray")
def test_an_interruption_that_a_callback_of_rays_start_swallows_takes_effect(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ray forks with callbacks, whose exceptions Python prints and forgets."""
    ended = []

    def start(**_options: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(ray, "init", start)
    monkeypatch.setattr(ray, "shutdown", lambda: ended.append("Ray"))
    with pytest.raises(KeyboardInterrupt), closing(run_on_pool(math.sqrt, [25], 1, HERE)) as calls:
        next(calls)
    assert ended == ["Ray"]


def test_a_cluster_that_cannot_be_joined_is_an_error(no_ray: str) -> None:
    message = "^auto: cannot join Ray: The node timed out"
    assert no_ray
    with (
        pytest.raises(RayUnavailableError, match=message),
        closing(run_on_pool(math.sqrt, [10], address="auto")) as calls,
    ):
        next(calls)


def test_commands_without_ray_run_all_seeds_or_end_in_one_line(no_ray: str, tmp_path: Path) -> None:
    """``run --seeds`` needs processes, whoever starts them; ``run --ray`` asks for Ray itself."""
    file = tmp_path / "one-crash.yaml"
    file.write_text(ONE_CRASH)
    seeds = CliRunner().invoke(
        app, ["run", str(file), "--seeds", "1..2", "--jobs", "1", "--out", str(tmp_path / "seeds")]
    )
    assert seeds.exit_code == 0, seeds.output
    assert seeds.stderr.count(no_ray) == 1
    assert len(list((tmp_path / "seeds").glob("*/summary.json"))) == 2
    on_ray = CliRunner().invoke(app, ["run", str(file), "--ray", "--out", str(tmp_path / "ray")])
    assert (on_ray.exit_code, on_ray.stderr) == (2, f"tidegauge: {no_ray}\n")
    assert not (tmp_path / "ray").exists()
