"""Transfers: messages with records, bandwidth at both ends, and ``num.network.threads``.

num.network.threads: a broker's threads that receive requests, and send responses.

Each connection belongs to one network thread of the broker; here a fixed hash of the peer chooses
it. Its work takes no time, but a response that is read from the disk as it is sent (sendfile)
blocks it, and with it all connections that it has. While no thread of a broker is blocked, that
costs one comparison for each message.

Source: SocketServer.Processor.run, Selector.send@2.6.0.

Transfers: messages with records, which take bandwidth at both of their ends.

A message arrives with its last byte. Its bytes flow through all that is in their way at the same
time: the network of its sender, the link between two racks, the network of its receiver; so it
takes as long as the slowest of them, not their sum. The sender's network is reserved as it is sent,
the receiver's as it arrives: if others were received meanwhile, it is put back until the network
has received it, too. Only then does that cost an event.

A connection moves at most the bytes that fit into its buffers in each round trip. The first
buffer-full flows at once; a slow link is taken to be as slow in the other direction.

Messages with records keep their order on a link, as produce requests of a connection must. All
others are small, and are on other connections, or take their turn between two packets: they do not
wait for records. So a response may still flow when the connection's end is known already; its
request has failed then, and has no waiter. A machine without power sends nothing more, and messages
that had not arrived by then are lost.

Simplified: a transfer whose sender is stopped or killed, or whose link is cut, has left the
sender's memory already. Requests that are in flight together on one connection do not share its
buffer.
"""

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.bandwidth import FLOWS, received_us, transfer_end_us
from tidegauge.simulation.events import free_event, push
from tidegauge.simulation.kernel import (
    BROKER,
    NONE,
    Kernel,
    Link,
    NetworkThread,
    impairment_of,
    impairment_to_change,
    link_between,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import IS_REQUEST, IS_RESPONSE
from tidegauge.simulation.random_streams import QUANTILES


@inner_rule
def network_thread_of(world: Kernel, broker: int, peer: int) -> NetworkThread:
    """The network thread of a broker to which the connections of a peer belong."""
    state = world.processes[broker]
    return world.network_threads[state.first_network_thread + peer % state.network_threads]


@inner_rule
def block_network_thread(world: Kernel, broker: int, peer: int, until_us: int) -> None:
    """Block the network thread of a peer's connections by a message to it."""
    state = world.processes[broker]
    thread = network_thread_of(world, broker, peer)
    thread.free_us = max(thread.free_us, until_us)
    state.network_blocked_us = max(state.network_blocked_us, thread.free_us)


@inner_rule
def departure_from_thread_us(world: Kernel, message: Event, departure_us: int) -> int:
    """When a broker's message leaves: a response waits for its connection's network thread.

    The broker's own requests are sent by other threads.
    """
    if not IS_RESPONSE[message.kind]:
        return departure_us
    thread = network_thread_of(world, message.source, message.destination)
    return max(departure_us, thread.free_us)


@inner_rule
def waits_for_network_thread(world: Kernel, request: Event) -> bool:
    """Whether a request that has come is not read yet; then it comes again when it is."""
    if not IS_REQUEST[request.kind]:
        return False
    thread = network_thread_of(world, request.destination, request.source)
    if thread.free_us <= world.context[0].time_us:
        return False
    request.time_us = thread.free_us
    push(world, request)
    # It is handled once, then.
    world.context[0].handled -= 1
    world.kind_counts[request.kind].handled -= 1
    return True


@inner_rule
def free_network_threads(world: Kernel, broker: int) -> None:
    """A process dies: its network threads are free."""
    state = world.processes[broker]
    state.network_blocked_us = 0
    for thread in range(state.network_threads):
        world.network_threads[state.first_network_thread + thread].free_us = 0


_MEDIAN = code((QUANTILES - 1) // 2)
_US_PER_SECOND = code(1_000_000)


@inner_rule
def send_records(
    world: Kernel, message: Event, departure_us: int, latency_us: int, path: int
) -> None:
    """Set when a message with records arrives; the sender's network takes it on."""
    source = message.source
    link = link_between(world, source, message.destination)
    delay_us = impairment_of(world, link).delay_us
    relay = rack_link_between(world, source, message.destination)
    end_us = transfer_end_us(world.networks_out[source], message.size_bytes, departure_us)
    took_us = max(
        message.transfer_us,
        end_us - departure_us,
        _alone_us(world, message.destination, message.size_bytes),
        _wait_for_buffers_us(world, message, delay_us, path),
    )
    if relay != NONE:
        took_us = max(took_us, _alone_us(world, relay, message.size_bytes))
        message.relayed_to = message.destination
        message.destination = relay
        message.relayed_latency_us = max(1, latency_us - latency_us // 2)
        latency_us = max(1, latency_us // 2)
    message.transfer_us = took_us
    message.left_us = departure_us + took_us
    arrival_us = departure_us + took_us + latency_us + delay_us
    message.time_us = max(arrival_us, link.last_delivery_us, link.last_records_us)
    link.last_records_us = message.time_us
    if took_us == 0:
        # Nothing is limited: a message like all others.
        link.last_delivery_us = message.time_us


@inner_rule
def rack_link_between(world: Kernel, source: int, destination: int) -> int:
    """The process of the link between the racks of two processes; NONE: it has no limit."""
    context = world.context[0]
    one = world.processes[source].rack
    other = world.processes[destination].rack
    if context.first_rack_link == NONE or one == other or one == NONE or other == NONE:
        return NONE
    place = other - 1 if other > one else other
    return context.first_rack_link + one * (context.racks - 1) + place


@inner_rule
def _alone_us(world: Kernel, receiver: int, size_bytes: int) -> int:
    """The time in which a receiver's network receives so many bytes alone."""
    rate = world.networks_in[receiver].bytes_per_second
    return (size_bytes * _US_PER_SECOND + rate - 1) // rate if rate > 0 else 0


@inner_rule
def _wait_for_buffers_us(world: Kernel, message: Event, delay_us: int, path: int) -> int:
    """The wait for acknowledgements of the bytes that do not fit into a connection's buffers."""
    sender = world.socket_buffers[message.source].send_bytes
    buffers = world.socket_buffers[message.destination]
    receiver = buffers.receive_bytes
    if world.processes[message.source].role == BROKER:
        receiver = buffers.fetch_bytes
    buffer_bytes = min(sender, receiver) if sender > 0 and receiver > 0 else max(sender, receiver)
    if buffer_bytes == 0 or message.size_bytes <= buffer_bytes:
        return 0
    round_trip_us = 2 * (world.quantiles[path * QUANTILES + _MEDIAN].value_us + delay_us)
    return (message.size_bytes - buffer_bytes) * round_trip_us // buffer_bytes


@inner_rule
def is_received(world: Kernel, message: Event, link: Link) -> bool:
    """Whether a message with records is received by now; if not, it is put back until then."""
    if message.transfer_us < 0:
        return True
    impairment = impairment_of(world, link)
    if message.sequence < impairment.lost_below and message.left_us > impairment.lost_from_us:
        free_event(world, message)
        return False
    context = world.context[0]
    now_us = context.time_us
    network = world.networks_in[message.destination]
    end_us = received_us(network, message.size_bytes, message.transfer_us, now_us)
    if message.relayed_to == NONE:
        end_us = max(end_us, impairment.received_us)
        if end_us > now_us:
            impairment_to_change(world, link).received_us = end_us
    else:
        order = link_between(world, message.source, message.relayed_to)
        end_us = max(end_us, impairment_of(world, order).relayed_us)
        if end_us > now_us:
            impairment_to_change(world, order).relayed_us = end_us
    message.transfer_us = NONE - (message.transfer_us + end_us - now_us)
    if end_us <= now_us:
        return True
    message.time_us = end_us
    push(world, message)
    # It is handled once, then.
    context.handled -= 1
    world.kind_counts[message.kind].handled -= 1
    return False


@inner_rule
def forget_transfers(world: Kernel, process: int) -> None:
    """A process dies: its network's pending transfers are dropped."""
    sent = world.networks_out[process]
    received = world.networks_in[process]
    sent.free_ns = 0
    received.free_ns = 0
    received.busy_from_ns = 0
    for flow in range(FLOWS):
        sent.ends_ns[flow] = 0
        received.came_ns[flow] = 0
        received.ends_ns[flow] = 0
        received.alone_ns[flow] = 0
