"""``tidegauge lint``: a cluster with every fault, and what is left as one after the other is mended."""

from __future__ import annotations

import json
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
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
    "controllers_in_one_rack": "FAILED",
    "acks_below_all": "records_acknowledged_lost",
    "producers_give_up_in_failover": "FAILED",
}


def lint(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["lint", *map(str, words)])


def found(*words: str | Path) -> dict[str, dict[str, Any]]:
    result = lint(*words, "--json")
    assert result.exit_code == 0, result.stderr
    return {each.pop("check"): each for each in json.loads(result.stdout)["findings"]}
