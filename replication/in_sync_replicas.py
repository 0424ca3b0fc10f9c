"""In-sync replicas: leaving the ISR, entering it, and the gauges about it.

A follower is *out of sync* by time and enters by offset. It leaves when it has not been
caught up for longer than ``replica.lag.time.max.ms`` (the ``isr-expiration`` task looks
every half of that, so eviction falls between 1 and 1.5 times the setting). It enters as
soon as its log end offset reaches the leader's *high watermark*, not its log end, and from
2.0.1 on also the start of the leader's epoch (KAFKA-7128).

Every comparison with the lag time is strict for leaving (``>``) and not strict for holding
back the high watermark (``<=``), so at exactly the lag time a follower is still in sync.

min.insync.replicas: the guarantee of acks=all, before the append and after it.

Before the append a partition with too few in-sync replicas refuses acks=all. After it, if the ISR
shrank while the request waited, the producer gets an error, but the records stay and are below the
high watermark: they can be read.
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors, records, replica_list
from tidegauge.replication.release_rules import OUT_OF_SYNC_BY_TIME, ReleaseRules


@rule
def is_follower_out_of_sync(
    rules: ReleaseRules,
    follower: records.RemoteReplica,
    leader_log_end_offset: int,
    now_ms: int,
    replica_lag_time_max_ms: int,
) -> bool:
    """Whether a member of the ISR is to leave it.

    Up to 2.0 time alone decides: an idle follower that has everything but stops fetching
    is evicted. From 2.1 it stays until the leader appends.

    Source: Partition.getOutOfSyncReplicas@0.10.2.0, isFollowerOutOfSync@2.8.0.
    """
    too_long_ago = now_ms - follower.last_caught_up_time_ms > replica_lag_time_max_ms
    if rules.out_of_sync_rule == OUT_OF_SYNC_BY_TIME:
        return too_long_ago
    return too_long_ago and follower.log_end_offset != leader_log_end_offset


@rule
def get_out_of_sync_replicas(
    rules: ReleaseRules,
    partition: records.Partition,
    followers: Records[records.RemoteReplica],
    now_ms: int,
    replica_lag_time_max_ms: int,
) -> int:
    """Members of the ISR that are to leave it now; a replica list.

    Nobody while a change of this partition's ISR is in flight.

    Source: Partition.getOutOfSyncReplicas@0.10.2.0 and @2.8.0.
    """
    out_of_sync = replica_list.EMPTY
    if partition.proposed_isr != replica_list.EMPTY:
        return out_of_sync
    members = partition.isr
    while members != replica_list.EMPTY:
        replica = replica_list.first(members)
        members = replica_list.rest(members)
        if replica != partition.local_replica and is_follower_out_of_sync(
            rules,
            followers[partition.first_follower + replica],
            partition.log_end_offset,
            now_ms,
            replica_lag_time_max_ms,
        ):
            out_of_sync = replica_list.append(out_of_sync, replica)
    return out_of_sync


@rule
def is_replica_isr_eligible(rules: ReleaseRules, replica: int, ineligible: int) -> bool:
    """Whether a replica may be in the ISR at all.

    ``ineligible`` lists the replicas whose brokers this broker's metadata cache does not
    know as alive; releases before 3.3 do not ask.

    Source: Partition.isReplicaIsrEligible@3.3.0.
    """
    return not rules.expand_requires_eligible or not replica_list.contains(ineligible, replica)


@rule
def is_follower_in_sync(
    rules: ReleaseRules, partition: records.Partition, log_end_offset: int
) -> bool:
    """Whether a follower's log reaches far enough to enter the ISR.

    Without the epoch's start a new leader, whose high watermark lags, admits followers
    that lack committed records (KAFKA-7128, fixed in 2.0.1 and 2.1.0).

    Source: Partition.maybeExpandIsr@0.10.2.0, isFollowerInSync@2.4.0,
    isFollowerAtHighwatermark@2.8.0.
    """
    if rules.expand_requires_high_watermark and log_end_offset < partition.high_watermark:
        return False
    return (
        not rules.expand_requires_epoch_start
        or log_end_offset >= partition.leader_epoch_start_offset
    )


@rule
def needs_expand_isr(
    rules: ReleaseRules,
    partition: records.Partition,
    replica: int,
    log_end_offset: int,
    ineligible: int,
) -> bool:
    """Whether the follower that has just fetched is to enter the ISR now.

    ``log_end_offset`` is the follower's, as the leader knows it.

    Source: Partition.maybeExpandIsr@0.10.2.0, needsExpandIsr and canAddReplicaToIsr@2.8.0.
    """
    return (
        partition.proposed_isr == replica_list.EMPTY
        and replica_list.contains(partition.replicas, replica)
        and not replica_list.contains(partition.isr, replica)
        and is_replica_isr_eligible(rules, replica, ineligible)
        and is_follower_in_sync(rules, partition, log_end_offset)
    )


@rule
def is_under_replicated(rules: ReleaseRules, partition: records.Partition) -> bool:
    """Whether replicas are missing from the ISR of a partition that is led here.

    Source: Partition.isUnderReplicated@2.4.0 and @2.5.0 (KIP-352).
    """
    expected = replica_list.size(partition.replicas)
    if rules.under_replicated_without_adding:
        expected -= replica_list.size(partition.adding_replicas)
    return replica_list.size(partition.isr) < expected


@rule
def is_reassigning(partition: records.Partition) -> bool:
    """Whether replicas of a partition are being moved, by its leader's last request.

    Source: Partition.isReassigning@2.5.0 (KIP-352).
    """
    return (
        partition.adding_replicas != replica_list.EMPTY
        or partition.removing_replicas != replica_list.EMPTY
    )


@rule
def effective_min_isr(rules: ReleaseRules, partition: records.Partition) -> int:
    """The number of in-sync replicas that acks=all needs.

    Source: Partition.effectiveMinIsr@3.7.0 (KAFKA-15583); before, min.insync.replicas.
    """
    if rules.min_isr_capped_by_replicas:
        return min(partition.min_insync_replicas, replica_list.size(partition.replicas))
    return partition.min_insync_replicas


@rule
def is_under_min_isr(rules: ReleaseRules, partition: records.Partition) -> bool:
    """Whether the committed ISR is too small for acks=all.

    Source: Partition.isUnderMinIsr@2.4.0.
    """
    return replica_list.size(partition.isr) < effective_min_isr(rules, partition)


@rule
def is_at_min_isr(rules: ReleaseRules, partition: records.Partition) -> bool:
    """Whether the committed ISR is just large enough for acks=all (KIP-427).

    Source: Partition.isAtMinIsr@2.4.0.
    """
    return replica_list.size(partition.isr) == effective_min_isr(rules, partition)


#: ``acks`` of a produce request.
ACKS_ALL = code(-1)
ACKS_NONE = code(0)
ACKS_LEADER = code(1)


@rule
def append_error(rules: ReleaseRules, partition: records.Partition, acks: int) -> int:
    """NONE if a leader may append a batch that was sent with these acks, else the error.

    Source: Partition.appendRecordsToLeader@0.10.2.0 and @2.4.0,
    ReplicaManager.isValidRequiredAcks@2.4.0.
    """
    if acks < ACKS_ALL or acks > ACKS_LEADER:
        return errors.INVALID_REQUIRED_ACKS
    if acks == ACKS_ALL and is_under_min_isr(rules, partition):
        return errors.NOT_ENOUGH_REPLICAS
    return errors.NONE


@rule
def check_enough_replicas_reach_offset(
    rules: ReleaseRules, partition: records.Partition, required_offset: int
) -> tuple[bool, int]:
    """Whether an acks=all produce that waits is done, and with which error.

    ``required_offset`` is the offset after its last record. The maximal ISR counts: a
    replica that is about to join must have the record too.

    Source: Partition.checkEnoughReplicasReachOffset@0.10.2.0 and @2.8.0.
    """
    if partition.high_watermark < required_offset:
        return False, errors.NONE
    if replica_list.size(partition.maximal_isr) < effective_min_isr(rules, partition):
        return True, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True, errors.NONE
