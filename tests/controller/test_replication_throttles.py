"""Replicas are moved under a throttle (KIP-73): how long it takes, and whom it holds back.

With ZooKeeper the throttles are znodes, with KRaft records of the metadata log.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import QUIET, Steps, at, batches, fault, of_broker, once, stops, story
from process_groups import groups_of
from quorum_stories import quorum_story
from scenario_runs import rows_of, run_of
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication import errors
from tidegauge.scenario.reading import Scenario, ScenarioError
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000
#: 100 bytes each.
RECORDS = 10_000
BYTES = 100 * RECORDS
#: A fetch brings a fifth of a second's worth at most, and a follower that is held back looks again
#: soon.
SETTINGS = {"replica.fetch.max.bytes": 20_000, "replica.fetch.backoff.ms": 100}
#: A release with ZooKeeper, and one with KRaft.
ZOOKEEPER, KRAFT = "2.6", "4.4"
both = pytest.mark.parametrize("release", [ZOOKEEPER, KRAFT])
VERIFIED: Steps = [
    once("60s", reassigned=True) | {"do": "verify_reassignment"},
    {"after": "1s", "do": "wait"},
]


def moved(replicas: list[int], when: dict[str, Any] = QUIET, **throttle: int) -> Steps:
    """Partition 0 gets these replicas."""
    return all_moved([replicas], when, **throttle)


def all_moved(replicas: list[list[int]], when: dict[str, Any] = QUIET, **throttle: int) -> Steps:
    """The partitions get these replicas."""
    partitions = [at(number) | {"replicas": each} for number, each in enumerate(replicas)]
    return [when | {"do": "reassign", "partitions": partitions} | throttle]


def told(
    release: str, replicas: list[list[int]], *steps: Steps, settings: Any = (), **parts: Any
) -> Scenario:
    """Partitions of a million bytes each on three brokers; then these steps."""
    own = SETTINGS | dict(settings)
    parts = {"duration": "70s"} | parts
    steps = (batches(range(len(replicas)), RECORDS), *steps)
    if release == ZOOKEEPER:
        return story(replicas, steps, controller=1, settings=own, **parts)
    own |= {"replica.lag.time.max.ms": 4000, "broker.heartbeat.interval.ms": 500}
    every_step = [step for some in steps for step in some]
    cluster = {"brokers": 3, "settings": own}
    return quorum_story(replicas, steps=every_step, release=release, cluster=cluster, **parts)


def run_with(folder: Path, release: str, *steps: Steps, **parts: Any) -> RunFolder:
    """The run of a partition on brokers 1 and 2."""
    return run_of(told(release, [[1, 2]], *steps, **parts), folder / "run")


def took_us(run: RunFolder) -> int:
    """How long the reassignments have taken, from the first to the last."""
    begun = [row["time_us"] for row in run.rows("reassignment_begun")]
    done = [row["time_us"] for row in run.rows("reassignment_done")]
    assert len(begun) == len(done) > 0
    return int(max(done) - min(begun))


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


@both
@pytest.mark.parametrize("rate", [50_000, 100_000])
def test_a_reassignment_takes_as_long_as_its_bytes_at_the_throttled_rate(
    rate: int, release: str, tmp_path: Path
) -> None:
    run = run_with(tmp_path, release, moved([2, 3], throttle=rate), VERIFIED)
    assert took_us(run) == pytest.approx(BYTES / rate * SECOND, rel=0.05)
    assert list(run.rows("isr_shrunk")) == []


@both
@pytest.mark.parametrize(
    ("before", "after", "copies"),
    [
        pytest.param([[1]], [[1, 2, 3]], 2, id="a leader sends two copies"),
        pytest.param([[1], [2]], [[1, 3], [2, 3]], 2, id="a follower gets two copies"),
        pytest.param([[1], [2]], [[1, 3], [2, 1]], 1, id="two moves apart"),
    ],
)
def test_moves_at_one_broker_share_its_rate(
    before: list[list[int]], after: list[list[int]], copies: int, release: str, tmp_path: Path
) -> None:
    """Each of its two quotas is one for all replicas, whatever the other brokers are."""
    scenario = told(release, before, all_moved(after, throttle=100_000), VERIFIED)
    run = run_of(scenario, tmp_path / "run")
    assert took_us(run) == pytest.approx(copies * BYTES / 100_000 * SECOND, rel=0.05)


@both
@pytest.mark.parametrize("which", ["leader", "follower"])
def test_either_quota_alone_holds_a_move_back(which: str, release: str, tmp_path: Path) -> None:
    limits: Steps = [
        QUIET
        | {
            "do": "configure",
            "topic": "t0",
            "settings": {f"{which}.replication.throttled.replicas": "*"},
        },
        {
            "after": "0s",
            "do": "configure",
            "brokers": [1, 2, 3],
            "settings": {f"{which}.replication.throttled.rate": 100_000},
        },
    ]
    run = run_with(tmp_path, release, limits, moved([2, 3]), VERIFIED)
    assert took_us(run) == pytest.approx(BYTES / 100_000 * SECOND, rel=0.05)


@both
def test_without_a_throttle_it_takes_no_second(release: str, tmp_path: Path) -> None:
    assert took_us(run_with(tmp_path, release, moved([2, 3]))) < SECOND


@both
def test_the_tool_throttles_sources_as_leaders_and_destinations_as_followers(
    release: str, tmp_path: Path
) -> None:
    """ReassignPartitionsCommand.calculateProposedMoveMap@2.6.3; --verify removes it all."""
    run = run_with(tmp_path, release, moved([2, 3], throttle=100_000), VERIFIED)
    removed = (-1, -1, 0, 0)
    assert throttles(run, 1) == [(100_000, 100_000, 1, 0), removed]
    assert throttles(run, 2) == [(100_000, 100_000, 1, 0), removed]
    assert throttles(run, 3) == [(100_000, 100_000, 0, 1), removed]


@both
def test_to_verify_too_early_removes_nothing(release: str, tmp_path: Path) -> None:
    early: Steps = [{"after": "2s", "do": "verify_reassignment"}]
    run = run_with(tmp_path, release, moved([2, 3], throttle=100_000), early, VERIFIED)
    assert len(throttles(run, 3)) == 2
    assert took_us(run) > 9 * SECOND


def test_the_same_reassignment_with_another_throttle_changes_it_on_the_way(
    tmp_path: Path,
) -> None:
    faster = moved([2, 3], {"after": "5s"}, throttle=1_000_000)
    run = run_with(tmp_path, ZOOKEEPER, moved([2, 3], throttle=50_000), faster, VERIFIED)
    assert 5 * SECOND < took_us(run) < 8 * SECOND


def test_with_kraft_the_tool_refuses_that_and_the_rates_of_brokers_change_it(
    tmp_path: Path,
) -> None:
    """Without --additional (ReassignPartitionsCommand.executeAssignment@4.1.0)."""
    again = moved([2, 3], {"after": "4s"}, throttle=1_000_000)
    faster: Steps = [
        {"after": "1s", "do": "configure", "brokers": [1, 2, 3], "settings": rates(1_000_000)}
    ]
    run = run_with(tmp_path, KRAFT, moved([2, 3], throttle=50_000), again, faster, VERIFIED)
    refused, changed = [row["error"] for row in run.rows("step_answered")][2:4]
    assert (refused, changed) == (errors.REASSIGNMENT_IN_PROGRESS, errors.NONE)
    assert 5 * SECOND < took_us(run) < 8 * SECOND


@both
@pytest.mark.parametrize(("rate", "is_done"), [(30_000, False), (80_000, True)])
def test_a_throttle_below_what_is_produced_and_replicated_never_lets_a_new_replica_catch_up(
    rate: int, is_done: bool, release: str, tmp_path: Path
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
    workload = {"producers": [producer]}
    run = run_with(tmp_path, release, asks, workload=workload, duration="50s")
    assert len(rows_of(run, "reassignment_done")) == int(is_done)
    if is_done:
        assert took_us(run) == pytest.approx(1_000_000 / 40_000 * SECOND, rel=0.2)
    # Those that are in sync are never held back, so nobody leaves the ISR.
    assert list(run.rows("isr_shrunk")) == []
    assert run.summary is not None
    assert run.summary["records_failed"] == 0


@both
def test_a_follower_that_is_in_sync_is_not_throttled(release: str, tmp_path: Path) -> None:
    """ReplicaManager.shouldLeaderThrottle: or a throttle would shrink ISRs."""
    throttled: Steps = [
        QUIET | {"do": "configure", "topic": "t0", "settings": EVERYTHING},
        {"after": "0s", "do": "configure", "brokers": [1, 2], "settings": rates(1)},
    ]
    run = run_with(tmp_path, release, throttled, batches([0], 2000))
    assert throttles(run, 2)[-1] == (1, 1, 1, 1)
    assert list(run.rows("isr_shrunk")) == []
    assert {row["error"] for row in run.rows("step_answered")} == {errors.NONE}


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


@both
def test_a_broker_that_was_down_catches_up_at_the_throttled_rate(
    release: str, tmp_path: Path
) -> None:
    """It gets throttles with its new session, or with its first publication of the metadata log.

    DynamicConfigManager.startup@2.6.0, DynamicConfigPublisher.onMetadataUpdate@4.1.0.
    """
    topics = [{"name": "t0", "assignment": {0: [1, 2]}, "settings": EVERYTHING}]
    steps: list[Steps] = [
        [QUIET | {"do": "begin_fault", "fault": "crash"}],
        batches([0], RECORDS, once(unregistered=[2]), acks=1),
        [{"after": "0s", "do": "end_fault", "fault": "crash"}],
    ]
    run = run_with(
        tmp_path,
        release,
        *steps,
        topics=topics,
        settings=rates(100_000),
        faults=[fault("crash", 2)],
    )
    (back,) = rows_of(run, "broker_started", process=1)[1:]
    ((died_us, _),) = stops(run, 2)
    again = [row for row in of_broker(run, "throttles_applied", 2) if row["time_us"] > died_us]
    assert len(again) == 1
    assert throttles(run, 2)[-1] == (100_000, 100_000, 1, 1)
    (joined,) = [row for row in run.rows("isr_expanded") if row["time_us"] > back["time_us"]]
    assert joined["time_us"] - back["time_us"] > 9 * SECOND


def test_a_broker_that_restarts_during_a_move_is_throttled_again(tmp_path: Path) -> None:
    """Both the leader and the new replica read the throttle from the metadata log."""
    restarts = [
        {"kind": "restart", "name": f"restart {broker}", "brokers": [broker], "for": "2s"}
        | {"at": f"{6 + 6 * broker}s"}
        for broker in (1, 2)
    ]
    scenario = told(KRAFT, [[1, 3]], moved([3, 2], throttle=50_000), VERIFIED, faults=restarts)
    run = run_of(scenario, tmp_path / "run")
    for broker, replicas in ((1, (1, 0)), (2, (0, 1))):
        throttled = (50_000, 50_000, *replicas)
        assert throttles(run, broker) == [throttled, throttled, (-1, -1, 0, 0)]
    # A process that begins counts from nothing, and each restart takes some seconds of the move.
    assert BYTES / 50_000 * SECOND < took_us(run) < 1.4 * BYTES / 50_000 * SECOND


def test_a_throttled_move_has_one_hash_in_any_groups(tmp_path: Path) -> None:
    """And the throttle survives the active controller, which dies while replicas are moved."""
    lost = fault("crash", "controller:0") | {"at": "8s", "for": "10s"}
    scenario = told(
        KRAFT,
        [[1, 2]],
        moved([2, 3], throttle=50_000),
        VERIFIED,
        faults=[lost],
        controllers={"count": 3},
    )
    one = simulate(scenario, tmp_path / "one")
    apart = simulate(scenario, tmp_path / "apart", make_engine=inline(groups_of(scenario, 2)))
    assert one.summary is not None
    assert apart.summary is not None
    assert apart.summary["trace_sha256"] == one.summary["trace_sha256"]
    assert throttles(one, 3)[-1] == (-1, -1, 0, 0)
    assert took_us(one) == pytest.approx(BYTES / 50_000 * SECOND, rel=0.05)


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
