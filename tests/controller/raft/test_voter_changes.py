"""Quorums whose voters change (KIP-853): sets in force, refusals, and what may go wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from scenario_runs import run_of
from tidegauge.replication.errors import (
    DUPLICATE_VOTER,
    INVALID_UPDATE_VERSION,
    NONE,
    NOT_LEADER_OR_FOLLOWER,
    REQUEST_TIMED_OUT,
    UNSUPPORTED_VERSION,
    VOTER_NOT_FOUND,
)
from tidegauge.replication.voter_set import ANY_DIRECTORY, unpack
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.trace_rows.codes import (
    CHANGE_TIMED_OUT,
    LEADER,
    NEW_VOTER_LAGS,
    NEW_VOTER_NOT_AVAILABLE,
    RESIGNED,
    UNATTACHED,
    VOTERS_NOT_COMMITTED,
)
from tidegauge.traces.run_folder import RunFolder
from voter_stories import FIRST, SECOND, claims, cut, fault, states


def dynamic_story(
    *steps: Mapping[str, Any],
    voters: Iterable[int] = (0, 1, 2),
    count: int = 3,
    faults: Iterable[Mapping[str, Any]] = (),
    start: Mapping[int, str] | None = None,
    settings: Mapping[str, Any] | None = None,
    release: str = "4.4",
    duration: str = "20s",
) -> Scenario:
    """A cluster of one broker whose controllers were formatted with these first voters."""
    return scenario_from_mapping(
        {
            "release": release,
            "mode": "kraft",
            "duration": duration,
            "liveness": False,
            "cluster": {"brokers": 1},
            "controllers": {
                "count": count,
                "voters": list(voters),
                "start": dict(start or {}),
                "settings": dict(settings or {}),
            },
            "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
            "faults": [dict(each) for each in faults],
            "steps": [dict(each) for each in steps],
        },
        "voters",
    )


def step(do: str, controller: int, at_s: float, **more: Any) -> dict[str, Any]:
    """A step that adds or removes a controller."""
    return {"do": f"{do}_controller", "controller": controller, "at": f"{at_s}s", **more}


def sets_of(run: RunFolder, controller: int) -> list[tuple[float, list[tuple[int, int]]]]:
    """When a controller has had which voters in force, by its own log."""
    found: list[tuple[float, list[tuple[int, int]]]] = []
    for row in run.rows("quorum_voters"):
        voters = unpack(row["voters"])
        is_of_this = row["broker"] == FIRST + controller
        if is_of_this and (not found or found[-1][1] != voters):
            found.append((row["time_us"] / SECOND, voters))
    return found


def answers(run: RunFolder) -> list[tuple[int, int]]:
    """The error of each answered change of voters, and why it was refused."""
    return [(row["error"], row["voter_refusal"]) for row in run.rows("voter_change_answered")]


def committed_at(run: RunFolder, voters: list[tuple[int, int]]) -> float:
    """When a leader first commits this set of voters."""
    return min(
        row["time_us"] / SECOND
        for row in run.rows("quorum_voters")
        if row["voters_committed"] and unpack(row["voters"]) == voters
    )


def test_one_controller_grows_to_three(tmp_path: Path) -> None:
    """Recorded as q01: each is added once it has caught up, and the new set commits its record."""
    story = dynamic_story(
        step("add", 1, 2),
        step("add", 2, 4),
        voters=[0],
        start={2: "1s"},
    )
    run = run_of(story, tmp_path / "r")
    assert answers(run) == [(NONE, 0), (NONE, 0)]
    assert [voters for _, voters in sets_of(run, 0)] == [
        [(0, 1)],
        [(0, 1), (1, 1)],
        [(0, 1), (1, 1), (2, 1)],
    ]
    # One that was formatted with --no-initial-controllers knows none before it has fetched.
    assert sets_of(run, 2)[0] == (1.0, [])


def test_a_removed_leader_leads_until_that_is_committed_and_resigns(tmp_path: Path) -> None:
    """RemoveVoterHandler.highWatermarkUpdated: the next leader follows within 1.5 s (q03)."""
    run = run_of(dynamic_story(step("remove", 0, 5)), tmp_path / "r")
    assert answers(run) == [(NONE, 0)]
    resigned = next(each for each in states(run, 0) if each.state == RESIGNED)
    committed = committed_at(run, [(1, 1), (2, 1)])
    assert resigned.time_us / SECOND == pytest.approx(committed, abs=0.001)
    _, (at_us, leader, epoch) = claims(run)
    assert leader in (1, 2)
    assert epoch == 2
    assert 0.3 * SECOND < at_us - resigned.time_us < 1.5 * SECOND
    # It observes ever after, and stands for no election.
    assert {each.state for each in states(run, 0) if each.time_us > at_us}.isdisjoint({LEADER})


def test_why_a_leader_refuses_a_change(tmp_path: Path) -> None:
    """The refusals of AddVoterHandler and RemoveVoterHandler, as recorded in q14."""
    story = dynamic_story(
        step("add", 1, 1),
        step("add", 1, 2, directory=2),
        step("remove", 1, 3, directory=2),
        step("remove", 3, 4),
        step("add", 3, 5),
        step("add", 2, 6, to=1),
        count=4,
        start={3: "15s"},
    )
    run = run_of(story, tmp_path / "r")
    assert answers(run) == [
        (DUPLICATE_VOTER, 5),
        (DUPLICATE_VOTER, 5),
        (VOTER_NOT_FOUND, 6),
        (VOTER_NOT_FOUND, 6),
        (REQUEST_TIMED_OUT, int(NEW_VOTER_NOT_AVAILABLE)),
        (NOT_LEADER_OR_FOLLOWER, 11),
    ]
    assert len(sets_of(run, 0)) == 1


def test_the_only_voter_is_not_removed(tmp_path: Path) -> None:
    """VoterSet.removeVoter: a set has one voter at least."""
    run = run_of(dynamic_story(step("remove", 0, 2), voters=[0]), tmp_path / "r")
    assert answers(run) == [(VOTER_NOT_FOUND, 6)]


def test_an_observer_that_lags_is_not_added(tmp_path: Path) -> None:
    """LeaderState.isReplicaCaughtUp: one that the leader has never seen fetch all of its log.

    A cut lets it answer API_VERSIONS, but it could not fetch: its directory is a new one.
    """
    story = dynamic_story(
        step("add", 3, 2, directory=9),
        count=4,
    )
    run = run_of(story, tmp_path / "r")
    assert answers(run) == [(REQUEST_TIMED_OUT, int(NEW_VOTER_LAGS))]


def test_a_change_that_timed_out_takes_effect_later(tmp_path: Path) -> None:
    """Recorded as q13: the leader removes itself while another voter is dead.

    The record waits for both others, so the request is over after 2 s, and the leader resigns as
    no majority fetches. Its set is in the logs of two: the next leader commits it.
    """
    story = dynamic_story(
        step("remove", 0, 5),
        faults=[fault("crash", 2, at_s=3, for_s=7)],
        duration="25s",
    )
    run = run_of(story, tmp_path / "r")
    assert answers(run) == [(REQUEST_TIMED_OUT, int(CHANGE_TIMED_OUT))]
    answered_us = next(iter(run.rows("voter_change_answered")))["time_us"]
    assert answered_us == pytest.approx(7 * SECOND, abs=10_000)
    assert committed_at(run, [(1, 1), (2, 1)]) > 10
    _, (at_us, leader, _) = claims(run)
    assert leader in (1, 2)
    assert at_us > 10 * SECOND


def test_the_next_change_waits_for_the_commit_of_the_last_one(tmp_path: Path) -> None:
    """AddVoterHandler.handleAddVoterRequest: the last VotersRecord lies below the high watermark.

    The followers are paused, so the first removal is not committed when its request is over.
    """
    story = dynamic_story(
        step("remove", 1, 5, to=0),
        step("remove", 2, 7.2, to=0),
        faults=[fault("pause", 1, 2, at_s=4.8, for_s=6)],
    )
    run = run_of(story, tmp_path / "r")
    assert answers(run)[:2] == [
        (REQUEST_TIMED_OUT, int(CHANGE_TIMED_OUT)),
        (REQUEST_TIMED_OUT, int(VOTERS_NOT_COMMITTED)),
    ]


def test_a_truncation_takes_a_voter_set_back(tmp_path: Path) -> None:
    """VoterSetHistory.truncateNewEntries: a leader that is cut off could not commit its record.

    Controllers elect another leader by the set that they have; the former one follows it, and has
    the voters from before again.
    """
    story = dynamic_story(
        step("remove", 1, 5, to=0),
        faults=[cut(0, [1, 2], 4.9, 8)],
        duration="25s",
    )
    run = run_of(story, tmp_path / "r")
    everyone = [(0, 1), (1, 1), (2, 1)]
    assert [voters for _, voters in sets_of(run, 0)] == [everyone, [(0, 1), (2, 1)], everyone]
    assert sets_of(run, 1) == [(0.0, everyone)]


def test_a_lost_disk_is_a_voter_less_although_the_process_runs(tmp_path: Path) -> None:
    """Recorded as q18: the empty controller observes beside a voter that never fetches.

    When one more voter dies, two of three processes run, and none can be elected.
    """
    story = dynamic_story(
        faults=[fault("disk_loss", 1, at_s=3, for_s=2), fault("crash", 0, at_s=8, for_s=20)],
        duration="25s",
    )
    run = run_of(story, tmp_path / "r")
    assert sets_of(run, 1)[-1][1] == [(0, 1), (1, 1), (2, 1)]
    assert [voter for _, voter, _ in claims(run)] == [0]
    assert not {each.state for each in states(run, 1) if each.time_us > 5 * SECOND} & {LEADER}


def test_automatic_join_replaces_a_lost_disk(tmp_path: Path) -> None:
    """KIP-1186, recorded as q07: it removes the voter that it was, then adds itself."""
    story = dynamic_story(
        faults=[fault("disk_loss", 1, at_s=3, for_s=1)],
        settings={"controller.quorum.auto.join.enable": True},
    )
    run = run_of(story, tmp_path / "r")
    (_, before), (removed_s, without), (added_s, after) = sets_of(run, 0)
    assert (before, without, after) == (
        [(0, 1), (1, 1), (2, 1)],
        [(0, 1), (2, 1)],
        [(0, 1), (1, 2), (2, 1)],
    )
    began_s = next(each.time_us for each in states(run, 1) if each.time_us > 3.5 * SECOND) / SECOND
    assert 2.0 < removed_s - began_s < 3.0
    assert 2.0 < added_s - removed_s < 3.0


def test_automatic_join_came_with_4_2(tmp_path: Path) -> None:
    """An observer of 4.1 waits until an operator adds it."""
    story = dynamic_story(
        faults=[fault("disk_loss", 1, at_s=3, for_s=1)],
        release="4.1",
    )
    run = run_of(story, tmp_path / "r")
    assert not answers(run)


def test_remove_first_or_add_first(tmp_path: Path) -> None:
    """A dead voter of three: with the new one there are four, of which three must live.

    Added first (q09), one more failure stops all; removed first and then added, it does not.
    """
    dead = fault("crash", 2, at_s=3, for_s=60)
    second = fault("crash", 1, at_s=12, for_s=60)
    add_first = dynamic_story(step("add", 3, 5), count=4, faults=[dead, second], duration="30s")
    replaced = dynamic_story(
        step("remove", 2, 5), step("add", 3, 7), count=4, faults=[dead, second], duration="30s"
    )
    stopped = run_of(add_first, tmp_path / "added")
    goes_on = run_of(replaced, tmp_path / "removed")
    left = [each for each in states(stopped, 0) if each.time_us > 12 * SECOND]
    assert left[0].state == RESIGNED
    assert 14 < left[0].time_us / SECOND < 15.6
    assert not [each for each in states(goes_on, 0) if each.time_us > 12 * SECOND]
    assert len(claims(stopped)) == len(claims(goes_on)) == 1


def test_static_voters_become_such_that_may_change(tmp_path: Path) -> None:
    """KAFKA-16538, recorded as q15: first the leader has to know the directories of all voters."""
    story = dynamic_story(
        {"do": "update_features", "at": "500ms", "kraft_version": 1},
        step("remove", 2, 1),
        {"do": "update_features", "at": "5s", "kraft_version": 1},
        step("remove", 2, 8),
        voters=(),
    )
    run = run_of(story, tmp_path / "r")
    assert [row["error"] for row in run.rows("step_answered")] == [
        INVALID_UPDATE_VERSION,
        UNSUPPORTED_VERSION,
        NONE,
        NONE,
    ]
    unnamed = int(ANY_DIRECTORY)
    assert [voters for _, voters in sets_of(run, 1)] == [
        [(0, unnamed), (1, unnamed), (2, unnamed)],
        [(0, 1), (1, 1), (2, 1)],
        [(0, 1), (1, 1)],
    ]


def test_a_follower_of_a_leader_that_is_no_voter_looks_for_it(tmp_path: Path) -> None:
    """QuorumState.initialize@3.9.0: it is unattached, as the leader's endpoint is unknown.

    The leader has removed itself; the record waits for the follower, which is killed with it.
    """
    story = dynamic_story(
        step("remove", 0, 5),
        faults=[fault("crash", 2, at_s=3, for_s=20), fault("crash", 1, at_s=5.5, for_s=0.1)],
    )
    run = run_of(story, tmp_path / "r")
    back = next(each for each in states(run, 1) if each.time_us > 5.6 * SECOND)
    assert back.state == UNATTACHED
