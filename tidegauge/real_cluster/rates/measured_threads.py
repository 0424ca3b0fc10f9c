"""How busy the threads of brokers are: request handlers and network threads, as notices."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.real_cluster.describe.measured_workload import MeasuredCluster
from tidegauge.real_cluster.describe.notices import Notice
from tidegauge.real_cluster.rates.rate_source import Over, RateSource, Together
from tidegauge.real_cluster.rates.sought_metrics import (
    HANDLERS_IDLE,
    HANDLERS_IDLE_TIME,
    NETWORK_IDLE,
    Vocabulary,
)
from tidegauge.scenario.text.errors import counted

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
