"""The rules of KRaft's control plane that differ between releases, as one record of switches.

They are those of controllers, and of brokers that register with them; the rules of a replica, and
those that its broker needs with KRaft, are in ``release_rules.py``. Which release and
``metadata.version`` sets which switch stands in ``kraft_releases.py``. A switch that all releases
set alike is there for its source, and for a test that shows the purpose of the rule by another
value.
"""

from __future__ import annotations

from tidegauge.compiled.codes import code
from tidegauge.compiled.records import Record, flag, i64

# stale_broker_rule: when the active controller looks for brokers whose session has expired.
STALE_BROKERS_BY_TIMER = code(1)  #: as the first session expires; the oldest contact first
STALE_BROKERS_PERIODICALLY = code(2)  #: every eighth of a session; in the order of a hash table

# election_loss_rule: when a voter that has lost an election begins the next one.
ELECTION_LOSS_BACKS_OFF = code(1)  #: after a random, exponential backoff
ELECTION_LOSS_WAITS = code(2)  #: when the election timeout has passed


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
    #: A controller that becomes active gives fenced brokers a session, too.
    fenced_sessions_restart: flag

    # Partitions.
    #: A fenced broker may be in an ISR (KIP-841).
    fenced_replica_in_isr: flag
    #: AlterPartition of a leader that knows more than the controller is answered NOT_CONTROLLER,
    #: and sent again (KAFKA-14154).
    alter_partition_ahead_is_retried: flag
    #: A fetch of an earlier broker epoch than the leader's metadata cache has is refused
    #: (KAFKA-15221).
    fetch_of_earlier_broker_epoch_refused: flag
    #: The leader epoch is raised when the ISR shrinks (KAFKA-15021).
    leader_epoch_raised_at_isr_shrink: flag
    #: Records and heartbeats name log directories (KIP-858).
    directories_known: flag
    #: A reassignment is complete only with all of its target in the ISR (KAFKA-15665).
    reassignment_requires_whole_target: flag
    #: A leaderless partition that allows unclean election is looked at every
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
    #: A fetch of the metadata log names the high watermark that it knows, and is answered as soon
    #: as there is a newer one (KIP-1166).
    metadata_fetch_carries_high_watermark: flag
