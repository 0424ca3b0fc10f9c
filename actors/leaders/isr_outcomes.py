"""The outcome of an ISR change: ZooKeeper's answer to a write, or the controller's to a proposal.

Changes in ZooKeeper are gathered and sent to the controller later
(``session/isr_change_propagation.py``).
"""

from tidegauge.actors.fetches.fetch_read import row_on
from tidegauge.actors.fetches.fetch_sessions import touch
from tidegauge.actors.leaders import alter_partition
from tidegauge.actors.leaders.leader import close_account, try_high_watermark
from tidegauge.actors.session.isr_change_propagation import record_isr_change
from tidegauge.actors.state.broker_stats import mark_failed_isr_update
from tidegauge.actors.state.brokers import Brokers, note_change
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.replica_records import HostedReplica
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication import errors, isr_update
from tidegauge.replication.records import Partition
from tidegauge.replication.replica_list import EMPTY, first, size, without
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.messages.controller_requests import (
    AlterPartitionData,
    AlterPartitionResponse,
)
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse
from tidegauge.simulation.trace_rows import replica_rows
from tidegauge.simulation.trace_rows.codes import MOMENT_SHRINK, REASON_ISR


@inner_rule
def take_isr_answer(world: Brokers, row: int, answer: ZkResponse) -> None:
    """Take ZooKeeper's response to a write, and release the partition's lock.

    ``answer.version`` is the version written. Waiting requests resume afterwards
    (``requests/request_handlers.py``).

    Source: Partition.updateIsr@0.10.2.0 and @2.4.0, ReplicaManager.recordIsrChange@2.4.0.
    """
    hosted = world.hosted[row]
    partition = world.replicas[row]
    hosted.locked = False
    if answer.error != errors.NONE:
        _write_failure(world, row, hosted.written_isr, answer.error)
        return
    old_isr = partition.isr
    isr_update.commit_isr(partition, hosted.written_isr, answer.version)
    _write_isr_change(world, row, old_isr)
    record_isr_change(world, row)
    shrinks = size(partition.isr) < size(old_isr)
    if shrinks and isr_update.high_watermark_may_move(
        world.rules[hosted.broker], isr_update.COMMITTED
    ):
        try_high_watermark(world, row, MOMENT_SHRINK)


@inner_rule
def _tell_isr(
    changed: replica_rows.IsrChange, hosted: HostedReplica, partition: Partition, old_isr: int
) -> None:
    # The answer may be to proposals about many partitions.
    changed.because_process = hosted.broker
    changed.because_sequence = hosted.isr_row
    changed.partition = hosted.partition
    changed.isr = partition.isr
    changed.old_isr = old_isr
    changed.leader_epoch = partition.leader_epoch
    changed.version = partition.partition_epoch
    changed.log_end_offset = partition.log_end_offset


@inner_rule
def _write_isr_change(world: Brokers, row: int, old_isr: int) -> None:
    """Write and count the row of a leader's new ISR."""
    note_change(world, row)
    hosted = world.hosted[row]
    partition = world.replicas[row]
    stats = world.broker_stats[hosted.broker]
    shrinks = size(partition.isr) < size(old_isr)
    if shrinks:
        stats.isr_shrinks += 1
        replica_rows.IsrShrunk.write(
            world,
            partition,
            partition=hosted.partition,
            version=partition.partition_epoch,
            old_isr=old_isr,
            lag_ms=hosted.lag_ms,
            # The answer may be to proposals about many partitions.
            because_process=hosted.broker,
            because_sequence=hosted.isr_row,
        )
    else:
        stats.isr_expands += 1
        replica_rows.IsrExpanded.write(
            world,
            partition,
            partition=hosted.partition,
            version=partition.partition_epoch,
            old_isr=old_isr,
            member_end_offset=_end_of_new_member(world, row, old_isr),
            because_process=hosted.broker,
            because_sequence=hosted.isr_row,
        )
    close_account(world, row, REASON_ISR)


@inner_rule
def _end_of_new_member(world: Brokers, row: int, old_isr: int) -> int:
    """The log end of the follower that has joined the ISR, as the leader knows it."""
    partition = world.replicas[row]
    joined = without(partition.isr, old_isr)
    if joined == EMPTY:
        return partition.log_end_offset
    return world.followers[partition.first_follower + first(joined)].log_end_offset


@inner_rule
def _write_failure(world: Brokers, row: int, isr: int, error: int) -> None:
    hosted = world.hosted[row]
    mark_failed_isr_update(world, hosted.broker)
    replica_rows.IsrUpdateFailed.write(
        world, hosted, isr=isr, version=world.replicas[row].partition_epoch, error=error
    )


@BROKER.handles(AlterPartitionResponse)
@inner_rule
def handle_alter_partition_response(world: Brokers, response: AlterPartitionResponse) -> None:
    """Apply the outcome of each proposal, and send the proposals that were queued meanwhile.

    NOT_CONTROLLER, of the whole or of one partition, sends the same request once more.

    Source: DefaultAlterPartitionManager.handleAlterPartitionResponse@3.8.0,
    NodeToControllerRequestThread.handleResponse@3.8.0.
    """
    broker = response.destination
    state = world.brokers[broker]
    if not alter_partition.answers_request_in_flight(state, response) or state.ends:
        return
    if _has_other_controller(world, response):
        alter_partition.send_again(world, broker, errors.NOT_CONTROLLER)
        return
    if response.error != errors.NONE:
        alter_partition.make_again(world, broker, response.error)
        return
    sent = world.events[state.alter_partition].first_item
    cursor = response.first_item
    while cursor != NONE:
        proposed = view_as(world.items[sent], AlterPartitionData)
        outcome = view_as(world.items[cursor], AlterPartitionData)
        row = row_on(world, broker, outcome.partition)
        if row != NONE:
            _take_outcome(world, row, proposed.isr, outcome)
        sent = proposed.next
        cursor = outcome.next
    alter_partition.forget_request(world, broker)
    alter_partition.propagate_isrs(world, broker)


@inner_rule
def _has_other_controller(world: Kernel, response: AlterPartitionResponse) -> bool:
    """Source: AlterPartitionResponse.errorCounts@3.8.0."""
    found = response.error == errors.NOT_CONTROLLER
    for outcome in items_of(world, response, AlterPartitionData):
        found = found or outcome.error == errors.NOT_CONTROLLER
    return found


@inner_rule
def _take_outcome(world: Brokers, row: int, proposed_isr: int, item: AlterPartitionData) -> None:
    """Apply the outcome of one proposal to its partition.

    Source: Partition.submitAlterPartition and handleAlterPartitionUpdate@3.8.0.
    """
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    alter_partition.drop_submitted_isr(world, row)
    touch(world, row)
    old_isr = partition.isr
    if item.error == errors.NONE:
        told = world.told_state[0]
        told.leader_epoch = item.leader_epoch
        told.isr = item.isr
        told.partition_epoch = item.partition_epoch
        outcome = isr_update.handle_isr_update(rules, partition, proposed_isr, told)
    else:
        outcome = isr_update.handle_isr_update_error(rules, partition, proposed_isr, item.error)
    if outcome == isr_update.IGNORED:
        return
    if outcome != isr_update.COMMITTED:
        _write_failure(world, row, proposed_isr, item.error)
        if outcome == isr_update.RESENT and rules.isr_update_queued_again:
            alter_partition.submit_isr(world, row, proposed_isr)
        elif outcome == isr_update.RESENT and rules.isr_update_reverts_if_not_attempted:
            isr_update.revert_isr(partition)
        return
    _write_isr_change(world, row, old_isr)
    if isr_update.high_watermark_may_move(rules, isr_update.COMMITTED):
        try_high_watermark(world, row, MOMENT_SHRINK)
