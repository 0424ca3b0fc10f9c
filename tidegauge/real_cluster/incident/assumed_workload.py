"""Clients of a proposed scenario: logs tell of none, but what lagged shows where they wrote.

An idle follower never lags, so a topic needs a producer for a proposed pause to have its effect. A
topic in which nothing lagged although brokers were gone for long enough was not written then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.input_file import Notice, named
from tidegauge.real_cluster.incident.absences import Absence
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory
from tidegauge.real_cluster.incident.lagging import Lag
from tidegauge.real_cluster.incident.timings import Timings

#: Batches per second of a topic, for each of its partitions, and at the most.
_BATCHES, _MOST_BATCHES = 2, 200
#: A share of partitions.
_NEARLY_ALL = 0.9


class AssumedWorkload(NamedTuple):
    """The groups of producers, and what they are assumed from."""

    producers: list[dict[str, Any]]
    notices: list[Notice]


def assumed_workload(
    history: ClusterHistory,
    timings: Timings,
    absences: Sequence[Absence],
    lags: Sequence[Lag],
) -> AssumedWorkload:
    """A producer for each topic that was written, as far as states tell."""
    counts = Counter(place.name for place in history.partitions.values())
    idle = _idle_topics(history, timings, absences)
    lagged = {history.partitions[each.partition].name for each in history.removals}
    busy = [
        topic
        for topic in counts
        if topic not in idle and (not topic.startswith("__") or topic in lagged)
    ]
    notices = []
    if idle:
        text = (
            f"no producer for {named(idle)}: while brokers were gone no leader removed "
            "them by lag, so nothing was written then"
        )
        notices.append(Notice("workload", text))
    if busy:
        text = (
            f"logs do not tell of clients: producers of {named(busy)} are assumed, "
            f"{_BATCHES} batches a second for each partition, {_MOST_BATCHES} at the most"
        )
        notices.append(Notice("workload", text))
    written = _topics_written_throughout(history, lags)
    producers = [
        {
            "name": topic,
            "topics": [topic],
            "batches_per_second": min(counts[topic] * _BATCHES, _MOST_BATCHES),
            "settings": {"acks": 1 if topic in written else "all"},
        }
        for topic in busy
    ]
    return AssumedWorkload(producers, notices)


def _topics_written_throughout(history: ClusterHistory, lags: Sequence[Lag]) -> set[str]:
    """The topics in which nearly all partitions lagged that could.

    With acks=all few clients wait for the first partition that lags, and write to no other.
    """
    lagged: Counter[str] = Counter()
    could: Counter[str] = Counter()
    for lag in lags:
        for partition, place in history.partitions.items():
            state = history.state_at(partition, lag.removed_us)
            if state is None or lag.follower not in state.isr:
                continue
            could[place.name] += state.leader in lag.leaders
        lagged.update(history.partitions[partition].name for partition in lag.partitions)
    return {topic for topic, count in lagged.items() if count >= _NEARLY_ALL * could[topic]}


def _idle_topics(
    history: ClusterHistory, timings: Timings, absences: Sequence[Absence]
) -> list[str]:
    """The topics in which leaders removed no lagging follower, although there was time."""
    if timings.lag_us > timings.session_us + timings.check_us:
        return []
    gone = {each.broker for each in absences if each.noticed_us is not None}
    removed = {history.partitions[each.partition].name for each in history.removals}
    hit = {place.name for place in history.partitions.values() if gone & {*place.replicas}}
    return sorted(hit - removed)
