"""The sizes of a cluster's logs as a scenario has them, from those that its brokers report.

The size of a partition is that of its leader's log, or else of the largest. Replicas outside of the
ISR are as far behind as their logs are smaller. One value is enough for a topic whose partitions
differ by a percent at most.
"""

from __future__ import annotations

from typing import Any

from tidegauge.real_cluster.describe.describe_dump import DescribedPartition, DescribedTopic
from tidegauge.real_cluster.describe.described_cluster import DescribedCluster
from tidegauge.real_cluster.describe.log_dirs import LogDirs
from tidegauge.real_cluster.describe.notices import Notice, named
from tidegauge.simulation.quantities import format_size

#: Sizes from here on are rounded to kB.
_ROUNDED_FROM = 1_000_000
_ROUNDED_TO = 1_000


class LogSizes:
    """Sizes for the topics of an imported cluster."""

    def __init__(self, dump: LogDirs, cluster: DescribedCluster) -> None:
        self._dump = dump
        self.notices = [*dump.notices, *_strangers(dump, cluster)]
        self.notices += _assumed(dump, cluster)

    @property
    def log_directories(self) -> int:
        """The most log directories that a broker has."""
        return max(self._dump.directories.values(), default=1)

    def of_topic(self, topic: DescribedTopic) -> str | dict[int, str] | None:
        """The field ``size``: one value, or one for each partition; None if all logs are empty."""
        sizes = {each.number: self._size(topic.name, each) for each in topic.partitions.values()}
        largest = max(sizes.values())
        if largest == 0:
            return None
        if 100 * min(sizes.values()) >= 99 * largest:
            return _text(sum(sizes.values()) // len(sizes))
        return {number: _text(size) for number, size in sizes.items() if size > 0}

    def behind(self, topic: str, partition: DescribedPartition) -> dict[int, str]:
        """The field ``behind`` of a partition's state: of replicas that the brokers report."""
        size = self._size(topic, partition)
        known = self._dump.sizes.get((topic, partition.number), {})
        complete = (*partition.isr, *partition.eligible, *partition.last_known)
        return {
            broker: _text(max(0, size - known[broker]))
            for broker in partition.replicas
            if broker not in complete and broker in known and size > 0
        }

    def _size(self, topic: str, partition: DescribedPartition) -> int:
        known = self._dump.sizes.get((topic, partition.number), {})
        if partition.leader in known:
            return known[partition.leader]
        return max(known.values(), default=0)


def _text(size_bytes: int) -> str:
    if size_bytes >= _ROUNDED_FROM:
        size_bytes = round(size_bytes / _ROUNDED_TO) * _ROUNDED_TO
    return format_size(size_bytes)


def _strangers(dump: LogDirs, cluster: DescribedCluster) -> list[Notice]:
    """What the other dump does not have, is left out."""
    partitions = {(topic, each.number) for topic, each in cluster.partitions()}
    topics = sorted({topic for topic, _ in dump.sizes} - {topic.name for topic in cluster.topics})
    names = {topic.name for topic in cluster.topics}
    others = sorted(log for log in dump.sizes if log not in partitions and log[0] in names)
    brokers = sorted(set(dump.directories) - set(cluster.brokers))
    texts = [
        f"{what} of {dump.file.name} that the dump of topics does not have are left out: {found}"
        for what, found in (
            ("topics", named(topics)),
            ("partitions", named("{}-{}".format(*log) for log in others)),
            ("brokers", named(brokers)),
        )
        if found
    ]
    return [Notice("logs", text) for text in texts]


def _assumed(dump: LogDirs, cluster: DescribedCluster) -> list[Notice]:
    assumed = (
        "the size of a partition is that of its leader's log, or else of the largest; offsets "
        "begin at 0, and all records are of the leader epoch 0 and were flushed"
    )
    texts = [assumed]
    empty, without_leader, unknown = [], [], []
    for topic, each in cluster.partitions():
        known = dump.sizes.get((topic, each.number), {})
        name = f"{topic}-{each.number}"
        if not known:
            empty.append(name)
            continue
        if each.leader not in known:
            without_leader.append(name)
        complete = (*each.isr, *each.eligible, *each.last_known)
        unknown += [
            f"{name} on broker {broker}"
            for broker in each.replicas
            if broker not in complete and broker not in known
        ]
    if empty:
        texts.append(f"logs that no broker reports, assumed to be empty: {named(empty)}")
    if without_leader:
        texts.append(
            f"the leader's log is not reported, so the largest counts: {named(without_leader)}"
        )
    if unknown:
        texts.append(
            "replicas outside of the ISR that no broker reports, assumed to be empty: "
            f"{named(unknown)}"
        )
    lags = [
        f"{topic}-{number} on broker {broker} by {lag:,} records"
        for ((topic, number), broker), lag in sorted(dump.lags.items())
    ]
    if lags:
        texts.append(f"replicas that lag, if they are in the ISR taken for complete: {named(lags)}")
    return [Notice("logs", text) for text in texts]


def with_sizes(
    said: dict[str, Any], topic: DescribedTopic, sizes: LogSizes | None
) -> dict[str, Any]:
    """The part of a topic in a scenario, with the sizes of its logs if they are known."""
    size = None if sizes is None else sizes.of_topic(topic)
    if size is None or sizes is None:
        return said
    for number, state in said["state"].items():
        behind = sizes.behind(topic.name, topic.partitions[number])
        if behind:
            state["behind"] = behind
    return said | {"size": size}
