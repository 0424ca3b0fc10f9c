"""A broker's log directory on disk: checkpoint files, written whole or not at all.

A checkpoint has no checksum, and a torn one can be mistaken for a good one
(``replication/checkpoint_files.py`` says when). So the new content goes to ``<file>.tmp``,
is forced to the disk, and only then takes the place of the old one in a single step.
Whenever a crash comes, the file holds the old content or the new. A ``.tmp`` that is left
behind is never read, and the next write starts it over.
"""

from __future__ import annotations

import os
from pathlib import Path


def write_checkpoint(path: Path, content: bytes) -> None:
    """Replace a checkpoint; after a crash at any point it holds the old content or the new.

    From 3.0 on Kafka also flushes the folder, so that a loss of power right after the write
    cannot bring back the old content. This is left out: either content is a valid one.

    Raises OSError, after which the file still holds its old content.

    Source: OffsetCheckpoint.write@0.10.2.0, CheckpointFile.write@0.11.0.0 - 3.8.0,
    Utils.atomicMoveWithFallback.
    """
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        # Without this the rename could reach the disk before the content does, and an empty
        # file is a valid checkpoint without entries.
        os.fsync(file.fileno())
    temporary.replace(path)


def read_checkpoint(path: Path) -> bytes:
    """The content of a checkpoint; empty if there is none yet, as Kafka then creates it empty.

    Raises OSError, also if the folder is missing: Kafka does not create that.

    Source: OffsetCheckpoint@0.10.2.0, CheckpointFile@0.11.0.0 - 3.8.0, constructors.
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        if path.parent.is_dir():
            return b""
        raise
