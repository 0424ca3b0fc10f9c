"""A leader's log: appends, its followers' fetches, and the high watermark that follows.

The four moments at which a leader tries to move its high watermark all come through
:func:`try_high_watermark`: it becomes leader, the ISR shrinks, it appends, a follower
fetches.

A broker becomes the leader of a partition, by a new state that the control plane gives it.

It takes the partition out of its fetcher; its term begins with the log that it has.
"""

from tidegauge.actors.fetches.fetch_purgatory import wake_fetches
from tidegauge.actors.fetches.fetch_sessions import touch
from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher
from tidegauge.actors.fetches.produce_purgatory import wake_produces
from tidegauge.actors.fetches.produce_response import forget_acknowledged, write_acknowledged
from tidegauge.actors.leaders.alter_partition import drop_submitted_isr
from tidegauge.actors.state import brokers
from tidegauge.actors.storage.checkpoints import note_epoch
from tidegauge.actors.storage.disks import note_cached, write_back
from tidegauge.actors.storage.group_offsets import begin_loading
from tidegauge.actors.storage.logs import flush_if_due, note_append, write_log_runs
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.high_watermark import (
    may_move_after_fetch,
    maybe_increment_leader_high_watermark,
)
from tidegauge.replication.in_sync_replicas import ACKS_ALL, ACKS_LEADER
from tidegauge.replication.isr_update import commit_isr
from tidegauge.replication.leader_epoch_cache import latest_epoch
from tidegauge.replication.leader_read import check_current_leader_epoch
from tidegauge.replication.log import append
from tidegauge.replication.partition import is_leader, make_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.replication.remote_replica import (
    counts_fetch,
    initialize_follower,
    is_fetch_fenced,
    update_after_failed_read,
    update_after_fenced_fetch,
    update_fetch_state,
)
from tidegauge.replication.replica_list import EMPTY, first, rest, size, without
from tidegauge.simulation.messages.client_requests import FetchPartition
from tidegauge.simulation.messages.controller_requests import LeaderAndIsrPartition
from tidegauge.simulation.rows import traces_all
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.detail_rows import Appended, FetchCounted, HighWatermarkMoved
from tidegauge.simulation.trace_rows.replica_rows import (
    BecameLeader,
    Exposed,
    IsrExpansionForgotten,
)

#: Nothing is deleted from the start of a log.
_LOG_START = code(0)


@inner_rule
def try_high_watermark(world: brokers.Brokers, row: int, moment: int) -> bool:
    """Attempt to move the high watermark of a leader; waiting requests are woken.

    Source: Partition.maybeIncrementLeaderHW and tryCompleteDelayedRequests@2.4.0.
    """
    partition = world.replicas[row]
    broker = world.brokers[world.hosted[row].broker]
    rules = world.rules[world.hosted[row].broker]
    ineligible = EMPTY
    if rules.expand_requires_eligible:
        ineligible = brokers.ineligible_replicas(world, row)
    before = partition.high_watermark
    moved = maybe_increment_leader_high_watermark(
        rules,
        partition,
        world.followers,
        brokers.now_ms(world.context[0]),
        broker.replica_lag_time_max_ms,
        ineligible,
    )
    if moved:
        if traces_all(world):
            trace_high_watermark(world, row, before, moment)
        wake_produces(world, row)
        wake_fetches(world, row)
    return moved


@inner_rule
def trace_high_watermark(world: brokers.Brokers, row: int, before: int, moment: int) -> None:
    """Record that a replica's high watermark has moved, and at which occasion."""
    partition = world.replicas[row]
    HighWatermarkMoved.write(
        world,
        partition=world.hosted[row].partition,
        leads=partition.leader == partition.local_replica,
        high_watermark=partition.high_watermark,
        old_high_watermark=before,
        moment=moment,
    )


@inner_rule
def append_to_leader(world: brokers.Brokers, row: int, record_count: int) -> int:
    """Append a producer's records under the leader's epoch; the offset of the first.

    Source: Partition.appendRecordsToLeader@2.4.0.
    """
    partition = world.replicas[row]
    base_offset = append_to_log(world, row, partition.leader_epoch, record_count)
    try_high_watermark(world, row, codes.MOMENT_APPEND)
    wake_fetches(world, row)
    return base_offset


@inner_rule
def append_to_log(world: brokers.Brokers, row: int, epoch: int, record_count: int) -> int:
    """Append records of one epoch to a replica's log; the offset of the first."""
    brokers.note_change(world, row)
    partition = world.replicas[row]
    broker = world.hosted[row].broker
    brokers.keep_room_for_an_epoch(world, row)
    epochs = brokers.epochs_of(world, row)
    epoch_count = partition.epoch_count
    last_epoch = latest_epoch(epochs, epoch_count)
    base_offset = append(
        world.rules[broker], partition, brokers.runs_of(world, row), epochs, epoch, record_count
    )
    if epoch != last_epoch:
        note_epoch(world, row, epoch_count, last_epoch)
    note_append(world.context[0], world, row, base_offset)
    size_bytes = record_count * world.partitions[world.hosted[row].partition].record_bytes
    note_cached(world, row, base_offset, size_bytes)
    write_back(world, row, size_bytes)
    flush_if_due(world, row)
    if traces_all(world):
        Appended.write(
            world,
            partition=world.hosted[row].partition,
            leads=partition.leader == partition.local_replica,
            base_offset=base_offset,
            end_offset=partition.log_end_offset,
            epoch=epoch,
            high_watermark=partition.high_watermark,
        )
    return base_offset


@inner_rule
def count_fetch(world: brokers.Brokers, row: int, replica: int, item: FetchPartition) -> None:
    """Record the follower's log end offset that a fetch implies.

    ``item.may_move`` is set afterwards if the high watermark may move.

    Source: ReplicaManager.updateFollowerFetchState, Partition.updateFollowerFetchState@2.4.0.
    """
    partition = world.replicas[row]
    rules = world.rules[world.hosted[row].broker]
    index = partition.first_follower + replica
    follower = world.followers[index]
    before = follower.log_end_offset
    if item.error != 0:
        update_after_failed_read(rules, follower)
    if is_fenced(world, row, item):
        item.may_move = update_after_fenced_fetch(
            rules,
            follower,
            item.fetch_offset,
            brokers.now_ms(world.context[0]),
            partition.log_end_offset,
        )
        return
    if item.error != 0 or not counts_fetch(rules, item.diverging_end_offset >= 0):
        return
    update_fetch_state(
        rules,
        follower,
        item.fetch_offset,
        _LOG_START,
        brokers.now_ms(world.context[0]),
        partition.log_end_offset,
    )
    world.follower_fetches[index].last_sent_high_watermark = item.high_watermark
    item.may_move = may_move_after_fetch(rules, before, follower)
    if traces_all(world):
        FetchCounted.write(
            world,
            item,
            partition,
            replica=broker_of(world, item.partition, replica),
            old_offset=before,
            high_watermark=partition.high_watermark,
        )


@inner_rule
def is_fenced(world: brokers.Brokers, row: int, item: FetchPartition) -> bool:
    """Whether a follower has fetched in another leader epoch than the one in which this leads."""
    epoch_error = check_current_leader_epoch(world.replicas[row].leader_epoch, item.leader_epoch)
    return is_fetch_fenced(world.rules[world.hosted[row].broker], item.error, epoch_error)


@inner_rule
def close_account(world: brokers.Brokers, row: int, reason: int) -> None:
    """Write a row about this term's acknowledged and exposed offsets so far."""
    write_acknowledged(world, row, ACKS_ALL, reason)
    write_acknowledged(world, row, ACKS_LEADER, reason)
    partition = world.replicas[row]
    Exposed.write(world, partition, partition=world.hosted[row].partition, reason=reason)


@inner_rule
def become_leader(world: brokers.Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Lead a partition in a new state, or continue to lead it.

    Source: ReplicaManager.makeLeaders@2.4.0, Partition.makeLeader@2.4.0.
    """
    take_state(world, row, state)
    partition = world.replicas[row]
    hosted = world.hosted[row]
    remove_from_fetcher(world, row)
    brokers.keep_room_for_an_epoch(world, row)
    epoch_count = partition.epoch_count
    epoch = latest_epoch(brokers.epochs_of(world, row), epoch_count)
    is_new_leader = make_leader(
        world.rules[hosted.broker],
        partition,
        world.followers,
        brokers.epochs_of(world, row),
        world.told_state[0],
        state.controller_epoch,
        brokers.now_ms(world.context[0]),
    )
    if is_new_leader:
        _forget_accounts(world, row)
    # A term's first log: all that it exposes and acknowledges lies in this log and behind it.
    write_log_runs(world, row, codes.REASON_LEADER)
    BecameLeader.write(
        world,
        partition,
        partition=hosted.partition,
        version=partition.partition_epoch,
        is_new_leader=1 if is_new_leader else 0,
    )
    note_epoch(world, row, epoch_count, epoch)
    try_high_watermark(world, row, codes.MOMENT_LEADER)
    begin_loading(world, row)


@inner_rule
def _forget_accounts(world: brokers.Brokers, row: int) -> None:
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
def continue_to_lead(world: brokers.Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over another ISR or assignment in the same term, as the metadata log of KRaft has it.

    A pending proposal is obsolete, or taken for it: if the state has the partition epoch that the
    leader knows from the response to its AlterPartition before, the controller may still commit it.

    Source: Partition.makeLeader and updateAssignmentAndIsr@4.1.0.
    """
    touch(world, row)
    partition = world.replicas[row]
    is_other = partition.isr != state.isr
    update_assignment(world, row, state)
    is_known = state.partition_epoch == partition.partition_epoch
    if is_known and size(partition.proposed_isr) > size(state.isr):
        IsrExpansionForgotten.write(
            world,
            partition=state.partition,
            isr=partition.proposed_isr,
            old_isr=state.isr,
            version=state.partition_epoch,
        )
    commit_isr(partition, state.isr, state.partition_epoch)
    if is_other:
        close_account(world, row, codes.REASON_ISR)
    try_high_watermark(world, row, codes.MOMENT_LEADER)


@inner_rule
def take_state(world: brokers.Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Take over a partition's new state; pending operations of the old one are over.

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
        close_account(world, row, codes.REASON_TERM)


@inner_rule
def update_assignment(world: brokers.Brokers, row: int, state: LeaderAndIsrPartition) -> None:
    """Replace the list of replicas; the views of removed ones are dropped.

    Source: Partition.updateAssignmentAndIsr@2.4.0.
    """
    brokers.note_change(world, row)
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
