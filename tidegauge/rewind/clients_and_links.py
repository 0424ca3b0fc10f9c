"""The records of a client, of a link, and of the events that wait for their time."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.clients.client_state import OPERATOR
from tidegauge.compiled.records import column
from tidegauge.engine.doors import World
from tidegauge.rewind.seen_run import RecordState, SeenRun, places_in
from tidegauge.simulation.events import EVENTS
from tidegauge.simulation.kernel import NONE, UNIMPAIRED
from tidegauge.simulation.messages.idle_fetches import OTHER_END


def client_records(seen: SeenRun, process: int) -> Iterator[RecordState]:
    """The records of a client, by its process."""
    world, number = seen.world_of(process), seen.names.processes[process].number
    client = world.clients[number]
    yield seen.record("process", world.processes[process])
    yield seen.record("client", client)
    yield seen.record("position in the metadata", world.client_metadata[number])
    if client.kind == OPERATOR:
        yield from _steps(seen, world, int(client.step))
        return
    count = len(seen.names.brokers)
    for index, broker in enumerate(seen.names.brokers):
        connection = world.connections[number * count + index]
        yield seen.record(f"connection to broker {broker}", connection)
    first = int(client.first_target)
    for target in world.client_targets[first : first + int(client.target_count)]:
        name = seen.names.partition(int(target.partition))
        yield seen.record(f"target {name}", target, int(target.partition))
        known = world.known_partitions[int(target.known)]
        yield seen.record(f"metadata of {name}", known)
    yield from _batches(seen, world, number)


def _steps(seen: SeenRun, world: World, step: int) -> Iterator[RecordState]:
    if 0 <= step < len(world.steps):
        title = f"step {step + 1}: {seen.names.step_text(step)}"
        yield seen.record(title, world.steps[step], int(world.steps[step].partition))
    for number, roll in enumerate(world.rolls):
        yield seen.record(f"rolling restart {number + 1}", roll)


def _batches(seen: SeenRun, world: World, client: int) -> Iterator[RecordState]:
    """The batches of a client that have no outcome, in the order of their creation."""
    batches = world.batches
    is_open = (column(batches, "client") == client) & (column(batches, "number") >= 0)
    is_open &= ~np.asarray(column(batches, "done"), bool)
    places = np.flatnonzero(is_open)
    for place in places[np.argsort(column(batches, "number")[places])].tolist():
        batch = batches[place]
        partition = int(world.client_targets[int(batch.target)].partition)
        name = f"batch {int(batch.number)} for {seen.names.partition(partition)}"
        yield seen.record(name, batch, partition)


def link_records(seen: SeenRun, source: int, destination: int) -> Iterator[RecordState]:
    """The link from one process to another: as the sender has it, and as the receiver has it."""
    ends = {"sender": seen.world_of(source), "receiver": seen.world_of(destination)}
    if ends["sender"] is ends["receiver"]:
        ends = {"": ends["sender"]}
    for end, world in ends.items():
        of_end = f" at the {end}" if end else ""
        link = world.links[source * int(world.context[0].process_count) + destination]
        yield seen.record(f"link{of_end}", link)
        if link.impairment != UNIMPAIRED:
            impairment = world.impairments[int(link.impairment)]
            yield seen.record(f"impairment{of_end}", impairment)


class WaitingEvent(NamedTuple):
    """An event that is not handled yet."""

    world: World
    #: Its place in ``World.events``.
    place: int


def waiting_events(seen: SeenRun) -> list[WaitingEvent]:
    """All events that wait for their time, in the order in which they are handled."""
    found: list[tuple[tuple[int, ...], WaitingEvent]] = []
    for world in seen.worlds:
        ready = places_in(world.events, int(world.context[0].ready.first), EVENTS.following)
        found += [((-1, rank), WaitingEvent(world, each)) for rank, each in enumerate(ready)]
        places = _places_in_heaps(world)
        keys = [column(world.events, name)[places].tolist() for name in _ORDER]
        found += [
            (tuple(key), WaitingEvent(world, place))
            for *key, place in zip(*keys, places.tolist(), strict=True)
            if key[2] != OTHER_END
        ]
    return [event for _, event in sorted(found, key=itemgetter(0))]


#: The order of events (``simulation/events.precedes``).
_ORDER = ("time_us", "destination", "source", "sequence")


def _places_in_heaps(world: World) -> NDArray[np.int64]:
    context = world.context[0]
    soon = column(world.heap, "index")[: int(context.heap_size)]
    later = column(world.later_heap, "index")[: int(context.later_heap_size)]
    return np.concatenate([soon, later])


def in_flight(seen: SeenRun, source: int, destination: int) -> Sequence[WaitingEvent]:
    """The messages on a link in the order of their arrival, behind those held by pins and a cut."""
    world = seen.world_of(destination)
    count = int(world.context[0].process_count)
    link = world.links[source * count + destination]
    held = int(world.impairments[int(link.impairment)].held.first) if link.impairment else NONE
    pinned = [state.held.first for state in world.pin_states[destination::count]]
    kept = [
        WaitingEvent(world, each)
        for first in (*map(int, pinned), held)
        for each in places_in(world.events, first, EVENTS.following)
        if world.events[each].source == source
    ]
    flying = [each for each in waiting_events(seen) if _is_between(each, source, destination)]
    return [*kept, *flying]


def _is_between(waiting: WaitingEvent, source: int, destination: int) -> bool:
    event = waiting.world.events[waiting.place]
    to = event.destination if event.relayed_to == NONE else event.relayed_to
    return bool(event.source == source and to == destination)
