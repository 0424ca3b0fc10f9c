"""``tidegauge upgrade``: "I run 3.9 with ZooKeeper; what changes for my cluster?"."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.real_cluster.describe.release_change import changed_defaults, fault_cases, in_health
from tidegauge.scenario.reading import Scenario, scenario_from_mapping

REAL_INPUT = Path(__file__).parents[1] / "data" / "real_input"
DOWN = REAL_INPUT / "kafka-2.6.3-two-brokers-down-describe.txt"
KRAFT = REAL_INPUT / "kafka-4.1.0-two-brokers-down-describe.txt"
SMALL = (
    "Topic: orders\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 3,1\tIsr: 3\n"
)
PROPERTIES = """\
zookeeper.connect=zookeeper.example:2181
zookeeper.session.timeout.ms=6000
auto.leader.rebalance.enable=false
replica.lag.time.max.ms=20000
"""


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def scenario(release: str, **parts: Any) -> Scenario:
    plain = {"duration": "1m", "release": release, "cluster": {"brokers": 3}}
    return scenario_from_mapping(plain | parts, "test.yaml")


@pytest.mark.usefixtures("ray_here")
def test_a_cluster_with_zookeeper_is_compared_with_its_successor_under_standard_faults(
    tmp_path: Path,
) -> None:
    dump, properties = tmp_path / "describe.txt", tmp_path / "server.properties"
    dump.write_text(SMALL)
    properties.write_text(PROPERTIES)
    mine, runs = tmp_path / "mine.yaml", tmp_path / "runs"
    run("import", dump, "--properties", properties, "--release", "3.9", "-o", mine)
    result = run("upgrade", mine, "--to", "4.1", "--out", runs)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "Changes from ZooKeeper 3.9.2 to KRaft 4.1.2: 3 faults" in text
    assert "Broker 1 is killed, and returns after 60 s This is one seed" in text
    assert "Settings that are gone controlled.shutdown.max.retries was 3" in text
    assert "zookeeper.session.timeout.ms was 18000; this cluster has 6000" in text
    assert "zookeeper.connect: left out: a setting of ZooKeeper mode" in text
    assert "auto.leader.rebalance.enable: a setting of controllers: moved to controllers" in text
    assert "eligible_leader_replicas: false: an upgrade does not turn them on" in text
    assert sorted(each.name for each in runs.iterdir()) == ["controller", "crash", "roll"]
    crash = json.loads((runs / "crash" / "comparison.json").read_text())
    (last,) = (each for each in crash["figures"] if each["figure"] == "leaderless_last_us")
    # The session of 6 s is the cluster's own; with KRaft its successor has the default of 9 s.
    assert last["better"] == "ZooKeeper 3.9.2"
    controller = json.loads((runs / "controller" / "comparison.json").read_text())
    (without,) = (each for each in controller["figures"] if each["figure"] == "controller_less_us")
    assert 1.5e6 < without["by_variant"]["KRaft 4.1.2"]["mean"] < 3.4e6


@pytest.mark.parametrize("dump", [DOWN, KRAFT])
def test_the_comparison_begins_with_the_cluster_in_health(dump: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.yaml"
    assert run("import", dump, "-o", out).exit_code == 0
    written = yaml.safe_load(out.read_text())
    assert written["faults"]
    assert any(topic["state"] for topic in written["topics"])
    healthy = in_health(written, written["cluster"]["brokers"])
    assert "faults" not in healthy
    assert not any("state" in topic for topic in healthy["topics"])
    found = scenario_from_mapping(healthy, "test.yaml")
    assert [found.assignments(topic) for topic in found.topics] == [
        [*topic["assignment"].values()] for topic in written["topics"]
    ]


def test_the_active_controllers_node_is_a_broker_with_zookeeper_only() -> None:
    cases = {each.name: each for each in fault_cases(scenario("3.9", cluster={"brokers": 4}))}
    assert [*cases] == ["crash", "roll", "controller"]
    lost = cases["controller"]
    assert (lost.fault("zookeeper")["brokers"], lost.fault("kraft")["brokers"]) == (
        [4],
        ["controller:0"],
    )
    assert cases["crash"].fault("kraft") == cases["crash"].fault("zookeeper")
    with_racks = scenario("3.9", cluster={"brokers": 4, "racks": ["a", "b"]})
    (*_, rack) = fault_cases(with_racks)
    assert rack.fault("kraft")["brokers"] == ["rack:a"]


def test_defaults_that_change_come_and_go_between_releases() -> None:
    """KIP-537 raised replica.lag.time.max.ms in 2.5; ZooKeeper's settings go with it."""
    own = {"settings": {"replica.lag.time.max.ms": 20000}}
    before = scenario("2.4", cluster={"brokers": 3} | own)
    found = {each.name: each for each in changed_defaults(before, scenario("4.1"))}
    lag = found["replica.lag.time.max.ms"]
    assert (lag.before, lag.after, lag.own) == (10000, 30000, 20000)
    assert found["zookeeper.session.timeout.ms"].after is None
    assert found["broker.session.timeout.ms"].before is None
    assert found["acks"].is_of_clients
    assert not any("_" in name for name in found)
    assert changed_defaults(scenario("4.1"), scenario("4.1")) == []


@pytest.mark.parametrize(
    ("scenario", "options", "message"),
    [
        ("quickstart", ("--to", "2.9"), "--to 2.9: no release '2.9'"),
        ("quickstart-zookeeper", ("--to", "2.6"), "--to 2.6.3: the cluster has this release"),
        ("nowhere.yaml", ("--to", "4.1"), "nowhere.yaml: "),
    ],
)
def test_bad_input_is_refused(scenario: str, options: tuple[str, ...], message: str) -> None:
    result = run("upgrade", scenario, *options)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"tidegauge: {message}")
