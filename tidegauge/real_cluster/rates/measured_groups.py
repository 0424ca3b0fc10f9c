"""The consumers of a cluster, from the offsets that its groups have committed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from tidegauge.metrics.families.family import Family
from tidegauge.real_cluster.describe.input_file import Notices, named
from tidegauge.real_cluster.describe.topic_rates import is_internal
from tidegauge.real_cluster.rates.measured_topics import MeasuredTopics, rates_of
from tidegauge.real_cluster.rates.rate_source import (
    Matcher,
    Over,
    RateSource,
    Together,
    check_one_cluster,
)
from tidegauge.real_cluster.rates.sought_metrics import (
    BYTES_OUT,
    COMMITTED,
    COMMITTED_SUM,
    LAG,
    LAG_SUM,
    MEMBERS,
    Vocabulary,
)
from tidegauge.scenario.text.counted import counted

_GROUP = "consumergroup"
_OFFSETS_TOPIC = "__consumer_offsets"
_LONGEST_NAME = 249
#: Processes of consumers, of all groups together; each of them is one of a scenario's clients.
_MOST_CONSUMERS = 300

#: By group and topic.
_ByTopic = dict[tuple[str, str], float]


class MeasuredGroups(NamedTuple):
    """Groups of consumers of a scenario."""

    consumers: list[dict[str, Any]]
    notices: Notices


class _Read(NamedTuple):
    """All that a place has of its groups, by the topics of the dump."""

    #: Empty where nothing is known.
    committed_per_second: _ByTopic
    lag: _ByTopic
    members: dict[str, int]
    metric: str


def read_groups(
    source: RateSource,
    vocabulary: Vocabulary,
    topics: MeasuredTopics,
    matchers: Sequence[Matcher],
) -> MeasuredGroups:
    """The groups of consumers that read these topics.

    Raises:
        InputError: the series are of several clusters, or cannot be read.
    """
    groups = MeasuredGroups([], Notices())
    read = _read(source, vocabulary, topics, matchers)
    fetched = _fetched(source, vocabulary, topics)
    if read is None:
        text = "no series of consumer groups (kafka_exporter has them): no consumers"
        groups.notices.add("workload", f"{text}{fetched and f', though {fetched}'}")
        return groups
    active, idle = _parted(read, topics)
    commits = topics.names.topic_of(_OFFSETS_TOPIC) is not None
    taken = {each["name"] for each in topics.producers}
    _add_consumers(groups, read, active, taken, commits=commits)
    topics_of = [f"{name} ({named(each)})" for name, each in active.items()]
    of_groups = f"consumer groups: {len(active)}, of {read.metric}"
    groups.notices.add(
        "workload", f"{of_groups}{': ' if topics_of else ''}{named(topics_of)}; {_assumed(read)}"
    )
    if idle:
        text = (
            f"groups that have no members, or commit nothing of topics with messages: {named(idle)}"
        )
        groups.notices.add("workload", f"left out: {text}")
    if fetched:
        groups.notices.add("workload", fetched)
    lags = [
        f"{name} {round(lag):,}"
        for name in active
        if (lag := sum(value for (group, _), value in read.lag.items() if group == name)) >= 1
    ]
    groups.notices.name("workload", "lag in records, which the run begins without", lags)
    return groups


def _assumed(read: _Read) -> str:
    members = "the number of members as measured" if read.members else "one member each"
    return f"{members}, and no limit of their speed"


def _read(
    source: RateSource,
    vocabulary: Vocabulary,
    topics: MeasuredTopics,
    matchers: Sequence[Matcher],
) -> _Read | None:
    found = vocabulary.first([*COMMITTED, *LAG, *COMMITTED_SUM, *LAG_SUM])
    if found is None or not source.read(found.selected, Over.COUNT, [_GROUP], Together.MAX):
        return None
    check_one_cluster(source, [found.selected], matchers)
    committed = _by_topic(source, vocabulary, topics, (COMMITTED, COMMITTED_SUM), Over.GROWTH)
    lag = _by_topic(source, vocabulary, topics, (LAG, LAG_SUM), Over.LAST)
    members = vocabulary.first(MEMBERS)
    counts: dict[str, int] = {}
    if members is not None:
        values = source.read(members.selected, Over.LAST, [_GROUP], Together.MAX)
        counts = {group: round(value) for (group,), value in values.items()}
    return _Read(committed, lag, counts, found.selected.name)


def _by_topic(
    source: RateSource,
    vocabulary: Vocabulary,
    topics: MeasuredTopics,
    families: tuple[Iterable[Family], Iterable[Family]],
    over: Over,
) -> _ByTopic:
    """A value of each group and topic: the sum over partitions, or the series that is one."""
    for each, labels in zip(families, (("partition",), ()), strict=True):
        found = vocabulary.first(each)
        if found is None:
            continue
        by = [_GROUP, "topic", *labels]
        sums: _ByTopic = defaultdict(float)
        for (group, name, *_), value in source.read(found.selected, over, by, Together.MAX).items():
            topic = topics.names.topic_of(name) if group and name else None
            if topic is not None and not is_internal(topic):
                sums[group, topic] += max(value, 0)
        return dict(sums)
    return {}


def _parted(read: _Read, topics: MeasuredTopics) -> tuple[dict[str, list[str]], list[str]]:
    """The topics of each group that reads, and the groups that do not."""
    active: dict[str, list[str]] = defaultdict(list)
    others: dict[str, None] = {}
    for group, topic in sorted({*read.committed_per_second, *read.lag}):
        speed = read.committed_per_second.get((group, topic))
        is_stuck = speed == 0 and topics.messages.get(topic, 0) > 0
        if read.members.get(group) == 0 or is_stuck:
            others[group] = None
        else:
            active[group].append(topic)
    return dict(active), [group for group in others if group not in active]


def _add_consumers(
    groups: MeasuredGroups,
    read: _Read,
    active: dict[str, list[str]],
    taken: Collection[str],
    *,
    commits: bool,
) -> None:
    members = {group: max(1, read.members.get(group, 1)) for group in active}
    if sum(members.values()) > _MOST_CONSUMERS:
        groups.notices.add(
            "workload",
            f"{counted(sum(members.values()), 'consumer')} are too many: one for each group",
        )
        members = dict.fromkeys(active, 1)
    for group, topics in list(active.items())[:_MOST_CONSUMERS]:
        name = "".join(letter if letter.isprintable() else "_" for letter in group)
        name = f"group {name}" if name in taken else name
        consumer: dict[str, Any] = {"name": name[:_LONGEST_NAME], "topics": topics}
        if members[group] > 1:
            consumer["clients"] = members[group]
        if commits:
            consumer["settings"] = {"enable.auto.commit": True}
        groups.consumers.append(consumer)
    if active and not commits:
        groups.notices.add(
            "workload", f"the dump has no {_OFFSETS_TOPIC}, so consumers commit nothing"
        )
    if len(active) > _MOST_CONSUMERS:
        left_out = list(active)[_MOST_CONSUMERS:]
        groups.notices.add("workload", f"left out: groups: {named(left_out)}")


def _fetched(source: RateSource, vocabulary: Vocabulary, topics: MeasuredTopics) -> str:
    """The bytes that consumers read, in words; "" if they are unknown."""
    rates = rates_of(source, vocabulary, BYTES_OUT)
    if rates is None:
        return ""
    read = sum(topics.names.matched(rates.by_name).values())
    text = f"consumers fetch {read:,.0f} bytes a second ({rates.metric})"
    written = sum(topics.bytes.values())
    return f"{text}, {read / written:.2g} times what producers send" if written > 0 else text
