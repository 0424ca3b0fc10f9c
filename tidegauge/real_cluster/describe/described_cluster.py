"""The cluster of a dump: its brokers, those that are down, and the partitions that are missing.

A dump of unhealthy partitions (--under-replicated-partitions) does not have the replicas of the
others, yet a topic has no gaps. Missing partitions are assigned in turn to the brokers that are up:
partitions that the dump leaves out are healthy, so none of their replicas can be on a broker that
is down.
"""

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace

from tidegauge.real_cluster.describe.describe_dump import (
    DescribedPartition,
    DescribedTopic,
    DescribeDump,
)
from tidegauge.real_cluster.describe.input_file import Notices, named, number_ranges
from tidegauge.scenario.text.errors import counted


@dataclass
class DescribedCluster:
    """Brokers and topics in the form in which a scenario can begin."""

    #: Ids of all brokers, in ascending order.
    brokers: tuple[int, ...]
    topics: list[DescribedTopic]
    #: Ids of the brokers that were down when the dump was made.
    down: tuple[int, ...] = ()
    #: By topic: the partitions that the dump does not have.
    assumed: dict[str, list[int]] = field(default_factory=dict)
    notices: Notices = field(default_factory=Notices)

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
        dump: The parsed output.
        others: Ids of brokers that are known from elsewhere; they may have no replica.
        up: Ids of brokers that are up, whatever the dump suggests.
        down: Ids of brokers that are down, whatever the dump suggests.

    Raises:
        InputError: ``up`` or ``down`` names an unknown broker, or both name the same.
    """
    topics = list(dump.topics.values())
    partitions = (partition for topic in topics for partition in topic.partitions.values())
    hosts = {broker for partition in partitions for broker in partition.replicas}
    observers = set().union(*dump.observers.values())
    cluster = DescribedCluster(tuple(sorted(hosts | observers | set(others))), topics)
    for option, ids in (("--up", up), ("--down", down)):
        for broker in ids:
            if broker not in cluster.brokers:
                known = named(cluster.brokers)
                raise dump.error(None, f"{option} {broker}: the dump has brokers {known} only")
    for broker in set(up) & set(down):
        raise dump.error(None, f"--up {broker} and --down {broker} exclude each other")
    _find_brokers_down(cluster, set(up), set(down), knows_offline="Offline" in dump.columns)
    _mend_isrs(cluster)
    _assume_missing_partitions(cluster)
    return cluster


def _find_brokers_down(
    cluster: DescribedCluster, up: set[int], down: set[int], *, knows_offline: bool
) -> None:
    """Find the brokers that are down: they have replicas, lead none, and are in no led ISR.

    Where the dump names the replicas that are offline, all of theirs are.
    """
    # A replica that is being added is not in sync yet, so it is no sign.
    silent = {
        broker
        for _, partition in cluster.partitions()
        for broker in partition.replicas
        if broker not in partition.adding
    }
    offline = {broker for _, partition in cluster.partitions() for broker in partition.offline}
    for _, partition in cluster.partitions():
        if partition.leader is not None:
            silent -= {partition.leader, *partition.isr}
        if knows_offline:
            silent -= set(partition.replicas) - set(partition.offline)
    cluster.down = tuple(sorted((silent - up) | down))
    replicas = Counter(broker for _, each in cluster.partitions() for broker in each.replicas)
    texts = [f"broker {broker} is down, by --down" for broker in sorted(down)]
    texts += [f"broker {broker} seems to be down, but is up by --up" for broker in up & silent]
    reason = "leads no partition and is in no ISR that has a leader"
    texts += [
        f"broker {broker} is down: it has {counted(replicas[broker], 'replica')}, "
        f"{'all of them offline' if knows_offline else reason} (use --up {broker} if it is up)"
        for broker in sorted(silent - up - down)
    ]
    texts += [
        f"broker {broker} is up, and some of its replicas are offline: a log directory of it has "
        "failed; here its replicas are only outside of the ISR"
        for broker in sorted(offline - silent - down)
    ]
    if not cluster.up():
        texts.append(
            "no broker is up: a dump of only the partitions that have no leader does not show "
            "the others; import a dump of all partitions, or use --up ID"
        )
    cluster.notices.add("brokers", *texts)


def _mend_isrs(cluster: DescribedCluster) -> None:
    """Add leaders that are missing in their ISR: old tools read the two at different moments.

    With KRaft, a replica is in the ISR or eligible (Elr), and there is a last known leader only
    where there is no leader and the ISR is empty.
    """
    lost = []
    for topic in cluster.topics:
        for number, partition in topic.partitions.items():
            name = f"{topic.name}-{number}"
            leader = partition.leader
            if leader is not None and leader not in partition.isr:
                topic.partitions[number] = replace(partition, isr=(leader, *partition.isr))
                text = f"{name}: its leader {leader} is not in the printed ISR: added"
                cluster.notices.add("partitions", text)
            mended = _mended_eligible(cluster, name, topic.partitions[number])
            topic.partitions[number] = mended
            if not (mended.isr or mended.eligible or mended.last_known):
                lost.append(name)
    cluster.notices.name(
        "partitions",
        "no replica is in the ISR or eligible, so only an unclean election can give these a leader",
        lost,
    )


def _mended_eligible(
    cluster: DescribedCluster, name: str, partition: DescribedPartition
) -> DescribedPartition:
    eligible = tuple(each for each in partition.eligible if each not in partition.isr)
    is_lost = partition.leader is None and not partition.isr
    last_known = partition.last_known[:1] if is_lost else ()
    if eligible != partition.eligible:
        cluster.notices.add(
            "partitions", f"{name}: replicas that are in the ISR and in Elr are taken for the ISR's"
        )
    if last_known != partition.last_known:
        kept = f"only {last_known[0]} is kept" if last_known else "left out"
        cluster.notices.add(
            "partitions",
            f"{name}: LastKnownElr has one replica at most, and only where there is no leader and "
            f"no ISR: {kept}",
        )
    return replace(partition, eligible=eligible, last_known=last_known)


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
        _tell_of_assumed(cluster, topic.name, size, len(up))
    silent = [
        f"{topic.name} ({len(topic.partitions)})"
        for topic in cluster.topics
        if topic.partition_count is None
    ]
    cluster.notices.name(
        "partitions",
        "the dump has lines of partitions only, not of topics: settings are unknown, and these "
        "topics may have more partitions",
        silent,
    )


def _tell_of_assumed(cluster: DescribedCluster, topic: str, size: int, up: int) -> None:
    missing = cluster.assumed[topic]
    text = f"{topic}: not in the dump: {number_ranges(missing)}; assumed to be "
    text += "healthy, and assigned in turn to the brokers that are up" if up else "without a leader"
    if 0 < up < size:
        text += f"; with {counted(up, 'replica')}, not {size}, since no more brokers are up"
    cluster.notices.add("partitions", text)


def _dealt(brokers: Collection[int], number: int, size: int) -> tuple[int, ...]:
    ids = list(brokers)
    return tuple(ids[(number + place) % len(ids)] for place in range(min(size, len(ids))))
