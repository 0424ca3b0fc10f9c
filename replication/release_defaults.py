"""Defaults of Kafka's configuration by release, under Kafka's own names.

``defaults_of("2.6")["replica.lag.time.max.ms"]`` is 30000, that of 2.4 is 10000. Here are the
settings that replication depends on. A setting that a release does not know is not in its
dictionary. Settings of producers stand at the end.

The table is read as that of the rules is, see
:class:`~tidegauge.replication.release_versions.Cell`; the protocol makes no difference. A setting
that only one mode reads has cells of that mode.
"""

from collections.abc import Mapping
from functools import cache

from tidegauge.replication.release_versions import (
    KRAFT_MODE,
    ZOOKEEPER_MODE,
    Cell,
    Mode,
    Table,
    cells_that_apply,
)

# fmt: off
DEFAULTS: Table = {
    # In-sync replicas, and their required number.
    "replica.lag.time.max.ms": (
        Cell("0.10.2.0", 10_000, "KafkaConfig.ReplicaLagTimeMaxMs@0.10.2.0"),
        Cell("2.5.0", 30_000, "KIP-537, KafkaConfig.ReplicaLagTimeMaxMs@2.5.0"),
    ),
    "min.insync.replicas": (
        Cell("0.10.2.0", 1, "KafkaConfig.MinInSyncReplicas@0.10.2.0"),
    ),
    "default.replication.factor": (
        Cell("0.10.2.0", 1, "KafkaConfig.DefaultReplicationFactor@0.10.2.0"),
    ),
    # Followers' fetches.
    "num.replica.fetchers": (
        Cell("0.10.2.0", 1, "KafkaConfig.NumReplicaFetchers@0.10.2.0"),
    ),
    "replica.fetch.wait.max.ms": (
        Cell("0.10.2.0", 500, "KafkaConfig.ReplicaFetchWaitMaxMs@0.10.2.0"),
    ),
    "replica.fetch.min.bytes": (
        Cell("0.10.2.0", 1, "KafkaConfig.ReplicaFetchMinBytes@0.10.2.0"),
    ),
    "replica.fetch.max.bytes": (
        Cell("0.10.2.0", 1024 * 1024, "KafkaConfig.ReplicaFetchMaxBytes@0.10.2.0"),
    ),
    "replica.fetch.response.max.bytes": (
        Cell("0.10.2.0", 10 * 1024 * 1024, "KafkaConfig.ReplicaFetchResponseMaxBytes@0.10.2.0"),
    ),
    "replica.socket.receive.buffer.bytes": (
        Cell("0.10.2.0", 64 * 1024, "KafkaConfig.ReplicaSocketReceiveBufferBytes@0.10.2.0"),
    ),
    "replica.fetch.backoff.ms": (
        Cell("0.10.2.0", 1_000, "KafkaConfig.ReplicaFetchBackoffMs@0.10.2.0"),
    ),
    "replica.socket.timeout.ms": (
        Cell("0.10.2.0", 30_000, "KafkaConfig.ReplicaSocketTimeoutMs@0.10.2.0"),
    ),
    # Throttled replication. The rates are settings that only the cluster itself keeps.
    "leader.replication.throttled.rate": (
        Cell("0.10.2.0", 2**63 - 1, "KIP-73, DynamicConfig.Broker@0.10.2.0"),
    ),
    "follower.replication.throttled.rate": (
        Cell("0.10.2.0", 2**63 - 1, "KIP-73, DynamicConfig.Broker@0.10.2.0"),
    ),
    "replica.alter.log.dirs.io.max.bytes.per.second": (
        Cell("1.1.0", 2**63 - 1,
             "KIP-113, DynamicConfig.Broker@1.1.0"),
    ),
    "replication.quota.window.num": (
        Cell("0.10.2.0", 11, "KIP-73, KafkaConfig.NumReplicationQuotaSamples@0.10.2.0"),
    ),
    "replication.quota.window.size.seconds": (
        Cell("0.10.2.0", 1, "KIP-73, KafkaConfig.ReplicationQuotaWindowSizeSeconds@0.10.2.0"),
    ),
    # A broker's threads and requests.
    "num.io.threads": (
        Cell("0.10.2.0", 8, "KafkaConfig.NumIoThreads@0.10.2.0"),
    ),
    "num.network.threads": (
        Cell("0.10.2.0", 3, "KafkaConfig.NumNetworkThreads@0.10.2.0"),
    ),
    "socket.send.buffer.bytes": (
        Cell("0.10.2.0", 100 * 1024, "KafkaConfig.SocketSendBufferBytes@0.10.2.0"),
    ),
    "socket.receive.buffer.bytes": (
        Cell("0.10.2.0", 100 * 1024, "KafkaConfig.SocketReceiveBufferBytes@0.10.2.0"),
    ),
    "queued.max.requests": (
        Cell("0.10.2.0", 500, "KafkaConfig.QueuedMaxRequests@0.10.2.0"),
    ),
    "fetch.max.bytes": (
        Cell("2.5.0", 55 * 1024 * 1024, "KAFKA-9101, KafkaConfig.FetchMaxBytes@2.5.0"),
    ),
    "max.incremental.fetch.session.cache.slots": (
        Cell("1.1.0", 1_000, "KIP-227, KafkaConfig.MaxIncrementalFetchSessionCacheSlots@1.1.0"),
    ),
    "fetch.purgatory.purge.interval.requests": (
        Cell("0.10.2.0", 1_000, "KafkaConfig.FetchPurgatoryPurgeIntervalRequests@0.10.2.0"),
    ),
    "producer.purgatory.purge.interval.requests": (
        Cell("0.10.2.0", 1_000, "KafkaConfig.ProducerPurgatoryPurgeIntervalRequests@0.10.2.0"),
    ),
    # Records on disk, and since when.
    "replica.high.watermark.checkpoint.interval.ms": (
        Cell("0.10.2.0", 5_000, "KafkaConfig.ReplicaHighWatermarkCheckpointIntervalMs@0.10.2.0"),
    ),
    "log.flush.offset.checkpoint.interval.ms": (
        Cell("0.10.2.0", 60_000, "KafkaConfig.LogFlushOffsetCheckpointIntervalMs@0.10.2.0"),
    ),
    "log.flush.start.offset.checkpoint.interval.ms": (
        Cell("0.11.0.0", 60_000,
             "KIP-107, KafkaConfig.LogFlushStartOffsetCheckpointIntervalMs@0.11.0.0"),
    ),
    "log.flush.interval.messages": (
        Cell("0.10.2.0", 2**63 - 1, "KafkaConfig.LogFlushIntervalMessages@0.10.2.0"),
    ),
    # A setting from 3.8 on, before it a constant of the same value.
    "log.initial.task.delay.ms": (
        Cell("0.10.2.0", 30_000, "LogManager.InitialTaskDelayMs@0.10.2.0"),
    ),
    # Commits of groups of consumers.
    "offsets.topic.num.partitions": (
        Cell("0.10.2.0", 50, "OffsetConfig.DefaultOffsetsTopicNumPartitions@0.10.2.0"),
    ),
    "offsets.topic.replication.factor": (
        Cell("0.10.2.0", 3, "OffsetConfig.DefaultOffsetsTopicReplicationFactor@0.10.2.0"),
    ),
    "offsets.commit.timeout.ms": (
        Cell("0.10.2.0", 5_000, "OffsetConfig.DefaultOffsetCommitTimeoutMs@0.10.2.0"),
    ),
    # The controller, and ZooKeeper. With KRaft, settings of the controllers' own begin with
    # broker.session.timeout.ms.
    "zookeeper.session.timeout.ms": (
        Cell("0.10.2.0", 6_000, "KafkaConfig.ZkSessionTimeoutMs@0.10.2.0", mode=ZOOKEEPER_MODE),
        Cell("2.5.0", 18_000, "KIP-537, KafkaConfig.ZkSessionTimeoutMs@2.5.0", mode=ZOOKEEPER_MODE),
    ),
    "zookeeper.max.in.flight.requests": (
        Cell("1.1.0", 10, "KafkaConfig.ZkMaxInFlightRequests@1.1.0", mode=ZOOKEEPER_MODE),
    ),
    "unclean.leader.election.enable": (
        Cell("0.10.2.0", True, "KafkaConfig.UncleanLeaderElectionEnable@0.10.2.0"),
        Cell("0.11.0.0", False, "KIP-106, KafkaConfig.UncleanLeaderElectionEnable@0.11.0.0"),
    ),
    "auto.leader.rebalance.enable": (
        Cell("0.10.2.0", True, "KafkaConfig.AutoLeaderRebalanceEnable@0.10.2.0"),
    ),
    "leader.imbalance.check.interval.seconds": (
        Cell("0.10.2.0", 300, "KafkaConfig.LeaderImbalanceCheckIntervalSeconds@0.10.2.0"),
    ),
    "leader.imbalance.per.broker.percentage": (
        Cell("0.10.2.0", 10,
             "KafkaConfig.LeaderImbalancePerBrokerPercentage@0.10.2.0", mode=ZOOKEEPER_MODE),
    ),
    "controlled.shutdown.enable": (
        Cell("0.10.2.0", True, "KafkaConfig.ControlledShutdownEnable@0.10.2.0"),
    ),
    "controlled.shutdown.max.retries": (
        Cell("0.10.2.0", 3,
             "KafkaConfig.ControlledShutdownMaxRetries@0.10.2.0", mode=ZOOKEEPER_MODE),
    ),
    "controlled.shutdown.retry.backoff.ms": (
        Cell("0.10.2.0", 5_000,
             "KafkaConfig.ControlledShutdownRetryBackoffMs@0.10.2.0", mode=ZOOKEEPER_MODE),
    ),
    "controller.socket.timeout.ms": (
        Cell("0.10.2.0", 30_000, "KafkaConfig.ControllerSocketTimeoutMs@0.10.2.0"),
    ),
    # With KRaft: the brokers' registration.
    "broker.heartbeat.interval.ms": (
        Cell("3.3.0", 2_000, "KIP-631, KafkaConfig.BrokerHeartbeatIntervalMs@3.3.0",
             mode=KRAFT_MODE),
    ),
    "initial.broker.registration.timeout.ms": (
        Cell("3.3.0", 60_000, "KIP-631, KafkaConfig.InitialBrokerRegistrationTimeoutMs@3.3.0",
             mode=KRAFT_MODE),
    ),
    "log.dir.failure.timeout.ms": (
        Cell("3.8.0", 30_000,
             "KAFKA-15649, ServerLogConfigs.LOG_DIR_FAILURE_TIMEOUT_MS_CONFIG@3.8.0",
             mode=KRAFT_MODE),
    ),
    # With KRaft: the controllers.
    "broker.session.timeout.ms": (
        Cell("3.3.0", 9_000, "KIP-631, KafkaConfig.BrokerSessionTimeoutMs@3.3.0",
             mode=KRAFT_MODE),
    ),
    "metadata.max.idle.interval.ms": (
        Cell("3.3.0", 500, "KIP-835, KafkaConfig.MetadataMaxIdleIntervalMs@3.3.0",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.append.linger.ms": (
        Cell("3.3.0", 25, "KIP-595, RaftConfig.QUORUM_LINGER_MS_CONFIG@3.3.0", mode=KRAFT_MODE),
    ),
    "controller.quorum.election.timeout.ms": (
        Cell("3.3.0", 1_000, "KIP-595, RaftConfig.QUORUM_ELECTION_TIMEOUT_MS_CONFIG@3.3.0",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.election.backoff.max.ms": (
        Cell("3.3.0", 1_000, "KIP-595, RaftConfig.QUORUM_ELECTION_BACKOFF_MAX_MS_CONFIG@3.3.0",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.fetch.timeout.ms": (
        Cell("3.3.0", 2_000, "KIP-595, RaftConfig.QUORUM_FETCH_TIMEOUT_MS_CONFIG@3.3.0",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.request.timeout.ms": (
        Cell("3.3.0", 2_000, "KIP-595, RaftConfig.QUORUM_REQUEST_TIMEOUT_MS_CONFIG@3.3.0",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.retry.backoff.ms": (
        Cell("3.3.0", 20, "KIP-595, RaftConfig.QUORUM_RETRY_BACKOFF_MS_CONFIG@3.3.0",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.auto.join.enable": (
        Cell("4.2.0", False,
             "KIP-1186, QuorumConfig.DEFAULT_QUORUM_AUTO_JOIN_ENABLE@4.2.0", mode=KRAFT_MODE),
    ),
    # Constants of 8 MiB up to 4.2.
    "controller.quorum.fetch.max.bytes": (
        Cell("4.3.0", 1024 * 1024, "KIP-1219, QuorumConfig.QUORUM_FETCH_MAX_BYTES_CONFIG@4.3.1",
             mode=KRAFT_MODE),
    ),
    "controller.quorum.fetch.snapshot.max.bytes": (
        Cell("4.3.0", 1024 * 1024,
             "KIP-1219, QuorumConfig.QUORUM_FETCH_SNAPSHOT_MAX_BYTES_CONFIG@4.3.1",
             mode=KRAFT_MODE),
    ),
    # With KRaft: snapshots of the metadata log, of every node.
    "metadata.log.max.record.bytes.between.snapshots": (
        Cell("3.3.0", 20 * 1024 * 1024,
             "KIP-630, KafkaConfig.MetadataSnapshotMaxNewRecordBytes@3.3.0", mode=KRAFT_MODE),
    ),
    "metadata.log.max.snapshot.interval.ms": (
        Cell("3.4.0", 3_600_000, "KIP-876, KafkaConfig.MetadataSnapshotMaxIntervalMs@3.4.0",
             mode=KRAFT_MODE),
    ),
    "metadata.max.retention.bytes": (
        Cell("3.3.0", 100 * 1024 * 1024, "KIP-630, KafkaConfig.MetadataMaxRetentionBytes@3.3.0",
             mode=KRAFT_MODE),
    ),
    "metadata.max.retention.ms": (
        Cell("3.3.0", 7 * 24 * 3_600_000, "KIP-630, KafkaConfig.MetadataMaxRetentionMillis@3.3.0",
             mode=KRAFT_MODE),
    ),
    "unclean.leader.election.interval.ms": (
        Cell("3.9.0", 300_000,
             "KAFKA-12670, ReplicationConfigs.UNCLEAN_LEADER_ELECTION_INTERVAL_MS_CONFIG@3.9.0",
             mode=KRAFT_MODE),
    ),
    # The times at which a leader sends its changed ISRs to the controller. Kafka has these as
    # constants and no names for them in its configuration: the names with underscores are
    # Tidegauge's.
    "isr_change_notification_check_interval_ms": (
        Cell("0.10.2.0", 2_500, "ReplicaManager.startup@0.10.2.0", mode=ZOOKEEPER_MODE),
    ),
    "isr_change_notification_quiet_ms": (
        Cell("0.10.2.0", 5_000,
             "ReplicaManager.IsrChangePropagationBlackOut@0.10.2.0", mode=ZOOKEEPER_MODE),
    ),
    "isr_change_notification_max_delay_ms": (
        Cell("0.10.2.0", 60_000,
             "ReplicaManager.IsrChangePropagationInterval@0.10.2.0", mode=ZOOKEEPER_MODE),
    ),
    # Producers; request.timeout.ms is a setting of brokers and of consumers too.
    "acks": (
        Cell("0.10.2.0", "1", "ProducerConfig.ACKS_CONFIG@0.10.2.0"),
        Cell("3.0.0", "all", "KIP-679, ProducerConfig.ACKS_CONFIG@3.0.0"),
    ),
    "request.timeout.ms": (
        Cell("0.10.2.0", 30_000,
             "KafkaConfig.RequestTimeoutMs@0.10.2.0, "
             "ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG@0.10.2.0"),
    ),
    "retries": (
        Cell("0.10.2.0", 0, "ProducerConfig.RETRIES_CONFIG@0.10.2.0"),
        Cell("2.1.0", 2**31 - 1, "KIP-91, ProducerConfig.RETRIES_CONFIG@2.1.0"),
    ),
    "delivery.timeout.ms": (
        Cell("2.1.0", 120_000, "KIP-91, ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG@2.1.0"),
    ),
    "retry.backoff.ms": (
        Cell("0.10.2.0", 100, "ProducerConfig.RETRY_BACKOFF_MS_CONFIG@0.10.2.0"),
    ),
    "metadata.max.age.ms": (
        Cell("0.10.2.0", 300_000, "ProducerConfig.METADATA_MAX_AGE_CONFIG@0.10.2.0"),
    ),
    "max.in.flight.requests.per.connection": (
        Cell("0.10.2.0", 5, "ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION@0.10.2.0"),
    ),
    "send.buffer.bytes": (
        Cell("0.10.2.0", 128 * 1024, "ProducerConfig.SEND_BUFFER_CONFIG@0.10.2.0"),
    ),
    "linger.ms": (
        Cell("0.10.2.0", 0, "ProducerConfig.LINGER_MS_CONFIG@0.10.2.0"),
        Cell("4.0.0", 5, "KIP-1030, ProducerConfig.LINGER_MS_CONFIG@4.0.0"),
    ),
    "batch.size": (
        Cell("0.10.2.0", 16 * 1024, "ProducerConfig.BATCH_SIZE_CONFIG@0.10.2.0"),
    ),
    "max.request.size": (
        Cell("0.10.2.0", 1024 * 1024, "ProducerConfig.MAX_REQUEST_SIZE_CONFIG@0.10.2.0"),
    ),
    "buffer.memory": (
        Cell("0.10.2.0", 32 * 1024 * 1024, "ProducerConfig.BUFFER_MEMORY_CONFIG@0.10.2.0"),
    ),
    "max.block.ms": (
        Cell("0.10.2.0", 60_000, "ProducerConfig.MAX_BLOCK_MS_CONFIG@0.10.2.0"),
    ),
    # As it comes into force: 3.0.0 and 3.1.0 do not apply their default (KAFKA-13598).
    "enable.idempotence": (
        Cell("0.11.0.0", False, "KIP-98, ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG@0.11.0.0"),
        Cell("3.0.1", True, "KIP-679, KAFKA-13598, ProducerConfig.idempotenceEnabled@3.0.1"),
        Cell("3.1.0", False, "KAFKA-13598, ProducerConfig.idempotenceEnabled@3.1.0"),
        Cell("3.1.1", True, "KIP-679, KAFKA-13598, ProducerConfig.idempotenceEnabled@3.1.1"),
    ),
}
# fmt: on


def defaults_of(release: str, mode: Mode | None = None) -> dict[str, int | str | bool]:
    """The defaults of a release, by the names that Kafka has for its settings.

    Without a mode they are those of the release's default mode.
    """
    return {name: cell.value for name, cell in default_cells_of(release, mode).items()}


@cache
def default_cells_of(release: str, mode: Mode | None = None) -> Mapping[str, Cell]:
    """The cell that each default of a release has its value from."""
    return cells_that_apply(DEFAULTS, release, mode=mode)
