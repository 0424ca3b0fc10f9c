"""Absences of brokers in runs side by side: those of one time together, and their durations."""

from collections.abc import Sequence
from typing import NamedTuple

from tidegauge.real_cluster.incident.absences import Absence, absences
from tidegauge.real_cluster.incident.cluster_history import ClusterHistory, cluster_history
from tidegauge.real_cluster.incident.sightings import Sightings, sightings_of
from tidegauge.real_cluster.incident.topology import timings_of, topology_of
from tidegauge.runs.side_by_side import Side
from tidegauge.simulation.trace_rows.codes import STOP_CLEAN
from tidegauge.traces.run_folder import RunFolder

#: Two absences of a broker further apart than this are two incidents.
_SAME_INCIDENT_US = 15_000_000
_SECOND_US = 1e6


class MeasuredAbsence(NamedTuple):
    """An absence of a broker in one run; times in seconds, those of the first run."""

    manner: str
    begin_s: float
    #: The uncertainty of its start.
    uncertainty_s: float
    #: From the begin until the control plane noticed, had elected the last leader, and had the
    #: broker again; from there until the broker was in all ISRs. None: never.
    until_noticed_s: float | None
    until_last_leader_s: float | None
    away_s: float | None
    until_in_sync_s: float | None


class PairedAbsence(NamedTuple):
    """An absence of a broker in some of the runs; None: not in that run."""

    broker: int
    runs: Sequence[MeasuredAbsence | None]

    @property
    def begin_s(self) -> float:
        """Its start in the run in which it began first."""
        return min(each.begin_s for each in self.runs if each is not None)


def paired_absences(sides: Sequence[Side]) -> list[PairedAbsence]:
    """The absences of brokers in runs, in the order of their starts.

    Raises:
        TraceError: a trace file is damaged. InputError: the states cannot be read.
    """
    histories = [cluster_history(side.run) for side in sides]
    timings = [timings_of(topology_of(history, ())) for history in histories]
    # A run from logs does not have its timeouts: those of a simulated partner are as good.
    simulated = [its for side, its in zip(sides, timings, strict=True) if not side.is_of_logs]
    groups: list[dict[int, Absence]] = []
    for place, (side, history) in enumerate(zip(sides, histories, strict=True)):
        its = simulated[0] if side.is_of_logs and simulated else timings[place]
        for absence in absences(history, its, _known_deaths(side.run, history)):
            group = next(
                (
                    group
                    for group in groups
                    if place not in group and _are_one(sides, group, place, absence)
                ),
                None,
            )
            if group is None:
                groups.append(group := {})
            group[place] = absence
    found = [
        PairedAbsence(
            next(iter(group.values())).broker,
            [
                _measured(histories[place], group[place], side.shift_us) if place in group else None
                for place, side in enumerate(sides)
            ],
        )
        for group in groups
    ]
    return sorted(found, key=lambda each: each.begin_s)


def _are_one(
    sides: Sequence[Side], group: dict[int, Absence], place: int, absence: Absence
) -> bool:
    """Whether an absence is that of a group: of the same broker, at the same time."""
    first, known = next(iter(group.items()))
    begin_us = absence.begin.at_us + sides[place].shift_us
    distance_us = abs(begin_us - known.begin.at_us - sides[first].shift_us)
    within_us = _SAME_INCIDENT_US + known.begin.uncertainty_us
    return known.broker == absence.broker and distance_us <= within_us


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


def _measured(history: ClusterHistory, absence: Absence, shift_us: int) -> MeasuredAbsence:
    begin_us = absence.begin.at_us
    return MeasuredAbsence(
        absence.manner.value,
        _seconds(begin_us + shift_us),
        _seconds(absence.begin.uncertainty_us),
        _since(begin_us, absence.noticed_us),
        _since(begin_us, _last_leader_us(history, absence)),
        _since(begin_us, absence.back_us),
        _since(absence.back_us, _in_sync_us(history, absence)),
    )


def _since(begin_us: int | None, end_us: int | None) -> float | None:
    return None if begin_us is None or end_us is None else _seconds(end_us - begin_us)


def _seconds(time_us: int) -> float:
    return round(time_us / _SECOND_US, 3)


def _last_leader_us(history: ClusterHistory, absence: Absence) -> int | None:
    """The time of the last election of another leader for this broker's partitions."""
    until_us = absence.back_us or history.end_us
    return max(
        (
            after.time_us
            for partition, before, after in history.changes()
            if absence.begin.at_us <= after.time_us <= until_us
            and after.leader not in (absence.broker, None)
            # A partition that was offline in between gets its leader from none.
            and (
                before.leader == absence.broker
                or (
                    before.leader is None
                    and absence.broker in history.partitions[partition].replicas
                )
            )
        ),
        default=None,
    )


def _in_sync_us(history: ClusterHistory, absence: Absence) -> int | None:
    """The time of a broker's return to the last ISR that it had left; None: it did not return."""
    back_us = absence.back_us
    if back_us is None:
        return None
    last_us = back_us
    for partition, states in history.states.items():
        state = history.state_at(partition, back_us)
        is_replica = absence.broker in history.partitions[partition].replicas
        if state is None or absence.broker in state.isr or not is_replica:
            continue
        joined = (
            each.time_us
            for each in states
            if each.time_us >= back_us and absence.broker in each.isr
        )
        joined_us = next(joined, None)
        if joined_us is None:
            return None
        last_us = max(last_us, joined_us)
    return last_us
