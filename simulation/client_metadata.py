"""A client's metadata: who leads what, as some broker said some time ago.

It is asked for at the start, every metadata.max.age.ms, and when an answer or a silence
shows that it is out of date. Brokers are asked in turn; one that does not answer within
request.timeout.ms is passed over.
"""

from __future__ import annotations

from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.client_state import Client, Clients, Target
from tidegauge.simulation.events import add_item, new_event, set_timer
from tidegauge.simulation.kernel import NONE, Event, Kernel, PartitionData
from tidegauge.simulation.kinds import METADATA, METADATA_REFRESH, REQUEST_TIMES_OUT
from tidegauge.simulation.links import send
from tidegauge.simulation.topology import Topology

#: In a REQUEST_TIMES_OUT timer: it is about the metadata request.
_METADATA = METADATA


@inner_rule
def client_of(topology: Topology, process: int) -> int:
    """The number of a client among the clients: their processes come after ZooKeeper."""
    return process - 2 * topology.sizes[0].brokers - 1


@inner_rule
def request_metadata(kernel: Kernel, topology: Topology, clients: Clients, process: int) -> None:
    """Ask the next broker, unless a question is under way."""
    client = clients.clients[client_of(topology, process)]
    if client.metadata_request != 0:
        return
    client.metadata_requests += 1
    client.metadata_request = client.metadata_requests
    brokers = topology.sizes[0].brokers
    broker = (process + client.metadata_requests) % brokers
    request = new_event(kernel, process, broker, METADATA)
    request.request = client.metadata_request
    for target in range(client.target_count):
        add_item(kernel, request, clients.targets[client.first_target + target].partition)
    now_us = kernel.context[0].time_us
    client.metadata_sent_us = now_us
    client.metadata_broker = broker
    send(kernel, request, now_us)
    _ask_next_after(kernel, client, process, client.request_timeout_ms * 1000)


@inner_rule
def lose_metadata_request(
    kernel: Kernel, client: Client, process: int, broker: int, until_us: int
) -> None:
    """The connection to a broker is gone: if it was being asked, the next one is, soon."""
    asked = client.metadata_request != 0 and client.metadata_broker == broker
    if asked and client.metadata_sent_us <= until_us:
        # The question stays open until then, so nobody asks twice.
        client.metadata_broker = NONE
        _ask_next_after(kernel, client, process, client.retry_backoff_ms * 1000)


@inner_rule
def _ask_next_after(kernel: Kernel, client: Client, process: int, delay_us: int) -> None:
    """Ask the next broker after a while, if the question is open then."""
    timer = new_event(kernel, process, process, REQUEST_TIMES_OUT)
    timer.version = _METADATA
    timer.request = client.metadata_request
    set_timer(kernel, timer, kernel.context[0].time_us + delay_us)


@inner_rule
def refresh_later(kernel: Kernel, client: Client, process: int, delay_ms: int) -> None:
    """Ask again when what is known has become old, unless that is planned already."""
    if client.refresh_timer:
        return
    client.refresh_timer = True
    timer = new_event(kernel, process, process, METADATA_REFRESH)
    set_timer(kernel, timer, kernel.context[0].time_us + delay_ms * 1000)


@inner_rule
def take_metadata(kernel: Kernel, topology: Topology, clients: Clients, answer: Event) -> bool:
    """Take over who leads what; whether every partition has a leader.

    The answer names the partitions in the order in which they were asked for.
    """
    client = clients.clients[client_of(topology, answer.destination)]
    if client.metadata_request != answer.request:
        return False
    complete = True
    cursor = answer.first_item
    target = client.first_target
    while cursor >= 0:
        item = kernel.items[cursor]
        cursor = item.next
        _take_leader(client, clients.targets[target], item)
        complete = complete and clients.targets[target].leader >= 0
        target += 1
    if complete:
        client.metadata_request = 0
    else:
        # The question stays open, so nobody asks before the back-off is over.
        delay_us = client.retry_backoff_ms * 1000
        _ask_next_after(kernel, client, answer.destination, delay_us)
    return complete


@inner_rule
def _take_leader(client: Client, target: Target, item: PartitionData) -> None:
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
