"""Mechanism 9: checkpoints, as real files in Kafka's format, and read back at a restart.

The scenario is ``09-checkpoints``. Its broker 2 is down from 95 s to 105 s after a kill, its
broker 1 from 116.7 s to 120 s after a clean stop.
"""

from __future__ import annotations

from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from isr_stories import ms, process_named, retold
from scenario_runs import rows_of, run_of, shipped
from tidegauge.engine.group import Group
from tidegauge.engine.row_stream import LOG_DIRECTORIES
from tidegauge.engine.simulate import manifest_of
from tidegauge.replication.checkpoint_files import (
    CheckpointError,
    CheckpointFormat,
    EpochStart,
    TopicPartition,
    parse_leader_epochs,
    parse_offsets,
    render_leader_epochs,
    render_offsets,
)
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.trace_rows.codes import HIGH_WATERMARKS, REASON_END, RECOVERY_POINTS
from tidegauge.traces.run_files import MANIFEST, TRACE
from tidegauge.traces.run_folder import RunFolder, TraceRow, write_json_atomically
from tidegauge.traces.trace_file import TraceWriter

SCENARIO = "09-checkpoints"
STORY = TopicPartition("story", 0)
HIGH_WATERMARK = "replication-offset-checkpoint"
RECOVERY_POINT = "recovery-point-offset-checkpoint"
EPOCHS = "story-0/leader-epoch-checkpoint"

#: log.flush.interval.messages by default: never.
NEVER = 2**63 - 1
#: Virtual times at which only what was written before is on disk.
KILLED_S, STOPPED_S = 100, 119


class Halves:
    """A run that can be stopped, so that somebody looks at the files, or has his way with them."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        """Lay out the run; nothing has happened yet."""
        plan = ClusterPlan(scenario)
        (folder / TRACE).mkdir(parents=True)
        write_json_atomically(folder / MANIFEST, manifest_of(plan))
        self._folder = folder
        self._end_us = scenario.duration_us
        self._group = Group(plan, range(len(plan.processes)), folder)
        self._rows: list[NDArray[np.void]] = []

    def _keep(self, rows: NDArray[np.void]) -> None:
        self._rows.append(rows.copy())

    def until(self, time_us: int) -> None:
        """Let everything happen that is earlier than this."""
        self._group.run_to(time_us, self._keep)

    def to_the_end(self) -> RunFolder:
        """Let the rest happen."""
        self.until(self._end_us)
        self._group.close(self._end_us, self._keep, int(REASON_END))
        with closing(TraceWriter(self._folder / TRACE / "group-0.msgpack")) as writer:
            for rows in self._rows:
                writer.write(rows)
        return RunFolder(self._folder)

    def file(self, broker: int, name: str) -> Path:
        """A broker's checkpoint."""
        return self._folder / LOG_DIRECTORIES / f"broker-{broker}" / name

    def offset(self, broker: int, name: str) -> int | None:
        """What a checkpoint of offsets has of the partition."""
        content = self.file(broker, name).read_bytes()
        return parse_offsets(content, CheckpointFormat.SCALA).get(STORY)

    def epochs(self, broker: int) -> list[EpochStart]:
        """What a leader-epoch-checkpoint holds."""
        content = self.file(broker, EPOCHS).read_bytes()
        return list(parse_leader_epochs(content, CheckpointFormat.SCALA))


def meddled(
    tmp_path: Path, at_s: int, broker: int, name: str, content: bytes | None, **parts: Any
) -> RunFolder:
    """A run in which a file is replaced, or deleted, while its broker is down."""
    halves = Halves(retold(SCENARIO, **parts), tmp_path / "run")
    halves.until(at_s * 1_000_000)
    file = halves.file(broker, name)
    assert file.exists()
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    return halves.to_the_end()


def found(run: RunFolder, broker: int) -> TraceRow:
    """What a broker's one restart has found on disk."""
    (read,) = rows_of(run, "checkpoint_read", process=process_named(run, f"broker {broker}"))
    return read


# The format.


def test_a_leader_epoch_checkpoint_is_version_count_and_entries() -> None:
    """The story's file: version 0, one entry, epoch 29 from offset 2485991681 on."""
    content = b"0\n1\n29 2485991681\n"
    entries = parse_leader_epochs(content, CheckpointFormat.SCALA)
    assert entries == (EpochStart(epoch=29, start_offset=2_485_991_681),)
    assert render_leader_epochs(entries) == content


def test_all_three_files_are_written_in_kafkas_format(tmp_path: Path) -> None:
    """One line for the version, one for the count, one for each entry."""
    halves = Halves(shipped(SCENARIO), tmp_path / "run")
    halves.until(STOPPED_S * 1_000_000)
    assert halves.file(1, HIGH_WATERMARK).read_text() == "0\n1\nstory 0 10\n"
    assert halves.file(1, RECOVERY_POINT).read_text() == "0\n1\nstory 0 10\n"
    assert halves.file(1, EPOCHS).read_text() == "0\n2\n0 0\n1 8\n"


# When they are written.


def written_ms(run: RunFolder, checkpoint: int, broker: int) -> list[int]:
    process = process_named(run, f"broker {broker}")
    rows = rows_of(run, "checkpoint_written", process=process, checkpoint=checkpoint)
    return [ms(row) for row in rows]


def test_high_watermarks_are_written_every_5_s_from_the_first_leader_and_isr_on(
    tmp_path: Path,
) -> None:
    """replica.high.watermark.checkpoint.interval.ms; broker 2 begins anew after its restart.

    It begins at the end of the first LeaderAndIsr, half a millisecond after it follows.
    """
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    first, again = rows_of(run, "became_follower", process=1)
    times = written_ms(run, HIGH_WATERMARKS, broker=2)
    before = [time for time in times if time < 95_000]
    after = times[len(before) :]
    for written, follows in ((before[0], first), (after[0], again)):
        assert 0 <= written - ms(follows) <= 1
    assert {later - earlier for earlier, later in [*pairwise(before), *pairwise(after)]} == {5_000}
    assert len(before) == 19


def test_recovery_points_are_written_after_30_s_and_then_every_60_s(tmp_path: Path) -> None:
    """log.flush.offset.checkpoint.interval.ms, after the initial delay; and at a clean stop."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    assert written_ms(run, RECOVERY_POINTS, broker=3) == [30_000, 90_000]
    (stopped,) = rows_of(run, "broker_stopped", process=0)
    assert written_ms(run, RECOVERY_POINTS, broker=1) == [30_500, 90_500, ms(stopped)]
    # A kill writes nothing, and the new process has not run for 30 s.
    assert written_ms(run, RECOVERY_POINTS, broker=2) == [30_500, 90_500]


def test_a_leader_epoch_checkpoint_is_written_at_each_change(tmp_path: Path) -> None:
    """Each time an epoch comes into a cache the file has it, and not before."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    halves = Halves(shipped(SCENARIO), tmp_path / "halves")
    entries: dict[int, list[EpochStart]] = {1: [], 2: []}
    for row in run.rows("epoch_assigned"):
        broker = row["process"] + 1
        halves.until(row["time_us"])
        assert not entries[broker] or halves.epochs(broker) == entries[broker]
        halves.until(row["time_us"] + 1)
        entries[broker].append(EpochStart(row["epoch"], row["start_offset"]))
        assert halves.epochs(broker) == entries[broker]
    assert entries == {1: [(0, 0), (1, 8), (2, 10)], 2: [(0, 0), (1, 8), (2, 10)]}


# The recovery point.


@pytest.mark.parametrize("broker", [1, 2])
def test_with_a_flush_at_each_append_the_recovery_point_is_the_log_end(
    tmp_path: Path, broker: int
) -> None:
    """log.flush.interval.messages=1: 5 after 30 s, 8 after 90 s, and the log ends there."""
    halves = Halves(shipped(SCENARIO), tmp_path / "run")
    for until_s, offset in ((31, 5), (91, 8)):
        halves.until(until_s * 1_000_000)
        assert halves.offset(broker, RECOVERY_POINT) == offset
        assert halves.offset(broker, HIGH_WATERMARK) == offset


def test_by_default_only_a_clean_stop_brings_the_recovery_point_to_the_log_end(
    tmp_path: Path,
) -> None:
    """The twin: nothing is flushed until then, so the killed broker reads all of it again."""
    scenario = retold(SCENARIO, {"log.flush.interval.messages": NEVER})
    halves = Halves(scenario, tmp_path / "run")
    halves.until(KILLED_S * 1_000_000)
    assert [halves.offset(broker, RECOVERY_POINT) for broker in (1, 2)] == [0, 0]
    halves.until(STOPPED_S * 1_000_000)
    assert halves.offset(1, RECOVERY_POINT) == halves.offset(1, HIGH_WATERMARK) == 10
    run = halves.to_the_end()
    loading = {row["broker"]: row for row in run.rows("broker_loading")}
    assert (loading[0]["clean"], loading[0]["records_to_recover"]) == (1, 0)
    assert (loading[1]["clean"], loading[1]["records_to_recover"]) == (0, 8)


# What a start finds.


def test_a_start_finds_what_was_written_last(tmp_path: Path) -> None:
    """After the kill the checkpoints of 90 s; after the clean stop the ends."""
    run = run_of(shipped(SCENARIO), tmp_path / "run")
    columns = ("high_watermark", "recovery_point", "log_end_offset", "epoch_count")
    assert [found(run, 2)[column] for column in columns] == [8, 8, 8, 1]
    assert [found(run, 1)[column] for column in columns] == [10, 10, 10, 2]


@pytest.mark.parametrize(
    ("release", "content", "read", "high_watermark"),
    [
        ("0.10.2", None, -1, 0),
        ("0.10.2", render_offsets({STORY: 3}), 3, 3),
        ("2.6", None, -1, 0),
        ("2.6", render_offsets({STORY: 3}), 3, 3),
        ("2.6", render_offsets({STORY: 99}), 99, 8),
    ],
)
def test_another_high_watermark_in_the_file_is_the_one_a_start_goes_by(
    tmp_path: Path, release: str, content: bytes | None, read: int, high_watermark: int
) -> None:
    """Rules section 5.2: its value or 0, and not more than the log. 0.10.2 truncates to it."""
    run = meddled(tmp_path, KILLED_S, 2, HIGH_WATERMARK, content, release=release)
    assert found(run, 2)["high_watermark"] == read
    follows = rows_of(run, "became_follower", process=1)[-1]
    assert follows["high_watermark"] == high_watermark
    cuts = [(row["old_end_offset"], row["end_offset"]) for row in run.rows("truncated")]
    assert cuts == ([(8, high_watermark)] if release == "0.10.2" else [])


@pytest.mark.parametrize(("content", "read"), [(None, -1), (render_offsets({STORY: 5}), 5)])
def test_another_recovery_point_in_the_file_makes_a_start_read_more_again(
    tmp_path: Path, content: bytes | None, read: int
) -> None:
    """LogManager.loadLogs: a log without an entry is read from its beginning."""
    run = meddled(tmp_path, KILLED_S, 2, RECOVERY_POINT, content)
    assert found(run, 2)["recovery_point"] == read
    (loading,) = rows_of(run, "broker_loading", broker=1)
    assert loading["records_to_recover"] == 8 - max(0, read)


def test_without_its_epochs_a_follower_does_not_ask_where_they_ended(tmp_path: Path) -> None:
    """Rule 4.3: an empty cache asks nothing, and the file begins anew with the next epoch."""
    run = meddled(tmp_path, STOPPED_S, 1, EPOCHS, None)
    assert found(run, 1)["epoch_count"] == 0
    back = found(run, 1)["time_us"]
    assert [row for row in run.rows("epoch_answered") if row["time_us"] > back] == []
    (assigned,) = [row for row in run.rows("epoch_assigned") if row["time_us"] > back]
    assert (assigned["position"], assigned["epoch"], assigned["start_offset"]) == (0, 2, 10)
    untouched = run_of(shipped(SCENARIO), tmp_path / "untouched")
    asked = [row for row in untouched.rows("epoch_answered") if row["time_us"] > back]
    assert [(row["asked_epoch"], row["end_offset"]) for row in asked] == [(1, 10)]


def test_an_epoch_that_begins_behind_the_log_is_forgotten_at_a_start(tmp_path: Path) -> None:
    """Rules section 5.2: the cache is trimmed to the log; here the story's file, of another log."""
    run = meddled(tmp_path, STOPPED_S, 1, EPOCHS, b"0\n1\n29 2485991681\n")
    assert found(run, 1)["epoch_count"] == 1
    (cut,) = rows_of(run, "epochs_cut", process=0)
    assert cut["epoch_count"] == 0


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        (HIGH_WATERMARK, b"0\n2\nstory 0 8\n", "line 2"),
        (RECOVERY_POINT, b"1\n1\nstory 0 8\n", "line 1"),
        (EPOCHS, b"0\n1\n29\n", "line 3"),
    ],
)
def test_a_damaged_file_ends_the_run_with_its_name(
    tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    """One error says which file, which line, and what is wrong with it."""
    with pytest.raises(CheckpointError, match=f"broker-2/{name}, {reason}: "):
        meddled(tmp_path, KILLED_S, 2, name, content)


# Nothing else changes.


def hash_of(scenario: Scenario, folder: Path) -> str:
    summary = run_of(scenario, folder).summary
    assert summary is not None
    return str(summary["trace_sha256"])


def test_a_run_is_the_same_with_real_files_and_without(tmp_path: Path) -> None:
    """The tables know as much as the files: one hash; and no files where none are asked for."""
    with_files = hash_of(retold(SCENARIO), tmp_path / "with")
    assert hash_of(retold(SCENARIO, checkpoint_files=False), tmp_path / "without") == with_files
    assert (tmp_path / "with" / LOG_DIRECTORIES).is_dir()
    assert not (tmp_path / "without" / LOG_DIRECTORIES).exists()
