"""Breaks that Kafka's release permits with KRaft, and the twins in which nothing breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from isr_stories import members
from small_clusters import BROKER_1, cluster_of, topic_of
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.traces.checks.histories import (
    BY_EARLIER_ISR,
    BY_FORGOTTEN_EXPANSION,
    BY_REGISTRATION,
    PERMITS,
)
from tidegauge.traces.run_folder import RunFolder


def given_up(run: RunFolder) -> dict[str, str]:
    """The checks that are broken, all by permission, with the reason."""
    assert run.summary is not None
    checks: dict[str, Any] = run.summary["checks"]
    assert not [name for name, found in checks.items() if found["broken"]]
    return {name: found["permitted_by"] for name, found in checks.items() if found["permitted"]}


# A leader forgets an expansion of its ISR.


def learns_twice_of_an_isr(*, late: bool) -> Scenario:
    """Follower 2 leaves the ISR at 4 s, and has caught up at 5 s; the leader, 1, dies at 7 s.

    The controller commits the ISR without 2, and the leader learns of it from the response to its
    AlterPartition. If the metadata log is ``late``, it brings the same state once more at 5.4 s,
    when the leader already asks for an ISR with 2. That request takes until 6.7 s. The cut between
    the brokers lasts longer than replica.lag.time.max.ms, for which the leader waits for a follower
    that is not in its ISR.
    """
    metadata = {"hold": "RAFT_FETCH_RESPONSE", "to": "broker:1", "after": "4s", "until": "5300ms"}
    proposal = {"hold": "ALTER_PARTITION", "from": "broker:1", "after": "4900ms", "for": "1700ms"}
    return cluster_of(
        mode="kraft",
        release="4.4",
        duration="10s",
        cluster={
            "brokers": 2,
            "start_spread": "0s",
            "settings": {
                "replica.lag.time.max.ms": 1000,
                "replica.fetch.wait.max.ms": 100,
                "broker.heartbeat.interval.ms": 500,
            },
        },
        topics=[topic_of([1, 2])],
        controllers={"count": 1, "settings": {"broker.session.timeout.ms": 2000}},
        eligible_leader_replicas=False,
        steps=[
            {"at": "3100ms", "do": "produce", "topic": "story", "partition": 0, "acks": 1},
            {"at": "6500ms", "do": "produce", "topic": "story", "partition": 0},
        ],
        faults=[
            {"kind": "pause", "brokers": [2], "at": "3s", "for": "2s"},
            {"kind": "cut_link", "between": [["broker:1"], ["broker:2"]], "at": "5350ms"},
            {"kind": "crash", "brokers": [1], "at": "7s"},
        ],
        pins=[metadata, proposal] if late else [proposal],
    )


def test_a_record_is_lost_that_a_leader_has_acknowledged_for_an_isr_that_it_forgot(
    tmp_path: Path,
) -> None:
    """Partition.makeLeader takes the ISR of a partition epoch that it knows for the last word.

    The controller commits the ISR with follower 2 all the same, and elects 2.
    """
    run = simulate(learns_twice_of_an_isr(late=True), tmp_path / "run")
    (forgotten,) = run.rows("isr_expansion_forgotten")
    assert (forgotten["process"], forgotten["version"]) == (BROKER_1, 1)
    assert (members(run, forgotten), members(run, forgotten, "old_isr")) == ([1, 2], [1])
    assert given_up(run) == dict.fromkeys(
        ("strong_isr", "exposed_durable"), PERMITS[int(BY_FORGOTTEN_EXPANSION)]
    )
    assert run.summary is not None
    assert run.summary["records_acknowledged_lost_permitted"] == 1
    twin = simulate(learns_twice_of_an_isr(late=False), tmp_path / "twin")
    assert not list(twin.rows("isr_expansion_forgotten"))
    assert given_up(twin) == {}


def test_a_leader_that_has_started_again_leads_by_an_earlier_isr(tmp_path: Path) -> None:
    """The controller takes a late AlterPartition of its former process, whose broker epoch holds.

    BrokerServer.startup: the new process reads the metadata log, and leads, before it registers.
    """
    scenario = scenario_from_mapping(
        {
            "seed": 1734817186,
            "duration": "5300ms",
            "liveness": False,
            "release": "3.9",
            "mode": "kraft",
            "cluster": {
                "brokers": [1, 3],
                "start_spread": "0s",
                "settings": {"replica.lag.time.max.ms": 500, "replica.socket.timeout.ms": 500},
            },
            "topics": [topic_of([1, 3])],
            "costs": {"broker_start": "200ms"},
            "network": {"retransmission_after_cut": "400ms"},
            "steps": [
                {"at": "3500ms", "do": "produce", "topic": "story", "partition": 0},
                {"at": "4750ms", "do": "produce", "topic": "story", "partition": 0},
            ],
            "faults": [
                {
                    "kind": "cut_link",
                    "between": [["broker:1"], ["controllers"]],
                    "at": "3800ms",
                    "for": "1s",
                },
                {"kind": "crash", "brokers": [1], "at": "4754ms", "for": "1ms"},
            ],
        },
        "story",
    )
    run = simulate(scenario, tmp_path / "run")
    committed = max(row["partition_epoch"] for row in run.rows("partition_state"))
    *_, again = run.rows("became_leader")
    assert again["version"] < committed
    assert given_up(run) == {"strong_isr": PERMITS[int(BY_EARLIER_ISR)]}


# A broker registers while it is in ISRs.


def registers_before_it_is_fenced(release: str) -> Scenario:
    """Followers 2 and 3 are killed, and register while the controller is paused.

    Both sessions have expired when it goes on. Up to 3.9 it fences one broker at a time, and takes
    the registrations before the other one.
    """
    return cluster_of(
        mode="kraft",
        release=release,
        duration="9s",
        cluster={
            "brokers": 3,
            "start_spread": "0s",
            "settings": {"broker.heartbeat.interval.ms": 500},
        },
        controllers={"count": 1, "settings": {"broker.session.timeout.ms": 2000}},
        costs={"broker_start": "100ms"},
        faults=[
            {"kind": "crash", "brokers": [2, 3], "at": "4s", "for": "100ms"},
            {"kind": "pause", "brokers": ["controllers"], "at": "5s", "for": "1500ms"},
        ],
    )


def test_up_to_3_9_a_broker_that_registers_is_fenced_and_stays_in_the_isr(tmp_path: Path) -> None:
    """KAFKA-18106, ClusterControlManager.registerBroker: 4.0 takes it out of ISRs."""
    run = simulate(registers_before_it_is_fenced("3.9"), tmp_path / "run")
    assert given_up(run) == {"fenced_outside_isr": PERMITS[int(BY_REGISTRATION)]}
    twin = simulate(registers_before_it_is_fenced("4.0"), tmp_path / "twin")
    assert given_up(twin) == {}
    first, second = [row for row in twin.rows("partition_state") if row["time_us"] > 5_000_000][:2]
    assert (members(twin, first), members(twin, second)) == ([1, 3], [1])


# A break that is none.


def test_an_expansion_of_which_a_leader_learns_late_breaks_nothing(tmp_path: Path) -> None:
    """Leader 1 stops, and hears of its last ISR when 2 leads and has exposed a record since.

    The controllers cannot reach it in between.
    """
    to_leader = {"kind": "cut_link", "between": [["controllers"], ["broker:1"]], "one_way": True}
    scenario = scenario_from_mapping(
        {
            "seed": 1119391827,
            "duration": "3950ms",
            "liveness": False,
            "release": "4.4",
            "cluster": {
                "brokers": 2,
                "start_spread": "0s",
                "settings": {"broker.heartbeat.interval.ms": 500},
            },
            "topics": [topic_of([2, 1])],
            "controllers": {"settings": {"broker.session.timeout.ms": 2000}},
            "network": {"retransmission_after_cut": "400ms"},
            "steps": [{"at": "3600ms", "do": "produce", "topic": "story", "partition": 0}],
            "faults": [
                {"kind": "crash", "brokers": [2], "at": "1s", "for": "1ms"},
                {"kind": "restart", "brokers": [1], "at": "3430ms"},
                to_leader | {"at": "3340ms", "for": "190ms"},
                {"kind": "crash", "brokers": [2], "at": "3603ms"},
            ],
        },
        "story",
    )
    run = simulate(scenario, tmp_path / "run")
    (expanded,) = run.rows("isr_expanded")
    *_, led = run.rows("became_leader")
    *_, exposed = [row for row in run.rows("exposed") if row["high_watermark"] > 0]
    assert led["leader_epoch"] == exposed["leader_epoch"] > expanded["leader_epoch"]
    assert led["time_us"] < expanded["time_us"]
    assert given_up(run) == {}
