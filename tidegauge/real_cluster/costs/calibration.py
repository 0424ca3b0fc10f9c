"""Parameters of the cost model that are fitted from a cluster's own measurements.

The one table of estimators that read logs has at most one for each parameter of a mode.

A parameter is fitted by the quantiles of its samples as they are: no distribution is assumed. With
a few samples only the middle ones mean much, so a parameter has the number of its samples. Logs
count before metrics, since a line is of one event.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from tidegauge.real_cluster.costs.broker_starts import BROKER_STARTS
from tidegauge.real_cluster.costs.controller_work import CONTROLLER_WORK
from tidegauge.real_cluster.costs.estimator import (
    MANY_PARTITIONS,
    MS_US,
    ClusterLogs,
    Estimator,
    Sample,
    chosen,
)
from tidegauge.real_cluster.costs.state_changes import STATE_CHANGES
from tidegauge.real_cluster.logs.log_layout import MILLISECONDS
from tidegauge.replication.release_versions import Mode
from tidegauge.scenario.model.costs import Costs, costs_of_other_modes
from tidegauge.scenario.model.limits import Resources
from tidegauge.scenario.text.errors import counted

ESTIMATORS = (*BROKER_STARTS, *STATE_CHANGES, *CONTROLLER_WORK)

#: The literals of all lines that are read.
MARKERS = tuple(dict.fromkeys(marker for each in ESTIMATORS for marker in each.markers))

#: Parameters that neither logs nor metrics have, and the reason.
UNTOLD = {
    "request_partition": "only whole requests are measured",
    "zookeeper_pipelined_write": "lines have milliseconds, and writes of one batch share theirs",
    "controller_partition": "the lines of one batch are written within a millisecond",
    "controller_election": "no line marks the start of a broker's attempt",
    "log_recovery_mebibyte": "no line has the bytes that were read again",
    "offsets_load_mebibyte": "only whole partitions are measured",
    "metadata_record": "microseconds, which no line shows",
    "metadata_append": "only its sum with metadata_fsync shows, which is dominant",
    "metadata_vote": "no line has a single request for a vote",
    "metadata_snapshot_mebibyte": "no line has the duration of a transfer",
}


#: The quantiles that a scenario has, in hundredths.
QUANTILES = {"min": 0, "p50": 50, "p90": 90, "p99": 99, "max": 100}
COSTS, RESOURCES = "costs", "resources"
#: More digits than samples would give are noise.
_DIGITS = 3
_S_US = 1_000_000


class Fitted(NamedTuple):
    """A parameter with its value and where that comes from."""

    #: ``costs`` or ``resources``.
    part: str
    field: str
    #: As a scenario has it: quantiles, or one value.
    value: Mapping[str, str] | str
    samples: int
    #: Names of log files or of metrics.
    seen_in: Sequence[str]
    #: From which lines or metrics.
    source: str
    #: Other work that it holds, or work that it lacks; may be empty.
    bias: str = ""

    @property
    def path(self) -> str:
        """Its path in a scenario."""
        return f"{self.part}.{self.field}"

    def quantile(self, name: str) -> str:
        """One of its quantiles as a scenario has it."""
        return self.value if isinstance(self.value, str) else self.value[name]


class Unfitted(NamedTuple):
    """A parameter that stays at its default, and why."""

    part: str
    field: str
    reason: str

    @property
    def path(self) -> str:
        """Its path in a scenario."""
        return f"{self.part}.{self.field}"


class Calibration(NamedTuple):
    """All parameters of a cluster."""

    mode: Mode
    fitted: Sequence[Fitted]
    unfitted: Sequence[Unfitted]

    def parts(self) -> dict[str, dict[str, Any]]:
        """``costs`` and ``resources`` as a scenario has them; without a part that has no value."""
        parts: dict[str, dict[str, Any]] = {}
        for each in self.fitted:
            value = each.value if isinstance(each.value, str) else dict(each.value)
            parts.setdefault(each.part, {})[each.field] = value
        return parts


def calibrate(
    mode: Mode,
    clusters: Iterable[ClusterLogs],
    measured: Sequence[Fitted | Unfitted] = (),
) -> Calibration:
    """Fit the parameters of a mode.

    Args:
        mode: the control plane of the cluster.
        clusters: logs of it, or of several clusters of the same kind.
        measured: parameters from metrics, fitted or not.
    """
    of_logs = list(_from_logs(list(clusters), mode))
    found = {each.path: each for each in (*measured, *of_logs) if isinstance(each, Fitted)}
    order = [f"{COSTS}.{name}" for name in Costs.model_fields]
    order += [f"{RESOURCES}.{name}" for name in Resources.model_fields]
    fitted = sorted(found.values(), key=lambda each: order.index(each.path))
    untold = {
        **UNTOLD,
        **{each.field: each.reason for each in of_logs if isinstance(each, Unfitted)},
    }
    return Calibration(mode, fitted, list(_unfitted(set(found), measured, untold, mode)))


def _from_logs(clusters: Sequence[ClusterLogs], mode: Mode) -> Iterator[Fitted | Unfitted]:
    """The parameters that logs hold; unfitted are those below the step of their clocks."""
    steps_ms = [logs.step_ms for logs in clusters]
    for estimator in ESTIMATORS:
        if estimator.mode not in (None, mode):
            continue
        sampled = [list(estimator.samples(logs)) for logs in clusters]
        of_each = list(zip(sampled, steps_ms, strict=True))
        told = [samples for samples, step_ms in of_each if _is_told(samples, step_ms)]
        if samples := chosen(chain.from_iterable(told)):
            yield _fitted(estimator, samples)
        elif any(samples for samples, _ in of_each):
            yield Unfitted(COSTS, estimator.cost, "shorter than the whole seconds of the lines")


def _is_told(samples: Iterable[Sample], step_ms: int) -> bool:
    """Whether a clock with such steps tells these durations: none is below its step."""
    least_us = min((each.value_us * max(each.partitions, 1) for each in samples), default=0)
    return step_ms == MILLISECONDS or least_us >= step_ms * MS_US


def _fitted(estimator: Estimator, samples: Sequence[Sample]) -> Fitted:
    values_us = sorted(max(1, sample.value_us) for sample in samples)
    return Fitted(
        COSTS,
        estimator.cost,
        {name: written_us(quantile(values_us, share)) for name, share in QUANTILES.items()},
        len(samples),
        sorted({sample.seen_in for sample in samples}),
        estimator.source,
        "; ".join(filter(None, (estimator.bias, _of_few_partitions(samples)))),
    )


def _of_few_partitions(samples: Iterable[Sample]) -> str:
    """A warning where no sample is of many partitions."""
    most = max(sample.partitions for sample in samples)
    if not 0 < most < MANY_PARTITIONS:
        return ""
    return f"of at most {counted(most, 'partition')} at once: too long for many"


def _unfitted(
    known: set[str],
    measured: Iterable[Fitted | Unfitted],
    untold: Mapping[str, str],
    mode: Mode,
) -> Iterator[Unfitted]:
    """The parameters of the mode that have no value, in the order of the model."""
    sources = {each.cost: each.source for each in ESTIMATORS if each.mode in (None, mode)}
    reasons = {each.path: each.reason for each in measured if isinstance(each, Unfitted)}
    for cost in Costs.model_fields:
        path = f"{COSTS}.{cost}"
        if path in known or cost in costs_of_other_modes(mode):
            continue
        if cost in sources and cost not in untold:
            said = [
                f"no such lines: {sources[cost]}",
                *([reasons[path]] if path in reasons else []),
            ]
            yield Unfitted(COSTS, cost, "; ".join(said))
        else:
            reason = untold.get(cost) or reasons.get(path)
            yield Unfitted(COSTS, cost, reason or "logs do not have it; metrics do")
    for path, reason in reasons.items():
        if path.startswith(f"{RESOURCES}.") and path not in known:
            yield Unfitted(RESOURCES, path.partition(".")[2], reason)


def quantile(values: Sequence[int], share: int) -> int:
    """The value at a share of a hundred of values in ascending order, linear between two."""
    place, rest = divmod((len(values) - 1) * share, 100)
    if not rest:
        return values[place]
    return values[place] + (values[place + 1] - values[place]) * rest // 100


def written_us(value_us: int) -> str:
    """A duration with three digits, as a scenario has it."""
    beyond = 10 ** max(0, len(str(value_us)) - _DIGITS)
    rounded_us = max(1, (value_us + beyond // 2) // beyond * beyond)
    if rounded_us < MS_US:
        return f"{rounded_us}us"
    return f"{rounded_us / MS_US:g}ms" if rounded_us < _S_US else f"{rounded_us / _S_US:g}s"
