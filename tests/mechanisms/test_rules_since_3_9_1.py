"""Rules that changed from 3.9.1 to 4.3.0, each in the releases on both sides of the change.

The stories are those of schedules that real brokers of 3.9.0 to 4.4.0 played.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from partition_fates import NO_LEADER, State, log_of, states
from scenario_runs import rows_of, run_of
from small_clusters import MS, network_of, producers_of, topic_of
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder


def story_of(release: str, **parts: Any) -> Scenario:
    """Four brokers and one controller with the topic ``story`` on brokers 1, 2, 3."""
    story: dict[str, Any] = {
        "mode": "kraft",
        "release": release,
        "duration": "5s",
        "liveness": False,
        "cluster": {"brokers": 4, "settings": {"broker.heartbeat.interval.ms": 500}},
        "controllers": {"count": 1, "settings": {"broker.session.timeout.ms": 4000}},
        "topics": [topic_of([1, 2, 3])],
        "network": network_of("200us"),
    }
    return scenario_from_mapping(story | parts, "story")


def reassigned_to(replicas: list[int], at: str) -> dict[str, Any]:
    """A step that gives the partition other replicas."""
    partition = {"topic": "story", "partition": 0, "replicas": replicas}
    return {"at": at, "do": "reassign", "partitions": [partition]}


def longest_ms(run: RunFolder) -> float:
    """The longest time until a batch was acknowledged."""
    assert run.summary is not None
    return float(run.summary["produce_ms"]["shop"]["max"])


# KAFKA-18723: a fetch response that was asked for in another leader epoch.


@pytest.mark.parametrize(
    ("release", "stalls"),
    [("3.9.0", True), ("3.9.1", False), ("4.0.0", True), ("4.0.1", False), ("4.4", False)],
)
def test_a_leader_epoch_that_is_raised_stalls_writes_for_a_second_by_release(
    release: str, stalls: bool, tmp_path: Path
) -> None:
    """Schedule g9: the old fetch of a follower in the new epoch is answered FENCED_LEADER_EPOCH.

    All brokers publish the new epoch at the same time, so no follower is ahead of its leader.
    """
    story = story_of(
        release,
        costs={"metadata_publication": "80ms"},
        workload={"producers": [producers_of(50, "2s", "4500ms", acks="all")]},
        steps=[reassigned_to([1, 2, 4], "3s")],
    )
    run = run_of(story, tmp_path / "run")
    assert states(run)[-1][:2] == (1, [1, 2, 4])
    assert states(run)[-1].leader_epoch == 1
    if stalls:
        assert 1000 < longest_ms(run) < 1100
    else:
        assert longest_ms(run) < 50


def test_brokers_publish_metadata_at_different_instants(tmp_path: Path) -> None:
    """0 to 60 ms apart in schedule g9, so that a follower can be ahead of its leader."""
    steps = [
        reassigned_to([1, 2, 4] if number % 2 else [1, 2, 3], f"{1 + number}s")
        for number in range(1, 9)
    ]
    run = run_of(story_of("4.4", duration="10s", steps=steps), tmp_path / "run")
    apart_us = []
    for epoch in range(1, 9):
        (leads,) = rows_of(run, "became_leader", leader_epoch=epoch)
        follows = rows_of(run, "became_follower", leader_epoch=epoch)
        # The replica that the next step adds follows in this epoch, too, a second later.
        apart_us += [leads["time_us"] - each["time_us"] for each in follows[:2]]
    assert min(apart_us) < -10 * MS
    assert max(apart_us) > 10 * MS
    assert max(map(abs, apart_us)) < 70 * MS


@pytest.mark.long
@pytest.mark.parametrize(
    ("release", "least", "most"),
    [("3.9.0", 13.5, 15), ("4.0.0", 13.5, 15), ("4.1", 1, 4), ("4.4", 1, 4)],
)
def test_the_share_of_raised_epochs_that_stall_writes_is_that_of_real_brokers(
    release: str, least: float, most: float, tmp_path: Path
) -> None:
    """Schedule g9: of 15 raises 14 in 3.9.0, 15 in 4.0.0, 2 in 4.1.0, 3 and 5 in 4.4.0.

    Those of 4.1 and later are followers ahead of the leader, which responds UNKNOWN_LEADER_EPOCH.
    """
    targets = [[1, 2, 4], [1, 2, 3]] * 6 + [[1, 2], [1, 2, 3]] * 3
    steps = [
        reassigned_to(target, f"{5000 + 2600 * place}ms") for place, target in enumerate(targets)
    ]
    producer = producers_of(
        50, "1s", "54s", acks="all", **{"max.in.flight.requests.per.connection": 1}
    )
    stalls = 0
    for seed in range(1, 21):
        story = story_of(
            release,
            seed=seed,
            duration="55s",
            workload={"producers": [producer]},
            steps=steps,
        )
        run = run_of(story, tmp_path / str(seed))
        assert states(run)[-1].leader_epoch == 15
        stalls += len(rows_of(run, "produce_stalled"))
    assert least <= stalls / 20 <= most


# The order of the ISR that a leader asks for.


@pytest.mark.parametrize(
    ("release", "isrs"),
    [
        ("4.1", [[15, 17, 2], [15, 2], [15, 2, 17], [15, 17], [15, 17, 2]]),
        ("4.2.0", [[15, 17, 2], [2, 15], [17, 2, 15], [17, 15], [17, 2, 15]]),
    ],
)
def test_the_order_of_an_isr_by_release(
    release: str, isrs: list[list[int]], tmp_path: Path
) -> None:
    """Schedule y3_isr_order_of_ids: brokers 17 and 2 are paused, one after the other."""
    settings = {"replica.lag.time.max.ms": 2000, "replica.fetch.wait.max.ms": 500}
    story = story_of(
        release,
        duration="20s",
        cluster={"brokers": [2, 15, 17], "settings": settings},
        controllers={"count": 1, "settings": {"broker.session.timeout.ms": 30000}},
        topics=[topic_of([15, 17, 2])],
        workload={"producers": [producers_of(10, "1s", "20s", acks="1")]},
        faults=[
            {"name": "first", "kind": "pause", "brokers": [17], "at": "2s", "for": "6s"},
            {"name": "second", "kind": "pause", "brokers": [2], "at": "11s", "for": "6s"},
        ],
    )
    run = run_of(story, tmp_path / "run")
    assert [each.isr for each in states(run)] == isrs


# KAFKA-19975: the replicas that a reassignment awaits.


@pytest.mark.parametrize(("release", "waits"), [("3.7", False), ("4.2.2", True), ("4.3.0", False)])
def test_a_reassignment_waits_for_a_dead_replica_that_it_does_not_move_by_release(
    release: str, waits: bool, tmp_path: Path
) -> None:
    """Schedule s4_reassign_unmoved_dead: [1, 2, 3] becomes [2, 3, 4] while broker 3 is dead."""
    story = story_of(
        release,
        duration="22s",
        faults=[{"name": "dead", "kind": "crash", "brokers": [3], "at": "1s", "for": "13s"}],
        steps=[reassigned_to([2, 3, 4], "8s")],
    )
    run = run_of(story, tmp_path / "run")
    assert run.summary is not None
    moved = run.summary["reassignments"]["steps.0"]
    assert moved["unfinished"] == 0
    assert (moved["seconds"] > 6) == waits
    assert sorted(states(run)[-1].isr) == [2, 3, 4]
    completed = next(each for each in states(run) if each.leader_epoch == 1)
    assert completed.leader == 2
    assert sorted(completed.isr) == ([2, 3, 4] if waits else [2, 4])


@pytest.mark.parametrize("release", ["4.2.2", "4.4"])
def test_a_reassignment_that_only_takes_replicas_away_waits_for_its_whole_target(
    release: str, tmp_path: Path
) -> None:
    """Schedule s6_reassign_shrink_dead: [1, 2, 3] becomes [2, 3] while broker 3 is dead."""
    story = story_of(
        release,
        duration="16s",
        faults=[{"name": "dead", "kind": "crash", "brokers": [3], "at": "1s", "for": "1m"}],
        steps=[reassigned_to([2, 3], "8s")],
    )
    run = run_of(story, tmp_path / "run")
    assert run.summary is not None
    assert run.summary["reassignments"]["steps.0"]["unfinished"] == 1
    assert (states(run)[-1].leader, states(run)[-1].isr) == (1, [1, 2])


# The last known leader.


def test_a_last_known_leader_that_lost_its_disk_is_elected_all_the_same(tmp_path: Path) -> None:
    """Schedule e12_last_leader_lost_disk: replica 2 truncates what was committed.

    In Kafka the new directory costs one more record, which raises the partition epoch only.
    """
    story = story_of(
        "4.4",
        duration="40s",
        eligible_leader_replicas=True,
        topics=[topic_of([1, 2], **{"min.insync.replicas": 1})],
        workload={"producers": [producers_of(5, "1s", "2s", acks="all")]},
        faults=[
            {"name": "follower", "kind": "crash", "brokers": [2], "at": "3s", "for": "27s"},
            {"name": "leader", "kind": "crash", "brokers": [1], "at": "10s", "for": "8s"},
            {
                "name": "replaced",
                "kind": "power_loss",
                "brokers": [1],
                "keeps": [{"broker": 1, "topic": "story", "partition": 0, "offset": 0}],
                "at": "12s",
                "for": "100ms",
            },
        ],
    )
    run = run_of(story, tmp_path / "run")
    assert states(run) == [
        State(1, [1, 2], [], NO_LEADER, 0, 0, 0),
        State(1, [1], [], NO_LEADER, 0, 1, 0),
        State(NO_LEADER, [], [1], 1, 1, 2, 0),
        State(NO_LEADER, [], [], 1, 1, 3, 0),
        State(1, [1], [], NO_LEADER, 2, 4, 1),
        State(1, [1, 2], [], NO_LEADER, 2, 5, 0),
    ]
    assert log_of(run, 1) == log_of(run, 2) == []
    assert run.summary is not None
    assert run.summary["records_acknowledged_lost"] == 5
