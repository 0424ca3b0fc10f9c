"""A broker becomes the leader of a partition, by a new state that the control plane gives it.

It takes the partition out of its fetcher; its term begins with the log that it has.
"""

from __future__ import annotations

from tidegauge.actors.fetches.delayed_operations import forget_acknowledged
from tidegauge.actors.fetches.fetch_sessions import touch
from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher
from tidegauge.actors.leaders.alter_partition import drop_submitted_isr
from tidegauge.actors.leaders.leader import close_account, keep_room_for_epochs, try_high_watermark
from tidegauge.actors.state.brokers import Brokers, epochs_of, now_ms
from tidegauge.actors.storage.checkpoints import note_epoch
from tidegauge.actors.storage.group_offsets import begin_loading
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.isr_update import commit_isr
from tidegauge.replication.leader_epoch_cache import latest_epoch
from tidegauge.replication.partition import is_leader, make_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.remote_replica import initialize_follower
from tidegauge.replication.replica_list import EMPTY, first, rest, without
from tidegauge.simulation.codes.occasions import (
    MOMENT_LEADER,
    REASON_ISR,
    REASON_LEADER,
    REASON_TERM,
)
from tidegauge.simulation.messages.controller_requests import LeaderAndIsrPartition
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows.replica_rows import BecameLeader


@inner_rule
def become_leader(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Lead a partition in a new state, or continue to lead it.

    Source: ReplicaManager.makeLeaders@2.4.0, Partition.makeLeader@2.4.0.
    """
    take_state(world, row, state)
    partition = world.replicas[row]
    hosted = world.hosted[row]
    remove_from_fetcher(world, row)
    epoch_count = partition.epoch_count
    epoch = latest_epoch(epochs_of(world, row), epoch_count)
    is_new_leader = make_leader(
        world.rules[hosted.broker],
        partition,
        world.followers,
        epochs_of(world, row),
        world.told_state[0],
        state.controller_epoch,
        now_ms(world.context[0]),
    )
    if is_new_leader:
        _forget_accounts(world, row)
    # What a term begins with: all that it exposes and acknowledges lies in this log and behind it.
    write_log_runs(world, row, REASON_LEADER)
    written = new_row(world, hosted.broker, BecameLeader)
    written.partition = hosted.partition
    written.leader_epoch = partition.leader_epoch
    written.version = partition.partition_epoch
    written.isr = partition.isr
    written.log_end_offset = partition.log_end_offset
    written.high_watermark = partition.high_watermark
    written.is_new_leader = 1 if is_new_leader else 0
    write_row(world, written)
    note_epoch(world, row, epoch_count, epoch)
    try_high_watermark(world, row, MOMENT_LEADER)
    begin_loading(world, row)
    keep_room_for_epochs(world, row)


@inner_rule
def _forget_accounts(world: Brokers, row: int) -> None:
    """Begin a term: nothing is acknowledged, and no follower has a fetch session yet."""
    forget_acknowledged(world.hosted[row])
    width = world.sizes[0].width
    for replica in range(width):
        told = world.follower_fetches[row * width + replica]
        told.session_high_watermark = UNDEFINED
        told.session_log_start_offset = UNDEFINED
        told.last_sent_high_watermark = 0
        told.broker_epoch = UNDEFINED


@inner_rule
def continue_to_lead(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over another ISR or assignment in the same term, as the metadata log of KRaft has it.

    A proposal that is pending is of no use any more.

    Source: Partition.makeLeader and updateAssignmentAndIsr@4.1.0.
    """
    touch(world, row)
    partition = world.replicas[row]
    is_other = partition.isr != state.isr
    update_assignment(world, row, state)
    commit_isr(partition, state.isr, state.partition_epoch)
    if is_other:
        close_account(world, row, REASON_ISR)
    try_high_watermark(world, row, MOMENT_LEADER)


@inner_rule
def take_state(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over a partition's new state; what was on its way in the old one is over.

    It is in ``Brokers.told_state`` until the next one.
    """
    touch(world, row)
    told = world.told_state[0]
    told.leader = state.leader
    told.leader_epoch = state.leader_epoch
    told.isr = state.isr
    told.partition_epoch = state.partition_epoch
    update_assignment(world, row, state)
    if world.rules[world.hosted[row].broker].leader_and_isr_drops_isr_update:
        drop_submitted_isr(world, row)
    if is_leader(world.replicas[row]):
        close_account(world, row, REASON_TERM)


@inner_rule
def update_assignment(world: Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over who has replicas; what was known of those that have none any more is forgotten.

    Source: Partition.updateAssignmentAndIsr@2.4.0.
    """
    partition = world.replicas[row]
    gone = without(partition.replicas, state.replicas)
    partition.replicas = state.replicas
    partition.adding_replicas = state.adding
    partition.removing_replicas = state.removing
    while gone != EMPTY:
        slot = first(gone)
        gone = rest(gone)
        broker = broker_of(world, state.partition, slot)
        initialize_follower(world.followers[partition.first_follower + slot], broker)
