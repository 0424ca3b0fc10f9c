"""highwatermark-checkpoint and kafka-recovery-point-checkpoint: the files that a start finds.

The high watermarks of all partitions that the broker hosts go to one file every
replica.high.watermark.checkpoint.interval.ms, from its first LeaderAndIsr on; up to where each
log was flushed goes to another every log.flush.offset.checkpoint.interval.ms. A partition's
leader epochs are written to its own file at each change, so the cache is the file.

In the tables the files are fields of ``LogOnDisk``. A scenario can have them as real files,
too, and then a start reads those (``engine/row_stream.py``).
"""

from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import CHANGED, LOGS, UNWRITTEN, Brokers, epochs_of
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.storage.log_dirs import is_unwritable, notice_at_checkpoint
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.leader_epoch_cache import latest_epoch
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages.timers import HighWatermarkCheckpoint, RecoveryPointCheckpoint
from tidegauge.simulation.rows import traces_all
from tidegauge.simulation.trace_rows.codes import HIGH_WATERMARKS, RECOVERY_POINTS
from tidegauge.simulation.trace_rows.detail_rows import CheckpointWritten
from tidegauge.simulation.trace_rows.replica_rows import EpochAssigned, EpochsCut

_TRUE = code(True)
_FALSE = code(False)

# Broker.files_due
HIGH_WATERMARKS_DUE = code(1)
RECOVERY_POINTS_DUE = code(2)
EPOCHS_DUE = code(4)
READ_DUE = code(8)


@inner_rule
def want_files(world: Kernel, broker: Broker, what: int) -> None:
    """Write or read real files, if the scenario has them."""
    context = world.context[0]
    if context.has_files:
        broker.files_due |= what
        context.files_due = True


@inner_rule
def start_high_watermark_checkpoints(world: Brokers, broker: int) -> None:
    """Begin to checkpoint high watermarks, with the first LeaderAndIsr.

    Source: ReplicaManager.startHighWaterMarksCheckPointThread@0.10.2.0 and @2.4.0.
    """
    state = world.brokers[broker]
    if not state.checkpoints_high_watermarks:
        state.checkpoints_high_watermarks = True
        HighWatermarkCheckpoint.after(world, 0)


@BROKER.handles(HighWatermarkCheckpoint)
@inner_rule
def handle_high_watermark_checkpoint(world: Brokers, timer: HighWatermarkCheckpoint) -> None:
    """Write the file, and again after the interval."""
    broker = timer.destination
    notice_at_checkpoint(world, broker, _TRUE)
    checkpoint_high_watermarks(world, broker)
    period_us = world.brokers[broker].replica_high_watermark_checkpoint_interval_ms * 1000
    HighWatermarkCheckpoint.after(world, period_us)


@inner_rule
def checkpoint_high_watermarks(world: Brokers, broker: int) -> None:
    """Write replication-offset-checkpoint, without replicas that the broker does not host.

    A broker that hosts nothing leaves the file as it is. Each log directory has a file of its
    own, and that of one that is offline stays as it is.

    Source: ReplicaManager.checkpointHighWatermarks@0.10.2.0 and @2.4.0.
    """
    if not _hosts_anything(world, broker):
        return
    changed = world.sampled_brokers[broker]
    for row in CHANGED.of(world, changed):
        _checkpoint_high_watermark(world, row)
    row = NONE
    last = changed.last_unwritten
    while row != last:
        row = UNWRITTEN.take_first(world, changed)
        is_written = _checkpoint_high_watermark(world, row)
        world.sampled_replicas[row].is_unwritten = not is_written
        if not is_written:
            UNWRITTEN.append(world, changed, row)
    if world.context[0].samples_all or traces_all(world):
        count = 0
        for row in LOGS.of(world, world.brokers[broker]):
            is_written = _checkpoint_high_watermark(world, row)
            count += 1 if is_written and world.hosted[row].exists else 0
        _trace_checkpoint(world, HIGH_WATERMARKS, count)
    want_files(world, world.brokers[broker], HIGH_WATERMARKS_DUE)


@inner_rule
def _checkpoint_high_watermark(world: Brokers, row: int) -> bool:
    """Write a replica's high watermark, or none if it is not hosted; False: nothing is written."""
    if is_unwritable(world, row):
        return False
    world.on_disk[row].high_watermark = UNDEFINED
    if world.hosted[row].exists:
        world.on_disk[row].high_watermark = world.replicas[row].high_watermark
    return True


@inner_rule
def _hosts_anything(world: Brokers, broker: int) -> bool:
    for row in LOGS.of(world, world.brokers[broker]):  # noqa: SIM110 - Numba has no `any`
        if world.hosted[row].exists:
            return True
    return False


@inner_rule
def schedule_recovery_points(world: Brokers, broker: int) -> None:
    """Begin to checkpoint recovery points: a while after the start.

    Source: LogManager.startup@0.10.2.0 and @2.4.0.
    """
    RecoveryPointCheckpoint.after(world, world.brokers[broker].log_initial_task_delay_ms * 1000)


@BROKER.handles(RecoveryPointCheckpoint)
@inner_rule
def handle_recovery_point_checkpoint(world: Brokers, timer: RecoveryPointCheckpoint) -> None:
    """Write the file, and again after the interval."""
    broker = timer.destination
    notice_at_checkpoint(world, broker, _FALSE)
    checkpoint_recovery_points(world, broker)
    period_us = world.brokers[broker].log_flush_offset_checkpoint_interval_ms * 1000
    RecoveryPointCheckpoint.after(world, period_us)


@inner_rule
def checkpoint_recovery_points(world: Brokers, broker: int) -> None:
    """Write recovery-point-offset-checkpoint: of every log that there is.

    Source: LogManager.checkpointRecoveryPointOffsets@0.10.2.0,
    checkpointLogRecoveryOffsets@2.4.0.
    """
    state = world.brokers[broker]
    count = 0
    for row in LOGS.of(world, state):
        on_disk = world.on_disk[row]
        if on_disk.exists and not is_unwritable(world, row):
            on_disk.recovery_point_checkpoint = on_disk.recovery_point
            count += 1
    _trace_checkpoint(world, RECOVERY_POINTS, count)
    want_files(world, state, RECOVERY_POINTS_DUE)


@inner_rule
def _trace_checkpoint(world: Kernel, checkpoint: int, count: int) -> None:
    if traces_all(world):
        CheckpointWritten.write(world, checkpoint=checkpoint, partition_count=count)


@inner_rule
def note_epoch(world: Brokers, row: int, old_count: int, old_epoch: int) -> None:
    """Write down that an epoch has come into a replica's cache, if one has.

    ``old_count`` and ``old_epoch`` are those of the cache before.
    """
    partition = world.replicas[row]
    epochs = epochs_of(world, row)
    epoch = latest_epoch(epochs, partition.epoch_count)
    if partition.epoch_count == old_count and epoch == old_epoch:
        return
    hosted = world.hosted[row]
    EpochAssigned.write(
        world,
        partition=hosted.partition,
        position=partition.epoch_count - 1,
        epoch=epoch,
        start_offset=epochs[partition.epoch_count - 1].start_offset,
    )
    want_epoch_file(world, row)


@inner_rule
def note_cut_epochs(world: Brokers, row: int, old_count: int) -> None:
    """Write down that a replica's cache has forgotten its last epochs, if it has."""
    partition = world.replicas[row]
    if partition.epoch_count >= old_count:
        return
    hosted = world.hosted[row]
    EpochsCut.write(world, partition=hosted.partition, epoch_count=partition.epoch_count)
    want_epoch_file(world, row)


@inner_rule
def want_epoch_file(world: Brokers, row: int) -> None:
    """The leader epochs of a replica are to be written, if the scenario has real files."""
    if world.context[0].has_files:
        world.on_disk[row].epochs_due = True
        want_files(world, world.brokers[world.hosted[row].broker], EPOCHS_DUE)
