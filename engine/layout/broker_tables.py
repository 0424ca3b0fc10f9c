"""The tables of all brokers, laid out for a scenario: settings are read, nothing is hosted.

Topics with a size have logs that existed before the run, on each broker's disks. Each has its
records in the leader epoch that the partition's state has, and is flushed: the high watermark and
the recovery point in the checkpoints are its end. A broker's first process loads them
(``actors/process/lifecycle.py``).
"""

import numpy as np

from tidegauge.actors.idle_fetches.arrivals import WORDS_OF_SPAN
from tidegauge.actors.state.broker_records import Broker, BrokerSettings, ZooKeeperBrokerSettings
from tidegauge.actors.state.brokers import EPOCH_MARGIN, MOST_ENTRIES_TOLD, Brokers
from tidegauge.actors.state.lifecycles import Lifecycle, LifecycleSettings
from tidegauge.actors.state.replica_records import KeptLog
from tidegauge.actors.state.request_stats import PARTS
from tidegauge.actors.storage.logs import MARKS
from tidegauge.compiled.records import Records, column, grown, new_records
from tidegauge.engine.layout.by_name import new_tables, set_by_name
from tidegauge.engine.layout.cluster_tables import chain_free, new_commit_keys
from tidegauge.engine.layout.network_tables import cache_tails, lay_out_machines
from tidegauge.engine.layout.quorum_tables import bootstrap_servers_of
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.replication.kraft_releases import kraft_rules_of
from tidegauge.replication.producer_state import RETAINED_BATCHES
from tidegauge.replication.records import EpochEntry, ReplicationQuota
from tidegauge.replication.release_rules import (
    HEARTBEAT_TIMEOUT_HALF_SESSION,
    HEARTBEAT_TIMEOUT_INTERVAL,
)
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.scenario.cluster_plan import UNCONDITIONAL_ISR, ClusterPlan, PlannedPartition
from tidegauge.scenario.model.cluster import Cluster, ZooKeeper
from tidegauge.scenario.model.process_faults import PowerLossFault
from tidegauge.scenario.model.settings import ALTER_LOG_DIRS_RATE
from tidegauge.simulation.messages.kinds import ERROR_TYPES, TYPES
from tidegauge.simulation.sampled_stats import BUCKETS
from tidegauge.simulation.topology import Topology


def set_existing_logs(plan: ClusterPlan, world: Brokers) -> None:
    """Lay out the logs of all brokers; directories get them in turn, as they get new logs."""
    counts = [0] * len(plan.brokers)
    row = 0
    for planned in plan.partitions:
        existing = max(planned.existing_records)
        if existing == 0:
            row += len(planned.slots)
            continue
        for broker, records in zip(planned.slots, planned.existing_records, strict=True):
            world.on_disk[row].existing_records = existing
            if records > 0:
                _set_log(plan, world, row, planned, records)
                _list(world.brokers[broker], world, row)
                # All directories can be used: the one with the fewest logs is the next in turn.
                directories = plan.scenario.cluster.log_directories
                world.on_disk[row].directory = counts[broker] % directories
                counts[broker] += 1
            row += 1


def _set_log(
    plan: ClusterPlan, world: Brokers, row: int, planned: PlannedPartition, records: int
) -> None:
    assert planned.state is not None
    replica = world.replicas[row]
    on_disk = world.on_disk[row]
    first_entry = row * int(world.pools[0].epoch_room)
    world.runs[first_entry].epoch = planned.state.leader_epoch
    replica.run_count = 1
    if world.rules[world.hosted[row].broker].records_carry_epoch:
        world.epochs[first_entry].epoch = planned.state.leader_epoch
        replica.epoch_count = 1
    replica.log_end_offset = records
    replica.high_watermark = records
    on_disk.exists = True
    on_disk.high_watermark = records
    on_disk.recovery_point_checkpoint = records
    on_disk.recovery_point = records
    on_disk.epochs_due = plan.scenario.checkpoint_files


def _list(state: Broker, world: Brokers, row: int) -> None:
    """Enter a log behind those that its broker has."""
    if state.last_log < 0:
        state.first_log = row
    else:
        world.hosted[int(state.last_log)].next_log = row
    state.last_log = row


#: Epochs that each replica has room for at first.
_EPOCH_ROOM = 16


def new_brokers(plan: ClusterPlan, topology: Topology, reserve: int) -> Brokers:
    """Brokers that have not started."""
    count = len(plan.brokers)
    rows = len(topology.slots)
    width = plan.width
    settings = [plan.scenario.settings_of(broker) for broker in plan.brokers]
    fetchers = max(int(each["num.replica.fetchers"]) for each in settings)
    threads = [int(each["num.io.threads"]) for each in settings]
    keys = len(new_commit_keys(plan))
    measured = count if plan.is_measured else 0
    types = measured * int(TYPES)
    clients_of_zookeeper = 0 if plan.is_kraft else count
    brokers = new_tables(
        Brokers,
        pools=1,
        brokers=count,
        broker_stats=count,
        topic_stats=count * len(plan.scenario.topics),
        request_stats=types,
        request_errors=measured * int(ERROR_TYPES * ERROR_COUNT),
        request_times=types * int(PARTS * BUCKETS),
        zookeeper_stats=clients_of_zookeeper,
        zookeeper_times=clients_of_zookeeper * int(BUCKETS),
        threads=sum(threads),
        disk_reads=count * plan.scenario.cluster.log_directories,
        disk_writes=count * plan.scenario.cluster.log_directories,
        alter_log_dirs=count,
        cached_logs=rows,
        replicas=rows,
        hosted=rows,
        fetch_states=rows,
        followers=rows * width,
        follower_fetches=rows * width,
        runs=rows * _EPOCH_ROOM,
        epochs=rows * _EPOCH_ROOM,
        fetchers=count * count * fetchers,
        fetch_sessions=count * count * fetchers,
        idle_fetches=count * (count - 1) * fetchers,
        kept_fetches=2 * fetchers,
        kept_links=2,
        idle_threads=count,
        idle_arrivals=count * int(WORDS_OF_SPAN),
        watches=0,
        producer_connections=count * len(plan.clients),
        delayed_fetches=rows,
        delayed_produces=rows,
        known_metadata=count,
        asked_metadata=1,
        broker_topics=count * len(plan.scenario.topics),
        committed_offsets=keys * width,
        group_members=len(plan.clients) * width if keys > 0 else 0,
        quotas=2 * count,
        quota_samples=sum(2 * each["replication.quota.window.num"] for each in settings),
        on_disk=rows,
        marks=rows * int(MARKS) if _loses_power(plan) else 0,
        held_producers=0,
        producer_states=0,
        producer_batches=0,
        appended_batch=1,
        kept_logs=_kept_logs(plan, topology),
        epochs_read=_EPOCH_ROOM,
        told_state=1,
        lifecycles=_lifecycles(plan, topology, settings),
    )
    brokers.take_over(topology)
    brokers.pools[0].epoch_room = _EPOCH_ROOM
    brokers.pools[0].fetchers_of_source = fetchers
    _number(brokers, count, fetchers)
    _set_quotas(brokers.quotas, settings)
    first_thread = 0
    for index, each in enumerate(settings):
        broker = brokers.brokers[index]
        set_by_name(broker, BrokerSettings, each)
        if not plan.is_kraft:
            set_by_name(broker, ZooKeeperBrokerSettings, each)
        broker.selects_by_rack = plan.scenario.selects_by_rack(plan.brokers[index])
        _set_machine(broker, plan.scenario.cluster, plan.scenario.zookeeper)
        broker.isr_written_unconditionally = bool(plan.switches.get(UNCONDITIONAL_ISR, False))
        broker.first_thread = first_thread
        interval_ms = plan.retention_check_interval_ms(plan.brokers[index])
        broker.log_retention_check_interval_ms = interval_ms
        limit = each.get(ALTER_LOG_DIRS_RATE, UNLIMITED)
        brokers.alter_log_dirs[index].bytes_per_second = limit if limit < UNLIMITED else 0
        first_thread += threads[index]
    set_existing_logs(plan, brokers)
    lay_out_machines(brokers, plan)
    if any(max(partition.existing_records) > 0 for partition in plan.partitions):
        cache_tails(brokers)
    enlarge_watches(brokers, reserve)
    brokers.pools[0].producer_reserve = producer_reserve_of(plan)
    enlarge_producers(brokers)
    return brokers


def _lifecycles(
    plan: ClusterPlan, world: Topology, settings: list[dict[str, int]]
) -> Records[Lifecycle]:
    """Brokers' tables of KRaft; empty with ZooKeeper."""
    if not plan.is_kraft:
        return new_records(Lifecycle, 0)
    of_controllers = plan.scenario.controller_settings()
    session_timeout_us = 1000 * of_controllers["broker.session.timeout.ms"]
    lifecycles = new_records(Lifecycle, len(plan.brokers))
    for index, own in enumerate(lifecycles):
        set_by_name(own, LifecycleSettings, of_controllers | settings[index])
        rules = kraft_rules_of(*plan.scenario.release_of(plan.brokers[index])[:2])
        own.bootstrap_servers = bootstrap_servers_of(plan, rules)
        own.returns_to_leader = rules.observer_returns_to_leader
        own.tells_cordoned_directories = rules.cordoned_directories_known
        own.cordoned_log_dirs = plan.scenario.cordoned_log_dirs(plan.brokers[index])
        own.producer_ids.given_out = 0
        own.request_timeout_us = own.heartbeat_interval_us
        rule = world.rules[index].heartbeat_timeout
        if rule != HEARTBEAT_TIMEOUT_INTERVAL:
            own.most_backoff_us = session_timeout_us
            own.request_timeout_us = 1000 * settings[index]["controller.socket.timeout.ms"]
        if rule == HEARTBEAT_TIMEOUT_HALF_SESSION:
            own.request_timeout_us = session_timeout_us // 2
    return lifecycles


def _number(world: Brokers, count: int, fetchers: int) -> None:
    for field in ("broker", "partition"):
        column(world.hosted, field)[:] = column(world.slots, field)
    places = range(count * count * fetchers)
    column(world.fetchers, "broker")[:] = [place // (count * fetchers) for place in places]
    column(world.fetchers, "source_broker")[:] = [place // fetchers % count for place in places]


def _set_quotas(quotas: Records[ReplicationQuota], settings: list[dict[str, int]]) -> None:
    """Lay out the windows of all quotas; a broker gets its throttled replicas later."""
    first_sample = 0
    for index in range(len(quotas)):
        own = settings[index // 2]
        quota = quotas[index]
        quota.bytes_per_second = UNLIMITED
        quota.window_count = own["replication.quota.window.num"]
        quota.window_ms = 1000 * own["replication.quota.window.size.seconds"]
        quota.first_sample = first_sample
        first_sample += own["replication.quota.window.num"]


def _set_machine(broker: Broker, cluster: Cluster, zookeeper: ZooKeeper) -> None:
    """Set the fields of the machine, and of its supervisor."""
    broker.zookeeper_servers = zookeeper.servers
    if cluster.restart_after_exit_us is not None:
        broker.restart_after_exit_us = cluster.restart_after_exit_us
    broker.write_back_us = cluster.write_back_us
    broker.log_directories = cluster.log_directories


def _loses_power(plan: ClusterPlan) -> bool:
    return any(isinstance(fault, PowerLossFault) for fault in plan.scenario.faults)


def _kept_logs(plan: ClusterPlan, world: Topology) -> Records[KeptLog]:
    """The logs that a scenario pins in losses of power."""
    planned = [
        (number, kept)
        for number, fault in enumerate(plan.scenario.faults)
        if isinstance(fault, PowerLossFault)
        for kept in fault.keeps
    ]
    rows = new_records(KeptLog, len(planned))
    for index, (number, kept) in enumerate(planned):
        partition = plan.partition_number(kept.topic, kept.partition)
        slot = plan.partitions[partition].slots.index(plan.broker_index(kept.broker))
        rows[index].fault = number
        rows[index].row = world.partitions[partition].first_slot + slot
        rows[index].offset = kept.offset
    return rows


def enlarge_brokers(world: Brokers, reserve: int) -> None:
    """Give replicas more room for epochs, and the purgatories for watches, where it is short."""
    room = int(world.pools[0].epoch_room)
    used = max(
        int(column(world.replicas, "run_count").max(initial=0)),
        int(column(world.replicas, "epoch_count").max(initial=0)),
    )
    if used + EPOCH_MARGIN > room:
        widen_epochs(world)
    enlarge_watches(world, reserve)
    enlarge_producers(world)


def widen_epochs(world: Brokers) -> None:
    """Give every replica room for twice as many epochs."""
    room = int(world.pools[0].epoch_room)
    world.runs = _with_room(world.runs, room)
    world.epochs = _with_room(world.epochs, room)
    world.epochs_read = new_records(EpochEntry, 2 * room)
    world.pools[0].epoch_room = 2 * room


def _with_room(entries: Records[EpochEntry], room: int) -> Records[EpochEntry]:
    """The same entries with twice the room for each replica."""
    wider = new_records(EpochEntry, 2 * len(entries))
    for field in ("epoch", "start_offset"):
        column(wider, field).reshape(-1, 2 * room)[:, :room] = column(entries, field).reshape(
            -1, room
        )
    return wider


def enlarge_watches(world: Brokers, reserve: int) -> None:
    """Double the pool of watches where few are left."""
    pools = world.pools[0]
    if pools.free_watches >= 2 * reserve:
        return
    count = len(world.watches)
    world.watches = grown(world.watches, 2 * count + 4 * reserve)
    chain_free(column(world.watches, "next"), count, int(pools.free_watch))
    pools.free_watch = count
    pools.free_watches += len(world.watches) - count


def producer_reserve_of(plan: ClusterPlan) -> int:
    """The most producers that replicas can learn of by one event: a fetch, or a produce request."""
    scenario = plan.scenario
    settings = [scenario.producer_settings(group) for group in scenario.workload.producers]
    if not any(each.get("enable.idempotence") for each in settings):
        return 0
    return int(MOST_ENTRIES_TOLD) + int(RETAINED_BATCHES) * len(plan.clients) + len(plan.partitions)


def enlarge_producers(world: Brokers) -> None:
    """Double the pool of producers that replicas know where few places are left."""
    pools = world.pools[0]
    if pools.free_producers >= pools.producer_reserve:
        return
    count = len(world.held_producers)
    places = 2 * count + 2 * int(pools.producer_reserve)
    world.held_producers = grown(world.held_producers, places)
    world.producer_states = grown(world.producer_states, places)
    world.producer_batches = grown(world.producer_batches, places * int(RETAINED_BATCHES))
    first_batches = np.arange(count, places) * int(RETAINED_BATCHES)
    column(world.producer_states, "first_batch")[count:] = first_batches
    chain_free(column(world.held_producers, "next"), count, int(pools.free_producer))
    pools.free_producer = count
    pools.free_producers += places - count
