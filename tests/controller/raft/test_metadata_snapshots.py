"""Snapshots of the metadata log: who was away for too long loads one, and continues from its end.

Nodes write one every 5 s; the log is cleaned, once a minute, of what is older than 10 s.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from quorum_stories import SECOND, crash, quorum_story, states
from scenario_runs import rows_of, run_of
from tidegauge.simulation.trace_rows.codes import CLEANED, LOADED, WRITTEN
from tidegauge.traces.run_folder import RunFolder

EAGER = {
    "metadata.log.max.snapshot.interval.ms": 5000,
    "metadata.max.retention.ms": 10_000,
}
#: The first broker is 0, and the controllers are behind three of them.
LEADER, FOLLOWER = 3, 5


def story(folder: Path, *faults: dict[str, Any], **parts: Any) -> RunFolder:
    controllers = {"count": 3, "settings": {"broker.session.timeout.ms": 4000, **EAGER}}
    given = {"controllers": controllers, "duration": "75s", "faults": faults} | parts
    return run_of(quorum_story([[1, 2, 3], [1, 2, 3]], **given), folder / "r")


def test_a_broker_that_was_cut_off_across_a_cleaning_loads_a_snapshot(tmp_path: Path) -> None:
    """ReplicatedLog.validateOffsetAndEpoch: its fetch offset lies below the log start offset.

    Meanwhile a topic was created: it is in what the snapshot publishes.
    """
    cut = {"kind": "cut_link", "name": "away", "between": [[3], ["controllers"]]}
    create = {"do": "create_topic", "at": "20s", "topic": "t1"}
    run = story(tmp_path, cut | {"at": "10s", "for": "53s"}, steps=[create])
    (cleaned,) = rows_of(run, "metadata_snapshot", broker=LEADER, snapshot_step=CLEANED)
    (loaded,) = rows_of(run, "metadata_snapshot", broker=2, snapshot_step=LOADED)
    assert 60 * SECOND < cleaned["time_us"] < 63 * SECOND < loaded["time_us"]
    written = rows_of(run, "metadata_snapshot", broker=LEADER, snapshot_step=WRITTEN)
    before = [row["end_offset"] for row in written if row["time_us"] < loaded["time_us"]]
    assert loaded["end_offset"] == before[-1] > cleaned["log_start_offset"]
    # It follows the partition that was made while it was away, and joins its ISR.
    (late,) = rows_of(run, "became_follower", partition=1, process=2)
    assert late["time_us"] > loaded["time_us"]
    assert states(run, 1)[-1].isr == [1, 2, 3]


def test_a_voter_that_was_down_across_a_cleaning_loads_a_snapshot(tmp_path: Path) -> None:
    """KafkaMetadataLog.truncateToLatestSnapshot: its log begins and ends where the snapshot does.

    Then it fetches the rest, and is one of the majority without the leader.
    """
    down = crash(3, 10, 63) | {"brokers": ["controller:2"], "name": "down"}
    others = crash(3, 70) | {"brokers": ["controller:0"], "name": "leader dies"}
    run = story(tmp_path, down, others, duration="80s")
    (loaded,) = rows_of(run, "metadata_snapshot", broker=FOLLOWER, snapshot_step=LOADED)
    assert loaded["log_start_offset"] == loaded["end_offset"]
    ends = [
        row["log_end_offset"]
        for row in rows_of(run, "voter_log", broker=FOLLOWER)
        if loaded["time_us"] <= row["time_us"] < 70 * SECOND
    ]
    assert ends[0] == loaded["end_offset"]
    leader = rows_of(run, "voter_log", broker=LEADER)
    last = max(row["log_end_offset"] for row in leader if row["time_us"] < 70 * SECOND)
    assert last - 1 <= ends[-1] <= last
    after = rows_of(run, "voter_log", broker=FOLLOWER)[-1]
    assert after["high_watermark"] > last


def test_who_returns_before_the_log_is_cleaned_reads_the_log(tmp_path: Path) -> None:
    """KafkaMetadataLog.maybeClean: the first one comes after a minute."""
    down = crash(3, 10, 50) | {"brokers": ["controller:2", 3]}
    run = story(tmp_path, down, duration="58s")
    assert rows_of(run, "metadata_snapshot", snapshot_step=LOADED) == []


def test_a_snapshot_is_due_after_so_many_bytes(tmp_path: Path) -> None:
    """SnapshotGenerator.publishLogDelta: a NoOpRecord each 500 ms, each record counts for 72."""
    settings = {"metadata.log.max.record.bytes.between.snapshots": 720}
    controllers = {"count": 1, "settings": settings}
    run = story(tmp_path, controllers=controllers, duration="20s")
    rows = rows_of(run, "metadata_snapshot", broker=LEADER, snapshot_step=WRITTEN)
    ends = [row["end_offset"] for row in rows]
    assert len(ends) >= 3
    assert all(later - earlier == 10 for earlier, later in pairwise(ends[1:]))
    # Three brokers, two topics, with settings and a partition each.
    assert rows[-1]["snapshot_bytes"] == 9 * 72


def test_time_alone_makes_no_snapshot_due(tmp_path: Path) -> None:
    """SnapshotGenerator.publishLogDelta: records are published, or there is nothing to write.

    All controllers are down for a while, and have no leader for longer than the interval.
    """
    down = crash(3, 10, 12) | {"brokers": ["controllers"], "name": "down"}
    settings = {"metadata.log.max.snapshot.interval.ms": 1000}
    run = story(tmp_path, down, controllers={"count": 3, "settings": settings}, duration="25s")
    for controller in range(LEADER, LEADER + 3):
        written = rows_of(run, "metadata_snapshot", broker=controller, snapshot_step=WRITTEN)
        ends = [row["end_offset"] for row in written]
        assert ends[0] > 0
        assert all(before < after for before, after in pairwise(ends)), controller
