"""The quantiles of histograms of times (``simulation/sampled_stats.py``).

What a broker, a replica, a partition shows to whoever scrapes it: one record of each.

A group fills in what it hosts, at the end of a window (``snapshot.py``); nothing in a run reads
these, so that looking cannot change what happens. Counters are those of a process, as JMX has them:
they begin at 0 with each start of the broker.
"""

from tidegauge.compiled.records import Record, Records, flag, i64
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.sampled_stats import Bucket, quantile_ms, total_weight

# In thousandths.
_P50 = code(500)
_P75 = code(750)
_P95 = code(950)
_P98 = code(980)
_P99 = code(990)
_P999 = code(999)


class HistogramGauges(Record):
    """The quantiles of one histogram: of a type at a broker those of its parts, one after another.

    The unit is whole milliseconds, as in Kafka.
    """

    p50_ms: i64
    p75_ms: i64
    p95_ms: i64
    p98_ms: i64
    p99_ms: i64
    p999_ms: i64


@inner_rule
def read_histogram(times: Records[Bucket], gauge: HistogramGauges) -> None:
    """Enter the quantiles of a histogram."""
    total = total_weight(times)
    gauge.p50_ms = quantile_ms(times, total, _P50)
    gauge.p75_ms = quantile_ms(times, total, _P75)
    gauge.p95_ms = quantile_ms(times, total, _P95)
    gauge.p98_ms = quantile_ms(times, total, _P98)
    gauge.p99_ms = quantile_ms(times, total, _P99)
    gauge.p999_ms = quantile_ms(times, total, _P999)


# BrokerGauges.state, which Kafka exports as BrokerState (BrokerStates@2.6.0).
NOT_RUNNING = code(0)
STARTING = code(1)
RECOVERING_FROM_UNCLEAN_SHUTDOWN = code(2)
RUNNING_AS_BROKER = code(3)
PENDING_CONTROLLED_SHUTDOWN = code(6)
BROKER_SHUTTING_DOWN = code(7)


class BrokerGauges(Record):
    """A broker as a whole, with its controller context."""

    #: Its process runs; and is not stopped by a pause, so that it answers.
    alive: flag
    answers: flag
    #: One of the states above.
    state: i64
    #: How often it was started.
    starts: i64
    #: When this process began.
    started_us: i64

    # MBeans of kafka.server, ReplicaManager
    leader_count: i64
    partition_count: i64
    under_replicated: i64
    under_min_isr: i64
    at_min_isr: i64
    offline_replicas: i64
    reassigning: i64
    isr_shrinks: i64
    isr_expands: i64
    failed_isr_updates: i64

    # MBeans of kafka.server, ReplicaFetcherManager
    max_lag: i64
    failed_partitions: i64

    # MBeans of kafka.server, BrokerTopicMetrics, all topics only
    replication_bytes_in: i64
    replication_bytes_out: i64
    reassignment_bytes_in: i64
    reassignment_bytes_out: i64

    #: Bytes of all records that were appended to its logs: as a leader and as a follower.
    appended_bytes: i64

    # MBeans of kafka.server, DelayedOperationPurgatory
    delayed_produces: i64
    delayed_fetches: i64

    # MBeans of kafka.log, LogManager
    offline_log_directories: i64

    # MBeans of kafka.network, RequestChannel
    request_queue_size: i64

    # MBeans of kafka.server, KafkaRequestHandlerPool: how many threads take requests, since when,
    # and how long they have waited for them, all together.
    handlers: i64
    handlers_since_us: i64
    handlers_idle_us: i64

    # isr-change-propagation: partitions in the set of changes, notifications written.
    isr_changes_pending: i64
    isr_change_notifications: i64
    #: The last record of a quorum's log that it has applied; -1: none, or there is no quorum.
    applied_offset: i64
    #: It stands under /brokers/ids, or a quorum has it unfenced: so metadata names it.
    registered: flag

    # MBeans of kafka.controller, KafkaController, ControllerStats, ControllerEventManager
    active_controller: flag
    controller_epoch: i64
    offline_partitions: i64
    preferred_replica_imbalance: i64
    global_topics: i64
    global_partitions: i64
    leader_elections: i64
    unclean_leader_elections: i64
    event_queue_size: i64


class ControllerGauges(Record):
    """A controller of a quorum, at its place; with ZooKeeper brokers have these (``BrokerGauges``).

    What the active one has written, and is committed, counts on each of them: all read the log.
    """

    alive: flag
    answers: flag

    # MBeans of kafka.controller, KafkaController
    active_controller: flag
    controller_epoch: i64
    active_brokers: i64
    fenced_brokers: i64
    offline_partitions: i64
    preferred_replica_imbalance: i64
    global_topics: i64
    global_partitions: i64
    last_applied_offset: i64
    last_committed_offset: i64
    events: i64
    timed_out_heartbeats: i64
    new_active_controllers: i64

    # MBeans of kafka.controller, ControllerStats: elections that it has committed itself, and those
    # that it has read of in the log.
    leader_elections: i64
    unclean_leader_elections: i64
    elr_elections: i64
    known_unclean_leader_elections: i64
    known_elr_elections: i64


class BrokerTopicGauges(Record):
    """A topic at a broker: at ``broker * topics + topic`` (Kafka: ``BrokerTopicMetrics``)."""

    #: The broker hosts a partition of it: with the last one Kafka takes the MBeans away.
    exists: flag
    messages_in: i64
    bytes_in: i64
    bytes_out: i64
    produce_requests: i64
    failed_produce_requests: i64
    fetch_requests: i64


class ReplicaGauges(Record):
    """A replica at its broker: at its *row* (``Topology.slots``)."""

    #: The broker runs, and hosts it.
    exists: flag
    #: ... as leader; what follows it counts only then, and is 0 on followers, as in Kafka.
    leads: flag
    under_replicated: flag
    under_min_isr: flag
    at_min_isr: flag
    in_sync_replicas: i64
    replicas: i64
    leader_epoch: i64

    log_start_offset: i64
    log_end_offset: i64
    high_watermark: i64
    size_bytes: i64

    #: The broker that it fetches from (an index), and with which of the fetchers; -1 none.
    source_broker: i64
    fetcher: i64
    #: Behind the leader's high watermark by so many records; -1 before the first answer.
    lag: i64


class PartitionGauges(Record):
    """A partition as the control plane holds it."""

    #: It has a state.
    exists: flag
    #: Index of the leader's broker; -1 none.
    leader: i64
    leader_epoch: i64
    in_sync_replicas: i64
    replicas: i64
    #: The leader is the head of the assignment.
    leader_is_preferred: flag
    #: The producers and the consumers that are stalled by it (``clients/stalls.py``).
    stalled_producers: i64
    stalled_consumers: i64


class ClusterGauges(Record):
    """What the control plane knows as a whole: one record."""

    #: This snapshot has the control plane in it.
    known: flag
    #: Brokers under /brokers/ids, or unfenced in a quorum.
    registered_brokers: i64

    # ZooKeeper
    #: Children of /isr_change_notification.
    isr_change_notifications: i64
    #: Transactions so far, open sessions.
    zxid: i64
    sessions: i64

    # Producers
    #: Records that were due and never left an application; applications that wait for memory.
    records_unsent: i64
    blocked_producers: i64


class CommittedGauges(Record):
    """What a coordinator has of one partition that a group reads, at the key's place."""

    #: 1 + the epoch in which the coordinator leads; 0: nobody here coordinates the group.
    coordinator_epoch: i64
    #: Something is committed.
    known: flag
    offset: i64


class MemberGauges(Record):
    """A consumer, as the group's coordinator knows it, at the place of its client."""

    coordinator_epoch: i64
    present: flag
