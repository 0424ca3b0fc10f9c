"""A broker's memory ends with its process: the disk remains.

The requests that it held are gone with their events, the fetchers and purgatories are empty,
and no partition is hosted until the first LeaderAndIsr of the next process.
"""

from tidegauge.actors.fetches.fetch_sessions import forget_sessions
from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher, stop_idle_fetchers
from tidegauge.actors.fetches.produce_response import forget_acknowledged
from tidegauge.actors.fetches.producer_connections import forget_connections, forget_watches_of
from tidegauge.actors.fetches.replication_quotas import forget_quotas
from tidegauge.actors.leaders.alter_partition import drop_submitted_isr, forget_request
from tidegauge.actors.state.broker_records import BrokerGauges, BrokerMemory
from tidegauge.actors.state.broker_stats import forget_stats
from tidegauge.actors.state.brokers import CHANGED, LOGS, Brokers, note_change
from tidegauge.actors.state.lifecycles import LifecycleMemory
from tidegauge.actors.state.replica_records import ReplicaMemory
from tidegauge.actors.storage.group_offsets import forget_groups
from tidegauge.compiled.records import blank, view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation.events import free_all, free_event, used_events
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.kinds import IS_REQUEST
from tidegauge.simulation.metadata_log import MetadataPosition
from tidegauge.simulation.topology import is_kraft


@inner_rule
def forget_everything(world: Brokers, broker: int) -> None:
    """Reset a broker to one that has never run, but for its disk and its count of requests."""
    drop_requests(world, broker)
    empty_fetchers(world, broker)
    forget_request(world, broker)
    if world.brokers[broker].offline_directories != 0:
        _forget_offline(world, broker)
    forget_quotas(world, broker)
    forget_groups(world, broker)
    forget_stats(world, broker)
    for row in LOGS.of(world, world.brokers[broker]):
        stop_hosting(world, row)
        blank(world.hosted[row], ReplicaMemory)
    if is_kraft(world):
        _forget_lifecycle(world, broker)
    blank(world.brokers[broker], BrokerMemory)
    blank(world.known_metadata[broker], MetadataPosition)
    room = len(world.fetchers) // world.sizes[0].brokers
    for index in range(broker * room, (broker + 1) * room):
        # Timers of this process mean nothing to the next one.
        world.fetchers[index].deadline_timer = False
        world.fetchers[index].wake_timer = False


@inner_rule
def _forget_lifecycle(world: Brokers, broker: int) -> None:
    """The next process registers again, and fetches the metadata log from its beginning."""
    state = world.lifecycles[broker]
    if state.pending != NONE:
        free_event(world, world.events[state.pending])
    if state.publishing != NONE:
        free_event(world, world.events[state.publishing])
    blank(state, LifecycleMemory)


@inner_rule
def forget_samples(world: Brokers, broker: int) -> None:
    """The first sample of a process shows all replicas of its broker."""
    gauges = world.sampled_brokers[broker]
    for row in CHANGED.of(world, gauges):
        world.sampled_replicas[row].is_hosted = False
    for row in LOGS.of(world, world.brokers[broker]):
        world.sampled_replicas[row].is_hosted = False
        note_change(world, row)
    blank(view_as(gauges, BrokerGauges), BrokerGauges)


@inner_rule
def _forget_offline(world: Brokers, broker: int) -> None:
    """The next process finds out itself which logs, and replicas without one, are offline."""
    for row in range(len(world.slots)):
        if world.slots[row].broker == broker:
            world.hosted[row].offline = False


@inner_rule
def empty_fetchers(world: Brokers, broker: int) -> None:
    """End all fetcher threads of a broker: it follows no leader."""
    for row in LOGS.of(world, world.brokers[broker]):
        remove_from_fetcher(world, row)
    stop_idle_fetchers(world, broker)


@inner_rule
def drop_requests(world: Brokers, broker: int) -> None:
    """Free every request of a broker, wherever it waits; none gets a response."""
    state = world.brokers[broker]
    forget_sessions(world, broker)
    forget_connections(world, broker)
    free_all(world, state.queue)
    for event in used_events(world):
        is_request = IS_REQUEST[event.kind]
        # Those that a thread has taken; the others are on their way.
        if is_request and event.destination == broker and event.thread != NONE:
            free_event(world, event)
    for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
        world.threads[thread].free_us = 0
    for row in LOGS.of(world, state):
        hosted = world.hosted[row]
        hosted.waiting.first = NONE
        hosted.waiting.last = NONE
        hosted.waiting.length = 0
        hosted.writing_request = NONE
        forget_watches_of(world, row)


@inner_rule
def forget_replica(world: Brokers, row: int) -> None:
    """Reset a replica to one that its broker does not host.

    A notification names it in any case, if its ISR has changed: isrChangeSet is of partitions,
    and not of replicas (ReplicaManager@2.4.0).
    """
    hosted = world.hosted[row]
    hosted.offline = False
    hosted.locked = False
    hosted.observer = 0
    hosted.write_lost = False
    stop_hosting(world, row)


@inner_rule
def stop_hosting(world: Brokers, row: int) -> None:
    """A broker has a replica no more: it does not lead with it; its lock stays as it is."""
    drop_submitted_isr(world, row)
    hosted = world.hosted[row]
    hosted.exists = False
    note_change(world, row)
    forget_acknowledged(hosted)
    world.fetch_states[row].delayed = False
    world.fetch_states[row].failed = False
    partition = world.replicas[row]
    partition.leader = UNDEFINED
    partition.leader_epoch = UNDEFINED
    partition.partition_epoch = UNDEFINED
    partition.isr = EMPTY
    partition.maximal_isr = EMPTY
    partition.proposed_isr = EMPTY
