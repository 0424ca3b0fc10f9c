"""The load of networks before a run: what clients offer, against the bandwidth that there is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from tidegauge.scenario.model.scenario import Scenario
from tidegauge.simulation.quantities import format_bandwidth


class BrokerLoad(NamedTuple):
    """What a broker's network has to move while all replicas are in sync, in bytes per second."""

    incoming: float
    outgoing: float


def offered_loads(scenario: Scenario) -> dict[int, BrokerLoad]:
    """The load of each broker, by its id: preferred leaders lead, and consumers keep up.

    A leader receives what producers send, and sends it to its followers and to each group of
    consumers of the topic.
    """
    incoming: defaultdict[int, float] = defaultdict(float)
    outgoing: defaultdict[int, float] = defaultdict(float)
    assignments = {topic.name: scenario.assignments(topic) for topic in scenario.topics}
    for group in scenario.workload.producers:
        partitions = sum(len(assignments[topic]) for topic in group.topics)
        group_bytes = group.batches_per_second * group.records_per_batch * group.record_bytes
        for topic in group.topics:
            readers = sum(topic in each.topics for each in scenario.workload.consumers)
            for leader, *followers in assignments[topic]:
                incoming[leader] += group_bytes / partitions
                outgoing[leader] += group_bytes / partitions * (len(followers) + readers)
                for follower in followers:
                    incoming[follower] += group_bytes / partitions
    return {broker: BrokerLoad(incoming[broker], outgoing[broker]) for broker in incoming}


def overloads(scenario: Scenario) -> Iterator[str]:
    """Warnings of brokers whose network is offered more than it can move, one per direction."""
    loads = offered_loads(scenario)
    for place, (name, direction) in enumerate((("network_in", "receive"), ("network_out", "send"))):
        over = {
            broker: load[place]
            for broker, load in loads.items()
            if 0 < getattr(scenario.resources.of_broker(broker), name) < load[place]
        }
        if over:
            broker = max(over, key=lambda each: (over[each], -each))
            limit = getattr(scenario.resources.of_broker(broker), name)
            others = f" (and {len(over) - 1} more)" if len(over) > 1 else ""
            yield (
                f"broker {broker}{others}: producers and consumers have it {direction} "
                f"{over[broker] / 1e6:,.0f} MB/s, and its {name} is {format_bandwidth(limit)}: "
                "it cannot keep up"
            )
