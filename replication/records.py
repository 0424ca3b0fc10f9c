"""The records that the rules work on: one class per record, one comment per field.

Offsets are log positions, times are milliseconds of the broker's clock, replicas are
slots (``replica_list.py``). Absent is -1, as on Kafka's wire.
"""

from typing import cast

import numpy as np

from tidegauge.compiled.records import Record, flag, i8, i32, i64

#: Absent: no offset, no epoch, no replica. Typed; the reason is in ``compiled/codes.py``.
UNDEFINED = cast(int, np.int64(-1))

#: Most replicas that a list of them can hold (``replica_list.py``), and one more than the largest
#: slot.
SLOTS = 15

#: The most controllers of a quorum, and the most directories that one of them can have had
#: (``voter_set.py``).
MOST_VOTERS = 15
MOST_DIRECTORIES = 14


class EpochEntry(Record):
    """A leader epoch and the offset of its first record (Kafka: ``EpochEntry``).

    A leader-epoch cache is a list of them, and so is a log's true content: its *epoch
    runs*. A record's identity is (leader epoch, offset), so two logs are equal exactly
    if their runs and their ends are.
    """

    #: Leader epoch; -1 for records of a message format without one.
    epoch: i64
    #: Offset of the first record of this epoch.
    start_offset: i64


class RemoteReplica(Record):
    """A leader's state of one follower (Kafka: ``Replica``, ``ReplicaState``)."""

    #: Id of the follower's broker.
    broker: i64
    #: The follower's log end offset, as of its last fetch; -1 before its first.
    log_end_offset: i64
    #: The follower's log start offset, as of its last fetch.
    log_start_offset: i64
    #: The leader's own log end offset when it read for that fetch.
    last_fetch_leader_log_end_offset: i64
    #: Time of that fetch.
    last_fetch_time_ms: i64
    #: The last time at which the follower had all that the leader had.
    last_caught_up_time_ms: i64


class Partition(Record):
    """One replica as its broker hosts it (Kafka: ``Partition`` and its ``Log``).

    Log and leadership are one record, so that a fetch touches one place in memory.
    """

    #: Offset of the first record that has not been deleted.
    log_start_offset: i64
    #: Offset of the next record (LEO).
    log_end_offset: i64
    #: First offset that consumers cannot read (HW).
    high_watermark: i64
    #: Number of epoch runs in the log.
    run_count: i32
    #: Number of entries in the leader-epoch cache.
    epoch_count: i32

    #: This broker's own slot.
    local_replica: i8
    #: Assigned replicas in order of preference (AR); a replica list.
    replicas: i64
    #: Replicas that an ongoing reassignment adds; a replica list.
    adding_replicas: i64
    #: ... and those that it will remove.
    removing_replicas: i64
    #: The first view of a follower: slot s is at ``first_follower + s``.
    first_follower: i32
    #: ``min.insync.replicas`` of the topic.
    min_insync_replicas: i32

    #: Slot of the leader; -1: unknown.
    leader: i8 = -1
    #: Epoch of that leader.
    leader_epoch: i32 = -1
    #: Epoch of the controller that elected it.
    controller_epoch: i32
    #: Version of the partition's state in ZooKeeper (from 3.x: partition epoch).
    partition_epoch: i32 = -1
    #: The leader's log end offset when its epoch began; -1 on followers.
    leader_epoch_start_offset: i64

    #: Replicas in sync, as committed; a replica list in the stored order.
    isr: i64
    #: The ISR and the replicas that may be about to join it: holds back high watermark and
    #: acks=all.
    maximal_isr: i64
    #: ISR in the change that is in flight; empty: none.
    proposed_isr: i64


class PartitionFetchState(Record):
    """A follower's fetcher about one partition (Kafka: ``PartitionFetchState``)."""

    #: NOT_FETCHED, TRUNCATING or FETCHING (``fetcher.py``).
    state: i32
    #: Next offset to fetch; while TRUNCATING where truncation falls back to.
    fetch_offset: i64
    #: The leader epoch under which the partition was handed to the fetcher.
    current_leader_epoch: i64
    #: Epoch of the last record in the log, sent along from 2.8 on; -1 if unknown.
    last_fetched_epoch: i32
    #: A response has been taken since the partition was handed over (Kafka: ``lag`` is known).
    answered: flag
    #: ... and its records reached the leader's high watermark (Kafka: ``isReplicaInSync``).
    in_sync: flag
    #: No request until the back-off is over.
    delayed: flag
    #: Given up until the next LeaderAndIsr (Kafka: ``failedPartitions``).
    failed: flag


class QuotaSample(Record):
    """One window of a rate (Kafka: ``SampledStat.Sample``)."""

    #: The time at which it began.
    start_ms: i64
    size_bytes: i64


class ReplicationQuota(Record):
    """Throttled replication of a broker in one direction (Kafka: ``ReplicationQuotaManager``)."""

    #: leader- or follower.replication.throttled.rate; UNLIMITED: none is set.
    bytes_per_second: i64
    #: replication.quota.window.num, and replication.quota.window.size.seconds in milliseconds.
    window_count: i64
    window_ms: i64
    #: Its samples: the first one, their number, and the current one.
    first_sample: i64
    sample_count: i64
    current: i64


class BatchMetadata(Record):
    """A batch of an idempotent producer that a replica remembers (Kafka: ``BatchMetadata``)."""

    #: Sequence numbers of its first and its last record: 0 follows 2147483647.
    first_sequence: i64
    last_sequence: i64
    #: Offsets of its first and its last record.
    base_offset: i64
    last_offset: i64
    #: Greatest time of its records.
    timestamp_ms: i64


class ProducerStateEntry(Record):
    """A replica's state of one idempotent producer (Kafka: ``ProducerStateEntry``)."""

    producer_id: i64 = -1
    #: NO_PRODUCER_EPOCH, -1, while nothing is known of the producer.
    producer_epoch: i64 = -1
    #: Sequence number of the last record; NO_SEQUENCE or LOST_SEQUENCE (``producer_state.py``).
    last_sequence: i64 = -1
    #: Time of its last batch, by which the entry expires; -1: none.
    last_timestamp_ms: i64 = -1
    #: Its ring of batches: the first place, the number of places, and the oldest batch.
    first_batch: i64
    batch_count: i64
    oldest: i64
    #: The producer wrote batches before those that the ring holds: last offset, last sequence
    #: number and producer epoch of the last one of them.
    has_older: flag
    older_last_offset: i64 = -1
    older_last_sequence: i64 = -1
    older_epoch: i64 = -1


#: ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE
PRODUCER_ID_BLOCK_SIZE = 1000


class ProducerIds(Record):
    """A broker's blocks of producer ids (Kafka: ``RPCProducerIdManager``)."""

    #: How many ids of its block it has given out; without a block, as many as one has.
    given_out: i64 = PRODUCER_ID_BLOCK_SIZE
    #: The next block is granted: it is used once this one is used up.
    has_next: flag
    #: The next block is asked for, or granted and not used yet.
    request_in_flight: flag
    #: It is not asked for before that time; -1: at any time.
    backoff_deadline_ms: i64 = -1


class LeaderAndIsr(Record):
    """A partition's state in ZooKeeper and in the controller (Kafka: ``LeaderAndIsr``)."""

    #: Slot of the leader; -1 none, -2 the topic is being deleted.
    leader: i32
    #: Grows by one with every change that the controller makes.
    leader_epoch: i32
    #: Replicas in sync; a replica list in the stored order.
    isr: i64
    #: Version of the state in ZooKeeper (from 3.x: partition epoch).
    partition_epoch: i32


class PartitionRegistration(Record):
    """A partition's state in KRaft's metadata log (Kafka: metadata ``PartitionRegistration``)."""

    #: Assigned replicas in order of preference; a replica list.
    replicas: i64
    #: Replicas that an ongoing reassignment adds; a replica list.
    adding: i64
    #: ... and those that it will remove.
    removing: i64
    #: Replicas in sync; a replica list in the stored order. Empty only with ELR.
    isr: i64
    #: Replicas outside the ISR that have every record below the high watermark (ELR, KIP-966): a
    #: set, kept in the order of slots, that views show by broker id.
    elr: i64
    #: The last leader of a partition without leader and ISR (Kafka: ``LastKnownElr``); a replica
    #: list of at most one.
    last_known_elr: i64
    #: Slot of the leader, -1 if there is none.
    leader: i32 = -1
    #: Grows by one with each record that names a leader, also with one that names none.
    leader_epoch: i32
    #: Grows by one with every record of the partition.
    partition_epoch: i32
    #: The leader was elected uncleanly and has not changed the ISR since (LeaderRecoveryState).
    recovering: flag
