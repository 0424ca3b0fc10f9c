"""A replica moves from one log directory of its broker to another (KIP-113).

AlterReplicaLogDirs creates a *future log* in the other directory. A thread of the broker
(ReplicaAlterLogDirsThread) copies the current log into it, in pieces of replica.fetch.max.bytes and
no faster than replica.alter.log.dirs.io.max.bytes.per.second. As soon as both logs end at the same
offset, the future log takes the place of the current one, which is deleted. A future log outlives
its broker's process: the next one goes on with the copy.

A future log knows the leader epochs of its records only. An epoch in which nothing was written, as
a leader of an idle partition has it, is forgotten at the end of the move (KAFKA-15608, KAFKA-20961;
open in 4.4.0). A follower whose last epoch is later than any that is left is answered
OFFSET_OUT_OF_RANGE with each fetch, until the leader appends a record.

The end of a move closes the log that was moved. If a flush of it runs at that moment, the flush
fails, and releases without KAFKA-19571 take that for a failed disk: the whole log directory goes
offline. A step says whether there is such a flush.

Simplified: the throttle is a bandwidth, and not a window of samples. Each replica is copied by a
thread of its own. A move waits for no answer of a KRaft controller (AssignReplicasToDirs). The
copied records push no others out of the page cache. A loss of power takes all of a future log.

Source: ReplicaManager.alterReplicaLogDirs, ReplicaAlterLogDirsThread.processPartitionData,
Partition.maybeReplaceCurrentWithFutureReplica, LogManager.replaceCurrentWithFutureLog@3.9.0.
"""

from tidegauge.actors.fetches.fetch_read import row_on
from tidegauge.actors.fetches.fetch_sessions import touch
from tidegauge.actors.state.brokers import Brokers, epochs_of, runs_of
from tidegauge.actors.state.handlers import BROKER, REQUESTS
from tidegauge.actors.state.request_times import mark_error
from tidegauge.actors.storage.checkpoints import checkpoint_recovery_points, note_cut_epochs
from tidegauge.actors.storage.disks import disk_of, old_bytes
from tidegauge.actors.storage.log_dirs import cordoned_directories, notice_failure
from tidegauge.actors.storage.logs import note_append
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors
from tidegauge.replication.replica_list import NO_REPLICA
from tidegauge.simulation.bandwidth import last_transfer_end_us, transfer_end_us
from tidegauge.simulation.events import free_event, new_response
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.client_requests import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
)
from tidegauge.simulation.messages.timers import FutureLogCopied
from tidegauge.simulation.rows import REQUEST, cost_us
from tidegauge.simulation.topology import slot_of
from tidegauge.simulation.trace_rows.replica_rows import (
    FutureLogCreated,
    FutureLogRemoved,
    LogMoved,
)


@REQUESTS.handles(AlterReplicaLogDirsRequest)
@inner_rule
def handle_alter_replica_log_dirs(world: Brokers, request: AlterReplicaLogDirsRequest) -> bool:
    """Begin to move a replica to another log directory, or respond with the error.

    Source: KafkaApis.handleAlterReplicaLogDirsRequest, ReplicaManager.alterReplicaLogDirs@3.9.0.
    """
    response = new_response(world, request, AlterReplicaLogDirsResponse)
    response.error = _move_error(world, request)
    if response.error == errors.NONE:
        row = row_on(world, request.destination, request.partition)
        _begin_move(world, row, request)
    mark_error(world, request, response.error)
    request.cost_us = cost_us(world, request.destination, REQUEST)
    send(world, response, world.context[0].time_us + request.cost_us)
    free_event(world, request)
    return True


@inner_rule
def _move_error(world: Brokers, request: AlterReplicaLogDirsRequest) -> int:
    """Why a replica is not moved; a move to where it is already is none, and no error.

    Source: ReplicaManager.alterReplicaLogDirs, LogManager.getOrCreateLog@3.9.0, KIP-1066@4.3.0.
    """
    broker = request.destination
    state = world.brokers[broker]
    if (state.offline_directories >> request.directory) & 1 == 1:
        return errors.KAFKA_STORAGE_ERROR
    if (cordoned_directories(world, broker) >> request.directory) & 1 == 1:
        return errors.INVALID_REPLICA_ASSIGNMENT
    slot = slot_of(world, request.partition, broker)
    if slot == NO_REPLICA:
        return errors.REPLICA_NOT_AVAILABLE
    row = world.partitions[request.partition].first_slot + slot
    if world.hosted[row].offline:
        return errors.KAFKA_STORAGE_ERROR
    if not world.hosted[row].exists:
        return errors.REPLICA_NOT_AVAILABLE
    # A future log of the same partition might lie in the directory that is offline.
    is_elsewhere = world.on_disk[row].directory != request.directory
    return (
        errors.KAFKA_STORAGE_ERROR
        if state.offline_directories != 0 and is_elsewhere
        else (errors.NONE)
    )


@inner_rule
def _begin_move(world: Brokers, row: int, request: AlterReplicaLogDirsRequest) -> None:
    """Create a future log; one in a third directory is deleted.

    Source: Partition.futureReplicaDirChanged, maybeCreateFutureReplica@3.9.0.
    """
    on_disk = world.on_disk[row]
    if on_disk.future_directory not in (NONE, request.directory):
        remove_future_log(world, row)
    if request.directory in (on_disk.directory, on_disk.future_directory):
        return
    on_disk.future_directory = request.directory
    on_disk.future_end_offset = 0
    on_disk.flushed_as_moved = request.flushed
    FutureLogCreated.write(world, partition=request.partition, directory=request.directory)
    copy_future_log(world, row)


@inner_rule
def remove_future_log(world: Brokers, row: int) -> None:
    """Give up a move: the replica stays where it is.

    Source: Partition.removeFutureLocalReplica@3.9.0.
    """
    on_disk = world.on_disk[row]
    FutureLogRemoved.write(
        world, partition=world.hosted[row].partition, directory=on_disk.future_directory
    )
    on_disk.future_directory = NONE


@inner_rule
def copy_future_log(world: Brokers, row: int) -> None:
    """Copy the next piece of a replica's log into its future log, if it has one."""
    on_disk = world.on_disk[row]
    if on_disk.future_directory == NONE:
        return
    replica = world.replicas[row]
    broker = world.hosted[row].broker
    state = world.brokers[broker]
    now_us = world.context[0].time_us
    first_offset = max(on_disk.future_end_offset, replica.log_start_offset)
    record_bytes = world.partitions[world.hosted[row].partition].record_bytes
    most = max(1, state.replica_fetch_max_bytes // record_bytes)
    end_offset = min(replica.log_end_offset, first_offset + most)
    size_bytes = (end_offset - first_offset) * record_bytes
    read_bytes = old_bytes(world, row, first_offset, end_offset)
    read_us = transfer_end_us(disk_of(world.disk_reads, world, row), read_bytes, now_us)
    disk = world.disk_writes[broker * state.log_directories + on_disk.future_directory]
    written_us = last_transfer_end_us(disk, size_bytes, now_us) - state.dirty_us
    throttled_us = transfer_end_us(world.alter_log_dirs[broker], size_bytes, now_us)
    FutureLogCopied.at(
        world,
        max(read_us, written_us, throttled_us, now_us),
        row=row,
        directory=on_disk.future_directory,
        copied_from=on_disk.future_end_offset,
        end_offset=end_offset,
    )


@BROKER.handles(FutureLogCopied)
@inner_rule
def handle_future_log_copied(world: Brokers, timer: FutureLogCopied) -> None:
    """Append a piece to a future log, unless it was cut meanwhile, and go on.

    Source: ReplicaAlterLogDirsThread.processPartitionData@3.9.0.
    """
    row = timer.row
    on_disk = world.on_disk[row]
    hosted = world.hosted[row]
    if not hosted.exists or on_disk.future_directory != timer.directory:
        return
    if (world.brokers[hosted.broker].failing_directories >> timer.directory) & 1 == 1:
        notice_failure(world, hosted.broker, timer.directory)
        return
    if on_disk.future_end_offset == timer.copied_from:
        on_disk.future_end_offset = min(timer.end_offset, world.replicas[row].log_end_offset)
    if on_disk.future_end_offset == world.replicas[row].log_end_offset:
        _replace_current_with_future_log(world, row)
    else:
        copy_future_log(world, row)


@inner_rule
def _replace_current_with_future_log(world: Brokers, row: int) -> None:
    """The future log is complete: it is the replica's log from now on.

    Source: LogManager.replaceCurrentWithFutureLog@3.9.0.
    """
    on_disk = world.on_disk[row]
    replica = world.replicas[row]
    broker = world.hosted[row].broker
    left = on_disk.directory
    touch(world, row)
    on_disk.directory = on_disk.future_directory
    on_disk.future_directory = NONE
    LogMoved.write(
        world,
        partition=world.hosted[row].partition,
        directory=on_disk.directory,
        log_end_offset=replica.log_end_offset,
    )
    _forget_epochs_without_records(world, row)
    # Nothing of the copy was flushed, and all of it was appended just now.
    on_disk.recovery_point = replica.log_start_offset
    on_disk.marks = 0
    note_append(world.context[0], world, row, replica.log_start_offset)
    if on_disk.flushed_as_moved and world.rules[broker].flush_of_closed_log_fails_directory:
        notice_failure(world, broker, left)
    checkpoint_recovery_points(world, broker)


@inner_rule
def _forget_epochs_without_records(world: Brokers, row: int) -> None:
    """The leader-epoch cache of a future log, which grew with its records."""
    replica = world.replicas[row]
    if not world.rules[world.hosted[row].broker].records_carry_epoch:
        return
    runs = runs_of(world, row)
    epochs = epochs_of(world, row)
    old_count = replica.epoch_count
    replica.epoch_count = replica.run_count
    for index in range(replica.run_count):
        epochs[index].epoch = runs[index].epoch
        epochs[index].start_offset = runs[index].start_offset
    note_cut_epochs(world, row, old_count)
