"""Questions that compare runs: where two of them part, and what a setting changes."""

from __future__ import annotations

from pathlib import Path
from statistics import mean, stdev
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.analysis.tables.run_tables import RunTables
from tidegauge.traces.run_files import MANIFEST, SUMMARY
from tidegauge.traces.run_folder import RunFolder, write_json_atomically
from written_rows import WrittenRows
from written_tables import WrittenTables

Row = dict[str, Any]
S = 1_000_000


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
    return with_a_scenario(rows.run(folder / name))


def with_a_scenario(folder: Path, seed: int = 1, **settings: object) -> Path:
    """A manifest that says what cluster it is."""
    run = RunFolder(folder)
    scenario = {
        "name": "story",
        "duration": "10s",
        "cluster": {"brokers": 3, "settings": settings},
        "topics": [{"name": "orders", "partitions": 2, "replication_factor": 3}],
    }
    write_json_atomically(folder / MANIFEST, run.manifest | {"scenario": scenario, "seed": seed})
    return folder


def divergence(spark: SparkSession, folder: Path, *runs: Path) -> list[Row]:
    tables = RunTables(spark, runs, folder / "tables")
    found: list[Row] = QUESTIONS["first-divergence"].of(tables).toArrow().to_pylist()
    return found


def test_runs_with_the_same_rows_do_not_diverge(spark: SparkSession, tmp_path: Path) -> None:
    """Samples may differ: they change nothing."""
    one, other = told("one", tmp_path), told("other", tmp_path)
    assert divergence(spark, tmp_path, one, other) == []


def test_the_first_rows_that_differ_are_told_process_by_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    one = told("one", tmp_path)
    other = told("other", tmp_path, lag_ms=9_001, longer=True)
    shrink, led = divergence(spark, tmp_path, one, other)
    assert (shrink["time_us"], shrink["process"], shrink["sequence"]) == (7 * S, 0, 0)
    assert (shrink["kind"], shrink["other_kind"]) == ("isr_shrunk", "isr_shrunk")
    assert (shrink["has"], shrink["other_has"]) == ("lag_ms=9000", "lag_ms=9001")
    assert (shrink["process_name"], shrink["partition"]) == ("broker 1", 0)
    # The expand after it differs as well, but a process is told once.
    assert (led["process"], led["sequence"]) == (1, 6)
    assert (led["kind"], led["other_kind"]) == (None, "became_leader")
    assert led["has"] == ""
    assert "partition=1" in led["other_has"].split(", ")


class Sweep(WrittenTables):
    """Figures of many runs, each with a manifest of its own."""

    def __init__(self, spark: SparkSession, folder: Path, shrinks: dict[tuple[int, int], int]):
        figures = []
        for (lag_ms, seed), count in shrinks.items():
            name = f"lag-{lag_ms}-seed-{seed}"
            run = WrittenRows().run(folder / name)
            settings = {"replica.lag.time.max.ms": lag_ms}
            with_a_scenario(run, seed, **settings)
            summary = {"trace_sha256": "", "produce_ms": {"shop": {"p99": 10.0 * seed}}}
            write_json_atomically(run / SUMMARY, summary)
            numbers = {
                column.name: 0.0 if column.type == "double" else 0
                for column in TABLES["run_figures"].columns
            }
            counted = {"run": name, "virtual_seconds": 1800.0, "isr_shrinks": count}
            figures.append(numbers | counted)
        super().__init__(spark, {"run_figures": figures})
        self.runs = RunTables(spark, str(folder / "*"), folder).runs


def swept(spark: SparkSession, folder: Path, shrinks: dict[tuple[int, int], int]) -> list[Row]:
    found: list[Row] = QUESTIONS["sweep"].of(Sweep(spark, folder, shrinks)).toArrow().to_pylist()
    return [row for row in found if row["figure"] == "isr_shrinks_per_hour"]


def test_a_sweep_tells_each_setting_with_its_interval(spark: SparkSession, tmp_path: Path) -> None:
    """Shrinks an hour fall with replica.lag.time.max.ms; the interval is that of Student's t."""
    counts = {9_000: (50, 60, 55), 30_000: (5, 6, 4), 10_000: (40, 47, 41)}
    shrinks = {
        (lag_ms, seed): count
        for lag_ms, each in counts.items()
        for seed, count in enumerate(each, 1)
    }
    rows = swept(spark, tmp_path, shrinks)
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
        assert (row["p50"], row["p99"]) == (sorted(an_hour)[1], max(an_hour))
    assert rows[0]["largest_in"] == "lag-9000-seed-2"


def test_one_seed_has_a_mean_and_no_interval(spark: SparkSession, tmp_path: Path) -> None:
    rows = swept(spark, tmp_path, {(9_000, 1): 50, (30_000, 1): 5})
    assert [(row["seeds"], row["mean"], row["low"], row["high"]) for row in rows] == [
        (1, 100.0, None, None),
        (1, 10.0, None, None),
    ]
