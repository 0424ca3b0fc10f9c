"""The target state of a partition after an event: one function for each cause of a change.

``partition_change`` starts from a target, which begins as a copy of the partition's state
(``target_as_is``). A cause then sets its changes:

===================================  ================================================  ===========
cause                                what the target gets                              election
===================================  ================================================  ===========
broker fenced, in controlled         ISR without it (``remove_replica``)               of topic
shutdown, registered cleanly
broker registered uncleanly          ISR and ELR without it                            of topic
                                     (``remove_after_unclean_shutdown``)
broker unfenced; unclean election    nothing: the partitions without a leader          of topic
by a timer                           are tried again
AlterPartition                       the leader's ISR, its recovery state              of topic
                                     (``take_leaders_isr``)
ElectLeaders, automatic balancing    nothing                                           as asked
reassignment, and its cancellation   replicas, adding, removing                        ONLINE,
                                     (``reassign``, ``cancel_reassignment``)           of topic
===================================  ================================================  ===========

"Of topic" is UNCLEAN where unclean.leader.election.enable is true, else ONLINE
(``election_of_topic``). A broker that is being removed is no acceptable leader; one that is being
unfenced is one already.
"""

from tidegauge.compiled.records import Record, flag, i64
from tidegauge.compiled.rules import code, rule
from tidegauge.replication import records, replica_list

# The kind of election, where a leader is needed (Kafka: ``PartitionChangeBuilder.Election``).
ONLINE = code(0)  #: from the ISR, or the ELR if the ISR is empty
PREFERRED = code(1)  #: ... and the preferred replica takes over from a leader that is fine
UNCLEAN = code(2)  #: ... and if there is none, any replica that is acceptable


class PartitionTarget(Record):
    """The target of a change, and its operands (Kafka: fields of ``PartitionChangeBuilder``)."""

    #: The replicas and the part of them that is added and removed; replica lists.
    replicas: i64
    adding: i64
    removing: i64
    #: The ISR; a replica list.
    isr: i64
    #: Replicas that came back from an unclean shutdown: they lose their place in the ELR.
    unclean_shutdown: i64
    #: The recovery state that a leader asks for.
    recovering: flag
    #: ONLINE, PREFERRED or UNCLEAN.
    election: i64
    #: ``effective_min_insync_replicas`` of the topic.
    min_insync_replicas: i64
    #: Left to ``partition_change``: the ELR, the last known leader, and the leader.
    elr: i64
    last_known_elr: i64
    leader: i64


@rule
def target_as_is(
    target: PartitionTarget,
    partition: records.PartitionRegistration,
    election: int,
    min_insync_replicas: int,
) -> None:
    """Begin a change: the target is the partition as it is.

    Source: PartitionChangeBuilder@4.1.0 (constructor).
    """
    target.replicas = partition.replicas
    target.adding = partition.adding
    target.removing = partition.removing
    target.isr = partition.isr
    target.elr = partition.elr
    target.last_known_elr = partition.last_known_elr
    target.leader = partition.leader
    target.unclean_shutdown = replica_list.EMPTY
    target.recovering = partition.recovering
    target.election = election
    target.min_insync_replicas = min_insync_replicas


@rule
def election_of_topic(unclean_election_enabled: bool) -> int:
    """The election that a change tries if no kind of it is requested.

    Source: ReplicationControlManager.generateLeaderAndIsrUpdates@4.1.0.
    """
    return UNCLEAN if unclean_election_enabled else ONLINE


@rule
def election_is_needed(partition: records.PartitionRegistration, election: int) -> bool:
    """Whether ElectLeaders does anything; otherwise it answers ELECTION_NOT_NEEDED.

    Source: ReplicationControlManager.electLeader@4.1.0.
    """
    if election == PREFERRED:
        return partition.leader != replica_list.first(partition.replicas)
    return partition.leader < 0


@rule
def effective_min_insync_replicas(configured: int, replicas_of_partition_0: int) -> int:
    """``min.insync.replicas`` of a topic, never more than its partition 0 has replicas.

    Source: ReplicationControlManager.getTopicEffectiveMinIsr@4.1.0.
    """
    return min(configured, replica_list.size(replicas_of_partition_0))


@rule
def remove_replica(target: PartitionTarget, replica: int) -> None:
    """Take a replica out of the ISR: its broker is fenced or shuts down.

    Source: ReplicationControlManager.generateLeaderAndIsrUpdates@4.1.0 (brokerToRemove).
    """
    target.isr = replica_list.without(target.isr, replica_list.single(replica))


@rule
def remove_after_unclean_shutdown(target: PartitionTarget, replica: int) -> None:
    """Take a replica out of ISR and ELR: it may have lost records that it had acknowledged.

    Source: ReplicationControlManager.handleBrokerShutdown@4.1.0 (brokerWithUncleanShutdown).
    """
    target.isr = replica_list.without(target.isr, replica_list.single(replica))
    target.unclean_shutdown = replica_list.single(replica)


@rule
def take_leaders_isr(target: PartitionTarget, isr: int, recovering: bool) -> None:
    """Take the ISR and the recovery state that the leader asks for with AlterPartition.

    Source: ReplicationControlManager.alterPartition@4.1.0.
    """
    target.isr = isr
    target.recovering = recovering


@rule
def reassign(target: PartitionTarget, replicas: int, by_broker_id: int) -> None:
    """Begin to move a partition to ``replicas``, which come first from now on.

    ``by_broker_id`` lists the slots of all brokers concerned in ascending order of broker id: in
    that order the replicas to be removed follow the new ones. A request that adds, or removes,
    nothing leaves what the last one adds, or removes, as it is.

    Source: ReplicationControlManager.changePartitionReassignment,
    PartitionReassignmentReplicas@4.1.0.
    """
    removing = replica_list.only(by_broker_id, replica_list.without(target.replicas, replicas))
    adding = replica_list.only(by_broker_id, replica_list.without(replicas, target.replicas))
    target.replicas = _followed_by(replicas, removing)
    if removing != replica_list.EMPTY:
        target.removing = removing
    if adding != replica_list.EMPTY:
        target.adding = adding


@rule
def cancel_reassignment(target: PartitionTarget) -> bool:
    """Go back to the replicas before the reassignment; whether that is an unclean election.

    It is if the whole ISR was added: the first replica is then the ISR, and a topic that does not
    allow unclean election refuses the request.

    Source: ReplicationControlManager.cancelPartitionReassignment,
    PartitionReassignmentRevert@4.1.0.
    """
    target.replicas = replica_list.without(target.replicas, target.adding)
    target.isr = replica_list.without(target.isr, target.adding)
    target.adding = replica_list.EMPTY
    target.removing = replica_list.EMPTY
    if target.isr != replica_list.EMPTY:
        return False
    target.isr = replica_list.single(replica_list.first(target.replicas))
    return True


@rule
def _followed_by(replicas: int, more: int) -> int:
    while more != replica_list.EMPTY:
        replicas = replica_list.append(replicas, replica_list.first(more))
        more = replica_list.rest(more)
    return replicas
