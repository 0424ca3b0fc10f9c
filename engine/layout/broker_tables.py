"""The tables of all brokers, laid out for a scenario: settings are read, nothing is hosted.

Topics with a size have logs that existed before the run, on each broker's disks. Each has its
records in the leader epoch that the partition's state has, and is flushed: the high watermark and
the recovery point in the checkpoints are its end. A broker's first process loads them
(``actors/process/lifecycle.py``).
"""

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.idle_fetches.arrivals import WORDS_OF_SPAN
from tidegauge.actors.state.broker_records import Broker, BrokerSettings, ZooKeeperBrokerSettings
from tidegauge.actors.state.brokers import (
    MOST_ENTRIES_TOLD,
    PRODUCER_SLOTS,
    RUNS_PER_ANSWER,
    WATCH_SLOTS,
    Brokers,
)
from tidegauge.actors.state.lifecycles import Lifecycle, LifecycleSettings
from tidegauge.actors.state.replica_records import KeptLog
from tidegauge.actors.state.request_stats import PARTS
from tidegauge.actors.storage.logs import MARKS
from tidegauge.compiled.records import Records, column, grown, lengthened, new_records
from tidegauge.engine.layout.by_name import new_tables, set_by_name
from tidegauge.engine.layout.cluster_tables import new_commit_keys
from tidegauge.engine.layout.network_tables import cache_tails, lay_out_machines
from tidegauge.engine.layout.quorum_tables import configured_servers_of
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.replication.producer_state import RETAINED_BATCHES
from tidegauge.replication.records import EpochEntry, ReplicationQuota
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.cluster import Cluster, ZooKeeper
from tidegauge.scenario.model.process_faults import PowerLossFault
from tidegauge.scenario.model.settings import ALTER_LOG_DIRS_RATE
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.kinds import ERROR_TYPES, TYPES
from tidegauge.simulation.sampled_stats import BUCKETS
from tidegauge.simulation.topology import Topology


def set_existing_logs(plan: ClusterPlan, world: Brokers) -> None:
    """Lay out the logs of all brokers; directories get them in turn, as they get new logs."""
    planned = plan.partitions
    records, of_slots = planned.columns.slot_records, planned.of_slots
    column(world.on_disk, "existing_records")[:] = planned.most_records[of_slots]
    rows = np.flatnonzero(records)
    if len(rows) == 0:
        return
    _set_logs(plan, world, rows, records[rows], planned.leader_epochs[of_slots[rows]])
    # Each broker's logs in the order of their rows, one broker behind the other.
    brokers = planned.columns.hosts[rows]
    order = np.argsort(brokers, kind="stable")
    rows, brokers = rows[order], brokers[order]
    begins = np.flatnonzero(np.diff(brokers, prepend=NONE))
    ends = np.append(begins[1:], len(rows))
    column(world.hosted, "next_log")[rows[:-1]] = rows[1:]
    column(world.hosted, "next_log")[rows[ends - 1]] = NONE
    column(world.brokers, "first_log")[brokers[begins]] = rows[begins]
    column(world.brokers, "last_log")[brokers[begins]] = rows[ends - 1]
    # All directories can be used: the one with the fewest logs is the next in turn.
    turns = np.arange(len(rows)) - np.repeat(begins, ends - begins)
    column(world.on_disk, "directory")[rows] = turns % plan.scenario.cluster.log_directories


def _set_logs(
    plan: ClusterPlan,
    world: Brokers,
    rows: NDArray[np.int64],
    records: NDArray[np.int64],
    epochs: NDArray[np.int64],
) -> None:
    """Lay out the logs in these rows, with so many records of one leader epoch each."""
    first_entries = column(world.hosted, "first_entry")[rows]
    column(world.epoch_entries, "epoch")[first_entries] = epochs
    column(world.replicas, "run_count")[rows] = 1
    carries = column(world.rules, "records_carry_epoch")[column(world.hosted, "broker")[rows]] != 0
    column(world.epoch_entries, "epoch")[first_entries[carries] + _EPOCH_ROOM] = epochs[carries]
    column(world.replicas, "epoch_count")[rows[carries]] = 1
    for field in ("log_end_offset", "high_watermark"):
        column(world.replicas, field)[rows] = records
    column(world.on_disk, "exists")[rows] = True
    for field in ("high_watermark", "recovery_point_checkpoint", "recovery_point"):
        column(world.on_disk, field)[rows] = records
    column(world.on_disk, "epochs_due")[rows] = plan.scenario.checkpoint_files


#: Epochs that each replica has room for at first.
_EPOCH_ROOM = 2


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
        sampled_replicas=rows,
        sampled_brokers=count,
        fetch_states=rows,
        followers=rows * width,
        follower_fetches=rows * width,
        epoch_entries=0,
        fetchers=count * count * fetchers,
        fetch_sessions=count * count * fetchers,
        idle_fetches=count * (count - 1) * fetchers,
        idle_pairs=count * (count - 1) // 2,
        fetches_ahead=count * (count - 1) * fetchers,
        links_ahead=count * (count - 1),
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
        epochs_read=0,
        told_state=1,
        lifecycles=_lifecycles(plan, settings),
    )
    brokers.take_over(topology)
    brokers.pools[0].fetchers_of_source = fetchers
    _number(brokers, count, fetchers)
    _lay_out_epochs(brokers)
    _set_quotas(brokers.quotas, settings)
    first_thread = 0
    for index, each in enumerate(settings):
        broker = brokers.brokers[index]
        set_by_name(broker, BrokerSettings, each)
        if not plan.is_kraft:
            set_by_name(broker, ZooKeeperBrokerSettings, each)
        broker.selects_by_rack = plan.scenario.selects_by_rack(plan.brokers[index])
        _set_machine(broker, plan.scenario.cluster, plan.scenario.zookeeper)
        broker.first_thread = first_thread
        interval_ms = plan.retention_check_interval_ms(plan.brokers[index])
        broker.log_retention_check_interval_ms = interval_ms
        limit = each.get(ALTER_LOG_DIRS_RATE, UNLIMITED)
        brokers.alter_log_dirs[index].bytes_per_second = limit if limit < UNLIMITED else 0
        first_thread += threads[index]
    set_existing_logs(plan, brokers)
    lay_out_machines(brokers, plan)
    if plan.partitions.columns.slot_records.any():
        cache_tails(brokers)
    WATCH_SLOTS.enlarge(brokers, brokers.pools[0].watch_slots, reserve)
    brokers.pools[0].producer_reserve = producer_reserve_of(plan)
    enlarge_producers(brokers)
    return brokers


def _lifecycles(plan: ClusterPlan, settings: list[dict[str, int]]) -> Records[Lifecycle]:
    """Brokers' tables of KRaft; empty with ZooKeeper."""
    if not plan.is_kraft:
        return new_records(Lifecycle, 0)
    of_controllers = plan.scenario.controller_settings()
    lifecycles = new_records(Lifecycle, len(plan.brokers))
    for index, own in enumerate(lifecycles):
        set_by_name(own, LifecycleSettings, of_controllers | settings[index])
        own.configured_servers = configured_servers_of(plan)
        own.cordoned_log_dirs = plan.scenario.cordoned_log_dirs(plan.brokers[index])
        own.producer_ids.given_out = 0
    return lifecycles


def _number(world: Brokers, count: int, fetchers: int) -> None:
    for field in ("broker", "partition"):
        column(world.hosted, field)[:] = column(world.slots, field)
    places = np.arange(count * count * fetchers)
    column(world.fetchers, "broker")[:] = places // (count * fetchers)
    column(world.fetchers, "source_broker")[:] = places // fetchers % count


def _lay_out_epochs(world: Brokers) -> None:
    """Give each replica room for its first epochs."""
    rows = len(world.hosted)
    column(world.hosted, "first_entry")[:] = np.arange(rows) * 2 * _EPOCH_ROOM
    column(world.hosted, "epoch_room")[:] = _EPOCH_ROOM
    pools = world.pools[0]
    pools.epoch_room = _EPOCH_ROOM
    pools.epoch_entries = rows * 2 * _EPOCH_ROOM
    pools.most_replicas = int(np.bincount(column(world.hosted, "broker")).max(initial=0))
    enlarge_epochs(world)


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
    return plan.may_branch or any(
        isinstance(fault, PowerLossFault) for fault in plan.scenario.faults
    )


def _kept_logs(plan: ClusterPlan, world: Topology) -> Records[KeptLog]:
    """The logs that a scenario pins in losses of power."""
    planned = [
        (number, kept)
        for number, fault in zip(plan.fault_numbers, plan.scenario.faults, strict=True)
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
    """Enlarge the tables of epochs, and the purgatories' of watches, where little is left."""
    enlarge_epochs(world)
    WATCH_SLOTS.enlarge(world, world.pools[0].watch_slots, reserve)
    enlarge_producers(world)


def enlarge_epochs(world: Brokers, more: int = 0) -> None:
    """Double the table of epochs where little is left behind its used part and ``more`` entries.

    Memory that was never written to is not resident.
    """
    pools = world.pools[0]
    room = int(pools.epoch_room)
    if len(world.epochs_read) < room:
        world.epochs_read = new_records(EpochEntry, room)
    # One event can bring a response's epochs to each replica of a broker. A replica with little
    # room doubles it more than once: each time it moves.
    pools.epoch_reserve = 8 * int(pools.most_replicas) * (room + int(RUNS_PER_ANSWER))
    used, reserve = int(pools.epoch_entries) + more, int(pools.epoch_reserve)
    if len(world.epoch_entries) < used + 2 * reserve:
        world.epoch_entries = grown(world.epoch_entries, 2 * used + 4 * reserve)


def producer_reserve_of(plan: ClusterPlan) -> int:
    """The most producers that replicas can learn of by one event: a fetch, or a produce request."""
    scenario = plan.scenario
    settings = [scenario.producer_settings(group) for group in scenario.workload.producers]
    if not any(each.get("enable.idempotence") for each in settings):
        return 0
    return int(MOST_ENTRIES_TOLD) + int(RETAINED_BATCHES) * len(plan.clients) + len(plan.partitions)


def enlarge_producers(world: Brokers) -> None:
    """Enlarge the pool of producers that replicas know where few places are left."""
    slots = world.pools[0].producer_slots
    PRODUCER_SLOTS.enlarge(world, slots, int(world.pools[0].producer_reserve))
    used, count = int(slots.used), len(world.held_producers)
    if len(world.producer_states) < count:
        batches = int(RETAINED_BATCHES)
        world.producer_states = lengthened(world.producer_states, used, count)
        world.producer_batches = lengthened(world.producer_batches, used * batches, count * batches)
