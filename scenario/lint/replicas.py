"""Faults of replicas: their number, the number that must be in sync, and who may lead."""

from tidegauge.scenario.lint.finding import Concerned, Finding, check, mistake
from tidegauge.scenario.lint.linted_cluster import (
    BEGIN_MS,
    MARGIN_MS,
    OUTAGE_MS,
    LintedCluster,
    outage,
)

_SESSION_OF_MODE = {True: "broker.session.timeout.ms", False: "zookeeper.session.timeout.ms"}
#: The beginning of the names of Kafka's own topics.
_INTERNAL = "__"


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
            "replicas (KAFKA-15583), and any missing one refuses acks=all"
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
            & (not topic.topic.name.startswith(_INTERNAL))
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

    A leader that pauses between the two keeps its session, and finds its followers out of date as
    it resumes: it removes them from the ISR, and is alone in it. If it dies now, no replica may be
    elected. With a shorter session another replica of a full ISR leads in the meantime.

    Source: Partition.maybeShrinkIsr@2.6.0; KIP-537 raised both timeouts.
    """
    scenario, lag_ms = cluster.scenario, cluster.shortest_lag_ms
    name = _SESSION_OF_MODE[scenario.has_kraft]
    if scenario.has_kraft:
        session_ms = scenario.controller_settings()[name]
        brokers = [*cluster.settings]
    else:
        session_ms = max(settings[name] for settings in cluster.settings.values())
        brokers = [each for each, own in cluster.settings.items() if own[name] > lag_ms]
    found = cluster.partitions_where(lambda topic: topic.replicas > 1)
    if session_ms <= lag_ms or found is None:
        return None
    pause_ms = (lag_ms + session_ms) // 2
    dies_ms = BEGIN_MS + pause_ms + MARGIN_MS
    return Finding(
        Concerned.of("broker", brokers),
        f"{name}={session_ms} is longer than replica.lag.time.max.ms={lag_ms}, so a leader can "
        "pause, keep its session, remove all followers from the ISR and die alone in it",
        f"{name} below replica.lag.time.max.ms, as by default from 2.5 on",
        cluster.run_with(
            outage("pause", [found.leader], for_ms=pause_ms),
            outage("crash", [found.leader], at_ms=dies_ms),
            until_ms=dies_ms + OUTAGE_MS,
        ),
    )
