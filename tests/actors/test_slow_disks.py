"""Slow disks whose delay is drawn: each append of a leader or a follower takes its own time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import FIRST_CLIENT, MS, SECOND, cluster_of, producers_of, times_us
from tidegauge.simulation.messages.client_requests import ProduceResponse
from tidegauge.traces.run_folder import RunFolder

#: A produce request of acks=1 and its answer, without the disk: two messages, and the work.
UNDELAYED_US = 2 * MS + 70


def slow(broker: int, delay: Any, **others: Any) -> dict[str, Any]:
    return {"kind": "slow_disk", "at": "1s", "brokers": [broker], "delay": delay} | others


def produced(folder: Path, *faults: dict[str, Any], **parts: Any) -> RunFolder:
    """Ten batches, far apart."""
    producers = [producers_of(4, "1100ms", "3600ms", acks=1)]
    parts = {"workload": {"producers": producers}, "faults": list(faults)} | parts
    return run_of(cluster_of(**parts), folder)


def delays_us(run: RunFolder) -> list[int]:
    """How much longer than without a slow disk each batch took to be answered."""
    sent = [1_100_000 + 250 * MS * number for number in range(10)]
    answered = [
        row["time_us"]
        for row in rows_of(
            run, "message", process=FIRST_CLIENT, message_kind=int(ProduceResponse.KIND)
        )
    ]
    return [end - begin - UNDELAYED_US for begin, end in zip(sent, answered, strict=True)]


def appended_us(run: RunFolder, broker: int) -> list[int]:
    return times_us(rows_of(run, "appended", process=broker))


def test_each_append_of_a_leader_draws_its_delay(tmp_path: Path) -> None:
    table = {"min": "5ms", "p50": "20ms", "p90": "60ms", "max": "90ms"}
    run = produced(tmp_path / "run", slow(1, table))
    found = delays_us(run)
    assert len(set(found)) == 10
    assert all(5 * MS <= delay <= 90 * MS for delay in found)


def test_a_duration_is_the_same_each_time_and_draws_nothing(tmp_path: Path) -> None:
    assert set(delays_us(produced(tmp_path / "run", slow(1, "30ms")))) == {30 * MS}


def test_slow_disks_add_up_and_end_one_by_one(tmp_path: Path) -> None:
    faults = [slow(1, "30ms"), slow(1, "7ms", **{"for": "1s"})]
    found = delays_us(produced(tmp_path / "run", *faults))
    assert found[:3] == [37 * MS] * 3
    assert found[4:] == [30 * MS] * 6


@pytest.mark.parametrize("seed", [1, 2])
def test_a_follower_draws_too_from_a_stream_of_its_own(seed: int, tmp_path: Path) -> None:
    """Its appends are late, and the leader's are not; other draws stay as they are."""
    table = {"min": "5ms", "p50": "20ms", "p90": "60ms", "max": "90ms"}
    fast = produced(tmp_path / "fast", seed=seed)
    late = produced(tmp_path / "late", slow(2, table), seed=seed)
    assert appended_us(late, 0) == appended_us(fast, 0)
    assert appended_us(late, 2) == appended_us(fast, 2)
    later = [
        one - other for one, other in zip(appended_us(late, 1), appended_us(fast, 1), strict=True)
    ]
    assert len(set(later)) == 10
    assert all(5 * MS <= each <= 90 * MS for each in later)
    assert max(appended_us(late, 1)) < 4 * SECOND
