"""A leader's changes of an ISR: isr-expiration, and expansion on a fetch.

``isr-expiration`` runs every replica.lag.time.max.ms / 2 and shrinks one partition after the other.
A follower's fetch expands. Either way, up to 2.6 the leader writes the new ISR to ZooKeeper inside
the partition's lock, conditional on the version that it knows. Until the answer comes nothing else
gets at the partition: produces, fetches, the next run. Without a response of ZooKeeper the wait has
no end, and each waiting request occupies one of num.io.threads.

With AlterPartition (protocol 2.7-IV2 and later) nothing waits: the change is pending until the
controller has answered (``replication/isr_update.py``), and goes to it with all others of the
broker (``alter_partition.py``). ``isr_outcomes.py`` has the answers of both.
"""

from tidegauge.actors.fetches.fetch_sessions import settle, touch
from tidegauge.actors.idle_fetches.stages import catch_up
from tidegauge.actors.leaders import alter_partition
from tidegauge.actors.leaders.leader import is_fenced, try_high_watermark
from tidegauge.actors.session.zookeeper_client import new_state_write, send_state_write
from tidegauge.actors.state.broker_stats import mark_failed_isr_update
from tidegauge.actors.state.brokers import Brokers, ineligible_replicas, now_ms
from tidegauge.actors.state.handlers import BROKER
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import isr_update
from tidegauge.replication.in_sync_replicas import get_out_of_sync_replicas, needs_expand_isr
from tidegauge.replication.partition import is_leader
from tidegauge.replication.release_rules import ISR_APPENDED
from tidegauge.replication.replica_list import EMPTY, append, first, rest, single, size, without
from tidegauge.simulation.events import new_item
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.client_requests import FetchPartition
from tidegauge.simulation.messages.timers import IsrExpiration
from tidegauge.simulation.messages.zookeeper_requests import ZnodeData
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import broker_of
from tidegauge.simulation.trace_rows import replica_rows
from tidegauge.simulation.trace_rows.codes import MOMENT_SHRINK

_FALSE = code(False)
_TRUE = code(True)


@inner_rule
def schedule_expiration(world: Brokers, broker: int, due_us: int) -> None:
    """Run isr-expiration at ``due_us``, or at once if that has passed."""
    world.brokers[broker].expiration_due_us = due_us
    IsrExpiration.at(world, max(due_us, world.context[0].time_us))


@BROKER.handles(IsrExpiration)
@inner_rule
def handle_isr_expiration(world: Brokers, timer: IsrExpiration) -> None:
    """Begin a run over all partitions that are led here.

    Source: ReplicaManager.maybeShrinkIsr@0.10.2.0 and @2.4.0.
    """
    broker = world.brokers[timer.destination]
    if broker.ends:
        return
    broker.expiring = True
    broker.expiring_row = broker.first_log
    continue_expiration(world, timer.destination)


@inner_rule
def continue_expiration(world: Brokers, broker: int) -> None:
    """Resume a run until a write has to be waited for, or it is done.

    Source: ReplicaManager.maybeShrinkIsr@2.4.0; KafkaScheduler.schedule@2.4.0, at a fixed rate.
    """
    state = world.brokers[broker]
    while state.expiring_row != NONE:
        row = state.expiring_row
        hosted = world.hosted[row]
        partition = world.replicas[row]
        if hosted.locked:
            return
        if is_leader(partition):
            settle(world, row)
            out_of_sync = get_out_of_sync_replicas(
                world.rules[broker],
                partition,
                world.followers,
                now_ms(world.context[0]),
                state.replica_lag_time_max_ms,
            )
            if out_of_sync != EMPTY and _shrink(world, row, out_of_sync):
                return
        state.expiring_row = hosted.next_log
    state.expiring = False
    period_us = state.replica_lag_time_max_ms * 1000 // 2
    schedule_expiration(world, broker, state.expiration_due_us + period_us)


@inner_rule
def _shrink(world: Brokers, row: int, out_of_sync: int) -> bool:
    """Take replicas out of the ISR; True if the response has to be waited for.

    Source: Partition.maybeShrinkIsr@2.4.0, @2.8.0 and @3.8.0.
    """
    hosted = world.hosted[row]
    hosted.lag_ms = _longest_lag_ms(world, row, out_of_sync)
    hosted.writing_request = NONE
    isr = _ordered(world, row, isr_update.shrunk_isr(world.replicas[row], out_of_sync), _FALSE)
    if _change_isr(world, row, isr, out_of_sync):
        return True
    if isr_update.high_watermark_may_move(world.rules[hosted.broker], isr_update.PROPOSED):
        try_high_watermark(world, row, MOMENT_SHRINK)
    return False


@inner_rule
def _longest_lag_ms(world: Brokers, row: int, out_of_sync: int) -> int:
    lag_ms = 0
    while out_of_sync != EMPTY:
        follower = world.followers[world.replicas[row].first_follower + first(out_of_sync)]
        lag_ms = max(lag_ms, now_ms(world.context[0]) - follower.last_caught_up_time_ms)
        out_of_sync = rest(out_of_sync)
    return lag_ms


@inner_rule
def expands_isr(world: Brokers, row: int, replica: int, item: FetchPartition) -> bool:
    """Whether the follower that has just fetched is to join the ISR.

    Source: Partition.maybeExpandIsr@2.4.0.
    """
    rules = world.rules[world.hosted[row].broker]
    partition = world.replicas[row]
    log_end_offset = world.followers[partition.first_follower + replica].log_end_offset
    if is_fenced(world, row, item):
        if not rules.fenced_fetch_expands_isr:
            return False
        log_end_offset = item.fetch_offset
    elif item.error != 0:
        return False
    ineligible = EMPTY
    if rules.expand_requires_eligible:
        ineligible = ineligible_replicas(world, row)
    return needs_expand_isr(rules, partition, replica, log_end_offset, ineligible)


@inner_rule
def begin_expansion(world: Brokers, row: int, replica: int, request: int) -> bool:
    """Add a replica to the ISR; True if ``request`` has to wait until that is written.

    Source: Partition.expandIsr@2.4.0, maybeExpandIsr@3.8.0.
    """
    isr = _ordered(world, row, isr_update.expanded_isr(world.replicas[row], replica), _TRUE)
    waits = _change_isr(world, row, isr, EMPTY)
    if waits:
        world.hosted[row].writing_request = request
    return waits


@inner_rule
def _ordered(world: Brokers, row: int, isr: int, is_expansion: bool) -> int:
    """An ISR in the order in which the leader's release asks for it."""
    if world.rules[world.hosted[row].broker].isr_order == ISR_APPENDED:
        return isr
    first_row = row - world.replicas[row].local_replica
    table_size = isr_update.isr_table_size(size(isr), is_expansion)
    ordered = EMPTY
    while isr != EMPTY:
        following = NONE
        least = NONE
        members = isr
        while members != EMPTY:
            broker_id = world.slots[first_row + first(members)].broker_id
            place = isr_update.place_in_isr(broker_id, table_size)
            if following == NONE or place < least:
                following = first(members)
                least = place
            members = rest(members)
        ordered = append(ordered, following)
        isr = without(isr, single(following))
    return ordered


@inner_rule
def _change_isr(world: Brokers, row: int, isr: int, out_of_sync: int) -> bool:
    """Write another ISR, or propose it; True if the partition is locked until the answer.

    A proposal is not taken while an earlier one of the partition is in flight: a LeaderAndIsr
    has overtaken its answer.

    Source: Partition.updateIsr@2.6.0, submitAlterPartition@3.8.0.
    """
    hosted = world.hosted[row]
    partition = world.replicas[row]
    proposes = isr_update.alters_partition(world.rules[hosted.broker])
    if hosted.submitted_isr != EMPTY:
        mark_failed_isr_update(world, hosted.broker)
        return False
    written = replica_rows.IsrUpdateSent.new(
        world, hosted, isr=isr, old_isr=partition.isr, version=partition.partition_epoch
    )
    if out_of_sync != EMPTY:
        silent = broker_of(world, hosted.partition, first(out_of_sync))
        catch_up(world, hosted.broker, silent)
        because_of(world, written, silent, world.context[0].time_us - hosted.lag_ms * 1000)
    record_row(world, written)
    hosted.isr_row = written.sequence
    touch(world, row)
    if proposes:
        isr_update.propose_isr(partition, isr)
        alter_partition.submit_isr(world, row, isr)
    else:
        hosted.locked = True
        hosted.written_isr = isr
        send_isr(world, row)
    return not proposes


@inner_rule
def send_isr(world: Brokers, row: int) -> None:
    """Send the conditional write; again, if the session under which it was sent is gone.

    Source: ReplicationUtils.updateLeaderAndIsr@0.11.0.0, KafkaZkClient@2.4.0.
    """
    hosted = world.hosted[row]
    partition = world.replicas[row]
    request = new_state_write(world, hosted.partition)
    request.version = isr_update.version_to_write_over(
        world.rules[hosted.broker], partition.partition_epoch
    )
    data = new_item(world, request, hosted.partition, ZnodeData)
    data.leader = partition.local_replica
    data.leader_epoch = partition.leader_epoch
    data.controller_epoch = partition.controller_epoch
    data.isr = hosted.written_isr
    send_state_write(world, request)
