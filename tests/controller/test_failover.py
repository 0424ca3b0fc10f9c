"""Controller failover, deaths together, and old controllers that go on.

The schedules i1, i2, p1 to p3 and y1 are those of the runs of real brokers, and the writes
theirs. Where they left it to a race who becomes controller, so do these tests.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from isr_stories import process_named
from life_stories import (
    all_writes,
    at,
    batches,
    begins,
    ends,
    fault,
    once,
    once_in_sync,
    story,
    writes_between,
)
from partition_fates import NO_LEADER
from scenario_runs import rows_of, run_of
from tidegauge.replication import errors
from tidegauge.simulation.messages.timers import Disconnected
from tidegauge.simulation.trace_rows.codes import ELECT
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import cluster, settings

SECOND = 1_000_000
STALE_CONTROLLER_EPOCH = errors.CODES["STALE_CONTROLLER_EPOCH"]


def controllers(run: RunFolder) -> list[int]:
    """Who has become controller, by the ids of brokers; with epochs 1, 2, ..."""
    elected = list(run.rows("controller_elected"))
    assert [row["controller_epoch"] for row in elected] == [*range(1, len(elected) + 1)]
    return [run.manifest["brokers"][row["broker"]] for row in elected]


def without_writers(run: RunFolder) -> list[list[tuple[Any, ...]]]:
    """All writes but for who has written: leader, ISR, epoch, version."""
    return [[write[1:] for write in writes] for writes in all_writes(run)]


def states_written(run: RunFolder, begin_us: int, end_us: int) -> list[str]:
    """The states written in a span of time, by their paths."""
    return [path for path, _ in writes_between(run, begin_us, end_us) if "/partitions/" in path]


# The controller dies.

#: Broker 1, the controller, leads partition 0 and follows in 1 and 2; 3 is none of its own.
I1_REPLICAS = [[1, 2, 3], [2, 3, 1], [3, 2, 1], [2, 3]]


def i1(release: str) -> Any:
    steps = [
        batches(range(4), 5),
        begins("crash"),
        batches(range(4), 2, once(leader=at(0) | {"is": 2})),
        ends("crash"),
    ]
    return story(I1_REPLICAS, steps, controller=1, faults=[fault("crash", 1)], release=release)


@pytest.mark.parametrize("release", ["2.6", "2.4", "2.3"])
def test_from_2_3_on_a_leader_that_dies_with_its_controller_costs_two_epochs(
    release: str, tmp_path: Path
) -> None:
    """Schedule i1: leader -1 first, then the election; where it followed, one epoch."""
    run = run_of(i1(release), tmp_path / "run")
    assert without_writers(run) == [
        [(1, [1, 2, 3], 0, 0), (-1, [2, 3], 1, 1), (2, [2, 3], 2, 2), (2, [2, 3, 1], 2, 3)],
        [(2, [2, 3, 1], 0, 0), (2, [2, 3], 1, 1), (2, [2, 3, 1], 1, 2)],
        [(3, [3, 2, 1], 0, 0), (3, [3, 2], 1, 1), (3, [3, 2, 1], 1, 2)],
        [(2, [2, 3], 0, 0)],
    ]
    first, second = controllers(run)
    assert first == 1
    assert {writer for writer, *_ in all_writes(run)[0][1:3]} == {second}


@pytest.mark.parametrize("release", ["2.2", "1.1", "0.10.2"])
def test_before_2_3_it_costs_one_and_followers_are_left_to_their_leaders(
    release: str, tmp_path: Path
) -> None:
    """Schedule i1 in 0.10.2: partitions 1 and 2 are shrunk by brokers 2 and 3, in epoch 0."""
    run = run_of(i1(release), tmp_path / "run")
    _, second = controllers(run)
    assert all_writes(run) == [
        [(1, 1, [1, 2, 3], 0, 0), (second, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)],
        [(1, 2, [2, 3, 1], 0, 0), (2, 2, [2, 3], 0, 1), (2, 2, [2, 3, 1], 0, 2)],
        [(1, 3, [3, 2, 1], 0, 0), (3, 3, [3, 2], 0, 1), (3, 3, [3, 2, 1], 0, 2)],
        [(1, 2, [2, 3], 0, 0)],
    ]


@pytest.mark.parametrize("release", ["2.6", "0.10.2"])
def test_a_new_controller_rewrites_nothing_if_all_are_alive(release: str, tmp_path: Path) -> None:
    """Schedule i2: /controller is deleted twice; only the controller epoch grows."""
    moves = [{"kind": "controller_move", "at": time} for time in ("10s", "15s")]
    run = run_of(
        story([[1, 2, 3], [2, 3, 1]], [batches(range(2), 5)], faults=moves, release=release),
        tmp_path / "run",
    )
    assert [len(writes) for writes in all_writes(run)] == [1, 1]
    by_epoch = controllers(run)
    assert len(by_epoch) == 3
    assert not list(run.rows("session_expired"))
    # Whoever was controller before each move is none any more, and says so first.
    resigned = [run.manifest["brokers"][row["broker"]] for row in run.rows("controller_resigned")]
    assert resigned == by_epoch[:2]
    rows = [row.kind for row in run.all_rows() if row.kind.startswith("controller_")]
    ends_and_begins = [
        kind for kind in rows if kind in {"controller_elected", "controller_resigned"}
    ]
    assert ends_and_begins == [
        "controller_elected",
        *["controller_resigned", "controller_elected"] * 2,
    ]


# Several die in one event of the controller.

P1_REPLICAS = [[1, 2], [2, 1], [1, 2, 3], [3, 1, 2], [2, 1, 3]]


def two_die(first_back: int, then_back: int) -> Any:
    """Brokers 1 and 2 die, and return one after the other."""
    names = {1: "death-of-1", 2: "death-of-2"}
    steps = [
        batches(range(5), 5),
        begins(names[1]),
        begins(names[2], {"after": "0s"}),
        batches(range(2, 5), 2, once_in_sync(4, 3), acks=1),
        ends(names[first_back]),
        # What is to be seen of its return is in the third partition.
        ends(names[then_back], once_in_sync(3, 3, first_back)),
    ]
    faults = [fault("crash", broker) | {"name": name} for broker, name in names.items()]
    return story(P1_REPLICAS, steps, faults=faults)


def assert_they_died_in_one_event(run: RunFolder) -> None:
    first, second = run.rows("session_expired")
    assert first["time_us"] == second["time_us"]


def test_of_two_that_die_together_the_one_handled_last_stays_in_the_isr(tmp_path: Path) -> None:
    """Schedule p1: broker 1 returns first, in vain: [1, 2] and [2, 1] wait for broker 2."""
    run = run_of(two_die(1, 2), tmp_path / "run")
    assert_they_died_in_one_event(run)
    assert all_writes(run) == [
        [(3, 1, [1, 2], 0, 0), (3, -1, [2], 1, 1), (3, -1, [2], 2, 2), *RETURN_OF_2],
        [(3, 2, [2, 1], 0, 0), (3, 2, [2], 1, 1), (3, -1, [2], 2, 2), *RETURN_OF_2],
        [(3, 1, [1, 2, 3], 0, 0), (3, 3, [3], 1, 1), *joined(1, 2, [1, 2])],
        [(3, 3, [3, 1, 2], 0, 0), (3, 3, [3, 2], 1, 1), (3, 3, [3], 2, 2), *joined(2, 3, [1, 2])],
        [(3, 2, [2, 1, 3], 0, 0), (3, 3, [3], 1, 1), *joined(1, 2, [1, 2])],
    ]


def test_the_one_that_stayed_in_the_isr_leads_as_soon_as_it_is_back(tmp_path: Path) -> None:
    """Schedule p2: the same deaths; broker 2 returns first, and 1 joins."""
    run = run_of(two_die(2, 1), tmp_path / "run")
    assert_they_died_in_one_event(run)
    writes = all_writes(run)
    assert [each[3:] for each in writes[:2]] == [RETURN_OF_2] * 2
    assert writes[3][3:] == joined(2, 3, [2, 1])
    (first, _) = [row for row in run.rows("broker_registered") if row["time_us"] > 8 * SECOND]
    elected = rows_of(run, "leader_elected", old_leader=NO_LEADER, partition=0)[-1]
    assert 0 < elected["time_us"] - first["time_us"] < 30_000


#: Broker 2 leads again, and broker 1 joins.
RETURN_OF_2 = [(3, 2, [2], 3, 3), (2, 2, [2, 1], 3, 4)]


def joined(epoch: int, version: int, brokers: list[int]) -> list[tuple[Any, ...]]:
    """Broker 3 leads, and these join one after the other."""
    return [
        (3, 3, [3, *brokers[: count + 1]], epoch, version + count) for count in range(len(brokers))
    ]


def test_all_die_and_the_first_one_back_cleans_up(tmp_path: Path) -> None:
    """Schedule p3: nobody writes while all are gone; then broker by broker, one epoch each."""
    deaths = {broker: f"death-of-{broker}" for broker in (1, 2, 3)}
    steps = [
        batches(range(5), 5),
        *(begins(name, {"after": "0s"}) for name in deaths.values()),
        ends(deaths[3], once(unregistered=[1, 2, 3])),
        ends(deaths[2], once_in_sync(0, 3)),
        ends(deaths[1], once_in_sync(3, 3, 2)),
    ]
    faults = [fault("crash", broker) | {"name": name} for broker, name in deaths.items()]
    replicas = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [1, 3, 2], [1, 2]]
    run = run_of(story(replicas, steps, controller=1, faults=faults), tmp_path / "run")
    assert controllers(run) == [1, 3]
    assert all_writes(run) == [
        [(1, 1, [1, 2, 3], 0, 0), (3, -1, [2, 3], 1, 1), (3, -1, [3], 2, 2), *LED_BY_3],
        [(1, 2, [2, 3, 1], 0, 0), (3, 2, [2, 3], 1, 1), (3, -1, [3], 2, 2), *LED_BY_3],
        [(1, 3, [3, 1, 2], 0, 0), (3, 3, [3, 2], 1, 1), (3, 3, [3], 2, 2), *joined(2, 3, [2, 1])],
        [(1, 1, [1, 3, 2], 0, 0), (3, -1, [3, 2], 1, 1), (3, -1, [3], 2, 2), *LED_BY_3],
        [(1, 1, [1, 2], 0, 0), (3, -1, [2], 1, 1), (3, -1, [2], 2, 2), *RETURN_OF_2],
    ]
    gone = list(run.rows("session_expired"))[-1]["time_us"]
    back = list(run.rows("controller_elected"))[1]["time_us"]
    assert states_written(run, gone, back) == []


LED_BY_3 = [(3, 3, [3], 3, 3), *joined(3, 4, [2, 1])]


def test_a_partition_without_a_live_replica_has_no_state(tmp_path: Path) -> None:
    """Schedule y1: broker 3 is dead when the topics are created, as the slow operator does it.

    The last partition gets its state, epoch 0 and version 0, when broker 3 registers.
    """
    death = fault("crash", 3, at="3100ms", **{"for": "9s"})
    scenario = story(
        [[1, 2, 3], [3, 1], [3]],
        [],
        controller=1,
        faults=[death],
        network={"clients": "3s"},
        duration="20s",
    )
    run = run_of(scenario, tmp_path / "run")
    assert all_writes(run) == [
        [(1, 1, [1, 2], 0, 0), (1, 1, [1, 2, 3], 0, 1)],
        [(1, 1, [1], 0, 0), (1, 1, [1, 3], 0, 1)],
        [(1, 3, [3], 0, 0)],
    ]
    returned = rows_of(run, "broker_registered", broker=2)[-1]["time_us"]
    first, _, last = (
        next(iter(rows_of(run, "leader_elected", partition=partition))) for partition in range(3)
    )
    assert first["time_us"] < 12 * SECOND < returned < last["time_us"] < returned + 30_000


# A controller that does not know that it is none any more.


def old_controller(release: str) -> Any:
    """Broker 1 is dead, and the controller is about to say so when it stops for 2.5 s.

    Its session lives, but /controller is deleted meanwhile, and another is controller.
    """
    steps = [
        begins("crash"),
        begins("pause", once(unregistered=[1])),
        begins("controller_move", {"after": "1s"}),
    ]
    faults = [
        fault("crash", 1),
        fault("pause", 3, **{"for": "2500ms"}),
        {"kind": "controller_move", "name": "controller_move"},
    ]
    # So that no leader shrinks an ISR meanwhile.
    lag = {"replica.lag.time.max.ms": 30_000}
    return story(
        [[1, 2, 3], [2, 3, 1], [2, 1, 3]],
        steps,
        faults=faults,
        settings=lag,
        release=release,
        duration="14s",
    )


def events_after_the_pause(run: RunFolder) -> tuple[int, list[str]]:
    """When the controller of broker 3 went on, and what it then was and did until it resigned."""
    process = process_named(run, "controller of broker 3")
    (ended,) = rows_of(run, "fault_ended", process=process)
    rows = [row for row in run.all_rows() if row["process"] == process]
    return ended["time_us"], [row.kind for row in rows if row["time_us"] > ended["time_us"]]


def assert_nothing_comes_of_it(run: RunFolder) -> None:
    """The old controller has written no state, and brokers have heard nothing of it."""
    assert controllers(run) == [3, 2]
    assert all(writer != 3 for writes in all_writes(run) for writer, *_ in writes[1:])
    assert not list(run.rows("request_refused"))


@pytest.mark.parametrize("release", ["2.2", "2.1"])
def test_from_2_1_on_an_old_controllers_write_is_refused_and_it_resigns(
    release: str, tmp_path: Path
) -> None:
    """KAFKA-6082: every write checks the version of /controller_epoch.

    Broker 3 goes on with the same event, its write fails, and that is how it learns: it has
    not yet come to the deletion of /controller in its queue.
    """
    run = run_of(old_controller(release), tmp_path / "run")
    assert_nothing_comes_of_it(run)
    goes_on_us, kinds = events_after_the_pause(run)
    assert kinds[:2] == ["broker_failed", "controller_resigned"]
    (resigned,) = run.rows("controller_resigned")
    assert resigned["controller_epoch"] == 1
    assert resigned["time_us"] - goes_on_us < 30_000


@pytest.mark.parametrize("release", ["2.6", "2.3"])
def test_from_2_3_on_it_finds_in_every_state_the_epoch_of_its_successor(
    release: str, tmp_path: Path
) -> None:
    """The new controller has taken broker 1 out of all ISRs; so nothing is even tried."""
    run = run_of(old_controller(release), tmp_path / "run")
    assert_nothing_comes_of_it(run)
    _, kinds = events_after_the_pause(run)
    # The event comes to its end; the next one is that /controller was deleted.
    assert kinds[:4] == [
        "broker_failed",
        "controller_event_done",
        "controller_event",
        "controller_resigned",
    ]


@pytest.mark.parametrize("release", ["2.0", "1.1", "0.10.2"])
def test_before_2_1_it_writes_what_nobody_has_written_since(release: str, tmp_path: Path) -> None:
    """Only the version of the state is checked. But brokers refuse its requests (epoch 1 < 2)."""
    run = run_of(old_controller(release), tmp_path / "run")
    assert controllers(run) == [3, 2]
    assert all_writes(run) == [
        # The new controller has elected here, and the old one does not go against that.
        [(3, 1, [1, 2, 3], 0, 0), (2, 2, [2, 3], 1, 1)],
        [(3, 2, [2, 3, 1], 0, 0), (3, 2, [2, 3], 1, 1)],
        [(3, 2, [2, 1, 3], 0, 0), (3, 2, [2, 3], 1, 1)],
    ]
    goes_on_us, kinds = events_after_the_pause(run)
    assert kinds.index("removed_from_isr") < kinds.index("controller_resigned")
    old = process_named(run, "controller of broker 3")
    refused = list(run.rows("request_refused"))
    assert {(row["from_process"], row["error"]) for row in refused} == {
        (old, STALE_CONTROLLER_EPOCH)
    }
    assert {row["process"] for row in refused} == {1, 2}
    assert all(row["time_us"] > goes_on_us for row in refused)


# Requests to brokers that do not answer, and what a failover costs.


def test_a_request_is_sent_again_every_100_ms_until_the_broker_is_gone(tmp_path: Path) -> None:
    """RequestSendThread: a dead broker refuses the connection, until its session expires."""
    steps = [begins("crash"), begins("restart", {"after": "100ms"})]
    faults = [fault("crash", 2), fault("restart", 1)]
    scenario = story([[1, 3], [3, 1]], steps, faults=faults, trace="all", duration="12s")
    run = run_of(scenario, tmp_path / "run")
    controller = process_named(run, "controller of broker 3")
    refused = [
        row["time_us"]
        for row in rows_of(run, "message", process=controller, message_kind=int(Disconnected.KIND))
        if row["from_process"] == 1
    ]
    (asked,) = run.rows("controlled_shutdown_sent")
    gone = rows_of(run, "broker_failed", broker=1)[0]["time_us"]
    # The first one is the death itself.
    assert refused[0] < asked["time_us"] < refused[1] < asked["time_us"] + 60_000
    between = [later - earlier for earlier, later in pairwise(refused[1:])]
    assert all(100_000 < each < 105_000 for each in between)
    assert gone - 110_000 < refused[-1] < gone + 10_000
    assert len(refused) > 20


def failover_us(folder: Path, partitions: int, **costs: str) -> int:
    """How long a controller that finds all brokers alive takes to be ready, on one machine."""
    scenario = cluster(
        duration="12s",
        cluster={
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "500ms"},
            "settings": settings(),
        },
        topics=[{"name": "t", "assignment": {number: [1, 2] for number in range(partitions)}}],
        faults=[{"kind": "controller_move", "at": "8s"}],
        network=dict.fromkeys(("within_rack", "between_racks", "within_host"), "30us"),
        costs=costs,
    )
    run = run_of(scenario, folder)
    began = rows_of(run, "controller_elected", controller_epoch=2)[0]
    done = rows_of(run, "controller_event_done", process=began["process"], event_kind=int(ELECT))
    return int(next(row["processing_us"] for row in done if row["time_us"] > began["time_us"]))


def test_a_failover_takes_longer_the_more_partitions_there_are(tmp_path: Path) -> None:
    """Real brokers: 105 ms for 100, 418 for 1000, 1383 for 4000; a third of a ms for each."""
    few, many = failover_us(tmp_path / "few", 50), failover_us(tmp_path / "many", 450)
    assert 280 < (many - few) / 400 < 380
    dear = failover_us(tmp_path / "dear", 450, controller_failover_partition="1100us")
    assert dear - many == pytest.approx(450 * 1000, rel=0.02)
