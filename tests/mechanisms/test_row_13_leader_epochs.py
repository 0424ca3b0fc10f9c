"""Mechanism 13: leader epochs with three replicas, and where each of them truncates.

The scenario is ``13-leader-epochs``: A, B and C are the brokers 1, 2 and 3; broker 4, D, is the
controller. Real brokers of 0.11.0.3, 2.6.3 and 3.9.0 did the same (section 8, row 13).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import as_written, process_named
from partition_fates import NO_LEADER, Records, StateWrite, acknowledged, log_of, lost, state_writes
from partition_lines import BROKER_1, BROKER_2, BROKER_3, lines_of
from scenario_runs import run_of, shipped
from tidegauge.traces.run_folder import RunFolder

SCENARIO = "13-leader-epochs"
A, B, C = BROKER_1, BROKER_2, BROKER_3

#: Where each leader epoch of a replica starts: (epoch, start offset), the oldest first.
Vector = list[tuple[int, int]]

#: Rows from which a replica's vector follows, and the one by which the story counts.
TOLD = ("epoch_assigned", "epochs_cut", "checkpoint_read", "step_taken")

TRUNCATION = {
    "epoch_answered": "to_process asked_epoch epoch end_offset",
    "truncated": "old_end_offset end_offset leader_epoch",
    "isr_expanded": "log_end_offset",
}


def vectors_by_step(run: RunFolder) -> list[tuple[Vector, Vector, Vector]]:
    """The vectors of A, B and C as each step of the scenario is taken."""
    vectors: dict[int, Vector] = {A: [], B: [], C: []}
    told = []
    for row in run.all_rows(wanted=lambda kind: kind.name in TOLD):
        if row.kind == "step_taken":
            told.append((list(vectors[A]), list(vectors[B]), list(vectors[C])))
            continue
        vector = vectors[row["process"]]
        if row.kind == "epoch_assigned":
            vector[row["position"] :] = [(row["epoch"], row["start_offset"])]
        elif row.kind == "epochs_cut":
            del vector[row["epoch_count"] :]
        else:
            # A start reads what the last run has left in leader-epoch-checkpoint.
            assert len(vector) == row["epoch_count"]
    return told


@pytest.mark.parametrize(
    ("release", "protocol", "assigned_at_election"),
    [
        ("0.11", None, False),
        ("1.1", None, False),
        ("2.0.0", None, False),
        ("2.0.1", None, True),
        ("2.6", None, True),
        ("3.9", "2.6", True),
    ],
)
def test_each_replicas_leader_epochs_at_each_step(
    release: str, protocol: str | None, assigned_at_election: bool, tmp_path: Path
) -> None:
    """Rule 4.1: a leader assigns its epoch when elected, before 2.0.1 with its first record."""
    changes = {"release": release, "protocol": protocol}
    run = run_of(shipped(SCENARIO, changes), tmp_path / "run")
    at_election = [(1, 3)] if assigned_at_election else []
    leads = [(0, 0), *at_election]
    assert vectors_by_step(run) == [
        # 0: A leads, nothing is written.
        ([(0, 0)] if assigned_at_election else [], [], []),
        # 1 to 4: all have records of epoch 0. The link is cut, A and B get two more and die.
        *[([(0, 0)], [(0, 0)], [(0, 0)])] * 4,
        # 5: C is elected, with log end offset 3.
        ([(0, 0)], [(0, 0)], leads),
        # 6: B has truncated, has nothing to fetch, and is in the ISR.
        ([(0, 0)], [(0, 0)], leads),
        # 7: C is dead, B is elected.
        ([(0, 0)], [(0, 0), (2, 3)] if assigned_at_election else [(0, 0)], leads),
        # 8: B has written two records.
        ([(0, 0)], [(0, 0), (2, 3)], leads),
        # 9: A has truncated, fetched, and is in the ISR.
        ([(0, 0), (2, 3)], [(0, 0), (2, 3)], leads),
    ]


@pytest.mark.parametrize(("release", "protocol"), [("0.11", None), ("2.6", None), ("3.9", "2.6")])
def test_b_and_a_ask_where_epoch_0_ended_and_truncate_to_3(
    release: str, protocol: str | None, tmp_path: Path
) -> None:
    """Rules 4.2 and 4.3: OffsetsForLeaderEpoch with one's latest epoch."""
    changes = {"release": release, "protocol": protocol}
    run = run_of(shipped(SCENARIO, changes), tmp_path / "run")
    operator = process_named(run, "operator")
    # The answer names the epoch since KIP-279.
    epoch = -1 if release == "0.11" else 0
    assert lines_of(run, TRUNCATION, 3_000) == [
        ("epoch_answered", C, B, 0, epoch, 3),
        ("truncated", B, 5, 3, 1),
        ("isr_expanded", C, 3),
        ("epoch_answered", B, A, 0, epoch, 3),
        ("truncated", A, 5, 3, 2),
        ("isr_expanded", B, 5),
        # Of epoch 1 B knows only that whatever it had was over at 3.
        ("epoch_answered", B, operator, 1, epoch, 3),
    ]
    assert log_of(run, 1) == log_of(run, 2) == [Records(0, 0, 3), Records(2, 3, 5)]
    assert log_of(run, 3) == [Records(0, 0, 3)]


def test_the_two_records_that_c_did_not_have_are_lost_and_counted(tmp_path: Path) -> None:
    """They were acknowledged because acks is 1; what acks=all had promised is all there."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    assert acknowledged(run, acks=1) == [Records(0, 3, 5)]
    assert lost(run, acks=1, leader=2) == [3, 4]
    assert acknowledged(run, acks=-1) == [Records(0, 0, 3), Records(2, 3, 5)]
    assert lost(run, acks=-1, leader=2) == []


def test_two_deaths_in_one_controller_event_cost_one_epoch(tmp_path: Path) -> None:
    """Real brokers, mechanism13_epochs_2.6.3: the same five writes by the same brokers."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    assert state_writes(run) == [
        (4, 1, [1, 2, 3], 0, 0),
        (4, 3, [3], 1, 1),
        (3, 3, [3, 2], 1, 2),
        (4, 2, [2], 2, 3),
        (2, 2, [2, 1], 2, 4),
    ]


def test_deaths_that_are_handled_alone_cost_an_epoch_each(tmp_path: Path) -> None:
    """Rule 6.3: B, a follower, dies first; A leads on in epoch 1, writes nothing and dies.

    The epoch that A was given has no record, so a start forgets it and A asks for epoch 0.
    """
    steps = as_written(SCENARIO)["steps"]
    deaths = [
        {"after": "100ms", "do": "begin_fault", "fault": "death-of-B"},
        {
            "when": {"isr": {"topic": "story", "partition": 0, "is": [1, 3]}},
            "within": "8s",
            "do": "begin_fault",
            "fault": "death-of-A",
        },
    ]
    changes = {"steps": steps[:3] + deaths + steps[5:], "duration": "20s"}
    run = run_of(shipped(SCENARIO, changes), tmp_path / "run")
    assert state_writes(run) == [
        (4, 1, [1, 2, 3], 0, 0),
        (4, 1, [1, 3], 1, 1),
        (4, 3, [3], 2, 2),
        (3, 3, [3, 2], 2, 3),
        (4, 2, [2], 3, 4),
        (2, 2, [2, 1], 3, 5),
    ]
    vectors = vectors_by_step(run)
    assert vectors[4][0] == [(0, 0), (1, 5)]
    assert vectors[-1] == ([(0, 0), (3, 3)], [(0, 0), (3, 3)], [(0, 0), (2, 3)])
    assert lines_of(run, TRUNCATION, 3_000)[3:5] == [
        ("epoch_answered", B, A, 0, 0, 3),
        ("truncated", A, 5, 3, 3),
    ]


@pytest.mark.parametrize(
    ("release", "failover", "epoch"),
    [
        ("2.0.1", [(2, 2, [2], 2, 3)], 2),
        ("2.6", [(2, NO_LEADER, [2], 2, 3), (2, 2, [2], 3, 4)], 3),
    ],
)
def test_without_d_the_next_controllers_failover_costs_an_epoch_more_from_2_3_on(
    release: str, failover: list[StateWrite], epoch: int, tmp_path: Path
) -> None:
    """KAFKA-3143: C dies as leader and controller. B takes it out of the ISR, then elects."""
    without_d = {"brokers": 3, "start": {"3": "0s", "1": "500ms", "2": "500ms"}}
    changes = {"release": release, "cluster": as_written(SCENARIO)["cluster"] | without_d}
    run = run_of(shipped(SCENARIO, changes), tmp_path / "run")
    assert state_writes(run) == [
        (3, 1, [1, 2, 3], 0, 0),
        (3, 3, [3], 1, 1),
        (3, 3, [3, 2], 1, 2),
        *failover,
        (2, 2, [2, 1], epoch, 3 + len(failover)),
    ]
    epochs = [(0, 0), (epoch, 3)]
    assert vectors_by_step(run)[-1] == (epochs, epochs, [(0, 0), (1, 3)])
    assert log_of(run, 1) == log_of(run, 2) == [Records(0, 0, 3), Records(epoch, 3, 5)]
