"""num.network.threads: who receives a broker's requests, and sends its responses.

Each connection belongs to one network thread of the broker; here a fixed hash of the peer chooses
it. Its work takes no time, but a response that is read from the disk as it is sent (sendfile)
blocks it, and with it all connections that it has. While no thread of a broker is blocked, that
costs one comparison for each message.

Source: SocketServer.Processor.run, Selector.send@2.6.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.events import push
from tidegauge.simulation.kernel import Kernel, NetworkThread
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import IS_REQUEST, IS_RESPONSE


@inner_rule
def network_thread_of(world: Kernel, broker: int, peer: int) -> NetworkThread:
    """The network thread of a broker to which the connections of a peer belong."""
    state = world.processes[broker]
    return world.network_threads[state.first_network_thread + peer % state.network_threads]


@inner_rule
def block_network_thread(world: Kernel, broker: int, peer: int, until_us: int) -> None:
    """Have something that is sent to a peer block the network thread of its connections."""
    state = world.processes[broker]
    thread = network_thread_of(world, broker, peer)
    thread.free_us = max(thread.free_us, until_us)
    state.network_blocked_us = max(state.network_blocked_us, thread.free_us)


@inner_rule
def departure_from_thread_us(world: Kernel, message: Event, departure_us: int) -> int:
    """When a broker's message leaves: a response waits for the network thread of its connection.

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
    """A process dies: nothing blocks its threads any more."""
    state = world.processes[broker]
    state.network_blocked_us = 0
    for thread in range(state.network_threads):
        world.network_threads[state.first_network_thread + thread].free_us = 0
