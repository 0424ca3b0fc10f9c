"""The figures of a summary: each equals what a plain reader counts from the trace files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from plain_reader import PlainReader
from small_clusters import cluster_of, producers_of
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.named_figures import FigureNames
from tidegauge.scenario.reading import load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario
from tidegauge.sweeps.many_runs import outcome_of
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import FORMS
from twelve_brokers import twelve_brokers


@pytest.fixture(scope="module")
def rack_power_loss(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return simulate(twelve_brokers(), tmp_path_factory.mktemp("twelve") / "run")


@pytest.fixture(scope="module")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    scenario = load_scenario(find_scenario("quickstart"))
    return simulate(scenario, tmp_path_factory.mktemp("quickstart") / "run")


@pytest.fixture(scope="module")
def quickstart_zookeeper(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    scenario = load_scenario(find_scenario("quickstart-zookeeper"))
    return simulate(scenario, tmp_path_factory.mktemp("quickstart-zookeeper") / "run")


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


@pytest.mark.parametrize("name", ["quickstart", "quickstart_zookeeper", "rack_power_loss"])
def test_a_plain_reader_counts_the_same(name: str, request: pytest.FixtureRequest) -> None:
    run: RunFolder = request.getfixturevalue(name)
    counted = PlainReader(run).counted()
    summary = summary_of(run)
    assert {figure: summary[figure] for figure in counted} == counted


def test_losses_of_topics_are_those_of_their_partitions(rack_power_loss: RunFolder) -> None:
    summary = summary_of(rack_power_loss)
    topics = {topic["name"] for topic in rack_power_loss.manifest["scenario"]["topics"]}
    assert {*summary["records_lost_by_topic"]} == topics
    lost = dict.fromkeys(topics, 0)
    for partition, count in summary["records_lost_by_partition"].items():
        lost[partition.rpartition("-")[0]] += count
    assert summary["records_lost_by_topic"] == lost
    assert sum(lost.values()) == summary["records_acknowledged_lost"] > 0


def test_the_rack_s_story_has_something_of_everything(rack_power_loss: RunFolder) -> None:
    """The twin of the test above: equal figures are not equal because they are all zero."""
    counted = PlainReader(rack_power_loss).counted()
    for nowhere in ("records_acknowledged_unavailable", "records_unsent", "records_failed"):
        assert counted.pop(nowhere) == 0
    assert all(counted.values()), counted
    assert counted["partition_seconds_not_accepting"] > counted["partition_seconds_offline"]


@pytest.mark.parametrize(
    ("name", "control_plane"),
    [
        ("quickstart", {"quorum controller"}),
        ("quickstart_zookeeper", {"controller", "zookeeper"}),
    ],
)
def test_all_loop_time_is_some_process_kind_s_or_the_driver_s(
    name: str, control_plane: set[str], request: pytest.FixtureRequest
) -> None:
    summary = summary_of(request.getfixturevalue(name))
    by_kind = summary["loop_seconds_by_process_kind"]
    assert set(by_kind) == {"broker", "client", "driver", *control_plane}
    assert sum(by_kind.values()) == pytest.approx(summary["loop_seconds"], abs=0.01)
    assert summary["loop_samples"] > 10
    # Here brokers do most of the work.
    assert all(by_kind["broker"] > by_kind[kind] for kind in control_plane)
    assert summary["events_per_second"] == pytest.approx(
        summary["events"] / summary["loop_seconds"], rel=0.01
    )


def test_the_cost_model_s_parameters_that_were_asked_for_are_named(tmp_path: Path) -> None:
    """50 us for a request and 20 us for an append, each time."""
    parts: dict[str, Any] = {
        "workload": {"producers": [producers_of(10, "2s", "3s")]},
        "costs": {"request": "50us", "append": "20us", "zookeeper_write": "3ms"},
    }
    summary = summary_of(simulate(cluster_of(**parts), tmp_path / "run"))
    model = summary["cost_model"]
    appends = model["costs.append"]
    # The leader's and two followers'.
    assert appends["times"] == 30
    assert appends["seconds"] == pytest.approx(30 * 20e-6)
    assert model["costs.request"]["seconds"] == pytest.approx(
        model["costs.request"]["times"] * 50e-6
    )
    # Nobody restarts.
    assert "costs.log_recovery" not in model
    spent = [use["seconds"] for use in model.values()]
    assert spent == sorted(spent, reverse=True)


def test_figures_end_with_the_run_and_not_with_the_liveness_phase(tmp_path: Path) -> None:
    """A broker that is down at the end comes back into the ISR afterwards: that is not counted."""
    fault = {"kind": "crash", "brokers": [3], "at": "3s"}
    settings = {"zookeeper.session.timeout.ms": 1500}
    scenario = cluster_of(settings, faults=[fault], liveness=True, zookeeper={"tick_ms": 500})
    run = simulate(scenario, tmp_path / "run")
    assert summary_of(run)["liveness"]["reached"]
    assert summary_of(run)["isr_expands"] == 0
    (expanded,) = run.rows("isr_expanded")
    assert expanded["time_us"] > 5_000_000


@pytest.mark.parametrize("name", ["quickstart", "quickstart_zookeeper", "rack_power_loss"])
def test_all_numbers_of_a_summary_are_defined_and_all_that_are_defined_are_there(
    name: str, request: pytest.FixtureRequest
) -> None:
    """So what ``--figures`` lists and ``--figure`` takes is what runs have."""
    run: RunFolder = request.getfixturevalue(name)
    scenario = scenario_from_mapping(run.manifest["scenario"], "manifest")
    defined = {*FigureNames(scenario).all_names()}
    outcome = outcome_of(run)
    assert {*outcome.figures} <= defined
    missing = {each for each in defined if outcome.figure(each) is None}
    assert all(".first_event." in each for each in missing), "of a check that holds"


def test_each_figure_has_a_unit_or_is_none_that_needs_one() -> None:
    assert len({form.name for form in FORMS}) == len(FORMS)
    for form in FORMS:
        assert form.meaning, form
        word = form.name.rpartition(".")[2]
        if word in ("p50", "p99", "max"):
            assert form.unit == "ms", form
        elif "seconds" in word and not word.startswith("loop_seconds_"):
            assert form.unit in ("s", "windows"), form
