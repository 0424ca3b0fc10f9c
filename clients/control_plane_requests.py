"""What the operator asks of the control plane, in the terms of ZooKeeper: questions and commands.

Conditions of steps and rolling restarts ask who is live, who leads and who is in sync, who is
controller, whether replicas are being moved, whether all is at rest. A step's question sets a
watch, so that the operator hears of changes. Kafka's tools command by creating znodes, and do not
wait for the response. Where a tool reads something first and then writes what follows from it,
ZooKeeper does both in one step here.
"""

from __future__ import annotations

from tidegauge.compiled.record_views import view_as
from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.codes.zookeeper_errors import NO_NODE, OK
from tidegauge.simulation.events import new_event
from tidegauge.simulation.kernel import NONE, Kernel
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.zookeeper_requests import (
    Child,
    ZkChildrenRequest,
    ZkConfigureRequest,
    ZkCreateRequest,
    ZkExistsRequest,
    ZkGetRequest,
    ZkIsQuiescentRequest,
    ZkRead,
    ZkResponse,
    ZkThrottleRequest,
    ZkWatch,
    ZnodeData,
)
from tidegauge.simulation.topology import Cluster, zookeeper_process
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    BROKERS,
    CONTROLLER_ZNODE,
    PREFERRED_ELECTION_ZNODE,
    place_in,
    reassign_partitions_znode,
    state_znode,
    topic_deletion_znode,
    topic_znode,
)

#: Who asks, as the request's continuation: the steps; else the number of a rolling restart.
STEPS = code(-1)


# Questions.


@inner_rule
def ask_live_brokers(world: Cluster, process: int, asker: int, question: int) -> None:
    """Ask which brokers are registered: they are the entries of the response."""
    request = new_event(world, process, zookeeper_process(world), ZkChildrenRequest)
    _ask(world, request, BROKER_IDS_ZNODE, asker, question)


@inner_rule
def ask_state(world: Cluster, process: int, partition: int, asker: int, question: int) -> None:
    """Ask for the state of a partition: the entry of the response, if there is one.

    A rolling restart needs its replicas, too.
    """
    request = new_event(world, process, zookeeper_process(world), ZkGetRequest)
    if asker != STEPS:
        request.partition = partition
    _ask(world, request, state_znode(world, partition), asker, question)


@inner_rule
def ask_controller(world: Cluster, process: int, question: int) -> None:
    """Ask which broker is the active controller."""
    request = new_event(world, process, zookeeper_process(world), ZkExistsRequest)
    _ask(world, request, CONTROLLER_ZNODE, STEPS, question)


@inner_rule
def ask_reassigned(world: Cluster, process: int, question: int) -> None:
    """Ask whether all replicas are where a reassignment was to move them."""
    request = new_event(world, process, zookeeper_process(world), ZkExistsRequest)
    _ask(world, request, reassign_partitions_znode(world), STEPS, question)


@inner_rule
def ask_quiescent(world: Cluster, process: int, question: int) -> None:
    """Ask whether everything has come to rest."""
    request = new_event(world, process, zookeeper_process(world), ZkIsQuiescentRequest)
    _ask(world, request, NONE, STEPS, question)


@inner_rule
def _ask(world: Kernel, request: ZkRead, znode: int, asker: int, question: int) -> None:
    request.znode = znode
    request.correlation_id = question
    request.continuation = asker
    request.sets_watch = asker == STEPS
    send(world, request, world.context[0].time_us)


# Responses.


@inner_rule
def roll_of(response: ZkResponse) -> int:
    """The rolling restart that a response is for; NONE: it is for the steps."""
    return NONE if response.continuation == STEPS else response.continuation


@inner_rule
def is_about_live_brokers(response: ZkResponse) -> bool:
    """Whether a response has the brokers that are registered."""
    return response.operation == ZkChildrenRequest.KIND


@inner_rule
def registered_broker(world: Cluster, cursor: int) -> int:
    """The broker that an entry of such a response names; -1: the entry is of one that is gone."""
    child = view_as(world.items[cursor], Child)
    return place_in(world, BROKERS, child.znode) if child.created_zxid >= 0 else NONE


@inner_rule
def registered_count(world: Cluster, response: ZkResponse) -> int:
    """How many brokers are registered, by such a response."""
    count = 0
    cursor = response.first_item
    while cursor != NONE:
        count += 1 if registered_broker(world, cursor) != NONE else 0
        cursor = world.items[cursor].next
    return count


@inner_rule
def state_told(world: Kernel, response: ZkResponse) -> ZnodeData:
    """The state of the partition that was asked about; it has one."""
    return view_as(world.items[response.first_item], ZnodeData)


@inner_rule
def active_controller(response: ZkResponse) -> int:
    """The broker that is the active controller, by a response; NONE: there is none."""
    return response.owner if response.error == OK else NONE


@inner_rule
def says_reassigned(response: ZkResponse) -> bool:
    """Whether no replicas are to be moved any more."""
    return response.error == NO_NODE


@inner_rule
def says_quiescent(response: ZkResponse) -> bool:
    """Whether everything has come to rest."""
    return response.error == OK


@inner_rule
def tells_of_live_brokers(watch: ZkWatch) -> bool:
    """Whether a watch says that other brokers are registered now."""
    return watch.znode == BROKER_IDS_ZNODE


# Commands: the caller adds what they are about, and sends them.


@inner_rule
def new_topic(world: Cluster, process: int, topic: int) -> ZkCreateRequest:
    """Source: AdminUtils.createTopic@0.10.2.0, AdminZkClient.createTopicWithAssignment@2.4.0."""
    return _new_znode(world, process, topic_znode(world, topic))


@inner_rule
def new_topic_deletion(world: Cluster, process: int, topic: int) -> ZkCreateRequest:
    """Source: AdminUtils.deleteTopic@0.10.2.0, KafkaZkClient.createDeleteTopicPath@2.4.0."""
    return _new_znode(world, process, topic_deletion_znode(world, topic))


@inner_rule
def new_preferred_election(world: Cluster, process: int) -> ZkCreateRequest:
    """An election among partitions; it is not held while an earlier one is under way.

    Source: KafkaZkClient.createPreferredReplicaElection@2.4.0.
    """
    return _new_znode(world, process, PREFERRED_ELECTION_ZNODE)


@inner_rule
def new_reassignment(world: Cluster, process: int) -> ZkCreateRequest:
    """A move of replicas; nothing is moved while those of another one are on the way.

    Source: KafkaZkClient.createPartitionReassignment@2.4.0, ReassignPartitionsCommand@2.4.0.
    """
    return _new_znode(world, process, reassign_partitions_znode(world))


@inner_rule
def _new_znode(world: Cluster, process: int, znode: int) -> ZkCreateRequest:
    request = new_event(world, process, zookeeper_process(world), ZkCreateRequest)
    request.znode = znode
    return request


@inner_rule
def new_topic_config(world: Cluster, process: int) -> ZkConfigureRequest:
    """Settings of a topic."""
    return new_event(world, process, zookeeper_process(world), ZkConfigureRequest)


@inner_rule
def new_throttle(world: Cluster, process: int) -> ZkThrottleRequest:
    """Limits of replication."""
    return new_event(world, process, zookeeper_process(world), ZkThrottleRequest)
