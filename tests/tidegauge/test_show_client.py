"""``tidegauge show client``: the story of a producer, of a consumer, and of a group."""

from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from scenario_runs import run_of
from small_clusters import cluster_of, producers_of
from tidegauge.command_line import app
from tidegauge.traces.run_folder import RunFolder


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The leader crashes for good while a producer writes and a consumer reads."""
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 6000},
        duration="30s",
        workload={
            "producers": [
                producers_of(20, "3s", "25s", acks="all", retries=0) | {"clients": 2},
                producers_of(20, "3s", "25s", acks="all") | {"name": "patient"},
            ],
            "consumers": [
                {"name": "readers", "topics": ["story"], "settings": {"enable.auto.commit": True}}
            ],
        },
        faults=[{"name": "gone", "kind": "crash", "at": "8s", "for": "60s", "brokers": [1]}],
    )
    return run_of(scenario, tmp_path_factory.mktemp("client") / "run")


def shown(run: RunFolder, *arguments: str) -> str:
    result = CliRunner().invoke(app, ["show", "client", str(run.path), *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_group_is_shown_with_its_stalls_records_and_errors(crashed: RunFolder) -> None:
    story = shown(crashed, "shop")
    assert "Client shop: shop-0, shop-1" in story
    assert "outcome within:" in story
    assert "gives up batches:" in story
    assert "because: " in story
    # Without retries each batch has an outcome soon: it fails. With retries it waits.
    assert "stalled:" not in story
    (stall,) = (
        line for line in shown(crashed, "patient").splitlines() if line.startswith("  stalled:")
    )
    assert re.search(r"stalled: +9\.\d+s to 1\d\.\d+s, [\d.]+ s, at 1 partition, with gone", stall)


def test_one_client_of_a_group_has_a_story_of_its_own(crashed: RunFolder) -> None:
    story = shown(crashed, "shop-1", "--from", "7s", "--to", "20s")
    assert "Client shop-1: shop-1" in story
    assert "shop-0" not in story


def test_a_consumer_is_shown_with_its_coordinator(crashed: RunFolder) -> None:
    story = shown(crashed, "readers")
    assert "consumed" in story
    assert "finds its group's coordinator" in story


def test_an_unknown_client_is_an_error_that_lists_the_groups(crashed: RunFolder) -> None:
    result = CliRunner().invoke(app, ["show", "client", str(crashed.path), "shup"])
    assert result.exit_code == 2
    assert "no such client or group; the groups are: shop, patient, readers" in result.output
