"""The tables of the kernel, the topology and the clients, laid out for a scenario.

``hosted`` has the processes that a group runs; the tables cover all of them.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tidegauge.clients import client_state
from tidegauge.clients.latency_counts import BUCKETS
from tidegauge.compiled.records import Records, column, grown, new_records
from tidegauge.engine.layout.by_name import new_tables, set_by_name, set_columns
from tidegauge.engine.layout.network_tables import enter_networks, new_networks
from tidegauge.engine.layout.step_tables import new_rolls, new_steps, plan_faults
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.release_versions import Release
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import (
    UNCONDITIONAL_ISR,
    ClusterPlan,
    PlannedClient,
    PlannedPartition,
)
from tidegauge.scenario.model.parts import CLOSEST_REPLICA, REBOOTSTRAP, STRATEGY
from tidegauge.scenario.model.settings import OFFSETS_TOPIC
from tidegauge.scenario.model.workload import ClientGroup, ConsumerGroup, ProducerGroup
from tidegauge.simulation.jvm_orders import java_abs, java_hash, set_order
from tidegauge.simulation.kernel import CLIENT, CommitKey, Kernel, Process
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.random_streams import QUANTILES, Quantile
from tidegauge.simulation.rows import COST_NAMES, TRACE_ALL, TRACE_TRANSITIONS
from tidegauge.simulation.topology import ClusterPartition, NumberRange, Sizes, Slot, Topology

#: Consumers read on while they look for their coordinator (KafkaConsumer.poll@2.5.0).
_READS_ON = Release.parse("2.5.0")

#: Producers bump their epoch where they find a gap (KIP-360, TransactionManager@2.5.0).
_BUMPS_EPOCH = Release.parse("2.5.0")

_NEVER_US = 2**62


def new_topology(plan: ClusterPlan) -> Topology:
    """The topology, in numbers."""
    sizes = new_records(Sizes, 1)
    sizes[0].brokers = len(plan.brokers)
    sizes[0].topics = len(plan.scenario.topics)
    sizes[0].partitions = len(plan.partitions)
    sizes[0].width = plan.width
    sizes[0].log_directories = plan.scenario.cluster.log_directories
    partitions = _partitions(plan)
    slots = new_records(Slot, sum(len(partition.slots) for partition in plan.partitions))
    hosts = [broker for planned in plan.partitions for broker in planned.slots]
    set_columns(
        slots,
        broker=hosts,
        broker_id=[plan.brokers[broker] for broker in hosts],
        partition=np.repeat(np.arange(len(partitions)), column(partitions, "slot_count")),
    )
    if any(rules_of(*plan.scenario.release_of(each)).dead_replicas_in_set for each in plan.brokers):
        column(slots, "set_order")[:] = _set_orders(plan)
    return new_tables(
        Topology,
        sizes=sizes,
        partitions=partitions,
        slots=slots,
        rules=_new_rules(plan),
        process_ranges=_range_rows(plan.process_ranges),
        tree_ranges=_range_rows(plan.tree_ranges),
    )


def _partitions(plan: ClusterPlan) -> Records[ClusterPartition]:
    planned = plan.partitions
    partitions = new_records(ClusterPartition, len(planned))
    counts = [len(each.slots) for each in planned]
    replicas = [pack(range(count)) for count in range(1 + max(counts, default=0))]
    set_columns(
        partitions,
        topic=[each.topic_number for each in planned],
        first_slot=np.cumsum([0, *counts])[:-1],
        slot_count=counts,
        replicas=[replicas[len(each.replicas)] for each in planned],
        fetcher_hash=[fetcher_hash(each.topic, each.number) for each in planned],
        record_bytes=[each.record_bytes for each in planned],
        batch_records=[each.batch_records for each in planned],
        holds_offsets=[each.topic == OFFSETS_TOPIC for each in planned],
        existing_records=[max(each.existing_records) for each in planned],
    )
    for number, each in enumerate(planned):
        if each.retention is not None:
            _set_retention(each, partitions[number])
    return partitions


def _set_retention(planned: PlannedPartition, partition: ClusterPartition) -> None:
    retention = planned.retention
    if retention is None:
        return
    partition.segment_records = max(1, retention.segment_bytes // planned.record_bytes)
    if retention.bytes is not None:
        partition.retention_records = -(-retention.bytes // planned.record_bytes)
    if retention.seconds is not None:
        partition.retention_s = retention.seconds


def _range_rows(ranges: Sequence[range]) -> Records[NumberRange]:
    rows = new_records(NumberRange, len(ranges))
    column(rows, "first")[:] = [numbers.start for numbers in ranges]
    column(rows, "count")[:] = [len(numbers) for numbers in ranges]
    return rows


def _set_orders(plan: ClusterPlan) -> list[int]:
    return [
        set_order(planned.topic, planned.number, plan.brokers[broker])
        for planned in plan.partitions
        for broker in planned.slots
    ]


def _new_rules(plan: ClusterPlan) -> Records[ReleaseRules]:
    """The release switches of every broker."""
    rules = new_records(ReleaseRules, len(plan.brokers))
    for index, broker in enumerate(plan.brokers):
        rules[index] = rules_of(*plan.scenario.release_of(broker))
    for switch, value in plan.switches.items():
        if switch != UNCONDITIONAL_ISR:
            column(rules, switch)[:] = value
    return rules


def fetcher_hash(topic: str, partition: int) -> int:
    """The hash that chooses the fetcher thread of a partition: Java's hash of both, made positive.

    Source: AbstractFetcherManager.getFetcherId@0.10.2.0 and @2.8.0.
    """
    return java_abs((31 * java_hash(topic) + partition) & 0xFFFFFFFF)


def new_kernel(
    plan: ClusterPlan, hosted: Collection[int], reserve: int, item_reserve: int
) -> Kernel:
    """Virtual time at its beginning, for the processes in ``hosted``."""
    count = len(plan.processes)
    networks = new_networks(plan)
    kernel = new_tables(
        Kernel,
        context=1,
        events=0,
        items=0,
        heap=0,
        later_heap=0,
        processes=_processes(plan, hosted),
        roles=len(plan.process_ranges),
        links=count * count,
        networks_out=networks.outgoing,
        networks_in=networks.incoming,
        socket_buffers=networks.socket_buffers,
        network_threads=networks.threads,
        quantiles=_quantiles(plan),
        quantile_uses=int(NETWORK_TABLES) + len(COST_NAMES),
        rows=0,
        faults=len(plan.faults),
        fault_roles=len(plan.faults) * count,
        kind_counts=int(KINDS),
        metadata_changes=0,
        metadata_heads=len(plan.partitions) + len(plan.brokers),
        offset_commits=0,
        commit_keys=new_commit_keys(plan),
    )
    context = kernel.context[0]
    context.seed = plan.scenario.seed
    context.process_count = count
    context.has_files = plan.scenario.checkpoint_files
    context.reserve = reserve
    context.commit_reserve = reserve if plan.has_commits else 0
    context.item_reserve = item_reserve
    context.trace_level = TRACE_ALL if plan.scenario.trace == "all" else TRACE_TRANSITIONS
    context.sample_period_us = plan.scenario.sample_every_us
    enter_networks(plan, kernel)
    plan_faults(plan, kernel)
    enlarge_kernel(kernel, reserve, item_reserve)
    return kernel


def enlarge_kernel(world: Kernel, events: int, items: int) -> None:
    """Enlarge the tables until so many events and so much partition data are free."""
    context = world.context[0]
    if context.free_events < events:
        count = len(world.events)
        world.events = grown(world.events, 2 * count + 2 * events)
        world.heap = grown(world.heap, len(world.events))
        world.later_heap = grown(world.later_heap, len(world.events))
        column(world.events, "index")[count:] = np.arange(count, len(world.events))
        chain_free(column(world.events, "next"), count, int(context.free_event))
        context.free_event = count
        context.free_events += len(world.events) - count
    if context.free_items < items:
        count = len(world.items)
        world.items = grown(world.items, 2 * count + 2 * items)
        chain_free(column(world.items, "next"), count, int(context.free_item))
        context.free_item = count
        context.free_items += len(world.items) - count


def enlarge_metadata(world: Kernel, changes: int) -> None:
    """Enlarge the log of changes for brokers until there is room for so many more."""
    count = int(world.context[0].metadata_changes)
    if len(world.metadata_changes) - count < changes:
        world.metadata_changes = grown(world.metadata_changes, 2 * count + 2 * changes)


def enlarge_commits(world: Kernel, commits: int) -> None:
    """Enlarge the journal of commits until there is room for so many more, if there are commits."""
    count = int(world.context[0].offset_commits)
    if world.context[0].commit_reserve > 0 and len(world.offset_commits) - count < commits:
        world.offset_commits = grown(world.offset_commits, 2 * count + 2 * commits)


def new_commit_keys(plan: ClusterPlan) -> Records[CommitKey]:
    """Commits of groups: an offset of each partition that a client reads, then the clients."""
    if not plan.has_commits:
        return new_records(CommitKey, 0)
    partitions = []
    members = new_records(CommitKey, len(plan.clients))
    for number, client in enumerate(plan.clients):
        group = client.group
        partition = -1
        if isinstance(group, ConsumerGroup) and plan.commits(group):
            partition = plan.group_partition(group)
            settings = plan.scenario.consumer_settings(group)
            members[number].session_timeout_us = 1000 * int(settings["session.timeout.ms"])
        partitions += [partition] * len(plan.partitions_of(client))
        members[number].partition = partition
        members[number].process = plan.process_ranges[CLIENT][number]
    keys = new_records(CommitKey, len(partitions) + len(members))
    column(keys, "partition")[: len(partitions)] = partitions
    for number in range(len(members)):
        keys[len(partitions) + number] = members[number]
    return keys


def chain_free(following: NDArray[np.int64], first: int, free: int) -> None:
    """Chain the slots from ``first`` on, and behind them those that were free before."""
    following[first:] = np.arange(first + 1, len(following) + 1)
    following[-1] = free


def _processes(plan: ClusterPlan, hosted: Collection[int]) -> Records[Process]:
    processes = new_records(Process, len(plan.processes))
    for number, planned in enumerate(plan.processes):
        process = processes[number]
        process.role = planned.role
        process.number = planned.number
        process.host = planned.host
        process.rack = planned.rack
        process.hosted = number in hosted
        process.alive = True
    return processes


def _quantiles(plan: ClusterPlan) -> Records[Quantile]:
    """The tables of the network, then of the cost model, then one for each fault that delays."""
    network = plan.scenario.network
    tables = [
        network.within_host,
        network.within_rack,
        network.between_racks,
        network.clients,
        network.retransmission_after_cut,
    ]
    assert len(tables) == NETWORK_TABLES
    tables += [getattr(plan.scenario.costs_in_force, name) for name in COST_NAMES]
    delays = (fault.drawn_delay() for fault in plan.scenario.faults)
    tables += [delay for delay in delays if delay is not None]
    quantiles = new_records(Quantile, len(tables) * int(QUANTILES))
    column(quantiles, "value_us")[:] = [value for table in tables for value in table.quantiles_us()]
    return quantiles


def new_clients(plan: ClusterPlan) -> client_state.Clients:
    """Clients that have not begun."""
    targets = [plan.partitions_of(client) for client in plan.clients]
    target_count = sum(len(numbers) for numbers in targets)
    steps = new_steps(plan)
    rolls, rolled = new_rolls(plan)
    clients = new_tables(
        client_state.Clients,
        pool=1,
        clients=len(plan.clients),
        client_metadata=len(plan.clients),
        client_targets=target_count,
        connections=len(plan.clients) * len(plan.brokers),
        batches=0,
        lost_appends=1,
        steps=steps.steps,
        awaited_brokers=steps.members,
        requested_moves=steps.moves,
        rolls=rolls,
        rolled=rolled,
        throttled_by_steps=steps.throttled,
        answers=1,
        live_brokers=len(plan.brokers),
        latencies=len(plan.clients) * int(BUCKETS),
    )
    clients.pool[0].clients = len(plan.clients)
    clients.pool[0].steps = len(plan.scenario.steps)
    clients.pool[0].brokers_awaited = len(plan.brokers) - len(plan.down_at_first)
    enlarge_clients(clients)
    first_target = 0
    for number, planned in enumerate(plan.clients):
        client = clients.clients[number]
        client.first_target = first_target
        client.target_count = len(targets[number])
        last_target = first_target + len(targets[number])
        column(clients.client_targets, "partition")[first_target:last_target] = targets[number]
        for place, partition in enumerate(targets[number]):
            _plan_target(plan, planned, partition, clients.client_targets[first_target + place])
        first_target = last_target
        client.member_key = target_count + number
        _plan_client(plan, planned, client)
        if planned.group is not None:
            connections = clients.connections[number * len(plan.brokers) :][: len(plan.brokers)]
            _plan_connections(plan, planned.group, client, connections)
    return clients


def _plan_target(
    plan: ClusterPlan, planned: PlannedClient, partition: int, target: client_state.Target
) -> None:
    """The first offset of a consumer without a known one: the end of the existing records."""
    if not isinstance(planned.group, ConsumerGroup):
        return
    # The default is for logs that begin empty: consumers do not read the records from before the
    # run.
    if planned.group.settings.get("auto.offset.reset") != "earliest":
        target.begins = max(plan.partitions[partition].existing_records)
    target.position = target.processed = target.begins


def enlarge_clients(world: client_state.Clients) -> None:
    """Double the table of batches where few are left."""
    pool = world.pool[0]
    if pool.free_batches > client_state.FEW_BATCHES:
        return
    count = len(world.batches)
    world.batches = grown(world.batches, 2 * count + 256)
    column(world.batches, "index")[count:] = np.arange(count, len(world.batches))
    chain_free(column(world.batches, "next"), count, int(pool.free_batch))
    pool.free_batch = count
    pool.free_batches += len(world.batches) - count


def _plan_client(plan: ClusterPlan, planned: PlannedClient, client: client_state.Client) -> None:
    group = planned.group
    if group is None:
        client.kind = client_state.OPERATOR
        return
    client.start_us = group.start_us
    client.knows_leader_epochs = rules_of(plan.scenario.release).fetch_fenced
    if isinstance(group, ProducerGroup):
        _plan_producer(plan, group, planned.number, client)
    else:
        assert isinstance(group, ConsumerGroup)
        _plan_consumer(plan, group, client)


def _plan_connections(
    plan: ClusterPlan,
    group: ClientGroup,
    client: client_state.Client,
    connections: Records[client_state.Connection],
) -> None:
    settings = plan.scenario.connection_settings(group)
    unlimited = {"reconnect.backoff.max.ms": settings["reconnect.backoff.ms"]}
    set_by_name(client, client_state.ConnectionSettings, unlimited | settings)
    client.rebootstraps = settings.get(STRATEGY) == REBOOTSTRAP
    for broker in group.bootstrap or plan.brokers:
        connections[plan.broker_index(broker)].is_bootstrap = True


def _plan_producer(
    plan: ClusterPlan, group: ProducerGroup, number: int, client: client_state.Client
) -> None:
    settings = plan.scenario.producer_settings(group)
    client.kind = client_state.PRODUCER
    set_by_name(client, client_state.ClientSettings, settings)
    set_by_name(client, client_state.ProducerSettings, settings)
    client.bumps_epoch = Release.parse(plan.scenario.release) >= _BUMPS_EPOCH
    group_period_ns = round(1_000_000_000 / group.batches_per_second)
    client.period_ns = group_period_ns * group.clients
    client.start_us = group.start_us + number * group_period_ns // 1000
    client.stop_us = group.stop_us if group.stop_us is not None else _NEVER_US
    client.records_per_batch = group.records_per_batch
    client.next_target = number
    client.stride = group.clients


def _plan_consumer(plan: ClusterPlan, group: ConsumerGroup, client: client_state.Client) -> None:
    settings = plan.scenario.consumer_settings(group)
    client.kind = client_state.CONSUMER
    set_by_name(client, client_state.ClientSettings, settings)
    set_by_name(client, client_state.ConsumerSettings, settings)
    client.resets_to_latest = settings["auto.offset.reset"] == "latest"
    if Release.parse(plan.scenario.release) >= CLOSEST_REPLICA:
        client.rack = plan.rack_number(group)
    if plan.commits(group):
        client.group_partition = plan.group_partition(group)
    client.reads_without_coordinator = Release.parse(plan.scenario.release) >= _READS_ON
    if group.records_per_second is not None:
        client.record_ns = round(1_000_000_000 * group.clients / group.records_per_second)
