"""A broker's process: its start, its end, and the state that survives.

==================  =====================================================================
what ends it        what is left
==================  =====================================================================
crash (SIGKILL)     the log as it was, for the page cache is the machine's; checkpoints as
                    they were written last; its connections are closed by the machine
loss of power       of each log what had been written to disk, or a little more; nobody is
                    told
clean stop          everything is flushed and checkpointed, the session is closed
an exit of its own  that of a clean stop if it was still starting up, else that of a crash; its
                    supervisor starts it again after a while
a halt              that of a crash: a log directory has failed (``log_dir_failures.py``); again
                    its supervisor starts it
==================  =====================================================================

A start opens a session, reads the checkpoints, loads the logs (after an unclean stop it reads again
the records behind the recovery points) and then registers. If the registration of its former
session is still there it exits: no broker comes back before ZooKeeper has noticed that it was gone.

In KRaft mode a start registers first, and loads the logs with the first metadata (``metadata``).

Source: KafkaServer.startup and shutdown, LogManager.loadLogs, KafkaZkClient.registerBroker,
all @2.6.3; ZkUtils.registerBrokerInZk@0.10.2.2.
"""

from tidegauge.actors.idle_fetches.pairs import wake_all
from tidegauge.actors.leaders.isr_changes import schedule_expiration
from tidegauge.actors.leaders.leader import close_account
from tidegauge.actors.process.forgetting import forget_everything, forget_samples
from tidegauge.actors.process.retention import schedule_retention
from tidegauge.actors.session import zookeeper_client
from tidegauge.actors.session.isr_change_propagation import schedule_propagation
from tidegauge.actors.state.broker_records import Broker
from tidegauge.actors.state.brokers import LOGS, NEVER_US, Brokers, epochs_of, now_ms, runs_of
from tidegauge.actors.state.handlers import BROKER
from tidegauge.actors.state.lifecycles import IDLE, READS_CHECKPOINTS
from tidegauge.actors.storage import checkpoints
from tidegauge.actors.storage.disks import (
    PARTS,
    backlog_us,
    lose_memory,
    recovery_read_us,
    unwritten_part,
)
from tidegauge.actors.storage.log_dirs import all_directories, is_in, is_offline, is_unwritable
from tidegauge.actors.storage.logs import offset_on_disk, whole_batches, write_log_runs
from tidegauge.actors.storage.producers import cut_producers
from tidegauge.compiled.rules import inner_rule
from tidegauge.replication.isr_update import alters_partition
from tidegauge.replication.leader_epoch_cache import truncate_from_end
from tidegauge.replication.log import open_log
from tidegauge.replication.partition import is_leader
from tidegauge.simulation import rows
from tidegauge.simulation.faults import dies, disconnect_all, lives
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import FAULTS, send
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.controller_timers import BrokerDied, LifecycleBegins
from tidegauge.simulation.random_streams import POWER_LOSS, draw
from tidegauge.simulation.slow_disks import end_restarts_later
from tidegauge.simulation.topology import controller_process, is_kraft
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.process_rows import (
    BrokerLoading,
    BrokerStarted,
    BrokerStopped,
    CheckpointRead,
)
from tidegauge.simulation.trace_rows.replica_rows import LogLost

_MEBIBYTE = 1024 * 1024


@inner_rule
def start(world: Brokers, broker: int) -> None:
    """Begin a broker's process. The first time it is up at once: loading took place before.

    Source: KafkaServer.startup@2.6.3.
    """
    lives(world, broker)
    state = world.brokers[broker]
    state.starts += 1
    state.offline_directories = state.unreadable_directories
    if _cannot_start(world, broker):
        halt(world, broker, codes.STOP_LOG_DIRECTORY)
        return
    if is_kraft(world):
        _begin_lifecycle_later(world, broker)
        return
    zookeeper_client.connect(world, broker)
    zookeeper_client.ping_later(world, broker)
    if state.starts == 1:
        end_loading(world, broker)
        return
    # Real files, if there are any, are read between this event and the next.
    checkpoints.want_files(world, state, checkpoints.READ_DUE)
    timers.LoadingBegins.after(world, 0)


@inner_rule
def _begin_lifecycle_later(world: Brokers, broker: int) -> None:
    """In KRaft mode a broker first registers; its logs wait for the first metadata.

    At its first start it is up at once, as in ZooKeeper mode.

    Source: BrokerServer.startup@4.1.0 (``metadata``).
    """
    due_us = world.context[0].time_us
    if world.brokers[broker].starts > 1:
        due_us += rows.cost_us(world, broker, rows.BROKER_START_COST)
        due_us += rows.cost_us(world, broker, rows.BROKER_REGISTRATION)
    LifecycleBegins.at(world, due_us)


@inner_rule
def _cannot_start(world: Brokers, broker: int) -> bool:
    """Whether log directories that cannot be read keep a broker from starting.

    Source: LogManager.createAndValidateLogDirs@0.11.0.0 and @2.6.0.
    """
    offline = world.brokers[broker].offline_directories
    if world.rules[broker].log_dir_failure_halts_broker:
        return offline != 0
    return offline == all_directories(world.brokers[broker])


@BROKER.handles(timers.LoadingBegins)
@inner_rule
def handle_loading_begins(world: Brokers, timer: timers.LoadingBegins) -> None:
    """The checkpoints are read: load the logs, which takes its time."""
    broker = timer.destination
    start_us = rows.cost_us(world, broker, rows.BROKER_START_COST)
    timers.LogsLoaded.after(world, begin_loading(world, broker, start_us))


@inner_rule
def begin_loading(world: Brokers, broker: int, start_us: int) -> int:
    """How long a start takes: ``start_us``, and more for its logs and the records to be read again.

    Source: LogManager.loadLogs@2.6.3, Log.recoverLog@2.6.3.
    """
    state = world.brokers[broker]
    logs = 0
    clean_logs = 0
    records = 0
    size_bytes = 0
    read_us = 0
    for row in LOGS.of(world, state):
        on_disk = world.on_disk[row]
        if on_disk.exists and not is_offline(world, row):
            logs += 1
            if is_in(state.clean_directories, world, row):
                clean_logs += 1
            else:
                end_offset = world.replicas[row].log_end_offset
                start_offset = world.replicas[row].log_start_offset
                point = max(start_offset, on_disk.recovery_point_checkpoint)
                behind = end_offset - min(point, end_offset)
                records += behind
                partition = world.partitions[world.hosted[row].partition]
                size_bytes += behind * partition.record_bytes
                read_us = max(read_us, recovery_read_us(world, row, end_offset - behind))
    loading_us = start_us
    all_clean = state.clean_directories | state.offline_directories == all_directories(state)
    if all_clean or clean_logs > 0:
        loading_us += clean_logs * rows.cost_us(world, broker, rows.LOG_LOAD)
    if not all_clean:
        state.recovered = True
        loading_us += (logs - clean_logs) * rows.cost_us(world, broker, rows.LOG_RECOVERY)
        mebibyte_us = rows.cost_us(world, broker, rows.LOG_RECOVERY_MEBIBYTE)
        loading_us += max(read_us, size_bytes * mebibyte_us // _MEBIBYTE)
    BrokerLoading.write(
        world,
        broker=broker,
        clean=1 if all_clean else 0,
        logs=logs,
        records_to_recover=records,
        until_us=world.context[0].time_us + loading_us,
    )
    return loading_us


@BROKER.handles(timers.LogsLoaded)
@inner_rule
def handle_logs_loaded(world: Brokers, timer: timers.LogsLoaded) -> None:
    """The logs are loaded: restore the state in the checkpoints, and register."""
    broker = timer.destination
    state = world.brokers[broker]
    end_loading(world, broker)
    state.ready_us = world.context[0].time_us + rows.cost_us(world, broker, rows.BROKER_READY)
    if world.rules[broker].port_opened_last:
        state.port_opens_us = NEVER_US
    else:
        _take_requests_later(world, broker)
    state.registers = world.rules[broker].registered_before_requests
    if not state.registers:
        _register_later(world, broker)
    elif state.session != NONE:
        zookeeper_client.register(world, broker)


@inner_rule
def end_loading(world: Brokers, broker: int) -> None:
    """Restore the state of all logs from the checkpoints, and start the periodic tasks.

    At the first start these are logs that existed before the run; real files are made for them.
    """
    state = world.brokers[broker]
    if state.starts == 1 and state.first_log != NONE:
        checkpoints.want_files(
            world,
            state,
            checkpoints.HIGH_WATERMARKS_DUE
            | checkpoints.RECOVERY_POINTS_DUE
            | checkpoints.EPOCHS_DUE,
        )
    for row in LOGS.of(world, state):
        if world.on_disk[row].exists and not is_offline(world, row):
            _load_log(world, row)
    run(world, broker)


@inner_rule
def _register_later(world: Brokers, broker: int) -> None:
    """The controller starts, then all the rest; only then the broker registers.

    Source: KafkaServer.startup@1.0.2.
    """
    if world.brokers[broker].session != NONE:
        zookeeper_client.start_controller(world, broker)
    due_us = world.brokers[broker].ready_us
    timers.RegistrationDue.at(world, due_us)


@BROKER.handles(timers.RegistrationDue)
@inner_rule
def handle_registration_due(world: Brokers, timer: timers.RegistrationDue) -> None:
    """The rest has started: register, unless there is no session yet."""
    if world.brokers[timer.destination].session != NONE:
        zookeeper_client.register(world, timer.destination)


@inner_rule
def _take_requests_later(world: Brokers, broker: int) -> None:
    """Its port is open, but requests wait until the rest of the broker has started.

    Source: KafkaServer.startup@2.6.3, SocketServer.startProcessingRequests@2.6.3.
    """
    state = world.brokers[broker]
    for thread in range(state.first_thread, state.first_thread + state.num_io_threads):
        world.threads[thread].free_us = state.ready_us


@inner_rule
def _load_log(world: Brokers, row: int) -> None:
    """Open one log: its epochs are trimmed to it, its high watermark is the checkpointed one.

    Source: Log constructor@2.6.3, Partition.createLog@2.6.3.
    """
    hosted = world.hosted[row]
    broker = world.brokers[hosted.broker]
    rules = world.rules[hosted.broker]
    partition = world.replicas[row]
    on_disk = world.on_disk[row]
    epochs = epochs_of(world, row)
    count = partition.epoch_count
    for index in range(count):
        world.epochs_read[index].epoch = epochs[index].epoch
        world.epochs_read[index].start_offset = epochs[index].start_offset
    open_log(rules, partition, world.epochs_read, count, epochs, max(0, on_disk.high_watermark))
    on_disk.recovery_point = max(partition.log_start_offset, on_disk.recovery_point_checkpoint)
    was_clean = is_in(broker.clean_directories, world, row)
    if was_clean or rules.recovery_point_at_end_after_recovery:
        on_disk.recovery_point = partition.log_end_offset
    on_disk.recovery_point = min(on_disk.recovery_point, partition.log_end_offset)
    CheckpointRead.write(
        world,
        partition=hosted.partition,
        high_watermark=on_disk.high_watermark,
        recovery_point=on_disk.recovery_point_checkpoint,
        log_end_offset=partition.log_end_offset,
        epoch_count=count,
    )
    checkpoints.note_cut_epochs(world, row, count)
    write_log_runs(world, row, codes.REASON_RETURN)


@inner_rule
def run(world: Brokers, broker: int) -> None:
    """Start the periodic tasks; they and the broker's clocks count from now.

    Source: ReplicaManager.startup@2.6.3, LogManager.startup@2.6.3.
    """
    state = world.brokers[broker]
    now_us = world.context[0].time_us
    state.loaded = True
    state.port_opens_us = now_us
    state.clean_directories = 0
    BrokerStarted.write(world, broker=broker)
    state.last_isr_change_ms = now_ms(world.context[0])
    state.last_isr_propagation_ms = state.last_isr_change_ms
    schedule_expiration(world, broker, now_us)
    if state.isr_change_batching and not alters_partition(world.rules[broker]):
        schedule_propagation(world, broker, now_us)
    checkpoints.schedule_recovery_points(world, broker)
    schedule_retention(world, broker)
    forget_samples(world, broker)
    timers.Sample.after(world, world.context[0].sample_period_us)


@inner_rule
def exit_by_itself(world: Brokers, broker: int, stop: int) -> None:
    """A broker ends its process on an error; its supervisor may start it again.

    Source: Exit.exit and FatalExitError@0.10.2.0 to @2.0.0, Kafka.main@2.6.3.
    """
    zookeeper_client.close_session(world, broker)
    halt(world, broker, stop)


@inner_rule
def halt(world: Brokers, broker: int, stop: int) -> None:
    """A broker ends its process at once, and leaves its session behind.

    Source: Exit.halt@2.6.0.
    """
    end(world, broker, stop)
    delay_us = world.brokers[broker].restart_after_exit_us
    if delay_us >= 0:
        timers.SupervisorStarts.after(world, delay_us, start=world.brokers[broker].starts)


@FAULTS.handles(timers.SupervisorStarts)
@inner_rule
def handle_supervisor_starts(world: Brokers, timer: timers.SupervisorStarts) -> None:
    """Start a broker that has exited, unless a fault keeps it down or it was started since."""
    broker = timer.destination
    process = world.processes[broker]
    is_the_same = world.brokers[broker].starts == timer.start
    if is_the_same and not process.alive and process.held_down == 0:
        start(world, broker)


@inner_rule
def end(world: Brokers, broker: int, stop: int) -> None:
    """End a broker's process in the way of ``stop``."""
    wake_all(world, broker)
    state = world.brokers[broker]
    if state.loaded:
        # A start that fails ends in KafkaServer.shutdown, too.
        state.clean_directories = 0
        if stop in (codes.STOP_CLEAN, codes.STOP_REGISTERED_ALREADY, codes.STOP_NOT_REGISTERED):
            unusable = state.offline_directories | state.failing_directories
            state.clean_directories = all_directories(state) & ~unusable
            if is_kraft(world):
                world.lifecycles[broker].clean_epoch = state.broker_epoch
            _flush_all(world, broker)
            checkpoints.checkpoint_high_watermarks(world, broker)
            checkpoints.checkpoint_recovery_points(world, broker)
    elif world.rules[broker].clean_marker_deleted_before_loading and not _loads_later(
        world, broker
    ):
        state.clean_directories = 0
    _close_accounts(world, broker)
    BrokerStopped.write(world, broker=broker, stop=stop)
    dies(world, broker)
    forget_everything(world, broker)
    if stop != codes.STOP_POWER:
        disconnect_all(world, broker)
    if not is_kraft(world):
        died = BrokerDied.to(world, controller_process(world, broker))
        send(world, died, world.context[0].time_us)
    end_restarts_later(world, broker)


@inner_rule
def _loads_later(world: Brokers, broker: int) -> bool:
    """Whether a broker that starts has not begun to load its logs: so in KRaft mode at first."""
    return is_kraft(world) and world.lifecycles[broker].phase in (IDLE, READS_CHECKPOINTS)


@inner_rule
def previous_epoch(world: Brokers, broker: int) -> int:
    """The broker epoch in the clean-shutdown files, if there is one in each directory; else -1.

    Source: LogManager.readBrokerEpochFromCleanShutdownFiles@3.7.0.
    """
    state = world.brokers[broker]
    if state.clean_directories | state.offline_directories != all_directories(state):
        return NONE
    return world.lifecycles[broker].clean_epoch


@inner_rule
def _flush_all(world: Brokers, broker: int) -> None:
    for row in LOGS.of(world, world.brokers[broker]):
        if not is_unwritable(world, row):
            world.on_disk[row].recovery_point = world.replicas[row].log_end_offset


@inner_rule
def _close_accounts(world: Brokers, broker: int) -> None:
    """Write rows about its leaders' promises, and about the content of its logs."""
    for row in LOGS.of(world, world.brokers[broker]):
        if is_leader(world.replicas[row]):
            close_account(world, row, codes.REASON_TERM)
        if world.hosted[row].exists:
            write_log_runs(world, row, codes.REASON_STOP)


@inner_rule
def lose_power(world: Brokers, broker: int, fault: int) -> None:
    """The machine's power is gone, and its memory with it, whether the process ran or not.

    Each log loses its records that were not on disk, up to a point that is drawn or pinned.
    """
    if world.processes[broker].alive:
        end(world, broker, codes.STOP_POWER)
    state = world.brokers[broker]
    # Idle disks have written all that they were given: their logs are alike.
    disks = state.log_directories if backlog_us(world, broker) > 0 else 1
    for row in LOGS.of(world, state):
        world.on_disk[row].future_end_offset = 0
    for directory in range(disks):
        unwritten = unwritten_part(world, broker, directory)
        for row in LOGS.of(world, state):
            if disks == 1 or world.on_disk[row].directory == directory:
                _cut_to_disk(world, state, row, fault, unwritten)
    state.power_losses += 1
    lose_memory(world, broker)


@inner_rule
def _cut_to_disk(world: Brokers, state: Broker, row: int, fault: int, unwritten: int) -> None:
    partition = world.replicas[row]
    before = partition.log_end_offset
    kept = offset_on_disk(world.context[0], world, row)
    most = before - ((before - kept) * unwritten // PARTS)
    uniform = draw(world.context[0].seed, POWER_LOSS, row, state.power_losses)
    drawn = min(most, kept + (((before - kept + 1) * uniform) >> 32))
    kept = max(kept, whole_batches(world, row, drawn))
    for pinned in world.kept_logs:
        if pinned.fault == fault and pinned.row == row:
            kept = min(pinned.offset, before)
    kept = max(kept, partition.log_start_offset)
    if kept >= before:
        return
    partition.log_end_offset = kept
    partition.run_count = truncate_from_end(runs_of(world, row), partition.run_count, kept)
    on_disk = world.on_disk[row]
    on_disk.recovery_point = min(on_disk.recovery_point, kept)
    cut_producers(world, row)
    LogLost.write(world, world.hosted[row], end_offset=kept, old_end_offset=before)
