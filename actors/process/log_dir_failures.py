"""Log directories that fail (``ReplicaManager.handleLogDirFailure``), and logs that are deleted.

With inter.broker.protocol.version 1.0 and later (KIP-112) the replicas in the directory go offline:
they are taken out of their fetchers, requests about them get KAFKA_STORAGE_ERROR, and a child of
/log_dir_event_notification asks the controller to find out which they are; in KRaft mode heartbeats
name the directory (KIP-858). The others stay. A broker whose last directory fails halts, and before
that any broker does. A directory comes back only with the next start of the broker, if it can be
read then.

A request in a purgatory for a replica that goes offline gets no response before its timeout, as in
2.6.

A log is deleted by a StopReplica, or by the metadata log of KRaft.
"""

from tidegauge.actors.fetches.fetch_purgatory import wake_fetches
from tidegauge.actors.fetches.fetch_sessions import touch
from tidegauge.actors.fetches.fetcher_thread import remove_from_fetcher
from tidegauge.actors.fetches.produce_purgatory import wake_produces
from tidegauge.actors.leaders.leader import close_account
from tidegauge.actors.process.forgetting import forget_replica, stop_hosting
from tidegauge.actors.process.lifecycle import halt
from tidegauge.actors.process.log_dir_moves import remove_future_log
from tidegauge.actors.session.isr_change_propagation import report_offline_directory
from tidegauge.actors.session.zookeeper_client import create_log_dir_event
from tidegauge.actors.state.brokers import LOGS, Brokers
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.storage.checkpoints import checkpoint_recovery_points
from tidegauge.actors.storage.group_offsets import stop_coordinating
from tidegauge.actors.storage.log_dirs import all_directories
from tidegauge.actors.storage.logs import write_log_runs
from tidegauge.actors.storage.producers import forget_producers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.partition import is_leader
from tidegauge.replication.records import UNDEFINED
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_timers import LogDirFailureExpires
from tidegauge.simulation.messages.timers import LogDirFails
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.topology import is_kraft
from tidegauge.simulation.trace_rows.codes import (
    REASON_DELETED,
    REASON_OFFLINE,
    REASON_TERM,
    STOP_LOG_DIRECTORY,
)
from tidegauge.simulation.trace_rows.process_rows import LogDirFailed, ReplicaOffline
from tidegauge.simulation.trace_rows.replica_rows import LogDeleted


@BROKER.handles(LogDirFails)
@inner_rule
def handle_log_dir_fails(world: Brokers, timer: LogDirFails) -> None:
    """Give up a directory that has failed, or halt.

    Source: ReplicaManager.LogDirFailureHandler.doWork and handleLogDirFailure@2.6.0,
    LogManager.handleLogDirFailure@2.6.0.
    """
    broker = timer.destination
    state = world.brokers[broker]
    failed = LogDirFailed.new(world, broker=broker, directory=timer.directory)
    # No row was written between the fault and the failed write: it has no other link to it.
    because_of(world, failed, broker, world.context[0].time_us)
    record_row(world, failed)
    if world.rules[broker].log_dir_failure_halts_broker:
        halt(world, broker, STOP_LOG_DIRECTORY)
        return
    for row in LOGS.of(world, state):
        if world.on_disk[row].future_directory == timer.directory:
            remove_future_log(world, row)
        if world.hosted[row].exists and world.on_disk[row].directory == timer.directory:
            _take_offline(world, row)
    if state.offline_directories == all_directories(state):
        halt(world, broker, STOP_LOG_DIRECTORY)
    elif is_kraft(world):
        _tell_quorum(world, broker, timer.directory)
    else:
        state.untold_failures |= 1 << timer.directory
        send_log_dir_events(world, broker)


@inner_rule
def _tell_quorum(world: Brokers, broker: int, directory: int) -> None:
    """Report the directory in heartbeats; without a confirmation in time the broker halts.

    Releases before 3.7 notify no controller.

    Source: BrokerLifecycleManager.propagateDirectoryFailure@3.7.0 (KIP-858).
    """
    timeout_us = world.lifecycles[broker].log_dir_failure_timeout_us
    if timeout_us > 0:
        report_offline_directory(world, broker, directory)
        LogDirFailureExpires.after(world, timeout_us, directory=directory)


@BROKER.handles(LogDirFailureExpires)
@inner_rule
def handle_log_dir_failure_expires(world: Brokers, timer: LogDirFailureExpires) -> None:
    """Halt, if the controller has not confirmed a failed directory.

    Source: BrokerLifecycleManager.OfflineDirBrokerFailureEvent@3.9.0.
    """
    broker = timer.destination
    is_told = (world.lifecycles[broker].told_directories >> timer.directory) & 1 == 1
    if not is_told and not world.brokers[broker].ends:
        halt(world, broker, STOP_LOG_DIRECTORY)


@inner_rule
def send_log_dir_events(world: Brokers, broker: int) -> None:
    """Notify the controller of directories that have failed; it finds out their replicas.

    Without a session, or if it has expired, it is reported under the next one.
    """
    state = world.brokers[broker]
    for directory in range(state.log_directories):
        if state.session != UNDEFINED and (state.untold_failures >> directory) & 1 == 1:
            create_log_dir_event(world, broker, directory)
            state.untold_failures &= ~(1 << directory)


@inner_rule
def _take_offline(world: Brokers, row: int) -> None:
    """A replica is not hosted: its log cannot be used.

    An ISR that is being written stays so until ZooKeeper answers: requests that wait for the lock
    wait on.

    Source: ReplicaManager.markPartitionOffline@2.6.0.
    """
    remove_from_fetcher(world, row)
    if is_leader(world.replicas[row]):
        close_account(world, row, REASON_TERM)
    write_log_runs(world, row, REASON_OFFLINE)
    # Followers that rest are to find out by their next fetches.
    touch(world, row)
    stop_hosting(world, row)
    mark_offline(world, row)


@inner_rule
def mark_offline(world: Brokers, row: int) -> None:
    """A replica lies in a directory that is offline, or that is where it must lie."""
    hosted = world.hosted[row]
    if hosted.offline:
        return
    hosted.offline = True
    written = ReplicaOffline.new(world, partition=hosted.partition, directory=UNDEFINED)
    if world.on_disk[row].exists:
        written.directory = world.on_disk[row].directory
    record_row(world, written)


@inner_rule
def delete_log(world: Brokers, row: int) -> None:
    """Delete the log of a replica without a lock, and end the replica.

    Kafka renames its folder and deletes it a minute later; pending requests for it get a response.
    The recovery points of all others are written at once.

    Source: ReplicaManager.stopReplica, LogManager.asyncDelete@2.4.0 and @2.6.3.
    """
    hosted = world.hosted[row]
    partition = world.replicas[row]
    broker = world.brokers[hosted.broker]
    remove_from_fetcher(world, row)
    if hosted.exists and is_leader(partition):
        close_account(world, row, REASON_TERM)
    write_log_runs(world, row, REASON_DELETED)
    LogDeleted.write(world, partition=hosted.partition, log_end_offset=partition.log_end_offset)
    stop_coordinating(world, row)
    forget_replica(world, row)
    LOGS.remove(world, broker, row)
    _empty(world, row)
    wake_produces(world, row)
    wake_fetches(world, row)
    checkpoint_recovery_points(world, hosted.broker)


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
    on_disk.future_directory = NONE
    on_disk.marks = 0
    on_disk.epochs_due = False
