"""Metrics of a broker, of its topics and of its replicas, by Kafka's MBeans.

Counters belong to a process: they begin at 0 with each start of the broker. ``BrokerTopicMetrics``
has series by topic only: those over all topics have the same name, and dashboards sum over them.

Every replica has the series of ``kafka.cluster:type=Partition``, with 0 where it does not lead.
"""

from tidegauge.compiled.records import flag, i64
from tidegauge.metrics.families.controllers import ControllerGauges
from tidegauge.metrics.families.family import Gauges, Scope, counter, families_of, gauge

_REPLICA_MANAGER = "kafka.server:type=ReplicaManager,name="
_FETCHER_MANAGER = "kafka.server:type=ReplicaFetcherManager,name="
_TOPIC_METRICS = "kafka.server:type=BrokerTopicMetrics,name="
_PURGATORY = "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation="
_METADATA = "kafka.server:type=broker-metadata-metrics"
_HANDLER_POOL = "kafka.server:type=KafkaRequestHandlerPool,name="
_PARTITION = "kafka.cluster:type=Partition,name="
_LOG = "kafka.log:type=Log,name="

_WAITING = (
    "Requests in purgatory: Produce requests wait for the high watermark (acks=all), Fetch "
    "requests for records."
)


class BrokerGauges(ControllerGauges, scope=Scope.BROKER):
    """A broker as a whole; in ZooKeeper mode with its controller context."""

    #: One of the states in ``snapshots/gauge_rules.py``.
    state: i64 = gauge(
        "kafka.server:type=KafkaServer,name=BrokerState",
        "1 starting, 2 recovering from an unclean shutdown, 3 running, "
        "6 in a controlled shutdown, 7 shutting down.",
    )
    starts: i64 = gauge(
        "tidegauge_broker_starts", "Number of starts of this broker since the run began."
    )
    #: The time at which this process began.
    started_us: i64

    leader_count: i64 = gauge(
        f"{_REPLICA_MANAGER}LeaderCount", "Partitions that this broker leads."
    )
    partition_count: i64 = gauge(
        f"{_REPLICA_MANAGER}PartitionCount", "Replicas that this broker hosts."
    )
    under_replicated: i64 = gauge(
        f"{_REPLICA_MANAGER}UnderReplicatedPartitions",
        "Partitions led here with fewer replicas in sync than assigned; no broker counts a "
        "partition without a leader.",
    )
    under_min_isr: i64 = gauge(
        f"{_REPLICA_MANAGER}UnderMinIsrPartitionCount",
        "Partitions led here with fewer replicas in sync than min.insync.replicas.",
    )
    at_min_isr: i64 = gauge(
        f"{_REPLICA_MANAGER}AtMinIsrPartitionCount",
        "Partitions led here with exactly as many replicas in sync as min.insync.replicas.",
    )
    offline_replicas: i64 = gauge(
        f"{_REPLICA_MANAGER}OfflineReplicaCount",
        "Replicas in failed log directories of this broker.",
    )
    reassigning: i64 = gauge(
        f"{_REPLICA_MANAGER}ReassigningPartitions", "Partitions led here that are being reassigned."
    )
    isr_shrinks: i64 = counter(
        f"{_REPLICA_MANAGER}IsrShrinksPerSec",
        "Times that this broker, as a leader, removed followers from an ISR; removals by the "
        "controller are not counted.",
    )
    isr_expands: i64 = counter(
        f"{_REPLICA_MANAGER}IsrExpandsPerSec",
        "Times that this broker, as a leader, added a follower to an ISR.",
    )
    failed_isr_updates: i64 = counter(
        f"{_REPLICA_MANAGER}FailedIsrUpdatesPerSec",
        "Changes of an ISR that were refused, as this leader's state was stale.",
    )

    max_lag: i64 = gauge(
        f"{_FETCHER_MANAGER}MaxLag,clientId=Replica",
        "The most records by which a replica here is behind its leader's high watermark "
        "(not its log end).",
    )
    failed_partitions: i64 = gauge(
        f"{_FETCHER_MANAGER}FailedPartitionsCount,clientId=Replica",
        "Replicas here that are no longer fetched because of an error.",
    )

    replication_bytes_in: i64 = counter(
        f"{_TOPIC_METRICS}ReplicationBytesInPerSec",
        "Bytes that this broker has fetched as a follower, of all topics.",
    )
    replication_bytes_out: i64 = counter(
        f"{_TOPIC_METRICS}ReplicationBytesOutPerSec",
        "Bytes that followers have fetched from this broker, of all topics.",
    )
    reassignment_bytes_in: i64 = counter(
        f"{_TOPIC_METRICS}ReassignmentBytesInPerSec",
        "The part of replicationbytesin that reassignments have caused.",
    )
    reassignment_bytes_out: i64 = counter(
        f"{_TOPIC_METRICS}ReassignmentBytesOutPerSec",
        "The part of replicationbytesout that reassignments have caused.",
    )
    appended_bytes: i64 = gauge(
        "kafka.server:type=KafkaServer,name=linux-disk-write-bytes",
        "Bytes that this broker has written to disk: those that it has appended to logs, from "
        "producers and as a follower.",
    )

    delayed_produces: i64 = gauge(f"{_PURGATORY}Produce", _WAITING)
    delayed_fetches: i64 = gauge(f"{_PURGATORY}Fetch", _WAITING)
    offline_log_directories: i64 = gauge(
        "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
        "Log directories of this broker that have failed.",
    )
    cordoned_log_directories: i64 = gauge(
        "kafka.log:type=LogManager,name=CordonedLogDirectoryCount",
        "Log directories of this broker that get no new replicas (from 4.3).",
        where=lambda of: of["cordoned_log_directories"] >= 0,
    )
    request_queue_size: i64 = gauge(
        "kafka.network:type=RequestChannel,name=RequestQueueSize",
        "Requests that wait for a request handler.",
    )
    #: The number of request handlers, the time since which they run, and their total wait for
    #: requests.
    handlers: i64
    handlers_since_us: i64
    handlers_idle_us: i64

    # isr-change-propagation
    isr_changes_pending: i64 = gauge(
        "tidegauge_isr_changes_pending",
        "Partitions with an ISR change of which this broker has not yet notified the controller.",
        scope=Scope.ZOOKEEPER_BROKER,
        source="Tidegauge; ReplicaManager.isrChangeSet in Kafka",
    )
    isr_change_notifications: i64 = counter(
        "tidegauge_isr_change_notifications_total",
        "Notifications that this broker has written to /isr_change_notification.",
        scope=Scope.ZOOKEEPER_BROKER,
    )
    #: -1: none, or there is no quorum.
    applied_offset: i64 = gauge(
        _METADATA,
        "Offset of the last record of the metadata log that this broker has applied.",
        attribute="last-applied-record-offset",
        scope=Scope.QUORUM_BROKER,
    )
    #: It stands under /brokers/ids, or a quorum has it unfenced: so metadata names it.
    registered: flag = gauge(
        "kafka_broker_info",
        "1 for each broker that is registered; a broker that has died remains registered until "
        "its session ends.",
        scope=Scope.REGISTERED_BROKER,
        source="kafka_exporter",
    )
    event_queue_size: i64 = gauge(
        "kafka.controller:type=ControllerEventManager,name=EventQueueSize",
        "Events that wait for this broker's controller.",
        scope=Scope.ZOOKEEPER_BROKER,
    )


class BrokerTopicGauges(Gauges, scope=Scope.BROKER_TOPIC):
    """A topic at a broker: at ``broker * topics + topic`` (Kafka: ``BrokerTopicMetrics``)."""

    #: The broker hosts a partition of it: with the last one Kafka takes the MBeans away.
    exists: flag
    messages_in: i64 = counter(
        f"{_TOPIC_METRICS}MessagesInPerSec,topic=*", "Records that producers have appended."
    )
    bytes_in: i64 = counter(
        f"{_TOPIC_METRICS}BytesInPerSec,topic=*", "Bytes that producers have appended."
    )
    bytes_out: i64 = counter(
        f"{_TOPIC_METRICS}BytesOutPerSec,topic=*",
        "Bytes sent to consumers; bytes sent to followers are in replicationbytesout.",
    )
    produce_requests: i64 = counter(
        f"{_TOPIC_METRICS}TotalProduceRequestsPerSec,topic=*",
        "Appends requested by producers, one for each partition in a request.",
    )
    failed_produce_requests: i64 = counter(
        f"{_TOPIC_METRICS}FailedProduceRequestsPerSec,topic=*",
        "Appends that failed; appends sent to a broker that does not lead are not counted.",
    )
    fetch_requests: i64 = counter(
        f"{_TOPIC_METRICS}TotalFetchRequestsPerSec,topic=*",
        "Reads requested by consumers and followers, one for each partition in a request.",
    )


class ReplicaGauges(Gauges, scope=Scope.REPLICA):
    """A replica at its broker: at its *row* (``Topology.slots``)."""

    #: The broker runs, and hosts it.
    exists: flag
    #: ... as leader; the following fields count only then, and are 0 on followers, as in Kafka.
    leads: flag
    under_replicated: flag = gauge(
        f"{_PARTITION}UnderReplicated,topic=*,partition=*",
        "1 on the leader if fewer replicas are in sync than assigned; 0 on followers.",
    )
    under_min_isr: flag = gauge(
        f"{_PARTITION}UnderMinIsr,topic=*,partition=*",
        "1 on the leader if fewer replicas are in sync than min.insync.replicas; 0 on followers.",
    )
    at_min_isr: flag = gauge(
        f"{_PARTITION}AtMinIsr,topic=*,partition=*",
        "1 on the leader if exactly min.insync.replicas are in sync; 0 on followers.",
    )
    in_sync_replicas: i64 = gauge(
        f"{_PARTITION}InSyncReplicasCount,topic=*,partition=*",
        "Replicas in sync, as the leader sees it; 0 on followers.",
    )
    replicas: i64 = gauge(
        f"{_PARTITION}ReplicasCount,topic=*,partition=*",
        "Replicas that are assigned, as the leader sees it; 0 on followers.",
    )
    leader_epoch: i64 = gauge(
        "tidegauge_partition_leader_epoch",
        "Epoch in which this broker leads; two brokers that both lead differ in it.",
        where="leads",
        adds_up=False,
    )

    log_start_offset: i64 = gauge(
        f"{_LOG}LogStartOffset,topic=*,partition=*", "First offset of this replica's log."
    )
    log_end_offset: i64 = gauge(
        f"{_LOG}LogEndOffset,topic=*,partition=*",
        "Offset of the next record of this replica's log.",
    )
    high_watermark: i64 = gauge(
        "tidegauge_partition_high_watermark", "High watermark of this replica."
    )
    size_bytes: i64 = gauge(f"{_LOG}Size,topic=*,partition=*", "Bytes of this replica's log.")

    #: The broker that it fetches from (an index), and with which of the fetchers; -1 none.
    source_broker: i64
    fetcher: i64
    lag: i64 = gauge(
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=*,topic=*,partition=*",
        "Records by which this replica is behind its leader's high watermark (not its log end); "
        "-1 before its first fetch.",
        scope=Scope.FETCHED_REPLICA,
        adds_up=False,
    )


BROKERS = (
    *BrokerGauges.families,
    *BrokerTopicGauges.families,
    *ReplicaGauges.families,
    *families_of(
        Scope.BROKER,
        gauge(
            "kafka.network:type=RequestChannel,name=ResponseQueueSize",
            "Responses that wait for a network thread: always 0, as those take no simulated time.",
            lambda of: of["request_queue_size"] * 0,
        ),
        gauge(
            "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
            "Idle share of the network threads' time (0 to 1): always 1, as they take no simulated "
            "time.",
            lambda of: of["handlers"].clip(0, 1),
            where=lambda of: of["handlers"] > 0,
        ),
        gauge(
            f"{_HANDLER_POOL}RequestHandlerAvgIdlePercent",
            "Idle share of the request handlers' time (0 to 1), as a mean since the start.",
            lambda of: of["handlers_idle_us"] / (of["handlers"] * of["handlers_for_us"]).clip(1),
            "MeanRate",
            where=lambda of: (of["handlers"] > 0) & (of["handlers_for_us"] > 0),
        ),
        counter(
            f"{_HANDLER_POOL}RequestHandlerAvgIdlePercent",
            "Nanoseconds for which a request handler has been idle, as a mean of all of them.",
            lambda of: of["handlers_idle_us"] * 1000 // of["handlers"].clip(1),
            where=lambda of: of["handlers"] > 0,
        ),
        # KafkaApis.updateRecordConversionStats@2.6.0 counts conversions, and topics with any.
        *(
            counter(
                f"{_TOPIC_METRICS}{direction}MessageConversionsPerSec",
                "Conversions of records between formats, of all topics: always 0, as clients and "
                "brokers have one format.",
                lambda of: of["starts"] * 0,
            )
            for direction in ("Produce", "Fetch")
        ),
    ),
    *families_of(
        Scope.BROKER_TOPIC,
        # ReplicaManager.readFromLocalLog@2.6.0 counts none of the errors that a read has here.
        counter(
            f"{_TOPIC_METRICS}FailedFetchRequestsPerSec,topic=*",
            "Reads that failed unexpectedly: always 0, as errors that Kafka expects do not count "
            "and simulated reads have no others.",
            lambda of: of["fetch_requests"] * 0,
        ),
    ),
    *families_of(
        Scope.QUORUM_BROKER,
        *(
            gauge(
                _METADATA,
                "Errors with the metadata log: always 0, as simulated records are well-formed.",
                lambda of: of["starts"] * 0,
                f"metadata-{step}-error-count",
            )
            for step in ("load", "apply")
        ),
        applied_ms=gauge(
            _METADATA,
            "Virtual time (milliseconds) at which that record was written, interpolated between "
            "snapshots.",
            attribute="last-applied-record-timestamp",
        ),
        applied_lag_ms=gauge(
            _METADATA,
            "Virtual milliseconds since that record was written.",
            attribute="last-applied-record-lag-ms",
        ),
        ignored_static_voters=gauge(
            _METADATA,
            "1 if this broker has controller.quorum.voters, and the voters are those of the "
            "metadata log, else 0; from 4.1 on.",
            attribute="ignored-static-voters",
            since="4.1.0",
        ),
    ),
    *families_of(
        Scope.REPLICA,
        gauge(
            "tidegauge_partition_high_watermark_lag",
            "Records of the leader's log that are not committed: log end minus high watermark.",
            lambda of: of["log_end_offset"] - of["high_watermark"],
            where="leads",
        ),
    ),
)
