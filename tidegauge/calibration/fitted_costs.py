"""Parameters of the cost model, fitted from the samples that logs have of each.

A parameter is fitted by the quantiles of its samples as they are: no distribution is assumed. With a
few samples only the middle ones mean much, so the table of a parameter says how many there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.calibration.cluster_logs import ClusterLogs
from tidegauge.calibration.estimator import Estimator, Sample, chosen
from tidegauge.calibration.estimators import ESTIMATORS
from tidegauge.replication.release_versions import Mode
from tidegauge.scenario.model.costs import Costs, Latency, costs_of_other_modes
from tidegauge.simulation.durations import format_duration

#: The quantiles that a scenario has, in hundredths.
_QUANTILES = {"min": 0, "p50": 50, "p90": 90, "p99": 99, "max": 100}


class FittedParameter(NamedTuple):
    """A parameter with the samples that it is fitted from."""

    #: A field of ``costs``.
    cost: str
    #: In ascending order, microseconds.
    values_us: Sequence[int]
    source: str
    bias: str
    #: Names of log files or metrics.
    seen_in: Sequence[str]

    def quantiles_us(self) -> dict[str, int]:
        """The values of min, p50, p90, p99 and max."""
        return {name: _quantile(self.values_us, share) for name, share in _QUANTILES.items()}

    def written(self) -> dict[str, str]:
        """Its value as a scenario has it."""
        return {name: format_duration(value) for name, value in self.quantiles_us().items()}


class UnfittedParameter(NamedTuple):
    """A parameter that stays at its default, and why."""

    cost: str
    reason: str


class FittedCosts(NamedTuple):
    """The costs of a cluster."""

    mode: Mode
    fitted: Sequence[FittedParameter]
    unfitted: Sequence[UnfittedParameter]

    def costs(self) -> dict[str, Any]:
        """``costs`` of a scenario."""
        return {each.cost: each.written() for each in self.fitted}

    def default_of(self, cost: str) -> Latency:
        """The default of a parameter in the cluster's mode."""
        default: Latency = getattr(Costs().in_mode(self.mode), cost)
        return default


def fit_costs(clusters: Iterable[ClusterLogs], mode: Mode) -> FittedCosts:
    """Fit the parameters of a mode from the logs of one or more clusters."""
    fitted: list[FittedParameter] = []
    read = [logs for logs in clusters if logs.mode in (None, mode)]
    asked = [each for each in ESTIMATORS if each.mode in (None, mode)]
    for estimator in asked:
        samples = chosen(sample for logs in read for sample in estimator.samples(logs))
        if samples:
            fitted.append(_fitted(estimator, samples))
    return FittedCosts(mode, fitted, list(_unfitted(fitted, asked, mode)))


def _fitted(estimator: Estimator, samples: Sequence[Sample]) -> FittedParameter:
    values_us = sorted(max(1, sample.value_us) for sample in samples)
    seen_in = sorted({sample.seen_in for sample in samples})
    return FittedParameter(estimator.cost, values_us, estimator.source, estimator.bias, seen_in)


def _unfitted(
    fitted: Sequence[FittedParameter], asked: Sequence[Estimator], mode: Mode
) -> Iterator[UnfittedParameter]:
    known = {each.cost for each in fitted}
    sources: Mapping[str, str] = {each.cost: each.source for each in asked}
    for cost in Costs.model_fields:
        if cost in known or cost in costs_of_other_modes(mode):
            continue
        source = sources.get(cost)
        reason = "no line of a log tells it" if source is None else f"no lines: {source}"
        yield UnfittedParameter(cost, reason)


def _quantile(values: Sequence[int], share: int) -> int:
    """The value at a share of a hundred, linear between two values."""
    place, rest = divmod((len(values) - 1) * share, 100)
    if not rest:
        return values[place]
    return values[place] + (values[place + 1] - values[place]) * rest // 100
