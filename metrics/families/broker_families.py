"""Metrics of a broker and of its topics, by Kafka's MBeans.

Counters belong to a process: they begin at 0 with each start of the broker. ``BrokerTopicMetrics``
has series by topic only: those over all topics have the same name, and dashboards sum over them.

Metrics of each replica that a broker hosts.

Every replica has the series of ``kafka.cluster:type=Partition``, with 0 where it does not lead.
"""

from tidegauge.metrics.families.family import Family, MBean, Scope

_REPLICA_MANAGER = "kafka.server:type=ReplicaManager,name="
_FETCHER_MANAGER = "kafka.server:type=ReplicaFetcherManager,name="
_TOPIC_METRICS = "kafka.server:type=BrokerTopicMetrics,name="
_METADATA = "kafka.server:type=broker-metadata-metrics"
_HANDLER_POOL = "kafka.server:type=KafkaRequestHandlerPool,name="

REPLICA_MANAGER = (
    Family(
        MBean(f"{_REPLICA_MANAGER}LeaderCount"),
        "gauge",
        Scope.BROKER,
        "leader_count",
        "Partitions that this broker leads.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}PartitionCount"),
        "gauge",
        Scope.BROKER,
        "partition_count",
        "Replicas that this broker hosts.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}UnderReplicatedPartitions"),
        "gauge",
        Scope.BROKER,
        "under_replicated",
        "Partitions led here with fewer replicas in sync than assigned; no broker counts a "
        "partition without a leader.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}UnderMinIsrPartitionCount"),
        "gauge",
        Scope.BROKER,
        "under_min_isr",
        "Partitions led here with fewer replicas in sync than min.insync.replicas.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}AtMinIsrPartitionCount"),
        "gauge",
        Scope.BROKER,
        "at_min_isr",
        "Partitions led here with exactly as many replicas in sync as min.insync.replicas.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}OfflineReplicaCount"),
        "gauge",
        Scope.BROKER,
        "offline_replicas",
        "Replicas in failed log directories of this broker.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}ReassigningPartitions"),
        "gauge",
        Scope.BROKER,
        "reassigning",
        "Partitions led here that are being reassigned.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}IsrShrinksPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "isr_shrinks",
        "Times that this broker, as a leader, removed followers from an ISR; removals by the "
        "controller are not counted.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}IsrExpandsPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "isr_expands",
        "Times that this broker, as a leader, added a follower to an ISR.",
    ),
    Family(
        MBean(f"{_REPLICA_MANAGER}FailedIsrUpdatesPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "failed_isr_updates",
        "Changes of an ISR that were refused, as this leader's state was stale.",
    ),
)

FETCHERS_AND_BROKER = (
    Family(
        MBean(f"{_FETCHER_MANAGER}MaxLag,clientId=Replica"),
        "gauge",
        Scope.BROKER,
        "max_lag",
        "The most records by which a replica here is behind its leader's high watermark "
        "(not its log end).",
    ),
    Family(
        MBean(f"{_FETCHER_MANAGER}FailedPartitionsCount,clientId=Replica"),
        "gauge",
        Scope.BROKER,
        "failed_partitions",
        "Replicas here that are no longer fetched because of an error.",
    ),
    Family(
        MBean("kafka.server:type=KafkaServer,name=BrokerState"),
        "gauge",
        Scope.BROKER,
        "state",
        "1 starting, 2 recovering from an unclean shutdown, 3 running, "
        "6 in a controlled shutdown, 7 shutting down.",
    ),
    Family(
        MBean("kafka.server:type=KafkaServer,name=linux-disk-write-bytes"),
        "gauge",
        Scope.BROKER,
        "appended_bytes",
        "Bytes that this broker has written to disk: those that it has appended to logs, from "
        "producers and as a follower.",
    ),
    Family(
        MBean("kafka.log:type=LogManager,name=OfflineLogDirectoryCount"),
        "gauge",
        Scope.BROKER,
        "offline_log_directories",
        "Log directories of this broker that have failed.",
    ),
    Family(
        MBean(
            "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Produce"
        ),
        "gauge",
        Scope.BROKER,
        "delayed_produces",
        "Requests in purgatory: Produce requests wait for the high watermark (acks=all), Fetch "
        "requests for records.",
    ),
    Family(
        MBean(
            "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize,delayedOperation=Fetch"
        ),
        "gauge",
        Scope.BROKER,
        "delayed_fetches",
        "Requests in purgatory: Produce requests wait for the high watermark (acks=all), Fetch "
        "requests for records.",
    ),
    Family(
        MBean("kafka.network:type=RequestChannel,name=RequestQueueSize"),
        "gauge",
        Scope.BROKER,
        "request_queue_size",
        "Requests that wait for a request handler.",
    ),
    Family(
        MBean("kafka.network:type=RequestChannel,name=ResponseQueueSize"),
        "gauge",
        Scope.BROKER,
        lambda of: of["request_queue_size"] * 0,
        "Responses that wait for a network thread: always 0, as those take no simulated time.",
    ),
    Family(
        MBean("kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent"),
        "gauge",
        Scope.BROKER,
        lambda of: of["handlers"].clip(0, 1),
        "Idle share of the network threads' time (0 to 1): always 1, as they take no simulated "
        "time.",
        where=lambda of: of["handlers"] > 0,
    ),
    Family(
        MBean(f"{_HANDLER_POOL}RequestHandlerAvgIdlePercent", "MeanRate"),
        "gauge",
        Scope.BROKER,
        lambda of: of["handlers_idle_us"] / (of["handlers"] * of["handlers_for_us"]).clip(1),
        "Idle share of the request handlers' time (0 to 1), as a mean since the start.",
        where=lambda of: (of["handlers"] > 0) & (of["handlers_for_us"] > 0),
    ),
    Family(
        MBean(f"{_HANDLER_POOL}RequestHandlerAvgIdlePercent", "Count"),
        "counter",
        Scope.BROKER,
        lambda of: of["handlers_idle_us"] * 1000 // of["handlers"].clip(1),
        "Nanoseconds for which a request handler has been idle, as a mean of all of them.",
        where=lambda of: of["handlers"] > 0,
    ),
)

TRAFFIC = (
    Family(
        MBean(f"{_TOPIC_METRICS}MessagesInPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        "messages_in",
        "Records that producers have appended.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}BytesInPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        "bytes_in",
        "Bytes that producers have appended.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}BytesOutPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        "bytes_out",
        "Bytes sent to consumers; bytes sent to followers are in replicationbytesout.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}TotalProduceRequestsPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        "produce_requests",
        "Appends requested by producers, one for each partition in a request.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}FailedProduceRequestsPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        "failed_produce_requests",
        "Appends that failed; appends sent to a broker that does not lead are not counted.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}TotalFetchRequestsPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        "fetch_requests",
        "Reads requested by consumers and followers, one for each partition in a request.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}FailedFetchRequestsPerSec,topic=*", "Count"),
        "counter",
        Scope.BROKER_TOPIC,
        # ReplicaManager.readFromLocalLog@2.6.0 counts none of the errors that a read has here.
        lambda of: of["fetch_requests"] * 0,
        "Reads that failed unexpectedly: always 0, as errors that Kafka expects do not count "
        "and simulated reads have no others.",
    ),
    *(
        Family(
            MBean(f"{_TOPIC_METRICS}{direction}MessageConversionsPerSec", "Count"),
            "counter",
            Scope.BROKER,
            # KafkaApis.updateRecordConversionStats@2.6.0 counts conversions, and topics with any.
            lambda of: of["starts"] * 0,
            "Conversions of records between formats, of all topics: always 0, as clients and "
            "brokers have one format.",
        )
        for direction in ("Produce", "Fetch")
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}ReplicationBytesInPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "replication_bytes_in",
        "Bytes that this broker has fetched as a follower, of all topics.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}ReplicationBytesOutPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "replication_bytes_out",
        "Bytes that followers have fetched from this broker, of all topics.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}ReassignmentBytesInPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "reassignment_bytes_in",
        "The part of replicationbytesin that reassignments have caused.",
    ),
    Family(
        MBean(f"{_TOPIC_METRICS}ReassignmentBytesOutPerSec", "Count"),
        "counter",
        Scope.BROKER,
        "reassignment_bytes_out",
        "The part of replicationbytesout that reassignments have caused.",
    ),
)

#: Of a broker as a reader of a quorum's log.
METADATA_LOG = (
    Family(
        MBean(_METADATA, "last-applied-record-offset"),
        "gauge",
        Scope.QUORUM_BROKER,
        "applied_offset",
        "Offset of the last record of the metadata log that this broker has applied.",
    ),
    Family(
        MBean(_METADATA, "last-applied-record-timestamp"),
        "gauge",
        Scope.QUORUM_BROKER,
        "applied_ms",
        "Virtual time (milliseconds) at which that record was written, interpolated between "
        "snapshots.",
    ),
    Family(
        MBean(_METADATA, "last-applied-record-lag-ms"),
        "gauge",
        Scope.QUORUM_BROKER,
        "applied_lag_ms",
        "Virtual milliseconds since that record was written.",
    ),
    *(
        Family(
            MBean(_METADATA, f"metadata-{step}-error-count"),
            "gauge",
            Scope.QUORUM_BROKER,
            lambda of: of["starts"] * 0,
            "Errors with the metadata log: always 0, as simulated records are well-formed.",
        )
        for step in ("load", "apply")
    ),
)

OUR_OWN = (
    Family(
        "tidegauge_isr_changes_pending",
        "gauge",
        Scope.ZOOKEEPER_BROKER,
        "isr_changes_pending",
        "Partitions with an ISR change of which this broker has not yet notified the controller.",
        "Tidegauge; ReplicaManager.isrChangeSet in Kafka",
    ),
    Family(
        "tidegauge_isr_change_notifications_total",
        "counter",
        Scope.ZOOKEEPER_BROKER,
        "isr_change_notifications",
        "Notifications that this broker has written to /isr_change_notification.",
        "Tidegauge",
    ),
    Family(
        "tidegauge_broker_starts",
        "gauge",
        Scope.BROKER,
        "starts",
        "Number of starts of this broker since the run began.",
        "Tidegauge",
    ),
)


_PARTITION = "kafka.cluster:type=Partition,name="
_LOG = "kafka.log:type=Log,name="

PARTITIONS = (
    Family(
        MBean(f"{_PARTITION}UnderReplicated,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "under_replicated",
        "1 on the leader if fewer replicas are in sync than assigned; 0 on followers.",
    ),
    Family(
        MBean(f"{_PARTITION}UnderMinIsr,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "under_min_isr",
        "1 on the leader if fewer replicas are in sync than min.insync.replicas; 0 on followers.",
    ),
    Family(
        MBean(f"{_PARTITION}AtMinIsr,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "at_min_isr",
        "1 on the leader if exactly min.insync.replicas are in sync; 0 on followers.",
    ),
    Family(
        MBean(f"{_PARTITION}InSyncReplicasCount,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "in_sync_replicas",
        "Replicas in sync, as the leader sees it; 0 on followers.",
    ),
    Family(
        MBean(f"{_PARTITION}ReplicasCount,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "replicas",
        "Replicas that are assigned, as the leader sees it; 0 on followers.",
    ),
)

LOGS = (
    Family(
        MBean(f"{_LOG}Size,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "size_bytes",
        "Bytes of this replica's log.",
    ),
    Family(
        MBean(f"{_LOG}LogStartOffset,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "log_start_offset",
        "First offset of this replica's log.",
    ),
    Family(
        MBean(f"{_LOG}LogEndOffset,topic=*,partition=*"),
        "gauge",
        Scope.REPLICA,
        "log_end_offset",
        "Offset of the next record of this replica's log.",
    ),
    Family(
        MBean(
            "kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=*,topic=*,partition=*"
        ),
        "gauge",
        Scope.FETCHED_REPLICA,
        "lag",
        "Records by which this replica is behind its leader's high watermark (not its log end); "
        "-1 before its first fetch.",
        adds_up=False,
    ),
)

REPLICAS_OUR_OWN = (
    Family(
        "tidegauge_partition_high_watermark",
        "gauge",
        Scope.REPLICA,
        "high_watermark",
        "High watermark of this replica.",
        "Tidegauge",
    ),
    Family(
        "tidegauge_partition_high_watermark_lag",
        "gauge",
        Scope.REPLICA,
        lambda of: of["log_end_offset"] - of["high_watermark"],
        "Records of the leader's log that are not committed: log end minus high watermark.",
        "Tidegauge",
        where="leads",
    ),
    Family(
        "tidegauge_partition_leader_epoch",
        "gauge",
        Scope.REPLICA,
        "leader_epoch",
        "Epoch in which this broker leads; two brokers that both lead differ in it.",
        "Tidegauge",
        where="leads",
        adds_up=False,
    ),
)
