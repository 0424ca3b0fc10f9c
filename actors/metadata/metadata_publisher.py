"""What a broker has fetched of the metadata log is published, as one delta after the other.

All that has come when a publication begins is one delta. The metadata cache has it at once; the
replicas change when the work for it is done (costs ``metadata_publication`` and
``metadata_publication_partition``). For that long clients are sent to leaders that do not know yet.

The first publication of a process loads the logs, before it changes the replicas; the very first
start of a run finds none.

Source: MetadataLoader, BrokerMetadataPublisher.onMetadataUpdate and initializeManagers@4.1.0.
"""

from __future__ import annotations

from tidegauge.actors.metadata.applied_delta import apply_delta
from tidegauge.actors.process.lifecycle import begin_loading, end_loading
from tidegauge.actors.state.brokers import NEVER_US, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.lifecycles import APPLIES, IDLE, LOADS_LOGS, READS_CHECKPOINTS
from tidegauge.actors.storage.checkpoints import (
    READ_DUE,
    start_high_watermark_checkpoints,
    want_files,
)
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.codes.snapshot_steps import WRITTEN
from tidegauge.simulation.costs import (
    METADATA_FIRST_PUBLICATION,
    METADATA_PUBLICATION,
    METADATA_PUBLICATION_PARTITION,
    cost_us,
)
from tidegauge.simulation.events import free_event, new_event, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_timers import MetadataPublicationGoesOn, ReadyToUnfence
from tidegauge.simulation.metadata_log import ONE_LOG, move_on
from tidegauge.simulation.metadata_snapshots import is_snapshot_due, write_snapshot_row

_FALSE = code(False)


@inner_rule
def publish(world: Brokers, broker: int) -> None:
    """Begin a publication, if there is something new and none is under way.

    The first one waits until something is committed.
    """
    state = world.lifecycles[broker]
    if state.phase != IDLE or state.high_watermark <= state.published_offset:
        return
    state.publishing_offset = state.high_watermark
    state.publishing = state.pending
    state.pending = NONE
    known = world.known_metadata[broker]
    move_on(known, ONE_LOG, state.publishing_offset - 1, _FALSE)
    if world.brokers[broker].loaded:
        _apply_later(world, broker)
    elif world.brokers[broker].starts == 1:
        end_loading(world, broker)
        world.brokers[broker].port_opens_us = NEVER_US
        _apply_later(world, broker)
    else:
        # Real files, if there are any, are read between this event and the next.
        want_files(world, world.brokers[broker], READ_DUE)
        _go_on_after(world, broker, READS_CHECKPOINTS, 0)


@inner_rule
def _go_on_after(world: Brokers, broker: int, phase: int, delay_us: int) -> None:
    world.lifecycles[broker].phase = phase
    timer = new_event(world, broker, broker, MetadataPublicationGoesOn)
    set_timer(world, timer, world.context[0].time_us + delay_us)


@inner_rule
def _apply_later(world: Brokers, broker: int) -> None:
    """Have the replicas change when the work for the delta is done."""
    state = world.lifecycles[broker]
    work_us = cost_us(world, broker, METADATA_PUBLICATION)
    if state.publishing != NONE:
        partition_us = cost_us(world, broker, METADATA_PUBLICATION_PARTITION)
        work_us += world.events[state.publishing].item_count * partition_us
    _go_on_after(world, broker, APPLIES, work_us)


@BROKER.handles(MetadataPublicationGoesOn)
@inner_rule
def handle_metadata_publication_goes_on(world: Brokers, timer: MetadataPublicationGoesOn) -> None:
    """Load the logs; then apply the delta, and publish what has come since."""
    broker = timer.destination
    state = world.lifecycles[broker]
    if world.brokers[broker].ends:
        return
    if state.phase == READS_CHECKPOINTS:
        _go_on_after(world, broker, LOADS_LOGS, begin_loading(world, broker, 0))
    elif state.phase == LOADS_LOGS:
        end_loading(world, broker)
        world.brokers[broker].port_opens_us = NEVER_US
        _apply_later(world, broker)
    else:
        _end_publication(world, broker)
        publish(world, broker)


@inner_rule
def _end_publication(world: Brokers, broker: int) -> None:
    """The replicas change; after the first publication the broker may be unfenced.

    Source: BrokerMetadataPublisher.finishInitializingReplicaManager@4.1.0.
    """
    state = world.lifecycles[broker]
    state.phase = IDLE
    is_first = state.published_offset == 0
    state.published_offset = state.publishing_offset
    if state.publishing != NONE:
        delta = world.events[state.publishing]
        state.publishing = NONE
        apply_delta(world, broker, delta)
        free_event(world, delta)
    _look_after_snapshots(world, broker)
    if not is_first:
        return
    start_high_watermark_checkpoints(world, broker)
    ready_us = world.context[0].time_us
    if world.brokers[broker].starts > 1:
        ready_us += cost_us(world, broker, METADATA_FIRST_PUBLICATION)
    set_timer(world, new_event(world, broker, broker, ReadyToUnfence), ready_us)


@inner_rule
def _look_after_snapshots(world: Brokers, broker: int) -> None:
    """Write a snapshot of the metadata log after so many bytes, or after so long.

    The first publication of a process, and that of a snapshot, begin the count.

    Source: SnapshotGenerator.publishLogDelta@3.9.0.
    """
    state = world.lifecycles[broker]
    now_us = world.context[0].time_us
    offset = state.published_offset
    if state.snapshot_from_offset == NONE:
        state.snapshot_from_offset = offset
        state.snapshot_from_us = now_us
    records = offset - state.snapshot_from_offset
    age_us = now_us - state.snapshot_from_us
    if is_snapshot_due(records, age_us, state.snapshot_max_bytes, state.snapshot_interval_us):
        state.snapshot_from_offset = offset
        state.snapshot_from_us = now_us
        write_down_snapshot(world, broker, WRITTEN, offset, state.leader_epoch, NONE)


@inner_rule
def write_down_snapshot(
    world: Brokers, broker: int, step: int, end_offset: int, epoch: int, size_bytes: int
) -> None:
    """Write down what has happened to a snapshot of a broker."""
    begins = world.lifecycles[broker].log_start_offset
    write_snapshot_row(world, broker, broker, step, end_offset, epoch, size_bytes, begins)
