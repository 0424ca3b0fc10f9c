"""Moves of replicas between log directories (KIP-113), and what their end can break.

Broker 1 leads ``story`` in its first log directory; brokers 1, 2 and 3 are the processes 0, 1, 2.
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
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder

MEGABYTE = 1_000_000


def story(steps: Iterable[Mapping[str, Any]], **parts: Any) -> Scenario:
    """Three brokers with two log directories each, and a controller."""
    whole = {
        "release": "4.4",
        "duration": "30s",
        "liveness": False,
        "cluster": {"brokers": 3, "log_directories": 2},
        "topics": [{"name": "story", "assignment": {0: [1, 2, 3]}}],
        "steps": [dict(step) for step in steps],
    }
    if "mode" not in parts:
        settings = {"auto.leader.rebalance.enable": False}
        whole["controllers"] = {"count": 1, "settings": settings}
    return scenario_from_mapping(whole | parts, "moves")


def move(at_s: int, broker: int = 1, **others: Any) -> dict[str, Any]:
    """The replica of a broker moves to its second log directory."""
    where = {"topic": "story", "partition": 0, "broker": broker, "directory": 2}
    return {"do": "move_log_dir", "at": f"{at_s}s"} | where | others


def outcomes(run: RunFolder) -> list[str]:
    return [errors.NAMES[row["error"]] for row in run.rows("step_answered")]


def test_a_log_is_copied_at_the_throttled_rate_and_takes_the_others_place(tmp_path: Path) -> None:
    """ReplicaAlterLogDirsThread copies 4 MB at 1 MB/s, and what producers add meanwhile.

    A crash in the middle only interrupts the copy: a future log is on disk.
    """
    rate = {"replica.alter.log.dirs.io.max.bytes.per.second": MEGABYTE}
    shop = {"name": "shop", "topics": ["story"], "batches_per_second": 100, "records_per_batch": 1}
    scenario = story(
        [move(5), move(5, broker=2)],
        cluster={"brokers": 3, "log_directories": 2, "settings": rate},
        topics=[{"name": "story", "assignment": {0: [1, 2, 3]}, "size": "4MB"}],
        workload={"producers": [shop | {"record_bytes": 1000}]},
        faults=[crash(2, 7, 12)],
    )
    run = run_of(scenario, tmp_path / "run")
    assert outcomes(run) == ["NONE", "NONE"]
    moved = {row["process"]: row for row in run.rows("log_moved")}
    took_us = moved[0]["time_us"] - rows_of(run, "future_log_created", process=0)[0]["time_us"]
    copied = 1000 * moved[0]["log_end_offset"]
    assert copied > 4.5 * MEGABYTE
    assert took_us == pytest.approx(copied, rel=0.1)
    # Two seconds before the crash, the rest after the start.
    assert 14 * SECOND < moved[1]["time_us"] < 20 * SECOND
    assert {row["directory"] for row in moved.values()} == {1}


def test_refusals_of_alter_replica_log_dirs(tmp_path: Path) -> None:
    """ReplicaManager.alterReplicaLogDirs: no replica, an offline directory; where it is already."""
    failure = {
        "name": "dead",
        "kind": "log_directory_failure",
        "brokers": [2],
        "directory": 2,
        "at": "6s",
    }
    topics = [
        {"name": "story", "assignment": {0: [1, 2]}},
        {"name": "other", "assignment": {0: [2, 1]}},
    ]
    # Broker 2 leads ``other`` in its first directory; ``story`` is in the second.
    write = {"do": "produce", "at": "7s", "topic": "story", "partition": 0, "acks": 1}
    steps = [
        move(5, broker=3),
        move(5, directory=1),
        write,
        move(9, broker=2, topic="other"),
        move(9, broker=2, directory=1),
    ]
    run = run_of(story(steps, topics=topics, faults=[failure], duration="12s"), tmp_path / "run")
    refused = ["KAFKA_STORAGE_ERROR"] * 2
    assert outcomes(run) == ["REPLICA_NOT_AVAILABLE", "NONE", "NONE", *refused]
    assert rows_of(run, "future_log_created") == []


def idle_leader_moves(*steps: dict[str, Any], **parts: Any) -> Scenario:
    """Nothing was ever written: 2 led in epoch 1, 1 leads in epoch 2, and its log moves.

    2 is paused for longer than its session around that, and so leaves the ISR.
    """
    return story(
        [
            {"do": "preferred_election", "at": "20s"},
            move(30),
            *steps,
        ],
        faults=[
            {"name": "restart", "kind": "restart", "brokers": [1], "at": "5s", "for": "2s"},
            {"name": "pause", "kind": "pause", "brokers": [2], "at": "25s", "for": "12s"},
        ],
        **{"duration": "42s"} | parts,
    )


def test_an_idle_partition_stays_under_replicated_after_its_leaders_move(tmp_path: Path) -> None:
    """KAFKA-15608: the leader knows no epoch any more, and follower 2 fetches with epoch 1.

    LogManager.replaceCurrentWithFutureLog does not take over the leader epochs. So
    Partition.readRecords answers OFFSET_OUT_OF_RANGE until a record has an epoch, and then the
    follower is in sync at once.
    """
    record = {"do": "produce", "at": "40s", "topic": "story", "partition": 0}
    run = run_of(idle_leader_moves(record), tmp_path / "run")
    isrs = [(row["time_us"], row["isr"]) for row in run.rows("partition_state")]
    assert sorted(states(run)[-2].isr) == [1, 3]
    assert sorted(states(run)[-1].isr) == [1, 2, 3]
    assert 40 * SECOND < isrs[-1][0] < 41 * SECOND


def test_a_shrink_that_raises_the_epoch_hides_it(tmp_path: Path) -> None:
    """KAFKA-15021: up to metadata.version 3.5 the leader knows the new epoch of the shrink."""
    run = run_of(idle_leader_moves(metadata_version="3.5"), tmp_path / "run")
    assert sorted(states(run)[-1].isr) == [1, 2, 3]


@pytest.mark.parametrize(
    ("release", "fails"),
    [("4.0.1", True), ("4.0.2", False), ("4.1.1", True), ("4.1.2", False)],
)
def test_a_flush_at_the_end_of_a_move_takes_the_directory_offline(
    tmp_path: Path, release: str, fails: bool
) -> None:
    """KAFKA-19571: the flush of a closed log is taken for a failed disk."""
    topics = [
        {"name": "story", "assignment": {0: [1, 2, 3]}},
        {"name": "second", "assignment": {0: [1, 2, 3]}},
        {"name": "third", "assignment": {0: [1, 2, 3]}},
    ]
    scenario = story([move(5, flush_at_end=True)], topics=topics, release=release, duration="15s")
    run = run_of(scenario, tmp_path / "run")
    assert [row["directory"] for row in run.rows("log_dir_failed")] == [0] * fails
    # The replica that has moved is not among those that are offline.
    assert [row["partition"] for row in run.rows("replica_offline")] == [2] * fails


def test_moves_need_a_release_with_them() -> None:
    with pytest.raises(TidegaugeError, match=r"is simulated from 1\.1 on, and broker 1"):
        story([move(5)], release="1.0", mode="zookeeper")
