"""Metrics of the control plane, and of Tidegauge itself.

Metrics that kafka_exporter would serve of the cluster, under its names; all of them are gauges.

Read at 953e2f1 of kafka_exporter. For a partition without a leader it has no series of
``kafka_topic_partition_leader``; here the value is -1, as dashboards expect.
"""

from tidegauge.metrics.families.family import Family, Scope

_SOURCE = "Tidegauge"

METADATA = (
    Family(
        "tidegauge_metadata_registered_brokers",
        "gauge",
        Scope.METADATA,
        "registered_brokers",
        "Brokers that are registered, and in KRaft mode not fenced.",
        _SOURCE,
    ),
    Family(
        "tidegauge_metadata_offline_partitions",
        "gauge",
        Scope.METADATA,
        "offline_partitions",
        "Partitions whose state names no leader.",
        _SOURCE,
    ),
    Family(
        "tidegauge_metadata_in_sync_replicas",
        "gauge",
        Scope.METADATA,
        "in_sync_replicas",
        "Replicas in the ISRs of all partitions.",
        _SOURCE,
    ),
    Family(
        "tidegauge_metadata_replicas",
        "gauge",
        Scope.METADATA,
        "replicas",
        "Replicas in the assignments of all partitions.",
        _SOURCE,
    ),
    Family(
        "tidegauge_metadata_preferred_replica_imbalance",
        "gauge",
        Scope.METADATA,
        "not_preferred",
        "Partitions that their preferred replica does not lead.",
        _SOURCE,
    ),
)

ZOOKEEPER = (
    Family(
        "num_alive_connections",
        "gauge",
        Scope.ZOOKEEPER,
        "connections",
        "Connections with ZooKeeper: those of brokers that run and hold a session.",
        "ZooKeeper's own exporter",
    ),
    Family(
        "tidegauge_zookeeper_isr_change_notifications",
        "gauge",
        Scope.ZOOKEEPER,
        "isr_change_notifications",
        "Notifications under /isr_change_notification that the controller has not deleted yet.",
        _SOURCE,
    ),
    Family(
        "tidegauge_zookeeper_transactions_total",
        "counter",
        Scope.ZOOKEEPER,
        "zxid",
        "Transactions of ZooKeeper.",
        _SOURCE,
    ),
    Family(
        "tidegauge_zookeeper_sessions",
        "gauge",
        Scope.ZOOKEEPER,
        "sessions",
        "Open sessions.",
        _SOURCE,
    ),
)

CLIENTS = (
    Family(
        "tidegauge_clients_stalled_partitions",
        "gauge",
        Scope.CLIENTS,
        "stalled_for_producers",
        "Partitions of which a producer has had a batch for 1 s without an outcome.",
        _SOURCE,
    ),
    Family(
        "tidegauge_clients_reads_stalled_partitions",
        "gauge",
        Scope.CLIENTS,
        "stalled_for_consumers",
        "Partitions about which a consumer has had no response for 1 s longer than a fetch waits.",
        _SOURCE,
    ),
    Family(
        "tidegauge_clients_records_unsent_total",
        "counter",
        Scope.CLIENTS,
        "records_unsent",
        "Records that were due while applications waited for buffer.memory, and never left them.",
        _SOURCE,
    ),
    Family(
        "tidegauge_clients_blocked_producers",
        "gauge",
        Scope.CLIENTS,
        "blocked_producers",
        "Producers whose application waits for buffer.memory.",
        _SOURCE,
    ),
)

SIMULATION = (
    Family(
        "tidegauge_virtual_time_seconds",
        "gauge",
        Scope.SIMULATION,
        lambda of: of["time_us"] / 1e6,
        "Virtual time of the last snapshot.",
        _SOURCE,
    ),
    Family(
        "tidegauge_speed_ratio",
        "gauge",
        Scope.SIMULATION,
        "speed",
        "Virtual seconds per real second, since the previous snapshot.",
        _SOURCE,
    ),
    Family(
        "tidegauge_wanted_speed_ratio",
        "gauge",
        Scope.SIMULATION,
        "wanted_speed",
        "Virtual seconds per real second that the run is paced to; absent if it is not paced.",
        _SOURCE,
    ),
    Family(
        "tidegauge_lag_seconds",
        "gauge",
        Scope.SIMULATION,
        lambda of: of["behind_us"] / 1e6,
        "Virtual seconds by which the run is behind its pace.",
        _SOURCE,
    ),
    Family(
        "tidegauge_events_total",
        "counter",
        Scope.SIMULATION,
        "events",
        "Events that were simulated.",
        _SOURCE,
    ),
    Family(
        "tidegauge_windows_total",
        "counter",
        Scope.SIMULATION,
        "windows",
        "Windows of virtual time that actors have processed together.",
        _SOURCE,
    ),
    Family(
        "tidegauge_window_virtual_seconds",
        "gauge",
        Scope.SIMULATION,
        lambda of: of["window_us"] / 1e6,
        "Mean size of a window, since the previous snapshot.",
        _SOURCE,
    ),
)

ACTORS = (
    Family(
        "tidegauge_actor_events_total",
        "counter",
        Scope.ACTOR,
        "events",
        "Events of the processes that this actor hosts.",
        _SOURCE,
    ),
    Family(
        "tidegauge_actor_kernel_cpu_seconds_total",
        "counter",
        Scope.ACTOR,
        "kernel_cpu_seconds",
        "CPU time that this actor spent on events.",
        _SOURCE,
    ),
    Family(
        "tidegauge_actor_exchange_cpu_seconds_total",
        "counter",
        Scope.ACTOR,
        "exchange_cpu_seconds",
        "CPU time that this actor spent on messages from and to others.",
        _SOURCE,
    ),
    Family(
        "tidegauge_actor_waiting_cpu_seconds_total",
        "counter",
        Scope.ACTOR,
        "waiting_cpu_seconds",
        "CPU time that this actor spent on waiting for others.",
        _SOURCE,
    ),
    Family(
        "tidegauge_actor_snapshot_age_seconds",
        "gauge",
        Scope.ACTOR,
        "age_seconds",
        "Real seconds since the last snapshot of this actor arrived.",
        _SOURCE,
    ),
)

METRICS = (
    Family(
        "tidegauge_metrics_truncated_partitions",
        "gauge",
        Scope.SIMULATION,
        "partitions_left_out",
        "Partitions that have no series of their own, because of the level of metrics.",
        _SOURCE,
    ),
    Family(
        "tidegauge_metrics_level",
        "gauge",
        Scope.METRICS_LEVEL,
        "one",
        "Level of detail for single partitions: full, topic, sparse or off.",
        _SOURCE,
    ),
    Family(
        "tidegauge_scrapes_total",
        "counter",
        Scope.SCRAPED_TARGET,
        "scrapes",
        "Responses to scrapes of a target.",
        _SOURCE,
    ),
    Family(
        "tidegauge_render_seconds_total",
        "counter",
        Scope.SIMULATION,
        "render_cpu_seconds",
        "CPU time that rendering pages has taken.",
        _SOURCE,
    ),
)


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
