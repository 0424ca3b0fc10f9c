"""A run that is interrupted is over where it ended: nothing is drawn or summed until later."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scenario_runs import shipped
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import runs_at
from tidegauge.command_line import app
from tidegauge.engine.contract import Engine, EngineInput, Passed
from tidegauge.engine.simulate import simulate
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
PLANNED_US = 240 * SECOND
STOPPED_US = 65 * SECOND


def stop(passed: Passed) -> None:
    """Ctrl-C, 65 s after the beginning."""
    if passed.time_us > STOPPED_US:
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Four minutes of six brokers, stopped while broker 2 is down."""
    folder = tmp_path_factory.mktemp("interrupted") / "run"
    with pytest.raises(KeyboardInterrupt):
        simulate(shipped("quickstart", {"trace": "all"}), folder, progress=stop)
    run = RunFolder(folder)
    assert run.summary is None
    return run


def test_it_ends_with_its_last_row(interrupted: RunFolder) -> None:
    assert STOPPED_US - SECOND < interrupted.end_us < 80 * SECOND
    assert interrupted.end_us == interrupted.last_time_us + 1
    (found,) = runs_at(interrupted.path)
    assert found.end_us() == interrupted.end_us


def test_it_can_be_read_before_its_first_row(tmp_path: Path) -> None:
    """Actors of Ray take seconds to begin: Ctrl-C meanwhile leaves a run of 0 s."""

    def beginning(run: EngineInput) -> AbstractContextManager[Engine]:
        for file in run.new_trace_files(2):
            file.touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(shipped("quickstart"), tmp_path / "run", make_engine=beginning)
    tables = RunTables([tmp_path / "run"], tmp_path / "tables")
    assert tables.rows("select count(*) as changes from isr_changes") == [{"changes": 0}]


def test_a_finished_run_ends_where_its_scenario_says(tmp_path: Path) -> None:
    run = simulate(shipped("quickstart", {"duration": "20s", "faults": []}), tmp_path / "run")
    assert run.end_us == 20 * SECOND
    (found,) = runs_at(run.path)
    assert found.end_us() == 20 * SECOND


def test_faults_cost_what_they_did_until_it_ended(interrupted: RunFolder) -> None:
    """Partitions that are under-replicated as it ends are not so for three minutes more."""
    tables = RunTables([interrupted.path], interrupted.path / "tables")
    (crash,) = tables.rows("select * from fault_costs")
    assert crash["end_us"] is None
    (outage,) = tables.rows("select * from fault_outages where condition = 'under_replicated'")
    assert outage["over_us"] is None
    lasted = (interrupted.end_us - crash["begin_us"]) / SECOND
    assert 0 < outage["partition_seconds"] <= outage["partitions"] * lasted


def test_the_picture_ends_there_too(interrupted: RunFolder) -> None:
    result = CliRunner().invoke(app, ["picture", str(interrupted.path)])
    assert result.exit_code == 0, result.output
    head = re.search(r"; 0s to ([\d.]+)s, ", result.stdout)
    assert head is not None
    assert float(head[1]) == interrupted.end_us // 1000 / 1000
    assert f"{PLANNED_US // SECOND}s" not in result.stdout
    partitions = len(interrupted.manifest["partitions"])
    for line in re.findall(r"^under-replicated +\d+ +([\d,.]+) ", result.stdout, re.MULTILINE):
        assert 0 < float(line.replace(",", "")) < partitions * interrupted.end_us / SECOND


def test_no_record_counts_as_lost_because_no_replica_has_told_its_last_log(
    interrupted: RunFolder, tmp_path: Path
) -> None:
    """All that is acknowledged is in the log of the leader of its epoch, or was in the next's."""
    tables = RunTables(interrupted.path, tmp_path)
    (records,) = tables.rows("select fate, sum(records) as count from acknowledged group by fate")
    assert records["fate"] == "held"
    assert records["count"] > 0
    assert tables.rows("select * from lost") == []


def test_show_says_in_one_line_how_far_it_came(interrupted: RunFolder) -> None:
    result = CliRunner().invoke(app, ["show", "partitions", str(interrupted.path)])
    until = f"{interrupted.end_us // 1000 / 1000:.3f}s"
    assert result.stderr == f"note: the run is unfinished: it is shown up to {until}\n"
    assert "no acknowledged record is lost" in result.stdout


def test_result_tables_end_there_too(interrupted: RunFolder, tmp_path: Path) -> None:
    """Intervals that are open as the run ends, and the run's virtual seconds."""
    tables = RunTables(interrupted.path, tmp_path)
    (figures,) = tables.rows("select virtual_seconds from run_figures")
    (states,) = tables.rows("select max(end_us) as end_us from partition_states")
    assert figures["virtual_seconds"] == pytest.approx(interrupted.end_us / 1e6)
    assert states["end_us"] == interrupted.end_us
