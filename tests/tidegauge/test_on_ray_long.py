"""On Ray, at length: all mechanisms, drawn schedules, three nodes, and drivers that are killed.

Clusters that are killed are clusters of their own, each in a process that is started here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from fault_schedules import schedule
from kraft_schedules import kraft_schedule
from ray_runs import differences_on_ray
from scenario_runs import shipped
from tidegauge.scenario.shipped import shipped_scenarios
from tidegauge.simulation.trace_rows.codes import BROKER_ACTIVE
from tidegauge.traces.run_folder import RunFolder

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("ray")]

MECHANISMS = sorted(
    name for name, file in shipped_scenarios().items() if file.parent.name == "mechanisms"
)

#: Mechanisms that are faults of controllers, and generated schedules with three kinds and more.
WITH_A_QUORUM = ("22-quorum-lost", "23-isolated-controller", "24-returning-voter")
CONTROLLERS_FAIL = (4, 8, 20, 24, 28, 30, 39)


@pytest.mark.parametrize("name", ["quickstart", "quickstart-zookeeper"])
@pytest.mark.usefixtures("ray_here")
def test_whole_quickstart_is_the_same_on_actors(name: str, tmp_path: Path) -> None:
    scenario = shipped(name, {"liveness": True})
    assert differences_on_ray(scenario, tmp_path, [1, 3, 7]) == []


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.usefixtures("ray_here")
def test_every_mechanism_is_the_same_on_actors(name: str, tmp_path: Path) -> None:
    scenario = shipped(name)
    brokers = len(scenario.broker_ids())
    assert differences_on_ray(scenario, tmp_path, sorted({1, min(3, brokers), brokers + 1})) == []


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.usefixtures("ray_here")
def test_generated_schedules_are_the_same_on_actors(seed: int, tmp_path: Path) -> None:
    scenario = schedule(seed)
    brokers = len(scenario.broker_ids())
    assert differences_on_ray(scenario, tmp_path, sorted({1, 3, brokers + 1})) == []


@pytest.mark.parametrize("seed", [*range(20), 178])
@pytest.mark.usefixtures("ray_here")
def test_generated_schedules_of_kraft_clusters_are_the_same_on_actors(
    seed: int, tmp_path: Path
) -> None:
    scenario = kraft_schedule(seed)
    assert differences_on_ray(scenario, tmp_path, [1, len(scenario.broker_ids()) + 1]) == []


@pytest.mark.parametrize("seed", CONTROLLERS_FAIL)
@pytest.mark.usefixtures("ray_here")
def test_schedules_of_failing_controllers_are_the_same_on_an_actor_for_each_broker(
    seed: int, tmp_path: Path
) -> None:
    scenario = kraft_schedule(seed)
    hit = {str(fault.kind) for fault in scenario.faults if "kind='controller'" in str(fault)}
    assert len(hit) >= 3
    assert differences_on_ray(scenario, tmp_path, [len(scenario.broker_ids()) + 1]) == []


THREE_NODES = """
import sys
from pathlib import Path
from ray.cluster_utils import Cluster
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.ray_engine import on_ray
from tidegauge.scenario.shipped import find_scenario
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario

memory = 100 * 1024 * 1024
cluster = Cluster(
    initialize_head=True,
    head_node_args={"num_cpus": 1, "object_store_memory": memory, "include_dashboard": False},
)
for _ in range(2):
    cluster.add_node(num_cpus=1, object_store_memory=memory)
cluster.wait_for_nodes()
scenario = load_scenario(find_scenario(sys.argv[1]))
alone = simulate(scenario, Path(sys.argv[2], "inline"))
nodes = on_ray(int(sys.argv[3]), address=cluster.address)
run = simulate(scenario, Path(sys.argv[2], "nodes"), make_engine=nodes)
assert alone.summary["process_hashes"] == run.summary["process_hashes"]
cluster.shutdown()
"""


def assert_one_hash_on_three_nodes(scenario: str, actors: int, folder: Path) -> None:
    """Actors are spread over the nodes and meet over TCP; their traces come through Ray."""
    done = subprocess.run(
        [sys.executable, "-c", THREE_NODES, scenario, str(folder), str(actors)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    run = RunFolder(folder / "nodes")
    assert len(run.traces) == actors
    assert not run.torn


@pytest.mark.parametrize(
    "name", ["cut-and-pause", "quickstart", "quickstart-zookeeper", *WITH_A_QUORUM]
)
def test_three_nodes_without_a_shared_file_system_are_one_cluster(
    name: str, tmp_path: Path
) -> None:
    assert_one_hash_on_three_nodes(name, 4, tmp_path)


@pytest.mark.parametrize("seed", CONTROLLERS_FAIL[:3])
def test_schedules_of_failing_controllers_are_the_same_on_three_nodes(
    seed: int, tmp_path: Path
) -> None:
    """An actor for each broker, and one for the controllers."""
    scenario = kraft_schedule(seed)
    file = tmp_path / "schedule.yaml"
    file.write_text(json.dumps(scenario.resolved()))
    assert_one_hash_on_three_nodes(str(file), len(scenario.broker_ids()) + 1, tmp_path)


# What is left when somebody is killed.


class OwnCluster:
    """``tidegauge run`` in a process of its own, with a Ray of its own, and all that it starts."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self._mark = f"tidegauge-test-{uuid.uuid4()}"
        environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        self.driver = subprocess.Popen(
            [
                *(sys.executable, "-m", "tidegauge", "run", "quickstart"),
                *("--ray", "--speed", "1", "--out", str(out)),
            ],
            env=environment | {"TIDEGAUGE_TEST": self._mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def processes(self, command: str = "") -> list[int]:
        """Those that were started by it, whoever their parent is now."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                line = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if self._mark.encode() in environment and command.encode() in line:
                found.append(int(process.name))
        return found

    def wait_until_it_runs(self) -> None:
        """Until the trace says that all brokers are there."""
        limit = time.monotonic() + 120
        while not (self.out / "manifest.json").exists() or self.active_brokers() < 6:
            assert time.monotonic() < limit
            assert self.driver.poll() is None, self.driver.communicate()
            time.sleep(0.5)

    def active_brokers(self) -> int:
        """The number of brokers that became active, in the trace so far."""
        rows = RunFolder(self.out).rows("broker_state")
        return sum(row["state"] == BROKER_ACTIVE for row in rows)

    def wait_until_gone(self, command: str, limit_s: float) -> float:
        """How long it took until no such process was there any more."""
        begun = time.monotonic()
        while self.processes(command):
            assert time.monotonic() - begun < limit_s, self.processes(command)
            time.sleep(0.1)
        return time.monotonic() - begun


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[OwnCluster]:
    cluster = OwnCluster(tmp_path / "run")
    yield cluster
    for process in [*cluster.processes(), cluster.driver.pid]:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
    cluster.driver.communicate()


def test_a_driver_that_is_killed_leaves_nothing_behind(own_cluster: OwnCluster) -> None:
    """No actor after 10 s, no process of Ray after 2 minutes."""
    own_cluster.wait_until_it_runs()
    assert len(own_cluster.processes("ray::BrokerActor")) == 6
    assert len(own_cluster.processes("ray::ControllerActor")) == 1
    own_cluster.driver.kill()
    own_cluster.wait_until_gone("Actor", 10)
    own_cluster.wait_until_gone("", 120)
    # What it had fetched can be read.
    assert own_cluster.active_brokers() == 6


def test_an_interrupted_run_ends_cleanly_and_can_be_read(own_cluster: OwnCluster) -> None:
    own_cluster.wait_until_it_runs()
    own_cluster.driver.send_signal(signal.SIGINT)
    told, complaints = own_cluster.driver.communicate(timeout=30)
    assert own_cluster.driver.returncode == 130
    assert "Stopped: " in told
    assert "Again: tidegauge run quickstart" in told
    assert "Traceback" not in complaints
    run = RunFolder(own_cluster.out)
    assert not run.torn
    assert own_cluster.active_brokers() == 6
    own_cluster.wait_until_gone("", 120)


@pytest.mark.parametrize("command", ["ray::BrokerActor", "ray::ControllerActor"])
def test_an_actor_that_is_killed_is_named_and_nothing_is_left(
    own_cluster: OwnCluster, command: str
) -> None:
    own_cluster.wait_until_it_runs()
    killed = own_cluster.processes(command)[0]
    os.kill(killed, signal.SIGKILL)
    begun = time.monotonic()
    _, complaints = own_cluster.driver.communicate(timeout=30)
    assert time.monotonic() - begun < 10
    assert own_cluster.driver.returncode == 1
    assert f"died (process {killed} on " in complaints.replace("\n", " ")
    assert "Again: tidegauge run quickstart" in complaints
    assert own_cluster.active_brokers() == 6
    own_cluster.wait_until_gone("", 120)
