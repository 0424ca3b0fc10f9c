"""The times and conditions of steps: ``Step.start``.

A condition is a question to the control plane, and a watch with ZooKeeper (``steps.py``). The
operator knows some of them without a question.
"""

from tidegauge.clients import control_plane_requests
from tidegauge.clients.client_state import Answer, Client, Clients, Step
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.replica_list import EMPTY, first, rest, size
from tidegauge.simulation.topology import broker_of

# Step.start
AT = code(0)
AFTER = code(1)
WHEN_ISR = code(2)
WHEN_LEADER = code(3)
WHEN_REGISTERED = code(4)
WHEN_UNREGISTERED = code(5)
WHEN_CONTROLLER = code(6)
WHEN_QUIESCENT = code(7)
WHEN_LEADER_IS_NOT = code(8)
WHEN_ANSWERED = code(9)
WHEN_REASSIGNED = code(10)
WHEN_ROLLED = code(11)
WHEN_OBSERVES = code(12)
WHEN_VOTERS = code(13)
WHEN_LEADS = code(14)

#: Conditions that the operator knows without a question.
OF_OPERATOR = (WHEN_ANSWERED, WHEN_ROLLED)

#: Conditions of which the control plane says whether they hold.
_HELD_AS_ANSWERED = (WHEN_QUIESCENT, WHEN_REASSIGNED, WHEN_OBSERVES)


@inner_rule
def ask(world: Clients, client: Client, step: Step, process: int) -> None:
    """Ask the control plane for the state of a step's condition."""
    question = client.question
    if step.start in (WHEN_REGISTERED, WHEN_UNREGISTERED):
        asker = control_plane_requests.STEPS
        control_plane_requests.ask_live_brokers(world, process, asker, question)
    elif step.start in (WHEN_CONTROLLER, WHEN_LEADS):
        control_plane_requests.ask_controller(world, process, question)
    elif step.start == WHEN_REASSIGNED:
        control_plane_requests.ask_reassigned(world, process, question)
    elif step.start == WHEN_QUIESCENT:
        control_plane_requests.ask_quiescent(world, process, question)
    elif step.start == WHEN_OBSERVES:
        control_plane_requests.ask_observer(world, process, step.condition_observer, question)
    elif step.start == WHEN_VOTERS:
        control_plane_requests.ask_voters(world, process, question)
    else:
        partition, asker = step.condition_partition, control_plane_requests.STEPS
        control_plane_requests.ask_state(world, process, partition, asker, question)


@inner_rule
def holds(world: Clients, client: Client, answer: Answer) -> bool:
    """Whether a step's condition holds, by the control plane's last response."""
    step = world.steps[client.step]
    if step.start == WHEN_CONTROLLER:
        return answer.controller == step.condition_leader
    if step.start in (WHEN_REGISTERED, WHEN_UNREGISTERED):
        found = _count_live_members(world, step)
        return found == (step.member_count if step.start == WHEN_REGISTERED else 0)
    if step.start in (WHEN_VOTERS, WHEN_LEADS):
        return _is_quorum(world, step, answer)
    if step.start in _HELD_AS_ANSWERED or not answer.holds:
        return answer.holds
    if step.start in (WHEN_LEADER, WHEN_LEADER_IS_NOT):
        leader = broker_of(world, step.condition_partition, answer.leader)
        return (leader == step.condition_leader) == (step.start == WHEN_LEADER)
    return _is_isr(world, step, answer.isr)


@inner_rule
def _is_quorum(world: Clients, step: Step, answer: Answer) -> bool:
    """Whether the voters of a quorum, or its leader, are as a step waits for."""
    if step.start == WHEN_VOTERS:
        return answer.voters == step.condition_controllers
    leader = answer.controller - world.sizes[0].brokers
    return leader >= 0 and (step.condition_controllers >> leader) & 1 != 0


@inner_rule
def _count_live_members(world: Clients, step: Step) -> int:
    """The number of a step's brokers that are live."""
    found = 0
    for member in range(step.first_member, step.first_member + step.member_count):
        broker = world.awaited_brokers[member].broker
        found += 1 if world.live_brokers[broker].is_live else 0
    return found


@inner_rule
def _is_isr(world: Clients, step: Step, members: int) -> bool:
    """Whether an ISR has a step's brokers as its members, in any order."""
    if size(members) != step.member_count:
        return False
    while members != EMPTY:
        broker = broker_of(world, step.condition_partition, first(members))
        if not _is_member(world, step, broker):
            return False
        members = rest(members)
    return True


@inner_rule
def _is_member(world: Clients, step: Step, broker: int) -> bool:
    for member in range(step.first_member, step.first_member + step.member_count):
        if world.awaited_brokers[member].broker == broker:
            return True
    return False
