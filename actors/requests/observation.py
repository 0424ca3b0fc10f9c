"""What a harness reads off a broker: the files of its logs, and what it would answer itself.

A step ``observe`` asks for it. It is written down whether the broker runs or not, for the
files are there either way; only a broker that runs can say what its high watermarks are.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, epochs_of, listens
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.codes.occasions import (
    DIRECTORY_OFFLINE,
    NOT_HOSTED,
    NOT_LISTENING,
    NOT_UP,
    REASON_OBSERVED,
    WAITS_FOR_LOCK,
)
from tidegauge.simulation.handlers import FAULTS
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.fault_events import Observe
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.fault_rows import EpochObserved, HighWatermarkTold, Observed


@FAULTS.handles(Observe)
@inner_rule
def observe(world: Brokers, event: Observe) -> None:
    """Write down each replica of a broker that has a log."""
    row = world.brokers[event.destination].first_log
    while row != NONE:
        if world.on_disk[row].exists:
            _observe_replica(world, row, event.step)
        row = world.hosted[row].next_log


@inner_rule
def _answer_about(world: Brokers, row: int) -> int:
    """The high watermark that a fetch would be told now, or why it would not be told one."""
    hosted = world.hosted[row]
    if not world.processes[hosted.broker].alive:
        return NOT_UP
    if not listens(world, hosted.broker):
        return NOT_LISTENING
    if not hosted.exists:
        return DIRECTORY_OFFLINE if hosted.offline else NOT_HOSTED
    return WAITS_FOR_LOCK if hosted.locked else world.replicas[row].high_watermark


@inner_rule
def tell_observer(world: Brokers, row: int) -> None:
    """A replica is unlocked that a step has looked at: a fetch would be answered now."""
    hosted = world.hosted[row]
    if hosted.observer > 0:
        written = new_row(world, hosted.broker, HighWatermarkTold)
        written.step = hosted.observer - 1
        written.partition = hosted.partition
        written.high_watermark = world.replicas[row].high_watermark
        write_row(world, written)
        hosted.observer = 0


@inner_rule
def _observe_replica(world: Brokers, row: int, step: int) -> None:
    hosted = world.hosted[row]
    replica = world.replicas[row]
    on_disk = world.on_disk[row]
    written = new_row(world, hosted.broker, Observed)
    written.step = step
    written.partition = hosted.partition
    written.log_end_offset = replica.log_end_offset
    written.high_watermark = _answer_about(world, row)
    if written.high_watermark == WAITS_FOR_LOCK and hosted.observer == 0:
        hosted.observer = 1 + step
    written.checkpointed = on_disk.high_watermark
    written.recovery_point = on_disk.recovery_point_checkpoint
    written.epoch_count = replica.epoch_count
    write_row(world, written)
    write_log_runs(world, row, REASON_OBSERVED)
    epochs = epochs_of(world, row)
    for index in range(replica.epoch_count):
        entry = new_row(world, hosted.broker, EpochObserved)
        entry.step = step
        entry.partition = hosted.partition
        entry.epoch = epochs[index].epoch
        entry.start_offset = epochs[index].start_offset
        write_row(world, entry)
