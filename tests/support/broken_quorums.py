"""Quorums without a rule that Raft rests on: each breaks the check of its name.

Run as a program, in plain Python, with a folder for the runs: it leaves out one rule after the
other, each in a process of its own, plays its schedule, and prints the checks that are broken.
"""

# ruff: noqa: SLF001, ARG005 (rules that are left out are private, and keep their arguments' names)

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.controller.kraft import observers
from tidegauge.controller.raft import elections, replication
from tidegauge.controller.raft.state import this_voter
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import scenario_from_mapping

ALL_OTHERS = ["controller:1", "controller:2"]
LEADER_CRASHES = {"kind": "crash", "brokers": ["controller:0"], "at": "5s", "for": "3s"}


def _votes_for_everybody() -> None:
    """Votes: no look at the vote of the epoch, nor at the candidate's log."""
    elections._grants = lambda world, request: True


def _truncates_nothing() -> None:
    """A leader takes what a follower has for what it has itself."""
    replication._diverges = lambda world, request: False


def _counts_nobody() -> None:
    """A leader takes what it has written for what a majority has."""
    replication._majority_offset = lambda world: this_voter(world).drained_offset


def _tells_what_is_not_committed() -> None:
    """A leader announces to brokers the leader epoch that it is about to write."""
    name = observers._name

    def name_next(world: Any, response: Any, partition: int, slot: int) -> None:
        known = world.committed_partitions[partition]
        known.leader_epoch += 1
        name(world, response, partition, slot)
        known.leader_epoch -= 1

    observers._name = name_next


def _elects_nobody() -> None:
    """A voter that would be elected does not stand for election."""
    elections.stand_for_election = lambda world: None


class BrokenQuorum(NamedTuple):
    """A rule that is left out, and the faults that need it."""

    leaves_out: Callable[[], None]
    faults: list[dict[str, Any]]


BROKEN = {
    # Both followers miss the leader at the same time, and hear of each other late.
    "one_quorum_leader": BrokenQuorum(
        _votes_for_everybody,
        [
            LEADER_CRASHES,
            {
                "kind": "slow_link",
                "between": [["controller:1"], ["controller:2"]],
                "delay": "300ms",
                "at": "1s",
                "for": "12s",
            },
        ],
    ),
    # Who has missed records asks for votes as soon as it is heard again.
    "quorum_leader_complete": BrokenQuorum(
        _votes_for_everybody,
        [
            {
                "kind": "cut_link",
                "between": [["controller:2"], ["controller:0", "controller:1"]],
                "at": "3s",
                "for": "6s",
            }
        ],
    ),
    # A leader that is cut off writes on, until it resigns.
    "metadata_log_matching": BrokenQuorum(
        _truncates_nothing,
        [{"kind": "cut_link", "between": [["controller:0"], ALL_OTHERS], "at": "3s", "for": "9s"}],
    ),
    "committed_metadata_kept": BrokenQuorum(_counts_nobody, []),
    "brokers_behind_metadata": BrokenQuorum(_tells_what_is_not_committed, []),
    "quorum_progress": BrokenQuorum(_elects_nobody, [LEADER_CRASHES]),
}


def scenario_of(check: str) -> dict[str, Any]:
    """The schedule that goes with a check."""
    return {
        "name": check.replace("_", "-"),
        "duration": "20s",
        "release": "4.1",
        "cluster": {"brokers": 2},
        "controllers": {"count": 3},
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 2}],
        "faults": [
            {"name": f"fault-{number}", **fault}
            for number, fault in enumerate(BROKEN[check].faults)
        ],
        "liveness": False,
    }


def broken_without(check: str, folder: Path) -> list[str]:
    """The checks that are broken if the rule is left out; it stays out in this process."""
    BROKEN[check].leaves_out()
    run = simulate(scenario_from_mapping(scenario_of(check), check), folder / check)
    assert run.summary is not None
    return [name for name, found in run.summary["checks"].items() if found["broken"]]


def main(folder: Path) -> None:
    """Print the broken checks by the check whose rule is left out."""
    with get_context("fork").Pool(1, maxtasksperchild=1) as process:
        found = process.starmap(broken_without, [(check, folder) for check in BROKEN], chunksize=1)
    sys.stdout.write(json.dumps(dict(zip(BROKEN, found, strict=True))))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
