"""``tidegauge read-logs``: "our cluster had an outage last night; show me what happened"."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from real_clusters import recorded, written
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.api import Result as Run
from tidegauge.command_line import app
from tidegauge.traces.run_folder import RunFolder

_ZOOKEEPER, _KRAFT = "zk-2.6.3-rand312", "kraft-4.1.0-f1_rf2_kill_ret12"
#: What logs do not tell.
_UNTOLD = ("records_acknowledged", "records_acknowledged_lost", "controller_busy_seconds")


def _invoked(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


@pytest.fixture(scope="module", params=[_ZOOKEEPER, _KRAFT])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    made = _invoked("read-logs", recorded(request.param, folder), "-o", folder / "run")
    assert made.exit_code == 0, made.output
    return folder / "run"


def test_the_output_names_nodes_clocks_and_what_was_found(tmp_path: Path) -> None:
    logs = recorded("zk-2.6.3-clock_b1_leader_kill", tmp_path)
    made = _invoked("read-logs", logs, "-o", tmp_path / "run")
    assert made.exit_code == 0
    assert "Kafka 2.6.3 with ZooKeeper" in made.stdout
    assert "343 ms ahead (+-17 ms)" in made.stdout
    assert "partition states:      11\nleaders elected:       4\n" in made.stdout
    assert "Logs do not contain: log ends" in made.stdout
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["run", logs.name]


def test_the_figures_are_those_of_the_faults_that_were_played(tmp_path: Path) -> None:
    made = _invoked("read-logs", recorded(_ZOOKEEPER, tmp_path), "-o", tmp_path / "run", "--json")
    told = json.loads(made.stdout)
    assert told["mode"] == "zookeeper"
    assert told["counts"] == {
        "partitions": 4,
        "partition states": 24,
        "leaders elected": 4,
        "... uncleanly": 0,
        "ISR shrinks": 0,
        "ISR expands": 10,
        "ISR removals": 10,
        "broker states": 9,
        "broker starts": 6,
        "broker stops": 3,
        "active controllers": 2,
    }


def test_logs_of_a_release_that_is_newer_than_known_are_read_as_of_the_newest(
    tmp_path: Path,
) -> None:
    """In the output, in the manifest, and in the scenario that is proposed."""
    logs = recorded(_KRAFT, tmp_path)
    for file in logs.rglob("*.log"):
        file.write_text(file.read_text().replace("Kafka version: 4.1.0", "Kafka version: 4.9.0"))
    run, scenario = tmp_path / "run", tmp_path / "mine.yaml"
    made = _invoked("read-logs", logs, "-o", run, "--scenario", scenario)
    assert made.exit_code == 0, made.output
    line = "Kafka 4.9.0 is newer than what is known: it is read as 4.4.0"
    assert f"Kafka 4.9.0 with KRaft\n{line}\n" in made.stdout
    assert "no line names the release" not in made.stdout
    assert RunFolder(run).manifest["newer_than_known"] == [line]
    assert line in " ".join(scenario.read_text().replace("#", " ").split())


def test_logs_without_a_release_are_read_as_of_the_newest(tmp_path: Path) -> None:
    logs = recorded(_KRAFT, tmp_path)
    for file in logs.rglob("*.log"):
        file.write_text(file.read_text().replace("Kafka version: ", "A version: "))
    made = _invoked("read-logs", logs, "-o", tmp_path / "run")
    assert "Kafka 4.4.0 with KRaft\nno line names the release: assumed is the newest" in made.stdout


@pytest.mark.parametrize(
    "view",
    [
        *("show partitions RUN", "show faults RUN", "show partition RUN t-0"),
        *("show broker RUN 1", "show broker RUN 1 --at 30s"),
        *("show controller RUN", "show controller RUN --at 30s"),
        *("picture RUN", "picture RUN --partition t-0", "describe RUN", "describe RUN --at 30s"),
        *("verify RUN", "replay-view RUN", "report RUN"),
    ],
)
def test_the_views_of_a_run_take_it(run: Path, view: str) -> None:
    shown = _invoked(*(run if word == "RUN" else word for word in view.split()))
    assert shown.exit_code == 0, shown.output
    assert "no acknowledged record" not in shown.output
    assert "offset -1" not in shown.output


def test_describe_prints_the_isrs_of_that_time(tmp_path: Path) -> None:
    assert (
        _invoked("read-logs", recorded(_ZOOKEEPER, tmp_path), "-o", tmp_path / "run").exit_code == 0
    )
    shown = _invoked("describe", tmp_path / "run", "--at", "30s")
    assert "Partition: 0\tLeader: 2\tReplicas: 2,1,3\tIsr: 2\n" in shown.stdout
    shown = _invoked("describe", tmp_path / "run")
    assert "Partition: 0\tLeader: 2\tReplicas: 2,1,3\tIsr: 2,1,3\n" in shown.stdout


def test_what_logs_cannot_tell_is_absent_and_not_zero(run: Path, tmp_path: Path) -> None:
    summary = RunFolder(run).summary
    assert summary is not None
    assert not summary.keys() & {*_UNTOLD, "events", "produce_ms", "records_lost_by_topic"}
    tables = RunTables([str(run)], tmp_path)
    (figures,) = tables.rows("select * from run_figures")
    assert [figures[name] for name in _UNTOLD] == [None] * len(_UNTOLD)
    for name in ("isr_expands", "isr_removals", "leader_elections", "unclean_elections"):
        assert figures[name] == summary[name]
    assert figures["partition_seconds_offline"] == pytest.approx(
        summary["partition_seconds_offline"], abs=0.001
    )
    lost = tables.rows("select distinct records_lost from partition_figures")
    assert lost == [{"records_lost": None}]


def test_it_cannot_be_repeated_and_has_no_tree_of_znodes(run: Path) -> None:
    for command in (("replay", run), ("show", "zookeeper", run), ("show", "quorum", run)):
        refused = _invoked(*command)
        assert refused.exit_code == 2
        assert len(refused.output.splitlines()) == 1


def test_python_opens_it(run: Path) -> None:
    opened = Run(run)
    assert opened.summary["source"] == opened.manifest["source"] == "logs"
    assert opened.checks == {}


def test_a_run_is_not_overwritten(tmp_path: Path) -> None:
    logs = written(tmp_path, {"broker-1/server.log": "00:00:01,000 [KafkaServer id=1] started"})
    (tmp_path / "run").mkdir()
    refused = _invoked("read-logs", logs, "-o", tmp_path / "run")
    assert (refused.exit_code, len(refused.output.splitlines())) == (2, 1)
    assert "exists" in refused.output


@pytest.mark.parametrize("text", ["00:00:01,000 a line that tells nothing", "garbage"])
def test_logs_that_tell_nothing_leave_nothing(tmp_path: Path, text: str) -> None:
    logs = written(tmp_path / "logs", {"broker-1/server.log": text})
    refused = _invoked("read-logs", logs, "-o", tmp_path / "run")
    assert (refused.exit_code, len(refused.output.splitlines())) == (2, 1)
    assert [file.name for file in tmp_path.iterdir()] == ["logs"]


def test_a_file_that_is_no_log_gets_one_line(tmp_path: Path) -> None:
    logs = recorded(_KRAFT, tmp_path)
    (logs / "broker-1/server.log.1").write_bytes(b"\0\1\2" * 1000)
    made = _invoked("read-logs", logs, "-o", tmp_path / "run")
    assert made.exit_code == 0
    (line,) = (line for line in made.stdout.splitlines() if line.startswith("not read:"))
    assert line.endswith("server.log.1: is binary, not a log")


def test_a_run_of_logs_cannot_be_repeated_to_a_moment(run: Path) -> None:
    refused = _invoked("inspect", run, "--at", "1s", "broker", "1")
    assert refused.exit_code == 2
    assert "is made of the logs of a real cluster: it cannot be repeated" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
