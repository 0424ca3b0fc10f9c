"""Reading gauges off a group's tables, of its own processes only.

The rules write to the gauges alone. Objects of another group stay zero here, so that the snapshots
of all groups add up to the cluster.
"""

from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import NEVER_US, Brokers
from tidegauge.clients.client_state import Clients
from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.controller.partitions.partition_changes import OFFLINE_PARTITION
from tidegauge.controller.state.control_plane import ControlPlane
from tidegauge.controller.zookeeper import held_states
from tidegauge.metrics.families.all_families import (
    ClusterGauges,
    CommittedGauges,
    MemberGauges,
    PartitionGauges,
)
from tidegauge.metrics.families.brokers import BrokerGauges, BrokerTopicGauges, ReplicaGauges
from tidegauge.replication.in_sync_replicas import (
    is_at_min_isr,
    is_reassigning,
    is_under_min_isr,
    is_under_replicated,
)
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.replica_list import contains, first, size
from tidegauge.simulation.kernel import CLIENT, NONE
from tidegauge.simulation.topology import broker_of, is_kraft

# BrokerGauges.state, which Kafka exports as BrokerState (BrokerStates@2.6.0).
NOT_RUNNING = code(0)
STARTING = code(1)
RECOVERING_FROM_UNCLEAN_SHUTDOWN = code(2)
RUNNING_AS_BROKER = code(3)
PENDING_CONTROLLED_SHUTDOWN = code(6)
BROKER_SHUTTING_DOWN = code(7)


@rule
def read_brokers(
    world: Brokers,
    time_us: int,
    gauges: Records[BrokerGauges],
    topics: Records[BrokerTopicGauges],
) -> None:
    """Enter the brokers that are hosted here and run, each with its topics.

    Source: ReplicaManager@2.6.0, BrokerTopicStats@2.6.0, KafkaRequestHandlerPool@2.6.0.
    """
    count = world.sizes[0].topics
    for broker in range(world.sizes[0].brokers):
        process = world.processes[broker]
        if not process.hosted:
            continue
        state = world.brokers[broker]
        gauge = gauges[broker]
        gauge.starts = state.starts
        if not process.alive:
            gauge.state = NOT_RUNNING
            continue
        gauge.alive = True
        gauge.answers = process.paused == 0
        gauge.started_us = process.up_since_us
        gauge.state = _broker_state(state, time_us)
        _read_broker(world, broker, time_us, gauge)
        for topic in range(count):
            _read_topic(world, topics, broker * count + topic)
            gauge.appended_bytes += topics[broker * count + topic].bytes_in


@inner_rule
def _broker_state(state: Broker, time_us: int) -> int:
    """Source: KafkaServer.startup, controlledShutdown and shutdown@2.6.0."""
    if state.ends:
        return BROKER_SHUTTING_DOWN
    if state.stopping:
        return PENDING_CONTROLLED_SHUTDOWN
    if state.loaded and state.ready_us <= time_us:
        return RUNNING_AS_BROKER
    return RECOVERING_FROM_UNCLEAN_SHUTDOWN if state.recovered else STARTING


@inner_rule
def _read_broker(world: Brokers, broker: int, time_us: int, gauge: BrokerGauges) -> None:
    state = world.brokers[broker]
    stats = world.broker_stats[broker]
    gauge.isr_shrinks = stats.isr_shrinks
    gauge.isr_expands = stats.isr_expands
    gauge.failed_isr_updates = stats.failed_isr_updates
    gauge.replication_bytes_in = stats.replication_bytes_in
    gauge.replication_bytes_out = stats.replication_bytes_out
    gauge.appended_bytes = stats.replication_bytes_in
    gauge.reassignment_bytes_in = stats.reassignment_bytes_in
    gauge.reassignment_bytes_out = stats.reassignment_bytes_out
    gauge.isr_change_notifications = stats.isr_change_notifications
    gauge.isr_changes_pending = state.changed_count
    gauge.request_queue_size = state.queue.length
    gauge.offline_log_directories = _ones(state.offline_directories)
    gauge.cordoned_log_directories = _cordoned(world, broker)
    gauge.applied_offset = world.lifecycles[broker].published_offset - 1 if is_kraft(world) else -1
    # Those of a broker that shuts down have ended.
    if state.loaded and not state.ends:
        gauge.handlers = state.num_io_threads
        gauge.handlers_idle_us = _handlers_idle_us(world, broker, time_us)
        gauge.handlers_since_us = state.port_opens_us


@inner_rule
def _handlers_idle_us(world: Brokers, broker: int, time_us: int) -> int:
    """The total wait of the request handlers for requests, up to now."""
    state = world.brokers[broker]
    idle_us = 0
    for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
        free_us = world.threads[thread].free_us
        idle_us += world.threads[thread].idle_us
        if free_us != NEVER_US:
            idle_us += max(0, time_us - max(free_us, state.port_opens_us))
    return idle_us


@inner_rule
def _cordoned(world: Brokers, broker: int) -> int:
    """How many log directories a broker has cordoned; NONE: its release does not know that."""
    if not is_kraft(world) or not world.lifecycles[broker].tells_cordoned_directories:
        return NONE
    return _ones(world.lifecycles[broker].cordoned_directories)


@inner_rule
def _ones(bits: int) -> int:
    count = 0
    while bits != 0:
        count += bits & 1
        bits >>= 1
    return count


@inner_rule
def _read_topic(world: Brokers, topics: Records[BrokerTopicGauges], index: int) -> None:
    stats = world.topic_stats[index]
    gauge = topics[index]
    gauge.messages_in = stats.messages_in
    gauge.bytes_in = stats.bytes_in
    gauge.bytes_out = stats.bytes_out
    gauge.produce_requests = stats.produce_requests
    gauge.failed_produce_requests = stats.failed_produce_requests
    gauge.fetch_requests = stats.fetch_requests


@rule
def read_replicas(
    world: Brokers,
    gauges: Records[ReplicaGauges],
    of_brokers: Records[BrokerGauges],
    of_topics: Records[BrokerTopicGauges],
) -> None:
    """Enter the replicas of all brokers that run here, and the brokers' counts of them.

    Source: Partition@2.6.0, Log@2.6.0, ReplicaManager (newGauge, maybeRemoveTopicMetrics)@2.6.0.
    """
    topics = world.sizes[0].topics
    for row in range(len(world.slots)):
        slot = world.slots[row]
        if not (world.processes[slot.broker].hosted and world.processes[slot.broker].alive):
            continue
        hosted = world.hosted[row]
        gauge = of_brokers[slot.broker]
        gauge.offline_replicas += 1 if hosted.offline else 0
        topic = slot.broker * topics + world.partitions[slot.partition].topic
        # Values from before stay when the replica is gone.
        of_topics[topic].fetch_requests += _reads_in_sessions(world, row)
        if not hosted.exists:
            continue
        of_topics[topic].exists = True
        gauge.partition_count += 1
        _read_replica(world, row, gauges[row], gauge)
        _count_waiting(world, row, gauge)


@inner_rule
def _read_replica(world: Brokers, row: int, replica: ReplicaGauges, broker: BrokerGauges) -> None:
    hosted = world.hosted[row]
    partition = world.replicas[row]
    rules = world.rules[hosted.broker]
    replica.exists = True
    replica.leader_epoch = partition.leader_epoch
    replica.log_start_offset = partition.log_start_offset
    replica.log_end_offset = partition.log_end_offset
    replica.high_watermark = partition.high_watermark
    records = partition.log_end_offset - partition.log_start_offset
    replica.size_bytes = records * world.partitions[hosted.partition].record_bytes
    replica.source_broker = UNDEFINED
    replica.fetcher = UNDEFINED
    replica.lag = UNDEFINED
    if hosted.fetcher != NONE:
        replica.source_broker = world.fetchers[hosted.fetcher].source_broker
        replica.fetcher = hosted.fetcher % world.pools[0].fetchers_of_source
        replica.lag = hosted.fetcher_lag
        broker.max_lag = max(broker.max_lag, hosted.fetcher_lag)
    broker.failed_partitions += 1 if world.fetch_states[row].failed else 0
    if not is_leader(partition):
        return
    replica.leads = True
    replica.under_replicated = is_under_replicated(rules, partition)
    replica.under_min_isr = is_under_min_isr(rules, partition)
    replica.at_min_isr = is_at_min_isr(rules, partition)
    replica.in_sync_replicas = size(partition.isr)
    replica.replicas = size(partition.replicas)
    broker.leader_count += 1
    broker.under_replicated += 1 if replica.under_replicated else 0
    broker.under_min_isr += 1 if replica.under_min_isr else 0
    broker.at_min_isr += 1 if replica.at_min_isr else 0
    broker.reassigning += 1 if is_reassigning(partition) else 0


@inner_rule
def _reads_in_sessions(world: Brokers, row: int) -> int:
    """The reads of a replica in sessions that go on; they are not in its total yet."""
    reads = 0
    width = world.sizes[0].width
    for index in range(row * width, (row + 1) * width):
        told = world.follower_fetches[index]
        if told.in_session:
            reads += world.fetch_sessions[told.fetcher].reads - told.reads_before
    return reads


@inner_rule
def _count_waiting(world: Brokers, row: int, broker: BrokerGauges) -> None:
    """Count the requests that wait for a replica in the purgatories.

    Kafka's PurgatorySize counts a request once for each partition that it is watched by.

    Source: DelayedOperationPurgatory.watched@2.6.0.
    """
    broker.delayed_produces += _watches(world, world.delayed_produces[row].first)
    broker.delayed_fetches += _watches(world, world.delayed_fetches[row].first)
    width = world.sizes[0].width
    for index in range(row * width, (row + 1) * width):
        told = world.follower_fetches[index]
        if told.in_session:
            broker.delayed_fetches += 1 if world.fetch_sessions[told.fetcher].waiting != NONE else 0


@inner_rule
def _watches(world: Brokers, index: int) -> int:
    count = 0
    while index != NONE:
        count += 1
        index = world.watches[index].next
    return count


@rule
def read_controllers(world: ControlPlane, gauges: Records[BrokerGauges]) -> None:
    """Enter the controller contexts hosted here; with ZooKeeper every broker has these gauges.

    Source: KafkaController (newGauge, updateMetrics)@2.6.0, ControllerStats@2.6.0.
    """
    if is_kraft(world):
        return
    count = world.sizes[0].brokers
    for broker in range(count):
        process = world.processes[count + broker]
        if not (process.hosted and process.alive):
            continue
        state = world.controllers[broker]
        gauge = gauges[broker]
        gauge.leader_elections = state.leader_elections
        gauge.unclean_leader_elections = state.unclean_elections
        gauge.event_queue_size = state.queue.length
        if state.active:
            gauge.active_controller = True
            gauge.controller_epoch = state.controller_epoch
            _read_context(world, state.context, gauge)


@inner_rule
def _read_context(world: ControlPlane, context: int, gauge: BrokerGauges) -> None:
    """The active controller's state of all partitions but those that are being deleted.

    The head of an assignment that is still being added is not missed as the leader until it is in
    the ISR.

    Source: KafkaController.updateMetrics@2.4.0, ControllerContext.hasPreferredLeader@2.6.0.
    """
    sizes = world.sizes[0]
    topic_seen = NONE
    for partition in range(sizes.partitions):
        known = world.controller_partitions[context * sizes.partitions + partition]
        if not known.known:
            continue
        topic = world.partitions[partition].topic
        gauge.global_partitions += 1
        gauge.global_topics += 1 if topic != topic_seen else 0
        topic_seen = topic
        if world.controller_topics[context * sizes.topics + topic].deleted:
            continue
        gauge.offline_partitions += 1 if known.state == OFFLINE_PARTITION else 0
        state = world.controller_leader_and_isr[context * sizes.partitions + partition]
        preferred = first(known.replicas)
        if contains(known.adding, preferred):
            is_imbalanced = contains(state.isr, preferred)
        else:
            is_imbalanced = state.leader != preferred
        gauge.preferred_replica_imbalance += 1 if known.has_state and is_imbalanced else 0


@rule
def read_zookeeper(
    world: ControlPlane,
    gauges: Records[PartitionGauges],
    of_brokers: Records[BrokerGauges],
    of_cluster: Records[ClusterGauges],
) -> None:
    """Enter the control plane's state, and ZooKeeper itself, if it is hosted here.

    Source: KafkaZkClient.getTopicPartitionStates@2.6.0.
    """
    brokers = world.sizes[0].brokers
    if not held_states.is_control_plane_hosted(world):
        return
    cluster = of_cluster[0]
    cluster.known = True
    cluster.zxid = world.ensemble[0].zxid
    cluster.isr_change_notifications = held_states.count_notifications(world)
    session = world.ensemble[0].first_session
    while session != NONE:
        cluster.sessions += 1
        session = world.zookeeper_sessions[session].next
    for broker in range(brokers):
        of_brokers[broker].registered = held_states.is_registered(world, broker)
        cluster.registered_brokers += 1 if of_brokers[broker].registered else 0
    for partition in range(len(world.partitions)):
        _read_partition(world, partition, gauges[partition])


@inner_rule
def _read_partition(world: ControlPlane, partition: int, gauge: PartitionGauges) -> None:
    if not held_states.has_state(world, partition):
        return
    replicas = world.assignments[partition].replicas
    gauge.exists = True
    gauge.leader = held_states.leader_of(world, partition)
    gauge.leader_epoch = held_states.leader_epoch_of(world, partition)
    gauge.in_sync_replicas = size(held_states.isr_of(world, partition))
    gauge.replicas = size(replicas)
    gauge.leader_is_preferred = gauge.leader == broker_of(world, partition, first(replicas))


@rule
def read_clients(
    world: Clients, partitions: Records[PartitionGauges], cluster: Records[ClusterGauges]
) -> None:
    """Enter the waits of clients that are hosted here; stalls are no figure of Kafka's.

    Source: BufferPool.queued@2.6.0 (waiting-threads).
    """
    for number in range(len(world.clients)):
        if not world.processes[world.process_ranges[CLIENT].first + number].hosted:
            continue
        client = world.clients[number]
        cluster[0].records_unsent += client.skipped * client.records_per_send
        cluster[0].blocked_producers += 1 if client.blocked else 0
        for place in range(client.first_target, client.first_target + client.target_count):
            target = world.client_targets[place]
            gauge = partitions[target.partition]
            gauge.stalled_producers += 1 if target.overdue > 0 else 0
            gauge.stalled_consumers += 1 if target.reads_stall else 0


@rule
def read_groups(
    world: Brokers,
    committed: Records[CommittedGauges],
    members: Records[MemberGauges],
) -> None:
    """Enter the state of groups of consumers at coordinators that are hosted here and answer.

    With several leaders the one in the newest epoch counts: a leader that is cut off, or has lost
    the log directory, goes on for a while.

    Source: KafkaApis.handleOffsetFetchRequest, handleDescribeGroupRequest@2.6.0.
    """
    for key in range(len(world.commit_keys)):
        partition = world.commit_keys[key].partition
        row = _coordinator(world, partition)
        if row == NONE:
            continue
        slot = row - world.partitions[partition].first_slot
        width = world.sizes[0].width
        epoch = world.replicas[row].leader_epoch
        if key < len(committed):
            committed[key].coordinator_epoch = 1 + epoch
            offset = world.committed_offsets[key * width + slot].offset
            committed[key].known = offset != NONE
            committed[key].offset = max(0, offset)
        else:
            member = world.group_members[(key - len(committed)) * width + slot]
            members[key - len(committed)].coordinator_epoch = 1 + epoch
            members[key - len(committed)].present = member.present


@inner_rule
def _coordinator(world: Brokers, partition: int) -> int:
    """The replica here whose broker coordinates the groups of a partition; or NONE."""
    if partition == NONE:
        return NONE
    facts = world.partitions[partition]
    found = NONE
    for row in range(facts.first_slot, facts.first_slot + facts.slot_count):
        process = world.processes[world.slots[row].broker]
        if not (world.hosted[row].coordinates and process.hosted and process.paused == 0):
            continue
        epoch = world.replicas[row].leader_epoch
        if found == NONE or epoch > world.replicas[found].leader_epoch:
            found = row
    return found
