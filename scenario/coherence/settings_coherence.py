"""Coherence of settings, with each other and with Kafka's own checks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tidegauge.scenario.model.client_settings import connection_defaults
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import (
    RETENTION_SETTINGS,
    Value,
    problems_of_idempotence,
    problems_of_settings,
    producer_defaults,
)
from tidegauge.scenario.text.errors import Path, Problem

#: (setting, the one that must not be smaller).
#: Source: KafkaConfig.validateValues@2.6.0.
_AT_MOST = (
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
)
_LEAST_OF_RETENTION = {
    "segment.bytes": 14,
    "log.segment.bytes": 14,
    "log.retention.check.interval.ms": 1,
}
_LARGEST_OF_RETENTION = 2**63 - 1


def settings_that_kafka_refuses(scenario: Scenario) -> Iterator[Problem]:
    """Settings with which a broker does not start; the first of brokers with equal settings."""
    for path, said, kind, _ in scenario.said_settings():
        yield from _problems_of_retention(path, said, kind)
    found = set()
    for broker in scenario.broker_ids():
        settings = scenario.settings_of(broker)
        for smaller, larger in _AT_MOST:
            if settings[smaller] <= settings[larger]:
                continue
            own = scenario.cluster.broker_settings.get(broker, {})
            path = ("cluster", "settings")
            if smaller in own or larger in own:
                path = ("cluster", "broker_settings", broker)
            if (path, larger) not in found:
                found.add((path, larger))
                yield Problem(
                    path,
                    f"Kafka does not start if {smaller} ({settings[smaller]}) is more than "
                    f"{larger} ({settings[larger]})",
                )


def _problems_of_retention(
    path: Path, settings: Mapping[str, Value], kind: str
) -> Iterator[Problem]:
    """Values of settings of retention that Kafka does not accept."""
    for name in settings.keys() & RETENTION_SETTINGS.get(kind, set()):
        value = settings[name]
        least = _LEAST_OF_RETENTION.get(name, -1)
        is_policy = name.endswith("cleanup.policy")
        is_number = isinstance(value, int) and not isinstance(value, bool)
        if not is_policy and not (is_number and least <= int(value) <= _LARGEST_OF_RETENTION):
            message = f"must be a whole number from {least} on, not {value}"
            yield Problem((*path, name), message)


#: What delivery.timeout.ms has to have time for.
_LEAST_DELIVERY = ("linger.ms", "request.timeout.ms")


def problems_of_producer_settings(
    path: Path, scenario: Scenario, settings: Mapping[str, Value]
) -> Iterator[Problem]:
    """The problems of the settings of a group of producers."""
    known = producer_defaults(scenario.release) | connection_defaults(scenario.release)
    problems = list(problems_of_settings(path, settings, "producers", known))
    yield from problems
    if problems:
        return
    yield from problems_of_idempotence(path, scenario.release, settings)
    delivery = settings.get("delivery.timeout.ms")
    if delivery is None:
        return
    linger, request = (settings.get(name, known[name]) for name in _LEAST_DELIVERY)
    least = int(linger) + int(request)
    if int(delivery) < least:
        # Source: KafkaProducer.configureDeliveryTimeout@2.1.0.
        yield Problem(
            (*path, "delivery.timeout.ms"),
            "Kafka's producer does not start if it is less than linger.ms + request.timeout.ms "
            f"({least})",
        )
