"""Explanations of a picture: the search by its units on all processors, until its time is up."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from math import exp
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.pool import in_order, run_on_pool, warm_pool
from tidegauge.search.explaining import (
    Schedule,
    Subject,
    Trials,
    Tried,
    Unit,
    UnitOutcome,
    course,
    log_weight,
    run_unit,
    trials_of,
)
from tidegauge.search.pictured_cluster import begun_later

#: The most faults of a schedule.
MOST_FAULTS = 3
#: Schedules that are made longer, of each length.
_BEAM = 12
#: ... of the same faults.
_OF_SUSPECTS = 2
#: Suspects of a unit, which takes a second or so.
_OF_UNIT = 10
#: Explanations of which alternatives are searched.
_WITH_ALTERNATIVES = 2
#: Times that differ by less are equal, where runs are compared.
_EQUAL_US = 1_000_000


@dataclass
class Explained:
    """The outcome of a search."""

    subject: Subject
    #: Explanations that match, each of other faults, the most likely first.
    matches: list[Tried] = field(default_factory=list)
    #: The nearest schedules so far.
    nearest: list[Tried] = field(default_factory=list)
    runs: int = 0
    #: The length of schedules that was searched last, and whether that was not until its end:
    #: time was up, or the user interrupted it.
    length: int = 0
    is_complete: bool = True

    def note(self, tried: Sequence[Tried]) -> None:
        """Note schedules that were tried: the nearest ones are kept."""
        kept = {each.schedule: each for each in (*self.nearest, *tried)}
        self.nearest = sorted(kept.values(), key=lambda each: each.rank)[:_BEAM]

    @property
    def shares(self) -> list[float]:
        """The part of each match among all, by the rates of their faults."""
        cluster = self.subject.cluster
        logs = [log_weight(cluster, each.schedule) for each in self.matches]
        weights = [exp(each - max(logs)) for each in logs]
        return [each / sum(weights) for each in weights]


class _Search(NamedTuple):
    subject: Subject
    jobs: int | None
    deadline_s: float
    tell: Callable[[Explained], None]

    def performed(
        self, bases: Sequence[Schedule], explained: Explained, jobs: int | None, *, to_first: bool
    ) -> list[Tried]:
        """The best schedules that are made of some others; of the first of these if time is up.

        Args:
            bases: the schedules that are made longer.
            explained: is told the number of runs.
            jobs: the number of parallel processes; None: the number of CPUs.
            to_first: the search ends with the first of these of which a match was made, and of
                suspects that do the same only one is tried.
        """
        parts = _parts(self.subject)
        units = [Unit(self.subject, base, part, to_first) for base in bases for part in parts]
        found: list[Tried] = []
        with closing(_outcomes(units, jobs)) as outcomes:
            for number, outcome in enumerate(outcomes, start=1):
                found += outcome.best
                explained.note(outcome.best)
                explained.runs += outcome.runs
                self.tell(explained)
                if number == len(units):
                    break
                if time.monotonic() >= self.deadline_s:
                    explained.is_complete = False
                    break
                is_last = to_first and number % len(parts) == 0
                if is_last and any(each.is_match for each in found):
                    break
        return found


def _outcomes(units: Sequence[Unit], jobs: int | None) -> Generator[UnitOutcome]:
    """The outcomes of units in their order."""
    if jobs == 1:
        yield from map(run_unit, units)
        return
    with closing(run_on_pool(run_unit, units, jobs)) as calls:
        for ended in in_order(calls):
            if ended.result is None:
                raise TidegaugeError(f"a trial failed: {ended.error}")
            yield ended.result


def explain_picture(
    subject: Subject,
    seconds: float,
    jobs: int | None = None,
    tell: Callable[[Explained], None] = lambda _: None,
) -> Explained:
    """Search the shortest schedules that produce a picture.

    Args:
        subject: the picture and its cluster.
        seconds: the longest time that the search takes.
        jobs: the number of parallel processes; None: the number of CPUs.
        tell: is told the state of the search now and then.

    Raises:
        TidegaugeError: a process has failed.
    """
    picture, deadline_s = subject.picture, time.monotonic() + seconds
    cluster = begun_later(subject.cluster, Trials(subject).phase_us())
    shorter = picture.ended_by(max(picture.changes_us, default=0) + cluster.longest_us)
    search = _Search(Subject(shorter, cluster), jobs, deadline_s, tell)
    explained = Explained(Subject(picture, cluster))
    try:
        _search_by_length(search, explained)
    except KeyboardInterrupt:
        explained.is_complete = False
        explained.matches = explained.matches or _of_other_suspects(subject, explained.nearest)
    # What is right up to the last change need not be so up to the end.
    whole = Trials(explained.subject)
    explained.matches = [
        each for each in (whole.tried(one.schedule) for one in explained.matches) if each.is_match
    ]
    explained.nearest = [whole.tried(each.schedule) for each in explained.nearest]
    return explained


def _search_by_length(search: _Search, explained: Explained) -> None:
    """Try longer and longer schedules until some match."""
    unchanged = trials_of(search.subject).tried(Schedule())
    if unchanged.is_match:
        explained.matches = [unchanged]
        return
    # Schedules of one fault take less time than other processes to begin.
    explained.length = 1
    tried = search.performed([Schedule()], explained, jobs=1, to_first=False)
    explained.matches = _of_other_suspects(search.subject, tried)
    if explained.matches:
        return
    with nullcontext() if search.jobs == 1 else warm_pool(run_unit.__module__):
        while not explained.matches and explained.length < MOST_FAULTS and explained.is_complete:
            explained.length += 1
            bases = [each.schedule for each in _beam(search.subject, tried)]
            tried = search.performed(bases, explained, search.jobs, to_first=True)
            explained.matches = _of_other_suspects(search.subject, tried)
        if explained.matches:
            _find_alternatives(search, explained)


def _parts(subject: Subject) -> list[range]:
    """The suspects of each unit."""
    count = len(subject.cluster.suspects)
    return [range(first, min(first + _OF_UNIT, count)) for first in range(0, count, _OF_UNIT)]


def _of_other_suspects(subject: Subject, tried: Sequence[Tried]) -> list[Tried]:
    """The nearest match of each set of faults, the most likely first."""
    best: dict[tuple[int, ...], Tried] = {}
    for each in sorted(tried, key=lambda one: one.rank):
        if each.is_match:
            best.setdefault(each.schedule.suspects, each)
    weight = {key: log_weight(subject.cluster, each.schedule) for key, each in best.items()}
    return [best[key] for key in sorted(best, key=lambda key: (-weight[key], best[key].distance))]


def _find_alternatives(search: _Search, explained: Explained) -> None:
    """Find what may take the place of each fault of the likeliest explanations."""
    bases = dict.fromkeys(
        each.schedule._replace(
            deviations=each.schedule.deviations[:place] + each.schedule.deviations[place + 1 :]
        )
        for each in explained.matches[:_WITH_ALTERNATIVES]
        for place in range(explained.length)
    )
    found = search.performed([*bases], explained, search.jobs, to_first=False)
    explained.matches = _of_other_suspects(search.subject, [*explained.matches, *found])


def _beam(subject: Subject, tried: Sequence[Tried]) -> list[Tried]:
    """The schedules that are made longer: near ones, and those that are right for longest."""
    distinct: dict[object, Tried] = {}
    likely = sorted(
        tried, key=lambda each: (each.distance, -log_weight(subject.cluster, each.schedule))
    )
    for each in likely:
        distinct.setdefault(course(each, _EQUAL_US), each)
    kept = [*distinct.values()]
    longest = sorted(kept, key=lambda each: (-_right_until(each), each.distance))
    chosen: dict[Schedule, Tried] = {}
    counts: dict[tuple[int, ...], int] = {}
    for pair in zip(kept, longest, strict=True):
        for each in pair:
            suspects = each.schedule.suspects
            if each.schedule in chosen or counts.get(suspects, 0) == _OF_SUSPECTS:
                continue
            counts[suspects] = counts.get(suspects, 0) + 1
            chosen[each.schedule] = each
    return [*chosen.values()][:_BEAM]


def _right_until(tried: Tried) -> float:
    first_us = tried.difference.first_us
    return 0 if first_us is None else first_us
