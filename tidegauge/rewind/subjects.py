"""The subjects of a run: how they are named, and the state of each."""

from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.group_states import new_states
from tidegauge.replication.replica_list import size
from tidegauge.rewind import brokers_and_replicas, clients_and_links, control_plane
from tidegauge.rewind.event_states import EventState, event_at
from tidegauge.rewind.field_values import FieldValue, seconds
from tidegauge.rewind.seen_run import RecordState, SeenRun, SubjectState, listed
from tidegauge.rewind.zookeeper_records import zookeeper_records
from tidegauge.runs.brokers import broker_index
from tidegauge.runs.clients import clients_called
from tidegauge.runs.partitions import partition_number
from tidegauge.runs.trace_events import Names
from tidegauge.scenario.text.errors import did_you_mean

#: The number of next events, unless another one is named.
NEXT_EVENTS = 10


class Subject(NamedTuple):
    """A part of a run that is looked at."""

    #: Such as ``broker 2``.
    name: str
    #: Its kind: the first word.
    kind: str
    #: Its numbers: of a broker, a partition, processes.
    numbers: tuple[int, ...] = ()


class _Words:
    """The words that name subjects, one after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = list(words)

    def __bool__(self) -> bool:
        return bool(self._words)

    def take(self, needed_by: str) -> str:
        if not self._words:
            raise TidegaugeError(f"{needed_by}: the name is missing: {_USES[needed_by]}")
        return self._words.pop(0)

    def take_number(self) -> str | None:
        """The next word if it is a number."""
        return self._words.pop(0) if self._words and self._words[0].isdecimal() else None


#: How each subject is written.
_USES = {
    "broker": "broker ID",
    "partition": "partition TOPIC-N",
    "client": "client NAME",
    "controller": "controller [ID]",
    "zookeeper": "zookeeper",
    "link": "link FROM TO",
    "events": "events [N]",
}


def parse_subjects(words: Sequence[str], names: Names) -> list[Subject]:
    """Read the names of subjects: ``broker 2 partition orders-0 events 5``.

    Raises:
        TidegaugeError: a name is unknown; the message has the known ones.
    """
    left, found = _Words(words), []
    while left:
        kind = left.take("broker")
        if kind not in _PARSERS:
            raise TidegaugeError(
                f"{kind}: is no subject; {did_you_mean(kind, _PARSERS)} The subjects are: "
                f"{', '.join(_USES.values())}"
            )
        found += _PARSERS[kind](left, names)
    return list(dict.fromkeys(found))


def _broker(words: _Words, names: Names) -> list[Subject]:
    index = broker_index(words.take("broker"), names)
    return [Subject(f"broker {names.brokers[index]}", "broker", (index,))]


def _partition(words: _Words, names: Names) -> list[Subject]:
    number = partition_number(words.take("partition"), names)
    return [Subject(f"partition {names.partition(number)}", "partition", (number,))]


def _client(words: _Words, names: Names) -> list[Subject]:
    name = words.take("client")
    found = names.processes_with_role("client")
    called = [each for each in found if names.process(each) == name]
    called = called or clients_called(name, names)
    return [
        Subject(f"client {names.process(each).removeprefix('client ')}", "client", (each,))
        for each in called
    ]


def _controller(words: _Words, names: Names) -> list[Subject]:
    word, ids = words.take_number(), names.controllers or names.brokers
    if word is None:
        return [Subject("controller", "controller")]
    if int(word) not in ids:
        raise TidegaugeError(
            f"controller {word}: no such controller; there are: {', '.join(map(str, ids))}"
        )
    return [Subject(f"controller {word}", "controller", (ids.index(int(word)),))]


def _zookeeper(_words: _Words, names: Names) -> list[Subject]:
    if names.controllers:
        raise TidegaugeError("zookeeper: the cluster has a KRaft quorum: the subject is controller")
    return [Subject("zookeeper", "zookeeper")]


def _link(words: _Words, names: Names) -> list[Subject]:
    ends = [process_called(words.take("link"), names) for _ in range(2)]
    if ends[0] == ends[1]:
        raise TidegaugeError(f"link: no process has a link to itself: {names.process(ends[0])}")
    name = " to ".join(names.process(each) for each in ends)
    return [Subject(f"link from {name}", "link", (ends[0], ends[1]))]


def process_called(word: str, names: Names) -> int:
    """The process of a name: the id of a broker, or the name with or without its role.

    Raises:
        TidegaugeError: there is none; the message has the nearest name.
    """
    called: dict[str, int] = {}
    for number, process in names.processes.items():
        called[process.name] = number
        if process.role in ("broker", "client"):
            called.setdefault(process.name.partition(" ")[2] or process.name, number)
    if word not in called:
        near = get_close_matches(word, called, n=1)
        hint = f"did you mean {near[0]}?" if near else f"there are: {_SOME_PROCESSES}"
        raise TidegaugeError(f"{word}: no such process; {hint}")
    return called[word]


#: The names of processes, which a large cluster has too many of to list.
_SOME_PROCESSES = (
    "brokers by their ids, clients by their names, zookeeper, 'controller of broker ID', "
    "'controller ID' of a quorum"
)


def _events(words: _Words, _names: Names) -> list[Subject]:
    count = words.take_number()
    name = "events" if count is None else f"events {count}"
    return [Subject(name, "events", (NEXT_EVENTS if count is None else int(count),))]


_PARSERS: dict[str, Callable[[_Words, Names], list[Subject]]] = {
    "broker": _broker,
    "partition": _partition,
    "client": _client,
    "controller": _controller,
    "zookeeper": _zookeeper,
    "link": _link,
    "events": _events,
}


# The states.


def state_of(subject: Subject, seen: SeenRun) -> SubjectState:
    """The state of a subject at the moment."""
    return SubjectState(subject.name, list(_RECORDS[subject.kind](seen, *subject.numbers)))


def _partition_records(seen: SeenRun, number: int) -> Iterator[RecordState]:
    yield from control_plane.partition_state_records(seen, number)
    yield from brokers_and_replicas.replica_records(seen, number)


def _controllers(seen: SeenRun, *members: int) -> Iterator[RecordState]:
    """A controller; without a number the active one, or where there is none all of them."""
    chosen = members or control_plane.active_controllers(seen)
    for member in chosen or range(len(seen.names.controllers or seen.names.brokers)):
        name = control_plane.controller_name(seen, member)
        for each in control_plane.controller_records(seen, member):
            yield each if members else each._replace(title=f"{name}: {each.title}")


def _link_state(seen: SeenRun, source: int, destination: int) -> Iterator[RecordState]:
    yield from clients_and_links.link_records(seen, source, destination)
    flying = clients_and_links.in_flight(seen, source, destination)
    yield from _as_records(
        "message", [event_at(each.world, each.place, seen.names) for each in flying]
    )


def _next_events(seen: SeenRun, count: int) -> Iterator[RecordState]:
    yield from _as_records("event", next_events(seen, count))


def next_events(seen: SeenRun, count: int) -> list[EventState]:
    """The events that come next, without those of idle fetches, which are computed."""
    waiting = clients_and_links.waiting_events(seen)[:count]
    return [event_at(each.world, each.place, seen.names) for each in waiting]


def _as_records(name: str, events: Sequence[EventState]) -> Iterator[RecordState]:
    """Events as records of a subject, each with its time, its kind and its ends."""
    for number, event in enumerate(events, 1):
        told: dict[str, Any] = {
            "time_us": FieldValue(event.time_us, seconds(event.time_us)),
            **{each: _as_field(getattr(event, each)) for each in ("kind", "source", "destination")},
            "cause": _as_field(event.cause),
            **event.fields,
        }
        for place, entry in enumerate(event.entries):
            of_entry = entry["partition"].text if "partition" in entry else str(place)
            told |= {
                f"{of_entry}.{field}": each for field, each in entry.items() if field != "partition"
            }
        yield RecordState(f"{name} {number}", None, told)


def _as_field(text: str | None) -> FieldValue:
    return FieldValue(text, "none" if text is None else text)


def overview_of(seen: SeenRun) -> SubjectState:
    """The whole cluster in short: its brokers, its leaders, its controller."""
    return SubjectState("cluster", [*_cluster(seen)])


def _cluster(seen: SeenRun) -> Iterator[RecordState]:
    names = seen.names
    states = new_states(seen.rewinding.plan)
    for group in seen.rewinding.run.groups:
        group.look_at_states(states)
    there = [each for each in states.partitions if each.exists]
    leads = dict.fromkeys(range(len(names.brokers)), 0)
    for each in there:
        if each.leader in leads:
            leads[int(each.leader)] += 1
    is_alive = {each: bool(seen.world_of(each).processes[each].alive) for each in leads}
    yield RecordState(
        "brokers",
        None,
        {
            f"broker {names.brokers[each]}": FieldValue(
                {"alive": is_alive[each], "leads": leads[each]},
                f"{'runs' if is_alive[each] else 'is down'}, leads {leads[each]}",
            )
            for each in leads
        },
    )
    active = [
        control_plane.controller_name(seen, each) for each in control_plane.active_controllers(seen)
    ]
    yield listed("control plane", [("active", ", ".join(active) or "none")])
    without = sum(1 for each in there if each.leader < 0)
    shrunk = sum(1 for each in there if size(int(each.isr)) < size(int(each.replicas)))
    yield listed(
        "partitions",
        [("existing", len(there)), ("without a leader", without), ("with a smaller ISR", shrunk)],
    )
    acting: dict[str, FieldValue] = {}
    for process in names.processes:
        acting |= seen.faults_at(process).fields
    yield RecordState("faults that act", None, acting)


_RECORDS: dict[str, Callable[..., Iterator[RecordState]]] = {
    "broker": brokers_and_replicas.broker_records,
    "partition": _partition_records,
    "client": clients_and_links.client_records,
    "controller": _controllers,
    "zookeeper": zookeeper_records,
    "link": _link_state,
    "events": _next_events,
}
