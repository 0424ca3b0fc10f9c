"""The processes of a run at a moment, as subjects see them: records with the names of the run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.compiled.records import Record
from tidegauge.engine.doors import World
from tidegauge.engine.rewinding import Rewinding
from tidegauge.rewind.field_values import About, FieldValue, field_values
from tidegauge.runs.trace_events import Names


class RecordState(NamedTuple):
    """A record at a moment."""

    #: Its name among the records of its subject, such as ``log on disk at broker 2``.
    title: str
    #: Its class; None: these are no fields of a record, but a list in short.
    record: type[Record] | None
    fields: Mapping[str, FieldValue]

    @property
    def values(self) -> dict[str, Any]:
        """The fields for programs."""
        return {name: each.value for name, each in self.fields.items()}


class SubjectState(NamedTuple):
    """The records of a subject at a moment."""

    #: Its name, such as ``partition orders-0``.
    name: str
    records: Sequence[RecordState]

    @property
    def values(self) -> dict[str, dict[str, Any]]:
        """The fields of each record for programs."""
        return {each.title: each.values for each in self.records}


class SeenRun:
    """The tables of a run at the moment where it is, and the names for their numbers."""

    def __init__(self, rewinding: Rewinding, names: Names) -> None:
        """See a run that is repeated."""
        self.rewinding = rewinding
        self.names = names

    @property
    def worlds(self) -> Sequence[World]:
        """The tables of each group of processes."""
        return self.rewinding.run.worlds

    def world_of(self, process: int) -> World:
        """The tables of the group that hosts a process."""
        return self.rewinding.run.world_of(process)

    def record(self, title: str, record: Any, partition: int = -1) -> RecordState:
        """A record with all of its fields.

        Args:
            title: its name among the records of its subject.
            record: the record, of a table.
            partition: the number of the partition whose slots it has; -1: it has none.
        """
        record_class = type(record)
        fields = dict(field_values(record, record_class, About(self.names, partition)))
        return RecordState(title, record_class, fields)

    def faults_at(self, process: int) -> RecordState:
        """The faults that act at a process now."""
        world = self.world_of(process)
        count = int(world.context[0].process_count)
        acting = {
            fault.name: FieldValue(True, fault.text or fault.kind)
            for number, fault in enumerate(self.names.faults)
            for role in (world.fault_roles[number * count + process],)
            if role.active and role.side != 0
        }
        return RecordState("faults that act", None, acting)


def listed(title: str, items: Iterable[tuple[str, Any]]) -> RecordState:
    """A list in short: a name and a number, or a text, for each item."""
    return RecordState(title, None, {name: FieldValue(each, str(each)) for name, each in items})


def places_in(records: Any, first: int, following: str) -> Iterator[int]:
    """The places of the records of a list, from its first one on."""
    while first >= 0:
        yield first
        first = int(records[first][following])
