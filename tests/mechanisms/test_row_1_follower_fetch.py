"""Mechanism 1: a follower's fetch moves log end offsets (LEO) and high watermarks (HW).

The scenario is ``01-follower-fetch``: broker 1 leads, 2 follows near it, 3 farther away.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from partition_lines import BROKER_1, BROKER_2, BROKER_3, Line, lines_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.trace_rows.codes import MOMENT_ANSWER, MOMENT_FETCH
from tidegauge.traces.run_folder import RunFolder

TOLD = {
    "appended": "leads end_offset high_watermark",
    "fetch_answered": "to_process fetch_offset end_offset high_watermark waited",
    "fetch_counted": "replica old_offset fetch_offset log_end_offset high_watermark",
    "high_watermark_moved": "leads old_high_watermark high_watermark moment",
    "produce_answered": "base_offset end_offset acks",
}

#: Releases, and the protocol in which their leaders write the ISR to ZooKeeper themselves.
RELEASES = {
    **dict.fromkeys(("0.10.2", "0.11", "1.0.0", "1.0.2", "1.1.0", "1.1.1", "2.0", "2.1", "2.3")),
    "2.6": None,
    "2.8": "2.6",
    "3.2": "2.6",
    "3.9": "2.6",
}


def story(release: str, folder: Path) -> RunFolder:
    changes = {"release": release, "protocol": RELEASES.get(release)}
    return run_of(shipped("01-follower-fetch", changes), folder)


@pytest.mark.parametrize("release", RELEASES)
def test_one_record_moves_one_log_end_offset_after_the_other_and_then_the_high_watermarks(
    release: str, tmp_path: Path
) -> None:
    """Rules 1.2 and 2.1: a fetch acknowledges all below its offset; HW = min LEO of the ISR."""
    run = story(release, tmp_path / "run")
    appends: list[Line] = [
        # The record is in the leader's log, LEO 1, and nobody knows more.
        ("appended", BROKER_1, 1, 1, 0),
        # Both followers' fetches were waiting for it.
        ("fetch_answered", BROKER_1, BROKER_2, 0, 1, 0, 1),
        ("fetch_answered", BROKER_1, BROKER_3, 0, 1, 0, 1),
        # Broker 2 has it, then says so: the leader's copy of its LEO goes from 0 to 1. That
        # of broker 3 is 0 still, and so is the HW.
        ("appended", BROKER_2, 0, 1, 0),
        ("fetch_counted", BROKER_1, BROKER_2, 0, 1, 1, 0),
        # Broker 3 has it, and says so: the smallest LEO of the ISR is 1 now.
        ("appended", BROKER_3, 0, 1, 0),
        ("fetch_counted", BROKER_1, BROKER_3, 0, 1, 1, 0),
        ("high_watermark_moved", BROKER_1, 1, 0, 1, MOMENT_FETCH),
        ("produce_answered", BROKER_1, 0, 1, -1),
    ]
    followers_learn: list[Line] = [
        # The fetches at 1 have waited in vain; answered, they bring the HW of this moment.
        ("fetch_answered", BROKER_1, BROKER_2, 1, 1, 1, 1),
        ("high_watermark_moved", BROKER_2, 0, 0, 1, MOMENT_ANSWER),
        ("fetch_counted", BROKER_1, BROKER_2, 1, 1, 1, 1),
        ("fetch_answered", BROKER_1, BROKER_3, 1, 1, 1, 1),
        ("high_watermark_moved", BROKER_3, 0, 0, 1, MOMENT_ANSWER),
        ("fetch_counted", BROKER_1, BROKER_3, 1, 1, 1, 1),
    ]
    assert lines_of(run, TOLD, 3_000, 4_000) == appends + followers_learn


@pytest.mark.parametrize("release", ["2.3", "2.6", "3.9"])
def test_nothing_wakes_a_waiting_follower_when_the_high_watermark_moves(
    release: str, tmp_path: Path
) -> None:
    """Rule 2.5: it learns the HW when replica.fetch.wait.max.ms (500) is over."""
    run = story(release, tmp_path / "run")
    for follower in (BROKER_2, BROKER_3):
        (asked,) = rows_of(run, "fetch_counted", replica=follower, old_offset=0, fetch_offset=1)
        answers = rows_of(run, "fetch_answered", to_process=follower, fetch_offset=1)
        assert answers[0]["time_us"] == asked["time_us"] + 500_000


@pytest.mark.parametrize("release", ["2.4", "2.5"])
def test_in_2_4_and_2_5_followers_are_told_a_new_high_watermark_at_once(
    release: str, tmp_path: Path
) -> None:
    """KIP-392: DelayedFetch completes on a newer HW, also the fetch that has moved it."""
    run = story(release, tmp_path / "run")
    moved = rows_of(run, "high_watermark_moved", process=BROKER_1, high_watermark=1)[0]
    for follower in (BROKER_2, BROKER_3):
        answer = rows_of(run, "fetch_answered", to_process=follower, fetch_offset=1)[0]
        assert (answer["time_us"], answer["waited"]) == (moved["time_us"], 1)
        assert answer["high_watermark"] == 1


def answered_at_once(run: RunFolder) -> list[Line]:
    """What comes of broker 3's fetch at 2, which finds a third record."""
    (counted,) = rows_of(run, "fetch_counted", replica=BROKER_3, old_offset=1, fetch_offset=2)
    begun_ms = counted["time_us"] // 1000
    return [
        line
        for line in lines_of(run, TOLD, begun_ms, begun_ms + 7)
        if line[1] == BROKER_3
        or line[:3] == ("fetch_answered", BROKER_1, BROKER_3)
        or line[:3] == ("fetch_counted", BROKER_1, BROKER_3)
        or line[:2] == ("high_watermark_moved", BROKER_1)
    ]


@pytest.mark.parametrize(
    "release", [release for release in RELEASES if release not in ("1.0.0", "1.1.0")]
)
def test_an_answer_at_once_carries_the_high_watermark_of_before_the_fetch_was_counted(
    release: str, tmp_path: Path
) -> None:
    """Rule 2.5: ReplicaManager.readFromLocalLog reads the HW before the follower's state."""
    assert answered_at_once(story(release, tmp_path / "run")) == [
        ("fetch_counted", BROKER_1, BROKER_3, 1, 2, 3, 1),
        ("high_watermark_moved", BROKER_1, 1, 1, 2, MOMENT_FETCH),
        ("fetch_answered", BROKER_1, BROKER_3, 2, 3, 1, 0),
        ("appended", BROKER_3, 0, 3, 1),
    ]


@pytest.mark.parametrize("release", ["1.0.0", "1.0.1", "1.1.0"])
def test_before_kafka_7104_an_answer_at_once_carries_what_its_own_fetch_has_moved(
    release: str, tmp_path: Path
) -> None:
    """KAFKA-7104: in 1.0.0, 1.0.1 and 1.1.0 the HW of after the fetch was counted."""
    assert answered_at_once(story(release, tmp_path / "run")) == [
        ("fetch_counted", BROKER_1, BROKER_3, 1, 2, 3, 1),
        ("high_watermark_moved", BROKER_1, 1, 1, 2, MOMENT_FETCH),
        ("fetch_answered", BROKER_1, BROKER_3, 2, 3, 2, 0),
        ("appended", BROKER_3, 0, 3, 1),
        ("high_watermark_moved", BROKER_3, 0, 1, 2, MOMENT_ANSWER),
    ]


def test_a_follower_that_is_behind_takes_its_own_log_end_for_the_high_watermark(
    tmp_path: Path,
) -> None:
    """Rule 2.4: HW = min(own LEO, HW in the answer). Three records at a time do not suffice.

    Over the slow link of ``04-replica-outside-isr``, whose brokers 1 and 2 go on alone.
    """
    settings = {"replica.fetch.max.bytes": 300}
    cluster = {"brokers": 3, "start_spread": "0s", "settings": settings}
    run = run_of(shipped("04-replica-outside-isr", {"cluster": cluster}), tmp_path / "run")
    told = {
        "fetch_answered": "to_process fetch_offset end_offset high_watermark",
        "appended": "end_offset",
        "high_watermark_moved": "high_watermark",
    }
    of_broker_3 = [
        line
        for line in lines_of(run, told, 20_000, 36_000)
        if line[1] == BROKER_3 or line[:3] == ("fetch_answered", BROKER_1, BROKER_3)
    ]
    assert of_broker_3 == [
        ("fetch_answered", BROKER_1, BROKER_3, 7, 10, 19),
        ("appended", BROKER_3, 10),
        ("high_watermark_moved", BROKER_3, 10),
        ("fetch_answered", BROKER_1, BROKER_3, 10, 13, 27),
        ("appended", BROKER_3, 13),
        ("high_watermark_moved", BROKER_3, 13),
    ]
