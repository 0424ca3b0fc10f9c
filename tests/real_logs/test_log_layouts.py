"""The lines of a recorded cluster in other layouts, behind prefixes, in JSON: the same history."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from descendants import descendants
from real_clusters import LOGS, states_in
from rewritten_logs import (
    ENTRIES,
    KRAFT,
    NOTICES,
    ZOOKEEPER,
    Entry,
    Written,
    history_of,
    in_files,
    merged,
    own_history,
)
from tidegauge.real_cluster.logs import log_reading, log_stream
from tidegauge.real_cluster.logs.log_files import LogsError, found_logs
from tidegauge.real_cluster.logs.logged_run import write_run
from tidegauge.real_cluster.logs.real_history import real_history


def _with_prefix(prefix: str) -> Written:
    """Each line behind a prefix."""

    def written_as(entry: Entry) -> str:
        before = prefix.format(
            node=entry.node,
            pid=f"{entry.node}"[-1] * 3,
            zulu=f"{entry.moment:%Y-%m-%dT%H:%M:%S.%f}789Z",
            syslog=f"{entry.moment:%b %d %H:%M:%S}",
        )
        return "\n".join(before + line for line in entry.own.splitlines())

    return written_as


def _in_layout(layout: str) -> Written:
    """Each entry in another layout, with a thread and the number of a line."""
    return lambda entry: layout.format(
        e=entry, t=f"{entry.time[:10]}T{entry.time[11:].replace(',', '.')}", thread="main-thread 1"
    )


def _as_json(fields: Callable[[Entry], dict[str, Any]]) -> Written:
    return lambda entry: json.dumps(fields(entry))


def _each_line_as_json(fields: Callable[[Entry], dict[str, Any]], key: str) -> Written:
    """Each line of text in a field of its own object."""
    return lambda entry: "\n".join(
        json.dumps({key: f"{line}\n", **fields(entry)}) for line in entry.own.splitlines()
    )


_PREFIXES = {
    "kubectl logs --timestamps": "{zulu} ",
    "kubectl logs --prefix": "[pod/my-{node}/kafka] ",
    "a container runtime": "{zulu} stdout F ",
    "docker compose": "{node}  | ",
    "docker compose in colors": "\x1b[36m{node}  |\x1b[0m ",
    "stern": "my-cluster-{node} kafka ",
    "stern --timestamps": "my-cluster-{node} kafka {zulu} ",
    "journalctl": "{syslog} host-{node} kafka[{pid}]: ",
    "journalctl of one host": "{syslog} host kafka[{pid}]: ",
    "syslog": "<14>1 {zulu} {node} kafka {pid} - - ",
    "grep": "logs/{node}/server.log:",
}
_LAYOUTS = {
    "Strimzi, with milliseconds": "{e.time} {e.level:5} [{thread}] {e.short}:66 - {e.message}",
    "Strimzi before Kafka 4": "{e.time} {e.level} {e.message} ({e.logger}) [{thread}]",
    "Cloudera": "{e.time} {e.level} {e.logger}: [{thread}]: {e.message}",
    "Logback": "{t} [{thread}] {e.level:5} {e.logger} - {e.message}",
    "level first": "{e.level:5} [{e.time}] [{thread}] {e.logger}: {e.message}",
    "the logger before the level": "[{t}+0000] {e.logger} {e.level} {e.message}",
    "a line number behind the logger": "[{e.time}] {e.level} {e.message} ({e.logger}:66)",
    "no logger": "[{e.time}] {e.level} - {e.message}",
    "a padded level in brackets": "{e.time} [{e.level:5}] {e.logger} - {e.message}",
}
_JSON = {
    "Log4j's JsonLayout": _as_json(
        lambda e: {
            "instant": {
                "epochSecond": int(e.moment.timestamp()),
                "nanoOfSecond": e.moment.microsecond * 1000,
            },
            "thread": "main",
            "level": e.level,
            "loggerName": e.logger,
            "message": e.message,
        }
    ),
    "Logstash": _as_json(
        lambda e: {
            "@timestamp": f"{e.moment:%Y-%m-%dT%H:%M:%S}.{e.time[-3:]}Z",
            "message": e.message,
            "logger_name": e.logger,
            "level": e.level,
            "source_host": f"host-{e.node}",
        }
    ),
    "ECS": _as_json(
        lambda e: {
            "@timestamp": f"{e.moment:%Y-%m-%dT%H:%M:%S}.{e.time[-3:]}Z",
            "log.level": e.level,
            "message": e.message,
            "log.logger": e.logger,
        }
    ),
    "Docker": _each_line_as_json(
        lambda e: {"stream": "stdout", "time": f"{e.moment:%Y-%m-%dT%H:%M:%S}.000000001Z"}, "log"
    ),
    "Fluent Bit": _each_line_as_json(
        lambda e: {"kubernetes": {"pod_name": f"my-cluster-{e.node}", "host": "a"}}, "log"
    ),
}
_COMPOSED = {
    "docker compose of Logstash": lambda e: f"kafka-{e.node}-1  | {_JSON['Logstash'](e)}",
    "Docker of Logstash": lambda e: json.dumps({"log": f"{_JSON['Logstash'](e)}\n"}),
}
_KINDS: dict[str, Written] = {
    **{name: _with_prefix(prefix) for name, prefix in _PREFIXES.items()},
    **{name: _in_layout(layout) for name, layout in _LAYOUTS.items()},
    **_JSON,
    **_COMPOSED,
}


#: The cluster of each kind; the loggers matter with ZooKeeper, the names of the nodes with KRaft.
_CASES = [(kind, KRAFT if kind in _PREFIXES else ZOOKEEPER) for kind in _KINDS]


@pytest.mark.parametrize(("kind", "cluster"), _CASES)
def test_the_history_is_the_same_in_each_layout(tmp_path: Path, kind: str, cluster: str) -> None:
    for node, text in in_files(cluster, _KINDS[kind]):
        (tmp_path / f"{node}.log").write_text(text)
    assert history_of(tmp_path) == own_history(cluster)


_NAMING = (
    *("kubectl logs --prefix", "docker compose", "journalctl of one host", "grep", "Fluent Bit"),
    "docker compose of Logstash",
)


@pytest.mark.parametrize(("kind", "cluster"), list(zip(_NAMING, [*ENTRIES] * 3, strict=True)))
def test_the_lines_of_all_nodes_in_one_file_are_told_apart(
    tmp_path: Path, kind: str, cluster: str
) -> None:
    file = tmp_path / "everything.txt"
    text = "".join(f"{_KINDS[kind](entry)}\n" for entry in merged(cluster))
    file.write_text(f"Attaching to broker-1, broker-2, broker-3\n{text}")
    assert history_of(file) == own_history(cluster)


@pytest.mark.parametrize("kind", ["Strimzi before Kafka 4", "docker compose", "Docker"])
def test_a_large_file_is_read_in_parts(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
) -> None:
    monkeypatch.setattr(log_reading, "_PART_BYTES", 20_000)
    monkeypatch.setattr(log_stream, "_BLOCK_BYTES", 9_000)
    for node, text in in_files(ZOOKEEPER, _KINDS[kind]):
        (tmp_path / f"{node}.log").write_text(text)
    assert history_of(tmp_path) == own_history(ZOOKEEPER)


def test_an_interruption_of_processes_that_read_ends_them_without_a_word(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C reaches all processes of a terminal."""
    monkeypatch.setattr(log_reading, "_FEW_BYTES", 0)
    before = {*descendants(os.getpid())}
    for node, text in in_files(ZOOKEEPER, lambda entry: entry.own):
        (tmp_path / f"{node}.log").write_text(text)

    def press_ctrl_c() -> None:
        # The processes wait for more parts then.
        time.sleep(0.5)
        for process in {*descendants(os.getpid())} - before:
            os.kill(process, signal.SIGINT)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        log_reading.read_logs(found_logs(tmp_path).files, meanwhile=press_ctrl_c)
    assert {*descendants(os.getpid())} <= before
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("cluster", ENTRIES)
def test_brokers_of_one_installation_write_to_the_same_file(tmp_path: Path, cluster: str) -> None:
    """The ids stand in the lines; lines about logs name the folder of their broker."""
    (tmp_path / "server.log").write_text(
        "".join(
            f"{entry.own.replace('/var/lib/kafka-logs', f'/var/lib/{entry.node}')}\n"
            for entry in merged(cluster)
        )
    )
    (tmp_path / "server.properties").write_text("broker.id=1\n")
    *told, nodes = history_of(tmp_path)
    (notice,) = told.pop(NOTICES)
    assert notice.startswith(
        f"server.log is written by nodes {', '.join(map(str, sorted(nodes - {None})))}: its lines"
        " without an id are of no node, such as [2026-11-22 23:"
    )
    told.insert(NOTICES, [])
    assert (*told, nodes - {None}) == own_history(cluster)


@pytest.mark.parametrize("cluster", ENTRIES)
def test_a_layout_with_whole_seconds_tells_the_same_states(tmp_path: Path, cluster: str) -> None:
    """Strimzi's own for Kafka 4: the offset of a clock is uncertain by a second."""
    layout = "{e.time:.19} {e.level:5} [{thread}] {e.short}:66 - {e.message}"
    found = []
    for name, written_as in (("own", lambda entry: entry.own), ("strimzi", _in_layout(layout))):
        (tmp_path / name).mkdir()
        for node, text in in_files(cluster, written_as):
            (tmp_path / name / f"{node}.log").write_text(text)
        found.append(real_history(found_logs(tmp_path / name)))
    own, strimzi = found
    assert states_in(strimzi) == states_in(own)
    for name in ("brokers", "controllers", "lives"):
        assert len(getattr(strimzi, name)) == len(getattr(own, name))
    assert (strimzi.first_ms, strimzi.last_ms) == (
        own.first_ms // 1000 * 1000,
        own.last_ms // 1000 * 1000,
    )
    assert {(each.offset_ms, each.uncertainty_ms) for each in strimzi.offsets} == {(0, 999)}


def test_an_event_before_the_first_line_is_an_error(tmp_path: Path) -> None:
    history = real_history(found_logs(LOGS / ZOOKEEPER))
    late_ms = history.lives[0].begin_ms + 7
    late = history._replace(span=history.span._replace(first_ms=late_ms))
    with pytest.raises(LogsError, match=r"^the logs have an event [\d,]+ ms before"):
        write_run(late, tmp_path / "run")
    assert not list(tmp_path.iterdir())


_NOISE = st.lists(
    st.sampled_from(
        [
            *(
                "===> User",
                "uid=1000(appuser) gid=1000(appuser)",
                "",
                "\tat kafka.X.run(X.scala:1)",
            ),
            *("java.io.IOException: refused", "[0.005s][info][gc] Using G1", "[2026 is no time]"),
            *('{"no": "entry"}', "WARN: a line of a script", "2026-11-22 a date alone"),
        ]
    ),
    max_size=4,
)


@settings(max_examples=10, deadline=None)
@given(noise=st.lists(_NOISE, min_size=4, max_size=4), place=st.integers(1, 300))
def test_noise_before_between_and_behind_entries_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory,
    noise: list[list[str]],
    place: int,
) -> None:
    folder = tmp_path_factory.mktemp("noise")
    for node, text in in_files(ZOOKEEPER, lambda entry: entry.own):
        entries = text.split("\n[20")
        entries[place % len(entries)] += "\n".join(["", *noise[1]])
        lines = [*noise[0], "\n[20".join(entries), *noise[2]]
        (folder / f"{node}.log").write_text("\n".join(lines))
    assert history_of(folder) == own_history(ZOOKEEPER)
