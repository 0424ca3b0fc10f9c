"""num.io.threads: requests wait for a thread, for the disk, and for a partition's lock.

Broker 1 leads what is written to, and nobody follows unless a test says so, hence nothing but
the producers' requests comes to its threads.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    FIRST_CLIENT,
    MS,
    SECOND,
    cluster_of,
    producers_of,
    times_us,
    topic_of,
)
from tidegauge.replication import errors
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: What an append takes in each of these runs; a request takes 50 us, unless a test says so.
APPEND_US = 20


def twelve_at_once(folder: Path, threads: int, clients: int = 1, **parts: Any) -> RunFolder:
    """Two groups of producers send six batches each within 60 ms; each request takes 100 ms.

    A broker handles one request of each connection at a time.
    """
    settings: dict[str, int] = {"acks": 1, "max.in.flight.requests.per.connection": 6}
    shop = producers_of(100, "3s", "3060ms", **settings) | {"clients": clients}
    other = producers_of(100, "3005ms", "3065ms", **settings) | {"name": "other"}
    other |= {"clients": clients}
    return run_of(
        cluster_of(
            {"num.io.threads": threads},
            topics=[topic_of([1])],
            workload={"producers": [shop, other]},
            costs={"request": "100ms", "append": f"{APPEND_US}us"},
            duration="7s",
            **parts,
        ),
        folder / "run",
    )


def taken(run: RunFolder) -> list[TraceRow]:
    """When a thread took each of the requests, and whose it was."""
    return rows_of(run, "produce_answered", process=BROKER_1)


def test_one_thread_takes_requests_first_come_first_served(tmp_path: Path) -> None:
    """The queue is one for all connections: who came first is served first."""
    run = twelve_at_once(tmp_path, threads=1)
    first_us = 3 * SECOND + MS
    cost_us = 100 * MS + APPEND_US
    assert times_us(taken(run)) == [first_us + number * cost_us for number in range(12)]
    assert [row["to_process"] - FIRST_CLIENT for row in taken(run)] == [0, 1] * 6
    came = rows_of(run, "message", message_kind=ProduceRequest.KIND, process=BROKER_1)
    assert [row["time_us"] - first_us for row in came] == [5 * MS * number for number in range(12)]


def test_who_waits_is_not_overtaken_after_a_pause(tmp_path: Path) -> None:
    """The thread has come free meanwhile: still, what is in the queue comes first."""
    pause = {"kind": "pause", "at": "3028ms", "for": "1s", "brokers": [1]}
    run = twelve_at_once(tmp_path, threads=1, faults=[pause])
    first_us = 4028 * MS
    cost_us = 100 * MS + APPEND_US
    assert times_us(taken(run))[1:] == [first_us + number * cost_us for number in range(11)]
    assert [row["to_process"] - FIRST_CLIENT for row in taken(run)] == [0, 1] * 6


def test_with_eight_threads_eight_requests_are_handled_at_a_time(tmp_path: Path) -> None:
    run = twelve_at_once(tmp_path, threads=8, clients=6)
    first_us = 3 * SECOND + MS
    cost_us = 100 * MS + APPEND_US
    at_once_us = [first_us + 5 * MS * number for number in range(8)]
    assert times_us(taken(run)) == at_once_us + [time + cost_us for time in at_once_us[:4]]


def test_an_answer_leaves_when_its_request_is_handled(tmp_path: Path) -> None:
    run = twelve_at_once(tmp_path, threads=1)
    answers = [row for row in run.rows("message") if row["message_kind"] == ProduceResponse.KIND]
    leaves_us = [row["time_us"] + 100 * MS + APPEND_US for row in taken(run)]
    assert times_us(answers) == [time + MS for time in leaves_us]


# The disk.


def on_slow_disks(folder: Path, acks: int | str, *brokers: int, threads: int = 8) -> RunFolder:
    """Ten producers' batches, one each 100 ms, while some brokers' disks are 250 ms slow."""
    faults = [{"kind": "slow_disk", "at": "2s", "brokers": [*brokers], "delay": "250ms"}]
    producers = producers_of(10, "3s", "4s", acks=acks) | {"clients": 10}
    return run_of(
        cluster_of(
            {"num.io.threads": threads},
            topics=[topic_of([1, 2] if acks == "all" else [1])],
            workload={"producers": [producers]},
            faults=faults,
            duration="7s",
        ),
        folder / "run",
    )


def waited_us(run: RunFolder) -> list[int]:
    """How long the producers waited for each of their answers."""
    answers = rows_of(run, "message", message_kind=ProduceResponse.KIND)
    assert len(answers) == 10
    return [time - 3 * SECOND - number * 100 * MS for number, time in enumerate(times_us(answers))]


@pytest.mark.parametrize("acks", [1, "all"])
def test_a_leader_with_a_slow_disk_acknowledges_late(acks: int | str, tmp_path: Path) -> None:
    """Nothing is acknowledged, and no follower gets anything, before its append has ended."""
    waited = waited_us(on_slow_disks(tmp_path, acks, 1))
    follows = 2 * MS + 50 if acks == "all" else 0
    assert set(waited) == {2 * MS + 250 * MS + 50 + APPEND_US + follows}


def test_a_follower_with_a_slow_disk_delays_acks_all(tmp_path: Path) -> None:
    """The record is acknowledged when the follower fetches behind it: its append comes first."""
    waited = waited_us(on_slow_disks(tmp_path, "all", 2))
    assert waited[0] == 4 * MS + 250 * MS + 50 + APPEND_US + 50
    assert all(250 * MS < each < 510 * MS for each in waited)


def test_a_slow_disk_does_not_delay_another_broker(tmp_path: Path) -> None:
    assert set(waited_us(on_slow_disks(tmp_path, 1, 2, 3))) == {2 * MS + 50 + APPEND_US}


def test_a_slow_disk_keeps_the_only_thread_busy(tmp_path: Path) -> None:
    run = on_slow_disks(tmp_path, 1, 1, threads=1)
    gaps_us = {late - early for early, late in pairwise(times_us(taken(run)))}
    assert gaps_us == {250 * MS + 50 + APPEND_US}


# The lock.

#: A slow disk keeps one of two threads busy until the lock is free, and longer.
SLOW_US = 2 * SECOND


def while_an_isr_is_written(folder: Path, **parts: Any) -> RunFolder:
    """Broker 1 leads partition 0 with 3, and 1 alone; producers write to both.

    Broker 3 cannot fetch from 2.5 s on. When broker 1 takes it out of the ISR, ZooKeeper is
    away, so partition 0 is locked until that is back at 9 s.
    """
    topics = [
        {"name": "shared", "assignment": {0: [1, 3]}, "settings": parts.pop("shared", {})},
        {"name": "own", "assignment": {0: [1]}},
    ]
    faults = [
        {"kind": "cut_link", "at": "2500ms", "between": [["broker:3"], ["broker:1"]]},
        {"kind": "zookeeper_outage", "at": "3500ms", "for": "5500ms"},
        *parts.pop("faults", []),
    ]
    settings = {"replica.lag.time.max.ms": 2000, "replica.fetch.wait.max.ms": 1000}
    return run_of(
        cluster_of(
            settings | parts.pop("settings", {}),
            topics=topics,
            faults=faults,
            duration="12s",
            **parts,
        ),
        folder / "run",
    )


def producer_to(topic: str, rate: float, start: str, **settings: int | str) -> dict[str, Any]:
    """Producers of one batch each, as a broker handles one request of a connection at a time."""
    producer = producers_of(rate, start, "9s", **settings)
    clients = ceil(6 * rate)
    return producer | {"name": f"to-{topic}", "topics": [topic], "clients": clients}


def test_requests_that_wait_for_a_lock_take_the_threads_of_all_others(tmp_path: Path) -> None:
    """leaderIsrUpdateLock: a thread waits for ZooKeeper with the request that it handles."""
    producers = [producer_to("shared", 4, "3s", acks=1), producer_to("own", 20, "3010ms", acks=1)]
    run = while_an_isr_is_written(
        tmp_path, workload={"producers": producers}, settings={"num.io.threads": 3}
    )
    (sent,) = rows_of(run, "isr_update_sent")
    (shrunk,) = rows_of(run, "isr_shrunk")
    assert shrunk["time_us"] >= 9 * SECOND
    came = rows_of(run, "message", message_kind=ProduceRequest.KIND, process=BROKER_1, partition=0)
    to_the_lock = [time for time in times_us(came) if time > sent["time_us"]]
    # As soon as three requests wait for the lock, nobody is left for the other partition.
    full_us = to_the_lock[2]
    handled = times_us(rows_of(run, "produce_answered", partition=1))
    assert any(sent["time_us"] < time < full_us for time in handled)
    assert not any(full_us < time < shrunk["time_us"] for time in handled)
    waited = rows_of(run, "produce_answered", partition=0)
    assert not any(sent["time_us"] < time < shrunk["time_us"] for time in times_us(waited))
    # All of them are handled in the end: 24 in 6 s, and 120.
    assert (len(waited), len(handled)) == (24, 120)


def test_a_thread_that_a_lock_sets_free_takes_the_next_request_at_once(tmp_path: Path) -> None:
    """The other thread is busy with a slow disk; the queue does not wait for that one."""
    run = while_an_isr_is_written(
        tmp_path,
        shared={"min.insync.replicas": 2},
        settings={"num.io.threads": 2},
        workload={
            "producers": [
                # Lags behind; then, refused once the ISR is written, costs no append.
                producer_to("shared", 0.2, "3s", acks="all", retries=0) | {"stop": "9s"},
                producer_to("own", 20, "8900ms", acks=1) | {"stop": "8990ms"},
            ]
        },
        faults=[{"kind": "slow_disk", "at": "8800ms", "brokers": [1], "delay": f"{SLOW_US}us"}],
    )
    (shrunk,) = rows_of(run, "isr_shrunk")
    first, second = times_us(rows_of(run, "produce_answered", partition=1))
    assert first == 8901 * MS + SLOW_US
    (refused,) = rows_of(run, "request_refused", error=errors.NOT_ENOUGH_REPLICAS)
    assert refused["time_us"] == shrunk["time_us"]
    assert second == refused["time_us"] + 50 + SLOW_US
