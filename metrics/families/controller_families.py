"""Metrics of controllers: of brokers in ZooKeeper mode, of a quorum's nodes in KRaft mode.

In ZooKeeper mode all brokers have the controller's gauges, and they are 0 on those that are not the
controller. In KRaft mode the controllers have them: each counts the whole cluster, as it reads the
log. Unless that is requested, only the newest active one shows its counts, so that sums are right.

Metrics of Raft: each broker and controller of a quorum as a client of it.

Brokers are observers, which fetch the log and do not vote. Averages, maxima and rates are those
of the last 30 to 60 s (``simulation/sampled_stats.py``); a mean or maximum of nothing is NaN.
"""

from tidegauge.metrics.families.family import Family, MBean, Scope
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


_RAFT = "kafka.server:type=raft-metrics"
_CHANNEL = "kafka.server:type=raft-channel-metrics"

STATE = (
    Family(
        MBean(_RAFT, "current-state", is_text=True),
        "gauge",
        Scope.RAFT_STATE,
        "one",
        "1, with the state as a label: leader, follower, candidate, observer, unattached, and "
        "what a release has beside these.",
    ),
)

#: Attribute, column, meaning.
_NOW = {
    "current-leader": ("leader_id", "Id of the leader that this node knows; -1 if it knows none."),
    "current-vote": (
        "vote_id",
        (
            "Id of the controller that this one has voted for; -1 if for none, up to 3.9 also once "
            "there is a leader."
        ),
    ),
    "current-epoch": ("epoch", "Epoch of the quorum that this node knows."),
    "high-watermark": (
        "high_watermark",
        "Offset up to which the metadata log is committed, as this node knows; -1 if it does not.",
    ),
    "log-end-offset": ("log_end_offset", "End of this node's metadata log."),
    "log-end-epoch": ("log_end_epoch", "Epoch of the last record in this node's metadata log."),
    "fetch-records-rate": (
        "fetch_rate",
        "Records of the metadata log that this node has fetched per second.",
    ),
    "append-records-rate": (
        "append_rate",
        "Records that this node has appended to the metadata log per second, as the leader.",
    ),
}

_TIMES = {
    "commit-latency": ("commit", "from the append of records by this leader to their commit"),
    "election-latency": (
        "election",
        "that this controller has been a candidate until there was a leader",
    ),
}

RAFT = (
    *(
        Family(MBean(_RAFT, attribute), "gauge", Scope.RAFT, column, meaning)
        for attribute, (column, meaning) in _NOW.items()
    ),
    *(
        Family(
            MBean(_RAFT, f"{attribute}-{of}"),
            "gauge",
            Scope.RAFT,
            f"{column}_{of}_ms",
            f"{name} time (virtual milliseconds) {meaning}; NaN if there was none.",
            has_nan=True,
        )
        for attribute, (column, meaning) in _TIMES.items()
        for of, name in (("avg", "Mean"), ("max", "Longest"))
    ),
    Family(
        MBean(_RAFT, "poll-idle-ratio-avg"),
        "gauge",
        Scope.RAFT,
        "idle_ratio",
        "Share of the time since the last scrape in which this controller's thread has not written "
        "to its disk (0 to 1): nothing else takes it time.",
    ),
    Family(
        MBean(_RAFT, "number-unknown-voter-connections"),
        "gauge",
        Scope.RAFT,
        lambda of: of["requests"] * 0,
        # KafkaRaftClient.initialize@4.1.0
        "Always 0, as in Kafka, where all voters are known from the beginning.",
    ),
)

#: Attribute, column, meaning.
_COUNTS = {
    "request-total": ("requests", "Requests that this node has sent to voters."),
    "response-total": ("responses", "Responses of voters that this node has received."),
    "outgoing-byte-total": (
        "outgoing_bytes",
        "Bytes of the requests that this node has sent to voters, as Kafka's protocol writes them.",
    ),
    "incoming-byte-total": (
        "incoming_bytes",
        (
            "Bytes of the responses that this node has received from voters: as Kafka's protocol "
            "writes them, and as an estimate 72 for each record of the metadata log."
        ),
    ),
}

CHANNEL = tuple(
    Family(MBean(_CHANNEL, attribute), "counter", Scope.RAFT, column, meaning)
    for attribute, (column, meaning) in _COUNTS.items()
)
