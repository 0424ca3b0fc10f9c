"""What is in memory of logs that exist when a run begins, and what a loss of power leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scenario_runs import rows_of, run_of
from small_clusters import SECOND
from tidegauge.actors.storage.disks import cached_from
from tidegauge.compiled.handlers import plain_of
from tidegauge.engine.group import Group
from tidegauge.engine.layout.network_tables import cache_tails
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.used_resources import used_resources

RECORD_BYTES = 1000


def cluster(resources: dict[str, Any], **parts: Any) -> Scenario:
    plain: dict[str, Any] = {
        "duration": "5s",
        "liveness": False,
        "release": "2.6",
        "cluster": {"brokers": 1, "start": {1: "0s"}},
        "topics": [{"name": "story", "assignment": {0: [1], 1: [1]}}],
        "workload": {
            "producers": [
                {
                    "name": "shop",
                    "topics": ["story"],
                    "batches_per_second": 100,
                    "records_per_batch": 100,
                    "record_bytes": RECORD_BYTES,
                    "start": "1s",
                    "settings": {"acks": 1},
                }
            ]
        },
        "resources": resources,
    }
    return scenario_from_mapping(plain | parts, "page-cache.yaml")


@pytest.mark.parametrize(("megabytes", "cached"), [(6, [2000, 4000]), (3, [1000, 2000])])
def test_logs_that_exist_have_their_tails_in_memory_in_proportion(
    megabytes: int, cached: list[int]
) -> None:
    resources = {"page_cache": f"{megabytes}MB", "dirty_limit": "0B"}
    plan = ClusterPlan(cluster(resources))
    world = Group(plan, range(len(plan.processes))).world
    ends = [3000, 6000]
    for row, end in enumerate(ends):
        world.replicas[row].log_end_offset = end
    cache_tails(world)
    found = [end - int(plain_of(cached_from)(world, row)) for row, end in enumerate(ends)]
    assert found == pytest.approx(cached, abs=2)


def test_a_small_log_is_in_memory_as_a_whole() -> None:
    plan = ClusterPlan(cluster({"page_cache": "28GiB"}))
    world = Group(plan, range(len(plan.processes))).world
    world.replicas[0].log_end_offset = 3000
    cache_tails(world)
    assert int(plain_of(cached_from)(world, 0)) == 0


@pytest.mark.parametrize("seed", range(5))
def test_a_loss_of_power_takes_what_the_disk_had_still_to_write(seed: int, tmp_path: Path) -> None:
    """Producers write 10 MB/s for 2 s to a disk of 4 MB/s: 12 MB of 20 MB are not on disk."""
    resources = {"disk_write": "4MB/s", "dirty_limit": "1GB"}
    faults = [{"kind": "power_loss", "at": "3s", "brokers": [1]}]
    scenario = cluster(resources, faults=faults, seed=seed)
    run = run_of(scenario, tmp_path / "run")
    lost = [row["old_end_offset"] - row["end_offset"] for row in rows_of(run, "log_lost")]
    assert sum(lost) * RECORD_BYTES >= 0.99 * 12_000_000
    assert rows_of(run, "log_lost")[0]["time_us"] == 3 * SECOND


def test_resources_without_a_limit_are_not_among_those_that_count() -> None:
    resources = {"disk_read": "unlimited", "brokers": {1: {"disk_write": "50MB/s"}}}
    found = {
        each.name: (each.value, each.is_default) for each in used_resources(cluster(resources))
    }
    assert "resources.disk_read" not in found
    assert found["resources.disk_write"] == ("600MB/s", True)
    assert found["resources.brokers.1.disk_write"] == ("50MB/s", False)
