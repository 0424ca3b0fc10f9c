"""Rolling restarts: the operator restarts servers batch by batch, and looks how the cluster is.

Servers are brokers, and controllers of a quorum. A server of the batch is stopped, is down for a
while from the end of its process on, and is started; each of these is a fault of its own. The
operator sees when all of the batch have been started. If it is to wait for full ISRs it then polls
the registrations and the states of all partitions with a replica on the batch, and goes on when
none is under-replicated; of controllers, whether they follow the leader again. If the active
controller is to be the last one, it is put off behind the others when its turn comes: the operator
knows it by its last answer.

Leadership is given back to a batch by a record of its own, which begins when the batch has been
started: it waits for its time, or checks the ISRs of these brokers, while the rolling restart is at
later batches. That it ends changes nothing.

A delay of any cause (a dead broker, a loss of power, an outage of the control plane) makes it wait,
until its timeout. It relies on the control plane: a broker that was dead before its restart is
registered, and in ISRs, until its session expires or it leaves them.
"""

from tidegauge.clients.admin_requests import PREFERRED, new_election
from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Answer, Clients, Roll
from tidegauge.clients.control_plane_requests import (
    ANSWER_US,
    ask_live_brokers,
    ask_state,
    ask_voter,
    new_preferred_election,
)
from tidegauge.clients.handlers import OPERATOR
from tidegauge.compiled.rules import code, inner_rule, rule
from tidegauge.replication.replica_list import contains, first, size
from tidegauge.simulation.events import new_item
from tidegauge.simulation.faults import FAULT_CODES, tell_of_fault
from tidegauge.simulation.kernel import NONE, FaultRole, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.quorum_requests import PartitionOutcome
from tidegauge.simulation.messages.zookeeper_requests import NamedPartition
from tidegauge.simulation.topology import broker_of, is_kraft, slot_of
from tidegauge.simulation.trace_rows import codes
from tidegauge.simulation.trace_rows.process_rows import RollProgress

ROLLING_RESTART = FAULT_CODES.new("rolling_restart", 9)

# Roll.leadership_back
NEVER = code(0)
AFTER_EACH_BATCH = code(1)
AT_END = code(2)
AFTER_A_WHILE = code(3)
ONCE_IN_SYNC = code(4)

_TRUE = code(True)

# Roll.phase
_RESTARTS = code(1)
_WAITS = code(2)
_PAUSES = code(3)
_OVER = code(4)


@rule
def take_operator_fault(world: Clients, event: timers.FaultChange) -> None:
    """A rolling restart begins, or is ended: then no more is restarted."""
    if world.faults[event.fault].kind != ROLLING_RESTART:
        return
    for number, roll in enumerate(world.rolls):
        if roll.fault == event.fault and roll.gives_back_for == NONE:
            if event.kind == timers.FaultBegin.KIND:
                _stop_batch(world, number)
            else:
                roll.phase = _OVER


@inner_rule
def _batch_end(roll: Roll) -> int:
    """The end of the batch among the servers of a rolling restart."""
    return min(roll.position + roll.batch, roll.server_count)


@inner_rule
def _stop_batch(world: Clients, number: int) -> None:
    roll = world.rolls[number]
    roll.phase = _RESTARTS
    roll.unregistered = 0
    roll.under_replicated = 0
    context = world.context[0]
    if roll.has_active_last:
        active = world.clients[client_of(world, context.handling)].controller
        _put_off(world, roll, world.sizes[0].brokers + active)
    _write(world, roll, codes.ROLL_STOPS)
    for place in range(roll.position, _batch_end(roll)):
        fault = world.rolled[roll.first_server + place].fault
        for hit in range(context.process_count):
            if world.fault_roles[fault * context.process_count + hit].side != 0:
                tell_of_fault(world, hit, fault, _TRUE)
    timers.RollTimesOut.after(world, roll.timeout_us, roll, roll=number)
    _resume_at(world, roll, number, context.time_us + roll.poll_us)


@inner_rule
def _put_off(world: Clients, roll: Roll, active: int) -> None:
    """If the active controller is on the batch, the controllers behind it come before it."""
    for place in range(roll.position, _batch_end(roll)):
        if world.rolled[roll.first_server + place].node != active:
            continue
        fault = world.rolled[roll.first_server + place].fault
        while place + 1 < roll.server_count:
            later = world.rolled[roll.first_server + place + 1]
            if not _is_controller(world, later.node):
                break
            server = world.rolled[roll.first_server + place]
            server.node = later.node
            server.fault = later.fault
            place += 1  # noqa: PLW2901 - the place of the active controller
        last = world.rolled[roll.first_server + place]
        last.node = active
        last.fault = fault
        return


@inner_rule
def _is_controller(world: Clients, node: int) -> bool:
    return node >= world.sizes[0].brokers


@inner_rule
def _resume_at(world: Kernel, roll: Roll, number: int, time_us: int) -> None:
    """Go on at this time, unless something else happens before."""
    roll.question += 1
    timers.RollResume.at(world, time_us, roll, roll=number)


@OPERATOR.handles(timers.RollResume)
@inner_rule
def handle_roll_resume(world: Clients, timer: timers.RollResume) -> None:
    """Check the progress of the batch, or stop the next one."""
    roll = world.rolls[timer.roll]
    process = timer.destination
    if roll.phase == _OVER or roll.question != timer.question:
        return
    if roll.phase == _PAUSES:
        if roll.gives_back_for == NONE:
            _stop_batch(world, timer.roll)
        else:
            _give_back(world, roll, process)
    elif roll.phase == _WAITS:
        _look(world, timer.roll, process)
    elif _is_started(world, roll, process):
        _write(world, roll, codes.ROLL_STARTED)
        _begin_giving_back(world, timer.roll, process)
        if roll.waits_for_isr:
            roll.phase = _WAITS
            _look(world, timer.roll, process)
        else:
            _finish_batch(world, timer.roll, process)
    else:
        _resume_at(world, roll, timer.roll, world.context[0].time_us + roll.poll_us)


@inner_rule
def _role(world: Kernel, fault: int, process: int) -> FaultRole:
    return world.fault_roles[fault * world.context[0].process_count + process]


@inner_rule
def _is_started(world: Clients, roll: Roll, process: int) -> bool:
    """Whether all servers of the batch have been restarted, as the operator knows."""
    for place in range(roll.position, _batch_end(roll)):
        role = _role(world, world.rolled[roll.first_server + place].fault, process)
        if role.active or role.row_sequence == NONE:
            return False
    return True


@OPERATOR.handles(timers.RollTimesOut)
@inner_rule
def handle_roll_times_out(world: Clients, timer: timers.RollTimesOut) -> None:
    """A batch has had its time: stop there, or go on in spite of it."""
    roll = world.rolls[timer.roll]
    if roll.phase not in (_RESTARTS, _WAITS) or roll.position != timer.position:
        return
    if roll.stops_on_timeout:
        _write(world, roll, codes.ROLL_GIVES_UP)
        _end(world, roll)
    else:
        _write(world, roll, codes.ROLL_GOES_ON_ANYWAY)
        _finish_batch(world, timer.roll, timer.destination)


@inner_rule
def _look(world: Clients, number: int, process: int) -> None:
    """Ask for the registrations, and the state of each partition with a replica on the batch.

    For controllers, ask whether they follow the leader.
    """
    roll = world.rolls[number]
    roll.question += 1
    roll.unregistered = 0
    roll.under_replicated = 0
    roll.answers = 1
    ask_live_brokers(world, process, number, roll.question)
    for place in range(roll.position, _batch_end(roll)):
        node = world.rolled[roll.first_server + place].node
        if _is_controller(world, node):
            ask_voter(world, process, node - world.sizes[0].brokers, number, roll.question)
            roll.answers += 1
    for partition in range(world.sizes[0].partitions):
        if _is_on_batch(world, roll, partition):
            ask_state(world, process, partition, number, roll.question)
            roll.answers += 1
    if is_kraft(world):
        # A request that a quorum's controller does not answer is sent again.
        timers.RollResume.after(world, ANSWER_US, roll, roll=number)


@inner_rule
def _is_on_batch(world: Clients, roll: Roll, partition: int) -> bool:
    """Whether a partition may have a replica on a broker of the batch."""
    for place in range(roll.position, _batch_end(roll)):
        if slot_of(world, partition, world.rolled[roll.first_server + place].node) >= 0:
            return True
    return False


@inner_rule
def take_roll_answer(world: Clients, answer: Answer, process: int) -> None:
    """Take the control plane's response to a rolling restart."""
    number = answer.asker
    roll = world.rolls[number]
    if roll.phase != _WAITS or roll.question != answer.question:
        return
    if answer.names_live_brokers:
        roll.unregistered += _unregistered(world, roll)
    elif answer.is_about_voter:
        roll.unregistered += 0 if answer.holds else 1
    elif answer.holds and _is_under_replicated(world, roll, answer):
        roll.under_replicated += 1
    roll.answers -= 1
    if roll.answers > 0:
        return
    if roll.unregistered == 0 and roll.under_replicated == 0:
        if roll.gives_back_for == NONE:
            _write(world, roll, codes.ROLL_IN_SYNC)
            _finish_batch(world, number, process)
        else:
            _give_back(world, roll, process)
    else:
        due_us = world.context[0].time_us + roll.poll_us
        _resume_at(world, roll, number, due_us)


@inner_rule
def _unregistered(world: Clients, roll: Roll) -> int:
    """The number of the batch's brokers that are not live."""
    missing = 0
    for place in range(roll.position, _batch_end(roll)):
        node = world.rolled[roll.first_server + place].node
        if not _is_controller(world, node) and not world.live_brokers[node].is_live:
            missing += 1
    return missing


@inner_rule
def _is_under_replicated(world: Clients, roll: Roll, state: Answer) -> bool:
    """Whether a partition with a replica on the batch has replicas that are not in its ISR.

    A tool that gives leadership back checks the batch's own replicas only: the next batch may be
    down.

    Source: TopicCommand.PartitionDescription.isUnderReplicated@2.6.0.
    """
    if size(state.isr) >= size(state.replicas):
        return False
    for place in range(roll.position, _batch_end(roll)):
        node = world.rolled[roll.first_server + place].node
        slot = slot_of(world, state.partition, node)
        is_back = roll.gives_back_for != NONE and contains(state.isr, slot)
        if contains(state.replicas, slot) and not is_back:
            return True
    return False


@inner_rule
def _finish_batch(world: Clients, number: int, process: int) -> None:
    """Let preferred replicas lead, if the step asks for it; then the next batch, or the end."""
    roll = world.rolls[number]
    is_last = _batch_end(roll) == roll.server_count
    if roll.leadership_back == AFTER_EACH_BATCH or (is_last and roll.leadership_back == AT_END):
        _write(world, roll, codes.ROLL_PREFERS)
        _ask_for_preferred(world, roll, process)
    roll.position = _batch_end(roll)
    if is_last:
        _write(world, roll, codes.ROLL_DONE)
        _end(world, roll)
    else:
        roll.phase = _PAUSES
        _resume_at(world, roll, number, world.context[0].time_us + roll.pause_us)


@inner_rule
def _begin_giving_back(world: Clients, number: int, process: int) -> None:
    """A batch has been started: give leadership back to it later, if that is planned."""
    roll = world.rolls[number]
    now_us = world.context[0].time_us
    for other, back in enumerate(world.rolls):
        if back.gives_back_for != number or back.position != roll.position:
            continue
        if roll.leadership_back == ONCE_IN_SYNC:
            back.phase = _WAITS
            _look(world, other, process)
        else:
            back.phase = _PAUSES
            _resume_at(world, back, other, now_us + roll.leadership_back_us)


@inner_rule
def _give_back(world: Clients, roll: Roll, process: int) -> None:
    """Elect the in-sync preferred replicas on a batch."""
    _write(world, roll, codes.ROLL_PREFERS)
    _ask_for_preferred(world, roll, process)
    roll.phase = _OVER


@inner_rule
def _is_to_prefer(world: Clients, roll: Roll, partition: int) -> bool:
    """Whether an election of a partition's preferred replica is asked for.

    That is the first one of the assignment with which the partition was created.
    """
    if roll.gives_back_for == NONE:
        return roll.leadership_back == AT_END or _is_on_batch(world, roll, partition)
    preferred = broker_of(world, partition, first(world.partitions[partition].replicas))
    for place in range(roll.position, _batch_end(roll)):
        if world.rolled[roll.first_server + place].node == preferred:
            return True
    return False


@inner_rule
def _ask_for_preferred(world: Clients, roll: Roll, process: int) -> None:
    """Name the partitions that are to be led by their preferred replicas."""
    if is_kraft(world):
        election = new_election(world, process, PREFERRED)
        for partition in range(world.sizes[0].partitions):
            if _is_to_prefer(world, roll, partition):
                new_item(world, election, partition, PartitionOutcome)
        send(world, election, world.context[0].time_us)
        return
    request = new_preferred_election(world)
    for partition in range(world.sizes[0].partitions):
        if _is_to_prefer(world, roll, partition):
            new_item(world, request, partition, NamedPartition)
    send(world, request, world.context[0].time_us)


@inner_rule
def is_rolled(world: Clients, fault: int) -> bool:
    """Whether a rolling restart has restarted all its servers."""
    for roll in world.rolls:
        if roll.fault == fault and roll.gives_back_for == NONE:
            return bool(roll.phase == _OVER and roll.position == roll.server_count)
    return False


@inner_rule
def _end(world: Kernel, roll: Roll) -> None:
    """The rolling restart is over, as a fault is."""
    roll.phase = _OVER
    timers.FaultEnd.after(world, 0, fault=roll.fault)


@inner_rule
def _write(world: Clients, roll: Roll, progress: int) -> None:
    broker, broker_count = NONE, 0
    if roll.position < roll.server_count:
        broker = world.rolled[roll.first_server + roll.position].node
        broker_count = _batch_end(roll) - roll.position
    RollProgress.write(world, roll, progress=progress, broker=broker, broker_count=broker_count)
