"""Groups of producers for the rates of topics: one for each, and shared ones where they are many.

Each group of producers is one of a scenario's clients, whose number is limited. A group that
writes to several topics writes to all their partitions at the same rate, with records of one size;
so topics that share one have similar rates of a partition and similar records.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tidegauge.real_cluster.describe.notices import Notice
from tidegauge.real_cluster.describe.topic_rates import TopicRate
from tidegauge.scenario.text.errors import counted

#: The busiest topics have groups of their own; of all topics if they are no more than this.
_MOST_OWN = 500
_MOST_SHARED = 200
#: By which factor rates and sizes in a shared group may differ: the smallest that gives few groups.
_FACTORS = (1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 10.0, 100.0, math.inf)

#: A group of producers by its name and rate.
_Maker = Callable[[str, TopicRate], dict[str, Any]]


def producer_groups(
    rates: Mapping[str, TopicRate], partitions: Mapping[str, int], make: _Maker
) -> tuple[list[dict[str, Any]], list[Notice]]:
    """The groups that send at these rates to topics with so many partitions."""
    busiest = sorted(rates, key=lambda topic: -rates[topic].messages_per_second)
    shared = busiest[_MOST_OWN:]
    own = set(busiest[:_MOST_OWN])
    groups = [make(topic, rate) for topic, rate in rates.items() if topic in own]
    if not shared:
        return groups, []
    factor, cells = _cells(shared, rates, partitions)
    for number, topics in enumerate(cells, start=1):
        of_topics = [rates[topic] for topic in topics]
        together = TopicRate(
            sum(rate.messages_per_second for rate in of_topics),
            sum(rate.bytes_per_second for rate in of_topics),
        )
        groups.append({**make(f"slow topics {number}", together), "topics": topics})
    messages = sum(rates[topic].messages_per_second for topic in shared)
    share = messages / sum(rate.messages_per_second for rate in rates.values())
    text = (
        f"the {len(shared):,} slowest of {len(rates):,} topics, with {share:.1%} of all messages, "
        f"share {counted(len(cells), 'group')} of producers, each with topics whose rates and "
        f"record sizes {_differ(factor)}"
    )
    return groups, [Notice("workload", text)]


def _cells(
    topics: Sequence[str], rates: Mapping[str, TopicRate], partitions: Mapping[str, int]
) -> tuple[float, list[list[str]]]:
    """Topics that are similar together, and the factor by which they differ at most."""
    for factor in _FACTORS:
        cells: dict[tuple[int, int], list[str]] = defaultdict(list)
        for topic in topics:
            messages, size, _ = rates[topic]
            cell = (_step(messages / partitions[topic], factor), _step(size / messages, factor))
            cells[cell].append(topic)
        if len(cells) <= _MOST_SHARED:
            break
    return factor, list(cells.values())


def _step(value: float, factor: float) -> int:
    return 0 if factor == math.inf else math.floor(math.log(value) / math.log(factor))


def _differ(factor: float) -> str:
    if factor == math.inf:
        return "differ by any factor"
    return f"differ by a factor of {factor:g} at most"
