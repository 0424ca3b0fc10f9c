"""Each consequence is charged to the fault that had taken out what it replaces, or brings back.

The test is counterfactual: runs with one fault alone show as many consequences of each kind as are
charged to it among others. Consequences of start-up are charged to none.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from overlapping_faults import STORIES, Fault, fault, scenario_with
from tidegauge.analysis.attribution import arrow_of_causes
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import runs_at
from tidegauge.engine.simulate import simulate
from tidegauge.traces.run_folder import RunFolder

#: Those of the short suite.
SHORT = ("a crash while another disk is slow", "two brokers crash at the same tick")

#: Consequences that are counted.
COUNTED = ("fence", "controller", "election", "shrink", "removal", "expand")

#: The columns of their numbers, and the figures of the summary that they are.
FIGURES = {
    "elections": "leader_elections",
    "unclean_elections": "unclean_elections",
    "isr_shrinks": "isr_shrinks",
    "isr_expands": "isr_expands",
    "isr_removals": "isr_removals",
}

#: A condition of a partition, and since when.
Outage = tuple[str, int, int]


class Effect(NamedTuple):
    """A consequence, and the names of the faults that it is charged to; none: its reason."""

    kind: str
    partition: int | None
    faults: frozenset[str]
    reason: str | None


def effects_in(faults: list[Fault], folder: Path) -> list[Effect]:
    """Run the small cluster with faults, and charge what happens."""
    simulate(scenario_with(faults), folder)
    run = RunFolder(folder)
    names = [each["name"] for each in run.manifest["faults"]]
    return [
        Effect(
            each["effect"],
            each["partition"],
            frozenset(names[number] for number in each["faults"]),
            each["reason"],
        )
        for each in arrow_of_causes(runs_at(folder)[0]).to_pylist()
        if each["time_us"] < run.end_us
    ]


def outages_of(tables: RunTables) -> dict[Outage, frozenset[str]]:
    """All outages of a run, and the names of the faults that each is charged to."""
    found: defaultdict[Outage, set[str]] = defaultdict(set)
    for row in tables.rows(
        """
        select u.condition, u.partition, u.begin_us, c.fault_name
        from unavailable as u
        left join charged_outages as c on c.run = u.run and c.partition = u.partition
            and c.condition = u.condition and c.begin_us = u.begin_us
        """
    ):
        outage = (row["condition"], row["partition"], row["begin_us"])
        found[outage] |= {row["fault_name"]} - {None}
    return {outage: frozenset(names) for outage, names in found.items()}


class Sums(NamedTuple):
    """How many consequences of each kind the faults of a story are charged with."""

    together: Counter[str]
    #: In runs with one of the faults alone.
    alone: Counter[str]
    #: The reasons of what no fault is charged with.
    reasons: set[str | None]


def sums_of(story: str, folder: Path) -> Sums:
    """The sums of a story; consequences that several faults share count once."""
    faults = STORIES[story]
    together = effects_in(faults, folder / "together")
    alone = [e for each in faults for e in effects_in([each], folder / each["name"])]
    return Sums(
        Counter(each.kind for each in together if each.faults),
        Counter(each.kind for each in alone if each.faults),
        {each.reason for each in together if not each.faults},
    )


def of_isrs(counts: Counter[str]) -> int:
    """Replicas that were taken out, whoever was the first to do so."""
    return counts["shrink"] + counts["removal"]


@pytest.mark.parametrize("story", SHORT)
def test_faults_that_overlap_are_charged_with_as_much_as_each_of_them_alone(
    story: str, tmp_path: Path
) -> None:
    together, alone, reasons = sums_of(story, tmp_path)
    for kind in COUNTED:
        if kind not in ("shrink", "removal"):
            assert together[kind] == alone[kind], kind
    assert of_isrs(together) == pytest.approx(of_isrs(alone), rel=0.2)
    assert reasons == {"start-up"}


@pytest.mark.long
def test_over_ten_stories_the_sums_differ_by_less_than_a_tenth(tmp_path: Path) -> None:
    stories = [sums_of(story, tmp_path / str(n)) for n, story in enumerate(STORIES)]
    together = sum((each.together for each in stories), Counter())
    alone = sum((each.alone for each in stories), Counter())
    assert of_isrs(together) == pytest.approx(of_isrs(alone), rel=0.1)
    for kind in ("fence", "election", "expand"):
        assert together[kind] == pytest.approx(alone[kind], rel=0.1), kind
    whole = [sum(counts[kind] for kind in COUNTED) for counts in (together, alone)]
    assert whole[0] == pytest.approx(whole[1], rel=0.05)
    assert set().union(*(each.reasons for each in stories)) <= {"start-up", "preferred election"}


@pytest.mark.parametrize(
    "story", [SHORT[0], *(pytest.param(each, marks=pytest.mark.long) for each in STORIES)]
)
def test_all_causes_together_are_the_figures_of_the_summary(story: str, tmp_path: Path) -> None:
    simulate(scenario_with(STORIES[story]), tmp_path / "run")
    tables = RunTables(tmp_path / "run", tmp_path / "tables")
    tables.make(("cause_counts", "fault_costs", "run_figures"))
    (figures,) = tables.rows("select * from run_figures")
    causes = {row["cause"]: row for row in tables.rows("select * from cause_counts")}
    costs = tables.rows("select * from fault_costs")
    for name, figure in FIGURES.items():
        assert sum(row[name] for row in causes.values()) == figures[figure], name
        # A change that several share counts for each of them.
        by_one, by_several = (
            causes.get(cause, {}).get(name, 0) for cause in ("one fault", "several faults")
        )
        charged = sum(row[name] for row in costs)
        assert by_one + 2 * by_several <= charged <= by_one + len(costs) * by_several, name


def test_the_first_of_two_faults_is_not_charged_with_what_the_second_one_does(
    tmp_path: Path,
) -> None:
    """A crash during a slow disk: the disk has shrinks, the crash all else; each its returns."""
    found = effects_in(STORIES[SHORT[0]], tmp_path / "run")
    by_kind: defaultdict[str, set[str]] = defaultdict(set)
    for each in found:
        by_kind[each.kind] |= each.faults
    assert by_kind["election"] == {"crash-50s"}
    assert by_kind["shrink"] == {"slow_disk-30s"}
    assert by_kind["expand"] == {"crash-50s", "slow_disk-30s"}
    without_leader = {
        name
        for (condition, *_), names in outages_of(
            RunTables(tmp_path / "run", tmp_path / "t")
        ).items()
        if condition in ("offline", "not_accepting")
        for name in names
    }
    assert without_leader == {"crash-50s"}


def test_a_partition_is_under_min_isr_by_the_faults_of_all_missing_replicas(tmp_path: Path) -> None:
    """Replicas leave behind a slow disk; then a crash takes one more, which alone would not do."""
    effects_in(STORIES["the controller crashes as a slow disk makes ISRs shrink"], tmp_path)
    outages = outages_of(RunTables(tmp_path, tmp_path / "tables"))
    charged_to = {
        names for (condition, *_), names in outages.items() if condition == "under_min_isr"
    }
    assert charged_to == {frozenset({"crash-41s", "slow_disk-30s"})}


def test_a_pause_is_charged_with_the_time_in_which_nobody_leads_though_nobody_is_elected(
    tmp_path: Path,
) -> None:
    """It is over before the session is: the same leader leads on."""
    found = effects_in([fault("pause", "50s", "3s", brokers=[3])], tmp_path / "run")
    assert [each for each in found if each.kind == "election" and each.faults] == []
    outages = outages_of(RunTables(tmp_path / "run", tmp_path / "tables"))
    charged_to = {
        names for (condition, *_), names in outages.items() if condition == "not_accepting"
    }
    assert charged_to == {frozenset({"pause-50s"})}
