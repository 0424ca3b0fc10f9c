"""Two runs beside each other: their states in one time, and where they part.

Runs are aligned by the first changes of partitions that both have: the median of their distances.
A partition's sequence is that of its leaders and ISRs, without times and without the order of an
ISR, so runs with other delays can have the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import zip_longest
from statistics import median_low
from typing import NamedTuple

from tidegauge.real_cluster.incident.absences import Absence, absences
from tidegauge.real_cluster.incident.cluster_history import (
    ClusterHistory,
    PartitionState,
    cluster_history,
)
from tidegauge.real_cluster.incident.sightings import Sightings, sightings_of
from tidegauge.real_cluster.incident.timings import timings_of
from tidegauge.real_cluster.incident.topology import topology_of
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN
from tidegauge.traces.run_folder import RunFolder

#: Two absences of a broker further apart than this are two incidents.
_SAME_INCIDENT_US = 15_000_000


class RunSide(NamedTuple):
    """One of two runs."""

    run: RunFolder
    history: ClusterHistory
    absences: list[Absence]
    #: Added to its times to get those of the first run.
    shift_us: int = 0


class PartedSequence(NamedTuple):
    """A partition whose sequences of states differ, and the first states that do."""

    partition: str
    #: How many states are the same before.
    same: int
    one: PartitionState | None
    other: PartitionState | None


class PairedAbsence(NamedTuple):
    """An absence of a broker in one run or in both."""

    one: Absence | None
    other: Absence | None

    @property
    def broker(self) -> int:
        """The broker that was gone."""
        found = self.one or self.other
        assert found is not None
        return found.broker


@dataclass
class RunPair:
    """Two runs, the first of which gives the time."""

    one: RunSide
    other: RunSide
    #: The number of partitions by whose first changes they are aligned; None: by an option.
    aligned_by: int | None
    #: Partitions that only one of them has.
    only_in_one: list[str] = field(default_factory=list)
    only_in_other: list[str] = field(default_factory=list)
    same: list[str] = field(default_factory=list)
    same_leaders: list[str] = field(default_factory=list)
    parted: list[PartedSequence] = field(default_factory=list)

    @property
    def sides(self) -> tuple[RunSide, RunSide]:
        """Both runs."""
        return (self.one, self.other)

    def incidents(self) -> list[PairedAbsence]:
        """The absences of brokers in both runs, those of one time together."""
        left = list(self.other.absences)
        found = []
        for absence in self.one.absences:
            near = [
                each
                for each in left
                if each.broker == absence.broker
                and abs(each.begin.at_us + self.other.shift_us - absence.begin.at_us)
                <= _SAME_INCIDENT_US + absence.begin.uncertainty_us
            ]
            partner = near[0] if near else None
            if partner is not None:
                left.remove(partner)
            found.append(PairedAbsence(absence, partner))
        return found + [PairedAbsence(None, absence) for absence in left]


def run_pair(one: RunFolder, other: RunFolder, shift_us: int | None = None) -> RunPair:
    """Two runs, aligned in time.

    Args:
        one: the first run, such as a real one.
        other: the second run.
        shift_us: what is added to times of the second run; None: find it.

    Raises:
        TraceError: a trace file is damaged. InputError: the states cannot be read.
    """
    histories = cluster_history(one), cluster_history(other)
    timings = [timings_of(topology_of(history, ())) for history in histories]
    # A run from logs does not tell its timeouts: those of a simulated partner are as good.
    if histories[0].is_from_logs != histories[1].is_from_logs:
        told = 1 if histories[0].is_from_logs else 0
        timings = [timings[told]] * 2
    sides = [
        RunSide(run, history, absences(history, its, _known_deaths(run, history)))
        for run, history, its in zip((one, other), histories, timings, strict=True)
    ]
    aligned_by = None
    if shift_us is None:
        shift_us, aligned_by = _found_shift(*histories)
    pair = RunPair(sides[0], sides[1]._replace(shift_us=shift_us), aligned_by)
    _compare_sequences(pair)
    return pair


def _known_deaths(run: RunFolder, history: ClusterHistory) -> Sightings:
    """The deaths that a simulated run has as rows; those of a run from logs are in a file."""
    if history.is_from_logs:
        return sightings_of(run.path)
    lost: dict[int, list[int]] = {}
    for row in run.rows("broker_stopped"):
        broker = run.directory.broker_id(row["broker"])
        if row["stop"] != STOP_CLEAN and broker is not None:
            lost.setdefault(broker, []).extend([row["time_us"]] * 2)
    paused: dict[int, list[int]] = {}
    for row in run.rows("fault_began"):
        broker = run.directory.broker_id(run.directory.broker_of_process(row["process"]))
        if broker is not None and run.directory.fault_kind(row["fault"]) == "pause":
            paused.setdefault(broker, []).append(row["time_us"])
    return Sightings(lost, paused_us=paused)


def sequence(history: ClusterHistory, partition: str) -> list[PartitionState]:
    """The states of a partition that differ from the one before in leader or ISR."""
    found: list[PartitionState] = []
    for state in history.states.get(partition, ()):
        if not found or state.is_deleted or not found[-1].has_state_of(state):
            found.append(state)
    return found


def _found_shift(one: ClusterHistory, other: ClusterHistory) -> tuple[int, int]:
    """The distance of the first equal changes, or of the first states if nothing changes."""
    for place in (1, 0):
        distances = []
        for partition in one.states.keys() & other.states.keys():
            both = sequence(one, partition), sequence(other, partition)
            if all(len(states) > place for states in both):
                mine, its = (states[place] for states in both)
                if place == 0 or mine.has_state_of(its):
                    distances.append(mine.time_us - its.time_us)
        if distances:
            return median_low(distances), len(distances)
    return one.begin_us - other.begin_us, 0


def _compare_sequences(pair: RunPair) -> None:
    one, other = pair.one.history, pair.other.history
    pair.only_in_one = [name for name in one.partitions if name not in other.partitions]
    pair.only_in_other = [name for name in other.partitions if name not in one.partitions]
    for partition in one.partitions:
        if partition not in other.partitions:
            continue
        mine, its = _from_first_told(
            one, other, sequence(one, partition), sequence(other, partition)
        )
        if _leaders(mine) == _leaders(its):
            pair.same_leaders.append(partition)
        for place, (before, after) in enumerate(zip_longest(mine, its)):
            if before is None or after is None or not _are_equal(before, after):
                pair.parted.append(PartedSequence(partition, place, before, after))
                break
        else:
            pair.same.append(partition)


def _from_first_told(
    one: ClusterHistory,
    other: ClusterHistory,
    mine: list[PartitionState],
    its: list[PartitionState],
) -> tuple[list[PartitionState], list[PartitionState]]:
    """Both sequences from the first state on that logs tell, if they begin in the middle."""
    if one.is_from_logs and not other.is_from_logs and mine and mine[0].is_former:
        places = [place for place, state in enumerate(its) if state.has_state_of(mine[0])]
        its = its[places[0] :] if places else its
    elif other.is_from_logs and not one.is_from_logs:
        its, mine = _from_first_told(other, one, its, mine)
    return mine, its


def _are_equal(one: PartitionState, other: PartitionState) -> bool:
    return one.has_state_of(other) and one.is_deleted == other.is_deleted


def _leaders(states: list[PartitionState]) -> list[int | None]:
    """The leaders one after the other, each once."""
    found: list[int | None] = []
    for state in states:
        if not found or found[-1] != state.leader:
            found.append(state.leader)
    return found
