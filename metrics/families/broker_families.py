"""Metrics of a broker and of its topics, as Strimzi's rules name Kafka's MBeans.

Counters belong to a process: they begin at 0 with each start of the broker. The names follow from
the patterns of Strimzi's example of a JMX exporter. Where two styles exist, only this one is
served, as queries that join the styles would count everything twice. ``BrokerTopicMetrics`` has
series by topic only: those over all topics have the same name, and dashboards sum over them.
"""

from __future__ import annotations

import numpy as np

from tidegauge.metrics.families.family import Family, Scope

_REPLICA_MANAGER = "kafka.server:type=ReplicaManager,name="
_FETCHER_MANAGER = "kafka.server:type=ReplicaFetcherManager,clientId=Replica,name="
_TOPIC_METRICS = "kafka.server:type=BrokerTopicMetrics,name="
_CONTROLLER = "kafka.controller:type=KafkaController,name="

REPLICA_MANAGER = (
    Family(
        "kafka_server_replicamanager_leadercount",
        "gauge",
        Scope.BROKER,
        "leader_count",
        "Partitions that this broker leads.",
        f"{_REPLICA_MANAGER}LeaderCount",
    ),
    Family(
        "kafka_server_replicamanager_partitioncount",
        "gauge",
        Scope.BROKER,
        "partition_count",
        "Replicas that this broker hosts.",
        f"{_REPLICA_MANAGER}PartitionCount",
    ),
    Family(
        "kafka_server_replicamanager_underreplicatedpartitions",
        "gauge",
        Scope.BROKER,
        "under_replicated",
        "Partitions led here with fewer replicas in sync than assigned; no broker counts a "
        "partition without a leader.",
        f"{_REPLICA_MANAGER}UnderReplicatedPartitions",
    ),
    Family(
        "kafka_server_replicamanager_underminisrpartitioncount",
        "gauge",
        Scope.BROKER,
        "under_min_isr",
        "Partitions led here with fewer replicas in sync than min.insync.replicas.",
        f"{_REPLICA_MANAGER}UnderMinIsrPartitionCount",
    ),
    Family(
        "kafka_server_replicamanager_atminisrpartitioncount",
        "gauge",
        Scope.BROKER,
        "at_min_isr",
        "Partitions led here with exactly as many replicas in sync as min.insync.replicas.",
        f"{_REPLICA_MANAGER}AtMinIsrPartitionCount",
    ),
    Family(
        "kafka_server_replicamanager_offlinereplicacount",
        "gauge",
        Scope.BROKER,
        "offline_replicas",
        "Replicas in failed log directories of this broker.",
        f"{_REPLICA_MANAGER}OfflineReplicaCount",
    ),
    Family(
        "kafka_server_replicamanager_reassigningpartitions",
        "gauge",
        Scope.BROKER,
        "reassigning",
        "Partitions led here that are being reassigned.",
        f"{_REPLICA_MANAGER}ReassigningPartitions",
    ),
    Family(
        "kafka_server_replicamanager_isrshrinks_total",
        "counter",
        Scope.BROKER,
        "isr_shrinks",
        "Times that this broker, as a leader, removed followers from an ISR; removals by the "
        "controller are not counted.",
        f"{_REPLICA_MANAGER}IsrShrinksPerSec",
    ),
    Family(
        "kafka_server_replicamanager_isrexpands_total",
        "counter",
        Scope.BROKER,
        "isr_expands",
        "Times that this broker, as a leader, added a follower to an ISR.",
        f"{_REPLICA_MANAGER}IsrExpandsPerSec",
    ),
    Family(
        "kafka_server_replicamanager_failedisrupdates_total",
        "counter",
        Scope.BROKER,
        "failed_isr_updates",
        "Changes of an ISR that were refused, as this leader's state was stale.",
        f"{_REPLICA_MANAGER}FailedIsrUpdatesPerSec",
    ),
)

FETCHERS_AND_BROKER = (
    Family(
        "kafka_server_replicafetchermanager_maxlag",
        "gauge",
        Scope.BROKER,
        "max_lag",
        "The most records by which a replica here is behind its leader's high watermark "
        "(not its log end).",
        f"{_FETCHER_MANAGER}MaxLag",
        labels={"clientId": "Replica"},
    ),
    Family(
        "kafka_server_replicafetchermanager_failedpartitionscount",
        "gauge",
        Scope.BROKER,
        "failed_partitions",
        "Replicas here that are no longer fetched because of an error.",
        f"{_FETCHER_MANAGER}FailedPartitionsCount",
        labels={"clientId": "Replica"},
    ),
    Family(
        "kafka_server_kafkaserver_brokerstate",
        "gauge",
        Scope.BROKER,
        "state",
        "1 starting, 2 recovering from an unclean shutdown, 3 running, "
        "6 in a controlled shutdown, 7 shutting down.",
        "kafka.server:type=KafkaServer,name=BrokerState",
    ),
    Family(
        "kafka_log_logmanager_offlinelogdirectorycount",
        "gauge",
        Scope.BROKER,
        "offline_log_directories",
        "Log directories of this broker that have failed.",
        "kafka.log:type=LogManager,name=OfflineLogDirectoryCount",
    ),
    Family(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "gauge",
        Scope.BROKER,
        "delayed_produces",
        "Requests in purgatory: Produce requests wait for the high watermark (acks=all), Fetch "
        "requests for records.",
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize",
        labels={"delayedOperation": "Produce"},
    ),
    Family(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "gauge",
        Scope.BROKER,
        "delayed_fetches",
        "Requests in purgatory: Produce requests wait for the high watermark (acks=all), Fetch "
        "requests for records.",
        "kafka.server:type=DelayedOperationPurgatory,name=PurgatorySize",
        labels={"delayedOperation": "Fetch"},
    ),
    Family(
        "kafka_network_requestchannel_requestqueuesize",
        "gauge",
        Scope.BROKER,
        "request_queue_size",
        "Requests that wait for a request handler.",
        "kafka.network:type=RequestChannel,name=RequestQueueSize",
    ),
    Family(
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        "gauge",
        Scope.BROKER,
        lambda of: of["handlers_idle_us"] / (of["handlers"] * of["handlers_for_us"]).clip(1),
        "Idle share of the request handlers' time (0 to 1), as a mean since the start.",
        "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent (MeanRate)",
        where=lambda of: (of["handlers"] > 0) & (of["handlers_for_us"] > 0),
    ),
    Family(
        "kafka_network_socketserver_networkprocessoravgidle_percent",
        "gauge",
        Scope.BROKER,
        lambda of: np.ones_like(of["request_queue_size"]),
        "Idle share of the network threads' time: always 1, as they take no simulated time.",
        "kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent",
    ),
    Family(
        "kafka_server_kafkaserver_linux_disk_write_bytes",
        "gauge",
        Scope.BROKER,
        "appended_bytes",
        "Bytes of records that this broker has appended to its logs, as a leader and as a "
        "follower; other files are not simulated.",
        "kafka.server:type=KafkaServer,name=linux-disk-write-bytes",
    ),
)

TRAFFIC = (
    Family(
        "kafka_server_brokertopicmetrics_messagesin_total",
        "counter",
        Scope.BROKER_TOPIC,
        "messages_in",
        "Records that producers have appended.",
        f"{_TOPIC_METRICS}MessagesInPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_bytesin_total",
        "counter",
        Scope.BROKER_TOPIC,
        "bytes_in",
        "Bytes that producers have appended.",
        f"{_TOPIC_METRICS}BytesInPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_bytesout_total",
        "counter",
        Scope.BROKER_TOPIC,
        "bytes_out",
        "Bytes sent to consumers; bytes sent to followers are in replicationbytesout.",
        f"{_TOPIC_METRICS}BytesOutPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_totalproducerequests_total",
        "counter",
        Scope.BROKER_TOPIC,
        "produce_requests",
        "Appends requested by producers, one for each partition in a request.",
        f"{_TOPIC_METRICS}TotalProduceRequestsPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_failedproducerequests_total",
        "counter",
        Scope.BROKER_TOPIC,
        "failed_produce_requests",
        "Appends that failed; appends sent to a broker that does not lead are not counted.",
        f"{_TOPIC_METRICS}FailedProduceRequestsPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_totalfetchrequests_total",
        "counter",
        Scope.BROKER_TOPIC,
        "fetch_requests",
        "Reads requested by consumers and followers, one for each partition in a request.",
        f"{_TOPIC_METRICS}TotalFetchRequestsPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_failedfetchrequests_total",
        "counter",
        Scope.BROKER_TOPIC,
        # ReplicaManager.readFromLocalLog@2.6.0 counts none of the errors that a read has here.
        lambda of: of["fetch_requests"] * 0,
        "Reads that failed unexpectedly: always 0, as errors that Kafka expects do not count "
        "and simulated reads have no others.",
        f"{_TOPIC_METRICS}FailedFetchRequestsPerSec",
    ),
    *(
        Family(
            f"kafka_server_brokertopicmetrics_{side.lower()}messageconversions_total",
            "counter",
            Scope.BROKER_TOPIC,
            lambda of: np.zeros_like(of["fetch_requests"]),
            f"Records that were converted for {clients}: always 0, as simulated records have one "
            "format.",
            f"{_TOPIC_METRICS}{side}MessageConversionsPerSec",
        )
        for side, clients in (("Produce", "producers"), ("Fetch", "consumers"))
    ),
    Family(
        "kafka_server_brokertopicmetrics_replicationbytesin_total",
        "counter",
        Scope.BROKER,
        "replication_bytes_in",
        "Bytes that this broker has fetched as a follower, of all topics.",
        f"{_TOPIC_METRICS}ReplicationBytesInPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_replicationbytesout_total",
        "counter",
        Scope.BROKER,
        "replication_bytes_out",
        "Bytes that followers have fetched from this broker, of all topics.",
        f"{_TOPIC_METRICS}ReplicationBytesOutPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_reassignmentbytesin_total",
        "counter",
        Scope.BROKER,
        "reassignment_bytes_in",
        "The part of replicationbytesin that reassignments have caused.",
        f"{_TOPIC_METRICS}ReassignmentBytesInPerSec",
    ),
    Family(
        "kafka_server_brokertopicmetrics_reassignmentbytesout_total",
        "counter",
        Scope.BROKER,
        "reassignment_bytes_out",
        "The part of replicationbytesout that reassignments have caused.",
        f"{_TOPIC_METRICS}ReassignmentBytesOutPerSec",
    ),
)

CONTROLLER = (
    Family(
        "kafka_controller_kafkacontroller_activecontrollercount",
        "gauge",
        Scope.BROKER,
        "active_controller",
        "1 on the broker that regards itself as the controller; the sum must be 1.",
        f"{_CONTROLLER}ActiveControllerCount",
    ),
    Family(
        "kafka_controller_kafkacontroller_offlinepartitionscount",
        "gauge",
        Scope.BROKER,
        "offline_partitions",
        "Partitions without a leader, as the controller sees it; 0 on other brokers.",
        f"{_CONTROLLER}OfflinePartitionsCount",
    ),
    Family(
        "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
        "gauge",
        Scope.BROKER,
        "preferred_replica_imbalance",
        "Partitions whose leader is not the preferred replica, as the controller sees it; 0 on "
        "other brokers.",
        f"{_CONTROLLER}PreferredReplicaImbalanceCount",
    ),
    Family(
        "kafka_controller_kafkacontroller_globaltopiccount",
        "gauge",
        Scope.BROKER,
        "global_topics",
        "Topics that the controller knows; 0 on other brokers.",
        f"{_CONTROLLER}GlobalTopicCount",
    ),
    Family(
        "kafka_controller_kafkacontroller_globalpartitioncount",
        "gauge",
        Scope.BROKER,
        "global_partitions",
        "Partitions that the controller knows; 0 on other brokers.",
        f"{_CONTROLLER}GlobalPartitionCount",
    ),
    Family(
        "kafka_controller_controllerstats_uncleanleaderelections_total",
        "counter",
        Scope.BROKER,
        "unclean_leader_elections",
        "Elections by this broker's controller of a leader that was not in the ISR.",
        "kafka.controller:type=ControllerStats,name=UncleanLeaderElectionsPerSec",
    ),
    Family(
        "kafka_controller_controllereventmanager_eventqueuesize",
        "gauge",
        Scope.BROKER,
        "event_queue_size",
        "Events that wait for this broker's controller.",
        "kafka.controller:type=ControllerEventManager,name=EventQueueSize",
    ),
)

OUR_OWN = (
    Family(
        "tidegauge_leader_elections_total",
        "counter",
        Scope.BROKER,
        "leader_elections",
        "Leaders that this broker's controller has elected.",
        "Tidegauge; Kafka counts it in kafka.controller:type=ControllerStats,"
        "name=LeaderElectionRateAndTimeMs",
    ),
    Family(
        "tidegauge_controller_epoch",
        "gauge",
        Scope.BROKER,
        "controller_epoch",
        "Epoch of the controller, on the broker that regards itself as the controller.",
        "Tidegauge",
        where="active_controller",
    ),
    Family(
        "tidegauge_isr_changes_pending",
        "gauge",
        Scope.BROKER,
        "isr_changes_pending",
        "Partitions with an ISR change of which this broker has not yet notified the controller.",
        "Tidegauge; ReplicaManager.isrChangeSet in Kafka",
    ),
    Family(
        "tidegauge_isr_change_notifications_total",
        "counter",
        Scope.BROKER,
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
