"""num.network.threads: the threads that send a broker's responses.

A thread serves the connections of many peers. Kafka sends records with sendfile, so a thread whose
records are not in memory is blocked until the disk has read them, and all its connections with it.

Source: SocketServer.Processor@2.6.0, FileRecords.writeTo@2.6.0.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers
from tidegauge.compiled.rules import inner_rule


@inner_rule
def network_thread_free_us(world: Brokers, broker: int, peer: int) -> int:
    """Until when the thread is blocked that serves a peer's connections, by its process."""
    state = world.brokers[broker]
    thread = state.first_network_thread + peer % state.num_network_threads
    return world.network_threads[thread].free_us


@inner_rule
def block_network_thread(world: Brokers, broker: int, peer: int, until_us: int) -> None:
    """Block the thread that serves a peer's connections."""
    state = world.brokers[broker]
    thread = world.network_threads[state.first_network_thread + peer % state.num_network_threads]
    thread.free_us = max(thread.free_us, until_us)
