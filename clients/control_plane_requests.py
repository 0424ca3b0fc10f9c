"""What the operator asks of the control plane, in the terms of ZooKeeper: questions and commands.

Conditions of steps and rolling restarts ask who is live, who leads and who is in sync, who is
controller, whether replicas are being moved, whether all is at rest. A step's question sets a
watch, so that the operator hears of changes. Kafka's tools command by creating znodes, and do not
wait for the response. Where a tool reads something first and then writes what follows from it,
ZooKeeper does both in one step here.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.simulation.codes.zookeeper_errors import NO_NODE, OK
from tidegauge.simulation.events import old_event
from tidegauge.simulation.kernel import NONE
from tidegauge.simulation.links import send
from tidegauge.simulation.messages.event import Event
from tidegauge.simulation.messages.kinds import (
    ZK_CHILDREN,
    ZK_CONFIGURE,
    ZK_CREATE,
    ZK_EXISTS,
    ZK_GET,
    ZK_IS_QUIESCENT,
    ZK_RESPONSE,
    ZK_THROTTLE,
)
from tidegauge.simulation.topology import Cluster, zookeeper_process
from tidegauge.simulation.zookeeper_tree import (
    BROKER_IDS_ZNODE,
    CONTROLLER_ZNODE,
    PREFERRED_ELECTION_ZNODE,
    reassign_partitions_znode,
    state_znode,
    topic_deletion_znode,
    topic_znode,
)

#: Who asks: the steps; else the number of a rolling restart.
STEPS = code(-1)


# Questions.


@inner_rule
def ask_live_brokers(world: Cluster, process: int, asker: int, question: int) -> None:
    """Ask which brokers are registered: they are the items of the response."""
    _ask(world, process, ZK_CHILDREN, BROKER_IDS_ZNODE, NONE, asker, question)


@inner_rule
def ask_state(world: Cluster, process: int, partition: int, asker: int, question: int) -> None:
    """Ask for the state of a partition: the item of the response, if there is one.

    A rolling restart is told its replicas, too.
    """
    znode = state_znode(world, partition)
    about = NONE if asker == STEPS else partition
    _ask(world, process, ZK_GET, znode, about, asker, question)


@inner_rule
def ask_controller(world: Cluster, process: int, question: int) -> None:
    """Ask which broker is the active controller."""
    _ask(world, process, ZK_EXISTS, CONTROLLER_ZNODE, NONE, STEPS, question)


@inner_rule
def ask_reassigned(world: Cluster, process: int, question: int) -> None:
    """Ask whether all replicas are where a reassignment was to move them."""
    znode = reassign_partitions_znode(world)
    _ask(world, process, ZK_EXISTS, znode, NONE, STEPS, question)


@inner_rule
def ask_quiescent(world: Cluster, process: int, question: int) -> None:
    """Ask whether everything has come to rest."""
    _ask(world, process, ZK_IS_QUIESCENT, NONE, NONE, STEPS, question)


@inner_rule
def _ask(
    world: Cluster,
    process: int,
    kind: int,
    znode: int,
    partition: int,
    asker: int,
    question: int,
) -> None:
    request = old_event(world, process, zookeeper_process(world), kind)
    request.znode = znode
    request.partition = partition
    request.request = question
    request.wait_ms = asker + 1
    request.acks = 1 if asker == STEPS else 0
    send(world, request, world.context[0].time_us)


# Responses.


@inner_rule
def roll_of(answer: Event) -> int:
    """The rolling restart that an answer is for; NONE: it is for the steps."""
    return answer.wait_ms - 1 if answer.kind == ZK_RESPONSE else NONE


@inner_rule
def is_about_live_brokers(answer: Event) -> bool:
    """Whether an answer has the brokers that are registered."""
    return answer.kind == ZK_RESPONSE and answer.value == ZK_CHILDREN


@inner_rule
def active_controller(answer: Event) -> int:
    """The broker that is the active controller, by an answer; NONE: there is none."""
    return answer.broker if answer.error == OK else NONE


@inner_rule
def says_reassigned(answer: Event) -> bool:
    """Whether no replicas are to be moved any more."""
    return answer.error == NO_NODE


@inner_rule
def says_quiescent(answer: Event) -> bool:
    """Whether everything has come to rest."""
    return answer.error == OK


@inner_rule
def tells_of_live_brokers(watch: Event) -> bool:
    """Whether a watch says that other brokers are registered now."""
    return watch.znode == BROKER_IDS_ZNODE


# Commands: the caller adds what they are about, and sends them.


@inner_rule
def new_topic(world: Cluster, process: int, topic: int) -> Event:
    """Source: AdminUtils.createTopic@0.10.2.0, AdminZkClient.createTopicWithAssignment@2.4.0."""
    return _new_command(world, process, ZK_CREATE, topic_znode(world, topic))


@inner_rule
def new_topic_deletion(world: Cluster, process: int, topic: int) -> Event:
    """Source: AdminUtils.deleteTopic@0.10.2.0, KafkaZkClient.createDeleteTopicPath@2.4.0."""
    znode = topic_deletion_znode(world, topic)
    return _new_command(world, process, ZK_CREATE, znode)


@inner_rule
def new_preferred_election(world: Cluster, process: int) -> Event:
    """An election among partitions; it is not held while an earlier one is under way.

    Source: KafkaZkClient.createPreferredReplicaElection@2.4.0.
    """
    return _new_command(world, process, ZK_CREATE, PREFERRED_ELECTION_ZNODE)


@inner_rule
def new_reassignment(world: Cluster, process: int) -> Event:
    """A move of replicas; nothing is moved while those of another one are on the way.

    Source: KafkaZkClient.createPartitionReassignment@2.4.0, ReassignPartitionsCommand@2.4.0.
    """
    znode = reassign_partitions_znode(world)
    return _new_command(world, process, ZK_CREATE, znode)


@inner_rule
def new_topic_config(world: Cluster, process: int) -> Event:
    """Settings of a topic."""
    return _new_command(world, process, ZK_CONFIGURE, NONE)


@inner_rule
def new_throttle(world: Cluster, process: int) -> Event:
    """Limits of replication."""
    return _new_command(world, process, ZK_THROTTLE, NONE)


@inner_rule
def _new_command(world: Cluster, process: int, kind: int, znode: int) -> Event:
    request = old_event(world, process, zookeeper_process(world), kind)
    request.znode = znode
    request.request = NONE
    return request
