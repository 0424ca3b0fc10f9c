"""Questions about many runs: distributions over seeds, curves over settings, rare events.

The figures of the runs are written by hand, and so are the expected answers.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.testing import CliRunner

from scenario_runs import run_of, shipped
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.analysis.tables.result_table import Column
from tidegauge.command_line import app
from tidegauge.traces.run_files import SUMMARY, read_summary
from tidegauge.traces.run_folder import write_json_atomically
from tidegauge.views.answers_view import text_of
from written_rows import S, WrittenRows
from written_tables import WrittenTables, answer, with_a_scenario

Row = dict[str, Any]

LAG = "replica.lag.time.max.ms"
ACKS = "min.insync.replicas"


#: The figures of a run, all 0.
COUNTS = {column.name: 0 for column in TABLES["run_figures"].columns if column.name != "run"}


class Told(NamedTuple):
    """A run, by its settings and its seed, and some of its figures."""

    settings: Mapping[str, object]
    seed: int
    figures: Mapping[str, float]
    #: The breaches of a check.
    broken: int = 0
    #: The longest time that a partition was offline, in seconds.
    offline_s: int = 0
    #: Whether it came to its end.
    is_over: bool = True


def name_of(run: Told) -> str:
    """The folder of a run."""
    return "-".join([*map(str, run.settings.values()), str(run.seed)])


def tables_of(folder: Path, runs: Iterable[Told]) -> WrittenTables:
    figures, outages = [], []
    for run in runs:
        path = WrittenRows().run(folder / "runs" / name_of(run))
        with_a_scenario(path, run.settings, run.seed)
        if run.is_over:
            check = {"verdict": run.broken == 0, "broken": run.broken}
            summary = {"trace_sha256": "", "checks": {"log_matching": check}}
            write_json_atomically(path / SUMMARY, summary)
        else:
            (path / SUMMARY).unlink()
        # An hour after start-up.
        times = {"figures_from_seconds": 100.0, "virtual_seconds": 3700.0}
        figures.append({**COUNTS, **times, "run": path.name, **run.figures})
        if run.offline_s:
            outage = {"run": path.name, "condition": "offline", "partition": 0, "begin_us": 0}
            outages.append(outage | {"lasted_us": run.offline_s * S})
    tables = {"run_figures": figures, "unavailable": outages}
    return WrittenTables(str(folder / "runs" / "*"), folder, tables)


def answered(question: str, tables: RunTables, **wanted: object) -> list[Row]:
    return [row for row in answer(question, tables) if wanted.items() <= row.items()]


@pytest.fixture
def of_seeds(tmp_path: Path) -> Callable[..., WrittenTables]:
    """The tables of runs of one setting that have this many ISR shrinks, seed by seed."""

    def tables(shrinks: Iterable[int]) -> WrittenTables:
        runs = (Told({}, seed, {"isr_shrinks": each}) for seed, each in enumerate(shrinks, 1))
        return tables_of(tmp_path, runs)

    return tables


def test_a_hundred_seeds_have_all_percentiles(of_seeds: Callable[..., WrittenTables]) -> None:
    """They have 0, 0, 2, 3 ... 99 shrinks, in a shuffled order: 37 has no factor with 100."""
    shrinks = [37 * place % 100 for place in range(100)]
    (row,) = answered(
        "over-seeds",
        of_seeds(0 if each == 1 else each for each in shrinks),
        figure="isr_shrinks_per_hour",
    )
    percentiles = [row[name] for name in ("p1", "p5", "p25", "p50", "p75", "p95", "p99")]
    assert percentiles == [0, 4, 24, 49, 74, 94, 98]
    assert (row["seeds"], row["smallest"], row["largest"]) == (100, 0, 99)
    assert (row["above_zero"], row["share"]) == (98, 0.98)
    # The exact interval of 2 of 100 is 0.24 to 7.04 %.
    assert (row["share_low"], row["share_high"]) == pytest.approx((0.9296, 0.9976), abs=1e-4)


def test_a_percentile_that_would_be_the_largest_run_is_left_out(
    of_seeds: Callable[..., WrittenTables],
) -> None:
    tables = of_seeds([5, 1, 3])
    (row,) = answered("over-seeds", tables, figure="isr_shrinks_per_hour")
    assert (row["smallest"], row["p50"], row["largest"]) == (1, 3, 5)
    assert {row[name] for name in ("p1", "p5", "p25", "p75", "p95", "p99")} == {None}
    (none,) = answered("over-seeds", tables, figure="unclean_elections")
    # Of no seed in three the bound is 1 - 0.05 ** (1 / 3).
    assert (none["share"], none["share_low"]) == (0, 0)
    assert none["share_high"] == pytest.approx(0.6316, abs=1e-4)


#: Shrinks fall by 10 with the longer lag time, and each seed has a level of its own; with two
#: replicas in sync there are two more.
GRID = [
    Told({LAG: lag_ms, ACKS: acks}, seed, {"isr_shrinks": 100 * seed + 2 * acks - fall})
    for lag_ms, falls in ((9_000, (0, 0, 0)), (10_000, (9, 10, 11)))
    for seed, fall in enumerate(falls, 1)
    for acks in (1, 2)
]


def test_a_curve_has_the_mean_of_seeds_and_the_change_within_them(tmp_path: Path) -> None:
    tables = tables_of(tmp_path, GRID)
    low, high = answered("curves", tables, figure="isr_shrinks_per_hour", setting=LAG)
    assert [(row["value"], row["number"]) for row in (low, high)] == [
        ("9000", 9_000),
        ("10000", 10_000),
    ]
    assert (low["mean"], low["seeds"], low["runs"]) == (203, 3, 6)
    assert (low["pairs"], low["change"], low["change_low"]) == (0, None, None)
    # The means of seeds are 103, 203 and 303; t of two degrees of freedom is 4.303.
    assert low["high"] == pytest.approx(203 + 4.30265 * 100 / 3**0.5, rel=1e-5)
    assert low["low"] == 0
    assert (high["mean"], high["pairs"], high["change"]) == (193, 6, -10)
    # The changes of seeds are -9, -10 and -11.
    half = 4.30265 * 1 / 3**0.5
    bounds = (high["change_low"], high["change_high"])
    assert bounds == pytest.approx((-10 - half, -10 + half), rel=1e-5)


def test_each_varied_setting_has_a_curve_of_its_own(tmp_path: Path) -> None:
    """The other one is the same in each pair: so the change is 2 exactly."""
    tables = tables_of(tmp_path, GRID)
    one, two = answered("curves", tables, figure="isr_shrinks_per_hour", setting=ACKS)
    assert (one["value"], two["value"], two["mean"] - one["mean"]) == ("1", "2", 2)
    assert (two["change"], two["change_low"], two["change_high"]) == (2, 2, 2)


def test_a_value_without_the_seeds_of_the_one_before_has_no_change(tmp_path: Path) -> None:
    runs = [Told({LAG: lag}, seed, {"isr_shrinks": 1}) for lag, seed in ((9_000, 1), (10_000, 2))]
    _, other = answered("curves", tables_of(tmp_path, runs), figure="isr_shrinks_per_hour")
    assert (other["pairs"], other["change"], other["change_low"]) == (0, None, None)


def test_runs_of_one_setting_have_no_curve(of_seeds: Callable[..., WrittenTables]) -> None:
    assert answer("curves", of_seeds([1, 2])) == []


def rare(tables: RunTables) -> dict[str, list[Row]]:
    """The rows of each event that any run shows."""
    found: dict[str, list[Row]] = {}
    for row in answer("rare-events", tables):
        if row["runs"]:
            found.setdefault(row["event"], []).append(row)
    return found


def test_runs_with_rare_events_are_named_and_common_events_are_not(tmp_path: Path) -> None:
    """Of 200 runs two may show a rare event, and three may not."""
    runs = [Told({}, seed, {}) for seed in range(1, 201)]
    runs[6] = runs[6]._replace(figures={"records_acknowledged_lost": 40})
    runs[8] = runs[8]._replace(figures={"records_acknowledged_lost": 50}, offline_s=61)
    runs[9] = runs[9]._replace(offline_s=10)
    runs[10] = runs[10]._replace(offline_s=20, broken=3)
    runs[11] = runs[11]._replace(is_over=False)
    for place in (1, 2, 3):
        runs[place] = runs[place]._replace(figures={"unclean_elections": 1})
    tables = tables_of(tmp_path, runs)
    found = rare(tables)
    shown = {
        event: [(row["seed"], row["amount"], row["of"]) for row in rows]
        for event, rows in found.items()
    }
    assert shown == {
        "acknowledged records lost": [(9, 50, 200), (7, 40, 200)],
        "a partition offline for over 1 minute": [(9, 61, 200)],
        "a run without an end": [(12, 1, 200)],
        # That of the run without an end is unknown.
        "breaches of log_matching": [(11, 3, 199)],
    }
    first, _ = found["acknowledged records lost"]
    # The exact interval of 2 of 200.
    assert (first["rate"], first["run"]) == (0.01, "9")
    assert (first["rate_low"], first["rate_high"]) == pytest.approx((0.00121, 0.03566), abs=1e-5)
    assert first["unit"] == "records"
    last = answer("rare-events", tables)[-1]
    assert (last["runs"], last["run"], last["command"], last["rate_low"]) == (0, None, None, 0)
    # The rule of three.
    assert last["rate_high"] == pytest.approx(3 / 200, rel=0.01)


def test_an_event_is_rare_among_the_runs_of_its_setting(tmp_path: Path) -> None:
    """All runs of one setting have unclean elections, and one of the other."""
    runs = [
        Told({LAG: lag}, seed, {"unclean_elections": int(lag == 9_000 or seed == 3)})
        for lag in (9_000, 10_000)
        for seed in (1, 2, 3, 4)
    ]
    ((row,),) = rare(tables_of(tmp_path, runs)).values()
    assert (row["setting"], row["seed"], row["of"]) == (f"{LAG}=10000", 3, 4)


def test_the_command_of_a_rare_run_repeats_it(tmp_path: Path) -> None:
    figures = []
    for seed in (1, 2):
        changes: dict[str, object] = {"duration": "5s", "faults": [], "seed": seed}
        run = run_of(shipped("isolated-leader", changes), tmp_path / "runs" / f"seed-{seed}")
        figures.append(COUNTS | {"run": run.path.name})
    figures[1]["records_acknowledged_lost"] = 7
    tables = WrittenTables(str(tmp_path / "runs" / "*"), tmp_path, {"run_figures": figures})
    ((row,),) = rare(tables).values()
    words = [*shlex.split(row["command"])[1:], "--out", str(tmp_path / "again")]
    assert CliRunner().invoke(app, words).exit_code == 0
    hashes = [
        (read_summary(folder) or {})["trace_sha256"]
        for folder in (tmp_path / "again", tmp_path / "runs" / "seed-2")
    ]
    assert hashes[0] == hashes[1]


def test_a_rate_of_one_in_ten_thousand_is_no_zero_for_people() -> None:
    rate = Column("rate_high", "double", "", "")
    assert [text_of(rate, each) for each in (0, 0.00029953, 0.001, 0.445)] == [
        *("0", "0.0003", "0.001", "0.445")
    ]
