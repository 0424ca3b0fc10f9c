"""Area ``checkpoint_file``: checkpoint files, on a real disk."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tidegauge.actors.storage.log_dirs import read_checkpoint, write_checkpoint
from tidegauge.replication.checkpoint_files import (
    LEADER_EPOCH_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    CheckpointError,
    CheckpointFormat,
    EpochStart,
    TopicPartition,
    parse_leader_epochs,
    parse_offsets,
    render_leader_epochs,
    render_offsets,
)
from vector_runner.area import Area, Fields, Json, UnknownContentError, area, choice

READERS = {
    "scala_0_10": CheckpointFormat.SCALA_0_10,
    "scala_checkpoint_file": CheckpointFormat.SCALA,
    "java_checkpoint_file": CheckpointFormat.JAVA,
}
FILES = {"offset": REPLICATION_OFFSET_CHECKPOINT, "leader_epoch": LEADER_EPOCH_CHECKPOINT}


@area("checkpoint_file")
class CheckpointFile(Area):
    """A checkpoint of one kind, as one of Kafka's implementations reads it."""

    def __init__(self, given: Fields, tag: str) -> None:
        del tag
        self.kind = given.take("kind")
        name = choice(FILES, self.kind, "kind of checkpoint")
        self.reader = choice(READERS, given.take("implementation"), "implementation")
        self._folder = tempfile.TemporaryDirectory()
        self.path = Path(self._folder.name) / str(name)
        self.entries: list[list[Json]] | None = None
        self.error: str | None = None

    def close(self) -> None:
        self._folder.cleanup()

    def op_write(self, step: Fields) -> None:
        entries = step.take("entries")
        if self.kind == "offset":
            content = render_offsets(
                {TopicPartition(topic, number): offset for topic, number, offset in entries}
            )
        else:
            content = render_leader_epochs(EpochStart(epoch, start) for epoch, start in entries)
        write_checkpoint(self.path, content)

    def op_read(self, step: Fields) -> None:
        text = step.take("file_text", None)
        if text is not None:
            write_checkpoint(self.path, text.encode())
        self.entries, self.error = None, None
        try:
            self.entries = self._parse(read_checkpoint(self.path))
        except CheckpointError as error:
            self.error = error.flaw.value

    def _parse(self, content: bytes) -> list[list[Json]]:
        if self.kind == "offset":
            offsets = parse_offsets(content, self.reader)
            return sorted([*partition, offset] for partition, offset in offsets.items())
        return [list(entry) for entry in parse_leader_epochs(content, self.reader)]

    def see_file_text(self) -> str:
        return read_checkpoint(self.path).decode()

    def see_ok(self) -> bool:
        if self.entries is None and self.error is None:
            raise UnknownContentError("nothing has been read")
        return self.error is None

    def see_entries(self, expected: Json) -> Json:
        """The entries; those of an offset file are a map and come in the expected order."""
        if self.kind == "offset" and self.entries is not None and sorted(expected) == self.entries:
            return expected
        return self.entries

    def see_error(self) -> str | None:
        return self.error
