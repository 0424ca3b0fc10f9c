"""What the active controller of a KRaft quorum decides, as real controllers of 4.1.0 did.

Brokers 1, 2 and 3 are the processes 0, 1 and 2, and in the slots 0, 1 and 2 of each partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quorum_stories import SECOND, State, crash, quorum_story, states
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.simulation.trace_rows.codes import (
    BROKER_FENCED,
    BROKER_SESSION_EXPIRED,
    MAYBE_FENCE_STALE_BROKER,
    PROCESS_BROKER_HEARTBEAT,
)

SESSION_US = 4 * SECOND
MIN_ISR_2 = {"min.insync.replicas": 2}


# Eligible leader replicas (KIP-966).


def deaths(*brokers: int) -> list[dict[str, Any]]:
    """Brokers are killed one after the other, each after the death before it was noticed."""
    return [crash(broker, 10 + 8 * number) for number, broker in enumerate(brokers)]


def deaths_and_returns(killed: Sequence[int], returning: Sequence[int]) -> list[dict[str, Any]]:
    """... and started again in an order of their own."""
    return [
        crash(broker, 10 + 8 * number, 35 + 8 * returning.index(broker))
        for number, broker in enumerate(killed)
    ]


def test_the_elr_takes_who_leaves_an_isr_below_min_isr(tmp_path: Path) -> None:
    """PartitionChangeBuilder.maybePopulateTargetElr: RF 3, min ISR 2, all are killed."""
    run = run_of(quorum_story([[1, 2, 3]], faults=deaths(1, 2, 3), topic=MIN_ISR_2), tmp_path / "r")
    assert states(run) == [
        State(1, [1, 2, 3], [], [], 0, 0, 0),
        State(2, [2, 3], [], [], 1, 1, 0),
        State(3, [3], [2], [], 2, 2, 0),
        State(-1, [], [2, 3], [3], 3, 3, 0),
    ]


def test_without_elr_the_last_member_stays_in_the_isr(tmp_path: Path) -> None:
    story = quorum_story(
        [[1, 2, 3]], faults=deaths(1, 2, 3), topic=MIN_ISR_2, eligible_leader_replicas=False
    )
    assert states(run_of(story, tmp_path / "r"))[-1] == State(-1, [3], [], [], 3, 3, 0)


def test_of_two_brokers_that_die_together_the_one_fenced_last_has_to_return(
    tmp_path: Path,
) -> None:
    """KAFKA-19452: it leads for a moment, though it is dead, and is the ISR that is left.

    The other one is back for 20 s before it, with the same records, and is not elected.
    """
    story = quorum_story(
        [[1, 2]],
        faults=[crash(1, 10, 20), crash(2, 10.2, 40)],
        release="4.0",
        eligible_leader_replicas=False,
    )
    run = run_of(story, tmp_path / "r")
    assert states(run) == [
        State(1, [1, 2], [], [], 0, 0, 0),
        State(2, [2], [], [], 1, 1, 0),
        State(-1, [2], [], [], 2, 2, 0),
        State(2, [2], [], [], 3, 3, 0),
        State(2, [2, 1], [], [], 3, 4, 0),
    ]
    *_, elected = run.rows("leader_elected")
    assert elected["time_us"] > 40 * SECOND


def test_the_last_leader_waits_until_the_other_of_the_elr_is_back(tmp_path: Path) -> None:
    """All were killed, so each leaves the ELR when it registers; only then the last one may lead.

    PartitionChangeBuilder.canElectLastKnownLeader: it is elected as if uncleanly, in the batch of
    the registration of 2.
    """
    faults = deaths_and_returns([1, 2, 3], [3, 2, 1])
    run = run_of(quorum_story([[1, 2, 3]], faults=faults, topic=MIN_ISR_2), tmp_path / "r")
    assert states(run)[3:6] == [
        State(-1, [], [2, 3], [3], 3, 3, 0),
        State(-1, [], [2], [3], 3, 4, 0),
        State(3, [3], [], [], 4, 5, 1),
    ]
    (elected,) = rows_of(run, "leader_elected", leader_epoch=4)
    registered = [row["time_us"] for row in rows_of(run, "broker_state", broker=1, state_reason=1)]
    assert elected["unclean"] == 1
    assert elected["time_us"] == registered[-1]


def test_other_min_isr_empties_the_elr(tmp_path: Path) -> None:
    """ClearElrRecord, KAFKA-16540; what leaves the ISR afterwards is measured by the new number."""
    lower = {
        "do": "configure",
        "at": "30s",
        "topic": "t0",
        "settings": {"min.insync.replicas": 1},
    }
    story = quorum_story([[1, 2, 3]], faults=deaths(1, 2), steps=[lower], topic=MIN_ISR_2)
    assert states(run_of(story, tmp_path / "r"))[2:] == [
        State(3, [3], [2], [], 2, 2, 0),
        State(3, [3], [], [], 2, 3, 0),
    ]


# Fencing.


def test_all_changes_of_a_fencing_are_one_batch(tmp_path: Path) -> None:
    """ReplicationControlManager.handleBrokerFenced: partitions first, then the broker itself."""
    run = run_of(
        quorum_story([[1, 2, 3], [2, 1, 3], [3, 2, 1]], faults=[crash(1, 10)]), tmp_path / "r"
    )
    (fenced,) = rows_of(run, "broker_state", broker=0, state_reason=BROKER_SESSION_EXPIRED)
    written = [row for row in run.rows("partition_state") if row["partition_epoch"] == 1]
    assert {row["time_us"] for row in written} == {fenced["time_us"]}
    assert [row["partition"] for row in written] == [0, 1, 2]
    assert max(row["sequence"] for row in written) < fenced["sequence"]
    # Who follows leaves without a new leader epoch.
    assert [row["leader_epoch"] for row in written] == [1, 0, 0]


def test_a_fencing_is_due_to_what_keeps_the_broker_silent(tmp_path: Path) -> None:
    run = run_of(quorum_story([[1, 2, 3]], faults=[crash(1, 10)]), tmp_path / "r")
    (began,) = rows_of(run, "fault_began")
    reasons = [
        *rows_of(run, "controller_event", event_kind=MAYBE_FENCE_STALE_BROKER),
        *rows_of(run, "leader_elected", leader_epoch=1),
        *rows_of(run, "removed_from_isr"),
        *rows_of(run, "broker_state", broker=0, state_reason=BROKER_SESSION_EXPIRED),
    ]
    assert len(reasons) == 4
    for row in reasons:
        told = (row["because_process"], row["because_sequence"])
        assert told == (began["process"], began["sequence"])


def test_one_overdue_broker_is_fenced_per_event(tmp_path: Path) -> None:
    """Both died together; the next is fenced 10 ms later, and may have been made leader before.

    ReplicationControlManager.maybeFenceOneStaleBroker, PeriodicTaskControlManager (4.0).
    """
    faults = [{"kind": "crash", "name": "both", "brokers": [1, 2], "at": "10s"}]
    run = run_of(quorum_story([[1, 2, 3]], faults=faults), tmp_path / "r")
    first, second = rows_of(run, "controller_event", event_kind=MAYBE_FENCE_STALE_BROKER)
    apart_us = second["time_us"] - first["time_us"]
    # Heartbeats of one 500 ms interval may fall on either side of a check, each 500 ms.
    assert apart_us == 10_000 or apart_us == pytest.approx(500_000, abs=10_100)
    assert states(run)[-1].isr == [3]


def test_up_to_3_9_a_session_ends_to_the_microsecond(tmp_path: Path) -> None:
    """BrokerHeartbeatManager.nextCheckTimeNs@3.9.0; from 4.0 it is looked at 8 times a session."""
    run = run_of(
        quorum_story([[1, 2, 3]], faults=[crash(1, 10)], release="3.9", mode="kraft"),
        tmp_path / "r",
    )
    (event,) = rows_of(run, "controller_event", event_kind=MAYBE_FENCE_STALE_BROKER)
    since_us = event["time_us"] - 10 * SECOND
    assert SESSION_US - 500_000 <= since_us <= SESSION_US + 10_000


# Elections.


def test_preferred_leaders_are_elected_from_time_to_time(tmp_path: Path) -> None:
    """The imbalance percentage counts for nothing: one partition of three is enough."""
    settings = {
        "auto.leader.rebalance.enable": True,
        "leader.imbalance.check.interval.seconds": 40,
    }
    run = run_of(
        quorum_story(
            [[1, 2, 3], [2, 1, 3], [3, 1, 2]], faults=[crash(1, 10, 20)], settings=settings
        ),
        tmp_path / "r",
    )
    assert [state.leader for state in states(run)][-2:] == [2, 1]
    (elected,) = rows_of(run, "leader_elected", partition=0, leader=0)
    assert elected["time_us"] == pytest.approx(40 * SECOND, abs=100_000)


@pytest.mark.parametrize(("release", "elected"), [("4.1", [1]), ("3.9", [1]), ("3.8", [])], ids=str)
def test_an_unclean_election_waits_for_the_task_and_not_for_the_setting(
    release: str, elected: list[int], tmp_path: Path
) -> None:
    """ReplicationControlManager.maybeElectUncleanLeaders (3.9, KAFKA-12670): each 300 s.

    Broker 2 has left the ISR, and 1 is killed for good. What lets 2 lead is set on the topic while
    there is no leader: nothing happens then.
    """
    story = quorum_story(
        [[1, 2]],
        faults=[crash(2, 10, 30), crash(1, 20)],
        steps=[
            {
                "do": "configure",
                "at": "50s",
                "topic": "t0",
                "settings": {"unclean.leader.election.enable": True},
            }
        ],
        duration="330s",
        release=release,
        mode="kraft",
    )
    run = run_of(story, tmp_path / "r")
    after = [row for row in rows_of(run, "leader_elected") if row["time_us"] > 40 * SECOND]
    assert [row["leader"] for row in after] == elected
    assert all(row["time_us"] > 290 * SECOND and row["unclean"] for row in after)


# Requests of the operator.


def test_a_reassignment_is_one_record_and_one_for_each_new_member(tmp_path: Path) -> None:
    """PartitionReassignmentReplicas: the ISR change that completes the target carries it out."""
    move = {
        "do": "alter_reassignments",
        "at": "10s",
        "partitions": [{"topic": "t0", "partition": 0, "replicas": [2, 3]}],
    }
    run = run_of(quorum_story([[1, 2]], steps=[move]), tmp_path / "r")
    assert states(run) == [
        State(1, [1, 2], [], [], 0, 0, 0),
        State(1, [1, 2], [], [], 0, 1, 0),
        State(2, [2, 3], [], [], 1, 2, 0),
    ]
    assert len(rows_of(run, "reassignment_begun")) == len(rows_of(run, "reassignment_done")) == 1


def test_a_topic_is_deleted_while_a_replica_is_down(tmp_path: Path) -> None:
    """ReplicationControlManager.deleteTopic: one record, and no partition is rewritten."""
    run = run_of(
        quorum_story(
            [[1, 2, 3]],
            faults=[crash(1, 10)],
            steps=[{"do": "delete_topic", "at": "20s", "topic": "t0"}],
        ),
        tmp_path / "r",
    )
    deleted = list(run.rows("partition_state"))[-1]
    assert deleted["change"] == 3
    assert deleted["time_us"] < 20 * SECOND + 100_000


def test_a_topic_is_refused_while_all_its_brokers_are_fenced(tmp_path: Path) -> None:
    """ReplicationControlManager.createTopic: one of the replicas has to be active."""
    story = quorum_story(
        [[3], [1]],
        faults=[crash(1, 10)],
        steps=[
            {"do": "delete_topic", "at": "8s", "topic": "t1"},
            {"do": "create_topic", "at": "20s", "topic": "t1"},
        ],
    )
    run = run_of(story, tmp_path / "r")
    created = rows_of(run, "partition_state", partition=1, change=1)
    assert len(created) == 1
    assert created[0]["time_us"] < 8 * SECOND


# Batches of 10,000 records.


@pytest.mark.parametrize(
    ("release", "error", "controllers"),
    [
        ("3.4.1", errors.UNKNOWN_SERVER_ERROR, [0, 1, 0]),
        ("3.5.0", errors.POLICY_VIOLATION, [0]),
    ],
)
def test_a_creation_of_more_than_10_000_records_is_refused_or_fails_the_controller(
    tmp_path: Path, release: str, error: int, controllers: list[int]
) -> None:
    """KAFKA-14996: up to 3.4 the active controller renounces, and so does the one asked next."""
    steps = [{"do": "create_topic", "at": at, "topic": "large"} for at in ("5s", "10s")]
    story = quorum_story(
        [],
        topics=[{"name": "large", "partitions": 10_000, "replication_factor": 1}],
        steps=steps,
        release=release,
        mode="kraft",
        controllers={"count": 3},
        duration="15s",
    )
    run = run_of(story, tmp_path / "r")
    assert [row["error"] for row in run.rows("step_answered")] == [error, error]
    claims = [row for row in run.rows("controller_active") if row["broker"] >= 0]
    first = claims[0]["broker"]
    assert [row["broker"] - first for row in claims] == controllers
    assert not list(run.rows("partition_state"))


def test_a_topic_that_is_there_from_the_beginning_may_have_grown_beyond_10_000_records(
    tmp_path: Path,
) -> None:
    """Its operator has added partitions by several requests (CreatePartitions)."""
    topics = [{"name": "large", "partitions": 10_001, "replication_factor": 1}]
    run = run_of(quorum_story([], topics=topics, duration="5s"), tmp_path / "r")
    assert len(list(run.rows("partition_state"))) == 10_001


# A cluster that was there before the run.


def test_a_cluster_from_before_keeps_its_states(tmp_path: Path) -> None:
    """Its brokers are registered and unfenced; who does not return is fenced after a session."""
    state = {"leader": 3, "isr": [3, 2], "leader_epoch": 7}
    topic = {"name": "t0", "assignment": {0: [1, 2, 3]}, "state": {0: state}}
    story = quorum_story([], topics=[topic], faults=[crash(3, 0)])
    run = run_of(story, tmp_path / "r")
    assert states(run)[:2] == [
        State(3, [3, 2], [], [], 7, 0, 0),
        State(2, [2], [], [], 8, 1, 0),
    ]
    fenced = rows_of(run, "broker_state", state=BROKER_FENCED)
    assert [row["broker"] for row in fenced] == [2]


# Cordoned log directories (KIP-1066).


def test_from_4_3_each_start_of_a_broker_writes_one_more_record(tmp_path: Path) -> None:
    """ReplicationControlManager.handleDirectoriesCordoned: the first heartbeat that tells them.

    Three brokers start, so the second registration of broker 1 lies three records further on. Its
    own record comes 10 ms after it has caught up, before it is unfenced.
    """
    epochs = {}
    for version in ("4.2-IV1", "4.3-IV0"):
        story = quorum_story(
            [[1, 2, 3]],
            faults=[crash(1, 10, 16)],
            release="4.3",
            metadata_version=version,
            duration="20s",
        )
        run = run_of(story, tmp_path / version)
        registered, unfenced = rows_of(run, "broker_state", broker=0)[-2:]
        epochs[version] = registered["broker_epoch"]
        heartbeats = [
            row["time_us"]
            for row in rows_of(run, "controller_event", event_kind=PROCESS_BROKER_HEARTBEAT)
            if registered["time_us"] < row["time_us"] < unfenced["time_us"]
        ]
        assert len(heartbeats) == (2 if version == "4.3-IV0" else 1)
    assert epochs["4.3-IV0"] == epochs["4.2-IV1"] + 3
