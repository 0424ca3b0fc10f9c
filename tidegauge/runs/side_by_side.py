"""Runs side by side: their figures, their states in the time of the first, and where they part.

Runs from logs of the same time are aligned by the wall clock, and their states of the time that all
have are compared. Any other run is aligned with the first one by the first changes of partitions
that both have: the median of their distances. A partition's sequence is that of its leaders and
ISRs, without times and without the order of an ISR, so runs with other delays can have the same.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby, zip_longest
from statistics import median_low
from typing import NamedTuple

from tidegauge.runs.controllers import ActiveController, active_controllers
from tidegauge.runs.figures import figure_named, figures_of
from tidegauge.runs.histories import PartitionState, partition_states
from tidegauge.runs.run import Run
from tidegauge.traces.summary_figures import Figure, numbers_of

#: The figures that are shown, in their order; after them the latency of each group of producers.
_SHOWN = (
    *("partitions_stalled", "partition_seconds_stalled", "longest_stall_seconds"),
    *("partition_seconds_reads_stalled", "leader_elections", "unclean_elections"),
    *("isr_shrinks", "isr_expands", "isr_removals", "partition_seconds_offline"),
    *("partition_seconds_not_accepting", "partition_seconds_under_min_isr", "out_of_isr_us"),
    *("starts", "clean_stops", "registrations", "sessions_expired", "failovers"),
    *("records_acknowledged", "records_acknowledged_lost", "records_failed", "records_unsent"),
)


class Side(NamedTuple):
    """One of the runs."""

    run: Run
    figures: Mapping[str, float | None]
    controllers: Sequence[ActiveController]
    #: The states of each partition that differ from the one before in leader or ISR.
    sequences: Mapping[str, Sequence[PartitionState]]
    #: Added to its times to get those of the first run.
    shift_us: int = 0
    #: The number of partitions by whose first changes it is aligned; None: by the caller.
    aligned_by: int | None = None
    #: It is aligned by the wall clock.
    is_by_clock: bool = False

    @property
    def is_of_logs(self) -> bool:
        """Whether it is read from the logs of a real cluster."""
        return self.run.directory.is_of_logs


class ComparedValues(NamedTuple):
    """A figure of all runs; None: the run does not have it."""

    figure: Figure
    values: Sequence[float | None]


class FirstDifference(NamedTuple):
    """A partition whose sequences differ, and the first state of each run that does."""

    partition: str
    #: The number of states before that are the same.
    same: int
    #: None: there is no further state.
    states: Sequence[PartitionState | None]


class SideBySide(NamedTuple):
    """Runs, the first of which gives the time."""

    sides: Sequence[Side]
    #: Partitions that only this run has, run by run.
    only_in: Sequence[Sequence[str]]
    #: Partitions with the same sequence, and with the same leaders, in all runs.
    same: Sequence[str]
    same_leaders: Sequence[str]
    different: Sequence[FirstDifference]

    @property
    def figures(self) -> list[ComparedValues]:
        """The figures that are shown; stalls, which logs do not have, only if a run has them."""
        names = [*_SHOWN, *sorted(n for n in self.sides[0].figures if _is_latency(n))]
        rows = [
            ComparedValues(figure_named(name), [side.figures.get(name) for side in self.sides])
            for name in names
        ]
        return [
            row
            for row in rows
            if "stall" not in row.figure.name or any(value is not None for value in row.values)
        ]


def side_by_side(runs: Sequence[Run], shift_us: int | None = None) -> SideBySide:
    """Runs aligned in time, and where their partitions part.

    Args: runs: the runs, the first of them such as a real one. shift_us: the offset added to the
    times of all but the first; None: find it.

    Raises:
        TraceError: a trace file is damaged.
        RunError, ScenarioError, OSError: the tables of a run cannot be made.
    """
    first, *others = (_side(run) for run in runs)
    if shift_us is None and (by_clock := _by_clock([first, *others])) is not None:
        return _compared(by_clock)
    aligned = [
        other._replace(shift_us=shift_us)
        if shift_us is not None
        else other._replace(**_alignment(first, other)._asdict())
        for other in others
    ]
    return _compared([first, *aligned])


def _side(run: Run) -> Side:
    states = [each for each in partition_states(run) if each.begin_us <= run.end_us]
    return Side(
        run,
        dict(numbers_of(run.summary or {})) | figures_of(run),
        active_controllers(run, run.end_us),
        {
            partition: _sequence(list(own), run.end_us)
            for partition, own in groupby(states, lambda each: each.partition)
        },
    )


def _sequence(states: Sequence[PartitionState], end_us: int) -> list[PartitionState]:
    """States with another leader or ISR than the one before; a deleted partition has neither."""
    found: list[PartitionState] = []
    for state, following in zip_longest(states, states[1:]):
        if not found or not is_same(found[-1], state):
            found.append(state)
        next_us = None if following is None else following.begin_us
        if state.end_us not in (None, next_us) and state.end_us <= end_us:
            found.append(state._replace(begin_us=state.end_us, leader=None, isr=()))
    return found


def is_same(one: PartitionState, other: PartitionState) -> bool:
    """Whether leader and ISR are the same, in whatever order the ISR is."""
    return one.leader == other.leader and set(one.isr) == set(other.isr)


def _by_clock(sides: Sequence[Side]) -> list[Side] | None:
    """Runs from logs with the states of the time that all of them have; None: they have none."""
    clocks = [clock for side in sides if (clock := side.run.wall_clock) is not None]
    first_ms = max(clock.first_ms for clock in clocks) if clocks else 0
    last_ms = min(clock.last_ms for clock in clocks) if clocks else -1
    if len(clocks) < len(sides) or first_ms > last_ms:
        return None
    return [
        side._replace(
            shift_us=(clock.first_ms - clocks[0].first_ms) * 1000,
            is_by_clock=True,
            sequences={
                partition: within
                for partition, states in side.sequences.items()
                for begin_us in [(first_ms - clock.first_ms) * 1000]
                for end_us in [(last_ms + 1 - clock.first_ms) * 1000]
                if (within := _within(states, begin_us, end_us))
            },
        )
        for side, clock in zip(sides, clocks, strict=True)
    ]


def _within(states: Sequence[PartitionState], begin_us: int, end_us: int) -> list[PartitionState]:
    """The states of a time, the first of which may have begun before."""
    kept = [state for state in states if begin_us < state.begin_us < end_us]
    before = [state for state in states if state.begin_us <= begin_us]
    return [*(state._replace(begin_us=begin_us) for state in before[-1:]), *kept]


class _Alignment(NamedTuple):
    shift_us: int
    aligned_by: int


def _alignment(one: Side, other: Side) -> _Alignment:
    """The distance of the first equal changes, or of the first states if nothing changes."""
    both = [
        (one.sequences[partition], other.sequences[partition])
        for partition in one.sequences.keys() & other.sequences.keys()
    ]
    for place in (1, 0):
        distances = [
            mine[place].begin_us - its[place].begin_us
            for mine, its in both
            if min(len(mine), len(its)) > place and (not place or is_same(mine[1], its[1]))
        ]
        if distances:
            return _Alignment(median_low(distances), len(distances))
    return _Alignment(0, 0)


def _compared(sides: Sequence[Side]) -> SideBySide:
    partitions = [side.run.directory.partitions for side in sides]
    same, same_leaders, different = [], [], []
    for partition in partitions[0]:
        if not all(partition in others for others in partitions):
            continue
        sequences = _from_first_told(sides, partition)
        if len({tuple(_leaders(states)) for states in sequences}) == 1:
            same_leaders.append(partition)
        for place, states in enumerate(zip_longest(*sequences)):
            if None in states or not all(is_same(states[0], each) for each in states):
                different.append(FirstDifference(partition, place, states))
                break
        else:
            same.append(partition)
    only_in = [
        [name for name in own if not any(name in other for other in partitions if other is not own)]
        for own in partitions
    ]
    return SideBySide(sides, only_in, same, same_leaders, different)


def _from_first_told(sides: Sequence[Side], partition: str) -> list[Sequence[PartitionState]]:
    """The sequences of a partition; logs can begin later, and then all begin with their state."""
    sequences = [side.sequences.get(partition, ()) for side in sides]
    told = [states[0] for side, states in zip(sides, sequences, strict=True)
            if side.is_of_logs and states]  # fmt: skip
    if not told or all(side.is_of_logs for side in sides):
        return sequences
    return [
        states
        if side.is_of_logs
        else states[next((n for n, each in enumerate(states) if is_same(each, told[0])), 0) :]
        for side, states in zip(sides, sequences, strict=True)
    ]


def _leaders(states: Sequence[PartitionState]) -> list[int | None]:
    """The leaders one after the other, each once."""
    return [leader for leader, _ in groupby(state.leader for state in states)]


def _is_latency(name: str) -> bool:
    return name.startswith("produce_ms.") and name.endswith(".p99")
