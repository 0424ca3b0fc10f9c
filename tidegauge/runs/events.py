"""The rows of a trace for programs: brokers by their ids, ISRs as lists, errors by name.

``traces/run_folder.py`` reads rows as they were written: integers, many of which are numbers of
objects. Here a column with such a number has the name or id of the object. The others are
unchanged: times in microseconds or milliseconds, offsets, epochs, counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tidegauge.runs.cause_chain import handle_of
from tidegauge.runs.story import Names, spoken, told
from tidegauge.runs.zookeeper_rows import READ_BY_ZOOKEEPER, leader_of, partition_of
from tidegauge.simulation.durations import time_text
from tidegauge.traces.run_folder import TraceRow
from tidegauge.traces.trace_file import ROW_COLUMNS


class TraceEvent:
    """One row of a run: its time, process, kind, partition and columns.

    ``event["isr"]`` is the value of a column, and ``str(event)`` the event as a line of text.
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
        number = partition_of(self.row, self.names)
        return number if number >= 0 else None

    @property
    def words(self) -> str:
        """The event in words, as ``tidegauge show`` prints it."""
        return told(self.row, self.names)

    @property
    def handle(self) -> str:
        """Its handle for ``tidegauge show cause``; empty for a sample or a single request."""
        return handle_of(self.row)

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of its kind, by name."""
        return {name: self[name] for name in self.row.columns if name not in ROW_COLUMNS}

    def __getitem__(self, column: str) -> Any:
        value = self.row[column]
        if column in self.names.enumerations:
            return self.names.enumerated(column, value)
        if column in READ_BY_ZOOKEEPER:
            return READ_BY_ZOOKEEPER[column](self.row, self.names)
        return _READ[column](self, value) if column in _READ else value

    def __str__(self) -> str:
        return f"{time_text(self.time_us)}  {self.process}  {self.words}"

    def __repr__(self) -> str:
        return f"<{self}>"


def _partition(event: TraceEvent, _number: int) -> str | None:
    return event.partition


def _broker(event: TraceEvent, index: int) -> int | None:
    return event.names.member_id(index)


def _brokers(event: TraceEvent, replicas: int) -> list[int | None] | None:
    partition = event.partition_number
    # A row of ZooKeeper that is not about a partition has none.
    return None if partition is None else event.names.brokers_in(replicas, partition)


def _process(event: TraceEvent, number: int) -> str | None:
    return None if number < 0 else event.names.process(number)


def _topic(event: TraceEvent, number: int) -> str:
    return event.names.topic(number)


def _flag(_event: TraceEvent, value: int) -> bool:
    return bool(value)


#: The functions that read columns, by name; others are times, by their unit, or plain numbers.
_READ: dict[str, Callable[[TraceEvent, int], Any]] = {
    "partition": _partition,
    "leader": lambda event, _value: leader_of(event.row, event.names),
    "topic": _topic,
    **dict.fromkeys(("broker", "old_leader", "last_known_leader", "replica", "writer"), _broker),
    **dict.fromkeys(
        ("isr", "old_isr", "replicas", "adding", "removing", "eligible_leaders"), _brokers
    ),
    **dict.fromkeys(("from_process", "to_process"), _process),
    **dict.fromkeys(("clean", "is_new_leader", "leads", "recovering"), _flag),
    **dict.fromkeys(("unclean", "unclean_enabled", "waited"), _flag),
    "fault": lambda event, _value: spoken(event.row, "fault", event.names),
}
