"""The one table of metrics, with those of the cluster as a whole and of Tidegauge itself.

A metric is a field of a record of gauges, or an entry of a call of ``families_of`` for a scope
(``family.py``): its value is read from the scope's columns, which are the fields of its record and
the columns that the scope's table adds (``samples/exposition.py``). Its name follows from the
spelling.

Metrics that kafka_exporter would serve of the cluster have its names; all of them are gauges. Read
at 953e2f1 of kafka_exporter. For a partition without a leader it has no series of
``kafka_topic_partition_leader``; here the value is -1, as dashboards expect.

Not served, as the simulation has no values for them: connections, and all metrics of the JVM and
the operating system.
"""

from tidegauge.compiled.records import flag, i64
from tidegauge.metrics.families.brokers import BROKERS
from tidegauge.metrics.families.controllers import CONTROLLERS
from tidegauge.metrics.families.family import Family, Gauges, Scope, counter, families_of, gauge
from tidegauge.metrics.families.requests import REQUESTS

_FORK = "kafka_exporter as forked by Grafana"


class PartitionGauges(Gauges, scope=Scope.PARTITION):
    """A partition as the control plane holds it."""

    #: It has a state.
    exists: flag
    #: Index of the leader's broker; -1 none.
    leader: i64
    leader_epoch: i64
    in_sync_replicas: i64 = gauge(
        "kafka_topic_partition_in_sync_replica",
        "Replicas in sync, from the metadata; known also without a leader.",
        has_zeros=False,
    )
    replicas: i64 = gauge("kafka_topic_partition_replicas", "Replicas that are assigned.")
    leader_is_preferred: flag = gauge(
        "kafka_topic_partition_leader_is_preferred",
        "1 if the preferred replica leads.",
        adds_up=False,
    )
    #: The producers and the consumers that are stalled by it (``clients/stalls.py``).
    stalled_producers: i64
    stalled_consumers: i64


class ClusterGauges(Gauges, scope=Scope.CLUSTER):
    """The state of the control plane and of clients as a whole: one record."""

    #: This snapshot has the control plane in it.
    known: flag
    #: Those under /brokers/ids, or unfenced in a quorum.
    registered_brokers: i64 = gauge("kafka_brokers", "Brokers that are registered.")
    isr_change_notifications: i64 = gauge(
        "tidegauge_zookeeper_isr_change_notifications",
        "Notifications under /isr_change_notification that the controller has not deleted yet.",
        scope=Scope.ZOOKEEPER,
    )
    zxid: i64 = counter(
        "tidegauge_zookeeper_transactions_total",
        "Transactions of ZooKeeper.",
        scope=Scope.ZOOKEEPER,
    )
    sessions: i64 = gauge("tidegauge_zookeeper_sessions", "Open sessions.", scope=Scope.ZOOKEEPER)
    records_unsent: i64 = counter(
        "tidegauge_clients_records_unsent_total",
        "Records that were due while applications waited for buffer.memory, and never left them.",
        scope=Scope.CLIENTS,
    )
    blocked_producers: i64 = gauge(
        "tidegauge_clients_blocked_producers",
        "Producers whose application waits for buffer.memory.",
        scope=Scope.CLIENTS,
    )


class CommittedGauges(Gauges, scope=Scope.GROUP_PARTITION):
    """A coordinator's state of one partition that a group reads, at the key's place."""

    #: 1 + the epoch in which the coordinator leads; 0: no broker here coordinates the group.
    coordinator_epoch: i64
    #: Something is committed.
    known: flag
    offset: i64 = gauge(
        "kafka_consumergroup_current_offset", "Offset that the group has committed."
    )


class MemberGauges(Gauges):
    """A consumer, as the group's coordinator knows it, at the place of its client."""

    coordinator_epoch: i64
    present: flag


_EXPORTER = (
    *families_of(
        Scope.TOPIC, partitions=gauge("kafka_topic_partitions", "Partitions of the topic.")
    ),
    *PartitionGauges.families,
    *families_of(
        Scope.PARTITION,
        gauge(
            "kafka_topic_partition_under_replicated_partition",
            "1 if fewer replicas are in sync than assigned, also without a leader.",
            lambda of: of["in_sync_replicas"] < of["replicas"],
        ),
        high_watermark=gauge(
            "kafka_topic_partition_current_offset",
            "Offset up to which consumers can read: the leader's high watermark, while the leader "
            "responds.",
        ),
        log_start_offset=gauge(
            "kafka_topic_partition_oldest_offset",
            "First offset of the leader's log, while the leader responds.",
        ),
        leader_id=gauge(
            "kafka_topic_partition_leader",
            "Id of the broker that leads; -1: none.",
            adds_up=False,
        ),
    ),
    *families_of(
        Scope.GROUP, members=gauge("kafka_consumergroup_members", "Members of the group.")
    ),
    *CommittedGauges.families,
    *families_of(
        Scope.GROUP_PARTITION,
        gauge(
            "kafka_consumergroup_uncommitted_offsets",
            "The same as kafka_consumergroup_lag, under its name in Grafana's fork.",
            "lag",
            source=_FORK,
        ),
        lag=gauge(
            "kafka_consumergroup_lag",
            "Records that the group has not committed yet: high watermark minus committed offset.",
        ),
        lag_ms=gauge(
            "kafka_consumer_lag_millis",
            "Time (virtual milliseconds) for which the first record that the group has not "
            "committed has been readable, interpolated between snapshots.",
            source=_FORK,
            adds_up=False,
        ),
    ),
    *families_of(
        Scope.GROUP_TOPIC,
        offset_sum=gauge(
            "kafka_consumergroup_current_offset_sum",
            "Sum of kafka_consumergroup_current_offset over the topic's partitions.",
        ),
        lag_sum=gauge(
            "kafka_consumergroup_lag_sum",
            "Sum of kafka_consumergroup_lag over the topic's partitions, as far as it is known.",
        ),
    ),
)

_CONTROL_PLANE_AND_CLIENTS = (
    *families_of(
        Scope.METADATA,
        registered_brokers=gauge(
            "tidegauge_metadata_registered_brokers",
            "Brokers that are registered, and in KRaft mode not fenced.",
        ),
        offline_partitions=gauge(
            "tidegauge_metadata_offline_partitions", "Partitions whose state names no leader."
        ),
        in_sync_replicas=gauge(
            "tidegauge_metadata_in_sync_replicas", "Replicas in the ISRs of all partitions."
        ),
        replicas=gauge(
            "tidegauge_metadata_replicas", "Replicas in the assignments of all partitions."
        ),
        not_preferred=gauge(
            "tidegauge_metadata_preferred_replica_imbalance",
            "Partitions that their preferred replica does not lead.",
        ),
    ),
    *families_of(
        Scope.ZOOKEEPER,
        connections=gauge(
            "num_alive_connections",
            "Connections with ZooKeeper: those of brokers that run and hold a session.",
            source="ZooKeeper's own exporter",
        ),
    ),
    *ClusterGauges.families,
    *families_of(
        Scope.CLIENTS,
        stalled_for_producers=gauge(
            "tidegauge_clients_stalled_partitions",
            "Partitions of which a producer has had a batch for 1 s without an outcome.",
        ),
        stalled_for_consumers=gauge(
            "tidegauge_clients_reads_stalled_partitions",
            "Partitions about which a consumer has had no response for 1 s longer than a fetch "
            "waits.",
        ),
    ),
)

_SIMULATION = (
    *families_of(
        Scope.SIMULATION,
        gauge(
            "tidegauge_virtual_time_seconds",
            "Virtual time of the last snapshot.",
            lambda of: of["time_us"] / 1e6,
        ),
        gauge(
            "tidegauge_lag_seconds",
            "Virtual seconds by which the run is behind its pace.",
            lambda of: of["behind_us"] / 1e6,
        ),
        gauge(
            "tidegauge_window_virtual_seconds",
            "Mean size of a window, since the previous snapshot.",
            lambda of: of["window_us"] / 1e6,
        ),
        speed=gauge(
            "tidegauge_speed_ratio",
            "Virtual seconds per real second, since the previous snapshot.",
        ),
        wanted_speed=gauge(
            "tidegauge_wanted_speed_ratio",
            "Virtual seconds per real second that the run is paced to; absent if it is not paced.",
        ),
        events=counter("tidegauge_events_total", "Events that were simulated."),
        windows=counter(
            "tidegauge_windows_total",
            "Windows of virtual time that actors have processed together.",
        ),
        partitions_left_out=gauge(
            "tidegauge_metrics_truncated_partitions",
            "Partitions that have no series of their own, because of the level of metrics.",
        ),
        render_cpu_seconds=counter(
            "tidegauge_render_seconds_total", "CPU time that rendering pages has taken."
        ),
    ),
    *families_of(
        Scope.ACTOR,
        events=counter(
            "tidegauge_actor_events_total", "Events of the processes that this actor hosts."
        ),
        kernel_cpu_seconds=counter(
            "tidegauge_actor_kernel_cpu_seconds_total", "CPU time that this actor spent on events."
        ),
        exchange_cpu_seconds=counter(
            "tidegauge_actor_exchange_cpu_seconds_total",
            "CPU time that this actor spent on messages from and to others.",
        ),
        waiting_cpu_seconds=counter(
            "tidegauge_actor_waiting_cpu_seconds_total",
            "CPU time that this actor spent on waiting for others.",
        ),
        age_seconds=gauge(
            "tidegauge_actor_snapshot_age_seconds",
            "Real seconds since the last snapshot of this actor arrived.",
        ),
    ),
    *families_of(
        Scope.METRICS_LEVEL,
        one=gauge(
            "tidegauge_metrics_level",
            "Level of detail for single partitions: full, topic, sparse or off.",
        ),
    ),
    *families_of(
        Scope.SCRAPED_TARGET,
        scrapes=counter("tidegauge_scrapes_total", "Responses to scrapes of a target."),
    ),
)

FAMILIES: tuple[Family, ...] = (
    *BROKERS,
    *CONTROLLERS,
    *REQUESTS,
    *_EXPORTER,
    *_CONTROL_PLANE_AND_CLIENTS,
    *_SIMULATION,
)
