"""A failing scenario gets smaller while it fails the same way (``tidegauge shrink``)."""

from __future__ import annotations

import json
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate_plan
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.search import reduced_scenarios as reduced
from tidegauge.search import trials
from tidegauge.search.failures import failure_of, figure_reached
from tidegauge.search.judged_runs import judged
from tidegauge.search.shrinking import MOST_TRIALS, Shrinking, Shrunk, shrink_scenario
from tidegauge.search.trials import run_of

#: Before KIP-101 a follower truncates to its own high watermark, and records are lost.
LOSES = "10-truncation-to-high-watermark"

#: Broker 4 has no replica of ``story``.
SUPERFLUOUS_FAULTS: list[dict[str, Any]] = [
    {"kind": "pause", "at": "3s", "for": "500ms", "brokers": [4]},
    {"kind": "slow_disk", "at": "4s", "for": "2s", "brokers": [4], "delay": "2ms"},
    {"kind": "slow_disk", "name": "spare-disk", "at": "4s", "for": "1s", "brokers": [4],
     "delay": "1ms"},
    {"kind": "pause", "at": "21s", "for": "1s", "brokers": [4]},
    {"kind": "crash", "at": "22s", "brokers": [4]},
]  # fmt: skip
SUPERFLUOUS_STEPS: list[dict[str, Any]] = [
    {"after": "10ms", "do": "wait"},
    {"after": "0s", "do": "produce", "topic": "other", "partition": 0, "records": 7},
    {"after": "0s", "do": "fetch", "topic": "other", "partition": 0, "offset": 0},
    {"after": "0s", "do": "produce", "topic": "other", "partition": 1, "records": 3},
    {"after": "10ms", "do": "wait"},
]


@cache
def shipped(name: str) -> dict[str, Any]:
    """A shipped scenario as its file has it."""
    data = read_scenario_file(find_scenario(name)).data
    assert isinstance(data, dict)
    return {"name": name, **data}


def with_ten_more(data: dict[str, Any]) -> dict[str, Any]:
    """The scenario with ten faults and steps that nothing needs, and a topic for them."""
    first, *others = data["steps"]
    other = {"name": "other", "assignment": {0: [4, 3], 1: [3, 4]}}
    return {
        **data,
        "topics": [*data["topics"], other],
        "faults": [*SUPERFLUOUS_FAULTS, *data["faults"]],
        "steps": [first, *SUPERFLUOUS_STEPS, *others],
    }


@cache
def shrunk() -> Shrunk:
    """The scenario with ten more, made small again."""
    return shrink(with_ten_more(shipped(LOSES)))


def shrink(written: dict[str, Any], most: int = MOST_TRIALS) -> Shrunk:
    """The scenario made small while consumers lose what they have read."""
    of_check = partial(failure_of, check="exposed_durable", source="it")
    return shrink_scenario(written, of_check, source="it", most=most)


def test_ten_superfluous_faults_and_steps_are_left_out_again() -> None:
    own, found = shipped(LOSES), shrunk()
    assert found.before.faults == len(own["faults"]) + len(SUPERFLUOUS_FAULTS)
    assert found.after.faults <= len(own["faults"])
    assert found.after.steps <= len(own["steps"])
    assert [topic["name"] for topic in found.written["topics"]] == ["story"]
    assert found.after.brokers < found.before.brokers
    assert found.after.records < found.before.records
    assert found.after.duration_us < found.before.duration_us


def test_what_is_left_fails_as_before_and_needs_each_fault() -> None:
    """KIP-101: without the crash of either broker nothing that consumers have read is lost."""
    written = shrunk().written
    assert shrunk().failure.happens_in(run_of(written, "it"))
    for place in range(len(written["faults"])):
        less = reduced.without(written, ("faults",), [place])
        assert not run_of(less, "it").verdicts()["exposed_durable"]["broken"]


def test_a_scenario_is_shrunk_in_one_way() -> None:
    found = [shrink(with_ten_more(shipped(LOSES)), most=60) for _ in range(2)]
    assert found[0].written == found[1].written
    assert found[0].tried == found[1].tried == 60


def test_trials_at_the_same_time_take_the_first_in_order() -> None:
    """The number of parallel trials changes neither the outcome nor the count."""
    whole = {"faults": [{"at": f"{place}s"} for place in range(20)], "cluster": {"brokers": 1}}

    def needs_two(candidates: Any) -> int | None:
        needed = [{"at": "3s"}, {"at": "17s"}]
        return next(
            (place for place, each in enumerate(candidates)
             if all(fault in each.get("faults", ()) for fault in needed)),
            None,
        )  # fmt: skip

    found = []
    for at_once in (1, 5):
        shrinking = Shrinking(whole, needs_two, at_once=at_once)
        shrinking.shorten_all()
        found.append((shrinking.written, shrinking.tried))
    assert found[0] == found[1]
    assert found[0][0]["faults"] == [{"at": "3s"}, {"at": "17s"}]


@pytest.mark.long
@pytest.mark.usefixtures("ray_here")
def test_actors_shrink_a_scenario_as_one_process_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "LONG_S", 0.0)
    of_check = partial(failure_of, check="exposed_durable", source="it")
    found = shrink_scenario(with_ten_more(shipped(LOSES)), of_check, source="it", jobs=2)
    assert (found.written, found.tried) == (shrunk().written, shrunk().tried)


def test_an_interruption_keeps_the_smallest_scenario_so_far() -> None:
    def interrupt(_written: object, tried: int) -> None:
        if tried == 20:
            raise KeyboardInterrupt

    of_check = partial(failure_of, check="exposed_durable", source="it")
    found = shrink_scenario(shipped(LOSES), of_check, source="it", tell=interrupt)
    assert found.was_interrupted
    assert found.tried == 20
    assert found.after.deviations < found.before.deviations
    assert found.failure.happens_in(found.run)


def test_a_judged_run_has_the_verdicts_and_figures_of_a_recorded_one(tmp_path: Path) -> None:
    written = {**shipped(LOSES), "liveness": True}
    plan = ClusterPlan(scenario_from_mapping(written, "it"))
    summary = simulate_plan(plan, tmp_path / "run", inline()).summary
    assert summary is not None
    said = judged(plan).summary()
    for name in ("trace_sha256", "checks", "liveness", "records_acknowledged_lost"):
        assert said[name] == summary[name]


def test_a_run_that_fails_nothing_is_an_error() -> None:
    run = run_of(shipped(LOSES), "it")
    with pytest.raises(TidegaugeError, match=r"expects to break strong_isr, .*--check"):
        failure_of(run, None, "it")
    with pytest.raises(TidegaugeError, match="it: one_leader_per_epoch is not broken"):
        failure_of(run, "one_leader_per_epoch", "it")
    with pytest.raises(TidegaugeError, match="records_acknowledged_lost of it is 2"):
        figure_reached("records_acknowledged_lost>2", run, "it")
    with pytest.raises(TidegaugeError, match="unknown figure; did you mean leader_elections"):
        figure_reached("leader_election>2", run, "it")


def test_an_earlier_break_of_another_check_is_another_failure() -> None:
    """Exposed records are gone with an unclean election, and differ once others are written."""
    run = run_of(shipped("17-unclean-election"), "it")
    later = failure_of(run, "committed_agree", "it")
    assert later.before == {"strong_isr", "exposed_durable"}
    assert later.is_permitted
    assert later.happens_in(run)
    assert not later._replace(before=frozenset()).happens_in(run)


def test_a_fault_that_is_left_out_leaves_its_steps_waiting() -> None:
    written = reduced.without(shipped(LOSES), ("faults",), [1])
    steps = [step["do"] for step in written["steps"]]
    assert "death-of-B" not in str(written["steps"])
    assert steps.count("wait") == 2
    assert len(steps) == len(shipped(LOSES)["steps"])


def test_pins_move_with_the_faults_and_are_left_out_with_their_releases() -> None:
    written = {
        "duration": "60s",
        "pins": [{"name": "late", "hold": "LEADER_AND_ISR", "after": "40s", "until": "50s"}],
        "steps": [{"after": "45s", "do": "release", "pin": "late"}],
    }
    sooner = reduced.earlier(written, 40_000_000, 30_000_000)
    (pin,) = sooner["pins"]
    assert (sooner["duration"], pin["after"], pin["until"]) == ("30s", "10s", "20s")
    assert sooner["steps"] == written["steps"]
    assert reduced.without(written, ("pins",), [0]) == {
        "duration": "60s",
        "pins": [],
        "steps": [{"after": "45s", "do": "wait"}],
    }
    assert reduced.ended_at(written, 40_000_000)["pins"] == []


def test_a_broker_is_left_out_with_its_replicas_and_faults() -> None:
    written = {
        "cluster": {"brokers": 3, "racks": {"a": [1, 2], "b": [3]}, "start": {3: "0s"}},
        "topics": [{"name": "story", "assignment": {0: [1, 3]}}],
        "faults": [
            {"kind": "crash", "name": "one", "brokers": [3], "at": "1s"},
            {"kind": "cut_link", "between": [["broker:3", 1], [2]], "at": "1s"},
        ],
        "steps": [{"after": "1s", "do": "begin_fault", "fault": "one"}],
    }
    assert reduced.without_brokers(written, [3]) == {
        "cluster": {"brokers": 2, "racks": {"a": [1, 2]}, "start": {}},
        "topics": [{"name": "story", "assignment": {0: [1]}}],
        "faults": [{"kind": "cut_link", "between": [[1], [2]], "at": "1s"}],
        "steps": [{"after": "1s", "do": "wait"}],
    }


def test_what_is_later_than_a_moment_moves_together() -> None:
    written = {
        "duration": "60s",
        "cluster": {"brokers": 1},
        "faults": [{"at": "10s", "for": "5s"}, {"at": "40s"}],
    }
    assert reduced.earlier(written, 40_000_000, 25_000_000) == {
        "duration": "35s",
        "cluster": {"brokers": 1},
        "faults": [{"at": "10s", "for": "5s"}, {"at": "15s"}],
    }
    assert [*reduced.rounder(12_437_000)] == [10_000_000, 12_000_000, 12_400_000, 12_430_000]


def test_the_command_writes_the_scenario_and_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["shrink", LOSES, "--check", "strong_isr", "--max-runs", "60", "--json"]
    command += ["--out", "small.yaml"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    said = json.loads(result.stdout)
    assert said["failure"] == "strong_isr"
    assert said["after"]["deviations"] < said["before"]["deviations"]
    assert said["command"] == "tidegauge run small.yaml"
    summary = json.loads((tmp_path / "small" / "summary.json").read_text())
    assert not summary["checks"]["strong_isr"]["as_expected"]
    assert "small.yaml" in (tmp_path / "small.yaml").read_text()


def test_a_failing_run_is_shrunk_on_one_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failing = CliRunner().invoke(app, ["run", LOSES, "--set", "checks={}", "--out", "failing"])
    assert failing.exit_code == 1
    result = CliRunner().invoke(app, ["shrink", "failing", "--max-runs", "60"])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0].startswith("strong_isr is broken: every member of the ISR")
    assert any("60 runs tried" in line for line in lines)
    assert any("*** strong_isr is broken" in line for line in lines)
    assert lines[-1] == "Again: tidegauge run runs/failing-shrunk.yaml"
    assert (tmp_path / "runs" / "failing-shrunk" / "summary.json").exists()
    again = CliRunner().invoke(app, ["run", "runs/failing-shrunk.yaml"])
    assert "Not as expected, with seed 1: strong_isr" in again.output


def test_faults_that_rates_draw_are_shrunk_one_by_one() -> None:
    """The seed draws some crashes of broker 1; one election needs one of them."""
    written = {
        "release": "2.6",
        "duration": "10m",
        "cluster": {"brokers": 3},
        "topics": [{"name": "story", "assignment": {0: [1, 2, 3]}}],
        "fault_rates": [
            {"kind": "crash", "brokers": [1], "mtbf": "60s", "repair_time": "20s"},
            {"kind": "pause", "brokers": [3], "mtbf": "60s", "repair_time": "5s"},
        ],
    }
    found = shrink_scenario(
        written, partial(figure_reached, "leader_elections>1", source="it"), source="it"
    )
    assert found.before.faults > 4
    assert [fault["kind"] for fault in found.written["faults"]] == ["crash"]
    assert "fault_rates" not in found.written
