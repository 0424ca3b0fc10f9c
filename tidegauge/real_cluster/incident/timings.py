"""How long a failure stays unnoticed, by the settings of a cluster.

A session ends a timeout after the last heartbeat that arrived, which was up to an interval before
the death. So the death is known up to that interval, and up to the period of the check.
"""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.real_cluster.incident.topology import Topology
from tidegauge.replication.release_versions import KRAFT_MODE

_MS = 1000
#: ZooKeeper's default tick: sessions end at its multiples.
_TICK_MS = 2000
#: A client of ZooKeeper that is idle sends a ping after a third of the session's timeout.
_PINGS = 3
#: KRaft's controller checks sessions this often in a timeout.
_CHECKS = 8
#: The isr-expiration task runs twice in replica.lag.time.max.ms.
_LEAST_CHECKS = 2
#: A leader of the quorum is elected within about as many timeouts of an election.
_ELECTIONS = 2


class Span(NamedTuple):
    """A time that is known up to its bounds."""

    at_us: int
    least_us: int
    most_us: int

    def narrowed(self, least_us: int | None, most_us: int | None = None) -> Span:
        """The span after another bound; a bound that contradicts it is not taken."""
        least, most = self.least_us, self.most_us
        if least_us is not None and least < least_us <= most:
            least = least_us
        if most_us is not None and least <= most_us < most:
            most = most_us
        at_us = self.at_us if least <= self.at_us <= most else (least + most) // 2
        return Span(at_us, least, most)

    @property
    def uncertainty_us(self) -> int:
        """The longest distance from the time to a bound."""
        return max(self.at_us - self.least_us, self.most_us - self.at_us)


class Timings(NamedTuple):
    """The settings that delay what the control plane and leaders notice."""

    has_kraft: bool
    session_us: int
    #: From one heartbeat of a broker to the next.
    heartbeat_us: int
    #: From one check of sessions to the next.
    check_us: int
    lag_us: int
    fetch_wait_us: int
    quorum_fetch_us: int
    quorum_election_us: int

    def death_before_expiry(self, expired_us: int) -> Span:
        """When a broker died whose session expired at this time."""
        least_us = expired_us - self.session_us - self.check_us
        most_us = expired_us - self.session_us + self.heartbeat_us
        return Span((least_us + most_us) // 2, least_us, most_us)

    def last_fetch_before_removal(self, removed_us: int, lag_us: int | None) -> Span:
        """When a follower was caught up last that left the ISR at this time."""
        if lag_us is not None:
            caught_up_us = removed_us - lag_us
            return Span(caught_up_us, caught_up_us, caught_up_us)
        least_us = removed_us - self.lag_us - self.lag_us // _LEAST_CHECKS
        most_us = removed_us - self.lag_us
        return Span((least_us + most_us) // 2, least_us, most_us)

    def death_before_election(self, active_us: int) -> Span:
        """When KRaft's active controller was lost, before another one became active."""
        least_us = active_us - self.quorum_fetch_us - _ELECTIONS * self.quorum_election_us
        return Span((least_us + active_us) // 2, least_us, active_us)


def timings_of(topology: Topology) -> Timings:
    """The timings of a cluster."""
    has_kraft = topology.mode == KRAFT_MODE
    quorum_fetch_ms = quorum_election_ms = 0
    if has_kraft:
        session_ms = topology.value("broker.session.timeout.ms")
        heartbeat_ms = topology.value("broker.heartbeat.interval.ms")
        check_ms = session_ms // _CHECKS
        quorum_fetch_ms = topology.value("controller.quorum.fetch.timeout.ms")
        quorum_election_ms = topology.value("controller.quorum.election.timeout.ms")
    else:
        session_ms = topology.value("zookeeper.session.timeout.ms")
        heartbeat_ms = session_ms // _PINGS
        check_ms = topology.tick_ms or _TICK_MS
    return Timings(
        has_kraft,
        session_ms * _MS,
        heartbeat_ms * _MS,
        check_ms * _MS,
        topology.value("replica.lag.time.max.ms") * _MS,
        topology.value("replica.fetch.wait.max.ms") * _MS,
        quorum_fetch_ms * _MS,
        quorum_election_ms * _MS,
    )
