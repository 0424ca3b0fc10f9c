"""The tables of the kernel, the topology and the clients, laid out for a scenario.

``hosted`` has the processes that a group runs; the tables cover all of them.
"""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.idle_fetches.arrivals import SPAN_US
from tidegauge.clients import client_state
from tidegauge.clients.latency_counts import BUCKETS
from tidegauge.compiled.codes import EAGER
from tidegauge.compiled.records import Records, column, grown, lengthened, new_records
from tidegauge.engine.layout.by_name import new_tables, set_by_name, set_columns
from tidegauge.engine.layout.network_tables import enter_networks, new_networks
from tidegauge.engine.layout.step_tables import new_rolls, new_steps, plan_faults, plan_pins
from tidegauge.replication.kraft_releases import (
    KRAFT_CELLS,
    KRaftRules,
    kraft_cells_of,
    kraft_rules_of,
)
from tidegauge.replication.records import SLOTS
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.release_versions import ProtocolVersion, Release
from tidegauge.replication.releases import rules_of
from tidegauge.replication.replica_list import pack
from tidegauge.scenario.cluster_plan import ClusterPlan, PlannedClient
from tidegauge.scenario.model.deployment import Versions
from tidegauge.scenario.model.parts import CLOSEST_REPLICA, REBOOTSTRAP, STRATEGY
from tidegauge.scenario.model.settings import OFFSETS_TOPIC
from tidegauge.scenario.model.workload import ClientGroup, ConsumerGroup, ProducerGroup
from tidegauge.scenario.timetable import Retention
from tidegauge.simulation.events import EVENT_SLOTS, ITEM_SLOTS
from tidegauge.simulation.jvm_orders import java_hash, set_order
from tidegauge.simulation.kernel import CLIENT, CommitKey, Kernel, Process
from tidegauge.simulation.links import NETWORK_TABLES
from tidegauge.simulation.messages.client_requests import FetchRequest, FetchResponse
from tidegauge.simulation.messages.kinds import KINDS
from tidegauge.simulation.random_streams import QUANTILES, Quantile
from tidegauge.simulation.rows import COST_NAMES, TRACE_ALL, TRACE_TRANSITIONS
from tidegauge.simulation.topology import (
    ClusterPartition,
    MetadataVersion,
    NodeVersions,
    NumberRange,
    Sizes,
    Slot,
    Software,
    Topology,
)

#: Consumers read on while they look for their coordinator (KafkaConsumer.poll@2.5.0).
_READS_ON = Release.parse("2.5.0")

#: Producers bump their epoch where they find a gap (KIP-360, TransactionManager@2.5.0).
_BUMPS_EPOCH = Release.parse("2.5.0")

_NEVER_US = 2**62

#: The list of the first slots of a partition, by their number.
FIRST_SLOTS = np.array([pack(range(count)) for count in range(SLOTS + 1)])

#: Marks of rows of all processes: so many events that write rows between two looks ahead.
_ROW_MARKS = 1 << 16


def new_topology(plan: ClusterPlan) -> Topology:
    """The topology, in numbers."""
    sizes = new_records(Sizes, 1)
    sizes[0].brokers = len(plan.brokers)
    sizes[0].topics = len(plan.scenario.topics)
    sizes[0].partitions = len(plan.partitions)
    sizes[0].width = plan.width
    sizes[0].log_directories = plan.scenario.cluster.log_directories
    hosts = plan.partitions.columns.hosts
    versions = [
        plan.with_metadata_version(software, version)
        for software in plan.software
        for version in plan.metadata_versions
    ]
    release_rules = _rules_for(plan, versions)
    of_brokers = [plan.software_of(plan.scenario.release_of(broker)) for broker in plan.brokers]
    rules = new_records(ReleaseRules, len(of_brokers))
    for index, software in enumerate(of_brokers):
        rules[index] = release_rules[software * len(plan.metadata_versions)]
    slots = new_records(Slot, len(hosts))
    set_columns(
        slots,
        broker=hosts,
        broker_id=np.array(plan.brokers)[hosts],
        partition=plan.partitions.of_slots,
    )
    if column(rules, "dead_replicas_in_set").any():
        column(slots, "set_order")[:] = _set_orders(plan)
    return new_tables(
        Topology,
        sizes=sizes,
        partitions=_partitions(plan),
        slots=slots,
        rules=rules,
        software=_software(plan),
        metadata_versions=_metadata_versions(plan),
        node_versions=_node_versions(plan, of_brokers),
        release_rules=release_rules,
        kraft_rules=_kraft_rules_for(plan, versions) if plan.is_kraft else 0,
        process_ranges=_range_rows(plan.process_ranges),
        tree_ranges=_range_rows(plan.tree_ranges),
    )


def _partitions(plan: ClusterPlan) -> Records[ClusterPartition]:
    planned = plan.partitions
    columns = planned.columns
    names = [topic.name for topic in plan.scenario.topics]
    hashes = np.array([java_hash(name) for name in names], np.int64)
    partitions = new_records(ClusterPartition, len(planned))
    set_columns(
        partitions,
        topic=columns.topic_numbers,
        first_slot=planned.first_slots,
        slot_count=columns.slot_counts,
        replicas=FIRST_SLOTS[columns.replica_counts],
        fetcher_hash=fetcher_hashes(hashes[columns.topic_numbers], columns.numbers),
        record_bytes=columns.record_bytes,
        batch_records=columns.batch_records,
        holds_offsets=np.array([name == OFFSETS_TOPIC for name in names])[columns.topic_numbers],
        existing_records=planned.most_records,
    )
    for retention, numbers in planned.retained():
        _set_retention(retention, numbers, partitions)
    return partitions


def _set_retention(
    retention: Retention, numbers: NDArray[np.int64], partitions: Records[ClusterPartition]
) -> None:
    record_bytes = column(partitions, "record_bytes")[numbers]
    segment_records = np.maximum(1, retention.segment_bytes // record_bytes)
    column(partitions, "segment_records")[numbers] = segment_records
    if retention.bytes is not None:
        column(partitions, "retention_records")[numbers] = -(-retention.bytes // record_bytes)
    if retention.seconds is not None:
        column(partitions, "retention_s")[numbers] = retention.seconds


def _range_rows(ranges: Sequence[range]) -> Records[NumberRange]:
    rows = new_records(NumberRange, len(ranges))
    column(rows, "first")[:] = [numbers.start for numbers in ranges]
    column(rows, "count")[:] = [len(numbers) for numbers in ranges]
    return rows


def _set_orders(plan: ClusterPlan) -> list[int]:
    columns, topics = plan.partitions.columns, plan.scenario.topics
    of_slots = plan.partitions.of_slots
    return [
        set_order(topics[topic].name, number, plan.brokers[broker])
        for topic, number, broker in zip(
            columns.topic_numbers[of_slots].tolist(),
            columns.numbers[of_slots].tolist(),
            columns.hosts.tolist(),
            strict=True,
        )
    ]


def _rules_for(plan: ClusterPlan, versions: Sequence[Versions]) -> Records[ReleaseRules]:
    """The release switches of brokers with these versions."""
    rules = new_records(ReleaseRules, len(versions))
    rules_for = {each: rules_of(*each) for each in {*versions}}
    for index, each in enumerate(versions):
        rules[index] = rules_for[each]
    for switch, value in plan.all_switches.items():
        if switch not in KRAFT_CELLS:
            column(rules, switch)[:] = value
    return rules


def _kraft_rules_for(plan: ClusterPlan, versions: Sequence[Versions]) -> Records[KRaftRules]:
    rules = new_records(KRaftRules, len(versions))
    for index, each in enumerate(versions):
        rules[index] = kraft_rules_of(each.release, each.protocol)
    for switch, value in plan.all_switches.items():
        if switch in KRAFT_CELLS:
            column(rules, switch)[:] = value
    return rules


def _software(plan: ClusterPlan) -> Records[Software]:
    """The releases of nodes, and the levels of features that each supports."""
    rows = new_records(Software, len(plan.software))
    if plan.is_kraft:
        for row, each in zip(rows, plan.software, strict=True):
            levels = Release.parse(each.release).metadata_versions
            row.oldest_metadata_version, row.newest_metadata_version = levels
            cells = kraft_cells_of(each.release)
            row.newest_elr_version = int(cells["eligible_leader_replicas_possible"].value)
            row.newest_kraft_version = int(cells["newest_kraft_version"].value)
    return rows


def _metadata_versions(plan: ClusterPlan) -> Records[MetadataVersion]:
    rows = new_records(MetadataVersion, len(plan.metadata_versions))
    for row, text in zip(rows, plan.metadata_versions, strict=True):
        if text is not None:
            version = ProtocolVersion.parse(text)
            row.feature_level = version.feature_level
            row.metadata_changes = version.metadata_changes
    return rows


def _node_versions(plan: ClusterPlan, of_brokers: Sequence[int]) -> Records[NodeVersions]:
    """The versions of brokers and controllers as the run begins."""
    rows = new_records(NodeVersions, len(of_brokers) + len(plan.controllers))
    of_controllers = [
        plan.software_of(plan.scenario.release_of_controllers()) for _ in plan.controllers
    ]
    column(rows, "software")[:] = [*of_brokers, *of_controllers]
    column(rows, "elr_version")[:] = plan.scenario.has_eligible_leader_replicas()
    return rows


def fetcher_hashes(
    topic_hashes: NDArray[np.int64], partitions: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The hashes that choose the fetcher threads of partitions, each of topic and number.

    They are Java's, made positive as by ``java_abs``.
    Source: AbstractFetcherManager.getFetcherId@0.10.2.0 and @2.8.0.
    """
    bits = (31 * topic_hashes + partitions) & 0xFFFFFFFF
    signed = (bits & 0x7FFFFFFF) - (bits & 0x80000000)
    return np.asarray(np.abs(signed) & 0x7FFFFFFF)


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
        impairments=1,
        networks_out=networks.outgoing,
        networks_in=networks.incoming,
        socket_buffers=networks.socket_buffers,
        network_threads=networks.threads,
        quantiles=_quantiles(plan),
        quantile_uses=int(NETWORK_TABLES) + len(COST_NAMES),
        rows=0,
        row_marks=_ROW_MARKS,
        faults=len(plan.faults),
        fault_roles=len(plan.faults) * count,
        pins=len(plan.scenario.pins),
        pin_states=len(plan.scenario.pins) * count,
        kind_counts=int(KINDS),
        metadata_changes=0,
        metadata_heads=len(plan.partitions) + len(plan.brokers),
        offset_commits=0,
        commit_keys=new_commit_keys(plan),
    )
    context = kernel.context[0]
    context.seed = plan.scenario.seed
    context.process_count = count
    # The first one is that of all links that nothing has hit.
    context.impairments = 1
    context.impairment_reserve = 2 * count
    context.has_files = plan.scenario.checkpoint_files
    context.reserve = reserve
    context.commit_reserve = reserve if plan.has_commits else 0
    context.item_reserve = item_reserve
    context.trace_level = TRACE_ALL if plan.scenario.trace == "all" else TRACE_TRANSITIONS
    context.sample_period_us = plan.scenario.sample_every_us
    context.samples_all = EAGER
    context.computes_idle = _computes_idle(plan)
    context.look_ahead_us = int(SPAN_US)
    enter_networks(plan, kernel)
    plan_faults(plan, kernel)
    plan_pins(plan, kernel)
    enlarge_kernel(kernel, reserve, item_reserve)
    enlarge_impairments(kernel)
    return kernel


#: The messages of fetches that may be computed.
_FETCHES = (FetchRequest.NAME, FetchResponse.NAME)


def _computes_idle(plan: ClusterPlan) -> bool:
    """Whether fetches that bring nothing may be computed: they leave no more behind than a time."""
    costs = plan.scenario.costs_in_force
    fixed = (costs.request.quantiles_us(), costs.request_partition.quantiles_us())
    draws = any(table[0] != table[-1] for table in fixed)
    # A pin counts fetches one by one.
    are_pinned = any(pin.message in _FETCHES for pin in plan.scenario.pins)
    return not (EAGER or draws or plan.is_measured or are_pinned or plan.scenario.trace == "all")


def enlarge_kernel(world: Kernel, events: int, items: int) -> None:
    """Enlarge the tables until so many events and so much partition data are free."""
    context = world.context[0]
    EVENT_SLOTS.enlarge(world, context.event_slots, events)
    if len(world.heap) < len(world.events):
        count = len(world.events)
        world.heap = lengthened(world.heap, int(context.heap_size), count)
        world.later_heap = lengthened(world.later_heap, int(context.later_heap_size), count)
    ITEM_SLOTS.enlarge(world, context.item_slots, items)


def enlarge_impairments(world: Kernel) -> None:
    """Double the table of impairments where one event could fill it."""
    context = world.context[0]
    used, reserve = int(context.impairments), int(context.impairment_reserve)
    if len(world.impairments) - used < reserve:
        world.impairments = grown(world.impairments, 2 * (used + reserve))


def enlarge_metadata(world: Kernel, changes: int) -> None:
    """Enlarge the log of changes for brokers until there is room for so many more."""
    count = int(world.context[0].metadata_changes)
    if len(world.metadata_changes) - count < changes:
        room = 2 * count + 2 * changes
        world.metadata_changes = lengthened(world.metadata_changes, count, room)


def enlarge_commits(world: Kernel, commits: int) -> None:
    """Enlarge the journal of commits until there is room for so many more, if there are commits."""
    count = int(world.context[0].offset_commits)
    if world.context[0].commit_reserve > 0 and len(world.offset_commits) - count < commits:
        room = 2 * count + 2 * commits
        world.offset_commits = lengthened(world.offset_commits, count, room)


def new_commit_keys(plan: ClusterPlan) -> Records[CommitKey]:
    """Commits of groups: an offset of each partition that a group commits, then the clients."""
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
        partitions += [partition] * len(plan.committed_by(client))
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
    planned = plan.processes
    processes = new_records(Process, len(planned))
    set_columns(
        processes,
        role=[each.role for each in planned],
        number=[each.number for each in planned],
        host=[each.host for each in planned],
        rack=[each.rack for each in planned],
        hosted=[number in hosted for number in range(len(planned))],
        alive=[True] * len(planned),
    )
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
    known = [plan.partitions_of(client) for client in plan.clients]
    targets = [plan.targets_of(client) for client in plan.clients]
    steps = new_steps(plan)
    rolls, rolled = new_rolls(plan)
    clients = new_tables(
        client_state.Clients,
        pool=1,
        clients=len(plan.clients),
        client_metadata=len(plan.clients),
        known_partitions=sum(map(len, known)),
        client_targets=sum(map(len, targets)),
        connections=len(plan.clients) * len(plan.brokers),
        batches=0,
        joined_sends=0,
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
    clients.pool[0].few_batches = client_state.FEW_SENDS
    first_known = first_target = first_key = 0
    for number, planned in enumerate(plan.clients):
        client = clients.clients[number]
        client.first_known, client.known_count = first_known, len(known[number])
        client.first_target, client.target_count = first_target, len(targets[number])
        client.target_every = targets[number].step
        _enter_partitions(plan, planned, clients, first_known, first_target)
        first_known += len(known[number])
        first_target += len(targets[number])
        client.first_key = first_key
        first_key += len(plan.committed_by(planned))
        _plan_client(plan, planned, client)
        if planned.group is not None:
            connections = clients.connections[number * len(plan.brokers) :][: len(plan.brokers)]
            _plan_connections(plan, planned.group, client, connections)
        if client.kind == client_state.PRODUCER:
            _plan_batches(plan, client, clients)
    enlarge_clients(clients)
    column(clients.clients, "member_key")[:] = first_key + np.arange(len(plan.clients))
    return clients


def _enter_partitions(
    plan: ClusterPlan,
    planned: PlannedClient,
    clients: client_state.Clients,
    first_known: int,
    first_target: int,
) -> None:
    """Enter the partitions in a client's metadata, and those that it writes to, or reads.

    The first offset of a consumer without a known one is the end of the existing records.
    """
    numbers, places = plan.partitions_of(planned), np.array(plan.targets_of(planned), np.int64)
    set_columns(clients.known_partitions[first_known:][: len(numbers)], partition=numbers)
    targets = clients.client_targets[first_target:][: len(places)]
    set_columns(targets, partition=numbers[places], known=first_known + places)
    # The default is for logs that begin empty: consumers do not read the records from before the
    # run.
    if isinstance(planned.group, ConsumerGroup) and (
        planned.group.settings.get("auto.offset.reset") != "earliest"
    ):
        begins = plan.partitions.most_records[numbers[places]]
        set_columns(targets, begins=begins, position=begins, processed=begins)


def enlarge_clients(world: client_state.Clients) -> None:
    """Enlarge the tables of batches and of joined sends where few are left."""
    pool = world.pool[0]
    client_state.JOINED_SLOTS.enlarge(world, pool.joined_slots, int(client_state.FEW_SENDS))
    if pool.free_batches > pool.few_batches:
        return
    count = len(world.batches)
    world.batches = grown(world.batches, 2 * count + 248 + int(pool.few_batches))
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
    client.records_per_send = group.records_per_batch
    client.next_target = number
    client.stride = group.clients


def _plan_batches(
    plan: ClusterPlan, client: client_state.Client, clients: client_state.Clients
) -> None:
    """Enter the number of records that a batch of each partition has room for."""
    targets = clients.client_targets[client.first_target :][: client.target_count]
    record_bytes = plan.partitions.columns.record_bytes[column(targets, "partition")]
    batch_records = np.maximum(1, client.batch_bytes // record_bytes)
    set_columns(targets, batch_records=batch_records)
    batches = -(-client.records_per_send // int(batch_records.min()))
    pool = clients.pool[0]
    pool.few_batches = max(pool.few_batches, client_state.FEW_SENDS * batches)


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
