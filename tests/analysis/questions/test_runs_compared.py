"""Questions that compare runs: where two of them part, and what a setting changes."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.over_seeds import over_seeds
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.traces.run_files import SUMMARY
from tidegauge.traces.run_folder import write_json_atomically
from written_rows import S, WrittenRows
from written_tables import WrittenTables, answer, with_a_scenario

Row = dict[str, Any]


def told(name: str, folder: Path, *, lag_ms: int = 9_000, longer: bool = False) -> Path:
    """Two brokers: one shrinks an ISR after some lag, the other goes on as ever, or longer."""
    rows = WrittenRows()
    for second in range(6):
        rows.write("exposed", second * S, 1, partition=1, high_watermark=second)
        rows.write("sampled", second * S, 1, partition=1, log_end_offset=lag_ms)
    rows.write("isr_shrunk", 7 * S, 0, partition=0, isr=1, lag_ms=lag_ms)
    rows.write("isr_expanded", 8 * S, 0, partition=0, isr=33 + lag_ms)
    if longer:
        rows.write("became_leader", 9 * S, 1, partition=1)
    return with_a_scenario(rows.run(folder / name), {})


def divergence(folder: Path, *runs: Path) -> list[Row]:
    return answer("first-divergence", RunTables(runs, folder / "tables"))


def test_runs_with_the_same_rows_do_not_diverge(tmp_path: Path) -> None:
    """Samples may differ: they change nothing."""
    one, other = told("one", tmp_path), told("other", tmp_path)
    assert divergence(tmp_path, one, other) == []


def test_the_first_rows_that_differ_are_told_process_by_process(
    tmp_path: Path,
) -> None:
    one = told("one", tmp_path)
    other = told("other", tmp_path, lag_ms=9_001, longer=True)
    shrink, led = divergence(tmp_path, one, other)
    assert (shrink["time_us"], shrink["process"], shrink["handle"]) == (7 * S, "broker 1", "0:0")
    assert (shrink["kind"], shrink["other_kind"]) == ("isr_shrunk", "isr_shrunk")
    assert (shrink["has"], shrink["other_has"]) == ("lag_ms=9000", "lag_ms=9001")
    assert shrink["partition"] == "orders-0"
    # The expand after it differs as well, but a process is told once.
    assert (led["process"], led["handle"]) == ("broker 2", "1:6")
    assert (led["kind"], led["other_kind"]) == (None, "became_leader")
    assert led["has"] == ""
    assert "partition=1" in led["other_has"].split(", ")


def swept(folder: Path, shrinks: dict[tuple[int, int], int]) -> list[Row]:
    """The answer about runs with a number of shrinks for each lag time and seed."""
    figures = []
    for (lag_ms, seed), count in shrinks.items():
        name = f"lag-{lag_ms}-seed-{seed}"
        settings = {"replica.lag.time.max.ms": lag_ms}
        run = with_a_scenario(WrittenRows().run(folder / "runs" / name), settings, seed)
        summary = {"trace_sha256": "", "produce_ms": {"shop": {"p99": 10.0 * seed}}}
        write_json_atomically(run / SUMMARY, summary)
        numbers = {column.name: 0 for column in TABLES["run_figures"].columns}
        # Half an hour after start-up.
        times = {"figures_from_seconds": 100.0, "virtual_seconds": 1900.0}
        figures.append(numbers | times | {"run": name, "isr_shrinks": count})
    tables = WrittenTables(str(folder / "runs" / "*"), folder, {"run_figures": figures})
    return answer("sweep", tables)


def shrinks_of(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["figure"] == "isr_shrinks_per_hour"]


def test_a_sweep_tells_each_setting_with_its_interval(tmp_path: Path) -> None:
    """Shrinks an hour fall with replica.lag.time.max.ms; the interval is that of Student's t."""
    counts = {9_000: (50, 60, 55), 30_000: (5, 6, 4), 10_000: (40, 47, 41)}
    shrinks = {
        (lag_ms, seed): count
        for lag_ms, each in counts.items()
        for seed, count in enumerate(each, 1)
    }
    rows = shrinks_of(swept(tmp_path, shrinks))
    assert [row["setting_value"] for row in rows] == [9_000, 10_000, 30_000]
    assert rows[0]["setting"] == "replica.lag.time.max.ms=9000"
    for row in rows:
        an_hour = [2 * each for each in counts[int(row["setting_value"])]]
        assert row["seeds"] == 3
        assert row["mean"] == pytest.approx(mean(an_hour))
        half = 4.303 * stdev(an_hour) / 3**0.5
        assert row["high"] == pytest.approx(mean(an_hour) + half, rel=1e-4)
        assert row["low"] == pytest.approx(mean(an_hour) - half, rel=1e-3)
        assert (row["smallest"], row["largest"]) == (min(an_hour), max(an_hour))
        assert (row["p50"], row["p99"]) == (sorted(an_hour)[1], None)
        assert (row["above_zero"], row["worst_is"], row["worst"]) == (3, "most", max(an_hour))
    assert rows[0]["largest_in"] == rows[0]["worst_in"] == "lag-9000-seed-2"


def test_one_seed_has_a_mean_and_no_interval(tmp_path: Path) -> None:
    rows = shrinks_of(swept(tmp_path, {(9_000, 1): 50, (30_000, 1): 5}))
    assert [(row["seeds"], row["mean"], row["low"], row["high"]) for row in rows] == [
        (1, 100.0, None, None),
        (1, 10.0, None, None),
    ]


def test_a_figure_that_most_seeds_do_not_have_has_counts_and_no_interval(tmp_path: Path) -> None:
    """An interval rests on values near each other: three shrinks in twenty runs are none."""
    rows = swept(tmp_path, {(9_000, seed): 10 * (seed > 17) for seed in range(1, 21)})
    (shrinks,) = shrinks_of(rows)
    assert (shrinks["above_zero"], shrinks["seeds"]) == (3, 20)
    assert (shrinks["low"], shrinks["high"]) == (None, None)
    assert (shrinks["smallest"], shrinks["largest"]) == (0, 20)
    # Every producer waits.
    (waited,) = (row for row in rows if row["figure"] == "produce_p99_ms of shop")
    assert waited["low"] < waited["mean"] == 105 < waited["high"]


def test_of_records_that_were_acknowledged_the_fewest_are_the_worst(tmp_path: Path) -> None:
    rows = {row["figure"]: row for row in swept(tmp_path, {(9_000, 1): 1, (9_000, 2): 2})}
    assert rows["records_acknowledged"]["worst_is"] == "least"
    assert rows["records_acknowledged_lost"]["worst_is"] == "most"


@pytest.mark.parametrize(("seeds", "p99"), [(99, None), (100, 98)])
def test_the_p99_of_runs_needs_a_hundred_of_them(seeds: int, p99: float | None) -> None:
    """Of fewer it would be the largest one, which is told as that."""
    found = over_seeds(range(seeds))
    assert found.p99 == p99
    assert found.largest == seeds - 1
