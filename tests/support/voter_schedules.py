"""A schedule for each ablation of KIP-853's rules, in which a promise falls without the rule.

A quorum of 4.4 begins with some of its controllers as voters; the others observe. Observers that
join by themselves ask for it all at once, so changes of the voters compete without any fault.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegauge.scenario.reading import Scenario, scenario_from_mapping

JOINS = {"controller.quorum.auto.join.enable": True}
#: A voter that hears nothing of its leader stands for election after a second.
FETCH = {"controller.quorum.fetch.timeout.ms": 1000}


def _quorum(
    seed: int,
    duration: str,
    count: int,
    voters: list[int],
    settings: dict[str, Any],
    *,
    faults: list[dict[str, Any]] | None = None,
    steps: list[dict[str, Any]] | None = None,
    **more: Any,
) -> Scenario:
    story: dict[str, Any] = {
        "duration": duration,
        "seed": seed,
        "release": "4.4",
        "liveness": False,
        "cluster": {"brokers": 1},
        "controllers": {"count": count, "settings": settings}
        | ({"voters": voters} if voters else {}),
        "topics": [{"name": "story", "assignment": {0: [1]}}],
        "faults": faults or [],
        "steps": steps or [],
    }
    return scenario_from_mapping(story | more, "voters")


def add(at: str, controller: int) -> dict[str, Any]:
    """The operator adds a controller to the voters."""
    return {"at": at, "do": "add_controller", "controller": controller}


def remove(at: str, controller: int) -> dict[str, Any]:
    """The operator removes a voter."""
    return {"at": at, "do": "remove_controller", "controller": controller}


def hit(kind: str, controller: int, at: str, lasts: str | None = None) -> dict[str, Any]:
    """A fault of one controller."""
    fault = {"kind": kind, "brokers": [f"controller:{controller}"], "at": at}
    return fault if lasts is None else fault | {"for": lasts}


def three_observers_join() -> Scenario:
    """The leader is asked to add the second one while the first is not committed."""
    return _quorum(1977210234, "1500ms", 4, [0], FETCH | JOINS)


def new_leader_is_asked_at_once() -> Scenario:
    """The operator removes the voter with the lost disk, as soon as there is a leader again."""
    faults = [
        hit("disk_loss", 2, "700ms"),
        hit("power_loss", 0, "3420ms", "3800ms"),
        hit("restart", 4, "8590ms"),
    ]
    settings = FETCH | {"controller.quorum.election.timeout.ms": 150}
    network = {"retransmission_after_cut": "50ms"}
    return _quorum(
        437423263, "9s", 5, [0, 2, 3, 4], settings,
        faults=faults, steps=[remove("8s", 2)], network=network,
    )  # fmt: skip


def two_of_four_are_removed() -> Scenario:
    """A voter counts those of three that it knows to be committed, or of two."""
    return _quorum(
        437423263, "520ms", 5, [0, 2, 3, 4],
        {"controller.quorum.election.backoff.max.ms": 50},
        steps=[remove("2ms", 3), remove("430ms", 0)],
        cluster={"brokers": 1, "start_spread": "0s"},
    )  # fmt: skip


def removal_is_truncated() -> Scenario:
    """A leader that nobody hears removes a voter, and finds another leader when it is heard."""
    slow = {
        "kind": "slow_link",
        "between": [["controller:2"], ["controller:1", "controller:3"]],
        "delay": "1500ms",
        "at": "4637ms",
        "for": "7ms",
    }
    settings = FETCH | JOINS | {"controller.quorum.election.backoff.max.ms": 50}
    return _quorum(
        1977210234, "5730ms", 4, [0], settings,
        faults=[slow], steps=[remove("4s", 0), remove("4437ms", 2)],
    )  # fmt: skip


def voter_has_an_empty_disk() -> Scenario:
    """It is asked for its vote with the directory that it had before."""
    settings = FETCH | JOINS | {"metadata.max.idle.interval.ms": 200}
    return _quorum(
        1977210234, "2400ms", 3, [0], settings, faults=[hit("disk_loss", 0, "1300ms", "1ms")]
    )


def voter_is_behind() -> Scenario:
    """A voter that was suspended stands for election with the others."""
    settings = FETCH | JOINS | {"metadata.max.idle.interval.ms": 200}
    faults = [hit("pause", 0, "2200ms"), hit("pause", 3, "1900ms", "300ms")]
    return _quorum(1977210234, "3500ms", 4, [0], settings, faults=faults)


def two_stand_at_once() -> Scenario:
    """The leader removes itself: two of three voters are candidates of the next epoch."""
    settings = FETCH | JOINS | {"controller.quorum.election.backoff.max.ms": 50}
    return _quorum(1977210234, "4800ms", 4, [0], settings, steps=[remove("4700ms", 0)])


def leader_is_heard_late() -> Scenario:
    """It writes on, until it hears of the one that the others have elected."""
    others = [f"controller:{number}" for number in range(1, 5)]
    slow = {"kind": "slow_link", "between": [["controller:0"], others], "delay": "1500ms"}
    return _quorum(437423263, "2s", 5, [], FETCH, faults=[slow | {"at": "1ms", "for": "500ms"}])


def leader_removes_itself_from_two() -> Scenario:
    """Its removal is committed by the other one alone."""
    return _quorum(1, "4s", 2, [0, 1], {}, steps=[remove("3s", 0)])


def leader_hands_over() -> Scenario:
    """A single voter adds another one, and removes itself."""
    return _quorum(1977210234, "8s", 4, [0], {}, steps=[add("1ms", 3), remove("3ms", 0)])


def only_voter_is_gone() -> Scenario:
    """Its disk is lost; the others are observers."""
    return _quorum(1977210234, "4s", 3, [0], {}, faults=[hit("disk_loss", 0, "200ms")])


def new_voter_does_not_know() -> Scenario:
    """All lose power before the new voter has the record, and its vote is needed."""
    slow: dict[str, Any] = {"kind": "slow_link", "between": [["controller:0"], ["controller:1"]]}
    faults: list[dict[str, Any]] = [
        slow | {"delay": "400ms", "at": "1ms", "for": "400ms"},
        {"kind": "power_loss", "brokers": ["controllers"], "at": "430ms", "for": "1ms"},
    ]
    return _quorum(
        1613843529, "14s", 3, [0], {},
        faults=faults, steps=[add("3ms", 1)], release="3.9", mode="kraft",
    )  # fmt: skip


#: A schedule for each ablation that breaks something.
VOTER_SCHEDULES: dict[str, Callable[[], Scenario]] = {
    "voter_change_before_last_one": three_observers_join,
    "voter_change_before_epoch": new_leader_is_asked_at_once,
    "committed_voters_count": two_of_four_are_removed,
    "truncated_voters_stay": removal_is_truncated,
    "vote_of_empty_directory": voter_has_an_empty_disk,
    "vote_for_shorter_log": voter_is_behind,
    "vote_given_twice": two_stand_at_once,
    "diverging_fetch_answered": leader_is_heard_late,
    "removed_leader_counts": leader_removes_itself_from_two,
    "removed_leader_stays": leader_hands_over,
    "observer_stands": only_voter_is_gone,
    "observer_does_not_vote": new_voter_does_not_know,
}
