"""The rules of each release of Kafka: one table, each cell with its source.

``rules_of("2.6")`` is the record of switches (``release_rules.py``) that the rules take as
their first argument, ``rules_of("2.6.3", "0.10.2")`` that of a broker of 2.6.3 whose
``inter.broker.protocol.version`` is 0.10.2.

In KRaft mode a replica follows the same switches. Those that only ZooKeeper's controller asks have
values there, too, and no effect; the switches of KRaft's own control plane are in
``kraft_releases.py``.

:class:`~tidegauge.replication.release_versions.Cell` explains a cell; the last applicable cell of a
row counts. **To add a switch**, declare it in ``release_rules.py`` and add its row here: a switch
without a row is an error at import.

The sources of all releases up to 4.3.1 were read, except for the patches 3.7.2 and 3.8.1, which
are taken to be like the one before them; of 4.2.2 and 4.4.0, which come without sources, the byte
code. From 4.1.0 to 4.4.0 no rule of a replica changes but ``isr_order``. The message format is
taken to follow the protocol: Kafka does not start with a newer one
(``KafkaConfig.validateValues@2.0.0``), so a protocol before 0.11.0 comes with records that carry
no epoch.
"""

from collections.abc import Mapping
from functools import cache
from typing import get_type_hints

from tidegauge.compiled.records import new_record
from tidegauge.replication import kraft_releases, release_rules
from tidegauge.replication.checkpoint_files import CheckpointFormat
from tidegauge.replication.release_rules import (
    EPOCH_CACHE_A,
    EPOCH_CACHE_B,
    EPOCH_CACHE_C,
    EPOCH_CACHE_D,
    EPOCH_CACHE_NONE,
    FAILED_ALLOCATION_EXITS,
    FAILED_ALLOCATION_RETRIED,
    FAILED_ALLOCATION_STAYS,
    HEARTBEAT_TIMEOUT_HALF_SESSION,
    HEARTBEAT_TIMEOUT_INTERVAL,
    HEARTBEAT_TIMEOUT_SOCKET,
    HIGH_WATERMARK_BY_ISR_OR_CAUGHT_UP,
    HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE,
    HIGH_WATERMARK_BY_ISR_OR_LAG_TIME,
    ISR_APPENDED,
    ISR_HASHED,
    ISR_UPDATE_ALTER_PARTITION,
    ISR_UPDATE_ZOOKEEPER,
    ISR_UPDATE_ZOOKEEPER_PENDING,
    NO_STATE_ACCEPTED,
    NO_STATE_OUT_OF_ORDER,
    NO_STATE_UNKNOWN_PRODUCER,
    OUT_OF_SYNC_BY_OFFSET_AND_TIME,
    OUT_OF_SYNC_BY_TIME,
    RESTART_ON_NEW_EPOCH,
    RESTART_ON_NEW_LEADER,
    RESTART_UNLESS_NEXT_EPOCH,
    RESTART_UNLESS_SAME_EPOCH,
    TRUNCATE_KIP_101,
    TRUNCATE_KIP_279,
    TRUNCATE_KIP_320,
    TRUNCATE_ON_FETCH,
    TRUNCATE_TO_HIGH_WATERMARK,
    ReleaseRules,
)
from tidegauge.replication.release_versions import (
    KRAFT_MODE,
    Cell,
    Mode,
    Release,
    Table,
    cells_that_apply,
)

#: The lines by which the project compares releases.
REFERENCE_LINES = (
    *("0.10.2", "0.11", "1.1", "2.0", "2.1", "2.4", "2.6", "2.8"),
    *("3.6", "3.8", "3.9"),
)

# fmt: off
RULE_CELLS: Table = {
    # The leader's view of its followers.
    "failed_read_updates_follower": (
        Cell("0.10.2.0", True, "ReplicaManager.updateFollowerLogReadResults@0.10.2.0"),
        Cell("2.4.0", False, "KAFKA-8400, ReplicaManager.updateFollowerFetchState@2.4.0"),
    ),
    "diverging_fetch_updates_follower": (
        Cell("0.10.2.0", False, "Partition.readRecords@2.7.0"),
        Cell("2.7.0", True, "ReplicaManager.updateFollowerFetchState@2.7.0"),
        Cell("2.7.2", False, "KAFKA-13141, ReplicaManager.updateFollowerFetchState@2.7.2"),
        Cell("2.8.0", True, "ReplicaManager.updateFollowerFetchState@2.8.0"),
        Cell("2.8.1", False, "KAFKA-13141, ReplicaManager.updateFollowerFetchState@2.8.1"),
    ),
    # The four stay: a read in another epoch ends before the follower's state is touched.
    "fenced_fetch_moves_high_watermark": (
        Cell("0.10.2.0", False, "KIP-320, ReplicaManager.updateFollowerFetchState@2.4.0"),
    ),
    "fenced_fetch_is_caught_up": (
        Cell("0.10.2.0", False, "KIP-320, ReplicaManager.updateFollowerFetchState@2.4.0"),
    ),
    "fenced_fetch_expands_isr": (
        Cell("0.10.2.0", False, "KIP-320, ReplicaManager.updateFollowerFetchState@2.4.0"),
    ),
    "fenced_fetch_is_answered": (
        Cell("0.10.2.0", False, "KIP-320, Partition.readRecords@2.4.0"),
    ),
    "unknown_last_fetch_time_ms": (
        Cell("0.10.2.0", -1, "LogReadResult.UnknownLogReadResult@0.10.2.0"),
        Cell("2.4.0", 0, "KAFKA-8400, Partition.makeLeader@2.4.0"),
    ),
    "last_fetch_leader_log_end_offset_monotone": (
        Cell("0.10.2.0", False, "Replica.updateLogReadResult@0.10.2.0"),
        Cell("3.3.0", True, "Replica.updateFetchState@3.3.0"),
    ),
    "followers_reset_on_new_epoch_only": (
        Cell("0.10.2.0", False, "Partition.makeLeader@0.10.2.0"),
        Cell("3.3.0", True, "KAFKA-13790, Partition.makeLeader@3.3.0"),
    ),
    # In-sync replicas.
    "out_of_sync_rule": (
        Cell("0.10.2.0", OUT_OF_SYNC_BY_TIME, "Partition.getOutOfSyncReplicas@0.10.2.0"),
        Cell("2.1.0", OUT_OF_SYNC_BY_OFFSET_AND_TIME,
             "KAFKA-7152, Partition.getOutOfSyncReplicas@2.1.0"),
    ),
    "expand_requires_high_watermark": (
        Cell("0.10.2.0", True, "Partition.maybeExpandIsr@0.10.2.0"),
    ),
    "expand_requires_epoch_start": (
        Cell("0.10.2.0", False, "Partition.maybeExpandIsr@0.10.2.0"),
        Cell("2.0.1", True, "KAFKA-7128, Partition.maybeExpandIsr@2.0.1"),
    ),
    "expand_requires_eligible": (
        Cell("0.10.2.0", False, "Partition.maybeExpandIsr@0.10.2.0"),
        Cell("3.3.0", True, "KAFKA-13916, Partition.isReplicaIsrEligible@3.3.0"),
    ),
    "min_isr_capped_by_replicas": (
        Cell("0.10.2.0", False, "Partition.appendRecordsToLeader@0.10.2.0"),
        Cell("3.7.0", True, "KAFKA-15583, Partition.effectiveMinIsr@3.7.0"),
    ),
    "under_replicated_without_adding": (
        Cell("0.10.2.0", False, "Partition.isUnderReplicated@0.10.2.0"),
        Cell("2.5.0", True, "KIP-352, Partition.isUnderReplicated@2.5.0"),
    ),
    # Changing the ISR.
    "isr_update_path": (
        Cell("0.10.2.0", ISR_UPDATE_ZOOKEEPER, "Partition.updateIsr@0.10.2.0"),
        Cell("2.8.0", ISR_UPDATE_ZOOKEEPER_PENDING, "KAFKA-10825, ZkIsrManager.submit@2.8.0"),
        # With KRaft every metadata.version has it.
        Cell("2.7.0", ISR_UPDATE_ALTER_PARTITION,
             "KIP-497, Partition.sendAlterIsrRequest@2.7.0", protocol="2.7-IV2"),
    ),
    "isr_order": (
        Cell("0.10.2.0", ISR_APPENDED, "Partition.maybeExpandIsr@0.10.2.0"),
        Cell("4.2.0", ISR_HASHED, "Partition.prepareIsrExpand@4.2.0"),
    ),
    "isr_version_checked": (
        Cell("0.10.2.0", True, "ReplicationUtils.updateLeaderAndIsr@0.10.2.0"),
    ),
    "isr_update_ignores_equal_epoch": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("2.7.0", True, "Partition.handleAlterIsrResponse@2.7.0"),
        Cell("2.7.2", False, "KAFKA-12751, Partition.handleAlterIsrResponse@2.7.2"),
        Cell("2.8.0", True, "Partition.handleAlterIsrResponse@2.8.0"),
        Cell("2.8.1", False, "KAFKA-12751, Partition.handleAlterIsrResponse@2.8.1"),
    ),
    "isr_update_reverts_if_not_attempted": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("3.1.0", True, "KAFKA-13254, Partition.handleAlterIsrError@3.1.0"),
    ),
    "isr_update_reverts_if_ineligible": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("3.3.0", True, "KAFKA-13916, Partition.handleAlterPartitionError@3.3.0"),
    ),
    "isr_update_queued_again": (
        Cell("0.10.2.0", False, "DefaultAlterIsrManager.handleAlterIsrResponse@2.8.0"),
        Cell("3.2.1", True, "KAFKA-14010, AlterIsrManager.handleAlterPartitionResponse@3.2.1"),
    ),
    "isr_update_gives_up_on_invalid_request": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("3.2.0", True, "KIP-704, Partition.handleAlterPartitionError@3.2.0"),
    ),
    "isr_update_gives_up_on_topic_id": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("3.3.0", True, "Partition.handleAlterPartitionError@3.3.0"),
    ),
    "isr_updates_sent_periodically": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("2.7.0", True, "AlterIsrManagerImpl.start@2.7.0", protocol="2.7-IV2"),
        Cell("2.8.0", False, "DefaultAlterIsrManager.submit@2.8.0"),
    ),
    "leader_and_isr_drops_isr_update": (
        Cell("0.10.2.0", False, "Partition.updateIsr@0.10.2.0"),
        Cell("2.7.0", True, "Partition.makeLeader@2.7.0", protocol="2.7-IV2"),
        Cell("3.0.0", False, "Partition.makeLeader@3.0.0"),
    ),
    "alter_partition_epoch_checked": (
        Cell("0.10.2.0", False, "KafkaController.processAlterIsr@2.7.0"),
        Cell("3.3.0", True, "KafkaController.tryProcessAlterPartition@3.3.0"),
    ),
    "alter_partition_requires_eligible": (
        Cell("0.10.2.0", False, "KafkaController.processAlterIsr@2.7.0"),
        Cell("3.3.0", True, "KIP-841, KafkaController.tryProcessAlterPartition@3.3.0"),
    ),
    "high_watermark_on_isr_proposal": (
        Cell("0.10.2.0", False, "Partition.maybeShrinkIsr@0.10.2.0"),
        Cell("2.7.0", True, "Partition.maybeShrinkIsr@2.7.0", protocol="2.7-IV2"),
        Cell("3.1.0", False, "KAFKA-13091, Partition.maybeShrinkIsr@3.1.0"),
    ),
    "high_watermark_on_isr_update": (
        # With ZkIsrManager (2.8 - 3.0) proposal and update are one: its callback runs inside.
        Cell("0.10.2.0", True, "Partition.maybeShrinkIsr@0.10.2.0, ZkIsrManager.submit@2.8.0"),
        Cell("2.7.0", False, "Partition.handleAlterIsrResponse@2.7.0", protocol="2.7-IV2"),
        Cell("3.1.0", True, "KAFKA-13091, Partition.handleAlterIsrUpdate@3.1.0"),
    ),
    # High watermark.
    "high_watermark_rule": (
        Cell("0.10.2.0", HIGH_WATERMARK_BY_ISR_OR_LAG_TIME,
             "Partition.maybeIncrementLeaderHW@0.10.2.0"),
        Cell("3.3.0", HIGH_WATERMARK_BY_ISR_OR_CAUGHT_UP,
             "Partition.maybeIncrementLeaderHW@3.3.0"),
        Cell("3.6.0", HIGH_WATERMARK_BY_ISR_OR_ELIGIBLE,
             "KAFKA-15021, Partition.maybeIncrementLeaderHW@3.6.0"),
    ),
    "high_watermark_only_if_follower_moved": (
        Cell("0.10.2.0", False, "Partition.maybeExpandIsr@0.10.2.0"),
        Cell("2.4.0", True, "KAFKA-8841, Partition.updateFollowerFetchState@2.4.0"),
    ),
    "high_watermark_of_response_is_new": (
        Cell("0.10.2.0", False, "ReplicaManager.updateFollowerLogReadResults@0.10.2.0"),
        Cell("1.0.0", True, "ReplicaManager.updateFollowerLogReadResults@1.0.0"),
        Cell("1.0.2", False, "KAFKA-7104, ReplicaManager.updateFollowerLogReadResults@1.0.2"),
        Cell("1.1.0", True, "ReplicaManager.updateFollowerLogReadResults@1.1.0"),
        Cell("1.1.1", False, "KAFKA-7104, ReplicaManager.updateFollowerLogReadResults@1.1.1"),
    ),
    "high_watermark_waits_for_min_isr": (
        Cell("0.10.2.0", False, "Partition.maybeIncrementLeaderHW@0.10.2.0"),
        Cell("3.7.0", True, "KAFKA-15583, Partition.maybeIncrementLeaderHW@3.7.0"),
    ),
    "high_watermark_clamped_to_log": (
        Cell("0.10.2.0", False, "ReplicaFetcherThread.processPartitionData@0.10.2.0"),
        Cell("2.4.0", True, "Log.updateHighWatermark@2.4.0, Log.updateLogEndOffset@2.4.0"),
    ),
    "high_watermark_outside_log_unknown": (
        Cell("0.10.2.0", True, "Log.convertToOffsetMetadata@0.10.2.0"),
        Cell("1.0.2", False, "Replica.convertHWToLocalOffsetMetadata@1.0.2"),
    ),
    "high_watermark_from_diverging_response": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.processFetchRequest@0.10.2.0"),
        Cell("2.8.0", True, "AbstractFetcherThread.processFetchRequest@2.8.0"),
        Cell("3.4.1", False, "KAFKA-14704, AbstractFetcherThread.processFetchRequest@3.4.1"),
    ),
    # Leader epochs and truncation.
    "records_carry_epoch": (
        Cell("0.10.2.0", False, "Log.append@0.10.2.0"),
        Cell("0.11.0.0", True, "KIP-101, Log.append@0.11.0.0", protocol="0.11.0-IV0"),
    ),
    "epoch_cache_generation": (
        Cell("0.10.2.0", EPOCH_CACHE_NONE, "Log.append@0.10.2.0"),
        # Logs of an older message format have a cache too, if an empty one ...
        Cell("0.11.0.0", EPOCH_CACHE_A, "KIP-101, LeaderEpochFileCache.assign@0.11.0.0"),
        Cell("2.0.0", EPOCH_CACHE_B, "KIP-279, LeaderEpochFileCache.endOffsetFor@2.0.0"),
        Cell("2.0.1", EPOCH_CACHE_C, "KAFKA-7415, LeaderEpochFileCache.assign@2.0.1"),
        # ... until it was abolished.
        Cell("2.1.1", EPOCH_CACHE_NONE, "KAFKA-7897, Log.initializeLeaderEpochCache@2.1.1"),
        Cell("2.1.1", EPOCH_CACHE_C, "KAFKA-7415, LeaderEpochFileCache.assign@2.1.1",
             protocol="0.11.0-IV0"),
        Cell("2.7.0", EPOCH_CACHE_D, "KIP-595, LeaderEpochFileCache.assign@2.7.0",
             protocol="0.11.0-IV0"),
    ),
    "undefined_epoch_is_latest": (
        Cell("0.10.2.0", False, "LeaderEpochFileCache.endOffsetFor@0.11.0.3"),
        Cell("0.11.0.0", True, "LeaderEpochFileCache.endOffsetFor@0.11.0.0"),
        Cell("0.11.0.3", False, "KAFKA-6857, LeaderEpochFileCache.endOffsetFor@0.11.0.3"),
        Cell("1.0.0", True, "LeaderEpochFileCache.endOffsetFor@1.0.0"),
        Cell("1.0.2", False, "KAFKA-6857, LeaderEpochFileCache.endOffsetFor@1.0.2"),
        Cell("1.1.0", True, "LeaderEpochFileCache.endOffsetFor@1.1.0"),
        Cell("1.1.1", False, "KAFKA-6857, LeaderEpochFileCache.endOffsetFor@1.1.1"),
    ),
    "epoch_assigned_on_become_leader": (
        Cell("0.10.2.0", False, "Partition.makeLeader@0.10.2.0"),
        Cell("2.0.1", True, "KAFKA-7415, Partition.makeLeader@2.0.1"),
    ),
    "epoch_kept_by_empty_truncation": (
        Cell("0.10.2.0", True, "Log.truncateTo@0.11.0.0"),
        Cell("2.6.1", False, "KAFKA-10706, Log.truncateTo@2.6.1"),
    ),
    "truncation_protocol": (
        Cell("0.10.2.0", TRUNCATE_TO_HIGH_WATERMARK, "ReplicaManager.makeFollowers@0.10.2.0"),
        Cell("0.11.0.0", TRUNCATE_KIP_101,
             "KIP-101, ReplicaFetcherThread.maybeTruncate@0.11.0.0", protocol="0.11.0-IV2"),
        Cell("2.0.0", TRUNCATE_KIP_279,
             "KIP-279, AbstractFetcherThread.getOffsetTruncationState@2.0.0", protocol="2.0-IV0"),
        Cell("2.1.0", TRUNCATE_KIP_320,
             "KIP-320, AbstractFetcherThread.maybeTruncate@2.1.0", protocol="2.1-IV1"),
        Cell("2.8.0", TRUNCATE_ON_FETCH,
             "KIP-595, AbstractFetcherThread.truncateOnFetchResponse@2.8.0", protocol="2.7-IV1"),
    ),
    "empty_cache_is_asked_for": (
        Cell("0.10.2.0", False, "ReplicaManager.makeFollowers@0.10.2.0"),
        Cell("0.11.0.0", True, "ReplicaFetcherThread.buildLeaderEpochRequest@0.11.0.0"),
        Cell("2.1.1", False, "AbstractFetcherThread.fetchTruncatingPartitions@2.1.1"),
    ),
    "fetcher_restart_rule": (
        Cell("0.10.2.0", RESTART_ON_NEW_LEADER, "Partition.makeFollower@0.10.2.0"),
        Cell("2.0.1", RESTART_UNLESS_NEXT_EPOCH, "KAFKA-7164, Partition.makeFollower@2.0.1"),
        Cell("2.1.0", RESTART_UNLESS_SAME_EPOCH, "KIP-320, Partition.makeFollower@2.1.0"),
        Cell("3.3.0", RESTART_ON_NEW_EPOCH, "KAFKA-13790, Partition.makeFollower@3.3.0"),
    ),
    "fetcher_knows_leader_epoch": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.addPartitions@2.0.0"),
        Cell("2.1.0", True, "KIP-320, AbstractFetcherThread.addPartitions@2.1.0"),
    ),
    "fetch_starts_at_high_watermark": (
        Cell("0.10.2.0", False, "ReplicaManager.makeFollowers@0.10.2.0"),
        Cell("1.1.0", True, "KIP-113, ReplicaManager.makeFollowers@1.1.0"),
    ),
    "epoch_request_fenced": (
        Cell("0.10.2.0", False, "Partition.lastOffsetForLeaderEpoch@0.11.0.0"),
        Cell("2.1.0", True,
             "KIP-320, ReplicaFetcherThread.offsetForLeaderEpochRequestVersion@2.1.0",
             protocol="2.1-IV1"),
    ),
    "fetch_fenced": (
        Cell("0.10.2.0", False, "ReplicaManager.readFromLocalLog@0.10.2.0"),
        Cell("2.1.0", True, "KIP-320, ReplicaFetcherThread.fetchRequestVersion@2.1.0",
             protocol="2.1-IV2"),
    ),
    "epoch_answer_dropped_on_new_epoch": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.maybeTruncate@2.1.0"),
        Cell("2.1.1", True, "KAFKA-7786, AbstractFetcherThread.truncateToEpochEndOffsets@2.1.1"),
    ),
    "fenced_only_in_current_epoch": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.onPartitionFenced@2.1.0"),
        Cell("2.5.0", True, "KAFKA-9654, AbstractFetcherThread.onPartitionFenced@2.5.0"),
    ),
    "fetch_of_other_epoch_ignored": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.processFetchRequest@3.9.0"),
        Cell("3.9.1", True, "KAFKA-18723, AbstractFetcherThread.processFetchRequest@3.9.1"),
        Cell("4.0.0", False, "AbstractFetcherThread.processFetchRequest@4.0.0"),
        Cell("4.0.1", True, "KAFKA-18723, AbstractFetcherThread.processFetchRequest@4.0.1"),
    ),
    "failed_partition_leaves_fetcher": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.processFetchRequest@0.10.2.0"),
        Cell("2.3.0", True, "KIP-461, AbstractFetcherThread.markPartitionFailed@2.3.0"),
    ),
    "first_empty_response_forgets_epoch": (
        Cell("0.10.2.0", False, "AbstractFetcherThread.processFetchRequest@2.8.0"),
        Cell("3.5.1", True, "AbstractFetcherThread.processFetchRequest@3.5.1"),
        Cell("3.7.0", False, "KAFKA-15510, AbstractFetcherThread.processFetchRequest@3.7.0"),
    ),
    "out_of_range_can_stop_broker": (
        Cell("0.10.2.0", True, "ReplicaFetcherThread.handleOffsetOutOfRange@0.10.2.0"),
        Cell("2.0.1", False, "KAFKA-7414, ReplicaFetcherThread.handleOffsetOutOfRange@2.0.1"),
    ),
    # A leader's responses.
    "log_start_checked_before_divergence": (
        Cell("0.10.2.0", False, "Partition.readRecords@2.7.0"),
        Cell("2.7.2", True, "KAFKA-12996, Partition.readRecords@2.7.2"),
        Cell("2.8.0", False, "Partition.readRecords@2.8.0"),
        Cell("2.8.1", True, "KAFKA-12996, Partition.readRecords@2.8.1"),
    ),
    "list_offsets_waits_for_epoch_start": (
        Cell("0.10.2.0", False, "KafkaApis.fetchOffsetForTimestamp@0.10.2.0"),
        Cell("2.2.0", True, "KIP-207, Partition.fetchOffsetForTimestamp@2.2.0"),
    ),
    "unhosted_partition_looked_up": (
        Cell("0.10.2.0", False, "ReplicaManager.getLeaderReplicaIfLocal@0.10.2.0"),
        Cell("2.0.0", True, "ReplicaManager.getPartitionAndLeaderReplicaIfLocal@2.0.0"),
    ),
    "unhosted_partition_looked_up_for_epochs": (
        Cell("0.10.2.0", False, "ReplicaManager.lastOffsetForLeaderEpoch@0.11.0.0"),
        Cell("2.1.0", True, "ReplicaManager.lastOffsetForLeaderEpoch@2.1.0"),
    ),
    "preferred_read_replica_answered_at_once": (
        Cell("0.10.2.0", False, "ReplicaManager.fetchMessages@2.4.0"),
        Cell("3.2.0", True, "ReplicaManager.fetchMessages@3.2.0"),
    ),
    "follower_wakes_fetches": (
        Cell("0.10.2.0", False, "ReplicaFetcherThread.processPartitionData@2.4.0"),
        Cell("3.4.0", True, "ReplicaFetcherThread.completeDelayedFetchRequests@3.4.0"),
    ),
    "preferred_read_replica_in_isr": (
        Cell("0.10.2.0", False, "ReplicaManager.findPreferredReadReplica@2.4.0"),
        Cell("3.3.2", True, "KAFKA-14372, ReplicaManager.findPreferredReadReplica@3.3.2"),
    ),
    "missing_log_is_not_leader": (
        Cell("0.10.2.0", False, "ReplicaManager.getReplicaOrException@0.10.2.0"),
        Cell("2.6.0", True, "KAFKA-10223, Partition.getLocalLog@2.6.0"),
    ),
    "fetch_answers_newer_high_watermark": (
        Cell("0.10.2.0", False, "ReplicaManager.fetchMessages@0.10.2.0"),
        Cell("2.4.0", True, "KIP-392, ReplicaManager.fetchMessages@2.4.0"),
        Cell("2.6.0", False, "KAFKA-9731, ReplicaManager.fetchMessages@2.6.0"),
    ),
    "fetch_sessions": (
        Cell("0.10.2.0", False, "KafkaApis.handleFetchRequest@0.10.2.0"),
        Cell("1.1.0", True, "KIP-227, FetchManager.newContext@1.1.0", protocol="1.1-IV0"),
    ),
    "fetcher_sleeps_after_error": (
        Cell("0.10.2.0", True, "AbstractFetcherThread.processFetchRequest@0.10.2.0"),
        Cell("3.1.0", False, "AbstractFetcherThread.processFetchRequest@3.1.0"),
    ),
    # Idempotent producers.
    "producer_batches_retained": (
        Cell("0.10.2.0", 1, "ProducerIdEntry.isDuplicate@0.11.0.0"),
        Cell("1.0.0", 5, "KAFKA-5494, ProducerIdEntry.NumBatchesToRetain@1.0.0"),
    ),
    "producer_without_state": (
        Cell("0.10.2.0", NO_STATE_OUT_OF_ORDER, "ProducerAppendInfo.validateAppend@0.11.0.0"),
        Cell("1.0.0", NO_STATE_UNKNOWN_PRODUCER, "ProducerAppendInfo.checkSequence@1.0.0"),
        Cell("2.5.0", NO_STATE_ACCEPTED, "KIP-360, ProducerAppendInfo.checkSequence@2.5.0"),
    ),
    "unknown_sequence_is_unknown_producer": (
        Cell("0.10.2.0", False, "ProducerAppendInfo.validateAppend@0.11.0.0"),
        Cell("2.1.0", True, "KAFKA-7298, ProducerAppendInfo.checkSequence@2.1.0"),
        Cell("2.5.0", False, "KIP-360, ProducerAppendInfo.checkSequence@2.5.0"),
    ),
    "forgotten_duplicate_is_named": (
        Cell("0.10.2.0", False, "ProducerAppendInfo.validateAppend@0.11.0.0"),
        Cell("1.0.0", True, "ProducerAppendInfo.isDuplicate@1.0.0"),
        Cell("1.1.0", False, "ProducerAppendInfo.checkSequence@1.1.0"),
    ),
    "producer_outlives_records": (
        Cell("0.10.2.0", False, "ProducerStateManager.isProducerRetained@0.11.0.0"),
        Cell("2.4.0", True, "KAFKA-7190, ProducerStateManager.truncateHead@2.4.0"),
    ),
    # Requests of the controller.
    "offline_replica_answered": (
        Cell("0.10.2.0", False, "ReplicaManager.becomeLeaderOrFollower@0.10.2.0"),
        Cell("1.0.0", True, "KIP-112, ReplicaManager.becomeLeaderOrFollower@1.0.0"),
    ),
    "broker_epoch_fenced": (
        Cell("0.10.2.0", False, "KafkaApis.handleLeaderAndIsrRequest@0.10.2.0"),
        Cell("2.2.0", True, "KIP-380, KafkaApis.isBrokerEpochStale@2.2.0", protocol="2.2-IV0"),
    ),
    "stop_replica_fenced": (
        Cell("0.10.2.0", False, "ReplicaManager.stopReplicas@0.10.2.0"),
        Cell("2.6.0", True, "KIP-570, ReplicaManager.stopReplicas@2.6.0", protocol="2.6-IV0"),
    ),
    "stop_replica_accepts_equal_epoch": (
        Cell("0.10.2.0", False, "ReplicaManager.stopReplicas@2.6.0"),
        Cell("3.4.1", True, "KAFKA-13972, ReplicaManager.stopReplicas@3.4.1"),
    ),
    "partition_epoch_checked": (
        Cell("0.10.2.0", False, "Partition.makeLeader@0.10.2.0"),
        Cell("3.3.0", True, "KAFKA-13790, Partition.makeLeader@3.3.0"),
    ),
    # The controller.
    "last_isr_member_stays": (
        Cell("0.10.2.0", False, "KafkaController.removeReplicaFromIsr@0.10.2.0"),
        Cell("1.1.0", True, "KAFKA-5642, ReplicaStateMachine.doRemoveReplicasFromIsr@1.1.0"),
    ),
    "offline_replica_turns_ineligible": (
        Cell("0.10.2.0", False, "ReplicaStateMachine.handleStateChange@0.10.2.0"),
        Cell("2.3.0", True, "KAFKA-8237, ReplicaStateMachine.doHandleStateChanges@2.3.0"),
    ),
    "failure_checks_every_leader": (
        Cell("0.10.2.0", False, "KafkaController.onBrokerFailure@0.10.2.0"),
        Cell("1.0.0", True, "KIP-112, KafkaController.onReplicasBecomeOffline@1.0.0"),
    ),
    "preferred_leader_elected_again": (
        Cell("0.10.2.0", False, "PreferredReplicaPartitionLeaderSelector.selectLeader@0.10.2.0"),
        Cell("1.1.0", True, "KafkaController.onPreferredReplicaElection@1.1.0"),
        Cell("2.2.0", False, "KIP-183, PreferredReplicaLeaderElection.process@2.2.0"),
    ),
    "notifications_listed_anew": (
        Cell("0.10.2.0", False, "IsrChangeNotificationListener.handleChildChange@0.10.2.0"),
        Cell("1.1.0", True, "KAFKA-5642, KafkaController.IsrChangeNotification@1.1.0"),
    ),
    "notifications_deleted_at_failover": (
        Cell("0.10.2.0", False, "KafkaController.onControllerFailover@1.0.0"),
        Cell("1.1.0", True, "KAFKA-5642, KafkaController.onControllerFailover@1.1.0"),
    ),
    "assignment_says_what_moves": (
        Cell("0.10.2.0", False, "KafkaController.onPartitionReassignment@0.10.2.0"),
        Cell("2.4.0", True, "KIP-455, KafkaController.onPartitionReassignment@2.4.0"),
    ),
    "controller_fenced_by_epoch": (
        Cell("0.10.2.0", False, "KafkaController.elect@2.0.1"),
        Cell("2.1.0", True,
             "KAFKA-6082, KafkaZkClient.registerControllerAndIncrementControllerEpoch@2.1.0"),
    ),
    "bounced_brokers_detected": (
        Cell("0.10.2.0", False, "ReplicaStateMachine.BrokerChangeListener@0.10.2.0"),
        Cell("2.2.0", True, "KIP-380, KafkaController.processBrokerChange@2.2.0"),
    ),
    "dead_replicas_in_set": (
        Cell("0.10.2.0", True,
             "ControllerContext.replicasOnBrokers@0.10.2.2, "
             "ReplicaStateMachine.handleStateChanges@0.10.2.2"),
        Cell("1.1.0", False, "KAFKA-5642, ReplicaStateMachine.handleStateChanges@1.1.0"),
    ),
    "failover_removes_dead_replicas": (
        Cell("0.10.2.0", False, "ReplicaStateMachine.startup@0.10.2.0"),
        Cell("2.3.0", True, "KAFKA-3143, ReplicaStateMachine.startup@2.3.0"),
    ),
    "unclean_switch_elects": (
        Cell("0.10.2.0", False, "ConfigHandler.TopicConfigHandler@2.0.1"),
        Cell("2.1.0", True,
             "KIP-375, KafkaController.processTopicUncleanLeaderElectionEnable@2.1.0"),
    ),
    "rebalance_asks_known_isr": (
        Cell("0.10.2.0", False, "KafkaController.checkAndTriggerPartitionRebalance@0.10.2.0"),
        Cell("2.6.0", True, "KAFKA-9866, KafkaController.canPreferredReplicaBeLeader@2.6.0"),
    ),
    "recovery_point_at_end_after_recovery": (
        Cell("0.10.2.0", False, "Log.recoverLog@0.10.2.0"),
        Cell("1.0.0", True, "Log.recoverLog@1.0.2"),
        Cell("2.8.0", False, "KAFKA-10101, Log.recoverLog@2.8.0"),
    ),
    "registered_before_requests": (
        Cell("0.10.2.0", False, "KafkaServer.startup@0.10.2.0"),
        Cell("1.1.0", True, "KafkaServer.startup@1.1.1"),
    ),
    "port_opened_last": (
        Cell("0.10.2.0", False, "SocketServer.Acceptor@0.10.2.0"),
        Cell("3.5.0", True, "KAFKA-14658, Acceptor.start@3.5.0"),
    ),
    "shutdown_asks_cached_controller": (
        Cell("0.10.2.0", False, "KafkaServer.controlledShutdown@0.10.2.0"),
        Cell("3.0.0", True, "KAFKA-9189, KafkaServer.controlledShutdown@3.0.0"),
    ),
    "shutdown_backs_off_after_last": (
        Cell("0.10.2.0", True, "KafkaServer.controlledShutdown@0.10.2.0"),
        Cell("3.1.0", False, "KafkaServer.controlledShutdown@3.1.0"),
    ),
    "stop_interrupts_polls": (
        Cell("0.10.2.0", False, "ClientQuotaManager.shutdown@0.10.2.0"),
        Cell("3.2.0", True,
             "ClientQuotaManager.shutdown@3.2.0, DelayedOperationPurgatory.shutdown@3.2.0"),
    ),
    "epoch_requests_answered": (
        Cell("0.10.2.0", False, "RequestChannel.Request@0.10.2.0"),
        Cell("0.11.0.0", True, "KIP-101, KafkaApis.handleOffsetForLeaderEpochRequest@0.11.0.0"),
    ),
    "truncation_always_checkpoints": (
        Cell("0.10.2.0", True, "LogManager.truncateTo@0.10.2.0"),
        Cell("1.0.0", False, "LogManager.truncateTo@1.0.0"),
    ),
    "log_dir_failure_halts_broker": (
        Cell("0.10.2.0", True, "ReplicaManager.appendToLocalLog@0.10.2.0"),
        Cell("1.0.0", False, "KIP-112, ReplicaManager.LogDirFailureHandler@1.0.0",
             protocol="1.0-IV0"),
    ),
    "flush_of_closed_log_fails_directory": (
        Cell("0.10.2.0", True, "LogManager.replaceCurrentWithFutureLog@1.1.0"),
        Cell("4.0.2", False, "KAFKA-19571, LogManager.replaceCurrentWithFutureLog@4.0.2"),
        Cell("4.1.0", True, "LogManager.replaceCurrentWithFutureLog@4.1.0"),
        Cell("4.1.2", False, "KAFKA-19571, LogManager.replaceCurrentWithFutureLog@4.1.2"),
    ),
    "clean_marker_deleted_before_loading": (
        Cell("0.10.2.0", False, "LogManager.loadLogs@0.10.2.0"),
        Cell("2.8.0", True, "KAFKA-10471, LogManager.loadLogs@2.8.0"),
    ),
    # With KRaft.
    "broker_epochs_checked": (
        Cell("0.10.2.0", False, "Partition.isReplicaIsrEligible@3.3.0"),
        Cell("3.5.0", True, "KIP-903, Partition.isBrokerEpochIsrEligible@3.5.0",
             protocol="3.5-IV1", mode=KRAFT_MODE),
    ),
    "heartbeat_timeout": (
        Cell("0.10.2.0", HEARTBEAT_TIMEOUT_SOCKET, "BrokerServer.startup@3.3.1"),
        Cell("3.3.2", HEARTBEAT_TIMEOUT_HALF_SESSION, "KAFKA-14392, BrokerServer.startup@3.3.2",
             mode=KRAFT_MODE),
        Cell("3.9.2", HEARTBEAT_TIMEOUT_INTERVAL, "KAFKA-19294, BrokerServer.startup@3.9.2",
             mode=KRAFT_MODE),
        Cell("4.0.0", HEARTBEAT_TIMEOUT_HALF_SESSION, "KAFKA-14392, BrokerServer.startup@4.0.0",
             mode=KRAFT_MODE),
        Cell("4.0.1", HEARTBEAT_TIMEOUT_INTERVAL, "KAFKA-19294, BrokerServer.startup@4.1.0",
             mode=KRAFT_MODE),
    ),
    # A cast of no response throws: InterBrokerSendThread.pollOnce takes that for fatal.
    "failed_allocation": (
        Cell("0.10.2.0", FAILED_ALLOCATION_EXITS, "RPCProducerIdManager.sendRequest@3.9.1"),
        Cell("3.9.2", FAILED_ALLOCATION_RETRIED,
             "KAFKA-19990, RPCProducerIdManager.handleAllocateProducerIdsResponse@3.9.2"),
        Cell("4.0.0", FAILED_ALLOCATION_STAYS, "RPCProducerIdManager.sendRequest@4.1.1"),
        Cell("4.0.2", FAILED_ALLOCATION_RETRIED,
             "KAFKA-19990, RPCProducerIdManager.handleAllocateProducerIdsResponse@4.4.0"),
        Cell("4.1.0", FAILED_ALLOCATION_STAYS, "RPCProducerIdManager.sendRequest@4.1.1"),
        Cell("4.1.2", FAILED_ALLOCATION_RETRIED,
             "KAFKA-19990, RPCProducerIdManager.handleAllocateProducerIdsResponse@4.4.0"),
    ),
}
# fmt: on

_unmatched = RULE_CELLS.keys() ^ get_type_hints(ReleaseRules).keys()
assert not _unmatched, f"the table and the record of switches differ: {sorted(_unmatched)}"


def rules_of(release: str, protocol: str | None = None, mode: Mode | None = None) -> ReleaseRules:
    """The switches of a broker of this release: a record that is the caller's own.

    ``protocol`` is its ``inter.broker.protocol.version``, or in KRaft mode the
    ``metadata.version`` of its cluster. It and the mode default to the release's own.
    """
    rules = new_record(ReleaseRules)
    for name, cell in rule_cells_of(release, protocol, mode).items():
        setattr(rules, name, cell.value)
    return rules


@cache
def rule_cells_of(
    release: str, protocol: str | None = None, mode: Mode | None = None
) -> Mapping[str, Cell]:
    """The cell that each switch of this release has its value from."""
    return cells_that_apply(RULE_CELLS, release, protocol, mode)


def value_name(value: int | str) -> str:
    """A value of a cell as people read it: yes, -1, TRUNCATE_KIP_320."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    # Constants of different rules have equal values, but each is an object of its own.
    constants = [*vars(release_rules).items(), *vars(kraft_releases).items()]
    names = [name for name, constant in constants if constant is value]
    return names[0] if names else str(value)


def checkpoint_format_of(release: str) -> CheckpointFormat:
    """The format in which a broker of this release reads its checkpoint files."""
    return CheckpointFormat.of_release(str(Release.parse(release)))
