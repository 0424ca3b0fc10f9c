"""Two brokers that are gone in one event: which of them is left in an ISR of only the two.

The schedule is p1 of the runs of real brokers, and so are the ISRs.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from life_stories import all_writes, begins, fault, story
from scenario_runs import run_of

P1 = [[1, 2], [2, 1], [1, 2, 3], [3, 1, 2], [2, 1, 3]]


def last_isrs(release: str, replicas: list[list[int]], folder: Path) -> list[list[int]]:
    """What is in ZooKeeper after brokers 1 and 2 were gone in the same event."""
    # One topic: Kafka's hash is that of its name.
    topics = [{"name": "t", "assignment": dict(enumerate(replicas))}]
    scenario = story(
        replicas,
        [begins("power_loss")],
        release=release,
        topics=topics,
        # They are told apart by no tick: all sessions that are over within 10 s end together.
        zookeeper={"tick_ms": 10_000},
        settings={"zookeeper.session.timeout.ms": 20_000},
        faults=[fault("power_loss", 1, 2)],
        duration="60s",
    )
    run = run_of(scenario, folder)
    assert len({row["time_us"] for row in run.rows("broker_failed")}) == 1
    return [writes[-1][2] for writes in all_writes(run)]


@pytest.mark.parametrize("release", ["0.10.2", "1.0"])
def test_up_to_1_0_the_order_of_a_set_decides_who_stays(release: str, tmp_path: Path) -> None:
    """ReplicaStateMachine.handleStateChanges goes over a Set of replicas in hash order.

    Brokers of 0.10.2.2 kept 2 of [1, 2] and 1 of [2, 1], in partitions 0 and 1 of topic t.
    """
    assert last_isrs(release, P1, tmp_path / "run") == [[2], [1], [3], [3], [3]]


@pytest.mark.parametrize("release", ["1.1", "2.6"])
def test_from_1_1_on_it_goes_broker_by_broker(release: str, tmp_path: Path) -> None:
    """The replicas are grouped by broker: the last one stays, whatever the assignment is."""
    assert last_isrs(release, P1, tmp_path / "run") == [[2], [2], [3], [3], [3]]


def test_a_set_of_four_replicas_keeps_the_order_in_which_they_came(tmp_path: Path) -> None:
    """Scala's Set4 has no hashes: broker 1's replicas come before broker 2's, as from 1.1 on."""
    assert last_isrs("0.10.2", P1[:2], tmp_path / "run") == [[2], [2]]
