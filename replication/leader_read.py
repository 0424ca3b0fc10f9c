"""Responses to readers: fencing, divergence, read limits.

The order matters. First the leader epoch that the request was made in, then whether this
broker leads, then whether there is a log, then where the logs part, then the offset range.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors, records, replica_list
from tidegauge.replication.leader_epoch_cache import end_offset_for
from tidegauge.replication.partition import is_leader
from tidegauge.replication.release_rules import ReleaseRules

# The kinds of readers; each has its read limit.
FOLLOWER = code(0)  #: up to the log end offset
READ_UNCOMMITTED = code(1)  #: a consumer: up to the high watermark
READ_COMMITTED = code(2)  #: a consumer: up to the last stable offset

_REQUIRES_LEADER = code(True)


@rule
def check_current_leader_epoch(leader_epoch: int, request_leader_epoch: int) -> int:
    """Compare the epoch in which a request was made with the broker's own; -1: not given.

    Source: Partition.checkCurrentLeaderEpoch@2.1.0 (KIP-320).
    """
    if request_leader_epoch == records.UNDEFINED or request_leader_epoch == leader_epoch:
        return errors.NONE
    if request_leader_epoch < leader_epoch:
        return errors.FENCED_LEADER_EPOCH
    return errors.UNKNOWN_LEADER_EPOCH


@rule
def epoch_to_check(rules: ReleaseRules, request_leader_epoch: int, is_from_follower: bool) -> int:
    """The epoch of a fetch that is compared with the leader's own; -1: none is.

    Source: Partition.readRecords@2.1.0 (KIP-320).
    """
    if is_from_follower and rules.fenced_fetch_is_answered:
        return records.UNDEFINED
    return request_leader_epoch


@rule
def local_log_error(
    rules: ReleaseRules,
    leader_epoch: int,
    request_leader_epoch: int,
    leads: bool,
    requires_leader: bool,
    has_log: bool,
) -> int:
    """NONE if this broker may answer from its log, else the error; the epoch comes first.

    Source: Partition.getLocalReplica@2.1.0, getLocalLog@2.4.0 and @2.6.0.
    """
    error = check_current_leader_epoch(leader_epoch, request_leader_epoch)
    if error != errors.NONE:
        return error
    if requires_leader and not leads:
        return errors.NOT_LEADER_OR_FOLLOWER
    if not has_log:
        if requires_leader or rules.missing_log_is_not_leader:
            return errors.NOT_LEADER_OR_FOLLOWER
        return errors.REPLICA_NOT_AVAILABLE
    return errors.NONE


@rule
def missing_partition_error(
    rules: ReleaseRules, is_offline: bool, in_metadata_cache: bool, asked_for_epoch: bool
) -> int:
    """The error for a partition that this broker does not host, or hosts on a failed disk.

    ``asked_for_epoch`` for OffsetsForLeaderEpoch, which looks in the metadata cache from one
    release later on than produce and fetch.

    Source: ReplicaManager.lastOffsetForLeaderEpoch@2.8.0, getPartitionOrError@2.8.0.
    """
    if is_offline:
        return errors.KAFKA_STORAGE_ERROR
    looked_up = rules.unhosted_partition_looked_up
    if asked_for_epoch:
        looked_up = rules.unhosted_partition_looked_up_for_epochs
    if looked_up and in_metadata_cache:
        return errors.NOT_LEADER_OR_FOLLOWER
    return errors.UNKNOWN_TOPIC_OR_PARTITION


@rule
def last_offset_for_leader_epoch(
    rules: ReleaseRules,
    partition: records.Partition,
    entries: Records[records.EpochEntry],
    request_leader_epoch: int,
    requested_epoch: int,
    has_log: bool,
) -> tuple[int, int, int]:
    """Answer OffsetsForLeaderEpoch for one partition: (error, epoch, end offset).

    Source: Partition.lastOffsetForLeaderEpoch@2.7.0.
    """
    leads = is_leader(partition)
    error = local_log_error(
        rules, partition.leader_epoch, request_leader_epoch, leads, _REQUIRES_LEADER, has_log
    )
    if error != errors.NONE:
        return error, records.UNDEFINED, records.UNDEFINED
    epoch, end_offset = end_offset_for(
        rules, entries, partition.epoch_count, partition.log_end_offset, requested_epoch
    )
    return errors.NONE, epoch, end_offset


@rule
def diverging_epoch(
    rules: ReleaseRules,
    partition: records.Partition,
    entries: Records[records.EpochEntry],
    fetch_offset: int,
    last_fetched_epoch: int,
) -> tuple[int, int, int]:
    """Compare a fetch that has its last epoch: (error, diverging epoch, its end offset).

    (NONE, -1, -1) if the follower's log is a prefix of this one; the read goes on. A
    follower that diverges gets no records and is not kept waiting.

    Source: Partition.readRecords@2.7.0, fetchRecords@3.8.0 (KIP-595).
    """
    if last_fetched_epoch == records.UNDEFINED:
        return errors.NONE, records.UNDEFINED, records.UNDEFINED
    epoch, end_offset = end_offset_for(
        rules, entries, partition.epoch_count, partition.log_end_offset, last_fetched_epoch
    )
    if end_offset == records.UNDEFINED:
        return errors.OFFSET_OUT_OF_RANGE, records.UNDEFINED, records.UNDEFINED
    if rules.log_start_checked_before_divergence and fetch_offset < partition.log_start_offset:
        return errors.OFFSET_OUT_OF_RANGE, records.UNDEFINED, records.UNDEFINED
    if epoch < last_fetched_epoch or end_offset < fetch_offset:
        return errors.NONE, epoch, end_offset
    return errors.NONE, records.UNDEFINED, records.UNDEFINED


@rule
def offset_error(partition: records.Partition, fetch_offset: int) -> int:
    """OFFSET_OUT_OF_RANGE below the log start or above the log end, else NONE.

    Between a reader's limit and the log end there is no error, only nothing to read.

    Source: Log.read@0.10.2.0 and @2.4.0.
    """
    if fetch_offset < partition.log_start_offset or fetch_offset > partition.log_end_offset:
        return errors.OFFSET_OUT_OF_RANGE
    return errors.NONE


@rule
def read_limit(partition: records.Partition, reader: int, last_stable_offset: int) -> int:
    """The first offset that this kind of reader does not get.

    Source: ReplicaManager.readFromLocalLog@0.10.2.0, Partition.readRecords@2.4.0.
    """
    if reader == FOLLOWER:
        return partition.log_end_offset
    if reader == READ_UNCOMMITTED:
        return partition.high_watermark
    return last_stable_offset


@rule
def latest_offset(
    rules: ReleaseRules, partition: records.Partition, reader: int, last_stable_offset: int
) -> tuple[int, int]:
    """Answer ListOffsets for the latest offset: (error, offset).

    A new leader whose high watermark has not reached the start of its epoch would give clients a
    lower offset than its predecessor did; from 2.2 on its response is an error, and clients retry
    (KIP-207).

    Source: Partition.fetchOffsetForTimestamp@2.7.0.
    """
    if (
        rules.list_offsets_waits_for_epoch_start
        and reader != FOLLOWER
        and partition.high_watermark < partition.leader_epoch_start_offset
    ):
        return errors.OFFSET_NOT_AVAILABLE, records.UNDEFINED
    return errors.NONE, read_limit(partition, reader, last_stable_offset)


@rule
def preferred_read_replica(
    rules: ReleaseRules,
    partition: records.Partition,
    followers: Records[records.RemoteReplica],
    fetch_offset: int,
    same_rack: int,
) -> int:
    """The replica that a consumer is sent to; NO_REPLICA if the leader serves it itself.

    ``same_rack`` lists the live replicas in the consumer's rack. The leader serves if it
    is one of them, or if none of them has the offset; else the most caught up does. A
    replica outside the ISR could be far behind its high watermark (KAFKA-14372).

    Source: ReplicaManager.findPreferredReadReplica and RackAwareReplicaSelector@2.6.0
    (KIP-392).
    """
    preferred = replica_list.NO_REPLICA
    if replica_list.contains(same_rack, partition.local_replica):
        return preferred
    while same_rack != replica_list.EMPTY:
        replica = replica_list.first(same_rack)
        same_rack = replica_list.rest(same_rack)
        follower = followers[partition.first_follower + replica]
        has_offset = follower.log_start_offset <= fetch_offset <= follower.log_end_offset
        eligible = (
            replica_list.contains(partition.isr, replica) or not rules.preferred_read_replica_in_isr
        )
        if (
            has_offset
            and eligible
            and (
                preferred == replica_list.NO_REPLICA
                or _is_more_caught_up(follower, followers[partition.first_follower + preferred])
            )
        ):
            preferred = replica
    return preferred


@rule
def _is_more_caught_up(one: records.RemoteReplica, other: records.RemoteReplica) -> bool:
    """Order of ReplicaView.comparator@2.6.0: log end, last caught up, broker id."""
    if one.log_end_offset != other.log_end_offset:
        return one.log_end_offset > other.log_end_offset
    if one.last_caught_up_time_ms != other.last_caught_up_time_ms:
        return one.last_caught_up_time_ms > other.last_caught_up_time_ms
    return one.broker > other.broker
