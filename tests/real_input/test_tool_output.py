"""``tidegauge import`` of the output of Kafka's tools, as people save it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from importing import Importing

KRAFT = """\
Topic: orders\tTopicId: q6t8O81ZR3Odgwr8kOJx6Q\tPartitionCount: 2\tReplicationFactor: 3\tConfigs:
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2,3\tIsr: 1,2,3\tElr: \tLastKnownElr:
\tTopic: orders\tPartition: 1\tLeader: 2\tReplicas: 2,3,1\tIsr: 2,3,1\tElr: \tLastKnownElr:
"""
#: Confluent's tool: broker 4 is down, broker 3 is only slow.
CONFLUENT = """\
Topic: test\tTopicId: Wrdu19lVS1KF4_eOYIMFlQ\tPartitionCount: 2\tReplicationFactor: 3\tConfigs:
\tTopic: test\tPartition: 0\tLeader: 1\tReplicas: 1,3,4\tIsr: 1\tOffline: 4\tElr: N/A
\tTopic: test\tPartition: 1\tLeader: 2\tReplicas: 2,4,3\tIsr: 2\tOffline: 4\tElr: N/A
"""


class Shell(Importing):
    """A shell with dumps beside other files."""

    def of_dump(self, dump: str, *options: str | Path) -> tuple[dict[str, Any], str]:
        """The scenario of a dump, and the output in one line."""
        return self.imported(self.file("dump.txt", dump), *options)

    def refused_of_kraft(self, *options: str | Path) -> str:
        """The error about options beside the dump of a cluster of KRaft."""
        return self.refused(self.file("dump.txt", KRAFT), *options)


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path)


# kafka-topics --describe.


def test_a_broker_is_down_if_all_of_its_replicas_are_offline(shell: Shell) -> None:
    """A broker that is in no ISR, but not offline, is only behind."""
    data, output = shell.of_dump(CONFLUENT)
    assert data["faults"][0]["brokers"] == [4]
    assert "broker 4 is down: it has 2 replicas, all of them offline" in output
    assert "columns that are not read" not in output
    without = CONFLUENT.replace("\tOffline: 4", "")
    assert shell.of_dump(without)[0]["faults"][0]["brokers"] == [3, 4]


def test_a_replica_that_is_offline_on_a_broker_that_is_up_lost_its_directory(shell: Shell) -> None:
    """KIP-112: a broker without one of its log directories goes on with the others."""
    data, output = shell.of_dump(CONFLUENT.replace("Isr: 2\tOffline: 4", "Isr: 2,4\tOffline:"))
    assert "faults" not in data
    assert "broker 4 is up, and some of its replicas are offline: a log directory" in output


def test_observers_are_left_out_with_a_warning_for_each_topic(shell: Shell) -> None:
    """Confluent's observers copy and are in no ISR, unless they are promoted."""
    dump = CONFLUENT.replace("Offline: 4", "Offline:\tObservers: 4,3").replace(
        "Isr: 2\t", "Isr: 2,3\t"
    )
    data, output = shell.of_dump(dump)
    assert data["topics"][0]["assignment"] == {0: [1], 1: [2, 3]}
    assert data["cluster"]["brokers"] == [1, 2, 3, 4]
    assert "faults" not in data
    assert "test: observers on 3, 4 are left out, so elections differ" in output


@pytest.mark.parametrize(
    ("dump", "options", "mode"),
    [
        (CONFLUENT, [], "with ZooKeeper (a guess);"),
        (CONFLUENT, ["--release", "2.6"], "Kafka 2.6.3;"),
        (KRAFT, ["--release", "4.0"], "with KRaft, eligible leader replicas off (a guess);"),
        (KRAFT, ["--release", "4.2"], "with KRaft, eligible leader replicas on (a guess);"),
    ],
)
def test_the_first_line_names_the_mode_and_whether_it_is_a_guess(
    dump: str, options: list[str], mode: str, shell: Shell
) -> None:
    assert mode in shell.of_dump(dump, *options)[1].split(" of virtual time")[0]


# Tools of KRaft.


def test_features_have_the_release_the_metadata_version_and_elr(shell: Shell) -> None:
    """KIP-584: a line for each feature; KIP-966 is one of them."""
    line = "Feature: {}\tSupportedMinVersion: 0\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}"
    text = "\tEpoch: 74\n".join(
        [
            line.format("eligible.leader.replicas.version", 1, 1),
            line.format("metadata.version", "4.2-IV1", "4.1-IV1"),
            "",
        ]
    )
    data, output = shell.of_dump(KRAFT, "--features", shell.file("features.txt", text))
    assert (data["release"], data["metadata_version"]) == ("4.2.2", "4.1-IV1")
    assert data["eligible_leader_replicas"] is True
    assert "eligible leader replicas on;" in output


STATUS = """\
ClusterId:              fMCL8kv1SWm87L_Md-I2hg
LeaderId:               3002
LeaderEpoch:            2
CurrentVoters:          [3000,3001,3002,3003,3004]
CurrentObservers:       [1,2,3,4]
"""
STATUS_OF_3_9 = """\
CurrentVoters: [{"id": 1, "directoryId": "dA", "endpoints": ["CONTROLLER://a:9093"]}, {"id": 5}]
CurrentObservers:       [{"id": 2, "directoryId": "dB"}, {"id": 3, "directoryId": "dC"}]
"""
REPLICATION = """\
NodeId\tDirectoryId\tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus
3002\tdA\t1804\t0\t1732720000123\t1732720000123\tLeader
3000\tdB\t1804\t0\t5 ms ago\t5 ms ago\tFollower
3001\tdC\t1804\t0\t5 ms ago\t5 ms ago\tFollower
4\tdD\t1804\t0\t5 ms ago\t5 ms ago\tObserver
"""


@pytest.mark.parametrize(
    ("text", "count", "brokers", "notice"),
    [
        (STATUS, 5, [1, 2, 3, 4], "brokers that have no replica in the dump, up: 4"),
        (STATUS_OF_3_9, 3, [1, 2, 3], "the quorum has 2 controllers; simulated are 3"),
        (REPLICATION, 3, [1, 2, 3, 4], "brokers that have no replica in the dump, up: 4"),
    ],
)
def test_the_quorum_has_the_controllers_and_brokers_without_replicas(
    text: str, count: int, brokers: list[int], notice: str, shell: Shell
) -> None:
    """KIP-836; voters with directory ids and endpoints are those of KIP-853."""
    data, output = shell.of_dump(KRAFT, "--quorum", shell.file("quorum.txt", text))
    assert (data["controllers"]["count"], data["cluster"]["brokers"]) == (count, brokers)
    assert notice in output
    assert "assumed are 3" not in output


#: As the tool of 4.4.0 prints it: controller 12 was added without an end of its observer 12 of
#: before; 13 observes.
STATUS_OF_4_4 = """\
CurrentVoters:          [{"id": 10, "directoryId": "c10", "endpoints": ["CONTROLLER://k1:9093"]}, \
{"id": 11, "directoryId": "c11", "endpoints": ["CONTROLLER://k2:9093"]}, \
{"id": 12, "directoryId": "c12b", "endpoints": ["CONTROLLER://k3:9093"]}]
CurrentObservers:       [{"id": 12, "directoryId": "c12a"}, {"id": 13, "directoryId": "c13"}, \
{"id": 4, "directoryId": "b4"}]
"""
STATIC_OF_4_4 = """\
CurrentVoters: [{"id": 10, "directoryId": null, "endpoints": ["CONTROLLER://k1:9093"]}]
CurrentObservers: [{"id": 4, "directoryId": "b4"}]
"""
OBSERVING = """\
process.roles=controller
node.id=13
controller.quorum.bootstrap.servers=k1:9093,k2:9093
"""


def test_voters_with_directories_may_change(shell: Shell) -> None:
    """KIP-853: controllers that observe come behind the voters, and are no brokers."""
    quorum = shell.file("quorum.txt", STATUS_OF_4_4)
    own = shell.file("controller.properties", OBSERVING)
    data, output = shell.of_dump(KRAFT, "--quorum", quorum, "--properties", own)
    assert data["controllers"] == {"count": 4, "voters": [0, 1, 2], "bootstrap_servers": [0, 1]}
    assert data["cluster"]["brokers"] == [1, 2, 3, 4]
    told = "a controller may observe, too, and its own file (--properties) tells that"
    assert f"{told}: 4 " in output
    assert "controllers that observe: 13" in output
    assert "observe with another directory than that of the voter with their id" in output
    data, output = shell.of_dump(KRAFT, "--quorum", quorum, "--force")
    assert data["cluster"]["brokers"] == [1, 2, 3, 4, 13]
    assert f"{told}: 4, 13 " in output


def test_voters_without_directories_stay(shell: Shell) -> None:
    """Those of controller.quorum.voters, although the node itself names bootstrap servers only."""
    quorum = shell.file("quorum.txt", STATIC_OF_4_4)
    own = shell.file("controller.properties", OBSERVING.replace("13", "10"))
    data, _ = shell.of_dump(KRAFT, "--quorum", quorum, "--properties", own)
    assert data["controllers"] == {"count": 1}


@pytest.mark.parametrize(("level", "voters"), [(0, None), (1, [0, 1, 2])])
def test_kraft_version_1_says_that_voters_may_change(
    level: int, voters: list[int] | None, shell: Shell
) -> None:
    """KAFKA-16538: the voters of files that were not changed since."""
    line = "Feature: {}\tSupportedMinVersion: 0\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}"
    lines = [
        line.format("kraft.version", 1, level),
        line.format("metadata.version", "4.4-IV2", "4.4"),
    ]
    features = shell.file("features.txt", "\n".join([*lines, ""]))
    file = "process.roles=broker\nnode.id=1\ncontroller.quorum.voters=7@a:1,8@b:1,9@c:1\n"
    own = shell.file("server.properties", file)
    data, _ = shell.of_dump(KRAFT, "--features", features, "--properties", own)
    assert data["controllers"].get("voters") == voters
    assert data["controllers"]["count"] == 3


def test_voters_that_no_file_names_are_assumed(shell: Shell) -> None:
    """kraft.version 1 alone has no number of them; files of controllers have."""
    line = (
        "Feature: {}\tSupportedMinVersion: 0\tSupportedMaxVersion: {}\tFinalizedVersionLevel: {}\n"
    )
    levels = line.format("kraft.version", 1, 1) + line.format("metadata.version", "4.4-IV2", "4.4")
    features = shell.file("features.txt", levels)
    data, output = shell.of_dump(KRAFT, "--features", features)
    assert data["controllers"] == {"count": 3, "voters": [0, 1, 2]}
    assert (
        "no file names the controllers: assumed are 3, all of them voters; --quorum has" in output
    )
    files = [
        shell.file(f"{node}.properties", f"process.roles=controller\nnode.id={node}\n")
        for node in (10, 11)
    ]
    own = [word for file in files for word in ("--properties", file)]
    data, output = shell.of_dump(KRAFT, "--features", features, *own, "--force")
    assert data["controllers"] == {"count": 2, "voters": [0, 1]}
    assert "files are of 2 controllers: assumed are these as voters" in output


def test_output_without_voters_is_refused(shell: Shell) -> None:
    error = shell.refused(
        shell.file("dump.txt", KRAFT), "--quorum", shell.file("quorum.txt", KRAFT)
    )
    assert error.startswith("quorum.txt: has no voters: is it the output of")


# kafka-configs --describe.

CONFIGS = """\
All configs for broker 1 are:
  log.cleaner.threads=1 sensitive=false synonyms={DEFAULT_CONFIG:log.cleaner.threads=1}
  broker.rack=a sensitive=false synonyms={STATIC_BROKER_CONFIG:broker.rack=a}
  replica.lag.time.max.ms=15000 sensitive=false synonyms={STATIC_BROKER_CONFIG:x=15000, D:x=30000}
  ssl.keystore.password=null sensitive=true synonyms={STATIC_BROKER_CONFIG:y=null}
All configs for broker 2 are:
  broker.rack=b sensitive=false synonyms={STATIC_BROKER_CONFIG:broker.rack=b}
  replica.lag.time.max.ms=20000 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:x=20000, D:x=15000}
Dynamic configs for topic orders are:
  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}
"""


def test_configs_of_brokers_are_those_that_somebody_has_set(shell: Shell) -> None:
    data, output = shell.of_dump(KRAFT, "--properties", shell.file("configs.txt", CONFIGS))
    assert data["cluster"]["racks"] == {"a": [1], "b": [2], "default": [3]}
    lag = "replica.lag.time.max.ms"
    assert data["cluster"]["broker_settings"] == {1: {lag: 15_000}, 2: {lag: 20_000}}
    assert "settings" not in data["cluster"]
    assert "configs that are not of brokers are left out: topic" in output


def test_dynamic_configs_count_before_the_files_of_brokers(shell: Shell) -> None:
    """KIP-226: the value of a broker, that of all brokers, then that of server.properties."""
    dynamic = """\
Default configs for brokers in the cluster are:
  min.insync.replicas=2 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:x=2}
  num.io.threads=4 sensitive=false synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:y=4}
Dynamic configs for broker 2 are:
  num.io.threads=16 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:y=16}
"""
    files = [
        shell.file(f"{broker}.properties", f"node.id={broker}\nnum.io.threads=8\n")
        for broker in (1, 2)
    ]
    configs = shell.file("dynamic.txt", dynamic)
    options = [word for each in (*files, configs) for word in ("--properties", each)]
    data, _ = shell.of_dump(KRAFT, *options)
    assert data["cluster"]["settings"] == {"min.insync.replicas": 2}
    own = {
        broker: each["num.io.threads"]
        for broker, each in data["cluster"]["broker_settings"].items()
    }
    assert own == {1: 4, 2: 16}


# kafka-reassign-partitions and kafka-log-dirs.


def test_of_a_generated_reassignment_the_proposed_one_is_the_step(shell: Shell) -> None:
    """--generate prints the current assignment for a rollback, then the proposed one."""
    current, proposed = (
        json.dumps(
            {
                "version": 1,
                "partitions": [
                    {"topic": "orders", "partition": 0, "replicas": ids, "log_dirs": ["any"] * 2}
                ],
            }
        )
        for ids in ([1, 2], [3, 2])
    )
    of_current = f"Current partition replica assignment\n{current}\n\n"
    text = f"{of_current}Proposed partition reassignment configuration\n{proposed}\n"
    plan = shell.file("plan.txt", text)
    (step,) = shell.of_dump(KRAFT, "--reassignment", plan)[0]["steps"]
    assert step["partitions"] == [{"topic": "orders", "partition": 0, "replicas": [3, 2]}]
    plan = shell.file("plan.txt", of_current)
    assert "plan.txt: has only the current" in shell.refused(
        shell.file("dump.txt", KRAFT), "--reassignment", plan
    )


@pytest.mark.parametrize("kept", ["all", "brokers", "each broker"])
@pytest.mark.parametrize("banner", ["", "Querying brokers for log directories information\n"])
def test_log_dirs_may_have_gone_through_jq(kept: str, banner: str, shell: Shell) -> None:
    partitions = [{"partition": "orders-0", "size": 5_000_000, "offsetLag": 0, "isFuture": False}]
    directory = {"partitions": partitions, "error": None, "logDir": "/data"}
    brokers = [{"broker": each, "logDirs": [directory]} for each in (1, 2, 3)]
    outputs: dict[str, list[Any]] = {
        "all": [{"version": 1, "brokers": brokers}],
        "brokers": [brokers],
        "each broker": brokers,
    }
    text = "\n".join(json.dumps(each, indent=2) for each in outputs[kept])
    file = shell.file("log-dirs.json", f"{banner}{text}\n")
    (topic,) = shell.of_dump(KRAFT, "--log-dirs", file)[0]["topics"]
    assert topic["size"] == {0: "5MB"}
