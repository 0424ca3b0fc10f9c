"""Mechanism 17: all members of the ISR are down, and whether another replica may lead.

The schedules are f1, f2 and f5 of the runs of real brokers, and the numbers theirs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import as_written, ms, process_named, retold
from partition_fates import (
    NO_LEADER,
    Answer,
    Records,
    StateWrite,
    answers,
    log_of,
    lost,
    state_writes,
)
from scenario_runs import rows_of, run_of, shipped
from tidegauge.replication.errors import NONE, NOT_LEADER_OR_FOLLOWER
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.traces.run_folder import RunFolder

ALL = -1
PARTITIONS = (0, 1)


def until_offline(partition: int, left: list[int]) -> list[StateWrite]:
    """Both replicas, then broker 1 alone, then nobody: ``left`` is what the ISR is then."""
    leader, isr = (1, [1, 2]) if partition == 0 else (2, [2, 1])
    return [
        StateWrite(3, leader, isr, 0, 0),
        StateWrite(3, 1, [1], 1, 1),
        StateWrite(3, NO_LEADER, left, 2, 2),
    ]


def offline_ms(run: RunFolder, partition: int) -> tuple[int, int]:
    """From when to when nobody leads a partition."""
    (gone,) = rows_of(run, "removed_from_isr", partition=partition, leader=NO_LEADER)
    (back,) = rows_of(run, "leader_elected", partition=partition, old_leader=NO_LEADER, version=3)
    return ms(gone), ms(back)


def registered_ms(run: RunFolder, broker: int) -> int:
    """When the controller saw a broker register for the last time."""
    index = process_named(run, f"broker {broker}")
    return ms(rows_of(run, "broker_registered", broker=index)[-1])


# Unclean elections are off.


@pytest.mark.parametrize(
    ("release", "protocol"),
    [("0.10.2", None), ("1.1", None), ("2.4", None), ("2.6", None), ("3.9", "2.6")],
)
def test_without_unclean_elections_only_a_member_of_the_isr_is_elected(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Schedule f1: leader -1 in epoch 2; broker 2 registers in vain; 1 leads in epoch 3."""
    story = retold("17-all-of-isr-down", release=release, protocol=protocol)
    run = run_of(story, tmp_path / "run")
    for partition in PARTITIONS:
        assert state_writes(run, partition) == [
            *until_offline(partition, left=[1]),
            StateWrite(3, 1, [1], 3, 3),
            StateWrite(1, 1, [1, 2], 3, 4),
        ]
        assert lost(run, ALL, leader=1, partition=partition) == []
        held = [Records(0, 0, 5), Records(1, 5, 8), Records(3, 8, 9)]
        assert [log_of(run, broker, partition) for broker in (1, 2)] == [held] * 2
    assert not any(row["unclean"] for row in run.rows("leader_elected"))


def asked_uncleanly(release: str) -> Scenario:
    """Schedule f1, and the operator has broker 2 lead partition 0 before broker 1 is back."""
    steps = as_written("17-all-of-isr-down")["steps"]
    (produces,) = [number for number, step in enumerate(steps) if step.get("to") == 2]
    at = {"topic": "story", "partition": 0}
    asked = [
        {"after": "300ms", "do": "unclean_election", **at},
        {"when": {"leader": {**at, "is": 2}}, "within": "1s", "do": "unclean_election", **at},
    ]
    return retold("17-all-of-isr-down", release=release, steps=[*steps[:produces], *asked])


@pytest.mark.parametrize("release", ["2.4", "3.9"])
def test_an_operator_has_a_replica_lead_that_the_setting_does_not_permit(
    release: str, tmp_path: Path
) -> None:
    """KIP-460, KafkaController.processReplicaLeaderElection@2.4.0: once, and for that partition.

    A second request finds a live leader (ELECTION_NOT_NEEDED).
    """
    run = run_of(asked_uncleanly(release), tmp_path / "run")
    assert state_writes(run, 0) == [*until_offline(0, left=[1]), StateWrite(3, 2, [2], 3, 3)]
    assert state_writes(run, 1) == until_offline(1, left=[1])
    (elected,) = rows_of(run, "leader_elected", unclean=1)
    assert (elected["partition"], elected["old_leader"]) == (0, NO_LEADER)
    assert run.summary is not None
    assert run.summary["steps_taken"] == len(asked_uncleanly(release).steps)


def test_the_partition_is_offline_as_long_as_the_member_of_the_isr_is_away(tmp_path: Path) -> None:
    """From the end of its session to its registration: 12 s, 11 s of them with broker 2 up."""
    run = run_of(shipped("17-all-of-isr-down"), tmp_path / "run")
    (_, expired) = run.rows("session_expired")
    for partition in PARTITIONS:
        gone, back = offline_ms(run, partition)
        assert 0 <= gone - ms(expired) < 60
        assert 0 <= back - registered_ms(run, 1) < 20
        assert back - gone == pytest.approx(11_765, abs=20)
        assert back - registered_ms(run, 2) == pytest.approx(11_015, abs=20)


def test_a_replica_of_an_offline_partition_takes_nothing(tmp_path: Path) -> None:
    """Real brokers, section 6: nobody leads, and a replica says that it does not."""
    run = run_of(shipped("17-all-of-isr-down"), tmp_path / "run")
    refused = answers(run)[4]
    assert refused == Answer(2, NOT_LEADER_OR_FOLLOWER, -1, -1)
    gone, back = offline_ms(run, 0)
    (answered,) = rows_of(run, "step_answered", error=NOT_LEADER_OR_FOLLOWER)
    assert gone < ms(answered) < back


# Unclean elections are on.


@pytest.mark.parametrize(
    ("release", "left"), [("0.11", []), ("1.0", []), ("1.1", [1]), ("2.4", [1]), ("2.6", [1])]
)
def test_an_unclean_election_loses_what_the_isr_alone_had(
    release: str, left: list[int], tmp_path: Path
) -> None:
    """Schedule f2: broker 2 is elected in epoch 3 and the ISR is it alone; 1 truncates 8 to 5.

    Up to 1.0 the last member is taken out of the ISR, too, if unclean elections are on.
    """
    run = run_of(retold("17-unclean-election", release=release), tmp_path / "run")
    for partition in PARTITIONS:
        assert state_writes(run, partition) == [
            *until_offline(partition, left),
            StateWrite(3, 2, [2], 3, 3),
            StateWrite(2, 2, [2, 1], 3, 4),
        ]
        (elected,) = rows_of(run, "leader_elected", partition=partition, unclean=1)
        assert (elected["leader_epoch"], elected["old_leader"]) == (3, NO_LEADER)
        # Three records, acknowledged with acks=all.
        assert lost(run, ALL, leader=2, partition=partition) == [5, 6, 7]
        (cut,) = rows_of(run, "truncated", partition=partition)
        assert (cut["process"], cut["old_end_offset"], cut["end_offset"]) == (0, 8, 5)
        held = [Records(0, 0, 5), Records(3, 5, 8)]
        assert [log_of(run, broker, partition) for broker in (1, 2)] == [held] * 2


def test_an_unclean_election_ends_the_outage_as_soon_as_any_replica_is_back(tmp_path: Path) -> None:
    """The twin of the 12 s: three quarters of a second, which is broker 2's start."""
    run = run_of(shipped("17-unclean-election"), tmp_path / "run")
    for partition in PARTITIONS:
        gone, back = offline_ms(run, partition)
        assert 0 <= back - registered_ms(run, 2) < 20
        assert back - gone == pytest.approx(755, abs=20)


def test_epochs_that_are_gone_end_where_the_last_common_one_does(tmp_path: Path) -> None:
    """Schedule f2's question: of epoch 2 the new leader says epoch 0, until 5."""
    run = run_of(shipped("17-unclean-election"), tmp_path / "run")
    (asked,) = rows_of(run, "epoch_answered", asked_epoch=2)
    assert (asked["epoch"], asked["end_offset"], asked["error"]) == (0, 5, NONE)
    # Of its own log broker 1 forgets epoch 1 with the records.
    (cut, _) = rows_of(run, "epochs_cut", process=0)
    assert cut["epoch_count"] == 1


def test_before_0_11_an_unclean_election_leaves_logs_that_differ(tmp_path: Path) -> None:
    """Rule 4.3 (a): broker 1 truncates to its high watermark 8, then to the leader's end 7."""
    run = run_of(retold("17-unclean-election", release="0.10.2"), tmp_path / "run")
    for partition in PARTITIONS:
        assert state_writes(run, partition)[2:] == [
            StateWrite(3, NO_LEADER, [], 2, 2),
            StateWrite(3, 2, [2], 3, 3),
            StateWrite(2, 2, [2, 1], 3, 4),
        ]
        assert lost(run, ALL, leader=2, partition=partition) == [5, 6, 7]
        (cut,) = rows_of(run, "truncated", partition=partition)
        assert (cut["process"], cut["old_end_offset"], cut["end_offset"]) == (0, 8, 7)
        # As long as the leader's, and other records at 5 and 6.
        assert log_of(run, 2, partition) == [Records(0, 0, 5), Records(3, 5, 8)]
        assert log_of(run, 1, partition) == [
            Records(0, 0, 5),
            Records(1, 5, 7),
            Records(3, 7, 8),
        ]


def test_the_first_that_died_leads_if_it_returns_first(tmp_path: Path) -> None:
    """Schedule f5: the shortest log is the first of the assignment that lives; five are lost."""
    run = run_of(shipped("17-first-dead-returns-first"), tmp_path / "run")
    assert state_writes(run) == [
        StateWrite(1, 1, [1, 2, 3], 0, 0),
        StateWrite(2, NO_LEADER, [2, 3], 1, 1),
        StateWrite(2, 2, [2, 3], 2, 2),
        StateWrite(3, NO_LEADER, [3], 3, 3),
        StateWrite(3, 3, [3], 4, 4),
        StateWrite(1, NO_LEADER, [3], 5, 5),
        StateWrite(1, 1, [1], 6, 6),
        StateWrite(1, 1, [1, 2], 6, 7),
        StateWrite(1, 1, [1, 2, 3], 6, 8),
    ]
    assert [row["unclean"] for row in run.rows("leader_elected")] == [0, 0, 0, 1]
    assert lost(run, ALL, leader=1) == [4, 5, 6, 7, 8]
    cuts = [
        (row["process"], row["old_end_offset"], row["end_offset"]) for row in run.rows("truncated")
    ]
    assert cuts == [(1, 7, 4), (2, 9, 4)]
    held = [Records(0, 0, 4), Records(6, 4, 6)]
    assert [log_of(run, broker) for broker in (1, 2, 3)] == [held] * 3


# Unclean elections are switched on while the partitions are offline.


@pytest.mark.parametrize(("release", "elects"), [("2.6", True), ("2.1", True), ("2.0", False)])
def test_switching_unclean_election_on_elects_at_once_from_2_1_on(
    release: str, elects: bool, tmp_path: Path
) -> None:
    """Real brokers, f3: `2 [2] e3`; before 2.1 the controller looks only at its next event."""
    before = as_written("17-all-of-isr-down")["steps"][:6]
    switched_on = {
        # By then broker 2 is up, and the controller is done with it.
        "after": "3s",
        "do": "configure",
        "topic": "story",
        "settings": {"unclean.leader.election.enable": True},
    }
    returns = {"after": "5s", "do": "end_fault", "fault": "death-of-1"}
    story = retold("17-all-of-isr-down", release=release, steps=[*before, switched_on, returns])
    run = run_of(story, tmp_path / "run")
    (configured,) = run.rows("topic_configured")
    leader, isr = (2, [2]) if elects else (1, [1])
    for partition in PARTITIONS:
        _, back_ms = offline_ms(run, partition)
        assert (back_ms - ms(configured) < 100) == elects
        assert state_writes(run, partition)[3] == StateWrite(3, leader, isr, 3, 3)
        assert bool(lost(run, ALL, leader, partition)) == elects
