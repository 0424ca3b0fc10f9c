"""The clients of a cluster as a Prometheus or files of samples have them, and its idle threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.real_cluster.describe.input_file import Notice
from tidegauge.real_cluster.describe.topic_rates import MeasuredCluster, MeasuredWorkload
from tidegauge.real_cluster.rates.measured_groups import read_groups
from tidegauge.real_cluster.rates.measured_topics import read_topics
from tidegauge.real_cluster.rates.prometheus_api import PrometheusSource
from tidegauge.real_cluster.rates.rate_source import Matcher, Over, RateSource, Together, Window
from tidegauge.real_cluster.rates.sample_files import SampleReader
from tidegauge.real_cluster.rates.sought_metrics import (
    HANDLERS_IDLE,
    HANDLERS_IDLE_TIME,
    NETWORK_IDLE,
    Vocabulary,
    sought_names,
)
from tidegauge.scenario.text.counted import counted

_INSTANCE = "instance"
_NANOSECONDS = 1e9


class _Idle:
    """The idle shares (0 to 1) of the threads of each broker."""

    def __init__(self, by_instance: dict[str, float], metric: str) -> None:
        self.by_instance = {name: min(max(v, 0.0), 1.0) for name, v in by_instance.items()}
        self.metric = metric

    def text(self, threads: str, setting: str, cluster: MeasuredCluster) -> str:
        values = self.by_instance
        busiest = min(values, key=lambda instance: values[instance])
        least = values[busiest]
        at = f" at {busiest}" if busiest else ""
        mean = sum(values.values()) / len(values)
        text = (
            f"{threads}: idle {mean:.1%} in the mean of {counted(len(values), 'broker')}, "
            f"{least:.1%}{at} ({self.metric})"
        )
        number = cluster.settings.get(setting)
        if number is None:
            return f"{text}; brokers differ in {setting}"
        busy = int(number) * (1 - least)
        return f"{text}: with {setting}={number}, as in the scenario, {busy:.2g} are busy there"


def threads_notices(
    source: RateSource, vocabulary: Vocabulary, cluster: MeasuredCluster
) -> Iterator[Notice]:
    """How busy threads are, and what the scenario makes of it."""
    idle = _handlers(source, vocabulary)
    if idle is not None:
        yield Notice("workload", idle.text("request handlers", "num.io.threads", cluster))
    idle = _network(source, vocabulary)
    if idle is not None:
        yield Notice("workload", idle.text("network threads", "num.network.threads", cluster))


def _handlers(source: RateSource, vocabulary: Vocabulary) -> _Idle | None:
    """From the time that handlers were idle in the window, or from the mean since their start."""
    found = vocabulary.find(HANDLERS_IDLE_TIME)
    if found is not None:
        idle_ns = source.read(found.selected, Over.RATE, [_INSTANCE], Together.MEAN)
        if idle_ns:
            shares = {instance: value / _NANOSECONDS for (instance,), value in idle_ns.items()}
            return _Idle(shares, found.selected.name)
    found = vocabulary.find(HANDLERS_IDLE)
    if found is None:
        return None
    values = source.read(found.selected, Over.LAST, [_INSTANCE], Together.MEAN)
    shares = {instance: value for (instance,), value in values.items()}
    return _Idle(shares, f"{found.selected.name}, since their start") if shares else None


def _network(source: RateSource, vocabulary: Vocabulary) -> _Idle | None:
    found = vocabulary.find(NETWORK_IDLE)
    if found is None:
        return None
    values = source.read(found.selected, Over.MEAN, [_INSTANCE], Together.MEAN)
    shares = {instance: value for (instance,), value in values.items()}
    return _Idle(shares, found.selected.name) if shares else None


#: The length of the window, unless it is given.
DEFAULT_OVER_S = 300.0


@dataclass(frozen=True)
class MeasuredClients:
    """A reader of ``describe/measured_workload.py``."""

    origin: str
    _open: Callable[[], RateSource]
    _matchers: Sequence[Matcher]
    _spelling: Spelling | None

    def read(self, cluster: MeasuredCluster) -> MeasuredWorkload:
        """The clients of a cluster.

        Raises:
            InputError: the values cannot be read, or are not those of this cluster.
        """
        source = self._open()
        sought = sought_names([] if self._spelling is None else [self._spelling])
        vocabulary = Vocabulary(source.names(sought), self._spelling)
        topics = read_topics(source, vocabulary, cluster.topics, self._matchers)
        groups = read_groups(source, vocabulary, topics, self._matchers)
        notices = [*source.notices, *topics.notices, *groups.notices]
        notices += threads_notices(source, vocabulary, cluster)
        return MeasuredWorkload(topics.producers, groups.consumers, notices)


def of_prometheus(
    url: str, window: Window, matchers: Sequence[Matcher], spelling: Spelling | None
) -> MeasuredClients:
    """Clients as a Prometheus has them.

    Raises:
        InputError: there is no such URL.
    """
    source = PrometheusSource(url, window, matchers)
    return MeasuredClients(source.place, lambda: source, matchers, spelling)


def of_samples(
    scrapes: Sequence[Path],
    at_s: float | None,
    over_s: float | None,
    matchers: Sequence[Matcher],
    spelling: Spelling | None,
) -> MeasuredClients:
    """Clients as files of samples have them, the scrapes in the order of their times."""
    wanted = sought_names(SPELLINGS.values() if spelling is None else [spelling])

    def open_files() -> RateSource:
        reader = SampleReader(lambda name: name.lower() in wanted, matchers, over_s)
        return reader.source(scrapes, DEFAULT_OVER_S, at_s)

    names = dict.fromkeys(path.name or str(path) for path in scrapes)
    return MeasuredClients(", ".join(names), open_files, matchers, spelling)
