"""A consumer: fetches from every broker that leads some of its partitions, up to the HW.

One that has a rack fetches a partition from the replica in it that the leader names (KIP-392), for
metadata.max.age.ms or until that fails. Such a replica serves it up to its own high watermark.

Partitions are shared out among the members of a group once, at the start; there is no rebalancing.
The coordinator gives a group that commits its first offsets (``consumer_group.py``). To each leader
there is one fetch in flight. A consumer with a rate processes its records before it fetches again,
and so falls behind producers that are faster.

Source: ``Fetcher`` @2.4.0 of the clients.
"""

from tidegauge.clients import client_metadata
from tidegauge.clients.client_state import Client, Clients, Connection, Target, leader_of_target
from tidegauge.clients.consumer_group import commits, reads
from tidegauge.clients.handlers import CLIENT
from tidegauge.clients.stalls import note_read
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import free_event, items_of, new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import (
    ConsumerResponse,
    FetchedRecords,
    FetchPartition,
    FetchRequest,
)
from tidegauge.simulation.messages.timers import ConsumerPolls, RequestTimesOut
from tidegauge.simulation.metadata_log import is_known_alive
from tidegauge.simulation.rows import traces_all
from tidegauge.simulation.trace_rows.client_rows import ConsumerReset, ReadReplicaChanged
from tidegauge.simulation.trace_rows.detail_rows import Consumed


@inner_rule
def poll_all(world: Clients, process: int) -> None:
    """Fetch from every broker from which nothing is under way."""
    for broker in range(world.sizes[0].brokers):
        poll(world, process, broker)


@inner_rule
def poll(world: Clients, process: int, broker: int) -> None:
    """Fetch from a broker's partitions, now or when the earlier records are processed."""
    number = client_metadata.client_of(world, process)
    client = world.clients[number]
    connection = world.connections[number * world.sizes[0].brokers + broker]
    now_us = world.context[0].time_us
    if connection.fetch != 0 or connection.poll_timer or not reads(client):
        return
    if client.busy_until_us > now_us:
        connection.poll_timer = True
        ConsumerPolls.at(world, client.busy_until_us, broker=broker)
        return
    request = FetchRequest.to(world, broker)
    request.max_wait_ms = client.fetch_max_wait_ms
    request.min_bytes = client.fetch_min_bytes
    request.partition_max_bytes = client.max_partition_fetch_bytes
    request.max_bytes = client.fetch_max_bytes
    request.rack = client.rack
    for place in range(client.target_count):
        # Behind those of which the last response brought records, so that none starves if the
        # limit cuts some off (SubscriptionState.movePartitionToEnd@2.4.0).
        target = (connection.first_target + place) % client.target_count
        known = world.client_targets[client.first_target + target]
        if _read_from(world, process, known) == broker:
            item = new_item(world, request, known.partition, FetchPartition)
            item.fetch_offset = known.position
            if client.rack != NONE:
                item.leader_epoch = world.known_partitions[known.known].leader_epoch
    if request.item_count == 0:
        free_event(world, request)
        return
    connection.fetches += 1
    connection.fetch = connection.fetches
    request.correlation_id = connection.fetch
    send(world, request, now_us)
    connection.fetch_sent_us = now_us
    connection.deadline_us = now_us + client_metadata.request_timeout_us(client, connection)
    if not connection.deadline_timer:
        _watch_deadline(world, connection, broker)


@inner_rule
def _read_from(world: Clients, process: int, known: Target) -> int:
    """The broker to fetch a partition from: the leader, or the replica that it has named.

    The latter for metadata.max.age.ms, as long as the client's metadata has it as alive.

    Source: Fetcher.selectReadReplica@2.4.0, SubscriptionState.preferredReadReplica@2.4.0.
    """
    if known.read_replica == NONE:
        return leader_of_target(world, known)
    metadata = world.client_metadata[client_metadata.client_of(world, process)]
    if world.context[0].time_us > known.read_replica_until_us or not is_known_alive(
        world, metadata, known.read_replica
    ):
        _set_read_replica(world, process, known, NONE)
        return leader_of_target(world, known)
    return known.read_replica


@inner_rule
def _set_read_replica(world: Clients, process: int, known: Target, broker: int) -> None:
    """Fetch from another replica than the leader from now on, or from the leader again (-1)."""
    if known.read_replica != broker:
        ReadReplicaChanged.write(
            world, known, broker=broker, old_broker=known.read_replica, offset=known.position
        )
    known.read_replica = broker
    client = world.clients[client_metadata.client_of(world, process)]
    age_us = client.metadata_max_age_ms * 1000
    known.read_replica_until_us = world.context[0].time_us + age_us


@inner_rule
def _watch_deadline(world: Kernel, connection: Connection, broker: int) -> None:
    # One timer for a connection, as in ``producer.py``.
    connection.deadline_timer = True
    RequestTimesOut.at(world, connection.deadline_us, request_kind=FetchRequest.KIND, broker=broker)


@CLIENT.handles(ConsumerPolls)
@inner_rule
def handle_consumer_polls(world: Clients, timer: ConsumerPolls) -> None:
    """The fetched records are processed: fetch on."""
    number = client_metadata.client_of(world, timer.destination)
    world.connections[number * world.sizes[0].brokers + timer.broker].poll_timer = False
    poll(world, timer.destination, timer.broker)


@CLIENT.handles(ConsumerResponse)
@inner_rule
def handle_consumer_response(world: Clients, response: ConsumerResponse) -> None:
    """Take records, go on behind them, and fetch again."""
    process = response.destination
    number = client_metadata.client_of(world, process)
    client = world.clients[number]
    connection = world.connections[number * world.sizes[0].brokers + response.source]
    if connection.fetch != response.correlation_id:
        return
    connection.fetch = 0
    if not reads(client):
        return
    stale = False
    moved = False
    records = 0
    for item in items_of(world, response, FetchedRecords):
        target = client_metadata.target_of(world, client, item.partition)
        known = world.client_targets[target]
        read_replica = known.read_replica
        if item.error == errors.NONE:
            if item.size_bytes > 0:
                connection.first_target = target - client.first_target + 1
            records += _take_records(world, client, item)
            note_read(world, process, known)
            if item.preferred_read_replica != NONE:
                _set_read_replica(world, process, known, item.preferred_read_replica)
        elif _shows_stale_metadata(world, client, process, response.source, item, known):
            stale = True
        moved = moved or known.read_replica != read_replica
    client.records_consumed += records
    now_us = world.context[0].time_us
    _work_until(
        client, now_us, max(client.busy_until_us, now_us) + records * client.record_ns // 1000
    )
    if stale:
        client_metadata.request_metadata(world, process)
        _work_until(client, now_us, now_us + client.retry_backoff_ms * 1000)
    if moved:
        poll_all(world, process)
    else:
        poll(world, process, response.source)


@inner_rule
def _work_until(client: Client, now_us: int, until_us: int) -> None:
    """Fetch nothing until some time."""
    busy_until_us = max(client.busy_until_us, now_us)
    client.busy_us += max(0, until_us - busy_until_us)
    client.busy_until_us = max(busy_until_us, until_us)


@inner_rule
def _shows_stale_metadata(
    world: Clients,
    client: Client,
    process: int,
    source: int,
    item: FetchedRecords,
    known: Target,
) -> bool:
    """Handle an error of a partition; whether the metadata is stale.

    Source: Fetcher.initializeCompletedFetch, handleOffsetOutOfRange@2.4.0.
    """
    if source == known.read_replica:
        # The leader has the reason; an offset that is too large for this replica may be none for
        # the leader.
        _set_read_replica(world, process, known, NONE)
        return item.error != errors.OFFSET_OUT_OF_RANGE
    if item.error == errors.OFFSET_OUT_OF_RANGE:
        _reset(world, client, item)
        return False
    return True


@inner_rule
def _take_records(world: Clients, client: Client, item: FetchedRecords) -> int:
    known = world.client_targets[client_metadata.target_of(world, client, item.partition)]
    if traces_all(world):
        Consumed.write(
            world,
            partition=item.partition,
            fetch_offset=item.offset,
            end_offset=item.end_offset,
            high_watermark=item.high_watermark,
            error=errors.NONE,
        )
    known.high_watermark = max(known.high_watermark, item.high_watermark)
    if item.offset != known.position or item.end_offset <= item.offset:
        return 0
    if commits(client):
        _note_processed(world, client, known, item.end_offset - item.offset)
    known.position = item.end_offset
    return item.end_offset - item.offset


@inner_rule
def _note_processed(world: Kernel, client: Client, known: Target, records: int) -> None:
    """Records taken before are processed by now, or will be together with these records."""
    now_us = world.context[0].time_us
    if known.processed_us <= now_us:
        known.processed = known.position
    begins_us = max(client.busy_until_us, now_us)
    known.processed_us = begins_us + records * client.record_ns // 1000


@inner_rule
def _reset(world: Clients, client: Client, item: FetchedRecords) -> None:
    """Restart at the offset of auto.offset.reset."""
    known = world.client_targets[client_metadata.target_of(world, client, item.partition)]
    offset = known.position
    known.position = item.log_start_offset
    if client.resets_to_latest:
        known.position = item.high_watermark
    known.processed = known.position
    ConsumerReset.write(world, partition=item.partition, offset=offset, new_offset=known.position)


@inner_rule
def lose_fetch(world: Clients, process: int, broker: int, until_us: int) -> None:
    """The connection to a broker is gone: a fetch that was sent up to ``until_us`` has failed.

    Source: Fetcher.sendFetches@2.4.0 (onFailure), ConsumerNetworkClient@2.4.0.
    """
    number = client_metadata.client_of(world, process)
    client = world.clients[number]
    connection = world.connections[number * world.sizes[0].brokers + broker]
    if connection.fetch == 0 or connection.fetch_sent_us > until_us:
        return
    connection.fetch = 0
    _leave_read_replica(world, process, broker)
    client_metadata.request_metadata(world, process)
    if not connection.poll_timer:
        connection.poll_timer = True
        ConsumerPolls.after(world, client.retry_backoff_ms * 1000, broker=broker)


@inner_rule
def _leave_read_replica(world: Clients, process: int, broker: int) -> None:
    """A fetch from a replica has failed: its partition is fetched from the leader again.

    Source: AbstractFetch.handleFetchFailure@3.5.0 (clearPreferredReadReplica).
    """
    client = world.clients[client_metadata.client_of(world, process)]
    if client.rack == NONE:
        return
    left = False
    for target in range(client.first_target, client.first_target + client.target_count):
        known = world.client_targets[target]
        if known.read_replica == broker:
            _set_read_replica(world, process, known, NONE)
            left = True
    if left:
        poll_all(world, process)


@inner_rule
def forget_fetches(world: Clients, process: int) -> None:
    """A consumer is restarted: responses in flight are ignored."""
    number = client_metadata.client_of(world, process)
    brokers = world.sizes[0].brokers
    for index in range(number * brokers, (number + 1) * brokers):
        world.connections[index].fetch = 0


@inner_rule
def handle_fetch_times_out(world: Clients, timer: RequestTimesOut) -> None:
    """A fetch has timed out: another broker may be the leader."""
    number = client_metadata.client_of(world, timer.destination)
    connection = world.connections[number * world.sizes[0].brokers + timer.broker]
    connection.deadline_timer = False
    if connection.fetch == 0:
        return
    if world.context[0].time_us < connection.deadline_us:
        _watch_deadline(world, connection, timer.broker)
        return
    connection.fetch = 0
    client_metadata.note_disconnected(world, world.clients[number], connection)
    _leave_read_replica(world, timer.destination, timer.broker)
    client_metadata.request_metadata(world, timer.destination)
    poll(world, timer.destination, timer.broker)
