"""Topics are deleted: logs first, and what ZooKeeper holds when all of them are (schedule t1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from life_stories import QUIET, Steps, all_writes, batches, begins, ends, fault, once, story
from scenario_runs import rows_of, run_of
from tidegauge.runs.trace_events import Names
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import writes

AFTER: dict[str, str] = {"after": "2s"}
MOVED = {"topic": "t0", "partition": 0, "replicas": [3]}
OBSERVE: Steps = [AFTER | {"do": "observe"}]


def deletes(topic: str, **when: object) -> Steps:
    """Somebody asks for it."""
    return [(when or QUIET) | {"do": "delete_topic", "topic": topic}]


def logs(run: RunFolder, step: int) -> list[tuple[int, int]]:
    """The logs that a step sees: partition, broker."""
    names = Names(run.manifest)
    seen = rows_of(run, "observed", step=step)
    return sorted((row["partition"], names.broker_id(row["process"]) or 0) for row in seen)


def deleted(run: RunFolder) -> list[str]:
    """Paths that were deleted, in this order, but for notifications and ephemeral ones."""
    return [
        path
        for path, row in writes(run)
        if row.kind == "znode_deleted" and path.startswith(("/brokers/topics", "/admin"))
    ]


def all_of(topic: str) -> list[str]:
    """What ZooKeeper holds of a topic with one partition, in the order of its deletion."""
    path = f"/brokers/topics/{topic}"
    return [f"{path}/partitions/0/state", path, f"/admin/delete_topics/{topic}"]


@pytest.mark.parametrize("release", ["2.4", "2.6", "3.8"])
def test_logs_are_deleted_and_then_what_zookeeper_holds(release: str, tmp_path: Path) -> None:
    """Brokers leave the ISR one by one; the last one stays in it."""
    steps = [batches(range(2), 3), deletes("t1"), OBSERVE]
    run = run_of(story([[1, 2, 3], [2, 1]], steps, release=release), tmp_path / "run")
    kept, gone = all_writes(run)
    assert kept == [(3, 1, [1, 2, 3], 0, 0)]
    assert gone == [(3, 2, [2, 1], 0, 0), (3, 2, [2], 1, 1), (3, -1, [2], 2, 2)]
    assert deleted(run) == all_of("t1")
    assert logs(run, 3) == [(0, 1), (0, 2), (0, 3)]
    (end,) = run.rows("topic_deleted")
    last_log = max(row["time_us"] for row in run.rows("log_deleted"))
    first_znode = min(row["time_us"] for row in run.rows("znode_deleted"))
    assert last_log < first_znode < end["time_us"]


def test_znodes_stay_until_a_dead_broker_has_deleted_its_log_too(tmp_path: Path) -> None:
    """Schedule t1, and the writes of its brokers; the others delete theirs at once."""
    steps = [
        batches([0], 3),
        begins("crash"),
        deletes("t0", **once(unregistered=[3])),
        OBSERVE,
        ends("crash", {"after": "1s"}),
        [once(registered=[1, 2, 3]) | {"do": "wait"}],
        OBSERVE,
    ]
    scenario = story([[1, 2, 3]], steps, controller=1, faults=[fault("crash", 3)])
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run)[0] == [
        (1, 1, [1, 2, 3], 0, 0),
        (1, 1, [1, 2], 1, 1),
        (1, -1, [2], 2, 2),
        (1, -1, [2], 3, 3),
    ]
    assert logs(run, 3) == [(0, 3)]
    assert logs(run, 6) == []
    (back,) = rows_of(run, "broker_registered", broker=2)[-1:]
    assert deleted(run) == all_of("t0")
    assert all(
        row["time_us"] > back["time_us"]
        for path, row in writes(run, "/brokers/topics/t0")
        if row.kind == "znode_deleted"
    )


def test_a_broker_that_dies_before_it_has_deleted_is_waited_for(tmp_path: Path) -> None:
    """Its answer does not come (TopicDeletionManager.failReplicaDeletion)."""
    steps = [
        batches([0], 3),
        begins("pause"),
        deletes("t0", after="100ms"),
        [{"after": "100ms", "do": "begin_fault", "fault": "crash"}],
        [{"after": "10s", "do": "observe"}],
        ends("crash", {"after": "1s"}),
        [once(registered=[1, 2, 3]) | {"do": "wait"}],
        OBSERVE,
    ]
    faults = [fault("pause", 2, **{"for": "200ms"}), fault("crash", 2)]
    run = run_of(story([[1, 2]], steps, faults=faults), tmp_path / "run")
    assert logs(run, 4) == [(0, 2)]
    assert logs(run, 7) == []
    assert deleted(run) == all_of("t0")


def test_another_controller_goes_on(tmp_path: Path) -> None:
    """It elects nobody meanwhile (KafkaController.fetchTopicDeletionsInProgress@2.6.3)."""
    steps = [
        batches([0], 3),
        begins("crash"),
        deletes("t0", **once(unregistered=[2])),
        begins("move", AFTER),
        ends("crash", AFTER),
        [once(registered=[1, 2, 3]) | {"do": "wait"}],
        OBSERVE,
    ]
    faults = [fault("crash", 2), {"kind": "controller_move", "name": "move"}]
    run = run_of(story([[1, 2]], steps, faults=faults), tmp_path / "run")
    assert logs(run, 6) == []
    assert deleted(run) == all_of("t0")
    # Who was stopped before is online again for it, and so is stopped and taken out once more.
    assert [write[1:3] for write in all_writes(run)[0]] == [
        (1, [1, 2]),
        (1, [1]),
        (-1, [1]),
        (-1, [1]),
    ]


def test_a_topic_whose_replicas_are_moved_is_deleted_when_they_are(tmp_path: Path) -> None:
    """Source: TopicDeletionManager.markTopicIneligibleForDeletion@2.6.3."""
    move = {"topic": "t0", "partition": 0, "replicas": [2]}
    steps = [
        batches([0], 3),
        begins("pause"),
        [{"after": "100ms", "do": "reassign", "partitions": [move]}],
        deletes("t0", after="1s"),
        [{"after": "1s", "do": "observe"}],
        [{"after": "5s", "do": "observe"}],
    ]
    faults = [fault("pause", 2, **{"for": "3s"})]
    run = run_of(story([[1]], steps, faults=faults), tmp_path / "run")
    assert logs(run, 4) == [(0, 1)]
    assert logs(run, 5) == []
    (done,) = run.rows("reassignment_done")
    (begun,) = run.rows("topic_deletion_begun")
    assert done["time_us"] <= begun["time_us"]
    assert deleted(run) == ["/admin/reassign_partitions", *all_of("t0")]


def test_a_topic_that_is_created_again_begins_anew(tmp_path: Path) -> None:
    """Epoch 0, an empty log, and the replicas that it was first created with."""
    steps: list[Steps] = [
        batches([0], 3),
        [QUIET | {"do": "reassign", "partitions": [MOVED]}],
        deletes("t0", **once(reassigned=True)),
        [{"after": "3s", "do": "create_topic", "topic": "t0"}],
        batches([0], 2, {"after": "3s"}),
        OBSERVE,
    ]
    run = run_of(story([[1, 2]], steps), tmp_path / "run")
    (writes_of_state,) = all_writes(run)
    assert writes_of_state[-1] == (3, 1, [1, 2], 0, 0)
    assert logs(run, 5) == [(0, 1), (0, 2)]
    assert {row["log_end_offset"] for row in run.rows("observed")} == {2}
    assert [row["error"] for row in run.rows("step_answered")] == [0, 0]
