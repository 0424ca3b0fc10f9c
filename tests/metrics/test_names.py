"""The names that are served are those that Strimzi's rules and kafka_exporter give, and ours."""

from __future__ import annotations

import re
from itertools import groupby

import numpy as np
import pytest

from cluster_snapshots import healthy, kraft_plan_of, plan_of
from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Scope
from tidegauge.metrics.samples.exposition import Exposition
from tidegauge.metrics.samples.successive_snapshots import (
    ActorHealth,
    Health,
    IdleRatios,
    RecordTimes,
    ScrapeCounts,
    SnapshotContext,
)
from tidegauge.metrics.spellings.all_spellings import STRIMZI as SPELLING
from tidegauge.scenario.cluster_plan import ClusterPlan

SPELLED = SPELLING.spelled(FAMILIES)

#: Of RequestMetrics: the parts of a request's time.
TIMES = ("requestqueue", "local", "remote", "responsequeue", "responsesend", "total")
#: Of a histogram: its quantiles, and its count.
COUNTS = ("", "_count")

#: By MBean: what a JMX exporter with Strimzi's rules makes of its attributes.
STRIMZI = {
    "kafka_server_replicamanager": {
        *("leadercount", "partitioncount", "underreplicatedpartitions"),
        *("underminisrpartitioncount", "atminisrpartitioncount", "offlinereplicacount"),
        *("reassigningpartitions", "isrshrinks_total", "isrexpands_total"),
        "failedisrupdates_total",
    },
    "kafka_server_replicafetchermanager": {"maxlag", "failedpartitionscount"},
    "kafka_server_fetcherlagmetrics": {"consumerlag"},
    "kafka_server_kafkaserver": {"brokerstate", "linux_disk_write_bytes"},
    "kafka_server_delayedoperationpurgatory": {"purgatorysize"},
    "kafka_server_kafkarequesthandlerpool": {
        *("requesthandleravgidle_percent", "requesthandleravgidlepercent_count"),
    },
    "kafka_network_socketserver": {"networkprocessoravgidle_percent"},
    "kafka_server_brokermetadatametrics": {
        *("last_applied_record_offset", "last_applied_record_timestamp"),
        *("last_applied_record_lag_ms", "metadata_load_error_count", "metadata_apply_error_count"),
        "ignored_static_voters",
    },
    "kafka_network_requestmetrics": {
        *("requests_total", "errors_total"),
        *(f"{part}timems{count}" for part in TIMES for count in COUNTS),
    },
    "kafka_server_sessionexpirelistener": {
        *("zookeepersyncconnects_total", "zookeeperdisconnects_total", "zookeeperexpires_total"),
        *("zookeeperauthfailures_total", "zookeepersaslauthentications_total"),
        "zookeeperreadonlyconnects_total",
    },
    "kafka_server_zookeeperclientmetrics": {
        *("zookeeperrequestlatencyms", "zookeeperrequestlatencyms_count"),
    },
    "kafka_server_brokertopicmetrics": {
        *("messagesin_total", "bytesin_total", "bytesout_total"),
        *("totalproducerequests_total", "failedproducerequests_total"),
        *("totalfetchrequests_total", "failedfetchrequests_total"),
        *("replicationbytesin_total", "replicationbytesout_total"),
        *("reassignmentbytesin_total", "reassignmentbytesout_total"),
        *("producemessageconversions_total", "fetchmessageconversions_total"),
    },
    "kafka_network_requestchannel": {"requestqueuesize", "responsequeuesize"},
    "kafka_cluster_partition": {
        *("underreplicated", "underminisr", "atminisr", "insyncreplicascount", "replicascount"),
    },
    "kafka_log_log": {"size", "logstartoffset", "logendoffset"},
    "kafka_log_logmanager": {"offlinelogdirectorycount", "cordonedlogdirectorycount"},
    "kafka_controller_kafkacontroller": {
        *("activecontrollercount", "offlinepartitionscount", "preferredreplicaimbalancecount"),
        *("globaltopiccount", "globalpartitioncount", "activebrokercount", "fencedbrokercount"),
        *("metadataerrorcount", "lastappliedrecordoffset", "lastcommittedrecordoffset"),
        *("lastappliedrecordtimestamp", "lastappliedrecordlagms", "ignoredstaticvoters"),
        *("timedoutbrokerheartbeatcount", "newactivecontrollerscount"),
        *("eventqueueoperationsstartedcount", "eventqueueoperationstimedoutcount"),
    },
    "kafka_controller_controllerstats": {
        *("uncleanleaderelections_total", "electionfromeligibleleaderreplicas_total"),
    },
    "kafka_controller_controllereventmanager": {
        *("eventqueuesize", "avgidleratio"),
        *(f"eventqueue{part}timems{count}" for part in ("", "processing") for count in COUNTS),
    },
    "kafka_server_metadataloader": {"avgidleratio", "finalizedlevel"},
    "kafka_server_raftmetrics": {
        *("current_state", "current_leader", "current_vote", "current_epoch"),
        *("high_watermark", "log_end_offset", "log_end_epoch"),
        *("number_unknown_voter_connections", "fetch_records_rate", "append_records_rate"),
        *("commit_latency_avg", "commit_latency_max", "poll_idle_ratio_avg"),
        *("election_latency_avg", "election_latency_max"),
        *("number_of_voters", "number_of_observers", "uncommitted_voter_change"),
    },
    "kafka_server_raftchannelmetrics": {
        *("request_total", "response_total", "outgoing_byte_total", "incoming_byte_total"),
    },
}

KAFKA_EXPORTER = {
    *("kafka_brokers", "kafka_broker_info", "kafka_topic_partitions"),
    *("kafka_topic_partition_current_offset", "kafka_topic_partition_oldest_offset"),
    *("kafka_topic_partition_in_sync_replica", "kafka_topic_partition_replicas"),
    "kafka_topic_partition_under_replicated_partition",
    *("kafka_topic_partition_leader", "kafka_topic_partition_leader_is_preferred"),
    *("kafka_consumergroup_members", "kafka_consumergroup_current_offset"),
    *("kafka_consumergroup_current_offset_sum", "kafka_consumergroup_lag"),
    *("kafka_consumergroup_lag_sum", "kafka_consumer_lag_millis"),
    *("kafka_consumergroup_uncommitted_offsets",),
}


def test_what_is_called_as_by_kafka_is_what_kafka_has() -> None:
    expected = {f"{bean}_{name}" for bean, names in STRIMZI.items() for name in names}
    served = {one.name for one in SPELLED if not one.name.startswith("tidegauge_")}
    assert served == expected | KAFKA_EXPORTER | {"num_alive_connections"}


def test_names_of_raw_counts_are_not_served() -> None:
    # With two styles on the same labels rate() over either of them alerts for ever.
    assert not [one.name for one in SPELLED if "persec" in one.name]


def test_a_metric_is_well_formed() -> None:
    """Its help is a sentence."""
    for spelled in SPELLED:
        assert re.fullmatch(r"[a-z_]+", spelled.name), spelled
        assert (spelled.kind == "counter") == spelled.name.endswith("_total"), spelled
        assert re.fullmatch(r"[A-Z0-9-].*\.", spelled.help), spelled
        assert spelled.family.source, spelled


def test_entries_of_one_name_stand_behind_each_other_and_agree() -> None:
    by_name = {name: list(group) for name, group in groupby(SPELLED, lambda spelled: spelled.name)}
    assert sum(len(group) for group in by_name.values()) == len(SPELLED)
    for group in by_name.values():
        assert len({(spelled.kind, spelled.help) for spelled in group}) == 1


@pytest.mark.parametrize(
    "plan", [plan_of(), kraft_plan_of(release="4.2")], ids=["ZooKeeper", "KRaft"]
)
def test_every_metric_has_something_behind_it(plan: ClusterPlan) -> None:
    snapshot = healthy(plan)
    snapshot.brokers["handlers"] = 8
    actor = ActorHealth("brokers", 1, 1.0, 1.0, 1.0, 1.0)
    context = SnapshotContext(
        Health(1.0, 10_000_000, 1.0, 0, 1, 1, (actor,)),
        speed=1.0,
        window_us=1.0,
        consumer_lag_ms=np.zeros(len(snapshot.committed)),
        scrapes=ScrapeCounts({}, 1.0),
        applied=RecordTimes().applied(snapshot),
        idle_ratios=IdleRatios().of(snapshot),
    )
    shown = {samples.family.name for samples in Exposition(plan).series(snapshot, context)}
    others = {Scope.ZOOKEEPER, Scope.ZOOKEEPER_BROKER, Scope.ZOOKEEPER_CLIENT}
    if not plan.is_kraft:
        others = {Scope.QUORUM_BROKER, Scope.QUORUM_CONTROLLER, Scope.RAFT, Scope.RAFT_STATE}
    assert shown == {one.name for one in SPELLED if one.family.scope not in others}
