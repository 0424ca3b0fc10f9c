"""Requests of a KRaft quorum: to the active controller, between voters, of observers."""

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
    #: The number of the broker's process (Kafka: incarnation id).
    incarnation: i64
    #: The broker epoch in its clean-shutdown files; -1: it was not stopped cleanly.
    previous_broker_epoch: i64 = -1
    #: Its log directories that are offline: bits.
    offline_directories: i64
    #: Its release, which has the levels of features that it supports: in ``Topology.software``.
    software: i64


class BrokerRegistrationResponse(CommittedResponse, kind=99):
    """The broker is registered under this epoch, or why it is not."""

    broker_epoch: i64 = -1


class BrokerHeartbeatRequest(ControllerRequest, kind=100, api_key=63):
    """A broker is alive, and asks for a state.

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
    #: Its cordoned log directories: bits; -1: it does not tell them.
    cordoned_directories: i64 = -1


class BrokerHeartbeatResponse(CommittedResponse, kind=101):
    """The state in which the active controller has the broker."""

    is_caught_up: flag
    is_fenced: flag
    should_shut_down: flag


class AllocateProducerIdsRequest(ControllerRequest, kind=167, api_key=67):
    """A broker asks for a block of producer ids (KIP-730)."""

    broker_id: i64
    broker_epoch: i64


class AllocateProducerIdsResponse(CommittedResponse, kind=168):
    """The block for a broker, or the error."""


class PublishedPartition(LeaderAndIsrPartition):
    """A partition as the metadata log has it, for a broker that hosts one of its replicas."""

    topic_id: i64 = -1
    #: Its topic is deleted, or the replica has left the assignment.
    is_removed: flag
    #: Settings of its topic; whether these throttle the broker's replica, as leader or as follower.
    min_insync_replicas: i64
    unclean_leader_election: flag
    leader_throttled: flag
    follower_throttled: flag


#: The most records of an operation of an operator: QuorumController.MAX_RECORDS_PER_USER_OP.
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
    """Settings of a topic, of brokers, or the throttles of moves. A setting of -1 stays as it is.

    Its entries are of :class:`DescribedBroker` for brokers, of :class:`ThrottledPartition` for the
    throttled replicas of a topic, of :class:`AskedReassignment` for moves.
    """

    topic: i64 = -1
    min_insync_replicas: i64 = -1
    unclean_leader_election: i64 = -1
    #: The log directories that each of the brokers is to cordon: bits.
    cordoned_log_dirs: i64 = -1
    #: The scope of throttled replicas: one of ``simulation/trace_rows/codes.py``.
    scope: i64
    #: The throttled rates of brokers, in bytes a second.
    leader_rate: i64 = -1
    follower_rate: i64 = -1


class UpdateFeaturesRequest(ControllerRequest, kind=183, api_key=57):
    """Levels of features are to change; -1: this one stays."""

    #: Place in ``Topology.metadata_versions``.
    metadata_version: i64 = -1
    elr_version: i64 = -1
    kraft_version: i64 = -1
    #: UPGRADE, SAFE_DOWNGRADE or UNSAFE_DOWNGRADE.
    upgrade_type: i64


#: FeatureUpdate.UpgradeType@3.9.0
UPGRADE = code(1)
SAFE_DOWNGRADE = code(2)
UNSAFE_DOWNGRADE = code(3)


class AdminResponse(CommittedResponse, kind=109):
    """The outcome of a request of the operator: entries of :class:`PartitionOutcome`."""


class PartitionOutcome(PartitionData):
    """The outcome of a request for one partition."""

    error: i64


class AskedReassignment(PartitionOutcome):
    """The replicas that a partition is to have; an empty list: its reassignment is cancelled."""

    target: i64


class ThrottledPartition(PartitionData):
    """The replicas of a partition that its topic throttles; -1: those that are stay so."""

    #: Replica lists.
    leaders: i64
    followers: i64


class DescribeQuorumStateRequest(ControllerRequest, kind=110):
    """The operator asks for the committed state: a question of ``trace_rows/codes.py``."""

    question: i64
    #: The partition, or the controller, that the question is about; -1 none.
    partition: i64 = -1
    #: The sender's continuation, which the response gives back.
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
    #: It holds: all is at rest, replicas are where they are to be, the partition exists, the
    #: controller follows.
    holds: flag
    #: Slot of the leader.
    leader: i64 = -1
    isr: i64
    replicas: i64
    #: The active controller as far as the answering node knows: number of brokers + number of the
    #: controller.
    controller: i64 = -1
    #: Controllers that are voters: bits.
    voters: i64


class DescribedBroker(PartitionData):
    """A broker: one that is unfenced, or whose settings are to change."""

    broker: i64


class RaftRequest(ControllerRequest):
    """A request of one voter to another."""


class RaftResponse(Response):
    """The fields of every response of a voter: an error, and the epoch and leader that it knows."""

    error: i64
    leader: i64 = -1
    leader_epoch: i64


class ObserverResponse(RaftResponse):
    """The settings of a broker that observes, as the fetched part of the log has them."""

    #: The log directories that it is to cordon, as committed; -1: nothing is said.
    cordoned_log_dirs: i64 = -1
    #: The throttled rates, in bytes a second; -1: nothing is said.
    leader_rate: i64 = -1
    follower_rate: i64 = -1
    #: The finalized features, if they have changed; -1: nothing is said.
    metadata_version: i64 = -1
    elr_version: i64 = -1


class RaftFetchRequest(ControllerRequest, kind=102, api_key=1):
    """A voter or an observer fetches the metadata log, and waits until there is more of it."""

    #: The broker that observes; -1: a controller fetches.
    broker_id: i64 = -1
    #: The controller that follows, as a voter or an observer; -1: a broker fetches. The number of
    #: its directory.
    voter: i64 = -1
    directory: i64
    #: The epoch of the leader that it knows; -1: none.
    current_leader_epoch: i64 = -1
    #: The end of its log, the epoch of the last record before that (-1: none, or an observer, which
    #: only has committed records), and the high watermark that it knows.
    fetch_offset: i64
    last_fetched_epoch: i64 = -1
    high_watermark: i64
    #: The response has no more bytes of records than these, but at least one record.
    max_bytes: i64
    #: It waits at the leader, and its connection is gone.
    is_lost: flag


class RaftFetchResponse(ObserverResponse, kind=103):
    """The end of the fetched records, and of their committed part; or the error.

    To a voter its entries are of :class:`FetchedEpoch`. To an observer they are of
    ``PublishedPartition``: of the replicas that the broker hosts, all that was committed between
    the high watermark that it knew and this one, the newest of each.
    """

    log_end_offset: i64
    #: -1: the leader does not know it yet.
    high_watermark: i64 = -1
    #: The fetcher's log differs from here on: the largest epoch of the leader that is not larger
    #: than the last one fetched, and its end; -1: it does not.
    diverging_epoch: i64 = -1
    diverging_offset: i64 = -1
    #: The leader's log begins later: a fetch needs this snapshot, named by the epoch of its last
    #: record and its end offset; -1: none.
    snapshot_epoch: i64 = -1
    snapshot_offset: i64 = -1


class FetchedEpoch(PartitionData):
    """Records of one epoch: where they begin, of those that are fetched, and where they end.

    A VotersRecord is the last of its entry.
    """

    epoch: i64
    start_offset: i64
    end_offset: i64
    #: The voters of that record (``replication/voter_set.py``), and the kraft.version; 0: the last
    #: record is another one.
    voters: i64
    kraft_version: i64


class FetchSnapshotRequest(ControllerRequest, kind=163, api_key=59):
    """A voter or an observer fetches a piece of a snapshot, from a position in bytes on."""

    #: As in :class:`RaftFetchRequest`.
    voter: i64 = -1
    directory: i64
    current_leader_epoch: i64 = -1
    high_watermark: i64
    snapshot_epoch: i64
    snapshot_offset: i64
    position: i64
    #: So large is the piece at most.
    max_bytes: i64


class FetchSnapshotResponse(ObserverResponse, kind=164):
    """A piece of a snapshot, and the size of all of it; or why there is none.

    To a controller the last piece has an entry of :class:`FetchedEpoch` with the newest
    VotersRecord in it, if there is one. To a broker it has entries of ``PublishedPartition``: of
    the replicas that the broker hosts, all that was committed between the high watermark that it
    knew and the end of the snapshot, the newest of each.
    """

    snapshot_epoch: i64
    snapshot_offset: i64
    position: i64
    bytes: i64
    size_bytes: i64


class VoteRequest(RaftRequest, kind=145, api_key=52):
    """A candidate asks for a vote, or whether it would get it (pre-vote)."""

    candidate: i64
    candidate_directory: i64
    #: The directory of the voter that is asked, by the candidate's voter set.
    voter_directory: i64
    #: Its epoch: with a pre-vote the one that it is in, else a new one.
    epoch: i64
    #: The last epoch in its log, and the end of its log.
    last_epoch: i64
    last_offset: i64
    pre_vote: flag


class VoteResponse(RaftResponse, kind=146):
    """Whether a voter votes for the sender of the request."""

    voter: i64
    granted: flag
    pre_vote: flag


class BeginQuorumEpochRequest(RaftRequest, kind=147, api_key=53):
    """A new leader notifies a voter of its election."""

    leader: i64
    epoch: i64
    #: The directory of the voter that is notified, by the leader's voter set.
    voter_directory: i64


class BeginQuorumEpochResponse(RaftResponse, kind=148):
    """A voter knows a leader."""

    voter: i64


class EndQuorumEpochRequest(RaftRequest, kind=149, api_key=54):
    """A leader resigns; its receiver is at a place among its successors."""

    leader: i64
    epoch: i64
    #: The number of the other voters that have fetched more, or as much and come first, and of all
    #: successors.
    successor: i64
    successors: i64


class EndQuorumEpochResponse(RaftResponse, kind=150):
    """A voter knows that its leader has resigned."""


class ChangedVoter(RaftRequest):
    """A voter is to be added, removed or updated: the number of a controller and of its directory.

    Directory 0 is that which the controller has when the request is sent.
    """

    voter: i64
    directory: i64


class AddRaftVoterRequest(ChangedVoter, kind=184, api_key=80):
    """The operator, or an observer with controller.quorum.auto.join.enable, adds a voter."""

    #: The response comes when the record is committed, and not when it is appended.
    acks_when_committed: flag


class AddRaftVoterResponse(RaftResponse, kind=185):
    """A voter is added, or not."""


class RemoveRaftVoterRequest(ChangedVoter, kind=186, api_key=81):
    """The operator, or an observer with a new directory and automatic join, removes a voter."""


class RemoveRaftVoterResponse(RaftResponse, kind=187):
    """A voter is removed, or not."""


class UpdateRaftVoterRequest(ChangedVoter, kind=188, api_key=82):
    """A voter tells its leader the directory that its entry in the voter set lacks."""

    #: The largest kraft.version that it supports.
    newest_kraft_version: i64


class UpdateRaftVoterResponse(RaftResponse, kind=189):
    """The leader knows a voter's directory, or not."""


class ApiVersionsRequest(RaftRequest, kind=190, api_key=18):
    """A leader asks a controller that is to be a voter for the kraft.version that it supports."""


class ApiVersionsResponse(RaftResponse, kind=191):
    """The largest kraft.version that a controller supports."""

    newest_kraft_version: i64
