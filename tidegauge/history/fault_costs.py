"""The cost of each fault of a run: time until a new leader, work, unavailable partitions.

A fault is followed from its start to the start of the next one, or to the end of the run; all
events in between are attributed to it. This does not separate faults that overlap: use the chain
of causes (``cause_chain.py``) of a single row for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tidegauge.history.cluster_history import ClusterHistory, cluster_history
from tidegauge.history.fault_spans import FaultSpan, fault_spans
from tidegauge.history.row_selection import Mask
from tidegauge.history.story import Names
from tidegauge.simulation.codes.occasions import STATE_WRITTEN
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import Table

#: Counts of partitions in a :class:`ClusterHistory`.
COUNTED = ("offline", "under_min_isr", "at_min_isr", "under_replicated")


class Failover(NamedTuple):
    """Moments of a failover, in order, until new leaders have taken over."""

    #: The session of a broker that the fault had hit was over.
    session_ended_us: int
    #: The controller began with its next event.
    taken_us: int
    #: It had written the first new leader, and that leader took over.
    elected_us: int
    led_us: int
    #: The last new leader took over.
    last_led_us: int


class Area(NamedTuple):
    """Partitions that were in some bad state for some time."""

    partition_seconds: float
    most_at_once: int
    #: Their number at the start of the fault.
    before: int
    #: The time from which on there were none; None: there were until the end; -1: never any.
    over_us: int | None


class WorkDone(NamedTuple):
    """The work of brokers and of the control plane."""

    leaders_elected: int
    unclean_elections: int
    isr_shrinks: int
    isr_expands: int
    isr_removals: int
    states_written: int
    notifications: int
    notified_partitions: int
    #: None: the run did not record requests.
    update_metadata_requests: int | None
    controller_events: int
    controller_busy_us: int
    longest_queued_us: int
    #: By the name of the error.
    produce_refused: Counter[str]
    records_given_up: int


@dataclass(frozen=True, slots=True)
class FaultCosts:
    """The cost of one fault."""

    span: FaultSpan
    #: The end of the time for which it is followed.
    until_us: int
    #: Sessions that ended in this time: when, and the index of the broker.
    sessions_ended: list[tuple[int, int]]
    #: None: the dead brokers led no partition.
    failover: Failover | None
    #: By the names in :data:`COUNTED`.
    areas: dict[str, Area]
    work: WorkDone


def fault_costs(run: RunFolder) -> list[FaultCosts]:
    """The costs of all faults of the scenario, in the order in which they began.

    Raises:
        TraceError: a trace file is damaged.
    """
    # After the scenario's own faults come their parts: the restarts of a roll.
    own = len(run.manifest["scenario"].get("faults", ()))
    end_us = run.end_us
    spans = [span for span in fault_spans(run) if span.fault < own and span.begin_us < end_us]
    history = cluster_history(run)
    begins = sorted({span.begin_us for span in spans})
    costs = []
    for span in spans:
        until_us = next((begin for begin in begins if begin > span.begin_us), end_us)
        costs.append(_costs(run, span, until_us, history))
    return costs


def _costs(run: RunFolder, span: FaultSpan, until_us: int, history: ClusterHistory) -> FaultCosts:
    period = _Period(run, span.begin_us, until_us)
    ended = sorted(
        (row_us, broker)
        for kind in ("session_expired", "session_closed")
        for row_us, broker in period.pairs(kind, "time_us", "broker")
    )
    return FaultCosts(
        span,
        until_us,
        ended,
        _failover(period, ended),
        {name: _area(history, name, span.begin_us, until_us) for name in COUNTED},
        _work(run, period),
    )


class _Period:
    """The rows of a part of a run, by kind."""

    def __init__(self, run: RunFolder, begin_us: int, until_us: int) -> None:
        self._run = run
        self._begin_us = begin_us
        self._until_us = until_us

    def table(self, kind: str) -> Table:
        """The rows of a kind; empty if there is none."""
        table = self._run.table(kind)
        if not table:
            return {}
        inside: Mask = (table["time_us"] >= self._begin_us) & (table["time_us"] < self._until_us)
        return {name: values[inside] for name, values in table.items()}

    def pairs(self, kind: str, *columns: str) -> Iterator[tuple[int, ...]]:
        """Some columns of the rows of a kind."""
        table = self.table(kind)
        if table:
            yield from zip(*(table[column].tolist() for column in columns), strict=True)

    def column(self, kind: str, column: str) -> list[int]:
        """One column of the rows of a kind."""
        return [value for (value,) in self.pairs(kind, column)]

    def first_us(self, kind: str, since_us: int) -> int | None:
        """The time of the first row of a kind from ``since_us`` on."""
        return next((time for time in self.column(kind, "time_us") if time >= since_us), None)


def _failover(period: _Period, ended: list[tuple[int, int]]) -> Failover | None:
    """The moments from the first session that ended before an election to the last new leader."""
    elected = period.column("leader_elected", "time_us")
    led = [
        time_us
        for time_us, is_new in period.pairs("became_leader", "time_us", "is_new_leader")
        if is_new
    ]
    if not elected or not led or not ended:
        return None
    before = [time_us for time_us, _ in ended if time_us <= elected[0]]
    if not before:
        return None
    # Brokers whose sessions end together are one failover; an earlier one led nothing.
    session_ended_us = before[-1]
    taken_us = period.first_us("controller_event", session_ended_us) or elected[0]
    led_us = next((time_us for time_us in led if time_us >= elected[0]), elected[0])
    return Failover(session_ended_us, min(taken_us, elected[0]), elected[0], led_us, led[-1])


def _area(history: ClusterHistory, name: str, begin_us: int, until_us: int) -> Area:
    """The area under a count of partitions, and the time from which on it was zero."""
    counts = getattr(history, name)
    first = int(np.searchsorted(history.times_us, begin_us, side="right")) - 1
    last = int(np.searchsorted(history.times_us, until_us, side="left"))
    if last <= max(first, 0):
        return Area(0.0, 0, 0, -1)
    earlier = int(np.searchsorted(history.times_us, begin_us, side="left")) - 1
    times_us = np.clip(history.times_us[max(first, 0) : last], begin_us, until_us)
    inside = counts[max(first, 0) : last]
    lasted_us = np.diff(np.append(times_us, until_us))
    over_us: int | None = -1
    bad = np.flatnonzero(inside)
    if len(bad):
        behind = int(bad[-1]) + 1
        over_us = int(times_us[behind]) if behind < len(times_us) else None
    return Area(
        float((inside * lasted_us).sum()) / 1e6,
        int(inside.max()),
        int(counts[earlier]) if earlier >= 0 else 0,
        over_us,
    )


def _work(run: RunFolder, period: _Period) -> WorkDone:
    names = Names.of(run)
    states = period.column("partition_state", "change").count(int(STATE_WRITTEN))
    unclean = period.column("leader_elected", "unclean")
    notified = period.column("notification_sent", "partition_count")
    queued = period.column("controller_event", "queued_us")
    refused = Counter(
        names.enumerated("error", error)
        for kind, error in period.pairs("request_refused", "api_key", "error")
        if names.enumerated("api_key", kind) == "PRODUCE"
    )
    return WorkDone(
        leaders_elected=len(unclean),
        unclean_elections=sum(unclean),
        isr_shrinks=len(period.column("isr_shrunk", "partition")),
        isr_expands=len(period.column("isr_expanded", "partition")),
        isr_removals=len(period.column("removed_from_isr", "partition")),
        states_written=states,
        notifications=len(notified),
        notified_partitions=sum(notified),
        update_metadata_requests=_update_metadata_requests(run, period),
        controller_events=len(queued),
        controller_busy_us=sum(period.column("controller_event_done", "processing_us")),
        longest_queued_us=max(queued, default=0),
        produce_refused=refused,
        records_given_up=sum(period.column("batch_failed", "records")),
    )


def _update_metadata_requests(run: RunFolder, period: _Period) -> int | None:
    if run.manifest["trace"] != "all":
        return None
    names = run.enumerations["message_kind"]
    kinds = period.column("message", "message_kind")
    return sum(names.get(kind) == "UPDATE_METADATA" for kind in kinds)
