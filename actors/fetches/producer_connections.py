"""Waiting requests: behind others on a producer's connection, and in a purgatory.

**A connection of a producer** brings one produce request at a time. Its processor reads no further
one until the response to the last one has left, so the batches of one producer are appended in the
order in which they were sent, and their responses come in that order. An acks=all request that
waits in the purgatory holds up those behind it. A produce step of a scenario has a connection of
its own.

**A purgatory** (Kafka: ``Purgatory``) holds a fetch until there are enough bytes, an acks=all
produce until the high watermark has reached its last record; each no longer than its timeout. A
waiting request is *watched* by every partition that can complete it. It lies in its event's slot,
and its watches are taken out when it completes, so there is nothing to purge.

It is woken (``fetch_purgatory.py``, ``produce_purgatory.py``) by

* an append: fetches of the partition. From 2.4 on Kafka wakes them once the high watermark has been
  tried, from 2.7 on after the request's other work is done: within one instant of virtual time all
  of these are the same;
* a high watermark that moves: fetches and produces;
* the loss of leadership: both, with an error.

Source: SocketServer.Processor.processCompletedReceives and processCompletedSends@2.6.0 (mute).
"""

from tidegauge.actors.state import broker_records, brokers
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import append_event, free_all
from tidegauge.simulation.kernel import CLIENT, NONE, Kernel
from tidegauge.simulation.messages.client_requests import (
    FetchRequest,
    ProducedBatch,
    ProduceRequest,
)
from tidegauge.simulation.messages.timers import ConnectionFree, FetchExpires


@inner_rule
def _connection_of(world: brokers.Brokers, request: ProduceRequest) -> int:
    """The place of the connection on which a request has come."""
    clients = len(world.producer_connections) // world.sizes[0].brokers
    return request.destination * clients + request.source - world.process_ranges[CLIENT].first


@inner_rule
def _is_of_step(world: brokers.Brokers, request: ProduceRequest) -> bool:
    return view_as(world.items[request.first_item], ProducedBatch).batch == NONE


@inner_rule
def waits_for_connection(world: brokers.Brokers, request: ProduceRequest) -> bool:
    """Whether a request that comes is not read yet, as another one of its producer is handled."""
    if _is_of_step(world, request):
        return False
    place = _connection_of(world, request)
    connection = world.producer_connections[place]
    if not connection.busy and connection.waiting.first == NONE:
        if connection.free_us <= world.context[0].time_us:
            connection.busy = True
            return False
        ConnectionFree.at(world, world.producer_connections[place].free_us, connection=place)
    append_event(world, connection.waiting, request)
    return True


@inner_rule
def free_connection(world: brokers.Brokers, request: ProduceRequest) -> None:
    """A request is answered: the next one of its producer is read when the response has left."""
    if _is_of_step(world, request):
        return
    place = _connection_of(world, request)
    connection = world.producer_connections[place]
    connection.busy = False
    connection.free_us = world.context[0].time_us + request.cost_us
    if connection.waiting.first != NONE:
        ConnectionFree.at(world, world.producer_connections[place].free_us, connection=place)


@inner_rule
def forget_connections(world: brokers.Brokers, broker: int) -> None:
    """A broker drops all connections, with the requests that have arrived on them."""
    clients = len(world.producer_connections) // world.sizes[0].brokers
    for place in range(broker * clients, (broker + 1) * clients):
        connection: broker_records.ProducerConnection = world.producer_connections[place]
        free_all(world, connection.waiting)
        connection.busy = False
        connection.free_us = 0


@inner_rule
def new_watch(world: brokers.Brokers, event: int, entry: int) -> int:
    """Take a watch of the pool."""
    index = brokers.WATCH_SLOTS.take(world, world.pools[0].watch_slots)
    world.watches[index].event = event
    world.watches[index].entry = entry
    return index


@inner_rule
def _free_watch(world: brokers.Brokers, index: int) -> None:
    brokers.WATCH_SLOTS.give_back(world, world.pools[0].watch_slots, index)


@inner_rule
def watch(
    world: brokers.Brokers, waiting: broker_records.WatchList, event: int, entry: int
) -> None:
    """Let a request, with its entry, wait for a replica, behind those that do already."""
    brokers.WATCHES.append(world, waiting, new_watch(world, event, entry))


@inner_rule
def unwatch(world: brokers.Brokers, waiting: broker_records.WatchList, event: int) -> None:
    """Take a request that is complete out of the list of a replica."""
    for index in brokers.WATCHES.of(world, waiting):
        if world.watches[index].event == event:
            brokers.WATCHES.remove(world, waiting, index)
            _free_watch(world, index)
            return


@inner_rule
def forget_watches_of(world: brokers.Brokers, row: int) -> None:
    """Free all watches of a replica; their requests are gone already."""
    _forget_list(world, world.delayed_fetches[row])
    _forget_list(world, world.delayed_produces[row])


@inner_rule
def _forget_list(world: brokers.Brokers, waiting: broker_records.WatchList) -> None:
    while waiting.first != NONE:
        _free_watch(world, brokers.WATCHES.take_first(world, waiting))


@inner_rule
def expire_later(world: Kernel, request: FetchRequest) -> None:
    """Answer a fetch after its time-out, whatever there is by then."""
    FetchExpires.after(
        world,
        request.max_wait_ms * 1000,
        request_index=request.index,
        request_source=request.source,
        request_sequence=request.sequence,
    )


@inner_rule
def still_waits(world: Kernel, timer: FetchExpires) -> bool:
    """Whether the fetch that the timer is about still waits."""
    request = world.events[timer.request_index]
    return (
        request.kind == FetchRequest.KIND
        and request.source == timer.request_source
        and request.sequence == timer.request_sequence
    )
