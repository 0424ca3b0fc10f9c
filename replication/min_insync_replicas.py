"""min.insync.replicas: what acks=all may rely on, before the append and after it.

Before the append a partition with too few in-sync replicas refuses acks=all. After it, if
the ISR shrank while the request waited, the producer is told so, but the records stay and
are below the high watermark: they can be read.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors
from tidegauge.replication.in_sync_replicas import effective_min_isr, is_under_min_isr
from tidegauge.replication.records import Partition
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.replica_list import size

#: ``acks`` of a produce request.
ACKS_ALL = code(-1)
ACKS_NONE = code(0)
ACKS_LEADER = code(1)


@rule
def append_error(rules: ReleaseRules, partition: Partition, acks: int) -> int:
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
    rules: ReleaseRules, partition: Partition, required_offset: int
) -> tuple[bool, int]:
    """Whether an acks=all produce that waits is done, and with which error.

    ``required_offset`` is the offset after its last record. The maximal ISR counts: a
    replica that is about to join must have the record too.

    Source: Partition.checkEnoughReplicasReachOffset@0.10.2.0 and @2.8.0.
    """
    if partition.high_watermark < required_offset:
        return False, errors.NONE
    if size(partition.maximal_isr) < effective_min_isr(rules, partition):
        return True, errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return True, errors.NONE
