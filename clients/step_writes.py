"""What a step commands the control plane, as Kafka's tools do, without waiting for a response.

Topics are created and deleted, settings changed, preferred elections and moves of replicas asked
for, throttles set and removed.
"""

from __future__ import annotations

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Clients, Step
from tidegauge.clients.control_plane_requests import (
    new_preferred_election,
    new_reassignment,
    new_throttle,
    new_topic,
    new_topic_config,
    new_topic_deletion,
)
from tidegauge.clients.step_codes import STEP_CODES
from tidegauge.compiled.rules import inner_rule
from tidegauge.simulation.codes.throttles import THROTTLE_MOVES, THROTTLE_NAMED, THROTTLE_NOTHING
from tidegauge.simulation.events import new_event, new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.controller_requests import AlterReassignmentsRequest
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.zookeeper_requests import (
    NamedPartition,
    ThrottleTarget,
    ZkThrottleRequest,
)
from tidegauge.simulation.topology import Cluster, controller_process

# Step.action
PREFERS = STEP_CODES.new("preferred_election", 5)
CONFIGURES = STEP_CODES.new("configure", 6)
CREATES_TOPIC = STEP_CODES.new("create_topic", 7)
REASSIGNS = STEP_CODES.new("reassign", 10)
DELETES_TOPIC = STEP_CODES.new("delete_topic", 11)
CONFIGURES_BROKERS = STEP_CODES.new("configure_brokers", 12)
VERIFIES = STEP_CODES.new("verify_reassignment", 13)
ALTERS_REASSIGNMENTS = STEP_CODES.new("alter_reassignments", 15)


@inner_rule
def write_as_operator(world: Clients, step: Step, process: int) -> None:
    """Write what a step asks for."""
    if step.action == PREFERS:
        _ask_for_preferred(world, step, process)
    elif step.action == CONFIGURES:
        _configure_topic(world, step, process)
    elif step.action == CONFIGURES_BROKERS:
        _throttle(world, step, process)
    elif step.action == CREATES_TOPIC:
        create_topic(world, step.topic, process)
    elif step.action == DELETES_TOPIC:
        _write(world, new_topic_deletion(world, process, step.topic))
    elif step.action == REASSIGNS:
        _ask_for_moves(world, step, process)
    elif step.action == VERIFIES:
        request = _new_throttle(world, step, process, THROTTLE_NOTHING)
        _write(world, request)


@inner_rule
def create_topic(world: Cluster, topic: int, process: int) -> None:
    """Create a topic with the replicas that the scenario has for it."""
    _write(world, new_topic(world, process, topic))


@inner_rule
def _write(world: Kernel, request: Event) -> None:
    send(world, request, world.context[0].time_us)


@inner_rule
def _ask_for_preferred(world: Cluster, step: Step, process: int) -> None:
    """Name the partitions that are to be led by their preferred replicas."""
    request = new_preferred_election(world, process)
    for partition in range(world.sizes[0].partitions):
        if step.partition in (NONE, partition):
            new_item(world, request, partition, NamedPartition)
    _write(world, request)


@inner_rule
def _ask_for_moves(world: Clients, step: Step, process: int) -> None:
    """Name where replicas are to be.

    A throttle comes first, and is set in any case: so the tool changes that of a reassignment that
    is on the way.

    Source: ReassignPartitionsCommand@2.4.0.
    """
    if step.leader_rate != NONE:
        throttle = _new_throttle(world, step, process, THROTTLE_MOVES)
        _add_moves(world, step, throttle)
        _write(world, throttle)
    request = new_reassignment(world, process)
    _add_moves(world, step, request)
    _write(world, request)


@inner_rule
def alter_reassignments(world: Clients, process: int, controller: int) -> None:
    """Ask the controller to move replicas otherwise than it does, or not at all.

    Source: KafkaAdminClient.alterPartitionReassignments@2.4.0 (KIP-455).
    """
    step = world.steps[world.clients[client_of(world, process)].step]
    to = controller_process(world, controller)
    request = new_event(world, process, to, AlterReassignmentsRequest)
    _add_moves(world, step, request)
    _write(world, request)


@inner_rule
def _add_moves(world: Clients, step: Step, request: Event) -> None:
    for number in range(step.first_move, step.first_move + step.move_count):
        move = world.requested_moves[number]
        moved = new_item(world, request, move.partition, NamedPartition)
        moved.replicas = move.replicas


@inner_rule
def _configure_topic(world: Clients, step: Step, process: int) -> None:
    """Write a topic's settings: -1 for what stays."""
    if step.throttled_count > 0:
        _throttle(world, step, process)
    if step.min_insync_replicas == NONE and step.unclean == NONE and step.throttled_count > 0:
        return
    request = new_topic_config(world, process)
    request.topic = step.topic
    request.min_insync_replicas = step.min_insync_replicas
    request.unclean_leader_election = step.unclean
    _write(world, request)


@inner_rule
def _throttle(world: Clients, step: Step, process: int) -> None:
    """Write the throttled rates of brokers, or which replicas of a topic are throttled."""
    request = _new_throttle(world, step, process, THROTTLE_NAMED)
    for number in range(step.first_broker, step.first_broker + step.broker_count):
        target = new_item(world, request, NONE, ThrottleTarget)
        target.broker = world.awaited_brokers[number].broker
    for number in range(step.first_throttled, step.first_throttled + step.throttled_count):
        throttled = world.throttled_by_steps[number]
        target = new_item(world, request, throttled.partition, ThrottleTarget)
        target.leaders = throttled.leaders
        target.followers = throttled.followers
    _write(world, request)


@inner_rule
def _new_throttle(world: Cluster, step: Step, process: int, scope: int) -> ZkThrottleRequest:
    request = new_throttle(world, process)
    request.scope = scope
    request.leader_rate = step.leader_rate
    request.follower_rate = step.follower_rate
    return request
