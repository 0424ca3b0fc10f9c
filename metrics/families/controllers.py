"""Metrics of controllers: of brokers in ZooKeeper mode, of a quorum's nodes in KRaft mode.

In ZooKeeper mode all brokers have the controller's gauges, and they are 0 on those that are not the
controller. In KRaft mode the controllers have them: each counts the whole cluster, as it reads the
log. Unless that is requested, only the newest active one shows its counts, so that sums are right.

Metrics of Raft are those of each broker and controller of a quorum as a client of it. Brokers are
observers, which fetch the log and do not vote. Averages, maxima and rates are those of the last 30
to 60 s (``simulation/sampled_stats.py``); a mean or maximum of nothing is NaN.
"""

from functools import partial
from typing import Any

from numpy.typing import NDArray

from tidegauge.compiled.records import flag, i64
from tidegauge.metrics.families import family
from tidegauge.metrics.families.requests import histogram

_CONTROLLER = "kafka.controller:type=KafkaController,name="
_EVENTS = "kafka.controller:type=ControllerEventManager,name="
_STATS = "kafka.controller:type=ControllerStats,name="
_LOADER = "kafka.server:type=MetadataLoader,name="
_RAFT = "kafka.server:type=raft-metrics"
_CHANNEL = "kafka.server:type=raft-channel-metrics"


class ControllerGauges(family.Gauges, scope=family.Scope.CONTROLLER):
    """A controller: a broker in ZooKeeper mode, else a node of the quorum."""

    #: Its process runs; and is not stopped by a pause, so that it answers.
    alive: flag
    answers: flag

    active_controller: flag = family.gauge(
        f"{_CONTROLLER}ActiveControllerCount",
        "1 on the node that regards itself as the active controller; the sum must be 1.",
    )
    controller_epoch: i64 = family.gauge(
        "tidegauge_controller_epoch",
        "Epoch of the controller, on the node that regards itself as the active one.",
        where="active_controller",
    )
    offline_partitions: i64 = family.gauge(
        f"{_CONTROLLER}OfflinePartitionsCount",
        "Partitions without a leader, as the controller sees it; 0 on others.",
    )
    preferred_replica_imbalance: i64 = family.gauge(
        f"{_CONTROLLER}PreferredReplicaImbalanceCount",
        "Partitions whose leader is not the preferred replica, as the controller sees it; 0 on "
        "others.",
    )
    global_topics: i64 = family.gauge(
        f"{_CONTROLLER}GlobalTopicCount", "Topics that the controller knows; 0 on others."
    )
    global_partitions: i64 = family.gauge(
        f"{_CONTROLLER}GlobalPartitionCount", "Partitions that the controller knows; 0 on others."
    )
    leader_elections: i64 = family.counter(
        "tidegauge_leader_elections_total",
        "Leaders that this controller has elected.",
        source="Tidegauge; Kafka counts it in kafka.controller:type=ControllerStats,"
        "name=LeaderElectionRateAndTimeMs",
    )
    unclean_leader_elections: i64 = family.counter(
        f"{_STATS}UncleanLeaderElectionsPerSec",
        "Elections by this controller of a leader that was not in the ISR; all that it has read of "
        "in the log with `--metrics-controllers faithful`.",
    )


class QuorumControllerGauges(ControllerGauges, scope=family.Scope.QUORUM_CONTROLLER):
    """A controller of a quorum, at its place.

    Committed records of the active one count on each of them: all read the log.
    """

    active_brokers: i64 = family.gauge(
        f"{_CONTROLLER}ActiveBrokerCount",
        "Brokers that are registered and not fenced; 0 on inactive controllers.",
    )
    fenced_brokers: i64 = family.gauge(
        f"{_CONTROLLER}FencedBrokerCount",
        "Brokers that are registered and fenced; 0 on inactive controllers.",
    )
    last_applied_offset: i64 = family.gauge(
        f"{_CONTROLLER}LastAppliedRecordOffset",
        "Offset of the last record of the metadata log that this controller has applied.",
    )
    last_committed_offset: i64 = family.gauge(
        f"{_CONTROLLER}LastCommittedRecordOffset",
        "Offset of the last record of the metadata log that is committed, as this controller "
        "knows.",
    )
    events: i64 = family.gauge(
        f"{_CONTROLLER}EventQueueOperationsStartedCount",
        "Events that this controller's thread has taken, since it began.",
    )
    timed_out_heartbeats: i64 = family.gauge(
        f"{_CONTROLLER}TimedOutBrokerHeartbeatCount",
        "Heartbeats of brokers that waited for this controller for too long, since it began.",
    )
    new_active_controllers: i64 = family.gauge(
        f"{_CONTROLLER}NewActiveControllersCount",
        "Leaders of the quorum that this controller has had since it began, itself included.",
    )
    elr_elections: i64 = family.counter(
        f"{_STATS}ElectionFromEligibleLeaderReplicasPerSec",
        "Elections by this controller of a leader that was in the ELR (KIP-966), likewise.",
    )
    #: Elections that it has read of in the log, with those that it has committed itself.
    known_unclean_leader_elections: i64
    known_elr_elections: i64


def _raft(attribute: str, meaning: str, **more: Any) -> Any:
    return family.gauge(_RAFT, meaning, attribute=attribute, **more)


def _leads(of: family.Columns) -> NDArray[Any]:
    """Where there are the metrics of a leader. Source: KafkaRaftMetrics.addLeaderMetrics@4.1.0."""
    leads: NDArray[Any] = of["leads"]
    return leads


def _channel(attribute: str, meaning: str) -> Any:
    return family.counter(_CHANNEL, meaning, attribute=attribute)


def _finalized_level(feature: str, **more: Any) -> Any:
    """The level of a feature; its name is in camel case, as Kafka writes it there."""
    return family.gauge(
        f"{_LOADER}FinalizedLevel,featureName={feature}",
        "Level of a feature of the cluster that is finalized: metadata.version, and where it is on "
        "eligible.leader.replicas.version; from 4.2 on.",
        since="4.2.0",
        **more,
    )


class RaftGauges(family.Gauges, scope=family.Scope.RAFT):
    """A node of a quorum, brokers first: MBeans raft-metrics and raft-channel-metrics.

    Leaders and votes are numbers of voters, -1: none.
    """

    exists: flag
    is_controller: flag
    #: The finalized levels of features, as this node knows them.
    metadata_level: i64
    elr_level: i64
    state: i64
    leader: i64
    vote: i64
    epoch: i64 = _raft("current-epoch", "Epoch of the quorum that this node knows.")
    high_watermark: i64 = _raft(
        "high-watermark",
        "Offset up to which the metadata log is committed, as this node knows; -1 if it does not.",
    )
    log_end_offset: i64 = _raft("log-end-offset", "End of this node's metadata log.")
    log_end_epoch: i64 = _raft(
        "log-end-epoch", "Epoch of the last record in this node's metadata log."
    )
    # KAFKA-16524
    voters: i64 = _raft(
        "number-of-voters",
        "Voters of the quorum by this node's metadata log, committed or not; for a broker, by the "
        "controllers' longest one; from 4.1 on.",
        since="4.1.0",
    )
    observers: i64 = _raft(
        "number-of-observers",
        "Brokers that follow this leader, and controllers that are no voters and have fetched from "
        "it within 5 minutes; from 4.1 on.",
        since="4.1.0",
        where=_leads,
    )
    uncommitted_voter_change: flag = _raft(
        "uncommitted-voter-change",
        "1 while this leader adds, removes or updates a voter, else 0; from 4.1 on.",
        since="4.1.0",
        where=_leads,
    )
    #: The kraft.version in its log: with 1 voters may change.
    kraft_version: i64

    # For the last minute: the number of them, and the time that they cover.
    fetched_records: i64
    fetched_for_us: i64
    appended_records: i64
    appended_for_us: i64
    #: The number of values of a time, their sum, and the largest.
    commits: i64
    commit_us: i64
    longest_commit_us: i64
    elections: i64
    election_us: i64
    longest_election_us: i64

    #: The times that its threads have worked, since its process began: Raft's has written to the
    #: disk, a controller's has handled events, the metadata loader's has published.
    started_us: i64
    written_us: i64
    handled_us: i64
    loaded_us: i64

    requests: i64 = _channel("request-total", "Requests that this node has sent to voters.")
    outgoing_bytes: i64 = _channel(
        "outgoing-byte-total",
        "Bytes of the requests that this node has sent to voters, as Kafka's protocol writes them.",
    )
    responses: i64 = _channel("response-total", "Responses of voters that this node has received.")
    incoming_bytes: i64 = _channel(
        "incoming-byte-total",
        "Bytes of the responses that this node has received from voters: as Kafka's protocol "
        "writes them, and as an estimate 72 for each record of the metadata log.",
    )


#: The times of Raft's metrics with the meaning of each.
_TIMES = {
    "commit": "from the append of records by this leader to their commit",
    "election": "that this controller has been a candidate until there was a leader",
}

CONTROLLERS = (
    *ControllerGauges.families,
    *QuorumControllerGauges.families,
    *RaftGauges.families,
    *family.families_of(
        family.Scope.QUORUM_CONTROLLER,
        family.gauge(
            f"{_CONTROLLER}MetadataErrorCount",
            "Errors with the metadata log: always 0, as simulated records are well-formed.",
            lambda of: of["last_applied_offset"] * 0,
        ),
        family.gauge(
            f"{_CONTROLLER}EventQueueOperationsTimedOutCount",
            "Events that waited for this controller's thread for too long, since it began: "
            "heartbeats, as no others have a deadline here.",
            "timed_out_heartbeats",
        ),
        *histogram(
            f"{_EVENTS}EventQueueTimeMs",
            "queue_",
            "events",
            "that events wait for this controller's thread",
        ),
        *histogram(
            f"{_EVENTS}EventQueueProcessingTimeMs",
            "processing_",
            "events",
            "that this controller's thread takes for events; their commit is not in it",
        ),
        ignored_static_voters=family.gauge(
            f"{_CONTROLLER}IgnoredStaticVoters",
            "1 if this controller has controller.quorum.voters, and the voters are those of the "
            "metadata log, else 0; from 4.1 on.",
            since="4.1.0",
        ),
        applied_ms=family.gauge(
            f"{_CONTROLLER}LastAppliedRecordTimestamp",
            "Virtual time (milliseconds) at which the last applied record was written, "
            "interpolated between snapshots.",
        ),
        applied_lag_ms=family.gauge(
            f"{_CONTROLLER}LastAppliedRecordLagMs",
            "Virtual milliseconds since that record was written; 0 on the active controller.",
        ),
    ),
    *family.families_of(
        family.Scope.RAFT,
        *(
            family.gauge(
                _RAFT,
                f"{name} time (virtual milliseconds) {meaning}; NaN if there was none.",
                f"{column}_{of}_ms",
                f"{column}-latency-{of}",
                has_nan=True,
            )
            for column, meaning in _TIMES.items()
            for of, name in (("avg", "Mean"), ("max", "Longest"))
        ),
        # KafkaRaftClient.initialize@4.1.0
        family.gauge(
            _RAFT,
            "Always 0, as in Kafka, where all voters are known from the beginning.",
            lambda of: of["requests"] * 0,
            "number-unknown-voter-connections",
        ),
        leader_id=_raft("current-leader", "Id of the leader that this node knows; -1: none."),
        vote_id=_raft(
            "current-vote",
            "Id of the controller that this one has voted for; -1 if for none, up to 3.9 also once "
            "there is a leader.",
        ),
        fetch_rate=_raft(
            "fetch-records-rate",
            "Records of the metadata log that this node has fetched per second.",
        ),
        append_rate=_raft(
            "append-records-rate",
            "Records that this node has appended to the metadata log per second, as the leader.",
        ),
        writing_idle_ratio=_raft(
            "poll-idle-ratio-avg",
            "Share of the time since the last scrape in which this controller's thread has not "
            "written to its disk (0 to 1): nothing else takes it time.",
        ),
        # KAFKA-19467, KAFKA-19791
        handling_idle_ratio=family.gauge(
            f"{_EVENTS}AvgIdleRatio",
            "Share of the time since the last scrape in which this controller's thread has handled "
            "no event (0 to 1); from 4.2 on.",
            since="4.2.0",
        ),
        loading_idle_ratio=family.gauge(
            f"{_LOADER}AvgIdleRatio",
            "Share of the time since the last scrape in which this node's metadata loader has "
            "published nothing (0 to 1): it takes controllers no simulated time; from 4.2 on.",
            since="4.2.0",
        ),
        # KIP-1180: MetadataLoaderMetrics.recordFinalizedFeatureLevel@4.2.0
        metadata_level=_finalized_level("metadataVersion"),
        elr_level=_finalized_level("eligibleLeaderReplicasVersion", where="elr_level"),
    ),
    *family.families_of(
        family.Scope.RAFT_STATE,
        one=partial(
            family.Family,
            family.MBean(_RAFT, "current-state", is_text=True),
            "gauge",
            help="1, with the state as a label: leader, follower, candidate, observer, unattached, "
            "and what a release has beside these.",
        ),
    ),
)
