"""Quorums that no voter can lead any more, by KIP-853 and KIP-996, and two more of its cases.

Random schedules have found these (``tidegauge fuzz --voters``).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import run_of
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import LEADER, UNATTACHED
from tidegauge.traces.checks.histories import (
    BY_FOLLOWING_OBSERVER,
    BY_LATE_REMOVAL,
    BY_LOST_DISKS,
    BY_REMOVED_LEADER,
    PERMITS,
)
from tidegauge.traces.run_folder import RunFolder
from voter_schedules import add, hit, remove

S = 1_000_000


def quorum(
    voters: list[int],
    faults: list[dict[str, Any]],
    steps: list[dict[str, Any]],
    *,
    duration: str = "30s",
    release: str = "4.4",
    count: int = 4,
    **more: Any,
) -> Scenario:
    story = {
        "duration": duration,
        "release": release,
        "mode": "kraft",
        "liveness": True,
        "cluster": {"brokers": 1},
        "controllers": {"count": count, "voters": voters},
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
        "faults": faults,
        "steps": steps,
    }
    return scenario_from_mapping(story | more, "stuck")


def link(
    kind: str, one: int, others: list[int], at: str, lasts: str, **more: Any
) -> dict[str, Any]:
    ends = [[f"controller:{one}"], [f"controller:{other}" for other in others]]
    return {"kind": kind, "between": ends, "at": at, "for": lasts} | more


def verdict(run: RunFolder, check: str) -> tuple[Any, Any]:
    assert run.summary is not None
    found = run.summary["checks"][check]
    return found["verdict"], found["permitted_by"]


def leaders_since(run: RunFolder, time_us: int) -> list[int]:
    return [
        row["broker"] - 1
        for row in run.rows("voter_state")
        if row["time_us"] > time_us and row["voter_state"] == LEADER
    ]


def test_two_voters_lose_the_one_that_removes_itself_unheard(tmp_path: Path) -> None:
    """QuorumState.transitionToProspective@4.1.0: its log is the newest, and it is no voter by it.

    It appends its removal while it is cut off from the other voter, and crashes. The other one
    needs its vote, which is refused for the shorter log.
    """
    faults = [link("cut_link", 0, [1], "3s", "5s"), hit("crash", 0, "3500ms", "1s")]
    run = run_of(quorum([0, 1], faults, [remove("3100ms", 0)], count=2), tmp_path / "r")
    assert leaders_since(run, 4 * S) == []
    assert verdict(run, "quorum_progress") == (False, PERMITS[int(BY_REMOVED_LEADER)])
    assert verdict(run, "liveness") == (False, PERMITS[int(BY_REMOVED_LEADER)])


@pytest.mark.parametrize(("release", "elects"), [("4.4", False), ("3.9", True)])
def test_a_new_voter_that_does_not_know_it_refuses_pre_votes(
    release: str, elects: bool, tmp_path: Path
) -> None:
    """FollowerState.canGrantVote@4.1.0 (KIP-996): it follows the lost leader, as an observer does.

    The leader adds voter 3, which hears late of it, as 2 does; then its disk is lost. Voter 1 knows
    four voters, and needs the votes of 2 and 3. Up to 3.9 it raises the epoch, so 3 votes.
    """
    faults = [
        link("slow_link", 0, [2, 3], "3s", "3s", one_way=True, delay="600ms"),
        hit("disk_loss", 0, "3800ms"),
    ]
    run = run_of(quorum([0, 1, 2], faults, [add("3100ms", 3)], release=release), tmp_path / "r")
    assert (leaders_since(run, 5 * S) != []) == elects
    permitted_by = None if elects else PERMITS[int(BY_FOLLOWING_OBSERVER)]
    assert verdict(run, "quorum_progress") == (elects, permitted_by)


def test_a_majority_that_has_lost_its_disks_elects_nobody(tmp_path: Path) -> None:
    """KIP-853: their new directories are no voters, so nothing that was committed is forgotten."""
    faults = [hit("disk_loss", number, "5s", "1s") for number in (0, 1)]
    run = run_of(quorum([0, 1, 2], faults, []), tmp_path / "r")
    assert leaders_since(run, 5 * S) == []
    assert verdict(run, "quorum_progress") == (False, PERMITS[int(BY_LOST_DISKS)])
    assert verdict(run, "committed_metadata_kept") == (True, None)


def test_a_leader_whose_removal_comes_late_leads_on(tmp_path: Path) -> None:
    """RemoveVoterHandler.highWatermarkUpdated@4.1.0: a request that has timed out is forgotten.

    The followers hear of its removal after 2.5 s, later than controller.quorum.request.timeout.ms.
    """
    slow = link("slow_link", 0, [1, 2], "3s", "100ms", one_way=True, delay="2500ms")
    settings = {"controller.quorum.fetch.timeout.ms": 6000}
    controllers = {"count": 3, "voters": [0, 1, 2], "settings": settings}
    scenario = quorum([0, 1, 2], [slow], [remove("3010ms", 0)], controllers=controllers)
    run = run_of(scenario, tmp_path / "r")
    assert leaders_since(run, 3 * S) == []
    assert verdict(run, "roles_match_states") == (False, PERMITS[int(BY_LATE_REMOVAL)])


def test_nobody_else_leads_in_the_epoch_of_a_removed_leader(tmp_path: Path) -> None:
    """UnattachedState.canGrantVote@4.1.0: a controller that starts knows the leader of its epoch.

    Voter 2 stood in the epoch that 1 has won, and then 1 was removed. Controllers 0 and 2 start
    again; 2 is a candidate of that epoch still, and 0 does not vote for it.
    """
    controllers = {
        "count": 4,
        "voters": [0, 1, 2, 3],
        "settings": {
            "controller.quorum.election.timeout.ms": 600,
            "controller.quorum.election.backoff.max.ms": 50,
        },
    }
    scenario = quorum(
        [],
        [hit("power_loss", 0, "1190ms", "1ms"), hit("power_loss", 2, "1190ms", "1ms")],
        [remove("70ms", 0), add("1s", 0), remove("1140ms", 1)],
        duration="12s",
        release="4.1",
        seed=752230492,
        controllers=controllers,
        cluster={"brokers": 1, "start_spread": "0s"},
        network={"between_racks": "20ms"},
    )
    run = run_of(scenario, tmp_path / "r")
    assert verdict(run, "one_quorum_leader") == (True, None)
    started = [
        row
        for row in run.rows("voter_state")
        if row["broker"] == 1 and row["time_us"] > 1.19 * S and row["voter_state"] == UNATTACHED
    ]
    assert (started[0]["quorum_epoch"], started[0]["quorum_leader"]) == (2, 2)
