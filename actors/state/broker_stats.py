"""A broker's counts of its requests, topic by topic (Kafka: ``BrokerTopicStats``).

Nothing in a run depends on these: they are for the broker's metrics. They are counts of its
process, and begin at 0 with each start.

A follower's fetch reads every partition of its session, though here only the changed ones are read
(``fetches/fetch_sessions.py``). So a session counts its reads. The sum for a partition is made when
the partition leaves, or when it is read.

No fetch counts as failed: Kafka leaves out every error that a partition can have here.
"""

from tidegauge.actors.state.broker_records import BrokerStats, BrokerTopicStats
from tidegauge.actors.state.brokers import Brokers
from tidegauge.actors.state.replica_records import FetchSession
from tidegauge.actors.state.request_times import forget_request_times
from tidegauge.compiled.records import blank
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.replication.replica_list import contains
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import (
    FetchPartition,
    FetchRequest,
    PartitionAppend,
)
from tidegauge.simulation.messages.event import PartitionData
from tidegauge.simulation.topology import slot_of


@inner_rule
def topic_stats(world: Brokers, broker: int, partition: int) -> BrokerTopicStats:
    """A broker's counts of the topic of a partition."""
    topic = world.partitions[partition].topic
    return world.topic_stats[broker * world.sizes[0].topics + topic]


@inner_rule
def mark_produce(world: Brokers, broker: int, partition: int, append: PartitionAppend) -> None:
    """Count a requested append, and the records that it has appended.

    Source: ReplicaManager.appendToLocalLog@2.6.0.
    """
    stats = topic_stats(world, broker, partition)
    stats.produce_requests += 1
    error = append.error
    if error == errors.NONE:
        stats.messages_in += append.record_count
        stats.bytes_in += append.record_count * world.partitions[partition].record_bytes
    elif error == errors.NOT_ENOUGH_REPLICAS:
        # The only error of an append here that Kafka does not expect.
        stats.failed_produce_requests += 1


@inner_rule
def mark_fetch(world: Brokers, request: FetchRequest) -> None:
    """Count that all partitions of a fetch are read.

    Source: ReplicaManager.readFromLocalLog@2.6.0.
    """
    if request.replica_id != NONE:
        world.fetch_sessions[request.fetcher].reads += 1
        return
    for item in items_of(world, request, PartitionData):
        topic_stats(world, request.destination, item.partition).fetch_requests += 1


@inner_rule
def mark_left(world: Brokers, session: FetchSession, index: int) -> None:
    """A partition leaves a session: add its reads there to the total."""
    slot = world.slots[index // world.sizes[0].width]
    reads = session.reads - world.follower_fetches[index].reads_before
    topic_stats(world, slot.broker, slot.partition).fetch_requests += reads


@inner_rule
def mark_bytes_out(world: Brokers, request: FetchRequest, row: int, item: FetchPartition) -> None:
    """Count the bytes of a replica in the response to a fetch.

    Source: KafkaApis.handleFetchRequest@2.6.0, BrokerTopicStats.updateBytesOut@2.6.0.
    """
    if request.replica_id == NONE:
        stats = topic_stats(world, request.destination, item.partition)
        stats.bytes_out += item.size_bytes
        return
    own = world.broker_stats[request.destination]
    own.replication_bytes_out += item.size_bytes
    follower = slot_of(world, item.partition, request.replica_id)
    if contains(world.replicas[row].adding_replicas, follower):
        own.reassignment_bytes_out += item.size_bytes


@inner_rule
def mark_replicated(world: Brokers, row: int, size_bytes: int) -> None:
    """Count a follower's appended bytes, for this process and for the whole run.

    Source: ReplicaFetcherThread.processPartitionData@2.6.0.
    """
    own = world.broker_stats[world.hosted[row].broker]
    own.replication_bytes_in += size_bytes
    partition = world.replicas[row]
    if contains(partition.adding_replicas, partition.local_replica):
        own.reassignment_bytes_in += size_bytes
        world.brokers[world.hosted[row].broker].reassignment_bytes += size_bytes


@inner_rule
def mark_failed_isr_update(world: Brokers, broker: int) -> None:
    """Count that an ISR could not be written, for this process and for the whole run."""
    world.broker_stats[broker].failed_isr_updates += 1
    world.brokers[broker].failed_isr_updates += 1


@inner_rule
def forget_stats(world: Brokers, broker: int) -> None:
    """The next process counts from 0."""
    blank(world.broker_stats[broker], BrokerStats)
    forget_request_times(world, broker)
    topics = world.sizes[0].topics
    for index in range(broker * topics, (broker + 1) * topics):
        blank(world.topic_stats[index], BrokerTopicStats)
    state = world.brokers[broker]
    for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
        world.threads[thread].idle_us = 0
