"""Replicas are moved under a throttle (KIP-73): how long it takes, and whom it holds back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import QUIET, Steps, at, batches, fault, of_broker, once, story
from scenario_runs import rows_of, run_of
from tidegauge.scenario.reading import ScenarioError
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
#: 100 bytes each.
RECORDS = 10_000
#: A fetch brings a fifth of a second's worth at most.
SETTINGS = {"replica.fetch.max.bytes": 20_000}
VERIFIED: Steps = [
    once("60s", reassigned=True) | {"do": "verify_reassignment"},
    {"after": "1s", "do": "wait"},
]


def moved(replicas: list[int], when: dict[str, Any] = QUIET, **throttle: int) -> Steps:
    """Partition 0 gets these replicas."""
    partitions = [at(0) | {"replicas": replicas}]
    return [when | {"do": "reassign", "partitions": partitions} | throttle]


def run_with(folder: Path, *steps: Steps, **parts: Any) -> RunFolder:
    """The run of a partition on brokers 1 and 2 that has a million bytes."""
    own = SETTINGS | parts.pop("settings", {})
    parts = {"duration": "70s"} | parts
    begin = batches([0], RECORDS)
    scenario = story([[1, 2]], [begin, *steps], controller=1, settings=own, **parts)
    return run_of(scenario, folder / "run")


def took_us(run: RunFolder) -> int:
    """How long the reassignment has taken."""
    (begun,) = run.rows("reassignment_begun")
    (done,) = run.rows("reassignment_done")
    return int(done["time_us"] - begun["time_us"])


def throttles(run: RunFolder, broker: int) -> list[tuple[int, ...]]:
    """What a broker was told: rates, and how many replicas of its own are throttled."""
    names = ("leader_rate", "follower_rate")
    return [
        (
            *(row[f"{name}_bytes"] for name in names),
            row["leader_replicas"],
            row["follower_replicas"],
        )
        for row in of_broker(run, "throttles_applied", broker)
    ]


@pytest.mark.parametrize("rate", [50_000, 100_000])
def test_a_reassignment_takes_as_long_as_its_bytes_at_the_throttled_rate(
    rate: int, tmp_path: Path
) -> None:
    run = run_with(tmp_path, moved([2, 3], throttle=rate), VERIFIED)
    assert took_us(run) == pytest.approx(100 * RECORDS / rate * SECOND, rel=0.15)
    assert list(run.rows("isr_shrunk")) == []


def test_without_a_throttle_it_takes_no_second(tmp_path: Path) -> None:
    assert took_us(run_with(tmp_path, moved([2, 3]))) < SECOND


def test_the_tool_throttles_sources_as_leaders_and_destinations_as_followers(
    tmp_path: Path,
) -> None:
    """ReassignPartitionsCommand.calculateMoveMap@2.6.3; --verify removes it all."""
    run = run_with(tmp_path, moved([2, 3], throttle=100_000), VERIFIED)
    removed = (-1, -1, 0, 0)
    assert throttles(run, 1) == [(100_000, 100_000, 1, 0), removed]
    assert throttles(run, 2) == [(100_000, 100_000, 1, 0), removed]
    assert throttles(run, 3) == [(100_000, 100_000, 0, 1), removed]


def test_to_verify_too_early_removes_nothing(tmp_path: Path) -> None:
    early: Steps = [{"after": "2s", "do": "verify_reassignment"}]
    run = run_with(tmp_path, moved([2, 3], throttle=100_000), early, VERIFIED)
    assert len(throttles(run, 3)) == 2
    assert took_us(run) > 9 * SECOND


def test_the_same_reassignment_with_another_throttle_changes_it_on_the_way(
    tmp_path: Path,
) -> None:
    faster = moved([2, 3], {"after": "5s"}, throttle=1_000_000)
    run = run_with(tmp_path, moved([2, 3], throttle=50_000), faster, VERIFIED)
    assert 5 * SECOND < took_us(run) < 8 * SECOND


@pytest.mark.parametrize(("rate", "is_done"), [(30_000, False), (80_000, True)])
def test_a_throttle_below_what_is_produced_and_replicated_never_lets_a_new_replica_catch_up(
    rate: int, is_done: bool, tmp_path: Path
) -> None:
    """What the leader sends to those in sync counts as well (KafkaApis.handleFetchRequest).

    Of the rate, the 20,000 bytes a second for the one follower that is in sync are spent already,
    and the gap closes at the rest less what is produced: another 20,000.
    """
    producer = {
        "name": "shop",
        "topics": ["t0"],
        "batches_per_second": 10,
        "records_per_batch": 20,
        "start": "2s",
        "settings": {"acks": "all"},
    }
    asks = moved([1, 2, 3], {"at": "4s"}, throttle=rate)
    run = run_with(tmp_path, asks, workload={"producers": [producer]}, duration="50s")
    assert len(rows_of(run, "reassignment_done")) == int(is_done)
    if is_done:
        assert took_us(run) == pytest.approx(1_000_000 / 40_000 * SECOND, rel=0.2)
    # Those that are in sync are never held back, so nobody leaves the ISR.
    assert list(run.rows("isr_shrunk")) == []
    assert run.summary is not None
    assert run.summary["records_failed"] == 0


def test_a_follower_that_is_in_sync_is_not_throttled(tmp_path: Path) -> None:
    """ReplicaManager.shouldLeaderThrottle: or a throttle would shrink ISRs."""
    throttled: Steps = [
        QUIET | {"do": "configure", "topic": "t0", "settings": EVERYTHING},
        {"after": "0s", "do": "configure", "brokers": [1, 2], "settings": rates(1)},
    ]
    run = run_with(tmp_path, throttled, batches([0], 2000))
    assert throttles(run, 2)[-1] == (1, 1, 1, 1)
    assert list(run.rows("isr_shrunk")) == []
    assert [row["error"] for row in run.rows("step_answered")] == [0, 0]


EVERYTHING = {
    "leader.replication.throttled.replicas": "*",
    "follower.replication.throttled.replicas": "0:1,0:2",
}


def rates(bytes_per_second: int) -> dict[str, int]:
    """The limits of a broker, both ways."""
    return {
        "leader.replication.throttled.rate": bytes_per_second,
        "follower.replication.throttled.rate": bytes_per_second,
    }


def test_a_broker_that_was_down_catches_up_at_the_throttled_rate(tmp_path: Path) -> None:
    """It is told of throttles with its new session (DynamicConfigManager.startup)."""
    topics = [{"name": "t0", "assignment": {0: [1, 2]}, "settings": EVERYTHING}]
    steps: list[Steps] = [
        [QUIET | {"do": "begin_fault", "fault": "crash"}],
        batches([0], RECORDS, once(unregistered=[2]), acks=1),
        [{"after": "0s", "do": "end_fault", "fault": "crash"}],
    ]
    run = run_with(
        tmp_path,
        *steps,
        topics=topics,
        settings=rates(100_000),
        faults=[fault("crash", 2)],
    )
    assert throttles(run, 2) == [(100_000, 100_000, 1, 1)] * 2
    (back,) = rows_of(run, "broker_started", process=1)[1:]
    (joined,) = [row for row in run.rows("isr_expanded") if row["time_us"] > back["time_us"]]
    assert joined["time_us"] - back["time_us"] > 9 * SECOND


@pytest.mark.parametrize(
    ("step", "problem"),
    [
        ({"topic": "t0", "settings": {"leader.replication.throttled.replicas": "0-1"}}, "0-1"),
        ({"brokers": [9], "settings": rates(1)}, "there is no broker 9"),
        ({"brokers": [1], "settings": {"num.io.threads": 2}}, "is not changed here"),
        ({"settings": rates(1)}, "must have either a topic or brokers"),
        ({"topic": "t0", "settings": rates(1)}, "is a setting of brokers, not of topics"),
    ],
)
def test_settings_that_cannot_be_are_named(step: dict[str, Any], problem: str) -> None:
    with pytest.raises(ScenarioError, match=problem):
        story([[1, 2]], [[QUIET | {"do": "configure"} | step]])
