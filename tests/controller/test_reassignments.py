"""Replicas are moved: the controller brings new ones in, and takes the others out (KIP-455).

The first two stories are schedules s1 and s3 of the runs of real brokers, and the writes theirs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from life_stories import (
    QUIET,
    Steps,
    all_writes,
    at,
    batches,
    begins,
    ends,
    fault,
    of_broker,
    once,
    once_in_sync,
    story,
)
from scenario_runs import rows_of, run_of
from tidegauge.engine.layout.step_tables import in_order_of_hashes
from tidegauge.runs.trace_events import Names
from tidegauge.scenario.model.topic_steps import Move
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import writes

ADMIN = "/admin/reassign_partitions"
REASSIGNED = once(reassigned=True)


def moves(to: Mapping[int, list[int]], when: Mapping[str, Any] = QUIET) -> Steps:
    """Partitions get these replicas."""
    partitions = [at(number) | {"replicas": replicas} for number, replicas in to.items()]
    return [dict(when) | {"do": "reassign", "partitions": partitions}]


#: In the end everything is moved, and quiet, and somebody looks.
LOOK: Steps = [REASSIGNED | {"do": "wait"}, QUIET | {"do": "observe"}]


def assignments(run: RunFolder, partition: int) -> list[tuple[list[int | None], ...]]:
    """What was written of a partition's replicas: all, those added, those removed."""
    names = Names(run.manifest)
    return [
        tuple(names.brokers_in(row[each], partition) for each in ("replicas", "adding", "removing"))
        for row in rows_of(run, "partition_replicas", partition=partition)
    ]


def logs(run: RunFolder) -> list[tuple[int, int, int]]:
    """The logs that somebody sees: partition, broker, log end offset."""
    names = Names(run.manifest)
    return sorted(
        (row["partition"], names.broker_id(row["process"]) or 0, row["log_end_offset"])
        for row in run.rows("observed")
    )


def asked(run: RunFolder) -> list[str]:
    """What became of the znode by which it is asked for."""
    return [row.kind.removeprefix("znode_") for _, row in writes(run, ADMIN)]


@pytest.mark.parametrize("release", ["2.4", "2.6", "3.8"])
def test_new_replicas_come_into_the_isr_and_then_the_others_go(
    release: str, tmp_path: Path
) -> None:
    """Schedule s1: a leader that goes is replaced first; another order is no move at all."""
    steps = [
        batches(range(3), 5),
        moves({0: [2, 3], 1: [3, 2, 1], 2: [2]}),
        LOOK,
        batches(range(3), 2),
    ]
    scenario = story([[1, 2], [1, 2, 3], [1]], steps, controller=1, release=release)
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run) == [
        [
            (1, 1, [1, 2], 0, 0),
            (1, 1, [1, 2], 1, 1),
            (1, 1, [1, 2, 3], 1, 2),
            (1, 2, [1, 2, 3], 2, 3),
            (1, 2, [2, 3], 3, 4),
        ],
        [(1, 1, [1, 2, 3], 0, 0), (1, 1, [1, 2, 3], 1, 1)],
        [
            (1, 1, [1], 0, 0),
            (1, 1, [1], 1, 1),
            (1, 1, [1, 2], 1, 2),
            (1, 2, [1, 2], 2, 3),
            (1, 2, [2], 3, 4),
        ],
    ]
    assert assignments(run, 0) == [([2, 3, 1], [3], [1]), ([2, 3], [], [])]
    assert assignments(run, 1) == [([3, 2, 1], [], []), ([3, 2, 1], [], [])]
    assert assignments(run, 2) == [([2, 1], [2], [1]), ([2], [], [])]
    assert asked(run) == ["created", "set", "set", "deleted"]
    assert logs(run) == [(0, 2, 5), (0, 3, 5), (1, 1, 5), (1, 2, 5), (1, 3, 5), (2, 2, 5)]
    assert {row["partition"] for row in of_broker(run, "log_deleted", 1)} == {0, 2}
    answers = [row["error"] for row in run.rows("step_answered")]
    assert answers == [0] * 6


def test_all_replicas_can_be_new(tmp_path: Path) -> None:
    """Schedule s3: those that go leave the ISR one by one, each with an epoch of its own."""
    steps = [batches(range(2), 5), moves({0: [2, 3], 1: [3]}), LOOK]
    run = run_of(story([[1], [1, 2]], steps, controller=1), tmp_path / "run")
    first, second = all_writes(run)
    assert [write[3:] for write in first] == [(0, 0), (1, 1), (1, 2), (1, 3), (2, 4), (3, 5)]
    assert (first[-1][1], sorted(first[-1][2])) == (2, [2, 3])
    assert second == [
        (1, 1, [1, 2], 0, 0),
        (1, 1, [1, 2], 1, 1),
        (1, 1, [1, 2, 3], 1, 2),
        (1, 3, [1, 2, 3], 2, 3),
        (1, 3, [2, 3], 3, 4),
        (1, 3, [3], 4, 5),
    ]
    assert logs(run) == [(0, 2, 5), (0, 3, 5), (1, 3, 5)]


def test_a_leader_that_stays_leads_on_in_another_epoch(tmp_path: Path) -> None:
    """So that it takes the replicas that go for none of its own any more (KafkaController B3)."""
    run = run_of(story([[1, 2]], [batches([0], 5), moves({0: [3, 1]}), LOOK]), tmp_path / "run")
    assert all_writes(run)[0] == [
        (3, 1, [1, 2], 0, 0),
        (3, 1, [1, 2], 1, 1),
        (1, 1, [1, 2, 3], 1, 2),
        (3, 1, [1, 2, 3], 2, 3),
        (3, 1, [1, 3], 3, 4),
    ]
    assert [row["leader_epoch"] for row in run.rows("leader_epoch_raised")] == [1, 2]


def test_what_is_to_be_on_a_dead_broker_waits_for_it(tmp_path: Path) -> None:
    """It begins once more when the broker is back (KafkaController.onBrokerStartup)."""
    steps = [
        batches([0], 5),
        begins("crash"),
        moves({0: [2]}, once(unregistered=[2])),
        ends("crash", {"after": "5s"}),
        LOOK,
    ]
    scenario = story([[1]], steps, faults=[fault("crash", 2)])
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run)[0] == [
        (3, 1, [1], 0, 0),
        (3, 1, [1], 1, 1),
        (3, 1, [1], 2, 2),
        (1, 1, [1, 2], 2, 3),
        (3, 2, [1, 2], 3, 4),
        (3, 2, [2], 4, 5),
    ]
    assert assignments(run, 0) == [([2, 1], [2], [1]), ([2], [], [])]
    assert len(list(run.rows("reassignment_begun"))) == 2
    assert logs(run) == [(0, 2, 5)]


def test_another_controller_goes_on_with_what_it_finds_in_the_assignment(tmp_path: Path) -> None:
    """Source: KafkaController.initializePartitionReassignments@2.4.0."""
    steps = [
        batches([0], 5),
        begins("crash"),
        moves({0: [2]}, once(unregistered=[2])),
        begins("move", {"after": "2s"}),
        ends("crash", {"after": "3s"}),
        LOOK,
    ]
    faults = [fault("crash", 2), {"kind": "controller_move", "name": "move"}]
    run = run_of(story([[1]], steps, faults=faults), tmp_path / "run")
    begun = [row["process"] for row in run.rows("reassignment_begun")]
    done = [row["process"] for row in run.rows("reassignment_done")]
    assert begun == [5, begun[1], begun[1]]
    assert done == begun[1:2]
    assert asked(run) == ["created", "deleted"]
    assert all_writes(run)[0][-1][1:3] == (2, [2])


def test_a_partition_that_nobody_has_ever_led_is_not_moved(tmp_path: Path) -> None:
    """The request is taken back (KafkaController.maybeRemoveFromZkReassignment)."""
    steps: list[Steps] = [
        begins("crash"),
        [once(unregistered=[2]) | {"do": "create_topic", "topic": "t1"}],
        moves({1: [1], 0: [3]}, {"after": "2s"}),
        [REASSIGNED | {"do": "wait"}],
    ]
    run = run_of(story([[1], [2]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    assert asked(run) == ["created", "set", "deleted"]
    assert assignments(run, 1) == []
    assert assignments(run, 0) == [([3, 1], [3], [1]), ([3], [], [])]


def test_one_who_asks_while_replicas_are_moved_asks_for_nothing(tmp_path: Path) -> None:
    """Source: ReassignPartitionsCommand@2.4.0."""
    steps = [batches(range(2), 5), moves({0: [2]}), moves({1: [2]}, {"after": "0s"}), LOOK]
    run = run_of(story([[1], [1]], steps), tmp_path / "run")
    assert asked(run) == ["created", "deleted"]
    assert logs(run) == [(0, 2, 5), (1, 1, 5)]


def test_a_replica_that_comes_back_begins_with_an_empty_log(tmp_path: Path) -> None:
    steps = [
        batches([0], 5),
        moves({0: [1]}),
        moves({0: [1, 2]}, REASSIGNED),
        LOOK,
    ]
    run = run_of(story([[1, 2]], steps), tmp_path / "run")
    assert logs(run) == [(0, 1, 5), (0, 2, 5)]
    assert len(of_broker(run, "log_deleted", 2)) == 1
    last = all_writes(run)[0][-1]
    assert last[1:3] == (1, [1, 2])


def test_a_dead_broker_keeps_the_log_of_a_replica_that_has_gone(tmp_path: Path) -> None:
    """Nobody asks it again (KafkaController.stopRemovedReplicasOfReassignedPartition@2.6.3)."""
    steps = [
        batches([0], 5),
        begins("crash"),
        moves({0: [1, 3]}, once(unregistered=[2])),
        [REASSIGNED | {"do": "end_fault", "fault": "crash"}],
        [once(registered=[1, 2, 3]) | {"do": "wait"}, QUIET | {"do": "observe"}],
    ]
    run = run_of(story([[1, 2]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    assert logs(run) == [(0, 1, 5), (0, 2, 5), (0, 3, 5)]
    assert all_writes(run)[0][-1][1:3] == (1, [1, 3])
    assert [row for row in of_broker(run, "became_follower", 2) if row["leader_epoch"] > 0] == []


def test_nobody_is_rebalanced_while_replicas_are_moved(tmp_path: Path) -> None:
    """Source: KafkaController.checkAndTriggerAutoLeaderRebalance@2.6.3."""
    settings = {"auto.leader.rebalance.enable": True, "leader.imbalance.check.interval.seconds": 1}
    steps = [
        begins("crash"),
        moves({0: [2], 1: [3, 1]}, once(unregistered=[2])),
        [{"after": "10s", "do": "end_fault", "fault": "crash"}],
        [REASSIGNED | {"do": "wait"}],
    ]
    scenario = story([[1], [1, 3]], steps, faults=[fault("crash", 2)], settings=settings)
    run = run_of(scenario, tmp_path / "run")
    moved = rows_of(run, "leader_elected", partition=1)[-1]
    ended = rows_of(run, "reassignment_done", partition=0)[-1]
    assert Names(run.manifest).broker_id(moved["leader"]) == 3
    assert moved["time_us"] > ended["time_us"]


@pytest.mark.parametrize("release", ["0.10.2", "1.1", "2.3"])
def test_before_2_4_the_assignment_does_not_say_what_moves(release: str, tmp_path: Path) -> None:
    """KafkaController.onPartitionReassignment@2.2.0: the writes of states are those of KIP-455."""
    steps = [batches(range(2), 5), moves({0: [2, 3], 1: [3, 2, 1]}), LOOK, batches(range(2), 2)]
    scenario = story([[1, 2], [1, 2, 3]], steps, controller=1, release=release)
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run) == [
        [
            (1, 1, [1, 2], 0, 0),
            (1, 1, [1, 2], 1, 1),
            (1, 1, [1, 2, 3], 1, 2),
            (1, 2, [1, 2, 3], 2, 3),
            (1, 2, [2, 3], 3, 4),
        ],
        [(1, 1, [1, 2, 3], 0, 0), (1, 1, [1, 2, 3], 1, 1)],
    ]
    assert assignments(run, 0) == [([2, 3, 1], [], []), ([2, 3], [], [])]
    assert assignments(run, 1) == [([3, 2, 1], [], [])]
    assert logs(run) == [(0, 2, 5), (0, 3, 5), (1, 1, 5), (1, 2, 5), (1, 3, 5)]
    assert [row["error"] for row in run.rows("step_answered")] == [0] * 4


def test_before_2_4_another_controller_finds_what_moves_in_the_znode(tmp_path: Path) -> None:
    """KafkaController.fetchPartitionReassignmentsInProgress@2.2.0."""
    steps = [
        batches([0], 5),
        begins("crash"),
        moves({0: [2]}, once(unregistered=[2])),
        begins("move", {"after": "2s"}),
        ends("crash", {"after": "3s"}),
        LOOK,
    ]
    faults = [fault("crash", 2), {"kind": "controller_move", "name": "move"}]
    run = run_of(story([[1]], steps, faults=faults, release="2.2"), tmp_path / "run")
    *_, elected = run.rows("controller_elected")
    begun = [row for row in run.rows("reassignment_begun") if row["time_us"] > elected["time_us"]]
    assert begun
    assert {row["process"] for row in begun} == {elected["process"]}
    assert asked(run) == ["created", "deleted"]
    assert logs(run) == [(0, 2, 5)]


def test_before_2_4_who_asks_for_what_is_there_is_refused(tmp_path: Path) -> None:
    """KafkaController.maybeTriggerPartitionReassignment@2.2.0."""
    run = run_of(story([[1, 2]], [moves({0: [1, 2]}), LOOK], release="2.2"), tmp_path / "run")
    assert asked(run) == ["created", "deleted"]
    assert len(all_writes(run)[0]) == 1


def altered(to: Mapping[int, list[int] | None], when: Mapping[str, Any]) -> Steps:
    """What is on its way is replaced; None: it is cancelled."""
    partitions = [
        at(number) | ({} if replicas is None else {"replicas": replicas})
        for number, replicas in to.items()
    ]
    return [dict(when) | {"do": "alter_reassignments", "partitions": partitions}]


def waits_for(broker: int) -> list[Steps]:
    """Partition 0 is to be on a broker that is dead, so it stays on its way."""
    return [begins("crash"), moves({0: [broker]}, once(unregistered=[broker]))]


def test_a_reassignment_that_is_cancelled_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """KafkaController.maybeBuildReassignment@2.6.3: the target is what was there before."""
    steps = [batches([0], 5), *waits_for(2), altered({0: None}, {"after": "2s"}), LOOK]
    run = run_of(story([[1]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    assert assignments(run, 0) == [([2, 1], [2], [1]), ([1], [], []), ([1], [], [])]
    assert asked(run) == ["created", "deleted"]
    assert all_writes(run)[0][-1][1:3] == (1, [1])
    assert logs(run) == [(0, 1, 5)]
    assert len(list(run.rows("reassignment_done"))) == 1


def test_a_cancelled_replica_that_has_come_already_is_deleted(tmp_path: Path) -> None:
    """updateCurrentReassignment@2.6.3: what was added in vain leaves the ISR and is stopped."""
    steps = [
        batches([0], 5),
        begins("crash"),
        moves({0: [2, 3]}, once(unregistered=[2])),
        altered({0: None}, once_in_sync(0, 1, 3)),
        LOOK,
    ]
    run = run_of(story([[1]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    assert assignments(run, 0)[-1] == ([1], [], [])
    assert all_writes(run)[0][-1][1:3] == (1, [1])
    assert len(of_broker(run, "log_deleted", 3)) == 1
    assert logs(run) == [(0, 1, 5)]


def test_a_target_is_replaced_by_another_on_the_way(tmp_path: Path) -> None:
    """The latest reassignment takes precedence (processApiPartitionReassignment@2.6.3)."""
    steps = [batches([0], 5), *waits_for(2), altered({0: [3, 1]}, {"after": "2s"}), LOOK]
    run = run_of(story([[1]], steps, faults=[fault("crash", 2)]), tmp_path / "run")
    assert assignments(run, 0) == [([2, 1], [2], [1]), ([3, 1], [3], []), ([3, 1], [], [])]
    assert asked(run) == ["created", "deleted"]
    assert logs(run) == [(0, 1, 5), (0, 3, 5)]
    writes = all_writes(run)[0]
    assert (writes[-1][1], sorted(writes[-1][2])) == (1, [1, 3])


def test_replicas_are_added_and_removed_without_a_znode(tmp_path: Path) -> None:
    """KIP-455; to cancel where nothing is on its way is NO_REASSIGNMENT_IN_PROGRESS."""
    steps = [
        batches(range(2), 5),
        altered({0: [1, 2, 3], 1: None}, QUIET),
        altered({0: [2]}, once_in_sync(0, 1, 2, 3)),
        LOOK,
    ]
    run = run_of(story([[1], [1]], steps), tmp_path / "run")
    assert asked(run) == []
    assert logs(run) == [(0, 2, 5), (1, 1, 5)]
    assert assignments(run, 1) == []


@pytest.mark.parametrize("release", ["2.4", "2.6", "3.9"])
def test_a_request_to_add_a_replica_on_a_dead_broker_is_refused(
    release: str, tmp_path: Path
) -> None:
    """KafkaController.replicasAreValid@2.4.1, validateReplicas@2.6.3: INVALID_REPLICA_ASSIGNMENT.

    So it does not stay on its way, not even when the broker is back. What the same request asks
    of another partition is done, and a dead replica that is there already may stay.
    """
    steps = [
        batches(range(3), 5),
        begins("crash"),
        altered({0: [1, 2], 1: [3], 2: [2, 1, 3]}, once(unregistered=[2])),
        ends("crash", {"after": "5s"}),
        [QUIET | {"do": "observe"}],
    ]
    scenario = story([[1], [1], [1, 2]], steps, faults=[fault("crash", 2)], release=release)
    run = run_of(scenario, tmp_path / "run")
    assert assignments(run, 0) == []
    assert assignments(run, 1)[-1] == ([3], [], [])
    assert assignments(run, 2)[-1] == ([2, 1, 3], [], [])
    assert [log for log in logs(run) if log[0] == 0] == [(0, 1, 5)]


@pytest.mark.parametrize("release", ["2.4", "2.6", "3.9"])
def test_what_the_znode_asks_for_waits_for_a_dead_broker_and_ends_when_it_is_back(
    release: str, tmp_path: Path
) -> None:
    """KafkaController.processZkPartitionReassignment does not ask who lives; onBrokerStartup."""
    steps = [batches([0], 5), *waits_for(2), ends("crash", {"after": "5s"}), LOOK]
    scenario = story([[1]], steps, faults=[fault("crash", 2)], release=release)
    run = run_of(scenario, tmp_path / "run")
    assert assignments(run, 0) == [([2, 1], [2], [1]), ([2], [], [])]
    assert asked(run) == ["created", "deleted"]
    assert logs(run) == [(0, 2, 5)]


@pytest.mark.parametrize(("release", "missed"), [("2.4", 1), ("2.6", 0)])
def test_replicas_that_are_being_added_are_not_missed(
    release: str, missed: int, tmp_path: Path
) -> None:
    """KIP-352: from 2.5 on a partition that moves counts as ReassigningPartitions alone."""
    steps = [batches([0], 5), *waits_for(2), [{"after": "5s", "do": "wait"}]]
    scenario = story([[1]], steps, faults=[fault("crash", 2)], release=release, duration="20s")
    run = run_of(scenario, tmp_path / "run")
    last = of_broker(run, "broker_sampled", 1)[-1]
    assert (last["leaders"], last["reassigning"]) == (1, 1)
    assert last["under_replicated"] == missed


def test_partitions_are_taken_up_in_the_order_of_scalas_hash_map() -> None:
    """Schedule s1, in which brokers of 2.6.3 and 3.9.0 began with t-2; TopicPartition.hashCode."""
    asked_for = [Move(topic="t", partition=number, replicas=(1,)) for number in range(3)]
    assert [move.partition for move in in_order_of_hashes(asked_for)] == [2, 1, 0]
