"""A checkpoint on disk is the old one or the new one, whenever a crash comes.

OffsetCheckpoint.write@0.10.2.0, CheckpointFile.write@0.11.0.0 - 3.8.0: the new content goes
to ``<file>.tmp``, is flushed and forced to the disk, and is renamed.
"""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidegauge.actors.storage.log_dirs import read_checkpoint, write_checkpoint
from tidegauge.replication.checkpoint_files import (
    LEADER_EPOCH_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CheckpointFormat,
    EpochStart,
    TopicPartition,
    parse_leader_epochs,
    parse_offsets,
    render_leader_epochs,
    render_offsets,
)

OLD = b"0\n1\n29 2485991681\n"
NEW = b"0\n2\n29 2485991681\n30 2485991700\n"


class Crash(BaseException):
    """The broker is gone, in the middle of what it was doing."""


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / LEADER_EPOCH_CHECKPOINT
    write_checkpoint(path, OLD)
    return path


def temporary(path: Path) -> Path:
    return path.with_name(f"{path.name}.tmp")


def crash(*_: object, **__: object) -> None:
    raise Crash


def test_a_restarted_broker_finds_what_it_wrote(tmp_path: Path) -> None:
    partition = TopicPartition("foo", 0)
    epochs_path = tmp_path / "foo-0" / LEADER_EPOCH_CHECKPOINT
    epochs_path.parent.mkdir()
    write_checkpoint(tmp_path / REPLICATION_OFFSET_CHECKPOINT, render_offsets({partition: 95}))
    write_checkpoint(tmp_path / RECOVERY_POINT_OFFSET_CHECKPOINT, render_offsets({partition: 100}))
    write_checkpoint(epochs_path, render_leader_epochs([EpochStart(0, 0), EpochStart(1, 60)]))

    release = CheckpointFormat.of_release("2.6")
    high_watermarks = read_checkpoint(tmp_path / REPLICATION_OFFSET_CHECKPOINT)
    recovery_points = read_checkpoint(tmp_path / RECOVERY_POINT_OFFSET_CHECKPOINT)
    assert parse_offsets(high_watermarks, release) == {partition: 95}
    assert parse_offsets(recovery_points, release) == {partition: 100}
    assert parse_leader_epochs(read_checkpoint(epochs_path), release) == ((0, 0), (1, 60))


def test_a_checkpoint_that_was_never_written_is_empty(tmp_path: Path) -> None:
    # Each release's constructor creates the file; reading alone changes nothing here.
    path = tmp_path / REPLICATION_OFFSET_CHECKPOINT
    assert read_checkpoint(path) == b""
    assert not path.exists()


def test_a_missing_folder_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "foo-0" / LEADER_EPOCH_CHECKPOINT
    with pytest.raises(FileNotFoundError):
        read_checkpoint(path)
    with pytest.raises(FileNotFoundError):
        write_checkpoint(path, NEW)


def test_a_write_replaces_the_content_and_leaves_nothing_beside_it(checkpoint: Path) -> None:
    write_checkpoint(checkpoint, NEW)
    assert read_checkpoint(checkpoint) == NEW
    assert list(checkpoint.parent.iterdir()) == [checkpoint]


@pytest.mark.parametrize(
    ("owner", "step"),
    [(Path, "open"), (os, "fsync"), (Path, "replace")],
    ids=["before the .tmp", "before it is on the disk", "before the rename"],
)
def test_a_crash_before_the_rename_leaves_the_old_content(
    owner: object, step: str, checkpoint: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, step, crash)
        with pytest.raises(Crash):
            write_checkpoint(checkpoint, NEW)
    assert read_checkpoint(checkpoint) == OLD
    write_checkpoint(checkpoint, NEW)
    assert read_checkpoint(checkpoint) == NEW


def test_a_crash_after_the_rename_leaves_the_new_content(checkpoint: Path) -> None:
    def rename_and_crash(source: Path, target: Path) -> None:
        source.rename(target)
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "replace", rename_and_crash)
        with pytest.raises(Crash):
            write_checkpoint(checkpoint, NEW)
    assert read_checkpoint(checkpoint) == NEW


def test_all_content_is_forced_to_the_disk_before_the_rename(checkpoint: Path) -> None:
    steps: list[tuple[str, bytes]] = []

    def fsync(descriptor: int) -> None:
        assert os.path.samestat(os.fstat(descriptor), temporary(checkpoint).stat())
        steps.append(("fsync", temporary(checkpoint).read_bytes()))

    def replace(source: Path, target: Path) -> None:
        assert (source, target) == (temporary(checkpoint), checkpoint)
        steps.append(("rename", source.read_bytes()))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", fsync)
        patch.setattr(Path, "replace", replace)
        write_checkpoint(checkpoint, NEW)
    assert steps == [("fsync", NEW), ("rename", NEW)]


def test_a_full_disk_leaves_the_old_content(checkpoint: Path) -> None:
    def no_space_left(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", no_space_left)
        with pytest.raises(OSError, match="No space"):
            write_checkpoint(checkpoint, NEW)
    assert read_checkpoint(checkpoint) == OLD


@given(st.integers(0, len(NEW)).map(lambda written: NEW[:written]) | st.binary(max_size=200))
def test_whatever_a_crash_left_beside_it_does_no_harm(left: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / LEADER_EPOCH_CHECKPOINT
        temporary(path).write_bytes(left)
        assert read_checkpoint(path) == b""
        write_checkpoint(path, OLD)
        temporary(path).write_bytes(left)
        assert read_checkpoint(path) == OLD
        write_checkpoint(path, NEW)
        assert read_checkpoint(path) == NEW
        assert not temporary(path).exists()


offsets = st.dictionaries(
    st.builds(TopicPartition, st.from_regex(r"[a-zA-Z0-9._-]{1,20}", fullmatch=True), st.just(0)),
    st.integers(0, 2**63 - 1),
)
epochs = st.lists(st.builds(EpochStart, st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1)))


@given(offsets, epochs, st.sampled_from(CheckpointFormat))
def test_what_is_written_is_read_back(
    offsets: dict[TopicPartition, int], epochs: list[EpochStart], reader: CheckpointFormat
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / REPLICATION_OFFSET_CHECKPOINT
        write_checkpoint(path, render_offsets(offsets))
        assert parse_offsets(read_checkpoint(path), reader) == offsets
        path = Path(folder) / LEADER_EPOCH_CHECKPOINT
        write_checkpoint(path, render_leader_epochs(epochs))
        assert parse_leader_epochs(read_checkpoint(path), reader) == tuple(epochs)
