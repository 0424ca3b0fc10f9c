"""Deleting a replica's log: what a StopReplica, or the metadata log of KRaft, can ask for."""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import wake_fetches, wake_produces
from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher
from tidegauge.actors.leaders.leader import close_account
from tidegauge.actors.process.forgetting import forget_replica
from tidegauge.actors.state.brokers import Broker, Brokers
from tidegauge.actors.storage.checkpoints import checkpoint_recovery_points
from tidegauge.actors.storage.group_offsets import stop_coordinating
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.actors.storage.producers import forget_producers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.codes.occasions import REASON_DELETED, REASON_TERM
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.trace_rows.replica_rows import LogDeleted


@inner_rule
def delete_log(world: Brokers, row: int) -> None:
    """Delete the log of a replica that nobody locks, and be no replica any more.

    Kafka renames its folder and deletes it a minute later; whoever waits for it is told. The
    recovery points of all others are written at once.

    Source: ReplicaManager.stopReplica, LogManager.asyncDelete@2.4.0 and @2.6.3.
    """
    hosted = world.hosted[row]
    partition = world.replicas[row]
    broker = world.brokers[hosted.broker]
    remove_from_fetcher(world, row)
    if hosted.exists and is_leader(partition):
        close_account(world, row, REASON_TERM)
    write_log_runs(world, row, REASON_DELETED)
    written = new_row(world, hosted.broker, LogDeleted)
    written.partition = hosted.partition
    written.log_end_offset = partition.log_end_offset
    write_row(world, written)
    stop_coordinating(world, row)
    forget_replica(world, row)
    _take_out(broker, world, row)
    _empty(world, row)
    wake_produces(world, row)
    wake_fetches(world, row)
    checkpoint_recovery_points(world, hosted.broker)


@inner_rule
def _take_out(broker: Broker, world: Brokers, row: int) -> None:
    """It is none of the broker's logs any more."""
    following = world.hosted[row].next_log
    previous = NONE
    current = broker.first_log
    while current != row:
        previous = current
        current = world.hosted[current].next_log
    if previous == NONE:
        broker.first_log = following
    else:
        world.hosted[previous].next_log = following
    if broker.last_log == row:
        broker.last_log = previous
    world.hosted[row].next_log = NONE


@inner_rule
def _empty(world: Brokers, row: int) -> None:
    """A log that is made in its place begins with nothing."""
    partition = world.replicas[row]
    partition.log_start_offset = 0
    partition.log_end_offset = 0
    partition.high_watermark = 0
    partition.run_count = 0
    partition.epoch_count = 0
    forget_producers(world, row)
    on_disk = world.on_disk[row]
    on_disk.exists = False
    on_disk.topic_id = NONE
    on_disk.high_watermark = UNDEFINED
    on_disk.recovery_point_checkpoint = UNDEFINED
    on_disk.recovery_point = 0
    on_disk.existing_records = 0
    on_disk.marks = 0
    on_disk.epochs_due = False
