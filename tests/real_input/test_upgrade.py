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
from tidegauge.real_cluster.describe.upgrade_path import UpgradePath, upgrade_path
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
delegation.token.master.key=not-in-a-scenario
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
    options = ("--to", "4.1", "--properties", properties, "--seeds", "1..1", "--out", runs)
    brief = run("upgrade", mine, *options)
    assert brief.exit_code == 0, brief.output
    lines = brief.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines[:-1])) <= 100
    result = run("upgrade", mine, *options, "--verbose")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Changes from ZooKeeper 3.9.2 to KRaft 4.1.2: 3 faults" in text
    assert "Broker 1 is killed, and returns after 60 s This is one seed" in text
    assert "Settings that are gone" not in text
    assert "zookeeper.session.timeout.ms: use broker.session.timeout.ms, of controllers" in text
    assert (
        "The way from ZooKeeper 3.9.2 to KRaft 4.1.2 1. Migrate to KRaft in 3.9 (KIP-866)" in text
    )
    assert "2.1 or later before the brokers are of 4.0" in text
    assert "broker.session.timeout.ms=6000 on the controllers keeps the time" in text
    assert "own settings that KRaft 4.1.2 does not have - delegation.token.master.key: use" in text
    assert "zookeeper.connect: use process.roles, node.id, controller.listener.names" in text
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


def path_of(before: Scenario, target: str, *written: str) -> UpgradePath:
    return upgrade_path(before, scenario(target), written)


def test_a_cluster_with_zookeeper_goes_through_the_last_release_that_has_it() -> None:
    """KIP-866: it migrates in 3.9. Up to 2.4 a session was 6 s (KIP-537), with KRaft it is 9 s."""
    path = path_of(scenario("2.4"), "4.4")
    assert [step.partition(",")[0] for step in path.steps] == [
        "Upgrade the brokers to 3.9",
        "Set inter.broker.protocol.version=3.9",
        path.steps[2].partition(",")[0],
        "Upgrade the controllers and the brokers to 4.4",
        path.steps[4].partition(",")[0],
    ]
    assert "inter.broker.protocol.version=2.4" in path.steps[0]
    assert path.steps[2].startswith("Migrate to KRaft in 3.9 (KIP-866)")
    assert "kafka-features.sh upgrade --release-version 4.4" in path.steps[4]
    clients, _, failover = path.conditions
    assert "(KIP-896)" in clients
    assert "broker.session.timeout.ms=6000" in failover
    assert failover.endswith("without it, it is 9000")


def test_a_session_that_has_no_room_for_two_heartbeats_needs_shorter_ones() -> None:
    brief = {"brokers": 3, "settings": {"zookeeper.session.timeout.ms": 3000}}
    (*_, failover) = path_of(scenario("3.9", cluster=brief), "4.4").conditions
    assert "It needs broker.heartbeat.interval.ms=1500 or less" in failover


def test_a_cluster_with_kraft_needs_no_release_between_and_an_older_release_is_no_way() -> None:
    path = path_of(scenario("3.3", mode="kraft"), "4.4")
    assert len(path.steps) == 2
    assert not any("Failover" in each for each in path.conditions)
    within = path_of(scenario("4.1"), "4.4")
    assert (len(within.steps), within.conditions, within.removed) == (2, [], {})
    assert path_of(scenario("4.4"), "4.1") == UpgradePath([], [], {})


@pytest.mark.parametrize(
    ("name", "since", "instead"),
    [
        ("advertised.host.name", "3.0.0", "advertised.listeners"),
        ("zookeeper.ssl.client.enable", "4.0.0", ""),
        ("inter.broker.protocol.version", "4.0.0", "metadata.version"),
        ("control.plane.listener.name", "4.0.0", "controller.listener.names"),
        ("delegation.token.master.key", "4.0.0", "delegation.token.secret.key"),
        ("log.message.format.version", "4.0.0", ""),
    ],
)
def test_removed_settings_are_named_if_the_cluster_has_them(
    name: str, since: str, instead: str
) -> None:
    path = path_of(scenario("2.5"), "4.4", name, "log.retention.hours")
    (found,) = path.removed.items()
    assert (found[0], found[1].since) == (name, since)
    assert found[1].instead.startswith(instead)
    # In a release that still has it, it is no loss.
    later = path_of(scenario("3.9"), "4.4", name).removed
    assert (name in later) == (since == "4.0.0")


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
