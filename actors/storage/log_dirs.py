"""A broker's log directory on disk: checkpoint files, written whole or not at all.

A checkpoint has no checksum, and a torn one can be mistaken for a good one (cases:
``replication/checkpoint_files.py``). So the new content goes to ``<file>.tmp``, is forced to the
disk, and only then takes the place of the old one in a single step. Whenever a crash comes, the
file holds the old content or the new. A ``.tmp`` that is left behind is never read, and the next
write starts it over.

A broker's log directories (``log.dirs``): which log lies where, which of them can be used.

A new log goes to the directory with the fewest logs, of those that are not cordoned. A write that
fails takes its directory offline for as long as the process lives: the writer notices that here,
and another thread does the rest at once (``process/log_dir_failures.py``). Reads do not fail, for
they are served from the page cache; nor does a flush, which the operating system makes.

Directories are bits of a broker's fields, the first of ``log.dirs`` the lowest.

Source: LogManager@2.6.0, LogDirFailureChannel@2.6.0 (KIP-112).
"""

import os
from pathlib import Path

from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.faults import FAULT_CODES
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.timers import LogDirFails
from tidegauge.simulation.topology import is_kraft


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


LOG_DIRECTORY_FAILURE = FAULT_CODES.new("log_directory_failure", 10)


@inner_rule
def all_directories(state: Broker) -> int:
    """Every log directory that a broker has."""
    return (1 << state.log_directories) - 1


@inner_rule
def is_in(directories: int, world: Brokers, row: int) -> bool:
    """Whether a replica's log lies in one of these directories."""
    return (directories >> world.on_disk[row].directory) & 1 == 1


@inner_rule
def is_offline(world: Brokers, row: int) -> bool:
    """Whether a replica's log lies in a directory that its broker has given up."""
    return is_in(world.brokers[world.hosted[row].broker].offline_directories, world, row)


@inner_rule
def is_unwritable(world: Brokers, row: int) -> bool:
    """Whether nothing can be written to the directory of a replica's log."""
    state = world.brokers[world.hosted[row].broker]
    return is_in(state.offline_directories | state.failing_directories, world, row)


@inner_rule
def know_failing_directories(world: Brokers, broker: int) -> None:
    """Find the directories of a machine that fail now, by its faults.

    One that is full can still be read.
    """
    state = world.brokers[broker]
    state.failing_directories = 0
    state.unreadable_directories = 0
    count = world.context[0].process_count
    for number, fault in enumerate(world.faults):
        role = world.fault_roles[number * count + broker]
        if fault.kind == LOG_DIRECTORY_FAILURE and role.active and role.side != 0:
            state.failing_directories |= 1 << fault.directory
            if not fault.is_full:
                state.unreadable_directories |= 1 << fault.directory


@inner_rule
def write_fails(world: Brokers, row: int) -> bool:
    """Whether a write to a replica's log fails; then its directory goes offline.

    Source: Log.maybeHandleIOException@2.6.0.
    """
    state = world.brokers[world.hosted[row].broker]
    unusable = state.failing_directories | state.offline_directories
    if unusable == 0 or not is_in(unusable, world, row):
        return False
    notice_failure(world, world.hosted[row].broker, world.on_disk[row].directory)
    return True


@inner_rule
def notice_failure(world: Brokers, broker: int, directory: int) -> None:
    """An IOException in a directory: it is offline, and LogDirFailureHandler is notified once.

    Source: LogDirFailureChannel.maybeAddOfflineLogDir@2.6.0.
    """
    state = world.brokers[broker]
    if (state.offline_directories >> directory) & 1 == 1:
        return
    state.offline_directories |= 1 << directory
    LogDirFails.after(world, 0, directory=directory)


@inner_rule
def notice_at_checkpoint(world: Brokers, broker: int, hosting: bool) -> None:
    """A checkpoint is written into each directory; ``hosting``: only where replicas are hosted.

    Source: ReplicaManager.checkpointHighWatermarks@2.6.0,
    LogManager.checkpointLogRecoveryOffsets@2.6.0.
    """
    state = world.brokers[broker]
    failing = state.failing_directories & ~state.offline_directories
    for directory in range(state.log_directories):
        if (failing >> directory) & 1 == 1 and (not hosting or _hosts_in(world, broker, directory)):
            notice_failure(world, broker, directory)


@inner_rule
def _hosts_in(world: Brokers, broker: int, directory: int) -> bool:
    for row in LOGS.of(world, world.brokers[broker]):
        if world.hosted[row].exists and world.on_disk[row].directory == directory:
            return True
    return False


@inner_rule
def cordon_directories(world: Brokers, broker: int, directories: int) -> None:
    """Cordon these directories, and no others; -1: nothing changes.

    Source: LogManager.updateCordonedLogDirs@4.3.0 (KIP-1066).
    """
    if directories != NONE:
        cordoned = directories & all_directories(world.brokers[broker])
        world.lifecycles[broker].cordoned_directories = cordoned


@inner_rule
def cordoned_directories(world: Brokers, broker: int) -> int:
    """The cordoned log directories of a broker: bits; with ZooKeeper there are none."""
    return world.lifecycles[broker].cordoned_directories if is_kraft(world) else 0


@inner_rule
def next_log_directory(world: Brokers, broker: int) -> int:
    """The directory of a new log: one with the fewest logs; NONE if no directory can be written to.

    One that cannot goes offline, and the next is tried.

    Source: LogManager.nextLogDirs and getOrCreateLog@2.6.0, nextLogDirs@4.3.0.
    """
    state = world.brokers[broker]
    cordoned = cordoned_directories(world, broker)
    while state.offline_directories != all_directories(state):
        closed = state.offline_directories | cordoned
        if closed == all_directories(state):
            # With all of them cordoned, the first that can be used.
            closed = ~(~state.offline_directories & (state.offline_directories + 1))
        directory = _with_fewest_logs(world, broker, closed)
        if (state.failing_directories >> directory) & 1 == 0:
            return directory
        notice_failure(world, broker, directory)
    return NONE


@inner_rule
def _with_fewest_logs(world: Brokers, broker: int, closed: int) -> int:
    """The first of the directories that are not closed and have the fewest logs."""
    state = world.brokers[broker]
    found = NONE
    fewest = 0
    for directory in range(state.log_directories):
        if (closed >> directory) & 1 == 0:
            logs = 0
            if state.log_directories > 1:
                logs = _logs_in(world, broker, directory)
            if found == NONE or logs < fewest:
                found = directory
                fewest = logs
    return found


@inner_rule
def _logs_in(world: Brokers, broker: int, directory: int) -> int:
    logs = 0
    for row in LOGS.of(world, world.brokers[broker]):
        logs += 1 if world.on_disk[row].directory == directory else 0
    return logs
