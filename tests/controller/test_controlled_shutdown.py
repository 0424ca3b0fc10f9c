"""Controlled shutdown: a broker that stops cleanly hands everything over before it goes.

The schedules c1 to c4 are those of the runs of real brokers, and the writes theirs; brokers 1,
2 and 3 are the processes 0, 1 and 2.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import (
    all_writes,
    batches,
    begins,
    ends,
    fault,
    of_broker,
    once,
    once_in_sync,
    story,
    writes_between,
)
from partition_fates import NO_LEADER, acknowledged, lost
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import RECONNECT_US

ALL = -1
SECOND = 1_000_000

#: What broker 1 leads is led by others afterwards, what it follows has an ISR without it.
C1_REPLICAS = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2]]
NETWORK_EXCEPTION = errors.CODES["NETWORK_EXCEPTION"]


def stop_of(broker: int, partitions: int, **parts: Any) -> Any:
    """Records, a clean stop, records while the broker is away, and its return."""
    away = once(unregistered=[broker])
    return [
        batches(range(partitions), 5),
        begins("restart"),
        batches(range(partitions), 3, away),
        ends("restart"),
        *parts.values(),
    ]


def c1(controller: int, **parts: Any) -> Any:
    """Broker 1 stops and returns."""
    steps = stop_of(1, len(C1_REPLICAS))
    return story(C1_REPLICAS, steps, controller=controller, faults=[fault("restart", 1)], **parts)


def c1_writes(controller: int) -> list[list[tuple[Any, ...]]]:
    """Created; moved by the controller, one epoch on; joined again by the leader's hand."""
    return [
        [(controller, 1, [1, 2, 3], 0, 0), (controller, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)],
        [(controller, 2, [2, 3, 1], 0, 0), (controller, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)],
        [(controller, 3, [3, 1, 2], 0, 0), (controller, 3, [3, 2], 1, 1), (3, 3, [3, 2, 1], 1, 2)],
        [(controller, 1, [1, 3, 2], 0, 0), (controller, 3, [3, 2], 1, 1), (3, 3, [3, 2, 1], 1, 2)],
    ]


def attempts(run: RunFolder) -> list[tuple[str, int, int, int]]:
    """How often the controller was asked: whom, the attempt, the error, what is still led."""
    names = {each["process"]: each["name"] for each in run.manifest["processes"]}
    asked = run.rows("controlled_shutdown_sent")
    answered = run.rows("controlled_shutdown_answered")
    return [
        (names[ask["to_process"]], ask["attempt"], answer["error"], answer["remaining"])
        for ask, answer in zip(asked, answered, strict=True)
    ]


def back_offs_us(run: RunFolder) -> list[int]:
    """How long after each answer the controller was asked again."""
    asked = [row["time_us"] for row in run.rows("controlled_shutdown_sent")]
    answered = [row["time_us"] for row in run.rows("controlled_shutdown_answered")]
    return [again - before for before, again in zip(answered, asked[1:], strict=False)]


def assert_everything_is_moved_before_the_session_closes(run: RunFolder, broker: int) -> None:
    """The close takes the registration, and the controller finds nothing left to be done."""
    (answered,) = run.rows("controlled_shutdown_answered")
    (closed,) = run.rows("session_closed")
    back = rows_of(run, "session_opened", broker=closed["broker"])[-1]
    moved = [row for row in run.all_rows() if row.kind in {"leader_elected", "removed_from_isr"}]
    begin_us = of_broker(run, "controlled_shutdown_sent", broker)[0]["time_us"]
    assert {begin_us < row["time_us"] < answered["time_us"] for row in moved[-1:]} == {True}
    assert not list(run.rows("session_expired"))
    written = writes_between(run, answered["time_us"], back["time_us"])
    assert [path for path, _ in written if "/partitions/" in path] == []
    assert written[0][0] == f"/brokers/ids/{broker}"


@pytest.mark.parametrize("release", ["2.6", "2.4"])
def test_what_a_stopping_broker_leads_and_follows_is_moved_before_it_goes(
    release: str, tmp_path: Path
) -> None:
    """Schedule c1: one write for each partition, leader and ISR together, one epoch on."""
    run = run_of(c1(3, release=release), tmp_path / "run")
    assert all_writes(run) == c1_writes(3)
    assert attempts(run) == [("controller of broker 3", 1, errors.NONE, 0)]
    assert_everything_is_moved_before_the_session_closes(run, 1)
    for partition, leader in enumerate([2, 2, 3, 3]):
        promised = acknowledged(run, ALL, partition)
        assert [(each.start_offset, each.end_offset) for each in promised] == [(0, 5), (5, 8)]
        assert lost(run, ALL, leader, partition) == []


def test_before_1_1_leaders_are_moved_alike(tmp_path: Path) -> None:
    """Schedule c1 in 0.10.2, except for partition 2.

    There real brokers add broker 1 to the ISR once more, for it fetches on while its fetcher
    of another leader is shut down; that is not simulated.
    """
    run = run_of(c1(3, release="0.10.2"), tmp_path / "run")
    like_real = [0, 1, 3]
    writes = all_writes(run)
    assert [writes[each] for each in like_real] == [c1_writes(3)[each] for each in like_real]
    assert_everything_is_moved_before_the_session_closes(run, 1)


def test_a_follower_is_taken_out_of_every_isr(tmp_path: Path) -> None:
    """Schedule c2: the leaders stay, and have the next epoch."""
    steps = stop_of(3, 2)
    run = run_of(
        story([[1, 2, 3], [2, 1, 3]], steps, controller=1, faults=[fault("restart", 3)]),
        tmp_path / "run",
    )
    assert all_writes(run) == [
        [(1, 1, [1, 2, 3], 0, 0), (1, 1, [1, 2], 1, 1), (1, 1, [1, 2, 3], 1, 2)],
        [(1, 2, [2, 1, 3], 0, 0), (1, 2, [2, 1], 1, 1), (2, 2, [2, 1, 3], 1, 2)],
    ]
    assert not any(row["leader_epoch"] for row in run.rows("leader_elected"))
    assert_everything_is_moved_before_the_session_closes(run, 3)


@pytest.mark.parametrize("release", ["2.6", "0.10.2"])
def test_the_controller_moves_its_own_leaders_and_the_next_one_writes_no_state(
    release: str, tmp_path: Path
) -> None:
    """Schedule c3: the next controller takes epoch 2 as soon as the session is closed."""
    run = run_of(c1(1, release=release), tmp_path / "run")
    assert all_writes(run) == c1_writes(1)
    assert attempts(run) == [("controller of broker 1", 1, errors.NONE, 0)]
    assert_everything_is_moved_before_the_session_closes(run, 1)
    (closed,) = run.rows("session_closed")
    _, elected = run.rows("controller_elected")
    assert elected["controller_epoch"] == 2
    assert 0 < elected["time_us"] - closed["time_us"] < 20_000


# What cannot be moved.


def c4(settings: dict[str, int] | None = None, release: str = "2.6") -> Any:
    """Broker 1 is the only member of an ISR, broker 2 being dead, and stops."""
    steps = [
        batches(range(2), 5),
        begins("crash"),
        batches(range(2), 3, once_in_sync(1, 1, 3)),
        begins("restart"),
        ends("crash", once(unregistered=[1])),
        ends("restart", once_in_sync(1, 3, 2)),
    ]
    faults = [fault("restart", 1), fault("crash", 2)]
    return story([[1, 2], [1, 2, 3]], steps, faults=faults, settings=settings, release=release)


def test_a_broker_that_cannot_hand_over_asks_again_and_leaves_anyway(tmp_path: Path) -> None:
    """Schedule c4: three attempts, a second apart; when the session closes nobody leads."""
    run = run_of(c4(), tmp_path / "run")
    assert all_writes(run) == [
        [
            (3, 1, [1, 2], 0, 0),
            (3, 1, [1], 1, 1),
            (3, NO_LEADER, [1], 2, 2),
            (3, 1, [1], 3, 3),
            (1, 1, [1, 2], 3, 4),
        ],
        [
            (3, 1, [1, 2, 3], 0, 0),
            (3, 1, [1, 3], 1, 1),
            (3, 3, [3], 2, 2),
            (3, 3, [3, 2], 2, 3),
            (3, 3, [3, 2, 1], 2, 4),
        ],
    ]
    controller = "controller of broker 3"
    assert attempts(run) == [(controller, attempt, errors.NONE, 1) for attempt in (1, 2, 3)]
    assert back_offs_us(run) == [pytest.approx(SECOND, abs=5_000)] * 2
    *_, third = (row["time_us"] for row in run.rows("controlled_shutdown_sent"))
    (closed,) = run.rows("session_closed")
    (offline,) = rows_of(run, "removed_from_isr", leader=NO_LEADER)
    assert third + SECOND < closed["time_us"] < offline["time_us"] < closed["time_us"] + 60_000
    assert lost(run, ALL, leader=1) == []


@pytest.mark.parametrize(
    ("release", "backs_off", "stop_us"),
    [("3.0", True, 1_700_000), ("3.1", False, 1_700_000), ("3.2", False, 700_000)],
)
def test_from_3_1_on_nobody_waits_behind_the_last_attempt(
    release: str, backs_off: bool, stop_us: int, tmp_path: Path
) -> None:
    """KafkaServer.controlledShutdown@3.1.0 sleeps only if another attempt follows.

    What is behind the attempts is shorter from 3.2 on: ClientQuotaManager.shutdown no longer
    waits until the poll of its ThrottledChannelReaper has taken its second.
    """
    run = run_of(c4(release=release), tmp_path / "run")
    assert [attempt for _, attempt, _, _ in attempts(run)] == [1, 2, 3]
    assert back_offs_us(run) == [pytest.approx(SECOND, abs=5_000)] * 2
    *_, last = (row["time_us"] for row in run.rows("controlled_shutdown_answered"))
    stopped = next(row for row in run.rows("broker_stopped") if row["stop"] == STOP_CLEAN)
    behind_us = stop_us + SECOND * backs_off
    assert stopped["time_us"] - last == pytest.approx(behind_us, abs=5_000)


def test_the_number_of_attempts_and_the_back_off_are_settings(tmp_path: Path) -> None:
    retries, backoff = "controlled.shutdown.max.retries", "controlled.shutdown.retry.backoff.ms"
    run = run_of(c4({retries: 2, backoff: 3000}), tmp_path / "run")
    assert back_offs_us(run) == [pytest.approx(3 * SECOND, abs=5_000)]


def test_a_partition_without_other_replicas_is_not_waited_for(tmp_path: Path) -> None:
    """It is offline once the session is closed, but there is only one attempt."""
    steps = stop_of(1, 1)
    run = run_of(story([[1]], steps, faults=[fault("restart", 1)]), tmp_path / "run")
    assert attempts(run) == [("controller of broker 3", 1, errors.NONE, 0)]
    assert all_writes(run) == [[(3, 1, [1], 0, 0), (3, NO_LEADER, [1], 1, 1), (3, 1, [1], 2, 2)]]


def test_without_controlled_shutdown_the_controller_finds_out_when_the_session_closes(
    tmp_path: Path,
) -> None:
    """The same writes, but afterwards: until then clients and followers ask a broker in vain."""
    run = run_of(c1(3, settings={"controlled.shutdown.enable": False}), tmp_path / "run")
    assert attempts(run) == []
    assert all_writes(run) == c1_writes(3)
    (stopped,) = run.rows("broker_stopped")
    assert stopped["stop"] == STOP_CLEAN
    (closed,) = run.rows("session_closed")
    removed = list(run.rows("removed_from_isr"))
    elected = [row for row in run.rows("leader_elected") if row["leader_epoch"] == 1]
    assert len(removed) == len(elected) == 2
    assert all(closed["time_us"] < row["time_us"] for row in [*removed, *elected])


# The controller is no help.


def controller_dies(**settings: int) -> Any:
    """The controller dies 5 ms after broker 1 has asked it, before it has moved anything else.

    Its own work takes next to nothing, so that it has come to the leaders by then.
    """
    steps = [
        batches(range(4), 5),
        begins("restart"),
        begins("crash", {"after": "5ms"}),
        ends("crash", {"after": "20s"}),
        ends("restart", {"after": "0s"}),
    ]
    faults = [fault("restart", 1), fault("crash", 3)]
    costs = {"controller_event": "200us", "controller_partition": "20us"}
    return story(C1_REPLICAS, steps, faults=faults, settings=settings, costs=costs)


def test_the_next_controller_is_asked_if_the_first_one_dies_meanwhile(tmp_path: Path) -> None:
    """The default back-off of 5 s outlasts the dead controller's session of 4 s."""
    backoff = {"controlled.shutdown.retry.backoff.ms": 5_000}
    run = run_of(controller_dies(**backoff), tmp_path / "run")
    asked = attempts(run)
    assert asked[0] == ("controller of broker 3", 1, NETWORK_EXCEPTION, -1)
    name = asked[1][0]
    assert name in {"controller of broker 1", "controller of broker 2"}
    assert asked[1:] == [(name, 2, errors.NONE, 0)]
    elected = list(run.rows("controller_elected"))[1]
    assert elected["process"] == process_named(run, name)
    (closed,) = run.rows("session_closed")
    # Broker 2 alone is left: the first controller had not come to partitions 1 and 2.
    last = [writes[-1] for writes in all_writes(run, before_us=closed["time_us"])]
    assert [(leader, isr) for _, leader, isr, _, _ in last] == [(2, [2])] * 4
    written = [{writer for writer, *_ in writes[1:2]} for writes in all_writes(run)]
    assert written[0] == written[3] == {3}
    assert written[1] != {3} != written[2]


def test_a_broker_leaves_if_no_controller_is_there_for_its_attempts(tmp_path: Path) -> None:
    """With a back-off of 1 s they are over before the dead controller's session of 8 s is."""
    run = run_of(controller_dies(**{"zookeeper.session.timeout.ms": 8_000}), tmp_path / "run")
    dead = "controller of broker 3"
    assert attempts(run) == [(dead, attempt, NETWORK_EXCEPTION, -1) for attempt in (1, 2, 3)]
    (closed,) = run.rows("session_closed")
    (expired,) = run.rows("session_expired")
    assert closed["time_us"] < expired["time_us"]
    assert [writes[1:] for writes in all_writes(run, before_us=closed["time_us"])][1:3] == [[], []]
    last = [
        [write for write in writes if write[0] != 2 or write[2] == [2]][-1]
        for writes in all_writes(run)
    ]
    assert [(leader, isr) for _, leader, isr, _, _ in last] == [(2, [2])] * 4


def test_a_controller_that_does_not_answer_is_asked_again_after_its_time_out(
    tmp_path: Path,
) -> None:
    """controller.socket.timeout.ms, then the back-off; its answers come too late or not at all."""
    steps = [begins("pause"), begins("restart", {"after": "100ms"})]
    faults = [fault("restart", 1), fault("pause", 3, **{"for": "2500ms"})]
    timeouts = {"controller.socket.timeout.ms": 1000}
    run = run_of(
        story(C1_REPLICAS, steps, faults=faults, settings=timeouts, duration="10s"),
        tmp_path / "run",
    )
    controller = "controller of broker 3"
    assert attempts(run) == [
        (controller, 1, NETWORK_EXCEPTION, -1),
        (controller, 2, errors.NONE, 0),
    ]
    first, second = (row["time_us"] for row in run.rows("controlled_shutdown_sent"))
    assert second - first == pytest.approx(2 * SECOND, abs=20_000)


def test_a_controller_that_is_none_any_more_says_so(tmp_path: Path) -> None:
    """KafkaController.processControlledShutdown: its session ended while it was paused.

    It answers as soon as ZooKeeper has told it, long before the broker would give up after 30 s.
    """
    steps = [begins("pause"), begins("restart", {"after": "100ms"})]
    faults = [fault("restart", 1), fault("pause", 3, **{"for": "8s"})]
    run = run_of(story(C1_REPLICAS, steps, faults=faults, duration="40s"), tmp_path / "run")
    (_, *refused), (_, *moved) = attempts(run)
    assert refused == [1, errors.CODES["STALE_CONTROLLER_EPOCH"], -1]
    assert moved == [2, errors.NONE, 0]
    (ended,) = rows_of(run, "fault_ended", process=process_named(run, "controller of broker 3"))
    answered, _ = run.rows("controlled_shutdown_answered")
    assert 0 < answered["time_us"] - ended["time_us"] < RECONNECT_US + 20_000


@pytest.mark.parametrize(("release", "waits_for_zookeeper"), [("2.8", True), ("3.0", False)])
def test_from_3_0_on_a_broker_stops_while_zookeeper_is_away(
    release: str, waits_for_zookeeper: bool, tmp_path: Path
) -> None:
    """KAFKA-9189: the controller is looked up in the metadata cache, KafkaServer@3.0.0.

    It cannot write, so it does not answer within the time-out; after three attempts the broker
    leaves. Up to 2.8 the first look-up hangs as long as ZooKeeper is away.
    """
    away = {"kind": "zookeeper_outage", "name": "away", "for": "25s"}
    steps = [begins("away"), begins("restart", {"after": "100ms"})]
    timeouts = {"controller.socket.timeout.ms": 1000, "zookeeper.session.timeout.ms": 60_000}
    scenario = story(
        C1_REPLICAS,
        steps,
        faults=[fault("restart", 1, **{"for": "60s"}), away],
        settings=timeouts,
        duration="50s",
        release=release,
    )
    run = run_of(scenario, tmp_path / "run")
    back = next(row for row in run.rows("fault_ended"))["time_us"]
    asked = [row["time_us"] for row in run.rows("controlled_shutdown_sent")]
    (stopped,) = run.rows("broker_stopped")
    assert stopped["stop"] == STOP_CLEAN
    assert (asked[0] > back) == (stopped["time_us"] > back) == waits_for_zookeeper
    if not waits_for_zookeeper:
        assert [error for _, _, error, _ in attempts(run)] == [NETWORK_EXCEPTION] * 3
