"""``tidegauge validate``: what a scenario would run, held against what it then does."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from scenario_runs import run_of, shipped
from tidegauge.command_line import app
from tidegauge.scenario.shipped import FOLDER
from tidegauge.traces.run_folder import RunFolder

#: Of a crash beside a cut it is not seen beforehand that nobody is left who may lead.
FAULTS_THAT_DO_MORE_TOGETHER = {"lag-and-session"}

BUSY = """\
duration: 20s
release: "2.6"
cluster: {brokers: 5, racks: [a, b]}
topics:
  - {name: orders, partitions: 40, replication_factor: 3, settings: {max.message.bytes: 1000}}
  - {name: logs, partitions: 10, replication_factor: 2}
workload:
  producers:
    - {name: shop, clients: 3, topics: [orders, logs], batches_per_second: 700}
  consumers:
    - {name: billing, clients: 2, topics: [orders]}
"""
IDLE = """\
duration: 2m
release: "2.6"
cluster: {brokers: 8, log_directories: 2}
topics: [{name: orders, partitions: 30, replication_factor: 3}]
costs: {request: 50us}
faults:
  - {name: bounce, kind: restart, at: 90s, for: 10s, brokers: [2, 3]}
  - {name: later, kind: pause, for: 5s, brokers: ["rack:default"]}
steps:
  - {at: 30s, do: produce, topic: orders, partition: 0, records: 5}
  - {when: {quiescent: true}, within: 1m, do: observe}
  - {after: 1s, do: begin_fault, fault: later}
"""
#: Broker 3 is down all the time: what it follows refuses acks=all, and is tried again for ever.
WOUNDED = """\
duration: 1m
release: "2.6"
cluster: {brokers: 3, start_spread: 0s}
topics: [{name: orders, assignment: {0: [1, 3], 1: [2, 3], 2: [1, 2]}, state: {},
          settings: {min.insync.replicas: 2}}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 3, settings: {acks: all}}]
faults: [{name: down, kind: crash, at: 0s, brokers: [3]}]
"""


def validate(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["validate", *map(str, arguments)])


def foretold(scenario: str | Path) -> dict[str, Any]:
    result = validate(scenario, "--json")
    assert result.exit_code == 0, result.stderr
    said: dict[str, Any] = json.loads(result.stdout)
    return said


def file_of(text: str, path: Path) -> Path:
    path.write_text(text)
    return path


def measured(scenario: str | Path, out: Path) -> tuple[float, float, dict[str, Any]]:
    """Run inline as a person does: seconds of work, peak memory in bytes, summary."""
    code = (
        "import resource, subprocess, sys;"
        "subprocess.run(sys.argv[1:], check=False, stdout=subprocess.DEVNULL);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-m", "tidegauge", "run", str(scenario), "--inline"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    peak = subprocess.run(
        [sys.executable, "-c", code, *command, "--out", str(out)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # What else this machine does is no part of it, unless it is a wait.
    worked = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    summary = RunFolder(out).summary
    assert summary is not None
    return min(worked, time.perf_counter() - started), 1024 * int(peak), summary


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(file.stem for file in FOLDER.glob("*.yaml")))
def test_time_and_memory_are_foretold_within_a_factor_of_one_and_a_half(
    name: str, tmp_path: Path
) -> None:
    # In a process of its own, as the run: memory is that of the process.
    command = [sys.executable, "-m", "tidegauge", "validate", name, "--json"]
    said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    seconds, memory_bytes, summary = measured(name, tmp_path / "run")
    assert 1 / 1.5 < said["expected_seconds"] / seconds < 1.5
    assert 1 / 1.5 < said["expected_memory_bytes"] / memory_bytes < 1.5
    if name not in FAULTS_THAT_DO_MORE_TOGETHER:
        assert 0.5 < said["expected_events"]["total"] / summary["events"] < 2


@pytest.mark.parametrize("text", [BUSY, IDLE, WOUNDED], ids=["busy", "idle", "wounded"])
def test_events_are_foretold_within_a_factor_of_two(text: str, tmp_path: Path) -> None:
    file = file_of(text, tmp_path / "mine.yaml")
    assert CliRunner().invoke(
        app, ["run", str(file), "--inline", "--out", str(tmp_path / "run")]
    ).exit_code in {0, 1}
    summary = RunFolder(tmp_path / "run").summary
    assert summary is not None
    assert 0.5 < foretold(file)["expected_events"]["total"] / summary["events"] < 2


@pytest.mark.parametrize("name", ["quickstart", "quickstart-zookeeper"])
def test_all_costs_that_a_run_asks_for_were_named_before(name: str, tmp_path: Path) -> None:
    named = {each["name"] for each in foretold(name)["leans_on"]}
    summary = run_of(shipped(name), tmp_path / "run").summary
    assert summary is not None
    assert set(summary["cost_model"]) <= named
    assert "costs.offsets_load" in named
    committing_nothing = {each["name"] for each in foretold("slow-disk")["leans_on"]}
    assert "costs.offsets_load" not in committing_nothing


def test_a_scenario_is_told_in_the_order_of_time(tmp_path: Path) -> None:
    said = validate(file_of(IDLE, tmp_path / "idle.yaml")).stdout
    begin = said.index("Faults and steps:")
    told = [line.strip() for line in said[begin:].splitlines()[1:7]]
    assert told == [
        "30.000s  step: produce topic=orders partition=0 records=5",
        "from 30.000s  step: observe as soon as quiescent true, within 1m",
        "from 31.000s  step: begin_fault fault=later",
        "90.000s  bounce: broker 2, broker 3 shut down cleanly (SIGTERM), for 10s",
        "begun by a step  later: rack default (8 brokers) stopped (SIGSTOP), for 5s",
        "",
    ]


def test_what_is_no_default_has_no_star(tmp_path: Path) -> None:
    lines = validate(file_of(IDLE, tmp_path / "idle.yaml"), "--verbose").stdout.splitlines()
    (request,) = [line for line in lines if "costs.request " in line]
    (append,) = [line for line in lines if "costs.append " in line]
    assert request.split() == ["costs.request", "50", "us"]
    assert append.split() == ["*", "costs.append", "200", "us"]


def test_the_cluster_its_clients_and_what_is_not_modelled_are_told(tmp_path: Path) -> None:
    said = validate(file_of(BUSY, tmp_path / "busy.yaml"), "--verbose").stdout
    assert "5 brokers of Kafka 2.6.3: 3 in rack a, 2 in rack b" in said
    assert "2 topics, 50 partitions, 140 replicas" in said
    assert "shop: 3 producers, 700 batches/s of 100 bytes to orders, logs, acks=1" in said
    assert "topics[0].settings.max.message.bytes" in said
    assert "There are no faults and no steps" in said


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--inline",), None),
        (("--actors", "2"), "actors    2: brokers 4-5; brokers 1-3 and the controllers"),
    ],
)
def test_who_would_host_what_is_told_for_actors(
    tmp_path: Path, options: tuple[str, ...], line: str | None
) -> None:
    lines = validate(file_of(BUSY, tmp_path / "busy.yaml"), *options).stdout.splitlines()
    assert [each for each in lines if each.startswith("actors")] == ([line] if line else [])


def test_an_imported_cluster_is_answered_for_in_a_screen_size_and_duration_first(
    tmp_path: Path,
) -> None:
    """A hundred columns; the rest is behind --verbose, and counted."""
    cluster, out = FOLDER / "real-cluster", tmp_path / "mine.yaml"
    imported = ["import", str(cluster / "topics.txt"), "--release", "4.4", "-o", str(out)]
    imported += ["--properties", str(cluster / "server-*.properties")]
    assert CliRunner().invoke(app, imported).exit_code == 0
    brief, whole = validate(out).stdout.splitlines(), validate(out, "--verbose").stdout.splitlines()
    assert len(brief) < 24 < len(whole)
    assert max(map(len, brief + whole)) <= 100
    names = [line.split()[0] for line in brief if line[:1].strip()][:6]
    assert names == ["scenario", "lasts", "cluster", "quorum", "holds", "run"]
    (depends,) = [line for line in brief if line.startswith("depends")]
    starred = sum(line.startswith("    * ") for line in whole)
    assert f"{starred} of them defaults" in depends


def test_another_seed_draws_other_faults(tmp_path: Path) -> None:
    rates = "fault_rates: [{kind: crash, brokers: [1, 2], mtbf: 30s, repair_time: 1s}]\n"
    file = file_of(IDLE + rates, tmp_path / "rates.yaml")
    drawn = [foretold(file)["timetable"]]
    drawn.append(json.loads(validate(file, "--seed", "2", "--json").stdout)["timetable"])
    assert len(drawn[0]) > 4
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BUSY.replace("brokers: 5", "brokers: no"), "busy.yaml:3: cluster.brokers: "),
        (BUSY.replace("clients: 3", "client: 3"), "busy.yaml:9: workload.producers[0].client: "),
    ],
)
def test_a_bad_scenario_is_refused_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    result = validate(file_of(text, tmp_path / "busy.yaml"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in result.stderr


def test_more_actors_than_brokers_are_refused() -> None:
    result = validate("cut-and-pause", "--actors", "9")
    assert result.exit_code == 2
    assert (
        "4 brokers and their controllers can be hosted by 1 to 5 actors, not by 9" in result.stderr
    )


def test_what_is_hardly_meant_is_said_first_and_on_standard_error(tmp_path: Path) -> None:
    """process.roles is KRaft's, and nobody produces: the run would say nothing of either."""
    text = IDLE.replace("log_directories: 2", "settings: {process.roles: broker}")
    file = file_of(
        text.replace("do: produce", "do: fetch").replace("records: 5", "offset: 0"),
        tmp_path / "odd.yaml",
    )
    result = validate(file)
    assert result.exit_code == 0
    first, second = result.stderr.splitlines()
    assert first.startswith("tidegauge: warning: 1 setting (cluster.settings.process.roles): ")
    assert second.startswith("tidegauge: warning: no producers")
    said = json.loads(validate(file, "--json").stdout)["warnings"]
    assert [f"tidegauge: warning: {line}" for line in said] == [first, second]


SCARCE = """\
duration: 20s
release: "2.6"
cluster: {brokers: 3, racks: {a: [1, 2], b: [3]}}
resources: {network_out: 1Gbit/s, brokers: {3: {network_in: 20MB/s}}}
topics: [{name: orders, assignment: {0: [1, 2, 3]}}]
workload:
  producers:
    - {name: shop, topics: [orders], batches_per_second: 300, records_per_batch: 10,
       record_bytes: 10000}
  consumers: [{name: billing, topics: [orders]}, {name: audit, topics: [orders]}]
"""


def test_a_load_above_a_bandwidth_is_warned_of(tmp_path: Path) -> None:
    """30 MB/s come in: to the leader and two followers; it sends them on four times."""
    said = foretold(file_of(SCARCE, tmp_path / "mine.yaml"))
    (warning,) = said["warnings"]
    assert "broker 3: producers and consumers have it receive 30 MB/s" in warning
    assert "its network_in is 20MB/s" in warning
    text = SCARCE.replace("1Gbit/s", "100MB/s").replace("20MB/s", "unlimited")
    (warning,) = foretold(file_of(text, tmp_path / "other.yaml"))["warnings"]
    assert "broker 1: producers and consumers have it send 120 MB/s" in warning


def test_the_resources_that_an_answer_depends_on_are_named(tmp_path: Path) -> None:
    file = file_of(SCARCE, tmp_path / "mine.yaml")
    named = [
        (each["name"], each["value"], each["is_default"]) for each in foretold(file)["resources"]
    ]
    assert [each for each in named if "network" in each[0] or "racks" in each[0]] == [
        ("resources.network_in", "1250MB/s", True),
        ("resources.network_out", "125MB/s", False),
        ("resources.brokers.3.network_in", "20MB/s", False),
    ]
    shown = validate(file, "--verbose").stdout
    assert "* resources.network_in" in shown
    assert "* resources.network_out" not in shown
