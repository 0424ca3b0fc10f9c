"""The clients of a cluster from a Prometheus that watches it, or from files of samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tidegauge.metrics.spellings.all_spellings import SPELLINGS
from tidegauge.metrics.spellings.spelling import Spelling
from tidegauge.real_cluster.describe.measured_workload import MeasuredCluster, MeasuredWorkload
from tidegauge.real_cluster.rates.label_matchers import Matcher
from tidegauge.real_cluster.rates.measured_groups import read_groups
from tidegauge.real_cluster.rates.measured_threads import threads_notices
from tidegauge.real_cluster.rates.measured_topics import read_topics
from tidegauge.real_cluster.rates.prometheus_api import PrometheusSource
from tidegauge.real_cluster.rates.rate_source import RateSource, Window
from tidegauge.real_cluster.rates.sample_files import SampleReader
from tidegauge.real_cluster.rates.sought_metrics import Vocabulary, sought_names

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
