"""The contract at length: generated schedules have the same hashes in whatever groups.

Schedules of all kinds are drawn in turn, with ZooKeeper and with KRaft, and for each its groups.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from fault_schedules import schedule
from gates import assert_met
from kraft_schedules import kraft_schedule
from process_groups import drawn_groups
from producer_schedules import producer_schedule
from quorum_schedules import quorum_schedule
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import Scenario

#: One of each kind, and one more.
SHORT = (0, 1, 2, 3, 64)
#: In pytest's parameters ten schedules are one test, so that a failure names few.
TENS = range(30)


def schedule_of(number: int) -> Scenario:
    """One of the schedules: four kinds, each with its own numbers."""
    seed, kind = divmod(number, 4)
    if kind == 0:
        return schedule(seed)
    if kind == 1:
        return kraft_schedule(seed)
    if kind == 2:
        return quorum_schedule(seed).scenario
    return producer_schedule(seed, idempotent=True)


def assert_groups_change_nothing(number: int, folder: Path) -> None:
    scenario = schedule_of(number)
    groups = drawn_groups(scenario, number)
    one = simulate(scenario, folder / "one")
    apart = simulate(scenario, folder / "apart", make_engine=inline(groups))
    assert one.summary is not None
    assert apart.summary is not None
    assert_met(one)
    # Process by process: a difference names the first that went another way.
    where = f"schedule {number} in {groups}"
    assert apart.summary["process_hashes"] == one.summary["process_hashes"], where


@pytest.mark.parametrize("number", SHORT)
def test_a_schedule_has_the_same_hashes_in_drawn_groups(number: int, tmp_path: Path) -> None:
    assert_groups_change_nothing(number, tmp_path)


@pytest.mark.long
@pytest.mark.parametrize("ten", TENS)
def test_300_schedules_have_the_same_hashes_in_drawn_groups(ten: int, tmp_path: Path) -> None:
    """Two to seven groups, of sizes as they come; processes of one machine may be apart."""
    for number in range(10 * ten, 10 * ten + 10):
        assert_groups_change_nothing(number, tmp_path / str(number))
