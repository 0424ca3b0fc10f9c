"""Faults of replicas: their number, the number that must be in sync, and who may lead."""

from tidegauge.scenario.lint.finding import Concerned, Finding
from tidegauge.scenario.lint.linted_cluster import (
    BEGIN_MS,
    LAG,
    MARGIN_MS,
    OUTAGE_MS,
    LintedCluster,
    check,
    cut,
    mistake,
    outage,
)
from tidegauge.scenario.model.settings import SESSION_TIMEOUTS, is_internal
from tidegauge.scenario.warnings import session_kept_us


@mistake
def min_insync_replicas_above_replicas(cluster: LintedCluster) -> Finding | None:
    """Partitions with fewer replicas than min.insync.replicas requires.

    Up to 3.6 they never accept acks=all. From 3.7 on their replicas are enough.

    Source: Partition.effectiveMinIsr@3.8.0, KAFKA-15583.
    """
    found = cluster.partitions_where(lambda topic: topic.min_insync_replicas > topic.replicas)
    if found is None:
        return None
    risk = "min.insync.replicas is above the replication factor, so acks=all is never accepted"
    if cluster.caps_min_insync_replicas:
        risk = (
            "min.insync.replicas is above the replication factor, so this release requires all "
            "replicas (KAFKA-15583), and each restart of a broker refuses acks=all"
        )
    return Finding(
        found.concerned,
        risk,
        "min.insync.replicas below the replication factor, with 3 replicas 2",
        cluster.run_with(outage("restart", [found.leader])),
    )


@check
def min_insync_replicas_of_all_replicas(cluster: LintedCluster) -> Finding | None:
    """Partitions whose min.insync.replicas equals their replication factor.

    Each restart of a broker takes a replica out of the ISR, and acks=all is refused with
    NOT_ENOUGH_REPLICAS until it is back.

    Source: Partition.appendRecordsToLeader@2.6.0.
    """
    found = cluster.partitions_where(
        lambda topic: (
            (topic.min_insync_replicas == topic.replicas)
            & (topic.replicas > 1)
            & topic.takes_acks_all
        )
    )
    if found is None:
        return None
    return Finding(
        found.concerned,
        "min.insync.replicas equals the replication factor, so each restart of a broker refuses "
        "acks=all",
        "min.insync.replicas one below the replication factor, if that leaves 2; else one more "
        "replica",
        cluster.run_with(outage("restart", found.followers[:1])),
    )


@check
def single_replica(cluster: LintedCluster) -> Finding | None:
    """Partitions with a replication factor of 1.

    While their broker is down they have no leader. If its disk is lost, so are all their records.

    Source: PartitionStateMachine.doElectLeaderForPartitions@2.6.0.
    """
    found = cluster.partitions_where(lambda topic: topic.replicas == 1)
    if found is None:
        return None
    return Finding(
        found.concerned,
        "the loss of one broker takes them offline, and the loss of its disk loses their records",
        "two more replicas, by kafka-reassign-partitions; default.replication.factor=3 for new "
        "topics, offsets.topic.replication.factor=3 for __consumer_offsets",
        cluster.run_with(outage("power_loss", [found.leader])),
    )


@check
def unclean_elections(cluster: LintedCluster) -> Finding | None:
    """Topics with unclean.leader.election.enable=true.

    A replica outside of the ISR may lead if no other can. Acknowledged records that it lacks are
    lost.

    Source: Election.leaderForOffline@2.6.0, PartitionChangeBuilder.electLeader@3.8.0; KIP-106.
    """
    found = cluster.partitions_where(
        lambda topic: (topic.replicas > 1) & topic.has_unclean_elections
    )
    if found is None:
        return None
    return Finding(
        found.concerned,
        "a replica that is not in sync may be elected, and the records that it lacks are lost",
        "unclean.leader.election.enable=false; an operator can still elect by "
        "kafka-leader-election --election-type unclean",
        cluster.run_with_isolated_leader(found, "crash", cluster.shrunk_after_ms),
    )


@check
def isr_of_one_acknowledges(cluster: LintedCluster) -> Finding | None:
    """Partitions of several replicas with min.insync.replicas=1 that acks=all writes to.

    A leader whose followers have left the ISR acknowledges alone: acks=all promises no more than
    acks=1 then. Kafka's own topics are left out: a lost commit repeats records, and loses none.

    Source: Partition.maybeIncrementLeaderHW, Partition.checkEnoughReplicasReachOffset@2.6.0.
    """
    found = cluster.partitions_where(
        lambda topic: (
            (topic.min_insync_replicas == 1)
            & (topic.replicas > 1)
            & topic.takes_acks_all
            & (not is_internal(topic.topic.name))
        )
    )
    if found is None:
        return None
    return Finding(
        found.concerned,
        "with min.insync.replicas=1 a leader that is alone in its ISR acknowledges acks=all, and "
        "its loss loses these records",
        "min.insync.replicas=2, with 3 replicas",
        cluster.run_with_isolated_leader(found, "power_loss", cluster.shrunk_after_ms),
    )


@check
def session_outlives_lag(cluster: LintedCluster) -> Finding | None:
    """A session timeout of brokers that is longer than replica.lag.time.max.ms.

    A leader that is cut off from all others is replaced once its session has expired, by a replica
    of a full ISR. If its followers are out of date before that, and it reaches the control plane
    again first, it keeps its session and removes them from the ISR. If it dies before they are
    back, no replica may be elected. Partitions with eligible leader replicas (KIP-966) are left out
    if their min.insync.replicas is 2 or more: the removed replicas stay eligible.

    Source: Partition.maybeShrinkIsr@2.6.0; KIP-537, which raised both timeouts.
    """
    scenario = cluster.scenario
    has_elr = scenario.has_eligible_leader_replicas()
    found = cluster.partitions_where(
        lambda topic: (topic.replicas > 1) & ((topic.min_insync_replicas == 1) | (not has_elr))
    )
    name = SESSION_TIMEOUTS[scenario.mode]
    if scenario.has_kraft:
        planes = "controllers"
        sessions = dict.fromkeys(cluster.settings, scenario.controller_settings()[name])
    else:
        planes = "zookeeper"
        sessions = {broker: own[name] for broker, own in cluster.settings.items()}
    lags = {broker: own[LAG] for broker, own in cluster.settings.items()}
    brokers = [broker for broker in lags if sessions[broker] > lags[broker]]
    if found is None or not brokers:
        return None
    kept_ms = session_kept_us(scenario) // 1000 - MARGIN_MS // 5
    others: list[int | str] = [*found.followers, planes]
    return Finding(
        Concerned.of("broker", brokers),
        f"{name}={sessions[brokers[0]]} is longer than {LAG}={lags[brokers[0]]}: a leader "
        "that is cut off keeps its session, removes its followers from the ISR, and if it dies "
        "alone in it none may be elected",
        f"{name} below {LAG}, as by default",
        cluster.run_with(
            cut([found.leader], others, for_ms=kept_ms),
            found.cut_off_leader(cluster.shrunk_after_ms + MARGIN_MS),
            outage("crash", [found.leader], at_ms=BEGIN_MS + cluster.shrunk_after_ms),
            until_ms=BEGIN_MS + cluster.shrunk_after_ms + OUTAGE_MS,
        ),
    )
