"""Stories of a KRaft cluster as real brokers of 4.1.0 were driven through them.

Brokers 1, 2 and 3, sessions of 4 s, heartbeats each 500 ms, topics ``t0``, ``t1``, ... of one
partition each. A partition whose assignment is in ascending order has broker ``n`` in slot
``n - 1``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.replication.replica_list import unpack
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.kernel import NONE
from tidegauge.traces.run_folder import RunFolder

SECOND = 1_000_000

#: The kinds of rows that say what a partition is.
_STATES = ("partition_state", "partition_replicas")


class State(NamedTuple):
    """A partition in the metadata log, by broker ids; no leader is -1."""

    leader: int
    isr: list[int]
    elr: list[int]
    #: LastKnownElr: at most one.
    last_known: list[int]
    leader_epoch: int
    partition_epoch: int
    recovering: int


_NOTHING = State(NONE, [], [], [], 0, 0, 0)


def quorum_story(
    assignments: Sequence[Sequence[int]],
    *,
    faults: Iterable[Mapping[str, Any]] = (),
    steps: Iterable[Mapping[str, Any]] = (),
    topic: Mapping[str, Any] | None = None,
    settings: Mapping[str, int | bool] | None = None,
    **parts: Any,
) -> Scenario:
    """A story of topics with these assignments.

    Args:
        assignments: of each topic, the replicas of its partition.
        faults: the scenario's.
        steps: the scenario's.
        topic: settings of all topics.
        settings: settings of the controllers, beside the session.
        parts: other parts of the scenario.
    """
    own = {"broker.session.timeout.ms": 4000, "auto.leader.rebalance.enable": False}
    story = {
        "release": "4.1",
        "duration": "60s",
        "liveness": False,
        "cluster": {
            "brokers": 3,
            "start": {1: "100ms", 2: "100ms", 3: "100ms"},
            "settings": {"broker.heartbeat.interval.ms": 500},
        },
        "controllers": {"count": 1, "settings": own | dict(settings or {})},
        "topics": [
            {"name": f"t{number}", "assignment": {0: list(brokers)}, "settings": dict(topic or {})}
            for number, brokers in enumerate(assignments)
        ],
        "faults": [dict(each) for each in faults],
        "steps": [dict(each) for each in steps],
    }
    return scenario_from_mapping(story | parts, "quorum story")


def crash(broker: int, at_s: float, until_s: float | None = None) -> dict[str, Any]:
    """A broker is killed, and started again at another time."""
    lasts = {} if until_s is None else {"for": f"{until_s - at_s}s"}
    return {
        "kind": "crash",
        "name": f"crash {broker} {at_s}",
        "brokers": [broker],
        "at": f"{at_s}s",
    } | lasts


def states(run: RunFolder, partition: int = 0) -> list[State]:
    """All states that the metadata log has of a partition, in order."""
    found: list[State] = []
    rows = [row for kind in _STATES for row in run.rows(kind) if row["partition"] == partition]
    for row in sorted(rows, key=lambda row: row["sequence"]):
        if row.kind == "partition_state":
            before = found[-1] if found else _NOTHING
            found.append(
                before._replace(
                    leader=_id(row["leader"]),
                    isr=_ids(row["isr"]),
                    leader_epoch=row["leader_epoch"],
                    partition_epoch=row["partition_epoch"],
                )
            )
        else:
            known = row["last_known_leader"]
            found[-1] = found[-1]._replace(
                elr=_ids(row["eligible_leaders"]),
                last_known=[] if known == NONE else [_id(known)],
                recovering=row["recovering"],
            )
    return found


def _id(broker: int) -> int:
    return NONE if broker == NONE else broker + 1


def _ids(replicas: int) -> list[int]:
    return [slot + 1 for slot in unpack(replicas)]
