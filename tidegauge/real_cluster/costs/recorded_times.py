"""A cluster that was recorded: its schedule, and the moments of what really happened.

A folder has the logs of each node, ``schedule.json`` with the steps that were played, and
``truth.json``: the settings, the signals to processes, and every write to ZooKeeper, or every
record of the metadata log, each with its time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.laboratory.conformance.recorded_dialects import in_one_form
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule, RecordingError
from tidegauge.real_cluster.costs.moments import (
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
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE

TRUTH = "truth.json"
_PROCESSES = {"start": STARTS, "SIGKILL": KILLED, "SIGTERM": TOLD, "exited": EXITED}
_BROKER, _CONTROLLER = "broker-", "controller-"


class Recorded(NamedTuple):
    """A recorded cluster."""

    schedule: RecordedSchedule
    #: In any order.
    moments: Sequence[Moment]


def read_recorded(file: Path) -> Recorded:
    """The schedule in a file, with the times in ``truth.json`` beside it.

    Raises:
        RecordingError: a file cannot be read or is of another kind; one line.
    """
    schedule, truth = _json(file), _json(file.parent / TRUTH)
    brokers, controllers = (_nodes(file.parent, kind) for kind in (_BROKER, _CONTROLLER))
    try:
        data = _completed(schedule, truth, brokers, controllers)
        read = RecordedSchedule.model_validate(in_one_form(data))
        moments = [*_of_processes(truth, brokers), *_of_steps(truth), *_of_writes(truth)]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        said = str(error).splitlines()[0]
        raise RecordingError(
            f"{file}: is no recorded schedule with {TRUTH} beside it: {said}"
        ) from error
    return Recorded(read, moments)


def _json(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecordingError(f"{file}: {error.strerror}") from error
    except ValueError as error:
        raise RecordingError(f"{file}: is not JSON: {error}") from error


def _nodes(folder: Path, kind: str) -> list[int]:
    names = [each.name.removeprefix(kind) for each in folder.glob(f"{kind}*")]
    return sorted(int(name) for name in names if name.isdigit())


def _completed(
    schedule: Mapping[str, Any],
    truth: Mapping[str, Any],
    brokers: list[int],
    controllers: list[int],
) -> dict[str, Any]:
    """The file of a schedule, with what only the folder and the recording have."""
    steps = [step if "step" in step else {"step": step} for step in schedule["steps"]]
    data = {
        "name": "recorded",
        **schedule,
        "brokers": brokers,
        "settings": truth["settings"],
        "steps": [{"i": number, **step} for number, step in enumerate(steps)],
    }
    if data.get("mode", ZOOKEEPER_MODE) == KRAFT_MODE:
        data["controllers"] = controllers
        if truth.get("features") is not None:
            data["features"] = truth["features"]
    else:
        first = (
            node for _, node, what in truth["processes"] if what == "start" and node in brokers
        )
        data["first_controller"] = next(first)
    return data


def _of_processes(truth: Mapping[str, Any], brokers: Sequence[int]) -> Iterator[Moment]:
    seen = set()
    for time_ms, node, what in truth["processes"]:
        # A signal is recorded for the process and for its group.
        mark = (what, node, time_ms // 1000)
        if node in brokers and what in _PROCESSES and mark not in seen:
            seen.add(mark)
            yield Moment(time_ms, _PROCESSES[what], node)


def _of_steps(truth: Mapping[str, Any]) -> Iterator[Moment]:
    for step in truth["steps"]:
        if step["step"]["op"] == "create":
            yield Moment(step["t_ms"], ASKED, about=step["step"]["topic"])


def _of_writes(truth: Mapping[str, Any]) -> Iterator[Moment]:
    reads: Callable[[list[Any]], Iterator[Moment]] = _of_zookeeper
    if truth["mode"] == KRAFT_MODE:
        reads = _of_kraft
    for line in truth["startup"]:
        yield from reads(line)
    for step in truth["steps"]:
        for line in step["timeline"]:
            yield from reads(line)


def _of_zookeeper(line: list[Any]) -> Iterator[Moment]:
    """[time, writer, operation, path, data, version]."""
    time_ms, who, operation, path, data, *_ = line
    if operation == "session-closed":
        if str(who).startswith("b"):
            yield Moment(time_ms, LOST, int(who[1:]))
    elif path.startswith("/brokers/ids/") and operation.startswith("create"):
        yield Moment(time_ms, REGISTERED, int(path.rpartition("/")[2]))
    elif isinstance(data, dict) and "isr" in data:
        yield Moment(time_ms, STATE, about=path, leader=data["leader"], isr=tuple(data["isr"]))


def _of_kraft(line: list[Any]) -> Iterator[Moment]:
    """[time, record, key, fields, offset, controller epoch, state]."""
    time_ms, record, key, fields, _, _, state = line
    if record == "RegisterBrokerRecord":
        yield Moment(time_ms, REGISTERED, int(key[1:]))
    elif record == "BrokerRegistrationChangeRecord" and "fenced" in fields:
        yield Moment(time_ms, LOST if fields["fenced"] else UNFENCED, int(key[1:]))
    elif state is not None:
        yield Moment(time_ms, STATE, about=key, leader=state["leader"], isr=tuple(state["isr"]))
