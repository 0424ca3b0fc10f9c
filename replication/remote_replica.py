"""A leader's state of its followers (Kafka: ``Replica``, from 3.3 ``ReplicaState``).

A follower's fetch offset *is* its log end offset: a fetch from offset o implies everything below o.
So there are two copies of each follower's LEO: its own, which moves when it appends, and the
leader's here, which moves with the follower's next fetch.

"Caught up" is a time. A fetch that reaches the leader's log end counts now; one that
reaches the log end that the leader had at the *previous* fetch counts as of that fetch,
since a busy leader has always appended a little more by the time the next one arrives.
"""

from tidegauge.compiled.rules import rule
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED, RemoteReplica
from tidegauge.replication.release_rules import ReleaseRules


@rule
def update_fetch_state(
    rules: ReleaseRules,
    follower: RemoteReplica,
    fetch_offset: int,
    follower_log_start_offset: int,
    fetch_time_ms: int,
    leader_log_end_offset: int,
) -> None:
    """Record a follower's fetch; ``leader_log_end_offset`` is that of before the read.

    Source: Replica.updateLogReadResult@0.10.2.0, updateFetchState@2.4.0 and @3.3.0; the
    comparison with the previous fetch came with KAFKA-4485.
    """
    caught_up_time_ms = UNDEFINED
    if fetch_offset >= leader_log_end_offset:
        caught_up_time_ms = fetch_time_ms
    elif fetch_offset >= follower.last_fetch_leader_log_end_offset:
        caught_up_time_ms = follower.last_fetch_time_ms
    follower.last_caught_up_time_ms = max(follower.last_caught_up_time_ms, caught_up_time_ms)

    follower.log_end_offset = fetch_offset
    follower.log_start_offset = follower_log_start_offset
    follower.last_fetch_time_ms = fetch_time_ms
    if (
        not rules.last_fetch_leader_log_end_offset_monotone
        or leader_log_end_offset > follower.last_fetch_leader_log_end_offset
    ):
        follower.last_fetch_leader_log_end_offset = leader_log_end_offset


@rule
def update_after_failed_read(rules: ReleaseRules, follower: RemoteReplica) -> None:
    """Record a follower's fetch whose read failed, with OFFSET_OUT_OF_RANGE for example.

    Up to 2.3 the leader took the failed read for one at "unknown": the follower's LEO became -1,
    and a member of the ISR with LEO -1 stops the high watermark. The attempt to move it that
    follows is made at time -1 as well, when every follower was caught up.

    Source: ReplicaManager.updateFollowerLogReadResults@2.0.0; KAFKA-8400, fixed in 2.4.0.
    """
    if rules.failed_read_updates_follower:
        update_fetch_state(rules, follower, UNDEFINED, UNDEFINED, UNDEFINED, UNDEFINED)


@rule
def is_fetch_fenced(rules: ReleaseRules, error: int, epoch_error: int) -> bool:
    """Whether a fetch was made in another leader epoch than the leader's.

    ``error`` is the response's; ``epoch_error`` the comparison of both epochs, which is asked where
    such a fetch is answered.

    Source: Partition.checkCurrentLeaderEpoch@2.1.0 (KIP-320).
    """
    if rules.fenced_fetch_is_answered and epoch_error != errors.NONE:
        return True
    return error in (errors.FENCED_LEADER_EPOCH, errors.UNKNOWN_LEADER_EPOCH)


@rule
def update_after_fenced_fetch(
    rules: ReleaseRules,
    follower: RemoteReplica,
    fetch_offset: int,
    fetch_time_ms: int,
    leader_log_end_offset: int,
) -> bool:
    """Record a fetch of another leader epoch; whether the high watermark may move.

    A follower in another epoch may hold other records at these offsets, so no release counts it.

    Source: ReplicaManager.updateFollowerFetchState@2.4.0, which skips reads that failed (KIP-320).
    """
    if rules.fenced_fetch_is_caught_up and fetch_offset >= leader_log_end_offset:
        follower.last_caught_up_time_ms = fetch_time_ms
    if rules.fenced_fetch_moves_high_watermark:
        follower.log_end_offset = fetch_offset
    return rules.fenced_fetch_moves_high_watermark


@rule
def counts_fetch(rules: ReleaseRules, diverges: bool) -> bool:
    """Whether the leader records a fetch at all: not if it makes the follower truncate.

    Otherwise the log end offset of a log that is about to be cut can move the high
    watermark (KAFKA-13141).

    Source: ReplicaManager.updateFollowerFetchState@2.7.0 and @2.8.1.
    """
    return not diverges or rules.diverging_fetch_updates_follower


@rule
def initialize_follower(follower: RemoteReplica, broker: int) -> None:
    """Reset the view of a follower: a new replica of the assignment.

    ``last_caught_up_time_ms`` 0 is "never", so the clocks of brokers have to start well
    above ``replica.lag.time.max.ms``.

    Source: Replica constructor@2.4.0, ReplicaState.Empty@3.3.0.
    """
    follower.broker = broker
    follower.log_end_offset = UNDEFINED
    follower.log_start_offset = UNDEFINED
    follower.last_fetch_leader_log_end_offset = 0
    follower.last_fetch_time_ms = 0
    follower.last_caught_up_time_ms = 0


@rule
def reset_replica_state(
    rules: ReleaseRules,
    follower: RemoteReplica,
    now_ms: int,
    leader_log_end_offset: int,
    is_new_leader: bool,
    is_in_isr: bool,
) -> None:
    """Reset the view of a follower when this broker becomes leader.

    Members of the ISR start with a full lag time of grace. A new leader has no log end offset of a
    follower until its first fetch, so its high watermark stands still till then.

    Source: Partition.makeLeader@0.10.2.0 and @2.4.0 with Replica.resetLastCaughtUpTime;
    Replica.resetReplicaState@3.3.0.
    """
    grace_since_ms = now_ms if is_in_isr else 0
    follower.last_caught_up_time_ms = grace_since_ms
    if is_new_leader:
        follower.log_end_offset = UNDEFINED
        follower.log_start_offset = UNDEFINED
        follower.last_fetch_leader_log_end_offset = UNDEFINED
        follower.last_fetch_time_ms = rules.unknown_last_fetch_time_ms
    else:
        follower.last_fetch_leader_log_end_offset = leader_log_end_offset
        follower.last_fetch_time_ms = now_ms
        if rules.followers_reset_on_new_epoch_only:
            follower.last_fetch_time_ms = grace_since_ms


@rule
def is_within_lag_time(follower: RemoteReplica, now_ms: int, replica_lag_time_max_ms: int) -> bool:
    """Whether the follower was caught up at most ``replica.lag.time.max.ms`` ago.

    Source: Partition.maybeIncrementLeaderHW@0.10.2.0, where it is part of the condition.
    """
    return now_ms - follower.last_caught_up_time_ms <= replica_lag_time_max_ms


@rule
def is_caught_up(
    follower: RemoteReplica,
    leader_log_end_offset: int,
    now_ms: int,
    replica_lag_time_max_ms: int,
) -> bool:
    """Whether the follower has all that the leader has, or had it within the lag time.

    Source: ReplicaState.isCaughtUp@3.3.0.
    """
    return follower.log_end_offset == leader_log_end_offset or is_within_lag_time(
        follower, now_ms, replica_lag_time_max_ms
    )
