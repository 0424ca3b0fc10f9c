"""Metrics that kafka_exporter would serve of the cluster, under its names; all of them are gauges.

Read at 953e2f1 of kafka_exporter. For a partition without a leader it has no series of
``kafka_topic_partition_leader``; here the value is -1, as dashboards expect.
"""

from __future__ import annotations

from tidegauge.metrics.families.family import Family, Scope

_EXPORTER = "kafka_exporter"
_FORK = "kafka_exporter as forked by Grafana"

CLUSTER = (
    Family(
        "kafka_brokers",
        "gauge",
        Scope.CLUSTER,
        "registered_brokers",
        "Brokers that are registered.",
        _EXPORTER,
    ),
    Family(
        "kafka_broker_info",
        "gauge",
        Scope.REGISTERED_BROKER,
        "registered",
        "1 for each broker that is registered; a broker that has died remains registered until "
        "its session ends.",
        _EXPORTER,
    ),
    Family(
        "kafka_topic_partitions",
        "gauge",
        Scope.TOPIC,
        "partitions",
        "Partitions of the topic.",
        _EXPORTER,
    ),
)

PARTITIONS = (
    Family(
        "kafka_topic_partition_current_offset",
        "gauge",
        Scope.PARTITION,
        "high_watermark",
        "Offset up to which consumers can read: the leader's high watermark, while the leader "
        "responds.",
        _EXPORTER,
    ),
    Family(
        "kafka_topic_partition_oldest_offset",
        "gauge",
        Scope.PARTITION,
        "log_start_offset",
        "First offset of the leader's log, while the leader responds.",
        _EXPORTER,
    ),
    Family(
        "kafka_topic_partition_in_sync_replica",
        "gauge",
        Scope.PARTITION,
        "in_sync_replicas",
        "Replicas in sync, from the metadata; known also without a leader.",
        _EXPORTER,
        has_zeros=False,
    ),
    Family(
        "kafka_topic_partition_replicas",
        "gauge",
        Scope.PARTITION,
        "replicas",
        "Replicas that are assigned.",
        _EXPORTER,
    ),
    Family(
        "kafka_topic_partition_under_replicated_partition",
        "gauge",
        Scope.PARTITION,
        lambda of: of["in_sync_replicas"] < of["replicas"],
        "1 if fewer replicas are in sync than assigned, also without a leader.",
        _EXPORTER,
    ),
    Family(
        "kafka_topic_partition_leader",
        "gauge",
        Scope.PARTITION,
        "leader_id",
        "Id of the broker that leads; -1 if none does.",
        _EXPORTER,
        adds_up=False,
    ),
    Family(
        "kafka_topic_partition_leader_is_preferred",
        "gauge",
        Scope.PARTITION,
        "leader_is_preferred",
        "1 if the preferred replica leads.",
        _EXPORTER,
        adds_up=False,
    ),
)

GROUPS = (
    Family(
        "kafka_consumergroup_members",
        "gauge",
        Scope.GROUP,
        "members",
        "Members of the group.",
        _EXPORTER,
    ),
    Family(
        "kafka_consumergroup_current_offset",
        "gauge",
        Scope.GROUP_PARTITION,
        "offset",
        "Offset that the group has committed.",
        _EXPORTER,
    ),
    Family(
        "kafka_consumergroup_current_offset_sum",
        "gauge",
        Scope.GROUP_TOPIC,
        "offset_sum",
        "Sum of kafka_consumergroup_current_offset over the topic's partitions.",
        _EXPORTER,
    ),
    Family(
        "kafka_consumergroup_lag",
        "gauge",
        Scope.GROUP_PARTITION,
        "lag",
        "Records that the group has not committed yet: high watermark minus committed offset.",
        _EXPORTER,
    ),
    Family(
        "kafka_consumergroup_lag_sum",
        "gauge",
        Scope.GROUP_TOPIC,
        "lag_sum",
        "Sum of kafka_consumergroup_lag over the topic's partitions, as far as it is known.",
        _EXPORTER,
    ),
    Family(
        "kafka_consumergroup_uncommitted_offsets",
        "gauge",
        Scope.GROUP_PARTITION,
        "lag",
        "The same as kafka_consumergroup_lag, under its name in Grafana's fork.",
        _FORK,
    ),
    Family(
        "kafka_consumer_lag_millis",
        "gauge",
        Scope.GROUP_PARTITION,
        "lag_ms",
        "Time (virtual milliseconds) for which the first record that the group has not "
        "committed has been readable, interpolated between snapshots.",
        _FORK,
        adds_up=False,
    ),
)
