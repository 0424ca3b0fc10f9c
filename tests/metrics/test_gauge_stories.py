"""What brokers, the controller and ZooKeeper show while replicas, topics and sessions go away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import shipped
from small_clusters import BROKER_1, BROKER_2, BROKER_3, SECOND, cluster_of, producers_of
from tidegauge.engine.simulate import Scrapes, simulate
from tidegauge.metrics.snapshots.gauge_rules import BROKER_SHUTTING_DOWN
from tidegauge.metrics.snapshots.snapshot import Snapshot

#: Topics of these clusters: ``story`` on brokers 1 and 2, ``other`` on broker 2 alone.
STORY, OTHER = 0, 1
TOPICS = [
    {"name": "story", "assignment": {0: [1, 2]}},
    {"name": "other", "assignment": {0: [2]}},
]


def looks_at(folder: Path, settings: dict[str, Any] | None = None, **parts: Any) -> list[Snapshot]:
    """Snapshots of a run of three brokers, one every half second."""
    workload = {"producers": [producers_of(5, "1s", "30s")]}
    story = {"topics": TOPICS, "workload": workload, "trace": "transitions"}
    looks: list[Snapshot] = []
    scenario = cluster_of(settings, **(story | parts))
    simulate(scenario, folder / "run", scrapes=Scrapes(SECOND // 2, looks.append))
    return looks


def of_topic(looks: list[Snapshot], broker: int, topic: int, name: str) -> list[int]:
    """What a broker shows of a topic, look by look; nothing of a topic that it does not have."""
    rows = [look.broker_topics[broker * 2 + topic] for look in looks]
    return [int(row[name]) for row in rows if row["exists"]]


def test_the_controllers_of_a_quorum_count_what_is_committed(tmp_path: Path) -> None:
    """The counts of 18-last-replica-standing: its brokers are fenced one after the other.

    The last known leader is elected uncleanly once no replica is eligible any more (KIP-966).
    """
    looks: list[Snapshot] = []
    scenario = shipped("18-last-replica-standing")
    simulate(scenario, tmp_path / "run", scrapes=Scrapes(SECOND, looks.append))
    names = ("active_brokers", "fenced_brokers", "offline_partitions", "unclean_leader_elections")
    counts = [tuple(int(look.controllers[name][0]) for name in names) for look in looks]
    assert list(dict.fromkeys(counts[1:])) == [
        *((3, 0, 0, 0), (2, 1, 0, 0), (1, 2, 0, 0), (0, 3, 1, 0)),
        *((1, 2, 1, 0), (2, 1, 1, 0), (3, 0, 0, 1)),
    ]
    last = looks[-1]
    assert last.controllers["active_controller"].tolist() == [True, False, False]
    assert last.controllers["answers"].all()
    # All brokers have applied what is committed, and metadata name them.
    assert set(last.brokers["applied_offset"]) == set(last.controllers["last_committed_offset"])
    assert last.cluster["registered_brokers"].tolist() == [3]
    assert not last.brokers["active_controller"].any()


def test_what_has_been_read_of_a_replica_stays_counted_when_its_directory_fails(
    tmp_path: Path,
) -> None:
    """TotalFetchRequestsPerSec is a counter: only a restart takes it back to 0 (KIP-112).

    Each follower has one partition of broker 1, and one of them has nothing to fetch any more.
    """
    looks = looks_at(
        tmp_path,
        cluster={"brokers": 3, "log_directories": 2, "start": {3: "0s", 1: "500ms", 2: "500ms"}},
        topics=[{"name": "story", "assignment": {0: [1, 2], 1: [1, 3]}}, TOPICS[OTHER]],
        duration="12s",
        faults=[{"kind": "log_directory_failure", "at": "6s", "for": "20s", "brokers": [1]}],
    )
    assert looks[-1].brokers["offline_replicas"][BROKER_1] == 1
    reads = of_topic(looks, BROKER_1, STORY, "fetch_requests")
    assert reads == sorted(reads)
    assert reads[-1] > reads[8] > 0


def test_a_topic_that_is_deleted_is_gone_at_its_brokers(tmp_path: Path) -> None:
    """With the last partition of a topic its BrokerTopicMetrics go (maybeRemoveTopicMetrics)."""
    looks = looks_at(
        tmp_path,
        duration="15s",
        steps=[
            {"at": "4s", "do": "produce", "topic": "other", "partition": 0, "records": 7},
            {"at": "8s", "do": "delete_topic", "topic": "other"},
        ],
    )
    before, after = looks[12:15], looks[-3:]
    assert of_topic(before, BROKER_2, OTHER, "messages_in") == [7, 7, 7]
    assert of_topic(after, BROKER_2, OTHER, "messages_in") == []
    assert len(of_topic(after, BROKER_2, STORY, "fetch_requests")) == 3


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "crash", "brokers": [2]},
        {"kind": "cut_link", "between": [["broker:2"], ["zookeeper"]]},
    ],
)
def test_a_broker_is_named_as_long_as_it_is_registered(
    tmp_path: Path, fault: dict[str, Any]
) -> None:
    """kafka_broker_info is what metadata names: neither who runs, nor who thinks to be known."""
    fault |= {"at": "4s", "for": "16s"}
    settings = {"zookeeper.session.timeout.ms": 6000}
    looks = looks_at(tmp_path, settings, duration="15s", faults=[fault])
    for look in looks:
        assert look.brokers["registered"].sum() == look.cluster["registered_brokers"][0]
    registered = {look.time_us // SECOND: bool(look.brokers["registered"][1]) for look in looks}
    assert [registered[second] for second in (3, 5, 14)] == [True, True, False]


def test_handlers_of_a_broker_that_shuts_down_are_not_idle(tmp_path: Path) -> None:
    """RequestHandlerAvgIdlePercent is a share, and there are no handlers any more."""
    restart = {"kind": "restart", "brokers": [2], "at": "8s", "for": "5s"}
    looks = looks_at(tmp_path, duration="10s", faults=[restart], costs={"broker_stop": "1500ms"})
    states = [int(look.brokers["state"][BROKER_2]) for look in looks]
    assert BROKER_SHUTTING_DOWN in states
    for look in looks:
        busy = look.brokers[look.brokers["handlers"] > 0]
        lives_us = busy["handlers"] * (look.time_us - busy["handlers_since_us"])
        assert (busy["handlers_idle_us"] <= lives_us).all()
        ends = look.brokers["state"] == BROKER_SHUTTING_DOWN
        assert not look.brokers["handlers"][ends].any()


def test_a_head_that_is_being_added_is_not_missed_as_the_leader(tmp_path: Path) -> None:
    """PreferredReplicaImbalanceCount, during a reassignment (KIP-455).

    Broker 2 is to be the head, and is paused before it has fetched. In the ISR it could lead.
    """
    looks = looks_at(
        tmp_path,
        duration="12s",
        topics=[
            {"name": "story", "assignment": {0: [1]}},
            {"name": "other", "assignment": {0: [3]}},
        ],
        faults=[{"kind": "pause", "brokers": [2], "at": "3900ms", "for": "3s"}],
        steps=[
            {
                "at": "4s",
                "do": "reassign",
                "partitions": [{"topic": "story", "partition": 0, "replicas": [2, 1]}],
            }
        ],
    )
    imbalance = {
        look.time_us // SECOND: int(look.brokers["preferred_replica_imbalance"][BROKER_3])
        for look in looks
    }
    moving = next(look for look in looks if look.time_us == 5 * SECOND)
    assert moving.brokers["reassigning"][BROKER_1] == 1
    assert not moving.partitions["leader_is_preferred"][0]
    assert [imbalance[second] for second in (3, 5, 6, 11)] == [0, 0, 0, 1]
