"""The high watermark (HW): records below it can be read, and survive a clean election.

The leader's HW is the smallest log end offset among those that hold it back: the ISR, and
also a replica outside it that was caught up within the lag time, which could otherwise
enter the ISR below the HW and never get there. It never goes down on a leader.

A follower takes the HW from the leader's answers, at least one round late, and clamps it to its own
log; it can go down. A new leader keeps its high watermark as a follower until every member of the
ISR has fetched once.

The leader tries to move it at four moments: when it becomes leader, when the ISR has
shrunk, at each append, and at each fetch of a follower (from 2.4 only if that follower's
log end offset has changed).
"""

from tidegauge.compiled.records import Records
from tidegauge.compiled.rules import rule
from tidegauge.replication import records, replica_list
from tidegauge.replication.in_sync_replicas import is_replica_isr_eligible, is_under_min_isr
from tidegauge.replication.release_rules import (
    HIGH_WATERMARK_BY_COMMITTED_ISR,
    HIGH_WATERMARK_BY_ISR,
    HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE,
    HIGH_WATERMARK_BY_ISR_OR_LAG_TIME,
    HIGH_WATERMARK_BY_PROPOSED_ISR,
    ReleaseRules,
)
from tidegauge.replication.remote_replica import is_caught_up, is_within_lag_time


@rule
def counted_isr(rules: ReleaseRules, partition: records.Partition) -> int:
    """The ISR whose members the high watermark waits for; a replica list.

    The controller may have stored a pending change or not, so all releases take the larger one.

    Source: PendingExpandIsr.maximalIsr and PendingShrinkIsr.maximalIsr@2.7.0 (KIP-497).
    """
    if rules.high_watermark_rule == HIGH_WATERMARK_BY_COMMITTED_ISR:
        return partition.isr
    is_pending = partition.proposed_isr != replica_list.EMPTY
    if is_pending and rules.high_watermark_rule == HIGH_WATERMARK_BY_PROPOSED_ISR:
        return partition.proposed_isr
    return partition.maximal_isr


@rule
def holds_back_high_watermark(
    rules: ReleaseRules,
    partition: records.Partition,
    follower: records.RemoteReplica,
    replica: int,
    now_ms: int,
    replica_lag_time_max_ms: int,
    ineligible: int,
) -> bool:
    """Whether the leader's high watermark waits for this follower's log end offset.

    Source: Partition.maybeIncrementLeaderHW@0.9.0.0, @0.10.2.0, @2.8.0, @3.3.0, @3.6.0.
    """
    if replica_list.contains(counted_isr(rules, partition), replica):
        return True
    if rules.high_watermark_rule in (
        HIGH_WATERMARK_BY_ISR,
        HIGH_WATERMARK_BY_COMMITTED_ISR,
        HIGH_WATERMARK_BY_PROPOSED_ISR,
    ):
        return False
    if rules.high_watermark_rule == HIGH_WATERMARK_BY_ISR_OR_LAG_TIME:
        return is_within_lag_time(follower, now_ms, replica_lag_time_max_ms)
    if rules.high_watermark_rule == HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE and (
        not is_replica_isr_eligible(rules, replica, ineligible)
    ):
        return False
    return is_caught_up(follower, partition.log_end_offset, now_ms, replica_lag_time_max_ms)


@rule
def maybe_increment_leader_high_watermark(
    rules: ReleaseRules,
    partition: records.Partition,
    followers: Records[records.RemoteReplica],
    now_ms: int,
    replica_lag_time_max_ms: int,
    ineligible: int,
) -> bool:
    """Move the leader's high watermark as far as its followers allow; whether it moved.

    A follower that has not fetched yet (log end offset -1) and holds it back stops it.

    Source: Partition.maybeIncrementLeaderHW@0.10.2.0 to @3.8.0.
    """
    if rules.high_watermark_waits_for_min_isr and is_under_min_isr(rules, partition):
        return False
    new_high_watermark = partition.log_end_offset
    replicas = partition.replicas
    while replicas != replica_list.EMPTY:
        replica = replica_list.first(replicas)
        replicas = replica_list.rest(replicas)
        if replica == partition.local_replica:
            continue
        follower = followers[partition.first_follower + replica]
        # The cheap comparison first: most followers have the records of the others.
        if follower.log_end_offset < new_high_watermark and holds_back_high_watermark(
            rules, partition, follower, replica, now_ms, replica_lag_time_max_ms, ineligible
        ):
            new_high_watermark = follower.log_end_offset
    return maybe_increment_high_watermark(partition, new_high_watermark)


@rule
def maybe_increment_high_watermark(partition: records.Partition, new_high_watermark: int) -> bool:
    """Raise the high watermark of a leader's log, never lower it; whether it moved.

    Source: Log.maybeIncrementHighWatermark@2.4.0.
    """
    if partition.high_watermark >= new_high_watermark:
        return False
    partition.high_watermark = new_high_watermark
    return True


@rule
def may_move_after_fetch(
    rules: ReleaseRules, log_end_offset_before: int, follower: records.RemoteReplica
) -> bool:
    """Whether a follower's fetch is an occasion to move the leader's high watermark.

    Source: Partition.updateFollowerFetchState@2.4.0; before, every fetch was.
    """
    return (
        not rules.high_watermark_only_if_follower_moved
        or follower.log_end_offset != log_end_offset_before
    )


@rule
def high_watermark_of_response(rules: ReleaseRules, before_fetch: int, after_fetch: int) -> int:
    """The high watermark that a fetch which is answered at once brings its follower.

    It is read before the fetch is counted, so a follower gets the effect of its own fetch one round
    later. (A fetch that waited is read again when it completes.)

    Source: ReplicaManager.readFromLocalLog@2.4.0; updateFollowerLogReadResults@1.1.0 and
    @1.1.1 (KAFKA-7104).
    """
    return after_fetch if rules.high_watermark_of_response_is_new else before_fetch


@rule
def update_high_watermark(
    rules: ReleaseRules, partition: records.Partition, high_watermark: int
) -> None:
    """Set a follower's high watermark: from a fetch response, or from the checkpoint.

    Up to 2.3 it is cut at the log end offset only; from 2.4 it stays within the log.

    Source: ReplicaFetcherThread.processPartitionData@0.11.0.0 and @2.4.0,
    Log.updateHighWatermark@2.4.0.
    """
    high_watermark = min(high_watermark, partition.log_end_offset)
    if rules.high_watermark_clamped_to_log:
        high_watermark = max(high_watermark, partition.log_start_offset)
    partition.high_watermark = high_watermark


@rule
def check_high_watermark_of_new_leader(rules: ReleaseRules, partition: records.Partition) -> None:
    """Reset the high watermark of a new leader if it lies outside its log.

    Up to 2.3 truncation can leave it above the log end (``log.py``); on a leader it would expose
    later appends before any follower has them. So it falls back to the log start, up to 1.0.1 to
    "unknown". From 2.4 on it is never outside.

    Source: Replica.convertHWToLocalOffsetMetadata@0.10.2.0 and @1.0.2.
    """
    inside = partition.log_start_offset <= partition.high_watermark <= partition.log_end_offset
    if inside or rules.high_watermark_clamped_to_log:
        return
    partition.high_watermark = (
        records.UNDEFINED
        if rules.high_watermark_outside_log_unknown
        else partition.log_start_offset
    )


@rule
def takes_high_watermark_of_response(rules: ReleaseRules, diverges: bool) -> bool:
    """Whether a follower updates its high watermark from this fetch response.

    A response with a truncation should not count, but did up to 3.4.0 (KAFKA-14704): records about
    to be cut could be read for a moment.

    Source: AbstractFetcherThread.processFetchRequest@3.4.0 and @3.5.0.
    """
    return not diverges or rules.high_watermark_from_diverging_response
