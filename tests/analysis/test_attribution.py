"""Each consequence is charged to the faults that have a part in it.

The test is counterfactual: a run with one fault alone has to show what is charged to that fault
alone. Consequences of start-up are charged to none, and a run without faults shows them all.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from overlapping_faults import STORIES, Fault, fault, scenario_with
from tidegauge.analysis.attribution import charges_of
from tidegauge.analysis.causes import causes_of, links_of
from tidegauge.analysis.fault_reach import roles_of
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.run_paths import runs_at
from tidegauge.engine.simulate import simulate
from tidegauge.traces.run_folder import RunFolder

#: Those of the short suite.
SHORT = ("a crash while another disk is slow", "two brokers crash at the same tick")
ALL = [pytest.param(story, marks=() if story in SHORT else pytest.mark.long) for story in STORIES]

#: A consequence as an operator names it: kind, partition, and of an election who led before.
Effect = tuple[str, int, int]
#: A condition of a partition, and since when.
Outage = tuple[str, int, int]


class Account(NamedTuple):
    """The consequences within a run with some faults."""

    effects: list[Effect]
    #: The names of the faults of each.
    faults: list[frozenset[str]]
    #: What the result tables charge.
    outages: dict[Outage, frozenset[str]]


def account(faults: list[Fault], folder: Path) -> Account:
    """Run the small cluster with faults, and charge what happens."""
    simulate(scenario_with(faults), folder)
    run = RunFolder(folder)
    links = links_of(runs_at(folder)[0])
    causes = causes_of(links)
    found = charges_of(links, causes, roles_of(run.manifest))
    within = [place for place, each in enumerate(found) if each.time_us < run.end_us]
    old_leaders = dict(
        zip(
            links.details["leader_elected"]["place"].tolist(),
            links.details["leader_elected"]["old_leader"].tolist(),
            strict=True,
        )
    )
    names = [fault["name"] for fault in run.manifest["faults"]]
    return Account(
        [
            (
                found[place].kind,
                found[place].partition,
                old_leaders.get(int(causes.rows[place]), -1),
            )
            for place in within
        ],
        [frozenset(names[fault] for fault in found[place].faults) for place in within],
        outages_of(RunTables(folder, folder / "tables")),
    )


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


@pytest.mark.parametrize("story", ALL)
def test_a_fault_alone_brings_about_what_is_charged_to_it_alone(story: str, tmp_path: Path) -> None:
    faults = STORIES[story]
    together = account(faults, tmp_path / "together")
    alone = {each["name"]: account([each], tmp_path / each["name"]) for each in faults}
    shown = {
        name: {effect for effect, names in zip(each.effects, each.faults, strict=True) if names}
        for name, each in alone.items()
    }
    without = account([], tmp_path / "without")
    shown[""] = {*without.effects}
    wrong = [
        (effect, name)
        for effect, charged_to in zip(together.effects, together.faults, strict=True)
        if len(charged_to) <= 1
        for name in (charged_to or {""})
        if effect not in shown[name]
    ]
    assert wrong == []
    # The same of conditions of partitions.
    seen = {name: {outage[:2] for outage in each.outages} for name, each in alone.items()}
    seen[""] = {outage[:2] for outage in without.outages}
    assert [
        (outage, name)
        for outage, charged_to in together.outages.items()
        if len(charged_to) <= 1
        for name in (charged_to or {""})
        if outage[:2] not in seen[name]
    ] == []


@pytest.mark.parametrize("story", ALL)
def test_what_a_fault_does_is_not_all_shared(story: str, tmp_path: Path) -> None:
    """At least a sixth of each story has exactly one fault; of all stories together it is half."""
    charged_to = [each for each in account(STORIES[story], tmp_path / "run").faults if each]
    exact = sum(len(each) == 1 for each in charged_to)
    assert exact >= len(charged_to) / 6


@pytest.mark.long
def test_over_all_stories_at_least_half_is_charged_to_exactly_one_fault(tmp_path: Path) -> None:
    found = [
        each
        for number, faults in enumerate(STORIES.values())
        for each in account(faults, tmp_path / str(number)).faults
        if each
    ]
    assert sum(len(each) == 1 for each in found) >= len(found) / 2


def test_the_first_of_two_faults_is_not_charged_with_what_the_second_one_does(
    tmp_path: Path,
) -> None:
    """A crash during a slow disk: the crash has the elections, the disk the shrinks."""
    found = account(STORIES[SHORT[0]], tmp_path / "run")
    by_kind = {
        kind: {
            name
            for effect, names in zip(found.effects, found.faults, strict=True)
            if effect[0] == kind
            for name in names
        }
        for kind in ("leader_elected", "isr_shrunk")
    }
    assert by_kind == {"leader_elected": {"crash-50s"}, "isr_shrunk": {"slow_disk-30s"}}
    without_leader = {
        name
        for (condition, *_), names in found.outages.items()
        if condition in ("offline", "not_accepting")
        for name in names
    }
    assert without_leader == {"crash-50s"}


def test_a_partition_is_under_min_isr_by_the_faults_of_all_missing_replicas(tmp_path: Path) -> None:
    """Replicas leave behind a slow disk; then a crash takes one more, which alone would not do."""
    found = account(STORIES["the controller crashes as a slow disk makes ISRs shrink"], tmp_path)
    charged_to = {
        names for (condition, *_), names in found.outages.items() if condition == "under_min_isr"
    }
    assert charged_to == {frozenset({"crash-41s", "slow_disk-30s"})}


def test_a_pause_is_charged_with_the_time_in_which_nobody_leads_though_nobody_is_elected(
    tmp_path: Path,
) -> None:
    """It is over before the session is: the same leader leads on."""
    found = account([fault("pause", "50s", "3s", brokers=[3])], tmp_path / "run")
    effects = zip(found.effects, found.faults, strict=True)
    assert [kind for (kind, *_), names in effects if kind == "leader_elected" and names] == []
    charged_to = {
        names for (condition, *_), names in found.outages.items() if condition == "not_accepting"
    }
    assert charged_to == {frozenset({"pause-50s"})}
