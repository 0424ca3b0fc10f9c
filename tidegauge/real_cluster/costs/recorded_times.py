"""A recorded cluster: its schedule, its real times, and those of default and calibrated costs.

A folder has the logs of each node, ``schedule.json`` with the steps that were played, and
``truth.json``: the settings, the signals to processes, and every write to ZooKeeper, or every
record of the metadata log, each with its time. The simulator plays the schedule with default costs
and with calibrated ones.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.engine.simulate import simulate
from tidegauge.laboratory.conformance.recorded_dialects import in_one_form
from tidegauge.laboratory.conformance.recorded_schedule import RecordedSchedule, RecordingError
from tidegauge.laboratory.conformance.translation import Translation, translate
from tidegauge.real_cluster.costs import moments
from tidegauge.real_cluster.costs.moments import MEASURED_TIMES, MeasuredTime, Moment, durations_of
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import TraceEvent

TRUTH = "truth.json"
_PROCESSES = {
    "start": moments.STARTS,
    "SIGKILL": moments.KILLED,
    "SIGTERM": moments.TOLD,
    "exited": moments.EXITED,
}
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
        found = [*_of_processes(truth, brokers), *_of_steps(truth), *_of_writes(truth)]
    except (KeyError, TypeError, ValueError, IndexError) as error:
        said = str(error).splitlines()[0]
        raise RecordingError(
            f"{file}: is no recorded schedule with {TRUTH} beside it: {said}"
        ) from error
    return Recorded(read, found)


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
    """The file of a schedule, with the parts that only the folder and the recording have."""
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
            yield Moment(step["t_ms"], moments.ASKED, about=step["step"]["topic"])


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
            yield Moment(time_ms, moments.LOST, int(who[1:]))
    elif path.startswith("/brokers/ids/") and operation.startswith("create"):
        yield Moment(time_ms, moments.REGISTERED, int(path.rpartition("/")[2]))
    elif isinstance(data, dict) and "isr" in data:
        yield Moment(
            time_ms, moments.STATE, about=path, leader=data["leader"], isr=tuple(data["isr"])
        )


def _of_kraft(line: list[Any]) -> Iterator[Moment]:
    """[time, record, key, fields, offset, controller epoch, state]."""
    time_ms, record, key, fields, _, _, state = line
    if record == "RegisterBrokerRecord":
        yield Moment(time_ms, moments.REGISTERED, int(key[1:]))
    elif record == "BrokerRegistrationChangeRecord" and "fenced" in fields:
        yield Moment(time_ms, moments.LOST if fields["fenced"] else moments.UNFENCED, int(key[1:]))
    elif state is not None:
        yield Moment(
            time_ms, moments.STATE, about=key, leader=state["leader"], isr=tuple(state["isr"])
        )


#: Changes of a broker's state in a run, by their reasons.
_REASONS = {
    "registered": moments.REGISTERED,
    "unfenced": moments.UNFENCED,
    "session closed": moments.LOST,
    "session expired": moments.LOST,
}
_BEGINS = {"crash": moments.KILLED, "restart": moments.TOLD}


def moments_of_run(translation: Translation, run: Run) -> Iterator[Moment]:
    """The moments of a run of a translated schedule, in its order."""
    for event in run.events():
        time_ms = event.time_us / 1000
        if event.kind == "step_taken":
            step = translation.scenario.steps[event.step]
            if step.do == "create_topic":
                yield Moment(time_ms, moments.ASKED, about=step.topic)
        elif event.kind in ("fault_began", "fault_ended"):
            yield from _of_fault(event, run)
        elif event.kind == "broker_stopped":
            yield Moment(time_ms, moments.EXITED, event.broker)
        elif event.kind == "broker_state" and event.state_reason in _REASONS:
            yield Moment(time_ms, _REASONS[event.state_reason], event.broker)
        elif event.kind == "partition_state":
            leader = -1 if event.leader is None else event.leader
            members = tuple(broker for broker in event.isr if broker is not None)
            yield Moment(time_ms, moments.STATE, -1, str(event.partition), leader, members)


def _of_fault(event: TraceEvent, run: Run) -> Iterator[Moment]:
    broker = run.directory.broker_id(run.directory.broker_of_process(event.row["process"]))
    kind = _BEGINS.get(event.fault_kind)
    if broker is not None and kind is not None:
        kind = kind if event.kind == "fault_began" else moments.STARTS
        yield Moment(event.time_us / 1000, kind, broker)


CLOSER, SAME, FARTHER = "yes", "same", "no"
#: A smaller part of the distance to the real time is the noise of a few seeds.
_LEAST = 0.05

#: Durations of each measured time, milliseconds.
Durations = Mapping[str, Sequence[float]]


class ComparedTime(NamedTuple):
    """A time in reality, with default costs and with calibrated ones: all durations of each."""

    measured: MeasuredTime
    real_ms: Sequence[float]
    default_ms: Sequence[float]
    calibrated_ms: Sequence[float]

    @property
    def verdict(self) -> str:
        """Whether the median of the calibrated runs is closer to the real one."""
        real_ms = median(self.real_ms)
        off_ms = abs(median(self.default_ms) - real_ms)
        nearer_ms = off_ms - abs(median(self.calibrated_ms) - real_ms)
        if abs(nearer_ms) < _LEAST * off_ms:
            return SAME
        return CLOSER if nearer_ms > 0 else FARTHER


def compare_times(
    recorded: Iterable[Recorded],
    costs: Mapping[str, Any],
    seeds: int,
    tell: Callable[[str], None] = lambda _: None,
) -> list[ComparedTime]:
    """The times of recorded clusters that all three have; of several together.

    Raises:
        RecordingError, ScenarioError: a schedule cannot be played.
    """
    real: dict[str, list[float]] = defaultdict(list)
    default: dict[str, list[float]] = defaultdict(list)
    calibrated: dict[str, list[float]] = defaultdict(list)
    for each in recorded:
        tell(f"plays {each.schedule.name}")
        for found, times in (
            (real, durations_of(each.moments)),
            (default, played_times(each, {}, seeds)),
            (calibrated, played_times(each, costs, seeds)),
        ):
            for name, durations in times.items():
                found[name] += durations
    return [
        ComparedTime(each, real[each.name], default[each.name], calibrated[each.name])
        for each in MEASURED_TIMES
        if real[each.name] and default[each.name] and calibrated[each.name]
    ]


def played_times(recorded: Recorded, costs: Mapping[str, Any], seeds: int) -> Durations:
    """The times of so many runs of a schedule with these costs."""
    found: dict[str, list[float]] = defaultdict(list)
    for seed in range(1, seeds + 1):
        translation = translate(recorded.schedule, seed=seed, costs=costs)
        with TemporaryDirectory(prefix="tidegauge-") as folder:
            run = simulate(translation.scenario, Path(folder) / "run")
            for name, durations in durations_of(moments_of_run(translation, Run(run.path))).items():
                found[name] += durations
    return found
