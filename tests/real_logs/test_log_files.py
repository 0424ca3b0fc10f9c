"""Log files as clusters leave them: rotated, compressed, torn; and files that are no logs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from real_clusters import history_of, recorded, states_in, written
from tidegauge.real_cluster.logs.log_files import LogsError, found_logs, log_files_of
from tidegauge.real_cluster.logs.log_lines import lines_of
from tidegauge.real_cluster.logs.real_history import real_history

_UPDATED = "[Partition t-0 broker=1] ISR updated to [{}] and zkVersion updated to [{}]"
_STARTED = "00:00:01,000 [KafkaServer id=1] started (kafka.server.KafkaServer)"


def test_the_node_is_that_of_the_lines_else_of_server_properties_else_of_a_name(
    tmp_path: Path,
) -> None:
    nothing = "00:00:01,000 a line without a node"
    written(
        tmp_path,
        {
            "a/server.log": nothing,
            "a/server.properties": "broker.id=7",
            "b/server.log": "00:00:01,000 [BrokerServer id=8] started",
            "kafka-9/server.log": nothing,
            "controller-10/controller.log": "00:00:01,000 [QuorumController id=10] Becoming",
            "flat/my-cluster-broker-11.log": nothing,
            "flat/my-cluster-controller-12.log-20260301": nothing,
            "flat/kafka-2026-03-01.log": nothing,
        },
    )
    assert [
        (file.path.parent.name, file.node, file.node_role) for file in log_files_of(tmp_path)
    ] == [
        ("a", 7, "broker"),
        ("b", 8, "broker"),
        ("kafka-9", 9, "node"),
        ("controller-10", 10, "controller"),
        ("flat", 11, "broker"),
        ("flat", 12, "controller"),
        ("flat", None, "node"),
    ]


def test_a_server_properties_that_the_lines_contradict_is_left_out(tmp_path: Path) -> None:
    """Three brokers share one installation, and its ``config/server.properties``."""
    written(
        tmp_path,
        {"config/server.properties": "broker.id=1"}
        | {
            f"logs/server-{node}.log": f"00:00:01,000 [KafkaServer id={node}] started (kafka.X)"
            for node in (1, 2, 3)
        },
    )
    found = found_logs(tmp_path)
    assert [(file.path.name, file.node, file.node_role) for file in found.files] == [
        ("server-1.log", 1, "broker"),
        ("server-2.log", 2, "broker"),
        ("server-3.log", 3, "broker"),
    ]
    (notice,) = found.unread
    assert notice.path == tmp_path / "config/server.properties"
    assert notice.reason == "is of node 1, but lines beside it are of node 2, 3: left out"


def test_rotated_files_are_read_from_the_oldest_to_the_newest(tmp_path: Path) -> None:
    names = (
        *("server.log.2026-03-01-01", "server.log.2", "server-2026-03-01.log", "server.log"),
        "server.log-20260301",
    )
    written(
        tmp_path,
        {
            f"broker-1/{name}": f"0{hour}:00:01,000 [KafkaServer id=1] started (kafka.server.X)"
            for hour, name in enumerate(names)
        },
    )
    assert tuple(file.path.name for file in log_files_of(tmp_path)) == names


def test_the_logs_of_one_node_may_lie_in_the_folder_itself(tmp_path: Path) -> None:
    written(tmp_path, {"server.log": _STARTED, "state-change.log": "00:00:02,000 x"})
    assert {(file.node, file.kind) for file in log_files_of(tmp_path)} == {
        (1, "server"),
        (1, "state-change"),
    }


def test_compressed_files_tell_the_same(tmp_path: Path) -> None:
    folder = recorded("zk-2.6.3-f2_isr_loss_unclean", tmp_path)
    expected = states_in(real_history(found_logs(folder)))
    for file in folder.glob("*/*.log"):
        file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes()))
        file.unlink()
    assert states_in(real_history(found_logs(folder))) == expected


def test_a_compressed_file_that_is_torn_tells_what_it_has(tmp_path: Path) -> None:
    lines = "\n".join(
        f"00:{at // 60:02}:{at % 60:02},000 {_UPDATED.format('1,2', at)}" for at in range(1, 3000)
    )
    folder = written(tmp_path, {"broker-1/server.log": lines})
    file = folder / "broker-1/server.log"
    whole = gzip.compress(file.read_bytes())
    file.with_suffix(".log.gz").write_bytes(whole[: len(whole) // 2])
    file.unlink()
    history = real_history(found_logs(folder))
    assert 0 < len(states_in(history)) < 2999
    (extent,) = history.content.files.values()
    assert extent.problem == "is torn: the end of the compressed file is missing"


def _entry(second: int, text: str) -> str:
    return f"[2026-03-01 00:00:0{second},000] INFO [Partition t-0 broker=1] {text}"


def test_a_torn_line_tells_nothing_and_the_one_behind_it_all(tmp_path: Path) -> None:
    text = "\n".join(
        (
            f"00:00:01,000 {_UPDATED.format('1,2', 1)}",
            _entry(2, "ISR updated to [1,2")
            + _entry(3, "ISR updated to [1,3] and zkVersion updated to [3] "),
            _entry(4, "ISR updated to [1] and zkVersion updated to [1"),
        )
    )
    history = history_of(tmp_path, {"broker-1/server.log": text})
    assert [
        (state.version, state.isr, state.time_ms % 60_000) for state in history.partitions[0].states
    ] == [
        (1, (1, 2), 1_000),
        (3, (1, 3), 3_000),
    ]


@pytest.mark.parametrize(
    "layout",
    [
        "2026-03-01 00:00:01,000 INFO {} (kafka.cluster.Partition) [thread-1]",
        "[2026-03-01T00:00:01.000Z] INFO {} (kafka.cluster.Partition)",
        "[2026-03-01 02:00:01,000+0200] [main] INFO {} (kafka.cluster.Partition)",
        "2026-03-01T00:00:01.000 [main] INFO - {}",
        "[2026-03-01 00:00:01,000] INFO [ReplicaFetcherThread-0-2] {}",
        "2026-03-01 00:00:01.000 INFO kafka.cluster.Partition - {}",
        "2026-03-01 00:00:01,000 INFO  k.c.Partition [kafka-scheduler-3] {}",
        "2026-03-01 00:00:01,000 [main] INFO  Partition: {}",
    ],
)
def test_other_layouts_are_read_too(tmp_path: Path, layout: str) -> None:
    text = f"{layout.format(_UPDATED.format('1,2', 1))}\n"
    history = history_of(tmp_path, {"broker-1/server.log": text})
    (state,) = history.partitions[0].states
    assert (state.version, state.isr, state.time_ms) == (1, (1, 2), 1_772_323_201_000)


def test_files_that_are_no_logs_are_named_with_the_reason(tmp_path: Path) -> None:
    folder = written(tmp_path, {"broker-1/server.log": _STARTED})
    (folder / "broker-1/state-change.log").write_bytes(bytes(range(256)) * 1000)
    (folder / "broker-1/controller.log").write_text("Mar 1 host systemd: started\n" * 10)
    (folder / "broker-1/server.log.1.gz").write_text("not compressed")
    (folder / "broker-1/server.log.2.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (folder / "broker-1/kafka-request.log").write_text("nothing of replication")
    found = found_logs(folder)
    assert [file.path.name for file in found.files] == ["server.log"]
    reasons = {each.path.name: each.reason for each in found.unread}
    assert reasons["state-change.log"] == "is binary, not a log"
    assert reasons["controller.log"].startswith("has no line of a Kafka log")
    assert reasons["server.log.1.gz"].startswith("cannot be read: Not a gzipped file")
    assert reasons["server.log.2.zst"] == "is compressed as zst: only .gz is read"
    assert all("\n" not in reason for reason in reasons.values())


def test_a_folder_without_logs_is_refused_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    for folder in (tmp_path, tmp_path / "absent", tmp_path / "notes.txt", Path("/dev/null")):
        with pytest.raises(LogsError) as refused:
            log_files_of(folder)
        assert "\n" not in str(refused.value)
        assert str(folder) in str(refused.value)


def test_an_entry_has_time_level_logger_and_the_lines_that_follow_it(tmp_path: Path) -> None:
    text = (
        "[2026-03-01 00:00:01,250] WARN Connection failed (kafka.server.X)\n"
        "java.io.IOException: refused\n\tat kafka.X.run(X.scala:1)\n"
        "[2026-03-01 00:00:02,000] INFO KafkaConfig values: \n\tbroker.id = 1\n\tlog.dirs = /x\n"
        " (kafka.server.KafkaConfig)\n"
    )
    (file,) = log_files_of(written(tmp_path, {"broker-1/server.log": text}))
    first, second = lines_of(file, ("IOException", "broker.id = "))
    assert (first.time_ms % 60_000, first.level, first.logger) == (1_250, "WARN", "kafka.server.X")
    assert first.message.startswith("Connection failed\njava.io.IOException: refused")
    assert (second.level, second.logger) == ("INFO", "kafka.server.KafkaConfig")
    assert "\tlog.dirs = /x" in second.message
