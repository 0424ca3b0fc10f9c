"""Records of partitions: sorts of records of the metadata log, and how one is copied."""

from __future__ import annotations

from tidegauge.compiled.rules import code, inner_rule
from tidegauge.replication.records import PartitionRegistration

# MetadataRecord.type
PARTITION_RECORD = code(0)
BROKER_RECORD = code(1)
TOPIC_RECORD = code(2)
REMOVE_TOPIC_RECORD = code(3)
CONFIG_RECORD = code(4)


@inner_rule
def copy_registration(target: PartitionRegistration, source: PartitionRegistration) -> None:
    """Take over all that is said of a partition."""
    target.replicas = source.replicas
    target.adding = source.adding
    target.removing = source.removing
    target.isr = source.isr
    target.elr = source.elr
    target.last_known_elr = source.last_known_elr
    target.leader = source.leader
    target.leader_epoch = source.leader_epoch
    target.partition_epoch = source.partition_epoch
    target.recovering = source.recovering
