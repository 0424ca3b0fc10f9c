"""Files of alert rules: which rules are in them, and what is said of a file that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.rehearsal.alerts import RuleFileError, alerts_of, read_rule_file
from tidegauge.rehearsal.metric_names import alerts_on, never_made, recognised_spelling

GROUPS = """
groups:
  - name: kafka
    rules:
      - record: cluster:up:sum
        expr: sum(up)
      - alert: BrokerDown
        expr: cluster:up:sum < 3
        for: 1m
"""
#: As kubectl prints several objects.
OBJECTS = """
apiVersion: v1
kind: ConfigMap
---
kind: List
items:
  - apiVersion: monitoring.coreos.com/v1
    kind: PrometheusRule
    spec: {groups: [{name: one, rules: [{alert: A, expr: up == 0}]}]}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
spec: {groups: [{name: two, rules: [{alert: B, expr: 1}]}]}
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.yml"
    path.write_text(text, encoding="utf-8")
    return path


def test_prometheus_gets_its_own_files_as_they_are(tmp_path: Path) -> None:
    file = read_rule_file(written(tmp_path, GROUPS))
    assert file.text == GROUPS
    assert [(rule.name, rule.is_alert) for rule in file.rules] == [
        ("cluster:up:sum", False),
        ("BrokerDown", True),
    ]


def test_of_kubernetes_objects_it_gets_the_groups_of_all_prometheus_rules(tmp_path: Path) -> None:
    file = read_rule_file(written(tmp_path, OBJECTS))
    assert [group["name"] for group in yaml.safe_load(file.text)["groups"]] == ["one", "two"]
    # Prometheus takes a number for an expression.
    assert [(rule.name, rule.expression) for rule in file.rules] == [("A", "up == 0"), ("B", "1")]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has neither `groups` of rules nor a PrometheusRule object"),
        ("groups: {}", "has neither `groups` of rules nor a PrometheusRule object"),
        ("duration: 1m", "has neither `groups` of rules nor a PrometheusRule object"),
        ("groups:\n  - [", "is not valid YAML: line 2: "),
        ("groups: [{rules: []}]", "group 1 has no name"),
        ("groups: [{name: g, rules: {}}, {name: h, rules: 5}]", "group h: `rules` must be a list"),
        ("groups: [{name: g, rules: [5]}]", "group g, rule 1: must be a mapping"),
        ("groups: [{name: g, rules: [{expr: up}]}]", "group g, rule 1: must have either `alert`"),
        ("groups: [{name: g, rules: [{alert: A}]}]", "group g, rule 1 (A): `expr` is missing"),
        ("groups: [{name: g, rules: [{alert: A, expr: [up]}]}]", "rule 1 (A): `expr` must be text"),
        ("kind: PrometheusRule", "has neither `groups` of rules nor a PrometheusRule object"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_that_names_the_rule(
    text: str, problem: str, tmp_path: Path
) -> None:
    path = written(tmp_path, text)
    with pytest.raises(RuleFileError) as refused:
        read_rule_file(path)
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{path}: ")
    assert problem in line


def test_a_file_that_is_not_there_or_no_text_is_refused_too(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="No such file"):
        read_rule_file(tmp_path / "none.yml")
    (tmp_path / "image.yml").write_bytes(b"\x89PNG\xff")
    with pytest.raises(RuleFileError, match="not text in UTF-8"):
        read_rule_file(tmp_path / "image.yml")


@pytest.mark.parametrize(
    ("longest", "seconds"), [("5m", 300), ("1h30m", 5400), ("1d12h", 129_600), ("250ms", 0.25)]
)
def test_an_alert_has_the_longest_for_of_its_rules(
    longest: str, seconds: float, tmp_path: Path
) -> None:
    """The units are Prometheus's own (model.ParseDuration)."""
    rules = [
        f"{{alert: A, expr: up == 0, for: {held}, keep_firing_for: {held}}}"
        for held in ("100ms", longest)
    ]
    text = f"groups: [{{name: g, rules: [{', '.join(rules)}]}}]"
    (alert,) = alerts_of([read_rule_file(written(tmp_path, text))], ["up"]).alerts
    assert alert.for_us == alert.keep_firing_for_us == seconds * 1_000_000


def test_what_recording_rules_make_of_served_metrics_is_served(tmp_path: Path) -> None:
    file = read_rule_file(written(tmp_path, GROUPS))
    (alert,), metrics = alerts_of([file], {"up"})
    assert alert.is_simulated
    assert metrics == {"up"}
    (alert,), metrics = alerts_of([file], {"kafka_brokers"})
    assert alert.missing == ["cluster:up:sum"]
    assert metrics == set()


def test_rules_of_one_name_are_one_alert_as_in_the_series_alerts(tmp_path: Path) -> None:
    text = "groups: [{name: g, rules: [{alert: A, expr: up}, {alert: A, expr: jvm_heap}]}]"
    (alert,), _ = alerts_of([read_rule_file(written(tmp_path, text))], {"up"})
    assert len(alert.places) == 2
    # One of them would be silent for ever, so that nothing follows from the name's silence.
    assert alert.missing == ["jvm_heap"]


def test_an_alert_that_reads_no_metric_says_nothing_of_an_incident(tmp_path: Path) -> None:
    text = "groups: [{name: g, rules: [{alert: Watchdog, expr: vector(1)}]}]"
    (alert,), _ = alerts_of([read_rule_file(written(tmp_path, text))], {"up"})
    assert not alert.is_simulated


@pytest.mark.parametrize(
    ("spelling", "metric"),
    [
        # Names of Strimzi, of kafka-observ-lib and of most rules in small letters.
        ("strimzi", "kafka_server_replicamanager_underreplicatedpartitions"),
        ("strimzi", "kafka_controller_controllerstats_uncleanleaderelections_total"),
        ("grafana-cloud", "kafka_server_replicamanager_isrshrinkspersec"),
        ("bitnami", "kafka_server_replicamanager_total_underreplicatedpartitions_value"),
        ("jmx-exporter", "kafka_server_replicamanager_value"),
        ("jmx-exporter with capitals", "kafka_server_ReplicaManager_Value"),
        ("strimzi with capitals", "kafka_server_ReplicaManager_UnderReplicatedPartitions"),
    ],
)
def test_the_exporter_of_rules_is_recognised(spelling: str, metric: str, tmp_path: Path) -> None:
    text = f"groups: [{{name: g, rules: [{{alert: A, expr: {metric} and up}}]}}]"
    found = recognised_spelling([read_rule_file(written(tmp_path, text))])
    assert found.name == spelling
    assert never_made([metric], found._replace(rules=())) == {metric: None}


def test_rules_that_several_exporters_serve_are_those_of_the_one_with_most_alerts(
    tmp_path: Path,
) -> None:
    text = """
groups:
  - name: kafka
    rules:
      - {alert: Offline, expr: kafka_controller_kafkacontroller_offlinepartitionscount > 0}
      - {alert: Shrinks, expr: kafka_server_replicamanager_isrshrinkspersec > 0}
"""
    file = read_rule_file(written(tmp_path, text))
    assert recognised_spelling([file]).name == "grafana-cloud"


@pytest.mark.parametrize(
    ("spelling", "metric", "own"),
    [
        (
            *("strimzi", "kafka_server_replicamanager_isrshrinkspersec"),
            "kafka_server_replicamanager_isrshrinks_total",
        ),
        (
            *("jmx-exporter", "kafka_server_replicamanager_leadercount"),
            'kafka_server_replicamanager_value{name="LeaderCount"}',
        ),
        # Without rules a JMX exporter gives this name to many values.
        ("confluent", "kafka_server_replicamanager_value", None),
        # Strimzi's names have the type of the MBean.
        ("strimzi", "kafka_server_underreplicatedpartitions", None),
    ],
)
def test_an_exporter_never_makes_a_name_but_its_own_for_the_value(
    spelling: str, metric: str, own: str | None
) -> None:
    assert never_made([metric], SPELLINGS[spelling]) == {metric: own}


@pytest.mark.parametrize(
    "metric", ["jvm_memory_bytes_used", "kafka_consumer_lag", "kafka_server_raft_metrics_fish"]
)
def test_a_metric_that_is_not_simulated_is_no_name_that_is_never_made(metric: str) -> None:
    """Grafana's rules take any MBean of Kafka, and the others are not Kafka's."""
    assert never_made([metric], SPELLINGS["grafana-cloud"]) == {}


def test_a_rule_with_an_alternative_that_a_cluster_may_have_is_not_dead(tmp_path: Path) -> None:
    """Also not one that reads what a recording rule makes of it."""
    text = """
groups:
  - name: kafka
    rules:
      - {record: "of:two", expr: kafka_server_replicamanager_isrshrinkspersec or jvm_heap}
      - {record: "of:one", expr: kafka_server_replicamanager_isrshrinkspersec}
      - {alert: May, expr: "of:two > 0"}
      - {alert: Dead, expr: "of:one > 0"}
"""
    rules = [read_rule_file(written(tmp_path, text))]
    may, dead = alerts_on(rules, SPELLINGS["strimzi"], []).alerts
    assert (may.missing, may.never_made) == (["of:two"], {})
    assert dead.never_made == {"of:one": None}
