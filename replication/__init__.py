"""The rules of one replica: pure functions over records, without clock, I/O or Ray.

The places of Kafka's subjects here:

==========================================  ================================================
Kafka                                       here
==========================================  ================================================
Partition.makeLeader, makeFollower          ``partition.py``
Partition.maybeIncrementLeaderHW            ``high_watermark.py``
Log.updateHighWatermark                     ``high_watermark.py``
Partition.maybeShrinkIsr, maybeExpandIsr    ``in_sync_replicas.py``: who;
..                                          ``isr_update.py``: how, and the answers to it
PendingExpandIsr, PendingShrinkIsr          ``isr_update.py``
Partition.isUnderReplicated, isUnderMinIsr  ``in_sync_replicas.py``
Partition.appendRecordsToLeader             ``in_sync_replicas.py``, ``log.py``
Partition.checkEnoughReplicasReachOffset    ``in_sync_replicas.py``
Replica.updateFetchState                    ``remote_replica.py``
ReplicaManager.updateFollowerFetchState     ``remote_replica.py``
Log.append, truncateTo (UnifiedLog in 3.x)  ``log.py``
Log.deleteOldSegments                       ``log.py``
LeaderEpochFileCache                        ``leader_epoch_cache.py``
AbstractFetcherThread: truncation           ``truncation.py``
..                                          (getOffsetTruncationState, maybeTruncate)
AbstractFetcherThread: states, errors       ``fetcher.py``
Partition.lastOffsetForLeaderEpoch          ``leader_read.py``
Partition.readRecords, ListOffsets          ``leader_read.py``
ReplicaManager.findPreferredReadReplica     ``leader_read.py``
ReplicaManager.becomeLeaderOrFollower       ``partition.py``
ReplicaManager.stopReplicas                 ``partition.py``
KafkaApis.isBrokerEpochStale                ``partition.py``
ProducerStateManager, ProducerAppendInfo    ``producer_state.py``
ReplicationQuotaManager                     ``replication_quota.py``
ReplicaManager.maybePropagateIsrChanges     ``isr_update.py``
CheckpointFile, OffsetCheckpointFile        ``checkpoint_files.py``
ApiVersion, MetadataVersion                 ``release_versions.py``
KafkaConfig defaults                        ``release_defaults.py``
Errors                                      ``errors.py``
==========================================  ================================================

A rule works on records (``records.py``). Replicas are slots in a replica list
(``replica_list.py``). A difference between releases is a switch (``release_rules.py``) that one
table sets (``releases.py``); rules that a run can do without have names (``ablations.py``). The
decorator that makes machine code of a rule is in ``compiled``.
``reconciliation.py`` puts the rules of a follower and a leader together and plays one meeting of
two logs.

This room imports from ``compiled`` only.
"""
