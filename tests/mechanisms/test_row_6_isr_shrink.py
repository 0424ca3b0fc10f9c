"""Row 6: a leader takes followers out of the ISR that lag more than replica.lag.time.max.ms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_stories import (
    as_written,
    is_notification,
    members,
    moved,
    ms,
    process_named,
    process_of_role,
    reason_of,
    retold,
)
from scenario_runs import rows_of, run_of, shipped
from tidegauge.traces.run_folder import RunFolder, TraceRow

PHASES = 8

ONE_PARTITION = [{"name": "orders", "assignment": {"0": [1, 2, 3]}}]


def the_shrink(run: RunFolder) -> TraceRow:
    """The one row about followers that a leader has taken out."""
    (shrunk,) = run.rows("isr_shrunk")
    return shrunk


def assert_only_the_leader_did_it(run: RunFolder) -> None:
    """No session was lost, and the controller wrote nothing but the partitions' first states."""
    for kind in ("session_expired", "broker_failed", "removed_from_isr", "isr_update_failed"):
        assert rows_of(run, kind) == []
    assert all(row["leader_epoch"] == 0 for row in run.rows("leader_elected"))
    assert all(row["is_new_leader"] for row in run.rows("became_leader"))


@pytest.mark.parametrize("lag_time_ms", [10_000, 30_000])
def test_a_follower_is_evicted_1_to_1_5_lag_times_after_it_was_caught_up_by_phase(
    tmp_path: Path, lag_time_ms: int
) -> None:
    """Rules section 1.4: isr-expiration every lag / 2, eviction after more than the lag."""
    period_ms = lag_time_ms // 2
    lags = []
    for phase in range(PHASES):
        cut_ms = 30_000 + phase * period_ms // PHASES
        story = retold(
            "06-leader-shrinks-isr",
            {"replica.lag.time.max.ms": lag_time_ms},
            topics=ONE_PARTITION,
            faults=moved("06-leader-shrinks-isr", cut_ms),
            duration=f"{cut_ms + 3 * period_ms + 1_000}ms",
        )
        run = run_of(story, tmp_path / str(phase))
        (sent,) = run.rows("isr_update_sent")
        # The broker that looks started at 0, and looks every lag / 2 from then on.
        assert sent["time_us"] % (period_ms * 1000) == 0
        lags.append(the_shrink(run)["lag_ms"])
        # Three batches a second come, so it was caught up less than a second before the cut.
        assert 0 <= cut_ms - (ms(sent) - lags[-1]) < 1_000
        assert_only_the_leader_did_it(run)
    assert all(lag_time_ms < lag <= 1.5 * lag_time_ms for lag in lags)
    assert min(lags) < 1.1 * lag_time_ms
    assert max(lags) > 1.4 * lag_time_ms


def test_the_leader_writes_the_isr_itself_and_the_leader_epoch_stays(tmp_path: Path) -> None:
    """Real brokers, section 1.2: version + 1, leader epoch and controller epoch as before."""
    run = run_of(shipped("06-leader-shrinks-isr"), tmp_path / "run")
    shrinks = rows_of(run, "isr_shrunk")
    assert [row["partition"] for row in shrinks] == [0, 1, 2]
    assert [members(run, row, "old_isr") for row in shrinks] == [[1, 2, 3], [1, 2, 3], [1, 3, 2]]
    assert all(members(run, row) == [1, 2] for row in shrinks)
    assert all(row["process"] == process_named(run, "broker 1") for row in shrinks)
    assert {(row["leader_epoch"], row["version"]) for row in shrinks} == {(0, 1)}
    (epoch,) = {row["controller_epoch"] for row in run.rows("znode_set") if row["leader"] >= 0}
    assert epoch == 1
    written = rows_of(run, "znode_set", writer=0, leader=0, leader_epoch=0, version=1)
    assert [row["isr"] for row in written] == [row["isr"] for row in shrinks]
    assert_only_the_leader_did_it(run)


def test_isr_expiration_writes_one_isr_after_the_other(tmp_path: Path) -> None:
    """Rules section 1.6: up to 2.6 the leader waits for ZooKeeper before it goes on."""
    run = run_of(shipped("06-leader-shrinks-isr"), tmp_path / "run")
    sent = rows_of(run, "isr_update_sent")
    answered = rows_of(run, "isr_shrunk")
    assert len(sent) == len(answered) == 3
    for write, answer in zip(sent, answered, strict=True):
        assert write["partition"] == answer["partition"]
        # There and back between racks, and a write by the quorum.
        assert 800 <= answer["time_us"] - write["time_us"] < 15_000
    for answer, following in zip(answered, sent[1:], strict=False):
        assert answer.place < following.place
        assert answer["time_us"] == following["time_us"]


def test_an_eviction_names_the_fault_that_kept_the_follower_away(tmp_path: Path) -> None:
    """The trace's because: the cut between leader and follower."""
    run = run_of(shipped("06-leader-shrinks-isr"), tmp_path / "run")
    assert [reason_of(run, row) for row in run.rows("isr_update_sent")] == ["cut"] * 3


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("slow", None),
        ("disk", {"kind": "slow_disk", "brokers": [3], "at": "30s", "delay": "16s"}),
    ],
)
def test_a_follower_that_lives_but_is_slow_is_evicted_by_the_leader(
    tmp_path: Path, name: str, fault: dict[str, Any] | None
) -> None:
    """Mechanism 6: a slow link or a slow disk leaves the ZooKeeper session alive."""
    parts: dict[str, Any] = {} if fault is None else {"faults": [{"name": name, **fault}]}
    run = run_of(retold("06-slow-follower", **parts), tmp_path / "run")
    shrunk = the_shrink(run)
    assert members(run, shrunk) == [1, 2]
    assert 10_000 < shrunk["lag_ms"] <= 15_000
    (sent,) = run.rows("isr_update_sent")
    assert reason_of(run, sent) == name
    assert_only_the_leader_did_it(run)


def test_at_exactly_the_lag_time_a_follower_is_still_in(tmp_path: Path) -> None:
    """Rules section 1.4: the comparison is strict, now - lastCaughtUp > lag."""
    caught_up: dict[int, int] = {}
    for shift_ms in range(5):
        steps: list[dict[str, Any]] = [
            {"do": "produce", "topic": "orders", "partition": 0, "acks": 1, "at": f"{at_ms}ms"}
            for at_ms in (29_991 + shift_ms, 31_000)
        ]
        story = retold("06-exactly-the-lag-time", steps=steps)
        run = run_of(story, tmp_path / str(shift_ms))
        fetches = rows_of(run, "fetch_counted", process=0, replica=2)
        reached = [row for row in fetches if row["fetch_offset"] == row["log_end_offset"] == 1]
        (sent,) = run.rows("isr_update_sent")
        assert ms(sent) - the_shrink(run)["lag_ms"] == ms(reached[0])
        caught_up[ms(reached[0])] = ms(sent)
    assert caught_up[29_999] == 40_000
    assert caught_up[30_000] == 45_000
    for time_ms, evicted_ms in caught_up.items():
        assert evicted_ms == (40_000 if 40_000 - time_ms > 10_000 else 45_000)


@pytest.mark.parametrize("release", ["0.10.2", "2.0"])
def test_up_to_2_0_an_idle_follower_that_has_everything_is_evicted(
    tmp_path: Path, release: str
) -> None:
    """Rules section 1.4, up to 2.0: time alone decides."""
    run = run_of(retold("06-idle-follower", release=release), tmp_path / "run")
    shrunk = the_shrink(run)
    assert members(run, shrunk) == [1, 2]
    assert 10_000 < shrunk["lag_ms"] <= 15_000
    assert 35_000 <= ms(shrunk) <= 45_100
    # It had the one record that there was.
    assert shrunk["log_end_offset"] == 1


@pytest.mark.parametrize("release", ["2.1", "2.6"])
def test_from_2_1_an_idle_follower_that_has_everything_stays_until_the_next_append(
    tmp_path: Path, release: str
) -> None:
    """Rules section 1.4, from 2.1: with the leader's log end offset nobody is out of sync."""
    run = run_of(retold("06-idle-follower", release=release), tmp_path / "run")
    shrunk = the_shrink(run)
    # 40s of silence cost nothing; the append at 70s does, at the next run, 75s.
    assert 75_000 <= ms(shrunk) < 75_020
    assert shrunk["log_end_offset"] == 2
    assert 45_000 <= shrunk["lag_ms"] <= 50_000


@pytest.mark.parametrize(("release", "session_ms"), [("2.4", 6_000), ("2.6", 18_000)])
def test_a_dead_broker_is_taken_out_by_the_controller_not_by_the_leader(
    tmp_path: Path, release: str, session_ms: int
) -> None:
    """KIP-537's defaults, before and after: the session expires before the lag time is over."""
    run = run_of(retold("06-dead-follower", release=release), tmp_path / "run")
    settings = run.manifest["scenario"]["cluster"]["settings"]
    assert settings["zookeeper.session.timeout.ms"] == session_ms
    assert session_ms < settings["replica.lag.time.max.ms"]
    (expired,) = run.rows("session_expired")
    (failed,) = run.rows("broker_failed")
    (removed,) = run.rows("removed_from_isr")
    told = rows_of(run, "became_leader", leader_epoch=1)[0]
    # ZooKeeper expires sessions on its ticks, every 2s.
    assert expired["time_us"] % 2_000_000 == 0
    assert session_ms * 1000 < expired["silent_us"] <= session_ms * 1000 + 2_000_000
    assert expired["broker"] == failed["broker"] == removed["replica"] == 2
    assert expired.place < failed.place < removed.place < told.place
    assert removed["process"] == process_named(run, "controller of broker 1")
    assert members(run, removed) == [2, 1]
    # The leader is the same; its epoch is not.
    assert (removed["leader"], removed["leader_epoch"], removed["version"]) == (1, 1, 1)
    assert told["process"] == process_named(run, "broker 2")
    assert (told["version"], told["isr"], told["is_new_leader"]) == (1, removed["isr"], 0)
    assert rows_of(run, "isr_shrunk") == rows_of(run, "isr_update_sent") == []
    assert rows_of(run, "notification_sent") == []
    assert reason_of(run, expired) == "death"


def answered_during(run: RunFolder, begin_ms: int, end_ms: int) -> dict[str, int]:
    """How many produces to each topic were answered within a time."""
    counts = {each["topic"]: 0 for each in run.manifest["partitions"]}
    for row in run.rows("produce_answered"):
        assert row["error"] == 0
        if begin_ms * 1000 <= row["time_us"] < end_ms * 1000:
            counts[run.manifest["partitions"][row["partition"]]["topic"]] += 1
    return counts


def test_while_zookeeper_is_silent_the_partition_that_shrinks_is_blocked(tmp_path: Path) -> None:
    """Real brokers, section 5: the write waits inside leaderIsrUpdateLock, so acks=1 hangs."""
    run = run_of(shipped("06-shrink-waits-for-zookeeper"), tmp_path / "run")
    (sent,) = run.rows("isr_update_sent")
    shrunk = the_shrink(run)
    assert ms(sent) == 40_000
    assert 51_000 <= ms(shrunk) < 51_020
    assert reason_of(run, sent) == "cut"
    # One produce a second comes to each.
    assert answered_during(run, 30_100, 39_900) == {"blocked": 9, "beside": 9, "elsewhere": 9}
    assert answered_during(run, 40_100, 50_900) == {"blocked": 0, "beside": 10, "elsewhere": 10}
    # All that has waited is answered once the lock is free, and then it goes on.
    assert answered_during(run, 51_000, 52_000)["blocked"] >= 6
    assert answered_during(run, 53_000, 60_000)["blocked"] == 7
    assert rows_of(run, "session_expired") == rows_of(run, "batch_failed") == []


def test_with_one_io_thread_the_whole_broker_stands_still_and_others_go_on(tmp_path: Path) -> None:
    """num.io.threads: a request that waits for the lock keeps its thread."""
    story = retold("06-shrink-waits-for-zookeeper", {"num.io.threads": 1})
    run = run_of(story, tmp_path / "run")
    # The thread is free until the first request for the blocked partition comes.
    counts = answered_during(run, 41_100, 51_000)
    assert counts["blocked"] == counts["beside"] == 0
    assert counts["elsewhere"] >= 9
    assert answered_during(run, 51_000, 52_000)["beside"] >= 5
    assert answered_during(run, 54_000, 60_000) == {"blocked": 6, "beside": 6, "elsewhere": 6}
    assert rows_of(run, "session_expired") == rows_of(run, "batch_failed") == []


def test_an_outage_that_outlives_the_sessions_ends_them_and_the_write_goes_out_again(
    tmp_path: Path,
) -> None:
    """Real brokers, section 5 (m2): at its resume ZooKeeper closes all sessions at once."""
    cut, outage = as_written("06-shrink-waits-for-zookeeper")["faults"]
    faults = [cut, outage | {"for": "25s"}]
    story = retold("06-shrink-waits-for-zookeeper", faults=faults, duration="75s")
    run = run_of(story, tmp_path / "run")
    expired = rows_of(run, "session_expired")
    assert [row["broker"] for row in expired] == [0, 1, 2]
    assert {ms(row) for row in expired} == {64_000}
    assert [reason_of(run, row) for row in expired] == ["outage"] * 3
    opened = rows_of(run, "session_opened", broker=0)
    assert len(opened) == 2
    # The write that was under way is made under the new session; the lock is let go then.
    assert opened[1].place < the_shrink(run).place
    assert ms(the_shrink(run)) < 64_100
    assert answered_during(run, 40_100, 63_900)["blocked"] == 0
    assert answered_during(run, 68_000, 75_000)["blocked"] == 7


def test_the_controller_learns_of_shrinks_from_a_notification_only(tmp_path: Path) -> None:
    """Mechanism 8's beginning: one child for the three partitions that have changed."""
    run = run_of(shipped("06-leader-shrinks-isr"), tmp_path / "run")
    zookeeper = process_of_role(run, "zookeeper")
    (notification,) = [row for row in run.rows("znode_created") if is_notification(run, row)]
    assert (notification["process"], notification["writer"]) == (zookeeper, 0)
    last = rows_of(run, "isr_shrunk")[-1]
    assert 5_000_000 < notification["time_us"] - last["time_us"] < 7_520_000
