"""``tidegauge alerts``: alert rules on incidents, and what is said of them."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from prometheus_server import needs_promtool
from tidegauge.command_line import app
from tidegauge.rehearsal.incidents import incident_names, load_incident

#: Third-party dashboards and rules are nobody's to copy: they are where their reader has them.
DASHBOARDS = Path(
    os.environ.get("TIDEGAUGE_DASHBOARDS")
    or Path(__file__).parents[2].parent / "shared" / "dashboards"
)
STRIMZI = {
    "UnderReplicatedPartitions",
    "UnderMinIsrPartitionCount",
    "OfflinePartitions",
    "AbnormalControllerState",
    "OfflineLogDirectoryCount",
    "UnderReplicatedPartition",
}
OBSERV_LIB = {
    "KafkaUnderReplicatedPartitionCount",
    "KafkaUnderMinISRPartitionCount",
    "KafkaOfflinePartitionCount",
    "KafkaNoActiveController",
    "KafkaISRShrinkRate",
    "KafkaISRExpandRate",
    "KafkaUncleanLeaderElection",
    "KafkaPreferredReplicaImbalance",
}

RULES = """
groups:
  - name: mine
    rules:
      - record: cluster:brokers:count
        expr: count(kafka_server_replicamanager_leadercount)
      - {alert: BrokerMissing, expr: "cluster:brokers:count < 3", for: 1m}
      - {alert: BrokerDown, expr: 'up{job="kafka"} == 0', for: 1m, keep_firing_for: 2m}
      - {alert: HeapFull, expr: jvm_memory_bytes_used > 1e9}
      - {alert: NoBrokers, expr: "kafka_brokers == 0"}
"""
INCIDENT = """
description: One of three brokers is down for four minutes.
duration: 15m
release: "2.6"
cluster: {brokers: 3}
topics: [{name: orders, partitions: 3, replication_factor: 3}]
faults: [{name: crash, kind: crash, brokers: [2], at: 5m, for: 4m}]
alerts:
  fire: {BrokerMissing: 90s, BrokerDown: 90s}
  clear: {BrokerMissing: 30s, BrokerDown: 3m}
  silent: all
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rules and an incident, to work in."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.yml").write_text(RULES, encoding="utf-8")
    (tmp_path / "night.yaml").write_text(INCIDENT, encoding="utf-8")
    (tmp_path / "board.json").write_text('{"panels": []}', encoding="utf-8")
    slow = "groups: [{name: g, rules: [{alert: A, expr: up == 0, for: 5 minutes}]}]"
    (tmp_path / "slow.yml").write_text(slow, encoding="utf-8")
    return tmp_path


def alerts(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["alerts", "--jobs", "1", *arguments])


def unfolded(text: str) -> str:
    """A text whose long lines go on in the next ones, in one line."""
    return " ".join(text.replace("\\\n", " ").split())


def verdicts(result: Any) -> dict[tuple[str, str], dict[str, Any]]:
    """By incident and alert: what the JSON says."""
    return {
        (incident["incident"], alert["alert"]): alert
        for incident in json.loads(result.stdout)["incidents"]
        for alert in incident["alerts"]
    }


@needs_promtool
def test_rules_are_tried_on_an_incident_of_one_s_own(folder: Path) -> None:
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml", "--json")
    assert result.exit_code == 0, result.output
    found = verdicts(result)
    # A broker that is down vanishes at the next scrape; it is missed a minute later.
    missing = found["night.yaml", "BrokerMissing"]
    assert missing["verdict"] == "fired in time"
    assert (missing["fired_after_seconds"], missing["over_after_seconds"]) == (75, 15)
    assert found["night.yaml", "BrokerDown"]["over_after_seconds"] == 15 + 120
    assert found["night.yaml", "NoBrokers"]["verdict"] == "stayed silent"
    assert found["night.yaml", "HeapFull"]["verdict"] == "not simulated"
    assert (folder / "rules.yml").read_text(encoding="utf-8") == RULES


@needs_promtool
def test_a_late_alert_fails_the_command_which_says_how_to_see_it_again(folder: Path) -> None:
    late = INCIDENT.replace("BrokerDown: 90s", "BrokerDown: 30s")
    (folder / "night.yaml").write_text(late, encoding="utf-8")
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml")
    assert result.exit_code == 1
    assert "1 of 3 expectations failed, in 1 of 1 incident" in result.stdout
    command = shlex.split(unfolded(result.stdout).partition("Again: ")[2])
    assert command[:2] == ["tidegauge", "alerts"]
    again = CliRunner().invoke(app, command[1:])
    assert again.exit_code == 1
    assert "late: it fired at 375s, 1m15s after the trouble began" in unfolded(again.stdout)


@needs_promtool
def test_what_was_tried_can_be_kept_and_asked_again(folder: Path) -> None:
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml", "--keep", "kept")
    assert result.exit_code == 0, result.output
    kept = folder / "kept" / "night"
    assert (kept / "rules-1.yml").read_text(encoding="utf-8") == RULES
    assert 'up{job=\\"kafka\\",instance=\\"night-kafka-2\\"' in (kept / "test.yml").read_text()
    assert "BrokerDown" in (kept / "promtool.txt").read_text()


#: In Confluent's names, of a cluster with a quorum of controllers.
CONFLUENTS = """
groups:
  - name: confluent
    rules:
      - {alert: Fenced, expr: 'kafka_controller_kafkacontroller_fencedbrokercount > 0'}
      - alert: NotOneController
        expr: sum(kafka_controller_kafkacontroller_activecontrollercount) != 1
      - {alert: TooFew, expr: 'count(up{job="kafka-controller"} == 1) != 3'}
      - {alert: Shrinks, expr: 'rate(kafka_server_replicamanager_isrshrinkspersec[1m]) > 0'}
      - {alert: Strimzis, expr: 'rate(kafka_server_replicamanager_isrshrinks_total[1m]) > 0'}
"""


@needs_promtool
def test_rules_in_the_names_of_another_exporter_are_tried_on_a_quorum(folder: Path) -> None:
    """A crash is a fenced broker, after its session; its leaders are elected by the controller."""
    (folder / "rules.yml").write_text(CONFLUENTS, encoding="utf-8")
    kraft = INCIDENT.partition("alerts:")[0].replace('"2.6"', '"4.1"') + "controllers: {count: 3}\n"
    kraft += "alerts: {fire: {Fenced: 30s}, clear: {Fenced: 45s}, silent: all}\n"
    (folder / "night.yaml").write_text(kraft, encoding="utf-8")
    options = ("--rules", "rules.yml", "--incidents", "night.yaml", "--json")
    result = alerts(*options, "--metrics-spelling", "confluent")
    assert result.exit_code == 0, result.output
    found = verdicts(result)
    assert found["night.yaml", "Fenced"]["fired_after_seconds"] == 15
    # Fencing is no change that a leader has asked for.
    for silent in ("NotOneController", "TooFew", "Shrinks"):
        assert found["night.yaml", silent]["verdict"] == "stayed silent"
    assert found["night.yaml", "Strimzis"]["verdict"] == "never exported"


@needs_promtool
def test_the_exporter_is_recognised_by_the_names_in_rules(folder: Path) -> None:
    """A JMX exporter without rules and without lowercaseOutputName."""
    (folder / "rules.yml").write_text("""
groups:
  - name: mine
    rules:
      - alert: PartitionsUnderReplicated
        expr: kafka_server_ReplicaManager_Value{name="UnderReplicatedPartitions"} > 0
""")
    options = ("--rules", "rules.yml", "--incidents", "night.yaml", "--json")
    result = alerts(*options, "--expect", "PartitionsUnderReplicated=fires")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["metrics_spelling"] == "jmx-exporter with capitals"


@needs_promtool
def test_a_name_that_the_exporter_never_makes_is_told_apart_from_a_metric_that_is_not_simulated(
    folder: Path,
) -> None:
    """Such a rule is dead on the cluster, too; the exporter's own name is beside it."""
    (folder / "rules.yml").write_text(CONFLUENTS, encoding="utf-8")
    options = ("--rules", "rules.yml", "--incidents", "night.yaml")
    result = alerts(*options, "--metrics-spelling", "strimzi")
    assert (
        "Shrinks: needs kafka_server_replicamanager_isrshrinkspersec "
        "(here kafka_server_replicamanager_isrshrinks_total)"
    ) in unfolded(result.stdout)
    exporter = """
rules:
  - {pattern: 'kafka.server<type=ReplicaManager, name=(.+)><>Value', name: kafka_server_$1}
"""
    (folder / "exporter.yml").write_text(exporter, encoding="utf-8")
    # Of two that Kafka has, the exporter could give out the second, of a newer release.
    rules = [
        "{alert: Election, expr: kafka_controller_controllerstats_autoleaderbalancerateandtimems}",
        "{alert: Heap, expr: jvm_memory_bytes_used > 1e9}",
        "{alert: Unknown, expr: kafka_server_ProducerIdCount > 1000}",
        "{alert: DiskFailed, expr: kafka_server_OfflineReplicaCount > 0}",
    ]
    (folder / "rules.yml").write_text(f"groups: [{{name: mine, rules: [{', '.join(rules)}]}}]")
    result = alerts(
        *(*options, "--metrics-spelling", "exporter.yml", "--expect", "DiskFailed=silent", "--json")
    )
    assert result.exit_code == 0, result.output
    assert {name: each["verdict"] for (_, name), each in verdicts(result).items()} == {
        "Election": "never exported",
        "Heap": "not simulated",
        "Unknown": "not simulated",
        "DiskFailed": "stayed silent",
    }


@needs_promtool
def test_rules_of_an_exporter_that_list_requests_are_tried_on_those_that_exist(
    folder: Path,
) -> None:
    """RequestMetrics of kafka.network: a broker's Fetch is FetchConsumer and FetchFollower, too."""
    exporter = """
rules:
  - pattern: kafka.network<type=RequestMetrics, name=(.+)PerSec, request=(Produce|Fetch)><>Count
    name: kafka_requests_total
    labels: {request: "$2"}
  - pattern: kafka.network<type=RequestMetrics, name=RequestsPerSec, request=(Fetch.+)><>Count
    name: kafka_$1_requests_total
"""
    (folder / "exporter.yml").write_text(exporter, encoding="utf-8")
    rules = """
groups:
  - name: mine
    rules:
      - {alert: Fetches, expr: 'rate(kafka_requests_total{request="Fetch"}[1m]) > 0'}
      - {alert: Produces, expr: 'rate(kafka_requests_total{request="Produce"}[1m]) > 0'}
      - {alert: Followers, expr: 'rate(kafka_FetchFollower_requests_total[1m]) > 0'}
      - {alert: Metadata, expr: kafka_Metadata_requests_total > 0}
"""
    (folder / "rules.yml").write_text(rules, encoding="utf-8")
    early = INCIDENT.partition("alerts:")[0].replace("at: 5m", "at: 2s")
    (folder / "night.yaml").write_text(early, encoding="utf-8")
    options = ("--rules", "rules.yml", "--incidents", "night.yaml", "--json")
    result = alerts(*options, "--metrics-spelling", "exporter.yml", "--expect", "Followers=fires")
    assert result.exit_code == 0, result.output
    found = verdicts(result)
    # Nobody produces there.
    for name, fires in {"Fetches": True, "Followers": True, "Produces": False}.items():
        assert bool(found["night.yaml", name]["firing"]) == fires, name
    assert found["night.yaml", "Metadata"]["verdict"] == "not simulated"


@needs_promtool
@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("up == 0", "no incident that was tried expects anything of these alerts"),
        ("jvm_memory_bytes_used > 1e9", "each alert needs a metric that is not simulated"),
    ],
)
def test_nothing_judged_is_an_error(rule: str, reason: str, folder: Path) -> None:
    (folder / "rules.yml").write_text(f"groups: [{{name: m, rules: [{{alert: A, expr: {rule}}}]}}]")
    (folder / "night.yaml").write_text(INCIDENT.partition("alerts:")[0], encoding="utf-8")
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml")
    assert result.exit_code == 2
    # A run of more than two seconds has lines of progress before.
    line = result.stderr.splitlines()[-1]
    assert line.startswith("tidegauge: nothing was judged: ")
    assert reason in line


@needs_promtool
def test_an_expectation_of_an_alert_that_no_file_has_is_told(folder: Path) -> None:
    typing_error = INCIDENT.replace("fire: {BrokerMissing: 90s,", "fire: {BrokerMising: 90s,")
    typing_error = typing_error.replace("clear: {BrokerMissing: 30s,", "clear: {")
    (folder / "night.yaml").write_text(typing_error, encoding="utf-8")
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml")
    assert "in none of the files: BrokerMising" in result.stdout
    # What is not named there is to be silent, and was not.
    assert result.exit_code == 1


@needs_promtool
def test_a_shipped_incident_respects_the_for_of_a_rule_and_blames_no_rule_that_it_does_not_know(
    folder: Path,
) -> None:
    """In a crash of ten minutes a `for` of 5 minutes fires later, and one of half an hour never."""
    rule = (
        "{{alert: {}, expr: 'kafka_server_replicamanager_underreplicatedpartitions > 0', for: {}}}"
    )
    rules = [
        rule.format("UnderReplicatedPartitions", "5m"),
        rule.format("UnderReplicatedPartition", "30m"),
        "{alert: Mine, expr: 'up == 0'}",
    ]
    (folder / "rules.yml").write_text(f"groups: [{{name: mine, rules: [{', '.join(rules)}]}}]")
    result = alerts("--rules", "rules.yml", "--incidents", "broker-crash,quorum-lost", "--json")
    assert result.exit_code == 0, result.output
    found = verdicts(result)
    assert found["broker-crash", "UnderReplicatedPartitions"]["verdict"] == "fired in time"
    assert found["broker-crash", "UnderReplicatedPartitions"]["fired_after_seconds"] > 300
    assert found["broker-crash", "UnderReplicatedPartition"]["verdict"] == "shorter than for"
    assert found["quorum-lost", "Mine"]["firing"]
    assert found["quorum-lost", "Mine"]["verdict"] == "not judged"


@needs_promtool
@pytest.mark.usefixtures("folder")
def test_expectations_of_single_rules_come_before_those_of_the_incident() -> None:
    options = ("--rules", "rules.yml", "--incidents", "night.yaml")
    result = alerts(
        *options, "--expect", "NoBrokers=silent", "--expect", "BrokerDown=fires", "--json"
    )
    assert result.exit_code == 0, result.output
    assert verdicts(result)["night.yaml", "BrokerDown"]["expected"] == "fires"
    wrong = ("--expect", "BrokerDown=fires", "--expect", "BrokerDown=silent@night.yaml")
    result = alerts(*options, *wrong)
    assert result.exit_code == 1
    assert "BrokerDown: misfire: it fired at 375s" in result.stdout
    again = unfolded(result.stdout)
    assert again.endswith("--expect BrokerDown=fires --expect BrokerDown=silent@night.yaml")


@needs_promtool
def test_a_misspelt_metric_is_named_with_its_file_and_rule_and_the_nearest_metric(
    folder: Path,
) -> None:
    """The name of a metric that Kafka has and that is not simulated is no misspelling."""
    kafka = "kafka_server_replicamanager_"
    misspelt = RULES.replace("kafka_brokers == 0", f"{kafka}underreplicatedpartition > 0")
    misspelt += (
        "      - {alert: Rejected, expr: kafka_server_brokertopicmetrics_bytesrejected_total > 0}\n"
    )
    (folder / "rules.yml").write_text(misspelt, encoding="utf-8")
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml")
    assert result.exit_code == 1
    assert (
        "Misspelt metrics: errors of the rules; not judged: "
        f"rules.yml: NoBrokers: no metric {kafka}underreplicatedpartition; "
        f"did you mean {kafka}underreplicatedpartitions? Not simulated"
    ) in unfolded(result.stdout)
    asked = alerts(
        "--rules", "rules.yml", "--incidents", "night.yaml", "--expect", "NoBrokers=fires"
    )
    assert f"did you mean {kafka}underreplicatedpartitions?" in asked.stderr


@needs_promtool
def test_a_matrix_shows_what_each_alert_did_and_where_its_metrics_do_not_exist(
    folder: Path,
) -> None:
    """A cluster with ZooKeeper has no fenced brokers; that it has no such metric is no misfire."""
    rules = [
        "{alert: Down, expr: 'up == 0'}",
        "{alert: Fenced, expr: kafka_controller_kafkacontroller_fencedbrokercount > 5}",
        "{alert: NoFenced, expr: absent(kafka_controller_kafkacontroller_fencedbrokercount)}",
        "{alert: NoBrokers, expr: count(kafka_server_replicamanager_leadercount) == 0}",
    ]
    (folder / "rules.yml").write_text(f"groups: [{{name: mine, rules: [{', '.join(rules)}]}}]")
    zookeeper = INCIDENT.partition("  fire:")[0] + "  {may_fire: [Down], silent: all}\n"
    (folder / "night.yaml").write_text(zookeeper, encoding="utf-8")
    kraft = zookeeper.replace('"2.6"', '"4.4"') + "controllers: {count: 3}\n"
    (folder / "quorum.yaml").write_text(kraft, encoding="utf-8")
    result = alerts("--rules", "rules.yml", "--incidents", "night.yaml,quorum.yaml")
    assert result.exit_code == 0, result.output
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[lines.index("          1 2") :][:5] == [
        "          1 2",
        "Down      F F",
        "Fenced    - .",
        "NoFenced  - .",
        "NoBrokers . .",
    ]
    assert all(len(line) <= 100 for line in lines)


@needs_promtool
@pytest.mark.usefixtures("folder", "ray_here")
def test_incidents_in_several_processes_come_to_the_same_in_the_same_order() -> None:
    names = ("--incidents", "night.yaml,follower-blip", "--json")
    one, several = (
        CliRunner().invoke(app, ["alerts", "--rules", "rules.yml", "--jobs", jobs, *names])
        for jobs in ("1", "2")
    )
    assert list(verdicts(one)) == list(verdicts(several))
    assert verdicts(one) == verdicts(several)


@needs_promtool
def test_a_single_burst_fires_no_rule_about_a_rate_that_has_to_last(folder: Path) -> None:
    """The reference's trap 6, with the forms of rules that it is about."""
    (folder / "rates.yml").write_text(
        """
groups:
  - name: rates
    rules:
      - {alert: KafkaISRShrinkRate, for: 5m, keep_firing_for: 15m,
         expr: "sum by (instance) (rate(kafka_server_replicamanager_isrshrinks_total[5m])) != 0"}
      - {alert: ShrankAtAll, expr: "increase(kafka_server_replicamanager_isrshrinks_total[5m]) > 0"}
""",
        encoding="utf-8",
    )
    result = alerts(
        *("--rules", "rates.yml", "--json", "--incidents"),
        "follower-blip,flapping-follower,slow-disk-leader",
    )
    assert result.exit_code == 0, result.output
    found = verdicts(result)
    assert found["follower-blip", "ShrankAtAll"]["firing"]
    assert found["follower-blip", "KafkaISRShrinkRate"]["pending"]
    assert found["follower-blip", "KafkaISRShrinkRate"]["verdict"] == "stayed silent"
    for lasting in ("flapping-follower", "slow-disk-leader"):
        assert found[lasting, "KafkaISRShrinkRate"]["verdict"] == "fired in time"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--rules", "none.yml"), "none.yml: No such file or directory"),
        (("--rules", "night.yaml"), "night.yaml: has neither `groups` of rules"),
        (("--rules", "board.json"), "`tidegauge dashboards --check` reads it"),
        (("--rules", "slow.yml"), "group g, rule 1 (A): `for: 5 minutes` is not a duration"),
        (("--rules", "rules.yml", "--incidents", "broker-crsh"), "did you mean broker-crash?"),
        (("--rules", "rules.yml", "--incidents", " ,"), "--incidents: must name an incident"),
        (("--rules", "rules.yml", "broker-crash"), "broker-crash: is an incident"),
        (("--rules", "rules.yml", "--scrape-interval", "15x"), "--scrape-interval must be a"),
        (("--rules", "rules.yml", "--evaluation-interval", "1ms"), "whole milliseconds, and 1s"),
        (("--rules", "rules.yml", "--promtool", "./night.yaml"), "night.yaml: is not a program"),
        (("--rules", "rules.yml", "--keep", "rules.yml"), "rules.yml: cannot be written to"),
        (("--rules", "rules.yml", "--expect", "BrokerDown"), "must be RULE=fires or RULE=silent"),
        (
            ("--rules", "rules.yml", "--expect", "BrokerDwn=fires"),
            "no alert BrokerDwn is tried; did you mean BrokerDown?",
        ),
        (
            ("--rules", "rules.yml", "--expect", "HeapFull=fires"),
            "HeapFull needs jvm_memory_bytes_used, which is not exported",
        ),
        (
            ("--rules", "rules.yml", "--expect", "BrokerDown=silent@broker-crsh"),
            "no incident broker-crsh is tried; did you mean broker-crash?",
        ),
        (
            ("--rules", "rules.yml", "--incidents", "incidents/broker-crash,broker-crash"),
            "are both called broker-crash",
        ),
    ],
)
def test_what_cannot_be_tried_is_told_in_one_line(arguments: tuple[str, ...], problem: str) -> None:
    result = alerts(*arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("tidegauge: ")
    assert problem in line


def test_the_library_expects_each_alert_about_replication_to_fire_and_clear_and_be_silent() -> None:
    incidents = {name: load_incident(name).alerts for name in incident_names()}
    assert len(incidents) >= 15
    expected = [each for each in incidents.values() if each is not None]
    assert len(expected) == len(incidents)
    for alert in STRIMZI | OBSERV_LIB:
        assert any(alert in each.clear for each in expected), alert
        assert any(each.stays_silent(alert) for each in expected), alert


@needs_promtool
@pytest.mark.long
@pytest.mark.skipif(
    not DASHBOARDS.is_dir(),
    reason="rule files of other projects are neither beside the checkout nor in the folder that "
    "TIDEGAUGE_DASHBOARDS names",
)
def test_well_known_rules_fire_and_clear_in_the_library_as_it_expects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    files = [
        DASHBOARDS / "strimzi" / "prometheus-kafka-rules.yaml",
        DASHBOARDS / "strimzi" / "prometheus-kafka-exporter-topic-rules-group.yaml",
        DASHBOARDS / "grafana-kafka-observ-lib" / "prometheus_alerts.yaml",
        DASHBOARDS / "awesome-prometheus-alerts" / "danielqsj-kafka-exporter.yml",
    ]
    result = CliRunner().invoke(app, ["alerts", "--rules", *map(str, files), "--json"])
    found = verdicts(result)
    # The healthy days say why this one is a false alarm.
    failures = [key for key, alert in found.items() if alert["is_failure"]]
    days = ("healthy-day", "healthy-day-zookeeper")
    assert failures == [(day, "NoMessageForTooLong") for day in days]
    assert result.exit_code == 1
    for name in STRIMZI | OBSERV_LIB:
        fired = [
            alert
            for (_, alert_name), alert in found.items()
            if alert_name == name and alert["expected"].startswith("within")
        ]
        assert any(
            alert["verdict"] == "fired in time" and alert["over_after_seconds"] is not None
            for alert in fired
        ), name
    burst = {"KafkaISRShrinkRate": "follower-blip", "KafkaISRExpandRate": "broker-crash"}
    for name, incident in (burst | {"KafkaUncleanLeaderElection": "unclean-election"}).items():
        assert found[incident, name]["pending"]
        assert found[incident, name]["verdict"] == "stayed silent"
    dead = [each["alert"] for each in json.loads(result.stdout)["alerts"] if each["is_dead"]]
    # Neither can fire on any cluster: `count` of nothing is no sample, so never 0, and the rate of
    # a counter (ZooKeeperSyncConnectsPerSec) is never below 0.
    assert dead == ["KafkaBrokerCount", "KafkaZookeeperSyncConnect"]
