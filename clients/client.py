"""Clients: what each does with the events that reach it.

Producers (``producer.py``), consumers (``consumer.py``) and the operator (``steps.py``) are
processes of their own, with metadata that goes stale (``client_metadata.py``).
"""

from tidegauge.clients.accumulator import drain_all
from tidegauge.clients.client_metadata import (
    client_of,
    handle_metadata_times_out,
    lose_connection,
    lose_metadata_request,
    note_connected,
    refresh_later,
    request_metadata,
    take_metadata,
)
from tidegauge.clients.client_state import CONSUMER, OPERATOR, PRODUCER, Clients
from tidegauge.clients.consumer import (
    forget_fetches,
    handle_fetch_times_out,
    lose_fetch,
    poll_all,
)
from tidegauge.clients.consumer_group import (
    begin_group,
    commits,
    handle_group_response,
    lose_group_requests,
    restart_consumer,
)
from tidegauge.clients.handlers import CLIENT
from tidegauge.clients.producer import (
    handle_produce_times_out,
    lose_produce_requests,
    plan_next_batch,
)
from tidegauge.clients.sequences import (
    handle_id_times_out,
    lose_id_request,
    request_producer_id,
)
from tidegauge.clients.stalls import begin_to_read
from tidegauge.clients.steps import operate
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule, rule
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import (
    FetchRequest,
    GroupResponse,
    InitProducerIdRequest,
    MetadataResponse,
    ProduceRequest,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import (
    ClientStart,
    ConsumerRestarts,
    Disconnected,
    MetadataRefresh,
    RequestTimesOut,
)


@rule
def handle_client_event(world: Clients, event: Event) -> None:
    """Let a client deal with one event, and give the event back."""
    number = client_of(world, event.destination)
    if world.clients[number].kind == OPERATOR:
        operate(world, event)
    else:
        if event.source < world.sizes[0].brokers and event.kind != Disconnected.KIND:
            note_connected(world.connections[number * world.sizes[0].brokers + event.source])
        _handle(world, event)
    free_event(world, event)


@CLIENT.handles(Disconnected)
@inner_rule
def _lose_connection(world: Clients, event: Event) -> None:
    """A broker has died, or refuses connections: what was asked of it has failed."""
    process = event.destination
    until_us = view_as(event, Disconnected).until_us
    client = world.clients[client_of(world, process)]
    brokers = world.sizes[0].brokers
    if event.source >= brokers:
        return
    connection = world.connections[client_of(world, process) * brokers + event.source]
    lose_connection(world, client, connection, event.source)
    lose_metadata_request(world, client, process, event.source, until_us)
    if client.kind == PRODUCER:
        lose_id_request(world, client, process, event.source, until_us)
        lose_produce_requests(world, process, event.source, until_us)
    elif client.kind == CONSUMER:
        lose_fetch(world, process, event.source, until_us)
        if commits(client):
            lose_group_requests(world, client, process, event.source, until_us)


@CLIENT.handles(GroupResponse)
@inner_rule
def _take_group_response(world: Clients, response: GroupResponse) -> None:
    if handle_group_response(world, response):
        poll_all(world, response.destination)


@CLIENT.handles(ConsumerRestarts)
@inner_rule
def _restart(world: Clients, news: ConsumerRestarts) -> None:
    process = news.destination
    forget_fetches(world, process)
    restart_consumer(world, world.clients[client_of(world, process)], process)


@CLIENT.handles(RequestTimesOut)
@inner_rule
def _time_out(world: Clients, timer: RequestTimesOut) -> None:
    if timer.request_kind == ProduceRequest.KIND:
        handle_produce_times_out(world, timer)
    elif timer.request_kind == FetchRequest.KIND:
        handle_fetch_times_out(world, timer)
    elif timer.request_kind == InitProducerIdRequest.KIND:
        handle_id_times_out(world, timer)
    else:
        handle_metadata_times_out(world, timer)


@CLIENT.handles(ClientStart)
@inner_rule
def _start(world: Clients, timer: ClientStart) -> None:
    process = timer.destination
    client = world.clients[client_of(world, process)]
    request_metadata(world, process)
    if client.kind == PRODUCER:
        if client.is_idempotent:
            request_producer_id(world, process)
        plan_next_batch(world, client, process)
        return
    begin_to_read(world, client, process)
    if commits(client):
        begin_group(world, client, process)


@CLIENT.handles(MetadataRefresh)
@inner_rule
def _refresh_metadata(world: Clients, timer: MetadataRefresh) -> None:
    world.clients[client_of(world, timer.destination)].refresh_timer = False
    request_metadata(world, timer.destination)


@CLIENT.handles(MetadataResponse)
@inner_rule
def _take_metadata_response(world: Clients, response: MetadataResponse) -> None:
    process = response.destination
    client = world.clients[client_of(world, process)]
    if take_metadata(world, response):
        refresh_later(world, client, process, client.metadata_max_age_ms)
    if client.kind == CONSUMER:
        poll_all(world, process)
    else:
        drain_all(world, process)


#: Calls the handler of the event of a producer or a consumer.
_handle = CLIENT.dispatcher(__name__, "_handle", Clients, Event)


@inner_rule
def stop_client(world: Clients, process: int, time_us: int) -> None:
    """Let a producer make no more batches, and the operator take no more steps."""
    client = world.clients[client_of(world, process)]
    client.stop_us = min(client.stop_us, time_us)
    if client.kind == OPERATOR:
        client.step = world.pool[0].steps
        client.waiting = NONE
