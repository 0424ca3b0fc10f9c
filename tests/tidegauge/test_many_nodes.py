"""Nodes of Ray that are machines of their own: a millisecond apart, and without shared files.

Racks are dealt out to nodes, so that a message between nodes takes a latency between racks. That is
what nodes wait for, so they pay where it is longer than the time of the real network, as between
regions.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from network_nodes import run_on_nodes, why_no_nodes
from scenario_runs import shipped
from tidegauge.engine.exchange.lookahead import lookaheads_us
from tidegauge.engine.grouping import grouping_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.reading import load_scenario

on_nodes = [
    pytest.mark.long,
    pytest.mark.xdist_group("ray"),
    pytest.mark.skipif(bool(why_no_nodes()), reason=why_no_nodes()),
]


def two_regions(brokers: int, partitions: int, batches_per_second: int) -> dict[str, Any]:
    """A cluster in two regions, each with topics and producers of its own; figures of one."""
    regions = {
        "east": list(range(1, brokers + 1)),
        "west": list(range(brokers + 1, 2 * brokers + 1)),
    }
    return {
        "name": "two-regions",
        "duration": "20s",
        "cluster": {"brokers": 2 * brokers, "racks": regions},
        "network": {"between_racks": "20ms", "clients": "20ms"},
        "topics": [
            {
                "name": f"orders-{region}",
                "settings": {"min.insync.replicas": 2},
                "assignment": {
                    partition: [ids[(partition + place) % brokers] for place in range(3)]
                    for partition in range(partitions)
                },
            }
            for region, ids in regions.items()
        ],
        "workload": {
            "producers": [
                {
                    "name": f"shop-{region}",
                    "clients": 4,
                    "rack": region,
                    "topics": [f"orders-{region}"],
                    "batches_per_second": batches_per_second,
                    "records_per_batch": 10,
                    "record_bytes": 200,
                    "settings": {"acks": "all"},
                }
                for region in regions
            ]
        },
        "liveness": False,
    }


def written(scenario: dict[str, Any], folder: Path) -> Path:
    file = folder / "scenario.yaml"
    file.write_text(yaml.safe_dump(scenario))
    return file


# Racks and machines.


def machines_of_racks(scenario: Scenario, groups: int, machines: int) -> dict[int, set[int]]:
    """The machines on which the brokers of each rack are."""
    plan = ClusterPlan(scenario)
    grouping = grouping_of(plan, groups, machines)
    assert len(grouping.machines) == len(grouping.hosted) == groups
    found: dict[int, set[int]] = {}
    for machine, hosted in zip(grouping.machines, grouping.hosted, strict=True):
        for broker in set(hosted) & set(range(len(plan.brokers))):
            found.setdefault(plan.processes[broker].rack, set()).add(machine)
    return found


@pytest.mark.parametrize(("groups", "machines"), [(3, 3), (7, 3), (4, 2), (6, 2), (5, 4)])
def test_a_rack_is_on_one_machine_and_every_machine_has_one(groups: int, machines: int) -> None:
    found = machines_of_racks(shipped("rack-power-loss"), groups, machines)
    assert all(len(each) == 1 for each in found.values())
    assert set.union(*found.values()) == set(range(min(machines, len(found))))


def test_a_cluster_in_one_rack_is_on_all_machines() -> None:
    body = {"name": "flat", "duration": "1s", "cluster": {"brokers": 6}}
    (machines,) = machines_of_racks(Scenario.model_validate(body), 6, 3).values()
    assert machines == {0, 1, 2}


def test_two_regions_on_two_machines_wait_for_the_latency_between_them(tmp_path: Path) -> None:
    plan = ClusterPlan(load_scenario(written(two_regions(6, 6, 1), tmp_path)))
    grouping = grouping_of(plan, 2, 2)
    assert lookaheads_us(plan, grouping.hosted).tolist() == [[0, 20_000], [20_000, 0]]


# Machines with a network between them.

ON_NODES = """
import json, sys, time
from pathlib import Path
import ray
from tidegauge.engine.ray_engine import on_ray
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario

file, folder, actors, nodes, address = sys.argv[1:]
ray.init(address=address, log_to_driver=False)
while len(ray.nodes()) < int(nodes):
    time.sleep(0.1)
scenario = load_scenario(Path(file))
alone = simulate(scenario, Path(folder, "inline"))
apart = simulate(scenario, Path(folder, "nodes"), make_engine=on_ray(int(actors)))
hosts = {each["NodeManagerAddress"] for each in ray.nodes()}
told = [run.summary for run in (alone, apart)]
print(json.dumps({
    "same": told[0]["process_hashes"] == told[1]["process_hashes"],
    "hosts": len(hosts),
    "loop_seconds": [each["loop_seconds"] for each in told],
    "windows": told[1]["windows"],
    "events": sum(group["events"] for group in told[1]["groups"]),
}))
"""


def told_by_nodes(file: Path, folder: Path, actors: int, nodes: int) -> dict[str, Any]:
    """Figures of a run inline and of one on nodes that are 1 ms from each other."""
    done = run_on_nodes(ON_NODES, [str(file), str(folder), str(actors), str(nodes)], folder, nodes)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    seconds = "{:.1f} s inline, {:.1f} s on nodes".format(*told["loop_seconds"])
    print(f"{file.stem}, {nodes} nodes: {seconds}, {told['windows']} windows")  # noqa: T201 - with -s
    assert told["hosts"] == nodes
    return told


class TestNodesAMillisecondApart:
    pytestmark = on_nodes

    def test_they_are_one_cluster(self, tmp_path: Path) -> None:
        crash = {"kind": "crash", "at": "10s", "for": "6s", "brokers": [2]}
        scenario = shipped("quickstart", {"duration": "20s", "faults": [crash]})
        file = tmp_path / "quickstart.yaml"
        file.write_text(json.dumps(scenario.resolved()))
        assert told_by_nodes(file, tmp_path, 3, 3)["same"]

    def test_several_actors_on_each_are_one_cluster(self, tmp_path: Path) -> None:
        """Actors of one node share memory, and talk to those of the other one by a socket."""
        file = written(two_regions(3, 6, 20), tmp_path)
        assert told_by_nodes(file, tmp_path, 4, 2)["same"]

    def test_two_large_regions_are_one_cluster(self, tmp_path: Path) -> None:
        """Metadata of 6,000 partitions is longer than the ring for it."""
        file = written(two_regions(30, 3000, 20_000), tmp_path)
        assert told_by_nodes(file, tmp_path, 2, 2)["same"]
