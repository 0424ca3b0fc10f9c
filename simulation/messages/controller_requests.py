"""Requests between controllers and brokers, with their responses."""

from tidegauge.compiled.records import flag, i32, i64
from tidegauge.simulation.messages.event import (
    BrokerRequest,
    ControllerRequest,
    PartitionData,
    Response,
)


class ControlRequest(BrokerRequest):
    """An instruction or news of a controller to a broker."""

    controller_id: i64 = -1
    controller_epoch: i64 = -1
    broker_epoch: i64 = -1
    #: The error for the whole request, once it is handled; at the controller, that of the response.
    error: i64


class LeaderAndIsrRequest(ControlRequest, kind=15, api_key=4):
    """The leaders and followers of partitions: entries of :class:`LeaderAndIsrPartition`."""


class UpdateMetadataRequest(ControlRequest, kind=16, api_key=6):
    """Leaders of partitions, and live brokers: up to a position in the log of changes.

    Source: ``simulation/metadata_log.py``.
    """

    position: i64
    #: It names all partitions, not only those that have changed.
    names_all: flag


class StopReplicaRequest(ControlRequest, kind=17, api_key=5):
    """Replicas that are to fetch no more: entries of :class:`StopReplicaPartition`."""


class ControlResponse(Response, kind=73):
    """A broker has dealt with a request of a controller.

    The response to a LeaderAndIsr names the partitions whose replicas are offline.
    """

    broker_id: i64
    error: i64


class ControlledShutdownRequest(ControllerRequest, kind=75, api_key=7):
    """A stopping broker asks that other brokers lead its partitions."""

    broker_id: i64
    broker_epoch: i64


class ControlledShutdownResponse(Response, kind=23):
    """The number of partitions that the broker still leads, or an error."""

    error: i64
    remaining_partitions: i64


class AlterPartitionRequest(ControllerRequest, kind=69, api_key=56):
    """ISRs that a broker proposes as leader: entries of :class:`AlterPartitionData`.

    In KRaft mode entries of :class:`IsrMember` follow, one for each member of each of these ISRs.
    """

    broker_id: i64
    broker_epoch: i64
    #: Why the controller refuses it as a whole.
    error: i64
    #: The number of entries that are proposals.
    proposal_count: i64


class CommittedResponse(Response):
    """A response that in KRaft mode waits until the records behind it are committed."""

    error: i64
    #: The end of the metadata log whose commit it waits for.
    waits_for_offset: i64


class AlterPartitionResponse(CommittedResponse, kind=24):
    """The outcome of each ISR, or the error for all: entries of :class:`AlterPartitionData`."""


class AlterReassignmentsRequest(ControllerRequest, kind=66):
    """Somebody replaces reassignments, or cancels them.

    Its entries are of ``NamedPartition`` (``zookeeper_requests.py``).
    """


class UncleanElectionRequest(ControllerRequest, kind=137, api_key=43):
    """Somebody asks for leaders of partitions that have none, in the ISR or not.

    Its entries are of ``NamedPartition`` (``zookeeper_requests.py``).
    """


class ControlPartition(PartitionData):
    """A partition in a request of a controller."""

    #: Why the broker refuses it, once it is handled.
    error: i64
    leader_epoch: i64 = -1


class LeaderAndIsrPartition(ControlPartition):
    """The new state of a replica. Leader and replicas are slots, and lists of them."""

    leader: i32 = -1
    isr: i64
    partition_epoch: i32 = -1
    replicas: i64
    adding: i64
    removing: i64
    #: The controller that has written the state.
    controller_epoch: i32 = -1
    #: The replica has never been there before.
    is_new: flag
    #: The row with the reason of the replica's request; -1: that of the request.
    row_process: i32 = -1
    row_sequence: i64 = -1


class StopReplicaPartition(ControlPartition):
    """A replica that is to fetch no more."""

    #: Its log is to be deleted as well.
    deletes: flag


class OfflineReplica(PartitionData):
    """A partition whose replica on a broker is offline."""


class AlterPartitionData(PartitionData):
    """A partition's state as a leader proposes it, and as it is in the response."""

    #: With KRaft; else -1.
    topic_id: i64 = -1
    error: i64
    leader: i64 = -1
    leader_epoch: i64 = -1
    isr: i64
    partition_epoch: i64 = -1
    #: The controller has written it to ZooKeeper.
    is_written: flag


class IsrMember(PartitionData):
    """A member of a proposed ISR, as its leader knows it (KIP-903)."""

    #: Its slot.
    replica: i64
    #: The broker epoch with which it has fetched last; -1: the fetch had none.
    broker_epoch: i64 = -1
