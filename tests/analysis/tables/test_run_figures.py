"""The figures that tables come to are those of the summary, and those of a plain reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysed_runs import RUNS
from plain_reader import PlainReader
from recorded_tables import bent, figures, table
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.simulation.trace_rows.codes import BROKER_ABSENT, REASON_LIVENESS
from tidegauge.traces.run_folder import RunFolder


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


@pytest.mark.parametrize("run", RUNS)
def test_figures_are_those_of_the_summary_and_of_a_plain_reader(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    found = figures(tables, run)
    assert found.pop("run") == run
    plain = PlainReader(recorded[run]).counted()
    summary = summary_of(recorded[run])
    assert found == {name: summary[name] for name in found}
    del found["virtual_seconds"]
    assert found == pytest.approx({name: plain[name] for name in found})


def test_the_runs_have_something_of_every_figure(tables: RunTables) -> None:
    """The twin of the test above: equal figures are not equal because they are all zero."""
    all_figures = [figures(tables, run) for run in RUNS]
    nothing = {name for name in all_figures[0] if not any(each[name] for each in all_figures)}
    assert nothing <= {"records_acknowledged_unavailable", "records_unsent", "records_failed"}


_WITHOUT_THE_FIRST = "from rows order by time_us, process, sequence offset 1"

#: How rows are bent, kind by kind, and the figures that are others then. Kinds that are bent
#: together do not touch each other's figures.
BENDS: dict[str, tuple[dict[str, str], set[str]]] = {
    "a row less of each": (
        {
            "isr_shrunk": _WITHOUT_THE_FIRST,
            "isr_expanded": _WITHOUT_THE_FIRST,
            "removed_from_isr": _WITHOUT_THE_FIRST,
            "notification_sent": _WITHOUT_THE_FIRST,
            "client_totals": """
                select * replace (records_acknowledged - 1 as records_acknowledged) from rows""",
            "leader_elected": """
                select * replace (leader as old_leader, unclean + 1 as unclean) from rows""",
            "fault_ended": "from rows where false",
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
            "broker_state": f"from rows where state <> {int(BROKER_ABSENT)}",
            "became_leader": "select * replace (time_us + 1 as time_us) from rows",
            "log_end": f"from rows where reason <> {int(REASON_LIVENESS)}",
        },
        {
            "partition_seconds_offline",
            "partition_seconds_not_accepting",
            "records_acknowledged_lost",
        },
    ),
    "ISRs of one, without a leader": (
        {
            "partition_state": """
                select * replace (
                    isr & 15 as isr, case when time_us < 50000000 then leader else -1 end as leader
                ) from rows"""
        },
        {
            "partition_seconds_offline",
            "partition_seconds_under_min_isr",
            "partition_seconds_at_min_isr",
            "records_acknowledged_unavailable",
        },
    ),
}


@pytest.mark.parametrize("bend", BENDS)
def test_figures_depend_on_the_rows_that_they_are_counted_from(
    bend: str, recorded: dict[str, RunFolder], tmp_path: Path
) -> None:
    changes, changed = BENDS[bend]
    run = recorded["rack-power-loss"]
    found = figures(bent(run, tmp_path, changes), run.path.name)
    assert {name for name in changed if found[name] == summary_of(run)[name]} == set()


@pytest.mark.parametrize("run", RUNS)
def test_lost_records_are_those_of_the_partitions_that_the_summary_names(
    run: str, tables: RunTables, recorded: dict[str, RunFolder]
) -> None:
    lost: dict[str, int] = {}
    for row in table(tables, "lost", run):
        lost[row["topic_partition"]] = lost.get(row["topic_partition"], 0) + row["records"]
    assert lost == summary_of(recorded[run])["records_lost_by_partition"]


_CONDITIONS = (
    *("stalled", "reads_stalled", "offline", "not_accepting", "under_min_isr", "at_min_isr"),
)


def test_intervals_of_a_condition_sum_to_its_figure(tables: RunTables) -> None:
    for run in RUNS:
        found = figures(tables, run)
        sums: dict[str, int] = {}
        for row in table(tables, "unavailable", run):
            sums[row["condition"]] = sums.get(row["condition"], 0) + row["lasted_us"]
        for condition in _CONDITIONS:
            assert sums.get(condition, 0) / 1e6 == found[f"partition_seconds_{condition}"]
