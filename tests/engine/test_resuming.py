"""A run that is resumed from any snapshot is the run that nobody has interrupted."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from both_modes import MODES, in_mode
from fault_schedules import DURATION_S, schedule
from gates import assert_met
from interrupted_runs import figures_of_meaning, files_of, interrupted, rewritten
from kraft_schedules import kraft_schedule
from process_groups import groups_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import ResumeError, resume
from tidegauge.engine.row_stream import LOG_DIRECTORIES
from tidegauge.engine.run_snapshots.snapshot_file import SnapshotError
from tidegauge.engine.simulate import Scrapes, only_writer, simulate
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.reading import Scenario, load_scenario
from tidegauge.scenario.shipped import find_scenario, shipped_scenarios
from tidegauge.traces.run_comparison import RunComparison
from tidegauge.traces.run_files import (
    MANIFEST,
    RUN_LOCK,
    SUMMARY,
    RunError,
    snapshot_file,
    snapshot_times_us,
    trace_files,
)
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000

#: A producer and a crash within ten seconds.
SHORT: dict[str, Any] = {
    "duration": "10s",
    "faults": [{"kind": "crash", "brokers": [2], "at": "5s", "for": "2s"}],
}


def assert_each_snapshot_leads_to_the_same_end(
    scenario: Scenario,
    snapshots_us: list[int],
    folder: Path,
    grouping: list[list[int]] | None = None,
) -> RunFolder:
    """Interrupt a run behind each of its snapshots, and resume it; return the undisturbed run."""
    undisturbed = simulate(
        scenario, folder / "run", make_engine=inline(grouping), snapshots_us=snapshots_us
    )
    for time_us in snapshots_us:
        again = resume(interrupted(undisturbed, time_us, folder / f"from-{time_us}"))
        where = f"{scenario.name} resumed from {time_us} us in {grouping}"
        assert figures_of_meaning(again) == figures_of_meaning(undisturbed), where
        assert RunComparison(undisturbed, RunFolder(again.path)).first is None, where
        assert snapshot_times_us(again.path) == snapshots_us
    return undisturbed


def drawn_times_us(seed: int, count: int, duration_us: int) -> list[int]:
    """The times of snapshots, to the microsecond."""
    draw = Random(seed)  # noqa: S311  # nothing here is a secret
    return sorted(draw.sample(range(1, duration_us), count))


@pytest.mark.parametrize("mode", MODES)
def test_resumed_from_each_snapshot_a_run_has_its_hash_its_rows_and_its_figures(
    mode: str, tmp_path: Path
) -> None:
    """While a broker is down, as it returns, and as another one stops; with single requests."""
    scenario = in_mode(mode, liveness=True)
    times_us = [1, 20_000_001, 50_300_000, 71_234_567]
    assert_each_snapshot_leads_to_the_same_end(scenario, times_us, tmp_path)


@pytest.mark.parametrize("mode", MODES)
def test_so_has_a_run_in_three_groups(mode: str, tmp_path: Path) -> None:
    scenario = in_mode(mode, **SHORT)
    times_us = drawn_times_us(3, 2, scenario.duration_us)
    in_groups = assert_each_snapshot_leads_to_the_same_end(
        scenario, times_us, tmp_path, groups_of(scenario, 3)
    )
    together, apart = (
        figures_of_meaning(run)["trace_sha256"]
        for run in (simulate(scenario, tmp_path / "together"), in_groups)
    )
    assert apart == together


SCHEDULES = {"zookeeper": schedule, "kraft": kraft_schedule}
#: In pytest's parameters five schedules are one test, so that a failure names few.
FIVES = [pytest.param(range(five, five + 5), marks=pytest.mark.long) for five in (0, 5, 10)]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("seeds", [range(1), *FIVES])
def test_schedules_of_faults_end_alike_from_drawn_times(
    seeds: range, mode: str, tmp_path: Path
) -> None:
    """Thirty schedules, each resumed from three times; quickly one of each mode, from one."""
    for seed in seeds:
        times_us = drawn_times_us(seed, 3 if len(seeds) > 1 else 1, DURATION_S * SECOND)
        scenario = SCHEDULES[mode](seed)
        folder = tmp_path / str(seed)
        assert_met(assert_each_snapshot_leads_to_the_same_end(scenario, times_us, folder))


#: Scenarios that take minutes, or gigabytes.
LARGE = {"large-cluster", "rack-power-loss", "isr-storm", "failover-budget", "reassignment"}


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(shipped_scenarios().keys() - LARGE))
def test_so_do_shipped_scenarios(name: str, tmp_path: Path) -> None:
    scenario = load_scenario(find_scenario(name))
    times_us = [scenario.duration_us * percent // 100 for percent in (37, 71)]
    assert_each_snapshot_leads_to_the_same_end(scenario, times_us, tmp_path)


@pytest.mark.parametrize("mode", MODES)
def test_checkpoint_files_are_those_of_the_snapshot(mode: str, tmp_path: Path) -> None:
    """Those that were written later are lost with the rest of the interrupted run."""
    scenario = in_mode(mode, checkpoint_files=True, **SHORT)
    times_us = [2 * SECOND, 6 * SECOND]
    run = assert_each_snapshot_leads_to_the_same_end(scenario, times_us, tmp_path)
    checkpoints = files_of(run.path / LOG_DIRECTORIES)
    assert checkpoints
    for time_us in times_us:
        assert files_of(tmp_path / f"from-{time_us}" / LOG_DIRECTORIES) == checkpoints


def test_a_run_is_resumed_as_often_as_it_is_interrupted(tmp_path: Path) -> None:
    """The trace has a file from each beginning, and snapshots of a resumed run are whole, too.

    Faults of rates are those that were drawn at first.
    """
    rates = [{"kind": "crash", "brokers": [1, 4], "mtbf": "3s", "repair_time": "1s"}]
    scenario = in_mode("kraft", fault_rates=rates, **SHORT)
    undisturbed = simulate(scenario, tmp_path / "run", snapshots_us=[2 * SECOND, 6 * SECOND])
    folder = interrupted(undisturbed, 2 * SECOND, tmp_path / "again")
    first = resume(folder)
    again = resume(interrupted(RunFolder(first.path), 6 * SECOND, tmp_path / "and-again"))
    assert [file.name for file in trace_files(again.path)] == [
        "from-2000000us-group-0.msgpack",
        "from-6000000us-group-0.msgpack",
        "group-0.msgpack",
    ]
    assert figures_of_meaning(again) == figures_of_meaning(undisturbed)
    assert RunComparison(undisturbed, RunFolder(again.path)).first is None


def test_snapshots_change_nothing(tmp_path: Path) -> None:
    """A run with a snapshot each second has the hash and the figures of one without."""
    scenario = in_mode("zookeeper", **SHORT)
    without = simulate(scenario, tmp_path / "without")
    times_us = list(range(SECOND, 10 * SECOND, SECOND))
    with_snapshots = simulate(scenario, tmp_path / "with", snapshots_us=times_us)
    assert figures_of_meaning(with_snapshots) == figures_of_meaning(without)
    assert with_snapshots.manifest["snapshots_us"] == times_us
    assert snapshot_times_us(tmp_path / "with") == times_us


def test_a_run_whose_metrics_were_observed_is_resumed_without_them(tmp_path: Path) -> None:
    """Times of requests are measured only if somebody asks for them; they change nothing."""
    scenario = in_mode("kraft", **SHORT)
    taken: list[Snapshot] = []
    observed = simulate(
        scenario,
        tmp_path / "run",
        scrapes=Scrapes(SECOND, taken.append),
        snapshots_us=[6 * SECOND],
    )
    assert len(taken) == 10
    resumed = resume(interrupted(observed, 6 * SECOND, tmp_path / "again"))
    assert figures_of_meaning(resumed) == figures_of_meaning(observed)


# What cannot be resumed.


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run with a snapshot, which tests only read."""
    folder = tmp_path_factory.mktemp("complete") / "run"
    return simulate(in_mode("zookeeper", **SHORT), folder, snapshots_us=[2 * SECOND, 6 * SECOND])


@pytest.fixture
def stopped(complete: RunFolder, tmp_path: Path) -> Path:
    """It was stopped behind its last snapshot."""
    return interrupted(complete, 6 * SECOND, tmp_path / "run")


def refused(folder: Path) -> str:
    """The one line about a run that cannot be resumed, without its folder; nothing has changed."""
    before = files_of(folder)
    with pytest.raises(SnapshotError) as error:
        resume(folder)
    assert files_of(folder) == before
    (line,) = str(error.value).splitlines()
    return line.removeprefix(f"{folder}/")


NAME = "snapshots/000006.000000s.snapshot"
OTHERWISE = "delete it to use an earlier one"


def test_a_damaged_or_truncated_snapshot_is_refused_and_an_earlier_one_can_be_used(
    stopped: Path, complete: RunFolder
) -> None:
    file = snapshot_file(stopped, 6 * SECOND)
    content = file.read_bytes()
    broken = [
        content[:1000] + bytes([content[1000] ^ 1]) + content[1001:],
        content[: len(content) // 2],
        b"",
    ]
    for each in broken:
        file.write_bytes(each)
        assert refused(stopped) == f"{NAME}: is damaged or incomplete; {OTHERWISE}"
    file.unlink()
    assert figures_of_meaning(resume(stopped)) == figures_of_meaning(complete)


def test_the_snapshot_of_another_run_is_refused(stopped: Path, tmp_path: Path) -> None:
    """The same scenario with another seed."""
    other = in_mode("zookeeper", seed=2, **SHORT)
    simulate(other, tmp_path / "other", snapshots_us=[6 * SECOND])
    snapshot_file(tmp_path / "other", 6 * SECOND).replace(snapshot_file(stopped, 6 * SECOND))
    assert refused(stopped) == f"{NAME}: is of another run than {stopped / MANIFEST}; {OTHERWISE}"


def test_a_snapshot_under_the_name_of_another_time_is_refused(stopped: Path) -> None:
    snapshot_file(stopped, 2 * SECOND).replace(snapshot_file(stopped, 6 * SECOND))
    assert refused(stopped) == f"{NAME}: is of 2s; {OTHERWISE}"


def test_snapshots_of_another_release_or_machine_are_refused(stopped: Path) -> None:
    """With other rules the run would have another end, and tables lie as in memory."""
    file = snapshot_file(stopped, 6 * SECOND)
    rewritten(file, lambda saved: saved.update(tidegauge="0.0.1"))
    assert refused(stopped).startswith(f"{NAME}: is of Tidegauge 0.0.1 (")
    rewritten(file, lambda saved: saved.update(tidegauge="9.0", sources="f00d" * 16))
    assert refused(stopped).endswith(": only the same release can continue a run")
    rewritten(file, lambda saved: saved.update(architecture="s390x, big-endian"))
    assert refused(stopped).startswith(f"{NAME}: is of a machine with s390x, big-endian; this one ")
    rewritten(file, lambda saved: saved.update(format="tidegauge-run"))
    assert refused(stopped) == f"{NAME}: is not a snapshot of Tidegauge"


def test_tables_of_another_layout_are_refused(stopped: Path) -> None:
    """Tables of a group of processes, and those of checks and figures."""
    file = snapshot_file(stopped, 6 * SECOND)

    def widen(saved: dict[str, Any]) -> None:
        saved["groups"][0]["tables"]["replicas"]["row_bytes"] += 8

    def leave_out(saved: dict[str, Any]) -> None:
        del saved["groups"][0]["tables"]["replicas"]

    def spoil(saved: dict[str, Any]) -> None:
        saved["stream"]["history"]["terms"]["content"] = b"no frame of zstd"

    whole = file.read_bytes()
    for change, told in (
        (widen, "a row of replicas has "),
        (leave_out, "tables differ: replicas"),
        (spoil, "terms cannot be decompressed"),
    ):
        file.write_bytes(whole)
        rewritten(file, change)
        line = refused(stopped)
        assert line.startswith(f"{NAME}: {told}")
        assert line.endswith(OTHERWISE)


def test_a_trace_that_ends_before_the_snapshot_is_refused(stopped: Path) -> None:
    """A machine that loses power may lose what its files had last."""
    (file,) = trace_files(stopped)
    file.write_bytes(file.read_bytes()[:1000])
    told = f"{NAME}: {file}: has 1,000 bytes, and had "
    assert refused(stopped).startswith(told)


def test_a_run_that_has_ended_or_has_no_snapshot_is_not_resumed(
    complete: RunFolder, stopped: Path
) -> None:
    with pytest.raises(ResumeError, match=r"/run: is complete: there is nothing to resume$"):
        resume(complete.path)
    assert not (complete.path / RUN_LOCK).exists()
    for time_us in snapshot_times_us(stopped):
        snapshot_file(stopped, time_us).unlink()
    with pytest.raises(ResumeError, match=r"has no snapshot to resume from: .* --snapshot-every$"):
        resume(stopped)


def test_a_run_has_one_writer(stopped: Path) -> None:
    """Neither a run that is being written nor one that is being resumed can be resumed."""
    with only_writer(stopped), pytest.raises(RunError) as error:
        resume(stopped)
    assert str(error.value) == f"{stopped}: another run or resume is writing to it"
    resume(stopped)
    assert not (stopped / RUN_LOCK).exists()
    assert (stopped / SUMMARY).exists()


def test_a_run_holds_the_lock_until_its_end(tmp_path: Path) -> None:
    told = []

    def try_to_resume(_: object) -> None:
        with pytest.raises(RunError) as error:
            resume(tmp_path / "run")
        told.append(str(error.value))

    simulate(
        in_mode("zookeeper", **SHORT),
        tmp_path / "run",
        progress=try_to_resume,
        snapshots_us=[SECOND],
    )
    assert set(told) == {f"{tmp_path / 'run'}: another run or resume is writing to it"}


def test_held_messages_are_in_snapshots(tmp_path: Path) -> None:
    """A message that a pin holds as the snapshot is taken is released in the resumed run."""
    pins = [
        {
            "name": "late",
            "hold": "RAFT_FETCH_RESPONSE",
            "to": "broker:2",
            "after": "4s",
            "for": "3s",
        },
        {"duplicate": "PRODUCE", "nth": 5, "after": "2s", "count": "all", "for": "2s"},
    ]
    parts: dict[str, Any] = {**SHORT, "faults": [], "pins": pins}
    scenario = in_mode("kraft", **parts)
    run = assert_each_snapshot_leads_to_the_same_end(
        scenario, [3 * SECOND, 5 * SECOND], tmp_path, groups_of(scenario, 3)
    )
    (released,) = (row for row in run.rows("message_released") if row["pin"] == 0)
    assert released["held_us"] == 3 * SECOND
