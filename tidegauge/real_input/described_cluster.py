"""The cluster that a dump describes: its brokers, who of them is down, partitions it leaves out.

A dump of the partitions that are not well (--under-replicated-partitions) does not say where
the others are, yet a topic has no gaps. What is missing is dealt in turn to the brokers that are
up: what the dump leaves out is well, so none of its replicas can be on a broker that is down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from tidegauge.real_input.describe_dump import DescribedPartition, DescribedTopic, DescribeDump
from tidegauge.real_input.notices import Notice, named, number_ranges


@dataclass
class DescribedCluster:
    """Brokers and topics as a scenario can begin with them."""

    #: Ids of all brokers, in ascending order.
    brokers: tuple[int, ...]
    #: ... of those that were down when the dump was made.
    down: tuple[int, ...]
    topics: list[DescribedTopic]
    #: By topic: the partitions that the dump does not have.
    assumed: dict[str, list[int]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def partitions(self) -> Iterator[tuple[str, DescribedPartition]]:
        """All partitions, each with the name of its topic."""
        for topic in self.topics:
            for partition in topic.partitions.values():
                yield topic.name, partition


def described_cluster(
    dump: DescribeDump, others: Collection[int], up: Collection[int], down: Collection[int]
) -> DescribedCluster:
    """The cluster of a dump.

    Args:
        dump: What was printed.
        others: Ids of brokers that are known from elsewhere; they may have no replica.
        up: Ids of brokers that are up, whatever the dump looks like.
        down: ... that are down.

    Raises:
        InputError: ``up`` or ``down`` names a broker that there is not, or both name the same.
    """
    hosts = {broker for _, partition in _all_of(dump) for broker in partition.replicas}
    brokers = tuple(sorted(hosts | set(others)))
    for option, ids in (("--up", up), ("--down", down)):
        for broker in ids:
            if broker not in brokers:
                raise dump.error(None, f"{option} {broker}: only has brokers {named(brokers)}")
    both = sorted(set(up) & set(down))
    if both:
        raise dump.error(None, f"--up {both[0]} and --down {both[0]} exclude each other")
    seen = _brokers_without_a_sign_of_life(dump, hosts)
    gone = tuple(sorted((seen - set(up)) | set(down)))
    cluster = DescribedCluster(brokers, gone, list(dump.topics.values()))
    _tell_who_is_down(cluster, dump, seen, up, down)
    _mend_isrs(cluster)
    _assume_missing_partitions(cluster)
    return cluster


def _all_of(dump: DescribeDump) -> Iterator[tuple[str, DescribedPartition]]:
    for topic in dump.topics.values():
        for partition in topic.partitions.values():
            yield topic.name, partition


def _brokers_without_a_sign_of_life(dump: DescribeDump, hosts: Collection[int]) -> set[int]:
    """Those that lead nothing, and are in no ISR that a leader looks after."""
    alive: set[int] = set()
    for _, partition in _all_of(dump):
        if partition.leader is not None:
            alive |= {partition.leader, *partition.isr}
    return set(hosts) - alive


def _tell_who_is_down(
    cluster: DescribedCluster,
    dump: DescribeDump,
    seen: Collection[int],
    up: Collection[int],
    down: Collection[int],
) -> None:
    replicas = Counter(broker for _, each in _all_of(dump) for broker in each.replicas)
    for broker in cluster.down:
        if broker in down:
            text = f"broker {broker} is down: --down says so"
        else:
            text = (
                f"broker {broker} is down: it has {replicas[broker]} replicas, leads nothing and "
                f"is in no ISR that has a leader (--up {broker} if it is not)"
            )
        cluster.notices.append(Notice("brokers", text))
    for broker in sorted(set(up) & set(seen)):
        text = f"broker {broker} is up, since --up says so: in the dump it looks as if it were down"
        cluster.notices.append(Notice("brokers", text))
    if set(cluster.down) == set(cluster.brokers):
        text = (
            "no broker is up: a dump of the partitions that have no leader alone does not show "
            "the others; import one of all partitions, or say --up ID"
        )
        cluster.notices.append(Notice("brokers", text))


def _mend_isrs(cluster: DescribedCluster) -> None:
    """Old tools read a leader and its ISR one after the other: both need not be of one moment."""
    empty = []
    for topic in cluster.topics:
        for number, partition in topic.partitions.items():
            name = f"{topic.name}-{number}"
            leader = partition.leader
            if leader is not None and leader not in partition.isr:
                topic.partitions[number] = replace(partition, isr=(leader, *partition.isr))
                text = f"{name}: its leader {leader} is not in the ISR that is printed: added"
                cluster.notices.append(Notice("partitions", text))
            elif not partition.isr:
                empty.append(name)
    if empty:
        text = (
            "the ISR is empty, and the eligible leader replicas (Elr), if there are any, stand in "
            f"for it, since with ZooKeeper only the ISR says who may lead: {named(empty)}"
        )
        cluster.notices.append(Notice("partitions", text))


def _assume_missing_partitions(cluster: DescribedCluster) -> None:
    up = [broker for broker in cluster.brokers if broker not in cluster.down]
    for topic in cluster.topics:
        count = topic.partition_count or max(topic.partitions) + 1
        missing = sorted(set(range(count)) - topic.partitions.keys())
        if not missing:
            continue
        size = len(next(iter(topic.partitions.values())).replicas)
        for number in missing:
            replicas = _dealt(up or cluster.brokers, number, size)
            leader = replicas[0] if up else None
            topic.partitions[number] = DescribedPartition(number, leader, replicas, replicas)
        topic.partitions = dict(sorted(topic.partitions.items()))
        cluster.assumed[topic.name] = missing
        _tell_what_is_assumed(cluster, topic.name, size, len(up))
    silent = [
        f"{topic.name} ({len(topic.partitions)})"
        for topic in cluster.topics
        if topic.partition_count is None
    ]
    if silent:
        text = (
            "the dump has partitions alone, no topics: their settings are not known, and they may "
            f"have more partitions than are here: {named(silent)}"
        )
        cluster.notices.append(Notice("partitions", text))


def _tell_what_is_assumed(cluster: DescribedCluster, topic: str, size: int, up: int) -> None:
    missing = cluster.assumed[topic]
    what = "well, and dealt in turn to the brokers that are up" if up else "without a leader"
    fewer = (
        f"; with {up} replicas, not {size}, since no more brokers are up" if 0 < up < size else ""
    )
    text = f"{topic}: not in the dump: {number_ranges(missing)}; assumed to be {what}{fewer}"
    cluster.notices.append(Notice("partitions", text))


def _dealt(brokers: Collection[int], number: int, size: int) -> tuple[int, ...]:
    ids = list(brokers)
    return tuple(ids[(number + place) % len(ids)] for place in range(min(size, len(ids))))
