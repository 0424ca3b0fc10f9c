"""How a client reaches brokers: connections that fail, back-offs, and its bootstrap servers.

A client that has no metadata asks its ``bootstrap.servers``; later it asks the brokers that its
metadata names as alive. A broker to which connecting failed is not tried again before its back-off
is over: reconnect.backoff.ms, doubled with each failure up to reconnect.backoff.max.ms. A live
machine without the process refuses a connection at once. A machine without power, or behind a cut,
does not answer, which takes socket.connection.setup.timeout.ms, doubled with each failure; before
2.7 it takes as long as the request that wants the connection.

If all brokers that a client knows are gone for good, it asks them for ever. With
metadata.recovery.strategy = rebootstrap (KIP-899) it forgets its metadata, and asks its bootstrap
servers, as soon as each of them waits for its back-off and none is connected. That is nearly at
once where connections are refused, but never where several machines do not answer, since the
back-off of one is over before the next has failed. Therefore (KIP-1102) it does the same after
metadata.recovery.rebootstrap.trigger.ms without metadata.

Here back-offs and setup timeouts have no jitter. A process that is suspended before a client has
connected is like a machine that does not answer.

Source: ClusterConnectionStates@2.7.0, NetworkClient.leastLoadedNode and
DefaultMetadataUpdater.maybeUpdate@3.9.0, NetworkClient.handleRebootstrap@4.0.0.
"""

from __future__ import annotations

from tidegauge.clients.client_state import Client, Clients, Connection
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.metadata_log import MetadataPosition, is_known_alive
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.client_rows import (
    BrokersReachable,
    BrokersUnreachable,
    Rebootstrapped,
)

#: More requests than are ever in flight to a broker.
_UNCONNECTED = code(1 << 40)
#: Doublings after which a back-off is at its largest anyway.
_MOST_DOUBLINGS = code(20)


@inner_rule
def note_connected(connection: Connection) -> None:
    """A broker has answered: the connection is there.

    Source: ClusterConnectionStates.ready@2.7.0.
    """
    connection.is_connected = True
    connection.is_unreachable = False
    connection.failures = 0
    connection.backoff_until_us = 0


@inner_rule
def note_disconnected(world: Clients, client: Client, connection: Connection) -> None:
    """A connection is closed, or was not set up: the next attempt waits for its back-off.

    Several requests that fail together are one attempt.

    Source: ClusterConnectionStates.disconnected, updateReconnectBackoff@2.7.0.
    """
    now_us = world.context[0].time_us
    if not connection.is_connected:
        connection.is_unreachable = True
        if connection.backoff_until_us > now_us:
            return
    connection.is_connected = False
    backoff_ms = _doubled(
        client.reconnect_backoff_ms, connection.failures, client.reconnect_backoff_max_ms
    )
    connection.failures += 1
    connection.backoff_until_us = now_us + backoff_ms * 1000


@inner_rule
def lose_connection(world: Clients, client: Client, connection: Connection, broker: int) -> None:
    """A broker closes the connection, or refuses it; one that nobody uses is none.

    Source: NetworkClient.processDisconnection@2.4.0.
    """
    asked = client.metadata_request != 0 and client.metadata_broker == broker
    if connection.is_connected or asked or connection.in_flight > 0 or connection.fetch != 0:
        note_disconnected(world, client, connection)


@inner_rule
def _doubled(first_ms: int, times: int, most_ms: int) -> int:
    """Source: ExponentialBackoff.backoff@2.7.0, without its jitter."""
    return max(first_ms, min(most_ms, first_ms << min(times, _MOST_DOUBLINGS)))


@inner_rule
def request_timeout_us(client: Client, connection: Connection) -> int:
    """How long a request may be without an answer that is sent on a connection now.

    Source: NetworkClient.handleTimedOutConnections@2.7.0.
    """
    timeout_ms = client.request_timeout_ms
    if not connection.is_connected and client.connection_setup_timeout_ms > 0:
        setup_ms = _doubled(
            client.connection_setup_timeout_ms,
            connection.failures,
            client.connection_setup_timeout_max_ms,
        )
        timeout_ms = min(timeout_ms, setup_ms)
    return timeout_ms * 1000


@inner_rule
def is_candidate(
    world: Clients, known: MetadataPosition, connection: Connection, broker: int
) -> bool:
    """Whether a client may ask a broker for metadata: its metadata, or its bootstrap, names it."""
    if known.position == NONE:
        return connection.is_bootstrap
    return is_known_alive(world, known, broker)


@inner_rule
def least_loaded_node(world: Clients, process: int, number: int) -> int:
    """The broker to be asked: the next in turn of those with the fewest requests in flight.

    Brokers with a connection come first. NONE if each one that the client knows waits for its
    back-off; then it may begin with its bootstrap servers again.

    Source: NetworkClient.leastLoadedNode@2.4.0, DefaultMetadataUpdater.maybeUpdate@3.9.0.
    """
    client = world.clients[number]
    now_us = world.context[0].time_us
    if client.metadata_wanted_us == NONE:
        client.metadata_wanted_us = now_us
    waited_us = now_us - client.metadata_wanted_us
    is_due = 0 < client.rebootstrap_trigger_ms * 1000 <= waited_us
    best = next_node(world, process, number)
    knows_brokers = world.client_metadata[number].position != NONE
    if client.rebootstraps and knows_brokers and (is_due or best == NONE):
        _rebootstrap(world, process, number)
        best = next_node(world, process, number)
    return best


@inner_rule
def next_node(world: Clients, process: int, number: int) -> int:
    """The broker to be asked, of those that the client knows; NONE if all wait for a back-off."""
    known = world.client_metadata[number]
    now_us = world.context[0].time_us
    brokers = world.sizes[0].brokers
    first = process + world.clients[number].metadata_requests
    best = NONE
    fewest = NONE
    candidates = 0
    unreachable = 0
    for turn in range(first, first + brokers):
        broker = turn % brokers
        connection = world.connections[number * brokers + broker]
        if not is_candidate(world, known, connection, broker):
            continue
        candidates += 1
        unreachable += 1 if connection.is_unreachable else 0
        if connection.backoff_until_us > now_us:
            continue
        load = connection.in_flight + (1 if connection.fetch != 0 else 0)
        if not connection.is_connected:
            # Of those to be connected, the one that was tried longest ago.
            load = _UNCONNECTED + connection.backoff_until_us
        if fewest == NONE or load < fewest:
            best = broker
            fewest = load
    if candidates == unreachable and known.position != NONE:
        _note_stranded(world, process, number, candidates)
    return best


@inner_rule
def _note_stranded(world: Clients, process: int, number: int, brokers: int) -> None:
    client = world.clients[number]
    if client.stranded_since_us != NONE:
        return
    client.stranded_since_us = client.metadata_wanted_us
    row = new_row(world, process, BrokersUnreachable)
    row.brokers = brokers
    row.missing_us = world.context[0].time_us - client.metadata_wanted_us
    write_row(world, row)


@inner_rule
def _rebootstrap(world: Clients, process: int, number: int) -> None:
    """Forget the metadata; the leader epochs that were seen stay.

    Source: Metadata.rebootstrap@3.9.0.
    """
    client = world.clients[number]
    row = new_row(world, process, Rebootstrapped)
    row.missing_us = world.context[0].time_us - client.metadata_wanted_us
    write_row(world, row)
    known = world.client_metadata[number]
    known.controller_epoch = NONE
    known.position = NONE
    known.base_epoch = NONE
    known.base_position = NONE
    for index in range(client.first_target, client.first_target + client.target_count):
        world.client_targets[index].leader = NONE
    client.led_targets = 0
    client.metadata_wanted_us = world.context[0].time_us


@inner_rule
def note_metadata(world: Clients, client: Client, process: int, broker: int) -> None:
    """A broker has sent metadata."""
    if client.stranded_since_us != NONE:
        row = new_row(world, process, BrokersReachable)
        row.broker = broker
        row.missing_us = world.context[0].time_us - client.stranded_since_us
        write_row(world, row)
        client.stranded_since_us = NONE
    client.metadata_wanted_us = NONE
