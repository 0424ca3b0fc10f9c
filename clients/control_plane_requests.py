"""Questions of the operator to the control plane in either mode, and commands of ZooKeeper mode.

Conditions of steps and rolling restarts ask for live brokers, leaders, in-sync replicas, the
controller, voters, reassignments, quiescence. In ZooKeeper mode a step's request sets a watch, so
that changes are sent to the operator; in KRaft mode there are no watches, and it asks the active
controller again. The response becomes the one :class:`Answer`.

With ZooKeeper, Kafka's tools command by creating znodes, and do not wait for the response. Where a
tool reads first and then writes the consequence, ZooKeeper does both in one step here. The commands
of KRaft mode are requests to the active controller (``admin_requests.py``).

The operator finds the active controller of a quorum by asking them in turn: one that is not active
names the leader that it knows. In Kafka a broker knows that, and forwards requests.
"""

from tidegauge.clients.client_metadata import client_of
from tidegauge.clients.client_state import Answer, Client, Clients
from tidegauge.compiled.records import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication import errors
from tidegauge.replication.replica_list import EMPTY
from tidegauge.simulation import zookeeper_tree
from tidegauge.simulation.events import items_of
from tidegauge.simulation.kernel import NONE, QUORUM_CONTROLLER, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages import zookeeper_requests
from tidegauge.simulation.messages.quorum_requests import (
    DescribedBroker,
    DescribeQuorumStateRequest,
    DescribeQuorumStateResponse,
)
from tidegauge.simulation.topology import Cluster, is_kraft, quorum_process, zookeeper_process
from tidegauge.simulation.trace_rows import codes

#: The asker, as the request's continuation: the steps; else the number of a rolling restart.
STEPS = code(-1)
#: The timeout of a request to a quorum's controller.
ANSWER_US = code(1_000_000)


# Questions.


@inner_rule
def ask_live_brokers(world: Clients, process: int, asker: int, question: int) -> None:
    """Ask for the live brokers: registered, in KRaft mode unfenced."""
    if is_kraft(world):
        _ask_quorum(world, process, codes.LIVE_BROKERS, NONE, asker, question)
        return
    request = zookeeper_requests.ZkChildrenRequest.to(world, zookeeper_process(world))
    _ask(world, request, zookeeper_tree.BROKER_IDS_ZNODE, asker, question)


@inner_rule
def ask_state(world: Clients, process: int, partition: int, asker: int, question: int) -> None:
    """Ask for the state of a partition, and whether it has one.

    The request of a rolling restart includes its replicas.
    """
    if is_kraft(world):
        _ask_quorum(world, process, codes.PARTITION_STATE, partition, asker, question)
        return
    request = zookeeper_requests.ZkGetRequest.to(world, zookeeper_process(world))
    if asker != STEPS:
        request.partition = partition
    _ask(world, request, zookeeper_tree.state_znode(world, partition), asker, question)


@inner_rule
def ask_voter(world: Clients, process: int, voter: int, asker: int, question: int) -> None:
    """Ask whether a controller of the quorum follows the leader, or is it."""
    _ask_quorum(world, process, codes.VOTER_FOLLOWS, voter, asker, question)


@inner_rule
def ask_observer(world: Clients, process: int, controller: int, question: int) -> None:
    """Ask whether a controller of the quorum observes, and is caught up."""
    _ask_quorum(world, process, codes.OBSERVER_FOLLOWS, controller, STEPS, question)


@inner_rule
def ask_voters(world: Clients, process: int, question: int) -> None:
    """Ask for the voters that are committed."""
    _ask_quorum(world, process, codes.COMMITTED_VOTERS, NONE, STEPS, question)


@inner_rule
def ask_controller(world: Clients, process: int, question: int) -> None:
    """Ask for the active controller."""
    if is_kraft(world):
        _ask_quorum(world, process, codes.ACTIVE_CONTROLLER, NONE, STEPS, question)
        return
    request = zookeeper_requests.ZkExistsRequest.to(world, zookeeper_process(world))
    _ask(world, request, zookeeper_tree.CONTROLLER_ZNODE, STEPS, question)


@inner_rule
def ask_reassigned(world: Clients, process: int, question: int) -> None:
    """Ask whether all replicas are at the target of a reassignment."""
    if is_kraft(world):
        _ask_quorum(world, process, codes.REASSIGNED, NONE, STEPS, question)
        return
    request = zookeeper_requests.ZkExistsRequest.to(world, zookeeper_process(world))
    _ask(world, request, zookeeper_tree.reassign_partitions_znode(world), STEPS, question)


@inner_rule
def ask_quiescent(world: Clients, process: int, question: int) -> None:
    """Ask whether the cluster is quiescent."""
    if is_kraft(world):
        _ask_quorum(world, process, codes.QUIESCENT, NONE, STEPS, question)
        return
    request = zookeeper_requests.ZkIsQuiescentRequest.to(world, zookeeper_process(world))
    _ask(world, request, NONE, STEPS, question)


@inner_rule
def _ask(
    world: Kernel, request: zookeeper_requests.ZkRead, znode: int, asker: int, question: int
) -> None:
    request.znode = znode
    request.correlation_id = question
    request.continuation = asker
    request.sets_watch = asker == STEPS
    send(world, request, world.context[0].time_us)


@inner_rule
def _ask_quorum(
    world: Clients, process: int, about: int, partition: int, asker: int, question: int
) -> None:
    """Ask the supposed active controller, the next one if that does not respond."""
    client = world.clients[client_of(world, process)]
    now_us = world.context[0].time_us
    if client.unanswered_since_us == NONE:
        client.unanswered_since_us = now_us
    elif now_us >= client.unanswered_since_us + ANSWER_US:
        turn_to_next(world, client)
        client.unanswered_since_us = now_us
    to = controller_to_ask(world, process)
    request = DescribeQuorumStateRequest.to(
        world, to, question=about, partition=partition, correlation_id=question, continuation=asker
    )
    send(world, request, now_us)


# The controller of a quorum that is asked.


@inner_rule
def controller_to_ask(world: Clients, process: int) -> int:
    """The process of the controller that the operator takes for the active one."""
    return quorum_process(world, world.clients[client_of(world, process)].controller)


@inner_rule
def turn_to_next(world: Clients, client: Client) -> None:
    """The controller that was asked is not active, or silent: the next one is asked from now on."""
    count = world.process_ranges[QUORUM_CONTROLLER].count
    client.controller = (client.controller + 1) % count
    client.unanswered_since_us = NONE


@inner_rule
def lose_asked_controller(world: Clients, process: int, closed: int) -> bool:
    """A connection is closed; whether it was that to the controller that is asked."""
    if not is_kraft(world) or closed != controller_to_ask(world, process):
        return False
    turn_to_next(world, world.clients[client_of(world, process)])
    return True


@inner_rule
def is_answer(world: Clients, response: DescribeQuorumStateResponse) -> bool:
    """Whether a controller answers that is active; else turn to the one that it takes for that."""
    client = world.clients[client_of(world, response.destination)]
    is_asked = response.source == controller_to_ask(world, response.destination)
    if is_asked:
        client.unanswered_since_us = NONE
    if response.error == errors.NONE:
        return True
    if is_asked and response.controller != NONE:
        client.controller = response.controller - world.sizes[0].brokers
    elif is_asked:
        turn_to_next(world, client)
    return False


# Responses.


@inner_rule
def read_zookeeper_response(world: Clients, response: zookeeper_requests.ZkResponse) -> Answer:
    """The answer that a response of ZooKeeper gives."""
    answer = _new_answer(world, response.continuation, response.correlation_id)
    answer.partition = response.partition
    if response.operation == zookeeper_requests.ZkChildrenRequest.KIND:
        answer.names_live_brokers = True
        _read_children(world, response)
    elif response.operation == zookeeper_requests.ZkGetRequest.KIND:
        if response.first_item != NONE:
            state = view_as(world.items[response.first_item], zookeeper_requests.ZnodeData)
            answer.holds = True
            answer.leader = state.leader
            answer.isr = state.isr
            answer.replicas = state.replicas
    elif response.operation == zookeeper_requests.ZkIsQuiescentRequest.KIND:
        answer.holds = response.error == codes.OK
    elif response.operation == zookeeper_requests.ZkExistsRequest.KIND:
        # For the reassignment: there is nothing left to be moved.
        answer.holds = response.error == codes.NO_NODE
        answer.controller = response.owner if response.error == codes.OK else NONE
    return answer


@inner_rule
def read_quorum_response(world: Clients, response: DescribeQuorumStateResponse) -> Answer:
    """The answer that a response of the active controller gives."""
    answer = _new_answer(world, response.continuation, response.correlation_id)
    answer.partition = response.partition
    answer.holds = response.holds
    answer.leader = response.leader
    answer.isr = response.isr
    answer.replicas = response.replicas
    answer.controller = response.controller
    answer.voters = response.voters
    answer.is_about_voter = response.question == codes.VOTER_FOLLOWS
    if response.question == codes.LIVE_BROKERS:
        answer.names_live_brokers = True
        _forget_live_brokers(world)
        for described in items_of(world, response, DescribedBroker):
            world.live_brokers[described.broker].is_live = True
    return answer


@inner_rule
def _new_answer(world: Clients, asker: int, question: int) -> Answer:
    answer = world.answers[0]
    answer.asker = asker
    answer.question = question
    answer.names_live_brokers = False
    answer.is_about_voter = False
    answer.holds = False
    answer.partition = NONE
    answer.leader = NONE
    answer.isr = EMPTY
    answer.replicas = EMPTY
    answer.controller = NONE
    answer.voters = 0
    return answer


@inner_rule
def _forget_live_brokers(world: Clients) -> None:
    for broker in range(len(world.live_brokers)):
        world.live_brokers[broker].is_live = False


@inner_rule
def _read_children(world: Clients, response: zookeeper_requests.ZkResponse) -> None:
    """Read which brokers are registered; a child without a transaction is one that is gone."""
    _forget_live_brokers(world)
    for child in items_of(world, response, zookeeper_requests.Child):
        if child.created_zxid >= 0:
            world.live_brokers[
                zookeeper_tree.place_in(world, zookeeper_tree.BROKERS, child.znode)
            ].is_live = True


@inner_rule
def live_count(world: Clients) -> int:
    """The number of live brokers in the last response."""
    count = 0
    for broker in range(len(world.live_brokers)):
        count += 1 if world.live_brokers[broker].is_live else 0
    return count


@inner_rule
def tells_of_live_brokers(watch: zookeeper_requests.ZkWatch) -> bool:
    """Whether a watch reports that other brokers are registered now."""
    return watch.znode == zookeeper_tree.BROKER_IDS_ZNODE


# Commands of ZooKeeper mode: the caller adds their subject, and sends them.


@inner_rule
def new_topic(world: Cluster, topic: int) -> zookeeper_requests.ZkCreateRequest:
    """Source: AdminUtils.createTopic@0.10.2.0, AdminZkClient.createTopicWithAssignment@2.4.0."""
    return _new_znode(world, zookeeper_tree.topic_znode(world, topic))


@inner_rule
def new_topic_deletion(world: Cluster, topic: int) -> zookeeper_requests.ZkCreateRequest:
    """Source: AdminUtils.deleteTopic@0.10.2.0, KafkaZkClient.createDeleteTopicPath@2.4.0."""
    return _new_znode(world, zookeeper_tree.topic_deletion_znode(world, topic))


@inner_rule
def new_preferred_election(world: Cluster) -> zookeeper_requests.ZkCreateRequest:
    """An election among partitions; it is not held while an earlier one is under way.

    Source: KafkaZkClient.createPreferredReplicaElection@2.4.0.
    """
    return _new_znode(world, zookeeper_tree.PREFERRED_ELECTION_ZNODE)


@inner_rule
def new_reassignment(world: Cluster) -> zookeeper_requests.ZkCreateRequest:
    """A move of replicas; nothing is moved while those of another one are on the way.

    Source: KafkaZkClient.createPartitionReassignment@2.4.0, ReassignPartitionsCommand@2.4.0.
    """
    return _new_znode(world, zookeeper_tree.reassign_partitions_znode(world))


@inner_rule
def _new_znode(world: Cluster, znode: int) -> zookeeper_requests.ZkCreateRequest:
    return zookeeper_requests.ZkCreateRequest.to(world, zookeeper_process(world), znode=znode)


@inner_rule
def new_topic_config(world: Cluster) -> zookeeper_requests.ZkConfigureRequest:
    """Settings of a topic."""
    return zookeeper_requests.ZkConfigureRequest.to(world, zookeeper_process(world))


@inner_rule
def new_throttle(world: Cluster) -> zookeeper_requests.ZkThrottleRequest:
    """Limits of replication."""
    return zookeeper_requests.ZkThrottleRequest.to(world, zookeeper_process(world))
