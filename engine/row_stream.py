"""The stream of canonical rows of all groups, in their total order; and checkpoints as real files.

Groups hand over their rows as they drain them. Once no group has rows left from before some moment,
the earlier rows are sorted and judged. So checks and figures see the same rows in the same order,
however the processes are grouped.

With ``checkpoint_files: true`` in the scenario, a broker's checkpoints are real files in Kafka's
format, under ``log-directories/broker-<id>/`` in the folder of the run, written at the broker's own
times. A start reads them back: a file that was changed or deleted while the broker was down changes
its start. The kernel requests each write (``actors/storage/checkpoints.py``), and stops until it is
done.
"""

import shutil
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from tidegauge.actors.state.brokers import Brokers, widen_epochs
from tidegauge.actors.storage.checkpoints import (
    EPOCHS_DUE,
    HIGH_WATERMARKS_DUE,
    READ_DUE,
    RECOVERY_POINTS_DUE,
)
from tidegauge.actors.storage.log_dirs import read_checkpoint, write_checkpoint
from tidegauge.compiled.records import Records
from tidegauge.engine.layout.broker_tables import enlarge_epochs
from tidegauge.engine.layout.check_tables import enlarge, new_figures, new_history
from tidegauge.engine.layout.kept_tables import laid_out
from tidegauge.engine.reassignment_spans import ReassignmentSpans
from tidegauge.engine.run_snapshots.merged_tables import merge
from tidegauge.engine.run_snapshots.packed_tables import CopiedTable, copied, packed, restore
from tidegauge.replication import checkpoint_files
from tidegauge.replication.records import UNDEFINED, EpochEntry
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.traces.checks.breaches import judged_rows
from tidegauge.traces.judging.judgement import judge, judge_end

#: The number of rows that are worth a call.
_MANY_ROWS = 4096


class StreamCopy(NamedTuple):
    """The state of checks and figures, copied so that they can go on."""

    history: Mapping[str, CopiedTable]
    figures: Mapping[str, CopiedTable]
    reassignments: Mapping[str, Any]

    def packed(self) -> dict[str, Any]:
        """The state as msgpack takes it, compressed."""
        return {
            "history": packed(self.history),
            "figures": packed(self.figures),
            "reassignments": self.reassignments,
        }


class RowStream:
    """Takes the rows of all groups, and judges and counts them in their order."""

    def __init__(self, plan: ClusterPlan) -> None:
        """Begin without rows."""
        self.history = laid_out(plan, new_history)
        self.figures = laid_out(plan, new_figures)
        self.reassignments = ReassignmentSpans(plan)
        self._waiting: list[NDArray[np.void]] = []
        self._waiting_rows = 0
        self._due_rows = _MANY_ROWS

    def take(self, rows: NDArray[np.void]) -> None:
        """Take rows of one group; they are copied."""
        self.take_judged(judged_rows(rows))

    def take_judged(self, rows: NDArray[np.void]) -> None:
        """Take rows of one group that checks and figures read; they are kept."""
        if len(rows):
            self._waiting.append(rows)
            self._waiting_rows += len(rows)

    @property
    def is_due(self) -> bool:
        """Whether so many rows wait that it is worth to settle."""
        return self._waiting_rows >= self._due_rows

    def settle(self, time_us: int) -> None:
        """Note that no group has more rows from before this time."""
        if self.is_due:
            self._judge_before(time_us)
            # Rows that have to wait are sorted again, so only once as many have joined them.
            self._due_rows = 2 * self._waiting_rows + _MANY_ROWS

    def copy(self, time_us: int) -> StreamCopy:
        """The state after all rows from before this time; no group has later ones."""
        self._judge_before(time_us)
        assert not self._waiting, "a group is ahead of the moment that is saved"
        saved = self.reassignments.saved()
        return StreamCopy(copied(self.history), copied(self.figures), saved)

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue from a state that :meth:`StreamCopy.packed` has given.

        Raises:
            DamagedTablesError: it is not that of a run of this scenario.
        """
        restore(self.history, saved["history"])
        restore(self.figures, saved["figures"])
        self.reassignments.restore(saved["reassignments"])

    def continue_from(self, saved: Mapping[str, Any], past: ClusterPlan) -> None:
        """Continue from the state of a run that had another plan.

        Raises:
            DamagedTablesError: it is not that of a run of the past's scenario.
            MergeError: the plans differ in something that cannot change while a run goes on.
        """
        history, figures = self.history, self.figures
        self.history, self.figures = new_history(past), new_figures(past)
        self.restore(saved)
        merge(self.history, new_history(past), history, growing={"faults"})
        merge(self.figures, new_figures(past), figures, growing={"stopped"})

    def end(self) -> None:
        """Note that there are no more rows."""
        self._judge_before(None)
        judge_end(self.history.view, self.figures.view)

    def _judge_before(self, time_us: int | None) -> None:
        if not self._waiting:
            return
        rows = _in_order(_joined(self._waiting))
        self._waiting = []
        if time_us is not None:
            complete = int(np.searchsorted(rows["time_us"], time_us))
            rows, later = rows[:complete], rows[complete:]
            if len(later):
                self._waiting.append(later.copy())
        self._waiting_rows = sum(map(len, self._waiting))
        self.reassignments.take(rows)
        self._judge(cast("Records[RowSlot]", rows))

    def _judge(self, rows: Records[RowSlot]) -> None:
        done = 0
        while done < len(rows):
            enlarge(self.history, self.figures)
            done = int(judge(self.history.view, self.figures.view, rows, done))


# numpy copies words three to five times as fast as records.


def _joined(pieces: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
    """Rows of several arrays in one."""
    words = np.concatenate([piece.view(np.int64).reshape(len(piece), -1) for piece in pieces])
    rows: NDArray[np.void] = words.view(pieces[0].dtype).reshape(-1)
    return rows


#: A place in the order of time and process is one number: processes have these bits.
_PROCESS_BITS = 21


def _in_order(rows: NDArray[np.void]) -> NDArray[np.void]:
    """Rows of whole groups in the total order; those of one process are in order already.

    Mostly there is one group, and all are in order; rows of several are merged.
    """
    places = rows["time_us"] << _PROCESS_BITS | rows["process"]
    if (places[1:] >= places[:-1]).all():
        return rows
    words = rows.view(np.int64).reshape(len(rows), -1)
    merged = words.take(np.argsort(places, kind="stable"), axis=0)
    in_order: NDArray[np.void] = merged.view(rows.dtype).reshape(-1)
    return in_order


#: Below the run's folder.
LOG_DIRECTORIES = "log-directories"


class LogDirectories:
    """The log directories of the brokers of one group; without a folder there are none."""

    def __init__(self, plan: ClusterPlan, folder: Path | None) -> None:
        self.plan = plan
        self.folder = None if folder is None else folder / LOG_DIRECTORIES
        #: Brokers, and the files that are to take the place of theirs.
        self._restored: tuple[Collection[int], Mapping[str, bytes]] = ((), {})

    def saved(self, brokers: Iterable[int]) -> dict[str, bytes]:
        """The content of all files of brokers, by their indexes; each by its path in the folder."""
        if self.folder is None:
            return {}
        self._replace_files(self.folder)
        return {
            str(file.relative_to(self.folder)): file.read_bytes()
            for index in brokers
            for file in sorted(self._directory_of(index).rglob("*"))
            if file.is_file()
        }

    def restore(self, brokers: Collection[int], saved: Mapping[str, bytes]) -> None:
        """Have the files that :meth:`saved` has read in place of all files of these brokers.

        There can be those of other brokers.

        They are replaced before the first use: a run that cannot continue changes nothing.
        """
        self._restored = (brokers, saved)

    def _replace_files(self, folder: Path) -> None:
        (brokers, saved), self._restored = self._restored, ((), {})
        directories = [self._directory_of(index) for index in brokers]
        for directory in directories:
            shutil.rmtree(directory, ignore_errors=True)
        for path, content in saved.items():
            file = folder / path
            if any(file.is_relative_to(directory) for directory in directories):
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)

    def _directory_of(self, index: int) -> Path:
        assert self.folder is not None
        return self.folder / f"broker-{self.plan.brokers[index]}"

    def exchange(self, world: Brokers) -> None:
        """Write the due files of each broker, and read the files that a start needs.

        Raises:
            CheckpointError: a file is damaged, so that Kafka would not read it.
            OSError: a file cannot be read or written.
        """
        for index, broker in enumerate(world.brokers):
            due = int(broker.files_due)
            broker.files_due = 0
            if due == 0 or self.folder is None:
                continue
            self._replace_files(self.folder)
            directory = self._directory_of(index)
            directory.mkdir(parents=True, exist_ok=True)
            rows = _rows_of(world, index)
            if due & HIGH_WATERMARKS_DUE:
                self._write_offsets(
                    world, rows, directory / checkpoint_files.REPLICATION_OFFSET_CHECKPOINT
                )
            if due & RECOVERY_POINTS_DUE:
                self._write_offsets(
                    world, rows, directory / checkpoint_files.RECOVERY_POINT_OFFSET_CHECKPOINT
                )
                self._remove_deleted(world, rows, directory)
            if due & EPOCHS_DUE:
                self._write_epochs(world, rows, directory)
            if due & READ_DUE:
                self._read(world, index, rows, directory)

    def _name_of(self, world: Brokers, row: int) -> checkpoint_files.TopicPartition:
        planned = self.plan.partitions[int(world.hosted[row].partition)]
        return checkpoint_files.TopicPartition(planned.topic, planned.number)

    def _epoch_file(self, world: Brokers, row: int, directory: Path) -> Path:
        topic, partition = self._name_of(world, row)
        return directory / f"{topic}-{partition}" / checkpoint_files.LEADER_EPOCH_CHECKPOINT

    def _write_offsets(self, world: Brokers, rows: list[int], file: Path) -> None:
        field = _field_of(file)
        offsets = {
            self._name_of(world, row): int(getattr(world.on_disk[row], field)) for row in rows
        }
        known = {name: offset for name, offset in offsets.items() if offset != UNDEFINED}
        write_checkpoint(file, checkpoint_files.render_offsets(known))

    def _remove_deleted(self, world: Brokers, rows: list[int], directory: Path) -> None:
        """Remove the folders of deleted logs, which have no offsets either."""
        there = {"{}-{}".format(*self._name_of(world, row)) for row in rows}
        for folder in directory.iterdir():
            if folder.name not in there and folder.is_dir() and self._is_log(folder.name):
                shutil.rmtree(folder)

    def _is_log(self, folder: str) -> bool:
        """Whether a folder has the name of a partition."""
        topic, _, number = folder.rpartition("-")
        numbers = self.plan.numbers_of.get(topic, range(0))
        return number.isdecimal() and int(number) < len(numbers)

    def _write_epochs(self, world: Brokers, rows: list[int], directory: Path) -> None:
        """Write the leader epochs of each replica where they have changed."""
        for row in rows:
            if not world.on_disk[row].epochs_due:
                continue
            world.on_disk[row].epochs_due = False
            entries = [
                checkpoint_files.EpochStart(int(entry.epoch), int(entry.start_offset))
                for entry in _epochs_of(world, row)[: int(world.replicas[row].epoch_count)]
            ]
            file = self._epoch_file(world, row, directory)
            file.parent.mkdir(exist_ok=True)
            write_checkpoint(file, checkpoint_files.render_leader_epochs(entries))

    def _read(self, world: Brokers, index: int, rows: list[int], directory: Path) -> None:
        """Replace the broker's checkpoints by the content of the files."""
        release = self.plan.scenario.release_of(self.plan.brokers[index]).release
        reader = checkpoint_files.CheckpointFormat.of_release(release)
        for name in (
            checkpoint_files.REPLICATION_OFFSET_CHECKPOINT,
            checkpoint_files.RECOVERY_POINT_OFFSET_CHECKPOINT,
        ):
            file = directory / name
            offsets = checkpoint_files.parse_offsets(read_checkpoint(file), reader, str(file))
            for row in rows:
                offset = offsets.get(self._name_of(world, row), int(UNDEFINED))
                setattr(world.on_disk[row], _field_of(file), offset)
        for row in rows:
            file = self._epoch_file(world, row, directory)
            content = read_checkpoint(file) if file.parent.is_dir() else b""
            entries = checkpoint_files.parse_leader_epochs(content, reader, str(file))
            if len(entries) > world.hosted[row].epoch_room:
                enlarge_epochs(world, 2 * len(entries))
                widen_epochs(world.view_as(Brokers), row, len(entries))
            world.replicas[row].epoch_count = len(entries)
            for place, entry in zip(_epochs_of(world, row), entries, strict=False):
                place.epoch = entry.epoch
                place.start_offset = entry.start_offset


def _epochs_of(world: Brokers, row: int) -> Records[EpochEntry]:
    """The leader-epoch cache of a replica, as ``epochs_of`` has it for rules."""
    room = int(world.hosted[row].epoch_room)
    first = int(world.hosted[row].first_entry) + room
    return world.epoch_entries[first : first + room]


def _field_of(file: Path) -> str:
    """The field of ``LogOnDisk`` that a file of offsets holds."""
    is_high_watermark = file.name == checkpoint_files.REPLICATION_OFFSET_CHECKPOINT
    return "high_watermark" if is_high_watermark else "recovery_point_checkpoint"


def _rows_of(world: Brokers, broker: int) -> list[int]:
    """The replicas of which a broker has a log."""
    rows = []
    row = int(world.brokers[broker].first_log)
    while row >= 0:
        if world.on_disk[row].exists:
            rows.append(row)
        row = int(world.hosted[row].next_log)
    return rows
