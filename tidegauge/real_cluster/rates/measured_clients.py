"""The clients of a cluster as a Prometheus or files of samples have them, and its idle threads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tidegauge.metrics.families.family import Family
from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.real_cluster.describe.input_file import Notices
from tidegauge.real_cluster.describe.topic_rates import MeasuredCluster, MeasuredWorkload
from tidegauge.real_cluster.rates import sought_metrics
from tidegauge.real_cluster.rates.measured_groups import MeasuredGroups
from tidegauge.real_cluster.rates.measured_topics import MeasuredTopics
from tidegauge.real_cluster.rates.prometheus_api import PrometheusSource
from tidegauge.real_cluster.rates.rate_source import Matcher, Over, RateSource, Together, Window
from tidegauge.real_cluster.rates.sample_files import SampleReader
from tidegauge.real_cluster.rates.sought_metrics import Vocabulary, sought_names
from tidegauge.scenario.text.errors import counted


class _IdleMetric(NamedTuple):
    """A metric of the share of time in which threads are idle."""

    family: Family
    over: Over
    #: The value of threads that are always idle.
    whole: float = 1.0
    #: The time of the value, if it is not the window.
    since: str = ""


#: By threads and their setting: metrics, the best one first.
_IDLE = {
    ("request handlers", "num.io.threads"): (
        # Nanoseconds in a second.
        _IdleMetric(sought_metrics.BROKER_HANDLERS_IDLE_TIME, Over.RATE, 1e9),
        _IdleMetric(sought_metrics.HANDLERS_IDLE_TIME, Over.RATE, 1e9),
        _IdleMetric(sought_metrics.BROKER_HANDLERS_IDLE, Over.LAST, since=", since their start"),
        _IdleMetric(sought_metrics.HANDLERS_IDLE, Over.LAST, since=", since their start"),
    ),
    ("network threads", "num.network.threads"): (
        _IdleMetric(sought_metrics.NETWORK_IDLE, Over.MEAN),
    ),
}


def _tell_of_threads(
    notices: Notices, source: RateSource, vocabulary: Vocabulary, cluster: MeasuredCluster
) -> None:
    """Report the idle shares of threads, and the number of busy ones in the scenario."""
    for (threads, setting), metrics in _IDLE.items():
        for metric in metrics:
            found = vocabulary.find(metric.family)
            if found is None:
                continue
            values = source.read(found.selected, metric.over, ["instance"], Together.MEAN)
            if not values:
                continue
            shares = {
                instance: min(max(value / metric.whole, 0.0), 1.0)
                for (instance,), value in values.items()
            }
            name = f"{found.selected.name}{metric.since}"
            notices.add(
                "workload", f"{threads}: {_idle_text(shares, name, setting, cluster.settings)}"
            )
            break


def _idle_text(
    shares: Mapping[str, float], metric: str, setting: str, settings: Mapping[str, object]
) -> str:
    busiest = min(shares, key=shares.__getitem__)
    least = shares[busiest]
    text = (
        f"idle {sum(shares.values()) / len(shares):.1%} in the mean of "
        f"{counted(len(shares), 'broker')}, {least:.1%}{busiest and f' at {busiest}'} ({metric})"
    )
    if setting not in settings:
        return f"{text}; brokers differ in {setting}"
    busy = int(str(settings[setting])) * (1 - least)
    return (
        f"{text}: with {setting}={settings[setting]}, as in the scenario, {busy:.2g} are busy there"
    )


#: The length of the window, unless it is given.
DEFAULT_OVER_S = 300.0


@dataclass(frozen=True)
class MeasuredClients:
    """A reader of measured clients (``describe/topic_rates.py``)."""

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
        topics = MeasuredTopics(source, vocabulary, cluster.topics, self._matchers)
        groups = MeasuredGroups(source, vocabulary, topics, self._matchers)
        notices = Notices([*source.notices, *topics.notices, *groups.notices])
        _tell_of_threads(notices, source, vocabulary, cluster)
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
