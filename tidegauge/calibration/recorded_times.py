"""The moments of a cluster that was recorded, from ``truth.json`` beside its schedule."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tidegauge.calibration.moments import (
    ASKED,
    EXITED,
    KILLED,
    LOST,
    REGISTERED,
    STARTS,
    STATE,
    TOLD,
    UNFENCED,
    Moment,
)

_PROCESSES = {"start": STARTS, "SIGKILL": KILLED, "SIGTERM": TOLD, "exited": EXITED}


def moments_of_truth(truth: Mapping[str, Any]) -> Iterator[Moment]:
    """The moments, in any order."""
    brokers = brokers_of(truth)
    seen = set()
    for time_ms, node, what in truth["processes"]:
        # A signal may be recorded twice, to a process and to its group.
        mark = (what, node, time_ms // 1000)
        if node in brokers and what in _PROCESSES and mark not in seen:
            seen.add(mark)
            yield Moment(time_ms, _PROCESSES[what], node)
    for step in truth["steps"]:
        if step["step"]["op"] == "create":
            yield Moment(step["t_ms"], ASKED, about=step["step"]["topic"])
    lines = [*truth["startup"], *(line for step in truth["steps"] for line in step["timeline"])]
    reads = _of_zookeeper if truth["mode"] == "zookeeper" else _of_kraft
    for line in lines:
        yield from reads(line)


def brokers_of(truth: Mapping[str, Any]) -> list[int]:
    controllers = truth.get("controllers", [])
    nodes = {node for _, node, _ in truth["processes"] if node != "zk"}
    return sorted(node for node in nodes if node not in controllers)


def _of_zookeeper(line: list[Any]) -> Iterator[Moment]:
    time_ms, who, op, path, data, *_ = line if len(line) > 4 else [*line, None]
    if op == "session-closed" and str(who).startswith("b"):
        yield Moment(time_ms, LOST, int(who[1:]))
    elif str(path).startswith("/brokers/ids/") and op.startswith("create"):
        yield Moment(time_ms, REGISTERED, int(path.rpartition("/")[2]))
    elif isinstance(data, dict) and "isr" in data:
        yield Moment(time_ms, STATE, about=path, leader=data["leader"], isr=tuple(data["isr"]))


def _of_kraft(line: list[Any]) -> Iterator[Moment]:
    time_ms, record, key, fields, _, _, state = line
    if record == "RegisterBrokerRecord":
        yield Moment(time_ms, REGISTERED, int(key[1:]))
    elif record == "BrokerRegistrationChangeRecord" and "fenced" in fields:
        yield Moment(time_ms, LOST if fields["fenced"] else UNFENCED, int(key[1:]))
    elif state is not None:
        yield Moment(time_ms, STATE, about=key, leader=state["leader"], isr=tuple(state["isr"]))


def read_json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))
