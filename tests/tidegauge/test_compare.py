"""``tidegauge compare``: the same faults with ZooKeeper and with KRaft, side by side."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from tidegauge.command_line import app
from tidegauge.scenario.reading import load_scenario
from tidegauge.traces.run_files import runs_of_sweep

pytestmark = pytest.mark.usefixtures("ray_here")

#: Broker 3 starts first, so it is the controller with ZooKeeper; broker 1 dies.
SCENARIO = """\
name: dies
description: |
  A broker dies.
  Another one leads.
duration: 45s
mode: zookeeper
liveness: false
cluster:
  brokers: 3
  start: {3: 0s}
  settings: {auto.leader.rebalance.enable: false}
topics: [{name: orders, partitions: 6, replication_factor: 3}]
workload:
  producers: [{name: shop, topics: [orders], batches_per_second: 4, settings: {acks: all}}]
faults:
  - {name: dies, kind: crash, at: 15s, brokers: [1]}
"""
MODES = ("--modes", "zookeeper,kraft")


@pytest.fixture
def dies(tmp_path: Path) -> Path:
    file = tmp_path / "dies.yaml"
    file.write_text(SCENARIO)
    return file


def compare(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["compare", *map(str, arguments)])


def refusal(result: Result) -> str:
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr.removeprefix("tidegauge: ").strip()


def in_words(result: Result) -> str:
    return " ".join(result.output.split())


def test_kraft_fences_a_dead_broker_before_zookeeper_ends_its_session(
    dies: Path, tmp_path: Path
) -> None:
    """18 s until a tick of ZooKeeper against 9 s and the next check; all else is as it was."""
    out = tmp_path / "compared"
    result = compare(dies, *MODES, "--seeds", "1..3", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    content: dict[str, Any] = json.loads(result.stdout)
    assert content == json.loads((out / "comparison.json").read_text())
    assert [each["name"] for each in content["variants"]] == ["ZooKeeper 3.9.2", "KRaft 4.4.0"]
    figures = {each["figure"]: each for each in content["figures"]}
    last = figures["leaderless_last_us"]
    with_zookeeper, with_kraft = (spread["mean"] for spread in last["by_variant"].values())
    assert 12e6 < with_zookeeper < 20.5e6
    assert 7e6 < with_kraft < 10.5e6
    assert (last["better"], last["by_variant"]["KRaft 4.4.0"]["seeds"]) == ("KRaft 4.4.0", 3)
    lost = figures["leaderless_partitions"]["by_variant"]
    assert {spread["mean"] for spread in lost.values()} == {2}
    (change,) = content["variants"][1]["changes"]
    assert change.startswith("cluster.settings[auto.leader.rebalance.enable]: a setting of contro")


def test_the_screen_has_the_figures_what_decides_what_changed_and_the_next_commands(
    dies: Path, tmp_path: Path
) -> None:
    out = tmp_path / "compared"
    result = compare(dies, *MODES, "--seed", "7", "--out", out)
    assert result.exit_code == 0, result.output
    text = in_words(result)
    assert "dies: ZooKeeper 3.9.2 and KRaft 4.4.0 dies: 2 runs into" in text
    assert "This is one seed: --seeds 1..10 shows how figures spread." in text
    assert "Leaderless time, last partition" in text
    assert "0 in all runs:" in text
    assert "What decides - Partitions stalled for producers, in all: How long batches wait" in text
    assert "- Leaderless time, first partition: ZooKeeper: The session (18 s" in text
    assert "Changed for KRaft 4.4.0 - cluster.settings[auto.leader.rebalance.enable]:" in text
    assert f"tidegauge show faults '{out}/mode=kraft,release=4.4.0,seed=7'" in text
    assert text.endswith(f"tidegauge report '{out}'")
    assert len(runs_of_sweep(out)) == 2
    # A converted scenario is a file that can be run alone.
    alone = load_scenario(out / "kraft-4.4.0.yaml")
    assert (alone.mode, alone.name, alone.release) == ("kraft", "dies", "4.4.0")
    assert alone.description == "A broker dies.\nAnother one leads.\n"
    again = compare(dies, *MODES, "--seed", "7", "--out", out)
    assert "2 of them already finished" in again.output


def test_releases_are_compared_each_in_the_mode_that_it_has(dies: Path, tmp_path: Path) -> None:
    out = tmp_path / "compared"
    result = compare(dies, "--releases", "2.8,3.9,4.0", "--out", out, "--json")
    assert result.exit_code == 0, result.output
    variants = json.loads(result.stdout)["variants"]
    assert [(each["release"], each["mode"]) for each in variants] == [
        ("2.8.2", "zookeeper"),
        ("3.9.2", "zookeeper"),
        ("4.0.2", "kraft"),
    ]


def test_any_field_is_compared_while_another_is_fixed(dies: Path, tmp_path: Path) -> None:
    session = "controllers.settings.broker.session.timeout.ms"
    result = compare(
        *(dies, "--set", "mode=kraft", "--set", 'release="4.1"'),
        *("--set", "cluster.settings={}", "--set", f"{session}=4500,9000"),
        *("--out", tmp_path / "compared", "--json"),
    )
    assert result.exit_code == 0, result.output
    content = json.loads(result.stdout)
    assert [each["changes"] for each in content["variants"]] == [[], []]
    (last,) = (each for each in content["figures"] if each["figure"] == "leaderless_last_us")
    assert last["better"] == "broker.session.timeout.ms=4500"


def test_the_release_of_the_scenario_is_kept_in_the_mode_that_it_has(
    dies: Path, tmp_path: Path
) -> None:
    dies.write_text(SCENARIO + 'release: "3.7"\n')
    out = tmp_path / "compared"
    result = compare(dies, *MODES, "--out", out)
    assert "dies: ZooKeeper 3.7.2 and KRaft 3.7.2" in result.output
    dies.write_text(SCENARIO + 'release: "2.8"\n')
    result = compare(dies, *MODES, "--out", tmp_path / "other")
    assert "dies: ZooKeeper 2.8.2 and KRaft 4.4.0" in result.output


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "nothing to compare: use --modes zookeeper,kraft"),
        (("--modes", "zookeeper,etcd"), "--modes etcd: must be zookeeper or kraft"),
        (("--modes", "kraft"), "mode kraft: a comparison has two to four values, not 1"),
        (("--modes", "kraft,kraft"), "KRaft 4.4.0: is compared with itself"),
        ((*MODES, "--releases", "3.9,4.1"), "mode and release are two axes"),
        ((*MODES, "--set", "cluster.brokers=3,4"), "cluster.brokers and mode are two axes"),
        (("--releases", "3.9,2.9"), "--releases 2.9: no release '2.9'"),
        (
            ("--releases", "3.9,4.1", "--set", "mode=zookeeper"),
            "--releases 4.1: release 4.1.2 has no ZooKeeper mode",
        ),
        (("--set", "mode=zookeeper,kraft"), "--set mode=...: use --modes to compare modes"),
        (("--set", "cluster.brokers=3"), "nothing to compare"),
        ((*MODES, "--seeds", "2..1"), "--seeds 2..1: the last one is before the first"),
        ((*MODES, "--seeds", "1..2", "--seed", "1"), "--seeds and --seed exclude each other"),
        ((*MODES, "--jobs", "0"), "--jobs 0: must be 1 or more"),
    ],
)
def test_bad_input_is_refused_before_any_run(
    dies: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    out = tmp_path / "compared"
    assert refusal(compare(dies, *options, "--out", out)).startswith(message)
    assert not out.exists()


def test_what_has_no_counterpart_is_one_error_that_names_the_path(tmp_path: Path) -> None:
    result = compare("incidents/controller-isolated", *MODES, "--out", tmp_path / "compared")
    assert refusal(result).startswith(
        "incidents/controller-isolated in mode zookeeper, release 3.9.2: faults[0].between: "
    )


def test_a_folder_with_other_content_is_refused(dies: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("")
    assert "is not empty" in refusal(compare(dies, *MODES, "--out", tmp_path))


def test_a_variant_in_which_a_step_timed_out_is_named(dies: Path, tmp_path: Path) -> None:
    """The leader is another one within 15 s with KRaft; with ZooKeeper the session continues."""
    condition = "{leader: {topic: orders, partition: 0, is_not: 1}}"
    dies.write_text(
        SCENARIO
        + f"steps: [{{do: wait, at: 20s}}, {{do: observe, when: {condition}, within: 7s}}]\n"
    )
    text = dies.read_text().replace(
        "{name: orders, partitions: 6, replication_factor: 3}", "ORDERS"
    )
    dies.write_text(text.replace("ORDERS", "{name: orders, assignment: {0: [1, 2, 3]}}"))
    result = compare(dies, *MODES, "--out", tmp_path / "compared")
    assert result.exit_code == 1
    assert "ZooKeeper 3.9.2: a step timed out, and the later ones were not" in in_words(result)
    assert "KRaft 4.4.0: a step timed out" not in in_words(result)
