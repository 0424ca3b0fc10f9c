"""The history in the logs of a cluster, against the truth that was recorded beside them.

The truth of a shared cluster is ``truth.json``: every write that ZooKeeper accepted, or every
record of the metadata log (tests/data/real_logs/README.md). ``compared(folder)`` reads the logs of
one and counts what is missing, what is invented, and how late its line is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.real_cluster.logs.broker_states import ABSENT, ACTIVE, FENCED, SHUTTING_DOWN
from tidegauge.real_cluster.logs.log_files import found_logs
from tidegauge.real_cluster.logs.real_history import RealHistory, real_history


class Counted(NamedTuple):
    """The rows of one kind: of the truth, found, missing and invented."""

    expected: int
    found: int
    missing: list[Any]
    invented: list[Any]
    #: Line minus truth, in ms, of what was found.
    delays_ms: list[int]


class Compared(NamedTuple):
    """A cluster's logs against its truth."""

    history: RealHistory
    states: Counted
    brokers: Counted
    controllers: Counted


def compared(folder: Path) -> Compared:
    """Read the logs of a cluster and compare them with its truth."""
    truth = json.loads((folder / "truth.json").read_text())
    history = real_history(found_logs(folder))
    rows = [*truth["startup"], *(row for step in truth["steps"] for row in step["timeline"])]
    of_mode = _of_kraft if truth["mode"] == "kraft" else _of_zookeeper
    states, brokers, controllers = of_mode(rows)
    return Compared(
        history,
        counted(states, logged_states(history)),
        counted(brokers, logged_brokers(history)),
        counted(
            controllers, [((each.node, each.epoch), each.time_ms) for each in history.controllers]
        ),
    )


Timed = list[tuple[tuple[Any, ...], float]]


def logged_states(history: RealHistory) -> Timed:
    """(partition, version, leader, epoch, ISR) of each state, with its time."""
    return [
        (
            (
                f"{each.partition.topic}-{each.partition.number}",
                state.version,
                state.leader,
                state.leader_epoch,
                state.isr or (),
            ),
            state.time_ms,
        )
        for each in history.partitions
        for state in each.states
        if not state.deleted
    ]


def logged_brokers(history: RealHistory) -> Timed:
    """(broker, state, epoch) of each change, with its time; ZooKeeper's epoch is not compared."""
    return [
        (
            (each.broker, each.state, each.broker_epoch if history.is_kraft else 0),
            each.time_ms,
        )
        for each in history.brokers
    ]


def counted(expected: Timed, logged: Timed) -> Counted:
    """Pair what is equal, in the order of time."""
    waiting: dict[tuple[Any, ...], list[float]] = {}
    for key, time_ms in sorted(logged, key=lambda each: each[1]):
        waiting.setdefault(key, []).append(time_ms)
    missing, delays = [], []
    for key, time_ms in sorted(expected, key=lambda each: each[1]):
        if waiting.get(key):
            delays.append(round(waiting[key].pop(0) - time_ms))
        else:
            missing.append((time_ms, key))
    invented = [(at, key) for key, times in waiting.items() for at in times]
    return Counted(len(expected), len(delays), missing, invented, delays)


def _of_zookeeper(rows: Iterable[list[Any]]) -> tuple[Timed, Timed, Timed]:
    states: Timed = []
    brokers: Timed = []
    controllers: Timed = []
    elected = None
    for time_ms, who, operation, path, data, version in rows:
        if operation == "session-closed":
            brokers.append(((int(who[1:]), ABSENT, 0), time_ms))
        elif path.startswith("/brokers/ids/") and operation.startswith("create"):
            brokers.append(((int(path.rsplit("/", 1)[1]), ACTIVE, 0), time_ms))
        elif path == "/controller" and operation.startswith("create"):
            elected = data["brokerid"]
        elif path == "/controller_epoch" and operation.startswith("set"):
            controllers.append(((elected if elected is not None else int(who[1:]), data), time_ms))
        elif not path.startswith("/") and data is not None:
            states.append(
                (
                    (
                        path,
                        version,
                        data["leader"],
                        data["leader_epoch"],
                        tuple(data["isr"]),
                    ),
                    time_ms,
                )
            )
    return states, brokers, controllers


def _of_kraft(rows: Iterable[list[Any]]) -> tuple[Timed, Timed, Timed]:
    states: Timed = []
    brokers: Timed = []
    controllers: Timed = []
    last: dict[int, tuple[Any, ...]] = {}
    for time_ms, record, key, fields, _, epoch, state in rows:
        if state is not None:
            states.append(
                (
                    (
                        *(key, state["partition_epoch"], state["leader"], state["leader_epoch"]),
                        tuple(state["isr"]),
                    ),
                    time_ms,
                )
            )
        elif record == "LeaderChange":
            controllers.append(((fields["leader"], epoch), time_ms))
        elif record in ("RegisterBrokerRecord", "BrokerRegistrationChangeRecord"):
            broker = int(key[1:])
            before = last.get(broker, (broker, ABSENT, 0))
            taken = before[1]
            if "fenced" in fields:
                taken = FENCED if fields["fenced"] else ACTIVE
            if fields.get("in_controlled_shutdown"):
                taken = SHUTTING_DOWN
            change = (broker, taken, fields["broker_epoch"])
            if change != before:
                brokers.append((change, time_ms))
                last[broker] = change
    return states, brokers, controllers


def main() -> None:
    """Print the comparison of each cluster below a folder."""
    for folder in sorted(Path(sys.argv[1]).iterdir()):
        if not (folder / "truth.json").is_file():
            continue
        result = compared(folder)
        parts = []
        for name in ("states", "brokers", "controllers"):
            each: Counted = getattr(result, name)
            delays = sorted(each.delays_ms) or [0]
            parts.append(
                f"{name} {each.found}/{each.expected} +{len(each.invented)}"
                f" [{delays[0]}..{delays[len(delays) // 2]}..{delays[-1]}]"
            )
        sys.stdout.write(f"{folder.name:36} {'  '.join(parts)}\n")
        if "-v" in sys.argv:
            for name in ("states", "brokers", "controllers"):
                each = getattr(result, name)
                for word in ("missing", "invented"):
                    for row in getattr(each, word):
                        sys.stdout.write(f"    {name} {word}: {row}\n")


if __name__ == "__main__":
    main()
