"""What the tests of ZooKeeper have in common: a cluster that is up soon, and rows by path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from tidegauge.runs.zookeeper import ZnodePaths
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, TraceRow

MS, SECOND = 1_000, 1_000_000

SESSION_TIMEOUT_US = 4 * SECOND
TICK_US = 1 * SECOND
#: ZooKeeper's client pings when it has been idle for a third of the time-out.
PING_US = SESSION_TIMEOUT_US // 3
#: The controller's work for an event, with what it reads and writes: more than any that happens
#: here.
SOON_US = 60 * MS
#: A client that has lost its server sleeps for less than that before it connects anew, if the
#: ensemble has others.
RECONNECT_US = 1 * SECOND

WRITES = ("znode_created", "znode_set", "znode_deleted")


def cluster(**parts: Any) -> Scenario:
    """Brokers 1, 2 and 3, of which 3 is the controller; ``parts`` are of the top level.

    There is one topic, ``t``, with a partition that each of them leads.
    """
    story: dict[str, Any] = {
        "duration": "30s",
        "release": "2.6",
        "liveness": False,
        "cluster": {
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "600ms"},
            "settings": settings(),
        },
        "zookeeper": {"tick_ms": TICK_US // MS},
        "topics": [{"name": "t", "assignment": {0: [1, 2, 3], 1: [2, 3, 1], 2: [3, 1, 2]}}],
    }
    return scenario_from_mapping(story | parts, "story")


def settings(**others: int) -> dict[str, int]:
    """Settings of brokers: short sessions, and fetches that wait long."""
    return {
        "zookeeper.session.timeout.ms": SESSION_TIMEOUT_US // MS,
        "replica.fetch.wait.max.ms": 5_000,
    } | others


def paused(broker: int, begin: str, length: str) -> dict[str, Any]:
    """A broker that stops and goes on, with its controller."""
    return {"kind": "pause", "brokers": [broker], "at": begin, "for": length}


def writes(run: RunFolder, begin: str = "") -> Iterator[tuple[str, TraceRow]]:
    """Creations, writes and deletions, each with its path, if that begins like this."""
    paths = ZnodePaths(run.directory)
    for row in run.all_rows(wanted=lambda kind: kind.name in WRITES):
        path = paths.path(row["znode"], row.columns.get("sequence_number"))
        if path.startswith(begin):
            yield path, row


def writes_by_path(run: RunFolder, begin: str = "") -> dict[str, list[TraceRow]]:
    """The same for each path; deleted notifications are all together under ``..._*``."""
    rows: defaultdict[str, list[TraceRow]] = defaultdict(list)
    for path, row in writes(run, begin):
        rows[path].append(row)
    return rows


def broker_id(run: RunFolder, index: int) -> int:
    """The id of a broker by its index."""
    return int(run.manifest["brokers"][index])
