"""The figures that tables come to are those of the summary, and those of a plain reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from plain_reader import PlainReader
from recorded_tables import RUNS, bent, figures, table
from tidegauge.analysis.tables.run_rows import RunRows
from tidegauge.simulation.codes.occasions import BROKER_ABSENT, REASON_LIVENESS
from tidegauge.traces.run_folder import RunFolder

Bend = Callable[[DataFrame], DataFrame]


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


@pytest.mark.parametrize("run", RUNS)
def test_figures_are_those_of_the_summary_and_of_a_plain_reader(
    run: str, rows: RunRows, recorded: dict[str, RunFolder]
) -> None:
    found = figures(rows, run)
    assert found.pop("run") == run
    plain = PlainReader(recorded[run]).counted()
    summary = summary_of(recorded[run])
    assert found == {name: summary[name] for name in found}
    del found["virtual_seconds"]
    assert found == pytest.approx({name: plain[name] for name in found})


def test_the_runs_have_something_of_every_figure(rows: RunRows) -> None:
    """The twin of the test above: equal figures are not equal because they are all zero."""
    all_figures = [figures(rows, run) for run in RUNS]
    nothing = {name for name in all_figures[0] if not any(each[name] for each in all_figures)}
    assert nothing <= {"records_acknowledged_unavailable"}


def without_the_first(rows: DataFrame) -> DataFrame:
    """Without one row that does not change the ISR of a deleted partition."""
    first = rows.orderBy("time_us", "process", "sequence").first()
    assert first is not None
    return rows.where(f"not (process = {first.process} and sequence = {first.sequence})")


def fewer(column: str) -> Bend:
    return lambda rows: rows.withColumn(column, f.col(column) - 1)


def without_all(rows: DataFrame) -> DataFrame:
    return rows.limit(0)


#: How rows are bent, kind by kind, and the figures that are others then. Kinds that are bent
#: together do not touch each other's figures.
BENDS: dict[str, tuple[dict[str, Bend], set[str]]] = {
    "a row less of each": (
        {
            "isr_shrunk": without_the_first,
            "isr_expanded": without_the_first,
            "removed_from_isr": without_the_first,
            "notification_sent": without_the_first,
            "client_totals": fewer("records_acknowledged"),
            "leader_elected": lambda rows: rows.withColumns(
                {"old_leader": f.col("leader"), "unclean": f.col("unclean") + 1}
            ),
            "fault_ended": lambda rows: rows.where("kind != 0"),
        },
        {
            "isr_shrinks",
            "isr_expands",
            "isr_removals",
            "isr_notifications",
            "records_acknowledged",
            "leader_elections",
            "unclean_elections",
            "partition_seconds_not_accepting",
        },
    ),
    "registrations that stay, terms that begin later, logs that end earlier": (
        {
            "broker_state": lambda rows: rows.where(f.col("state") != int(BROKER_ABSENT)),
            "became_leader": lambda rows: rows.withColumn("time_us", f.col("time_us") + 1),
            "log_end": lambda rows: rows.where(f.col("reason") != int(REASON_LIVENESS)),
        },
        {
            "partition_seconds_offline",
            "partition_seconds_not_accepting",
            "records_acknowledged_lost",
        },
    ),
    "ISRs of one, without a leader": (
        {
            "partition_state": lambda rows: rows.withColumns(
                {
                    "isr": f.col("isr").bitwiseAND(15),
                    "leader": f.when(f.col("time_us") < 50_000_000, f.col("leader")).otherwise(-1),
                }
            )
        },
        {
            "partition_seconds_offline",
            "partition_seconds_under_min_isr",
            "partition_seconds_at_min_isr",
            "records_acknowledged_unavailable",
        },
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("bend", BENDS)
def test_figures_depend_on_the_rows_that_they_are_counted_from(
    bend: str, spark: SparkSession, recorded: dict[str, RunFolder]
) -> None:
    changes, changed = BENDS[bend]
    run = recorded["rack-power-loss"]
    rows = bent(spark, run, changes)
    found = figures(rows, run.path.name)
    rows.release()
    assert {name for name in changed if found[name] == summary_of(run)[name]} == set()


@pytest.mark.parametrize("run", RUNS)
def test_lost_records_are_those_of_the_partitions_that_the_summary_names(
    run: str, rows: RunRows, recorded: dict[str, RunFolder]
) -> None:
    lost: dict[str, int] = {}
    for row in table(rows, "lost", run):
        lost[row["topic_partition"]] = lost.get(row["topic_partition"], 0) + row["records"]
    assert lost == summary_of(recorded[run])["records_lost_by_partition"]


def test_intervals_of_a_condition_sum_to_its_figure(rows: RunRows) -> None:
    for run in RUNS:
        found = figures(rows, run)
        sums: dict[str, int] = {}
        for row in table(rows, "unavailable", run):
            sums[row["condition"]] = sums.get(row["condition"], 0) + row["lasted_us"]
        for condition in ("offline", "not_accepting", "under_min_isr", "at_min_isr"):
            assert sums.get(condition, 0) / 1e6 == found[f"partition_seconds_{condition}"]
