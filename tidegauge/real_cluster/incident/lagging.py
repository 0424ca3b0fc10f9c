"""Followers that leaders took out of ISRs although they stayed registered.

A follower that all of its leaders remove hung for less than its session's timeout, or fetched too
slowly. If some leaders remove it and others keep it, or if it was out for longer than a session
without being lost, its connections to those leaders were cut.

Logs have no clients, but lagging followers show where clients wrote. An idle follower never lags,
so a topic needs a producer for a proposed pause to have its effect. A topic in which nothing lagged
although brokers were gone for long enough was not written then.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from tidegauge.real_cluster.describe.input_file import Notice, named
from tidegauge.real_cluster.incident.absences import Absence
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory, IsrRemoval
from tidegauge.real_cluster.incident.topology import Span, Timings
from tidegauge.scenario.model.settings import is_internal

#: A follower that fetches again is back in an ISR within about this time: ZooKeeper, KRaft.
_CATCHING_UP_US: dict[bool, int] = {False: 60_000, True: 150_000}

#: Lags that begin within this time have one reason.
_TOGETHER_US = 2_000_000


class Lag(NamedTuple):
    """A follower that left ISRs, until it was back in the first of them."""

    follower: int
    #: The leaders that removed it.
    leaders: tuple[int, ...]
    #: Leaders of the same topics that kept it in an ISR.
    kept_by: tuple[int, ...]
    #: Those whose ISRs it left.
    partitions: tuple[str, ...]
    removed_us: int
    #: The time at which it stopped fetching.
    begin: Span
    #: The time at which it fetched again; None: not until the end of the run.
    end_us: int | None
    #: The session would have expired if it had hung.
    outlasts_session: bool

    @property
    def is_cut(self) -> bool:
        """Whether it was cut off rather than paused."""
        return bool(self.kept_by) or self.outlasts_session


class Cut(NamedTuple):
    """Lags at one time between two sides."""

    sides: tuple[tuple[int, ...], tuple[int, ...]]
    lags: tuple[Lag, ...]


def cuts(found: Sequence[Lag]) -> list[Cut]:
    """The lags of cut connections, those of one cut together.

    Followers and leaders of lags at one time fall into two sides if none is on both; else each lag
    is a cut of its own.
    """
    groups: list[list[Lag]] = []
    for lag in found:
        if groups and lag.begin.least_us <= groups[-1][0].begin.most_us + _TOGETHER_US:
            groups[-1].append(lag)
        else:
            groups.append([lag])
    return [cut for group in groups for cut in _cuts_of(group)]


def _cuts_of(group: list[Lag]) -> list[Cut]:
    neighbours: dict[int, set[int]] = {}
    for lag in group:
        for leader in lag.leaders:
            neighbours.setdefault(lag.follower, set()).add(leader)
            neighbours.setdefault(leader, set()).add(lag.follower)
    found = []
    left = set(neighbours)
    while left:
        sides: dict[int, int] = {}
        waiting = [(min(left), 0)]
        is_split = True
        while waiting:
            broker, side = waiting.pop()
            if broker in sides:
                is_split = is_split and sides[broker] == side
                continue
            sides[broker] = side
            waiting += [(other, 1 - side) for other in neighbours[broker]]
        left -= sides.keys()
        lags = tuple(lag for lag in group if lag.follower in sides)
        if is_split:
            one, other = (
                tuple(sorted(broker for broker, its in sides.items() if its == side))
                for side in (0, 1)
            )
            found.append(Cut((one, other), lags))
        else:
            found += [Cut(((lag.follower,), lag.leaders), (lag,)) for lag in lags]
    return found


def lags(history: ClusterHistory, timings: Timings, found: Sequence[Absence]) -> list[Lag]:
    """The lags of followers that no absence explains, by the times of their starts."""
    episodes: list[list[IsrRemoval]] = []
    for removal in sorted(history.removals, key=lambda each: (each.follower, each.time_us)):
        if _is_explained(removal, found):
            continue
        if episodes and _goes_on(history, timings, episodes[-1][-1], removal):
            episodes[-1].append(removal)
            continue
        episodes.append([removal])
    lags = [_lag(episode, history, timings) for episode in episodes]
    return sorted(lags, key=lambda lag: (lag.begin.at_us, lag.follower))


def _is_explained(removal: IsrRemoval, found: Sequence[Absence]) -> bool:
    """Whether the follower was gone, or its leader hung and took everyone for lagging."""
    return any(
        absence.broker in (removal.follower, removal.leader)
        and absence.may_last_at(removal.time_us)
        for absence in found
    )


def _goes_on(
    history: ClusterHistory, timings: Timings, last: IsrRemoval, removal: IsrRemoval
) -> bool:
    """Whether a removal has the same reason as the one before it."""
    return (
        last.follower == removal.follower
        and removal.time_us - last.time_us <= timings.lag_us
        and not any(
            follower == removal.follower and last.time_us < time_us < removal.time_us
            for time_us, _, follower in history.expansions
        )
    )


def _lag(episode: list[IsrRemoval], history: ClusterHistory, timings: Timings) -> Lag:
    follower, removed_us = episode[0].follower, episode[0].time_us
    spans = [
        timings.last_fetch_before_removal(removal.time_us, removal.lag_us) for removal in episode
    ]
    # It fetched from each leader until it hung: the latest of all counts.
    begin = max(spans, key=lambda span: (span.least_us, span.most_us))
    if all(removal.lag_us is None for removal in episode):
        least_us = max(span.least_us for span in spans)
        most_us = max(least_us, min(span.most_us for span in spans))
        begin = Span((least_us + most_us) // 2, least_us, most_us)
    else:
        # Its last fetch waited at the leader for up to replica.fetch.wait.max.ms.
        begin = Span(begin.at_us, begin.least_us, begin.most_us + timings.fetch_wait_us)
    removed = {removal.partition for removal in episode}
    back = [
        time_us
        for time_us, partition, who in history.expansions
        if who == follower and partition in removed and time_us > episode[-1].time_us
    ]
    end_us = None
    if back:
        catching_up_us = _CATCHING_UP_US[history.has_kraft]
        end_us = max(min(back) - catching_up_us, removed_us + 1000)
    leaders = tuple(sorted({removal.leader for removal in episode}))
    lasts_us = (end_us or history.end_us) - begin.at_us
    return Lag(
        follower,
        leaders,
        _kept_by(follower, leaders, removed, history, episode[-1].time_us),
        tuple(sorted(removed)),
        removed_us,
        begin,
        end_us,
        lasts_us > timings.session_us + timings.check_us,
    )


def _kept_by(
    follower: int,
    leaders: tuple[int, ...],
    removed: set[str],
    history: ClusterHistory,
    time_us: int,
) -> tuple[int, ...]:
    """Other leaders of the same topics in whose ISRs the follower stayed."""
    topics = {history.partitions[partition].topic for partition in removed}
    kept = set()
    for partition, place in history.partitions.items():
        if place.topic not in topics or partition in removed:
            continue
        state = history.state_at(partition, time_us)
        if state is not None and follower in state.isr and state.leader != follower:
            kept.add(state.leader)
    return tuple(sorted(leader for leader in kept - {*leaders} if leader is not None))


#: Batches per second of a topic, for each of its partitions, and at the most.
_BATCHES, _MOST_BATCHES = 2, 200
#: A share of partitions.
_NEARLY_ALL = 0.9


class AssumedWorkload(NamedTuple):
    """The groups of producers, and the evidence for them."""

    producers: list[dict[str, Any]]
    notices: list[Notice]


def assumed_workload(
    history: ClusterHistory,
    timings: Timings,
    absences: Sequence[Absence],
    lags: Sequence[Lag],
) -> AssumedWorkload:
    """A producer for each topic that was written, as far as states show."""
    counts = Counter(place.topic for place in history.partitions.values())
    idle = _idle_topics(history, timings, absences)
    lagged = {history.partitions[each.partition].topic for each in history.removals}
    busy = [
        topic
        for topic in counts
        if topic not in idle and (not is_internal(topic) or topic in lagged)
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
            f"logs have no clients: producers of {named(busy)} are assumed, "
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
            could[place.topic] += state.leader in lag.leaders
        lagged.update(history.partitions[partition].topic for partition in lag.partitions)
    return {topic for topic, count in lagged.items() if count >= _NEARLY_ALL * could[topic]}


def _idle_topics(
    history: ClusterHistory, timings: Timings, absences: Sequence[Absence]
) -> list[str]:
    """The topics in which leaders removed no lagging follower, although there was time."""
    if timings.lag_us > timings.session_us + timings.check_us:
        return []
    gone = {each.broker for each in absences if each.noticed_us is not None}
    removed = {history.partitions[each.partition].topic for each in history.removals}
    hit = {place.topic for place in history.partitions.values() if gone & {*place.replicas}}
    return sorted(hit - removed)
