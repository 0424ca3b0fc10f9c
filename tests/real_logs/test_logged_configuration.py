"""Logs tell the release, the features, the settings and the ids of their own cluster."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from real_clusters import history_of, recorded, states_in, written
from tidegauge.command_line import app
from tidegauge.real_cluster.logs.log_files import LogsError
from tidegauge.real_cluster.logs.logged_cluster import logged_cluster

_ELECTED = (
    "00:00:02,000 [Controller id=1] 1 successfully elected as the controller. Epoch incremented to"
    " 1 and epoch zk version is now 1"
)
_ACTIVE = "00:00:02,000 [QuorumController id=10] Becoming the active controller at epoch 1, next"


def _zookeeper(*versions: str) -> dict[str, str]:
    """The logs of brokers that print these releases."""
    files = {
        f"broker-{node}/server.log": f"00:00:01,000 Kafka version: {version} (kafka.X)"
        for node, version in enumerate(versions, 1)
    }
    return files | {"broker-1/controller.log": _ELECTED}


def _kraft(version: str) -> dict[str, str]:
    lines = f"00:00:01,000 Kafka version: {version} (kafka.X)\n{_ACTIVE}"
    return {"controller-10/controller.log": lines}


@pytest.mark.parametrize(
    ("printed", "release"),
    [
        *(("5.4.1-ccs", "2.4.1"), ("5.5.15-ccs", "2.5.1"), ("6.0.2-ce", "2.6.2")),
        *(("6.1.1-ccs", "2.7.1"), ("6.2.0-ce", "2.8.0"), ("7.0.1-ccs", "3.0.1")),
    ],
)
def test_a_release_of_confluent_is_one_of_apache(
    tmp_path: Path, printed: str, release: str
) -> None:
    """Its major is larger by 3, and from 6.0 and 7.0 on by 4; patches are its own."""
    history = history_of(tmp_path, _zookeeper(printed))
    assert history.configuration.release.number == release
    assert history.notices == [f"Kafka {printed} is read as Apache Kafka {release}"]


@pytest.mark.parametrize(("printed", "release"), [("7.9.0-ccs", "3.9.0"), ("8.1.0-ce", "4.1.0")])
def test_so_it_is_with_kraft(tmp_path: Path, printed: str, release: str) -> None:
    assert history_of(tmp_path, _kraft(printed)).configuration.release.number == release


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        (_zookeeper("2.3.1"), "Kafka 2.3.1 is too old .* at level TRACE only"),
        (_zookeeper("5.3.1-ccs"), "Kafka 5.3.1-ccs is too old"),
        (_zookeeper("0.10.2.2"), "Kafka 0.10.2.2 is too old"),
        (_kraft("3.2.3"), r"Kafka 3.2.3 is too old .*KIP-833"),
    ],
)
def test_a_release_that_is_too_old_is_refused(
    tmp_path: Path, files: dict[str, str], reason: str
) -> None:
    with pytest.raises(LogsError, match=reason):
        history_of(tmp_path, files)


def test_a_release_is_never_silently_another_one(tmp_path: Path) -> None:
    unknown = history_of(tmp_path / "a", _zookeeper("2.6.9"))
    assert unknown.notices == ["no release 2.6.9 of Kafka is known: it is read as 2.6.3"]
    upgraded = history_of(tmp_path / "b", _zookeeper("2.6.3", "2.8.2", "2.8.2"))
    assert upgraded.configuration.release.number == "2.8.2"
    assert upgraded.notices == ["nodes print several releases (2.6.3, 2.8.2): read as 2.8.2"]
    early = history_of(tmp_path / "c", _kraft("3.4.0"))
    assert early.notices == [
        "controllers of KRaft before 3.6 log no fence: brokers' states are missing"
    ]


def test_each_setting_is_that_of_the_nodes_that_it_counts_for(tmp_path: Path) -> None:
    """With KRaft the session timeout is the controllers', and the lag that of leaders."""
    dump = "00:00:01,500 KafkaConfig values: (kafka.X)\n\t{} = {}\n\t{} = {}\n"
    session, lag = "broker.session.timeout.ms", "replica.lag.time.max.ms"
    broker = "00:00:01,000 [BrokerServer id={}] Transition from SHUTDOWN to STARTING (kafka.X)\n"
    history = history_of(
        tmp_path,
        {
            "controller-10/server.log": f"{_ACTIVE}\n{dump.format(session, 6000, lag, 30000)}",
            "broker-1/server.log": broker.format(1) + dump.format(session, 9000, lag, 4000),
            "broker-2/server.log": broker.format(2) + dump.format(session, 9000, lag, 5000),
        },
    )
    assert history.configuration.session_timeout_ms == 6000
    scenario = logged_cluster(history, "mine").plan.scenario
    assert scenario.controller_settings()[session] == 6000
    assert [scenario.settings_of(broker)[lag] for broker in (1, 2)] == [4000, 5000]


def test_the_session_that_zookeeper_grants_counts(tmp_path: Path) -> None:
    """ZooKeeper keeps it between 2 and 20 of its ticks."""
    dump = "00:00:01,500 KafkaConfig values: (kafka.X)\n\tzookeeper.session.timeout.ms = 60000\n"
    granted = (
        "00:00:01,200 Session establishment complete on server /10.0.0.1:2181, session id = 0x1,"
        " negotiated timeout = 40000 (org.apache.zookeeper.ClientCnxn)"
    )
    files = {"broker-1/controller.log": _ELECTED, "broker-1/server.log": f"{granted}\n{dump}"}
    history = history_of(tmp_path, files)
    assert history.configuration.session_timeout_ms == 40_000
    assert "ZooKeeper has granted sessions of 40000 ms" in history.notices[0]


def _named(node: int, at: str, cluster: str) -> str:
    return (
        f"{at},000 [BrokerServer id={node}] Transition from SHUTDOWN to STARTING (kafka.X)\n"
        f"{at},100 [BrokerLifecycleManager id={node}] Incarnation inc of broker {node} in cluster"
        f" {cluster} is now STARTING. (kafka.X)"
    )


_LEADS = (
    "{} [Broker id={}] Leader t-0 with topic id Some(x) starts at leader epoch {} from offset 0"
    " with partition epoch {}, high watermark 0, ISR [{}], adding replicas [] and removing"
    " replicas [] . Previous leader None and previous leader epoch was -1. (kafka.X)"
)


def test_another_cluster_id_ends_a_history(tmp_path: Path) -> None:
    """The cluster was formatted again: its first partition epoch follows none of the old one."""
    lines = (
        *(_named(1, "00:00:01", "old"), _LEADS.format("00:00:05,000", 1, 7, 9, "1")),
        *(_named(1, "00:10:01", "new"), _LEADS.format("00:10:05,000", 1, 0, 0, "1,2")),
    )
    history = history_of(tmp_path, {"broker-1/server.log": "\n".join(lines)})
    assert states_in(history) == [("t-0", 0, 1, 0, (1, 2))]
    assert [life.begin_ms - history.first_ms for life in history.lives] == [0]
    assert history.notices == [
        "cluster new begins with another id: the lines of cluster old are left out"
    ]


def test_logs_of_two_clusters_at_once_are_refused(tmp_path: Path) -> None:
    files = {
        "broker-1/server.log": _named(1, "00:00:01", "a") + "\n" + _named(1, "00:00:09", "a"),
        "broker-2/server.log": _named(2, "00:00:05", "b"),
    }
    with pytest.raises(LogsError, match=r"two clusters at once \(1 is of a; 2 is of b\)"):
        history_of(tmp_path, files)


def test_another_topic_id_of_one_name_is_a_deletion_and_a_creation(tmp_path: Path) -> None:
    """No controller has left logs; partition epochs begin again."""
    created = "{} [Broker id=1] Creating new partition t-0 with topic id {}. (kafka.X)"
    lines = (
        *(_named(1, "00:00:01", "c"), created.format("00:00:04,990", "AAAA")),
        *(_LEADS.format("00:00:05,000", 1, 3, 4, "1"), created.format("00:00:08,990", "BBBB")),
        _LEADS.format("00:00:09,000", 1, 0, 0, "1,2"),
    )
    (partition,) = history_of(tmp_path, {"broker-1/server.log": "\n".join(lines)}).partitions
    assert [(state.version, state.isr, state.deleted) for state in partition.states] == [
        (4, (1,), False),
        (5, (), True),
        (0, (1, 2), False),
    ]


def test_logs_without_a_line_of_replication_say_what_was_found(tmp_path: Path) -> None:
    logs = written(
        tmp_path / "logs",
        {
            "broker-1/server.log": "00:00:01,000 starting (kafka.server.KafkaServer)\n"
            "00:00:01,500 Kafka version: 2.6.3 (kafka.X)\n"
            "00:00:02,000 [KafkaServer id=1] started (kafka.server.KafkaServer)"
        },
    )
    refused = CliRunner().invoke(app, ["read-logs", str(logs), "-o", str(tmp_path / "run")])
    assert refused.exit_code == 2
    assert (
        "no line of replication, about a partition, a registration or a controller; found: 1 file"
        " of node 1, from 2026-03-01 00:00:01,000 to 2026-03-01 00:00:02,000, Kafka 2.6.3, 1 start;"
        " sought: state-change.log"
    ) in refused.output


#: The fault of ``kraft-4.1.0-b1_leader_kill`` begins then, in the time of the proposed scenario.
_CRASH = "crash-of-1 at 9.919s (23:46:48.100 in the logs, within some 100 ms)"


def _proposal(logs: Path, folder: Path) -> str:
    made = CliRunner().invoke(
        app,
        ["read-logs", str(logs), "-o", str(folder / "run"), "--scenario", str(folder / "s.yaml")],
    )
    assert made.exit_code == 0, made.output
    return " ".join(made.output.split())


def test_a_printed_setting_comes_before_a_file_that_lies_beside_the_logs(tmp_path: Path) -> None:
    logs = recorded("kraft-4.1.0-b1_leader_kill", tmp_path)
    for file in logs.glob("*/server.properties"):
        file.write_text(
            file.read_text().replace("session.timeout.ms=4000", "session.timeout.ms=30000")
        )
    told = _proposal(logs, tmp_path)
    assert "broker.session.timeout.ms is 4000, as nodes print it; a file has 30000" in told
    assert _CRASH in told


@pytest.mark.parametrize("wrong_ms", [9000, 1000])
def test_a_loss_that_contradicts_the_timeout_counts(tmp_path: Path, wrong_ms: int) -> None:
    """No line has the timeout of 4 s; that of a file would date the death wrong."""
    logs = recorded("kraft-4.1.0-b1_leader_kill", tmp_path)
    for file in logs.glob("*/server.properties"):
        text = file.read_text()
        file.write_text(text.replace("session.timeout.ms=4000", f"session.timeout.ms={wrong_ms}"))
    for file in logs.glob("*/server.log"):
        kept = (line for line in file.read_text().splitlines() if not line.startswith("\t"))
        file.write_text("\n".join(kept) + "\n")
    told = _proposal(logs, tmp_path)
    assert f"broker.session.timeout.ms is not {wrong_ms}: a session ended 4327 ms after" in told
    assert _CRASH in told


def test_a_session_timeout_that_only_brokers_print_gives_way_to_a_loss(tmp_path: Path) -> None:
    """It is a setting of the controllers, whose settings no line has here."""
    logs = recorded("kraft-4.1.0-b1_leader_kill", tmp_path)
    for file in logs.glob("*/server.properties"):
        file.unlink()
    for file in logs.glob("controller-*/server.log"):
        kept = (line for line in file.read_text().splitlines() if not line.startswith("\t"))
        file.write_text("\n".join(kept) + "\n")
    for file in logs.glob("broker-*/server.log"):
        text = file.read_text()
        file.write_text(text.replace("session.timeout.ms = 4000", "session.timeout.ms = 20000"))
    told = _proposal(logs, tmp_path)
    assert "no line prints broker.session.timeout.ms: taken are 20000 ms" in told
    assert "broker.session.timeout.ms is not 20000: a session ended 4327 ms after" in told
    assert _CRASH in told
