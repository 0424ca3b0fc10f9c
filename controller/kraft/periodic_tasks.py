"""The start of the active controller, and what it does from time to time.

Source: PeriodicTaskControlManager and QuorumController.registerWriteNoOpRecord@4.1.0.
"""

from __future__ import annotations

from tidegauge.compiled.rules import inner_rule
from tidegauge.controller.kraft.handlers import QUORUM, WRITES
from tidegauge.controller.kraft.metadata_log import append_record
from tidegauge.controller.kraft.registrations import NO_OP_RECORD
from tidegauge.controller.kraft.state import Quorum
from tidegauge.simulation.events import new_event, set_timer
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.messages.quorum_timers import NoOpDue, QuorumStart
from tidegauge.simulation.rows import new_row, write_row
from tidegauge.simulation.topology import active_controller_process
from tidegauge.simulation.trace_rows.control_plane_rows import ControllerActive


@QUORUM.handles(QuorumStart)
@inner_rule
def handle_quorum_start(world: Quorum, timer: QuorumStart) -> bool:
    """The controller is active from now on."""
    state = world.active_controller[0]
    state.runs = True
    active = new_row(world, timer.destination, ControllerActive)
    active.broker = world.sizes[0].brokers + world.processes[timer.destination].number
    active.controller_epoch = state.epoch
    write_row(world, active)
    if state.max_idle_interval_us > 0:
        _no_op_later(world)
    return False


@inner_rule
def _no_op_later(world: Quorum) -> None:
    process = active_controller_process(world)
    due_us = world.context[0].time_us + world.active_controller[0].max_idle_interval_us
    set_timer(world, new_event(world, process, process, NoOpDue), due_us)


@WRITES.handles(NoOpDue)
@inner_rule
def handle_no_op_due(world: Quorum, _: NoOpDue) -> None:
    """Write a NoOpRecord, so that all can see how far the log is."""
    append_record(world, NO_OP_RECORD, NONE)
    _no_op_later(world)
