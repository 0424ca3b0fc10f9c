"""Cordoned log directories (KIP-1066): who gets no new replicas, and what is refused.

Brokers 1, 2 and 3 are the processes 0, 1 and 2, and have two log directories each. The schedules
are those of recordings of 4.4.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from quorum_stories import SECOND, crash, states
from scenario_runs import rows_of, run_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication import errors
from tidegauge.replication.replica_list import unpack
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder

HEARTBEAT = {"broker.heartbeat.interval.ms": 500}
TOPICS = [
    {"name": "t", "assignment": {0: [1, 2, 3]}},
    {"name": "a", "partitions": 6, "replication_factor": 2},
    {"name": "m", "assignment": {0: [3, 1]}},
    {"name": "x", "partitions": 1, "replication_factor": 3},
    {"name": "c", "partitions": 6, "replication_factor": 2},
]


def story(steps: Iterable[Mapping[str, Any]], **parts: Any) -> Scenario:
    """Three brokers that tell their cordoned log directories every 500 ms."""
    whole = {
        "release": "4.4",
        "duration": "45s",
        "liveness": False,
        "cluster": {
            "brokers": 3,
            "log_directories": 2,
            "settings": HEARTBEAT,
            "start": {1: "100ms", 2: "100ms", 3: "100ms"},
        },
        "controllers": {
            "count": 1,
            "settings": {"broker.session.timeout.ms": 4000, "auto.leader.rebalance.enable": False},
        },
        "topics": TOPICS,
        "steps": [dict(step) for step in steps],
    }
    return scenario_from_mapping(whole | parts, "cordons")


def cordon(directories: str, at_s: int, *brokers: int) -> dict[str, Any]:
    settings = {"cordoned.log.dirs": directories}
    return {"do": "configure", "at": f"{at_s}s", "brokers": list(brokers), "settings": settings}


def create(topic: str, at_s: int) -> dict[str, Any]:
    return {"do": "create_topic", "at": f"{at_s}s", "topic": topic}


def outcomes(run: RunFolder) -> dict[int, str]:
    return {row["step"]: errors.NAMES[row["error"]] for row in run.rows("step_answered")}


def hosts_of(run: RunFolder, partitions: range) -> set[int]:
    """The brokers of partitions as they were created."""
    slots = {number: run.manifest["partitions"][number]["replicas"] for number in partitions}
    created = [row for row in run.rows("partition_replicas") if row["partition"] in partitions]
    return {slots[row["partition"]][slot] for row in created for slot in unpack(row["replicas"])}


@pytest.fixture(scope="module", name="cordoned")
def _cordoned(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """All of broker 3's directories are cordoned from 5 s to 35 s; it is killed in between."""
    steps = [
        cordon("*", 5, 3),
        create("a", 8),
        create("m", 9),
        {
            "do": "alter_reassignments",
            "at": "10s",
            "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 2]}],
        },
        create("x", 11),
        cordon("", 35, 3),
        create("c", 38),
    ]
    return run_of(story(steps, faults=[crash(3, 12, 20)]), tmp_path_factory.mktemp("c") / "run")


def test_placement_skips_a_broker_all_of_whose_directories_are_cordoned(
    cordoned: RunFolder,
) -> None:
    """BrokerHeartbeatManager.UsableBrokerIterator@4.3.0."""
    assert hosts_of(cordoned, range(1, 7)) == {1, 2}
    assert hosts_of(cordoned, range(9, 15)) == {1, 2, 3}


def test_what_would_need_it_is_refused(cordoned: RunFolder) -> None:
    """ReplicationControlManager.validateManualPartitionAssignment@4.4.0, and too few brokers."""
    assert outcomes(cordoned) == {
        0: "NONE",
        1: "NONE",
        2: "INVALID_REPLICA_ASSIGNMENT",
        3: "INVALID_REPLICA_ASSIGNMENT",
        4: "INVALID_REPLICATION_FACTOR",
        5: "NONE",
        6: "NONE",
    }


def test_the_change_comes_with_the_next_heartbeat(cordoned: RunFolder) -> None:
    told = [
        (row["time_us"], row["cordoned"])
        for row in rows_of(cordoned, "log_directories_cordoned", broker=2)
    ]
    (first, again, opened) = told
    assert 5 * SECOND < first[0] < 5.6 * SECOND
    assert 35 * SECOND < opened[0] < 35.6 * SECOND
    assert [first[1], again[1], opened[1]] == [2, 2, 0]
    # After its restart the broker tells them once it has caught up, before it is unfenced.
    registered, unfenced = [row["time_us"] for row in rows_of(cordoned, "broker_state", broker=2)][
        -2:
    ]
    assert registered < again[0] < unfenced


def test_replicas_that_are_there_go_on(cordoned: RunFolder) -> None:
    """The killed broker comes back into the ISR with its directories cordoned."""
    isrs = [state.isr for state in states(cordoned)]
    assert sorted(isrs[-1]) == [1, 2, 3]
    assert isrs[1] == [1, 2]


def test_4_3_still_takes_a_manual_assignment(tmp_path: Path) -> None:
    scenario = story([cordon("*", 5, 3), create("m", 8)], release="4.3", duration="12s")
    assert outcomes(run_of(scenario, tmp_path / "run")) == {0: "NONE", 1: "NONE"}


def test_a_broker_puts_new_replicas_where_nothing_is_cordoned(tmp_path: Path) -> None:
    """LogManager.nextLogDirs@4.3.0; ReplicaManager.alterReplicaLogDirs refuses the other one."""
    moves = [
        {"do": "move_log_dir", "after": "1s", "partition": 0, "broker": 3} | where
        for where in ({"topic": "t", "directory": 1}, {"topic": "m", "directory": 2})
    ]
    cluster = {
        "brokers": 3,
        "log_directories": 2,
        "broker_settings": {3: {"cordoned.log.dirs": "1"}},
    }
    run = run_of(
        story(moves, cluster=cluster, topics=[TOPICS[0], TOPICS[2]], duration="10s"),
        tmp_path / "run",
    )
    assert outcomes(run) == {0: "INVALID_REPLICA_ASSIGNMENT", 1: "NONE"}
    # The second replica is in the second directory already.
    assert rows_of(run, "future_log_created") == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"release": "4.2"}, "needs release 4.3.0 with metadata_version 4.3-IV0, not 4.2"),
        ({"metadata_version": "4.2"}, "not 4.4.0 with 4.2-IV1"),
        ({"steps": [cordon("3", 5, 3)]}, "each broker has 2 \\(log_directories\\), not 3"),
        ({"steps": [cordon("/data", 5, 3)]}, "must be \\* or numbers of log directories"),
    ],
)
def test_what_kafka_does_not_have_is_refused(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(TidegaugeError, match=message):
        story(parts.pop("steps", [cordon("*", 5, 3)]), **parts)
