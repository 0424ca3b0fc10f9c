"""Logs for tests: recorded ones as they come along, and small ones written by hand."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Mapping
from pathlib import Path

from tidegauge.real_cluster.logs.log_files import found_logs
from tidegauge.real_cluster.logs.real_history import RealHistory, real_history

LOGS = Path(__file__).parents[1] / "data" / "real_logs"
_ARCHIVE = ".tar.gz"
#: The names of the recorded clusters. Those that pages name are folders, the others archives.
RECORDED = sorted(
    each.name.removesuffix(_ARCHIVE)
    for each in LOGS.iterdir()
    if each.is_dir() or each.name.endswith(_ARCHIVE)
)

_STATE_CHANGE = "state.change.logger"
_LOGGERS = {
    "[Partition": "kafka.cluster.Partition",
    "[Controller": "kafka.controller.KafkaController",
    "[QuorumController": "org.apache.kafka.controller.QuorumController",
}


def recorded(name: str, folder: Path) -> Path:
    """A copy of a recorded cluster's logs, in a folder."""
    if (LOGS / name).is_dir():
        return Path(shutil.copytree(LOGS / name, folder / name))
    with tarfile.open(LOGS / f"{name}{_ARCHIVE}") as archive:
        archive.extractall(folder / name, filter="data")
    return folder / name


def written(folder: Path, files: Mapping[str, str]) -> Path:
    """A folder of logs with these files; lines without a date get one, and a logger if need be.

    A line is ``00:00:01,250 [Broker id=1] ...``.
    """
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{_entry(line, name)}\n" for line in text.strip().splitlines()))
    return folder


def _entry(line: str, name: str) -> str:
    time, _, message = line.strip().partition(" ")
    if len(time) != len("00:00:00,000") or "," not in time:
        return line
    if message.endswith(")") and "(kafka" in message:
        return f"[2026-03-01 {time}] INFO {message}"
    logger = _LOGGERS.get(message.split()[0], "kafka.server.KafkaServer")
    if "state-change" in name:
        logger = _STATE_CHANGE
    return f"[2026-03-01 {time}] INFO {message} ({logger})"


def history_of(folder: Path, files: Mapping[str, str]) -> RealHistory:
    """What small logs tell."""
    return real_history(found_logs(written(folder, files)))


def states_in(history: RealHistory) -> list[tuple[str, int, int, int, tuple[int, ...]]]:
    """(partition, version, leader, epoch, ISR) of all states."""
    return [
        (
            f"{each.partition.topic}-{each.partition.number}",
            state.version,
            state.leader,
            state.leader_epoch,
            state.isr or (),
        )
        for each in history.partitions
        for state in each.states
    ]
