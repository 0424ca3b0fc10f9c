"""A client's metadata: who leads what, as some broker said some time ago.

It is asked for at the start, every metadata.max.age.ms, and when an answer or a silence
shows that it is out of date. The broker that is asked is one that the client knows as
alive and waits for least; if it does not answer within request.timeout.ms, the next one is.
"""

from __future__ import annotations

from tidegauge.clients.client_state import Client, Clients, Target
from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.kernel import CLIENT, NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import (
    MetadataRequest,
    MetadataResponse,
    PartitionLeader,
)
from tidegauge.simulation.messages.client_timers import MetadataRefresh, RequestTimesOut
from tidegauge.simulation.metadata_log import is_known_alive, read_position, write_position
from tidegauge.simulation.topology import Topology


@inner_rule
def client_of(world: Topology, process: int) -> int:
    """The number of a client among the clients: its process comes behind all others."""
    return process - world.process_ranges[CLIENT].first


@inner_rule
def request_metadata(world: Clients, process: int) -> None:
    """Ask a broker, unless a question is under way."""
    client = world.clients[client_of(world, process)]
    if client.metadata_request != 0:
        return
    client.metadata_requests += 1
    client.metadata_request = client.metadata_requests
    broker = least_loaded_node(world, process)
    request = new_event(world, process, broker, MetadataRequest)
    request.correlation_id = client.metadata_request
    request.partition_count = client.target_count
    write_position(request, world.client_metadata[client_of(world, process)])
    now_us = world.context[0].time_us
    client.metadata_sent_us = now_us
    client.metadata_broker = broker
    send(world, request, now_us)
    _ask_next_after(world, client, process, client.request_timeout_ms * 1000)


@inner_rule
def least_loaded_node(world: Clients, process: int) -> int:
    """The broker to be asked: the next in turn of those with the fewest requests in flight.

    Only brokers that the client's metadata has as alive; all, as long as it has none.

    Source: NetworkClient.leastLoadedNode@2.4.0.
    """
    number = client_of(world, process)
    known = world.client_metadata[number]
    brokers = world.sizes[0].brokers
    first = process + world.clients[number].metadata_requests
    best = first % brokers
    fewest = NONE
    for turn in range(first, first + brokers):
        broker = turn % brokers
        connection = world.connections[number * brokers + broker]
        load = connection.in_flight + (1 if connection.fetch != 0 else 0)
        if known.position != NONE and not is_known_alive(world, known, broker):
            continue
        if fewest == NONE or load < fewest:
            best = broker
            fewest = load
    return best


@inner_rule
def lose_metadata_request(
    world: Kernel, client: Client, process: int, broker: int, until_us: int
) -> None:
    """The connection to a broker is gone: if it was being asked, the next one is, soon."""
    asked = client.metadata_request != 0 and client.metadata_broker == broker
    if asked and client.metadata_sent_us <= until_us:
        # The question stays open until then, so nobody asks twice.
        client.metadata_broker = NONE
        _ask_next_after(world, client, process, client.retry_backoff_ms * 1000)


@inner_rule
def _ask_next_after(world: Kernel, client: Client, process: int, delay_us: int) -> None:
    """Ask the next broker after a while, if the question is open then."""
    timer = new_event(world, process, process, RequestTimesOut)
    timer.request_kind = MetadataRequest.KIND
    timer.correlation_id = client.metadata_request
    set_timer(world, timer, world.context[0].time_us + delay_us)


@inner_rule
def refresh_later(world: Kernel, client: Client, process: int, delay_ms: int) -> None:
    """Ask again when what is known has become old, unless that is planned already."""
    if client.refresh_timer:
        return
    client.refresh_timer = True
    timer = new_event(world, process, process, MetadataRefresh)
    set_timer(world, timer, world.context[0].time_us + delay_ms * 1000)


@inner_rule
def take_metadata(world: Clients, response: MetadataResponse) -> bool:
    """Take over who leads what; whether every partition has a leader.

    The response names partitions of which the broker knows something else than the client did.
    """
    client = world.clients[client_of(world, response.destination)]
    if client.metadata_request != response.correlation_id:
        return False
    read_position(response, world.client_metadata[client_of(world, response.destination)])
    cursor = response.first_item
    while cursor >= 0:
        item = view_as(world.items[cursor], PartitionLeader)
        cursor = item.next
        index = target_of(world, client, item.partition)
        if index != NONE:
            target = world.client_targets[index]
            led_before = 1 if target.leader >= 0 else 0
            _take_leader(client, target, item)
            client.led_targets += (1 if target.leader >= 0 else 0) - led_before
    complete = client.led_targets == client.target_count
    if complete:
        client.metadata_request = 0
    else:
        # The question stays open, so nobody asks before the back-off is over.
        delay_us = client.retry_backoff_ms * 1000
        _ask_next_after(world, client, response.destination, delay_us)
    return complete


@inner_rule
def target_of(world: Clients, client: Client, partition: int) -> int:
    """The place of a partition among a client's, which are in ascending order; or NONE."""
    first = client.first_target
    last = client.first_target + client.target_count
    while first < last:
        middle = (first + last) // 2
        if world.client_targets[middle].partition < partition:
            first = middle + 1
        else:
            last = middle
    is_there = first < client.first_target + client.target_count
    return first if is_there and world.client_targets[first].partition == partition else NONE


@inner_rule
def _take_leader(client: Client, target: Target, item: PartitionLeader) -> None:
    """Believe an answer about one partition, unless it comes from one who knows less.

    Without leader epochs a broker that was stopped for long sends clients back to a leader of long
    ago, and a consumer there finds its offset out of range.

    Source: Metadata.updateLastSeenEpochIfNewer@2.1.0 (KIP-320).
    """
    if client.knows_leader_epochs and item.leader_epoch != UNDEFINED:
        if item.leader_epoch < target.leader_epoch:
            return
        target.leader_epoch = item.leader_epoch
    target.leader = item.leader
