"""Steps that change the voters of a quorum, as kafka-metadata-quorum.sh does (KIP-853).

Brokers are nodes 0 to 2 in rows, controllers 3, 4, ... are those behind them. Each story is one
that was recorded with controllers of 4.4.0.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from process_groups import drawn_groups
from quorum_stories import SECOND, quorum_story
from scenario_runs import rows_of, run_of
from tidegauge.engine.branching import branch, branched_scenario, read_past
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.replication import errors
from tidegauge.replication.voter_set import unpack
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.trace_rows import codes
from tidegauge.traces.run_folder import RunFolder

#: The node of controller:0.
FIRST = 3
AUTO_JOIN = {"controller.quorum.auto.join.enable": True}


def story(steps: list[dict[str, Any]], *, release: str = "4.4", **controllers: Any) -> Scenario:
    """A cluster with these controllers; some parts may be the scenario's own."""
    own = {"broker.session.timeout.ms": 4000} | controllers.pop("settings", {})
    names = {"faults", "duration", "metadata_version"} & controllers.keys()
    parts = {name: controllers.pop(name) for name in names}
    quorum = {"settings": own} | controllers
    return quorum_story([[1, 2, 3]], steps=steps, release=release, controllers=quorum, **parts)


def step(do: str, controller: int, **others: Any) -> dict[str, Any]:
    begins = {} if {"at", "when"} & others.keys() else {"after": "1s"}
    return {"do": do, "controller": controller, **begins, **others}


def wait(**condition: Any) -> dict[str, Any]:
    return {"do": "wait", "when": condition, "within": "20s"}


def answers(run: RunFolder) -> list[str]:
    """The error that each request of a step was answered with, in their order."""
    rows = sorted(run.rows("step_answered"), key=lambda row: row["step"])
    return [errors.NAMES[row["error"]] for row in rows]


def committed(run: RunFolder) -> list[list[tuple[int, int]]]:
    """The voters that leaders have committed, with their directories, without repetitions."""
    sets: list[list[tuple[int, int]]] = []
    for row in rows_of(run, "quorum_voters", voters_committed=1):
        voters = unpack(row["voters"])
        if not sets or sets[-1] != voters:
            sets.append(voters)
    return sets


def timed_out(run: RunFolder) -> int:
    """The number of steps whose condition did not hold in time."""
    return len([*run.rows("step_timed_out")])


def refusals(run: RunFolder) -> list[str]:
    rows = run.rows("voter_change_answered")
    return [codes.VOTER_REFUSALS[row["voter_refusal"]] for row in rows if row["voter_refusal"]]


def test_a_new_controller_is_added_once_it_has_caught_up(tmp_path: Path) -> None:
    """From one voter, formatted with --standalone, to three; new ones have empty directories."""
    steps = [
        step("add_controller", 1, when={"observes": 1}, within="20s"),
        wait(voters=[0, 1]),
        step("add_controller", 2, when={"observes": 2}, within="20s"),
        wait(voters=[0, 1, 2]),
    ]
    scenario = story(steps, count=3, voters=[0], start={1: "5s", 2: "12s"})
    run = run_of(scenario, tmp_path)
    assert answers(run) == ["NONE", "NONE"]
    assert committed(run) == [[(0, 1), (1, 1)], [(0, 1), (1, 1), (2, 1)]]
    taken = [row["time_us"] / SECOND for row in run.rows("step_taken")]
    assert 5 < taken[0] < 7
    assert 12 < taken[2] < 14
    assert timed_out(run) == 0


def test_a_controller_that_has_not_started_is_no_observer(tmp_path: Path) -> None:
    """AddRaftVoter fails at once, as API_VERSIONS does (q17); the condition waits in vain."""
    steps = [
        step("add_controller", 1, at="3s"),
        {"do": "wait", "when": {"observes": 1}, "within": "5s"},
        step("add_controller", 1),
    ]
    run = run_of(story(steps, count=2, voters=[0], start={1: "30s"}), tmp_path)
    assert answers(run) == ["REQUEST_TIMED_OUT"]
    assert refusals(run) == ["API_VERSIONS returned an error BROKER_NOT_AVAILABLE"]
    (answered,) = run.rows("step_answered")
    assert answered["time_us"] < 3.2 * SECOND
    assert timed_out(run) == 1


def test_the_active_controller_is_removed_and_another_one_answers_from_then_on(
    tmp_path: Path,
) -> None:
    """It leads until the set without it is committed, and then hands over (q03)."""
    steps = [
        step("remove_controller", 0, at="10s"),
        wait(voters=[1, 2]),
        step("add_controller", 0, when={"observes": 0}, within="20s"),
    ]
    run = run_of(story(steps, count=3, voters=[0, 1, 2]), tmp_path)
    removed, added = (row["from_process"] - FIRST - 1 for row in run.rows("step_answered"))
    assert answers(run) == ["NONE", "NONE"]
    assert removed == 0
    assert added in (1, 2)
    assert committed(run) == [[(1, 1), (2, 1)], [(0, 1), (1, 1), (2, 1)]]


def test_what_kafka_refuses_is_the_answer_of_the_step(tmp_path: Path) -> None:
    """As q14: a duplicate, another directory, an unknown voter, the only one, not the leader."""
    steps = [
        step("add_controller", 1, at="10s"),
        step("remove_controller", 1, directory=2),
        step("remove_controller", 3),
        step("add_controller", 3, to=2),
        step("remove_controller", 1, to=1),
        step("remove_controller", 1),
        step("remove_controller", 2),
        step("remove_controller", 0),
    ]
    run = run_of(story(steps, count=4, voters=[0, 1, 2]), tmp_path)
    assert answers(run) == [
        *("DUPLICATE_VOTER", "VOTER_NOT_FOUND", "VOTER_NOT_FOUND"),
        *("NOT_LEADER_OR_FOLLOWER", "NOT_LEADER_OR_FOLLOWER", "NONE", "NONE", "VOTER_NOT_FOUND"),
    ]


def test_a_follower_is_asked_in_vain_only_where_the_step_names_it(tmp_path: Path) -> None:
    """Without ``to`` the operator looks for the leader, which is another one since the crash."""
    fault = {"name": "dead", "kind": "crash", "at": "5s", "brokers": ["controller:0"]}
    steps = [step("remove_controller", 0, at="15s"), wait(voters=[1, 2])]
    run = run_of(story(steps, count=3, voters=[0, 1, 2], faults=[fault]), tmp_path)
    assert answers(run) == ["NONE"]
    assert timed_out(run) == 0


def test_a_controller_that_is_asked_by_its_number_is_asked_once(tmp_path: Path) -> None:
    """One of two voters is dead: nothing is committed, and the leader resigns 3 s later (q10)."""
    fault = {"name": "dead", "kind": "crash", "at": "12s", "brokers": ["controller:1"]}
    kept: dict[str, Any] = {"do": "configure", "topic": "t0", "to": 0}
    kept["settings"] = {"min.insync.replicas": 1}
    steps: list[dict[str, Any]] = [
        kept | {"at": "11s"},
        kept | {"at": "12100ms", "timeout": "1s"},
        kept | {"after": "10ms"},
        kept | {"after": "10ms"},
        kept | {"after": "10ms", "to": 1},
        {"do": "wait", "when": {"leads": [0, 1]}, "within": "5s"},
    ]
    scenario = story(steps, count=3, voters=[0, 1], start={2: "1h"}, faults=[fault])
    run = run_of(scenario, tmp_path)
    assert answers(run) == ["NONE", "NOT_CONTROLLER", "NOT_CONTROLLER"]
    lost = [(row["step"], errors.NAMES[row["error"]]) for row in run.rows("step_unanswered")]
    assert lost == [(1, "REQUEST_TIMED_OUT"), (4, "NETWORK_EXCEPTION")]
    assert run.summary is not None
    assert run.summary["steps_timed_out"] == 1


def test_a_step_waits_until_another_controller_leads(tmp_path: Path) -> None:
    steps = [
        step("remove_controller", 0, at="10s"),
        {"do": "wait", "when": {"leads": [1, 2]}, "within": "5s"},
    ]
    run = run_of(story(steps, count=3, voters=[0, 1, 2]), tmp_path)
    _, waited = run.rows("step_taken")
    (elected,) = rows_of(run, "voter_state", voter_state=int(codes.LEADER), quorum_epoch=2)
    assert elected["broker"] - FIRST in (1, 2)
    # The former leader names itself until its election time-out, of 1 to 2 s, is over.
    assert 0 <= waited["time_us"] - elected["time_us"] < 2 * SECOND


def test_a_follower_that_is_removed_joins_again_within_a_fetch_timeout(tmp_path: Path) -> None:
    """It looks each controller.quorum.fetch.timeout.ms, 2 s, also as a voter (q05).

    Source: KafkaRaftClient.pollFollowerAsVoter, pollFollowerAsObserver@4.2.0.
    """
    steps = [wait(voters=[0, 1, 2]), step("remove_controller", 1, after="10s")]
    scenario = story(steps, count=3, voters=[0, 1, 2], settings=AUTO_JOIN)
    away_us = []
    for seed in (1, 2, 3):
        folder = tmp_path / str(seed)
        run = run_of(scenario.model_copy(update={"seed": seed}), folder)
        removed, added = rows_of(run, "quorum_voters", broker=FIRST, voters_committed=0)[-2:]
        away_us.append(added["time_us"] - removed["time_us"])
    # A fetch waits for 0.5 s at most before it looks.
    assert 0 < min(away_us) < 2 * SECOND
    assert max(away_us) < 2.6 * SECOND


LOST = {"name": "lost", "kind": "disk_loss", "at": "5s", "for": "3s", "brokers": ["controller:1"]}


def test_a_controller_that_lost_its_disk_is_removed_before_it_is_added(tmp_path: Path) -> None:
    """It observes with its second directory beside the voter that it was (q06)."""
    steps = [
        step("add_controller", 1, when={"observes": 1}, within="20s"),
        step("remove_controller", 1),
        step("add_controller", 1, when={"voters": [0, 2]}, within="5s"),
        wait(voters=[0, 1, 2]),
    ]
    run = run_of(story(steps, count=3, voters=[0, 1, 2], faults=[LOST]), tmp_path)
    assert answers(run) == ["DUPLICATE_VOTER", "NONE", "NONE"]
    assert committed(run) == [[(0, 1), (2, 1)], [(0, 1), (1, 2), (2, 1)]]
    assert next(run.rows("step_taken"))["time_us"] > 8 * SECOND


def test_with_automatic_join_it_does_both_by_itself(tmp_path: Path) -> None:
    """controller.quorum.auto.join.enable (KIP-1186, q07): two voters in between."""
    steps = [wait(voters=[0, 2]), wait(voters=[0, 1, 2])]
    scenario = story(steps, count=3, voters=[0, 1, 2], settings=AUTO_JOIN, faults=[LOST])
    run = run_of(scenario, tmp_path)
    assert timed_out(run) == 0
    assert committed(run)[-1] == [(0, 1), (1, 2), (2, 1)]


def test_static_voters_change_once_kraft_version_is_raised(tmp_path: Path) -> None:
    """KAFKA-16538, q15: UNSUPPORTED_VERSION at first."""
    steps = [
        step("remove_controller", 2, at="10s"),
        {"do": "update_features", "after": "1s", "kraft_version": 1},
        step("remove_controller", 2),
    ]
    run = run_of(story(steps, count=3), tmp_path)
    assert answers(run) == ["UNSUPPORTED_VERSION", "NONE", "NONE"]
    assert committed(run) == [[(0, 1), (1, 1), (2, 1)], [(0, 1), (1, 1)]]


@pytest.mark.parametrize(("to", "is_raised"), [("3.8", False), ("4.0", True), ("4.4", True)])
def test_a_release_version_from_3_9_on_raises_kraft_version(
    to: str, is_raised: bool, tmp_path: Path
) -> None:
    """kafka-features.sh --release-version has all features of the release."""
    steps = [
        {"do": "update_features", "at": "10s", "release_version": to},
        step("remove_controller", 2),
    ]
    run = run_of(story(steps, count=3, metadata_version="3.7"), tmp_path)
    assert answers(run) == ["NONE", "NONE" if is_raised else "UNSUPPORTED_VERSION"]


@pytest.mark.parametrize("acks_when_committed", [True, False])
def test_the_answer_comes_with_the_commit_or_already_with_the_append(
    acks_when_committed: bool, tmp_path: Path
) -> None:
    """AddRaftVoter v1, ackWhenCommitted (4.2)."""
    added = step("add_controller", 1, at="10s", ack_when_committed=acks_when_committed)
    run = run_of(story([added], count=2, voters=[0], duration="20s"), tmp_path)
    assert answers(run) == ["NONE"]
    (answered,) = run.rows("voter_change_answered")
    (is_committed,) = rows_of(run, "quorum_voters", voters_committed=1)
    assert (answered["sequence"] > is_committed["sequence"]) == acks_when_committed


def test_a_branch_can_raise_kraft_version_of_a_run_with_static_voters(tmp_path: Path) -> None:
    """Its voters tell their directories from the joint on, which no leader had asked for before."""
    past = simulate(story([], count=3), tmp_path / "past", snapshots_us=[10 * SECOND])
    steps = [
        {"do": "update_features", "at": "15s", "kraft_version": 1},
        step("remove_controller", 2),
    ]
    scenario = branched_scenario(past, {}, steps=steps)
    run = branch(read_past(past.path, 10 * SECOND), scenario, tmp_path / "branch")
    assert answers(run) == ["NONE", "NONE"]
    assert [*past.rows("voter_change_answered")] == []


def test_changes_of_voters_are_the_same_in_groups_of_processes(tmp_path: Path) -> None:
    """The operator, in a group of its own, is a client of the quorum like any other."""
    steps = [
        step("add_controller", 1, when={"observes": 1}, within="20s"),
        step("remove_controller", 0),
        wait(voters=[1, 2]),
    ]
    scenario = story(steps, count=3, voters=[0, 2], start={1: "5s"}, faults=[LOST])
    one = simulate(scenario, tmp_path / "one")
    many = simulate(scenario, tmp_path / "many", make_engine=inline(drawn_groups(scenario, 3)))
    hashes = [(run.summary or {})["trace_sha256"] for run in (one, many)]
    assert hashes[0] == hashes[1]


def test_a_change_may_be_the_first_record_of_a_run(tmp_path: Path) -> None:
    """The voters that it changes were committed before the run, which no row has told up to 4.0."""
    scenario = story(
        [step("add_controller", 1, at="50ms")],
        count=3,
        voters=[0, 2],
        duration="10s",
        release="4.0",
    )
    run = run_of(scenario, tmp_path)
    assert answers(run) == ["NONE"]
    verdicts = (run.summary or {})["checks"]
    assert verdicts["one_voter_change"]["verdict"] is True
