"""The size of a scenario as a whole: the totals of its fields, against the limits.

Coherence of settings, with each other and with Kafka's own checks.
"""

from collections.abc import Iterator, Mapping

from tidegauge.scenario.model import limits
from tidegauge.scenario.model.parts import connection_defaults
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.settings import (
    RETENTION_SETTINGS,
    Value,
    problems_of_idempotence,
    problems_of_settings,
    producer_defaults,
)
from tidegauge.scenario.text.errors import Path, Problem


def problems_of_cluster_size(scenario: Scenario) -> Iterator[Problem]:
    """The exceeded limits of a cluster and topics whose parts are valid."""
    yield from _of_brokers(scenario)
    yield from _of_topics(scenario)


def problems_of_workload_size(scenario: Scenario) -> Iterator[Problem]:
    """The exceeded limits of a workload whose parts are valid."""
    yield from _of_clients(scenario)
    yield from _of_producers(scenario)


def _of_brokers(scenario: Scenario) -> Iterator[Problem]:
    count = len(scenario.broker_ids())
    settings = [scenario.settings_of(broker) for broker in scenario.broker_ids()]
    threads = max(each["num.io.threads"] for each in settings)
    if threads > limits.MOST_THREADS:
        message = f"num.io.threads is {threads:,}; {limits.MOST_THREADS:,} is the most"
        yield Problem(("cluster",), message)
    fetchers = count * count * max(each["num.replica.fetchers"] for each in settings)
    if fetchers > limits.MOST_FETCHERS:
        message = (
            f"num.replica.fetchers makes {fetchers:,} threads; {limits.MOST_FETCHERS:,} is the most"
        )
        yield Problem(("cluster",), message)


def _of_topics(scenario: Scenario) -> Iterator[Problem]:
    partitions = sum(topic.partition_count for topic in scenario.topics)
    if partitions > limits.MOST_PARTITIONS:
        message = f"have {partitions:,} partitions; {limits.MOST_PARTITIONS:,} is the most"
        yield Problem(("topics",), message)
    replicas = sum(
        topic.partition_count * scenario.replication_factor(topic) for topic in scenario.topics
    )
    if replicas > limits.MOST_REPLICAS:
        yield Problem(
            ("topics",), f"have {replicas:,} replicas; {limits.MOST_REPLICAS:,} is the most"
        )


def _of_clients(scenario: Scenario) -> Iterator[Problem]:
    workload = scenario.workload
    clients = sum(group.clients for group in workload.groups)
    if clients > limits.MOST_CLIENTS:
        yield Problem(
            ("workload",), f"has {clients:,} clients; {limits.MOST_CLIENTS:,} is the most"
        )
    partitions = {topic.name: topic.partition_count for topic in scenario.topics}
    everything = sum(partitions.values())
    targets = 0
    for groups, is_shared in ((workload.producers, False), (workload.consumers, True)):
        for group in groups:
            # Consumers share partitions; but of each group a trace of all has every partition.
            shares = 1 if is_shared and scenario.trace != "all" else group.clients
            numbers = sum(partitions.get(topic, 0) for topic in group.topics)
            targets += shares * (everything if scenario.trace == "all" else numbers)
    if targets > limits.MOST_TARGETS:
        message = (
            f"clients have {targets:,} partitions together; {limits.MOST_TARGETS:,} is the most"
        )
        yield Problem(("workload",), message)
    offsets = targets * len(scenario.broker_ids()) if scenario.commits() else 0
    if offsets > limits.MOST_COMMITTED_OFFSETS:
        message = (
            f"groups commit, and brokers have room for {offsets:,} offsets; "
            f"{limits.MOST_COMMITTED_OFFSETS:,} is the most"
        )
        yield Problem(("workload",), message)


def _of_producers(scenario: Scenario) -> Iterator[Problem]:
    batches = waiting = 0.0
    for place, group in enumerate(scenario.workload.producers):
        path = ("workload", "producers", place)
        settings = scenario.producer_settings(group)
        of_a_send = group.batches_of_a_send(settings["batch.size"])
        if of_a_send > limits.MOST_BATCHES_OF_A_SEND:
            message = (
                f"a send has {of_a_send:,} batches of batch.size={settings['batch.size']}; "
                f"{limits.MOST_BATCHES_OF_A_SEND:,} is the most"
            )
            yield Problem((*path, "records_per_batch"), message)
        memory_bytes = of_a_send * max(settings["batch.size"], group.record_bytes)
        if memory_bytes > settings["buffer.memory"]:
            message = (
                f"a send needs {memory_bytes:,} bytes of buffer.memory, which has "
                f"{settings['buffer.memory']:,}: each of its batches takes batch.size "
                f"({settings['batch.size']:,}), or one record"
            )
            yield Problem((*path, "records_per_batch"), message)
        end_us = scenario.duration_us if group.stop_us is None else group.stop_us
        seconds = max(0, min(end_us, scenario.duration_us) - group.start_us) / 1e6
        sent = group.batches_per_second * seconds
        batches += sent * of_a_send
        sent_bytes = sent * group.records_per_batch * group.record_bytes
        if sent_bytes > limits.MOST_BYTES:
            message = f"sends {sent_bytes:.2g} bytes; {limits.MOST_BYTES:.2g} is the most"
            yield Problem((*path, "batches_per_second"), message)
        kept_seconds = settings.get("delivery.timeout.ms", 2**31) / 1e3
        waiting += group.batches_per_second * min(seconds, kept_seconds)
    for count, most, what in (
        (batches, limits.MOST_BATCHES, "send {} batches"),
        (waiting, limits.MOST_WAITING_SENDS, "may keep, while no leader responds, {} sends"),
    ):
        if count > most:
            message = f"{what.format(f'{count:,.0f}')}; {most:,} is the most"
            yield Problem(("workload", "producers"), message)


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


#: The settings that delivery.timeout.ms must leave time for.
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
