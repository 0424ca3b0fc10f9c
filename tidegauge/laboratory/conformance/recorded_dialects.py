"""The two dialects of recorded schedules, brought into one form.

Clusters with ZooKeeper and KRaft clusters were recorded by two harnesses. Their files have the same
layout and differ in these parts:

==============================  =========================  ======================================
part                            ZooKeeper                  KRaft
==============================  =========================  ======================================
``mode``                        absent, or ``zookeeper``   ``kraft``
``settings``                    of the brokers             ``broker`` and ``controller``
``controllers``                 absent                     node ids of the quorum
``features``                    absent                     levels of finalized features
``first_controller``            the broker started first   absent: the first observation has it
state of a partition            ``zk``                     ``kraft``
==============================  =========================  ======================================

``RecordedSchedule`` is the common form.

Epochs of KRaft's controllers are compared by order alone: how many elections it takes until one is
active is a race, since votes split. The number of an active controller stands in place of its
epoch; that of the first step has number 1.

The records about brokers of a KRaft controller are compared by order alone. A broker's epoch is the
offset of its registration in the metadata log, and offsets depend on all earlier records:
``[registered, 2]`` is the second registration of a broker.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.laboratory.conformance import recorded_quorums
from tidegauge.laboratory.conformance.recorded_quorums import Tree
from tidegauge.replication.release_versions import (
    KRAFT_MODE,
    MODE_NAMES,
    ZOOKEEPER_MODE,
    all_protocol_versions,
)

REGISTERED, FENCED, UNFENCED = "registered", "fenced", "unfenced"
SHUTTING_DOWN = "shutting down"

_REGISTRATION, _CHANGE = "RegisterBrokerRecord", "BrokerRegistrationChangeRecord"

#: The records of a step, by broker: [state, number of the registration].
BrokerRecords = dict[str, list[list[Any]]]


class Registrations:
    """The registrations of brokers, numbered for each broker by their epochs."""

    def __init__(self) -> None:
        self._epochs: dict[int, set[int]] = defaultdict(set)
        self._last: dict[int, list[Any]] = {}

    def take(self, broker: int, state: str, epoch: int) -> list[Any] | None:
        """A record in the form that is compared; None: it repeats the one before.

        A controller fences a broker that has left a second time at the end of its session, and a
        request for a registration may be repeated.
        """
        self._epochs[broker].add(epoch)
        record = [state, sorted(self._epochs[broker]).index(epoch) + 1]
        if self._last.get(broker) == record:
            return None
        self._last[broker] = record
        return record

    def begin(self) -> None:
        """The first step begins: the registration in force is the first one of a broker.

        A race decides how often a broker tries to register while the cluster starts.
        """
        for broker, epochs in self._epochs.items():
            epochs.intersection_update({max(epochs)})
            self._last[broker][1] = 1


def records_by_step(
    startup: list[list[Any]], timelines: Iterable[list[list[Any]]]
) -> Iterator[BrokerRecords]:
    """The records about brokers in each step of a repeat.

    Args:
        startup: all records before the first step: [ms, type, key, data, offset, controller epoch].
        timelines: the same of each step.
    """
    registrations = Registrations()
    _taken(registrations, startup)
    registrations.begin()
    for timeline in timelines:
        yield _taken(registrations, timeline)


def _taken(registrations: Registrations, timeline: list[list[Any]]) -> BrokerRecords:
    records: BrokerRecords = {}
    for _, kind, key, data, *_ in timeline:
        if kind in (_REGISTRATION, _CHANGE):
            broker = int(key.removeprefix("b"))
            state = _state(kind, data)
            record = registrations.take(broker, state, data["broker_epoch"]) if state else None
            if record is not None:
                records.setdefault(key, []).append(record)
    return records


def _state(kind: str, data: dict[str, Any]) -> str | None:
    """The state that a record brings; None: it has the broker's cordoned log directories only."""
    if kind == _REGISTRATION:
        return REGISTERED
    if data.get("in_controlled_shutdown"):
        return SHUTTING_DOWN
    return {True: FENCED, False: UNFENCED, None: None}[data.get("fenced")]


def fencing_order(brokers: list[int], timelines: Iterable[list[list[Any]]]) -> list[int]:
    """Brokers in the order in which they are fenced first; those that are not come last.

    Args:
        brokers: some brokers.
        timelines: the records of a step and of those after it.
    """
    fenced: list[int] = []
    for timeline in timelines:
        for _, kind, key, data, *_ in timeline:
            if kind == _CHANGE and _state(kind, data) == FENCED:
                fenced.append(int(key.removeprefix("b")))
    return sorted(brokers, key=lambda each: fenced.index(each) if each in fenced else len(fenced))


#: By mode: the name of a partition's state in an observation.
STATE = {ZOOKEEPER_MODE: "zk", KRAFT_MODE: "kraft"}

#: Level of metadata.version of the first internal version (IV0) of each line.
_FIRST_LEVELS = {
    ".".join(map(str, each.line)): each.feature_level - each.internal
    for each in all_protocol_versions(KRAFT_MODE)
}

#: The lists of a partition's state that exist only while a reassignment runs.
_MOVING = ("adding", "removing")
#: The field of every state that a harness wrote.
_LAST_OF_A_STATE = "last_known_elr"


class UnknownDialectError(TidegaugeError):
    """A file with steps that is of neither dialect; the message has the reason."""


def in_one_form(recording: Tree) -> Tree:
    """The content of a file of either dialect, as ``RecordedSchedule`` reads it.

    Raises:
        UnknownDialectError: it is of neither dialect.
    """
    mode = recording.get("mode", ZOOKEEPER_MODE)
    if mode not in MODE_NAMES:
        raise UnknownDialectError(
            f"is a recording of neither a {' nor a '.join(MODE_NAMES.values())} cluster:"
            f" its mode is {mode!r}, not {' or '.join(MODE_NAMES)}"
        )
    _check_states(recording, mode)
    return _of_kraft(recording) if mode == KRAFT_MODE else _of_zookeeper(recording)


def _check_states(recording: Tree, mode: str) -> None:
    """The states that were observed are those of this mode."""
    for place, observed in _observations(recording):
        for name, partition in observed["exact"].get("partitions", {}).items():
            for other in MODE_NAMES.keys() - {mode}:
                if isinstance(partition, dict) and STATE[other] in partition:
                    raise UnknownDialectError(
                        f"is a recording of a {MODE_NAMES[mode]} cluster by its mode, but step "
                        f"{place} has a state of {MODE_NAMES[other]} for {name} ({STATE[other]!r})"
                    )


def _observations(recording: Tree) -> Iterator[tuple[int, Tree]]:
    """Each observation, with its step's place."""
    steps = recording["steps"]
    for place, step in enumerate(steps if isinstance(steps, list) else ()):
        observed: Any = step.get("obs") if isinstance(step, dict) else None
        exact = observed.get("exact") if isinstance(observed, dict) else None
        if isinstance(exact, dict) and isinstance(exact.get("partitions", {}), dict):
            yield place, observed


def _of_zookeeper(recording: Tree) -> Tree:
    brokers = recording.get("brokers")
    first = {"first_controller": brokers[0]} if isinstance(brokers, list) and brokers else {}
    return first | recording


def _of_kraft(recording: Tree) -> Tree:
    form: Tree = {"controllers": [0]} | recording
    settings, features = recording.get("settings", {}), recording.get("features")
    if not isinstance(settings, dict) or not isinstance(features, dict | None):
        raise UnknownDialectError("has settings or features that are no objects")
    form["settings"] = settings.get("broker", {})
    own = recorded_quorums.settings_of_controllers(recording)
    form["controller_settings"] = settings.get("controller", {}) | own
    if features is not None:
        # A feature that is not listed is at level 0: off.
        form["metadata_version"] = _metadata_version(features.get("metadata.version"))
        form["eligible_leader_replicas"] = features.get("eligible.leader.replicas.version", 0) > 0
    controllers = form["controllers"]
    if isinstance(controllers, list) and controllers:
        active = (each for _, seen in _observations(recording) for each in _controllers(seen))
        first = next((each for each in active if each in controllers), controllers[0])
        form["first_controller"] = first
        form.setdefault("start_controllers", controllers)
        form["controllers"] = recorded_quorums.named_controllers(form)
    for _, observed in _observations(recording):
        _complete_moves(observed)
        recorded_quorums.simplify_observed(observed)
    for step in recorded_quorums.steps_of(form):
        recorded_quorums.simplify_answer(step)
    _number_controllers(form)
    _add_broker_records(form)
    form["changes_voters"] = recorded_quorums.changes_voters(form)
    if form["changes_voters"] and _have_timelines(form["steps"]):
        _add_quorum_records(form)
    return form


def _controllers(observed: Tree) -> list[Any]:
    """The active controller, of one repeat or of each."""
    return [observed["exact"].get("controller"), *observed.get("varies", {}).get("controller", [])]


#: The controller epoch: in an observation, and among the columns of a write.
_EPOCH, _EPOCH_OF_WRITE = "controller_epoch", 8
#: By controller epoch: the number of the active controller since the first step.
_Numbers = dict[int, int]


def _number_controllers(form: Tree) -> None:
    """Put the numbers of active controllers in place of their epochs."""
    startups, steps = form.get("startup_by_repeat", []), form["steps"]
    if not startups or not all(startups) or not _have_timelines(steps):
        return
    numbers: list[_Numbers] = []
    for repeat, startup in enumerate(startups):
        records = (row for step in steps for row in step["timeline_by_repeat"][repeat])
        epochs = sorted({row[-1] for row in (startup[-1], *records)})
        numbers.append({epoch: place for place, epoch in enumerate(epochs, start=1)})
    for step in steps:
        if step.get("obs"):
            _number_observed(step["obs"], numbers)
        writes = step.get("state_writes", {})
        step["state_writes"] = {
            name: _numbered_writes(of_one, numbers) for name, of_one in writes.items()
        }


def _have_timelines(steps: Any) -> bool:
    """Whether the recording has all records of the metadata log."""
    return isinstance(steps, list) and all("timeline_by_repeat" in step for step in steps)


def _number_observed(observed: Tree, numbers: list[_Numbers]) -> None:
    exact, varies = observed["exact"], observed.setdefault("varies", {})
    epochs = varies.pop(_EPOCH, [exact.pop(_EPOCH, None)] * len(numbers))
    seen = [of_one.get(epoch, epoch) for epoch, of_one in zip(epochs, numbers, strict=True)]
    if any(each != seen[0] for each in seen):
        varies[_EPOCH] = seen
    elif seen[0] is not None:
        exact[_EPOCH] = seen[0]


def _numbered_writes(writes: Tree, numbers: list[_Numbers]) -> Tree:
    repeats = writes.get("writes_by_repeat") or [writes.get("writes", [])] * len(numbers)
    numbered = [
        [
            [of_one[value] if at == _EPOCH_OF_WRITE else value for at, value in enumerate(columns)]
            for columns in of_repeat
        ]
        for of_repeat, of_one in zip(repeats, numbers, strict=True)
    ]
    if writes["exact"] is not False and all(each == numbered[0] for each in numbered):
        return writes | {"writes": numbered[0]}
    return writes | {"exact": False, "writes": [], "writes_by_repeat": numbered}


def _add_quorum_records(form: Tree) -> None:
    """The records about the quorum, of the records that the recording has of all."""
    form["steps"] = [
        step | {"quorum_records": recorded_quorums.merged_records(step["timeline_by_repeat"])}
        for step in form["steps"]
    ]


def _add_broker_records(form: Tree) -> None:
    """The records about brokers, of the records that the recording has of all that was written."""
    steps, startups = form["steps"], form.get("startup_by_repeat", [])
    if not startups or not _have_timelines(steps):
        return
    repeats = [
        records_by_step(startup, [step["timeline_by_repeat"][repeat] for step in steps])
        for repeat, startup in enumerate(startups)
    ]
    form["steps"] = [
        step | {"broker_records": _merged(records)}
        for step, *records in zip(steps, *repeats, strict=True)
    ]


def _merged(repeats: list[BrokerRecords]) -> Tree:
    """The records of a step as of one repeat, if all have the same, else of each."""
    merged: Tree = {}
    for broker in sorted({broker for records in repeats for broker in records}):
        written = [records.get(broker, []) for records in repeats]
        if all(each == written[0] for each in written):
            merged[broker] = {"exact": True if len(written) > 1 else None, "writes": written[0]}
        else:
            merged[broker] = {"exact": False, "writes_by_repeat": written}
    return merged


def _metadata_version(level: Any) -> str | None:
    """The name of a level of metadata.version; None: the recording has none."""
    if level is None:
        return None
    known = [(first, line) for line, first in _FIRST_LEVELS.items() if first <= level]
    if not known:
        raise UnknownDialectError(f"has metadata.version {level}, older than any of KRaft's")
    first, line = max(known)
    return f"{line}-IV{level - first}"


def _complete_moves(observed: Tree) -> None:
    """A partition without a reassignment adds and removes nothing: that is compared as well.

    A harness writes both lists only while a reassignment runs. A state that was written by hand may
    have any of its fields, and stays as it is.
    """
    varies = observed.get("varies", {})
    for name, partition in observed["exact"].get("partitions", {}).items():
        state = partition.get(STATE[KRAFT_MODE]) if isinstance(partition, dict) else None
        if not isinstance(state, dict) or _LAST_OF_A_STATE not in state:
            continue
        for moving in _MOVING:
            if f"partitions.{name}.{STATE[KRAFT_MODE]}.{moving}" not in varies:
                state.setdefault(moving, [])
