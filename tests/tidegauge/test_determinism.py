"""The contract: the same scenario and seed give the same hash, however it is run.

The small cluster has a little of everything in it: cuts of both kinds, a pause that outlasts
a session, slow links and disks, two outages of ZooKeeper, retries, all kinds of acks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from process_groups import groups_of
from tidegauge.commands.verify import verified
from tidegauge.compiled import rules
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario, load_scenario, scenario_from_mapping
from tidegauge.scenario.shipped import find_scenario
from tidegauge.simulation.kernel import QUORUM_CONTROLLER
from tidegauge.simulation.quantities import parse_duration
from tidegauge.traces.run_folder import RunFolder

SCENARIOS = Path(__file__).parents[1] / "data" / "scenarios"
SMALL_CLUSTER = SCENARIOS / "small-cluster.yaml"
FAILING_MACHINES = SCENARIOS / "failing-machines.yaml"
KRAFT_CLUSTER = SCENARIOS / "kraft-cluster.yaml"

RUN_PLAIN = """
import sys
from collections import Counter
from pathlib import Path
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
run = simulate(load_scenario(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.fixture(scope="module")
def small_cluster() -> Scenario:
    return load_scenario(SMALL_CLUSTER)


@pytest.fixture(scope="module")
def one_group(small_cluster: Scenario, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return simulate(small_cluster, tmp_path_factory.mktemp("one-group"))


def summary_of(run: RunFolder) -> dict[str, Any]:
    assert run.summary is not None
    return run.summary


def changed(scenario: Scenario, **changes: object) -> Scenario:
    return scenario_from_mapping(scenario.resolved() | changes, "changed")


def test_three_groups_that_exchange_frames_have_the_hash_of_one(
    small_cluster: Scenario, one_group: RunFolder, tmp_path: Path
) -> None:
    run = simulate(small_cluster, tmp_path, make_engine=inline(groups_of(small_cluster, 3)))
    # Process by process: a difference names the first that went another way.
    assert summary_of(run)["process_hashes"] == summary_of(one_group)["process_hashes"]
    assert summary_of(run)["trace_sha256"] == summary_of(one_group)["trace_sha256"]


def test_groups_record_the_same_rows(
    small_cluster: Scenario, one_group: RunFolder, tmp_path: Path
) -> None:
    run = simulate(small_cluster, tmp_path, make_engine=inline(groups_of(small_cluster, 2)))
    assert list(run.all_rows()) == list(one_group.all_rows())


@pytest.mark.long
@pytest.mark.parametrize("count", [3, None])
def test_quickstart_has_one_hash_in_groups_too(count: int | None, tmp_path: Path) -> None:
    """A crash, and the kill of the active controller: in three groups, and each process alone."""
    scenario = load_scenario(find_scenario("quickstart"))
    one = simulate(scenario, tmp_path / "one")
    assert len(list(one.rows("controller_active"))) > 1
    groups = groups_of(scenario, count or len(ClusterPlan(scenario).processes))
    run = simulate(scenario, tmp_path / "groups", make_engine=inline(groups))
    assert summary_of(run)["process_hashes"] == summary_of(one)["process_hashes"]


def test_a_quorum_in_two_groups_is_refused(tmp_path: Path) -> None:
    """Controllers share the state of the active one: apart, they would give another hash."""
    scenario = load_scenario(find_scenario("quickstart"))
    first, *others = ClusterPlan(scenario).process_ranges[QUORUM_CONTROLLER]
    groups = [[first], [each for each in range(others[-1] + 1) if each != first]]
    with pytest.raises(ValueError, match="have to be in one group"):
        simulate(scenario, tmp_path / "apart", make_engine=inline(groups))


@pytest.mark.long
def test_array_bounds_hold_in_compiled_code(one_group: RunFolder, tmp_path: Path) -> None:
    """An index outside of its table would change memory unseen; checked, it is an error."""
    subprocess.run(
        [sys.executable, "-c", RUN_PLAIN, str(SMALL_CLUSTER), str(tmp_path)],
        env=os.environ | {"TIDEGAUGE_BOUNDS_CHECK": "1"},
        check=True,
    )
    assert summary_of(RunFolder(tmp_path))["trace_sha256"] == summary_of(one_group)["trace_sha256"]


def test_machines_that_fail_in_every_way_give_one_hash_too(tmp_path: Path) -> None:
    """Log directories, drawn disks and faults, racks, a rolling restart: in groups."""
    scenario = load_scenario(FAILING_MACHINES)
    one = simulate(scenario, tmp_path / "one")
    kinds = Counter(row.kind for row in one.all_rows())
    for kind in ("roll_progress", "replica_found_offline", "log_lost", "controller_elected"):
        assert kinds[kind] > 3
    three = simulate(scenario, tmp_path / "three", make_engine=inline(groups_of(scenario, 3)))
    assert summary_of(three)["process_hashes"] == summary_of(one)["process_hashes"]


def test_a_kraft_cluster_has_one_hash_too(tmp_path: Path) -> None:
    """A quorum, its observers and an operator, in groups; another seed differs."""
    scenario = load_scenario(KRAFT_CLUSTER)
    one = simulate(scenario, tmp_path / "one")
    kinds = Counter(row.kind for row in one.all_rows())
    for kind in ("broker_state", "partition_replicas", "log_deleted", "controlled_shutdown_sent"):
        assert kinds[kind] > 1
    processes = len(ClusterPlan(scenario).processes)
    for count in (3, processes):
        run = simulate(
            scenario, tmp_path / str(count), make_engine=inline(groups_of(scenario, count))
        )
        assert summary_of(run)["process_hashes"] == summary_of(one)["process_hashes"]
    other = simulate(changed(scenario, seed=2), tmp_path / "other")
    assert summary_of(other)["trace_sha256"] != summary_of(one)["trace_sha256"]


# Plain Python handles some hundred events a second, so of the clusters only the begin is short.


def beginning(scenario: Scenario, seconds: int) -> Scenario:
    """The first seconds of a scenario: later faults are left out, and so are its steps."""
    faults = [
        fault
        for fault in scenario.resolved()["faults"]
        if fault.get("at") and parse_duration(fault["at"]) < seconds * 1_000_000
    ]
    return changed(scenario, duration=f"{seconds}s", liveness=False, faults=faults, steps=[])


@pytest.mark.skipif(not rules.COMPILED, reason="the plain run is one of those compared")
@pytest.mark.parametrize(
    ("file", "seconds"),
    [
        (SMALL_CLUSTER, 30),
        (KRAFT_CLUSTER, 20),
        *(
            pytest.param(file, None, marks=pytest.mark.long)
            for file in (SMALL_CLUSTER, KRAFT_CLUSTER, FAILING_MACHINES)
        ),
    ],
)
def test_plain_python_has_the_hash_of_compiled_code(
    file: Path, seconds: int | None, tmp_path: Path
) -> None:
    scenario = load_scenario(file)
    if seconds is not None:
        scenario = beginning(scenario, seconds)
    written = tmp_path / "scenario.yaml"
    written.write_text(json.dumps(scenario.resolved()))
    compiled = simulate(load_scenario(written), tmp_path / "compiled")
    subprocess.run(
        [sys.executable, "-c", RUN_PLAIN, str(written), str(tmp_path / "plain")],
        env=os.environ | {"TIDEGAUGE_COMPILED": "0"},
        check=True,
    )
    plain = RunFolder(tmp_path / "plain")
    assert summary_of(plain)["process_hashes"] == summary_of(compiled)["process_hashes"]


def test_tables_that_grow_do_not_change_the_hash(tmp_path: Path) -> None:
    """Leaders stop in turn, so that a log has more epochs than its tables had room for."""
    pauses = [
        {"kind": "pause", "at": f"{5 + 10 * turn}s", "for": "5s", "brokers": [1 + turn % 2]}
        for turn in range(24)
    ]
    scenario = scenario_from_mapping(
        {
            "duration": "250s",
            "release": "2.6",
            "cluster": {
                "brokers": 3,
                "settings": {
                    "zookeeper.session.timeout.ms": 2000,
                    "replica.fetch.wait.max.ms": 5000,
                },
            },
            "zookeeper": {"tick_ms": 500},
            "topics": [{"name": "orders", "assignment": {0: [1, 2]}}],
            "workload": {
                "producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 1}]
            },
            "faults": pauses,
        },
        "many-epochs",
    )
    one = simulate(scenario, tmp_path / "one")
    assert max(Counter(row["process"] for row in one.rows("log_end")).values()) > 16
    three = simulate(scenario, tmp_path / "three", make_engine=inline(groups_of(scenario, 3)))
    assert summary_of(three)["process_hashes"] == summary_of(one)["process_hashes"]


def test_the_hash_does_not_depend_on_the_trace_level(
    small_cluster: Scenario, one_group: RunFolder, tmp_path: Path
) -> None:
    run = simulate(changed(small_cluster, trace="all"), tmp_path)
    assert summary_of(run)["trace_sha256"] == summary_of(one_group)["trace_sha256"]
    assert len(list(run.rows("message"))) > 1000
    assert not list(one_group.rows("message"))


def test_another_seed_has_another_hash(
    small_cluster: Scenario, one_group: RunFolder, tmp_path: Path
) -> None:
    run = simulate(changed(small_cluster, seed=2), tmp_path)
    assert summary_of(run)["trace_sha256"] != summary_of(one_group)["trace_sha256"]


def test_a_microsecond_more_on_a_link_has_another_hash(
    small_cluster: Scenario, one_group: RunFolder, tmp_path: Path
) -> None:
    """The twin of the tests above: equal hashes are not equal because nothing is hashed."""
    network = small_cluster.resolved()["network"] | {"within_host": "31us"}
    run = simulate(changed(small_cluster, network=network), tmp_path)
    assert summary_of(run)["trace_sha256"] != summary_of(one_group)["trace_sha256"]


def test_the_hash_is_computed_again_from_the_files(one_group: RunFolder) -> None:
    assert summary_of(one_group)["trace_sha256"] in verified(one_group)


def test_every_loss_has_a_cause(one_group: RunFolder) -> None:
    """What was decided because nothing came names a row that is in the trace."""
    rows = [*one_group.rows("isr_update_sent"), *one_group.rows("session_expired")]
    reasons = [
        one_group.canonical_row(row["because_process"], row["because_sequence"])
        for row in rows
        if row["because_process"] >= 0
    ]
    assert {row.kind for row in reasons if row is not None} >= {"fault_began"}
    assert None not in reasons


def test_a_run_never_overwrites_another(small_cluster: Scenario, one_group: RunFolder) -> None:
    before = (one_group.path / "summary.json").read_bytes()
    with pytest.raises(FileExistsError, match="not empty"):
        simulate(small_cluster, one_group.path)
    assert (one_group.path / "summary.json").read_bytes() == before
    assert json.loads(before)
