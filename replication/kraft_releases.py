"""The rules of KRaft's control plane that differ between releases, as one record of switches.

They are those of controllers, and of brokers that register with them; the rules of a replica, and
those that its broker needs with KRaft, are in ``release_rules.py``. A switch that all releases set
alike is there for its source, and for a test that shows the purpose of the rule by another
value.

One table has the release and ``metadata.version`` of each switch, like ``releases.py``.

``kraft_rules_of("4.1")`` is the record of switches of a new cluster of 4.1.1,
``kraft_rules_of("4.1", "3.9")`` that of one which still has metadata.version 3.9-IV0. A cell's
``protocol`` is a metadata.version. **To add a switch**, declare it in the record and
add its row to the table: a switch without a row is an error at import.
"""

from collections.abc import Mapping
from functools import cache
from typing import get_type_hints

from tidegauge.compiled.codes import code
from tidegauge.compiled.records import Record, flag, i64, new_record
from tidegauge.replication.release_versions import KRAFT_MODE, Cell, Table, cells_that_apply

# stale_broker_rule: when the active controller looks for brokers whose session has expired.
STALE_BROKERS_BY_TIMER = code(1)  #: as the first session expires; the oldest contact first
STALE_BROKERS_PERIODICALLY = code(2)  #: every eighth of a session; in the order of a hash table

# reassignment_rule: which replicas are in the ISR when a reassignment is complete.
REASSIGNMENT_AWAITS_ADDED = code(1)  #: those that it adds
REASSIGNMENT_AWAITS_TARGET = code(2)  #: the whole target
REASSIGNMENT_AWAITS_TARGET_IF_REDUCED = code(3)  #: the target if it removes more than it adds

# election_loss_rule: when a voter that has lost an election begins the next one.
ELECTION_LOSS_BACKS_OFF = code(1)  #: after a random, exponential backoff, the same at its maximum
ELECTION_LOSS_BACKS_OFF_WITH_JITTER = code(2)  #: after one with a jitter on its maximum
ELECTION_LOSS_WAITS = code(3)  #: when the election timeout has passed

# begin_quorum_epoch_rule: which voters a leader notifies of its epoch, each half fetch timeout.
BEGIN_EPOCH_UNTIL_ACKNOWLEDGED = code(1)  #: those that have not acknowledged it, nor fetched in it
BEGIN_EPOCH_TO_ALL = code(2)  #: all
BEGIN_EPOCH_WITHOUT_FETCH = code(3)  #: those that have not fetched for half a fetch timeout


class KRaftRules(Record):
    """The switches of one release and metadata.version."""

    # Brokers: registration, heartbeats, fencing, shutdown.
    #: A broker is unfenced once it has read its own registration, not the end of the metadata
    #: log (KAFKA-13959).
    unfencing_requires_own_registration: flag
    #: A heartbeat counts as contact when it arrives, not when the controller's thread takes it
    #: (KAFKA-17793).
    contact_noted_at_arrival: flag
    #: ... and also if it has expired in the controller's queue (KAFKA-15019).
    expired_heartbeat_is_contact: flag
    #: STALE_BROKERS_*.
    stale_broker_rule: i64
    #: The metadata offset that all brokers must reach before a broker may stop grows with each of
    #: its heartbeats (KAFKA-14292).
    shutdown_offset_grows: flag
    #: A broker that registers the same incarnation again keeps its epoch (KAFKA-16952).
    reregistration_keeps_epoch: flag
    #: A registration takes the process before out of the ISRs in which it still is (KAFKA-18106).
    registration_clears_isr: flag
    #: A controller that becomes active gives fenced brokers a session as well.
    fenced_sessions_restart: flag
    #: A broker that has caught up tells its cordoned log directories in each heartbeat; the first
    #: one after a registration is written down, even if there is none (KIP-1066).
    cordoned_directories_known: flag
    #: A replica is not assigned by hand to a broker all of whose log directories are cordoned.
    cordoned_assignment_refused: flag

    # Partitions.
    #: A fenced broker may be in an ISR (KIP-841).
    fenced_replica_in_isr: flag
    #: The AlterPartition of a leader that knows more than the controller gets NOT_CONTROLLER, and
    #: is sent again (KAFKA-14154).
    alter_partition_ahead_is_retried: flag
    #: A fetch of an earlier broker epoch than the leader's metadata cache has is refused
    #: (KAFKA-15221).
    fetch_of_earlier_broker_epoch_refused: flag
    #: The leader epoch is raised when the ISR shrinks (KAFKA-15021).
    leader_epoch_raised_at_isr_shrink: flag
    #: Records and heartbeats name log directories (KIP-858).
    directories_known: flag
    #: REASSIGNMENT_AWAITS_*.
    reassignment_rule: i64
    #: A leaderless partition that allows unclean election is checked every
    #: unclean.leader.election.interval.ms (KAFKA-12670).
    unclean_election_periodic: flag
    #: The feature eligible.leader.replicas.version may be on (KIP-966) ...
    eligible_leader_replicas_possible: flag
    #: ... and it is on in a new cluster.
    eligible_leader_replicas_by_default: flag
    #: A last known leader is elected even while it is fenced (KAFKA-19522).
    fenced_last_known_leader_elected: flag

    # The quorum.
    #: An operation of more than 10,000 records is refused; before, the controller fails over
    #: (KAFKA-14996).
    large_operation_refused: flag
    #: A leader of the quorum resigns when a majority of the voters does not fetch (KAFKA-15489).
    leader_checks_quorum: flag
    #: A voter asks for votes without raising the epoch first (KIP-996).
    pre_vote: flag
    #: ELECTION_LOSS_*.
    election_loss_rule: i64
    #: BEGIN_EPOCH_*.
    begin_quorum_epoch_rule: i64
    #: A node that looks for the leader asks controller.quorum.bootstrap.servers, and not all voters
    #: (KIP-853).
    bootstrap_servers_asked: flag
    #: So does a voter that knows no leader, or whose leader does not respond (KAFKA-17030).
    voter_asks_bootstrap_servers: flag
    #: An observer whose fetch timeout is over asks the leader that it knows, too (KAFKA-19354).
    observer_returns_to_leader: flag
    #: The largest kraft.version: with 1 voters may change (KIP-853) ...
    newest_kraft_version: i64
    #: ... which a quorum of static voters may be raised to (KAFKA-16538).
    kraft_version_upgradable: flag
    #: A controller that observes may ask to become a voter by itself (KIP-1186).
    observer_can_join: flag
    #: A fetch of the metadata log names the high watermark that it knows, and is answered as soon
    #: as there is a newer one (KIP-1166).
    metadata_fetch_carries_high_watermark: flag

    # Raft, and changes of its voters (KIP-853), which all releases have alike.
    #: A voter votes once in an epoch.
    vote_given_once: flag
    #: A voter votes for no candidate whose log is behind its own.
    vote_needs_good_log: flag
    #: A leader refuses a fetch from a log that diverges from its own.
    diverging_fetch_refused: flag
    #: A vote is asked of a voter with its directory: with another one it does not vote.
    voter_directory_checked: flag
    #: A controller that is no voter by its log votes.
    observer_votes: flag
    #: A controller that is no voter by its log stands for election; no release has it so.
    observer_stands: flag
    #: The newest voters of the log count for majorities, committed or not.
    uncommitted_voters_count: flag
    #: A truncation of the log takes back the voters of its records.
    truncated_voters_taken_back: flag
    #: A change of the voters waits until the one before is committed.
    voter_change_awaits_last_one: flag
    #: A change of the voters waits until a record of the leader's epoch is committed.
    voter_change_awaits_epoch: flag
    #: A new voter has had all of the leader's log.
    new_voter_catches_up: flag
    #: A leader that has removed itself counts for its own commits; no release has it so
    #: (KAFKA-16530).
    removed_leader_counts: flag
    #: A leader that has removed itself resigns once that is committed.
    removed_leader_resigns: flag


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
    "cordoned_directories_known": (
        Cell("3.3.0", False, "ReplicationControlManager.processBrokerHeartbeat@3.3.1"),
        Cell("4.3.0", True, "KIP-1066, ReplicationControlManager.handleDirectoriesCordoned@4.3.0",
             protocol="4.3-IV0"),
    ),
    "cordoned_assignment_refused": (
        Cell("3.3.0", False, "ReplicationControlManager.validateManualPartitionAssignment@3.3.1"),
        Cell("4.4.0", True,
             "KIP-1066, ReplicationControlManager.validateManualPartitionAssignment@4.4.0"),
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
    "reassignment_rule": (
        Cell("3.3.0", REASSIGNMENT_AWAITS_ADDED,
             "PartitionChangeBuilder.completeReassignmentIfNeeded@3.3.1"),
        Cell("3.8.0", REASSIGNMENT_AWAITS_TARGET,
             "KAFKA-15665, PartitionReassignmentReplicas.maybeCompleteReassignment@3.8.0"),
        Cell("4.3.0", REASSIGNMENT_AWAITS_TARGET_IF_REDUCED,
             "KAFKA-19975, PartitionReassignmentReplicas.maybeCompleteReassignment@4.3.0"),
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
        Cell("3.9.2", ELECTION_LOSS_BACKS_OFF_WITH_JITTER,
             "KAFKA-18345, RaftUtil.binaryExponentialElectionBackoffMs@3.9.2"),
        Cell("4.0.0", ELECTION_LOSS_BACKS_OFF,
             "KafkaRaftClient.binaryExponentialElectionBackoffMs@4.0.0"),
        Cell("4.0.1", ELECTION_LOSS_BACKS_OFF_WITH_JITTER,
             "KAFKA-18345, RaftUtil.binaryExponentialElectionBackoffMs@4.0.1"),
        Cell("4.1.0", ELECTION_LOSS_WAITS,
             "KAFKA-18345, KafkaRaftClient.maybeHandleElectionLoss@4.1.0"),
    ),
    "begin_quorum_epoch_rule": (
        Cell("3.3.0", BEGIN_EPOCH_UNTIL_ACKNOWLEDGED, "LeaderState.nonAcknowledgingVoters@3.3.1"),
        Cell("3.9.0", BEGIN_EPOCH_TO_ALL,
             "KAFKA-16536, KafkaRaftClient.maybeSendBeginQuorumEpochRequests@3.9.2"),
        Cell("4.2.0", BEGIN_EPOCH_WITHOUT_FETCH,
             "KAFKA-16926, LeaderState.needToSendBeginQuorumRequests@4.2.0"),
    ),
    "bootstrap_servers_asked": (
        Cell("3.3.0", False, "RequestManager.findReadyVoter@3.3.1"),
        Cell("3.9.0", True, "KIP-853, RequestManager.findReadyBootstrapServer@3.9.2"),
    ),
    "voter_asks_bootstrap_servers": (
        Cell("3.3.0", False, "KafkaRaftClient.pollFollowerAsVoter@3.3.1"),
        Cell("3.9.1", True, "KAFKA-17030, KafkaRaftClient.pollUnattachedCommon@3.9.1"),
    ),
    "observer_returns_to_leader": (
        Cell("3.3.0", False, "KafkaRaftClient.pollFollowerAsObserver@3.3.1"),
        Cell("4.2.0", True, "KAFKA-19354, KafkaRaftClient.pollFollowerAsObserver@4.2.0"),
    ),
    "newest_kraft_version": (
        Cell("3.3.0", 0, "QuorumState.initialize@3.8.1"),
        Cell("3.9.0", 1, "KIP-853, KRaftVersion.KRAFT_VERSION_1@3.9.0"),
    ),
    "kraft_version_upgradable": (
        Cell("3.3.0", False, "UpdateVoterHandler.handleUpdateVoterRequest@3.9.0"),
        Cell("4.1.0", True, "KAFKA-16538, LeaderState.maybeAppendUpgradedKRaftVersion@4.1.0"),
    ),
    "observer_can_join": (
        Cell("3.3.0", False, "KafkaRaftClient.pollFollowerAsObserver@4.1.0"),
        Cell("4.2.0", True,
             "KIP-1186, KafkaRaftClient.shouldSendAddOrRemoveVoterRequest@4.2.0"),
    ),
    "metadata_fetch_carries_high_watermark": (
        Cell("3.3.0", False, "KafkaRaftClient.tryCompleteFetchRequest@3.3.1"),
        Cell("4.1.0", True, "KIP-1166, KafkaRaftClient.tryCompleteFetchRequest@4.1.0",
             protocol="4.1-IV1"),
    ),
    # Raft, and its voters.
    "vote_given_once": (
        Cell("3.3.0", True, "QuorumState.transitionToUnattachedVotedState@3.9.0"),
    ),
    "vote_needs_good_log": (
        Cell("3.3.0", True, "KafkaRaftClient.handleVoteRequest@3.3.1"),
    ),
    "diverging_fetch_refused": (
        Cell("3.3.0", True, "KafkaRaftClient.validateFetchOffsetAndEpoch@3.3.1"),
    ),
    "voter_directory_checked": (
        Cell("3.3.0", True, "KIP-853, KafkaRaftClient.isValidVoterKey@3.9.0"),
    ),
    "observer_votes": (
        Cell("3.3.0", True, "KIP-853, KafkaRaftClient.handleVoteRequest@3.9.0"),
    ),
    "observer_stands": (
        Cell("3.3.0", False, "QuorumState.transitionToCandidate@3.3.1"),
    ),
    "uncommitted_voters_count": (
        Cell("3.3.0", True, "KIP-853, KRaftControlRecordStateMachine.lastVoterSet@3.9.0"),
    ),
    "truncated_voters_taken_back": (
        Cell("3.3.0", True, "KIP-853, VoterSetHistory.truncateNewEntries@3.9.0"),
    ),
    "voter_change_awaits_last_one": (
        Cell("3.3.0", True, "KIP-853, RemoveVoterHandler.handleRemoveVoterRequest@3.9.0"),
    ),
    "voter_change_awaits_epoch": (
        Cell("3.3.0", True, "KIP-853, RemoveVoterHandler.handleRemoveVoterRequest@3.9.0"),
    ),
    "new_voter_catches_up": (
        Cell("3.3.0", True, "KIP-853, LeaderState.isReplicaCaughtUp@3.9.0"),
    ),
    "removed_leader_counts": (
        Cell("3.3.0", False, "KAFKA-16530, LeaderState.maybeUpdateHighWatermark@3.9.0"),
    ),
    "removed_leader_resigns": (
        Cell("3.3.0", True, "KIP-853, RemoveVoterHandler.highWatermarkUpdated@3.9.0"),
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
