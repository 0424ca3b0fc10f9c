"""``tidegauge lint``: a cluster with every fault, and with one after the other mended."""

from __future__ import annotations

import json
import re
import shlex
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

import tidegauge
from importing import in_one_line
from tidegauge.command_line import app
from tidegauge.replication.release_versions import Release
from tidegauge.scenario.lint.lint import CHECKS
from tidegauge.scenario.model.kafka_setting_names import is_in_line
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.text.changes import parse_change

DATA = Path(__file__).parents[1] / "data"
FAULTY = DATA / "scenarios" / "all-faults.yaml"

SPREAD = ", ".join(
    f"{number}: [{number % 8 + 1}, {(number + 1) % 8 + 1}, {(number + 2) % 8 + 1}]"
    for number in range(16)
)


def without(name: str) -> str:
    """The settings of all brokers without this one."""
    settings = yaml.safe_load(FAULTY.read_text())["cluster"]["settings"]
    return f"cluster.settings={json.dumps({key: settings[key] for key in settings if key != name})}"


#: For each fault of the cluster the change that mends it.
MENDS = {
    "min_insync_replicas_above_replicas": "topics.stricter.assignment={0: [3, 4, 5, 9]}",
    "min_insync_replicas_of_all_replicas": "topics.strict.settings.min.insync.replicas=2",
    "single_replica": "topics.single.replication_factor=3",
    "unclean_elections": "topics.unclean.settings.unclean.leader.election.enable=false",
    "isr_of_one_acknowledges": "topics.relaxed.settings.min.insync.replicas=2",
    "session_outlives_lag": "cluster.settings.zookeeper.session.timeout.ms=18000",
    "replicas_in_one_rack": "topics.crowded.assignment={0: [1, 5, 6]}",
    "rack_loss_refuses_writes": "topics.halves.assignment={0: [1, 5, 6]}",
    "controllers_in_one_rack": "zookeeper.rack=null",
    "even_number_of_controllers": "zookeeper.servers=3",
    "brokers_without_rack": "cluster.racks={a: [1, 4, 7], b: [2, 5, 8], c: [3, 6, 9]}",
    "leaders_not_preferred": "cluster.settings.auto.leader.rebalance.enable=true",
    "preferred_leaders_uneven": f"topics.tilted.assignment={{{SPREAD}}}",
    "acks_below_all": "workload.producers.logs.settings.acks=all",
    "producers_give_up_in_failover": "workload.producers.hasty.settings.delivery.timeout.ms=120000",
    "producers_give_up_before_shrink": (
        "workload.producers.impatient.settings.delivery.timeout.ms=120000"
    ),
    "fetches_below_batches": "cluster.settings.replica.fetch.max.bytes=1048576",
    "settings_unknown_to_kafka": without("flux.capacitor"),
    "settings_of_kraft_with_zookeeper": without("broker.session.timeout.ms"),
    "settings_of_other_releases": without("group.streams.max.size"),
    "settings_not_simulated": without("num.recovery.threads.per.data.dir"),
}
#: The figures of a run in which a fault shows: that of the mended cluster is less.
FIGURES = {
    "min_insync_replicas_above_replicas": "partition_seconds_under_min_isr",
    "min_insync_replicas_of_all_replicas": "partition_seconds_under_min_isr",
    "single_replica": "partition_seconds_offline",
    "unclean_elections": "unclean_elections",
    "isr_of_one_acknowledges": "records_acknowledged_lost",
    "session_outlives_lag": "partition_seconds_offline",
    "replicas_in_one_rack": "partition_seconds_offline",
    "rack_loss_refuses_writes": "partition_seconds_under_min_isr",
    "controllers_in_one_rack": "partition_seconds_stalled",
    "preferred_leaders_uneven": "partition_seconds_not_accepting",
    "acks_below_all": "records_acknowledged_lost",
    "producers_give_up_in_failover": "records_failed",
    "producers_give_up_before_shrink": "records_failed",
}


def lint(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["lint", *map(str, words)])


def found(*words: str | Path) -> dict[str, dict[str, Any]]:
    result = lint(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return {each.pop("check"): each for each in json.loads(result.stdout)["findings"]}


def changes_in(finding: dict[str, Any]) -> list[str]:
    """The changes in the command of a finding, which a shell would run."""
    words = shlex.split(finding["command"])
    return [change for option, change in pairwise(words) if option == "--set"]


@cache
def all_found() -> dict[str, dict[str, Any]]:
    return found(FAULTY)


def test_each_fault_of_a_cluster_is_found() -> None:
    """A quorum of one controller has a cluster of its own: here are too many."""
    assert all_found().keys() == MENDS.keys() == CHECKS.keys() - {"single_controller"}
    concerned = {name: (each["concerned"], each["count"]) for name, each in all_found().items()}
    assert concerned["min_insync_replicas_of_all_replicas"] == ("partitions", 2)
    assert concerned["leaders_not_preferred"] == ("partitions", 6)
    assert concerned["session_outlives_lag"] == ("brokers", 9)
    assert concerned["acks_below_all"] == ("producer groups", 1)
    assert all_found()["replicas_in_one_rack"]["named"] == ["crowded-0"]
    assert all_found()["brokers_without_rack"]["named"] == ["9"]
    assert all_found()["preferred_leaders_uneven"]["named"] == ["6"]
    assert "42 s" in all_found()["producers_give_up_in_failover"]["risk"]


@pytest.mark.parametrize("fault", MENDS)
def test_a_fault_that_is_mended_is_the_only_one_that_is_gone(fault: str) -> None:
    assert found(FAULTY, "--set", MENDS[fault]).keys() == MENDS.keys() - {fault}


#: Of those that end alike a few are enough for every day.
EVERY_DAY = {"session_outlives_lag", "acks_below_all", "producers_give_up_before_shrink"}


@pytest.mark.parametrize(
    "fault",
    [pytest.param(name, marks=() if name in EVERY_DAY else pytest.mark.long) for name in FIGURES],
)
def test_the_command_of_a_finding_shows_the_fault_and_not_in_the_mended_cluster(
    fault: str, tmp_path: Path
) -> None:
    changes = dict(map(parse_change, changes_in(all_found()[fault])))
    path, value = parse_change(MENDS[fault])
    faulty = tidegauge.run(FAULTY, changes=changes, out=tmp_path / "faulty")
    mended = tidegauge.run(FAULTY, changes={**changes, path: value}, out=tmp_path / "mended")
    assert faulty.summary[FIGURES[fault]] > mended.summary[FIGURES[fault]]


def test_each_command_can_be_run(tmp_path: Path) -> None:
    """Also of a short scenario with drawn faults, steps and alerts of its own."""
    mine = tmp_path / "mine.yaml"
    mine.write_text(
        """
duration: 50s
release: "3.9"
mode: kraft
cluster: {brokers: 4, racks: {a: [1, 2], "b: [c]": [3, 4]}}
controllers: {count: 3, racks: [a, a, "b: [c]"]}
topics:
  - {name: orders, partitions: 3, replication_factor: 2, settings: {min.insync.replicas: 2}}
  - {name: logs, assignment: {0: [3, 4]}}
workload:
  producers: [{name: shop, topics: [logs], batches_per_second: 1, settings: {acks: all}}]
fault_rates: [{kind: crash, brokers: [1], mtbf: 20s, repair_time: 5s}]
faults:
  - {name: later, kind: pause, for: 5s, brokers: [1]}
  - {kind: pause, at: 1s, for: 5s, brokers: [2]}
steps: [{at: 30s, do: begin_fault, fault: later}]
alerts: {fire: {UnderReplicated: 30s}}
"""
    )
    commands = 0
    for scenario in (FAULTY, mine):
        for each in found(scenario).values():
            command, file = shlex.split(each["command"])[1:3]
            assert command in {"run", "validate"}
            load_scenario(Path(file), dict(map(parse_change, changes_in(each))))
            commands += 1
    assert commands > len(MENDS) + 3


@pytest.mark.parametrize("shipped", ["quickstart", "quickstart-zookeeper", "failover-budget"])
def test_a_healthy_cluster_has_no_finding(shipped: str) -> None:
    """Three replicas in three racks, two of them in sync for acks=all, three controllers."""
    result = lint(shipped, "--strict")
    assert (result.exit_code, result.stdout) == (0, f"0 findings of {len(CHECKS)} checks\n")


def test_one_controller_is_a_finding_in_either_mode() -> None:
    """Where there is no second one, no rack has the majority of them."""
    for shipped, change in (
        ("quickstart", "controllers={count: 1, racks: [a]}"),
        ("quickstart-zookeeper", "zookeeper={servers: 1}"),
    ):
        assert found(shipped, "--set", change).keys() == {"single_controller"}


def test_eligible_leader_replicas_mend_a_long_session() -> None:
    """KIP-966: replicas that a leader removed from a small ISR may still lead."""
    session = ("--set", "controllers.settings.broker.session.timeout.ms=60000")
    without_elr = ("--set", "eligible_leader_replicas=false")
    topic = (
        "{name: orders, partitions: 6, replication_factor: 3, settings: {min.insync.replicas: 2}}"
    )
    orders_only = ("--set", f"topics=[{topic}]", "--set", "workload.consumers=[]")
    assert found("quickstart", *session, *orders_only) == {}
    left = found("quickstart", *session, *orders_only, *without_elr)
    assert left.keys() == {"session_outlives_lag"}


def test_findings_are_printed_with_risk_remedy_and_command() -> None:
    change = "topics.orders.settings.min.insync.replicas=3"
    result = lint("quickstart", "--set", change, "--strict")
    assert result.exit_code == 1
    unfolded = re.sub(r"\n {4,}", " ", result.stdout)
    first, risk, remedy, command, _, last = unfolded.splitlines()
    assert first == (
        "min_insync_replicas_of_all_replicas: 60 partitions "
        "(orders-0, orders-1, orders-2, orders-3 and 56 more)"
    )
    assert risk.startswith("  risk    min.insync.replicas equals the replication factor")
    assert remedy.startswith("  remedy  min.insync.replicas one below")
    assert command == (
        f"  try     tidegauge run quickstart --set {change} "
        "--set 'faults=[{kind: restart, at: 1m, for: 1m, brokers: [2]}]'"
    )
    assert last == f"1 finding of {len(CHECKS)} checks"


def test_an_import_and_a_validation_end_with_the_findings(tmp_path: Path) -> None:
    dump, out = DATA / "real_input" / "kafka-2.6.3-healthy-describe.txt", tmp_path / "mine.yaml"
    imported = CliRunner().invoke(app, ["import", str(dump), "-o", str(out)])
    validated = CliRunner().invoke(app, ["validate", str(out)])
    listed = [f"  {name}: " for name in found(out)]
    assert {"settings_not_simulated", "min_insync_replicas_above_replicas"} < found(out).keys()
    for result in (imported, validated):
        assert f"which `tidegauge lint {out}` explains:" in in_one_line(result.stdout)
        assert all(name in result.stdout for name in listed)
        assert "min.insync.replicas is above the replication factor" in result.stderr


def test_a_broker_of_an_older_release_ignores_what_the_others_read() -> None:
    """fetch.max.bytes of brokers is of 2.5 (KAFKA-9101)."""
    mixed = (
        *("--set", "cluster.settings.fetch.max.bytes=1000000"),
        *("--set", "cluster.broker_releases={2: {release: '2.4'}}", "--set", "protocol='2.4'"),
    )
    assert found("quickstart-zookeeper", *mixed[:2]) == {}
    assert found("quickstart-zookeeper", *mixed).keys() == {"settings_of_other_releases"}


NAMES_BY_RELEASE = json.loads((DATA / "setting_names.json").read_text())


@pytest.mark.parametrize("kind", NAMES_BY_RELEASE)
def test_the_releases_of_a_setting_are_those_of_kafkas_own_lists(kind: str) -> None:
    """Of those that are known to come and go with a line of releases."""
    names: set[str] = set()
    every = {name for change in NAMES_BY_RELEASE[kind].values() for name in change["added"]}
    every -= {"max.decompressed.message.bytes", *(n for n in every if n.startswith("sasl."))}
    for release, change in NAMES_BY_RELEASE[kind].items():
        names = names - set(change["removed"]) | set(change["added"])
        line = Release.parse(release).line
        assert {name for name in every if is_in_line(name, kind, line)} == names & every
