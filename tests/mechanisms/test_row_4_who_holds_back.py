"""Mechanism 4: which replicas hold back the high watermark (HW).

In ``04-replica-outside-isr`` broker 1 leads and broker 3 follows over a slow link: one round
of fetching takes 7.8 s, and one record comes each second. In ``04-unregistered-replica``
broker 3 is no longer registered, but fetches.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from partition_lines import BROKER_1, BROKER_2, BROKER_3, Line, lines_of
from scenario_runs import rows_of, run_of, shipped
from tidegauge.simulation.trace_rows.codes import MOMENT_APPEND, MOMENT_FETCH, MOMENT_SHRINK
from tidegauge.traces.run_folder import RunFolder

SCENARIO = "04-replica-outside-isr"


def slow_follower(folder: Path, lag_time_max_ms: int | None = None, **changes: Any) -> RunFolder:
    """The run of the first scenario, perhaps with another replica.lag.time.max.ms."""
    if lag_time_max_ms is not None:
        settings = {"replica.lag.time.max.ms": lag_time_max_ms}
        changes["cluster"] = {"brokers": 3, "start_spread": "0s", "settings": settings}
    return run_of(shipped(SCENARIO, changes), folder)


@pytest.fixture(scope="module")
def with_10_s(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Kafka 2.4, as the scenario says."""
    return slow_follower(tmp_path_factory.mktemp("row-4") / "run")


def moves_of_leader(run: RunFolder, since_ms: int, until_ms: int) -> list[tuple[int, int, int]]:
    """Each move of the leader's HW: when in ms, to what, at which moment."""
    return [
        (row["time_us"] // 1000, row["high_watermark"], row["moment"])
        for row in rows_of(run, "high_watermark_moved", leads=1)
        if since_ms * 1000 <= row["time_us"] < until_ms * 1000
    ]


def high_watermark_at(run: RunFolder, time_ms: int) -> int:
    """The leader's HW at a time."""
    return moves_of_leader(run, 0, time_ms)[-1][1]


def fetches_of_broker_3(run: RunFolder) -> Iterator[tuple[int, int, int, int]]:
    """When in ms its fetches come since the link is slow; their offset; LEO and HW then."""
    for row in rows_of(run, "fetch_counted", replica=BROKER_3):
        if row["time_us"] > 5_002_000:
            ends = (row["fetch_offset"], row["log_end_offset"], row["high_watermark"])
            yield (row["time_us"] // 1000, *ends)


def test_a_member_of_the_isr_holds_it_back_until_it_is_evicted(with_10_s: RunFolder) -> None:
    """Rules 1.4 and 2.1: all of the ISR counts, however slow; at 15 s it is out."""
    assert high_watermark_at(with_10_s, 15_000) == 4
    (shrunk,) = rows_of(with_10_s, "isr_shrunk")
    assert (shrunk["time_us"] // 1000, shrunk["log_end_offset"]) == (15_002, 13)
    assert shrunk["lag_ms"] > 10_000
    # From then on it follows brokers 1 and 2 alone, second by second. First broker 2 hears of
    # 13, then fetches: four times 1 ms, two requests and an append of 0.2 ms each, or 4.6 ms.
    assert moves_of_leader(with_10_s, 13_000, 17_500) == [
        (15_002, 13, MOMENT_SHRINK),
        (15_007, 14, MOMENT_FETCH),
        (16_003, 15, MOMENT_FETCH),
        (17_003, 16, MOMENT_FETCH),
    ]


def test_each_fetch_of_broker_3_asks_for_what_the_leader_had_at_the_one_before(
    with_10_s: RunFolder,
) -> None:
    """Rule 1.2: so it was caught up one round, 7.8 s, ago (KAFKA-4485), but is below the HW.

    A round is 3901 ms there and back, and 0.4 ms for a request and an append: 7802.4 ms. The
    first one begins with the record of 5.001 s.
    """
    assert list(fetches_of_broker_3(with_10_s))[:4] == [
        (12_803, 4, 11, 3),
        (20_605, 11, 19, 19),
        (28_408, 19, 27, 27),
        (36_210, 27, 35, 35),
    ]


def test_a_replica_outside_the_isr_within_the_lag_time_holds_it_back(
    with_10_s: RunFolder,
) -> None:
    """Rule 2.1, 0.10.2 to 3.2: caught up at 12.803 s, so the HW stands from 20.605 s on.

    At 22.803 s the 10 s are over, and the next append finds that only the ISR counts.
    """
    assert moves_of_leader(with_10_s, 19_500, 24_500) == [
        (20_003, 19, MOMENT_FETCH),
        (23_001, 21, MOMENT_APPEND),
        (23_003, 22, MOMENT_FETCH),
        (24_003, 23, MOMENT_FETCH),
    ]
    # Meanwhile the whole ISR had more.
    told = {"fetch_counted": "replica old_offset fetch_offset"}
    of_broker_2 = [
        line[3:] for line in lines_of(with_10_s, told, 20_605, 23_001) if line[2] == BROKER_2
    ]
    moved: list[Line] = [(old, new) for old, new in of_broker_2 if old != new]
    assert moved == [(19, 20), (20, 21)]


def test_without_that_replica_it_does_not_wait(with_10_s: RunFolder, tmp_path: Path) -> None:
    """Rule 2.1: with a lag time shorter than one round, broker 3 is never within it."""
    with_7_s = slow_follower(tmp_path / "run", lag_time_max_ms=7_000)
    assert [time_ms for time_ms, *_ in fetches_of_broker_3(with_7_s)][1] == 20_605
    assert moves_of_leader(with_7_s, 19_500, 23_500) == [
        (20_003, 19, MOMENT_FETCH),
        (21_003, 20, MOMENT_FETCH),
        (22_003, 21, MOMENT_FETCH),
        (23_003, 22, MOMENT_FETCH),
    ]
    with_and_without = [
        (high_watermark_at(with_10_s, time_ms), high_watermark_at(with_7_s, time_ms))
        for time_ms in (20_500, 21_500, 22_500, 23_500)
    ]
    assert with_and_without == [(19, 19), (19, 20), (19, 21), (22, 22)]


def test_it_joins_the_isr_with_no_less_than_the_high_watermark(with_10_s: RunFolder) -> None:
    """Rule 1.5: LEO >= HW. Within a second of the link being fast again."""
    (expanded,) = rows_of(with_10_s, "isr_expanded")
    told = {"fetch_counted": "replica fetch_offset high_watermark"}
    joining = lines_of(with_10_s, told, 0, expanded["time_us"] // 1000)[-1]
    assert joining == ("fetch_counted", BROKER_1, BROKER_3, 35, 35)
    assert 36_210_000 < expanded["time_us"] < 36_400_000


@pytest.mark.parametrize(
    ("release", "protocol"), [("2.5", None), ("2.6", None), ("2.8", "2.6"), ("3.9", "2.6")]
)
def test_from_2_5_it_stays_in_the_isr_and_always_holds_it_back(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """KIP-537: replica.lag.time.max.ms is 30 s by default, and 15.6 s is less."""
    run = slow_follower(tmp_path / "run", release=release, protocol=protocol)
    assert not rows_of(run, "isr_shrunk")
    assert moves_of_leader(run, 5_002, 35_000) == [
        (12_803, 4, MOMENT_FETCH),
        (20_605, 11, MOMENT_FETCH),
        (28_408, 19, MOMENT_FETCH),
    ]


@pytest.mark.parametrize(
    ("release", "protocol"), [("0.10.2", None), ("2.6", None), ("2.8", "2.6"), ("3.9", "2.6")]
)
def test_it_is_the_setting_that_counts_not_the_release(
    release: str, protocol: str | None, with_10_s: RunFolder, tmp_path: Path
) -> None:
    """Rule 2.1: the rules of 0.10.2, 3.3 and 3.6 agree about a replica that is registered."""
    run = slow_follower(tmp_path / "run", 10_000, release=release, protocol=protocol)
    # From 2.4 to 2.5 a fetch more brings each new HW: that shifts the rounds by milliseconds.
    in_seconds, of_2_4_in_seconds = (
        [(time_ms // 1000, *move) for time_ms, *move in moves_of_leader(each, 0, 35_000)]
        for each in (run, with_10_s)
    )
    assert in_seconds == of_2_4_in_seconds


def unregistered(release: str, folder: Path) -> list[Line]:
    """What comes of one record: the fetches of followers that have it, and the HW."""
    told = {
        "isr_expanded": "log_end_offset",
        "fetch_counted": "old_offset replica fetch_offset",
        "high_watermark_moved": "old_high_watermark high_watermark moment",
    }
    run = run_of(shipped("04-unregistered-replica", {"release": release}), folder)
    (removed,) = rows_of(run, "removed_from_isr", replica=BROKER_3)
    lines = lines_of(run, told, removed["time_us"] // 1000)
    return [
        line
        for line in lines
        if line[1] == BROKER_1 and (line[0] != "fetch_counted" or line[2] != line[4])
    ]


def test_up_to_3_2_a_replica_that_is_not_registered_joins_the_isr_again(tmp_path: Path) -> None:
    """Rule 1.5: LEO >= HW and the start of the epoch is all that it takes."""
    assert unregistered("3.2", tmp_path / "run") == [
        ("isr_expanded", BROKER_1, 0),
        ("fetch_counted", BROKER_1, 0, BROKER_2, 1),
        ("fetch_counted", BROKER_1, 0, BROKER_3, 1),
        ("high_watermark_moved", BROKER_1, 0, 1, MOMENT_FETCH),
    ]


@pytest.mark.parametrize("release", ["3.3", "3.5"])
def test_from_3_3_it_may_not_but_holds_back_the_high_watermark_still(
    release: str, tmp_path: Path
) -> None:
    """KAFKA-13916 for joining; the HW waits for whoever was caught up a moment ago."""
    assert unregistered(release, tmp_path / "run") == [
        ("fetch_counted", BROKER_1, 0, BROKER_2, 1),
        ("fetch_counted", BROKER_1, 0, BROKER_3, 1),
        ("high_watermark_moved", BROKER_1, 0, 1, MOMENT_FETCH),
    ]


@pytest.mark.parametrize("release", ["3.6", "3.8"])
def test_from_3_6_who_may_not_join_does_not_hold_it_back(release: str, tmp_path: Path) -> None:
    """KAFKA-15021: Partition.maybeIncrementLeaderHW@3.6.0 asks isReplicaIsrEligible, too."""
    assert unregistered(release, tmp_path / "run") == [
        ("fetch_counted", BROKER_1, 0, BROKER_2, 1),
        ("high_watermark_moved", BROKER_1, 0, 1, MOMENT_FETCH),
        ("fetch_counted", BROKER_1, 0, BROKER_3, 1),
    ]
