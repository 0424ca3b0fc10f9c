"""Metrics of controllers: of brokers in ZooKeeper mode, of a quorum's nodes in KRaft mode.

In ZooKeeper mode all brokers have the controller's gauges, and they are 0 on those that are not the
controller. In KRaft mode the controllers have them: each counts the whole cluster, as it reads the
log. Unless that is requested, only the newest active one shows its counts, so that sums are right.
"""

from __future__ import annotations

from tidegauge.metrics.families.family import Family, Scope
from tidegauge.metrics.families.mbean import MBean
from tidegauge.metrics.families.request_families import histogram

_CONTROLLER = "kafka.controller:type=KafkaController,name="
_EVENTS = "kafka.controller:type=ControllerEventManager,name="
_STATS = "kafka.controller:type=ControllerStats,name="

EVERY_MODE = (
    Family(
        MBean(f"{_CONTROLLER}ActiveControllerCount"),
        "gauge",
        Scope.CONTROLLER,
        "active_controller",
        "1 on the node that regards itself as the active controller; the sum must be 1.",
    ),
    Family(
        MBean(f"{_CONTROLLER}OfflinePartitionsCount"),
        "gauge",
        Scope.CONTROLLER,
        "offline_partitions",
        "Partitions without a leader, as the controller sees it; 0 on others.",
    ),
    Family(
        MBean(f"{_CONTROLLER}PreferredReplicaImbalanceCount"),
        "gauge",
        Scope.CONTROLLER,
        "preferred_replica_imbalance",
        "Partitions whose leader is not the preferred replica, as the controller sees it; 0 on "
        "others.",
    ),
    Family(
        MBean(f"{_CONTROLLER}GlobalTopicCount"),
        "gauge",
        Scope.CONTROLLER,
        "global_topics",
        "Topics that the controller knows; 0 on others.",
    ),
    Family(
        MBean(f"{_CONTROLLER}GlobalPartitionCount"),
        "gauge",
        Scope.CONTROLLER,
        "global_partitions",
        "Partitions that the controller knows; 0 on others.",
    ),
    Family(
        MBean(f"{_STATS}UncleanLeaderElectionsPerSec", "Count"),
        "counter",
        Scope.CONTROLLER,
        "unclean_leader_elections",
        "Elections by this controller of a leader that was not in the ISR; all that it has read of "
        "in the log with `--metrics-controllers faithful`.",
    ),
)

QUORUM = (
    Family(
        MBean(f"{_CONTROLLER}ActiveBrokerCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "active_brokers",
        "Brokers that are registered and not fenced; 0 on inactive controllers.",
    ),
    Family(
        MBean(f"{_CONTROLLER}FencedBrokerCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "fenced_brokers",
        "Brokers that are registered and fenced; 0 on inactive controllers.",
    ),
    Family(
        MBean(f"{_CONTROLLER}MetadataErrorCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        lambda of: of["last_applied_offset"] * 0,
        "Errors with the metadata log: always 0, as simulated records are well-formed.",
    ),
    Family(
        MBean(f"{_CONTROLLER}LastAppliedRecordOffset"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "last_applied_offset",
        "Offset of the last record of the metadata log that this controller has applied.",
    ),
    Family(
        MBean(f"{_CONTROLLER}LastCommittedRecordOffset"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "last_committed_offset",
        "Offset of the last record of the metadata log that is committed, as this controller "
        "knows.",
    ),
    Family(
        MBean(f"{_CONTROLLER}LastAppliedRecordTimestamp"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "applied_ms",
        "Virtual time (milliseconds) at which the last applied record was written, interpolated "
        "between snapshots.",
    ),
    Family(
        MBean(f"{_CONTROLLER}LastAppliedRecordLagMs"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "applied_lag_ms",
        "Virtual milliseconds since that record was written; 0 on the active controller.",
    ),
    Family(
        MBean(f"{_CONTROLLER}TimedOutBrokerHeartbeatCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "timed_out_heartbeats",
        "Heartbeats of brokers that waited for this controller for too long, since it began.",
    ),
    Family(
        MBean(f"{_CONTROLLER}EventQueueOperationsStartedCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "events",
        "Events that this controller's thread has taken, since it began.",
    ),
    Family(
        MBean(f"{_CONTROLLER}EventQueueOperationsTimedOutCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "timed_out_heartbeats",
        "Events that waited for this controller's thread for too long, since it began: heartbeats, "
        "as no others have a deadline here.",
    ),
    Family(
        MBean(f"{_CONTROLLER}NewActiveControllersCount"),
        "gauge",
        Scope.QUORUM_CONTROLLER,
        "new_active_controllers",
        "Leaders of the quorum that this controller has learnt of since it began, itself included.",
    ),
    *histogram(
        f"{_EVENTS}EventQueueTimeMs",
        Scope.QUORUM_CONTROLLER,
        "queue_",
        "events",
        "that events wait for this controller's thread",
    ),
    *histogram(
        f"{_EVENTS}EventQueueProcessingTimeMs",
        Scope.QUORUM_CONTROLLER,
        "processing_",
        "events",
        "that this controller's thread takes for events; their commit is not in it",
    ),
    Family(
        MBean(f"{_STATS}ElectionFromEligibleLeaderReplicasPerSec", "Count"),
        "counter",
        Scope.QUORUM_CONTROLLER,
        "elr_elections",
        "Elections by this controller of a leader that was in the ELR (KIP-966), likewise.",
    ),
)

ZOOKEEPER = (
    Family(
        MBean(f"{_EVENTS}EventQueueSize"),
        "gauge",
        Scope.ZOOKEEPER_BROKER,
        "event_queue_size",
        "Events that wait for this broker's controller.",
    ),
)

OUR_OWN = (
    Family(
        "tidegauge_leader_elections_total",
        "counter",
        Scope.CONTROLLER,
        "leader_elections",
        "Leaders that this controller has elected.",
        "Tidegauge; Kafka counts it in kafka.controller:type=ControllerStats,"
        "name=LeaderElectionRateAndTimeMs",
    ),
    Family(
        "tidegauge_controller_epoch",
        "gauge",
        Scope.CONTROLLER,
        "controller_epoch",
        "Epoch of the controller, on the node that regards itself as the active one.",
        "Tidegauge",
        where="active_controller",
    ),
)
