"""Metrics of each replica that a broker hosts.

Every replica has the series of ``kafka.cluster:type=Partition``, with 0 where it does not lead.
"""

from __future__ import annotations

from tidegauge.metrics.families.family import Family, Scope

_PARTITION = "kafka.cluster:type=Partition,name="
_LOG = "kafka.log:type=Log,name="

PARTITIONS = (
    Family(
        "kafka_cluster_partition_underreplicated",
        "gauge",
        Scope.REPLICA,
        "under_replicated",
        "1 on the leader if fewer replicas are in sync than assigned; 0 on followers.",
        f"{_PARTITION}UnderReplicated",
    ),
    Family(
        "kafka_cluster_partition_underminisr",
        "gauge",
        Scope.REPLICA,
        "under_min_isr",
        "1 on the leader if fewer replicas are in sync than min.insync.replicas; 0 on followers.",
        f"{_PARTITION}UnderMinIsr",
    ),
    Family(
        "kafka_cluster_partition_atminisr",
        "gauge",
        Scope.REPLICA,
        "at_min_isr",
        "1 on the leader if exactly min.insync.replicas are in sync; 0 on followers.",
        f"{_PARTITION}AtMinIsr",
    ),
    Family(
        "kafka_cluster_partition_insyncreplicascount",
        "gauge",
        Scope.REPLICA,
        "in_sync_replicas",
        "Replicas in sync, as the leader sees it; 0 on followers.",
        f"{_PARTITION}InSyncReplicasCount",
    ),
    Family(
        "kafka_cluster_partition_replicascount",
        "gauge",
        Scope.REPLICA,
        "replicas",
        "Replicas that are assigned, as the leader sees it; 0 on followers.",
        f"{_PARTITION}ReplicasCount",
    ),
)

LOGS = (
    Family(
        "kafka_log_log_size",
        "gauge",
        Scope.REPLICA,
        "size_bytes",
        "Bytes of this replica's log.",
        f"{_LOG}Size",
    ),
    Family(
        "kafka_log_log_logstartoffset",
        "gauge",
        Scope.REPLICA,
        "log_start_offset",
        "First offset of this replica's log.",
        f"{_LOG}LogStartOffset",
    ),
    Family(
        "kafka_log_log_logendoffset",
        "gauge",
        Scope.REPLICA,
        "log_end_offset",
        "Offset of the next record of this replica's log.",
        f"{_LOG}LogEndOffset",
    ),
    Family(
        "kafka_server_fetcherlagmetrics_consumerlag",
        "gauge",
        Scope.FETCHED_REPLICA,
        "lag",
        "Records by which this replica is behind its leader's high watermark (not its log end); "
        "-1 before its first fetch.",
        "kafka.server:type=FetcherLagMetrics,name=ConsumerLag",
        adds_up=False,
    ),
)

OUR_OWN = (
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
