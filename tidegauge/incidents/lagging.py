"""Followers that leaders took out of ISRs although they stayed registered.

A follower that all of its leaders remove hung for less than its session's timeout, or fetched too
slowly. If some leaders remove it and others keep it, or if it was out for longer than a session
without being lost, its connections to those leaders were cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tidegauge.incidents.absences import Absence
from tidegauge.incidents.cluster_history import ClusterHistory, IsrRemoval
from tidegauge.incidents.timings import Span, Timings

#: A follower that fetches again is back in an ISR within about this time: ZooKeeper, KRaft.
_CATCHING_UP_US = {False: 60_000, True: 150_000}


class Lag(NamedTuple):
    """A follower that left ISRs, until it was back in the first of them."""

    follower: int
    #: The leaders that removed it.
    leaders: tuple[int, ...]
    #: Leaders of the same topics that kept it in an ISR.
    kept_by: tuple[int, ...]
    partitions: int
    removed_us: int
    #: When it stopped fetching.
    begin: Span
    #: When it fetched again; None: not until the end of the run.
    end_us: int | None
    #: The session would have expired if it had hung.
    outlasts_session: bool

    @property
    def is_cut(self) -> bool:
        """Whether it was cut off rather than paused."""
        return bool(self.kept_by) or self.outlasts_session


def lags(history: ClusterHistory, timings: Timings, found: Sequence[Absence]) -> list[Lag]:
    """The lags of followers that no absence explains, by the times of their begins."""
    episodes: list[list[IsrRemoval]] = []
    for removal in sorted(history.removals, key=lambda each: (each.follower, each.time_us)):
        if _is_explained(removal, found):
            continue
        last = episodes[-1][-1] if episodes else None
        if last is not None and last.follower == removal.follower:
            if removal.time_us - last.time_us <= timings.lag_us and not _was_back(
                history, last, removal
            ):
                episodes[-1].append(removal)
                continue
        episodes.append([removal])
    lags = [_lag(episode, history, timings) for episode in episodes]
    return sorted(lags, key=lambda lag: (lag.begin.at_us, lag.follower))


def _is_explained(removal: IsrRemoval, found: Sequence[Absence]) -> bool:
    """Whether the follower was gone, or its leader hung and took everyone for lagging."""
    return any(
        absence.broker in (removal.follower, removal.leader)
        and absence.begin.least_us <= removal.time_us
        and (absence.back_us is None or removal.time_us <= absence.back_us)
        for absence in found
    )


def _was_back(history: ClusterHistory, last: IsrRemoval, removal: IsrRemoval) -> bool:
    return any(
        follower == removal.follower and last.time_us < time_us < removal.time_us
        for time_us, _, follower in history.expansions
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
        len(removed),
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
    topics = {history.partitions[partition].name for partition in removed}
    kept = set()
    for partition, topic in history.partitions.items():
        if topic.name not in topics or partition in removed:
            continue
        state = history.state_at(partition, time_us)
        if state is not None and follower in state.isr and state.leader != follower:
            kept.add(state.leader)
    return tuple(sorted(leader for leader in kept - {*leaders} if leader is not None))
