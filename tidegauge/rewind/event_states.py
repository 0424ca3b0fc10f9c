"""An event in words: its kind, its fields by name, its entries, its cause."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from tidegauge.compiled.records import dtype_of, view_as
from tidegauge.engine.doors import World
from tidegauge.engine.rewinding import KeptEvent, kept_event
from tidegauge.rewind import zookeeper_records
from tidegauge.rewind.field_values import About, FieldValue, field_values, fields_of
from tidegauge.runs.trace_events import Names
from tidegauge.simulation.kernel import NONE, SCENARIO
from tidegauge.simulation.messages import client_requests
from tidegauge.simulation.messages.event import KINDS, Event, PartitionData

#: Fields that are told beside the others, places in tables of the kernel, and those that have a
#: meaning only once the event is being handled.
_TOLD = frozenset(
    (
        *(
            "time_us",
            "destination",
            "source",
            "sequence",
            "kind",
            "cause_process",
            "cause_sequence",
        ),
        *("index", "next", "first_item", "last_item", "item_count", "relayed_to", "left_us"),
        *("thread", "phase", "cursor", "cost_us", "deadline_us"),
    )
)

#: Entries of events whose docstring does not name them.
_ENTRIES: Mapping[type[Event], type[PartitionData]] = {
    client_requests.FetchRequest: client_requests.FetchPartition,
    client_requests.OffsetsForLeaderEpochRequest: client_requests.EpochAsked,
    client_requests.ListOffsetsRequest: client_requests.OffsetsAsked,
    client_requests.MetadataResponse: client_requests.PartitionLeader,
    **zookeeper_records.ENTRIES,
}

#: A class in a docstring.
_CLASS = re.compile(r"``([A-Z]\w+)``|:class:`([A-Z]\w+)`")


class EventState(NamedTuple):
    """An event by the names of its fields."""

    time_us: int
    #: Its name in traces, such as ``FETCH``, and its meaning.
    kind: str
    meaning: str
    source: str
    destination: str
    #: The canonical row that made its source send it, ``PROCESS:SEQUENCE``; None: the beginning.
    cause: str | None
    fields: Mapping[str, FieldValue]
    #: The fields of each entry of its chain.
    entries: Sequence[Mapping[str, FieldValue]]

    @property
    def values(self) -> dict[str, Any]:
        """The event for programs."""
        told = self._asdict() | {"fields": _values_of(self.fields)}
        return told | {"entries": [_values_of(each) for each in self.entries]}


def _values_of(fields: Mapping[str, FieldValue]) -> dict[str, Any]:
    return {name: each.value for name, each in fields.items()}


def event_state(kept: KeptEvent, names: Names) -> EventState:
    """A kept event by the names of its fields."""
    slot = kept.event
    kind = KINDS[int(slot.kind)]
    event: Any = view_as(slot, kind)
    number = int(event.partition) if "partition" in (dtype_of(kind).names or ()) else NONE
    about = About(names, number)
    receiver = slot.destination if slot.relayed_to == NONE else slot.relayed_to
    entries = [_entry(each, kind, names) for each in kept.items]
    return EventState(
        int(slot.time_us),
        kind.NAME,
        " ".join((kind.__doc__ or "").split()),
        "the scenario" if slot.source == SCENARIO else names.process(int(slot.source)),
        names.process(int(receiver)),
        handle_of(int(slot.cause_process), int(slot.cause_sequence)),
        _told_fields(event, kind, about),
        entries,
    )


def event_at(world: World, place: int, names: Names) -> EventState:
    """An event that waits, by its place in ``World.events``."""
    return event_state(kept_event(world, place), names)


def handle_of(process: int, sequence: int) -> str | None:
    """A row's handle, as ``tidegauge show cause`` takes it; None: there is no row."""
    return f"{process}:{sequence}" if process >= 0 and sequence >= 0 else None


def _told_fields(event: Any, kind: type[Event], about: About) -> dict[str, FieldValue]:
    """The fields of an event; of those that all events have the ones that say anything."""
    common = {each.name: each.default for each in fields_of(Event)}
    return {
        name: each
        for name, each in field_values(event, kind, about)
        if name not in _TOLD and (name not in common or event[name] not in (0, common[name]))
    }


def _entry(item: Any, kind: type[Event], names: Names) -> dict[str, FieldValue]:
    entry_class = _entries_of(kind)
    entry = view_as(item, entry_class)
    about = About(names, int(item.partition))
    fields = dict(field_values(entry, entry_class, about))
    return {name: each for name, each in fields.items() if name != "next"}


@cache
def _entries_of(kind: Any) -> type[PartitionData]:
    """The class of the entries of a kind of events: the one that its docstring names."""
    if kind in _ENTRIES:
        return _ENTRIES[kind]
    named = {one or other for one, other in _CLASS.findall(kind.__doc__ or "")}
    found = [each for each in _all_entries(PartitionData) if each.__name__ in named]
    return found[0] if len(found) == 1 else PartitionData


def _all_entries(declared: Any) -> list[Any]:
    below = [each for own in declared.__subclasses__() for each in (own, *_all_entries(own))]
    return list(dict.fromkeys(below))
