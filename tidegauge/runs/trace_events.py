"""The rows of a run as events: values for programs, words for operators of Kafka.

``traces/run_folder.py`` reads rows as they were written: integers, many of which are numbers of
objects. The type of a column (``simulation/trace_rows/columns.py``) decides its meaning: a broker
has its id, an ISR is a list of ids, an error has Kafka's name. One table, :data:`_READINGS`, has
the value and the words of each type. Times in microseconds or milliseconds, offsets, epochs and
counts are the same in both.

Each kind of row has its sentence in its class (``simulation/trace_rows``), with columns in braces.
Rows of the cluster's state have the registered brokers and the controller. With ZooKeeper their
words are those of the znodes that hold this: a broker is active while /brokers/ids has it.
"""

from collections.abc import Callable, Mapping
from functools import cache
from string import Formatter
from typing import Any, NamedTuple, Self

from tidegauge.replication.replica_list import EMPTY
from tidegauge.runs import zookeeper
from tidegauge.scenario.text.errors import counted, plural
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.quantities import time_text
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE, BROKER_DELETED, FORMER_WRITER
from tidegauge.simulation.trace_rows.columns import Column, Type
from tidegauge.simulation.trace_rows.schema import (
    COMMON_COLUMNS,
    ENUMERATIONS,
    ROW_KINDS,
    Enumerations,
)
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import RunFolder, TraceRow


class Names(Directory):
    """The names in a run's manifest and in the headers of its trace files."""

    def __init__(
        self, manifest: Mapping[str, Any], enumerations: Enumerations = ENUMERATIONS
    ) -> None:
        """Take the names of a run.

        Args:
            manifest: the run's.
            enumerations: the names in the headers of its trace files; by default this release's.
        """
        super().__init__(manifest)
        self.enumerations = enumerations

    @classmethod
    def of(cls, run: RunFolder) -> Self:
        """The names of a run.

        Raises:
            TraceError: a trace file is damaged.
        """
        return cls(run.manifest, run.enumerations)

    def enumerated(self, column: str, number: int) -> str:
        """The name of a number in a column of an enumeration; the number if it has none."""
        return self.enumerations[column].get(number, str(number))


class TraceEvent:
    """One row of a run: its time, process, kind, partition and columns.

    ``event.isr`` and ``event["isr"]`` are the value of a column, and ``str(event)`` the event as a
    line of text. Each kind has a class of its own: ``isr_shrunk`` is an ``IsrShrunk``.
    """

    __slots__ = ("names", "row")

    def __init__(self, row: TraceRow, names: Names) -> None:
        """Read a row with the names of its run."""
        #: The row as it was written.
        self.row = row
        #: The names of its run.
        self.names = names

    @property
    def time_us(self) -> int:
        """Virtual time since the beginning of the run, in microseconds."""
        return self.row["time_us"]

    @property
    def kind(self) -> str:
        """The kind of the row, such as ``isr_shrunk``."""
        return self.row.kind

    @property
    def process(self) -> str:
        """Its process, such as ``broker 2``, ``zookeeper`` or ``active controller``."""
        return self.names.process(self.row["process"])

    @property
    def partition(self) -> str | None:
        """Its partition, such as ``orders-0``; None if it has none."""
        number = self.partition_number
        return None if number is None else self.names.partition(number)

    @property
    def partition_number(self) -> int | None:
        """The number of its partition within the cluster; None if it has none."""
        number = zookeeper.partition_of(self.row, self.names)
        return number if number >= 0 else None

    @property
    def words(self) -> str:
        """The event in words, as ``tidegauge show`` prints it; without its time and process."""
        kind, names = self.kind, self.names
        if kind in _TOLD_BY_ZOOKEEPER and not names.controllers:
            return _TOLD_BY_ZOOKEEPER[kind](self)
        if kind in _TOLD_BY_QUORUM and names.controllers:
            return _TOLD_BY_QUORUM[kind](self)
        if kind == "step_taken":
            return f"step {self.words_of('step')}: {names.step_text(self.row['step'])}"
        if kind not in _KINDS:  # a kind that this release does not know
            return f"{kind} {self.row.columns}"
        return _by_story(self)

    @property
    def handle(self) -> str:
        """Its handle for ``tidegauge show cause``, as ``TraceRow.handle``."""
        return self.row.handle

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of its kind, by name."""
        return {name: self[name] for name in self.row.columns if name not in COMMON_COLUMNS}

    def __getitem__(self, column: str) -> Any:
        number = self.row[column]
        if column in self.names.enumerations:
            return self.names.enumerated(column, number)
        is_untold = self._is_untold(column, number)
        return None if is_untold else _reading_of(self.kind, column).value(self, number)

    def __getattr__(self, column: str) -> Any:
        if column in TraceEvent.__slots__ or column not in self.row.columns:
            raise AttributeError(f"a row {self.row.kind} has no column {column}")
        return self[column]

    def words_of(self, column: str) -> str:
        """A column in words; "?" for a column that the row's schema does not have."""
        number = self.row.columns.get(column)
        if number is None:  # an older schema
            return "?"
        if column in self.names.enumerations:
            return self.names.enumerated(column, number)
        is_untold = self._is_untold(column, number)
        return "unknown" if is_untold else _reading_of(self.kind, column).words(self, number)

    def _is_untold(self, column: str, number: int) -> bool:
        """Whether it is a column that lines of logs often leave out."""
        described = _described(self.kind, column)
        if number >= 0 or not self.names.is_of_logs or described is None:
            return False
        return described.names is None and described.type in (Type.OFFSET, Type.TIME)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.row.columns})

    def __str__(self) -> str:
        return f"{time_text(self.time_us)}  {self.process}  {self.words}"

    def __repr__(self) -> str:
        return f"<{self}>"


def event_of(row: TraceRow, names: Names) -> TraceEvent:
    """A row as an event of the class of its kind."""
    return _class_of(row.kind)(row, names)


@cache
def _class_of(kind: str) -> type[TraceEvent]:
    name = "".join(map(str.capitalize, kind.split("_")))
    meaning = _KINDS[kind].meaning if kind in _KINDS else None
    return type(name, (TraceEvent,), {"__slots__": (), "__doc__": meaning})


#: Less than any clock shows that counts from 1970, and more than any lag.
_SINCE_1970_MS = 10**12

_KINDS = {kind.name: kind for kind in ROW_KINDS.values()}


def _described(kind: str, column: str) -> Column | None:
    own = _KINDS[kind].described if kind in _KINDS else {}
    return own.get(column) or COMMON_COLUMNS.get(column)


class _Reading(NamedTuple):
    """The objects behind the integers of a type; None is none of them."""

    value: Callable[[TraceEvent, int], Any]
    words: Callable[[TraceEvent, int], str]


def _partition(event: TraceEvent, number: int) -> str | None:
    return event.names.partition(number) if number >= 0 else None


def _slot(event: TraceEvent, slot: int) -> int | None:
    """A broker by its slot in the partition of a znode."""
    number = event.partition_number
    return None if number is None else dict(enumerate(event.names.slots(number))).get(slot)


def _brokers(event: TraceEvent, replicas: int) -> list[int | None] | None:
    number = event.partition_number
    # A row of ZooKeeper that is not about a partition has none.
    return None if number is None else event.names.brokers_in(replicas, number)


def _brokers_words(event: TraceEvent, replicas: int) -> str:
    brokers = _brokers(event, replicas) or []
    return f"[{','.join('?' if broker is None else str(broker) for broker in brokers)}]"


def _voters(event: TraceEvent, voters: int) -> list[str]:
    return event.names.voter_keys(voters)


def _writer_words(event: TraceEvent, index: int) -> str:
    """A broker or a controller by its number, or another writer without one."""
    if index >= 0:
        return event.names.member(index)
    if index == FORMER_WRITER:
        return "a process before the run"
    return "the end of its session" if event.kind == zookeeper.DELETED else "the operator"


def _member(event: TraceEvent, number: int) -> int | None:
    return event.names.member_id(number)


def _fault(event: TraceEvent, number: int) -> str | None:
    faults = event.names.faults
    return faults[number].name if 0 <= number < len(faults) else None


def _fault_kind(event: TraceEvent, number: int) -> str:
    """The only code without an enumeration: the manifest names the kind of a fault."""
    faults, place = event.names.faults, event.row.columns.get("fault", NONE)
    return faults[place].kind if 0 <= place < len(faults) else str(number)


def _pin(event: TraceEvent, number: int) -> str:
    return event.names.pin(number)


#: The types whose integers stand for something else. Others are numbers, offsets and times.
_READINGS: dict[Type, _Reading] = {
    Type.PARTITION: _Reading(_partition, lambda event, number: event.names.partition(number)),
    Type.TOPIC: _Reading(
        lambda event, number: event.names.topic(number),
        lambda event, number: f"topic {event.names.topic(number)}",
    ),
    Type.BROKER: _Reading(_member, lambda event, number: event.names.member(number)),
    Type.SLOT: _Reading(
        _slot,
        lambda event, slot: (
            "none" if (broker := _slot(event, slot)) is None else f"broker {broker}"
        ),
    ),
    Type.REPLICAS: _Reading(_brokers, _brokers_words),
    Type.VOTERS: _Reading(_voters, lambda event, voters: f"[{','.join(_voters(event, voters))}]"),
    Type.PROCESS: _Reading(
        lambda event, number: None if number < 0 else event.names.process(number),
        lambda event, number: "no process" if number < 0 else event.names.process(number),
    ),
    Type.WRITER: _Reading(_member, _writer_words),
    Type.FAULT: _Reading(_fault, lambda event, number: event.names.fault_text(number)),
    Type.PIN: _Reading(_pin, _pin),
    Type.ZNODE: _Reading(
        lambda event, _number: zookeeper.path_of(event.row, event.names),
        lambda event, _number: zookeeper.path_of(event.row, event.names),
    ),
    Type.CODE: _Reading(_fault_kind, _fault_kind),
    Type.FLAG: _Reading(lambda _event, number: bool(number), lambda _event, number: str(number)),
    Type.RATE: _Reading(
        lambda _event, size_bytes: None if size_bytes < 0 else size_bytes,
        lambda _event, size_bytes: "any rate" if size_bytes < 0 else f"{size_bytes} bytes a second",
    ),
    Type.DIRECTORY: _Reading(
        lambda _event, directory: directory + 1 if directory >= 0 else None,
        lambda _event, directory: str(directory + 1) if directory >= 0 else "unknown",
    ),
}


@cache
def _reading_of(kind: str, column: str) -> _Reading:
    """The reading of a column without an enumeration."""
    described = _described(kind, column)
    if described is not None and described.names is not None:
        return _named(described)
    if described is not None and described.type in _READINGS:
        return _READINGS[described.type]
    words: Callable[[int], str] = str
    if column == "step":
        words = _from_one
    elif column == "lag_ms":
        words = _lag_text
    elif column.endswith("_us"):
        words = time_text
    elif column.endswith("_ms"):
        words = "{} ms".format
    return _Reading(lambda _event, number: number, lambda _event, number: words(number))


def _lag_text(lag_ms: int) -> str:
    """The time since a follower was caught up.

    For one that never was, Kafka takes the time 0 on a clock that counts from 1970.
    """
    return f"{lag_ms} ms" if lag_ms < _SINCE_1970_MS else "as long as it follows"


def _from_one(number: int) -> str:
    """The place of a step, as people count."""
    return str(number + 1)


def _named(column: Column) -> _Reading:
    """Numbers of which some have names: ``acks`` is 0, 1 or ``all``."""
    names = column.names or {}
    is_flag = column.type is Type.FLAG
    return _Reading(
        lambda _event, number: bool(number) if is_flag else names.get(number, number),
        lambda _event, number: str(names.get(number, number)),
    )


# Words.


@cache
def _columns_in(sentence: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(sentence) if name)


class _ColumnWords(NamedTuple):
    """A column in words; with a noun (``{logs:log}``) their number."""

    event: TraceEvent
    column: str

    def __format__(self, noun: str) -> str:
        if not noun:
            return self.event.words_of(self.column)
        number = self.event.row.columns.get(self.column)
        # A row of an older schema has no such column.
        return f"? {plural(noun)}" if number is None else counted(number, noun)


def _by_story(event: TraceEvent) -> str:
    story = _KINDS[event.kind].story
    return story.format_map({name: _ColumnWords(event, name) for name in _columns_in(story)})


def _registration_of_zookeeper(event: TraceEvent) -> str:
    if event.row["state"] == BROKER_ACTIVE:
        return f"/brokers/ids/{event.broker} is created by broker {event.broker}"
    by_request = event.row["state_reason"] == BROKER_DELETED
    writer = f"broker {event.broker}" if by_request else "the end of its session"
    return f"/brokers/ids/{event.broker} is deleted by {writer}"


def _controller_of_zookeeper(event: TraceEvent) -> str:
    if event.row["broker"] == NONE:
        return "/controller is deleted by the end of its session"
    if event.row["broker"] == FORMER_WRITER:
        return "/controller is created by a process before the run"
    return f"/controller is created by broker {event.broker}"


def _replicas_of_quorum(event: TraceEvent) -> str:
    parts = [f"eligible leaders are {event.words_of('eligible_leaders')}"]
    if event.last_known_leader is not None:
        parts.append(f"the last known leader is {event.words_of('last_known_leader')}")
    if event.recovering:
        parts.append("it recovers from an unclean election")
    if event.row["adding"] != EMPTY or event.row["removing"] != EMPTY:
        replicas, adding, removing = map(event.words_of, ("replicas", "adding", "removing"))
        parts.append(f"of the replicas {replicas}, {adding} are being added, {removing} removed")
    return "; ".join(parts)


def _refusal_of_quorum(event: TraceEvent) -> str:
    request, sender, error = map(event.words_of, ("api_key", "from_process", "error"))
    refused = f"refuses {request} of {sender}: {error}"
    return refused if event.row["offset"] < 0 else f"{refused} (offset {event.row['offset']})"


def _answer_of_quorum(event: TraceEvent) -> str:
    """The reason is told where the voter is not changed."""
    answered = _by_story(event)
    is_refused = event.row["voter_refusal"] != 0
    return f"{answered}, since {event.words_of('voter_refusal')}" if is_refused else answered


#: The words of these kinds in a run with ZooKeeper, and in one with KRaft.
_TOLD_BY_ZOOKEEPER: dict[str, Callable[[TraceEvent], str]] = {
    "broker_state": _registration_of_zookeeper,
    "controller_active": _controller_of_zookeeper,
}
_TOLD_BY_QUORUM: dict[str, Callable[[TraceEvent], str]] = {
    "partition_replicas": _replicas_of_quorum,
    "request_refused": _refusal_of_quorum,
    "voter_change_answered": _answer_of_quorum,
}
