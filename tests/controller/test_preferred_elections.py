"""Leadership goes back to preferred replicas: on demand, and automatically.

Schedule k1 is one of the runs of real brokers, and the writes theirs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from life_stories import all_writes, at, batches, begins, ends, fault, once, once_in_sync, story
from scenario_runs import rows_of, run_of
from tidegauge.simulation.trace_rows.codes import AUTO_REBALANCE
from tidegauge.traces.run_folder import RunFolder
from zookeeper_stories import writes

SECOND = 1_000_000
ADMIN = "/admin/preferred_replica_election"

# On demand.


def k1(release: str) -> Any:
    """Broker 1 is dead, then it is back, then it leads: each time somebody asks."""
    asks = {"do": "preferred_election"}
    steps = [
        batches(range(2), 3),
        begins("crash"),
        [once_in_sync(1, 2, 3) | asks],
        ends("crash", {"after": "1s"}),
        [once_in_sync(1, 1, 2, 3) | asks, {"after": "2s"} | asks],
    ]
    return story([[1, 2, 3], [2, 1, 3]], steps, faults=[fault("crash", 1)], release=release)


#: Until broker 1 is back, and leads partition 0 again.
K1_WRITES = [
    [
        (3, 1, [1, 2, 3], 0, 0),
        (3, 2, [2, 3], 1, 1),
        (2, 2, [2, 3, 1], 1, 2),
        (3, 1, [2, 3, 1], 2, 3),
    ],
    [(3, 2, [2, 1, 3], 0, 0), (3, 2, [2, 3], 1, 1), (2, 2, [2, 3, 1], 1, 2)],
]


def assert_each_request_is_deleted(run: RunFolder, count: int) -> None:
    kinds = [row.kind for _, row in writes(run, ADMIN)]
    assert kinds == ["znode_created", "znode_deleted"] * count


@pytest.mark.parametrize("release", ["2.6", "2.2", "1.0", "0.10.2"])
def test_a_preferred_replica_is_elected_if_it_is_in_the_isr_and_does_not_lead(
    release: str, tmp_path: Path
) -> None:
    """Schedule k1: the ISR and its order stay; nothing is done while it is dead, or leads."""
    run = run_of(k1(release), tmp_path / "run")
    assert all_writes(run) == K1_WRITES
    assert_each_request_is_deleted(run, 3)


@pytest.mark.parametrize("release", ["2.1", "1.1"])
def test_from_1_1_to_2_1_one_that_leads_is_elected_once_more(release: str, tmp_path: Path) -> None:
    """Only its epoch grows, for each of the three times; KIP-183 has ended that."""
    run = run_of(k1(release), tmp_path / "run")
    first, second = all_writes(run)
    assert first == [*K1_WRITES[0], (3, 1, [2, 3, 1], 3, 4)]
    assert second == [
        (3, 2, [2, 1, 3], 0, 0),
        (3, 2, [2, 3], 1, 1),
        (3, 2, [2, 3], 2, 2),
        (2, 2, [2, 3, 1], 2, 3),
        (3, 2, [2, 3, 1], 3, 4),
        (3, 2, [2, 3, 1], 4, 5),
    ]
    assert_each_request_is_deleted(run, 3)


def test_a_request_can_name_one_partition(tmp_path: Path) -> None:
    """The twin of all: partition 1 stays where it is."""
    steps = [
        batches(range(2), 1),
        begins("restart"),
        ends("restart", once(unregistered=[1])),
        [once_in_sync(1, 1, 2, 3) | {"do": "preferred_election"} | at(0)],
    ]
    run = run_of(story([[1, 2, 3]] * 2, steps, faults=[fault("restart", 1)]), tmp_path / "run")
    leaders = [writes[-1][1] for writes in all_writes(run)]
    assert leaders == [1, 2]
    assert_each_request_is_deleted(run, 1)


@pytest.mark.parametrize("release", ["2.6", "0.10.2"])
def test_a_new_controller_does_what_the_dead_one_was_asked_for(
    release: str, tmp_path: Path
) -> None:
    """The controller dies 3 ms after somebody has asked, before it has elected anybody."""
    steps = [
        begins("restart"),
        ends("restart", once(unregistered=[1])),
        [once_in_sync(1, 1, 2, 3) | {"do": "preferred_election"}],
        begins("crash", {"after": "3ms"}),
    ]
    faults = [fault("crash", 3), fault("restart", 1)]
    scenario = story([[1, 2, 3]] * 2, steps, faults=faults, release=release, duration="18s")
    run = run_of(scenario, tmp_path / "run")
    given_back = rows_of(run, "leader_elected", leader=0)[2:]
    assert [row["partition"] for row in given_back] == [0, 1]
    (created, _), (deleted, removal) = [(row.kind, row) for _, row in writes(run, ADMIN)]
    assert (created, deleted) == ("znode_created", "znode_deleted")
    first, second = run.rows("controller_elected")
    assert {row["process"] for row in given_back} == {second["process"]}
    assert removal["writer"] == second["broker"] != first["broker"]
    assert [row["time_us"] < removal["time_us"] for row in given_back] == [True, True]


# Automatically.

#: Broker 3 is controller from the start on, and looks after 5, 15 and 25 s.
LOOKS_S = [5, 15, 25]


def away(begin: str, length: str) -> dict[str, Any]:
    """Broker 1 stops cleanly, and starts so long after that."""
    return fault("restart", 1, at=begin, **{"for": length})


def rebalanced(steps: Any = (), **others: Any) -> Any:
    """Broker 1 leads four partitions as long as it is there."""
    settings = {
        "auto.leader.rebalance.enable": True,
        "leader.imbalance.check.interval.seconds": 10,
    } | others.pop("settings", {})
    parts: dict[str, Any] = {
        "settings": settings,
        "duration": "30s",
    }
    return story([[1, 2, 3]] * 4, steps, **(parts | others))


def given_back_s(run: RunFolder) -> list[int]:
    """When broker 1 was elected, but for the first time; in whole seconds."""
    elected = rows_of(run, "leader_elected", leader=0)
    return [row["time_us"] // SECOND for row in elected if row["leader_epoch"] > 0]


def looks_us(run: RunFolder) -> list[int]:
    """When the controller has looked after its leaders."""
    events = rows_of(run, "controller_event", event_kind=int(AUTO_REBALANCE))
    return [row["time_us"] for row in events]


def test_a_controller_looks_5_s_after_its_election_and_then_at_intervals(tmp_path: Path) -> None:
    run = run_of(rebalanced(faults=[away("1s", "2s")]), tmp_path / "run")
    (elected,) = run.rows("controller_elected")
    first, second, third = looks_us(run)
    assert 0 < first - elected["time_us"] - 5 * SECOND < 20_000
    for earlier, later in ((first, second), (second, third)):
        assert 10 * SECOND < later - earlier < 10 * SECOND + 60_000
    # Broker 1 was back in time for the first.
    assert given_back_s(run)[0] in LOOKS_S
    assert [writes[-1][1:3] for writes in all_writes(run)] == [(1, [2, 3, 1])] * 4


def test_leaders_stay_where_they_are_if_it_is_disabled(tmp_path: Path) -> None:
    run = run_of(
        rebalanced(faults=[away("1s", "2s")], settings={"auto.leader.rebalance.enable": False}),
        tmp_path / "run",
    )
    assert looks_us(run) == []
    assert given_back_s(run) == []
    assert [writes[-1][1] for writes in all_writes(run)] == [2] * 4


@pytest.mark.parametrize(("release", "given_back"), [("2.6", 25), ("2.5", 15), ("0.10.2", 15)])
def test_before_2_6_the_isr_is_read_and_from_2_6_on_it_is_the_known_one(
    release: str, given_back: int, tmp_path: Path
) -> None:
    """Broker 1 joins the ISRs at 14 s; the controller is notified 5 s later (KAFKA-9866)."""
    run = run_of(rebalanced(faults=[away("8s", "5s")], release=release), tmp_path / "run")
    joined = [row["time_us"] // SECOND for row in run.rows("isr_expanded")]
    assert len(joined) == 4
    assert all(13 <= each <= 14 for each in joined)
    notified = [row["time_us"] for row in run.rows("notification_read")]
    assert len(notified) == 1
    assert 15 * SECOND < notified[0] < 25 * SECOND
    assert given_back_s(run) == [given_back] * 4


@pytest.mark.parametrize("release", ["2.6", "2.5"])
def test_a_preferred_replica_outside_the_isr_is_not_elected(release: str, tmp_path: Path) -> None:
    """Broker 1 is back and alive, but cannot fetch from broker 2, which leads."""
    cut = {"kind": "cut_link", "between": [["broker:1"], ["broker:2"]], "at": "12s"}
    run = run_of(rebalanced(faults=[away("8s", "5s"), cut], release=release), tmp_path / "run")
    registered = rows_of(run, "broker_registered", broker=0)[-1]["time_us"]
    assert registered < 15 * SECOND < looks_us(run)[-1]
    assert given_back_s(run) == []


@pytest.mark.parametrize(("percentage", "is_too_much"), [(25, False), (24, True)])
def test_a_broker_may_lack_a_percentage_of_its_leaders(
    percentage: int, is_too_much: bool, tmp_path: Path
) -> None:
    """Three of four are given back on demand, one is left: a quarter, and more than 24 %."""
    asks = {"do": "preferred_election"}
    steps = [
        begins("restart", {"at": "6s"}),
        ends("restart", once(unregistered=[1])),
        [once_in_sync(3, 1, 2, 3) | asks | at(0)],
        *([{"after": "500ms"} | asks | at(partition)] for partition in (1, 2)),
    ]
    scenario = rebalanced(
        steps,
        faults=[fault("restart", 1)],
        settings={"leader.imbalance.per.broker.percentage": percentage},
    )
    run = run_of(scenario, tmp_path / "run")
    by_hand, automatic = (
        [row for row in rows_of(run, "leader_elected", leader=0) if row["leader_epoch"] == 2][part]
        for part in (slice(3), slice(3, None))
    )
    assert [row["partition"] for row in by_hand] == [0, 1, 2]
    assert [row["partition"] for row in automatic] == ([3] if is_too_much else [])
    assert all(looks_us(run)[1] < row["time_us"] for row in automatic)
