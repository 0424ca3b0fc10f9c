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
from tidegauge.scenario.text.counted import counted


@dataclass
class DescribedCluster:
    """Brokers and topics as a scenario can begin with them."""

    #: Ids of all brokers, in ascending order.
    brokers: tuple[int, ...]
    topics: list[DescribedTopic]
    #: Ids of the brokers that were down when the dump was made.
    down: tuple[int, ...] = ()
    #: By topic: the partitions that the dump does not have.
    assumed: dict[str, list[int]] = field(default_factory=dict)
    notices: list[Notice] = field(default_factory=list)

    def partitions(self) -> Iterator[tuple[str, DescribedPartition]]:
        """All partitions, each with the name of its topic."""
        for topic in self.topics:
            for partition in topic.partitions.values():
                yield topic.name, partition

    def up(self) -> list[int]:
        """The brokers that are not down."""
        return [broker for broker in self.brokers if broker not in self.down]


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
    topics = list(dump.topics.values())
    hosts = {
        broker
        for topic in topics
        for partition in topic.partitions.values()
        for broker in partition.replicas
    }
    cluster = DescribedCluster(tuple(sorted(hosts | set(others))), topics)
    for option, ids in (("--up", up), ("--down", down)):
        for broker in ids:
            if broker not in cluster.brokers:
                known = named(cluster.brokers)
                raise dump.error(None, f"{option} {broker}: only has brokers {known}")
    for broker in set(up) & set(down):
        raise dump.error(None, f"--up {broker} and --down {broker} exclude each other")
    _see_who_is_down(cluster, hosts, set(up), set(down))
    _mend_isrs(cluster)
    _assume_missing_partitions(cluster)
    return cluster


def _see_who_is_down(
    cluster: DescribedCluster, hosts: set[int], up: set[int], down: set[int]
) -> None:
    """Down is who has replicas, but leads nothing and is in no ISR that a leader looks after."""
    silent = set(hosts)
    for _, partition in cluster.partitions():
        if partition.leader is not None:
            silent -= {partition.leader, *partition.isr}
    cluster.down = tuple(sorted((silent - up) | down))
    replicas = Counter(broker for _, each in cluster.partitions() for broker in each.replicas)
    texts = [f"broker {broker} is down, as --down says" for broker in sorted(down)]
    texts += [f"broker {broker} looks as if it were down; --up says no" for broker in up & silent]
    texts += [
        f"broker {broker} is down: it has {counted(replicas[broker], 'replica')}, leads nothing "
        f"and is in no ISR that has a leader (--up {broker} if it is not)"
        for broker in sorted(silent - up - down)
    ]
    if not cluster.up():
        texts.append(
            "no broker is up: a dump of only the partitions that have no leader does not show the "
            "others; import one of all partitions, or say --up ID"
        )
    cluster.notices += [Notice("brokers", text) for text in texts]


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
    up = cluster.up()
    for topic in cluster.topics:
        count = topic.partition_count or max(topic.partitions) + 1
        missing = sorted(set(range(count)) - topic.partitions.keys())
        if not missing:
            continue
        first = next(iter(topic.partitions.values()))
        size = len(set(first.replicas).difference(first.removing))
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
        f"; with {counted(up, 'replica')}, not {size}, since no more brokers are up"
        if 0 < up < size
        else ""
    )
    text = f"{topic}: not in the dump: {number_ranges(missing)}; assumed to be {what}{fewer}"
    cluster.notices.append(Notice("partitions", text))


def _dealt(brokers: Collection[int], number: int, size: int) -> tuple[int, ...]:
    ids = list(brokers)
    return tuple(ids[(number + place) % len(ids)] for place in range(min(size, len(ids))))
