"""isr-change-propagation: a leader's notifications of the ISRs that it has written.

ISR changes in ZooKeeper are gathered, and named later in one child of /isr_change_notification.
``replication/isr_update.py`` has the rule for the time of it. With AlterPartition the controller
has made the change itself, and the task does not run.

The times at which a broker of a KRaft cluster registers, and sends its next heartbeat.

Every change in a broker that the controller has to know plans the next heartbeat here;
``metadata/broker_lifecycle.py`` sends it.

Source: BrokerLifecycleManager.scheduleNextCommunication@4.1.0.
"""

from tidegauge.actors.session.zookeeper_client import send_in_session
from tidegauge.actors.state.broker_records import Broker, BrokerStats
from tidegauge.actors.state.brokers import ISR_CHANGES, Brokers, now_ms
from tidegauge.actors.state.handlers import BROKER
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.isr_update import should_propagate_isr_changes
from tidegauge.simulation.events import new_item
from tidegauge.simulation.kernel import Kernel
from tidegauge.simulation.messages.controller_timers import HeartbeatDue
from tidegauge.simulation.messages.timers import IsrChangePropagation
from tidegauge.simulation.messages.zookeeper_requests import NamedPartition, ZkCreateRequest
from tidegauge.simulation.topology import zookeeper_process
from tidegauge.simulation.trace_rows.replica_rows import NotificationSent
from tidegauge.simulation.zookeeper_tree import NOTIFICATIONS_ZNODE


@inner_rule
def record_isr_change(world: Brokers, row: int) -> None:
    """Add a partition whose ISR was written to the next notification.

    Source: ReplicaManager.recordIsrChange@0.10.2.0 and @2.4.0.
    """
    hosted = world.hosted[row]
    broker = world.brokers[hosted.broker]
    broker.last_isr_change_ms = now_ms(world.context[0])
    if hosted.changed:
        hosted.changed_again = broker.propagating > 0
    else:
        _gather(world, row)
    if not broker.isr_change_batching and broker.propagating == 0:
        _propagate(world, hosted.broker)


@inner_rule
def _gather(world: Brokers, row: int) -> None:
    hosted = world.hosted[row]
    broker = world.brokers[hosted.broker]
    hosted.changed = True
    hosted.changed_again = False
    ISR_CHANGES.append(world, broker, row)
    broker.changed_count += 1


@inner_rule
def schedule_propagation(world: Brokers, broker: int, due_us: int) -> None:
    """Check the gathered changes at ``due_us``, or at once if that has passed."""
    world.brokers[broker].propagation_due_us = due_us
    IsrChangePropagation.at(world, max(due_us, world.context[0].time_us))


@BROKER.handles(IsrChangePropagation)
@inner_rule
def handle_isr_change_propagation(world: Brokers, timer: IsrChangePropagation) -> None:
    """Write a notification if it has become quiet, or if it has waited long enough.

    Source: ReplicaManager.maybePropagateIsrChanges@0.10.2.0 and @2.4.0.
    """
    broker = world.brokers[timer.destination]
    if broker.ends:
        return
    propagates = should_propagate_isr_changes(
        now_ms(world.context[0]),
        broker.changed_count,
        broker.last_isr_change_ms,
        broker.last_isr_propagation_ms,
        broker.isr_change_quiet_ms,
        broker.isr_change_max_delay_ms,
    )
    if propagates and broker.propagating == 0:
        _propagate(world, timer.destination)
        # The task waits for ZooKeeper; its next run comes when it is back.
        return
    _schedule_next_propagation(world, timer.destination)


@inner_rule
def _schedule_next_propagation(world: Brokers, broker: int) -> None:
    state = world.brokers[broker]
    period_us = state.isr_change_check_interval_ms * 1000
    schedule_propagation(world, broker, state.propagation_due_us + period_us)


@inner_rule
def _propagate(world: Brokers, broker: int) -> None:
    """Create one child of /isr_change_notification that names all gathered partitions.

    Source: ReplicationUtils.propagateIsrChanges@0.10.2.0, KafkaZkClient@2.4.0.
    """
    state = world.brokers[broker]
    state.propagating = state.changed_count
    state.propagation_time_ms = now_ms(world.context[0])
    for row in ISR_CHANGES.of(world, state):
        world.hosted[row].changed_again = False
    _write_notification(world, state, world.broker_stats[broker])
    send_notification(world, broker)


@inner_rule
def _write_notification(world: Kernel, state: Broker, stats: BrokerStats) -> None:
    NotificationSent.write(
        world,
        notification=state.notifications,
        partition_count=state.propagating,
        quiet_ms=state.propagation_time_ms - state.last_isr_change_ms,
        since_propagation_ms=state.propagation_time_ms - state.last_isr_propagation_ms,
    )
    state.notifications += 1
    stats.isr_change_notifications += 1


@inner_rule
def send_notification(world: Brokers, broker: int) -> None:
    """Send the write of a notification; again, if the session is gone."""
    state = world.brokers[broker]
    request = ZkCreateRequest.to(world, zookeeper_process(world))
    row = state.first_changed
    for _ in range(state.propagating):
        new_item(world, request, world.hosted[row].partition, NamedPartition)
        row = world.hosted[row].next_changed
    send_in_session(world, request, NOTIFICATIONS_ZNODE)


@inner_rule
def take_notification_answer(world: Brokers, broker: int) -> None:
    """The notification is written: its partitions are no longer pending.

    Later changes stay for the next one: in Kafka it waits for the lock of
    the set.

    Source: ReplicaManager.maybePropagateIsrChanges@2.4.0.
    """
    state = world.brokers[broker]
    for _ in range(state.propagating):
        row = ISR_CHANGES.take_first(world, state)
        hosted = world.hosted[row]
        state.changed_count -= 1
        hosted.changed = False
        if hosted.changed_again:
            _gather(world, row)
    state.propagating = 0
    state.last_isr_propagation_ms = state.propagation_time_ms
    if state.isr_change_batching:
        _schedule_next_propagation(world, broker)
    elif state.changed_count > 0:
        _propagate(world, broker)


@inner_rule
def communicate_later(world: Brokers, broker: int, delay_us: int) -> None:
    """Plan the next request after a delay, or at once if that was asked for since."""
    state = world.lifecycles[broker]
    if state.next_is_immediate:
        state.next_is_immediate = False
        delay_us = 0
    state.plans += 1
    HeartbeatDue.after(world, delay_us, number=state.plans)


@inner_rule
def report_offline_directory(world: Brokers, broker: int, directory: int) -> None:
    """A log directory has failed: the next heartbeat has it, and is sent at once.

    Source: BrokerLifecycleManager.OfflineDirEvent@3.7.0 (KIP-858).
    """
    state = world.lifecycles[broker]
    state.offline_directories |= 1 << directory
    if state.registered:
        communicate_later(world, broker, 0)
