"""Requests of clients and followers to brokers, with their responses."""

from tidegauge.compiled.records import Record, flag, i32, i64
from tidegauge.simulation.messages.event import BrokerRequest, Event, PartitionData, Response


class PartitionAppend(Record):
    """A batch for the log of one partition, and its outcome."""

    record_count: i64
    #: For a batch of an idempotent producer: its id and epoch, and the sequence number of the first
    #: record; -1: the producer is not idempotent.
    producer_id: i64 = -1
    producer_epoch: i64 = -1
    first_sequence: i64 = -1
    #: Offset of the first record, once they are appended, or where they were before; -1: nowhere.
    offset: i64 = -1
    error: i64
    #: The start of the log; -1: there is none.
    log_start_offset: i64 = -1
    #: Replicas that count do not have the records yet.
    waits: flag


class AppendRequest(BrokerRequest):
    """A request that appends to logs (``ReplicaManager.appendRecords``)."""

    #: Replicas that must have the records before it is answered; -1: all in-sync replicas.
    acks: i32
    #: The timeout of its wait for them.
    timeout_ms: i32
    #: The times at which its thread took it, and was done with it, if it waits in a purgatory.
    taken_us: i64
    handled_us: i64
    #: ... and the number of partitions that it waits for.
    awaited: i32


class ProduceRequest(AppendRequest, kind=10, api_key=0):
    """Batches of a producer for partitions that a broker leads: ``ProducedBatch``, one for each."""


class ProducedBatch(PartitionData):
    """A batch for one partition: the request, then the broker's response."""

    append: PartitionAppend
    #: Its place in ``Clients.batches``, its number among the batches of the producer, and the
    #: number of its sends, with this one.
    place: i64 = -1
    batch: i64 = -1
    attempt: i64


class ProduceResponse(Response, kind=80):
    """The outcomes of batches: ``ProducedBatch``, as they were asked.

    With acks=0 it is not on the wire: the client only counts.
    """

    acks: i64


class InitProducerIdRequest(BrokerRequest, kind=128, api_key=22):
    """An idempotent producer asks for an id."""


class InitProducerIdResponse(Response, kind=129):
    """An id for a producer, or an error; the client chooses the id (``clients/sequences.py``)."""

    error: i64


class FetcherRequest(BrokerRequest):
    """A request of a follower's fetcher thread; a consumer's fetch is like one of them."""

    #: The thread; -1: a consumer asks.
    fetcher: i64 = -1


class FetcherResponse(Response):
    """The response to a request of a fetcher thread."""

    fetcher: i64 = -1


class FetchRequest(FetcherRequest, kind=11, api_key=1):
    """Records are wanted: by a follower's fetcher thread, or by a consumer."""

    #: The follower's broker; -1: a consumer asks.
    replica_id: i64 = -1
    #: The longest wait for min_bytes.
    max_wait_ms: i64
    min_bytes: i64
    #: The most for one partition, and for all.
    partition_max_bytes: i64
    max_bytes: i64
    #: max_bytes has cut off some of the records.
    is_cut: flag
    #: It names all partitions of the fetcher, and a session begins (KIP-227).
    is_full: flag
    #: Answer with the records of the first read: decided before the fetch itself is counted.
    answers_first_read: flag
    #: The epoch of the follower's broker (KIP-903); -1: the request has none.
    replica_epoch: i64 = -1
    #: The consumer's rack (KIP-392); -1: the request has none.
    rack: i64 = -1
    #: The times at which its thread took it, and was done with it, if it waits in a purgatory.
    taken_us: i64
    handled_us: i64


class FetchPartition(PartitionData):
    """A partition of a fetch: the request, and the records that the leader has read for it."""

    #: For a follower with KRaft; else -1.
    topic_id: i64 = -1
    fetch_offset: i64 = -1
    #: The leader epoch of the fetcher.
    leader_epoch: i32 = -1
    #: That of the last record that the fetcher has; -1: the request has none.
    last_fetched_epoch: i32 = -1
    error: i32
    #: Offset after the last record read.
    end_offset: i64 = -1
    size_bytes: i64
    high_watermark: i64 = -1
    log_start_offset: i64 = -1
    #: The epoch at which the follower's log parts from the leader's, and its end; -1: nowhere.
    diverging_epoch: i32 = -1
    diverging_end_offset: i64 = -1
    #: The broker that a consumer is sent to; -1: none.
    preferred_read_replica: i32 = -1
    #: The fetch may move the leader's high watermark.
    may_move: flag
    #: The broker's replica (-1: it has none), and the leader's record of the follower's fetches.
    row: i32 = -1
    place: i32 = -1


class FetchedRecords(PartitionData):
    """Records of a partition that a response brings: a run of one leader epoch."""

    error: i32
    #: The leader epoch in which it was asked.
    leader_epoch: i32 = -1
    #: First offset that was asked for, or of a further run.
    offset: i64 = -1
    #: Offset after the last record of the run; the same if there is none.
    end_offset: i64 = -1
    #: Leader epoch of the records.
    epoch: i32 = -1
    #: The size of all runs of the partition.
    size_bytes: i64
    high_watermark: i64 = -1
    log_start_offset: i64 = -1
    diverging_epoch: i32 = -1
    diverging_end_offset: i64 = -1
    #: The broker from which a consumer is to fetch; -1: from this one.
    preferred_read_replica: i32 = -1
    #: A batch of an idempotent producer that ends in the range: its producer's id and epoch, its
    #: sequence numbers and its offset; -1: none.
    producer_id: i64 = -1
    producer_epoch: i32 = -1
    first_sequence: i32 = -1
    last_sequence: i32 = -1
    batch_offset: i64 = -1
    #: A further run, or batch, of the partition before it in the chain: only that is set.
    continues: flag


class FetchResponse(FetcherResponse, kind=20):
    """The records of a follower's fetch: ``FetchedRecords``."""

    error: i64


class ConsumerResponse(Response, kind=81):
    """The records of a consumer's fetch: ``FetchedRecords``."""


class OffsetsForLeaderEpochRequest(FetcherRequest, kind=12, api_key=23):
    """A request for the ends of leader epochs in the leader's logs (KIP-101)."""


class EpochAsked(PartitionData):
    """A partition of which the end of a leader epoch is asked."""

    #: The leader epoch of the sender (KIP-320).
    current_leader_epoch: i64 = -1
    #: The epoch that is asked for.
    leader_epoch: i64 = -1
    #: The leader epoch of the fetcher when it asks; not on the wire, but its own memory.
    asked_in_epoch: i64 = -1


class EpochResponse(FetcherResponse, kind=21):
    """The ends of leader epochs: ``EpochEndOffset``."""


class EpochEndOffset(PartitionData):
    """The end of a leader epoch in a leader's log."""

    error: i64
    #: The largest epoch up to the one that was asked for.
    leader_epoch: i64 = -1
    end_offset: i64 = -1
    #: As it was in the request.
    asked_in_epoch: i64 = -1


class AlterReplicaLogDirsRequest(BrokerRequest, kind=180, api_key=34):
    """A replica of the broker is to move to another of its log directories (KIP-113)."""

    partition: i64
    directory: i64
    #: A flush of the log runs as the move ends.
    flushed: flag


class AlterReplicaLogDirsResponse(Response, kind=181):
    """Whether the replica moves, or is there already."""

    error: i64


class ListOffsetsRequest(FetcherRequest, kind=13, api_key=2):
    """A request for the start and the end of the leader's log."""


class OffsetsAsked(PartitionData):
    """A partition of which the offsets are asked."""

    #: The leader epoch of the fetcher.
    leader_epoch: i64 = -1


class ListOffsetsResponse(FetcherResponse, kind=22):
    """The start and the end of the leader's log: ``ListedOffsets``."""


class ListedOffsets(PartitionData):
    """The start and the end of a leader's log."""

    error: i64
    #: The leader epoch in which it was asked.
    leader_epoch: i64 = -1
    log_start_offset: i64 = -1
    end_offset: i64 = -1


class MetadataMessage(Event):
    """Its sender's position in the log of changes (``metadata_log.py``)."""

    controller_epoch: i64 = -1
    offset: i64 = -1
    base_epoch: i64 = -1
    base_offset: i64 = -1


class MetadataRequest(MetadataMessage, BrokerRequest, kind=14, api_key=3):
    """A request for the leaders of partitions. The request has the sender's position."""

    #: The partitions of the client's topics.
    partition_count: i64


class MetadataResponse(MetadataMessage, Response, kind=82):
    """The leaders of the partitions whose state differs from the sender's."""


class PartitionLeader(PartitionData):
    """The leader of a partition, as far as a broker knows."""

    #: The leader's broker; -1: none.
    leader: i64 = -1
    leader_epoch: i64 = -1


class FindCoordinatorRequest(BrokerRequest, kind=8, api_key=10):
    """A request for the coordinator of a group."""

    #: The partition of __consumer_offsets where the group belongs.
    partition: i64 = -1
    #: The number of the consumer's restarts.
    start: i64


class HeartbeatRequest(BrokerRequest, kind=9, api_key=12):
    """A member of a group is alive."""

    partition: i64 = -1
    #: The consumer's place in ``Brokers.commit_keys``, and the number of its restarts.
    member_key: i64 = -1
    start: i64


class GroupAppendRequest(AppendRequest):
    """A member of a group asks for something that its coordinator appends."""

    #: The record for the group's partition of __consumer_offsets.
    append: PartitionAppend
    partition: i64 = -1
    #: The consumer's place in ``Brokers.commit_keys``, and the number of its restarts.
    member_key: i32 = -1
    start: i32


class OffsetCommitRequest(GroupAppendRequest, kind=18, api_key=8):
    """A consumer commits its offsets: ``GroupOffset``."""


class JoinGroupRequest(GroupAppendRequest, kind=19, api_key=11):
    """A consumer joins its group, and gets the group's committed offsets: ``GroupOffset``."""


class GroupOffset(PartitionData):
    """A group's committed offset of a partition, or one to commit."""

    #: Its place in ``Brokers.commit_keys``, in a request.
    commit_key: i64 = -1
    #: The offset; -1: nothing was ever committed.
    offset: i64 = -1


class GroupResponse(Response, kind=93):
    """News for a consumer from its group's coordinator, or of it."""

    #: The kind of the request that it answers.
    request_kind: i64
    error: i64
    #: The broker that coordinates the group, if that was asked.
    coordinator: i64 = -1
    #: The number of the consumer's restarts when it asked.
    start: i64
