"""How a leader changes an ISR: isr-expiration, expansion on a fetch, the write, the news.

``isr-expiration`` runs every replica.lag.time.max.ms / 2 and shrinks one partition after
the other. A follower's fetch expands. Either way, up to 2.6 the leader writes the new ISR to
ZooKeeper inside the partition's lock, conditional on the version that it knows. Until the
answer comes nothing else gets at the partition: produces, fetches, the next run. If
ZooKeeper does not answer, that is for ever, and each request that waits takes one of
num.io.threads with it.

What was written is gathered and told the controller later (``isr_change_notification``).
"""

from __future__ import annotations

from tidegauge.actors.leader import close_account, try_high_watermark
from tidegauge.actors.state import Broker, Brokers, HostedReplica, ineligible_replicas, now_ms
from tidegauge.actors.zookeeper_client import zookeeper_request
from tidegauge.replication import errors
from tidegauge.replication.compiled import inner_rule
from tidegauge.replication.in_sync_replicas import (
    get_out_of_sync_replicas,
    needs_expand_isr,
)
from tidegauge.replication.isr_change_notification import should_propagate_isr_changes
from tidegauge.replication.isr_update import (
    COMMITTED,
    commit_isr,
    expanded_isr,
    high_watermark_may_move,
    shrunk_isr,
)
from tidegauge.replication.partition import is_leader
from tidegauge.replication.replica_list import EMPTY, first, rest, size
from tidegauge.simulation.events import add_item, new_event, set_timer
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE, Event, Kernel
from tidegauge.simulation.kinds import (
    ISR_CHANGE_PROPAGATION,
    ISR_EXPIRATION,
    ZK_CREATE,
    ZK_SET,
)
from tidegauge.simulation.links import send
from tidegauge.simulation.row_kinds import (
    ISR_EXPANDED,
    ISR_SHRUNK,
    ISR_UPDATE_FAILED,
    ISR_UPDATE_SENT,
    MOMENT_SHRINK,
    NOTIFICATION_SENT,
    REASON_ISR,
)
from tidegauge.simulation.rows import new_row, write_canonical
from tidegauge.simulation.topology import NOTIFICATIONS_ZNODE, Topology, broker_of, state_znode


@inner_rule
def schedule_expiration(kernel: Kernel, brokers: Brokers, broker: int, due_us: int) -> None:
    """Run isr-expiration at ``due_us``, or at once if that has passed."""
    brokers.brokers[broker].expiration_due_us = due_us
    timer = new_event(kernel, broker, broker, ISR_EXPIRATION)
    set_timer(kernel, timer, max(due_us, kernel.context[0].time_us))


@inner_rule
def handle_isr_expiration(
    kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event
) -> None:
    """Begin a run over all partitions that are led here.

    Source: ReplicaManager.maybeShrinkIsr@0.10.2.0 and @2.4.0.
    """
    broker = brokers.brokers[timer.destination]
    broker.expiring = True
    broker.expiring_row = broker.first_log
    continue_expiration(kernel, topology, brokers, timer.destination)


@inner_rule
def continue_expiration(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Go on with a run until a write has to be waited for, or it is done.

    Source: ReplicaManager.maybeShrinkIsr@2.4.0; KafkaScheduler.schedule@2.4.0, at a fixed rate.
    """
    state = brokers.brokers[broker]
    while state.expiring_row != NONE:
        row = state.expiring_row
        hosted = brokers.hosted[row]
        partition = brokers.replicas[row]
        if hosted.locked:
            return
        if is_leader(partition):
            out_of_sync = get_out_of_sync_replicas(
                brokers.rules[broker],
                partition,
                brokers.followers,
                now_ms(kernel.context[0]),
                state.replica_lag_time_max_ms,
            )
            if out_of_sync != EMPTY:
                hosted.lag_ms = _longest_lag_ms(kernel, brokers, row, out_of_sync)
                hosted.writing_request = NONE
                isr = shrunk_isr(partition, out_of_sync)
                _write_isr(kernel, topology, brokers, row, isr, out_of_sync)
                return
        state.expiring_row = hosted.next_log
    state.expiring = False
    period_us = state.replica_lag_time_max_ms * 1000 // 2
    schedule_expiration(kernel, brokers, broker, state.expiration_due_us + period_us)


@inner_rule
def _longest_lag_ms(kernel: Kernel, brokers: Brokers, row: int, out_of_sync: int) -> int:
    lag_ms = 0
    while out_of_sync != EMPTY:
        follower = brokers.followers[brokers.replicas[row].first_follower + first(out_of_sync)]
        lag_ms = max(lag_ms, now_ms(kernel.context[0]) - follower.last_caught_up_time_ms)
        out_of_sync = rest(out_of_sync)
    return lag_ms


@inner_rule
def expands_isr(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, replica: int
) -> bool:
    """Whether the follower that has just fetched is to join the ISR.

    Source: Partition.maybeExpandIsr@2.4.0.
    """
    rules = brokers.rules[brokers.hosted[row].broker]
    ineligible = EMPTY
    if rules.expand_requires_eligible:
        ineligible = ineligible_replicas(kernel, topology, brokers, row)
    return needs_expand_isr(rules, brokers.replicas[row], brokers.followers, replica, ineligible)


@inner_rule
def begin_expansion(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, replica: int, request: int
) -> None:
    """Write an ISR with one more replica; ``request`` goes on when it is written.

    Source: Partition.expandIsr@2.4.0.
    """
    brokers.hosted[row].writing_request = request
    isr = expanded_isr(brokers.replicas[row], replica)
    _write_isr(kernel, topology, brokers, row, isr, EMPTY)


@inner_rule
def _write_isr(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, isr: int, out_of_sync: int
) -> None:
    hosted = brokers.hosted[row]
    partition = brokers.replicas[row]
    hosted.locked = True
    hosted.written_isr = isr
    written = new_row(kernel, hosted.broker, ISR_UPDATE_SENT)
    written.values[0] = hosted.partition
    written.values[1] = isr
    written.values[2] = partition.isr
    written.values[3] = partition.partition_epoch
    if out_of_sync != EMPTY:
        because_of(kernel, written, broker_of(topology, hosted.partition, first(out_of_sync)))
    write_canonical(kernel, written)
    send_isr(kernel, topology, brokers, row)


@inner_rule
def send_isr(kernel: Kernel, topology: Topology, brokers: Brokers, row: int) -> None:
    """Send the conditional write; again, if the session under which it was sent is gone.

    Source: ReplicationUtils.updateLeaderAndIsr@0.11.0.0, KafkaZkClient@2.4.0.
    """
    hosted = brokers.hosted[row]
    partition = brokers.replicas[row]
    request = zookeeper_request(kernel, topology, brokers, hosted.broker, ZK_SET)
    request.znode = state_znode(topology, hosted.partition)
    request.partition = hosted.partition
    request.version = partition.partition_epoch
    item = add_item(kernel, request, hosted.partition)
    item.leader = partition.local_replica
    item.leader_epoch = partition.leader_epoch
    item.controller_epoch = partition.controller_epoch
    item.isr = hosted.written_isr
    send(kernel, request, kernel.context[0].time_us)


@inner_rule
def take_isr_answer(
    kernel: Kernel, topology: Topology, brokers: Brokers, row: int, answer: Event
) -> None:
    """Take ZooKeeper's answer to a write, and let go of the partition's lock.

    ``answer.version`` is the version written. Who waited goes on afterwards
    (``request_handlers.py``).

    Source: Partition.updateIsr@0.10.2.0 and @2.4.0, ReplicaManager.recordIsrChange@2.4.0.
    """
    hosted = brokers.hosted[row]
    partition = brokers.replicas[row]
    broker = brokers.brokers[hosted.broker]
    hosted.locked = False
    if answer.error != errors.NONE:
        broker.failed_isr_updates += 1
        failed = new_row(kernel, hosted.broker, ISR_UPDATE_FAILED)
        failed.values[0] = hosted.partition
        failed.values[1] = hosted.written_isr
        failed.values[2] = partition.partition_epoch
        failed.values[3] = answer.error
        write_canonical(kernel, failed)
        return
    shrinks = size(hosted.written_isr) < size(partition.isr)
    _write_isr_change(kernel, hosted, row, brokers, answer.version, shrinks)
    commit_isr(partition, hosted.written_isr, answer.version)
    close_account(kernel, brokers, row, REASON_ISR)
    record_isr_change(kernel, topology, brokers, row)
    if not shrinks:
        broker.isr_expands += 1
        return
    broker.isr_shrinks += 1
    if high_watermark_may_move(brokers.rules[hosted.broker], COMMITTED):
        try_high_watermark(kernel, topology, brokers, row, MOMENT_SHRINK)


@inner_rule
def _write_isr_change(
    kernel: Kernel, hosted: HostedReplica, row: int, brokers: Brokers, version: int, shrinks: bool
) -> None:
    partition = brokers.replicas[row]
    changed = new_row(kernel, hosted.broker, ISR_SHRUNK if shrinks else ISR_EXPANDED)
    changed.values[0] = hosted.partition
    changed.values[1] = hosted.written_isr
    changed.values[2] = partition.isr
    changed.values[3] = partition.leader_epoch
    changed.values[4] = version
    changed.values[5] = partition.log_end_offset
    if shrinks:
        changed.values[6] = hosted.lag_ms
    write_canonical(kernel, changed)


@inner_rule
def record_isr_change(kernel: Kernel, topology: Topology, brokers: Brokers, row: int) -> None:
    """Remember a partition whose ISR was written, for the next notification.

    Source: ReplicaManager.recordIsrChange@0.10.2.0 and @2.4.0.
    """
    hosted = brokers.hosted[row]
    broker = brokers.brokers[hosted.broker]
    broker.last_isr_change_ms = now_ms(kernel.context[0])
    if hosted.changed:
        hosted.changed_again = broker.propagating > 0
    else:
        _gather(brokers, row)
    if not broker.isr_change_batching and broker.propagating == 0:
        _propagate(kernel, topology, brokers, hosted.broker)


@inner_rule
def _gather(brokers: Brokers, row: int) -> None:
    hosted = brokers.hosted[row]
    broker = brokers.brokers[hosted.broker]
    hosted.changed = True
    hosted.changed_again = False
    hosted.next_changed = NONE
    if broker.last_changed == NONE:
        broker.first_changed = row
    else:
        brokers.hosted[broker.last_changed].next_changed = row
    broker.last_changed = row
    broker.changed_count += 1


@inner_rule
def schedule_propagation(kernel: Kernel, brokers: Brokers, broker: int, due_us: int) -> None:
    """Look at the gathered changes at ``due_us``, or at once if that has passed."""
    brokers.brokers[broker].propagation_due_us = due_us
    timer = new_event(kernel, broker, broker, ISR_CHANGE_PROPAGATION)
    set_timer(kernel, timer, max(due_us, kernel.context[0].time_us))


@inner_rule
def handle_isr_change_propagation(
    kernel: Kernel, topology: Topology, brokers: Brokers, timer: Event
) -> None:
    """Write a notification if it has become quiet, or if it has waited long enough.

    Source: ReplicaManager.maybePropagateIsrChanges@0.10.2.0 and @2.4.0.
    """
    broker = brokers.brokers[timer.destination]
    propagates = should_propagate_isr_changes(
        now_ms(kernel.context[0]),
        broker.changed_count,
        broker.last_isr_change_ms,
        broker.last_isr_propagation_ms,
        broker.isr_change_quiet_ms,
        broker.isr_change_max_delay_ms,
    )
    if propagates and broker.propagating == 0:
        _propagate(kernel, topology, brokers, timer.destination)
        # The task waits for ZooKeeper; its next run comes when it is back.
        return
    _schedule_next_propagation(kernel, brokers, timer.destination)


@inner_rule
def _schedule_next_propagation(kernel: Kernel, brokers: Brokers, broker: int) -> None:
    state = brokers.brokers[broker]
    period_us = state.isr_change_check_interval_ms * 1000
    schedule_propagation(kernel, brokers, broker, state.propagation_due_us + period_us)


@inner_rule
def _propagate(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Create one child of /isr_change_notification that names all gathered partitions.

    Source: ReplicationUtils.propagateIsrChanges@0.10.2.0, KafkaZkClient@2.4.0.
    """
    state = brokers.brokers[broker]
    state.propagating = state.changed_count
    state.propagation_time_ms = now_ms(kernel.context[0])
    row = state.first_changed
    while row != NONE:
        brokers.hosted[row].changed_again = False
        row = brokers.hosted[row].next_changed
    _write_notification(kernel, state, broker)
    send_notification(kernel, topology, brokers, broker)


@inner_rule
def _write_notification(kernel: Kernel, state: Broker, broker: int) -> None:
    sent = new_row(kernel, broker, NOTIFICATION_SENT)
    sent.values[0] = state.notifications
    sent.values[1] = state.propagating
    sent.values[2] = state.propagation_time_ms - state.last_isr_change_ms
    sent.values[3] = state.propagation_time_ms - state.last_isr_propagation_ms
    write_canonical(kernel, sent)
    state.notifications += 1


@inner_rule
def send_notification(kernel: Kernel, topology: Topology, brokers: Brokers, broker: int) -> None:
    """Send the write of a notification; again, if the session is gone."""
    state = brokers.brokers[broker]
    request = zookeeper_request(kernel, topology, brokers, broker, ZK_CREATE)
    request.znode = NOTIFICATIONS_ZNODE
    row = state.first_changed
    for _ in range(state.propagating):
        add_item(kernel, request, brokers.hosted[row].partition)
        row = brokers.hosted[row].next_changed
    send(kernel, request, kernel.context[0].time_us)


@inner_rule
def take_notification_answer(
    kernel: Kernel, topology: Topology, brokers: Brokers, broker: int
) -> None:
    """The notification is written: forget what it named.

    What has changed meanwhile stays for the next one: in Kafka it waits for the lock of
    the set.

    Source: ReplicaManager.maybePropagateIsrChanges@2.4.0.
    """
    state = brokers.brokers[broker]
    for _ in range(state.propagating):
        row = state.first_changed
        hosted = brokers.hosted[row]
        state.first_changed = hosted.next_changed
        if state.first_changed == NONE:
            state.last_changed = NONE
        state.changed_count -= 1
        hosted.changed = False
        if hosted.changed_again:
            _gather(brokers, row)
    state.propagating = 0
    state.last_isr_propagation_ms = state.propagation_time_ms
    if state.isr_change_batching:
        _schedule_next_propagation(kernel, brokers, broker)
    elif state.changed_count > 0:
        _propagate(kernel, topology, brokers, broker)
