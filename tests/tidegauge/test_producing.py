"""Producers and brokers: acks, refusals, time-outs, retries and the duplicates that they make.

Broker 1 leads the one partition of the topic, 2 and 3 follow. Broker 3 is the controller.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import (
    BROKER_1,
    BROKER_2,
    BROKER_3,
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
from tidegauge.engine.group import Group
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.messages.client_requests import ProduceRequest, ProduceResponse
from tidegauge.simulation.messages.kinds import KEY_OF_KIND
from tidegauge.traces.run_folder import RunFolder

REQUEST_TIMED_OUT = errors.CODES["REQUEST_TIMED_OUT"]


def run_with(folder: Path, producer: dict[str, Any], **parts: Any) -> RunFolder:
    """The run of one producer."""
    scenario = cluster_of(workload={"producers": [producer]}, **parts)
    return run_of(scenario, folder / "run")


def counts_of(run: RunFolder) -> tuple[int, int, int, int]:
    """Records sent, acknowledged, failed, duplicated."""
    summary = run.summary
    assert summary is not None
    names = ("sent", "acknowledged", "failed", "duplicated")
    sent, acknowledged, failed, duplicated = (int(summary[f"records_{name}"]) for name in names)
    assert acknowledged + failed <= sent
    return sent, acknowledged, failed, duplicated


def errors_answered(run: RunFolder) -> list[int]:
    """The errors of all answers that the producer got, in order."""
    answers = rows_of(run, "message", message_kind=ProduceResponse.KIND, process=FIRST_CLIENT)
    return [row["error"] for row in answers]


def follower_away(begins: str, lasts: str, *others: int) -> dict[str, Any]:
    """A cut between brokers: 3 (and others) cannot fetch from 1."""
    away = [f"broker:{broker}" for broker in (3, *others)]
    return {
        "kind": "cut_link",
        "at": begins,
        "for": lasts,
        "between": [away, ["broker:1"]],
    }


# acks.


@pytest.mark.parametrize(
    ("acks", "answered_after_us"),
    [
        # Appended: 50 us for the request, 20 us for the append, and there and back.
        (1, 2 * MS + 70),
        # And 1 ms to each follower, its append of 20 us, 1 ms for the fetch behind the record;
        # each of the leader's two answers takes 50 us.
        ("all", 2 * MS + 2 * MS + 20 + 50 + 50),
    ],
)
def test_acks_say_what_an_acknowledgement_waits_for(
    acks: int | str, answered_after_us: int, tmp_path: Path
) -> None:
    """Rule 7.3: acks=1 waits for the leader's append, all for the fetch of each follower."""
    run = run_with(tmp_path, producers_of(10, "3s", "4s", acks=acks))
    answers = rows_of(run, "message", message_kind=ProduceResponse.KIND, process=FIRST_CLIENT)
    assert times_us(answers) == [
        3 * SECOND + number * 100 * MS + answered_after_us for number in range(10)
    ]
    assert counts_of(run) == (10, 10, 0, 0)
    assert log_end_offset(run, BROKER_1) == 10


def test_with_acks_0_a_batch_is_done_as_soon_as_it_is_sent(tmp_path: Path) -> None:
    """Rule 7.3: there is no answer, so nothing is acknowledged and nothing fails."""
    gone = {"name": "gone", "kind": "pause", "at": "3450ms", "brokers": [1]}
    run = run_with(tmp_path, producers_of(10, "3s", "4s", acks=0), faults=[gone])
    assert counts_of(run) == (10, 0, 0, 0)
    assert log_end_offset(run, BROKER_1) == 5


def test_batches_to_a_broker_without_power_are_given_back(tmp_path: Path) -> None:
    """With acks=0 nothing says that they are lost, but their memory is used again."""
    dark = {"kind": "power_loss", "at": "4s", "for": "4s", "brokers": [1]}
    scenario = cluster_of(
        topics=[topic_of([1])],
        workload={"producers": [producers_of(50, "3s", "30s", acks=0)]},
        faults=[dark],
        duration="35s",
    )
    plan = ClusterPlan(scenario)
    group = Group(plan, range(len(plan.processes)), tmp_path)
    group.run_to(35 * SECOND, lambda _: None)
    assert group.world.replicas[0].log_end_offset > 300
    assert len(group.world.batches) - group.world.pool[0].free_batches == 0


def test_what_acks_all_acknowledged_is_below_the_high_watermark_in_the_end(
    tmp_path: Path,
) -> None:
    """Each record that was acknowledged is committed, although a follower comes and goes."""
    run = run_with(
        tmp_path,
        producers_of(10, "3s", "9s", acks="all"),
        settings={"replica.lag.time.max.ms": 2000, "replica.fetch.wait.max.ms": 1000},
        duration="12s",
        network=network_of("1ms", retransmission_after_cut="500ms"),
        faults=[follower_away("4s", "3s")],
    )
    assert rows_of(run, "isr_shrunk")
    acknowledged = [row["end_offset"] for row in run.rows("acknowledged")]
    exposed = [row["high_watermark"] for row in run.rows("exposed") if row["process"] == BROKER_1]
    assert max(acknowledged) == exposed[-1] == log_end_offset(run, BROKER_1)
    sent, answered, _, _ = counts_of(run)
    assert sent == answered == 60
    for row in rows_of(run, "produce_answered", error=0):
        moved = [
            moved["high_watermark"]
            for moved in rows_of(run, "high_watermark_moved", process=BROKER_1)
            if moved["time_us"] <= row["time_us"]
        ]
        assert row["end_offset"] <= moved[-1]


# min.insync.replicas.


def test_not_enough_replicas_is_answered_before_the_append(tmp_path: Path) -> None:
    """Rule of real brokers: base_offset -1 and nothing appended; acks=1 and 0 are taken."""
    produce = {"do": "produce", "topic": "story", "partition": 0, "records": 7}
    alone = {"isr": {"topic": "story", "partition": 0, "is": [1, 2]}}
    run = run_of(
        cluster_of(
            {"replica.lag.time.max.ms": 2000, "replica.fetch.wait.max.ms": 1000},
            topics=[topic_of([1, 2, 3], **{"min.insync.replicas": 3})],
            duration="8s",
            faults=[follower_away("2s", "9s")],
            steps=[
                # Broker 3 lags behind from here on.
                {"at": "2100ms", **produce, "acks": 1},
                *(
                    {"when": alone, "within": "9s", **produce, "acks": acks}
                    for acks in ("all", 1, 0)
                ),
            ],
        ),
        tmp_path / "run",
    )
    outcomes = [
        (row["acks"], row["error"], row["base_offset"]) for row in run.rows("produce_answered")
    ]
    assert outcomes == [
        (1, errors.NONE, 0),
        (-1, errors.NOT_ENOUGH_REPLICAS, UNDEFINED),
        (1, errors.NONE, 7),
        (0, errors.NONE, 14),
    ]
    (refused,) = rows_of(run, "request_refused")
    assert (refused["api_key"], refused["offset"]) == (KEY_OF_KIND[ProduceRequest.KIND], UNDEFINED)
    assert log_end_offset(run, BROKER_1) == 21


def test_not_enough_replicas_after_append_leaves_the_records_to_be_committed(
    tmp_path: Path,
) -> None:
    """Rule of real brokers: the ISR shrinks while the request waits; the base offset is real."""
    produce = {"do": "produce", "topic": "story", "partition": 0}
    run = run_of(
        cluster_of(
            {"replica.lag.time.max.ms": 2000, "replica.fetch.wait.max.ms": 1000},
            topics=[topic_of([1, 2, 3], **{"min.insync.replicas": 3})],
            duration="10s",
            faults=[follower_away("3s", "7s")],
            steps=[{"at": "2s", **produce, "records": 4}, {"at": "3100ms", **produce}],
        ),
        tmp_path / "run",
    )
    first, second = run.rows("produce_answered")
    assert (first["error"], first["base_offset"]) == (errors.NONE, 0)
    assert second["error"] == errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert (second["base_offset"], second["end_offset"]) == (4, 5)
    (shrunk,) = rows_of(run, "isr_shrunk")
    assert second["time_us"] == shrunk["time_us"]
    assert log_end_offset(run, BROKER_1) == log_end_offset(run, BROKER_2) == 5
    committed = rows_of(run, "high_watermark_moved", process=BROKER_1, high_watermark=5)
    assert times_us(committed) == [shrunk["time_us"]]


def test_a_time_out_tells_the_real_base_offset_and_the_records_stay(tmp_path: Path) -> None:
    """Rule 7.3: REQUEST_TIMED_OUT once `timeout` is over; what was appended stays."""
    produce = {"do": "produce", "topic": "story", "partition": 0}
    run = run_of(
        cluster_of(
            duration="10s",
            network=network_of("1ms", retransmission_after_cut="500ms"),
            faults=[follower_away("3s", "4s")],
            steps=[
                {"at": "2s", **produce, "records": 4},
                {"at": "3100ms", **produce, "records": 2, "timeout": "1500ms"},
            ],
        ),
        tmp_path / "run",
    )
    _, late = run.rows("produce_answered")
    (appended,) = rows_of(run, "appended", process=BROKER_1, base_offset=4)
    assert late["error"] == REQUEST_TIMED_OUT
    assert (late["base_offset"], late["end_offset"]) == (4, 6)
    assert late["time_us"] == appended["time_us"] + 1500 * MS
    # Once broker 3 is back it fetches them, and they are committed like all others.
    assert log_end_offset(run, BROKER_3) == 6
    (moved,) = rows_of(run, "high_watermark_moved", process=BROKER_1, high_watermark=6)
    assert moved["time_us"] > 7 * SECOND


# Another leader.


def test_after_an_election_a_producer_learns_of_the_new_leader_and_goes_on(
    tmp_path: Path,
) -> None:
    """NOT_LEADER_OR_FOLLOWER, a metadata refresh at once, and the retry goes to broker 2."""
    run = run_with(
        tmp_path,
        producers_of(5, "3s", "12s", acks="all"),
        settings={"zookeeper.session.timeout.ms": 4000, "replica.fetch.wait.max.ms": 1000},
        duration="14s",
        network=network_of("1ms", retransmission_after_cut="200ms"),
        # A pause that outlasts the session: at its end broker 1 hears that it leads no more.
        faults=[{"kind": "pause", "at": "4s", "for": "5s", "brokers": [1]}],
    )
    (elected,) = rows_of(run, "leader_elected", old_leader=BROKER_1)
    assert elected["leader"] == BROKER_2
    not_leader = rows_of(run, "request_refused", error=errors.NOT_LEADER_OR_FOLLOWER)
    assert not_leader
    assert {row["process"] for row in not_leader} == {BROKER_1}
    after = [
        row
        for row in rows_of(run, "produce_answered", error=0)
        if row["time_us"] > not_leader[0]["time_us"]
    ]
    assert {row["process"] for row in after} == {BROKER_2}
    assert after[0]["time_us"] < not_leader[0]["time_us"] + 250 * MS
    assert len({row["time_us"] // SECOND for row in not_leader}) == 1
    # The first of those that lay in the socket of broker 1 it has appended before it heard, and
    # cut off; it reads the next when that is answered.
    (cut_off,) = rows_of(run, "truncated", process=BROKER_1)
    assert cut_off["old_end_offset"] - cut_off["end_offset"] == 1
    assert counts_of(run) == (45, 45, 0, 1)
    assert log_end_offset(run, BROKER_1) == log_end_offset(run, BROKER_2) == 45


def test_batches_that_wait_for_a_dead_leader_go_to_the_new_one(tmp_path: Path) -> None:
    """RecordAccumulator.drain: who leads is asked when a batch is sent, not when it is made."""
    settings = {
        "request.timeout.ms": 1000,
        "max.in.flight.requests.per.connection": 1,
        "batch.size": 0,
    }
    run = run_with(
        tmp_path,
        producers_of(10, "3s", "6s", acks="all", **settings),
        settings={"zookeeper.session.timeout.ms": 4000, "replica.fetch.wait.max.ms": 1000},
        duration="12s",
        faults=[{"kind": "pause", "at": "4050ms", "brokers": [1]}],
    )
    (elected,) = rows_of(run, "leader_elected", old_leader=BROKER_1)
    assert elected["time_us"] > 8 * SECOND
    # One more time-out at most, after which metadata name broker 2, and then one by one.
    answered = rows_of(run, "produce_answered", process=BROKER_2, error=0)
    assert max(times_us(answered)) < elected["time_us"] + 2500 * MS
    assert counts_of(run) == (30, 30, 0, 0)
    assert len(answered) == 30 - 11


# Retries.


@pytest.mark.parametrize("retries", [0, 2])
def test_a_batch_is_given_up_after_its_retries(retries: int, tmp_path: Path) -> None:
    """Sender.canRetry: attempts up to `retries`, with retry.backoff.ms between them."""
    run = run_with(
        tmp_path,
        producers_of(0.5, "3s", "4s", acks="all", retries=retries, **{"retry.backoff.ms": 300}),
        topics=[topic_of([1, 2], **{"min.insync.replicas": 3})],
    )
    assert errors_answered(run) == [errors.NOT_ENOUGH_REPLICAS] * (1 + retries)
    (failed,) = run.rows("batch_failed")
    assert failed["error"] == errors.NOT_ENOUGH_REPLICAS
    assert (failed["attempts"], failed["records"]) == (1 + retries, 1)
    attempts = times_us(rows_of(run, "message", message_kind=ProduceRequest.KIND))
    # There and back in 2 ms, and 50 us at the broker.
    assert [late - early for early, late in pairwise(attempts)] == [302 * MS + 50] * retries
    assert counts_of(run) == (1, 0, 1, 0)


def test_a_batch_is_given_up_when_delivery_timeout_ms_is_over(tmp_path: Path) -> None:
    """KIP-91: retries are without number, the time is limited."""
    settings = {"delivery.timeout.ms": 1000, "request.timeout.ms": 500, "retry.backoff.ms": 300}
    run = run_with(
        tmp_path,
        producers_of(0.5, "3s", "4s", acks="all", **settings),
        topics=[topic_of([1, 2], **{"min.insync.replicas": 3})],
    )
    (failed,) = run.rows("batch_failed")
    # Attempts at 0, 302, 604 and 906 ms; the back-off of the last one ends after 1 s.
    assert failed["attempts"] == 4
    assert 4 * SECOND <= failed["time_us"] < 4 * SECOND + 300 * MS
    assert counts_of(run) == (1, 0, 1, 0)


def test_a_producer_whose_leader_is_silent_gives_up(tmp_path: Path) -> None:
    """No answer within request.timeout.ms counts as an error that may pass."""
    settings = {"delivery.timeout.ms": 1500, "request.timeout.ms": 500}
    stop = {"kind": "pause", "at": "2900ms", "brokers": [1]}
    run = run_with(
        tmp_path, producers_of(0.5, "3s", "4s", acks=1, retries=1, **settings), faults=[stop]
    )
    (failed,) = run.rows("batch_failed")
    assert (failed["error"], failed["attempts"]) == (REQUEST_TIMED_OUT, 2)
    # Twice the time-out, and the back-off of 100 ms between them.
    assert failed["time_us"] == 3 * SECOND + 1100 * MS


def test_a_batch_that_waits_for_its_connection_is_given_up_in_time(tmp_path: Path) -> None:
    """KIP-91: delivery.timeout.ms counts from the batch's making, in the accumulator and in flight.

    Source: RecordAccumulator.expiredBatches, Sender.getExpiredInflightBatches@2.4.0.
    """
    settings = {"delivery.timeout.ms": 1500, "request.timeout.ms": 1000, "batch.size": 0}
    one = {"max.in.flight.requests.per.connection": 1}
    run = run_with(
        tmp_path,
        producers_of(10, "3s", "4s", acks=1, **settings, **one),
        duration="9s",
        faults=[{"kind": "pause", "at": "2900ms", "brokers": [1]}],
    )
    failed = list(run.rows("batch_failed"))
    assert sorted(row["batch"] for row in failed) == list(range(10))
    for row in failed:
        assert row["time_us"] == 3 * SECOND + row["batch"] * 100 * MS + 1500 * MS
    assert {0, 2} <= {row["attempts"] for row in failed}
    assert counts_of(run) == (10, 0, 10, 0)


# Duplicates.


def test_a_retry_of_a_batch_that_was_appended_appends_it_again(tmp_path: Path) -> None:
    """A producer without idempotence: the time-out is shorter than the way there and back."""
    slow = {
        "kind": "slow_link",
        "at": "3900ms",
        "for": "900ms",
        "between": [["client:shop"], ["broker:1"]],
        "delay": "200ms",
    }
    settings = {"request.timeout.ms": 300, "delivery.timeout.ms": 5000}
    run = run_with(
        tmp_path, producers_of(5, "3s", "5s", acks=1, **settings), duration="8s", faults=[slow]
    )
    twice = list(run.rows("batch_duplicated"))
    # Batch 5 leaves at 4 s and 6 at 4.2 s. At 4.3 s the time-out of 5 closes the connection,
    # which fails both; again at 4.7 s, with 7 and 8. All attempts are appended. Each that failed is
    # put before the others, so they come again in reverse (RecordAccumulator.reenqueue@2.4.0).
    assert [row["batch"] for row in twice] == [6, 5, 8, 7, 5, 6]
    bases = {row["base_offset"] for row in rows_of(run, "appended", process=BROKER_1)}
    for row in twice:
        assert row["again_offset"] > row["first_offset"]
        assert {row["first_offset"], row["again_offset"]} <= bases
    sent, acknowledged, failed, duplicated = counts_of(run)
    assert (sent, acknowledged, failed) == (10, 10, 0)
    assert duplicated == sum(row["records"] for row in twice)
    assert log_end_offset(run, BROKER_1) == acknowledged + duplicated


def test_not_enough_replicas_after_append_is_retried_and_duplicates(tmp_path: Path) -> None:
    """An error after the append: the retries append what is in the log already."""
    run = run_with(
        tmp_path,
        producers_of(0.5, "3100ms", "4s", acks="all", **{"delivery.timeout.ms": 60000}),
        settings={"replica.lag.time.max.ms": 2000, "replica.fetch.wait.max.ms": 1000},
        topics=[topic_of([1, 2, 3], **{"min.insync.replicas": 3})],
        duration="12s",
        network=network_of("1ms", retransmission_after_cut="500ms"),
        faults=[follower_away("3s", "4s")],
    )
    answered = errors_answered(run)
    assert answered[0] == errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    assert set(answered[1:-1]) == {errors.NOT_ENOUGH_REPLICAS}
    assert answered[-1] == errors.NONE
    (twice,) = run.rows("batch_duplicated")
    assert (twice["first_offset"], twice["again_offset"]) == (0, 1)
    assert counts_of(run) == (1, 1, 0, 1)
    assert log_end_offset(run, BROKER_1) == 2


# Connections.


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_requests_are_under_way_to_a_broker_than_allowed(
    limit: int, tmp_path: Path
) -> None:
    """max.in.flight.requests.per.connection: further batches wait for an answer."""
    settings = {"max.in.flight.requests.per.connection": limit, "batch.size": 0}
    run = run_with(
        tmp_path,
        producers_of(20, "3s", "4s", **settings, acks=1),
        network=network_of("1ms", clients="100ms"),
        duration="6s",
    )
    came = rows_of(run, "message", message_kind=ProduceRequest.KIND, process=BROKER_1)
    answered = rows_of(run, "message", message_kind=ProduceResponse.KIND, process=FIRST_CLIENT)
    ends = [(row["time_us"], 1) for row in answered]
    under_way, most = 0, 0
    for _, change in sorted([(time - 100 * MS, 2) for time in times_us(came)] + ends):
        under_way += 1 if change == 2 else -1
        most = max(most, under_way)
    assert most == limit
    # An answer after 200 ms lets the next ones go: `limit` batches in each 200.07 ms.
    assert len(answered) == min(20, limit * (3000 * 1000 // 200_070))
    offsets = [row["offset"] for row in answered]
    assert offsets == sorted(offsets)
