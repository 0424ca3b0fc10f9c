"""Metrics of each replica that a broker hosts.

Every replica has the series of ``kafka.cluster:type=Partition``, with 0 where it does not lead.
"""

from __future__ import annotations

from tidegauge.metrics.families.family import Family, Scope
from tidegauge.metrics.families.mbean import MBean

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
