"""Each consequence is charged to the faults that have a part in it.

The test is counterfactual: a run with one fault alone has to show what is charged to that fault
alone. Consequences of start-up are charged to none, and a run without faults shows them all.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from overlapping_faults import STORIES, Fault, scenario_with
from tidegauge.analysis.attribution import Charged, charged_outage, charges_of
from tidegauge.analysis.causes import causes_of, links_of
from tidegauge.analysis.fault_reach import roles_of
from tidegauge.analysis.run_paths import runs_at
from tidegauge.engine.simulate import simulate
from tidegauge.traces.run_folder import RunFolder

#: Those of the short suite.
SHORT = ("a crash while another disk is slow", "two brokers crash at the same tick")
ALL = [pytest.param(story, marks=() if story in SHORT else pytest.mark.long) for story in STORIES]

#: A consequence as an operator names it: kind, partition, and of an election who led before.
Effect = tuple[str, int, int]


class Outage(NamedTuple):
    """A time in which the process of a partition's leader is gone, and nobody else leads."""

    partition: int
    leader: int
    from_us: int
    to_us: int


class Account(NamedTuple):
    """The consequences within a run with some faults."""

    charged: list[Charged]
    effects: list[Effect]
    #: The names of the faults of each.
    faults: list[frozenset[str]]
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
    in_order = sorted(found, key=lambda each: each.time_us)
    return Account(
        found,
        [
            (
                found[place].kind,
                found[place].partition,
                old_leaders.get(int(causes.rows[place]), -1),
            )
            for place in within
        ],
        [frozenset(names[fault] for fault in found[place].faults) for place in within],
        {
            outage: frozenset(
                names[fault]
                for fault in charged_outage(
                    in_order, outage.partition, outage.from_us, outage.to_us
                )
            )
            for outage in outages_of(run)
        },
    )


def outages_of(run: RunFolder) -> list[Outage]:
    """The outages that end within the run, read row by row."""
    leaders: dict[int, int] = {}
    open_since: dict[int, tuple[int, int]] = {}
    found = []
    for row in run.all_rows(wanted=lambda kind: kind.name in ("became_leader", "broker_stopped")):
        if row.kind == "became_leader":
            began = open_since.pop(row["partition"], None)
            if began is not None:
                found.append(Outage(row["partition"], *began, row["time_us"]))
            leaders[row["partition"]] = row["process"]
        else:
            for partition, leader in leaders.items():
                if leader == row["process"]:
                    open_since.setdefault(partition, (leader, row["time_us"]))
    return [each for each in found if each.to_us < run.end_us]


@pytest.mark.parametrize("story", ALL)
def test_a_fault_alone_brings_about_what_is_charged_to_it_alone(story: str, tmp_path: Path) -> None:
    faults = STORIES[story]
    together = account(faults, tmp_path / "together")
    alone = {each["name"]: account([each], tmp_path / each["name"]) for each in faults}
    shown = {
        name: {effect for effect, names in zip(each.effects, each.faults, strict=True) if names}
        for name, each in alone.items()
    }
    shown[""] = {*account([], tmp_path / "without").effects}
    wrong = [
        (effect, name)
        for effect, charged_to in zip(together.effects, together.faults, strict=True)
        if len(charged_to) <= 1
        for name in (charged_to or {""})
        if effect not in shown[name]
    ]
    assert wrong == []
    # The same of outages: the partition, and whose process was gone.
    gone = {name: {each[:2] for each in found.outages} for name, found in alone.items()}
    exact = {
        each: name for each, names in together.outages.items() if len(names) == 1 for name in names
    }
    assert [each for each, name in exact.items() if each[:2] not in gone[name]] == []
    assert all(together.outages.values())


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
    assert {*found.outages.values()} == {frozenset({"crash-50s"})}


def test_a_time_in_which_nothing_happens_is_charged_as_what_was_before_it() -> None:
    charged = [
        Charged("isr_shrunk", 10, 3, frozenset({1})),
        Charged("isr_shrunk", 20, 4, frozenset({2})),
        Charged("isr_expanded", 30, 3, frozenset({5})),
    ]
    assert charged_outage(charged, 3, 15, 40) == {1}
    assert charged_outage(charged, 3, 5, 40) == {1}
    assert charged_outage(charged, 4, 5, 15) == frozenset()
