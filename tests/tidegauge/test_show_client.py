"""``tidegauge show client``: the story of a producer, of a consumer, and of a group."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from scenario_runs import rows_of, run_of
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


def test_batches_that_producers_give_up_share_a_line_in_both_stories(crashed: RunFolder) -> None:
    """Without retries each batch fails by itself, until the group hears of the next leader."""
    given_up = len(rows_of(crashed, "batch_failed"))
    assert given_up > 10
    for view in (("client", "shop"), ("partition", "story-0")):
        result = CliRunner().invoke(app, ["show", view[0], str(crashed.path), view[1], "--json"])
        told = [
            line["words"]
            for line in json.loads(result.stdout)["story"]
            if "give up" in line["words"] or "gives up" in line["words"]
        ]
        assert len(told) < given_up / 3
        counts = [
            re.search(r"give up ([\d,]+) batches, .*\(until [\d.]+s\)", each) for each in told
        ]
        assert sum(int(each[1]) if each else 1 for each in counts) == given_up
