"""Logs that existed before the run: those of topics with a size, on each broker's disks.

Each has its records in the leader epoch that the partition's state has, and is flushed: the high
watermark and the recovery point in the checkpoints are its end. A broker's first process loads them
(``actors/process/lifecycle.py``).

The tables of all brokers, laid out for a scenario: settings are read, nothing is hosted.
"""

import numpy as np

from tidegauge.actors.state.brokers import (
    EPOCH_MARGIN,
    MOST_ENTRIES_TOLD,
    AppendMark,
    Broker,
    Brokers,
    BrokerStats,
    BrokerTopic,
    BrokerTopicStats,
    CommittedOffset,
    Fetcher,
    FetchSession,
    FollowerFetch,
    GroupMember,
    HeldProducer,
    HostedReplica,
    IoThread,
    KeptLog,
    LogOnDisk,
    Pools,
    ProducerConnection,
    Watch,
    WatchList,
)
from tidegauge.actors.state.lifecycles import Lifecycle
from tidegauge.actors.state.machines import CachedLog
from tidegauge.actors.state.request_stats import (
    PARTS,
    RequestStats,
    ZooKeeperClientStats,
)
from tidegauge.actors.storage.logs import MARKS
from tidegauge.compiled.records import Records, column, grown, new_records
from tidegauge.engine.layout.cluster_tables import (
    chain_free,
    new_commit_keys,
)
from tidegauge.engine.layout.network_tables import cache_tails, lay_out_machines
from tidegauge.replication.errors import ERROR_COUNT
from tidegauge.replication.producer_state import RETAINED_BATCHES
from tidegauge.replication.records import (
    BatchMetadata,
    EpochEntry,
    LeaderAndIsr,
    Partition,
    PartitionFetchState,
    ProducerStateEntry,
    QuotaSample,
    RemoteReplica,
    ReplicationQuota,
)
from tidegauge.replication.release_rules import (
    HEARTBEAT_TIMEOUT_HALF_SESSION,
    HEARTBEAT_TIMEOUT_INTERVAL,
)
from tidegauge.replication.replication_quota import UNLIMITED
from tidegauge.scenario.cluster_plan import UNCONDITIONAL_ISR, ClusterPlan, PlannedPartition
from tidegauge.scenario.model.cluster import Cluster, ZooKeeper
from tidegauge.scenario.model.process_faults import PowerLossFault
from tidegauge.simulation.bandwidth import Bandwidth
from tidegauge.simulation.messages.kinds import ERROR_TYPES, TYPES
from tidegauge.simulation.metadata_log import MetadataPosition
from tidegauge.simulation.sampled_stats import BUCKETS, Bucket, ErrorCount
from tidegauge.simulation.topology import Topology


def set_existing_logs(plan: ClusterPlan, world: Brokers) -> None:
    """Lay out the logs of all brokers; directories get them in turn, as they get new logs."""
    counts = [0] * len(plan.brokers)
    row = 0
    for planned in plan.partitions:
        existing = max(planned.existing_records)
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
    clients_of_zookeeper = count if plan.quorum is None else 0
    brokers = Brokers(
        pools=new_records(Pools, 1),
        brokers=new_records(Broker, count),
        broker_stats=new_records(BrokerStats, count),
        topic_stats=new_records(BrokerTopicStats, count * len(plan.scenario.topics)),
        request_stats=new_records(RequestStats, types),
        request_errors=new_records(ErrorCount, measured * int(ERROR_TYPES * ERROR_COUNT)),
        request_times=new_records(Bucket, types * int(PARTS * BUCKETS)),
        zookeeper_stats=new_records(ZooKeeperClientStats, clients_of_zookeeper),
        zookeeper_times=new_records(Bucket, clients_of_zookeeper * int(BUCKETS)),
        threads=new_records(IoThread, sum(threads)),
        disk_reads=new_records(Bandwidth, count * plan.scenario.cluster.log_directories),
        disk_writes=new_records(Bandwidth, count * plan.scenario.cluster.log_directories),
        cached_logs=new_records(CachedLog, rows),
        replicas=new_records(Partition, rows),
        hosted=new_records(HostedReplica, rows),
        fetch_states=new_records(PartitionFetchState, rows),
        followers=new_records(RemoteReplica, rows * width),
        follower_fetches=new_records(FollowerFetch, rows * width),
        runs=new_records(EpochEntry, rows * _EPOCH_ROOM),
        epochs=new_records(EpochEntry, rows * _EPOCH_ROOM),
        fetchers=new_records(Fetcher, count * count * fetchers),
        fetch_sessions=new_records(FetchSession, count * count * fetchers),
        watches=new_records(Watch, 0),
        producer_connections=new_records(ProducerConnection, count * len(plan.clients)),
        delayed_fetches=new_records(WatchList, rows),
        delayed_produces=new_records(WatchList, rows),
        known_metadata=new_records(MetadataPosition, count),
        asked_metadata=new_records(MetadataPosition, 1),
        broker_topics=new_records(BrokerTopic, count * len(plan.scenario.topics)),
        committed_offsets=new_records(CommittedOffset, count * keys),
        group_members=new_records(GroupMember, count * len(plan.clients) if keys > 0 else 0),
        quotas=new_records(ReplicationQuota, 2 * count),
        quota_samples=new_records(
            QuotaSample, sum(2 * each["replication.quota.window.num"] for each in settings)
        ),
        on_disk=new_records(LogOnDisk, rows),
        marks=new_records(AppendMark, rows * int(MARKS) if _loses_power(plan) else 0),
        held_producers=new_records(HeldProducer, 0),
        producer_states=new_records(ProducerStateEntry, 0),
        producer_batches=new_records(BatchMetadata, 0),
        appended_batch=new_records(BatchMetadata, 1),
        kept_logs=_kept_logs(plan, topology),
        epochs_read=new_records(EpochEntry, _EPOCH_ROOM),
        told_state=new_records(LeaderAndIsr, 1),
        lifecycles=_lifecycles(plan, topology, settings),
    )
    brokers.take_over(topology)
    brokers.pools[0].epoch_room = _EPOCH_ROOM
    _number(brokers, count, fetchers)
    _set_quotas(brokers.quotas, settings)
    first_thread = 0
    for index, each in enumerate(settings):
        _set(brokers.brokers[index], each)
        brokers.brokers[index].selects_by_rack = plan.scenario.selects_by_rack(plan.brokers[index])
        if plan.quorum is None:
            _set_for_zookeeper(brokers.brokers[index], each)
        _set_machine(brokers.brokers[index], plan.scenario.cluster, plan.scenario.zookeeper)
        unconditional = bool(plan.switches.get(UNCONDITIONAL_ISR, False))
        brokers.brokers[index].isr_written_unconditionally = unconditional
        brokers.brokers[index].first_thread = first_thread
        interval_ms = plan.retention_check_interval_ms(plan.brokers[index])
        brokers.brokers[index].log_retention_check_interval_ms = interval_ms
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
    if plan.quorum is None:
        return new_records(Lifecycle, 0)
    lifecycles = new_records(Lifecycle, len(plan.brokers))
    for index, broker in enumerate(plan.brokers):
        own = lifecycles[index]
        planned = plan.registration_of(broker)
        own.heartbeat_interval_us = 1000 * planned.heartbeat_interval_ms
        own.registration_timeout_us = 1000 * planned.registration_timeout_ms
        own.log_dir_failure_timeout_us = 1000 * planned.log_dir_failure_timeout_ms
        own.fetch_timeout_us = 1000 * plan.quorum.fetch_timeout_ms
        own.fetch_request_timeout_us = 1000 * plan.quorum.request_timeout_ms
        own.fetch_backoff_us = 1000 * plan.quorum.retry_backoff_ms
        own.snapshot_max_bytes = planned.snapshots.max_bytes
        own.snapshot_interval_us = 1000 * planned.snapshots.interval_ms
        own.request_timeout_us = own.heartbeat_interval_us
        rule = world.rules[index].heartbeat_timeout
        if rule != HEARTBEAT_TIMEOUT_INTERVAL:
            own.most_backoff_us = 1000 * plan.quorum.session_timeout_ms
            own.request_timeout_us = 1000 * settings[index]["controller.socket.timeout.ms"]
        if rule == HEARTBEAT_TIMEOUT_HALF_SESSION:
            own.request_timeout_us = 1000 * plan.quorum.session_timeout_ms // 2
    return lifecycles


def _number(world: Brokers, count: int, fetchers: int) -> None:
    for field in ("broker", "partition"):
        column(world.hosted, field)[:] = column(world.slots, field)
    places = range(count * count * fetchers)
    column(world.fetchers, "broker")[:] = [place // (count * fetchers) for place in places]
    column(world.fetchers, "source_broker")[:] = [place // fetchers % count for place in places]


#: As much as a fetch may ask for.
_ANY_BYTES = 2**31 - 1


def _set(broker: Broker, settings: dict[str, int]) -> None:
    """Take over the settings of one broker."""
    broker.replica_lag_time_max_ms = settings["replica.lag.time.max.ms"]
    broker.replica_fetch_wait_max_ms = settings["replica.fetch.wait.max.ms"]
    broker.replica_fetch_min_bytes = settings["replica.fetch.min.bytes"]
    broker.replica_fetch_max_bytes = settings["replica.fetch.max.bytes"]
    broker.replica_fetch_response_max_bytes = settings["replica.fetch.response.max.bytes"]
    broker.fetch_max_bytes = settings.get("fetch.max.bytes", _ANY_BYTES)
    broker.replica_fetch_backoff_ms = settings["replica.fetch.backoff.ms"]
    broker.replica_socket_timeout_ms = settings["replica.socket.timeout.ms"]
    broker.num_replica_fetchers = settings["num.replica.fetchers"]
    broker.num_io_threads = settings["num.io.threads"]
    broker.log_flush_interval_messages = settings["log.flush.interval.messages"]
    broker.log_flush_offset_checkpoint_interval_ms = settings[
        "log.flush.offset.checkpoint.interval.ms"
    ]
    # A constant of Kafka up to 3.7: LogManager.InitialTaskDelayMs.
    broker.log_initial_task_delay_ms = settings.get("log.initial.task.delay.ms", 30_000)
    broker.replica_high_watermark_checkpoint_interval_ms = settings[
        "replica.high.watermark.checkpoint.interval.ms"
    ]
    broker.controlled_shutdown_enable = bool(settings["controlled.shutdown.enable"])
    broker.offsets_commit_timeout_ms = settings["offsets.commit.timeout.ms"]
    broker.controller_socket_timeout_ms = settings["controller.socket.timeout.ms"]


def _set_for_zookeeper(broker: Broker, settings: dict[str, int]) -> None:
    """Take over the settings that have no meaning with KRaft."""
    broker.zookeeper_session_timeout_ms = settings["zookeeper.session.timeout.ms"]
    broker.isr_change_check_interval_ms = settings["isr_change_notification_check_interval_ms"]
    broker.isr_change_quiet_ms = settings["isr_change_notification_quiet_ms"]
    broker.isr_change_max_delay_ms = settings["isr_change_notification_max_delay_ms"]
    broker.isr_change_batching = bool(settings["isr_change_notification_batching"])
    broker.controlled_shutdown_max_retries = settings["controlled.shutdown.max.retries"]
    broker.controlled_shutdown_retry_backoff_ms = settings["controlled.shutdown.retry.backoff.ms"]


def _set_quotas(quotas: Records[ReplicationQuota], settings: list[dict[str, int]]) -> None:
    """Lay out the windows of all quotas; what is throttled a broker is told later."""
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
    """Take over what is the machine's, and its supervisor's."""
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
