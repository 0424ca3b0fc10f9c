"""The producers of a cluster, from the messages and bytes that its topics have received.

Only series of one topic count: those over all topics have no label ``topic``. Replication between
brokers is counted elsewhere (ReplicationBytesIn), so bytes are those of producers alone. Some
exporters write an underscore for each dot or hyphen of a topic's name.

Each group of producers is one of a scenario's clients, whose number is limited. A group that writes
to several topics writes to all their partitions at the same rate, with records of one size; so
topics that share one have similar rates of a partition and similar records.
"""

import math
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.metrics.families.family import Family
from tidegauge.real_cluster.describe import topic_rates
from tidegauge.real_cluster.describe.input_file import InputError, Notices, named
from tidegauge.real_cluster.rates import rate_source, sought_metrics
from tidegauge.scenario.model.limits import LEAST_PER_SECOND
from tidegauge.scenario.model.settings import is_internal
from tidegauge.scenario.text.errors import counted

_OTHERS = re.compile(r"[^a-zA-Z0-9]")


class TopicNames:
    """The topics of a dump, and by which other names they are known."""

    def __init__(self, topics: Collection[str]) -> None:
        """Know all topics of the dump."""
        self._topics = set(topics)
        self._by_mangled: dict[str, list[str]] = defaultdict(list)
        for topic in topics:
            self._by_mangled[_mangled(topic)].append(topic)
        #: Names that are not in the dump, or can be several of its topics.
        self.unknown: dict[str, None] = {}
        self.ambiguous: dict[str, list[str]] = {}
        #: The topics that were found by another name.
        self.mangled: dict[str, str] = {}

    def topic_of(self, name: str) -> str | None:
        """The topic of a name; None: there is none, or several."""
        if name in self._topics:
            return name
        candidates = self._by_mangled.get(name, [])
        if len(candidates) == 1:
            self.mangled[candidates[0]] = name
            return candidates[0]
        if candidates:
            self.ambiguous[name] = candidates
        else:
            self.unknown[name] = None
        return None

    def matched(self, values: Mapping[str, float]) -> dict[str, float]:
        """Values by topic of the dump."""
        found: dict[str, float] = defaultdict(float)
        for name, value in values.items():
            topic = self.topic_of(name)
            if topic is not None:
                found[topic] += value
        return dict(found)

    def twins(self, topics: Iterable[str]) -> list[tuple[str, str]]:
        """Topics that have values, each with one that has none and whose name may be mangled so."""
        there = set(topics)
        return [
            (topic, twin)
            for topic in sorted(there)
            for twin in self._by_mangled.get(topic, [])
            if twin not in there
        ]


def _mangled(topic: str) -> str:
    return _OTHERS.sub("_", topic)


#: The busiest topics have groups of their own; of all topics if they are no more than this.
_MOST_OWN = 500
_MOST_SHARED = 200
#: By which factor rates and sizes in a shared group may differ: the smallest that gives few groups.
_FACTORS = (1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 10.0, 100.0, math.inf)

#: A group of producers by its name and rate.
_Maker = Callable[[str, topic_rates.TopicRate], dict[str, Any]]


def producer_groups(
    rates: Mapping[str, topic_rates.TopicRate],
    partitions: Mapping[str, int],
    make: _Maker,
    notices: Notices,
) -> list[dict[str, Any]]:
    """The groups that send at these rates to topics with so many partitions."""
    busiest = sorted(rates, key=lambda topic: -rates[topic].messages_per_second)
    shared = busiest[_MOST_OWN:]
    own = set(busiest[:_MOST_OWN])
    groups = [make(topic, rate) for topic, rate in rates.items() if topic in own]
    if not shared:
        return groups
    factor, cells = _cells(shared, rates, partitions)
    for number, topics in enumerate(cells, start=1):
        of_topics = [rates[topic] for topic in topics]
        together = topic_rates.TopicRate(
            sum(rate.messages_per_second for rate in of_topics),
            sum(rate.bytes_per_second for rate in of_topics),
        )
        groups.append({**make(f"slow topics {number}", together), "topics": topics})
    messages = sum(rates[topic].messages_per_second for topic in shared)
    share = messages / sum(rate.messages_per_second for rate in rates.values())
    most = "any factor" if factor == math.inf else f"a factor of {factor:g} at most"
    notices.add(
        "workload",
        f"the {len(shared):,} slowest of {len(rates):,} topics, with {share:.1%} of all messages, "
        f"share {counted(len(cells), 'group')} of producers, each with topics whose rates and "
        f"record sizes differ by {most}",
    )
    return groups


def _cells(
    topics: Sequence[str], rates: Mapping[str, topic_rates.TopicRate], partitions: Mapping[str, int]
) -> tuple[float, list[list[str]]]:
    """Topics that are similar together, and the factor by which they differ at most."""
    for factor in _FACTORS:
        cells: dict[tuple[int, int], list[str]] = defaultdict(list)
        for topic in topics:
            messages, size, _ = rates[topic]
            cell = (_step(messages / partitions[topic], factor), _step(size / messages, factor))
            cells[cell].append(topic)
        if len(cells) <= _MOST_SHARED:
            break
    return factor, list(cells.values())


def _step(value: float, factor: float) -> int:
    return 0 if factor == math.inf else math.floor(math.log(value) / math.log(factor))


_TOPIC = "topic"
_PARTITION = "partition"
#: A record's size is a whole number of bytes.
_MOST_DEVIATION = 0.05


class Rates(NamedTuple):
    """A value per second by the name of a topic, and the metric that it comes from."""

    by_name: dict[str, float]
    metric: str


class MeasuredTopics:
    """The rates of the topics of a dump, and the producers that send at them."""

    def __init__(
        self,
        source: rate_source.RateSource,
        vocabulary: sought_metrics.Vocabulary,
        topics: Mapping[str, int],
        matchers: Sequence[rate_source.Matcher],
    ) -> None:
        """Read the rates of these topics.

        Args:
            source: the place of the series.
            vocabulary: the names that it has.
            topics: the topics of the dump, with their numbers of partitions.
            matchers: of the series.

        Raises:
            InputError: the place has no rates of topics, or of other topics only, or of several
                clusters.
        """
        self._source = source
        self._vocabulary = vocabulary
        self._topics = topics
        self.notices = Notices()
        self.names = TopicNames(topics)
        rates = self._rates(matchers)
        sizes = rates_of(source, vocabulary, sought_metrics.BYTES_IN)
        #: By topic, in a second.
        self.messages = self.names.matched(rates.by_name)
        self.bytes = self.names.matched({} if sizes is None else sizes.by_name)
        if not self.messages:
            raise InputError(
                f"{source.place}: has rates of {named(sorted(rates.by_name))}, and none of these "
                "topics is in the dump"
            )
        origins = f"messages of {rates.metric}"
        self._tell_of_rates(origins if sizes is None else f"{origins}, bytes of {sizes.metric}")
        own_rates = self._topic_rates(sum(rates.by_name.values()))
        #: Groups of producers of a scenario.
        self.producers = producer_groups(own_rates, topics, self._producers, self.notices)
        self._tell_of_small_records(own_rates)

    def _rates(self, matchers: Sequence[rate_source.Matcher]) -> Rates:
        """The messages per second of all topics that the place has."""
        source, vocabulary = self._source, self._vocabulary
        own_rates = (
            sought_metrics.with_attribute(sought_metrics.MESSAGES_IN, rate)
            for rate in sought_metrics.OWN_RATES
        )
        families = (sought_metrics.MESSAGES_IN, *own_rates, *sought_metrics.OFFSETS)
        present = [found for family in families if (found := vocabulary.find(family)) is not None]
        if not present:
            raise InputError(
                f"{source.place}: has no messages of topics; none of the names that exporters have "
                "for them is there, such as kafka_server_brokertopicmetrics_messagesin_total or "
                "kafka_topic_partition_current_offset"
            )
        found = next((each for each in present if self._has_topics(each)), None)
        if found is None:
            found = present[0]
            # Fails with the right message if there are no samples at all.
            source.settle(found.selected)
            raise InputError(
                f"{source.place}: {_metric_text(found)} has no series with the label "
                f"{found.label(_TOPIC)}: only sums over all topics, which cannot be split"
            )
        others = vocabulary.in_any_spelling(sought_metrics.MESSAGES_IN)
        metrics = [each.requiring(_TOPIC).selected for each in (found, *others)]
        source.settle(metrics[0])
        rate_source.check_one_cluster(
            source, list({each.name: each for each in metrics}.values()), matchers
        )
        rates = rates_of(source, vocabulary, sought_metrics.MESSAGES_IN) or self._rates_of_offsets()
        if rates is None:
            raise InputError(
                f"{source.place}: series of {_metric_text(found)} have one sample each in "
                f"{source.window}, and a rate needs two: a longer --over, or a second --samples"
            )
        return rates

    def _has_topics(self, found: sought_metrics.Found) -> bool:
        selected, labels = found.requiring(_TOPIC).selected, [found.label(_TOPIC)]
        return bool(
            self._source.read(selected, rate_source.Over.COUNT, labels, rate_source.Together.SUM)
        )

    def _rates_of_offsets(self) -> Rates | None:
        """The rates at which offsets grow: of each partition one series, of several exporters."""
        found = self._vocabulary.first(sought_metrics.OFFSETS)
        if found is None:
            return None
        selected, labels = found.requiring(_TOPIC).selected, [_TOPIC, _PARTITION]
        by_name: dict[str, float] = defaultdict(float)
        grown = self._source.read(
            selected, rate_source.Over.GROWTH, labels, rate_source.Together.MAX
        )
        for (topic, _), value in grown.items():
            by_name[topic] += value
        return Rates(dict(by_name), _metric_text(found)) if by_name else None

    def _topic_rates(self, all_messages: float) -> dict[str, topic_rates.TopicRate]:
        """The rates of the topics that have producers."""
        mean = None if self.bytes else self._mean_record_bytes(all_messages)
        rates: dict[str, topic_rates.TopicRate] = {}
        assumed = []
        for topic, messages in self.messages.items():
            if messages < LEAST_PER_SECOND or is_internal(topic):
                continue
            size = self.bytes.get(topic, 0.0)
            if size <= 0:
                assumed.append(topic)
                size = messages * (mean or topic_rates.DEFAULT_RECORD_BYTES)
            rates[topic] = topic_rates.TopicRate(messages, size)
        records = f"records of {round(mean or topic_rates.DEFAULT_RECORD_BYTES)} bytes"
        records += ", the mean of all topics," if mean else ""
        self.notices.name("workload", f"no bytes of these topics: {records} are assumed", assumed)
        return rates

    def _mean_record_bytes(self, all_messages: float) -> float | None:
        """The size of a record by the bytes of all topics, where brokers count no others."""
        found = self._vocabulary.find(sought_metrics.BYTES_IN)
        if found is None or all_messages <= 0:
            return None
        sums = self._source.read(
            found.selected, rate_source.Over.RATE, (), rate_source.Together.SUM
        )
        size = sums.get((), 0.0)
        return size / all_messages if size > 0 else None

    def _producers(self, name: str, rate: topic_rates.TopicRate) -> dict[str, Any]:
        try:
            return topic_rates.producers_of(name, rate)
        except topic_rates.ImpossibleRateError as error:
            messages, size, _ = rate
            raise InputError(
                f"{self._source.place}: {name} has {messages:g} messages and {size:g} bytes a"
                f" second: {error}"
            ) from error

    def _tell_of_small_records(self, rates: Mapping[str, topic_rates.TopicRate]) -> None:
        """Records of a few bytes, after compression, have no whole number of them."""
        far = [
            f"{topic} ({exact:.2g})"
            for topic, (messages, size, _) in rates.items()
            for exact in [size / messages]
            if abs(max(1, round(exact)) / exact - 1) > _MOST_DEVIATION
        ]
        text = "a record's size is a whole number of bytes, by which their bytes differ"
        self.notices.name("workload", text, far)

    def _tell_of_rates(self, origins: str) -> None:
        source, names, notices = self._source, self.names, self.notices
        own = [topic for topic in self._topics if not is_internal(topic)]
        known = [topic for topic in own if topic in self.messages]
        notices.add(
            "input",
            f"rates come from {source.place}, over {source.window}, by the names of"
            f" {self._vocabulary.text}",
        )
        notices.add(
            "workload",
            f"rates of {len(known)} of {len(own)} topics: {origins}; acks=all is assumed",
            topic_rates.how_batches_come_about(source.place),
        )
        missing = [topic for topic in own if topic not in self.messages]
        silent = [topic for topic in known if self.messages[topic] < LEAST_PER_SECOND]
        mangled = [f"{topic} is {name}" for topic, name in names.mangled.items()]
        unknown = [name for name in names.unknown if not is_internal(name)]
        notices.name("workload", "these topics have no series, so no producer", missing)
        notices.name("workload", "these topics had no messages, so no producer", silent)
        if len(own) < len(self._topics):
            notices.add("workload", "Kafka's own topics (__...) have no producer")
        notices.name("workload", "topics that the series have under another name", mangled)
        for name, candidates in names.ambiguous.items():
            notices.add("workload", f"left out: the topic {name} can be {' or '.join(candidates)}")
        for topic, twin in names.twins(self.messages):
            notices.add("workload", f"the rate of {topic} can be that of {twin}, which has none")
        notices.name("workload", "left out: topics that the dump does not have", unknown)


def rates_of(
    source: rate_source.RateSource, vocabulary: sought_metrics.Vocabulary, family: Family
) -> Rates | None:
    """The rates of a counter by topic, or those that the meter has itself; None: there are none."""
    own_rates = (
        (sought_metrics.with_attribute(family, rate), rate_source.Over.MEAN, f" ({rate} of Kafka)")
        for rate in sought_metrics.OWN_RATES
    )
    for each, over, origin in ((family, rate_source.Over.RATE, ""), *own_rates):
        found = vocabulary.find(each)
        if found is None:
            continue
        labels = [found.label(_TOPIC)]
        by_topic = source.read(
            found.requiring(_TOPIC).selected, over, labels, rate_source.Together.SUM
        )
        if by_topic:
            by_name = {topic: value for (topic,), value in by_topic.items()}
            return Rates(by_name, f"{_metric_text(found)}{origin}")
    return None


def _metric_text(found: sought_metrics.Found) -> str:
    name, labels, _ = found.selected
    matchers = ",".join(
        str(rate_source.Matcher(label, "=", value)) for label, value in labels.items()
    )
    return f"{name}{{{matchers}}}" if matchers else name
