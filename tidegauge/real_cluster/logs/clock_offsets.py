"""The offsets of the nodes' clocks, from causes that precede their effects.

The line of a cause at one node, and the line of its effect at another, bound the difference of the
two clocks from one side: were the clocks equal, the effect would not come before its cause. Pairs
in both directions leave an interval:

* the controller logs a partition's state before it sends it, and a broker logs that it leads or
  follows in that epoch;
* a follower logs that it follows before the leader can take it into the ISR;
* a broker logs that it registers before a controller sees it (ZooKeeper, KRaft), and a quorum's
  active controller logs the registration before the broker learns of it;
* a broker logs its request to be unfenced, the active controller that it is, then the broker;
* the active controller of a quorum replays a record before any other node does.

Clocks that may be equal are taken as equal. The others are taken in the middle of their interval.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from tidegauge.real_cluster.logs import log_events
from tidegauge.real_cluster.logs.broker_states import of_kind
from tidegauge.real_cluster.logs.log_events import LogEvent
from tidegauge.real_cluster.logs.log_layout import MILLISECONDS
from tidegauge.real_cluster.logs.log_reading import ClusterContent
from tidegauge.real_cluster.logs.partition_rows import LineKind, PartitionRow, Rows

#: A node whose clock nothing bounds.
_ENDLESS = 1 << 50

#: Bounds so narrow are better than any usual difference; so many differences are a usual one.
_NARROW_MS = 40
_ENOUGH = 3

#: By node and node: the most that the second clock is ahead of the first.
Bounds = dict[int, dict[int, int]]


class ClockOffset(NamedTuple):
    """The offset of a node's clock ahead of the reference."""

    node: int
    offset_ms: int
    #: The largest error of the offset; None: nothing bounds it from both sides.
    uncertainty_ms: int | None


class _Moment(NamedTuple):
    """The time of a line, by the clock of its node."""

    node: int
    time_ms: int


class _Pair(NamedTuple):
    """The lines of a cause and of its effect."""

    cause: _Moment
    effect: _Moment


def clock_offsets(content: ClusterContent, nodes: Iterable[int]) -> list[ClockOffset]:
    """The offset of each node's clock, against most of the others."""
    names = sorted(nodes)
    bounds: Bounds = defaultdict(dict)
    # The time of a line is the begin of its step, in which the effect may be as late as the end.
    rest_ms: dict[int | None, int] = defaultdict(int)
    for file, extent in content.files.items():
        rest_ms[file.node] = max(rest_ms[file.node], extent.step_ms - MILLISECONDS)
    for (cause, cause_ms), (effect, effect_ms) in _pairs(content):
        if cause != effect and cause in names and effect in names:
            known = bounds[cause].get(effect, _ENDLESS)
            bounds[cause][effect] = min(known, effect_ms - cause_ms + rest_ms[effect])
    return _solved(names, bounds, cache(lambda: _learned_times(content.rows)))


#: Kinds of lines of a broker that has learned of a state.
_LEARNS = (LineKind.LEADS, LineKind.FOLLOWS, LineKind.STATE)
#: ... and of a leader whose ISR a follower joins.
_JOINS = (LineKind.EXPANDING, LineKind.ISR_UPDATED)


def _rows(rows: Rows, kinds: Sequence[LineKind]) -> Iterator[PartitionRow]:
    """The rows of these kinds, in their order."""
    return map(PartitionRow._make, rows[np.isin(rows["kind"], kinds)].tolist())


def _learned_times(rows: Rows) -> list[dict[int, int]]:
    """When each broker applied a state, state by state: brokers apply it at about one time."""
    times: dict[tuple[int, int, int], dict[int, int]] = defaultdict(dict)
    for row in _rows(rows, _LEARNS):
        state = (row.partition, row.leader_epoch, row.version)
        times[state].setdefault(row.node, row.time_ms)
    return [of_state for of_state in times.values() if len(of_state) > 1]


def _pairs(content: ClusterContent) -> Iterator[_Pair]:
    is_active = ActiveSpans(content.events)
    yield from _of_partitions(content, is_active)
    yield from _of_czxids(content.events)
    yield from _of_unfencing(content.events, is_active)
    yield from _of_records(content.events, is_active)


def _of_partitions(content: ClusterContent, is_active: ActiveSpans) -> Iterator[_Pair]:
    """A controller sends a state before brokers learn of it; a follower follows before it joins."""
    sent, created, follows = _causes(content.rows, is_active)
    seen: set[tuple[int, ...]] = set()
    for row in _rows(content.rows, (*_LEARNS, *_JOINS)):
        here = _Moment(row.node, row.time_ms)
        if row.kind in _LEARNS:
            for cause, key in (
                (
                    sent.get((row.partition, row.leader_epoch)),
                    (row.partition, row.node, row.leader_epoch),
                ),
                (created.get(row.partition), (row.partition, row.node)),
            ):
                if cause is not None and key not in seen:
                    seen.add(key)
                    yield _Pair(cause, here)
        else:
            joins = (row.partition, row.node, row.isr, 0)
            if joins in seen:
                continue
            seen.add(joins)
            for member in content.isrs[row.isr]:
                if (row.partition, member) in follows:
                    yield _Pair(follows[row.partition, member], here)


def _causes(
    rows: Rows, is_active: ActiveSpans
) -> tuple[dict[tuple[int, int], _Moment], dict[int, _Moment], dict[tuple[int, int], _Moment]]:
    """The first line that sends each epoch (ZooKeeper), creates each partition (KRaft), follows."""
    sent: dict[tuple[int, int], _Moment] = {}
    created: dict[int, _Moment] = {}
    follows: dict[tuple[int, int], _Moment] = {}
    for row in _rows(rows, (LineKind.FOLLOWS, LineKind.CREATED, LineKind.ELECTED)):
        here = _Moment(row.node, row.time_ms)
        if row.kind == LineKind.FOLLOWS:
            follows.setdefault((row.partition, row.node), here)
        elif not is_active.of_quorum:
            sent.setdefault((row.partition, row.leader_epoch), here)
        elif is_active.at(here):
            created.setdefault(row.partition, here)
    return sent, created, follows


def _moment(event: LogEvent) -> _Moment:
    return _Moment(event.node, event.time_ms)


def _of_records(events: list[LogEvent], is_active: ActiveSpans) -> Iterator[_Pair]:
    """The active controller replays a registration after the broker requests it, others later."""
    incarnations: dict[str, _Moment] = {}
    replayed: dict[int, _Moment] = {}
    for event in events:
        if isinstance(event, log_events.Incarnation):
            incarnations.setdefault(event.incarnation_id, _moment(event))
        elif isinstance(event, log_events.RegisterBrokerRecord) and is_active.at(_moment(event)):
            replayed.setdefault(event.broker_epoch, _moment(event))
    seen: set[tuple[object, ...]] = set()
    for event in events:
        if not isinstance(event, log_events.RegisterBrokerRecord | log_events.BrokerEpochReceived):
            continue
        here, key = _moment(event), (type(event), event.node, event.broker_epoch)
        if key in seen:
            continue
        seen.add(key)
        if isinstance(event, log_events.RegisterBrokerRecord) and is_active.at(here):
            cause = incarnations.get(event.incarnation_id)
            if cause is not None:
                yield _Pair(cause, here)
        if event.broker_epoch in replayed:
            yield _Pair(replayed[event.broker_epoch], here)


def _of_unfencing(events: list[LogEvent], is_active: ActiveSpans) -> Iterator[_Pair]:
    """A broker asks to be unfenced, the active controller unfences it, the broker applies it."""
    epochs: dict[int, int] = {}
    requested: dict[tuple[int, int], _Moment] = {}
    received: dict[tuple[int, int], _Moment] = {}
    for event in events:
        registration = (event.node, epochs.get(event.node, -1))
        if isinstance(event, log_events.BrokerEpochReceived):
            epochs[event.node] = event.broker_epoch
        elif isinstance(event, log_events.UnfencingRequested):
            requested.setdefault(registration, _moment(event))
        elif isinstance(event, log_events.UnfencingReceived):
            received.setdefault(registration, _moment(event))
    seen: set[tuple[int, int]] = set()
    for record in of_kind(events, log_events.BrokerRegistrationChangeRecord):
        registration = (record.broker, record.broker_epoch)
        here = _moment(record)
        if record.fenced != -1 or registration in seen or not is_active.at(here):
            continue
        seen.add(registration)
        if registration in requested:
            yield _Pair(requested[registration], here)
        if registration in received:
            yield _Pair(here, received[registration])


def _of_czxids(events: list[LogEvent]) -> Iterator[_Pair]:
    """Registrations that the controller of a cluster with ZooKeeper sees, by their czxid."""
    registering: dict[int, _Moment] = {}
    #: The time at which the broker of a registration was about to make it.
    tries: dict[tuple[int, int], _Moment] = {}
    changed: dict[int, log_events.BrokersChanged] = {}
    seen: set[tuple[int, int, int]] = set()
    for event in events:
        if isinstance(event, log_events.Registering):
            registering[event.node] = _moment(event)
        elif isinstance(event, log_events.Registered) and event.node in registering:
            tries.setdefault((event.node, event.broker_epoch), registering[event.node])
    for event in events:
        if isinstance(event, log_events.BrokersChanged):
            changed[event.node] = event
        elif isinstance(event, log_events.BrokerEpochsInitialized | log_events.BrokerEpochsUpdated):
            for registration in event.epochs:
                if (key := (event.node, *registration)) in seen:
                    continue
                seen.add(key)
                if registration in tries:
                    seen_ms = _seen_ms(event, changed.get(event.node), registration[0])
                    yield _Pair(tries[registration], _Moment(event.node, seen_ms))


def _seen_ms(event: LogEvent, changed: log_events.BrokersChanged | None, broker: int) -> int:
    """When the controller noticed a broker: the line before names it, too, and is nearer."""
    if (
        isinstance(event, log_events.BrokerEpochsUpdated)
        and changed is not None
        and broker in (*changed.added, *changed.bounced)
    ):
        return min(event.time_ms, changed.time_ms)
    return event.time_ms


class ActiveSpans:
    """The spans in which a controller of a quorum was the active one, by its own clock."""

    def __init__(self, events: list[LogEvent]) -> None:
        """Take events in the order of their times."""
        self._changes: dict[int, list[tuple[int, bool]]] = defaultdict(list)
        self.of_quorum = False
        for event in events:
            if isinstance(event, log_events.ActiveController):
                self.of_quorum = True
                self._changes[event.node].append((event.time_ms, True))
            elif isinstance(event, log_events.LeadershipRenounced | log_events.LeaderLearned):
                self._changes[event.node].append((event.time_ms, False))
            elif isinstance(event, log_events.RegisterBrokerRecord):
                self.of_quorum = True

    def at(self, moment: _Moment) -> bool:
        """Whether a node was the active controller at a time of its own clock."""
        changes = self._changes.get(moment.node, [])
        place = bisect_right(changes, moment.time_ms, key=lambda change: change[0])
        return place > 0 and changes[place - 1][1]


def _solved(
    names: list[int], bounds: Bounds, learned: Callable[[], list[dict[int, int]]]
) -> list[ClockOffset]:
    """Offsets that keep the bounds: as many as can be are 0.

    The others are offsets with which brokers apply states at the same time, else the middle of the
    bounds.
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
