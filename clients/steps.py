"""The operator: creates the topics and takes the scenario's steps, one after the other.

The operator is a client of the control plane and of the brokers. A step's condition (leader, ISR,
registered brokers) is a request to the control plane, and a watch; requests go to the leader that
the control plane names, as a test harness would send them. Faults that a step begins or ends reach
the processes that they hit as messages.
"""

from tidegauge.clients import (
    admin_requests,
    control_plane_requests,
    first_topics,
    step_conditions,
    step_requests,
)
from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Answer, Client, Clients, Step
from tidegauge.clients.handlers import OPERATOR
from tidegauge.clients.rolling_restarts import is_rolled, take_roll_answer
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.faults import tell_of_fault
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import timers
from tidegauge.simulation.messages.client_requests import (
    AlterReplicaLogDirsResponse,
    ConsumerResponse,
    EpochResponse,
    ListOffsetsResponse,
    ProduceResponse,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.quorum_requests import (
    AddRaftVoterResponse,
    AdminResponse,
    DescribeQuorumStateResponse,
    RaftResponse,
    RemoveRaftVoterResponse,
)
from tidegauge.simulation.messages.zookeeper_requests import ZkResponse, ZkWatch
from tidegauge.simulation.pins import tell_of_release
from tidegauge.simulation.topology import Cluster, is_kraft
from tidegauge.simulation.trace_rows.process_rows import StepTaken, StepTimedOut

# Step.action
BEGINS_FAULT = step_requests.STEP_CODES.new("begin_fault", 2)
ENDS_FAULT = step_requests.STEP_CODES.new("end_fault", 3)
OBSERVES = step_requests.STEP_CODES.new("observe", 8)
WAITS = step_requests.STEP_CODES.new("wait", 9)
RELEASES = step_requests.STEP_CODES.new("release", 19)
RESTARTS_CONSUMERS = step_requests.STEP_CODES.new("restart_consumers", 14)

#: Actions that no broker and no control plane is asked for.
_OF_HARNESS = (BEGINS_FAULT, ENDS_FAULT, OBSERVES, WAITS, RELEASES, RESTARTS_CONSUMERS)

# Client.waiting
_CONDITION = code(0)
_LEADER = code(1)
_ANSWER = code(2)
_CONTROLLER = code(3)
_REASSIGNED = code(4)


@OPERATOR.handles(timers.ClientStart)
@inner_rule
def handle_client_start(world: Clients, timer: timers.ClientStart) -> None:
    """Begin to operate."""
    first_topics.ask_for_topics(world, timer.destination)
    wait_for_step(world, timer.destination)


@inner_rule
def wait_for_step(world: Clients, process: int) -> None:
    """Begin to wait for the next step's condition."""
    client = world.clients[client_of(world, process)]
    now_us = world.context[0].time_us
    client.waiting = NONE
    if client.step >= world.pool[0].steps:
        return
    step = world.steps[client.step]
    due_us = now_us + step.within_us
    if step.start == step_conditions.AT:
        due_us = max(now_us, step.time_us)
    elif step.start == step_conditions.AFTER:
        due_us = now_us + step.time_us
    else:
        client.waiting = _CONDITION
        _look(world, client, step, process)
    timers.StepDue.at(world, due_us, step=client.step)


@inner_rule
def _look(world: Clients, client: Client, step: Step, process: int) -> None:
    """Read the state of the condition, and watch it; without watches poll."""
    client.question += 1
    now_us = world.context[0].time_us
    if step.start in step_conditions.OF_OPERATOR:
        _look_at(world, client, now_us)
        return
    step_conditions.ask(world, client, step, process)
    if step.start == step_conditions.WHEN_QUIESCENT or is_kraft(world):
        _look_at(world, client, now_us + first_topics.LOOK_PERIOD_US)


@inner_rule
def _look_at(world: Kernel, client: Client, time_us: int) -> None:
    timers.StepLooks.at(world, time_us, client)


@inner_rule
def _look_for_answers(world: Clients, client: Client) -> None:
    if (
        client.waiting == _CONDITION
        and world.steps[client.step].start == step_conditions.WHEN_ANSWERED
    ):
        _look_at(world, client, world.context[0].time_us)


@OPERATOR.handles(timers.StepLooks)
@inner_rule
def handle_step_looks(world: Clients, timer: timers.StepLooks) -> None:
    """Poll a condition that cannot be watched, or repeat a request to a quorum's controller."""
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if timer.question == first_topics.OF_TOPICS:
        first_topics.look_again_at_topics(world, timer)
        return
    if client.step != timer.step or client.question != timer.question:
        # Something that is watched has changed, so it was looked since.
        return
    if client.waiting == _ANSWER:
        admin_requests.ask_again(world, process)
    if client.waiting in (_LEADER, _REASSIGNED):
        _ask_for(world, process, client.waiting)
    if client.waiting != _CONDITION:
        return
    step = world.steps[client.step]
    if step.start == step_conditions.WHEN_ROLLED:
        if is_rolled(world, step.condition_fault):
            _take(world, process)
        else:
            _look_at(world, client, world.context[0].time_us + first_topics.LOOK_PERIOD_US)
    elif step.start != step_conditions.WHEN_ANSWERED:
        _look(world, client, step, process)
    elif step_requests.all_answered(world):
        _take(world, process)


@OPERATOR.handles(timers.StepDue)
@inner_rule
def handle_step_due(world: Clients, timer: timers.StepDue) -> None:
    """The time of a step has come, or the time within which its condition should hold."""
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if client.step != timer.step:
        return
    step = world.steps[client.step]
    if step.start in (step_conditions.AT, step_conditions.AFTER) and client.waiting == NONE:
        _take(world, process)
    elif client.waiting == _CONDITION:
        StepTimedOut.write(world, step=client.step)
        client.steps_timed_out += 1
        # The steps after it count on it.
        client.step = world.pool[0].steps
        client.waiting = NONE


@inner_rule
def _take(world: Clients, process: int) -> None:
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    client.steps_taken += 1
    StepTaken.write(world, step=client.step)
    if is_kraft(world) and step.action == admin_requests.REASSIGNS:
        _ask_for(world, process, _REASSIGNED)
        return
    if not is_kraft(world) and step.action in (
        admin_requests.ALTERS_REASSIGNMENTS,
        admin_requests.ELECTS_UNCLEANLY,
    ):
        _ask_for(world, process, _CONTROLLER)
        return
    if step.action in (
        step_requests.PRODUCES,
        step_requests.FETCHES,
        step_requests.ASKS_EPOCH,
        step_requests.LISTS_OFFSETS,
        step_requests.MOVES_LOG_DIR,
    ):
        if step.to != NONE:
            is_awaited = step_requests.request_of(world, process, step.to)
            _await(world, process, is_awaited)
            return
        _ask_for(world, process, _LEADER)
        return
    if step.action not in _OF_HARNESS and is_kraft(world):
        is_awaited = admin_requests.request_of_controller(world, process)
        _await(world, process, is_awaited)
        return
    if step.action not in _OF_HARNESS:
        admin_requests.write_as_operator(world, step)
    else:
        _act(world, step, client.step)
    _go_on(world, process)


@inner_rule
def _act(world: Clients, step: Step, number: int) -> None:
    """Take a step that is about the run, or processes, and asks nobody."""
    if step.action == OBSERVES:
        _observe(world, number)
    elif step.action == RESTARTS_CONSUMERS:
        _restart_consumers(world, step)
    elif step.action == RELEASES:
        tell_of_release(world, step.pin)
    elif step.action in (BEGINS_FAULT, ENDS_FAULT):
        _tell_of_fault(world, step)


@inner_rule
def _ask_for(world: Clients, process: int, what: int) -> None:
    """Request the facts that the action of a step needs; from a quorum again, until it responds."""
    client = world.clients[client_of(world, process)]
    client.waiting = what
    client.question += 1
    if what == _REASSIGNED:
        control_plane_requests.ask_reassigned(world, process, client.question)
    elif what == _CONTROLLER:
        control_plane_requests.ask_controller(world, process, client.question)
    else:
        partition = world.steps[client.step].partition
        control_plane_requests.ask_state(
            world, process, partition, control_plane_requests.STEPS, client.question
        )
    if is_kraft(world):
        _look_at(world, client, world.context[0].time_us + control_plane_requests.ANSWER_US)


@inner_rule
def _ask_soon(world: Clients, process: int) -> None:
    """The response lacks what an action needs, or its broker is gone: ask another broker."""
    client = world.clients[client_of(world, process)]
    if client.waiting in (_LEADER, _REASSIGNED):
        _look_at(world, client, world.context[0].time_us + first_topics.LOOK_PERIOD_US)


@inner_rule
def _await(world: Clients, process: int, is_awaited: bool) -> None:
    """Wait for the answer to a step's request, or go on if there is none to wait for."""
    if is_awaited:
        world.clients[client_of(world, process)].waiting = _ANSWER
    else:
        _go_on(world, process)


@inner_rule
def _tell_of_fault(world: Kernel, step: Step) -> None:
    count = world.context[0].process_count
    for hit in range(count):
        if world.fault_roles[step.fault * count + hit].side != 0:
            tell_of_fault(world, hit, step.fault, step.action == BEGINS_FAULT)


@inner_rule
def _restart_consumers(world: Kernel, step: Step) -> None:
    for consumer in range(step.first_process, step.first_process + step.process_count):
        send(world, timers.ConsumerRestarts.to(world, consumer), world.context[0].time_us)


@inner_rule
def _observe(world: Cluster, number: int) -> None:
    for broker in range(world.sizes[0].brokers):
        send(world, timers.Observe.to(world, broker, step=number), world.context[0].time_us)


@inner_rule
def _go_on(world: Clients, process: int) -> None:
    client = world.clients[client_of(world, process)]
    client.step += 1
    wait_for_step(world, process)


@OPERATOR.handles(ZkWatch)
@inner_rule
def handle_operator_watch(world: Clients, event: ZkWatch) -> None:
    """A watch of the operator has fired: read again."""
    process = event.destination
    client = world.clients[client_of(world, process)]
    if control_plane_requests.tells_of_live_brokers(event) and not client.topics_created:
        first_topics.ask_for_topics(world, process)
    if (
        client.waiting == _CONDITION
        and world.steps[client.step].start not in step_conditions.OF_OPERATOR
    ):
        _look(world, client, world.steps[client.step], process)


@OPERATOR.handles(ZkResponse)
@inner_rule
def handle_zookeeper_response(world: Clients, response: ZkResponse) -> None:
    """Take a response of ZooKeeper."""
    answer = control_plane_requests.read_zookeeper_response(world, response)
    _take_answer(world, answer, response.destination)


@OPERATOR.handles(DescribeQuorumStateResponse)
@inner_rule
def handle_quorum_response(world: Clients, response: DescribeQuorumStateResponse) -> None:
    """Take a response of the active controller of a quorum; others have no answer."""
    if not control_plane_requests.is_answer(world, response):
        _ask_soon(world, response.destination)
        return
    answer = control_plane_requests.read_quorum_response(world, response)
    _take_answer(world, answer, response.destination)


@inner_rule
def _take_answer(world: Clients, answer: Answer, process: int) -> None:
    """Take the control plane's response: to a rolling restart, or to a step's condition."""
    client = world.clients[client_of(world, process)]
    if answer.asker != control_plane_requests.STEPS:
        take_roll_answer(world, answer, process)
    elif answer.names_live_brokers and answer.question == first_topics.OF_TOPICS:
        if not client.topics_created:
            first_topics.create_topics(world, client, process)
    elif answer.question == client.question:
        _take_awaited(world, answer, process)


@inner_rule
def _take_awaited(world: Clients, answer: Answer, process: int) -> None:
    """The answer has come that the step waits for."""
    client = world.clients[client_of(world, process)]
    if client.waiting == _CONDITION:
        if step_conditions.holds(world, client, answer):
            _take(world, process)
    elif client.waiting == _LEADER:
        is_awaited = step_requests.request_of_leader(world, process, answer)
        _await(world, process, is_awaited)
    elif client.waiting == _CONTROLLER:
        if answer.controller != NONE:
            admin_requests.request_of_zookeepers_controller(world, process, answer.controller)
        _go_on(world, process)
    elif client.waiting == _REASSIGNED:
        _move_if_done(world, answer, process)


@inner_rule
def _move_if_done(world: Clients, answer: Answer, process: int) -> None:
    """Move replicas as the tool does: not while others are being moved.

    Source: ReassignPartitionsCommand.executeAssignment@4.1.0.
    """
    if answer.holds:
        is_awaited = admin_requests.request_of_controller(world, process)
        _await(world, process, is_awaited)
        return
    step = world.clients[client_of(world, process)].step
    step_requests.end_with(world, step, NONE, errors.REASSIGNMENT_IN_PROGRESS)
    _go_on(world, process)


@OPERATOR.handles(AdminResponse)
@inner_rule
def handle_admin_response(world: Clients, response: AdminResponse) -> None:
    """Take the active controller's response to a step's request."""
    process = response.destination
    client = world.clients[client_of(world, process)]
    first_topics.count_topic_response(client, response)
    is_awaited = response.correlation_id == client.question and client.waiting == _ANSWER
    if is_awaited and admin_requests.take_admin_response(world, response):
        _go_on(world, process)


@OPERATOR.handles(AddRaftVoterResponse, RemoveRaftVoterResponse)
@inner_rule
def handle_voter_response(world: Clients, response: RaftResponse) -> None:
    """Take a controller's response to a step that changes the voters."""
    process = response.destination
    client = world.clients[client_of(world, process)]
    is_awaited = response.correlation_id == client.question and client.waiting == _ANSWER
    if is_awaited and admin_requests.take_voter_response(world, response):
        _go_on(world, process)


@OPERATOR.handles(
    *(ProduceResponse, ConsumerResponse, EpochResponse),
    *(ListOffsetsResponse, AlterReplicaLogDirsResponse),
)
@inner_rule
def handle_broker_response(world: Clients, response: Event) -> None:
    """Take a broker's response to a step's request."""
    process = response.destination
    client = world.clients[client_of(world, process)]
    if response.correlation_id <= step_requests.UNATTENDED:
        number = step_requests.UNATTENDED - response.correlation_id
        world.steps[number].open = False
        step_requests.take_answer(world, client, response, number)
        _look_for_answers(world, client)
    elif response.correlation_id == client.question and client.waiting == _ANSWER:
        step_requests.take_answer(world, client, response, client.step)
        _go_on(world, process)


@OPERATOR.handles(timers.RequestTimesOut)
@inner_rule
def handle_operator_times_out(world: Clients, timer: timers.RequestTimesOut) -> None:
    """A step's request has got no answer: take the next step, or ask another controller."""
    process = timer.destination
    client = world.clients[client_of(world, process)]
    if client.waiting == _ANSWER and client.question == timer.correlation_id:
        if _asks_another(world, client, process):
            return
        step_requests.give_up(
            world, client.step, client.asked, client.asked_us, errors.REQUEST_TIMED_OUT
        )
        _go_on(world, process)


@inner_rule
def _asks_another(world: Clients, client: Client, process: int) -> bool:
    """Whether a request that is lost was one to a quorum, and is sent to another controller."""
    if client.asked < world.sizes[0].brokers or not is_kraft(world):
        return False
    control_plane_requests.lose_asked_controller(world, process, client.asked)
    return admin_requests.asks_again(world, process)


@OPERATOR.handles(timers.Disconnected)
@inner_rule
def handle_operator_disconnected(world: Clients, event: timers.Disconnected) -> None:
    """The broker asked is gone: take the next step if it waits for that, or ask another one."""
    process = event.destination
    client = world.clients[client_of(world, process)]
    step_requests.give_up_unattended(world, event)
    was_asked = client.waiting == _ANSWER and client.asked == event.source
    if not was_asked or client.asked_us > event.until_us:
        if control_plane_requests.lose_asked_controller(world, process, event.source):
            _ask_soon(world, process)
        _look_for_answers(world, client)
    elif not _asks_another(world, client, process):
        step_requests.give_up(
            world, client.step, client.asked, client.asked_us, errors.NETWORK_EXCEPTION
        )
        _go_on(world, process)


#: Let the operator deal with an event.
operate = OPERATOR.dispatcher(__name__, "operate", Clients, Event)
