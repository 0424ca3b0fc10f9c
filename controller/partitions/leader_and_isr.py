"""A partition's leader and ISR as the controller changes them: elections, ISRs, proposals.

The four election strategies (Kafka: ``PartitionLeaderElectionAlgorithms``):

====================  ===========================================  =======================
strategy              who leads                                    the new ISR
====================  ===========================================  =======================
offline               the first of the assignment that is live     the old one, live part;
                      and in the ISR; if there is none and         unclean: the winner alone
                      unclean election is allowed, the first live
reassign              the first of the target that is live and     unchanged
                      in the ISR
preferred             the head of the assignment, if it is live    unchanged
                      and in the ISR
controlled shutdown   the first of the assignment that is live     the old one without
                      (shutting down counts), in the ISR and not   those shutting down
                      shutting down
====================  ===========================================  =======================

Assignment order decides, never the order of the ISR or the length of a log: an unclean election can
pick the shortest. "Live" means registered, not shutting down, and its log directory online. Without
a winner the partition stays as it is.

Every change by the controller adds one to the leader epoch, whether the leader changes or not: also
a dead follower's removal from the ISR. The order of the ISR is kept. A change by the leader
(shrink, expand) leaves the leader epoch alone, even if the controller writes it (AlterPartition).
Its proposals then:

===============================================  ==============================================
what a leader proposes                           its answer
===============================================  ==============================================
with a newer leader or partition epoch           NOT_CONTROLLER (3.3+): who knows less than a
                                                 leader is not controller any more
with an older leader epoch                       FENCED_LEADER_EPOCH
what is stored already                           success, and nothing is written
with an older partition epoch                    INVALID_UPDATE_VERSION (3.3+; before, it is
                                                 ZooKeeper that refuses the write)
an ISR with a replica that is not alive, or      INELIGIBLE_REPLICA (3.3+)
about to stop
===============================================  ==============================================
"""

from tidegauge.compiled.rules import code, rule
from tidegauge.replication import errors, records, replica_list
from tidegauge.replication.release_rules import ReleaseRules

# The strategies of which a controller has chosen one.
OFFLINE = code(0)
PREFERRED = code(1)
CONTROLLED_SHUTDOWN = code(2)
REASSIGN = code(3)
#: No election: the leader stays, and its epoch grows.
RAISE_EPOCH = code(4)
#: As OFFLINE, whether the topic allows an unclean election or not: an operator asks for it.
UNCLEAN = code(5)

# Outcomes of an election.
NOBODY_ELECTED = code(0)
ELECTED = code(1)
ELECTED_UNCLEAN = code(2)


@rule
def offline_partition_leader_election(
    state: records.LeaderAndIsr, assignment: int, live: int, unclean_election_enabled: bool
) -> int:
    """Elect a leader for a partition that has none; the outcome.

    Source: Election.leaderForOffline, offlinePartitionLeaderElection@2.4.0.
    """
    in_sync = replica_list.only(replica_list.only(assignment, live), state.isr)
    if in_sync != replica_list.EMPTY:
        new_leader_and_isr(state, replica_list.first(in_sync), replica_list.only(state.isr, live))
        return ELECTED
    live_replicas = replica_list.only(assignment, live)
    if live_replicas != replica_list.EMPTY and unclean_election_enabled:
        leader = replica_list.first(live_replicas)
        new_leader_and_isr(state, leader, replica_list.single(leader))
        return ELECTED_UNCLEAN
    return NOBODY_ELECTED


@rule
def reassign_partition_leader_election(state: records.LeaderAndIsr, target: int, live: int) -> int:
    """Elect a leader among the replicas that a reassignment ends with; the outcome.

    Source: Election.leaderForReassign@2.4.0.
    """
    in_sync = replica_list.only(replica_list.only(target, live), state.isr)
    if in_sync == replica_list.EMPTY:
        return NOBODY_ELECTED
    new_leader_and_isr(state, replica_list.first(in_sync), state.isr)
    return ELECTED


@rule
def needs_preferred_election(
    rules: ReleaseRules, state: records.LeaderAndIsr, assignment: int
) -> bool:
    """Whether a requested preferred election changes the partition.

    From 1.1 to 2.1 also where the preferred replica leads: just its epoch grows.

    Source: PreferredReplicaPartitionLeaderSelector.selectLeader@1.0.0,
    KafkaController.onPreferredReplicaElection@1.1.0, PreferredReplicaLeaderElection@2.2.0.
    """
    return state.leader != replica_list.first(assignment) or rules.preferred_leader_elected_again


@rule
def preferred_replica_partition_leader_election(
    state: records.LeaderAndIsr, assignment: int, live: int
) -> int:
    """Elect the preferred replica, the head of the assignment; the outcome.

    Source: Election.leaderForPreferredReplica@2.4.0.
    """
    preferred = replica_list.first(assignment)
    if not (replica_list.contains(live, preferred) and replica_list.contains(state.isr, preferred)):
        return NOBODY_ELECTED
    new_leader_and_isr(state, preferred, state.isr)
    return ELECTED


@rule
def controlled_shutdown_partition_leader_election(
    state: records.LeaderAndIsr, assignment: int, live_or_shutting_down: int, shutting_down: int
) -> int:
    """Move the leader away from brokers that are shutting down; the outcome.

    Source: Election.leaderForControlledShutdown@2.4.0.
    """
    staying = replica_list.without(live_or_shutting_down, shutting_down)
    in_sync = replica_list.only(replica_list.only(assignment, staying), state.isr)
    if in_sync == replica_list.EMPTY:
        return NOBODY_ELECTED
    new_leader_and_isr(
        state, replica_list.first(in_sync), replica_list.without(state.isr, shutting_down)
    )
    return ELECTED


#: ``leader`` of a partition without one.
NO_LEADER = code(-1)

#: Leader epoch of a new partition.
INITIAL_LEADER_EPOCH = code(0)
#: Version of the znode of a new partition.
INITIAL_PARTITION_EPOCH = code(0)


@rule
def initialize_leader_and_isr(state: records.LeaderAndIsr, assignment: int, live: int) -> bool:
    """Give a new partition its first leader and ISR; False if no replica is live.

    The first live replica of the assignment leads, all live ones are in sync.

    Source: PartitionStateMachine.initializeLeaderAndIsrForPartitions@2.4.0.
    """
    isr = replica_list.only(assignment, live)
    if isr == replica_list.EMPTY:
        return False
    state.leader = replica_list.first(isr)
    state.leader_epoch = INITIAL_LEADER_EPOCH
    state.isr = isr
    state.partition_epoch = INITIAL_PARTITION_EPOCH
    return True


@rule
def new_leader_and_isr(state: records.LeaderAndIsr, leader: int, isr: int) -> None:
    """Decide on a leader and an ISR; the leader epoch grows by one.

    Source: LeaderAndIsr.newLeaderAndIsr@2.4.0.
    """
    state.leader = leader
    state.isr = isr
    state.leader_epoch += 1


@rule
def remove_replica_from_isr(
    rules: ReleaseRules, state: records.LeaderAndIsr, replica: int, unclean_election_enabled: bool
) -> bool:
    """Take a replica that went offline out of the ISR; False if it was not in it.

    If it led, the partition has no leader afterwards. The last member stays, so that it can lead
    again; up to 1.0 the ISR became empty where unclean election is enabled.

    Source: KafkaController.removeReplicaFromIsr@1.0.0,
    ReplicaStateMachine.doRemoveReplicasFromIsr@2.4.0.
    """
    if not replica_list.contains(state.isr, replica):
        return False
    isr = replica_list.without(state.isr, replica_list.single(replica))
    if isr == replica_list.EMPTY and (rules.last_isr_member_stays or not unclean_election_enabled):
        isr = state.isr
    leader = NO_LEADER if state.leader == replica else state.leader
    new_leader_and_isr(state, leader, isr)
    return True


@rule
def failure_takes_offline(
    rules: ReleaseRules, state: records.LeaderAndIsr, dead: int, online: int
) -> bool:
    """Whether the failure of brokers takes the partition offline, so that it is elected.

    ``dead`` are the replicas on the brokers that failed, ``online`` those that are left. A
    broker that is shutting down is not online: from 1.0 on the failure of another one is
    also the end of a leader that a controlled shutdown could not move.

    Source: KafkaController.onBrokerFailure@0.11.0.0, onReplicasBecomeOffline@1.0.0.
    """
    if rules.failure_checks_every_leader:
        return not replica_list.contains(online, state.leader)
    return replica_list.contains(dead, state.leader)


@rule
def alter_partition_error(
    rules: ReleaseRules, current: records.LeaderAndIsr, proposed: records.LeaderAndIsr, live: int
) -> int:
    """The reason why the controller does not write a leader's proposal; NONE if it may.

    ``live`` are the replicas that are alive and not about to stop.

    Source: KafkaController.processAlterIsr@2.7.0, tryProcessAlterPartition@3.3.0.
    """
    is_newer = (
        proposed.partition_epoch > current.partition_epoch
        or proposed.leader_epoch > current.leader_epoch
    )
    if rules.alter_partition_epoch_checked and is_newer:
        return errors.NOT_CONTROLLER
    if proposed.leader_epoch < current.leader_epoch:
        return errors.FENCED_LEADER_EPOCH
    if equals_but_for_version(current, proposed):
        return errors.NONE
    is_older = proposed.partition_epoch < current.partition_epoch
    if rules.alter_partition_epoch_checked and rules.isr_version_checked and is_older:
        return errors.INVALID_UPDATE_VERSION
    if (
        rules.alter_partition_requires_eligible
        and replica_list.without(proposed.isr, live) != replica_list.EMPTY
    ):
        return errors.INELIGIBLE_REPLICA
    return errors.NONE


@rule
def equals_but_for_version(current: records.LeaderAndIsr, proposed: records.LeaderAndIsr) -> bool:
    """Whether a state equals a leader's proposal, whatever version it knows.

    Source: LeaderAndIsr.equalsIgnoreZk@2.7.0, equalsAllowStalePartitionEpoch@3.3.0.
    """
    return (
        proposed.leader == current.leader
        and proposed.leader_epoch == current.leader_epoch
        and proposed.isr == current.isr
    )
