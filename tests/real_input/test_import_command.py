"""``tidegauge import``, as a person at a shell meets it."""

from __future__ import annotations

import os
import random
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.model.selectors import Selector
from tidegauge.scenario.reading import Scenario, load_scenario, scenario_from_mapping

REAL_INPUT = Path(__file__).parents[1] / "data" / "real_input"
DUMPS = sorted(REAL_INPUT.glob("*.txt"))
DOWN = REAL_INPUT / "kafka-2.6.3-two-brokers-down-describe.txt"
HEALTHY = REAL_INPUT / "kafka-2.6.3-healthy-describe.txt"
UNDER_REPLICATED = REAL_INPUT / "kafka-2.6.3-two-brokers-down-under-replicated.txt"
KRAFT = REAL_INPUT / "kafka-4.1.0-two-brokers-down-describe.txt"
SERVERS = [REAL_INPUT / f"kafka-2.6.3-server-{broker}.properties" for broker in (101, 103)]

TWO_BROKERS = (
    "Topic: orders\tPartitionCount: 1\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\n"
)
RATES = "topic,messages_per_second,bytes_per_second,acks\n"
SMALL = (
    "Topic: orders\tPartitionCount: 3\tReplicationFactor: 2\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2\tIsr: 2\n"
    "\tTopic: orders\tPartition: 2\tLeader: 3\tReplicas: 3,1\tIsr: 1,3\n"
)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["import", *map(str, arguments)])


def imported(out: Path, *arguments: str | Path) -> dict[str, Any]:
    """What the scenario says that an import has written."""
    result = run(*arguments, "--out", out)
    assert result.exit_code == 0, result.output
    return data_in(out)


def data_in(out: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(out.read_text())
    return data


def scenario_of(data: dict[str, Any]) -> Scenario:
    return scenario_from_mapping(data, "imported.yaml")


def refusal(result: Result) -> str:
    """The one line in which the command says what was wrong with its input."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("tidegauge: ")
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.removeprefix("tidegauge: ").strip()


def in_words(result: Result) -> str:
    return " ".join(result.output.split())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    file = tmp_path / "describe.txt"
    file.write_text(SMALL)
    return file


# The cluster as it was.


@pytest.mark.parametrize("file", DUMPS, ids=lambda file: file.stem)
def test_every_line_of_a_real_dump_stands_in_the_scenario(file: Path, out: Path) -> None:
    data = imported(out, file)
    scenario_of(data)
    topics = {topic["name"]: topic for topic in data["topics"]}
    for line in file.read_text().splitlines():
        found = re.match(
            r"\tTopic: (\S+)\tPartition: (\d+)\tLeader: (\S+)\tReplicas: (\S*)\tIsr: ?([\d,]*)",
            line,
        )
        if not found:
            continue
        topic, number = topics[found[1]], int(found[2])
        assert topic["assignment"][number] == [int(broker) for broker in found[4].split(",")]
        replicas = topic["assignment"][number]
        state = topic["state"].get(number, {"leader": replicas[0], "isr": replicas})
        assert state["leader"] == ("none" if found[3] in {"none", "-1"} else int(found[3]))
        assert ",".join(map(str, state["isr"])) == found[5]


def test_brokers_that_were_down_are_down_and_it_is_told_why(out: Path) -> None:
    result = run(DOWN, "--properties", SERVERS[0], "--properties", SERVERS[1], "-o", out)
    assert result.exit_code == 0
    data = data_in(out)
    assert data["faults"] == [{"name": "down", "kind": "crash", "at": "0s", "brokers": [102, 103]}]
    assert data["cluster"]["start_spread"] == "0s"
    assert data["cluster"]["settings"]["zookeeper.session.timeout.ms"] == 18_000
    assert "brokers: 6 (down: 102, 103); racks: use1-az1, default, use1-az4" in result.output
    assert "topics: 5; partitions: 80, 4 without a leader, 49 under-replicated" in result.output
    assert "broker 102 is down: it has 32 replicas, leads no partition" in result.output
    assert "writes with acks=all are refused: audit_log" in in_words(result)
    alone = [
        (topic["name"], number)
        for topic in data["topics"]
        for number, state in topic["state"].items()
        if state["leader"] != "none" and len(state["isr"]) == 1
    ]
    assert f"fewer replicas in sync than min.insync.replicas: {len(alone)};" in result.output
    assert f"Next: tidegauge validate {out}" in result.output
    assert "(use --up 103 if it is up)" in " ".join(out.read_text().replace("#", "").split())


def test_who_knows_better_says_who_is_up_and_down(out: Path) -> None:
    data = imported(out, DOWN, "--up", "102", "--down", "106")
    assert data["faults"][0]["brokers"] == [103, 106]
    assert "faults" not in imported(out, HEALTHY, "--force")


def test_only_what_is_not_as_it_begins_has_a_state(small: Path, out: Path) -> None:
    (topic,) = imported(out, small)["topics"]
    assert topic["assignment"] == {0: [1, 2], 1: [2], 2: [3, 1]}
    assert topic["state"] == {
        0: {"leader": 1, "isr": [1]},
        1: {"leader": "none", "isr": [2]},
        2: {"leader": 3, "isr": [1, 3]},
    }


def test_partitions_that_are_not_in_a_dump_are_assumed_and_marked(out: Path) -> None:
    result = run(UNDER_REPLICATED, "-o", out)
    assert result.exit_code == 0
    (topic,) = [topic for topic in data_in(out)["topics"] if topic["name"] == "users.compacted"]
    assert {3, 4}.isdisjoint(topic["state"])
    assert not {102, 103} & {*topic["assignment"][3], *topic["assignment"][4]}
    assert "users.compacted: not in the dump: 3 to 4; assumed to be healthy" in in_words(result)
    marked = [line for line in out.read_text().splitlines() if line.endswith("# not in the dump")]
    assert len(marked) == 73 - len(UNDER_REPLICATED.read_text().splitlines())


def test_a_kraft_cluster_stays_one_with_its_eligible_leader_replicas(out: Path) -> None:
    """KIP-966: members of the ELR are not in the ISR, and an ISR may be empty."""
    result = run(KRAFT, "-o", out)
    data = data_in(out)
    assert (data["release"], data["mode"]) == ("4.4.0", "kraft")
    assert data["eligible_leader_replicas"] is True
    (topic,) = [topic for topic in data["topics"] if topic["name"] == "clickstream-raw"]
    lost = {"leader": "none", "isr": [], "elr": [104, 105], "last_known_leader": 104}
    assert topic["state"][18] == lost
    assert topic["state"][1] == {"leader": 102, "isr": [102], "elr": [104]}
    assert data["faults"][0]["brokers"] == [104, 105]
    assert "ZooKeeper" not in result.output
    assert "no file names the controllers: assumed are 3" in in_words(result)


def test_without_a_sign_eligible_leader_replicas_are_those_of_a_new_cluster(
    small: Path, out: Path
) -> None:
    """KIP-966: a healthy dump shows none. New clusters of 4.1 have them, upgraded ones not."""
    small.write_text(re.sub(r"(Isr: .*)", r"\1\tElr: \tLastKnownElr: ", SMALL))
    result = run(small, "-o", out)
    data = data_in(out)
    assert (data["mode"], data["eligible_leader_replicas"]) == ("kraft", True)
    assert "eligible leader replicas on (a guess)" in result.output.splitlines()[0]
    assert "one that was upgraded to it has not" in in_words(result)
    old = imported(out, small, "--release", "3.7", "--force")
    assert (old["release"], "eligible_leader_replicas" in old) == ("3.7.2", False)
    assert refusal(run(small, "--release", "2.6", "-o", out, "--force")).startswith("--release 2.6")


FEATURES = (
    "Feature: eligible.leader.replicas.version\tSupportedMinVersion: 0\tSupportedMaxVersion: 1\t"
    "FinalizedVersionLevel: {elr}\tEpoch: 91\n"
    "Feature: metadata.version\tSupportedMinVersion: 3.3-IV3\tSupportedMaxVersion: 4.1-IV1\t"
    "FinalizedVersionLevel: {version}\tEpoch: 91\n"
)


def test_the_levels_of_features_are_those_of_the_cluster(
    small: Path, tmp_path: Path, out: Path
) -> None:
    """kafka-features.sh describe shows what a healthy dump cannot."""
    features = tmp_path / "features.txt"
    features.write_text(FEATURES.format(elr=1, version="4.0-IV3"))
    data = imported(out, small, "--features", features)
    assert (data["release"], data["mode"]) == ("4.1.2", "kraft")
    assert (data["metadata_version"], data["eligible_leader_replicas"]) == ("4.0-IV3", True)
    features.write_text(FEATURES.format(elr=0, version="4.1-IV1"))
    data = imported(out, small, "--features", features, "--force")
    assert "metadata_version" not in data
    assert data["eligible_leader_replicas"] is False
    features.write_text("nothing\n")
    assert "has no metadata.version" in refusal(
        run(small, "--features", features, "-o", out, "--force")
    )


#: From 4.3 on the columns are padded, and two spaces stand between them.
PADDED_FEATURES = """\
Feature: eligible.leader.replicas.version  SupportedMinVersion: 0        \
SupportedMaxVersion: 1        FinalizedVersionLevel: 1        Epoch: 91
Feature: metadata.version                  SupportedMinVersion: 3.3-IV3  \
SupportedMaxVersion: {newest}  FinalizedVersionLevel: {version}  Epoch: 91
"""


def test_features_of_4_4_have_padded_columns(small: Path, tmp_path: Path, out: Path) -> None:
    features = tmp_path / "features.txt"
    features.write_text(PADDED_FEATURES.format(newest="4.4-IV2", version="4.3-IV0"))
    result = run(small, "--features", features, "-o", out)
    data = data_in(out)
    assert (data["release"], data["metadata_version"]) == ("4.4.0", "4.3-IV0")
    assert data["eligible_leader_replicas"] is True
    assert "newer" not in result.output


def test_a_cluster_that_is_newer_than_known_is_read_as_the_newest_and_that_is_told(
    small: Path, tmp_path: Path, out: Path
) -> None:
    """In the output and in the file, whose release stays that of the cluster."""
    features = tmp_path / "features.txt"
    features.write_text(PADDED_FEATURES.format(newest="4.5-IV1", version="4.5-IV0"))
    result = run(small, "--features", features, "-o", out)
    data = data_in(out)
    assert (data["release"], data["metadata_version"]) == ("4.5.0", "4.5-IV0")
    for line in (
        "Kafka 4.5.0 is newer than what is known: it is read as 4.4.0",
        "metadata.version 4.5-IV0 is newer than what is known: it is read as 4.4-IV2",
    ):
        assert line in in_words(result)
        assert line in " ".join(out.read_text().replace("#", " ").split())


NODE = """\
process.roles={roles}
node.id={id}
controller.quorum.voters=1@a:9093, 2@b:9093, 9@c:9093
broker.session.timeout.ms=6000
broker.heartbeat.interval.ms=1000
zookeeper.connect=
zookeeper.session.timeout.ms=18000
leader.replication.throttled.rate=1000000
"""


def test_files_of_kraft_nodes_give_the_controllers(small: Path, tmp_path: Path, out: Path) -> None:
    """Two combined nodes, a controller of its own, a broker of its own."""
    files: list[str | Path] = []
    for node, roles in ((1, "broker,controller"), (2, "controller, broker"), (9, "controller")):
        file = tmp_path / f"{node}.properties"
        file.write_text(NODE.format(id=node, roles=roles))
        files += ["--properties", file]
    result = run(small, *files, "-o", out)
    assert result.exit_code == 0, result.output
    data = data_in(out)
    assert data["controllers"] == {"count": 3, "settings": {"broker.session.timeout.ms": 6000}}
    assert data["cluster"]["settings"] == {
        "broker.heartbeat.interval.ms": 1000,
        "leader.replication.throttled.rate": 1000000,
    }
    assert data["cluster"]["brokers"] == [1, 2, 3]
    text = in_words(result)
    assert "nodes that are broker and controller: 1, 2; here the controllers are" in text
    assert "no meaning with KRaft: zookeeper.connect, zookeeper.session.timeout.ms" in text
    scenario_of(data)


#: As the distribution of 4.4 has it, and values of an operator's own.
CONTROLLER = """\
process.roles=controller
node.id=9
controller.quorum.bootstrap.servers=a:9093,b:9093,c:9093
listeners=CONTROLLER://:9093
advertised.listeners=CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
log.dirs=/tmp/kraft-controller-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.min.isr=1
log.retention.hours=168
default.replication.factor=3
min.insync.replicas=2
"""


def test_a_controllers_own_file_gives_what_it_decides_with(
    small: Path, tmp_path: Path, out: Path
) -> None:
    """Brokers have their own min.insync.replicas, by which leaders accept writes."""
    controller, broker = tmp_path / "controller.properties", tmp_path / "server.properties"
    controller.write_text(CONTROLLER)
    broker.write_text(NODE.format(id=1, roles="broker") + "min.insync.replicas=1\n")
    result = run(small, "--properties", controller, "--properties", broker, "-o", out)
    assert result.exit_code == 0, result.output
    data = data_in(out)
    assert data["release"] == "4.4.0"
    assert data["controllers"]["settings"] == {
        "default.replication.factor": 3,
        "min.insync.replicas": 2,
    }
    assert data["cluster"]["settings"]["min.insync.replicas"] == 1


@pytest.mark.parametrize(
    ("own_racks", "placed", "is_said"),
    [
        ({}, ["a", "b", "c"], True),
        ({9: "c"}, ["c", "a", "b"], True),
        ({7: "c", 8: "c", 9: "b"}, ["c", "c", "b"], False),
        ({7: "a", 8: "b", 9: "b"}, ["a", "b", "b"], False),
        ({8: "b", 9: "b"}, ["b", "b", "a"], True),
    ],
)
def test_controllers_without_a_rack_are_spread_over_the_brokers_racks(
    own_racks: dict[int, str],
    placed: list[str],
    is_said: bool,
    small: Path,
    tmp_path: Path,
    out: Path,
) -> None:
    """By name, and said; broker.rack in the file of a controller wins."""
    quorum = "controller.quorum.voters=7@a:1,8@b:1,9@c:1\n"
    files: list[str | Path] = []
    for broker, rack in ((1, "b"), (2, "c"), (3, "a")):
        file = tmp_path / f"{broker}.properties"
        file.write_text(f"process.roles=broker\nnode.id={broker}\nbroker.rack={rack}\n{quorum}")
        files += ["--properties", file]
    for node, rack in own_racks.items():
        file = tmp_path / f"{node}.properties"
        file.write_text(f"process.roles=controller\nnode.id={node}\nbroker.rack={rack}\n{quorum}")
        files += ["--properties", file]
    result = run(small, *files, "-o", out)
    assert data_in(out)["controllers"]["racks"] == placed
    said = f"no file has the racks of all controllers: assumed are {', '.join(placed)}, in turn"
    assert (said in in_words(result)) == is_said
    lost = scenario_of(data_in(out)).controllers_of([Selector("rack", name="c")])
    assert lost == [number for number in range(3) if placed[number % len(placed)] == "c"]


@pytest.mark.parametrize(
    ("servers", "count", "said"),
    [
        ("controller.quorum.bootstrap.servers=a:1,b:1,c:1,d:1,e:1", 5, None),
        ("controller.quorum.bootstrap.servers=a:1,b:1", 2, "has 2 controllers: assumed are these"),
        ("controller.quorum.voters=7@a:1,8@b:1", 3, "has 2 controllers; simulated are 3"),
        ("controller.quorum.voters=7@a:1", 1, None),
    ],
)
def test_the_number_of_controllers(
    servers: str, count: int, said: str | None, small: Path, tmp_path: Path, out: Path
) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"process.roles=broker\nnode.id=1\n{servers}\n")
    result = run(small, "--properties", file, "-o", out)
    assert data_in(out)["controllers"]["count"] == count
    assert (said or "no file is of a controller") in in_words(result)


def test_a_broker_that_is_being_migrated_still_uses_zookeeper(
    small: Path, tmp_path: Path, out: Path
) -> None:
    """KIP-866: it has a quorum of controllers, zookeeper.connect and no process.roles."""
    file = tmp_path / "server.properties"
    file.write_text("broker.id=1\nzookeeper.connect=zk\ncontroller.quorum.voters=7@a:1\n")
    assert "mode" not in imported(out, small, "--properties", file)


def test_the_properties_of_a_broker_come_through_a_pipe(small: Path, out: Path) -> None:
    """``ssh broker-1 cat server.properties | tidegauge import describe.txt --properties -``."""
    arguments = ["import", str(small), "--properties", "-", "--out", str(out)]
    properties = "broker.id=1\nreplica.lag.time.max.ms=12000\n"
    result = CliRunner().invoke(app, arguments, input=properties)
    assert result.exit_code == 0, result.output
    assert data_in(out)["cluster"]["settings"] == {"replica.lag.time.max.ms": 12000}


def test_a_reassignment_in_progress_is_part_of_the_state(out: Path, small: Path) -> None:
    """With KRaft it continues by itself; a broker that only gets replicas is not down for that."""
    small.write_text(
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 4,1,2,3\tIsr: 1,2,3"
        "\tAdding Replicas: 4\tRemoving Replicas: 3\tElr: \tLastKnownElr: \n"
    )
    data = imported(out, small)
    state = {"leader": 1, "isr": [1, 2, 3], "adding": [4], "removing": [3]}
    assert data["topics"][0]["state"] == {0: state}
    assert {"steps", "faults"}.isdisjoint(data)
    scenario_of(data)


def test_a_leader_that_is_not_in_its_printed_isr_is_added(small: Path, out: Path) -> None:
    """Also broker 0: its partition is not one that only an unclean election can give a leader."""
    small.write_text("\tTopic: orders\tPartition: 0\tLeader: 0\tReplicas: 0,1\tIsr: \n")
    result = run(small, "-o", out)
    assert data_in(out)["topics"][0]["state"] == {0: {"leader": 0, "isr": [0]}}
    text = in_words(result)
    assert "orders-0: its leader 0 is not in the printed ISR: added" in text
    assert "unclean election" not in text


def test_min_insync_replicas_suit_the_eligible_leader_replicas(small: Path, out: Path) -> None:
    """A dump of some partitions has no settings of topics; an ELR needs a larger min ISR."""
    small.write_text(
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: 2\tLastKnownElr: \n"
    )
    result = run(small, "-o", out, "--up", "2")
    (topic,) = data_in(out)["topics"]
    assert topic["settings"] == {"min.insync.replicas": 2}
    assert "orders: min.insync.replicas is 2 or more, since partitions have an Elr" in in_words(
        result
    )


def test_the_release_follows_from_the_protocol_unless_it_is_chosen(
    small: Path, tmp_path: Path, out: Path
) -> None:
    server = tmp_path / "server.properties"
    server.write_text("broker.id=1\ninter.broker.protocol.version=2.4\n")
    data = imported(out, small, "--properties", server)
    assert (data["release"], data["protocol"]) == ("2.4.1", "2.4-IV1")
    data = imported(out, small, "--properties", server, "--release", "2.8", "--force")
    assert (data["release"], data["protocol"]) == ("2.8.2", "2.4-IV1")
    refused = run(small, "--properties", server, "--release", "2.0", "-o", out, "--force")
    assert refusal(refused).startswith(
        f"{server}:2: inter.broker.protocol.version 2.4-IV1 is newer"
    )


def test_a_new_tool_prints_elr_of_brokers_with_zookeeper_too(
    small: Path, tmp_path: Path, out: Path
) -> None:
    """From 3.7 on: N/A, if they do not answer DescribeTopicPartitions."""
    server = tmp_path / "server.properties"
    server.write_text("broker.id=1\nzookeeper.connect=zk\ninter.broker.protocol.version=2.8\n")
    small.write_text(re.sub(r"(Isr: .*)", r"\1\tElr: N/A\tLastKnownElr: N/A", SMALL))
    result = run(small, "--properties", server, "-o", out)
    assert data_in(out)["release"] == "2.8.2"
    assert "KRaft" not in result.output
    result = run(small, "-o", out, "--force")
    assert data_in(out)["release"] == "3.9.2"
    assert "the dump has Elr, so the tool is of 3.7 or newer" in in_words(result)


def test_a_cluster_with_zookeeper_can_be_tried_with_a_release_that_has_none(
    out: Path,
) -> None:
    result = run(DOWN, "--properties", SERVERS[0], "--release", "4.1", "-o", out)
    data = data_in(out)
    assert (data["release"], data["mode"]) == ("4.1.2", "kraft")
    assert "Kafka 4.1.2 has no ZooKeeper: the cluster is simulated with KRaft" in in_words(result)
    scenario_of(data)


def test_in_the_middle_of_an_upgrade_brokers_speak_different_protocols(
    small: Path, tmp_path: Path, out: Path
) -> None:
    files: list[str | Path] = []
    for broker, protocol in ((1, "2.4"), (2, "2.6")):
        file = tmp_path / f"{broker}.properties"
        file.write_text(f"broker.id={broker}\ninter.broker.protocol.version={protocol}\n")
        files += ["--properties", file]
    data = imported(out, small, *files)
    assert data["release"] == "2.6.3"
    assert data["cluster"]["broker_releases"] == {
        1: {"protocol": "2.4-IV1"},
        2: {"protocol": "2.6-IV0"},
    }


@pytest.mark.parametrize("file", [HEALTHY, DOWN, KRAFT], ids=lambda file: file.stem)
def test_a_run_begins_with_what_the_tool_printed(file: Path, tmp_path: Path, out: Path) -> None:
    imported(out, file, "--duration", "6s")
    folder = tmp_path / "run"
    simulate(load_scenario(out, {"liveness": False}), folder, make_engine=inline())
    result = CliRunner().invoke(app, ["describe", str(folder), "--at", "0s"])
    assert result.exit_code == 0, result.output
    printed = [line for line in file.read_text().splitlines() if "\tPartition: " in line]
    begun = [line for line in result.stdout.splitlines() if "\tPartition: " in line]
    assert sorted(begun) == sorted(printed)


# Work to do.


def test_rates_become_producers(small: Path, tmp_path: Path, out: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text(f"{RATES}orders,5000,2500000,1\n")
    (group,) = imported(out, small, "--rates", rates)["workload"]["producers"]
    assert group["batches_per_second"] * group["records_per_batch"] == 5000
    assert group["record_bytes"] == 500
    assert group["records_per_batch"] * group["record_bytes"] <= 16_384
    assert group["settings"] == {"acks": 1}


def test_without_rates_each_topic_but_kafkas_own_gets_some_work(small: Path, out: Path) -> None:
    small.write_text(SMALL + SMALL.replace("orders", "__consumer_offsets"))
    result = run(small, "-o", out)
    (group,) = data_in(out)["workload"]["producers"]
    assert group["topics"] == ["orders"]
    assert "2 batches a second of 50 records of 200 bytes with acks=all" in in_words(result)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("", " has no rows below a header"),
        ("order,1,1,all\n", "2: there is no topic order; did you mean orders?"),
        ("orders,1,1,all\norders,1,1,all\n", "3: orders appears twice"),
        ("orders,many,1,all\n", "2: messages_per_second must be a number"),
        ("orders,1,0,all\n", "2: bytes_per_second must be more than 0"),
        ("orders,1,1,most\n", "2: acks must be all, 0 or 1"),
        ("orders,1\n", "2: has 2 columns, and the header has 4"),
        ('orders,"1,1,all\n', "2: is not valid CSV"),
        ("orders,1e12,1e12,all\n", "2: would need"),
    ],
)
def test_rates_that_are_none_are_refused(
    small: Path, tmp_path: Path, out: Path, rows: str, expected: str
) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text(RATES + rows)
    refused = refusal(run(small, "--rates", rates, "-o", out))
    assert refused.startswith(f"{rates}:{expected}")
    assert not out.exists()


def test_a_reassignment_becomes_a_step(small: Path, tmp_path: Path, out: Path) -> None:
    plan = tmp_path / "move.json"
    plan.write_text(
        '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [3, 2],'
        ' "log_dirs": ["any", "any"]}]}'
    )
    data = imported(out, small, "--reassignment", plan, "--reassign-at", "30s")
    move = {"topic": "orders", "partition": 0, "replicas": [3, 2]}
    assert data["steps"] == [{"at": "30s", "do": "reassign", "partitions": [move]}]
    scenario_of(data)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"version": 1,\n "partitions": [}', "2: is not valid JSON"),
        ("[]", " must be a JSON object"),
        ('{"version": 1}', " partitions: is missing"),
        (
            '{"partitions": [{"topic": "orders", "partition": 0}]}',
            " partitions[0].replicas: is mis",
        ),
        (
            '{"partitions": [{"topic": "order", "partition": 0, "replicas": [1]}]}',
            " partitions[0].topic: there is no topic order; did you mean orders?",
        ),
        ('{"partitions": [], "\\ud800": 1}', " has a name with half of a surrogate pair in it"),
        (
            '{"partitions": [{"topic": "orders", "partition": 3, "replicas": [1]}]}',
            " partitions[0].partition: the last partition of orders is 2",
        ),
        (
            '{"partitions": [{"topic": "orders", "partition": 0, "replicas": [7]}]}',
            " partitions[0].replicas: broker 7 is not in the dump",
        ),
    ],
)
def test_a_reassignment_of_what_there_is_not_is_refused(
    small: Path, tmp_path: Path, out: Path, text: str, expected: str
) -> None:
    plan = tmp_path / "move.json"
    plan.write_text(text)
    assert refusal(run(small, "--reassignment", plan, "-o", out)).startswith(f"{plan}:{expected}")


def test_what_was_being_moved_goes_on_moving(small: Path, out: Path) -> None:
    small.write_text(
        SMALL.replace("1,2\tIsr: 1", "1,2,3\tIsr: 1\tAdding Replicas: 3\tRemoving Replicas: 1")
    )
    data = imported(out, small)
    assert data["topics"][0]["assignment"][0] == [1, 2, 3]
    move = {"topic": "orders", "partition": 0, "replicas": [2, 3]}
    assert data["steps"] == [{"at": "500ms", "do": "reassign", "partitions": [move]}]


def test_partitions_are_assumed_to_have_as_many_replicas_as_when_all_have_moved(
    small: Path, out: Path
) -> None:
    moving = "Replicas: 3,2,1\tIsr: 1,2\tAdding Replicas: 3\tRemoving Replicas: 1\n"
    small.write_text(
        f"\tTopic: orders\tPartition: 0\tLeader: 1\t{moving}"
        "\tTopic: orders\tPartition: 2\tLeader: 3\tReplicas: 3,1\tIsr: 3,1\n"
    )
    assignment = imported(out, small)["topics"][0]["assignment"]
    assert [len(replicas) for replicas in assignment.values()] == [3, 2, 2]


# The file.


def test_the_faults_that_are_proposed_can_be_had_by_taking_a_sign_away(out: Path) -> None:
    for dump in (HEALTHY, DOWN):
        run(dump, "--properties", SERVERS[0], "-o", out, "--force")
        text = re.sub(r"^#(faults:|  - )", r"\1", out.read_text(), flags=re.MULTILINE)
        proposed = scenario_of(yaml.safe_load(text)).faults
        kinds = [fault.kind for fault in proposed if fault.name != "down"]
        assert kinds == ["crash", "slow_disk", "power_loss"]


def test_a_file_that_is_there_is_overwritten_only_if_asked(small: Path, out: Path) -> None:
    out.write_text("mine")
    assert refusal(run(small, "-o", out)) == f"{out}: exists; --force overwrites it"
    assert out.read_text() == "mine"
    assert imported(out, small, "--force")["name"] == "mine"
    assert sorted(file.name for file in out.parent.iterdir()) == ["describe.txt", "mine.yaml"]


def test_a_pipe_or_a_device_is_never_replaced_by_a_file(small: Path, out: Path) -> None:
    os.mkfifo(out)
    refused = refusal(run(small, "-o", out, "--force"))
    assert refused == f"{out}: is a device or a pipe, not a file"
    assert out.is_fifo()


def test_where_nothing_can_be_written_nothing_is(small: Path, tmp_path: Path) -> None:
    for place in (small / "mine.yaml", tmp_path / ("a" * 300)):
        assert refusal(run(small, "-o", place)).startswith(f"{place}: cannot be written: ")
    assert refusal(run(small, "-o", tmp_path)) == f"{tmp_path}: is a folder"
    assert list(tmp_path.iterdir()) == [small]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--duration", "soon"], "--duration soon: must be a duration"),
        (["--duration", "0.5"], "--duration 500ms: must be 1s or more"),
        (["--duration", "900ms"], "--duration 900ms: must be 1s or more"),
        (["--up", "9"], "describe.txt: --up 9: the dump has brokers 1, 2, 3 only"),
        (["--up", "1", "--down", "1"], "describe.txt: --up 1 and --down 1 exclude each other"),
        (["--properties", "missing"], "missing: cannot be read: No such file or directory"),
        (["--name", ""], "--name '': must have"),
    ],
)
def test_wrong_options_are_named(small: Path, out: Path, options: list[str], expected: str) -> None:
    assert expected in refusal(run(small, "-o", out, *options))
    assert not out.exists()


def test_odd_texts_are_read_back_as_they_were(small: Path, tmp_path: Path, out: Path) -> None:
    values = [
        "yes",
        "null",
        "1e3",
        "2.60",
        "a: b",
        "- x",
        "12:30:45",
        "#no",
        "ü\u2028b",
        "'\"\\",
        "",
    ]
    server = tmp_path / "server.properties"
    escapes = ["".join(rf"\u{ord(letter):04x}" for letter in value) for value in values]
    lines = [f"odd.{place}={escape}" for place, escape in enumerate(escapes)]
    server.write_text("\n".join(["broker.id=1", "broker.rack=a, \\u007b b", *lines]))
    cluster = imported(out, small, "--properties", server)["cluster"]
    assert [cluster["settings"][f"odd.{place}"] for place in range(len(values))] == values
    assert "a, { b" in cluster["racks"]


# Whatever it is given.


def mutant_of(text: str, draw: random.Random) -> str:
    """A dump with one to three accidents."""
    for _ in range(draw.randint(1, 3)):
        begin = draw.randrange(len(text) + 1)
        end = min(len(text), begin + draw.choice([0, 1, 1, 2, 9, 80]))
        put = draw.choice(
            ["", "", "7", "-", ",", ":", "=", "\t", "\n", "\0", "é", text[begin:end] * 2]
        )
        text = text[:begin] + put + text[end:]
    return text


@pytest.mark.parametrize("dump", [SMALL, HEALTHY.read_text(), KRAFT.read_text()], ids=len)
def test_a_dump_with_accidents_is_imported_or_refused_in_one_line(
    dump: str, tmp_path: Path
) -> None:
    draw = random.Random(len(dump))  # noqa: S311 - the same accidents each time
    file, out = tmp_path / "describe.txt", tmp_path / "mine.yaml"
    statuses = set()
    for _ in range(30):
        file.write_text(mutant_of(dump, draw))
        result = run(file, "-o", out, "--force")
        statuses.add(result.exit_code)
        assert result.exit_code in {0, 2}, (file.read_text(), result.exception)
        if result.exit_code == 0:
            scenario_of(data_in(out))
            out.unlink()
        else:
            assert re.match(rf"{re.escape(str(file))}(:\d+)?: ", refusal(result))
        assert not out.exists()
    assert statuses == {0, 2}


def test_a_scenario_can_be_made_short_without_a_change_to_its_clients(
    small: Path, tmp_path: Path, out: Path
) -> None:
    """Who only wants to see the state at the beginning runs a second, and replays it too."""
    imported(out, small)
    run = tmp_path / "run"
    short = CliRunner().invoke(
        app, ["run", str(out), "--inline", "--set", "duration=1s", "--out", str(run)]
    )
    assert short.exit_code == 0, short.output
    again = CliRunner().invoke(app, ["replay", str(run)])
    assert again.exit_code == 0, again.output
    said = CliRunner().invoke(app, ["validate", str(out), "--set", "duration=1s"])
    assert "NEVER BEGINS: too short a run" in said.output


def test_another_file_in_the_place_of_properties_is_noticed(
    small: Path, tmp_path: Path, out: Path
) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("topic,messages_per_second,bytes_per_second\norders.v2,10,100\n")
    result = CliRunner().invoke(
        app, ["import", str(small), "--properties", str(rates), "-o", str(out)]
    )
    assert result.exit_code == 2
    assert result.stderr == f"tidegauge: {rates}: has no settings of a broker\n"
    assert not out.exists()


def test_a_folder_or_a_pattern_of_properties_stands_for_its_files(tmp_path: Path) -> None:
    """Kafka's own config folder has consumer.properties beside the broker's."""
    config = tmp_path / "config"
    config.mkdir()
    for broker in (1, 2):
        (config / f"server-{broker}.properties").write_text(
            f"broker.id={broker}\nbroker.rack=r{broker}\n"
        )
    (config / "consumer.properties").write_text("group.id=test-consumer-group\n")
    dump = tmp_path / "dump.txt"
    dump.write_text(TWO_BROKERS)
    scenarios = {}
    for name, given in (
        ("each", [config / "server-1.properties", config / "server-2.properties"]),
        ("folder", [config]),
        ("pattern", [f"{config}/server-*.properties"]),
    ):
        out = tmp_path / f"{name}.yaml"
        options = [word for each in given for word in ("--properties", str(each))]
        result = CliRunner().invoke(
            app, ["import", str(dump), *options, "-o", str(out), "--name", "same"]
        )
        assert result.exit_code == 0, result.output
        scenarios[name] = out.read_text()
    assert "r1: [1]" in scenarios["each"]
    assert scenarios["each"] == scenarios["folder"] == scenarios["pattern"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("empty", "empty: has no file *.properties"),
        ("*.properties", "*.properties: matches no file"),
    ],
)
def test_a_folder_or_pattern_without_files_is_refused(
    given: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    Path("dump.txt").write_text(TWO_BROKERS)
    result = CliRunner().invoke(
        app, ["import", "dump.txt", "--properties", given, "-o", "out.yaml"]
    )
    assert (result.exit_code, result.stderr) == (2, f"tidegauge: {message}\n")
    assert not Path("out.yaml").exists()


def test_the_dump_may_come_from_standard_input(tmp_path: Path) -> None:
    """kafka-topics.sh --describe | tidegauge import - -o mine.yaml."""
    out = tmp_path / "mine.yaml"
    result = CliRunner().invoke(app, ["import", "-", "-o", str(out)], input=TWO_BROKERS)
    assert result.exit_code == 0, result.output
    assert out.read_text().startswith("# Made by `tidegauge import` from standard input.")
    wrong = CliRunner().invoke(app, ["import", "-", "-o", str(tmp_path / "no.yaml")], input="x\n")
    assert wrong.exit_code == 2
    assert wrong.stderr.startswith("tidegauge: standard input:")


def test_a_slip_in_server_properties_is_refused_and_what_is_kraft_s_is_warned_of(
    tmp_path: Path,
) -> None:
    dump, file, out = (tmp_path / name for name in ("dump.txt", "server.properties", "out.yaml"))
    dump.write_text(TWO_BROKERS)
    file.write_text("broker.id=1\nmin.insync.replica=2\n")
    command = ["import", str(dump), "--properties", str(file), "-o", str(out)]
    result = CliRunner().invoke(app, command)
    assert (result.exit_code, out.exists()) == (2, False)
    assert f"{file}:2: min.insync.replica: Kafka has no setting of this name" in result.stderr
    assert "did you mean min.insync.replicas?" in result.stderr
    file.write_text("broker.id=1\nbroker.session.timeout.ms=9000\n")
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0
    assert "broker.session.timeout.ms): brokers with ZooKeeper ignore settings" in result.stderr
