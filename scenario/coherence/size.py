"""The size of a scenario as a whole: what its fields come to together, against the limits."""

from __future__ import annotations

from collections.abc import Iterator

from tidegauge.scenario.model.limits import (
    MOST_BATCH_BYTES,
    MOST_BATCHES,
    MOST_BYTES,
    MOST_CLIENTS,
    MOST_COMMITTED_OFFSETS,
    MOST_FETCHERS,
    MOST_PARTITIONS,
    MOST_REPLICAS,
    MOST_TARGETS,
    MOST_THREADS,
    MOST_WAITING_BATCHES,
)
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.errors import Problem


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
    if threads > MOST_THREADS:
        message = f"num.io.threads is {threads:,}; {MOST_THREADS:,} is the most"
        yield Problem(("cluster",), message)
    fetchers = count * count * max(each["num.replica.fetchers"] for each in settings)
    if fetchers > MOST_FETCHERS:
        message = f"num.replica.fetchers makes {fetchers:,} threads; {MOST_FETCHERS:,} is the most"
        yield Problem(("cluster",), message)


def _of_topics(scenario: Scenario) -> Iterator[Problem]:
    partitions = sum(topic.partition_count for topic in scenario.topics)
    if partitions > MOST_PARTITIONS:
        message = f"have {partitions:,} partitions; {MOST_PARTITIONS:,} is the most"
        yield Problem(("topics",), message)
    replicas = sum(
        topic.partition_count * scenario.replication_factor(topic) for topic in scenario.topics
    )
    if replicas > MOST_REPLICAS:
        yield Problem(("topics",), f"have {replicas:,} replicas; {MOST_REPLICAS:,} is the most")


def _of_clients(scenario: Scenario) -> Iterator[Problem]:
    workload = scenario.workload
    clients = sum(group.clients for group in workload.groups)
    if clients > MOST_CLIENTS:
        yield Problem(("workload",), f"has {clients:,} clients; {MOST_CLIENTS:,} is the most")
    partitions = {topic.name: topic.partition_count for topic in scenario.topics}
    everything = sum(partitions.values())
    targets = 0
    for groups, is_shared in ((workload.producers, False), (workload.consumers, True)):
        for group in groups:
            # Consumers share partitions; but of each group a trace of all has every partition.
            shares = 1 if is_shared and scenario.trace != "all" else group.clients
            numbers = sum(partitions.get(topic, 0) for topic in group.topics)
            targets += shares * (everything if scenario.trace == "all" else numbers)
    if targets > MOST_TARGETS:
        message = f"clients have {targets:,} partitions together; {MOST_TARGETS:,} is the most"
        yield Problem(("workload",), message)
    offsets = targets * len(scenario.broker_ids()) if scenario.commits() else 0
    if offsets > MOST_COMMITTED_OFFSETS:
        message = (
            f"groups commit, and brokers have room for {offsets:,} offsets; "
            f"{MOST_COMMITTED_OFFSETS:,} is the most"
        )
        yield Problem(("workload",), message)


def _of_producers(scenario: Scenario) -> Iterator[Problem]:
    batches = waiting = 0.0
    for place, group in enumerate(scenario.workload.producers):
        path = ("workload", "producers", place)
        batch_bytes = group.records_per_batch * group.record_bytes
        if batch_bytes > MOST_BATCH_BYTES:
            message = f"a batch has {batch_bytes:,} bytes; {MOST_BATCH_BYTES:,} is the most"
            yield Problem((*path, "records_per_batch"), message)
        end_us = scenario.duration_us if group.stop_us is None else group.stop_us
        seconds = max(0, min(end_us, scenario.duration_us) - group.start_us) / 1e6
        sent = group.batches_per_second * seconds
        batches += sent
        if sent * batch_bytes > MOST_BYTES:
            message = f"sends {sent * batch_bytes:.2g} bytes; {MOST_BYTES:.2g} is the most"
            yield Problem((*path, "batches_per_second"), message)
        settings = scenario.producer_settings(group)
        kept_seconds = settings.get("delivery.timeout.ms", 2**31) / 1e3
        waiting += group.batches_per_second * min(seconds, kept_seconds)
    for count, most, what in (
        (batches, MOST_BATCHES, "send"),
        (waiting, MOST_WAITING_BATCHES, "may keep, while no leader responds,"),
    ):
        if count > most:
            message = f"{what} {count:,.0f} batches; {most:,} is the most"
            yield Problem(("workload", "producers"), message)
