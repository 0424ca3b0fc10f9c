"""Consumers: all records once and in order, up to the high watermark, at their own speed."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    BROKER_2,
    FIRST_CLIENT,
    MS,
    SECOND,
    cluster_of,
    log_end_offset,
    network_of,
    producers_of,
    times_us,
    topic_of,
)
from tidegauge.replication import errors
from tidegauge.simulation.messages.client_requests import MetadataRequest
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The consumers come after the one producer.
FIRST_CONSUMER = FIRST_CLIENT + 1


def run_with(folder: Path, producer: dict[str, Any], consumer: Any, **parts: Any) -> RunFolder:
    """The run of a producer and a group of consumers."""
    group = {"name": "billing", "topics": ["story"], "start": "2s"} | consumer
    workload = {"producers": [producer], "consumers": [group]}
    return run_of(cluster_of(workload=workload, **parts), folder / "run")


def taken(run: RunFolder) -> list[TraceRow]:
    """The answers that brought records."""
    return [row for row in run.rows("consumed") if row["end_offset"] > row["fetch_offset"]]


def read_in_order(run: RunFolder) -> dict[int, int]:
    """How far each partition was read, after a check that nothing is skipped or repeated."""
    positions: dict[int, int] = defaultdict(int)
    for row in taken(run):
        assert row["fetch_offset"] == positions[row["partition"]]
        positions[row["partition"]] = row["end_offset"]
    assert run.summary is not None
    assert run.summary["records_consumed"] == sum(positions.values())
    return dict(positions)


def test_a_group_reads_everything_once_and_in_order(tmp_path: Path) -> None:
    """Partitions are shared out among the members, and each is read by one of them."""
    run = run_with(
        tmp_path,
        producers_of(24, "3s", "4s", acks="all") | {"records_per_batch": 3},
        {"clients": 2},
        topics=[{"name": "story", "assignment": {0: [1, 2], 1: [2, 3], 2: [3, 1]}}],
    )
    assert read_in_order(run) == {0: 24, 1: 24, 2: 24}
    readers = {(row["partition"], row["process"] - FIRST_CONSUMER) for row in taken(run)}
    assert readers == {(0, 0), (1, 1), (2, 0)}


def test_nothing_is_read_above_the_high_watermark(tmp_path: Path) -> None:
    """What a follower has not fetched yet nobody reads, and then all of it is there at once."""
    away = {"kind": "cut_link", "at": "3450ms", "for": "2s", "between": [[2], ["broker:1"]]}
    run = run_with(
        tmp_path,
        producers_of(10, "3s", "4s", acks=1),
        {},
        topics=[topic_of([1, 2])],
        network=network_of("1ms", retransmission_after_cut="500ms"),
        duration="9s",
        faults=[away],
    )
    assert read_in_order(run) == {0: 10}
    moves = rows_of(run, "high_watermark_moved", process=BROKER_1)
    for row in run.rows("consumed"):
        known = [move["high_watermark"] for move in moves if move["time_us"] < row["time_us"]]
        assert row["end_offset"] <= max(known, default=0)
    held_back = [row for row in moves if row["time_us"] > 3450 * MS]
    assert min(times_us(held_back)) >= 5950 * MS
    assert [row["end_offset"] for row in taken(run) if row["time_us"] < 5950 * MS][-1] == 5


def test_a_consumer_that_is_slower_than_the_producer_falls_behind(tmp_path: Path) -> None:
    """It processes what it got, record by record, before it fetches again."""
    run = run_with(
        tmp_path,
        producers_of(20, "3s", "8s", acks=1),
        {"records_per_second": 5},
        topics=[topic_of([1])],
        duration="8s",
    )
    for one, next_one in pairwise(taken(run)):
        records = one["end_offset"] - one["fetch_offset"]
        # There and back, and 55 us at the broker.
        assert next_one["time_us"] - one["time_us"] == records * 200 * MS + 2 * MS + 55
    assert log_end_offset(run, BROKER_1) == 100
    started_us = taken(run)[0]["time_us"]
    for row in taken(run):
        # All before what it brings is processed: 5 in each second.
        assert row["fetch_offset"] <= 5 * (row["time_us"] - started_us) / SECOND + 0.01
    assert read_in_order(run)[0] < 100


def test_a_slow_group_shares_its_speed_out_among_its_members(tmp_path: Path) -> None:
    run = run_with(
        tmp_path,
        producers_of(40, "3s", "8s", acks=1),
        # One record at a time.
        {"clients": 2, "records_per_second": 10, "settings": {"max.partition.fetch.bytes": 100}},
        topics=[{"name": "story", "assignment": {0: [1], 1: [2]}}],
        duration="8s",
    )
    for partition in (0, 1):
        times = [row["time_us"] for row in taken(run) if row["partition"] == partition]
        assert {late - early for early, late in pairwise(times)} == {202 * MS + 55}
    assert read_in_order(run) == {0: 25, 1: 25}


def test_a_fast_consumer_keeps_up(tmp_path: Path) -> None:
    run = run_with(tmp_path, producers_of(20, "3s", "4s", acks=1), {"records_per_second": 1000})
    assert read_in_order(run) == {0: 20}
    appended = rows_of(run, "appended", process=BROKER_1)
    late_us = [
        min(row["time_us"] for row in taken(run) if row["end_offset"] >= append["end_offset"])
        - append["time_us"]
        for append in appended
    ]
    assert max(late_us) < 10 * MS


def test_a_consumer_follows_the_leader_without_losing_or_repeating_records(
    tmp_path: Path,
) -> None:
    """A clean election: its fetch gets no answer, metadata names broker 2, and it reads on."""
    settings = {"request.timeout.ms": 1500}
    run = run_with(
        tmp_path,
        producers_of(5, "3s", "12s", acks="all", **settings),
        {"settings": settings},
        settings={"zookeeper.session.timeout.ms": 4000, "replica.fetch.wait.max.ms": 1000},
        duration="15s",
        faults=[{"kind": "pause", "at": "4050ms", "brokers": [1]}],
    )
    (elected,) = rows_of(run, "leader_elected", old_leader=BROKER_1)
    assert (elected["leader"], elected["unclean"]) == (BROKER_2, 0)
    assert read_in_order(run) == {0: log_end_offset(run, BROKER_2)}
    assert run.summary is not None
    assert run.summary["records_acknowledged"] == 45
    assert log_end_offset(run, BROKER_2) == 45 + run.summary["records_duplicated"]
    assert [row["end_offset"] for row in taken(run) if row["time_us"] < 4 * SECOND][-1] == 5
    again_us = min(time for time in times_us(taken(run)) if time > elected["time_us"])
    assert again_us < elected["time_us"] + 2 * 1500 * MS


def test_records_that_two_leaders_bring_are_taken_once(tmp_path: Path) -> None:
    """The answer of the old leader is on its way for 5 s, when the new one is asked already."""
    run = run_with(
        tmp_path,
        producers_of(10, "4s", "4500ms", acks=1),
        # Its idle connection to broker 2 is the one on which it asks for metadata.
        {"settings": {"metadata.max.age.ms": 3000}, "bootstrap": [2]},
        settings={"zookeeper.session.timeout.ms": 4000},
        duration="11s",
        faults=[
            {"kind": "cut_link", "at": "1s", "between": [[1], ["zookeeper"]]},
            {
                "kind": "slow_link",
                "at": "3950ms",
                "for": "100ms",
                "between": [["broker:1"], ["client:billing"]],
                "delay": "5s",
            },
        ],
    )
    (elected,) = rows_of(run, "leader_elected", old_leader=BROKER_1)
    assert elected["leader"] == BROKER_2
    from_0 = rows_of(run, "consumed", fetch_offset=0)
    brought = [row for row in from_0 if row["end_offset"] > 0]
    assert [row["time_us"] // SECOND for row in brought] == [7, 9]
    assert run.summary is not None
    assert run.summary["records_consumed"] == log_end_offset(run, BROKER_2) == 5


def test_a_consumer_whose_fetch_is_refused_asks_for_metadata_at_once(tmp_path: Path) -> None:
    """NOT_LEADER_OR_FOLLOWER: the old leader is back and says so."""
    run = run_with(
        tmp_path,
        producers_of(5, "3s", "12s", acks="all"),
        {},
        settings={"zookeeper.session.timeout.ms": 4000, "replica.fetch.wait.max.ms": 1000},
        duration="15s",
        faults=[{"kind": "pause", "at": "4050ms", "for": "5s", "brokers": [1]}],
    )
    refused, *_ = rows_of(
        run,
        "fetch_answered",
        process=BROKER_1,
        to_process=FIRST_CONSUMER,
        error=errors.NOT_LEADER_OR_FOLLOWER,
    )
    after = [row for row in taken(run) if row["time_us"] > refused["time_us"]]
    assert after[0]["time_us"] < refused["time_us"] + 200 * MS
    assert read_in_order(run) == {0: 45}


def test_a_consumer_asks_again_and_again_who_leads_until_somebody_does(tmp_path: Path) -> None:
    """The only replica is away for longer than its session: there is no leader meanwhile."""
    settings = {"request.timeout.ms": 1000}
    run = run_with(
        tmp_path,
        producers_of(5, "3s", "12s", acks=1, **settings),
        {"settings": settings},
        settings={"zookeeper.session.timeout.ms": 4000},
        topics=[topic_of([1])],
        duration="15s",
        faults=[{"kind": "pause", "at": "4050ms", "for": "7s", "brokers": [1]}],
    )
    (nobody,) = rows_of(run, "removed_from_isr", leader=-1)
    (elected,) = rows_of(run, "leader_elected", old_leader=-1, leader_epoch=2)
    for client in (FIRST_CLIENT, FIRST_CONSUMER):
        asked = [
            row["time_us"]
            for row in rows_of(
                run, "message", message_kind=MetadataRequest.KIND, from_process=client
            )
            if nobody["time_us"] < row["time_us"] < 11 * SECOND
        ]
        gaps_us = {late - early for early, late in pairwise(asked)}
        # There and back; or longer, where broker 1 was asked in between.
        assert 102 * MS + 55 in gaps_us
        assert min(gaps_us) > 100 * MS
    again_us = min(time for time in times_us(taken(run)) if time > elected["time_us"])
    assert again_us < elected["time_us"] + SECOND + 200 * MS
    assert read_in_order(run) == {0: log_end_offset(run, BROKER_1)}
