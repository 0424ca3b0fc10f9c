"""One table of figures: a figure has one value, whatever output of a run shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from both_modes import MODES, in_mode
from tidegauge.api import Result
from tidegauge.engine.simulate import simulate
from tidegauge.replication.release_versions import Mode
from tidegauge.runs.compared import compared
from tidegauge.runs.figures import EXPLANATIONS, FIGURES, figure_named, figures_of
from tidegauge.runs.run import Run
from tidegauge.runs.side_by_side import side_by_side
from tidegauge.scenario.other_mode.converted import converted
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.sweeps.many_runs import outcome_of
from tidegauge.traces.summary_figures import numbers_of

Figures = Mapping[str, float | None]

#: The last release that has both modes.
RELEASE = "3.9.2"
#: Those of the short suite, each in both modes: a crash, a loss of data, producers that wait.
SHORT = ("incidents/broker-crash", "incidents/unclean-election")
#: They have more partitions than a test of every scenario has time for.
LARGE = ("large-cluster",)


def of_summary(run: Run) -> Figures:
    """``summary.json``, ``run`` and ``Result.summary``: the compiled figures."""
    return dict(numbers_of(Result(run.path).summary))


def of_tables(run: Run) -> Figures:
    """``run_figures`` and ``control_plane_figures``, made by DuckDB; Spark's are the same."""
    return Result(run.path).figures


def of_sweep(run: Run) -> Figures:
    return outcome_of(run).figures


def of_comparison(run: Run) -> Figures:
    """``compare`` of variants: the mean of the one seed, and what a report shows of it."""
    return {
        each.name: spread.mean
        for each in compared({"one": [run], "other": [run]})
        for spread in (each.by_variant["one"],)
        if spread is not None
    }


def of_runs_side_by_side(run: Run) -> Figures:
    """``compare`` of two runs."""
    rows = side_by_side([run, run]).figures
    assert all(row.values[0] == row.values[1] for row in rows)
    return {row.figure.name: row.values[0] for row in rows}


OUTPUTS: Mapping[str, Callable[[Run], Figures]] = {
    "summary": of_summary,
    "tables": of_tables,
    "sweep": of_sweep,
    "comparison": of_comparison,
    "runs side by side": of_runs_side_by_side,
}


def scenario_in(mode: str, name: str) -> Scenario:
    """A shipped scenario, in its own mode or converted into the other one."""
    file = shipped_scenarios()[name]
    own = load_scenario(file)
    if own.mode == mode:
        return own
    data: Any = read_scenario_file(file).data
    to: Mode = "kraft" if mode == "kraft" else "zookeeper"
    try:
        return converted(data, name, to, RELEASE).scenario
    except ScenarioError as error:
        pytest.skip(f"it has no counterpart: {error}")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in SHORT else pytest.mark.long)
        for name in shipped_scenarios()
        if name not in LARGE
    ],
)
def test_a_figure_is_equal_in_all_outputs(name: str, mode: str, tmp_path: Path) -> None:
    run = Run(simulate(scenario_in(mode, name), tmp_path / "run").path)
    found = {output: figures(run) for output, figures in OUTPUTS.items()}
    shared = {name for figures in found.values() for name in figures}
    for figure in sorted(shared):
        values = {output: found[output][figure] for output in found if figure in found[output]}
        expected, *others = values.values()
        assert others == [pytest.approx(expected, abs=1e-6)] * len(others), (figure, values)


@pytest.mark.parametrize("cut", [False, True])
def test_a_crash_takes_as_many_replicas_out_of_isrs_in_either_mode(
    cut: bool, tmp_path: Path
) -> None:
    """ZooKeeper's controller drops a dead leader as it elects another, without a row of it."""
    faults = [{"name": "crash", "kind": "crash", "brokers": [1], "at": "20s", "for": "30s"}]
    if cut:
        faults.append(faults[0] | {"name": "again", "brokers": [3], "at": "60s", "for": "20s"})
    removals = [
        figures_of(
            Run(simulate(in_mode(mode, faults=faults, trace="transitions"), tmp_path / mode).path)
        )["isr_removals"]
        for mode in MODES
    ]
    assert removals[0] == removals[1]
    assert removals[0] is not None
    assert removals[0] > 0


def test_each_figure_has_words_a_unit_and_one_name() -> None:
    assert all(each.meaning for each in FIGURES.values())
    assert all(FIGURES[name].name == name for name in FIGURES)
    assert figure_named("produce_ms.shop.p99").unit == "ms"
    assert all(FIGURES[name].label for name in EXPLANATIONS)
    with pytest.raises(KeyError):
        figure_named("elections")
