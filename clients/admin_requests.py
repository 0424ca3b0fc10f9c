"""Commands of a step, as requests of Kafka's tools to the control plane.

They create and delete topics, change settings, features and voters, request preferred elections and
moves of replicas, set and remove throttles. To ZooKeeper they are writes without a response.

A quorum's active controller gets them as from Kafka's admin client. The client waits for the
response, which comes when the records of the request are committed. If the controller is not active
(any more), its connection fails, or it does not answer within request.timeout.ms, the client asks
another one, until default.api.timeout.ms are over; unless the step names the controller that it
asks: then it does so once. Outcomes of single partitions that are errors
have a row each. Moves with a throttle are two requests: the second one once the first is answered.

Source: KafkaAdminClient, ReassignPartitionsCommand, LeaderElectionCommand@4.1.0.
"""

from tidegauge.clients import control_plane_requests
from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Client, Clients, Step
from tidegauge.clients.step_requests import STEP_CODES, end_with
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.simulation.events import items_of, new_item
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import quorum_requests
from tidegauge.simulation.messages.controller_requests import (
    AlterReassignmentsRequest,
    UncleanElectionRequest,
)
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.timers import RequestTimesOut, StepLooks
from tidegauge.simulation.messages.zookeeper_requests import (
    NamedPartition,
    ThrottleTarget,
    ZkThrottleRequest,
)
from tidegauge.simulation.topology import Cluster, controller_process, quorum_process
from tidegauge.simulation.trace_rows.codes import THROTTLE_MOVES, THROTTLE_NAMED, THROTTLE_NOTHING
from tidegauge.simulation.trace_rows.process_rows import StepPartitionAnswered

# Step.action
ELECTS_UNCLEANLY = STEP_CODES.new("unclean_election", 16)

#: ElectLeadersRequest.is_unclean
PREFERRED = code(False)

#: default.api.timeout.ms, request.timeout.ms and retry.backoff.ms of an admin client.
_API_TIMEOUT_US = code(60_000_000)
_REQUEST_TIMEOUT_US = code(30_000_000)
_RETRY_BACKOFF_US = code(100_000)


@inner_rule
def request_of_controller(world: Clients, process: int) -> bool:
    """Send the request of the step that is being taken; whether a response is awaited."""
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    client.api_timeout_at_us = world.context[0].time_us + _API_TIMEOUT_US
    client.has_throttled = step.action != REASSIGNS or step.leader_rate == NONE
    return ask_again(world, process)


@inner_rule
def ask_again(world: Clients, process: int) -> bool:
    """Send the request of a step, perhaps not for the first time."""
    client = world.clients[client_of(world, process)]
    step = world.steps[client.step]
    to = control_plane_requests.controller_to_ask(world, process)
    if step.to != NONE:
        to = quorum_process(world, step.to)
    if step.action == CREATES_TOPIC:
        _send(world, client, quorum_requests.CreateTopicsRequest.to(world, to, topic=step.topic))
    elif step.action == DELETES_TOPIC:
        _send(world, client, quorum_requests.DeleteTopicsRequest.to(world, to, step))
    elif step.action in (CONFIGURES, CONFIGURES_BROKERS, VERIFIES):
        _send(world, client, _new_change_of(world, step, to))
    elif step.action == UPDATES_FEATURES:
        _send(world, client, quorum_requests.UpdateFeaturesRequest.to(world, to, step))
    elif step.action in (ADDS_CONTROLLER, REMOVES_CONTROLLER):
        _change_voters(world, client, step, to)
    elif not client.has_throttled:
        _send(world, client, _new_throttle_of_moves(world, step, to))
    elif step.action in (PREFERS, ELECTS_UNCLEANLY):
        _elect(world, client, step, process, step.action == ELECTS_UNCLEANLY)
    elif step.action in (REASSIGNS, ALTERS_REASSIGNMENTS):
        _move(world, client, step, process)
    else:
        return False
    return True


@inner_rule
def new_election(
    world: Clients, process: int, is_unclean: bool
) -> quorum_requests.ElectLeadersRequest:
    """An election; the caller names its partitions."""
    return quorum_requests.ElectLeadersRequest.to(
        world, control_plane_requests.controller_to_ask(world, process), is_unclean=is_unclean
    )


@inner_rule
def _elect(world: Clients, client: Client, step: Step, process: int, is_unclean: bool) -> None:
    request = new_election(world, process, is_unclean)
    for partition in range(world.sizes[0].partitions):
        if step.partition in (NONE, partition):
            new_item(world, request, partition, quorum_requests.PartitionOutcome)
    _send(world, client, request)


@inner_rule
def _move(world: Clients, client: Client, step: Step, process: int) -> None:
    to = control_plane_requests.controller_to_ask(world, process)
    request = quorum_requests.AlterPartitionReassignmentsRequest.to(world, to)
    _add_targets(world, step, request)
    _send(world, client, request)


@inner_rule
def _add_targets(world: Clients, step: Step, request: Event) -> None:
    for number in range(step.first_move, step.first_move + step.move_count):
        move = world.requested_moves[number]
        asked = new_item(world, request, move.partition, quorum_requests.AskedReassignment)
        asked.target = move.replicas


@inner_rule
def _change_voters(world: Clients, client: Client, step: Step, to: int) -> None:
    """Ask for a change of the voters.

    Source: MetadataQuorumCommand.handleAddController, handleRemoveController@3.9.0.
    """
    if step.action == ADDS_CONTROLLER:
        added = quorum_requests.AddRaftVoterRequest.to(
            world, to, voter=step.voter, directory=step.voter_directory
        )
        added.acks_when_committed = step.acks_when_committed
        _send(world, client, added)
    else:
        removed = quorum_requests.RemoveRaftVoterRequest.to(
            world, to, voter=step.voter, directory=step.voter_directory
        )
        _send(world, client, removed)


@inner_rule
def _new_change(
    world: Clients, to: int, scope: int
) -> quorum_requests.IncrementalAlterConfigsRequest:
    return quorum_requests.IncrementalAlterConfigsRequest.to(world, to, scope=scope)


@inner_rule
def _new_change_of(
    world: Clients, step: Step, to: int
) -> quorum_requests.IncrementalAlterConfigsRequest:
    """The change of settings that a step asks for."""
    if step.action == CONFIGURES:
        return _new_topic_change(world, step, to)
    if step.action == CONFIGURES_BROKERS:
        return _new_brokers_change(world, step, to)
    return _new_change(world, to, THROTTLE_NOTHING)


@inner_rule
def _new_topic_change(
    world: Clients, step: Step, to: int
) -> quorum_requests.IncrementalAlterConfigsRequest:
    """A change of a topic's settings, among them its throttled replicas."""
    change = _new_change(world, to, THROTTLE_NAMED)
    change.topic = step.topic
    change.min_insync_replicas = step.min_insync_replicas
    change.unclean_leader_election = step.unclean
    for number in range(step.first_throttled, step.first_throttled + step.throttled_count):
        throttled = world.throttled_by_steps[number]
        item = new_item(world, change, throttled.partition, quorum_requests.ThrottledPartition)
        item.leaders = throttled.leaders
        item.followers = throttled.followers
    return change


@inner_rule
def _new_brokers_change(
    world: Clients, step: Step, to: int
) -> quorum_requests.IncrementalAlterConfigsRequest:
    """A change of brokers' settings: cordoned log directories, throttled rates."""
    change = _new_change(world, to, THROTTLE_NAMED)
    change.cordoned_log_dirs = step.cordoned_log_dirs
    change.leader_rate = step.leader_rate
    change.follower_rate = step.follower_rate
    for number in range(step.first_broker, step.first_broker + step.broker_count):
        named = new_item(world, change, NONE, quorum_requests.DescribedBroker)
        named.broker = world.awaited_brokers[number].broker
    return change


@inner_rule
def _new_throttle_of_moves(
    world: Clients, step: Step, to: int
) -> quorum_requests.IncrementalAlterConfigsRequest:
    """The throttle that the tool sets before it moves replicas.

    Source: ReassignPartitionsCommand.executeAssignment@4.1.0.
    """
    change = _new_change(world, to, THROTTLE_MOVES)
    change.leader_rate = step.leader_rate
    change.follower_rate = step.follower_rate
    _add_targets(world, step, change)
    return change


@inner_rule
def create_topic_by_request(world: Clients, topic: int, process: int) -> None:
    """Create a topic that is there from the beginning; its response is one of a round.

    It may have grown to more partitions than one request can create.
    """
    client = world.clients[client_of(world, process)]
    request = quorum_requests.CreateTopicsRequest.to(
        world, control_plane_requests.controller_to_ask(world, process)
    )
    request.topic = topic
    request.in_pieces = True
    request.correlation_id = -client.topic_rounds
    client.topics_awaited += 1
    send(world, request, world.context[0].time_us)


@inner_rule
def _send(world: Clients, client: Client, request: Event) -> None:
    now_us = world.context[0].time_us
    client.question += 1
    request.correlation_id = client.question
    client.asked = request.destination
    client.asked_us = now_us
    send(world, request, now_us)
    timeout_us = _REQUEST_TIMEOUT_US
    if world.steps[client.step].timeout_us > 0:
        timeout_us = world.steps[client.step].timeout_us
    RequestTimesOut.at(
        world, min(client.api_timeout_at_us, now_us + timeout_us), correlation_id=client.question
    )


@inner_rule
def asks_again(world: Clients, process: int) -> bool:
    """A request of a step is lost: whether it is sent again, to another controller."""
    client = world.clients[client_of(world, process)]
    retry_us = world.context[0].time_us + _RETRY_BACKOFF_US
    if retry_us >= client.api_timeout_at_us or world.steps[client.step].to != NONE:
        return False
    client.question += 1
    StepLooks.at(world, retry_us, client)
    return True


@inner_rule
def take_admin_response(world: Clients, response: quorum_requests.AdminResponse) -> bool:
    """Write down the response to a step's request; whether the step is done with that."""
    process = response.destination
    client = world.clients[client_of(world, process)]
    if response.error == errors.NOT_CONTROLLER and _asks_next(world, client, response):
        return False
    error = response.error
    if error == errors.NONE and not client.has_throttled:
        client.has_throttled = True
        client.api_timeout_at_us = world.context[0].time_us + _API_TIMEOUT_US
        ask_again(world, process)
        return False
    for outcome in items_of(world, response, quorum_requests.PartitionOutcome):
        if outcome.error != errors.NONE:
            error = outcome.error if error == errors.NONE else error
            StepPartitionAnswered.write(world, outcome, step=client.step)
    end_with(world, client.step, response.source, error)
    return True


@inner_rule
def take_voter_response(world: Clients, response: quorum_requests.RaftResponse) -> bool:
    """Write down the response to a change of the voters; whether the step is done with that.

    The next controller is asked if this one does not lead, unless the step names the receiver.
    """
    client = world.clients[client_of(world, response.destination)]
    if response.error == errors.NOT_LEADER_OR_FOLLOWER and _asks_next(world, client, response):
        return False
    end_with(world, client.step, response.source, response.error)
    return True


@inner_rule
def _asks_next(world: Clients, client: Client, response: Event) -> bool:
    """The controller that responds is not the active one: whether the next one is asked."""
    process = response.destination
    if response.source == control_plane_requests.controller_to_ask(world, process):
        control_plane_requests.turn_to_next(world, client)
    return asks_again(world, process)


# Step.action
PREFERS = STEP_CODES.new("preferred_election", 5)
CONFIGURES = STEP_CODES.new("configure", 6)
CREATES_TOPIC = STEP_CODES.new("create_topic", 7)
REASSIGNS = STEP_CODES.new("reassign", 10)
DELETES_TOPIC = STEP_CODES.new("delete_topic", 11)
CONFIGURES_BROKERS = STEP_CODES.new("configure_brokers", 12)
VERIFIES = STEP_CODES.new("verify_reassignment", 13)
ALTERS_REASSIGNMENTS = STEP_CODES.new("alter_reassignments", 15)
UPDATES_FEATURES = STEP_CODES.new("update_features", 18)
ADDS_CONTROLLER = STEP_CODES.new("add_controller", 21)
REMOVES_CONTROLLER = STEP_CODES.new("remove_controller", 22)


@inner_rule
def write_as_operator(world: Clients, step: Step) -> None:
    """Write a step's command."""
    if step.action == PREFERS:
        _ask_for_preferred(world, step)
    elif step.action == CONFIGURES:
        _configure_topic(world, step)
    elif step.action == CONFIGURES_BROKERS:
        _throttle(world, step)
    elif step.action == CREATES_TOPIC:
        create_topic(world, step.topic)
    elif step.action == DELETES_TOPIC:
        _write(world, control_plane_requests.new_topic_deletion(world, step.topic))
    elif step.action == REASSIGNS:
        _ask_for_moves(world, step)
    elif step.action == VERIFIES:
        request = _new_throttle(world, step, THROTTLE_NOTHING)
        _write(world, request)


@inner_rule
def create_topic(world: Cluster, topic: int) -> None:
    """Create a topic with the replicas that the scenario has for it."""
    _write(world, control_plane_requests.new_topic(world, topic))


@inner_rule
def _write(world: Kernel, request: Event) -> None:
    send(world, request, world.context[0].time_us)


@inner_rule
def _ask_for_preferred(world: Cluster, step: Step) -> None:
    """Name the partitions that are to be led by their preferred replicas."""
    request = control_plane_requests.new_preferred_election(world)
    for partition in range(world.sizes[0].partitions):
        if step.partition in (NONE, partition):
            new_item(world, request, partition, NamedPartition)
    _write(world, request)


@inner_rule
def _ask_for_moves(world: Clients, step: Step) -> None:
    """Name where replicas are to be.

    A throttle comes first, and is set in any case: so the tool changes that of a reassignment that
    is on the way.

    Source: ReassignPartitionsCommand@2.4.0.
    """
    if step.leader_rate != NONE:
        throttle = _new_throttle(world, step, THROTTLE_MOVES)
        _add_moves(world, step, throttle)
        _write(world, throttle)
    request = control_plane_requests.new_reassignment(world)
    _add_moves(world, step, request)
    _write(world, request)


@inner_rule
def request_of_zookeepers_controller(world: Clients, process: int, controller: int) -> None:
    """Ask the controller itself: to elect uncleanly, or to move replicas otherwise or not at all.

    Source: KafkaAdminClient.electLeaders (KIP-460), alterPartitionReassignments@2.4.0 (KIP-455).
    """
    step = world.steps[world.clients[client_of(world, process)].step]
    to = controller_process(world, controller)
    if step.action == ELECTS_UNCLEANLY:
        election = UncleanElectionRequest.to(world, to)
        new_item(world, election, step.partition, NamedPartition)
        _write(world, election)
        return
    request = AlterReassignmentsRequest.to(world, to)
    _add_moves(world, step, request)
    _write(world, request)


@inner_rule
def _add_moves(world: Clients, step: Step, request: Event) -> None:
    for number in range(step.first_move, step.first_move + step.move_count):
        move = world.requested_moves[number]
        new_item(world, request, move.partition, NamedPartition, replicas=move.replicas)


@inner_rule
def _configure_topic(world: Clients, step: Step) -> None:
    """Write a topic's settings: -1 for one that stays."""
    if step.throttled_count > 0:
        _throttle(world, step)
    if step.min_insync_replicas == NONE and step.unclean == NONE and step.throttled_count > 0:
        return
    request = control_plane_requests.new_topic_config(world)
    request.topic = step.topic
    request.min_insync_replicas = step.min_insync_replicas
    request.unclean_leader_election = step.unclean
    _write(world, request)


@inner_rule
def _throttle(world: Clients, step: Step) -> None:
    """Write the throttled rates of brokers, or which replicas of a topic are throttled."""
    request = _new_throttle(world, step, THROTTLE_NAMED)
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
def _new_throttle(world: Cluster, step: Step, scope: int) -> ZkThrottleRequest:
    request = control_plane_requests.new_throttle(world)
    request.scope = scope
    request.leader_rate = step.leader_rate
    request.follower_rate = step.follower_rate
    return request
