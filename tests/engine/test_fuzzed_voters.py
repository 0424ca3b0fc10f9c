"""Random changes of voters, with faults: KIP-853 keeps what its specification promises."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tidegauge.engine.fuzzing.fuzzed_cluster import FuzzedCluster
from tidegauge.engine.group import Group
from tidegauge.engine.row_stream import RowStream
from tidegauge.replication.ablations import ABLATIONS
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.search.campaign import run_unit, units_of
from tidegauge.search.profiles import FuzzedKind
from tidegauge.search.voter_profiles import drawn_voter_profile
from tidegauge.simulation.trace_rows.codes import REASON_END
from tidegauge.traces.checks.histories import BY_LATE_REMOVAL, BY_LOST_DISKS, PERMITS

CHANGING = FuzzedKind("kraft", "4.4", changes_voters=True)
#: In eight clusters one after the other each role occurs.
ROLES = range(8)


def hashes_of(scenario: dict[str, Any]) -> dict[int, tuple[int, int]]:
    """The rows of each process of a scenario that is run as any other, and the hash over them."""
    plan = ClusterPlan(scenario_from_mapping(scenario, "fuzz"))
    group, stream = Group(plan, range(len(plan.processes))), RowStream(plan)
    group.run_to(plan.scenario.duration_us, stream.take)
    group.close(plan.scenario.duration_us, stream.take, REASON_END)
    processes = group.world.processes
    return {place: (int(each.rows), int(each.hash)) for place, each in enumerate(processes)}


def test_a_schedule_does_what_its_written_scenario_does() -> None:
    for number in ROLES:
        cluster = FuzzedCluster(drawn_voter_profile(CHANGING, 1, number), 1)
        for run in range(3):
            assert cluster.run_given(run) == hashes_of(cluster.present), (number, run)


def test_changing_voters_break_nothing_that_the_release_does_not_permit() -> None:
    """A hundred thousand: ``tidegauge fuzz --voters --runs 100000`` (docs/search.md)."""
    permitted: Counter[int] = Counter()
    counted = 0
    for number in ROLES:
        cluster = FuzzedCluster(drawn_voter_profile(CHANGING, 3, number), 5)
        cluster.run(150)
        found = [each for each in cluster.take_found() if each.check != "liveness"]
        assert found == [], number
        counts = cluster.counts()
        assert counts.overflows == 0
        counted += counts.counted
        permitted.update(counts.permitted)
    # ... and most schedules have changed the voters; disks and late removals did what they do.
    assert counted > 600
    assert {int(BY_LATE_REMOVAL), int(BY_LOST_DISKS)} <= permitted.keys() <= PERMITS.keys()


def schedules_until_broken(name: str, most: int) -> dict[str, int]:
    """For each check that breaks without a rule: the number of schedules until it did."""
    kind = CHANGING._replace(release=ABLATIONS[name].release, ablations=(name,))
    found: dict[str, int] = {}
    done = 0
    for unit in units_of([kind], 1, most, is_guided=True):
        outcome = run_unit(unit)
        for check, broken in outcome.broken.items():
            found.setdefault(check, done + broken.run + 1)
        done += outcome.counts.runs
        if {*ABLATIONS[name].breaks} <= found.keys():
            break
    return found


def test_a_change_of_voters_that_does_not_wait_is_found_soon() -> None:
    """KIP-853: two VotersRecords that are not committed are two sets that share no majority."""
    found = schedules_until_broken("voter_change_before_last_one", 250)
    assert {"one_voter_change", "voter_sets_overlap"} <= found.keys()


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [name for name, each in ABLATIONS.items() if each.changes_voters and each.breaks]
)
def test_each_rule_of_kip_853_that_is_taken_away_is_found_within_a_thousand_schedules(
    name: str,
) -> None:
    assert schedules_until_broken(name, 1_000).keys() & {*ABLATIONS[name].breaks}
