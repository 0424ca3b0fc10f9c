"""A spelling is a table from MBeans to series: each exporter's names come out of its own."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Literal

import pytest

from cluster_snapshots import healthy, kraft_plan_of, plan_of
from tidegauge.metrics.families.all_families import FAMILIES
from tidegauge.metrics.families.family import Family, MBean, Scope
from tidegauge.metrics.samples.exposition import Exposition, Presentation
from tidegauge.metrics.samples.targets import labels_of
from tidegauge.metrics.spellings.all_spellings import (
    BITNAMI,
    CONFLUENT,
    GRAFANA_CLOUD,
    JMX_EXPORTER,
    JMX_EXPORTER_EXAMPLE,
    METRICS_REPORTER,
    SPELLINGS,
    STRIMZI,
    SpellingError,
    spelling_of,
)
from tidegauge.metrics.spellings.spelling import Rows, SpelledFamily, Spelling
from tidegauge.scenario.cluster_plan import ClusterPlan

SHRINKS = MBean("kafka.server:type=ReplicaManager,name=IsrShrinksPerSec", "Count")
LEADERS = MBean("kafka.server:type=ReplicaManager,name=LeaderCount")
BYTES_IN = MBean("kafka.server:type=BrokerTopicMetrics,name=BytesInPerSec,topic=*", "Count")
LAG = MBean("kafka.server:type=FetcherLagMetrics,name=ConsumerLag,clientId=*,topic=*,partition=*")
REQUESTS = "kafka.network:type=RequestMetrics,name="
P95 = MBean(f"{REQUESTS}TotalTimeMs,request=*", "95thPercentile")
TIMES = MBean(f"{REQUESTS}TotalTimeMs,request=*", "Count")
ERRORS = MBean(f"{REQUESTS}ErrorsPerSec,request=*,error=*", "Count")
NETWORK_IDLE = MBean("kafka.network:type=SocketServer,name=NetworkProcessorAvgIdlePercent")
HANDLER_POOL = "kafka.server:type=KafkaRequestHandlerPool,name=RequestHandlerAvgIdlePercent"
EPOCH = MBean("kafka.server:type=raft-metrics", "current-epoch")
STATE = MBean("kafka.server:type=raft-metrics", "current-state", is_text=True)
RAFT_REQUESTS = MBean("kafka.server:type=raft-channel-metrics", "request-total")
APPLIED = MBean("kafka.server:type=broker-metadata-metrics", "last-applied-record-offset")
CONNECTIONS = MBean(
    "kafka.server:type=socket-server-metrics,listener=*,networkProcessor=*", "connection-count"
)
_SHRINKS, _IDLE = "kafka_server_replicamanager_isrshrinks", "kafka_network_socketserver_network"

#: What the exporters' own rule files, run over these MBeans, give.
NAMES: list[tuple[Spelling, MBean, str]] = [
    (STRIMZI, SHRINKS, f"{_SHRINKS}_total"),
    (METRICS_REPORTER, SHRINKS, f"{_SHRINKS}persec_total"),
    (JMX_EXPORTER_EXAMPLE, SHRINKS, f"{_SHRINKS}_total"),
    (JMX_EXPORTER, SHRINKS, "kafka_server_replicamanager_count"),
    (CONFLUENT, SHRINKS, f"{_SHRINKS}persec"),
    (GRAFANA_CLOUD, SHRINKS, f"{_SHRINKS}persec"),
    (BITNAMI, SHRINKS, "kafka_server_replicamanager_total_isrshrinkspersec_count"),
    (STRIMZI, LEADERS, "kafka_server_replicamanager_leadercount"),
    (JMX_EXPORTER, LEADERS, "kafka_server_replicamanager_value"),
    (BITNAMI, LEADERS, "kafka_server_replicamanager_total_leadercount_value"),
    (STRIMZI, BYTES_IN, "kafka_server_brokertopicmetrics_bytesin_total"),
    (METRICS_REPORTER, BYTES_IN, "kafka_server_brokertopicmetrics_bytesinpersec_total"),
    (BITNAMI, BYTES_IN, "kafka_server_brokertopicmetrics_bytesinpersec_count"),
    (STRIMZI, P95, "kafka_network_requestmetrics_totaltimems"),
    (METRICS_REPORTER, P95, "kafka_network_requestmetrics_totaltimems"),
    (CONFLUENT, P95, "kafka_network_requestmetrics_totaltimems"),
    (STRIMZI, TIMES, "kafka_network_requestmetrics_totaltimems_count"),
    (METRICS_REPORTER, TIMES, "kafka_network_requestmetrics_totaltimems_count"),
    (METRICS_REPORTER, ERRORS, "kafka_network_requestmetrics_errorspersec_total"),
    (STRIMZI, NETWORK_IDLE, f"{_IDLE}processoravgidle_percent"),
    (METRICS_REPORTER, NETWORK_IDLE, f"{_IDLE}processoravgidlepercent"),
    (JMX_EXPORTER_EXAMPLE, NETWORK_IDLE, f"{_IDLE}processoravgidlepercent"),
    (
        *(STRIMZI, MBean(HANDLER_POOL, "MeanRate")),
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
    ),
    (
        *(METRICS_REPORTER, MBean(HANDLER_POOL, "Count")),
        "kafka_server_kafkarequesthandlerpool_requesthandleravgidlepercent_total",
    ),
    (STRIMZI, EPOCH, "kafka_server_raftmetrics_current_epoch"),
    (METRICS_REPORTER, EPOCH, "kafka_server_raft_metrics_current_epoch"),
    (CONFLUENT, EPOCH, "kafka_server_raft_metrics_current_epoch"),
    (STRIMZI, STATE, "kafka_server_raftmetrics_current_state"),
    (METRICS_REPORTER, STATE, "kafka_server_raft_metrics_current_state_info"),
    (JMX_EXPORTER_EXAMPLE, STATE, "kafka_server_raft_metrics_current_state_info"),
    (STRIMZI, RAFT_REQUESTS, "kafka_server_raftchannelmetrics_request_total"),
    (METRICS_REPORTER, RAFT_REQUESTS, "kafka_server_raft_channel_metrics_request"),
    (STRIMZI, APPLIED, "kafka_server_brokermetadatametrics_last_applied_record_offset"),
    (METRICS_REPORTER, APPLIED, "kafka_server_broker_metadata_metrics_last_applied_record_offset"),
    (STRIMZI, CONNECTIONS, "kafka_server_socket_server_metrics_connection_count"),
    (CONFLUENT, CONNECTIONS, "kafka_server_socketservermetrics_connection_count"),
]


def spelled(spelling: Spelling, bean: MBean) -> SpelledFamily:
    """A metric of this MBean, whatever its value is."""
    is_counted = bean.attribute == "Count" or bean.attribute.endswith("-total")
    kind: Literal["counter", "gauge"] = "counter" if is_counted else "gauge"
    found = spelling.spell(Family(bean, kind, Scope.BROKER, "starts", "Something."))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("spelling", "bean", "name"), NAMES, ids=[f"{s.name} {name}" for s, _, name in NAMES]
)
def test_an_exporter_names_an_mbean(spelling: Spelling, bean: MBean, name: str) -> None:
    assert spelled(spelling, bean).name == name


@pytest.mark.parametrize(
    ("spelling", "bean", "kind"),
    [
        (STRIMZI, SHRINKS, "counter"),
        # A name without _total is none of a counter, in OpenMetrics.
        (CONFLUENT, SHRINKS, "unknown"),
        (STRIMZI, TIMES, "unknown"),
        # The Metrics Reporter knows Kafka's own metrics as gauges only.
        (METRICS_REPORTER, RAFT_REQUESTS, "gauge"),
        (STRIMZI, RAFT_REQUESTS, "counter"),
    ],
)
def test_a_counter_ends_in_total(spelling: Spelling, bean: MBean, kind: str) -> None:
    assert spelled(spelling, bean).kind == kind


def test_tags_are_labels() -> None:
    assert spelled(STRIMZI, LAG).renamed is None
    assert spelled(CONFLUENT, LAG).renamed == {
        "clientId": "clientid",
        "topic": "topic",
        "partition": "partition",
    }
    assert spelled(STRIMZI, P95).labels == {"quantile": "0.95"}
    median = P95._replace(attribute="50thPercentile")
    assert spelled(STRIMZI, median).labels == {"quantile": "0.50"}
    assert spelled(METRICS_REPORTER, median).labels == {"quantile": "0.5"}
    assert spelled(JMX_EXPORTER, LAG).labels == {"name": "ConsumerLag"}
    assert spelled(STRIMZI, STATE).renamed is None
    assert spelled(CONFLUENT, CONNECTIONS).renamed == {
        "listener": "listener",
        "networkProcessor": "network_processor",
    }
    assert spelled(JMX_EXPORTER_EXAMPLE, STATE).renamed == {"current_state": "state"}


@pytest.mark.parametrize("plan", [plan_of(), kraft_plan_of()], ids=["ZooKeeper", "KRaft"])
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=list(SPELLINGS))
def test_the_series_are_the_same_in_every_spelling(plan: ClusterPlan, spelling: Spelling) -> None:
    """One sample of each value, and none that another has overwritten."""
    snapshot = healthy(plan)
    snapshot.brokers["handlers"] = 8
    found, names = {}, []
    for samples in Exposition(plan, Presentation(spelling=spelling)).series(snapshot):
        names.append(samples.family.name)
        for target, text, value in zip(*samples[1:], strict=True):
            key = samples.family.name, int(target), frozenset(labels_of(text).items())
            assert key not in found
            found[key] = value
    of_strimzi = list(Exposition(plan).series(snapshot))
    left_out = [one for one in of_strimzi if spelling.spell(one.family.family) is None]
    assert len(found) == sum(len(one.values) for one in of_strimzi if one not in left_out)
    # Only the means of percentages have no name everywhere, and texts, which are no values.
    measured = {str(one.family.family.measured) for one in left_out}
    assert [each for each in measured if not re.search("AvgIdlePercent|current-state", each)] == []
    # Of one name one follows the other, as the formats ask for.
    assert len({name for name, _ in groupby(names)}) == len(list(groupby(names)))


RULES = """
lowercaseOutputName: true
lowercaseOutputLabelNames: true
rules:
- pattern: kafka.server<type=(.+), name=(.+), clientId=(.+), topic=(.+), partition=(\\d+)><>Value
  name: my_$1_$2
  type: GAUGE
  labels: {client: "$3", topic: "$4", cluster: mine}
- pattern: kafka.(\\w+)<type=(?<type>.+), name=(.+)PerSec><>Count
  name: my_$2_$3_total
  type: COUNTER
"""


def test_an_operators_own_rules_are_a_spelling(tmp_path: Path) -> None:
    """The file is the exporter's, or a ConfigMap with one in it, as Strimzi has it."""
    plain, map_of_it = tmp_path / "rules.yml", tmp_path / "map.yaml"
    plain.write_text(RULES)
    inside = "".join(f"    {line}\n" for line in RULES.splitlines())
    map_of_it.write_text(f"kind: Kafka\n---\nkind: ConfigMap\ndata:\n  kafka: |\n{inside}")
    for file in (plain, map_of_it):
        own = spelling_of(str(file))
        lag = spelled(own, LAG)
        assert lag.name == "my_fetcherlagmetrics_consumerlag"
        # Nobody has asked for the partition.
        assert lag.renamed == {"clientId": "client", "topic": "topic"}
        assert lag.labels == {"cluster": "mine"}
        assert spelled(own, SHRINKS).name == "my_replicamanager_isrshrinks_total"
        assert own.spell(Family(LEADERS, "gauge", Scope.BROKER, "starts", "No rule.")) is None
        exporters = {one.name for one in own.spelled(FAMILIES)}
        assert {"kafka_brokers", "tidegauge_speed_ratio"} <= exporters


LISTED = """
lowercaseOutputName: true
rules:
- pattern: kafka.network<type=RequestMetrics, name=(.+)PerSec, request=(Produce|Fetch)><>Count
  name: my_$1
  labels: {request: "$2"}
- pattern: kafka.network<type=RequestMetrics, name=(.+)PerSec, request=(Leader.+)><>Count
  name: my_$2
- pattern: kafka.network<type=RequestMetrics, name=(.+)PerSec, request=(.+), error=([L-N].+)><>Count
  name: my_errors
  labels: {request: "$2", error: "$3"}
- pattern: kafka.network<type=RequestMetrics, name=RemoteTimeMs, request=(.+)><>Count
  name: my_waits
  labels: {request: "$1"}
"""


def test_rules_that_list_requests_are_tried_on_those_that_exist(tmp_path: Path) -> None:
    """Each row has the name of the first rule that takes its values, as in JmxCollector."""
    file = tmp_path / "rules.yaml"
    file.write_text(LISTED)
    families = [each for each in FAMILIES if each.scope in (Scope.REQUEST, Scope.REQUEST_ERROR)]
    found = {one.name: one for one in spelling_of(str(file)).spelled(families)}
    listed = found["my_requests"].only
    assert listed is not None
    assert listed.values == {("Produce",), ("Fetch",)}
    # A name may be made of a value that is known.
    assert found["my_leaderandisr"].only == Rows(("request",), frozenset({("LeaderAndIsr",)}))
    errors = found["my_errors"].only
    assert errors is not None
    assert errors.has({"request": "Produce", "error": "LEADER_NOT_AVAILABLE"})
    assert not errors.has({"request": "Produce", "error": "CORRUPT_MESSAGE"})
    # All of them have this name: nothing has to be chosen.
    assert found["my_waits"].only is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rules: [{pattern: '(', name: a}]", "rule 1 has a pattern that cannot be read"),
        ("rules: [{pattern: a, name: $1}]", "rule 1 names a group"),
        ("rules: [{pattern: a, labels: [a]}]", "rule 1 is not a rule"),
        ("rules: []", "has no rules"),
        ("a: [", "is not YAML"),
    ],
)
def test_rules_that_cannot_be_used_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "rules.yaml"
    file.write_text(text)
    with pytest.raises(SpellingError, match=reason):
        spelling_of(str(file))


def test_there_are_no_other_spellings(tmp_path: Path) -> None:
    with pytest.raises(SpellingError, match="must be one of strimzi, "):
        spelling_of("telegraf")
    with pytest.raises(SpellingError, match="cannot be read: No such file"):
        spelling_of(str(tmp_path / "none.yaml"))
