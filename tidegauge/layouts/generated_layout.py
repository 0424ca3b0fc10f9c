"""A scenario of a cluster of which there are only numbers.

Sizes of topics and rates follow Zipf's law. Which topic is busy is drawn, with the chances of their
sizes, so large topics tend to be the busy ones. A group of producers writes to its topics round
robin over partitions. So one group writes to topics that have about the same rate for each
partition: within a factor of 2.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from tidegauge.layouts.layout import CONTROLLERS, Layout, LayoutError
from tidegauge.layouts.skew import drawn_order, zipf_shares
from tidegauge.replication.release_versions import KRAFT_MODE, Release
from tidegauge.scenario.model.replica_placement import JavaRandom
from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.quantities import format_duration

#: Rates are multiples of a thousandth of a batch per second.
_UNITS = 1000
#: A client of a group for each so many batches per second.
_BATCHES_OF_CLIENT = 1000
#: The rows of samples are at most about so many per second.
_SAMPLED_REPLICAS = 10_000
#: A cluster with ZooKeeper takes half a millisecond for each partition until it is up.
_UP_US, _UP_OF_PARTITION_US = 5_000_000, 600


def generated_scenario(layout: Layout) -> dict[str, Any]:
    """The scenario as a mapping, its fields in the order in which people read them.

    Raises:
        LayoutError: the numbers contradict each other, or make no scenario that can be run.
    """
    _check(layout)
    sizes = zipf_shares(layout.partitions, layout.topics, layout.size_skew)
    digits = len(str(layout.topics))
    names = [f"topic-{number:0{digits}}" for number in range(1, layout.topics + 1)]
    data = {
        "name": layout.name,
        "seed": layout.seed,
        "duration": layout.duration,
        "release": layout.release,
        "mode": layout.mode_in_force,
        "sample_every": f"{math.ceil(_replicas(layout) / _SAMPLED_REPLICAS)}s",
        "cluster": _cluster(layout),
        "controllers": _controllers(layout),
        "topics": [
            {"name": name, "partitions": size} for name, size in zip(names, sizes, strict=True)
        ],
        "workload": _workload(layout, dict(zip(names, sizes, strict=True))),
    }
    data = {name: part for name, part in data.items() if part not in ({}, [])}
    try:
        scenario_from_mapping(data, layout.name)
    except ScenarioError as error:
        raise LayoutError(str(error).splitlines()[0]) from error
    return data


def _check(layout: Layout) -> None:
    """Refuse numbers that contradict each other; all others are limits of scenarios."""
    try:
        Release.parse(layout.release).mode(layout.mode)
    except ValueError as error:
        raise LayoutError(f"--release {layout.release}: {error}") from error
    if layout.controllers is not None and layout.mode_in_force != KRAFT_MODE:
        raise LayoutError("--controllers: with ZooKeeper the controller is one of the brokers")
    if layout.partitions < layout.topics:
        topics = counted(layout.topics, "topic")
        raise LayoutError(f"--partitions {layout.partitions}: {topics} have one each at least")
    if layout.racks > layout.brokers:
        brokers = counted(layout.brokers, "broker")
        raise LayoutError(f"--racks {layout.racks}: there are only {brokers} to stand in them")
    if layout.replication_factor > layout.brokers:
        brokers = counted(layout.brokers, "broker")
        factor = layout.replication_factor
        raise LayoutError(f"--replication-factor {factor}: there are only {brokers}")
    if layout.least_in_sync > layout.replication_factor:
        least, replicas = layout.least_in_sync, counted(layout.replication_factor, "replica")
        message = f"no write could be acknowledged by {replicas}"
        raise LayoutError(f"--min-insync-replicas {least}: {message}")
    busy = layout.topics - layout.idle_topics
    if layout.batches_per_second and round(layout.batches_per_second * _UNITS) < busy:
        message = f"too few for {counted(busy, 'topic')} with producers"
        raise LayoutError(f"--batches-per-second {layout.batches_per_second:g}: {message}")


def _replicas(layout: Layout) -> int:
    return layout.partitions * layout.replication_factor


def _racks(layout: Layout) -> list[str]:
    return [f"r{number}" for number in range(1, layout.racks + 1)]


def _cluster(layout: Layout) -> dict[str, Any]:
    return {
        "brokers": layout.brokers,
        "racks": _racks(layout),
        "placement": "drawn",
        "settings": {
            "default.replication.factor": layout.replication_factor,
            "min.insync.replicas": layout.least_in_sync,
        },
    }


def _controllers(layout: Layout) -> dict[str, Any]:
    if layout.mode_in_force != KRAFT_MODE:
        return {}
    count = CONTROLLERS if layout.controllers is None else layout.controllers
    return {"count": count, "racks": _racks(layout)[:count]}


def _workload(layout: Layout, sizes: dict[str, int]) -> dict[str, Any]:
    """The clients, who begin once all topics can be there."""
    units = round(layout.batches_per_second * _UNITS)
    if not units:
        return {}
    names = list(sizes)
    random = JavaRandom.of(layout.seed, "busy topics")
    order = drawn_order(names, list(sizes.values()), random)
    busy = order[: layout.topics - layout.idle_topics]
    rates = dict(zip(busy, zipf_shares(units, len(busy), layout.rate_skew), strict=True))
    start_us = _UP_US + layout.partitions * _UP_OF_PARTITION_US
    start = format_duration(math.ceil(start_us / 1e6) * 1_000_000)
    producers = [
        {
            "name": f"producers-{number}",
            "clients": _clients(sum(rates[topic] for topic in group)),
            "start": start,
            "batches_per_second": _per_second(sum(rates[topic] for topic in group)),
            "records_per_batch": 50,
            "record_bytes": 200,
            "settings": {"acks": "all"},
            "topics": group,
        }
        for number, group in enumerate(_groups(rates, sizes), start=1)
    ]
    readers = [
        {
            "name": f"consumers-{number}",
            "clients": _clients(units),
            "start": start,
            "topics": sorted(busy),
        }
        for number in range(1, layout.consumer_groups + 1)
    ]
    return {"producers": producers} | ({"consumers": readers} if readers else {})


def _groups(rates: dict[str, int], sizes: dict[str, int]) -> list[list[str]]:
    """The topics by their rate for each partition, the busiest group first.

    The rates of partitions in one group are within a factor of 2.
    """
    groups = defaultdict(list)
    for topic, rate in rates.items():
        # The bits of the rate of 2**20 partitions: whole numbers, so the same on any machine.
        groups[((rate << 20) // sizes[topic]).bit_length()].append(topic)
    return [sorted(groups[bits]) for bits in sorted(groups, reverse=True)]


def _clients(units: int) -> int:
    return max(1, round(units / _UNITS / _BATCHES_OF_CLIENT))


def _per_second(units: int) -> int | float:
    return units // _UNITS if units % _UNITS == 0 else units / _UNITS
