"""Log directories that fail (KIP-112): what goes offline, who is told, what a start brings back.

Broker 1 has two log directories. In the first lie its logs of t0 and t2, which broker 1 and
broker 2 lead; in the other those of t1 and t3. Broker 3 is the controller.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import at, batches, begins, ends, fault, of_broker, once, once_in_sync, story
from partition_fates import NO_LEADER, Records, answers, log_of, state_writes
from scenario_runs import rows_of, run_of
from tidegauge.replication.errors import KAFKA_STORAGE_ERROR, NONE
from tidegauge.runs.run import Run
from tidegauge.runs.znode_tree import znode_tree
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN, STOP_KILLED, STOP_LOG_DIRECTORY
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import SECOND, writes

FOUR_TOPICS = [[1, 2, 3], [1, 2, 3], [2, 1, 3], [2, 1, 3]]
SOON: dict[str, Any] = {"after": "100ms"}
FAILS = "log_directory_failure"


def failing(steps: list[Any], *faults: dict[str, Any], **others: Any) -> Any:
    """Five records are everywhere, then the first directory of broker 1 fails."""
    parts = {"cluster": {"log_directories": 2}, "duration": "40s"} | others
    how = parts.pop("how", "failed")
    failure = fault(FAILS, 1, directory=1, how=how)
    steps = [batches(range(4), 5), begins(FAILS), *steps]
    return story(FOUR_TOPICS, steps, faults=[failure, *faults], **parts)


def write(partition: int, when: dict[str, Any], **others: Any) -> list[dict[str, Any]]:
    """One record for a partition."""
    return [when | {"do": "produce"} | at(partition) | others]


def is_led_by(partition: int, broker: int) -> dict[str, Any]:
    return once(leader=at(partition) | {"is": broker})


def offline_at(run: RunFolder, broker: int) -> list[int]:
    """The partitions whose replicas have gone offline on a broker, in this order."""
    return [row["partition"] for row in of_broker(run, "replica_offline", broker)]


def stops(run: RunFolder, broker: int) -> list[int]:
    return [row["stop"] for row in of_broker(run, "broker_stopped", broker)]


@pytest.fixture(scope="module", name="repaired")
def _repaired(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The directory fails, is repaired, and broker 1 is restarted some time later."""
    steps = [
        write(0, SOON),
        write(0, is_led_by(0, 2)),
        write(2, once_in_sync(2, 2, 3)),
        write(1, SOON),
        ends(FAILS, SOON),
        write(0, SOON, to=1),
        begins("restart", SOON),
        write(0, once_in_sync(0, 2, 3, 1)),
        write(2, once_in_sync(2, 2, 3, 1)),
    ]
    scenario = failing(steps, fault("restart", 1, **{"for": "100ms"}))
    return run_of(scenario, tmp_path_factory.mktemp("repaired"))


def test_replicas_in_a_failed_directory_go_offline_and_the_others_stay(repaired: RunFolder) -> None:
    """ReplicaManager.handleLogDirFailure: the broker lives on with its other directory."""
    assert offline_at(repaired, 1) == [0, 2]
    assert offline_at(repaired, 2) == offline_at(repaired, 3) == []
    assert stops(repaired, 1) == [STOP_CLEAN]
    # That of t1 and t3 was never touched before the restart.
    (begun, *_) = of_broker(repaired, "broker_stopped", 1)
    for partition in (1, 3):
        assert len(state_writes(repaired, partition, begun["time_us"] - 3 * SECOND)) == 1


def test_a_write_to_it_is_answered_kafka_storage_error(repaired: RunFolder) -> None:
    """The one that finds out, and any later one: also when it could be written to again."""
    errors = [answer.error for answer in answers(repaired) if answer is not None]
    before, after = [NONE] * 4, [NONE] * 2
    assert errors == [
        *before,
        *(KAFKA_STORAGE_ERROR, NONE, NONE, NONE),
        *(KAFKA_STORAGE_ERROR, *after),
    ]


def test_the_controller_asks_the_broker_elects_others_and_takes_it_out_of_isrs(
    repaired: RunFolder,
) -> None:
    """KafkaController.onBrokerLogDirFailure: the broker's answers say which replicas it is about.

    t0 had its leader there, t2 a follower.
    """
    assert state_writes(repaired, 0)[1] == (3, 2, [2, 3], 1, 1)
    assert state_writes(repaired, 2)[1] == (3, 2, [2, 3], 1, 1)
    (read,) = repaired.rows("log_dir_event_read")
    assert read["broker"] == 0
    found = [(row["partition"], row["replica"]) for row in repaired.rows("replica_found_offline")]
    assert found == [(0, 0), (2, 0)]
    asked = rows_of(repaired, "request_refused", error=int(KAFKA_STORAGE_ERROR))
    assert {row["partition"] for row in asked} == {0, 2}


def test_the_failure_is_told_by_a_child_of_log_dir_event_notification(repaired: RunFolder) -> None:
    """KafkaZkClient.propagateLogDirEvent: it names the broker only, and is deleted when read."""
    path = "/log_dir_event_notification/log_dir_event_0000000000"
    (created,) = [row for name, row in writes(repaired) if name == path]
    tree = {node.path: node.data for node in znode_tree(Run(repaired.path), created["time_us"])}
    assert tree[path] == '{"version":1,"broker":1,"event":1}'
    assert path not in {node.path for node in znode_tree(Run(repaired.path))}


def test_a_restart_after_the_repair_brings_the_replicas_back(repaired: RunFolder) -> None:
    """What lay there is recovered, as nobody has left that directory cleanly."""
    assert state_writes(repaired, 0)[-1].isr == [2, 3, 1]
    (loading,) = of_broker(repaired, "broker_loading", 1)
    assert (loading["clean"], loading["logs"]) == (0, 4)
    for partition, records in ((0, 7), (2, 7)):
        assert log_of(repaired, 1, partition) == log_of(repaired, 2, partition)
        assert log_of(repaired, 1, partition)[-1].end_offset == records


def test_the_last_directory_takes_its_broker_down(tmp_path: Path) -> None:
    """LogManager.handleLogDirFailure halts it: its session is left behind, until it expires.

    Its supervisor starts it again and again, in vain until the repair.
    """
    steps = [write(0, SOON), write(0, is_led_by(0, 2)), ends(FAILS, {"after": "7s"})]
    alone = {"log_directories": 1, "restart_after_exit": "2s"}
    run = run_of(failing(steps, cluster=alone), tmp_path / "alone")
    halted = stops(run, 1)
    assert halted[0] == STOP_LOG_DIRECTORY
    assert halted.count(STOP_LOG_DIRECTORY) > 1
    (halt, *_) = of_broker(run, "broker_stopped", 1)
    (expired, *_) = rows_of(run, "session_expired", broker=0)
    assert halt["time_us"] < expired["time_us"]
    assert state_writes(run, 0)[1].leader == 2
    assert state_writes(run, 0)[-1].isr == [2, 3, 1]


@pytest.mark.parametrize(
    ("release", "protocol", "halts"),
    [("0.11", None, True), ("2.6", "0.11.0", True), ("1.0", None, False), ("2.6", "1.0", False)],
)
def test_before_protocol_1_0_any_failure_halts_the_broker(
    release: str, protocol: str | None, halts: bool, tmp_path: Path
) -> None:
    """KIP-112: others could not be told that a replica alone is offline."""
    scenario = failing(
        [write(0, SOON, timeout="1s"), write(0, is_led_by(0, 2))],
        release=release,
        protocol=protocol,
    )
    run = run_of(scenario, tmp_path / "run")
    assert (STOP_LOG_DIRECTORY in stops(run, 1)) == halts
    assert offline_at(run, 1) == ([] if halts else [0, 2])
    assert state_writes(run, 0)[-1].leader == 2


def test_a_failure_is_noticed_by_a_checkpoint_if_nothing_is_written(tmp_path: Path) -> None:
    """ReplicaManager.checkpointHighWatermarks writes into each directory every five seconds."""
    run = run_of(failing([write(1, is_led_by(0, 2))]), tmp_path / "run")
    (began, *_) = run.rows("fault_began")
    (failed,) = run.rows("log_dir_failed")
    assert 0 < failed["time_us"] - began["time_us"] <= 5 * SECOND
    assert state_writes(run, 0)[1] == (3, 2, [2, 3], 1, 1)


@pytest.mark.parametrize(("how", "loaded"), [("failed", 2), ("full", 4)])
def test_a_start_does_without_a_directory_that_cannot_be_read(
    how: str, loaded: int, tmp_path: Path
) -> None:
    """It loads the rest; of one that is full it finds out at its first write."""
    steps = [
        begins("crash", SOON),
        ends("crash", is_led_by(1, 2)),
        write(1, once_in_sync(1, 2, 3, 1)),
        write(3, once_in_sync(3, 2, 3, 1)),
        write(0, once_in_sync(0, 2, 3, within="10s")),
    ]
    run = run_of(failing(steps, fault("crash", 1), how=how), tmp_path / "run")
    (loading, *_) = of_broker(run, "broker_loading", 1)
    assert stops(run, 1)[0] == STOP_KILLED
    assert loading["logs"] == loaded
    assert sorted(offline_at(run, 1)) == [0, 2]
    assert {row["partition"] for row in run.rows("replica_found_offline")} == {0, 2}
    assert log_of(run, 1, 1) == log_of(run, 2, 1)
    # What lies in the directory is what lay there before.
    assert log_of(run, 1, 0) == [Records(0, 0, 5)]


def test_a_new_log_is_made_in_a_directory_that_works(tmp_path: Path) -> None:
    """LogManager.nextLogDirs: the one with the fewest logs is tried first, and has failed."""
    failure = fault(FAILS, 1, directory=2)
    steps = [
        batches([0], 5),
        begins(FAILS),
        [SOON | {"do": "create_topic", "topic": "t1"}],
        batches([1], 5, once_in_sync(1, 1, 2)),
        [SOON | {"do": "create_topic", "topic": "t2"}],
        batches([2], 5, once_in_sync(2, 2, 1)),
    ]
    topics = [[1, 2], [1, 2], [2, 1]]
    run = run_of(
        story(topics, steps, faults=[failure], cluster={"log_directories": 2}), tmp_path / "run"
    )
    (failed,) = run.rows("log_dir_failed")
    assert failed["directory"] == 1
    assert offline_at(run, 1) == []
    assert log_of(run, 1, 1) == log_of(run, 1, 2) == [Records(0, 0, 5)]


def test_a_new_controller_learns_from_the_answers_what_is_offline(tmp_path: Path) -> None:
    """KafkaController.onControllerFailover deletes what was told to the one before."""
    steps = [begins("crash", SOON), write(0, SOON, timeout="1s"), write(0, is_led_by(0, 2))]
    run = run_of(failing(steps, fault("crash", 3)), tmp_path / "run")
    assert not list(run.rows("log_dir_event_read"))
    assert {row["partition"] for row in run.rows("replica_found_offline")} == {0, 2}
    last = state_writes(run, 0)[-1]
    assert (last.leader, last.isr) == (2, [2])
    assert not any("log_dir_event_0" in node.path for node in znode_tree(Run(run.path)))


def test_a_partition_of_which_all_replicas_are_offline_has_no_leader(tmp_path: Path) -> None:
    """The last member of the ISR stays in it, and leads again when it is back."""
    both = [fault(FAILS, 1, 2)]
    steps = [
        batches([0, 1], 5),
        begins(FAILS),
        write(0, SOON, to=1),
        write(0, is_led_by(0, 2), to=2),
        ends(FAILS, once(leader=at(0) | {"is": NO_LEADER})),
        begins("restart", SOON),
        write(0, is_led_by(0, 2)),
    ]
    faults = [*both, fault("restart", 2, **{"for": "100ms"})]
    cluster = {"log_directories": 2}
    run = run_of(story([[1, 2], [3]], steps, faults=faults, cluster=cluster), tmp_path / "run")
    written = [(each.leader, each.isr) for each in state_writes(run, 0)]
    assert written[:3] == [(1, [1, 2]), (2, [2]), (NO_LEADER, [2])]
    assert (2, [2]) in written[3:]
