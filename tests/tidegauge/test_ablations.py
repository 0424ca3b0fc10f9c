"""Each rule of the protocol has a schedule that needs it: without the rule a promise breaks."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from typer.testing import CliRunner

import tidegauge
from ablation_schedules import (
    SCHEDULES,
    ablated,
    replica_reboots_before_it_joins,
    zombie_keeps_fetching,
    zombie_misses_a_term,
    zombie_skips_a_term,
)
from small_clusters import cluster_of
from tidegauge.command_line import app
from tidegauge.engine import group
from tidegauge.engine.invariants.validator import InvariantViolatedError
from tidegauge.engine.simulate import simulate
from tidegauge.replication.ablations import ABLATIONS, SEEDED_BUGS, has_effect, switches_of
from tidegauge.replication.kraft_releases import KRAFT_CELLS
from tidegauge.replication.release_versions import Release
from tidegauge.replication.releases import RULE_CELLS
from tidegauge.scenario.reading import Scenario, ScenarioError
from tidegauge.scenario.warnings import warnings_of
from tidegauge.traces.checks import CHECK_NAMES
from tidegauge.traces.run_folder import RunFolder

#: They follow from others: a record that was exposed was acknowledged, logs stay apart.
CONSEQUENCES = {"acknowledged_records_lost", "consumer_went_backwards", "liveness"}


def fallen(scenario: Scenario) -> set[str]:
    """The checks that a run breaks, be it permitted or not.

    Without a rule of KIP-853 its state is one that cannot be, so it is not validated.
    """
    voters_change = any(ABLATIONS[name].changes_voters for name in scenario.ablations)
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if voters_change:
            patch.setattr(group, "_CHECKED", "0")
        run = simulate(scenario, Path(folder) / "run")
    return {name for name, found in checks_of(run).items() if found["broken"] or found["permitted"]}


def checks_of(run: RunFolder) -> dict[str, dict[str, Any]]:
    assert run.summary is not None
    checks: dict[str, dict[str, Any]] = run.summary["checks"]
    return checks


@cache
def fallen_with_all_rules(schedule: Callable[[], Scenario]) -> set[str]:
    """The same of a schedule as the release plays it."""
    return fallen(schedule())


# The table.


def test_an_ablation_changes_rules_of_its_release() -> None:
    for name, ablation in ABLATIONS.items():
        assert ablation.switches.keys() <= RULE_CELLS.keys() | KRAFT_CELLS.keys()
        assert has_effect(name, ablation.release, None, ablation.mode), name


def test_an_ablation_names_checks() -> None:
    named = {check for ablation in ABLATIONS.values() for check in ablation.breaks}
    assert named <= {*CHECK_NAMES}


def test_seeded_bugs_are_ten_that_break_something() -> None:
    assert len({*SEEDED_BUGS}) == 10
    assert all(ABLATIONS[name].breaks for name in SEEDED_BUGS)


def test_each_ablation_that_breaks_something_has_its_schedule() -> None:
    breaking = {name for name, ablation in ABLATIONS.items() if ablation.breaks}
    assert breaking == SCHEDULES.keys()
    for name, schedule in SCHEDULES.items():
        scenario = schedule()
        assert scenario.mode == ABLATIONS[name].mode
        assert Release.parse(scenario.release) == Release.parse(ABLATIONS[name].release)


# The schedules.


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_rule_keeps_what_breaks_without_it(name: str) -> None:
    """Section by section the model of the protocol: what falls here falls there."""
    broken = fallen(ablated(name, SCHEDULES[name]()))
    expected = {*ABLATIONS[name].breaks}
    assert broken & expected
    assert broken <= expected | CONSEQUENCES
    assert fallen_with_all_rules(SCHEDULES[name]) == set()


@pytest.mark.parametrize(
    ("name", "invariant"),
    [
        ("vote_for_shorter_log", "the_newest_leader_has_what_is_committed"),
        ("diverging_fetch_answered", "logs_agree_below_their_high_watermarks"),
        ("observer_stands", "only_voters_ask_for_votes"),
        ("truncated_voters_stay", "voters_in_force_are_the_newest_of_the_log"),
    ],
)
def test_without_a_rule_of_kip_853_an_invariant_of_its_specification_is_violated(
    name: str, invariant: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(group, "_CHECKED", "1")
    monkeypatch.setattr(group, "_BUDGET", 1)
    with pytest.raises(InvariantViolatedError, match=invariant):
        simulate(ablated(name, SCHEDULES[name]()), tmp_path / "run")


@pytest.mark.parametrize("schedule", [zombie_keeps_fetching, zombie_misses_a_term])
def test_a_fenced_follower_that_stays_in_the_isr_harms_nobody(
    schedule: Callable[[], Scenario],
) -> None:
    """Kip320-unfencedShrink holds everywhere: a larger ISR is as safe."""
    assert fallen(ablated("unfenced_shrink", schedule())) == set()


def test_the_fence_of_fetches_alone_saves_the_log_of_a_follower_that_missed_a_term() -> None:
    """KAFKA-7164 needs both: a follower that is told anew truncates, fenced or not."""
    assert fallen(ablated("unfenced_fetch_and_high_watermark", zombie_skips_a_term())) == set()
    assert fallen(ablated("restart_on_new_leader", zombie_skips_a_term())) == {"liveness"}


def test_what_a_loss_of_power_permits_does_not_happen_with_broker_epochs() -> None:
    """KIP-903: what an empty replica loses as it joins is put down to the loss of power."""
    scenario = ablated("without_broker_epochs", replica_reboots_before_it_joins())
    with TemporaryDirectory() as folder:
        lost = checks_of(simulate(scenario, Path(folder) / "run"))["exposed_durable"]
    assert (lost["broken"], lost["permitted"]) == (0, 1)


# The doors.


def test_a_scenario_names_its_ablations() -> None:
    with pytest.raises(ScenarioError, match=r"ablations\[0\]: unknown ablation no_truncatoin"):
        cluster_of(ablations=["no_truncatoin"])
    with pytest.raises(ScenarioError, match="fenced_replica_in_isr is about KRaft"):
        cluster_of(ablations=["fenced_replica_in_isr"])


def test_an_ablation_of_a_rule_that_no_broker_has_is_warned_of() -> None:
    """KIP-903 is about KRaft, KAFKA-7128 was mended in 2.0.1."""
    without = {
        release: warnings_of(cluster_of(release=release, ablations=[name]))
        for release, name in [
            ("2.6", "without_broker_epochs"),
            ("1.1", "expand_without_epoch_start"),
            ("2.1", "expand_without_epoch_start"),
        ]
    }
    told = {
        release: any("changes nothing" in line for line in lines)
        for release, lines in without.items()
    }
    assert told == {"2.6": True, "1.1": True, "2.1": False}


def test_python_takes_rules_away(tmp_path: Path) -> None:
    result = tidegauge.run(
        zombie_keeps_fetching(), without=["unfenced_fetch"], out=tmp_path / "run"
    )
    assert result.checks["log_matching"] is False
    assert result.manifest["switches"] == switches_of(["unfenced_fetch"])


def test_the_command_takes_rules_away_and_names_them_in_its_repetition(tmp_path: Path) -> None:
    folder = str(tmp_path / "run")
    without = ["--without", "truncate_to_high_watermark,unfenced_fetch"]
    story = ["run", "10-truncation-to-high-watermark", "--set", 'release="2.6"']
    ran = CliRunner().invoke(app, [*story, *without, "--out", folder])
    told = " ".join(ran.output.split())
    assert "2.6.3, ablated: truncate_to_high_watermark, unfenced_fetch, " in told
    assert "--without truncate_to_high_watermark,unfenced_fetch" in told
    assert RunFolder(Path(folder)).manifest["switches"] == switches_of(
        ["truncate_to_high_watermark", "unfenced_fetch"]
    )
    assert "equal: " in CliRunner().invoke(app, ["replay", folder]).output


def test_releases_lists_the_ablations() -> None:
    told = CliRunner().invoke(app, ["releases", "--ablations"]).output
    assert all(name in told for name in ABLATIONS)
    refused = CliRunner().invoke(app, ["releases", "2.6", "--ablations"])
    assert "without a release" in refused.output
