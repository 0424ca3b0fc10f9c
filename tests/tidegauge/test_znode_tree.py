"""ZooKeeper's tree of a run: Kafka's paths and JSON, at any time of the run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from night_story import unfolded
from scenario_runs import rows_of, run_of
from tidegauge.command_line import app
from tidegauge.engine.layout.cluster_tables import new_topology
from tidegauge.runs.partitions import described_states
from tidegauge.runs.run import Run
from tidegauge.runs.trace_events import Names, event_of
from tidegauge.runs.znode_tree import Owner, TreeNode, znode_tree
from tidegauge.runs.zookeeper import ZnodePaths
from tidegauge.scenario.cluster_directory import directory_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    CONTROLLER_EPOCH_ZNODE,
    CONTROLLER_ZNODE,
    NOTIFICATIONS_ZNODE,
    TOPICS_ZNODE,
    broker_znode,
    first_notification_znode,
    state_znode,
    topic_znode,
)
from tidegauge.traces.directory import Directory
from tidegauge.traces.run_folder import TraceRow
from written_rows import MANIFEST_OF_TESTS, S, WrittenRows
from zookeeper_stories import cluster, paused, settings, writes

TOPICS = [
    {"name": "orders", "assignment": {0: [3, 1, 2], 1: [1, 2, 3]}},
    {"name": "logs", "assignment": {0: [2, 1]}},
]
TWO_PARTITIONS = (
    '{"version":2,"partitions":{"0":[3,1,2],"1":[1,2,3]},'
    '"adding_replicas":{},"removing_replicas":{}}'
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Brokers 1 and 2 are cut; later the session of broker 3, the controller, expires."""
    scenario = cluster(
        duration="40s",
        cluster={
            "brokers": 3,
            "racks": {"a": [1, 2], "b": [3]},
            "start": {3: "0s", 1: "500ms", 2: "600ms"},
            "settings": settings(
                **{"replica.lag.time.max.ms": 4_000, "replica.fetch.wait.max.ms": 2_000}
            ),
        },
        topics=TOPICS,
        workload={
            "producers": [{"name": "shop", "topics": ["orders", "logs"], "batches_per_second": 1}]
        },
        faults=[
            {"kind": "cut_link", "at": "4s", "for": "6s", "between": [[1], [2]]},
            paused(3, "22s", "8s"),
        ],
    )
    return Run(run_of(scenario, tmp_path_factory.mktemp("tree") / "run").path)


def at(run: Run, at_us: int | None = None) -> dict[str, TreeNode]:
    return {node.path: node for node in znode_tree(run, at_us)}


def data(node: TreeNode) -> Any:
    assert node.data is not None
    return json.loads(node.data)


def show(folder: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["show", "zookeeper", str(folder), *options])


def test_the_numbers_of_znodes_are_those_of_the_topology(run: Run) -> None:
    topology = new_topology(ClusterPlan(cluster(topics=TOPICS))).view
    paths = ZnodePaths(run.directory)
    assert paths.path(int(CONTROLLER_ZNODE)) == "/controller"
    assert paths.path(int(CONTROLLER_EPOCH_ZNODE)) == "/controller_epoch"
    assert paths.path(int(BROKER_IDS_ZNODE)) == "/brokers/ids"
    assert paths.path(int(TOPICS_ZNODE)) == "/brokers/topics"
    assert paths.path(int(NOTIFICATIONS_ZNODE)) == "/isr_change_notification"
    assert [paths.path(int(broker_znode(topology, index))) for index in range(3)] == [
        f"/brokers/ids/{broker}" for broker in (1, 2, 3)
    ]
    assert paths.path(int(topic_znode(topology, 1))) == "/brokers/topics/logs"
    assert [paths.path(int(state_znode(topology, number))) for number in range(3)] == [
        "/brokers/topics/orders/partitions/0/state",
        "/brokers/topics/orders/partitions/1/state",
        "/brokers/topics/logs/partitions/0/state",
    ]
    first = int(first_notification_znode(topology))
    assert paths.path(first + 7, 12) == "/isr_change_notification/isr_change_0000000012"
    assert paths.path(first) == "/isr_change_notification/isr_change_*"


MOVED = {"topic": "orders", "partition": 0, "replicas": [2, 1]}
ADMIN_STEPS: list[dict[str, Any]] = [
    {"do": "delete_topic", "topic": "logs"},
    {"do": "reassign", "partitions": [MOVED]},
    {"do": "alter_reassignments", "partitions": [MOVED]},
]


@pytest.mark.parametrize("steps", [[], *([step] for step in ADMIN_STEPS)], ids=str)
@pytest.mark.parametrize("directories_fail", [False, True])
def test_znodes_of_steps_and_log_directories_are_named_where_the_topology_has_them(
    steps: list[dict[str, Any]], directories_fail: bool
) -> None:
    """Each kind of admin step makes place in /admin, and everything behind it moves along."""
    failure = {"kind": "log_directory_failure", "at": "8s", "for": "9s", "brokers": [2]}
    scenario = cluster(
        topics=TOPICS,
        cluster={"brokers": 3, "log_directories": 2},
        steps=[{"at": "4s"} | step for step in steps],
        faults=[failure | {"directory": 1}] if directories_fail else [],
    )
    plan = ClusterPlan(scenario)
    topology = new_topology(plan).view
    paths = ZnodePaths(Directory(directory_of(plan)))
    first = int(first_notification_znode(topology))
    assert paths.path(first, 0) == "/isr_change_notification/isr_change_0000000000"
    assert not paths.path(first - 1).startswith("/isr_change_notification")
    if steps:
        admin = int(state_znode(topology, len(plan.partitions)))
        assert [paths.path(admin + place) for place in range(4)] == [
            "/admin/reassign_partitions",
            "/admin/delete_topics",
            "/admin/delete_topics/orders",
            "/admin/delete_topics/logs",
        ]
    if directories_fail:
        events = first - 3 * 2 - 1
        assert paths.path(events) == "/log_dir_event_notification"
        told = "/log_dir_event_notification/log_dir_event_0000000003"
        assert [paths.path(events + 1 + place, 3) for place in range(6)] == [told] * 6


def test_a_failed_log_directory_is_told_under_its_own_path_beside_a_reassignment(
    tmp_path: Path,
) -> None:
    """AlterPartitionReassignments (KIP-455) used to shift the names of all znodes behind it."""
    scenario = cluster(
        duration="20s",
        cluster={"brokers": 3, "log_directories": 2},
        topics=[{"name": "orders", "assignment": {0: [1, 3]}}],
        steps=[
            {"at": "4s", "do": "alter_reassignments", "partitions": [MOVED | {"replicas": [3, 1]}]}
        ],
        faults=[
            {
                "kind": "log_directory_failure",
                "at": "8s",
                "for": "9s",
                "brokers": [3],
                "directory": 1,
            }
        ],
        workload={"producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 5}]},
    )
    numbered = [
        (path, row.kind)
        for path, row in writes(Run(run_of(scenario, tmp_path / "run").path))
        if "_event_" in path or "isr_change_" in path
    ]
    first = "/log_dir_event_notification/log_dir_event_0000000000"
    assert (first, "znode_created") in numbered
    assert not any("isr_change_" in path for path, _ in numbered)


def test_the_tree_after_the_start_is_as_kafka_writes_it(run: Run) -> None:
    tree = [node for node in znode_tree(run, 3 * S) if node.path != "/controller"]
    assert [(node.path, node.data) for node in tree if "timestamp" not in str(node.data)] == [
        ("/brokers/ids", None),
        ("/brokers/topics", None),
        (
            "/brokers/topics/logs",
            '{"version":2,"partitions":{"0":[2,1]},"adding_replicas":{},"removing_replicas":{}}',
        ),
        (
            "/brokers/topics/logs/partitions/0/state",
            '{"controller_epoch":1,"leader":2,"version":1,"leader_epoch":0,"isr":[2,1]}',
        ),
        (
            "/brokers/topics/orders",
            TWO_PARTITIONS,
        ),
        (
            "/brokers/topics/orders/partitions/0/state",
            '{"controller_epoch":1,"leader":3,"version":1,"leader_epoch":0,"isr":[3,1,2]}',
        ),
        (
            "/brokers/topics/orders/partitions/1/state",
            '{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,2,3]}',
        ),
        ("/controller_epoch", "1"),
        ("/isr_change_notification", None),
    ]
    # /controller_epoch is made with epoch 0, and raised by the first controller; a registration is
    # created and set in one transaction (KIP-380).
    raised = {node.path for node in tree if node.version == 1}
    assert raised == {"/controller_epoch", *(f"/brokers/ids/{broker}" for broker in (1, 2, 3))}
    assert {node.version for node in tree} == {0, 1}


def test_controller_and_brokers_belong_to_sessions(run: Run) -> None:
    tree = at(run, 3 * S)
    created = {path: row["time_us"] for path, row in reversed(list(writes(run)))}
    timestamp = created["/controller"] // 1000
    assert tree["/controller"].data == f'{{"version":1,"brokerid":3,"timestamp":"{timestamp}"}}'
    assert tree["/controller"].owner == Owner(broker=3, session=1)
    # The sessions are numbered as they were opened: broker 3's was the first.
    for broker, rack, session in ((1, "a", 2), (2, "a", 3), (3, "b", 1)):
        registered = tree[f"/brokers/ids/{broker}"]
        timestamp = created[registered.path] // 1000
        assert data(registered) == {"rack": rack, "timestamp": str(timestamp), "version": 4}
        assert registered.owner == Owner(broker, session)
    ephemeral = {path for path, node in tree.items() if node.owner is not None}
    assert ephemeral == {"/controller", *(f"/brokers/ids/{broker}" for broker in (1, 2, 3))}


def test_what_a_session_owned_goes_with_it_and_comes_with_the_next(run: Run) -> None:
    (expired,) = rows_of(run, "session_expired")
    before, after = (at(run, expired["time_us"] - less) for less in (1, 0))
    assert before.keys() - after.keys() == {"/brokers/ids/3", "/controller"}
    assert not after.keys() - before.keys()
    end = at(run)
    assert end["/brokers/ids/3"].owner == Owner(broker=3, session=4)
    assert end["/controller_epoch"].data == "2"
    assert end["/controller_epoch"].version == 2
    controller = end["/controller"].owner
    assert controller is not None
    assert controller.broker in {1, 2}
    assert data(end["/controller"])["brokerid"] == controller.broker


@pytest.mark.parametrize("at_us", [3 * S, 12 * S, 22 * S, 29 * S, None])
def test_states_are_those_of_the_table(run: Run, at_us: int | None) -> None:
    tree = at(run, at_us)
    states = described_states(run, at_us)
    assert len(states) == 3
    for state in states.values():
        path = f"/brokers/topics/{state.topic}/partitions/{state.number}/state"
        written = data(tree[path])
        assert written["leader"] == (-1 if state.leader is None else state.leader)
        assert written["leader_epoch"] == state.leader_epoch
        assert written["isr"] == state.isr


def test_the_version_of_a_state_is_the_number_of_its_writes(run: Run) -> None:
    counts: dict[str, int] = {}
    for path, row in writes(run, "/brokers/topics/"):
        counts[path] = counts.get(path, -1) + 1
        node = at(run, row["time_us"])[path]
        assert node.version >= counts[path]
    end = at(run)
    assert {path: end[path].version for path in counts} == counts
    assert max(counts.values()) > 3


def test_a_notification_names_what_its_leader_has_changed(run: Run) -> None:
    created = [
        (path, row)
        for path, row in writes(run, "/isr_change_notification/")
        if row.kind == "znode_created"
    ]
    sent = {row["process"]: iter(rows_of(run, "notification_sent", process=row["process"]))
            for row in rows_of(run, "notification_sent")}  # fmt: skip
    for number, (path, row) in enumerate(created):
        assert path == f"/isr_change_notification/isr_change_{number:010}"
        content = data(at(run, row["time_us"])[path])
        assert list(content) == ["version", "partitions"]
        assert len(content["partitions"]) == next(sent[row["writer"]])["partition_count"]
        assert path not in at(run, row["time_us"] - 1)
        assert path not in at(run)
    # The cut: broker 1 led orders-1, broker 2 logs-0.
    first = {row["writer"]: data(at(run, row["time_us"])[path]) for path, row in created[:2]}
    assert first == {
        0: {"version": 1, "partitions": [{"topic": "orders", "partition": 1}]},
        1: {"version": 1, "partitions": [{"topic": "logs", "partition": 0}]},
    }


def written_manifest(release: str) -> dict[str, Any]:
    scenario = {"release": release, "cluster": {"racks": {"default": [1, 2, 3]}}}
    return MANIFEST_OF_TESTS | {"scenario": scenario}


ZOOKEEPER = 4
BROKER_2 = 1


def by_hand(folder: Path, rows: WrittenRows, release: str = "2.6.3") -> Run:
    path = rows.run(folder)
    manifest = json.dumps(written_manifest(release))
    (path / "manifest.json").write_text(manifest, encoding="utf-8")
    return Run(path)


@pytest.mark.parametrize(("release", "topic", "broker"), [
    ("0.10.2.2", 1, 4), ("2.3.1", 1, 4), ("2.4.1", 2, 4), ("2.7.2", 2, 5),
])  # fmt: skip
def test_versions_of_the_json_are_those_of_the_release(
    tmp_path: Path, release: str, topic: int, broker: int
) -> None:
    """KIP-455 came with 2.4, KIP-584 with 2.7."""
    rows = WrittenRows()
    rows.write("znode_created", 1 * S, ZOOKEEPER, znode=6, writer=0)
    rows.write("znode_created", 1 * S, ZOOKEEPER, znode=9, writer=-1)
    tree = at(by_hand(tmp_path / "run", rows, release))
    assert data(tree["/brokers/ids/1"])["version"] == broker
    written = data(tree["/brokers/topics/orders"])
    assert written["version"] == topic
    assert ("adding_replicas" in written) == (topic > 1)


def test_a_partition_without_leader_says_so_and_keeps_the_order_of_its_isr(
    tmp_path: Path,
) -> None:
    rows = WrittenRows()
    rows.write("znode_created", 1 * S, ZOOKEEPER, znode=11, writer=BROKER_2, isr=0x321)
    rows.write(
        "znode_set", 2 * S, ZOOKEEPER, znode=11, writer=BROKER_2, controller_epoch=3, leader=-1,
        leader_epoch=7, isr=0x13, version=1,
    )  # fmt: skip
    node = at(by_hand(tmp_path / "run", rows))["/brokers/topics/orders/partitions/1/state"]
    assert node == TreeNode(
        "/brokers/topics/orders/partitions/1/state",
        '{"controller_epoch":3,"leader":-1,"version":1,"leader_epoch":7,"isr":[1,2]}',
        1,
        None,
    )


def test_a_change_in_several_terms_is_named_once_and_anew_after_the_next(tmp_path: Path) -> None:
    rows = WrittenRows()
    for kind in ("isr_shrunk", "isr_expanded"):
        rows.write(kind, 1 * S, BROKER_2, partition=1, isr=0x321)
    rows.write("isr_shrunk", 1 * S, BROKER_2, partition=0, isr=0x21)
    rows.write("isr_shrunk", 1 * S, 0, partition=0, isr=0x21)
    rows.write("notification_sent", 2 * S, BROKER_2, partition_count=2)
    rows.write("isr_shrunk", 3 * S, BROKER_2, partition=1, isr=0x21)
    rows.write("znode_created", 4 * S, ZOOKEEPER, znode=12, writer=BROKER_2, sequence_number=5)
    rows.write("znode_deleted", 5 * S, ZOOKEEPER, znode=12, writer=0)
    rows.write("notification_sent", 5 * S, BROKER_2, partition_count=1)
    rows.write("znode_created", 6 * S, ZOOKEEPER, znode=12, writer=BROKER_2, sequence_number=6)
    run = by_hand(tmp_path / "run", rows)
    (first,) = [node for node in znode_tree(run, 4 * S) if node.path.endswith("_0000000005")]
    assert data(first)["partitions"] == [
        {"topic": "orders", "partition": 1},
        {"topic": "orders", "partition": 0},
    ]
    (second,) = [node for node in znode_tree(run) if "isr_change_0" in node.path]
    assert second.path.endswith("isr_change_0000000006")
    assert data(second)["partitions"] == [{"topic": "orders", "partition": 1}]


@pytest.mark.parametrize(("row", "words"), [
    (
        ("znode_created", {"znode": 12, "writer": 1, "sequence_number": 3}),
        "/isr_change_notification/isr_change_0000000003 is created by broker 2",
    ),
    (
        ("znode_created", {"znode": 9, "writer": -1, "sequence_number": 0}),
        "/brokers/topics/orders is created by the operator",
    ),
    (
        ("znode_set", {"znode": 10, "writer": 2, "version": 4}),
        "/brokers/topics/orders/partitions/0/state is written by broker 3: version 4",
    ),
    (
        ("znode_deleted", {"znode": 0, "writer": -1}),
        "/controller is deleted by the end of its session",
    ),
    (
        ("znode_deleted", {"znode": 13, "writer": 0}),
        "/isr_change_notification/isr_change_* is deleted by broker 1",
    ),
    (("controller_active", {"broker": 1}), "/controller is created by broker 2"),
    (("controller_active", {"broker": -2}), "/controller is created by a process before the run"),
    (("controller_active", {"broker": -1}), "/controller is deleted by the end of its session"),
    (
        ("broker_state", {"broker": 2, "state": 2, "state_reason": 1}),
        "/brokers/ids/3 is created by broker 3",
    ),
    (
        ("broker_state", {"broker": 2, "state": 0, "state_reason": 3}),
        "/brokers/ids/3 is deleted by the end of its session",
    ),
    (
        ("broker_state", {"broker": 2, "state": 0, "state_reason": 5}),
        "/brokers/ids/3 is deleted by broker 3",
    ),
])  # fmt: skip
def test_rows_about_znodes_are_told_by_path_and_broker(
    row: tuple[str, dict[str, int]], words: str
) -> None:
    assert event_of(TraceRow(*row), Names(MANIFEST_OF_TESTS)).words == words


def test_show_lists_the_tree_a_line_for_each_znode(run: Run) -> None:
    result = show(run.path, "--at", "12s")
    assert result.exit_code == 0, result.stderr
    head, *lines = unfolded(result.stdout).splitlines()
    assert head == f"ZooKeeper at 12.000s: {len(lines)} znodes"
    assert [line.split()[0] for line in lines] == [node.path for node in znode_tree(run, 12 * S)]
    (state,) = [line for line in lines if "orders/partitions/1/state" in line]
    assert re.fullmatch(
        r"/brokers/topics/orders/partitions/1/state "
        r'\{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":\[1,3\]\} '
        r"dataVersion=1",
        state,
    )
    (broker,) = [line for line in lines if line.startswith("/brokers/ids/3 ")]
    assert broker.endswith(" dataVersion=1 ephemeralOwner=session 1 of broker 3")
    assert "/isr_change_notification null dataVersion=0" in lines


def test_show_lists_the_end_of_the_run_if_no_time_is_given(run: Run) -> None:
    head, *lines = unfolded(show(run.path).stdout).splitlines()
    assert head == f"ZooKeeper at the end: {len(lines)} znodes"
    assert "/controller_epoch 2 dataVersion=2" in lines


def test_a_time_that_cannot_be_read_is_named(run: Run) -> None:
    result = show(run.path, "--at", "3x")
    assert result.exit_code == 2
    assert result.stderr.startswith("tidegauge: --at: must be a duration")
