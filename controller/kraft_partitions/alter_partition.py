"""The rules of KRaft's controller that differ between releases, metadata versions and features.

The response of KRaft's controller to a leader that asks for another ISR (AlterPartition).

The first line that applies decides:

===============================================  ==============================================
what a leader asks for                           its answer
===============================================  ==============================================
anything, with an epoch that its broker does     STALE_BROKER_EPOCH, for the whole request
not have
a topic, or a partition, that does not exist     UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION
with a newer leader or partition epoch           NOT_CONTROLLER
with an older leader epoch                       FENCED_LEADER_EPOCH
while another one leads                          INVALID_REQUEST
with an older partition epoch                    INVALID_UPDATE_VERSION
an ISR of brokers that are no replicas, or       INVALID_REQUEST
without the leader itself
to recover from an unclean election with more    INVALID_REQUEST
than itself in the ISR, or after it recovered
an ISR with a broker that is fenced, leaves or   INELIGIBLE_REPLICA
has been restarted since (its epoch differs)
an ISR that completes a reassignment away        NEW_LEADER_ELECTED: the change is made
from the leader
===============================================  ==============================================

The first two lines are of requests and topics; the rules below begin with a partition. Unlike
ZooKeeper's controller this one has no line for an ISR that is stored already: the partition epoch
comes first.
"""

from tidegauge.compiled.records import Record, flag, i64
from tidegauge.compiled.rules import rule
from tidegauge.replication import errors
from tidegauge.replication.kraft_releases import REASSIGNMENT_AWAITS_TARGET_IF_REDUCED
from tidegauge.replication.records import PartitionRegistration
from tidegauge.replication.replica_list import EMPTY, contains, single, without


class KRaftSwitches(Record):
    """The switches of one cluster; their defaults are those of 4.4 without ELR."""

    #: The feature eligible.leader.replicas.version is on (KIP-966; possible from 4.0, the default
    #: of new clusters from 4.1).
    eligible_leader_replicas: flag
    #: A shrinking ISR raises the leader epoch (KAFKA-15021; metadata.version below 3.6-IV0).
    isr_shrink_raises_leader_epoch: flag
    #: A last known leader is elected although it is fenced (KAFKA-19522; 4.0).
    fenced_last_known_leader_elected: flag
    #: The replicas that must be in the ISR when a reassignment is complete (KAFKA-15665,
    #: KAFKA-19975): REASSIGNMENT_AWAITS_*.
    reassignment_rule: i64 = int(REASSIGNMENT_AWAITS_TARGET_IF_REDUCED)
    #: A leader's ISR is taken only if the leader knows the current partition epoch (KIP-497).
    isr_version_checked: flag = True
    #: A broker that is fenced or leaves may be in an ISR (before KIP-841).
    fenced_replica_in_isr: flag


@rule
def alter_partition_error(
    switches: KRaftSwitches,
    partition: PartitionRegistration,
    sender: int,
    leader_epoch: int,
    partition_epoch: int,
    isr: int,
    recovering: bool,
    eligible: int,
) -> int:
    """Why the controller refuses the ISR that the replica ``sender`` asks for; NONE if it may.

    ``eligible`` are the replicas whose brokers are unfenced, not in controlled shutdown, and have
    the broker epoch that the request names, or for which it names none (-1).

    Source: ReplicationControlManager.validateAlterPartitionData, ineligibleReplicasForIsr@4.1.0.
    """
    is_newer = leader_epoch > partition.leader_epoch or partition_epoch > partition.partition_epoch
    if is_newer:
        return errors.NOT_CONTROLLER
    if leader_epoch < partition.leader_epoch:
        return errors.FENCED_LEADER_EPOCH
    is_older = switches.isr_version_checked and partition_epoch < partition.partition_epoch
    if sender == partition.leader and is_older:
        return errors.INVALID_UPDATE_VERSION
    is_isr = without(isr, partition.replicas) == EMPTY and contains(isr, sender)
    may_recover = not recovering or (isr == single(sender) and partition.recovering)
    if sender != partition.leader or not is_isr or not may_recover:
        return errors.INVALID_REQUEST
    if without(isr, eligible) != EMPTY:
        return errors.INELIGIBLE_REPLICA
    return errors.NONE


@rule
def altered_partition_error(partition: PartitionRegistration, sender: int) -> int:
    """The response to the leader ``sender`` once its ISR is taken: perhaps that it leads no longer.

    Source: ReplicationControlManager.alterPartition@4.1.0.
    """
    return errors.NONE if partition.leader == sender else errors.NEW_LEADER_ELECTED
