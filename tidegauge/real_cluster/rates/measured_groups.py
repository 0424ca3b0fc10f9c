"""The consumers of a cluster, from the offsets that its groups have committed."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tidegauge.metrics.families.family import Family
from tidegauge.real_cluster.describe.input_file import Notices, named
from tidegauge.real_cluster.rates import rate_source, sought_metrics
from tidegauge.real_cluster.rates.measured_topics import MeasuredTopics, rates_of
from tidegauge.scenario.model.settings import OFFSETS_TOPIC, is_internal
from tidegauge.scenario.text.errors import counted

_GROUP = "consumergroup"
_LONGEST_NAME = 249
#: Processes of consumers, of all groups together; each of them is one of a scenario's clients.
_MOST_CONSUMERS = 300

#: By group and topic.
_ByTopic = dict[tuple[str, str], float]
_Families = Iterable[Family]


class MeasuredGroups:
    """The groups of consumers that read the topics of a dump."""

    def __init__(
        self,
        source: rate_source.RateSource,
        vocabulary: sought_metrics.Vocabulary,
        topics: MeasuredTopics,
        matchers: Sequence[rate_source.Matcher],
    ) -> None:
        """Read the groups.

        Args:
            source: the place of the series.
            vocabulary: the names that it has.
            topics: the topics, as they were measured.
            matchers: of the series.

        Raises:
            InputError: the series are of several clusters, or cannot be read.
        """
        self._source = source
        self._vocabulary = vocabulary
        self._topics = topics
        #: Groups of consumers of a scenario.
        self.consumers: list[dict[str, Any]] = []
        self.notices = Notices()
        self._committed_per_second: _ByTopic = {}
        self._lag: _ByTopic = {}
        self._members: dict[str, int] = {}
        metric = self._read(matchers)
        fetched = self._fetched()
        if metric is None:
            text = "no series of consumer groups (kafka_exporter has them): no consumers"
            self.notices.add("workload", f"{text}{fetched and f', though {fetched}'}")
            return
        active, idle = self._active_and_idle()
        self._add_consumers(active)
        self._tell_of_groups(active, idle, metric)
        if fetched:
            self.notices.add("workload", fetched)
        lags: dict[str, float] = dict.fromkeys(active, 0)
        for (group, _), lag in self._lag.items():
            if group in lags:
                lags[group] += lag
        text = "lag in records, which the run begins without"
        self.notices.name(
            "workload", text, [f"{name} {round(lag):,}" for name, lag in lags.items() if lag >= 1]
        )

    def _tell_of_groups(self, active: dict[str, list[str]], idle: list[str], metric: str) -> None:
        groups = [f"{name} ({named(topics)})" for name, topics in active.items()]
        members = "the number of members as measured" if self._members else "one member each"
        text = f"consumer groups: {len(active)}, of {metric}{': ' if groups else ''}{named(groups)}"
        self.notices.add("workload", f"{text}; {members}, and no limit of their speed")
        text = "groups that have no members, or commit nothing of topics with messages"
        self.notices.name("workload", f"left out: {text}", idle)

    def _read(self, matchers: Sequence[rate_source.Matcher]) -> str | None:
        """Read all values; the metric that shows the groups, None if the place has none."""
        source = self._source
        found = self._vocabulary.first(
            [
                *sought_metrics.COMMITTED,
                *sought_metrics.LAG,
                *sought_metrics.COMMITTED_SUM,
                *sought_metrics.LAG_SUM,
            ]
        )
        if found is None or not source.read(
            found.selected, rate_source.Over.COUNT, [_GROUP], rate_source.Together.MAX
        ):
            return None
        rate_source.check_one_cluster(source, [found.selected], matchers)
        self._committed_per_second = self._by_topic(
            sought_metrics.COMMITTED, sought_metrics.COMMITTED_SUM, rate_source.Over.GROWTH
        )
        self._lag = self._by_topic(
            sought_metrics.LAG, sought_metrics.LAG_SUM, rate_source.Over.LAST
        )
        members = self._vocabulary.first(sought_metrics.MEMBERS)
        if members is not None:
            values = source.read(
                members.selected, rate_source.Over.LAST, [_GROUP], rate_source.Together.MAX
            )
            self._members = {group: round(value) for (group,), value in values.items()}
        return found.selected.name

    def _by_topic(
        self, of_partitions: _Families, of_topics: _Families, over: rate_source.Over
    ) -> _ByTopic:
        """A value of each group and topic: the sum over partitions, or the series that is one."""
        for families, labels in ((of_partitions, ("partition",)), (of_topics, ())):
            found = self._vocabulary.first(families)
            if found is None:
                continue
            by = [_GROUP, "topic", *labels]
            sums: _ByTopic = defaultdict(float)
            values = self._source.read(found.selected, over, by, rate_source.Together.MAX)
            for (group, name, *_), value in values.items():
                topic = self._topics.names.topic_of(name) if group and name else None
                if topic is not None and not is_internal(topic):
                    sums[group, topic] += max(value, 0)
            return dict(sums)
        return {}

    def _active_and_idle(self) -> tuple[dict[str, list[str]], list[str]]:
        """The topics of each group that reads, and the groups that do not."""
        active: dict[str, list[str]] = defaultdict(list)
        others: dict[str, None] = {}
        for group, topic in sorted({*self._committed_per_second, *self._lag}):
            speed = self._committed_per_second.get((group, topic))
            is_stuck = speed == 0 and self._topics.messages.get(topic, 0) > 0
            if self._members.get(group) == 0 or is_stuck:
                others[group] = None
            else:
                active[group].append(topic)
        return dict(active), [group for group in others if group not in active]

    def _add_consumers(self, active: dict[str, list[str]]) -> None:
        commits = self._topics.names.topic_of(OFFSETS_TOPIC) is not None
        taken = {each["name"] for each in self._topics.producers}
        members = {group: max(1, self._members.get(group, 1)) for group in active}
        if sum(members.values()) > _MOST_CONSUMERS:
            text = f"{counted(sum(members.values()), 'consumer')} are too many: one for each group"
            self.notices.add("workload", text)
            members = dict.fromkeys(active, 1)
        for group, topics in list(active.items())[:_MOST_CONSUMERS]:
            name = "".join(letter if letter.isprintable() else "_" for letter in group)
            name = f"group {name}" if name in taken else name
            consumer: dict[str, Any] = {"name": name[:_LONGEST_NAME], "topics": topics}
            if members[group] > 1:
                consumer["clients"] = members[group]
            if commits:
                consumer["settings"] = {"enable.auto.commit": True}
            self.consumers.append(consumer)
        if active and not commits:
            text = f"the dump has no {OFFSETS_TOPIC}, so consumers commit nothing"
            self.notices.add("workload", text)
        self.notices.name("workload", "left out: groups", list(active)[_MOST_CONSUMERS:])

    def _fetched(self) -> str:
        """The bytes that consumers read, in words; "" if they are unknown."""
        rates = rates_of(self._source, self._vocabulary, sought_metrics.BYTES_OUT)
        if rates is None:
            return ""
        read = sum(self._topics.names.matched(rates.by_name).values())
        text = f"consumers fetch {read:,.0f} bytes a second ({rates.metric})"
        written = sum(self._topics.bytes.values())
        return f"{text}, {read / written:.2g} times the producers' bytes" if written > 0 else text
