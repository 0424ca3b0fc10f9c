"""Which requests of a controller a broker obeys: the fences against the past.

A request can come from a controller that has been replaced, be meant for the broker's
previous life, or overtake a newer decision. Three epochs tell: the controller's, the
broker's (from 2.2, KIP-380: the czxid of its registration), the partition's leader epoch.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors
from tidegauge.replication.records import UNDEFINED, Partition
from tidegauge.replication.release_rules import ReleaseRules

#: Leader epoch in a StopReplica that deletes the topic, whatever the epoch is.
EPOCH_DURING_DELETE = code(-2)
#: Leader epoch in a StopReplica of a controller that does not send any.
NO_EPOCH = code(-1)


@rule
def controller_request_error(
    rules: ReleaseRules,
    known_controller_epoch: int,
    controller_epoch: int,
    own_broker_epoch: int,
    broker_epoch: int,
) -> int:
    """Judge a LeaderAndIsr, UpdateMetadata or StopReplica as a whole.

    A broker epoch of -1 comes from a controller that does not send it.

    Source: KafkaApis.isBrokerEpochStale@2.2.0, ReplicaManager.becomeLeaderOrFollower@2.4.0.
    """
    if rules.broker_epoch_fenced and UNDEFINED < broker_epoch < own_broker_epoch:
        return errors.STALE_BROKER_EPOCH
    if controller_epoch < known_controller_epoch:
        return errors.STALE_CONTROLLER_EPOCH
    return errors.NONE


@rule
def leader_and_isr_error(
    rules: ReleaseRules,
    known_leader_epoch: int,
    leader_epoch: int,
    is_replica: bool,
    is_offline: bool,
) -> int:
    """Judge one partition of a LeaderAndIsr: only a greater leader epoch is obeyed.

    ``is_offline``: the log lies in a directory that has failed; this is looked at first.

    Source: ReplicaManager.becomeLeaderOrFollower@2.4.0.
    """
    if is_offline and rules.offline_replica_answered:
        return errors.KAFKA_STORAGE_ERROR
    if leader_epoch <= known_leader_epoch:
        return errors.STALE_CONTROLLER_EPOCH
    if not is_replica:
        return errors.UNKNOWN_TOPIC_OR_PARTITION
    return errors.NONE


@rule
def skips_older_partition_epoch(
    rules: ReleaseRules, partition: Partition, partition_epoch: int
) -> bool:
    """Whether a LeaderAndIsr that was accepted is skipped: its state is older than known.

    Source: Partition.makeLeader and makeFollower@3.3.0.
    """
    return rules.partition_epoch_checked and partition_epoch < partition.partition_epoch


@rule
def stop_replica_error(rules: ReleaseRules, known_leader_epoch: int, leader_epoch: int) -> int:
    """Judge one partition of a StopReplica.

    Source: ReplicaManager.stopReplicas@2.5.0, @2.6.0 (KIP-570) and @3.4.1 (KAFKA-13972).
    """
    if not rules.stop_replica_fenced or leader_epoch in (EPOCH_DURING_DELETE, NO_EPOCH):
        return errors.NONE
    if leader_epoch > known_leader_epoch:
        return errors.NONE
    if rules.stop_replica_accepts_equal_epoch and leader_epoch == known_leader_epoch:
        return errors.NONE
    return errors.FENCED_LEADER_EPOCH
