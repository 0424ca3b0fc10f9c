"""Periodic tasks of the active controller.

From 4.0 on tasks are periodic: one that still has work runs again in 10 ms. Before, brokers are
fenced by an exact timer, and the elections are planned whenever there is a reason for them.

Source: PeriodicTaskControlManager, QuorumController.registerWriteNoOpRecord,
registerMaybeFenceStaleBroker, registerElectPreferred, registerElectUnclean@4.1.0.
"""

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.activity import decides
from tidegauge.controller.kraft.broker_heartbeats import check_sessions_at, is_overdue
from tidegauge.controller.kraft.elections import AGAIN_US, fence_broker, plan_elections
from tidegauge.controller.kraft.event_queue import new_event_row
from tidegauge.controller.kraft.state import QUORUM, WRITES, Quorum
from tidegauge.controller.raft.replication import append_offset
from tidegauge.controller.raft.state import name_of_voter, this_voter
from tidegauge.simulation.faults import because_of
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.controller_timers import FencingCheck, NoOpDue, QuorumSample
from tidegauge.simulation.random_streams import FENCING, PERIODIC_TASKS, draw_below
from tidegauge.simulation.rows import record_row
from tidegauge.simulation.trace_rows.codes import BROKER_SESSION_EXPIRED
from tidegauge.simulation.trace_rows.detail_rows import MetadataSampled


@inner_rule
def begin_tasks(world: Quorum, is_first: bool) -> None:
    """Begin the periodic tasks of a controller that becomes active: each waits for its period.

    A draw decides the phase of the periods of the first controller's tasks when brokers start or
    fail.

    Source: PeriodicTaskControlManager.activate@4.1.0.
    """
    state = world.active_controller[0]
    now_us = world.context[0].time_us
    state.fences = False
    state.balances = False
    state.elects_uncleanly = False
    if state.max_idle_interval_us > 0:
        interval_us = state.max_idle_interval_us
        if is_first:
            interval_us = _part_of(world, interval_us, NoOpDue.KIND)
        _no_op_at(world, now_us + interval_us)
    if state.has_heartbeat_tracker:
        period_us = _fencing_period_us(world)
        if is_first:
            period_us = _part_of(world, period_us, FencingCheck.KIND)
        else:
            # After the sessions, so that the check at their end finds them over.
            period_us += 1
        check_sessions_at(world, now_us + period_us)
    elif _oldest_contact(world) != NONE:
        check_sessions_at(world, now_us + state.session_timeout_us + 1)
    plan_elections(world)


@QUORUM.handles(QuorumSample)
@inner_rule
def handle_quorum_sample(world: Quorum, timer: QuorumSample) -> bool:
    """Record the active controller's log position and the number of pending responses."""
    voter = this_voter(world)
    if decides(world):
        MetadataSampled.write(
            world,
            voter,
            broker=name_of_voter(world, timer.destination),
            queue_length=voter.queue.length,
            deferred=voter.deferred.length,
        )
    sample_later(world)
    return False


@inner_rule
def sample_later(world: Quorum) -> None:
    """Schedule the next sample of the log."""
    QuorumSample.after(world, world.context[0].sample_period_us)


@inner_rule
def _part_of(world: Quorum, period_us: int, kind: int) -> int:
    """A part of a task's period, drawn for each kind of timer."""
    process = world.context[0].handling
    return draw_below(period_us, world.context[0].seed, PERIODIC_TASKS, process, kind)


@inner_rule
def _no_op_at(world: Quorum, due_us: int) -> None:
    """Schedule a NoOpRecord; a controller that was superseded does so as well."""
    NoOpDue.at(world, due_us, epoch=this_voter(world).claimed_epoch)


@WRITES.handles(NoOpDue)
@inner_rule
def handle_no_op_due(world: Quorum, _: NoOpDue) -> None:
    """Write a NoOpRecord, so that all readers can see the end of the log."""
    append_offset(world)
    now_us = world.context[0].time_us
    _no_op_at(world, now_us + world.active_controller[0].max_idle_interval_us)


@inner_rule
def _fencing_period_us(world: Quorum) -> int:
    """Source: QuorumController.maybeFenceStaleBrokerPeriodNs@4.1.0."""
    return max(1_000, world.active_controller[0].session_timeout_us // 8)


@WRITES.handles(FencingCheck)
@inner_rule
def handle_fencing_check(world: Quorum, _: FencingCheck) -> None:
    """Fence one broker whose session has timed out, if there is one.

    Source: ReplicationControlManager.maybeFenceOneStaleBroker@4.1.0, @3.9.0.
    """
    state = world.active_controller[0]
    now_us = world.context[0].time_us
    state.fences = False
    broker = _one_overdue(world)
    if broker != NONE:
        _fence_silent(world, broker)
    if state.has_heartbeat_tracker:
        check_sessions_at(
            world, now_us + (AGAIN_US if broker != NONE else _fencing_period_us(world))
        )
        return
    oldest = _oldest_contact(world)
    if oldest != NONE:
        due_us = world.quorum_brokers[oldest].contact_us + state.session_timeout_us + 1
        check_sessions_at(world, max(due_us, now_us))


@inner_rule
def _fence_silent(world: Quorum, broker: int) -> None:
    """Fence a broker, because of the fault that has kept it silent."""
    voter = this_voter(world)
    known = world.quorum_brokers[broker]
    row = new_event_row(world)
    because_of(world, row, broker, known.contact_us)
    voter.because_process = row.because_process
    voter.because_sequence = row.because_sequence
    record_row(world, row)
    known.contact_us = NONE
    fence_broker(world, broker, BROKER_SESSION_EXPIRED)


@inner_rule
def _one_overdue(world: Quorum) -> int:
    """A broker that is overdue; from 4.0 on any of them, before the one with the oldest contact.

    One of several: in Kafka the order of a hash table decides, here a draw.
    """
    state = world.active_controller[0]
    if not state.has_heartbeat_tracker:
        oldest = _oldest_contact(world)
        return oldest if oldest != NONE and is_overdue(world, oldest) else NONE
    count = 0
    chosen = NONE
    for broker in range(world.sizes[0].brokers):
        if is_overdue(world, broker):
            count += 1
            chosen = broker
    if count <= 1:
        return chosen
    process = world.context[0].handling
    drawn = draw_below(count, world.context[0].seed, FENCING, process, state.fencing_draws)
    state.fencing_draws += 1
    for broker in range(world.sizes[0].brokers):
        if is_overdue(world, broker):
            if drawn == 0:
                return broker
            drawn -= 1
    return NONE


@inner_rule
def _oldest_contact(world: Quorum) -> int:
    """The unfenced broker with the oldest contact; NONE if all are fenced."""
    oldest = NONE
    for broker in range(world.sizes[0].brokers):
        known = world.quorum_brokers[broker]
        if not known.registered or known.fenced or known.contact_us == NONE:
            continue
        if oldest == NONE or known.contact_us < world.quorum_brokers[oldest].contact_us:
            oldest = broker
    return oldest
