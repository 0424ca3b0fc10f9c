"""Stories of the voters of a KRaft quorum: one broker, controllers 3000, 3001, ... behind it.

The first controller leads as the run begins, in epoch 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.messages.event import ControllerRequest
from tidegauge.traces.run_folder import RunFolder, TraceRow

SECOND = 1_000_000

#: The index of the first controller in rows: that of its brokers is 0.
FIRST = 1


class VoterIs(NamedTuple):
    """A voter enters a state."""

    time_us: int
    voter: int
    state: int
    epoch: int


def voters_story(
    faults: Iterable[Mapping[str, Any]],
    *,
    voters: int = 3,
    release: str = "4.1",
    duration: str = "15s",
    seed: int = 1,
    settings: Mapping[str, int] | None = None,
    trace: str = "transitions",
) -> Scenario:
    """A cluster whose controllers have these faults and settings."""
    return scenario_from_mapping(
        {
            "release": release,
            "mode": "kraft",
            "duration": duration,
            "seed": seed,
            "liveness": False,
            "trace": trace,
            "cluster": {"brokers": 1},
            "controllers": {"count": voters, "settings": dict(settings or {})},
            "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}],
            "faults": [dict(each) for each in faults],
        },
        "voters",
    )


def fault(kind: str, *voters: int, at_s: float, for_s: float, **more: Any) -> dict[str, Any]:
    """A fault of some controllers."""
    hit = [f"controller:{voter}" for voter in voters]
    return {"kind": kind, "brokers": hit, "at": f"{at_s}s", "for": f"{for_s}s", **more}


def cut(voter: int, others: Iterable[int], at_s: float, for_s: float) -> dict[str, Any]:
    """A controller and others do not hear of each other."""
    sides = [[f"controller:{voter}"], [f"controller:{other}" for other in others]]
    return {"kind": "cut_link", "between": sides, "at": f"{at_s}s", "for": f"{for_s}s"}


def states(run: RunFolder, voter: int | None = None) -> list[VoterIs]:
    """The states that voters have entered, one or all, in order."""
    found = [
        VoterIs(
            int(row["time_us"]),
            int(row["broker"]) - FIRST,
            int(row["voter_state"]),
            int(row["quorum_epoch"]),
        )
        for row in run.rows("voter_state")
    ]
    return sorted(each for each in found if voter in (None, each.voter))


def claims(run: RunFolder) -> list[tuple[int, int, int]]:
    """When a controller has become the active one, which, and in which epoch."""
    return [
        (int(row["time_us"]), int(row["broker"]) - FIRST, int(row["controller_epoch"]))
        for row in run.rows("controller_active")
        if row["broker"] >= 0
    ]


#: The broker among the nodes of a request.
BROKER = -1


class Requested(NamedTuple):
    """A voter gets a request of a voter, or of the broker."""

    time_us: int
    voter: int
    sender: int


def requests(run: RunFolder, kind: type[ControllerRequest]) -> list[Requested]:
    """The requests of one kind that voters have got; the trace has all."""
    voters = {int(row["process"]): int(row["broker"]) - FIRST for row in run.rows("voter_state")}
    return [
        Requested(
            int(row["time_us"]),
            voters[int(row["process"])],
            voters.get(int(row["from_process"]), BROKER),
        )
        for row in run.rows("message")
        if row["message_kind"] == int(kind.KIND)
    ]


def broken(run: RunFolder) -> list[str]:
    """The checks that a run breaks."""
    assert run.summary is not None
    return [name for name, found in run.summary["checks"].items() if found["broken"]]


def logs(run: RunFolder, voter: int) -> list[TraceRow]:
    """All that is said of a voter's log."""
    return [row for row in run.rows("voter_log") if row["broker"] == FIRST + voter]
