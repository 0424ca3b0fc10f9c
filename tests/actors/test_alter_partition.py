"""AlterPartition at the leader: ISRs that are pending, and requests that are never given up.

KIP-497, AlterIsr in 2.7 to 3.1. The schedules a1, n1, u3 and u4 are those of the runs of real
brokers, of 3.9.0 where there are such, and the writes and answers theirs. Brokers 1, 2 and 3
are the processes 0, 1 and 2; broker 3 is the controller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from isr_stories import members, process_named, retold
from life_stories import all_writes, batches, begins, ends, fault, once_in_sync, story
from partition_fates import Answer, Records, answers, log_of, lost, state_writes
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.replication.errors import FENCED_LEADER_EPOCH, NONE, STALE_BROKER_EPOCH
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.trace_rows.codes import MOMENT_FETCH, MOMENT_SHRINK
from tidegauge.traces.run_folder import RunFolder, TraceRow

MS, SECOND = 1_000, 1_000_000
LEADER, ALL = 1, -1
NETWORK_EXCEPTION = errors.CODES["NETWORK_EXCEPTION"]
REQUEST_TIMED_OUT = errors.CODES["REQUEST_TIMED_OUT"]

#: Sessions that outlast every pause here.
LONG_SESSIONS = {"zookeeper.session.timeout.ms": 60_000}
NOW: dict[str, Any] = {"after": "0s"}
#: When a pause has begun everywhere.
SOON: dict[str, Any] = {"after": "200ms"}


def assert_nobody_is_notified(run: RunFolder) -> None:
    """With AlterPartition the controller knows, and isr-change-propagation does not run."""
    assert not list(run.rows("notification_sent"))
    assert run.summary is not None
    assert run.summary["isr_notifications"] == 0


def proposals(run: RunFolder) -> list[tuple[list[int], list[int]]]:
    """The ISRs that leaders have proposed, and those that they had before."""
    return [
        (members(run, row), members(run, row, "old_isr")) for row in run.rows("isr_update_sent")
    ]


def moved(run: RunFolder, broker: int, begin_us: int, end_us: int) -> list[TraceRow]:
    """How a leader's high watermark has moved in a span of time."""
    rows = rows_of(run, "high_watermark_moved", process=broker - 1, leads=1)
    return [row for row in rows if begin_us <= row["time_us"] < end_us]


# As real brokers have it.


@pytest.mark.parametrize("release", ["3.9", "3.0", "2.8", "2.7"])
def test_the_controller_writes_what_a_leader_proposes(release: str, tmp_path: Path) -> None:
    """Schedule a1: a follower dies and returns; joining raises the version, and no epoch."""
    steps = [
        batches([0], 5),
        begins("crash"),
        batches([0], 3, once_in_sync(0, 1, 2)),
        ends("crash"),
        batches([0], 2, once_in_sync(0, 1, 2, 3)),
    ]
    run = run_of(
        story([[1, 2, 3]], steps, controller=1, faults=[fault("crash", 3)], release=release),
        tmp_path / "run",
    )
    assert all_writes(run) == [
        [(1, 1, [1, 2, 3], 0, 0), (1, 1, [1, 2], 1, 1), (1, 1, [1, 2, 3], 1, 2)]
    ]
    assert proposals(run) == [([1, 2, 3], [1, 2])]
    (expanded,) = run.rows("isr_expanded")
    assert (expanded["version"], expanded["leader_epoch"]) == (2, 1)
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [
        [Records(0, 0, 5), Records(1, 5, 10)]
    ] * 3
    assert_nobody_is_notified(run)


def test_with_an_older_protocol_a_leader_of_3_9_writes_itself(tmp_path: Path) -> None:
    """ZkAlterPartitionManager, below protocol 2.7-IV2: the twin of the test above."""
    steps = [batches([0], 5), begins("crash"), ends("crash", once_in_sync(0, 1, 2))]
    run = run_of(
        story(
            [[1, 2, 3]], steps, controller=2, faults=[fault("crash", 3)],
            release="3.9", protocol="2.6",
        ),
        tmp_path / "run",
    )  # fmt: skip
    assert all_writes(run)[0][-1] == (1, 1, [1, 2, 3], 1, 2)
    assert list(run.rows("notification_sent"))
    assert not list(run.rows("alter_partition_sent"))


def test_an_isolated_leader_goes_on_and_nothing_hangs(tmp_path: Path) -> None:
    """Schedule u4 of 3.9.0: acks=1 is acknowledged, acks=all timed out; in 2.6 both hang."""
    run = run_of(retold("16-isolated-leader", release="3.9"), tmp_path / "run")
    assert state_writes(run) == [
        (3, 1, [1, 2, 3], 0, 0), (3, 2, [2, 3], 1, 1), (3, 2, [2, 3, 1], 1, 2)
    ]  # fmt: skip
    assert answers(run) == [
        Answer(1, NONE, 0, 5),
        Answer(1, NONE, 5, 7),
        Answer(2, NONE, 5, 5),
        Answer(1, NONE, 7, 10),
        Answer(1, REQUEST_TIMED_OUT, 10, 12),
        Answer(2, NONE, 5, 9),
        Answer(2, NONE, 9, 10),
    ]
    assert lost(run, LEADER, leader=2) == [5, 6, 7, 8, 9]
    assert lost(run, ALL, leader=2) == []
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [
        [Records(0, 0, 5), Records(1, 5, 10)]
    ] * 3


def test_a_paused_leader_of_3_9_loses_what_it_acknowledges_in_its_old_epoch(tmp_path: Path) -> None:
    """Schedule n1 of 3.9.0."""
    run = run_of(retold("16-paused-leader", release="3.9", protocol=None), tmp_path / "run")
    assert state_writes(run)[1:] == [(3, 2, [2, 3], 1, 1), (3, 2, [2, 3, 1], 1, 2)]
    assert answers(run) == [
        Answer(1, NONE, 0, 5),
        Answer(2, NONE, 5, 8),
        Answer(1, NONE, 9, 11),
        Answer(2, NONE, 8, 9),
    ]
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [
        [Records(0, 0, 5), Records(1, 5, 9)]
    ] * 3


def test_a_leader_with_a_former_registration_is_refused_as_a_whole_and_then_fenced(
    tmp_path: Path,
) -> None:
    """Schedule u3 in 3.9: STALE_BROKER_EPOCH, 50 ms later FENCED_LEADER_EPOCH; then it is over.

    Leader 1 has lost ZooKeeper and with it its registration. What it proposes in epoch 0 stays in
    the queue though it follows by then, and the answer finds nothing pending.
    """
    run = run_of(retold("16-cut-off-leader", release="3.9"), tmp_path / "run")
    (failed,) = run.rows("alter_partition_failed")
    assert (failed["process"], failed["error"]) == (0, STALE_BROKER_EPOCH)
    _, again = rows_of(run, "alter_partition_sent", process=0)
    assert again["time_us"] - failed["time_us"] == 50 * MS
    (fenced,) = rows_of(run, "isr_altered", leader=0)
    assert (fenced["error"], fenced["leader_epoch"]) == (FENCED_LEADER_EPOCH, 0)
    assert not list(run.rows("isr_update_failed"))
    assert state_writes(run)[-1] == (3, 2, [2, 3, 1], 1, 2)


# What is pending.


def slow_answer(release: str, **parts: Any) -> Scenario:
    """Broker 2 does not fetch for 20 s, and the controller does not answer for 12 s.

    After some 5 s the leader proposes an ISR without it; an acks=all produce waits.
    """
    steps = [
        batches([0], 5),
        begins("follower"),
        begins("controller", NOW),
        batches([0], 2, SOON),
        batches([0], 1, {"after": "1s"}),
    ]
    pauses = [
        {"kind": "pause", "name": "follower", "brokers": [2], "for": "20s"},
        {"kind": "pause", "name": "controller", "brokers": [3], "for": "12s"},
    ]
    own = {"settings": LONG_SESSIONS, "faults": pauses, "release": release, "trace": "all"}
    return story([[1, 2]], steps, **own | parts)


def span_of(run: RunFolder) -> tuple[int, int]:
    """From the proposal to its confirmation."""
    (sent,) = [row for row in run.rows("isr_update_sent") if members(run, row) == [1]]
    (shrunk,) = run.rows("isr_shrunk")
    return sent["time_us"], shrunk["time_us"]


@pytest.mark.parametrize("release", ["3.9", "3.1"])
def test_who_is_to_leave_holds_back_acks_all_until_the_controller_has_agreed(
    release: str, tmp_path: Path
) -> None:
    """PendingShrinkIsr: the maximal ISR is the old one; confirmed, the HW moves (KAFKA-13091)."""
    run = run_of(slow_answer(release), tmp_path / "run")
    sent_us, shrunk_us = span_of(run)
    (ended,) = rows_of(run, "fault_ended", process=process_named(run, "controller of broker 3"))
    assert sent_us + 5 * SECOND < ended["time_us"] < shrunk_us < ended["time_us"] + 60 * MS
    assert moved(run, 1, sent_us, shrunk_us) == []
    (move,) = moved(run, 1, shrunk_us, shrunk_us + 1)
    assert (move["high_watermark"], move["moment"]) == (7, MOMENT_SHRINK)
    assert answers(run) == [Answer(1, NONE, 0, 5), Answer(1, NONE, 5, 7), Answer(1, NONE, 7, 8)]
    assert_nobody_is_notified(run)


@pytest.mark.parametrize("release", ["3.0", "2.8", "2.7"])
def test_before_3_1_a_confirmed_shrink_does_not_move_the_high_watermark(
    release: str, tmp_path: Path
) -> None:
    """It is attempted at the proposal, in vain, and not again before somebody fetches."""
    run = run_of(slow_answer(release), tmp_path / "run")
    sent_us, shrunk_us = span_of(run)
    back_us = rows_of(run, "fault_ended", process=1)[0]["time_us"]
    assert shrunk_us + 5 * SECOND < back_us
    assert moved(run, 1, sent_us, back_us) == []
    first, *_ = moved(run, 1, back_us, back_us + SECOND)
    assert (first["high_watermark"], first["moment"]) == (7, MOMENT_FETCH)


@pytest.mark.parametrize(
    ("release", "error"), [("3.6", errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND), ("3.9", NONE)]
)
def test_min_insync_replicas_counts_the_committed_isr_before_and_the_maximal_one_after(
    release: str, error: int, tmp_path: Path
) -> None:
    """While the shrink is pending acks=all is appended; with it confirmed there are too few.

    From 3.7 on the high watermark waits for them (KAFKA-15583), so the produce does, too.
    """
    topic = {"name": "t0", "assignment": {0: [1, 2]}, "settings": {"min.insync.replicas": 2}}
    run = run_of(slow_answer(release, topics=[topic]), tmp_path / "run")
    assert answers(run)[1] == Answer(1, error, 5, 7)
    _, shrunk_us = span_of(run)
    (waited, *_) = [
        row for row in rows_of(run, "produce_answered", process=0) if row["base_offset"] == 5
    ]
    assert (waited["time_us"] - shrunk_us < 10 * MS) == (error != NONE)


def test_who_is_to_join_holds_back_the_high_watermark_at_once(tmp_path: Path) -> None:
    """PendingExpandIsr: a joining replica that falls silent again, with no answer for 16 s.

    Were it not for the maximal ISR, the leader would not wait for it longer than its lag time,
    4 s. When the answer is there it is committed, and lags, and leaves.
    """
    steps = [
        batches([0], 5),
        begins("lags"),
        batches([0], 1, SOON, acks=1),
        begins("controller", {"after": "5s"}),
        begins("lags again", {"after": "4s"}),
        batches([0], 1, SOON, acks=1),
        batches([0], 1, {"after": "6s"}, acks=1),
    ]
    pauses = [
        {"kind": "pause", "name": "lags", "brokers": [2], "for": "8s"},
        {"kind": "pause", "name": "lags again", "brokers": [2], "for": "25s"},
        {"kind": "pause", "name": "controller", "brokers": [3], "for": "16s"},
    ]
    parts: dict[str, Any] = {"faults": pauses, "release": "3.9", "trace": "all"}
    run = run_of(story([[1, 2]], steps, settings=LONG_SESSIONS, **parts), tmp_path / "run")
    assert proposals(run)[:3] == [([1], [1, 2]), ([1, 2], [1]), ([1], [1, 2])]
    begun_us = [row["time_us"] for row in rows_of(run, "fault_began", process=1)][1]
    (ended, *_) = rows_of(run, "fault_ended", process=process_named(run, "controller of broker 3"))
    appended = rows_of(run, "appended", process=0, leads=1)
    assert [row["end_offset"] for row in appended if row["time_us"] > begun_us] == [7, 8]
    assert moved(run, 1, begun_us, ended["time_us"]) == []
    expanded, *_ = run.rows("isr_expanded")
    assert ended["time_us"] < expanded["time_us"] < ended["time_us"] + 60 * MS
    later = moved(run, 1, ended["time_us"], ended["time_us"] + 6 * SECOND)
    assert [(row["high_watermark"], row["moment"]) for row in later] == [(8, MOMENT_SHRINK)]


# One request at a time, and never given up.


def test_what_is_proposed_while_a_request_is_on_its_way_goes_into_the_next(tmp_path: Path) -> None:
    """DefaultAlterPartitionManager: broker 2 returns to four partitions of one leader."""
    steps = [batches(range(4), 5), begins("crash"), ends("crash", once_in_sync(0, 1))]
    run = run_of(
        story([[1, 2]] * 4, steps, faults=[fault("crash", 2)], release="3.9"), tmp_path / "run"
    )
    sent = list(run.rows("alter_partition_sent"))
    assert [(row["request"], row["partition_count"]) for row in sent] == [(1, 1), (2, 3)]
    first, *others = [row["time_us"] for row in run.rows("isr_expanded")]
    assert sent[1]["time_us"] == first
    # One event of the controller, one answer.
    assert len(set(others)) == 1
    assert len(rows_of(run, "isr_altered", error=NONE)) == 4


def test_in_2_7_a_broker_looks_every_50_ms_whether_there_is_something_to_send(
    tmp_path: Path,
) -> None:
    """AlterIsrManagerImpl.start@2.7.0; by then all four have been proposed."""
    steps = [batches(range(4), 5), begins("crash"), ends("crash", once_in_sync(0, 1))]
    run = run_of(
        story([[1, 2]] * 4, steps, faults=[fault("crash", 2)], release="2.7"), tmp_path / "run"
    )
    (sent,) = run.rows("alter_partition_sent")
    assert sent["partition_count"] == 4
    (started,) = rows_of(run, "broker_started", process=0)
    assert (sent["time_us"] - started["time_us"]) % (50 * MS) == 0


def lone_leader(
    faults: Iterable[Mapping[str, Any]], steps: Iterable[Any], third_ms: int = 10_000, **parts: Any
) -> Scenario:
    """Leader 1 has lost its follower 2 to a long pause; broker 3 is nothing but controller."""
    silent = {"kind": "pause", "name": "follower", "brokers": [2], "for": "40s"}
    sessions = {
        broker: {"zookeeper.session.timeout.ms": timeout_ms}
        for broker, timeout_ms in ((1, 10_000), (2, 60_000), (3, third_ms))
    }
    return story(
        [[1, 2]],
        [batches([0], 5), begins("follower"), batches([0], 1, SOON, acks=1), *steps],
        cluster={"broker_settings": sessions},
        faults=[silent, *faults],
        **{"release": "3.9"} | parts,
    )


def test_a_dead_controller_is_asked_again_and_again_until_there_is_another(tmp_path: Path) -> None:
    """One proposal, one request: sent every 50 ms to who refuses it, then to the next one."""
    steps = [begins("crash", {"after": "1s"})]
    run = run_of(lone_leader([fault("crash", 3)], steps), tmp_path / "run")
    assert proposals(run) == [([1], [1, 2])]
    *refused, taken = rows_of(run, "alter_partition_sent", process=0)
    dead, alive = (process_named(run, f"controller of broker {broker}") for broker in (3, 1))
    assert len(refused) > 50
    assert {row["to_process"] for row in refused} == {dead}
    assert taken["to_process"] == alive
    failed = list(run.rows("alter_partition_failed"))
    assert {row["error"] for row in failed} == {NETWORK_EXCEPTION}
    pauses = [
        later["time_us"] - earlier["time_us"]
        for earlier, later in zip(failed, [*refused[1:], taken], strict=True)
    ]
    assert set(pauses[:-1]) == {50 * MS}
    assert all_writes(run)[0][-1] == (1, 1, [1], 0, 1)


def test_a_controller_that_does_not_answer_is_asked_again_after_its_time_out(
    tmp_path: Path,
) -> None:
    """controller.socket.timeout.ms; what it answers in the end to both requests counts once."""
    steps = [begins("controller", NOW)]
    silent = {"kind": "pause", "name": "controller", "brokers": [3], "for": "9500ms"}
    settings = {"controller.socket.timeout.ms": 2000}
    run = run_of(lone_leader([silent], steps, 30_000, settings=settings), tmp_path / "run")
    sent = rows_of(run, "alter_partition_sent", process=0)
    assert len(sent) > 1
    for earlier, later in pairwise(sent):
        assert later["time_us"] - earlier["time_us"] == 2050 * MS
    # The first is written, the others find that it is stored already.
    altered = list(run.rows("isr_altered"))
    assert [row["error"] for row in altered] == [NONE] * len(sent)
    assert all_writes(run)[0][1:] == [(3, 1, [1], 0, 1)]
    assert len(list(run.rows("isr_shrunk"))) == 1


def without_zookeeper(release: str) -> Scenario:
    """ZooKeeper is away for 9 s, and all sessions of 10 s are over when it is back."""
    steps = [begins("zookeeper_outage", NOW), batches([0], 3, {"after": "8s"}, acks=1)]
    outage = {"kind": "zookeeper_outage", "name": "zookeeper_outage", "for": "9s"}
    return lone_leader([outage], steps, release=release)


def test_without_zookeeper_the_leader_goes_on_and_asks_until_it_is_heard(tmp_path: Path) -> None:
    """The controller waits for ZooKeeper, the leader for the controller, and acks=1 for nobody.

    Back again, the controller has lost its session in the middle of the write, is none for a
    moment, then one that knows broker 1 under its next registration.
    """
    run = run_of(without_zookeeper("3.9"), tmp_path / "run")
    assert proposals(run) == [([1], [1, 2])]
    assert answers(run)[-1] == Answer(1, NONE, 6, 9)
    (refused,) = run.rows("isr_update_failed")
    assert refused["error"] == errors.UNKNOWN_SERVER_ERROR
    failed = [row["error"] for row in run.rows("alter_partition_failed")]
    assert failed == [errors.NOT_CONTROLLER, STALE_BROKER_EPOCH]
    ended_us = max(row["time_us"] for row in run.rows("fault_ended"))
    (shrunk,) = run.rows("isr_shrunk")
    assert ended_us < refused["time_us"] < shrunk["time_us"] < ended_us + 200 * MS
    assert all_writes(run)[0][1:] == [(3, 1, [1], 0, 1)]


@pytest.mark.parametrize(("release", "proposed"), [("3.1", 2), ("3.0", 1), ("2.8", 1)])
def test_before_3_2_1_what_has_failed_cannot_be_queued_again(
    release: str, proposed: int, tmp_path: Path
) -> None:
    """Its predecessor is still in the queue: 3.1 goes back, before it stays pending for ever."""
    run = run_of(without_zookeeper(release), tmp_path / "run")
    assert proposals(run) == [([1], [1, 2])] * proposed
    assert len(list(run.rows("isr_shrunk"))) == proposed - 1


def test_a_leader_that_dies_with_a_request_on_its_way_begins_anew(tmp_path: Path) -> None:
    """Nothing is pending after its return; the answer to its former process is for nobody."""
    steps = [
        begins("controller", NOW),
        begins("crash", {"after": "7s"}),
    ]
    faults = [
        {"kind": "pause", "name": "controller", "brokers": [3], "for": "9s"},
        fault("crash", 1, **{"for": "15s"}),
    ]
    run = run_of(lone_leader(faults, steps, 30_000, duration="60s"), tmp_path / "run")
    (sent, *_) = rows_of(run, "alter_partition_sent", process=0)
    (died,) = rows_of(run, "broker_stopped", process=0)[:1]
    (resumed, *_) = rows_of(
        run, "fault_ended", process=process_named(run, "controller of broker 3")
    )
    assert sent["time_us"] < died["time_us"] < resumed["time_us"]
    assert not [
        row for row in run.rows("isr_shrunk") if row["time_us"] < died["time_us"] + 15 * SECOND
    ]
    writes = all_writes(run)[0]
    # Its proposal is stored; it dies as the last member, leads again, and broker 2 joins.
    assert [write[1:3] for write in writes[1:]] == [(1, [1]), (-1, [1]), (1, [1]), (1, [1, 2])]
    assert log_of(run, 1) == log_of(run, 2)


def test_a_leader_that_becomes_follower_while_its_change_is_pending_forgets_it(
    tmp_path: Path,
) -> None:
    """A LeaderAndIsr overtakes the answer: what the controller then says is not for this epoch.

    The preferred election waits in the controller's queue before the proposal does.
    """
    steps = [
        batches([0], 5),
        begins("follower"),
        batches([0], 1, SOON, acks=1),
        begins("controller", {"after": "1s"}),
        [{"do": "preferred_election"} | NOW],
    ]
    pauses = [
        {"kind": "pause", "name": "follower", "brokers": [1], "for": "30s"},
        {"kind": "pause", "name": "controller", "brokers": [3], "for": "8s"},
    ]
    # Broker 2 leads, and the preferred replica 1, silent but registered, is in the ISR.
    moves = [batches([0], 1), begins("restart"), ends("restart", once_in_sync(0, 2))]
    run = run_of(
        story(
            [[1, 2]], [*moves, *steps],
            settings=LONG_SESSIONS, faults=[*pauses, fault("restart", 1)],
            release="3.9", duration="80s",
        ),
        tmp_path / "run",
    )  # fmt: skip
    (fenced,) = rows_of(run, "isr_altered", error=FENCED_LEADER_EPOCH)
    followed = rows_of(run, "became_follower", process=1)[-1]
    assert abs(fenced["time_us"] - followed["time_us"]) < 50 * MS
    assert not list(run.rows("isr_shrunk"))
    assert all_writes(run)[0][-1][1:4] == (1, [2, 1], 2)
