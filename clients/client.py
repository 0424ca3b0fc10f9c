"""Clients: the handlers of the events that reach them.

Producers (``producer.py``), consumers (``consumer.py``) and the operator (``steps.py``) are
processes of their own, with metadata that goes stale (``client_metadata.py``).
"""

from tidegauge.clients import client_metadata, consumer_group
from tidegauge.clients.accumulator import drain_all
from tidegauge.clients.client_state import CONSUMER, OPERATOR, PRODUCER, Clients
from tidegauge.clients.consumer import forget_fetches, handle_fetch_times_out, lose_fetch, poll_all
from tidegauge.clients.handlers import CLIENT
from tidegauge.clients.producer import (
    handle_produce_times_out,
    lose_produce_requests,
    plan_next_send,
)
from tidegauge.clients.sequences import handle_id_times_out, lose_id_request, request_producer_id
from tidegauge.clients.stalls import begin_to_read
from tidegauge.clients.steps import operate
from tidegauge.compiled.prefetching import prefetch
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.simulation.events import free_event, items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages import client_requests, timers
from tidegauge.simulation.messages.event import Event


@rule
def handle_client_event(world: Clients, event: Event) -> None:
    """Let a client deal with one event, and give the event back."""
    number = client_metadata.client_of(world, event.destination)
    if world.clients[number].kind == OPERATOR:
        operate(world, event)
    else:
        if event.source < world.sizes[0].brokers and event.kind != timers.Disconnected.KIND:
            client_metadata.note_connected(
                world.connections[number * world.sizes[0].brokers + event.source]
            )
        _handle(world, event)
    free_event(world, event)


@CLIENT.handles(timers.Disconnected)
@inner_rule
def _lose_connection(world: Clients, event: Event) -> None:
    """A broker has died, or refuses connections: its requests in flight have failed."""
    process = event.destination
    until_us = view_as(event, timers.Disconnected).until_us
    client = world.clients[client_metadata.client_of(world, process)]
    brokers = world.sizes[0].brokers
    if event.source >= brokers:
        return
    connection = world.connections[
        client_metadata.client_of(world, process) * brokers + event.source
    ]
    client_metadata.lose_connection(world, client, connection, event.source)
    client_metadata.lose_metadata_request(world, client, event.source, until_us)
    if client.kind == PRODUCER:
        lose_id_request(world, client, event.source, until_us)
        lose_produce_requests(world, process, event.source, until_us)
    elif client.kind == CONSUMER:
        lose_fetch(world, process, event.source, until_us)
        if consumer_group.commits(client):
            consumer_group.lose_group_requests(world, client, event.source, until_us)


@CLIENT.handles(client_requests.GroupResponse)
@inner_rule
def _take_group_response(world: Clients, response: client_requests.GroupResponse) -> None:
    if consumer_group.handle_group_response(world, response):
        poll_all(world, response.destination)


@CLIENT.handles(timers.ConsumerRestarts)
@inner_rule
def _restart(world: Clients, news: timers.ConsumerRestarts) -> None:
    process = news.destination
    forget_fetches(world, process)
    consumer_group.restart_consumer(world, world.clients[client_metadata.client_of(world, process)])


@CLIENT.handles(timers.RequestTimesOut)
@inner_rule
def _time_out(world: Clients, timer: timers.RequestTimesOut) -> None:
    if timer.request_kind == client_requests.ProduceRequest.KIND:
        handle_produce_times_out(world, timer)
    elif timer.request_kind == client_requests.FetchRequest.KIND:
        handle_fetch_times_out(world, timer)
    elif timer.request_kind == client_requests.InitProducerIdRequest.KIND:
        handle_id_times_out(world, timer)
    else:
        client_metadata.handle_metadata_times_out(world, timer)


@CLIENT.handles(timers.ClientStart)
@inner_rule
def _start(world: Clients, timer: timers.ClientStart) -> None:
    process = timer.destination
    client = world.clients[client_metadata.client_of(world, process)]
    client_metadata.request_metadata(world, process)
    if client.kind == PRODUCER:
        if client.is_idempotent:
            request_producer_id(world, process)
        plan_next_send(world, client, process)
        return
    begin_to_read(world, client)
    if consumer_group.commits(client):
        consumer_group.begin_group(world, client)


@CLIENT.handles(timers.MetadataRefresh)
@inner_rule
def _refresh_metadata(world: Clients, timer: timers.MetadataRefresh) -> None:
    world.clients[client_metadata.client_of(world, timer.destination)].refresh_timer = False
    client_metadata.request_metadata(world, timer.destination)


@CLIENT.handles(client_requests.MetadataResponse)
@inner_rule
def _take_metadata_response(world: Clients, response: client_requests.MetadataResponse) -> None:
    process = response.destination
    client = world.clients[client_metadata.client_of(world, process)]
    if client_metadata.take_metadata(world, response):
        client_metadata.refresh_later(world, client, client.metadata_max_age_ms)
    if client.kind == CONSUMER:
        poll_all(world, process)
    else:
        drain_all(world, process)


@rule
def expect_client_event(world: Clients, event: Event) -> None:
    """Have the processor load the batches that a producer's next event is about."""
    if event.kind == client_requests.ProduceResponse.KIND:
        for item in items_of(world, event, client_requests.ProducedBatch):
            prefetch(world.batches, item.place, 1)


#: Calls the handler of the event of a producer or a consumer.
_handle = CLIENT.dispatcher(__name__, "_handle", Clients, Event)


@inner_rule
def stop_client(world: Clients, process: int, time_us: int) -> None:
    """Let a producer make no more batches, and the operator take no more steps."""
    client = world.clients[client_metadata.client_of(world, process)]
    client.stop_us = min(client.stop_us, time_us)
    if client.kind == OPERATOR:
        client.step = world.pool[0].steps
        client.waiting = NONE
