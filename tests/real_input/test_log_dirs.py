"""``tidegauge import --log-dirs``: sizes of logs as kafka-log-dirs.sh prints them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from both_modes import MODES, RELEASE
from tidegauge.command_line import app
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario, scenario_from_mapping

HEAD = (
    "Querying brokers for log directories information\n"
    "Received log directory information from brokers 1,2,3\n"
)
DUMP = (
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2\n"
    "\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3,1\tIsr: 2,3,1\n"
)


def directory(name: str, sizes: dict[str, int], **others: Any) -> dict[str, Any]:
    partitions = [
        {"partition": log, "size": size, "offsetLag": 0, "isFuture": False} | others
        for log, size in sizes.items()
    ]
    return {"partitions": partitions, "error": None, "logDir": name}


def output(brokers: dict[int, list[dict[str, Any]]]) -> str:
    written = [{"broker": broker, "logDirs": dirs} for broker, dirs in brokers.items()]
    return f"{HEAD}{json.dumps({'version': 1, 'brokers': written})}\n"


WELL = {
    1: [directory("/a", {"orders-0": 2_000_000_123, "orders-1": 1_500_000_000})],
    2: [directory("/a", {"orders-0": 2_000_000_000}), directory("/b", {"orders-1": 1_500_000_000})],
    3: [directory("/a", {"orders-0": 500_000_000, "orders-1": 1_500_000_000})],
}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(each) for each in arguments])


def imported(folder: Path, text: str, dump: str = DUMP) -> tuple[dict[str, Any], str]:
    """The scenario that an import writes, and what it prints."""
    (folder / "describe.txt").write_text(dump)
    (folder / "log-dirs.txt").write_text(text)
    out = folder / "mine.yaml"
    result = run(
        *("import", folder / "describe.txt", "--log-dirs", folder / "log-dirs.txt", "-o", out)
    )
    assert result.exit_code == 0, result.output
    data: dict[str, Any] = yaml.safe_load(out.read_text())
    load_scenario(out)
    return data, " ".join(result.output.split())


def refusal(folder: Path, text: str) -> str:
    (folder / "describe.txt").write_text(DUMP)
    (folder / "log-dirs.txt").write_text(text)
    result = run(
        *("import", folder / "describe.txt", "--log-dirs", folder / "log-dirs.txt"),
        *("-o", folder / "mine.yaml"),
    )
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    return result.stderr


def test_the_leaders_log_gives_the_size_and_others_are_behind(tmp_path: Path) -> None:
    data, _ = imported(tmp_path, output(WELL))
    (topic,) = data["topics"]
    assert topic["size"] == {0: "2GB", 1: "1500MB"}
    assert topic["state"][0]["behind"] == {3: "1500MB"}
    assert data["cluster"]["log_directories"] == 2


def test_one_value_is_enough_for_partitions_of_about_one_size(tmp_path: Path) -> None:
    sizes = {"orders-0": 1_000_000_000, "orders-1": 995_000_000}
    data, _ = imported(tmp_path, output({each: [directory("/a", sizes)] for each in (1, 2, 3)}))
    assert data["topics"][0]["size"] == "997500kB"


def test_each_assumption_is_told(tmp_path: Path) -> None:
    brokers = {
        1: [directory("/a", {"orders-1": 1_500_000_000, "gone-0": 5})],
        2: [directory("/a", {"orders-0": 2_000_000_000, "orders-7": 5})],
        9: [directory("/a", {"orders-0": 1}, offsetLag=1234)],
        3: [
            directory("/a", {"orders-1": 7}, isFuture=True),
            directory("/b", {}) | {"error": "KafkaStorageException"},
        ],
    }
    _, told = imported(tmp_path, output(brokers))
    lag = "replicas that lag, if they are in the ISR taken for complete: orders-0 on broker 9 by"
    for notice in (
        f"{lag} 1,234 records",
        "topics of log-dirs.txt that the dump of topics does not have are left out: gone",
        "partitions of log-dirs.txt that the dump of topics does not have are left out: orders-7",
        "brokers of log-dirs.txt that the dump of topics does not have are left out: 9",
        "the leader's log is not reported, so the largest counts: orders-0, orders-1",
        "outside of the ISR that no broker reports, assumed to be empty: orders-0 on broker 3",
        "broker 3: moves between its log directories are left out: orders-1",
        "broker 3: log directory /b has an error: KafkaStorageException",
    ):
        assert notice in told


def test_several_outputs_may_stand_in_one_file_and_be_indented(tmp_path: Path) -> None:
    one, *others = ({broker: dirs} for broker, dirs in WELL.items())
    indented = json.dumps(json.loads(output(one).splitlines()[2]), indent=2)
    text = f"{HEAD}{indented}\n" + "".join(output(each) for each in others)
    data, _ = imported(tmp_path, text)
    assert data["topics"][0]["size"] == {0: "2GB", 1: "1500MB"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (HEAD, "log-dirs.txt: has no line with JSON"),
        (f'{HEAD}{{"version":1,"brokers":', "log-dirs.txt:3: is not valid JSON"),
        (f'{HEAD}{{"version":1}}', "log-dirs.txt:3: brokers: is missing"),
        (f'{HEAD}{{"brokers":[{{"broker":1}}]}}', "brokers[0].logDirs: is missing"),
        (
            f'{HEAD}{{"brokers":[{{"broker":"a","logDirs":[]}}]}}',
            "brokers[0].broker: must be a whole number",
        ),
        (output({1: [directory("/a", {"orders": 1})]}), "partition: must be such as orders-0"),
        (
            output({1: [directory("/a", {"orders-0": -1})]}),
            "size: must be greater than or equal to 0",
        ),
    ],
)
def test_other_input_is_refused_with_file_and_line(text: str, problem: str, tmp_path: Path) -> None:
    assert problem in refusal(tmp_path, text)


@pytest.mark.parametrize("mode", MODES)
def test_what_describe_prints_of_a_run_can_be_imported(mode: str, tmp_path: Path) -> None:
    """At 20 s broker 3 is down, and out of ISRs: it is not among the brokers that are asked."""
    story = {
        "mode": mode,
        "release": RELEASE,
        "duration": "40s",
        "cluster": {"brokers": 3, "start_spread": "0s", "log_directories": 2},
        "topics": [
            {
                "name": "orders",
                "partitions": 3,
                "replication_factor": 3,
                "size": {0: "2GB", 1: "1GB"},
            },
            {"name": "old", "partitions": 1, "replication_factor": 3, "size": "5MB"},
        ],
        "faults": [{"kind": "crash", "at": "5s", "brokers": [3]}],
    }
    folder = tmp_path / "run"
    simulate(scenario_from_mapping(story, "story"), folder)
    moment = ("--at", "35s")
    dump = run("describe", folder, *moment).stdout
    text = run("describe", folder, *moment, "--log-dirs").stdout
    data, told = imported(tmp_path, text, dump)
    sizes = {topic["name"]: topic.get("size") for topic in data["topics"]}
    assert sizes == {"orders": {0: "2GB", 1: "1GB"}, "old": "5MB"}
    assert data["cluster"]["log_directories"] == 2
    assert "broker 3 is down" in told
    assert "assumed to be empty: old-0 on broker 3" in told
