"""Mechanism 16: a leader that was replaced goes on in its old epoch, until it is fenced.

The schedules are n1, n2, u3 and u4 of the runs of real brokers (2.6.3), and the numbers theirs.
"""

from __future__ import annotations

from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from isr_stories import as_written, ms, process_named, reason_of, retold
from partition_fates import NO_ANSWER, Answer, Records, answers, log_of, lost, state_writes
from scenario_runs import rows_of, run_of, shipped
from tidegauge.replication.errors import (
    FENCED_LEADER_EPOCH,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
    UNKNOWN_LEADER_EPOCH,
)
from tidegauge.traces.run_folder import RunFolder, TraceRow

LEADER, ALL = 1, -1

#: Elected in the place of broker 1, which comes back into the ISR as its last member.
REPLACED = [(3, 1, [1, 2, 3], 0, 0), (3, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)]


def assert_all_logs_are(run: RunFolder, *records: Records) -> None:
    """All replicas hold the same, by the same epochs."""
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [[*records]] * 3


def truncation(run: RunFolder) -> tuple[int, int]:
    """From where to where the old leader has cut its log, once it follows in epoch 1."""
    (cut,) = rows_of(run, "truncated", process=process_named(run, "broker 1"))
    assert cut["leader_epoch"] == 1
    return cut["old_end_offset"], cut["end_offset"]


# Paused.


@pytest.mark.parametrize(
    ("release", "protocol"), [("0.10.2", None), ("1.1", None), ("2.6", None), ("3.9", "2.6")]
)
def test_a_paused_leader_acknowledges_what_lay_in_its_socket_and_loses_it(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Schedule n1: acks=1, offsets 5 to 8 and 9 to 10, acknowledged and then cut back to 5."""
    run = run_of(retold("16-paused-leader", release=release, protocol=protocol), tmp_path / "run")
    assert state_writes(run) == REPLACED
    assert answers(run) == [
        Answer(1, NONE, 0, 5),
        Answer(2, NONE, 5, 8),
        Answer(1, NONE, 9, 11),
        Answer(2, NONE, 8, 9),
    ]
    (from_the_socket,) = rows_of(run, "produce_answered", base_offset=5, acks=LEADER)
    assert (from_the_socket["end_offset"], from_the_socket["error"]) == (9, NONE)
    # It goes on at 13s, and appends before it is told anything: at once, or as soon as ZooKeeper
    # has refused the shrink that was due first (before 2.4 followers of an idle leader lag).
    refused = rows_of(run, "isr_update_failed", process=0)
    assert bool(refused) == (release in {"0.10.2", "1.1"})
    goes_on_ms = ms(refused[0]) if refused else 13_000
    assert 0 <= ms(from_the_socket) - goes_on_ms < 5
    followed = rows_of(run, "became_follower", process=0)[-1]
    assert from_the_socket["time_us"] < followed["time_us"]
    assert truncation(run) == (11, 5)
    assert lost(run, LEADER, leader=2) == [5, 6, 7, 8, 9, 10]
    assert lost(run, ALL, leader=2) == []
    assert_all_logs_are(run, Records(0, 0, 5), Records(1, 5, 9))


def test_with_acks_all_a_paused_leader_says_that_it_does_not_lead(tmp_path: Path) -> None:
    """Schedule n2: NOT_LEADER_FOR_PARTITION with the real base offset, and none in the end."""
    story = as_written("16-paused-leader")
    (shop,) = story["workload"]["producers"]
    careful = shop | {"settings": shop["settings"] | {"acks": "all"}}
    late = story["steps"][2] | {"at": "14s"}
    run = run_of(
        retold(
            "16-paused-leader",
            workload={"producers": [careful]},
            steps=[*story["steps"][:2], late],
        ),
        tmp_path / "run",
    )
    assert state_writes(run) == REPLACED
    assert truncation(run) == (9, 5)
    (answer,) = rows_of(run, "produce_answered", base_offset=5, process=0)
    assert (answer["error"], answer["end_offset"]) == (NOT_LEADER_OR_FOLLOWER, 9)
    (failed,) = run.rows("batch_failed")
    assert (failed["error"], failed["records"]) == (NOT_LEADER_OR_FOLLOWER, 4)
    # Later nothing is appended any more, with acks=1 neither.
    assert answers(run)[-1] == Answer(1, NOT_LEADER_OR_FOLLOWER, -1, -1)
    assert lost(run, ALL, leader=2) == lost(run, LEADER, leader=2) == []
    assert_all_logs_are(run, Records(0, 0, 5), Records(1, 5, 8))


# Cut off.


def test_a_leader_that_lost_zookeeper_leads_on_until_it_wants_to_shrink(tmp_path: Path) -> None:
    """Schedule u3: acks=1 acknowledged, acks=all timed out, then no answer at all."""
    run = run_of(shipped("16-cut-off-leader"), tmp_path / "run")
    assert state_writes(run) == REPLACED
    assert answers(run) == [
        Answer(1, NONE, 0, 5),
        # While its session lasts the followers have it, too.
        Answer(1, NONE, 5, 7),
        Answer(1, NONE, 7, 10),
        Answer(1, REQUEST_TIMED_OUT, 10, 12),
        Answer(2, NONE, 7, 11),
        NO_ANSWER,
        Answer(2, NONE, 11, 12),
    ]
    # What nobody waited for any more was appended when the lock was free, at 12.
    assert truncation(run) == (13, 7)
    assert lost(run, LEADER, leader=2) == [7, 8, 9, 12]
    assert lost(run, ALL, leader=2) == []
    assert_all_logs_are(run, Records(0, 0, 7), Records(1, 7, 12))


def test_an_isolated_leader_hangs_as_soon_as_its_session_is_over(tmp_path: Path) -> None:
    """Schedule u4: two acknowledged and lost; then neither acks=1 nor acks=all is answered."""
    run = run_of(shipped("16-isolated-leader"), tmp_path / "run")
    assert state_writes(run) == REPLACED
    assert answers(run) == [
        Answer(1, NONE, 0, 5),
        Answer(1, NONE, 5, 7),
        Answer(2, NONE, 5, 5),
        NO_ANSWER,
        NO_ANSWER,
        Answer(2, NONE, 5, 9),
        Answer(2, NONE, 9, 10),
    ]
    blocked, healed = blocked_span(run)
    assert reason_of(run, next(run.rows("isr_update_sent"))) == "cut"
    hung = rows_of(run, "appended", process=0, leads=1)
    assert not [row for row in hung if blocked <= row["time_us"] < healed]
    assert truncation(run) == (12, 5)
    assert lost(run, LEADER, leader=2) == [5, 6, 7, 8, 9]
    assert_all_logs_are(run, Records(0, 0, 5), Records(1, 5, 10))


def blocked_span(run: RunFolder) -> tuple[int, int]:
    """From the first try to shrink the ISR to ZooKeeper's refusal: what waits inside the lock."""
    sent = next(run.rows("isr_update_sent"))
    refused = next(run.rows("isr_update_failed"))
    assert sent["process"] == refused["process"] == process_named(run, "broker 1")
    return sent["time_us"], refused["time_us"]


def served(run: RunFolder, acks: int, span: tuple[int, int]) -> list[TraceRow]:
    """What the old leader has acknowledged within a span."""
    rows = rows_of(run, "produce_answered", process=0, acks=acks, error=NONE)
    return [row for row in rows if span[0] <= row["time_us"] < span[1]]


def test_between_election_and_shrink_acks_1_is_acknowledged_and_then_hangs(tmp_path: Path) -> None:
    """Real brokers, section 5: the two spans of a leader that is cut off and does not know."""
    run = run_of(shipped("16-old-leader-under-load"), tmp_path / "run")
    (elected,) = rows_of(run, "leader_elected", leader=1)
    blocked = blocked_span(run)
    zombie = (elected["time_us"], blocked[0])
    # isr-expiration runs every 2s from 0.5s on; followers were caught up until 9s.
    assert zombie[0] // 1000 == pytest.approx(9_042, abs=20)
    assert zombie[1] == 14_500_000
    assert blocked[1] // 1000 == pytest.approx(18_305, abs=20)
    # Five a second, and each is answered; then none.
    assert len(served(run, LEADER, zombie)) == 27
    assert served(run, LEADER, blocked) == served(run, ALL, blocked) == []
    # All of acks=all until the followers left, and none after.
    assert len(served(run, ALL, (5_000_000, zombie[0]))) == 21
    assert served(run, ALL, zombie) == []


def test_what_the_old_leader_acknowledged_with_acks_1_is_lost_and_counted(tmp_path: Path) -> None:
    """All of the first span, and what came between the heal and the LeaderAndIsr."""
    run = run_of(shipped("16-old-leader-under-load"), tmp_path / "run")
    (elected,) = rows_of(run, "leader_elected", leader=1)
    after = served(run, LEADER, (elected["time_us"], 21_000_000))
    acknowledged = (range(row["base_offset"], row["end_offset"]) for row in after)
    assert lost(run, LEADER, leader=2) == [*chain.from_iterable(acknowledged)]
    assert lost(run, ALL, leader=2) == []


def test_without_a_shrink_the_old_leader_acknowledges_to_the_end(tmp_path: Path) -> None:
    """The twin: with the lag time of 30s isr-expiration has nothing to do in these 13s."""
    story = retold("16-old-leader-under-load", {"replica.lag.time.max.ms": 30_000})
    run = run_of(story, tmp_path / "run")
    assert rows_of(run, "isr_update_sent", process=0) == []
    (elected,) = rows_of(run, "leader_elected", leader=1)
    zombie = (elected["time_us"], 18_000_000)
    assert len(served(run, LEADER, zombie)) == 44
    assert served(run, ALL, zombie) == []


# Refused.


def other_epoch(tmp_path: Path, late: int, **parts: Any) -> RunFolder:
    """Of the two replicas that are left this one hears of epoch 1 two seconds later."""
    death, slow = as_written("16-another-epoch")["faults"]
    between = [["controller:4"], [f"broker:{late}"]]
    return run_of(
        retold("16-another-epoch", faults=[death, slow | {"between": between}], **parts),
        tmp_path / "run",
    )


def refused(run: RunFolder, kind: str) -> list[TraceRow]:
    """Answers with an error, from the death of broker 2 on."""
    return [row for row in run.rows(kind) if row["error"] != NONE and ms(row) > 5_000]


def test_a_fetch_in_an_older_epoch_is_fenced_and_given_up(tmp_path: Path) -> None:
    """KIP-320: FENCED_LEADER_EPOCH; the follower waits for the next LeaderAndIsr."""
    run = other_epoch(tmp_path, late=3)
    (fenced,) = refused(run, "fetch_answered")
    assert (fenced["process"], fenced["error"]) == (0, FENCED_LEADER_EPOCH)
    (given_up,) = run.rows("partition_failed")
    (follows,) = rows_of(run, "became_follower", leader_epoch=1)
    assert (given_up["process"], given_up["leader_epoch"]) == (2, 0)
    assert fenced.place < given_up.place < follows.place
    between = (given_up["time_us"], follows["time_us"])
    assert 1_900_000 < between[1] - between[0] < 2_000_000
    fetches = rows_of(run, "fetch_answered", process=0, to_process=2)
    assert not [row for row in fetches if between[0] < row["time_us"] < between[1]]


def test_a_question_in_an_epoch_that_the_leader_does_not_know_yet_is_asked_again(
    tmp_path: Path,
) -> None:
    """KIP-320: UNKNOWN_LEADER_EPOCH, to OffsetsForLeaderEpoch; again after the back-off of 1s."""
    run = other_epoch(tmp_path, late=1)
    asked = rows_of(run, "epoch_answered", process=0, to_process=2)[-3:]
    errors = [row["error"] for row in asked]
    assert errors == [UNKNOWN_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NONE]
    for one, following in pairwise(asked):
        assert 1_000 <= ms(following) - ms(one) < 1_010
    leads = rows_of(run, "became_leader", process=0, leader_epoch=1)
    assert asked[1].place < leads[0].place < asked[2].place
    assert rows_of(run, "partition_failed") == []


@pytest.mark.parametrize("late", [1, 3])
@pytest.mark.parametrize("release", ["1.1", "2.0"])
def test_before_2_1_no_request_says_in_which_epoch_it_was_made(
    tmp_path: Path, late: int, release: str
) -> None:
    """The twin: releases before KIP-320 answer what comes in another epoch as any other."""
    run = other_epoch(tmp_path, late=late, release=release)
    assert refused(run, "fetch_answered") == refused(run, "epoch_answered") == []
    assert answers(run)[-1] == Answer(1, NONE, 5, 6)
