"""The offsets of the nodes' clocks, from causes that precede their effects.

A line at one node that tells a cause, and a line at another that tells its effect, bound the
difference of the two clocks from one side: were the clocks equal, the effect would not come before
its cause. Pairs in both directions leave an interval:

* the controller logs a partition's state before it sends it, and a broker logs that it leads or
  follows in that epoch;
* a follower logs that it follows before the leader can take it into the ISR;
* a broker logs that it registers before a controller sees it (ZooKeeper, KRaft), and a quorum's
  active controller logs the registration before the broker learns of it;
* a broker logs that it asks to be unfenced, the active controller that it is, then the broker;
* the active controller of a quorum replays a record before any other node does.

Clocks that may be equal are taken as equal. The others are taken in the middle of their interval.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tidegauge.real_cluster.logs.log_reading import ClusterTold
from tidegauge.real_cluster.logs.partition_rows import Column, Event, Told

#: A node whose clock nothing bounds.
_ENDLESS = 1 << 50

#: Bounds so narrow are better than any usual difference; so many differences are a usual one.
_NARROW_MS = 40
_ENOUGH = 3

#: node -> node -> the most that the second clock is ahead of the first.
Bounds = dict[int, dict[int, int]]


class ClockOffset(NamedTuple):
    """How far the clock of a node is ahead."""

    node: int
    offset_ms: int
    #: The offset is at most so far from the truth; None: nothing bounds it from both sides.
    uncertainty_ms: int | None


def clock_offsets(told: ClusterTold, nodes: Iterable[int]) -> list[ClockOffset]:
    """The offset of each node's clock, against most of the others."""
    names = sorted(nodes)
    bounds: Bounds = defaultdict(dict)
    for cause, effect, difference in _differences(told):
        if cause != effect and cause in names and effect in names:
            known = bounds[cause].get(effect, _ENDLESS)
            bounds[cause][effect] = min(known, difference)
    return _solved(names, bounds, cache(lambda: _learned_times(told.rows)))


def _learned_times(rows: NDArray[np.int64]) -> list[dict[int, int]]:
    """When each broker has learned of a state, state by state: brokers learn at about one time."""
    times: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
    kinds = rows[:, Column.KIND]
    for _, time_ms, teller, partition, _, epoch, version, *_ in rows[
        np.isin(kinds, (Told.LEADS, Told.FOLLOWS, Told.STATE))
    ].tolist():
        times[partition, epoch, version].setdefault(teller, time_ms)
    return [told for told in times.values() if len(told) > 1]


def _differences(told: ClusterTold) -> Iterator[tuple[int, int, int]]:
    """Pairs of cause and effect: their nodes, and the difference of their times."""
    yield from _of_partitions(told.rows, told)
    yield from _of_registrations(told.events)


#: Kinds of lines by which a broker tells that it has learned of a state.
_LEARNS = (Told.LEADS, Told.FOLLOWS, Told.STATE)


def _of_partitions(rows: NDArray[np.int64], told: ClusterTold) -> Iterator[tuple[int, int, int]]:
    """A controller sends a state before brokers learn of it; a follower follows before it joins."""
    sent, created, follows = _causes(rows, ActiveSpans(told.events))
    learned: set[tuple[int, ...]] = set()
    for kind, time_ms, teller, partition, _, epoch, _, isr, *_ in rows.tolist():
        if kind in _LEARNS:
            for cause, key in (
                (sent.get((partition, epoch)), (partition, teller, epoch)),
                (created.get(partition), (partition, teller)),
            ):
                if cause is not None and key not in learned:
                    learned.add(key)
                    yield cause[0], teller, time_ms - cause[1]
        elif kind in (Told.EXPANDING, Told.ISR_UPDATED):
            joins = (partition, teller, isr, 0)
            if joins in learned:
                continue
            learned.add(joins)
            for member in told.isrs[isr]:
                if (partition, member) in follows:
                    yield member, teller, time_ms - follows[partition, member]


#: The node that tells something, and when it does.
_Moment = tuple[int, int]


def _causes(
    rows: NDArray[np.int64], is_active: ActiveSpans
) -> tuple[dict[tuple[int, int], _Moment], dict[int, _Moment], dict[tuple[int, int], int]]:
    """Who sent each epoch (ZooKeeper) or created each partition (KRaft); who first followed it."""
    sent: dict[tuple[int, int], _Moment] = {}
    created: dict[int, _Moment] = {}
    follows: dict[tuple[int, int], int] = {}
    for kind, time_ms, teller, partition, _, epoch, *_ in rows.tolist():
        if kind == Told.FOLLOWS:
            follows.setdefault((partition, teller), time_ms)
        elif kind in (Told.CREATED, Told.ELECTED):
            if not is_active.of_quorum:
                sent.setdefault((partition, epoch), (teller, time_ms))
            elif is_active.at(teller, time_ms):
                created.setdefault(partition, (teller, time_ms))
    return sent, created, follows


def _of_registrations(events: list[Event]) -> Iterator[tuple[int, int, int]]:
    is_active = ActiveSpans(events)
    yield from _of_czxids(events)
    yield from _of_unfencing(events, is_active)
    incarnations: dict[object, _Moment] = {}
    replayed: dict[object, _Moment] = {}
    for event in events:
        if event.kind == "incarnation":
            incarnations.setdefault(event.values[0], (event.teller, event.time_ms))
        elif event.kind == "register_record" and is_active.at(event.teller, event.time_ms):
            replayed.setdefault(event.values[2], (event.teller, event.time_ms))
    seen: set[tuple[object, ...]] = set()
    for event in events:
        if event.kind not in ("register_record", "broker_epoch"):
            continue
        epoch = event.values[-2 if event.kind == "register_record" else -1]
        if (key := (event.kind, event.teller, epoch)) in seen:
            continue
        seen.add(key)
        cause = incarnations.get(event.values[1]) if event.kind == "register_record" else None
        if cause is not None and is_active.at(event.teller, event.time_ms):
            yield cause[0], event.teller, event.time_ms - cause[1]
        if epoch in replayed:
            yield replayed[epoch][0], event.teller, event.time_ms - replayed[epoch][1]


def _of_unfencing(events: list[Event], is_active: ActiveSpans) -> Iterator[tuple[int, int, int]]:
    """A broker asks to be unfenced, the active controller unfences it, and the broker is told."""
    epochs: dict[int, object] = {}
    asked: dict[tuple[int, object], int] = {}
    told: dict[tuple[int, object], int] = {}
    for event in events:
        if event.kind == "broker_epoch":
            epochs[event.teller] = event.values[0]
        elif event.kind == "recovering":
            asked.setdefault((event.teller, epochs.get(event.teller)), event.time_ms)
        elif event.kind == "unfenced":
            told.setdefault((event.teller, epochs.get(event.teller)), event.time_ms)
    seen: set[tuple[int, object]] = set()
    for event in events:
        if event.kind != "change_record" or not is_active.at(event.teller, event.time_ms):
            continue
        broker, epoch, fenced, _ = event.values
        key = (_number(broker), epoch)
        if fenced != -1 or key in seen:
            continue
        seen.add(key)
        if key in asked:
            yield key[0], event.teller, event.time_ms - asked[key]
        if key in told:
            yield event.teller, key[0], told[key] - event.time_ms


def _of_czxids(events: list[Event]) -> Iterator[tuple[int, int, int]]:
    """Registrations that the controller of a cluster with ZooKeeper sees, by their czxid."""
    registering: dict[int, int] = {}
    #: When the broker of a registration was about to make it.
    tries: dict[tuple[int, int], int] = {}
    for event in events:
        if event.kind == "registering":
            registering[event.teller] = event.time_ms
        elif event.kind == "registered" and event.teller in registering:
            tries.setdefault((event.teller, _number(event.values[0])), registering[event.teller])
    changed: dict[int, Event] = {}
    seen: set[tuple[int, int, int]] = set()
    for event in events:
        if event.kind == "brokers_changed":
            changed[event.teller] = event
        elif event.kind in ("brokers_cached", "brokers_found"):
            for registration in epochs_of(event):
                if (key := (event.teller, *registration)) in seen:
                    continue
                seen.add(key)
                if registration in tries:
                    at_ms = _seen_ms(event, changed.get(event.teller), registration[0])
                    yield registration[0], event.teller, at_ms - tries[registration]


def _seen_ms(event: Event, changed: Event | None, broker: int) -> int:
    """When the controller has seen a broker: the line before names it, too, and is nearer."""
    if changed is not None and event.kind == "brokers_cached":
        new = (changed.values[0], changed.values[2])
        if any(isinstance(each, tuple) and broker in each for each in new):
            return min(event.time_ms, changed.time_ms)
    return event.time_ms


_EPOCH_OF = re.compile(r"(\d+) -> (\d+)")


def epochs_of(event: Event) -> list[tuple[int, int]]:
    """The brokers and their epochs in a controller's cache."""
    return [(int(a), int(b)) for a, b in _EPOCH_OF.findall(str(event.values[0]))]


def _number(value: object) -> int:
    return value if isinstance(value, int) else -1


class ActiveSpans:
    """When a controller of a quorum was the active one, by its own clock."""

    def __init__(self, events: list[Event]) -> None:
        """Take events in the order of their times."""
        self._changes: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        self.of_quorum = False
        for event in events:
            if event.kind == "active":
                self.of_quorum = True
                self._changes[event.teller].append((event.time_ms, True))
            elif event.kind in ("renounced", "active_seen"):
                self._changes[event.teller].append((event.time_ms, False))
            elif event.kind == "register_record":
                self.of_quorum = True

    def at(self, node: int, time_ms: int) -> bool:
        """Whether a node was the active controller at a time of its own clock."""
        changes = self._changes.get(node, [])
        place = bisect_right(changes, time_ms, key=lambda change: change[0])
        return place > 0 and changes[place - 1][1]


def _solved(
    names: list[int], bounds: Bounds, learned: Callable[[], list[dict[int, int]]]
) -> list[ClockOffset]:
    """Offsets that keep the bounds: as many as can be are 0.

    The others are where brokers learn of states at the same time, else in the middle of the bounds.
    """
    count = len(names)
    most = np.full((count, count), _ENDLESS, np.int64)
    np.fill_diagonal(most, 0)
    for row, cause in enumerate(names):
        for column, effect in enumerate(names):
            if row != column:
                most[row, column] = bounds.get(cause, {}).get(effect, _ENDLESS)
    for middle in range(count):
        most = np.minimum(most, most[:, middle, None] + most[None, middle, :])
    equal = (most >= 0) & (most.T >= 0)
    if not count:
        return []
    reference = int(np.argmax(equal.sum(axis=1)))
    alike = [place for place in range(count) if equal[reference, place]]
    offsets = []
    for place, node in enumerate(names):
        others = [each for each in alike if each != place]
        upper = int(min((most[each, place] for each in others), default=_ENDLESS))
        lower = -int(min((most[place, each] for each in others), default=_ENDLESS))
        bounded = upper < _ENDLESS // 2 and lower > -_ENDLESS // 2
        if place in alike:
            widest = max(upper, -lower) if bounded else None
            offsets.append(ClockOffset(node, 0, widest))
        elif bounded:
            ahead = _usual(node, [names[each] for each in others], learned(), lower, upper)
            offsets.append(ClockOffset(node, ahead, max(upper - ahead, ahead - lower, 0)))
        else:
            # One side alone: the least that explains the lines.
            offsets.append(ClockOffset(node, upper if upper < 0 else lower, None))
    return offsets


def _usual(
    node: int, others: list[int], learned: list[dict[int, int]], lower: int, upper: int
) -> int:
    """The usual difference to the others' clocks that is within the bounds."""
    differences = sorted(
        difference
        for times in learned
        if node in times
        for difference in [times[node] - min(times.get(each, _ENDLESS) for each in others)]
        if lower <= difference <= upper
    )
    if upper - lower <= _NARROW_MS or len(differences) < _ENOUGH:
        return (upper + lower) // 2
    return differences[len(differences) // 2]
