"""AlterPartition at the controller: what it lets pass, what it writes, whom it tells.

KIP-497. Brokers 1, 2 and 3 are the processes 0, 1 and 2; broker 3 is the first controller.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_stories import is_notification, members, process_named
from life_stories import all_writes, batches, begins, ends, fault, once_in_sync, story
from replication_stories import leader_and_isr
from scenario_runs import rows_of, run_of
from small_clusters import BROKER_3, cluster_of, log_end_offset, topic_of
from tidegauge.controller.partitions.leader_and_isr import alter_partition_error
from tidegauge.replication.errors import (
    FENCED_LEADER_EPOCH,
    INELIGIBLE_REPLICA,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_CONTROLLER,
    OPERATION_NOT_ATTEMPTED,
    UNKNOWN_SERVER_ERROR,
)
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.messages.controller_requests import UpdateMetadataRequest
from tidegauge.simulation.trace_rows.codes import ALTER_PARTITION, ISR_CHANGE
from tidegauge.traces.run_folder import RunFolder

MS, SECOND = 1_000, 1_000_000


# What passes.


@pytest.mark.parametrize(
    ("isr", "leader_epoch", "partition_epoch", "from_3_3", "before"),
    [
        ([0, 1], 5, 9, NONE, NONE),
        # The leader knows something of a later controller.
        ([0, 1], 5, 10, NOT_CONTROLLER, NONE),
        ([0, 1], 6, 9, NOT_CONTROLLER, NONE),
        # Another leader has been elected; nothing else counts then.
        ([0, 1], 4, 9, FENCED_LEADER_EPOCH, FENCED_LEADER_EPOCH),
        ([0, 1, 2], 4, 8, FENCED_LEADER_EPOCH, FENCED_LEADER_EPOCH),
        # What is there already may be asked for in an older version: the answer was lost.
        ([0, 1, 2], 5, 8, NONE, NONE),
        ([0, 1], 5, 8, INVALID_UPDATE_VERSION, NONE),
        # Replica 3 is not alive.
        ([0, 1, 2, 3], 5, 9, INELIGIBLE_REPLICA, NONE),
        ([0, 3], 5, 8, INVALID_UPDATE_VERSION, NONE),
    ],
)
def test_what_the_controller_lets_pass(
    isr: list[int], leader_epoch: int, partition_epoch: int, from_3_3: int, before: int
) -> None:
    """KafkaController.tryProcessAlterPartition@3.3.0; before, ZooKeeper compares the versions."""
    current = leader_and_isr(0, [0, 1, 2], leader_epoch=5, partition_epoch=9)
    proposed = leader_and_isr(0, isr, leader_epoch=leader_epoch, partition_epoch=partition_epoch)
    live = pack([0, 1, 2])
    for release, expected in (
        ("3.9", from_3_3),
        ("3.3", from_3_3),
        ("3.2", before),
        ("2.7", before),
    ):
        error = alter_partition_error(rules_of(release), current, proposed, live)
        assert error == expected, release


# What is written, and who is told.


def returns(partitions: int, *others: Any, **parts: Any) -> Scenario:
    """Broker 2 dies and returns to partitions that broker 1 leads."""
    steps = [batches(range(partitions), 5), begins("crash"), ends("crash", once_in_sync(0, 1))]
    return story(
        [[1, 2]] * partitions,
        steps,
        **{"faults": [fault("crash", 2), *others], "release": "3.9", "trace": "all"} | parts,
    )


def altering_events(run: RunFolder) -> list[tuple[int, int]]:
    """From when to when controllers were busy with AlterPartition."""
    begun = rows_of(run, "controller_event", event_kind=int(ALTER_PARTITION))
    done = rows_of(run, "controller_event_done", event_kind=int(ALTER_PARTITION))
    return [(begin["time_us"], end["time_us"]) for begin, end in zip(begun, done, strict=True)]


def test_all_partitions_of_a_request_are_written_in_one_go(tmp_path: Path) -> None:
    """One event, in the queue with all others; the writes are sent one behind the other."""
    run = run_of(returns(4), tmp_path / "run")
    _, (begin_us, end_us) = altering_events(run)
    written = [
        row["time_us"] for row in run.rows("znode_set") if begin_us < row["time_us"] < end_us
    ]
    assert len(written) == 3
    answers = [
        row["time_us"]
        for row in rows_of(run, "message", process=process_named(run, "controller of broker 3"))
        if begin_us < row["time_us"] < end_us
    ]
    # The last has been written before the first answer was there.
    assert max(written) < min(answers)
    altered = [row["time_us"] for row in run.rows("isr_altered")][1:]
    assert set(altered) == {end_us}


def test_every_broker_is_told_of_the_partitions_that_were_asked_for(tmp_path: Path) -> None:
    """UpdateMetadata to all that are alive, and no LeaderAndIsr: nobody's role has changed."""
    run = run_of(returns(1), tmp_path / "run")
    ((_, end_us),) = altering_events(run)
    told = [
        row
        for row in rows_of(
            run, "message", from_process=process_named(run, "controller of broker 3")
        )
        if end_us < row["time_us"] < end_us + 20 * MS and row["process"] < 3
    ]
    metadata = [row for row in told if row["message_kind"] == int(UpdateMetadataRequest.KIND)]
    assert sorted(row["process"] for row in metadata) == [0, 1, 2]
    # And the leader is answered.
    assert [row["process"] for row in told if row not in metadata] == [0]


@pytest.mark.parametrize(
    ("release", "protocol", "notified"),
    [("2.6", None, True), ("2.7", None, False), ("3.9", None, False), ("3.9", "2.6", True)],
)
def test_the_controller_knows_what_it_has_written_and_nobody_notifies_it(
    release: str, protocol: str | None, notified: bool, tmp_path: Path
) -> None:
    """The same changes by protocol 2.7-IV2 without a single isr_change_notification."""
    run = run_of(returns(4, release=release, protocol=protocol), tmp_path / "run")
    assert [[write[2] for write in writes] for writes in all_writes(run)] == [
        [[1, 2], [1], [1, 2]]
    ] * 4
    created = [row for row in run.rows("znode_created") if is_notification(run, row)]
    handled = rows_of(run, "controller_event", event_kind=int(ISR_CHANGE))
    asked = rows_of(run, "controller_event", event_kind=int(ALTER_PARTITION))
    assert (bool(created), bool(handled), bool(asked)) == (notified, notified, not notified)


def test_the_state_has_the_controller_epoch_of_who_writes_it(tmp_path: Path) -> None:
    """Schedule c3 of 3.9.0: leader and leader epoch are those of the controller before."""
    steps = [
        batches([0], 5),
        begins("crash"),
        begins("move", once_in_sync(0, 1)),
        ends("crash", {"after": "1s"}),
    ]
    move = {"kind": "controller_move", "name": "move"}
    run = run_of(
        story([[1, 2]], steps, faults=[fault("crash", 2), move], release="3.9"), tmp_path / "run"
    )
    states = [row for row in run.rows("znode_set") if row["leader"] == 0]
    epochs = [(row["leader_epoch"], row["controller_epoch"]) for row in states]
    assert epochs == [(1, 1), (1, 2)]
    assert [write[2] for write in all_writes(run)[0]] == [[1, 2], [1], [1, 2]]


# Controllers that change meanwhile.


def test_a_write_whose_answer_was_lost_is_a_success_for_the_next_controller(
    tmp_path: Path,
) -> None:
    """The first one dies when ZooKeeper has just written; the request is sent once more."""
    undisturbed = run_of(returns(1), tmp_path / "undisturbed")
    written_us = max(row["time_us"] for row in undisturbed.rows("znode_set") if row["leader"] == 0)
    dies = {"kind": "crash", "brokers": [3], "at": f"{written_us + 10}us"}
    run = run_of(returns(1, dies), tmp_path / "run")
    assert [write[1:] for write in all_writes(run)[0]] == [
        (1, [1, 2], 0, 0),
        (1, [1], 1, 1),
        (1, [1, 2], 1, 2),
    ]
    (altered,) = run.rows("isr_altered")
    assert altered["process"] != process_named(run, "controller of broker 3")
    assert (altered["error"], altered["version"]) == (NONE, 2)
    (expanded,) = run.rows("isr_expanded")
    assert expanded["version"] == 2
    assert altered["time_us"] < expanded["time_us"]


def moves_while_a_follower_is_silent(first_is_away: str, *moves: str) -> Scenario:
    """Broker 4 becomes controller after 3, and what it sends to leader 1 takes 8 s.

    Meanwhile the leader wants to do without follower 2. ``first_is_away``: how long what passes
    between the first controller, 3, and ZooKeeper takes.
    """
    far = {
        "kind": "slow_link", "name": "far", "delay": "30ms",
        "between": [[1, "controller:1"], ["zookeeper"]],
    }  # fmt: skip
    away = {
        "kind": "slow_link", "name": "away", "delay": first_is_away,
        "between": [["controller:3"], ["zookeeper"]],
    }  # fmt: skip
    slow = {
        "kind": "slow_link", "name": "slow", "one_way": True, "delay": "8s",
        "between": [["controller:4"], ["broker:1"]],
    }  # fmt: skip
    at_once = {"after": "0s"}
    steps = [
        batches([0], 5),
        begins("far"),
        *(begins(name, at_once) for name in ("away", "slow", "pause")),
        batches([0], 1, {"after": "100ms"}, acks=1),
        *(begins(after, {"after": after}) for after in moves),
    ]
    return story(
        [[1, 2]],
        steps,
        cluster={"brokers": 4, "start": {3: "0s", 1: "500ms", 2: "500ms", 4: "500ms"}},
        settings={"zookeeper.session.timeout.ms": 60_000},
        faults=[
            *(fault("pause", 2), far, away, slow),
            *({"kind": "controller_move", "name": after} for after in moves),
        ],
        release="3.9",
    )


def test_who_is_not_controller_any_more_says_so_until_the_leader_knows_the_next(
    tmp_path: Path,
) -> None:
    """NOT_CONTROLLER, and the same request 50 ms later, to whom the last UpdateMetadata named."""
    run = run_of(moves_while_a_follower_is_silent("30ms", "3s"), tmp_path / "run")
    former, now = (process_named(run, f"controller of broker {broker}") for broker in (3, 4))
    failed = list(run.rows("alter_partition_failed"))
    assert len(failed) > 10
    assert {(row["from_process"], row["error"]) for row in failed} == {(former, NOT_CONTROLLER)}
    *refused, taken = run.rows("alter_partition_sent")
    assert {row["to_process"] for row in refused} == {former}
    assert taken["to_process"] == now
    again = [row["time_us"] for row in [*refused[1:], taken]]
    pauses = [sent - row["time_us"] for sent, row in zip(again, failed, strict=True)]
    assert set(pauses) == {50 * MS}
    assert all_writes(run)[0][1:] == [(4, 1, [1], 0, 1)]


def test_who_is_not_controller_says_so_though_its_event_thread_waits_for_zookeeper(
    tmp_path: Path,
) -> None:
    """KafkaApis.handleAlterPartitionRequest asks isActive before anything goes into the queue.

    Broker 3 has long resigned when 4 is deposed, too, and waits 2 s to be told who is next.
    """
    run = run_of(moves_while_a_follower_is_silent("1s", "1s", "3500ms"), tmp_path / "run")
    resigned, *_ = run.rows("controller_resigned")
    failed = list(run.rows("alter_partition_failed"))
    sent = list(run.rows("alter_partition_sent"))[: len(failed)]
    assert resigned["time_us"] < sent[0]["time_us"]
    assert len(failed) > 20
    for request, answer in zip(sent, failed, strict=True):
        assert answer["error"] == NOT_CONTROLLER
        assert answer["time_us"] - request["time_us"] < 10 * MS


def test_a_controller_whose_session_is_gone_confirms_no_isr_that_it_has_not_written(
    tmp_path: Path,
) -> None:
    """KafkaController.processAlterPartition: each write fails, and so does each partition.

    ZooKeeper has lost the sessions of leader 3 and then of controller 1, and broker 2 leads in
    epoch 1. The former leader has a record of its own, and asks the former controller for an ISR
    without 2. That one has begun with the request, but has written nothing, when it learns that it
    has no session any more.
    """
    cut = {"kind": "cut_link", "between": [["broker:3", "controller:3"], ["zookeeper"]]}
    pause = fault("pause", 1, at="2100ms") | {"for": "1200ms"}
    scenario = cluster_of(
        duration="4s",
        release="3.9",
        cluster={
            "brokers": 3,
            "start": {1: "0s", 2: "200ms", 3: "200ms"},
            "settings": {"replica.lag.time.max.ms": 1000, "zookeeper.session.timeout.ms": 600},
        },
        zookeeper={"tick_ms": 120},
        topics=[topic_of([3, 2])],
        costs={"controller_event": "500ms"},
        steps=[{"at": "2500ms", "do": "produce", "topic": "story", "partition": 0, "to": 3}],
        faults=[cut | {"at": "1s"}, pause],
    )
    run = run_of(scenario, tmp_path / "run")
    (asked,) = rows_of(run, "controller_event", event_kind=int(ALTER_PARTITION))
    (resigned,) = run.rows("controller_resigned")
    (refused,) = run.rows("isr_update_failed")
    assert asked["process"] == resigned["process"]
    assert asked["time_us"] < resigned["time_us"] < refused["time_us"]
    assert refused["error"] == UNKNOWN_SERVER_ERROR
    # So the record is not acknowledged.
    assert log_end_offset(run, BROKER_3) == 1
    assert not list(run.rows("isr_shrunk"))
    assert not list(run.rows("acknowledged"))


# KIP-841.


def stops_before_it_has_caught_up(release: str, **parts: Any) -> Scenario:
    """Broker 2, long out of the ISR, has begun to stop cleanly when its fetch reaches leader 1.

    Its messages to the leader take 300 ms, those of the controller to it 3 s; so it goes on
    fetching. As it is no member, the controller writes nothing, and the leader epoch stays.
    """
    to_leader = {
        "kind": "slow_link", "name": "to leader", "one_way": True, "delay": "300ms",
        "between": [[2], [1]],
    }  # fmt: skip
    from_controller = {
        "kind": "slow_link", "name": "from controller", "one_way": True, "delay": "3s",
        "between": [["controller:3"], ["broker:2"]],
    }  # fmt: skip
    steps = [
        batches([0], 5),
        begins("pause"),
        batches([0], 1, {"after": "1s"}, acks=1),
        begins("to leader", once_in_sync(0, 1)),
        begins("from controller", {"after": "0s"}),
        ends("pause", {"after": "100ms"}),
        begins("restart", {"after": "0s"}),
    ]
    return story(
        [[1, 2]],
        steps,
        faults=[fault("pause", 2), to_leader, from_controller, fault("restart", 2)],
        settings={"zookeeper.session.timeout.ms": 60_000},
        release=release,
        **parts,
    )


def test_who_is_about_to_stop_does_not_come_back_into_the_isr(tmp_path: Path) -> None:
    """INELIGIBLE_REPLICA at each of its fetches; the leader goes back to what is committed."""
    run = run_of(stops_before_it_has_caught_up("3.9"), tmp_path / "run")
    assert [(write[2], write[3]) for write in all_writes(run)[0]] == [([1, 2], 0), ([1], 0)]
    refused = [row["error"] for row in run.rows("isr_update_failed")]
    assert len(refused) > 1
    assert set(refused) == {int(INELIGIBLE_REPLICA)}
    assert not list(run.rows("isr_expanded"))


def test_a_leader_of_3_2_is_told_what_it_knows(tmp_path: Path) -> None:
    """OPERATION_NOT_ATTEMPTED, for up to version 1 of AlterPartition has no INELIGIBLE_REPLICA.

    The leader goes back, too; another error would make it ask again at once, and on and on.
    """
    older = {"broker_releases": {1: {"release": "3.2"}}}
    run = run_of(
        stops_before_it_has_caught_up("3.9", protocol="3.2", cluster=older), tmp_path / "run"
    )
    assert [write[2] for write in all_writes(run)[0]] == [[1, 2], [1]]
    refused = [row["error"] for row in run.rows("isr_update_failed")]
    assert 1 < len(refused) < 100
    assert set(refused) == {int(OPERATION_NOT_ATTEMPTED)}


@pytest.mark.parametrize("release", ["3.2", "2.8", "2.7", "2.6"])
def test_before_3_3_it_comes_back_and_is_taken_out_again(release: str, tmp_path: Path) -> None:
    """At the end of its session, by the controller: another leader epoch."""
    run = run_of(stops_before_it_has_caught_up(release), tmp_path / "run")
    assert [(write[2], write[3]) for write in all_writes(run)[0]] == [
        ([1, 2], 0),
        ([1], 0),
        ([1, 2], 0),
        ([1], 1),
    ]
    (expanded,) = run.rows("isr_expanded")
    assert members(run, expanded) == [1, 2]


# A race with the end of a session.


@pytest.mark.parametrize("release", ["2.6", "3.9"])
@pytest.mark.parametrize(
    ("session_ms", "shrunk_first"), [(4_000, False), (6_000, True), (12_000, True)]
)
def test_a_survivor_takes_a_dead_follower_out_if_the_session_ends_later(
    session_ms: int, shrunk_first: bool, release: str, tmp_path: Path
) -> None:
    """The leader of partition 0 has new records, that of partition 1 has none, and the other dies.

    isr-expiration takes a follower out that lacks records for longer than 4 s (and up to half as
    much again): Partition.maybeShrinkIsr, in the same leader epoch, written by the controller with
    AlterPartition. When the session ends the controller finds nothing left to do there; where the
    follower lacks nothing, or the session ends first, it removes it and raises the epoch
    (ReplicaStateMachine.doRemoveReplicasFromIsr).
    """
    steps = [batches(range(2), 5), begins("crash"), batches([0], 3, {"after": "100ms"}, acks=1)]
    settings = {"zookeeper.session.timeout.ms": session_ms, "replica.lag.time.max.ms": 4_000}
    scenario = story(
        [[1, 2, 3], [1, 2, 3]],
        steps,
        release=release,
        settings=settings,
        faults=[fault("crash", 2)],
    )
    run = run_of(scenario, tmp_path / "run")
    (expired,) = run.rows("session_expired")
    created = (3, 1, [1, 2, 3], 0, 0)
    removed = (3, 1, [1, 3], 1, 1)
    shrunk = (1 if release == "2.6" else 3, 1, [1, 3], 0, 1)
    assert all_writes(run) == [[created, shrunk if shrunk_first else removed], [created, removed]]
    assert [row["time_us"] < expired["time_us"] for row in run.rows("isr_shrunk")] == (
        [True] if shrunk_first else []
    )
