"""What a harness reads off a broker: the files of its logs, and what it would answer itself.

A step ``observe`` asks for it. It is written down whether the broker runs or not, for the
files are there either way; only a broker that runs can say what its high watermarks are.
"""

from __future__ import annotations

from tidegauge.actors.state.brokers import Brokers, epochs_of, listens
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.kernel import NONE, Event
from tidegauge.simulation.row_kinds import (
    DIRECTORY_OFFLINE,
    EPOCH_OBSERVED,
    HIGH_WATERMARK_TOLD,
    NOT_HOSTED,
    NOT_LISTENING,
    NOT_UP,
    OBSERVED,
    REASON_OBSERVED,
    WAITS_FOR_LOCK,
)
from tidegauge.simulation.rows import new_row, write_canonical


@inner_rule
def observe(world: Brokers, event: Event) -> None:
    """Write down each replica of a broker that has a log; ``event.value`` is the step."""
    row = world.brokers[event.destination].first_log
    while row != NONE:
        if world.on_disk[row].exists:
            _observe_replica(world, row, event.value)
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
        written = new_row(world, hosted.broker, HIGH_WATERMARK_TOLD)
        written.values[0] = hosted.observer - 1
        written.values[1] = hosted.partition
        written.values[2] = world.replicas[row].high_watermark
        write_canonical(world, written)
        hosted.observer = 0


@inner_rule
def _observe_replica(world: Brokers, row: int, step: int) -> None:
    hosted = world.hosted[row]
    replica = world.replicas[row]
    on_disk = world.on_disk[row]
    written = new_row(world, hosted.broker, OBSERVED)
    written.values[0] = step
    written.values[1] = hosted.partition
    written.values[2] = replica.log_end_offset
    written.values[3] = _answer_about(world, row)
    if written.values[3] == WAITS_FOR_LOCK and hosted.observer == 0:
        hosted.observer = 1 + step
    written.values[4] = on_disk.high_watermark
    written.values[5] = on_disk.recovery_point_checkpoint
    written.values[6] = replica.epoch_count
    write_canonical(world, written)
    write_log_runs(world, row, REASON_OBSERVED)
    epochs = epochs_of(world, row)
    for index in range(replica.epoch_count):
        entry = new_row(world, hosted.broker, EPOCH_OBSERVED)
        entry.values[0] = step
        entry.values[1] = hosted.partition
        entry.values[2] = epochs[index].epoch
        entry.values[3] = epochs[index].start_offset
        write_canonical(world, entry)
