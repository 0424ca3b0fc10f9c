"""The four election strategies (Kafka: ``PartitionLeaderElectionAlgorithms``).

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

Assignment order decides, never the order of the ISR, and never who has the longest log: an
unclean election can pick the shortest. "Live" means registered, not shutting down, and its
log directory online. Without a winner the partition stays as it is.
"""

from __future__ import annotations

from tidegauge.compiled.rules import code, rule
from tidegauge.controller.partitions.leader_and_isr import new_leader_and_isr
from tidegauge.replication.records import LeaderAndIsr
from tidegauge.replication.release_rules import ReleaseRules
from tidegauge.replication.replica_list import EMPTY, contains, first, only, single, without

# The strategies of which a controller has chosen one.
OFFLINE = code(0)
PREFERRED = code(1)
CONTROLLED_SHUTDOWN = code(2)
REASSIGN = code(3)
#: No election: the leader stays, and its epoch grows.
RAISE_EPOCH = code(4)

# Outcomes of an election.
NOBODY_ELECTED = code(0)
ELECTED = code(1)
ELECTED_UNCLEAN = code(2)


@rule
def offline_partition_leader_election(
    state: LeaderAndIsr, assignment: int, live: int, unclean_election_enabled: bool
) -> int:
    """Elect a leader for a partition that has none; the outcome.

    Source: Election.leaderForOffline, offlinePartitionLeaderElection@2.4.0.
    """
    in_sync = only(only(assignment, live), state.isr)
    if in_sync != EMPTY:
        new_leader_and_isr(state, first(in_sync), only(state.isr, live))
        return ELECTED
    live_replicas = only(assignment, live)
    if live_replicas != EMPTY and unclean_election_enabled:
        leader = first(live_replicas)
        new_leader_and_isr(state, leader, single(leader))
        return ELECTED_UNCLEAN
    return NOBODY_ELECTED


@rule
def reassign_partition_leader_election(state: LeaderAndIsr, target: int, live: int) -> int:
    """Elect a leader among the replicas that a reassignment ends with; the outcome.

    Source: Election.leaderForReassign@2.4.0.
    """
    in_sync = only(only(target, live), state.isr)
    if in_sync == EMPTY:
        return NOBODY_ELECTED
    new_leader_and_isr(state, first(in_sync), state.isr)
    return ELECTED


@rule
def needs_preferred_election(rules: ReleaseRules, state: LeaderAndIsr, assignment: int) -> bool:
    """Whether a preferred election that somebody asked for does anything to the partition.

    From 1.1 to 2.1 also where the preferred replica leads: just its epoch grows.

    Source: PreferredReplicaPartitionLeaderSelector.selectLeader@1.0.0,
    KafkaController.onPreferredReplicaElection@1.1.0, PreferredReplicaLeaderElection@2.2.0.
    """
    return state.leader != first(assignment) or rules.preferred_leader_elected_again


@rule
def preferred_replica_partition_leader_election(
    state: LeaderAndIsr, assignment: int, live: int
) -> int:
    """Elect the preferred replica, the head of the assignment; the outcome.

    Source: Election.leaderForPreferredReplica@2.4.0.
    """
    preferred = first(assignment)
    if not (contains(live, preferred) and contains(state.isr, preferred)):
        return NOBODY_ELECTED
    new_leader_and_isr(state, preferred, state.isr)
    return ELECTED


@rule
def controlled_shutdown_partition_leader_election(
    state: LeaderAndIsr, assignment: int, live_or_shutting_down: int, shutting_down: int
) -> int:
    """Move the leader away from brokers that are shutting down; the outcome.

    Source: Election.leaderForControlledShutdown@2.4.0.
    """
    staying = without(live_or_shutting_down, shutting_down)
    in_sync = only(only(assignment, staying), state.isr)
    if in_sync == EMPTY:
        return NOBODY_ELECTED
    new_leader_and_isr(state, first(in_sync), without(state.isr, shutting_down))
    return ELECTED
