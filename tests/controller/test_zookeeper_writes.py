"""What is written to ZooKeeper: versions, epochs, first states, and writes that are refused.

Rules of section 1 of what was observed on real brokers.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from isr_stories import members
from scenario_runs import rows_of, run_of
from tidegauge.replication.replica_list import unpack
from tidegauge.simulation.trace_rows.codes import BAD_VERSION
from tidegauge.traces.run_folder import RunFolder, TraceRow
from zookeeper_stories import (
    RECONNECT_US,
    SECOND,
    SOON_US,
    broker_id,
    cluster,
    paused,
    settings,
    writes_by_path,
)

STATES = "/brokers/topics/t/partitions/"

PAUSED_US, RESUMED_US = 20_500_000, 29 * SECOND


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A cut, so that leaders shrink and expand; then broker 1 is paused for two time-outs.

    By then its followers are on a slow link, and lack the last record as far as it knows.
    """
    story = cluster(
        duration="38s",
        cluster={
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "600ms"},
            "settings": settings(
                **{"replica.lag.time.max.ms": 5_000, "replica.fetch.wait.max.ms": 2_000}
            ),
        },
        workload={"producers": [{"name": "shop", "topics": ["t"], "batches_per_second": 1}]},
        faults=[
            {"kind": "cut_link", "at": "5s", "for": "8s", "between": [[1], [2]]},
            {
                "kind": "slow_link",
                "at": "19s",
                "delay": "1s",
                "for": "1500ms",
                "between": [[1], [2, 3]],
            },
            paused(1, "20500ms", "8500ms"),
        ],
    )
    return run_of(story, tmp_path_factory.mktemp("changes") / "run")


def states(run: RunFolder) -> dict[int, list[TraceRow]]:
    """All writes of each partition's state, from its creation on."""
    of_partition = {
        int(path.split("/")[-2]): rows for path, rows in writes_by_path(run, STATES).items()
    }
    assert all(rows[0].kind == "znode_created" for rows in of_partition.values())
    return of_partition


def test_each_write_makes_the_version_one_higher(changes: RunFolder) -> None:
    of_partition = states(changes)
    assert sorted(of_partition) == [0, 1, 2]
    for created, *written in of_partition.values():
        assert (created["leader_epoch"], created["controller_epoch"]) == (0, 1)
        assert {row.kind for row in written} == {"znode_set"}
        assert [row["version"] for row in written] == list(range(1, len(written) + 1))


def test_only_the_controller_raises_the_leader_epoch_and_always_by_one(changes: RunFolder) -> None:
    by_controller = {
        (row["partition"], row["version"])
        for kind in ("leader_elected", "removed_from_isr")
        for row in rows_of(changes, kind)
    }
    by_leader = {
        (row["partition"], row["version"])
        for kind in ("isr_shrunk", "isr_expanded")
        for row in rows_of(changes, kind)
    }
    assert not by_controller & by_leader
    seen = set()
    for partition, written in states(changes).items():
        for before, row in pairwise(written):
            place = (partition, row["version"])
            seen.add(place)
            raised = row["leader_epoch"] - before["leader_epoch"]
            assert raised == (1 if place in by_controller else 0), place
            if place in by_leader:
                assert row["leader"] == before["leader"]
                assert row["controller_epoch"] == before["controller_epoch"]
            else:
                assert place in by_controller
    # Each row of who wrote is about a write, and there are some of both.
    creations = {(partition, 0) for partition in states(changes)}
    assert seen | creations == by_controller | by_leader
    assert by_leader
    assert by_controller > creations


def test_a_dead_follower_costs_an_epoch_and_its_place_only(changes: RunFolder) -> None:
    """Rule 1.2: the controller's write adds one also where the leader stays; order is kept."""
    removed = rows_of(changes, "removed_from_isr")
    assert {broker_id(changes, row["replica"]) for row in removed} == {1}
    assert 2 in {row["partition"] for row in removed}
    for row in removed:
        before, after = (
            next(each for each in states(changes)[row["partition"]] if _version(each) == version)
            for version in (row["version"] - 1, row["version"])
        )
        gone = changes.manifest["partitions"][row["partition"]]["replicas"].index(1)
        assert unpack(after["isr"]) == [slot for slot in unpack(before["isr"]) if slot != gone]
        assert gone in unpack(before["isr"])
        assert after["leader"] == before["leader"]


def _version(row: TraceRow) -> int:
    return row.columns.get("version", 0)


def test_a_leader_that_was_replaced_meanwhile_is_refused(changes: RunFolder) -> None:
    """ReplicationUtils.updateLeaderAndIsr@2.4.0: BADVERSION, and its own ISR stays as it is.

    Broker 1 led t-0 when it was paused. It goes on, finds its followers far behind and wants
    to be alone in the ISR before anybody tells it that another broker leads now.
    """
    refused = rows_of(changes, "isr_update_failed")
    assert refused
    _, elected = rows_of(changes, "leader_elected", partition=0)
    for row in refused:
        assert row["process"] == 0
        assert row["partition"] == 0
        assert row["error"] == BAD_VERSION
        assert members(changes, row) == [1]
        # As soon as it has a session again.
        assert 0 < row["time_us"] - RESUMED_US < RECONNECT_US + SOON_US
        # It knows the version that was there before the election.
        assert row["version"] == elected["version"] - 1
    own = [row for row in states(changes)[0] if row["writer"] == 0]
    assert own
    assert all(row["time_us"] < PAUSED_US for row in own)
    asked = [
        row["old_isr"]
        for row in rows_of(changes, "isr_update_sent", partition=0, process=0)
        if row["time_us"] >= RESUMED_US
    ]
    assert len(asked) == len(refused)
    assert len(set(asked)) == 1


def test_the_first_leader_is_the_first_live_replica(tmp_path: Path) -> None:
    """Rule 1.1, y1: the live ones in assignment order; nothing is written without any.

    The controller hears late of the topic, when broker 1 is gone again.
    """
    topics = [
        {"name": "t", "assignment": {0: [1, 2, 3], 1: [2, 1, 3], 2: [3, 2, 1]}},
        {"name": "alone", "assignment": {0: [1]}},
    ]
    late = {
        "kind": "slow_link", "at": "400ms", "for": "3s", "one_way": True,
        "between": [["zookeeper"], ["controller:3"]], "delay": "9s",
    }  # fmt: skip
    run = run_of(
        cluster(duration="20s", topics=topics, faults=[late, paused(1, "2s", "13s")]),
        tmp_path / "run",
    )
    (expired,) = rows_of(run, "session_expired")
    (registered,) = [
        row for row in rows_of(run, "broker_registered", broker=0) if row["time_us"] > 15 * SECOND
    ]
    of_partition = states(run)
    for partition, isr in enumerate([[2, 3], [2, 3], [3, 2]]):
        created = of_partition[partition][0]
        assert expired["time_us"] < created["time_us"] < 15 * SECOND
        replicas = run.manifest["partitions"][partition]["replicas"]
        assert [replicas[slot] for slot in unpack(created["isr"])] == isr
        assert replicas[created["leader"]] == isr[0]
        assert (created["leader_epoch"], created["controller_epoch"]) == (0, 1)
    # The one without a live replica waits until one registers.
    (created,) = writes_by_path(run, "/brokers/topics/alone/partitions/0/state").popitem()[1]
    assert 0 < created["time_us"] - registered["time_us"] < SOON_US
    assert (created["leader"], created["leader_epoch"], unpack(created["isr"])) == (0, 0, [0])
