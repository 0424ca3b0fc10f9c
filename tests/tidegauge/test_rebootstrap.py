"""Clients whose brokers are all replaced: metadata recovery (KIP-899, KIP-1102).

Brokers 1, 2, 3 are replaced by 4, 5, 6 while a producer is cut off. It knows only the former ones.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scenario_runs import run_of
from small_clusters import SECOND
from tidegauge.command_line import app
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.text.errors import ScenarioError
from tidegauge.traces.run_folder import RunFolder

#: When the cut between the producer and all brokers heals.
HEALED_US = 20 * SECOND
STRATEGY = "metadata.recovery.strategy"
TRIGGER = "metadata.recovery.rebootstrap.trigger.ms"


def replaced_brokers(release: str = "4.0", ends: str = "crash", **group: Any) -> Scenario:
    """A cluster that is replaced behind the back of its producer ``shop``."""
    producer = {"name": "shop", "topics": ["story"], "batches_per_second": 2, "start": "3s"}
    return scenario_from_mapping(
        {
            "duration": "100s",
            "liveness": False,
            "release": release,
            "mode": "kraft",
            "cluster": {"brokers": 6, "start": {4: "6s", 5: "6s", 6: "6s"}},
            "topics": [{"name": "story", "assignment": {0: [1, 2, 3]}}],
            "workload": {"producers": [producer | {"stop": "60s"} | group]},
            "steps": [
                {
                    "do": "reassign",
                    "at": "9s",
                    "partitions": [{"topic": "story", "partition": 0, "replicas": [4, 5, 6]}],
                }
            ],
            "faults": [
                {
                    "kind": "cut_link",
                    "at": "4s",
                    "for": "16s",
                    "between": [["client:shop"], [f"broker:{broker}" for broker in range(1, 7)]],
                },
                {"kind": ends, "at": "15s", "for": "300s", "brokers": [1, 2, 3]},
            ],
        },
        "replaced",
    )


def times_of(run: RunFolder, kind: str) -> list[int]:
    return [row["time_us"] for row in run.rows(kind)]


def acknowledged(run: RunFolder) -> int:
    assert run.summary is not None
    return int(run.summary["records_acknowledged"])


@pytest.mark.parametrize("release", ["3.8", "4.0"])
def test_without_recovery_a_client_asks_dead_brokers_for_ever(release: str, tmp_path: Path) -> None:
    """metadata.recovery.strategy=none: default of 3.8, and the only behaviour before."""
    settings = {STRATEGY: "none"}
    run = run_of(replaced_brokers(release, settings=settings), tmp_path / "run")
    (stranded,) = run.rows("brokers_unreachable")
    assert stranded["brokers"] == 3
    assert times_of(run, "rebootstrapped") == times_of(run, "brokers_reachable") == []
    assert acknowledged(run) == 0


def test_refused_by_all_it_knows_a_client_returns_to_its_bootstrap_servers(tmp_path: Path) -> None:
    """KIP-899: default from 4.0 on; connections are refused, so it takes about a second."""
    run = run_of(replaced_brokers(), tmp_path / "run")
    (rebootstrapped,) = times_of(run, "rebootstrapped")
    (reached,) = run.rows("brokers_reachable")
    assert HEALED_US < rebootstrapped < reached["time_us"] < HEALED_US + 10 * SECOND
    assert reached["broker"] in (3, 4, 5)
    assert acknowledged(run) > 100


def test_bootstrap_servers_that_are_gone_too_are_no_help(tmp_path: Path) -> None:
    run = run_of(replaced_brokers(bootstrap=[1, 2]), tmp_path / "run")
    assert len(times_of(run, "rebootstrapped")) == 1
    assert times_of(run, "brokers_reachable") == []
    assert acknowledged(run) == 0


def test_machines_without_power_keep_a_client_from_it_until_the_trigger(tmp_path: Path) -> None:
    """KIP-1102: a connection that is not answered fails after 10 s, when no other backs off."""
    settings = {TRIGGER: 45_000}
    run = run_of(replaced_brokers(ends="power_loss", settings=settings), tmp_path / "run")
    (rebootstrapped,) = run.rows("rebootstrapped")
    assert 45 * SECOND <= rebootstrapped["missing_us"] < 75 * SECOND
    assert acknowledged(run) > 100
    never = run_of(replaced_brokers(ends="power_loss", settings={TRIGGER: 0}), tmp_path / "never")
    assert times_of(never, "rebootstrapped") == []


def test_a_connection_to_a_machine_without_power_takes_10_s_not_30(tmp_path: Path) -> None:
    """socket.connection.setup.timeout.ms (KIP-601): from 2.7 on, doubled up to 30 s."""
    setup = "socket.connection.setup.timeout.ms"
    settings = {STRATEGY: "none", "request.timeout.ms": 20_000, setup: 2_000}
    quick = replaced_brokers(ends="power_loss", settings=settings)
    slow = replaced_brokers(ends="power_loss", settings=settings | {setup: 30_000})
    (early,) = times_of(run_of(quick, tmp_path / "quick"), "brokers_unreachable")
    later = times_of(run_of(slow, tmp_path / "slow"), "brokers_unreachable")
    assert not later or later[0] > early + 20 * SECOND


def test_a_run_says_which_clients_know_only_dead_brokers(tmp_path: Path) -> None:
    """Otherwise a producer is silent for minutes without a word."""
    run = run_of(replaced_brokers(settings={STRATEGY: "none"}), tmp_path / "run")
    shown = CliRunner().invoke(app, ["show", "partitions", str(run.path)]).output
    assert "clients of shop knew only brokers that they could not reach" in shown
    assert "metadata.recovery.strategy: rebootstrap" in shown
    story = CliRunner().invoke(app, ["show", "client", str(run.path), "shop"]).output
    assert "reaches none of the 3 brokers that it knows" in story


def test_a_bootstrap_server_must_be_a_broker() -> None:
    with pytest.raises(ScenarioError, match=r"bootstrap\[0\]: there is no broker 9"):
        replaced_brokers(bootstrap=[9])


@pytest.mark.parametrize(
    ("release", "name", "since"),
    [("3.7", STRATEGY, "3.8.0"), ("3.9", TRIGGER, "4.0.0")],
)
def test_settings_that_a_release_does_not_have_are_refused(
    release: str, name: str, since: str
) -> None:
    value = "none" if name == STRATEGY else 1000
    with pytest.raises(ScenarioError, match=f"it was added in {since}"):
        replaced_brokers(release, settings={name: value})
