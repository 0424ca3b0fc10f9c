"""``sometimes``: expectations that at least one seed of a sweep has to meet."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from small_clusters import cluster_of, producers_of
from tidegauge.command_line import app
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.process_pool import Ended
from tidegauge.engine.simulate import simulate_plan
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.sweeps import many_runs
from tidegauge.traces.run_files import SWEEP

#: Broker 1 leads ``story`` and is killed; broker 2 or 3 leads from then on.
CRASH = {"kind": "crash", "name": "crash", "brokers": [1], "at": "2500ms"}


def met(tmp_path: Path, *expected: dict[str, Any], **parts: Any) -> list[bool]:
    """Whether a run meets each of its expectations."""
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 1000},
        zookeeper={"tick_ms": 200},
        sometimes=list(expected),
        workload={"producers": [producers_of(10, "2s", "4s")]},
        faults=[CRASH],
        **parts,
    )
    summary = simulate_plan(ClusterPlan(scenario), tmp_path / "run", inline()).summary
    assert summary is not None
    return [each["is_met"] for each in summary["sometimes"]]


def test_a_run_notes_the_verdicts_figures_and_events_that_it_has(tmp_path: Path) -> None:
    assert met(
        tmp_path,
        {"check": "strong_isr", "verdict": True},
        {"check": "strong_isr"},
        {"figure": "leader_elections"},
        {"figure": "unclean_elections", "at_least": 1},
        {"event": "leader_elected", "partition": "story-0"},
        {"event": "session_expired"},
        {"event": "truncated", "partition": "story-0"},
    ) == [True, False, True, False, True, True, False]


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ({}, "must name one thing: a check, a figure or an event"),
        ({"check": "strong_isr", "event": "truncated"}, "must name one thing"),
        ({"check": "strong_irs"}, "check: unknown check; did you mean strong_isr"),
        ({"figure": "unclean_election"}, "unknown figure; did you mean unclean_elections"),
        ({"event": "truncate"}, "unknown event; did you mean truncated"),
        ({"event": "truncated", "partition": "storey-0"}, "there is no topic storey"),
        ({"event": "truncated", "partition": "story-1"}, "the last partition of story is 0"),
        ({"event": "session_expired", "partition": "story-0"}, "is about no partition"),
        ({"figure": "isr_shrinks", "verdict": True}, "has a meaning only together with `check`"),
    ],
    ids=str,
)
def test_an_expectation_that_nothing_can_meet_is_an_error(
    expected: dict[str, Any], message: str
) -> None:
    with pytest.raises(ScenarioError) as caught:
        cluster_of(sometimes=[expected])
    assert message in str(caught.value)
    assert "sometimes[0]" in str(caught.value)


def test_a_form_of_figures_has_all_its_names() -> None:
    figure = {"figure": "produce_ms.shop.p99", "at_least": 0.5}
    assert str(cluster_of(sometimes=[figure]).sometimes[0]) == (
        "produce_ms.shop.p99 is at least 0.5"
    )


def test_another_release_need_not_break_the_checks() -> None:
    """Its rules are others, and only the file's own are known to break a check with some seed."""
    plain = cluster_of().resolved() | {
        "sometimes": [{"check": "strong_isr"}, {"event": "truncated"}]
    }
    later = scenario_from_mapping(plain, "story", {"release": "2.8", "protocol": "2.8-IV1"})
    assert [str(each) for each in later.sometimes] == ["truncated"]


SCENARIO = """\
release: "2.6"
duration: 8s
liveness: false
cluster: {brokers: 3, settings: {zookeeper.session.timeout.ms: 1000}}
zookeeper: {tick_ms: 200}
topics: [{name: story, assignment: {0: [1, 2, 3]}}]
faults: [{kind: crash, brokers: [2], at: 3s, for: 2s}]
sometimes:
  - {event: became_leader, partition: story-0}
  - {check: exposed_unique}
"""


def in_this_process(
    perform: Callable[[Any], Any], tasks: Sequence[Any], *_hosting: object
) -> Iterator[Ended[Any]]:
    """The calls that a pool makes, one after the other."""
    return (Ended(place, perform(each)) for place, each in enumerate(tasks))


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rare.yaml").write_text(SCENARIO, encoding="utf-8")
    return "rare.yaml"


def test_a_single_run_does_not_fail_without_them(scenario: str) -> None:
    result = CliRunner().invoke(app, ["run", scenario, "--out", "one"])
    assert result.exit_code == 0, result.output
    assert "sometimes became_leader of story-0: seen with this seed" in result.stdout
    assert "sometimes check exposed_unique is false: not seen with this seed" in result.stdout


def test_a_sweep_fails_by_what_no_seed_has(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_runs, "run_on_pool", in_this_process)
    words = ["sweep", scenario, "--seeds", "1..3", "--jobs", "1", "--out", "swept"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 1
    assert "sometimes became_leader of story-0: seen in 3 of 3 seeds" in result.stdout
    assert "never check exposed_unique is false: seen in 0 of 3 seeds" in result.stdout
    (setting,) = json.loads((Path("swept") / SWEEP).read_text())["settings"]
    assert [each["seen"] for each in setting["sometimes"]] == [3, 0]
    other = ["--set", "sometimes=[{event: became_leader}]", "--seeds", "1..2"]
    assert CliRunner().invoke(app, ["sweep", scenario, *other, "--out", "other"]).exit_code == 0
