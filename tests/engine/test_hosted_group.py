"""Hosted groups, in threads as in actors: they meet, run and end, on one machine and on several."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from both_modes import in_mode
from linked_groups import drop
from process_groups import groups_of
from small_clusters import cluster_of
from threads import beside
from tidegauge.compiled.rules import COMPILED
from tidegauge.engine.group import Group
from tidegauge.engine.group_snapshots import SavedGroup
from tidegauge.engine.hosted_group import GroupOutcome, HostedGroup, Place
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.traces.checks.breaches import judged_rows

END_US = 650_000

Hashes = list[tuple[int, tuple[int, int]]]


def hosted_groups(
    nodes: Sequence[str],
    speed: float | None = None,
    plan: ClusterPlan | None = None,
    saved: Sequence[SavedGroup | None] | None = None,
) -> list[HostedGroup]:
    """A group on each of these nodes; all have met."""
    plan = plan or ClusterPlan(cluster_of())
    grouping = groups_of(plan.scenario, len(nodes))
    names = [f"group {number}" for number in range(len(nodes))]
    host = "127.0.0.1" if len(set(nodes)) > 1 else None
    groups = [
        HostedGroup(
            Place(plan, names, grouping, number, b"secret", 5, speed, 0, past),
            node,
            host,
        )
        for number, (node, past) in enumerate(zip(nodes, saved or [None] * len(nodes), strict=True))
    ]
    addresses = [group.address() for group in groups]
    for met in [beside(partial(group.meet, addresses)) for group in groups]:
        met.result(30)
    return groups


def run_all(groups: Sequence[HostedGroup], end_us: int = END_US) -> list[GroupOutcome]:
    """Run all groups to a time, each in a thread."""
    runs = [beside(partial(group.run_to, end_us)) for group in groups]
    return [run.result(120) for run in runs]


def hashes_of(groups: Sequence[HostedGroup | Group]) -> Hashes:
    return sorted(pair for group in groups for pair in group.counts().hashes.items())


def hashes_of_one(end_us: int = END_US) -> Hashes:
    """The hashes of the processes at a time, all in one group."""
    plan = ClusterPlan(cluster_of())
    group = Group(plan, range(len(plan.processes)))
    group.run_to(end_us, drop)
    return hashes_of([group])


def finish(groups: Sequence[HostedGroup]) -> None:
    for group in groups:
        group.finish()


@pytest.mark.parametrize(
    "nodes", ["aa", "aaa", "aaaaaaa", "ab", "abc", "aabb", "abab"], ids="-".join
)
def test_groups_have_the_hash_of_one_wherever_they_are(nodes: str) -> None:
    """Memory within a node, sockets between nodes; each letter is a group on that node."""
    groups = hosted_groups(nodes)
    assert run_all(groups) == [GroupOutcome(stopped=False, horizon_us=END_US)] * len(nodes)
    assert hashes_of(groups) == hashes_of_one()
    figures = [group.report().figures for group in groups]
    assert sum(figure.events for figure in figures) > 0
    assert all(figure.windows > 0 for figure in figures)
    finish(groups)


def test_groups_run_on_from_one_time_to_the_next() -> None:
    """As from the run to its liveness phase."""
    groups = hosted_groups("aab")
    for end_us in (300_000, 520_000, END_US):
        run_all(groups, end_us)
        assert hashes_of(groups) == hashes_of_one(end_us)
    finish(groups)


@pytest.mark.parametrize(
    ("before", "saved_s", "after", "end_s"),
    [
        ("aaa", 33.3, "aaa", 80),
        ("aaa", 22.3, "abc", 23),
        ("abc", 1.6, "aaa", 24),
        ("aab", 1.6, "abb", 2),
    ],
)
def test_saved_groups_go_on_wherever_they_are(
    before: str, saved_s: float, after: str, end_s: float
) -> None:
    """Each takes what is on its way to it before its state is copied, from other nodes as well.

    Some fetches are computed by two groups together, which need not be on one node afterwards.
    """
    plan = ClusterPlan(in_mode("kraft", trace="transitions"))
    saved_us, end_us = int(1e6 * saved_s), int(1e6 * end_s)
    groups = hosted_groups(before, plan=plan)
    run_all(groups, saved_us)
    written = [group.words_written() for group in groups]
    for group, words in zip(groups, zip(*written, strict=True), strict=True):
        group.save(words)
    saved = [SavedGroup(saved_us, group.packed(), None) for group in groups]
    finish(groups)
    again = hosted_groups(after, plan=plan, saved=saved)
    run_all(again, end_us)
    one = Group(plan, range(len(plan.processes)))
    one.run_to(end_us, drop)
    assert hashes_of(again) == hashes_of([one])
    finish(again)


@pytest.mark.parametrize("nodes", ["aaa", "aab", "abc"], ids="-".join)
def test_all_stop_at_one_virtual_time_and_can_be_read(nodes: str) -> None:
    """Those that are behind come to where the first one is, and no group is beyond."""
    # Idle fetches are known for a second: no group would have to wait before that.
    later_us = 3 * END_US
    groups = hosted_groups(nodes, speed=0.5)
    runs = [beside(partial(group.run_to, later_us)) for group in groups]
    time.sleep(0.2)
    for group in groups:
        group.stop()
    outcomes = [run.result(30) for run in runs]
    assert all(outcome.stopped for outcome in outcomes)
    end_us = max(outcome.horizon_us for outcome in outcomes)
    assert 0 < end_us < later_us
    assert run_all(groups, end_us) == [GroupOutcome(stopped=False, horizon_us=end_us)] * 3
    assert hashes_of(groups) == hashes_of_one(end_us)
    finish(groups)


@pytest.mark.parametrize("nodes", ["aa", "ab"], ids="-".join)
def test_reports_during_a_run_have_each_row_once(nodes: str) -> None:
    """And do not change it."""
    groups = hosted_groups(nodes, speed=1.0)
    runs = [beside(partial(group.run_to, END_US)) for group in groups]
    reports = []
    while not all(run.done() for run in runs):
        reports.append([group.report(with_snapshot=True) for group in groups])
        time.sleep(0.05)
    for group in groups:
        group.finish()
    reports.append([group.report() for group in groups])
    assert hashes_of(groups) == hashes_of_one()
    assert len(reports) > 5
    reached_us = [min(report.reached_us for report in both) for both in reports]
    assert reached_us == sorted(reached_us)
    assert 0 <= reached_us[0] < reached_us[-1] == END_US
    rows = [words for both in reports for report in both for words in report.rows]
    assert sum(words.nbytes for words in rows) == judged_bytes_of_one()


def judged_bytes_of_one() -> int:
    """The length of the rows that checks read, of all processes in one group."""
    plan = ClusterPlan(cluster_of())
    group = Group(plan, range(len(plan.processes)))
    found: list[Any] = []
    group.run_to(END_US, lambda rows: found.append(judged_rows(rows)))
    count = sum(int(rows.nbytes) for rows in found)
    assert count > 0
    return count


# A group that ends.


def fail(*_: object) -> int:
    raise RuntimeError("out of memory")


@pytest.mark.parametrize(("nodes", "dies"), [("aaaa", 2), ("aaaa", 0), ("aabb", 3), ("abc", 1)])
def test_a_group_that_dies_ends_all_others_and_is_named(
    nodes: str, dies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever has a socket to it names it; the others name one that has ended for that."""
    groups = hosted_groups(nodes)
    monkeypatch.setattr(groups[dies], "_run", fail)
    runs = [beside(partial(group.run_to, END_US)) for group in groups]
    with pytest.raises(RuntimeError, match="out of memory"):
        runs[dies].result(10)
    complaints = [run.result(10).complaint for run in runs if run is not runs[dies]]
    assert all(each.startswith("the link to group ") for each in complaints)
    assert any(f"the link to group {dies} is broken" in each for each in complaints)
    finish([group for group in groups if group is not groups[dies]])


# Plain Python.


RUN_HERE = "import test_hosted_group as test; print(test.told('aab'))"


def told(nodes: str) -> str:
    """The hashes of a run on these nodes, for another process."""
    groups = hosted_groups(nodes)
    run_all(groups)
    found = json.dumps(hashes_of(groups))
    finish(groups)
    return found


@pytest.mark.skipif(not COMPILED, reason="this is the plain run")
def test_groups_come_to_the_same_in_plain_python() -> None:
    """Steps of memory and system calls are the C library's there."""
    plain = subprocess.run(
        [sys.executable, "-c", RUN_HERE],
        env=os.environ
        | {
            "TIDEGAUGE_COMPILED": "0",
            "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
        },
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert plain.strip() == json.dumps(hashes_of_one())
