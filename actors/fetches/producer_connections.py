"""Connections of producers: a broker handles one produce request of each at a time.

Its processor reads no further request from a connection until the response to the last one has
left, so the batches of one producer are appended in the order in which they were sent, and their
responses come in that order. An acks=all request that waits in the purgatory holds up those behind
it. A produce step of a scenario has a connection of its own.

Source: SocketServer.Processor.processCompletedReceives and processCompletedSends@2.6.0 (mute).
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, ProducerConnection
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import append_event, free_all, new_event, set_timer
from tidegauge.simulation.kernel import CLIENT, NONE
from tidegauge.simulation.messages.broker_timers import ConnectionFree
from tidegauge.simulation.messages.client_requests import ProducedBatch, ProduceRequest


@inner_rule
def _connection_of(world: Brokers, request: ProduceRequest) -> int:
    """The place of the connection on which a request has come."""
    clients = len(world.producer_connections) // world.sizes[0].brokers
    return request.destination * clients + request.source - world.process_ranges[CLIENT].first


@inner_rule
def _is_of_step(world: Brokers, request: ProduceRequest) -> bool:
    return view_as(world.items[request.first_item], ProducedBatch).batch == NONE


@inner_rule
def waits_for_connection(world: Brokers, request: ProduceRequest) -> bool:
    """Whether a request that comes is not read yet, as another one of its producer is handled."""
    if _is_of_step(world, request):
        return False
    place = _connection_of(world, request)
    connection = world.producer_connections[place]
    if not connection.busy and connection.waiting.first == NONE:
        if connection.free_us <= world.context[0].time_us:
            connection.busy = True
            return False
        _read_later(world, request.destination, place)
    append_event(world, connection.waiting, request)
    return True


@inner_rule
def _read_later(world: Brokers, broker: int, place: int) -> None:
    timer = new_event(world, broker, broker, ConnectionFree)
    timer.connection = place
    set_timer(world, timer, world.producer_connections[place].free_us)


@inner_rule
def free_connection(world: Brokers, request: ProduceRequest) -> None:
    """A request is answered: the next one of its producer is read when the response has left."""
    if _is_of_step(world, request):
        return
    place = _connection_of(world, request)
    connection = world.producer_connections[place]
    connection.busy = False
    connection.free_us = world.context[0].time_us + request.cost_us
    if connection.waiting.first != NONE:
        _read_later(world, request.destination, place)


@inner_rule
def forget_connections(world: Brokers, broker: int) -> None:
    """A broker drops all connections, with what has come on them."""
    clients = len(world.producer_connections) // world.sizes[0].brokers
    for place in range(broker * clients, (broker + 1) * clients):
        connection: ProducerConnection = world.producer_connections[place]
        free_all(world, connection.waiting)
        connection.busy = False
        connection.free_us = 0
