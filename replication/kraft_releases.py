"""Which release of Kafka has which rules of KRaft's control plane: one table, like ``releases.py``.

``kraft_rules_of("4.1")`` is the record of switches (``kraft_rules.py``) of a new cluster of 4.1.1,
``kraft_rules_of("4.1", "3.9")`` that of one which still has metadata.version 3.9-IV0. A cell's
``protocol`` is a metadata.version. **To add a switch**, declare it in ``kraft_rules.py`` and add
its row here: a switch without a row is an error at import.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import get_type_hints

from tidegauge.compiled.records import new_record
from tidegauge.replication.kraft_rules import (
    ELECTION_LOSS_BACKS_OFF,
    ELECTION_LOSS_WAITS,
    STALE_BROKERS_BY_TIMER,
    STALE_BROKERS_PERIODICALLY,
    KRaftRules,
)
from tidegauge.replication.release_versions import KRAFT_MODE, Cell, Table, cells_that_apply

# fmt: off
KRAFT_CELLS: Table = {
    # Brokers.
    "unfencing_requires_own_registration": (
        Cell("3.3.0", True, "KAFKA-13959, BrokerHeartbeatManager.calculateNextBrokerState@3.3.0"),
    ),
    "contact_noted_at_arrival": (
        Cell("3.3.0", False, "QuorumController.processBrokerHeartbeat@3.3.1"),
        Cell("4.0.0", True, "KAFKA-17793, QuorumController.processBrokerHeartbeat@4.0.0"),
    ),
    "expired_heartbeat_is_contact": (
        Cell("3.3.0", False, "QuorumController.processBrokerHeartbeat@3.3.1"),
        Cell("3.5.0", True,
             "KAFKA-15019, ReplicationControlManager.processExpiredBrokerHeartbeat@3.5.0"),
    ),
    "stale_broker_rule": (
        Cell("3.3.0", STALE_BROKERS_BY_TIMER,
             "QuorumController.rescheduleMaybeFenceStaleBrokers@3.3.1"),
        Cell("4.0.0", STALE_BROKERS_PERIODICALLY,
             "QuorumController.maybeFenceStaleBrokerPeriodNs@4.0.0"),
    ),
    "shutdown_offset_grows": (
        Cell("3.3.0", True, "BrokerHeartbeatManager.updateControlledShutdownOffset@3.3.1"),
        Cell("3.3.2", False,
             "KAFKA-14292, BrokerHeartbeatManager.maybeUpdateControlledShutdownOffset@3.3.2"),
    ),
    "reregistration_keeps_epoch": (
        Cell("3.3.0", False, "ClusterControlManager.registerBroker@3.3.1"),
        Cell("3.9.0", True, "KAFKA-16952, ClusterControlManager.registerBroker@3.9.0"),
    ),
    "registration_clears_isr": (
        Cell("3.3.0", False, "ClusterControlManager.registerBroker@3.3.1"),
        Cell("4.0.0", True, "KAFKA-18106, ReplicationControlManager.handleBrokerShutdown@4.0.0"),
    ),
    # Before 4.0 a fenced broker has no session.
    "fenced_sessions_restart": (
        Cell("3.3.0", False, "ClusterControlManager.activate@3.3.1"),
        Cell("4.0.0", True, "KAFKA-18138, ClusterControlManager.activate@4.0.0"),
        Cell("4.1.0", False, "KAFKA-19130, BrokerHeartbeatManager.register@4.1.0"),
    ),
    # Partitions.
    "fenced_replica_in_isr": (
        Cell("3.3.0", False,
             "KIP-841, KAFKA-13916, ReplicationControlManager.ineligibleReplicasForIsr@3.3.0"),
    ),
    "alter_partition_ahead_is_retried": (
        Cell("3.3.0", True,
             "KAFKA-14154, ReplicationControlManager.validateAlterPartitionData@3.3.0"),
    ),
    "fetch_of_earlier_broker_epoch_refused": (
        Cell("3.3.0", False, "Replica.updateFetchState@3.3.1"),
        Cell("3.7.0", True, "KAFKA-15221, Replica.updateFetchStateOrThrow@3.7.0",
             protocol="3.5-IV1"),
    ),
    "leader_epoch_raised_at_isr_shrink": (
        Cell("3.3.0", True, "PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded@3.3.1"),
        Cell("3.6.0", False,
             "KAFKA-15021, PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded@3.6.0",
             protocol="3.6-IV0"),
    ),
    "directories_known": (
        Cell("3.3.0", False, "ClusterControlManager.registerBroker@3.3.1"),
        Cell("3.7.0", True, "KIP-858, MetadataVersion.isDirectoryAssignmentSupported@3.7.0",
             protocol="3.7-IV2"),
    ),
    "reassignment_requires_whole_target": (
        Cell("3.3.0", False, "PartitionChangeBuilder.completeReassignmentIfNeeded@3.3.1"),
        Cell("3.8.0", True,
             "KAFKA-15665, PartitionReassignmentReplicas.maybeCompleteReassignment@3.8.0"),
    ),
    "unclean_election_periodic": (
        Cell("3.3.0", False, "ReplicationControlManager.electLeaders@3.3.1"),
        Cell("3.9.0", True,
             "KAFKA-12670, ReplicationControlManager.maybeElectUncleanLeaders@3.9.0"),
    ),
    "eligible_leader_replicas_possible": (
        Cell("3.3.0", False, "PartitionChangeBuilder.build@3.3.1"),
        Cell("4.0.0", True, "KIP-966, EligibleLeaderReplicasVersion.ELRV_1@4.0.0",
             protocol="4.0-IV1"),
    ),
    "eligible_leader_replicas_by_default": (
        Cell("3.3.0", False, "PartitionChangeBuilder.build@3.3.1"),
        Cell("4.1.0", True, "KIP-966, EligibleLeaderReplicasVersion.ELRV_1@4.1.0",
             protocol="4.1-IV0"),
    ),
    # Before 4.0 there is no last known leader.
    "fenced_last_known_leader_elected": (
        Cell("3.3.0", False, "PartitionChangeBuilder.electLeader@3.3.1"),
        Cell("4.0.0", True, "PartitionChangeBuilder.electAnyLeader@4.0.0"),
        Cell("4.1.0", False, "KAFKA-19522, PartitionChangeBuilder.electAnyLeader@4.1.0"),
    ),
    # The quorum.
    "large_operation_refused": (
        Cell("3.3.0", False, "QuorumController.appendRecords@3.3.1"),
        Cell("3.5.0", True, "KAFKA-14996, QuorumController.appendRecords@3.5.0"),
    ),
    "leader_checks_quorum": (
        Cell("3.3.0", False, "KafkaRaftClient.pollLeader@3.3.1"),
        Cell("3.7.0", True, "KAFKA-15489, LeaderState.timeUntilCheckQuorumExpires@3.7.0"),
    ),
    "pre_vote": (
        Cell("3.3.0", False, "KafkaRaftClient.pollFollowerAsVoter@3.3.1"),
        Cell("4.0.0", True, "KIP-996, KafkaRaftClient.pollProspective@4.0.0"),
    ),
    "election_loss_rule": (
        Cell("3.3.0", ELECTION_LOSS_BACKS_OFF, "KafkaRaftClient.pollCandidate@3.3.1"),
        Cell("4.1.0", ELECTION_LOSS_WAITS,
             "KAFKA-18345, KafkaRaftClient.maybeHandleElectionLoss@4.1.0"),
    ),
    "metadata_fetch_carries_high_watermark": (
        Cell("3.3.0", False, "KafkaRaftClient.tryCompleteFetchRequest@3.3.1"),
        Cell("4.1.0", True, "KIP-1166, KafkaRaftClient.tryCompleteFetchRequest@4.1.0",
             protocol="4.1-IV1"),
    ),
}
# fmt: on

_unmatched = KRAFT_CELLS.keys() ^ get_type_hints(KRaftRules).keys()
assert not _unmatched, f"the table and the record of switches differ: {sorted(_unmatched)}"


def kraft_rules_of(release: str, metadata_version: str | None = None) -> KRaftRules:
    """The switches of a controller or broker of this release: a record that is the caller's own.

    ``metadata_version`` is that of the cluster, by default the release's own.
    """
    rules = new_record(KRaftRules)
    for name, cell in kraft_cells_of(release, metadata_version).items():
        setattr(rules, name, cell.value)
    return rules


@cache
def kraft_cells_of(release: str, metadata_version: str | None = None) -> Mapping[str, Cell]:
    """The cell that each switch of this release has its value from."""
    return cells_that_apply(KRAFT_CELLS, release, metadata_version, KRAFT_MODE)
