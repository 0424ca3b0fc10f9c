"""The search for schedules that produce a picture, the shortest first.

Something explains the first change of a picture that is not explained yet. So a schedule is made
longer by a fault whose first effect is that change, for each suspect: it begins as long before the
change as the effect of this suspect takes on the undisturbed cluster, and ends with one of the
later changes, or never. The best of these are refined: the alignment of the run with the picture
(``picture_distances.py``) says by how much each of its changes is late, and begins and ends of
faults are moved by that. What recurs in a cluster (preferred elections, looks at the ISR) has a
phase that nobody saw, so the whole schedule is moved, too.

The best schedules of a length are made longer if none matches. Those that put the partitions
through the same states are one: of them the most likely one goes on, and the others are found again
at the end, as alternatives of each of its parts.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import inf, log
from typing import Any, NamedTuple, TypeAlias

from tidegauge.engine.fuzzing.fuzzed_cluster import FuzzedCluster, HeldState
from tidegauge.engine.fuzzing.schedules import GivenFault, GivenSchedule, GivenStep
from tidegauge.search.picture_distances import Difference, difference, together
from tidegauge.search.pictured_cluster import PicturedCluster
from tidegauge.search.pictures import Picture
from tidegauge.simulation.quantities import format_duration

_MS_US, _SECOND_US = 1_000, 1_000_000
#: Improvements of the distance that are worth another round, and the most rounds.
_WORTHWHILE = 0.02
_MOST_ROUNDS = 8
#: Lateness that is worth a move, as a part of the picture's tolerance.
_WORTH_MOVING = 0.1
#: Schedules that are refined, of those that one suspect makes longer.
_REFINED_OF_SUSPECT = 2
#: Faults of these durations tell which suspects do the same.
_TYPICAL_US = (25 * _SECOND_US, 80 * _SECOND_US)
#: Times that differ by less are equal, where runs are compared.
_EQUAL_US = 4 * _SECOND_US
#: The most moves of one round.
_MOST_MOVES = 28


class Deviation(NamedTuple):
    """A suspect with its times, in the picture's time."""

    suspect: int
    begin_us: int
    #: None: it does not end before the picture, or is over at once.
    end_us: int | None


class Schedule(NamedTuple):
    """Deviations, and the phase of what recurs in the cluster."""

    deviations: tuple[Deviation, ...] = ()
    #: All of it happens so much later in the life of the cluster.
    phase_us: int = 0

    @property
    def suspects(self) -> tuple[int, ...]:
        """The numbers of the suspects, in order."""
        return tuple(sorted(each.suspect for each in self.deviations))


#: States of each partition of the picture, in the picture's time.
States: TypeAlias = Sequence[Sequence[HeldState]]


#: The states of each partition after the first one, with rounded times.
Course: TypeAlias = tuple[tuple[tuple[int, int | None, frozenset[int]], ...], ...]


class Tried(NamedTuple):
    """A schedule that was run."""

    schedule: Schedule
    difference: Difference
    states: States

    @property
    def distance(self) -> float:
        """The distance between its run and the picture."""
        return self.difference.distance

    @property
    def is_match(self) -> bool:
        """Whether its run is the picture, within its tolerance."""
        return self.difference.is_match

    @property
    def rank(self) -> tuple[float, ...]:
        """Less is better: matches, then the distance, then fewer faults."""
        return (not self.is_match, self.distance, len(self.schedule.deviations))


class Subject(NamedTuple):
    """A picture, and the cluster on which it is searched."""

    picture: Picture
    cluster: PicturedCluster


class Unit(NamedTuple):
    """A part of the search: a schedule, and the suspects by which it is made longer."""

    subject: Subject
    base: Schedule
    suspects: Sequence[int]
    #: Of suspects that do the same on their own only the most likely one is tried.
    is_sparse: bool


class UnitOutcome(NamedTuple):
    """The best schedules of a unit, and the number of runs."""

    best: Sequence[Tried]
    runs: int


@dataclass
class Trials:
    """Runs of schedules on the cluster of a picture, in this process."""

    subject: Subject
    runs: int = 0
    _delays_us: dict[int, int | None] = field(default_factory=dict)
    _tried: dict[Schedule, Tried] = field(default_factory=dict)
    _representatives: frozenset[int] | None = None

    def __post_init__(self) -> None:
        """Run the cluster until it is up."""
        self._fuzzed = FuzzedCluster(self.subject.cluster.profile, 0)

    def given(self, schedule: Schedule) -> GivenSchedule:
        """The schedule in the time of the cluster, in whole milliseconds."""
        cluster = self.subject.cluster
        later_us = cluster.origin_us + schedule.phase_us
        faults, steps = [], []
        first_step = len(cluster.profile.choices)
        for each in schedule.deviations:
            at_us = _whole(each.begin_us + later_us)
            if cluster.suspects[each.suspect].is_step:
                steps.append(GivenStep(each.suspect - first_step, at_us))
            else:
                for_us = None
                if each.end_us is not None:
                    for_us = max(_whole(each.end_us + later_us) - at_us, _MS_US)
                faults.append(GivenFault(each.suspect, at_us, for_us))
        return GivenSchedule(faults, sorted(steps, key=lambda step: step.at_us))

    def written(self, schedule: Schedule) -> dict[str, Any]:
        """The scenario of a schedule, which ends with the picture."""
        self._run(schedule)
        scenario = {**self._fuzzed.present, "duration": format_duration(self.end_us(schedule))}
        # Samples are no part of what happens.
        del scenario["sample_every"]
        return scenario

    def end_us(self, schedule: Schedule) -> int:
        """The end of the run of a schedule, in the time of the cluster."""
        cluster = self.subject.cluster
        return _whole(self.subject.picture.end_us + cluster.origin_us + schedule.phase_us)

    def _run(self, schedule: Schedule, later_us: int = 0) -> bool:
        """Run a schedule up to the end of the picture, or until so much later."""
        self.runs += 1
        end_us = self.end_us(schedule) + later_us
        return self._fuzzed.run_schedule(self.given(schedule), end_us)

    def phase_us(self) -> int:
        """The time by which the cluster has to be older to hold its elections as in the picture.

        A restart of the preferred leader shows when they are.
        """
        cluster = self.subject.cluster
        balance = cluster.balance
        if balance is None:
            return 0
        written = {"kind": "restart", "brokers": [balance.leader]}
        restart = [each.written for each in cluster.suspects].index(written)
        begin_us = cluster.earliest_us
        schedule = Schedule((Deviation(restart, begin_us, begin_us + _TYPICAL_US[0]),))
        if not self._run(schedule, 2 * balance.interval_us):
            return 0
        held = self._fuzzed.held_states(cluster.partitions[balance.partition])
        if len(held) == 1 or held[-1].leader != balance.leader:
            return 0
        elected_us = held[-1].begin_us - cluster.origin_us
        return _whole((elected_us - balance.at_us) % balance.interval_us)

    def tried(self, schedule: Schedule) -> Tried:
        """Run a schedule, and compare it with the picture."""
        if schedule in self._tried:
            return self._tried[schedule]
        cluster, picture = self.subject.cluster, self.subject.picture
        if self._run(schedule):
            earlier_us = cluster.origin_us + schedule.phase_us
            states = [
                [
                    each._replace(begin_us=each.begin_us - earlier_us)
                    for each in self._fuzzed.held_states(number)
                ]
                for number in cluster.partitions
            ]
            parts = [
                difference(seen, held, picture.within_us)
                for seen, held in zip(picture.partitions, states, strict=True)
            ]
            made = Tried(schedule, together(parts), states)
        else:
            unknown = Difference(inf, is_match=False, changes=(), spans=(), first_us=None)
            made = Tried(schedule, unknown, [])
        self._tried[schedule] = made
        return made

    def delay_us(self, suspect: int) -> int | None:
        """The time from a suspect's begin to its first effect on the undisturbed cluster.

        None: it has none, on its own.
        """
        if suspect not in self._delays_us:
            begin_us = self.subject.cluster.earliest_us
            schedule = Schedule((Deviation(suspect, begin_us, None),))
            changes = [
                each.begin_us
                for held in self.tried(schedule).states
                for each in held[1:]
                if each.begin_us >= begin_us
            ]
            self._delays_us[suspect] = min(changes) - begin_us if changes else None
        return self._delays_us[suspect]

    def representatives(self) -> frozenset[int]:
        """The most likely one of suspects that do the same on their own, if they do anything."""
        if self._representatives is None:
            suspects = self.subject.cluster.suspects
            first: dict[object, int] = {}
            for number in sorted(range(len(suspects)), key=lambda one: -suspects[one].per_year):
                courses = self._courses(number)
                if any(map(any, courses)):
                    first.setdefault(courses, number)
            self._representatives = frozenset(first.values())
        return self._representatives

    def _courses(self, suspect: int) -> tuple[Course, ...]:
        """The states that a suspect alone leads to."""
        begin_us = self.subject.cluster.earliest_us
        ends: list[int | None] = [None]
        if self.subject.cluster.suspects[suspect].lasts:
            ends += [begin_us + each for each in _TYPICAL_US]
        return tuple(
            course(self.tried(Schedule((Deviation(suspect, begin_us, end_us),))), _EQUAL_US)
            for end_us in ends
        )

    # Longer schedules.

    def longer(self, base: Tried, suspect: int) -> Iterator[Schedule]:
        """Schedules with one more fault, whose first effect is the first that is not explained."""
        first_us = base.difference.first_us
        if first_us is None:
            return
        cluster, picture = self.subject.cluster, self.subject.picture
        changes = picture.changes_us
        before = [each for each in changes if each <= first_us + picture.within_us]
        delay_us = self.delay_us(suspect)
        lasts = cluster.suspects[suspect].lasts
        for anchor_us in dict.fromkeys([first_us, *before[-1:]]):
            begin_us = max(anchor_us - (delay_us or 0), cluster.earliest_us)
            ends: list[int | None] = [None]
            if lasts:
                # It may have to last until its effect, or may be over by then.
                ends += self._ends(begin_us, changes)
                ends += [begin_us + (delay_us or 0) + _MS_US]
            for end_us in ends:
                yield _with(base.schedule, Deviation(suspect, begin_us, end_us))
            # Of controllers that hang only the end shows.
            for length_us in _TYPICAL_US if lasts and delay_us is None else ():
                begin_us = max(anchor_us - length_us, cluster.earliest_us)
                yield _with(base.schedule, Deviation(suspect, begin_us, anchor_us))

    def _ends(self, begin_us: int, changes: Sequence[int]) -> list[int]:
        """The ends of a fault that may be behind one of some changes: shortly before each."""
        return [each - _SECOND_US for each in changes if each - _SECOND_US > begin_us]

    # Refinement.

    def refined(self, tried: Tried) -> Tried:
        """The best schedule that is reached by moving begins and ends."""
        best = tried
        for number in range(_MOST_ROUNDS):
            found = min(
                (self.tried(each) for each in self._moved(best, is_first=number == 0)),
                key=lambda each: each.rank,
                default=best,
            )
            if found.rank >= best.rank or (
                best.is_match == found.is_match and best.distance - found.distance < _WORTHWHILE
            ):
                break
            best = found
        return best

    def _moved(self, tried: Tried, *, is_first: bool) -> Iterable[Schedule]:
        """The schedules that are tried next."""
        picture, cluster = self.subject.picture, self.subject.cluster
        least_us = _WORTH_MOVING * picture.within_us
        changes = [each for each in tried.difference.changes if abs(each.late_us) > least_us]
        late = sorted({each.late_us for each in changes}, key=abs, reverse=True)
        made: dict[Schedule, None] = {}
        for place, each in enumerate(tried.schedule.deviations):
            after = [change.late_us for change in changes if change.simulated_us >= each.begin_us]
            for late_us in dict.fromkeys([*after[:1], *late[:3]]):
                made[_moved(tried.schedule, place, -late_us, -late_us)] = None
                if each.end_us is not None:
                    made[_moved(tried.schedule, place, -late_us, 0)] = None
            if each.end_us is not None:
                ended = [one.late_us for one in changes if one.simulated_us >= each.end_us]
                for late_us in dict.fromkeys([*ended[:1], *late[:3]]):
                    made[_moved(tried.schedule, place, 0, -late_us)] = None
            if is_first and cluster.suspects[each.suspect].lasts:
                for end_us in [None, *self._ends(each.begin_us, picture.changes_us)]:
                    made[_replaced(tried.schedule, place, each._replace(end_us=end_us))] = None
        # A session expires a multiple of the heartbeat's interval after it began: half of the
        # lateness may be made up by another phase, where something else recurs.
        for phase_us in [-part for late_us in late[:3] for part in (late_us, late_us // 2)]:
            later_us = tried.schedule.phase_us + phase_us
            later_us += cluster.period_us if later_us < 0 else 0
            made[tried.schedule._replace(phase_us=later_us)] = None
        return [each for each in made if self._is_possible(each)][:_MOST_MOVES]

    def _is_possible(self, schedule: Schedule) -> bool:
        earliest_us = self.subject.cluster.earliest_us
        return all(
            each.begin_us >= earliest_us and (each.end_us is None or each.end_us > each.begin_us)
            for each in schedule.deviations
        )


def _whole(time_us: int) -> int:
    return time_us // _MS_US * _MS_US


def _with(schedule: Schedule, deviation: Deviation) -> Schedule:
    deviations = sorted((*schedule.deviations, deviation), key=lambda each: each[:2][::-1])
    return schedule._replace(deviations=tuple(deviations))


def _replaced(schedule: Schedule, place: int, deviation: Deviation) -> Schedule:
    others = schedule.deviations[:place] + schedule.deviations[place + 1 :]
    return _with(schedule._replace(deviations=others), deviation)


def _moved(schedule: Schedule, place: int, begin_by_us: int, end_by_us: int) -> Schedule:
    each = schedule.deviations[place]
    end_us = None if each.end_us is None else each.end_us + end_by_us
    return _replaced(schedule, place, Deviation(each.suspect, each.begin_us + begin_by_us, end_us))


#: The trials of the last unit in this process: the next one is of the same picture, as a rule.
_kept: list[Trials] = []


def trials_of(subject: Subject) -> Trials:
    """The trials of a picture in this process."""
    if not _kept or _kept[0].subject != subject:
        _kept[:] = [Trials(subject)]
    return _kept[0]


def run_unit(unit: Unit) -> UnitOutcome:
    """The best schedules that are made of one by the suspects of a unit."""
    trials = trials_of(unit.subject)
    before = trials.runs
    base = trials.tried(unit.base)
    best: list[Tried] = []
    for suspect in unit.suspects:
        if unit.is_sparse and suspect not in trials.representatives():
            continue
        tried = sorted(map(trials.tried, trials.longer(base, suspect)), key=lambda one: one.rank)
        near = [each for each in tried[:_REFINED_OF_SUSPECT] if each.distance < inf]
        best += [trials.refined(each) if each.distance < base.distance else each for each in near]
    return UnitOutcome(sorted(best, key=lambda each: each.rank), trials.runs - before)


def course(tried: Tried, equal_us: int) -> Course:
    """The states of the partitions, with rounded times: equal for schedules that do the same."""
    return tuple(
        tuple((round(each.begin_us / equal_us), each.leader, each.isr) for each in held[1:])
        for held in tried.states
    )


def log_weight(cluster: PicturedCluster, schedule: Schedule) -> float:
    """The logarithm of the rates of a schedule's faults."""
    return sum(log(cluster.suspects[each].per_year) for each in schedule.suspects)
