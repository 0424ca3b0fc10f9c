"""A client's metadata, the leaders of partitions, and its connections to the brokers it asks.

**Metadata** is requested at the start, every metadata.max.age.ms, and when a response or a timeout
shows that it is stale. The receiver is the broker that the client knows as alive and waits for
least; after a timeout it is the next one.

**Connections**: a client without metadata asks its ``bootstrap.servers``; later it asks the brokers
that its metadata names as alive. After a failed connection a broker is not tried again before its
back-off is over: reconnect.backoff.ms, doubled with each failure up to reconnect.backoff.max.ms. A
live machine without the process refuses a connection at once. A machine without power, or behind a
cut, does not respond, which takes socket.connection.setup.timeout.ms, doubled with each failure;
before 2.7 it takes as long as the request that needs the connection.

**Bootstrapping again**: if all brokers in its metadata are gone for good, a client asks them for
ever. With metadata.recovery.strategy = rebootstrap (KIP-899) it drops its metadata, and asks its
bootstrap servers, as soon as each broker waits for its back-off and none is connected. That is
nearly at once where connections are refused, but never where several machines do not respond, since
the back-off of one is over before the next has failed. Therefore (KIP-1102) it does the same after
metadata.recovery.rebootstrap.trigger.ms without metadata.

Simplified: back-offs and setup timeouts have no jitter. A process that is suspended before a client
has connected is like a machine that does not respond.

Source: ClusterConnectionStates@2.7.0, NetworkClient.leastLoadedNode and
DefaultMetadataUpdater.maybeUpdate@3.9.0, NetworkClient.handleRebootstrap@4.0.0.
"""

from tidegauge.clients.client_state import Client, Clients, Connection, KnownPartition
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import CLIENT, NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import (
    MetadataRequest,
    MetadataResponse,
    PartitionLeader,
)
from tidegauge.simulation.messages.timers import MetadataRefresh, RequestTimesOut
from tidegauge.simulation.metadata_log import (
    MetadataPosition,
    is_known_alive,
    read_position,
    write_position,
)
from tidegauge.simulation.topology import Topology
from tidegauge.simulation.trace_rows.client_rows import (
    BrokersReachable,
    BrokersUnreachable,
    Rebootstrapped,
)


@inner_rule
def client_of(world: Topology, process: int) -> int:
    """The number of a client among the clients: its process comes behind all others."""
    return process - world.process_ranges[CLIENT].first


@inner_rule
def request_metadata(world: Clients, process: int) -> None:
    """Ask a broker, unless a request is in flight."""
    client = world.clients[client_of(world, process)]
    if client.metadata_request != 0:
        return
    number = client_of(world, process)
    client.metadata_requests += 1
    client.metadata_request = client.metadata_requests
    broker = least_loaded_node(world, process, number)
    client.metadata_broker = broker
    if broker == NONE:
        # The request stays open, so there is no other one before a back-off is over.
        _ask_next_after(world, client, client.reconnect_backoff_ms * 1000)
        return
    request = MetadataRequest.to(
        world, broker, correlation_id=client.metadata_request, partition_count=client.known_count
    )
    write_position(request, world.client_metadata[number])
    now_us = world.context[0].time_us
    client.metadata_sent_us = now_us
    send(world, request, now_us)
    connection = world.connections[number * world.sizes[0].brokers + broker]
    _ask_next_after(world, client, request_timeout_us(client, connection))


@inner_rule
def lose_metadata_request(world: Kernel, client: Client, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: if it was being asked, the next one is, soon."""
    asked = client.metadata_request != 0 and client.metadata_broker == broker
    if asked and client.metadata_sent_us <= until_us:
        # The request stays open until then, so there is no second one.
        client.metadata_broker = NONE
        _ask_next_after(world, client, client.retry_backoff_ms * 1000)


@inner_rule
def _ask_next_after(world: Kernel, client: Client, delay_us: int) -> None:
    """Ask the next broker after a back-off, if there is no response until then."""
    RequestTimesOut.after(
        world, delay_us, request_kind=MetadataRequest.KIND, correlation_id=client.metadata_request
    )


@inner_rule
def handle_metadata_times_out(world: Clients, timer: RequestTimesOut) -> None:
    """A metadata request is overdue, or a back-off is over: ask the next broker."""
    process = timer.destination
    number = client_of(world, process)
    client = world.clients[number]
    if client.metadata_request != timer.correlation_id:
        return
    asked = client.metadata_broker
    if asked != NONE:
        connection = world.connections[number * world.sizes[0].brokers + asked]
        note_disconnected(world, client, connection)
    client.metadata_request = 0
    request_metadata(world, process)


@inner_rule
def refresh_later(world: Kernel, client: Client, delay_ms: int) -> None:
    """Ask again when the metadata has become stale, unless that is planned already."""
    if client.refresh_timer:
        return
    client.refresh_timer = True
    MetadataRefresh.after(world, delay_ms * 1000)


@inner_rule
def take_metadata(world: Clients, response: MetadataResponse) -> bool:
    """Apply a response about the leaders; whether every partition has one.

    The response names partitions whose state at the broker differs from the client's.
    """
    client = world.clients[client_of(world, response.destination)]
    if client.metadata_request != response.correlation_id:
        return False
    if not _take_position(world, response):
        client.metadata_broker = NONE
        _ask_next_after(world, client, client.retry_backoff_ms * 1000)
        return False
    note_metadata(world, client, response.source)
    for item in items_of(world, response, PartitionLeader):
        index = _place_of(world, client, item.partition)
        if index != NONE:
            known = world.known_partitions[index]
            led_before = 1 if known.leader >= 0 else 0
            _take_leader(client, known, item)
            client.led_partitions += (1 if known.leader >= 0 else 0) - led_before
    complete = client.led_partitions == client.known_count
    if complete:
        client.metadata_request = 0
    else:
        # The request stays open, so there is no other one before the back-off is over.
        client.metadata_broker = NONE
        delay_us = client.retry_backoff_ms * 1000
        _ask_next_after(world, client, delay_us)
    return complete


@inner_rule
def _take_position(world: Clients, response: MetadataResponse) -> bool:
    """Take over how far the broker has read; False if it names no broker: then it is ignored.

    Source: NetworkClient.DefaultMetadataUpdater.handleSuccessfulResponse@2.4.0.
    """
    known = world.client_metadata[client_of(world, response.destination)]
    controller_epoch, position = known.controller_epoch, known.position
    base_epoch, base_position = known.base_epoch, known.base_position
    read_position(response, known)
    for broker in range(world.sizes[0].brokers):
        if is_known_alive(world, known, broker):
            return True
    known.controller_epoch, known.position = controller_epoch, position
    known.base_epoch, known.base_position = base_epoch, base_position
    return False


@inner_rule
def _place_of(world: Clients, client: Client, partition: int) -> int:
    """The place of a partition in a client's metadata, which is in ascending order; or NONE."""
    first = client.first_known
    last = client.first_known + client.known_count
    while first < last:
        middle = (first + last) // 2
        if world.known_partitions[middle].partition < partition:
            first = middle + 1
        else:
            last = middle
    is_there = first < client.first_known + client.known_count
    return first if is_there and world.known_partitions[first].partition == partition else NONE


@inner_rule
def target_of(world: Clients, client: Client, partition: int) -> int:
    """The place of a partition among those that a consumer reads; it reads all that it knows."""
    return client.first_target + _place_of(world, client, partition) - client.first_known


@inner_rule
def _take_leader(client: Client, known: KnownPartition, item: PartitionLeader) -> None:
    """Apply a response about one partition, unless the client's state is newer.

    Without leader epochs a broker that was stopped for long sends clients back to a leader of long
    ago, and a consumer there finds its offset out of range.

    Source: Metadata.updateLastSeenEpochIfNewer@2.1.0 (KIP-320).
    """
    if client.knows_leader_epochs and item.leader_epoch != UNDEFINED:
        if item.leader_epoch < known.leader_epoch:
            return
        known.leader_epoch = item.leader_epoch
    known.leader = item.leader


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
    """A broker closes the connection, or refuses it; an idle one is not counted.

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
    """The timeout of a request that is sent on a connection now.

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

    Brokers with a connection come first. NONE if each known broker waits for its back-off; then the
    client may begin with its bootstrap servers again.

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
        _rebootstrap(world, number)
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
            # Of the brokers to connect to, the one whose last attempt is the oldest.
            load = _UNCONNECTED + connection.backoff_until_us
        if fewest == NONE or load < fewest:
            best = broker
            fewest = load
    if candidates == unreachable and known.position != NONE:
        _note_stranded(world, number, candidates)
    return best


@inner_rule
def _note_stranded(world: Clients, number: int, brokers: int) -> None:
    client = world.clients[number]
    if client.stranded_since_us != NONE:
        return
    client.stranded_since_us = client.metadata_wanted_us
    BrokersUnreachable.write(
        world, brokers=brokers, missing_us=world.context[0].time_us - client.metadata_wanted_us
    )


@inner_rule
def _rebootstrap(world: Clients, number: int) -> None:
    """Drop the metadata; the known leader epochs stay.

    Source: Metadata.rebootstrap@3.9.0.
    """
    client = world.clients[number]
    Rebootstrapped.write(world, missing_us=world.context[0].time_us - client.metadata_wanted_us)
    known = world.client_metadata[number]
    known.controller_epoch = NONE
    known.position = NONE
    known.base_epoch = NONE
    known.base_position = NONE
    for index in range(client.first_known, client.first_known + client.known_count):
        world.known_partitions[index].leader = NONE
    client.led_partitions = 0
    client.metadata_wanted_us = world.context[0].time_us


@inner_rule
def note_metadata(world: Clients, client: Client, broker: int) -> None:
    """A broker has sent metadata."""
    if client.stranded_since_us != NONE:
        BrokersReachable.write(
            world, broker=broker, missing_us=world.context[0].time_us - client.stranded_since_us
        )
        client.stranded_since_us = NONE
    client.metadata_wanted_us = NONE
