"""Rows of the trace in words, for operators of Kafka.

Each kind of row has its sentence in its class (``simulation/trace_rows``), with columns in braces.
The type of a column decides its words: a broker by its id, an ISR as broker ids, an error by
Kafka's name.

The names come from the run's manifest, which lists the names for the numbers in rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from tidegauge.history.znode_paths import ZnodePaths
from tidegauge.replication import replica_list
from tidegauge.scenario.text.counted import counted, plural
from tidegauge.simulation.codes.occasions import FORMER_WRITER
from tidegauge.simulation.durations import time_text
from tidegauge.simulation.enumerations import ENUMERATIONS, Enumerations
from tidegauge.simulation.trace_rows.columns import Type
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.run_folder import RunFolder, TraceRow


class Names:
    """The names in a run's manifest for the numbers in rows."""

    def __init__(
        self, manifest: Mapping[str, Any], enumerations: Enumerations = ENUMERATIONS
    ) -> None:
        """Read the names in a manifest (``traces/run_folder.py`` describes it).

        Args:
            manifest: the run's.
            enumerations: the names in the headers of its trace files; by default this release's.
        """
        self.enumerations = enumerations
        self._processes = {
            process["process"]: str(process["name"]) for process in manifest["processes"]
        }
        self._brokers: list[int] = list(manifest["brokers"])
        self._partitions = list(manifest["partitions"])
        self._faults = list(manifest["faults"])
        self.znodes = ZnodePaths(manifest)
        self.partitions: dict[str, int] = {
            f"{partition['topic']}-{partition['partition']}": number
            for number, partition in enumerate(self._partitions)
        }
        brokers = {f"broker {broker}": index for index, broker in enumerate(self._brokers)}
        self._broker_of_process = {
            process: brokers[name] for process, name in self._processes.items() if name in brokers
        }

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

    def process(self, number: int) -> str:
        """Name of a process."""
        return self._processes.get(number, f"process {number}")

    def broker_of_process(self, process: int) -> int:
        """Index of the broker of a process; -1 if the process is not a broker."""
        return self._broker_of_process.get(process, -1)

    def process_of_broker(self, broker: int) -> int:
        """The process of the broker with this id; -1 if there is none."""
        processes = (
            process
            for process, index in self._broker_of_process.items()
            if self._brokers[index] == broker
        )
        return next(processes, -1)

    def broker_id(self, index: int) -> int | None:
        """Id of the broker with this index within the cluster; None for no broker."""
        return self._brokers[index] if 0 <= index < len(self._brokers) else None

    def topic_and_partition(self, number: int) -> tuple[str, int]:
        """Name of the topic, and the partition's number within it."""
        partition = self._partitions[number]
        return partition["topic"], partition["partition"]

    def partition(self, number: int) -> str:
        """Name of a partition, such as ``orders-0``."""
        if not 0 <= number < len(self._partitions):
            return "no partition"
        return "{}-{}".format(*self.topic_and_partition(number))

    def replicas(self, partition: int) -> list[int]:
        """Ids of the brokers of a new partition, the preferred leader first."""
        return list(self._partitions[partition]["replicas"])

    def slots(self, partition: int) -> list[int]:
        """Ids of the brokers in a partition's slots: all that ever have a replica of it."""
        # Runs of an older Tidegauge do not move replicas.
        planned = self._partitions[partition]
        return list(planned.get("slots", planned["replicas"]))

    def brokers_in(self, replicas: int, partition: int) -> list[int | None]:
        """Ids of the brokers in a replica list; None for a slot without one."""
        brokers = dict(enumerate(self.slots(partition)))
        return [brokers.get(slot) for slot in replica_list.unpack(replicas)]

    def fault(self, number: int) -> str:
        """Kind and name of a fault, such as ``cut_link 'cut-1'``."""
        if not 0 <= number < len(self._faults):
            return f"fault {number}"
        return "{kind} {name!r}".format_map(self._faults[number])

    def fault_name(self, number: int) -> str:
        """The name of a fault alone."""
        return str(self._faults[number]["name"])

    def fault_kind(self, number: int) -> str:
        """The kind of a fault alone."""
        return str(self._faults[number]["kind"])

    def fault_short(self, number: int) -> str:
        """Name and targets of a fault, in short form: ``cut-1: cut_link 1 <-> 3``."""
        text = self._faults[number].get("text") or self.fault_kind(number)
        return f"{self.fault_name(number)}: {text}"

    def fault_text(self, number: int) -> str:
        """Kind and name of a fault, with its text in the scenario."""
        text = self._faults[number].get("text") if 0 <= number < len(self._faults) else ""
        return f"{self.fault(number)} ({text})" if text else self.fault(number)


def _broker(names: Names, _row: TraceRow, index: int) -> str:
    broker = names.broker_id(index)
    return "none" if broker is None else f"broker {broker}"


def _brokers(names: Names, row: TraceRow, replicas: int) -> str:
    brokers = names.brokers_in(replicas, row["partition"])
    return f"[{','.join('?' if broker is None else str(broker) for broker in brokers)}]"


def _process(names: Names, _row: TraceRow, process: int) -> str:
    return "no process" if process < 0 else names.process(process)


def _writer(names: Names, row: TraceRow, index: int) -> str:
    """The writer of a znode: a broker by its index, or another writer without one."""
    if index >= 0:
        return _broker(names, row, index)
    if index == FORMER_WRITER:
        return "a process before the run"
    return "the end of its session" if row.kind == "znode_deleted" else "the operator"


def _topic(names: Names, _row: TraceRow, number: int) -> str:
    topics = names.znodes.topics
    return f"topic {topics[number] if 0 <= number < len(topics) else number}"


def _znode(names: Names, row: TraceRow, znode: int) -> str:
    return names.znodes.path(znode, row.columns.get("sequence_number"))


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
    Type.ZNODE: _znode,
    Type.FAULT: lambda names, _row, fault: names.fault_text(fault),
    Type.RATE: _rate,
    Type.DIRECTORY: _directory,
}

_KINDS = {kind.name: kind for kind in ROW_KINDS.values()}


def told(row: TraceRow, names: Names) -> str:
    """A row in words; time and process are not repeated."""
    kind = _KINDS.get(row.kind)
    if kind is None:  # a kind that this release does not know
        return f"{row.kind} {row.columns}"
    words = {
        name: _Spoken(spoken(row, name, names), row.columns.get(name)) for name in kind.columns
    }
    return kind.story.format_map(words)


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
        if described.type in _SPOKEN:
            return _SPOKEN[described.type](names, row, value)
    if column.endswith("_us"):
        return time_text(value)
    return f"{value} ms" if column.endswith("_ms") else str(value)


def because(row: TraceRow, run: RunFolder, names: Names) -> str | None:
    """The reason of a row that was caused by a missing message, in words.

    Raises:
        TraceError: a trace file is damaged.
    """
    process, sequence = row["because_process"], row["because_sequence"]
    if process < 0:
        return None
    if sequence < 0:
        return f"no message of {names.process(process)} had arrived"
    reason = run.canonical_row(process, sequence)
    if reason is None:
        return f"row {sequence} of {names.process(process)}, which the trace does not have"
    at = time_text(reason["time_us"])
    if reason.kind in {"fault_began", "fault_ended"}:
        return f"{names.fault(reason['fault'])} {reason.kind.removeprefix('fault_')} at {at}"
    about = reason.columns.get("partition", -1)
    which = reason.kind if about < 0 else f"{reason.kind} of {names.partition(about)}"
    return f"the last event of {names.process(process)} was {which} at {at}"
