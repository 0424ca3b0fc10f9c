"""Whether series are of one cluster: a Prometheus often has several."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.real_cluster.describe.input_file import InputError
from tidegauge.real_cluster.describe.notices import named
from tidegauge.real_cluster.rates.label_matchers import Matcher
from tidegauge.real_cluster.rates.rate_source import Over, RateSource, Selected, Together

#: Labels by which people tell their clusters apart, the clearest first. Of the last ones two values
#: are two clusters, or the same targets scraped twice: in both cases a sum would be wrong.
_LABELS = (
    *("cluster", "kafka_cluster", "strimzi_io_cluster", "kafka_cluster_id", "cluster_id"),
    *("cluster_name", "environment", "env", "kubernetes_namespace", "namespace"),
    *("job", "prometheus_replica", "replica"),
)


def check_one_cluster(
    source: RateSource, metrics: Sequence[Selected], matchers: Sequence[Matcher]
) -> None:
    """Fail if series of these metrics are of several clusters.

    A label that is matched on is not examined.

    Raises:
        InputError: they are.
    """
    matched = {matcher.label for matcher in matchers}
    labels = [label for label in _LABELS if label not in matched]
    there = {
        values
        for selected in metrics
        for values in source.read(selected, Over.COUNT, labels, Together.MAX)
    }
    for place, label in enumerate(labels):
        values = sorted({each[place] for each in there})
        if len(values) > 1:
            example = next(value for value in values if value)
            raise InputError(
                f"{source.place}: {metrics[0].name} has {len(values)} values of the label {label}: "
                f"{named(value or '(none)' for value in values)}; choose one, such as "
                f"--match '{Matcher(label, '=', example)}'"
            )
