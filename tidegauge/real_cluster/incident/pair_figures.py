"""The figures of two runs side by side; what logs do not tell is None, not 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tidegauge.real_cluster.incident.absences import Absence, Manner
from tidegauge.real_cluster.incident.cluster_history import (
    GONE,
    REGISTERED,
    STARTED,
    STOPPED,
    ClusterHistory,
    PartitionState,
)
from tidegauge.real_cluster.incident.run_pair import RunPair, RunSide

_SECOND_US = 1e6
#: Label, name in the summary, and unit.
_STALLS = (
    ("partitions stalled for producers", "partitions_stalled", ""),
    ("partition-seconds stalled for producers", "partition_seconds_stalled", "s"),
    ("... longest of a partition", "longest_stall_seconds", "s"),
    ("partition-seconds stalled for consumers", "partition_seconds_reads_stalled", "s"),
)
_RECORDS = (
    ("records acknowledged", "records_acknowledged", ""),
    ("records lost", "records_acknowledged_lost", ""),
    ("records failed", "records_failed", ""),
    ("records unsent", "records_unsent", ""),
)


class Figure(NamedTuple):
    """A figure of both runs; None: not told."""

    name: str
    label: str
    unit: str
    one: float | None
    other: float | None


class Incident(NamedTuple):
    """An absence of a broker, in one run or both, with times in seconds of the first run."""

    broker: int
    manner: tuple[str | None, str | None]
    begin_s: tuple[float | None, float | None]
    #: How far the begin is known, in seconds.
    uncertainty_s: tuple[float | None, float | None]
    until_noticed_s: tuple[float | None, float | None]
    until_last_leader_s: tuple[float | None, float | None]
    away_s: tuple[float | None, float | None]
    until_in_sync_s: tuple[float | None, float | None]


def pair_figures(pair: RunPair) -> list[Figure]:
    """All figures, in the order in which they are shown."""
    one, other = (dict(_of_side(side)) for side in pair.sides)
    labels = {name: (label, unit) for name, label, unit, _ in _COUNTED}
    found = [
        each
        for each in _of_summaries(pair, _STALLS)
        if each.one is not None or each.other is not None
    ]
    for name, (label, unit) in labels.items():
        found.append(Figure(name, label, unit, one[name], other[name]))
    found += _of_summaries(pair, _RECORDS)
    percentiles = [_latency_ms(side) for side in pair.sides]
    found.append(Figure("produce_p99_ms", "latency of batches, P99", "ms", *percentiles))
    return found


def pair_incidents(pair: RunPair) -> list[Incident]:
    """The incidents of both runs, in the order of their begins."""
    found = []
    for paired in pair.incidents():
        both = tuple(zip(pair.sides, (paired.one, paired.other), strict=True))

        def each(
            measure: Callable[[RunSide, Absence], Any],
            both: tuple[tuple[RunSide, Absence | None], ...] = both,
        ) -> tuple[Any, Any]:
            one, other = (
                None if absence is None else measure(side, absence) for side, absence in both
            )
            return one, other

        found.append(
            Incident(
                paired.broker,
                each(lambda _, absence: absence.manner.value),
                each(lambda side, absence: _seconds(absence.begin.at_us + side.shift_us)),
                each(lambda _, absence: _seconds(absence.begin.uncertainty_us)),
                each(lambda _, absence: _since(absence.begin.at_us, absence.noticed_us)),
                each(_until_last_leader_s),
                each(lambda _, absence: _since(absence.begin.at_us, absence.back_us)),
                each(_until_in_sync_s),
            )
        )
    return sorted(found, key=lambda incident: min(t for t in incident.begin_s if t is not None))


def _seconds(time_us: int) -> float:
    return round(time_us / _SECOND_US, 3)


def _since(begin_us: int, end_us: int | None) -> float | None:
    return None if end_us is None else _seconds(end_us - begin_us)


def _until_last_leader_s(side: RunSide, absence: Absence) -> float | None:
    """From the begin of an absence to the last election of another leader for this broker's."""
    until_us = absence.back_us or side.history.end_us
    times = [
        after.time_us
        for _, before, after in side.history.changes()
        if before.leader == absence.broker
        and after.leader not in (absence.broker, None)
        and absence.begin.at_us <= after.time_us <= until_us
    ]
    # A partition that was offline in between gets its leader from none.
    offline = [
        after.time_us
        for partition, before, after in side.history.changes()
        if before.leader is None
        and after.leader is not None
        and absence.begin.at_us <= after.time_us <= until_us
        and absence.broker in side.history.partitions[partition].replicas
    ]
    return _since(absence.begin.at_us, max([*times, *offline], default=None))


def _until_in_sync_s(side: RunSide, absence: Absence) -> float | None:
    """From a broker's return to its return to the last ISR that it had left."""
    if absence.back_us is None:
        return None
    last_us = absence.back_us
    for partition in side.history.states:
        state = side.history.state_at(partition, absence.back_us)
        if state is None or absence.broker in state.isr:
            continue
        if absence.broker not in side.history.partitions[partition].replicas:
            continue
        joined = [
            each.time_us
            for each in side.history.states[partition]
            if each.time_us >= absence.back_us and absence.broker in each.isr
        ]
        if not joined:
            return None
        last_us = max(last_us, joined[0])
    return _since(absence.back_us, last_us)


def _of_summaries(pair: RunPair, figures: Iterable[tuple[str, str, str]]) -> Iterator[Figure]:
    for label, name, unit in figures:
        yield Figure(name, label, unit, *(_of_summary(side, name) for side in pair.sides))


def _of_summary(side: RunSide, name: str) -> float | None:
    summary: Mapping[str, Any] = side.run.summary or {}
    value = summary.get(name)
    return None if value is None else float(value)


def _latency_ms(side: RunSide) -> float | None:
    """The P99 of the slowest group of producers."""
    summary: Mapping[str, Any] = side.run.summary or {}
    groups = summary.get("produce_ms") or {}
    values = [each["p99"] for each in groups.values() if isinstance(each, dict) and each.get("p99")]
    return max(values, default=None)


# Figures of one run.


def _elections(history: ClusterHistory) -> list[tuple[str, PartitionState, PartitionState]]:
    return [
        (partition, before, after)
        for partition, before, after in history.changes()
        if after.leader not in (before.leader, None) and not after.is_created
    ]


def _time_where(history: ClusterHistory, holds: Callable[[str, PartitionState], bool]) -> float:
    """Partition-seconds in states for which something holds, up to the end of the run."""
    total_us = 0
    for partition, states in history.states.items():
        ends = [state.time_us for state in states[1:]] + [history.end_us]
        for state, end_us in zip(states, ends, strict=True):
            if not state.is_deleted and holds(partition, state):
                total_us += max(0, end_us - state.time_us)
    return round(total_us / _SECOND_US, 1)


def _leaderless(side: RunSide) -> float:
    """Partition-seconds in which the leader was gone, and no other one elected."""
    total_us = 0
    for absence in side.absences:
        # A clean stop hands its leaders over before it ends.
        if absence.manner is Manner.STOPPED:
            continue
        until_us = absence.back_us or side.history.end_us
        for partition, states in side.history.states.items():
            state = side.history.state_at(partition, absence.begin.at_us)
            if state is None or state.leader != absence.broker:
                continue
            later = [
                each.time_us
                for each in states
                if each.time_us >= absence.begin.at_us and each.leader != absence.broker
            ]
            total_us += max(0, min([until_us, *later[:1]]) - absence.begin.at_us)
    return round(total_us / _SECOND_US, 1)


def _under_min_isr(side: RunSide) -> float:
    directory = side.run.directory
    least = {
        name: directory.all_partitions[number].effective_min_isr(
            directory.all_partitions[number].min_insync_replicas
        )
        for name, number in directory.partitions.items()
    }
    return _time_where(
        side.history,
        lambda name, state: state.leader is not None and len(state.isr) < least[name],
    )


def _removals_by_control_plane(side: RunSide) -> int:
    """Members that left ISRs, without those that leaders removed."""
    left = sum(
        len({*before.isr} - {*after.isr})
        for partition, before, after in side.history.changes()
        if not after.is_deleted and not _is_moved(side.history, partition, after)
    )
    return max(0, left - len(side.history.removals))


def _is_moved(history: ClusterHistory, partition: str, after: PartitionState) -> bool:
    """Whether a reassignment ended with this state."""
    return any(
        abs(assignment.time_us - after.time_us) < _SECOND_US
        for assignment in history.assignments.get(partition, ())[1:]
    )


def _events(side: RunSide, kind: str) -> int:
    return sum(event.kind == kind for life in side.history.lives.values() for event in life)


def _expired(side: RunSide) -> int:
    return sum(
        event.kind == GONE and event.is_expired
        for life in side.history.lives.values()
        for event in life
    )


def _unclean(side: RunSide) -> int:
    return sum(after.leader not in before.isr for _, before, after in _elections(side.history))


#: Name, label, unit, and the value of one run.
_COUNTED: tuple[tuple[str, str, str, Callable[[RunSide], float]], ...] = (
    ("elections", "leaders elected", "", lambda side: len(_elections(side.history))),
    ("unclean", "... from outside of the ISR", "", _unclean),
    ("isr_shrinks", "ISR shrinks by leaders", "", lambda side: _shrinks(side.history)),
    ("isr_expands", "ISR expands by leaders", "", lambda side: _expands(side.history)),
    (
        "isr_removals",
        "ISR members removed by the controller, moved ones apart",
        "",
        _removals_by_control_plane,
    ),
    (
        "offline",
        "partition-seconds in which no leader is named",
        "s",
        lambda side: _time_where(side.history, lambda _, state: state.leader is None),
    ),
    ("leaderless", "partition-seconds with a leader that is gone", "s", _leaderless),
    ("under_min_isr", "partition-seconds under min.insync.replicas", "s", _under_min_isr),
    (
        "under_replicated",
        "partition-seconds with an ISR that is not full",
        "s",
        lambda side: _time_where(
            side.history,
            lambda name, state: len(state.isr) < len(side.history.partitions[name].replicas),
        ),
    ),
    ("starts", "brokers started", "", lambda side: _events(side, STARTED)),
    ("clean_stops", "brokers stopped cleanly", "", lambda side: _events(side, STOPPED)),
    ("registrations", "brokers registered", "", lambda side: _events(side, REGISTERED)),
    ("expired", "sessions expired", "", _expired),
    (
        "controllers",
        "active controllers, one after the other",
        "",
        lambda side: sum(term.controller is not None for term in side.history.terms),
    ),
)


def _shrinks(history: ClusterHistory) -> int:
    return len({(removal.time_us, removal.partition) for removal in history.removals})


def _expands(history: ClusterHistory) -> int:
    return len({(time_us, partition) for time_us, partition, _ in history.expansions})


def _of_side(side: RunSide) -> Iterator[tuple[str, float]]:
    for name, _, _, value in _COUNTED:
        yield name, value(side)
