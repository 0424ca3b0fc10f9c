"""Requests between brokers, the operator and the active controller of a KRaft quorum.

Responses to writes come when the records that they caused are committed.
"""

from __future__ import annotations

from tidegauge.compiled.codes import code
from tidegauge.compiled.records import flag, i64
from tidegauge.simulation.messages.controller_requests import (
    CommittedResponse,
    LeaderAndIsrPartition,
)
from tidegauge.simulation.messages.event import ControllerRequest, PartitionData, Response


class BrokerRegistrationRequest(ControllerRequest, kind=98, api_key=62):
    """A process of a broker asks to be a member of the cluster.

    Its entries are of ``OfflineReplica``: its replicas in log directories that are offline.
    """

    broker_id: i64
    #: Which of the broker's processes it is (Kafka: incarnation id).
    incarnation: i64
    #: The broker epoch in its clean-shutdown files; -1: it was not stopped cleanly.
    previous_broker_epoch: i64 = -1
    #: Its log directories that are offline: bits.
    offline_directories: i64


class BrokerRegistrationResponse(CommittedResponse, kind=99):
    """The broker is registered under this epoch, or why it is not."""

    broker_epoch: i64 = -1


class BrokerHeartbeatRequest(ControllerRequest, kind=100, api_key=63):
    """A broker is alive, and says which state it wants to be in.

    Its entries are of ``OfflineReplica``: its replicas in log directories that are offline (in
    Kafka the controller knows from AssignReplicasToDirs where they are).
    """

    broker_id: i64
    broker_epoch: i64
    #: The offset of the last record that it has published; -1: none.
    metadata_offset: i64 = -1
    wants_fence: flag
    wants_shut_down: flag
    offline_directories: i64


class BrokerHeartbeatResponse(CommittedResponse, kind=101):
    """The state in which the active controller has the broker."""

    is_caught_up: flag
    is_fenced: flag
    should_shut_down: flag


class PublishedPartition(LeaderAndIsrPartition):
    """A partition as the metadata log has it, for a broker that hosts one of its replicas."""

    topic_id: i64 = -1
    #: Its topic is deleted, or the replica is not one of its any more.
    is_removed: flag
    #: Settings of its topic.
    min_insync_replicas: i64
    unclean_leader_election: flag


#: So many records an operation of an operator can have: QuorumController.MAX_RECORDS_PER_USER_OP.
MOST_RECORDS = code(10_000)


class CreateTopicsRequest(ControllerRequest, kind=104, api_key=19):
    """A topic is to be created with the assignment of the scenario."""

    topic: i64
    #: It stands for several requests, each of which adds some of the topic's partitions.
    in_pieces: flag


class DeleteTopicsRequest(ControllerRequest, kind=105, api_key=20):
    """A topic is to be deleted."""

    topic: i64


class ElectLeadersRequest(ControllerRequest, kind=106, api_key=43):
    """An election is to be held among partitions: entries of :class:`PartitionOutcome`."""

    is_unclean: flag


class AlterPartitionReassignmentsRequest(ControllerRequest, kind=107, api_key=45):
    """Replicas are to be moved: entries of :class:`AskedReassignment`."""


class IncrementalAlterConfigsRequest(ControllerRequest, kind=108, api_key=44):
    """Settings of a topic; -1: it stays as it is."""

    topic: i64
    min_insync_replicas: i64 = -1
    unclean_leader_election: i64 = -1


class AdminResponse(CommittedResponse, kind=109):
    """The outcome of a request of the operator: entries of :class:`PartitionOutcome`."""


class PartitionOutcome(PartitionData):
    """The outcome of a request for one partition."""

    error: i64


class AskedReassignment(PartitionOutcome):
    """The replicas that a partition is to have; an empty list: its reassignment is cancelled."""

    target: i64


class DescribeQuorumStateRequest(ControllerRequest, kind=110):
    """The operator asks for the committed state: one of the questions of ``codes/questions.py``."""

    question: i64
    #: The partition that the question is about; -1 none.
    partition: i64 = -1
    #: What its sender wants to do with the response, which gives it back.
    continuation: i64 = -1


class DescribeQuorumStateResponse(Response, kind=111):
    """The answer to such a question.

    Its entries are of :class:`DescribedBroker` if it is about brokers. A controller that is not
    active only names the leader that it knows.
    """

    error: i64
    question: i64
    partition: i64 = -1
    continuation: i64 = -1
    #: It holds: all is at rest, replicas are where they are to be, the partition exists.
    holds: flag
    #: Slot of the leader.
    leader: i64 = -1
    isr: i64
    replicas: i64
    #: The active controller as far as the answering node knows: number of brokers + number of the
    #: controller.
    controller: i64 = -1


class DescribedBroker(PartitionData):
    """A broker that is unfenced."""

    broker: i64
