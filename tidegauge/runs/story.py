"""Rows of the trace in words, for operators of Kafka.

Each kind of row has its sentence in its class (``simulation/trace_rows``), with columns in braces.
The type of a column decides its words: a broker by its id, an ISR as broker ids, an error by
Kafka's name.

The names come from the run's directory. The words for what ZooKeeper holds are in
``zookeeper_rows.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from string import Formatter
from typing import Any, NamedTuple, Self

from tidegauge.runs.quorum_rows import TOLD_BY_QUORUM
from tidegauge.runs.zookeeper_rows import DELETED, TOLD_BY_ZOOKEEPER, path_of
from tidegauge.scenario.text.errors import counted, plural
from tidegauge.simulation.quantities import time_text
from tidegauge.simulation.trace_rows.codes import FORMER_WRITER
from tidegauge.simulation.trace_rows.columns import Type
from tidegauge.simulation.trace_rows.schema import ENUMERATIONS, ROW_KINDS, Enumerations
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


def _broker(names: Names, _row: TraceRow, index: int) -> str:
    return names.member(index)


def _brokers(names: Names, row: TraceRow, replicas: int) -> str:
    brokers = names.brokers_in(replicas, row["partition"])
    return f"[{','.join('?' if broker is None else str(broker) for broker in brokers)}]"


def _process(names: Names, _row: TraceRow, process: int) -> str:
    return "no process" if process < 0 else names.process(process)


def _writer(names: Names, row: TraceRow, index: int) -> str:
    """A broker or a controller by its number, or another writer without one."""
    if index >= 0:
        return _broker(names, row, index)
    if index == FORMER_WRITER:
        return "a process before the run"
    return "the end of its session" if row.kind == DELETED else "the operator"


def _topic(names: Names, _row: TraceRow, number: int) -> str:
    return f"topic {names.topic(number)}"


def _rate(_names: Names, _row: TraceRow, size_bytes: int) -> str:
    return "any rate" if size_bytes < 0 else f"{size_bytes} bytes a second"


def _directory(_names: Names, _row: TraceRow, directory: int) -> str:
    return str(directory + 1) if directory >= 0 else "unknown"


#: The words for columns of a type. Others are times, by their unit, or plain numbers.
_SPOKEN: dict[Type, Callable[[Names, TraceRow, int], str]] = {
    Type.BROKER: _broker,
    Type.REPLICAS: _brokers,
    Type.PROCESS: _process,
    Type.WRITER: _writer,
    Type.TOPIC: _topic,
    Type.ZNODE: lambda names, row, _znode: path_of(row, names),
    Type.FAULT: lambda names, _row, fault: names.fault_text(fault),
    Type.RATE: _rate,
    Type.DIRECTORY: _directory,
}

#: What lines of logs often do not tell.
_UNTOLD = (Type.OFFSET, Type.TIME)

_KINDS = {kind.name: kind for kind in ROW_KINDS.values()}


def told(row: TraceRow, names: Names) -> str:
    """A row in words; time and process are not repeated."""
    if row.kind in TOLD_BY_ZOOKEEPER and not names.controllers:
        return TOLD_BY_ZOOKEEPER[row.kind](row, names)
    if row.kind in TOLD_BY_QUORUM and names.controllers:
        return TOLD_BY_QUORUM[row.kind](row, lambda column: spoken(row, column, names))
    kind = _KINDS.get(row.kind)
    if kind is None:  # a kind that this release does not know
        return f"{row.kind} {row.columns}"
    words = {
        name: _Spoken(spoken(row, name, names), row.columns.get(name))
        for name in _columns_in(kind.story)
    }
    return kind.story.format_map(words)


@cache
def _columns_in(sentence: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in Formatter().parse(sentence) if name)


class _Spoken(NamedTuple):
    """A column in words; with a noun (``{logs:log}``) their number."""

    text: str
    #: None: the row is of an older schema, and has no such column.
    value: int | None

    def __format__(self, noun: str) -> str:
        if not noun:
            return self.text
        return f"? {plural(noun)}" if self.value is None else counted(self.value, noun)


def spoken(row: TraceRow, column: str, names: Names) -> str:
    """A column of a row in words; "?" for a column that the row's schema does not have."""
    value = row.columns.get(column)
    if value is None:  # an older schema
        return "?"
    if column in names.enumerations:
        return names.enumerated(column, value)
    described = _KINDS[row.kind].described.get(column) if row.kind in _KINDS else None
    if described is not None:
        if described.names is not None:
            return str(described.names.get(value, value))
        is_untold = value < 0 and names.is_of_logs and described.type in _UNTOLD
        if is_untold or described.type in _SPOKEN:
            return "unknown" if is_untold else _SPOKEN[described.type](names, row, value)
    if column.endswith("_us"):
        return time_text(value)
    return f"{value} ms" if column.endswith("_ms") else str(value)
