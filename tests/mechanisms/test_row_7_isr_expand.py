"""Row 7: a follower that was evicted catches up, and its leader admits it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from isr_stories import as_written, members, ms, process_named, retold
from scenario_runs import rows_of, run_of, shipped


def test_a_follower_that_has_caught_up_is_appended_to_the_isr(tmp_path: Path) -> None:
    """Real brokers, section 1.3: at the end of the ISR, whatever the assignment's order is."""
    run = run_of(shipped("07-follower-returns-to-isr"), tmp_path / "run")
    (shrunk,) = run.rows("isr_shrunk")
    (expanded,) = run.rows("isr_expanded")
    assert members(run, shrunk, "old_isr") == [1, 2, 3]
    assert members(run, shrunk) == members(run, expanded, "old_isr") == [1, 3]
    assert members(run, expanded) == [1, 3, 2]
    assert expanded["process"] == process_named(run, "broker 1")


def test_each_change_of_the_leader_adds_one_to_the_version_and_none_to_the_epoch(
    tmp_path: Path,
) -> None:
    """Real brokers, section 1.2: the znode goes from version 0 to 1 to 2, all of epoch 0."""
    run = run_of(shipped("07-follower-returns-to-isr"), tmp_path / "run")
    (shrunk,) = run.rows("isr_shrunk")
    (expanded,) = run.rows("isr_expanded")
    written = [row for row in run.rows("znode_set") if row["writer"] == 0 and row["leader"] == 0]
    assert [row["version"] for row in written] == [1, 2]
    assert [row["isr"] for row in written] == [shrunk["isr"], expanded["isr"]]
    assert [shrunk["version"], expanded["version"]] == [1, 2]
    assert {row["leader_epoch"] for row in [shrunk, expanded, *written]} == {0}
    # Nobody else had a hand in it.
    assert rows_of(run, "session_expired") == rows_of(run, "removed_from_isr") == []
    assert [row["leader_epoch"] for row in run.rows("leader_elected")] == [0]


def test_it_is_the_fetch_at_the_high_watermark_that_admits_the_follower(tmp_path: Path) -> None:
    """Rules section 1.5: evaluated once per fetch; the first that lags no more is enough."""
    run = run_of(shipped("07-follower-returns-to-isr"), tmp_path / "run")
    (healed,) = rows_of(run, "fault_ended", process=0)
    (sent,) = [row for row in run.rows("isr_update_sent") if row.place > healed.place]
    fetches = [
        row
        for row in rows_of(run, "fetch_counted", process=0, replica=1)
        if healed.place < row.place < sent.place
    ]
    assert fetches[-1]["time_us"] == sent["time_us"]
    assert fetches[-1]["fetch_offset"] >= fetches[-1]["high_watermark"]
    # Those before it came with what the follower had when it was cut off.
    assert len(fetches) > 1
    assert all(row["fetch_offset"] < row["high_watermark"] for row in fetches[:-1])
    # TCP needs 2 to 5s after a long cut; then it is a matter of two fetches.
    assert 2_000 <= ms(sent) - ms(healed) <= 5_100
    assert sent["time_us"] - fetches[0]["time_us"] < 20_000


def test_a_follower_is_admitted_at_the_high_watermark_short_of_the_leaders_log_end(
    tmp_path: Path,
) -> None:
    """Rules section 0.3: LEO >= HW is enough; the leader's LEO need not be reached.

    Here the high watermark is behind, as follower 3 is 110ms away from the leader, and
    follower 2 catches up record by record.
    """
    (cut,) = as_written("07-follower-returns-to-isr")["faults"]
    slow = {"kind": "slow_link", "between": [["broker:1"], ["broker:3"]], "delay": "110ms"}
    (shop,) = as_written("07-follower-returns-to-isr")["workload"]["producers"]
    story = retold(
        "07-follower-returns-to-isr",
        {"replica.fetch.max.bytes": 100},
        faults=[cut, slow | {"at": "25s"}],
        workload={"producers": [shop | {"batches_per_second": 4}]},
    )
    run = run_of(story, tmp_path / "run")
    (expanded,) = run.rows("isr_expanded")
    assert members(run, expanded) == [1, 3, 2]
    sent = rows_of(run, "isr_update_sent")[-1]
    fetches = [
        row for row in rows_of(run, "fetch_counted", replica=1) if row.place < expanded.place
    ]
    assert fetches[-1]["time_us"] == sent["time_us"]
    assert fetches[-1]["fetch_offset"] == fetches[-1]["high_watermark"]
    assert fetches[-1]["high_watermark"] < fetches[-1]["log_end_offset"]
    assert fetches[-2]["fetch_offset"] == fetches[-1]["fetch_offset"] - 1


def test_in_an_expansion_the_fetch_waits_until_zookeeper_has_the_isr(tmp_path: Path) -> None:
    """Rules section 1.6: expandIsr writes inside the partition's lock, then answers."""
    run = run_of(shipped("07-follower-returns-to-isr"), tmp_path / "run")
    (expanded,) = run.rows("isr_expanded")
    sent = rows_of(run, "isr_update_sent")[-1]
    answers = rows_of(run, "fetch_answered", process=0, to_process=1)
    assert 800 <= expanded["time_us"] - sent["time_us"] < 15_000
    assert not [row for row in answers if sent["time_us"] < row["time_us"] < expanded["time_us"]]
    assert [row for row in answers if row["time_us"] >= expanded["time_us"]]


@pytest.mark.parametrize("release", ["0.10.2", "2.0", "2.4", "2.6"])
def test_the_story_is_the_same_in_every_release_in_which_leaders_write_isrs(
    tmp_path: Path, release: str
) -> None:
    """Rules section 1.5: the releases differ only in what else an expansion asks for."""
    run = run_of(retold("07-follower-returns-to-isr", release=release), tmp_path / "run")
    changes = [*run.rows("isr_shrunk"), *run.rows("isr_expanded")]
    assert [members(run, row) for row in changes] == [[1, 3], [1, 3, 2]]
    assert [(row["leader_epoch"], row["version"]) for row in changes] == [(0, 1), (0, 2)]
