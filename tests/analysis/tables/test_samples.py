"""Rows of samples that show only what has changed tell as much as a row at every sample.

The same run is written in both ways, whichever it was recorded in: all tables, and all that is read
row by row, are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from analysed_runs import RUNS
from both_modes import MODES, in_mode
from recorded_tables import differences, table
from sampled_replicas import samples_of, with_all_samples, with_changes_alone
from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.grouped_files import part_file
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.analysis.tables.logs import LEADER_SAMPLES
from tidegauge.analysis.tables.result_table import ResultTable
from tidegauge.engine.simulate import simulate
from tidegauge.runs.brokers import described_broker, log_dirs_lines
from tidegauge.runs.replicas import sampled_ends
from tidegauge.runs.run import Run
from tidegauge.traces.run_folder import RunFolder
from written_rows import S, WrittenRows
from written_tables import with_a_scenario

#: Broker 2 of a run of :func:`in_mode` is dead from 20 s to 50 s. A replica is moved from broker 1
#: to broker 4, and a topic is deleted of which broker 2 has a replica and others, too.
MOVED: dict[str, Any] = {
    "sample_every": "1s",
    "trace": "transitions",
    "topics": [
        {"name": "orders", "partitions": 6, "replication_factor": 3},
        {"name": "moved", "assignment": {0: [1, 3]}},
        {"name": "deleted", "assignment": {0: [2, 1], 1: [3, 4]}},
    ],
    "steps": [
        {
            "at": "15s",
            "do": "reassign",
            "partitions": [{"topic": "moved", "partition": 0, "replicas": [3, 4]}],
        },
        {"at": "30s", "do": "delete_topic", "topic": "deleted"},
    ],
}
NAMES = (*RUNS, *MODES)

#: A run with all samples, and with changes alone.
Both = tuple[RunFolder, RunFolder]


@pytest.fixture(scope="module")
def both_of(
    recorded: dict[str, RunFolder], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Both]:
    folder = tmp_path_factory.mktemp("samples")

    @cache
    def of(name: str) -> Both:
        if name in MODES:
            run = simulate(in_mode(name, **MOVED), folder / "recorded" / name)
        else:
            run = recorded[name]
        return (
            with_all_samples(run, folder / "all" / name),
            with_changes_alone(run, folder / "changes" / name),
        )

    return of


def all_tables(run: RunFolder, folder: Path) -> RunTables:
    tables = RunTables(run.path, folder)
    tables.make(TABLES)
    return tables


@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_the_same(name: str, both_of: Callable[[str], Both], tmp_path: Path) -> None:
    of_all, of_changes = (
        all_tables(run, tmp_path / str(number)) for number, run in enumerate(both_of(name))
    )
    assert differences(of_all.folder, of_changes.folder, of_all.runs) == {}


@pytest.mark.parametrize("name", NAMES)
def test_leaders_have_the_rows_of_every_sample(
    name: str, both_of: Callable[[str], Both], tmp_path: Path
) -> None:
    """As plain Python finds them, from either kind of rows."""
    both = both_of(name)
    columns = ("process", "partition", "time_us", "log_end_offset", "high_watermark")
    expected = sorted(
        tuple(row[column] for column in columns)
        for row in samples_of(both[0], leads=1)
        if row["time_us"] < both[0].end_us
    )
    assert expected
    assert samples_of(both[0]) == samples_of(both[1])
    made = ResultTable(LEADER_SAMPLES.name, "", (), LEADER_SAMPLES.sql, LEADER_SAMPLES.key)
    for number, run in enumerate(both):
        tables = RunTables(run.path, tmp_path / str(number))
        folder = tmp_path / f"made-{number}"
        folder.mkdir()
        DuckDBEngine().write(tables.runs, [made], folder, lambda _: None)
        file = part_file(folder, made.name, 0)
        found = tables.rows(f"select {', '.join(columns)} from '{file}'")  # noqa: S608
        assert sorted(tuple(row.values()) for row in found) == expected


@pytest.mark.parametrize("mode", MODES)
def test_the_runs_have_replicas_that_are_gone(mode: str, both_of: Callable[[str], Both]) -> None:
    """The twin of the tests above: rows alone would carry replicas on that are not there."""
    of_all, of_changes = both_of(mode)
    assert len(of_changes.table("sampled")["process"]) < len(of_all.table("sampled")["process"])
    topics = [each["topic"] for each in of_all.manifest["partitions"]]
    ended = of_changes.rows("no_longer_sampled")
    gone = {(topics[row["partition"]], row["process"]) for row in ended}
    assert {("moved", 0), ("deleted", 0)} <= gone
    # Broker 2 is dead as its replica is deleted: no row says that it is gone.
    assert ("deleted", 1) not in gone
    last_us = {
        (topics[row["partition"]], row["process"]): row["time_us"] for row in samples_of(of_all)
    }
    assert last_us["deleted", 1] < 20 * S < 90 * S < last_us["orders", 1]


def test_a_former_leader_that_gets_nothing_more_counts_at_each_sample(tmp_path: Path) -> None:
    """Broker 2 leads from 5 s on, with a shorter log: only what is longer than any is written."""
    rows = WrittenRows()
    ends = {0: dict.fromkeys(range(1, 10), 100), 1: {5: 90, 6: 95, 7: 99, 8: 101, 9: 105}}
    for second in range(1, 10):
        for process, its in ends.items():
            if second in its:
                rows.write(
                    "sampled", second * S, process, partition=0, leads=1,
                    log_end_offset=its[second], high_watermark=its[second],
                )  # fmt: skip
                rows.write("broker_sampled", second * S, process, partitions=1, leaders=1)
    of_all = RunFolder(with_a_scenario(rows.run(tmp_path / "runs" / "all" / "run"), {}))
    of_changes = with_changes_alone(of_all, tmp_path / "runs" / "changes" / "run")
    assert len(of_changes.table("sampled")["process"]) == 6
    for run in (of_all, of_changes):
        clients = table(all_tables(run, run.path.parent / "tables"), "clients")
        assert [(row["time_us"] // S, row["records_written"]) for row in clients] == [
            (8, 1),
            (9, 4),
        ]


@pytest.mark.parametrize("name", NAMES)
def test_what_is_read_row_by_row_is_the_same(name: str, both_of: Callable[[str], Both]) -> None:
    of_all, of_changes = (Run(run.path) for run in both_of(name))
    times_us = [*range(S // 2, of_all.end_us, of_all.end_us // 12)]
    for time_us in times_us:
        assert log_dirs_lines(of_all, time_us) == log_dirs_lines(of_changes, time_us)
    for broker in range(3):
        for time_us in times_us[::3]:
            one, other = (described_broker(run, broker, time_us) for run in (of_all, of_changes))
            assert one.replicas == other.replicas
    for partition in range(len(of_all.manifest["partitions"])):
        one_ends, other_ends = (
            {
                broker: [each and each[1:] for each in ends]
                for broker, ends in sampled_ends(run, partition, times_us).items()
            }
            for run in (of_all, of_changes)
        )
        assert one_ends == other_ends
