"""Producers that are idempotent, have little memory, and send for several partitions at once.

Broker 1 leads the one partition of the topic, 2 and 3 follow. Broker 3 is the controller. Each
message takes 1 ms.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from process_groups import groups_of
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
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication import errors
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.messages.client_requests import ProduceRequest
from tidegauge.traces.run_folder import RunFolder

FAST_FAILOVER = {"zookeeper.session.timeout.ms": 4000, "replica.fetch.wait.max.ms": 1000}


def leader_dies(idempotent: bool, release: str = "2.6", **parts: Any) -> Scenario:
    """Broker 1 dies when its followers have a batch and its producer has no response."""
    producer = producers_of(
        0.5, "3s", "4s", acks="all", **{"enable.idempotence": idempotent, "retries": 100}
    )
    story: dict[str, Any] = {
        "settings": FAST_FAILOVER,
        "release": release,
        "duration": "14s",
        "workload": {"producers": [producer]},
        # The batch comes at 3.001 s, its followers' fetches bring it by 3.002 s.
        "faults": [{"kind": "crash", "at": "3002500us", "brokers": [1]}],
    }
    return cluster_of(**(story | parts))


def count_of(run: RunFolder, name: str) -> int:
    """A figure of the summary."""
    assert run.summary is not None
    return int(run.summary[name])


def test_a_retry_is_answered_by_the_new_leader_with_the_offset_of_the_first_append(
    tmp_path: Path,
) -> None:
    """KIP-98: the state of producers is in the log, so a follower that leads has it."""
    run = run_of(leader_dies(idempotent=True), tmp_path / "run")
    (found,) = run.rows("duplicate_found")
    assert (found["process"], found["from_process"], found["offset"]) == (BROKER_2, FIRST_CLIENT, 0)
    (answered,) = rows_of(run, "produce_answered", error=0)
    assert (answered["process"], answered["base_offset"]) == (BROKER_2, 0)
    assert log_end_offset(run, BROKER_2) == 1
    assert not list(run.rows("batch_duplicated"))
    assert count_of(run, "records_deduplicated") == count_of(run, "records_acknowledged") == 1


def test_a_fetch_ends_between_batches_and_brings_a_larger_first_one_whole(tmp_path: Path) -> None:
    """KIP-74: batches of 40 records of 100 bytes, and replica.fetch.max.bytes below and above."""
    singly = {40, 80, 120, 160}
    for records, ends in ((10, singly), (60, singly), (100, {40, 120, 160})):
        producer = producers_of(40, "3s", "3100ms", acks="all", **{"enable.idempotence": True})
        scenario = cluster_of(
            {"replica.fetch.max.bytes": 100 * records},
            topics=[topic_of([1, 2])],
            workload={"producers": [producer | {"clients": 4, "records_per_batch": 40}]},
            # The follower gets the first batch, and then finds three at once.
            faults=[{"kind": "pause", "brokers": [2], "at": "2900ms", "for": "300ms"}],
        )
        run = run_of(scenario, tmp_path / str(records))
        appended = rows_of(run, "appended", process=BROKER_2)
        assert {row["end_offset"] for row in appended} == ends, records


def test_without_idempotence_the_new_leader_appends_the_retry_again(tmp_path: Path) -> None:
    """The same story: the batch is in the log twice, though its producer cannot know it."""
    run = run_of(leader_dies(idempotent=False), tmp_path / "run")
    assert log_end_offset(run, BROKER_2) == 2
    assert count_of(run, "records_acknowledged") == 1
    assert count_of(run, "records_deduplicated") == 0


@pytest.mark.parametrize("release", ["2.4", "2.6"])
def test_a_loss_makes_a_gap_that_ends_the_epoch_or_the_producer_id(
    release: str, tmp_path: Path
) -> None:
    """From 2.5 on a gap bumps the epoch, and the batch is retried (KIP-360).

    Before, the batch fails and the producer asks for another id.
    """
    dark = {"name": "dark", "kind": "crash", "at": "4s", "for": "12s", "brokers": [2]}
    run = run_of(
        cluster_of(
            FAST_FAILOVER,
            release=release,
            duration="40s",
            topics=[topic_of([1, 2], **{"unclean.leader.election.enable": True})],
            workload={
                "producers": [
                    producers_of(
                        5, "3s", "30s", acks="all",
                        **{"enable.idempotence": True, "delivery.timeout.ms": 120000},
                    )
                ]
            },
            # While 2 is away 1 appends alone; then it dies, and 2 leads without that.
            faults=[dark, {"kind": "crash", "at": "15s", "brokers": [1]}],
        ),
        tmp_path / "run",
    )  # fmt: skip
    assert count_of(run, "records_acknowledged_lost") > 0
    gaps = rows_of(run, "request_refused", error=errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    failed = rows_of(run, "batch_failed", error=errors.OUT_OF_ORDER_SEQUENCE_NUMBER)
    assert gaps
    assert bool(failed) == (release == "2.4")
    acknowledged = rows_of(run, "produce_answered", error=0)
    assert acknowledged[-1]["time_us"] > 29 * SECOND
    assert count_of(run, "records_duplicated") == 0


def test_five_in_flight_stay_in_order_across_a_leader_change(tmp_path: Path) -> None:
    """KAFKA-5494: retries leave in the order of their numbers; each batch is there once."""
    run = run_of(
        cluster_of(
            FAST_FAILOVER,
            duration="20s",
            workload={
                "producers": [
                    producers_of(
                        50, "3s", "12s", acks="all",
                        **{"enable.idempotence": True, "request.timeout.ms": 1000},
                    )
                ]
            },
            network=network_of("1ms", clients="20ms"),
            faults=[{"kind": "pause", "at": "4s", "for": "9s", "brokers": [1]}],
        ),
        tmp_path / "run",
    )  # fmt: skip
    assert rows_of(run, "leader_elected", leader=BROKER_2)
    assert count_of(run, "records_acknowledged") == 450
    assert log_end_offset(run, BROKER_2) == 450
    first = [row for row in rows_of(run, "appended", leads=1) if row["process"] == BROKER_2]
    assert times_us(first) == sorted(times_us(first))


def test_a_full_buffer_blocks_the_application_until_batches_are_done(tmp_path: Path) -> None:
    """buffer.memory: 10 batches of 100 bytes wait or are in flight, and no more are made."""
    small = {"buffer.memory": 1000, "batch.size": 0}
    run = run_of(
        cluster_of(
            duration="12s",
            workload={"producers": [producers_of(10, "3s", "9s", acks=1, **small)]},
            faults=[{"kind": "pause", "at": "4s", "for": "3s", "brokers": [1]}],
        ),
        tmp_path / "run",
    )  # fmt: skip
    # 10 until 4 s, 10 that fill the buffer at 5 s, and those from 7 s on.
    assert not list(run.rows("send_failed"))
    assert count_of(run, "records_acknowledged") == count_of(run, "records_sent") == 10 + 10 + 20


def test_send_fails_after_max_block_ms(tmp_path: Path) -> None:
    """max.block.ms: the send() fails, and the next one is tried (BufferExhaustedException)."""
    settings = {"buffer.memory": 1000, "batch.size": 0, "max.block.ms": 500}
    run = run_of(
        cluster_of(
            duration="12s",
            workload={"producers": [producers_of(10, "3s", "9s", acks=1, **settings)]},
            faults=[{"kind": "pause", "at": "4s", "for": "3s", "brokers": [1]}],
        ),
        tmp_path / "run",
    )
    failed = list(run.rows("send_failed"))
    assert {row["waited_us"] for row in failed} == {500 * MS}
    # One each 600 ms from 5 s on: 500 ms of waiting, and the next is due.
    assert times_us(failed) == [5500 * MS, 6100 * MS, 6700 * MS]
    assert count_of(run, "records_failed") == 3
    sent = count_of(run, "records_sent")
    assert count_of(run, "records_acknowledged") == sent - 3


def test_a_request_has_one_batch_of_each_partition_and_each_its_own_error(
    tmp_path: Path,
) -> None:
    """linger.ms: two partitions leave together; the one with too few replicas is refused alone."""
    few = {"name": "few", "assignment": {0: [1, 2]}, "settings": {"min.insync.replicas": 3}}
    many = {"name": "many", "assignment": {0: [1, 2, 3], 1: [1, 3, 2]}}
    producer = producers_of(
        10, "3s", "3200ms", acks="all", **{"linger.ms": 250, "retries": 0, "max.block.ms": 0}
    )
    run = run_of(
        cluster_of(
            topics=[few, many],
            workload={"producers": [producer | {"topics": ["few", "many"]}]},
            duration="6s",
        ),
        tmp_path / "run",
    )
    came = rows_of(run, "message", message_kind=ProduceRequest.KIND, process=BROKER_1)
    assert len(came) == 2
    assert set(times_us(came)) == {3251 * MS}
    (refused,) = run.rows("request_refused")
    assert (refused["partition"], refused["error"]) == (0, errors.NOT_ENOUGH_REPLICAS)
    answered = rows_of(run, "produce_answered", error=0)
    # The response waits until all partitions have their replicas.
    assert [row["partition"] for row in answered] == [1]
    assert count_of(run, "records_acknowledged") == count_of(run, "records_failed") == 1


@pytest.mark.parametrize("idempotent", [True, False])
def test_runs_are_the_same_in_every_grouping(idempotent: bool, tmp_path: Path) -> None:
    """What followers learn of producers crosses processes in messages."""
    story = leader_dies(idempotent)
    hashes = set()
    for count in (1, 2, 5):
        engine = inline(groups_of(story, count))
        run = simulate(story, tmp_path / f"{count}", make_engine=engine)
        assert run.summary is not None
        hashes.add(run.summary["trace_sha256"])
    assert len(hashes) == 1
    other = run_of(leader_dies(not idempotent), tmp_path / "other")
    assert other.summary is not None
    assert other.summary["trace_sha256"] not in hashes
