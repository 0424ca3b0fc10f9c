"""A follower's search for the offset at which its log leaves the leader's: five generations.

=====================  =============  ==================================================
generation             releases       the follower ...
=====================  =============  ==================================================
to high watermark      up to 0.10.2   does not ask: it cuts its log at its own HW
KIP-101                0.11 - 1.1     asks where its last epoch ended in the leader's log
KIP-279                2.0            is also told which epoch that was; if it has not got
                                      that one, it cuts to its own end of the largest epoch
                                      below and asks again
KIP-320                2.1 - 2.7      ... under its leader epoch, so that neither side can
                                      answer for another term
truncation on fetch    from 2.8 on    tells its last epoch in each fetch, and the leader
(KIP-595)                             answers with the epoch at which the logs part
never                  none           keeps its log and fetches on from its end
=====================  =============  ==================================================

Every generation falls back to a fixed offset when there is nothing to compare: the follower's high
watermark at the time it became follower. The first generation loses committed records (its HW lags
one round behind) and lets logs diverge (records below its HW are never compared); the second still
does with three fast elections.

The release *and* inter.broker.protocol.version choose the generation.
"""

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors, release_rules
from tidegauge.replication.records import UNDEFINED, Partition, PartitionFetchState

#: The generations as people call them.
GENERATION_NAMES = {
    int(release_rules.TRUNCATE_TO_HIGH_WATERMARK): "truncation to the high watermark",
    int(release_rules.TRUNCATE_KIP_101): "KIP-101",
    int(release_rules.TRUNCATE_KIP_279): "KIP-279",
    int(release_rules.TRUNCATE_KIP_320): "KIP-320",
    int(release_rules.TRUNCATE_ON_FETCH): "truncation on fetch (KIP-595)",
    int(release_rules.TRUNCATE_NEVER): "no truncation",
}

# A follower's action upon a response to OffsetsForLeaderEpoch.
TAKE_ANSWER = code(1)
RETRY_AFTER_BACKOFF = code(2)
DROP_ANSWER = code(3)
PARTITION_FENCED = code(4)


@rule
def initial_fetch_offset(rules: release_rules.ReleaseRules, partition: Partition) -> int:
    """The offset with which a partition is handed to the fetcher.

    Truncation falls back to it, and otherwise it is the first to be fetched.

    Source: ReplicaManager.makeFollowers@0.11.0.0 and @1.1.0, initialFetchOffset@2.8.0.
    """
    if rules.truncation_protocol == release_rules.TRUNCATE_ON_FETCH and partition.epoch_count > 0:
        return partition.log_end_offset
    if rules.truncation_protocol == release_rules.TRUNCATE_NEVER:
        return partition.log_end_offset
    if rules.fetch_starts_at_high_watermark:
        return partition.high_watermark
    return partition.log_end_offset


@rule
def asks_for_epoch_end(rules: release_rules.ReleaseRules, partition: Partition) -> bool:
    """Whether a truncating follower sends OffsetsForLeaderEpoch.

    With an empty cache there is nothing to ask for; up to 2.1.0 it asks all the same, for
    epoch -1.

    Source: ReplicaFetcherThread.buildLeaderEpochRequest@0.11.0.0 and @2.0.0,
    AbstractFetcherThread.buildLeaderEpochRequest@2.1.0, fetchTruncatingPartitions@2.1.1.
    """
    if rules.truncation_protocol in (
        release_rules.TRUNCATE_TO_HIGH_WATERMARK,
        release_rules.TRUNCATE_NEVER,
    ):
        return False
    return partition.epoch_count > 0 or rules.empty_cache_is_asked_for


@rule
def fallback_offset(
    rules: release_rules.ReleaseRules, partition: Partition, fetch: PartitionFetchState
) -> int:
    """The truncation offset of a follower that cannot ask, or gets the response "undefined".

    Source: ReplicaFetcherThread.maybeTruncate@0.11.0.0,
    AbstractFetcherThread.truncateToHighWatermark@2.1.1.
    """
    if rules.fetch_starts_at_high_watermark:
        return fetch.fetch_offset
    return partition.high_watermark


@rule
def leader_epoch_of_epoch_request(
    rules: release_rules.ReleaseRules, fetch: PartitionFetchState
) -> int:
    """The leader epoch in which OffsetsForLeaderEpoch is asked; -1 if it carries none.

    Source: ReplicaFetcherThread.offsetForLeaderEpochRequestVersion@2.1.0 (KIP-320).
    """
    return fetch.current_leader_epoch if rules.epoch_request_fenced else UNDEFINED


@rule
def offset_truncation_state(
    leader_epoch: int,
    end_offset: int,
    own_epoch: int,
    own_end_offset: int,
    log_end_offset: int,
    fallback_offset: int,
) -> tuple[int, bool]:
    """The truncation offset after the leader's response, and whether that settles it.

    ``leader_epoch`` and ``end_offset`` are the response (or the diverging epoch of a fetch
    response); ``own_epoch`` and ``own_end_offset`` are the entry of that epoch in the follower's
    own cache. Answers of version 0 (KIP-101) carry no epoch and always settle it.

    Source: ReplicaFetcherThread.maybeTruncate@0.11.0.0,
    AbstractFetcherThread.getOffsetTruncationState@2.0.0 to @3.8.0.
    """
    if end_offset == UNDEFINED:
        return fallback_offset, True
    if leader_epoch == UNDEFINED or own_end_offset == UNDEFINED:
        return min(end_offset, log_end_offset), True
    if own_epoch != leader_epoch:
        return min(own_end_offset, log_end_offset), False
    return min(own_end_offset, end_offset, log_end_offset), True


@rule
def epoch_answer_action(
    rules: release_rules.ReleaseRules,
    error: int,
    requested_in_epoch: int,
    current_leader_epoch: int,
) -> int:
    """The action upon a response to OffsetsForLeaderEpoch, or upon the error in it.

    The leader epoch may have changed while the request was under way.

    Source: AbstractFetcherThread.maybeTruncate@2.1.0,
    truncateToEpochEndOffsets@2.1.1 (KAFKA-7786), onPartitionFenced@2.5.0.
    """
    in_current_epoch = requested_in_epoch == current_leader_epoch
    if rules.epoch_answer_dropped_on_new_epoch and not in_current_epoch:
        return DROP_ANSWER
    if error == errors.NONE:
        return TAKE_ANSWER
    if error == errors.FENCED_LEADER_EPOCH and is_fenced(rules, in_current_epoch):
        return PARTITION_FENCED
    return RETRY_AFTER_BACKOFF


@rule
def is_fenced(rules: release_rules.ReleaseRules, in_current_epoch: bool) -> bool:
    """Whether FENCED_LEADER_EPOCH means that this follower has been left behind.

    Source: AbstractFetcherThread.onPartitionFenced@2.1.0 and @2.5.0.
    """
    return in_current_epoch or not rules.fenced_only_in_current_epoch
