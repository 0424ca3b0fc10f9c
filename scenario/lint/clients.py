"""Faults of clients: producers that are acknowledged too early, or give up too soon; fetches."""

from collections.abc import Collection, Iterator

from tidegauge.scenario.lint.finding import Concerned, Finding
from tidegauge.scenario.lint.linted_cluster import (
    BEGIN_MS,
    LAG,
    MARGIN_MS,
    FoundPartitions,
    LintedCluster,
    check,
    cut,
    outage,
)
from tidegauge.scenario.model.workload import ProducerGroup
from tidegauge.scenario.warnings import session_expired_us

_ALL = -1
_DELIVERY = "delivery.timeout.ms"
_FETCH = "replica.fetch.max.bytes"
_PATIENT = "delivery.timeout.ms=120000 and retries=2147483647, the defaults from 2.1 on"
_GROUP = "producer group"


@check
def acks_below_all(cluster: LintedCluster) -> Finding | None:
    """Producers with acks=1 or 0 of topics with several replicas.

    Records are acknowledged before any follower has them. If the leader dies, the next one does not
    have them, and the old one truncates them as it returns.

    Source: ReplicaManager.delayedProduceRequestRequired@2.6.0; KIP-101.
    """
    groups = {group.name: group for group, own in _producers(cluster) if own["acks"] != _ALL}
    topics = {name for group in groups.values() for name in group.topics}
    found = cluster.partitions_where(
        lambda topic: (topic.replicas > 1) & (topic.topic.name in topics)
    )
    if found is None:
        return None
    replicated = {each.topic.name for each in cluster.topics if (each.replicas > 1).any()}
    of_two = sum(
        bool((each.replicas == 2).any())  # noqa: PLR2004 - two replicas
        for each in cluster.topics
        if each.topic.name in topics
    )
    names = [each.name for each in groups.values() if replicated.intersection(each.topics)]
    fewest = f"; topics with 2 replicas: {of_two}" if of_two else ""
    return Finding(
        Concerned.of(_GROUP, names),
        "records are acknowledged that only the leader has, and lost if it dies before a follower "
        f"fetches them{fewest}",
        "acks=all with min.insync.replicas=2, and 3 replicas",
        cluster.run_with_isolated_leader(
            found, "crash", min(MARGIN_MS, cluster.shortest_lag_ms // 2)
        ),
    )


@check
def producers_give_up_in_failover(cluster: LintedCluster) -> Finding | None:
    """Producers that give up batches before an ordinary failover is over.

    A dead leader is noticed once its session has expired. Until the next leader is known a producer
    waits, for delivery.timeout.ms at most; with retries=0 a batch in flight fails at once. Before
    2.1 a producer has no delivery.timeout.ms, and retries is 0 by default.

    Source: RecordAccumulator.expiredBatches, Sender.canRetry@2.1.0; KIP-91.
    """
    given_up = _given_up_in_failover(cluster)
    found = _written_by(cluster, given_up)
    if found is None:
        return None
    return Finding(
        Concerned.of(_GROUP, given_up),
        f"{next(iter(given_up.values()))} is over before a failover, in which a dead leader is "
        f"noticed after up to {session_expired_us(cluster.scenario) / 1e6:g} s, so records fail "
        "for good",
        _PATIENT,
        cluster.run_with(outage("crash", [found.leader])),
    )


def _given_up_in_failover(cluster: LintedCluster) -> dict[str, str]:
    """Groups that fail batches in a failover, each with its reason."""
    longest_ms = session_expired_us(cluster.scenario) // 1000
    reasons = {}
    for group, settings in _producers(cluster):
        if settings["acks"] != 0 and settings["retries"] == 0:
            reasons[group.name] = "retries=0"
        elif settings.get(_DELIVERY, longest_ms + 1) <= longest_ms:
            reasons[group.name] = f"{_DELIVERY}={settings[_DELIVERY]}"
    return reasons


@check
def producers_give_up_before_shrink(cluster: LintedCluster) -> Finding | None:
    """Producers with acks=all that give up batches before a slow follower has left the ISR.

    A follower that hangs, or is cut off from its leader alone, holds all acknowledgements back
    until the leader removes it: after replica.lag.time.max.ms, or up to half as much again.
    Producers that give up in a failover already are left out.

    Source: ReplicaManager.startup, Partition.maybeShrinkIsr@2.6.0; KIP-91.
    """
    longest_ms = max(own[LAG] for own in cluster.settings.values()) * 3 // 2
    others = _given_up_in_failover(cluster)
    names = [
        group.name
        for group, settings in _producers(cluster)
        if settings["acks"] == _ALL
        and group.name not in others
        and settings.get(_DELIVERY, longest_ms + 1) <= longest_ms
    ]
    found = _written_by(cluster, names)
    if found is None or not found.followers:
        return None
    # The leader looks every half of the time since its start: the longest wait is from just after.
    period_ms = cluster.settings[found.leader][LAG] // 2
    started_ms = cluster.scenario.cluster.start_spread_us // 1000 + MARGIN_MS // 10
    begin_ms = -(-BEGIN_MS // period_ms) * period_ms + started_ms
    return Finding(
        Concerned.of(_GROUP, names),
        f"{_DELIVERY} is over before a follower that hangs has left the ISR, up to "
        f"{longest_ms / 1000:g} s (1.5 times {LAG}), so records fail for good",
        _PATIENT,
        cluster.run_with(
            cut(
                [f"broker:{found.leader}"],
                [f"broker:{found.followers[0]}"],
                cluster.shrunk_after_ms,
                begin_ms,
            ),
            until_ms=begin_ms + cluster.shrunk_after_ms,
        ),
    )


@check
def fetches_below_batches(cluster: LintedCluster) -> Finding | None:
    """Brokers whose replica.fetch.max.bytes is below the largest batch that producers may send.

    The largest is message.max.bytes, max.message.bytes of a topic, or max.request.size. Up to
    0.10.0 such a batch stops replication. From KIP-74 on a response has one such batch of one
    partition. A run hardly shows it, as followers read record by record in the simulation.

    Source: ReplicaManager.readFromLocalLog@2.6.0; KIP-74.
    """
    largest = max(_largest_batches(cluster), default=0)
    small = [broker for broker, own in cluster.settings.items() if own[_FETCH] < largest]
    if not small:
        return None
    least = min(cluster.settings[broker][_FETCH] for broker in small)
    return Finding(
        Concerned.of("broker", small),
        f"{_FETCH}={least} is below the largest batch ({largest:,} bytes), so a follower "
        "gets one large batch a fetch, of one partition, and catches up slowly",
        f"{_FETCH}={largest} or more",
        cluster.run_with(outage("crash", small[:1])),
    )


def _producers(cluster: LintedCluster) -> Iterator[tuple[ProducerGroup, dict[str, int]]]:
    """Groups of producers, each with its settings in force."""
    for group in cluster.scenario.workload.producers:
        yield group, cluster.scenario.producer_settings(group)


def _written_by(cluster: LintedCluster, groups: Collection[str]) -> FoundPartitions | None:
    """The partitions that groups write to; None: there are no such groups."""
    producers = cluster.scenario.workload.producers
    topics = {name for group in producers if group.name in groups for name in group.topics}
    return cluster.partitions_where(lambda topic: topic.topic.name in topics)


def _largest_batches(cluster: LintedCluster) -> Iterator[int]:
    """The limits of batches that the scenario sets, and those of its producers."""
    limits = {"brokers": "message.max.bytes", "topics": "max.message.bytes"}
    for _, settings, kind, _ in cluster.scenario.said_settings():
        value = settings.get(limits.get(kind, ""), 0)
        if isinstance(value, int):
            yield value
    yield from (settings["max.request.size"] for _, settings in _producers(cluster))
