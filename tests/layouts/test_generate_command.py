"""``tidegauge generate``, as a person at a shell meets it."""

from __future__ import annotations

import json
import math
import re
import shlex
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.scenario.reading import Scenario, load_scenario
from tidegauge.simulation.quantities import parse_duration

LARGE = (
    *("--brokers", "100", "--topics", "2000", "--partitions", "200000", "--size-skew", "0.7"),
    *("--rate-skew", "1.2", "--batches-per-second", "20000"),
)


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


def generated(out: Path, *options: str) -> Scenario:
    result = run("generate", *options, "-o", out)
    assert result.exit_code == 0, result.output
    return load_scenario(out)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "mine.yaml"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[Scenario, Path]:
    """A cluster of 200,000 partitions, and its file."""
    out = tmp_path_factory.mktemp("large") / "mine.yaml"
    return generated(out, *LARGE), out


def test_without_options_it_is_a_cluster_of_today(out: Path) -> None:
    scenario = generated(out)
    assert (scenario.release, scenario.mode) == ("4.4.0", "kraft")
    assert (len(scenario.broker_ids()), scenario.controllers.count) == (6, 3)
    assert len(scenario.cluster.racks) == 3
    assert sum(topic.partition_count for topic in scenario.topics) == 300
    assert {scenario.replication_factor(topic) for topic in scenario.topics} == {3}
    settings = [topic.effective(scenario.settings_of(1)) for topic in scenario.topics]
    assert {each["min.insync.replicas"] for each in settings} == {2}


def test_the_same_options_write_the_same_file_and_another_seed_another(tmp_path: Path) -> None:
    files = []
    for folder, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        generated(tmp_path / folder / "mine.yaml", "--seed", seed)
        files.append((tmp_path / folder / "mine.yaml").read_text())
    first, again, other = files
    assert first == again
    assert first != other


def test_the_command_at_the_top_of_the_file_writes_the_same_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--brokers", "9", "--rate-skew", "0.95", "--idle", "0.25", "--mode", "zookeeper")
    generated(tmp_path / "mine.yaml", *options, "--release", "3.9", "--duration", "90s")
    text = (tmp_path / "mine.yaml").read_text()
    found = re.match(r"# Made by `([^`]*)`", text)
    assert found is not None
    words = shlex.split(found[1].replace("\n#", ""))
    assert words[0] == "tidegauge"
    again = tmp_path / "again"
    again.mkdir()
    monkeypatch.chdir(again)
    assert run(*words[1:]).exit_code == 0
    assert (again / "mine.yaml").read_text() == text


def test_200_000_partitions_are_a_small_file_with_exact_sums(large: tuple[Scenario, Path]) -> None:
    scenario, out = large
    assert out.stat().st_size < 200_000
    sizes = [topic.partition_count for topic in scenario.topics]
    assert (len(sizes), sum(sizes)) == (2000, 200_000)
    # Of Zipf's law with 0.7.
    share = 1 / math.fsum(rank**-0.7 for rank in range(1, 2001))
    assert max(sizes) == pytest.approx(200_000 * share, rel=0.001)
    groups = scenario.workload.producers
    assert sum(round(1000 * group.batches_per_second) for group in groups) == 20_000_000
    busy = [topic for group in groups for topic in group.topics]
    assert len(busy) == len(set(busy)) == 1600
    (readers,) = scenario.workload.consumers
    assert sorted(readers.topics) == sorted(busy)


def test_groups_of_producers_have_partitions_of_about_the_same_rate(
    large: tuple[Scenario, Path],
) -> None:
    """The busiest group's partitions have many times the rate of the last group's."""
    scenario, _ = large
    sizes = {topic.name: topic.partition_count for topic in scenario.topics}
    rates = [
        group.batches_per_second / sum(sizes[topic] for topic in group.topics)
        for group in scenario.workload.producers
    ]
    assert rates == sorted(rates, reverse=True)
    assert rates[0] > 1000 * rates[-1]
    for busier, quieter in zip(rates, rates[2:], strict=False):
        assert busier > 2 * quieter


@pytest.mark.parametrize("release", ["4.1", "3.9"])
def test_replicas_are_in_all_racks_and_leaders_on_all_brokers(out: Path, release: str) -> None:
    options = ("--brokers", "12", "--topics", "60", "--partitions", "1200", "--release", release)
    scenario = generated(out, *options)
    assignments = [each for topic in scenario.topics for each in scenario.assignments(topic)]
    for replicas in assignments:
        assert {scenario.rack_of(broker) for broker in replicas} == {"r1", "r2", "r3"}
    leaders = Counter(leader for leader, *_ in assignments)
    assert min(leaders.values()) > 0.6 * 100
    assert max(leaders.values()) < 1.4 * 100
    hosted = Counter(broker for replicas in assignments for broker in replicas)
    assert max(hosted.values()) - min(hosted.values()) < 0.3 * 300


@pytest.mark.parametrize(("release", "lost"), [("4.1", '2, "controller:0"'), ("3.9", "2, 3")])
def test_a_small_one_loses_brokers_and_controllers_and_all_checks_hold(
    out: Path, tmp_path: Path, release: str, lost: str
) -> None:
    options = ("--topics", "6", "--partitions", "40", "--replication-factor", "3")
    generated(out, *options, "--release", release, "--duration", "90s")
    crash = f"faults=[{{kind: crash, at: 30s, for: 20s, brokers: [{lost}]}}]"
    folder = tmp_path / "run"
    result = run("run", out, "--inline", "--out", folder, "--set", crash)
    assert result.exit_code == 0, result.output
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["records_acknowledged"] > 100_000
    assert summary["leader_elections"] > 0
    assert all(check["verdict"] is True for check in summary["checks"].values())


@pytest.mark.parametrize("release", ["4.1", "3.9"])
def test_clients_begin_once_all_partitions_have_leaders(
    out: Path, tmp_path: Path, release: str
) -> None:
    scenario = generated(out, "--topics", "40", "--partitions", "2000", "--release", release)
    starts = {group.start_us for group in scenario.workload.groups}
    assert starts == {parse_duration("7s")}
    folder = tmp_path / "run"
    options = ("--inline", "--out", folder, "--set", "duration=8s", "--set", "liveness=false")
    assert run("run", out, *options).exit_code == 0
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["figures_from_seconds"] < 7


def test_a_cluster_without_clients(out: Path) -> None:
    scenario = generated(out, "--batches-per-second", "0")
    assert scenario.workload.groups == ()
    assert "# - clients: none\n" in out.read_text()


def test_validate_accepts_it(out: Path) -> None:
    generated(out, "--brokers", "1", "--racks", "1", "--replication-factor", "1")
    result = run("validate", out)
    assert result.exit_code == 0, result.output
    assert "20 topics, 300 partitions, 300 replicas" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--partitions 10", "--partitions 10: 20 topics have one each at least"),
        ("--racks 7", "--racks 7: there are only 6 brokers to stand in them"),
        ("--replication-factor 7", "--replication-factor 7: there are only 6 brokers"),
        (
            "--replication-factor 2 --min-insync-replicas 3",
            "--min-insync-replicas 3: no write could be acknowledged by 2 replicas",
        ),
        ("--release 2.9", "--release 2.9: "),
        ("--release 4.1 --mode zookeeper", "--release 4.1: release 4.1.2 has no ZooKeeper mode"),
        ("--mode quorum", "--mode quorum: must be one of zookeeper, kraft"),
        ("--release 3.9 --controllers 3", "--controllers: with ZooKeeper the controller is"),
        ("--controllers 4", "controllers.count"),
        ("--brokers 2900", "cluster.brokers: must be from 1 to 2000"),
        ("--partitions 3000000", "partitions"),
        ("--batches-per-second 0.001", "--batches-per-second 0.001: too few for 16 topics"),
        ("--duration soon", "--duration soon: "),
    ],
)
def test_numbers_that_make_no_cluster_are_refused_in_one_line(
    out: Path, options: str, message: str
) -> None:
    result = run("generate", *options.split(), "-o", out)
    assert result.exit_code == 2, result.output
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not out.exists()


def test_a_file_that_exists_is_overwritten_only_with_force(out: Path) -> None:
    out.write_text("mine")
    assert run("generate", "-o", out).stderr == f"tidegauge: {out}: exists; --force overwrites it\n"
    assert out.read_text() == "mine"
    assert run("generate", "-o", out, "--force").exit_code == 0


def test_a_run_that_ends_before_its_clients_begin_is_one_line(out: Path) -> None:
    result = run("generate", "--partitions", "2000", "--duration", "7s", "-o", out)
    assert result.exit_code == 2
    assert result.stderr == (
        "tidegauge: --duration 7s: clients of 2,000 partitions begin at 7s, so it must be more\n"
    )
    assert not out.exists()
    generated(out, "--partitions", "2000", "--duration", "8s")
