"""Brokers that were gone for a while: killed, stopped cleanly, or hung.

The life of a broker is its registrations and their ends. A registration that a start belongs to is
of a new process; the process before it has died, cleanly or not. A registration that no start
belongs to is of a process that hung: it comes back with all that it had.
"""

from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from tidegauge.real_cluster.incident.cluster_history import BrokerEvent, ClusterHistory, Life
from tidegauge.real_cluster.incident.sightings import Sightings
from tidegauge.real_cluster.incident.topology import Span, Timings

#: A start of this time after the start of the run is the first one.
_FIRST_START_US = 2_000_000
#: A log has a start so soon after the registration.
_STARTS_WITHIN_US = 60_000_000
#: A controlled shutdown takes no longer than this.
_SHUTDOWN_US = 60_000_000
#: From SIGTERM to the first state that the controller writes, and if there is none to the exit.
_BEFORE_SHUTDOWN_US, _WITHOUT_LEADERS_US = 40_000, 2_000_000
#: A busy machine takes longer than that.
_SLOW_SHUTDOWN_US = 1_000_000


class Manner(Enum):
    """The way in which a broker was gone; the kind of fault that a scenario has for it."""

    KILLED = "crash"
    STOPPED = "restart"
    HUNG = "pause"


class Absence(NamedTuple):
    """A broker that was gone."""

    broker: int
    manner: Manner
    begin: Span
    #: The evidence of the start.
    evidence: str
    #: The time at which the control plane noticed it; None: it did not.
    noticed_us: int | None
    #: The time at which the broker registered again, or was unfenced; None: not until the end of
    #: the run.
    back_us: int | None
    #: The time at which its process began to serve, if that is known to be earlier.
    started_us: int | None = None

    def may_last_at(self, time_us: int) -> bool:
        """Whether the broker may have been gone at a time, by the bounds of the start."""
        is_back = self.back_us is not None and self.back_us < time_us
        return self.begin.least_us <= time_us and not is_back


class _Registration(NamedTuple):
    """A registration of a broker, and its end."""

    begin_us: int
    #: The start of the process that it belongs to; None: the process was there already.
    started_us: int | None
    #: The first time at which the control plane took the broker for gone; None: it has not.
    gone: BrokerEvent | None = None
    #: The signs of a clean stop.
    shutting_down_us: int | None = None
    stopped_us: int | None = None


def absences(history: ClusterHistory, timings: Timings, sightings: Sightings) -> list[Absence]:
    """All absences of brokers after their first registrations, by the times of their starts."""
    found = [
        absence
        for broker in history.brokers
        for absence in _of_broker(broker, history, timings, sightings)
    ]
    return sorted(found, key=lambda absence: (absence.begin.at_us, absence.broker))


def first_registrations(history: ClusterHistory) -> dict[int, tuple[int | None, int]]:
    """The brokers that registered for the first time in the run: time of the start, and of that."""
    found = {}
    for broker in history.brokers:
        registrations = _registrations(broker, history)
        if registrations and not _is_of_before(registrations[0], history):
            found[broker] = (registrations[0].started_us, registrations[0].begin_us)
    return found


def _is_of_before(registration: _Registration, history: ClusterHistory) -> bool:
    return registration.begin_us < history.begin_us


def _registrations(broker: int, history: ClusterHistory) -> list[_Registration]:
    """The registrations of a broker, in their order; the first may be of before the run."""
    events = sorted(history.lives.get(broker, ()), key=lambda event: event.time_us)
    begins = [event.time_us for event in events if event.kind == Life.REGISTERED]
    starts = _starts_of(begins, [event.time_us for event in events if event.kind == Life.STARTED])
    found: list[_Registration] = []
    if _is_there_before(broker, events[0] if events else None, history):
        found.append(_Registration(history.begin_us - 1, None))
    for event in events:
        if event.kind == Life.REGISTERED:
            started_us = starts.get(event.time_us)
            if started_us is None and found and _is_restated(broker, event, found[-1], history):
                continue
            found.append(_Registration(event.time_us, started_us))
        elif not found:
            continue
        elif event.kind == Life.GONE and found[-1].gone is None:
            found[-1] = found[-1]._replace(gone=event)
        elif event.kind == Life.SHUTTING_DOWN and found[-1].shutting_down_us is None:
            found[-1] = found[-1]._replace(shutting_down_us=event.time_us)
        elif event.kind == Life.STOPPED:
            found[-1] = found[-1]._replace(stopped_us=event.time_us)
        elif event.kind == Life.ACTIVE and found[-1].gone is not None:
            # KRaft: the same registration again, by heartbeats that arrive again.
            found.append(_Registration(event.time_us, None))
    return found


def _is_there_before(broker: int, first: BrokerEvent | None, history: ClusterHistory) -> bool:
    """Whether a broker was registered before its first event."""
    if first is None or first.kind not in (Life.REGISTERED, Life.STARTED, Life.ACTIVE):
        return True
    if history.is_from_logs and first.kind == Life.REGISTERED and _has_preexisting_states(history):
        # A controller lists the brokers that it finds; one that starts logs its own start.
        starts = [each.time_us for each in history.lives[broker] if each.kind == Life.STARTED]
        if not any(abs(time_us - first.time_us) < _STARTS_WITHIN_US for time_us in starts):
            return True
    if history.is_in_isr_before(broker, first.time_us - _FIRST_START_US):
        return True
    is_first_start = first.time_us <= history.begin_us + _FIRST_START_US
    return history.is_registered_before(broker) and not is_first_start


def _has_preexisting_states(history: ClusterHistory) -> bool:
    return any(states[0].is_preexisting for states in history.states.values())


def _is_restated(
    broker: int, event: BrokerEvent, before: _Registration, history: ClusterHistory
) -> bool:
    """Whether logs repeat the registration of a broker that has not been gone."""
    if not history.is_from_logs or before.gone is not None or before.stopped_us is not None:
        return False
    return not any(
        before.begin_us < time_us < event.time_us
        for time_us in history.removals_by_control_plane(broker)
    )


def _starts_of(registrations: list[int], starts: list[int]) -> dict[int, int]:
    """The start that a registration belongs to, the nearest one: a log has it after that."""
    found: dict[int, int] = {}
    for started_us in starts:
        free = [each for each in registrations if each not in found]
        if free:
            found[min(free, key=lambda each: abs(each - started_us))] = started_us
    return found


def _of_broker(
    broker: int, history: ClusterHistory, timings: Timings, sightings: Sightings
) -> Iterator[Absence]:
    registrations = _registrations(broker, history)
    for place, ended in enumerate(registrations):
        after = registrations[place + 1] if place + 1 < len(registrations) else None
        if after is None and ended.gone is None and ended.stopped_us is None:
            continue
        noticed_us = _noticed_us(broker, ended, after, history)
        if ended.gone is not None:
            noticed_us = ended.gone.time_us
        back_us = None if after is None else after.begin_us
        started_us = None if after is None else after.started_us
        is_clean = ended.stopped_us is not None or ended.shutting_down_us is not None
        if is_clean:
            begin, evidence = _begin_of_shutdown(broker, ended, history)
            manner = Manner.STOPPED
        else:
            begin, evidence, is_dead = _death(broker, ended, after, history, timings, sightings)
            has_own_logs = not history.is_from_logs or broker in history.signs
            is_hung = after is not None and after.started_us is None and not is_dead
            manner = Manner.HUNG if is_hung and has_own_logs else Manner.KILLED
            if is_hung and not has_own_logs:
                evidence += "; its own logs are missing, so it may have hung"
            if after is None and not is_dead:
                evidence += "; it does not come back, so it may have hung or been cut off too"
        yield Absence(broker, manner, begin, evidence, noticed_us, back_us, started_us)


def _noticed_us(
    broker: int, ended: _Registration, after: _Registration | None, history: ClusterHistory
) -> int | None:
    """The expiry of a broker's session: as logged, or as the controller took it out of ISRs."""
    if ended.gone is not None:
        return ended.gone.time_us if ended.gone.is_expired else None
    until_us = history.end_us if after is None else after.begin_us
    removals = (
        time_us
        for time_us in history.removals_by_control_plane(broker)
        if ended.begin_us < time_us < until_us
    )
    return min(removals, default=None)


def _death(
    broker: int,
    ended: _Registration,
    after: _Registration | None,
    history: ClusterHistory,
    timings: Timings,
    sightings: Sightings,
) -> tuple[Span, str, bool]:
    """When a broker died or hung, the evidence, and whether its connections were closed."""
    noticed_us = _noticed_us(broker, ended, after, history)
    if noticed_us is not None:
        span = timings.death_before_expiry(noticed_us)
        evidence = "the session's timeout and its interval of heartbeats before it expired"
    else:
        until_us = min(
            time_us
            for time_us in (
                None if ended.gone is None else ended.gone.time_us,
                None if after is None else after.begin_us,
                None if after is None else after.started_us,
            )
            if time_us is not None
        )
        least_us = max(ended.begin_us, until_us - timings.session_us)
        span = Span((least_us + until_us) // 2, least_us, until_us)
        evidence = "between its last sign of life and its next start"
    paused_us = sightings.pause_us(broker, span.least_us - timings.heartbeat_us, span.most_us)
    if paused_us is not None:
        return Span(paused_us, paused_us, paused_us), "it was paused", False
    # A process that started later had ended before: one lost connection dates that.
    is_certain = after is None or after.started_us is not None
    least_us = span.least_us - timings.heartbeat_us
    lost_us = sightings.death_us(broker, least_us, span.most_us, is_certain=is_certain)
    if lost_us is not None:
        return Span(lost_us, lost_us, lost_us), "its peers lost their connections", True
    # Rows of logs may have the time of another teller: its own lines are better signs.
    sign_us = None if sightings.has_lines else history.last_sign_us(broker, span.most_us)
    line_us = sightings.last_line_us(broker, span.most_us)
    signs = [each for each in (sign_us, line_us) if each is not None]
    if signs and max(signs) > span.least_us:
        span = span.narrowed(max(signs))
        evidence += ", after the last sign of life in its own logs"
    return span, evidence, False


def _begin_of_shutdown(
    broker: int, ended: _Registration, history: ClusterHistory
) -> tuple[Span, str]:
    """When a broker was asked to stop: before the controller moved its leaders away."""
    if ended.shutting_down_us is not None:
        at_us = ended.shutting_down_us - _BEFORE_SHUTDOWN_US
        return Span(at_us, at_us - _SLOW_SHUTDOWN_US, at_us), "its controlled shutdown was granted"
    assert ended.stopped_us is not None
    moved = [
        after.time_us
        for _, before, after in history.changes()
        if broker in before.isr
        and broker not in after.isr
        and ended.stopped_us - _SHUTDOWN_US < after.time_us <= ended.stopped_us
    ]
    if moved:
        at_us = min(moved) - _BEFORE_SHUTDOWN_US
        return Span(
            at_us, at_us - _SLOW_SHUTDOWN_US, at_us
        ), "the first ISR that it left before its clean stop"
    least_us = ended.stopped_us - _WITHOUT_LEADERS_US
    return Span(least_us, least_us, ended.stopped_us), "its clean stop; it was in no ISR"
