"""Clients: what each does with the events that reach it.

Producers (``producer.py``), consumers (``consumer.py``) and the operator (``steps.py``) are
processes of their own, with metadata that goes stale (``client_metadata.py``).
"""

from __future__ import annotations

from tidegauge.clients.client_metadata import (
    client_of,
    lose_metadata_request,
    refresh_later,
    request_metadata,
    take_metadata,
)
from tidegauge.clients.client_state import CONSUMER, OPERATOR, PRODUCER, Clients
from tidegauge.clients.consumer import (
    forget_fetches,
    handle_consumer_polls,
    handle_consumer_response,
    handle_fetch_times_out,
    lose_fetch,
    poll_all,
)
from tidegauge.clients.consumer_group import (
    begin_group,
    commits,
    handle_commit_due,
    handle_consumer_sample,
    handle_group_due,
    handle_group_response,
    lose_group_requests,
    restart_consumer,
)
from tidegauge.clients.producer import (
    drain_all,
    handle_produce_response,
    handle_produce_times_out,
    handle_producer_retries,
    handle_producer_sends,
    lose_produce_requests,
    plan_next_batch,
)
from tidegauge.clients.steps import operate
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import free_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.fault_events import Disconnected
from tidegauge.simulation.messages.kinds import (
    CLIENT_START,
    COMMIT_DUE,
    CONSUMER_POLLS,
    CONSUMER_RESPONSE,
    CONSUMER_RESTARTS,
    CONSUMER_SAMPLE,
    DISCONNECTED,
    FETCH,
    GROUP_DUE,
    GROUP_RESPONSE,
    METADATA,
    METADATA_REFRESH,
    METADATA_RESPONSE,
    PRODUCE,
    PRODUCE_RESPONSE,
    PRODUCER_RETRIES,
    PRODUCER_SENDS,
    REQUEST_TIMES_OUT,
)
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.client_rows import ClientTotals


@inner_rule
def handle_client_event(world: Clients, event: Event) -> None:
    """Let a client deal with one event, and give the event back."""
    if world.clients[client_of(world, event.destination)].kind == OPERATOR:
        operate(world, event)
    elif event.kind == PRODUCE_RESPONSE:
        handle_produce_response(world, event)
    elif event.kind == CONSUMER_RESPONSE:
        handle_consumer_response(world, event)
    elif event.kind == PRODUCER_SENDS:
        handle_producer_sends(world, event)
    elif event.kind == CONSUMER_POLLS:
        handle_consumer_polls(world, event)
    elif event.kind == REQUEST_TIMES_OUT:
        _time_out(world, event)
    elif event.kind == PRODUCER_RETRIES:
        handle_producer_retries(world, event)
    elif event.kind == DISCONNECTED:
        _lose_connection(world, event)
    elif GROUP_RESPONSE <= event.kind <= CONSUMER_RESTARTS:
        _keep_group(world, event)
    else:
        _keep_metadata(world, event)
    free_event(world, event)


@inner_rule
def _lose_connection(world: Clients, event: Event) -> None:
    """A broker has died, or refuses connections: what was asked of it has failed."""
    process = event.destination
    until_us = view_as(event, Disconnected).until_us
    client = world.clients[client_of(world, process)]
    if event.source >= world.sizes[0].brokers:
        return
    lose_metadata_request(world, client, process, event.source, until_us)
    if client.kind == PRODUCER:
        lose_produce_requests(world, process, event.source, until_us)
    elif client.kind == CONSUMER:
        lose_fetch(world, process, event.source, until_us)
        if commits(client):
            lose_group_requests(world, client, process, event.source, until_us)


@inner_rule
def _keep_group(world: Clients, event: Event) -> None:
    """What has to do with a consumer's group."""
    process = event.destination
    client = world.clients[client_of(world, process)]
    if event.kind == GROUP_RESPONSE:
        if handle_group_response(world, event):
            poll_all(world, process)
    elif event.kind == GROUP_DUE:
        handle_group_due(world, event)
    elif event.kind == COMMIT_DUE:
        handle_commit_due(world, event)
    elif event.kind == CONSUMER_SAMPLE:
        handle_consumer_sample(world, event)
    else:
        forget_fetches(world, process)
        restart_consumer(world, client, process)


@inner_rule
def _time_out(world: Clients, timer: Event) -> None:
    if timer.version == PRODUCE:
        handle_produce_times_out(world, timer)
    elif timer.version == FETCH:
        handle_fetch_times_out(world, timer)
    elif timer.version == METADATA:
        client = world.clients[client_of(world, timer.destination)]
        if client.metadata_request == timer.request:
            client.metadata_request = 0
            request_metadata(world, timer.destination)


@inner_rule
def _keep_metadata(world: Clients, event: Event) -> None:
    process = event.destination
    client = world.clients[client_of(world, process)]
    if event.kind == CLIENT_START:
        request_metadata(world, process)
        if client.kind == PRODUCER:
            plan_next_batch(world, client, process)
        elif commits(client):
            begin_group(world, client, process)
    elif event.kind == METADATA_REFRESH:
        client.refresh_timer = False
        request_metadata(world, process)
    elif event.kind == METADATA_RESPONSE:
        if take_metadata(world, event):
            refresh_later(world, client, process, client.metadata_max_age_ms)
        if client.kind == CONSUMER:
            poll_all(world, process)
        else:
            drain_all(world, process)


@inner_rule
def stop_client(world: Clients, process: int, time_us: int) -> None:
    """Let a producer make no more batches, and the operator take no more steps."""
    client = world.clients[client_of(world, process)]
    client.stop_us = min(client.stop_us, time_us)
    if client.kind == OPERATOR:
        client.step = world.pool[0].steps
        client.waiting = NONE


@inner_rule
def close_client(world: Clients, process: int) -> None:
    """Write down, at the end of a run, what a client has done."""
    client = world.clients[client_of(world, process)]
    row = new_row(world, process, ClientTotals)
    row.records_acknowledged = client.records_acknowledged
    row.records_failed = client.records_failed
    row.records_duplicated = client.records_duplicated
    row.records_consumed = client.records_consumed
    write_row(world, row)
