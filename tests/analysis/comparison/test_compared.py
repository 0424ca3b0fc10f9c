"""Variants side by side: what is better than what, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from both_modes import MODES, in_mode
from tidegauge.analysis.questions.compared_runs import settings_at
from tidegauge.analysis.requests import runs_at
from tidegauge.engine.simulate import simulate
from tidegauge.runs.compared import ComparedFigure, caveat, compared, compared_figure, variants_of
from tidegauge.runs.figures import EXPLANATIONS, FIGURES
from tidegauge.traces.run_folder import RunFolder

SEEDS = (1, 2, 3)
LAST = "leaderless_last_us"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[RunFolder]]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        mode: [simulate(in_mode(mode, seed), folder / f"{mode}-{seed}") for seed in SEEDS]
        for mode in MODES
    }


@pytest.fixture(scope="module")
def found(runs: dict[str, list[RunFolder]]) -> dict[str, ComparedFigure]:
    return {each.name: each for each in compared(runs)}


def of_values(**values: list[int | None]) -> ComparedFigure:
    """A figure of variants with these values, a seed each."""
    rows = {
        name: [{LAST: value, "mode": "kraft"} for value in those] for name, those in values.items()
    }
    return compared_figure(LAST, ["kraft"], rows)


def test_every_figure_that_is_compared_is_one_of_the_table_with_a_label() -> None:
    assert all(FIGURES[name].label for name in EXPLANATIONS)


@pytest.mark.parametrize(
    ("one", "other", "better", "verdict"),
    [
        ([100, 101, 102], [200, 201, 202], "one", "one better"),
        ([200, 201, 202], [100, 101, 102], "other", "other better"),
        ([100, 200, 300], [150, 250, 350], None, "no difference within the bands"),
        ([100, 100, 100], [100, 100, 100], None, "no difference"),
        # A certain difference of half a percent is none.
        ([1000, 1000, 1000], [1005, 1005, 1005], None, "no difference within the bands"),
        # Mostly 0, there is no band: the values of all runs are in its place.
        ([0, 0, 0], [0, 0, 50], None, "no difference within the bands"),
        ([0, 0, 0], [50, 60, 70], "one", "one better"),
        ([100], [200], "one", "one better (one seed)"),
        ([100], [None], None, ""),
    ],
)
def test_a_variant_is_better_if_its_band_is_below_the_other(
    one: list[int | None], other: list[int | None], better: str | None, verdict: str
) -> None:
    figure = of_values(one=one, other=other)
    assert (figure.better, figure.verdict) == (better, verdict)


def test_of_three_variants_the_best_is_below_both_others() -> None:
    clear = of_values(a=[100, 101], b=[300, 301], c=[500, 501])
    assert (clear.better, clear.worse) == ("a", ("b", "c"))
    assert clear.ratio == pytest.approx(500.5 / 100.5)
    tied = of_values(a=[100, 101], b=[100, 102], c=[500, 501])
    assert (tied.better, tied.verdict) == (None, "c worse")


def test_the_modes_differ_as_their_clocks_do(found: dict[str, ComparedFigure]) -> None:
    """The session of 18 s against that of 9 s, and the controller's own death (kraft.md, 4.1)."""
    last = found["leaderless_last_us"].by_variant
    zookeeper, kraft = (last[mode] for mode in MODES)
    assert zookeeper is not None
    assert kraft is not None
    assert 12e6 < zookeeper.smallest <= zookeeper.largest < 20.5e6
    # Fetch timeout and election, then a whole session of 9 s until a check.
    assert 9e6 < kraft.smallest <= kraft.largest < 14e6
    assert found["controller_less_us"].better == "kraft"
    # Where KRaft is not better: a process waits for heartbeats before it goes; up to 3.9 it is
    # registered at once when it is back.
    assert found["exit_longest_us"].better == "zookeeper"
    # Logs are loaded in both modes, which takes most of the time.
    assert found["return_longest_us"].ratio == pytest.approx(1, rel=0.05)
    assert "quick restart" in found["return_longest_us"].exception


def test_what_decides_is_said_of_each_mode(
    found: dict[str, ComparedFigure], runs: dict[str, list[RunFolder]]
) -> None:
    both, explained = found[LAST], EXPLANATIONS[LAST]
    assert both.decides == f"ZooKeeper: {explained.zookeeper} KRaft: {explained.kraft}"
    one, *others = runs["kraft"]
    alike = {each.name: each for each in compared({"one": [one], "others": others})}
    figure = alike["leaderless_last_us"]
    assert (figure.decides, figure.exception, figure.published) == (explained.kraft, "", "")


def test_runs_of_two_modes_are_two_variants(
    runs: dict[str, list[RunFolder]], tmp_path: Path
) -> None:
    every = runs_at([run.path for those in runs.values() for run in those])
    variants = variants_of(every)
    assert variants is not None
    assert list(variants) == ["ZooKeeper", "KRaft"]
    assert sorted(variants["KRaft"]) == [f"kraft-{seed}" for seed in SEEDS]
    assert {each.text for each in settings_at(every).values()} == {f"mode={m}" for m in MODES}
    assert variants_of(every[:1]) is None
    newer = simulate(in_mode("kraft", release="4.1", duration="5s", faults=[]), tmp_path / "newer")
    older = simulate(in_mode("kraft", release="3.3", duration="5s", faults=[]), tmp_path / "older")
    releases = variants_of(runs_at([newer.path, older.path]))
    assert releases == {"3.3.2": ["older"], "4.1.2": ["newer"]}


def test_a_topic_that_one_mode_refuses_is_no_merit_of_that_mode(
    runs: dict[str, list[RunFolder]], tmp_path: Path
) -> None:
    """A request for more than 10,000 records is refused with KRaft (KAFKA-14996)."""
    assert caveat(runs) == ""
    large = {
        mode: [
            simulate(
                in_mode(
                    mode,
                    duration="15s",
                    faults=[],
                    workload={},
                    trace="transitions",
                    topics=[{"name": "orders", "partitions": 10_001, "replication_factor": 1}],
                    steps=[{"do": "create_topic", "topic": "orders", "at": "5s"}],
                ),
                tmp_path / mode,
            )
        ]
        for mode in MODES
    }
    assert caveat(large) == (
        "These are not the same clusters: partitions that existed were 10,001 with zookeeper, "
        "0 with kraft."
    )
