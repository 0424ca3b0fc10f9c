"""Children of /isr_change_notification: sequence numbers, watches, who deletes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from scenario_runs import rows_of, run_of
from tidegauge.simulation.trace_rows.codes import ISR_CHANGE
from tidegauge.traces.run_folder import RunFolder, TraceRow
from zookeeper_stories import SECOND, SOON_US, cluster, paused, settings, writes

PARENT = "/isr_change_notification/"

LAG = {"replica.lag.time.max.ms": 4_000, "replica.fetch.wait.max.ms": 2_000}
PAUSED_US = 25 * SECOND


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A cut makes leaders change ISRs, in the time of two controllers."""
    story = cluster(
        duration="55s",
        cluster={
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "1600ms"},
            "settings": settings(**LAG),
        },
        workload={
            "producers": [{"name": "shop", "topics": ["t"], "batches_per_second": 1, "stop": "40s"}]
        },
        faults=[
            {"kind": "cut_link", "at": "4s", "for": "6s", "between": [[1], [2]]},
            paused(3, f"{PAUSED_US // SECOND}s", "8s"),
        ],
    )
    return run_of(story, tmp_path_factory.mktemp("changes") / "run")


def created(run: RunFolder) -> list[TraceRow]:
    return [row for _, row in writes(run, PARENT) if row.kind == "znode_created"]


def test_sequence_numbers_go_on_over_the_life_of_the_cluster(changes: RunFolder) -> None:
    """Rules section 3.4: a persistent sequential znode; its place may be taken again."""
    rows = created(changes)
    assert [row["sequence_number"] for row in rows] == list(range(len(rows)))
    second = rows_of(changes, "controller_elected")[1]
    assert rows[0]["time_us"] < second["time_us"] < rows[-1]["time_us"]
    paths = [path for path, row in writes(changes, PARENT) if row.kind == "znode_created"]
    assert paths == [f"{PARENT}isr_change_{number:010}" for number in range(len(rows))]
    assert len({row["writer"] for row in rows}) > 1


def test_each_is_the_one_that_its_leader_has_sent(changes: RunFolder) -> None:
    sent = rows_of(changes, "notification_sent")
    rows = created(changes)
    # A broker's process has its index.
    assert sorted(row["process"] for row in sent) == sorted(row["writer"] for row in rows)


def test_the_watch_fires_for_each_and_for_its_deletion(changes: RunFolder) -> None:
    """KafkaController.processIsrChangeNotification@2.4.0 deletes what it has read.

    The watch is set again when the children are listed, so the deletion is seen, too: there
    are two events of the controller for one notification that comes alone.
    """
    (first, *_) = created(changes)
    (deleted, *_) = [row for _, row in writes(changes, PARENT) if row.kind == "znode_deleted"]
    assert deleted["znode"] == first["znode"]
    assert 0 < deleted["time_us"] - first["time_us"] < SOON_US
    controller, *_ = rows_of(changes, "controller_elected")
    assert deleted["writer"] == controller["broker"]
    events = [
        row["time_us"]
        for row in rows_of(changes, "controller_event", event_kind=int(ISR_CHANGE))
        if 0 <= row["time_us"] - first["time_us"] < 2 * SOON_US
    ]
    assert len(events) == 2
    assert first["time_us"] < events[0] < deleted["time_us"] < events[1]
    (read,) = rows_of(changes, "notification_read", notification=first["sequence_number"])
    assert events[0] < read["time_us"] < deleted["time_us"]


def test_none_is_left(changes: RunFolder) -> None:
    deleted = [row for _, row in writes(changes, PARENT) if row.kind == "znode_deleted"]
    assert len(deleted) == len(created(changes))


def test_a_new_controller_deletes_all_children_unread(tmp_path: Path) -> None:
    """KafkaController.onControllerFailover@2.4.0: it reads all states itself.

    Broker 3, the controller, is paused when broker 1 tells of a change, and never sees it.
    """
    story = cluster(
        duration="24s",
        topics=[{"name": "t", "assignment": {0: [1, 2]}}],
        cluster={
            "brokers": 3,
            "start": {3: "0s", 1: "500ms", 2: "1600ms"},
            "settings": settings(**LAG),
        },
        workload={
            "producers": [{"name": "shop", "topics": ["t"], "batches_per_second": 1, "stop": "9s"}]
        },
        faults=[
            {"kind": "cut_link", "at": "4s", "between": [[1], [2]]},
            paused(3, "14s", "20s"),
        ],
    )
    run = run_of(story, tmp_path / "run")
    (shrunk,) = rows_of(run, "isr_shrunk")
    (notification,) = created(run)
    (first, second) = rows_of(run, "controller_elected")
    assert shrunk["time_us"] < 14 * SECOND < notification["time_us"] < second["time_us"]
    assert not rows_of(run, "notification_read")
    (deleted,) = [row for _, row in writes(run, PARENT) if row.kind == "znode_deleted"]
    assert deleted["writer"] == second["broker"] != first["broker"]
    assert 0 < deleted["time_us"] - second["time_us"] < SOON_US
