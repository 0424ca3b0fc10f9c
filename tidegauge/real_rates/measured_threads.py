"""How busy the threads of brokers are: request handlers and network threads, as notices."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.real_input.measured_workload import MeasuredCluster
from tidegauge.real_input.notices import Notice
from tidegauge.real_rates.rate_source import Over, RateSource, Together
from tidegauge.real_rates.sought_metrics import (
    HANDLERS_IDLE,
    HANDLERS_IDLE_TIME,
    NETWORK_IDLE,
    Vocabulary,
)
from tidegauge.scenario.text.counted import counted

_INSTANCE = "instance"
_NANOSECONDS = 1e9


class _Idle:
    """The idle shares (0 to 1) of the threads of each broker."""

    def __init__(self, by_instance: dict[str, float], metric: str) -> None:
        self.by_instance = {name: min(max(v, 0.0), 1.0) for name, v in by_instance.items()}
        self.metric = metric

    def text(self, threads: str, number: int) -> str:
        values = self.by_instance
        busiest = min(values, key=lambda instance: values[instance])
        least = values[busiest]
        at = f" at {busiest}" if busiest else ""
        mean = sum(values.values()) / len(values)
        busy = number * (1 - least)
        return (
            f"{threads}: idle {mean:.1%} in the mean of {counted(len(values), 'broker')}, "
            f"{least:.1%}{at} ({self.metric}): of {number} there {busy:.1f} are busy"
        )


def threads_notices(
    source: RateSource, vocabulary: Vocabulary, cluster: MeasuredCluster
) -> Iterator[Notice]:
    """How busy threads are, and what the scenario makes of it."""
    handlers = int(cluster.settings["num.io.threads"])
    idle = _handlers(source, vocabulary)
    if idle is not None:
        text = idle.text("request handlers", handlers)
        yield Notice("workload", f"{text}; the scenario has num.io.threads={handlers}")
    networks = int(cluster.settings["num.network.threads"])
    idle = _network(source, vocabulary)
    if idle is not None:
        text = idle.text("network threads", networks)
        yield Notice("workload", f"{text}; the scenario has num.network.threads={networks}")


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
