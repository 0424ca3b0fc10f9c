"""Outages as clients see them: stalled writes and reads, records that never left the application.

A write with acks=all is acknowledged when all members of the ISR have it (KIP-1, Kafka's
``Partition.checkEnoughReplicasReachOffset``). A follower that dies stays a member until the
controller or the leader takes it out, and for so long nobody is acknowledged anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import MS, SECOND, cluster_of, producers_of, times_us
from tidegauge.traces.run_folder import RunFolder

#: The controller is broker 3, the leader broker 1; broker 2 dies at 4 s and its session 9 s later.
CRASH = {"name": "dies", "kind": "crash", "at": "4s", "for": "30s", "brokers": [2]}
#: The reader gets what was appended before the crash.
READERS = {"name": "readers", "topics": ["story"], "start": "1s"}


def _outage(folder: Path, acks: str, **settings: Any) -> RunFolder:
    shop = producers_of(10, "2s", "19s", acks=acks, **settings)
    workload = {"producers": [shop], "consumers": [READERS]}
    sessions = {"zookeeper.session.timeout.ms": 9000}
    scenario = cluster_of(sessions, duration="20s", faults=[CRASH], workload=workload)
    return run_of(scenario, folder)


@pytest.fixture(scope="module")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return _outage(tmp_path_factory.mktemp("stalls") / "waiting", "all")


def test_writes_are_stalled_while_a_dead_follower_is_in_the_isr(waiting: RunFolder) -> None:
    (stalled,) = rows_of(waiting, "produce_stalled")
    (resumed,) = rows_of(waiting, "produce_resumed")
    removed = [
        *times_us(rows_of(waiting, "removed_from_isr")),
        *times_us(rows_of(waiting, "isr_shrunk")),
    ]
    assert 5 * SECOND <= stalled["time_us"] < 5 * SECOND + 200 * MS
    assert stalled["waited_us"] == SECOND
    # The batches that had to wait for room in flight leave, and are acknowledged, one by one.
    assert min(removed) < resumed["time_us"] < min(removed) + 300 * MS
    assert resumed["stalled_us"] == resumed["time_us"] - stalled["time_us"]


def test_the_figures_of_stalls_are_those_of_their_rows(waiting: RunFolder) -> None:
    summary = waiting.summary
    assert summary is not None
    (resumed,) = rows_of(waiting, "produce_resumed")
    assert summary["partitions_stalled"] == summary["partitions_stalled_most"] == 1
    assert summary["partition_seconds_stalled"] == resumed["stalled_us"] / 1e6
    assert summary["longest_stall_seconds"] == summary["partition_seconds_stalled"] > 7
    # The partition itself was well: its leader lived, with two replicas in sync.
    assert summary["partition_seconds_under_min_isr"] == 0
    assert summary["partition_seconds_not_accepting"] < 0.01


def test_latency_counts_what_was_offered(waiting: RunFolder) -> None:
    """The batch that was made as the follower died has waited longest: P99 shows it."""
    summary = waiting.summary
    assert summary is not None
    latency = summary["produce_ms"]["shop"]
    (resumed,) = rows_of(waiting, "produce_resumed")
    assert latency["max"] == pytest.approx(1000 + resumed["stalled_us"] / 1000, abs=300)
    assert 9_000 < latency["p99"] <= latency["max"]


def test_writes_with_acks_1_do_not_stall_for_a_dead_follower(tmp_path: Path) -> None:
    run = _outage(tmp_path / "run", "1")
    assert not rows_of(run, "produce_stalled")
    assert run.summary is not None
    assert run.summary["produce_ms"]["shop"]["max"] < 10


def test_readers_of_a_partition_at_rest_are_not_stalled(waiting: RunFolder) -> None:
    """Every fetch.max.wait.ms the leader says that there is nothing: that is a response."""
    assert not rows_of(waiting, "consume_stalled")


def test_reads_are_stalled_while_nobody_leads(tmp_path: Path) -> None:
    """The leader dies: from its last response on a reader waits fetch.max.wait.ms and 1 s.

    It reads the other partition all the while.
    """
    topic = {"name": "story", "assignment": {0: [1, 2, 3], 1: [2, 3, 1]}}
    shop = producers_of(10, "2s", "19s", acks="1")
    run = run_of(
        cluster_of(
            {"zookeeper.session.timeout.ms": 9000},
            duration="20s",
            topics=[topic],
            faults=[CRASH | {"brokers": [1]}],
            workload={"producers": [shop], "consumers": [READERS]},
        ),
        tmp_path / "run",
    )
    (stalled,) = rows_of(run, "consume_stalled")
    assert stalled["partition"] == 0
    (resumed,) = rows_of(run, "consume_resumed")
    (elected,) = [each for each in rows_of(run, "leader_elected") if each["old_leader"] == 0]
    assert 5 * SECOND <= stalled["time_us"] <= 5 * SECOND + 500 * MS
    assert elected["time_us"] < resumed["time_us"] < elected["time_us"] + SECOND
    assert run.summary is not None
    assert run.summary["partition_seconds_reads_stalled"] == resumed["stalled_us"] / 1e6
    assert run.summary["longest_reads_stall_seconds"] == resumed["stalled_us"] / 1e6


@pytest.mark.parametrize("max_block_ms", [60_000, 500])
def test_records_offered_are_acknowledged_failed_unsent_or_in_flight(
    tmp_path: Path, max_block_ms: int
) -> None:
    """buffer.memory is full after ten batches: the rest is unsent, or fails after max.block.ms."""
    settings = {"buffer.memory": 1000, "batch.size": 0, "max.block.ms": max_block_ms}
    run = _outage(tmp_path / "run", "all", **settings)
    summary = run.summary
    assert summary is not None
    outcomes = ("acknowledged", "failed", "unsent", "in_flight")
    counts = {name: summary[f"records_{name}"] for name in outcomes}
    assert sum(counts.values()) == summary["records_offered"] == 170
    assert counts["unsent"] > 50
    assert (counts["failed"] > 5) == (max_block_ms == 500)
    assert summary["records_unsent_by_group"] == {"shop": counts["unsent"]}
    # The follower's session ends after 9 s; the tenth batch has filled the buffer after one.
    assert 7 < summary["blocked_seconds"]["shop"] < 10
    (totals,) = [each for each in rows_of(run, "client_totals") if each["records_offered"]]
    assert totals["blocked_us"] == summary["blocked_seconds"]["shop"] * 1e6


def test_a_run_that_ends_in_an_outage_counts_what_waits(tmp_path: Path) -> None:
    """The acks=all writes of the last 3 s have no outcome: they are in flight, and stalled."""
    shop = producers_of(10, "2s", "7s", acks="all")
    scenario = cluster_of(duration="7s", faults=[CRASH], workload={"producers": [shop]})
    summary = run_of(scenario, tmp_path / "run").summary
    assert summary is not None
    assert summary["records_acknowledged"] + summary["records_in_flight"] == 50
    assert 29 <= summary["records_in_flight"] <= 31
    assert summary["produce_ms"]["shop"]["max"] == pytest.approx(3000, abs=110)
    assert summary["longest_stall_seconds"] == pytest.approx(2, abs=0.11)
