"""Shrinking: the smallest scenario that still shows the failure of a larger one.

The search is greedy. Each pass offers smaller scenarios in a fixed order, the boldest first, and
the first of them that still fails takes the place of the scenario: without half of the faults,
without a broker, with one record, a minute earlier. Lists and settings get shorter by halves,
quarters and so on down to single items (delta debugging: Zeller and Hildebrandt 2002, "Simplifying
and Isolating Failure-Inducing Input"). The passes are repeated until none of them finds anything.

The outcome depends on the scenario and its seed alone: of scenarios that are tried at the same time
the first in order is taken, whichever ends first. The seed stays. Processes that are left have
other numbers, so other random draws: a scenario is smaller by trial, never by argument.
"""

import json
import time
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from tidegauge.scenario.reading import ScenarioError, scenario_from_mapping
from tidegauge.scenario.text.errors import Path
from tidegauge.search import reduced_scenarios as reduced
from tidegauge.search.differences import ScenarioSize, size_of
from tidegauge.search.failures import Failure, FailureOf
from tidegauge.search.judged_runs import Judged
from tidegauge.search.reduced_scenarios import Written
from tidegauge.search.trials import Sought, StillFails, Switches, run_of, trials_for

#: The most trials, unless more are asked for.
MOST_TRIALS = 5_000

#: Fields without which nothing is a scenario, and the names of parts.
_FRAME = frozenset(
    {"name", "seed", "duration", "cluster", "brokers", "kind", "do", "hold", "drop", "duplicate"}
)
#: ... and those that another failure would come from: rules, and the phase after the run.
_STAY = _FRAME | {
    *("release", "mode", "protocol", "metadata_version", "ablations", "liveness"),
    # Static voters lose what they have committed with their disks.
    "voters",
}
#: Fields about the larger scenario, or of no effect on its rows.
_ABOUT = ("description", "checks", "sometimes", "alerts", "trace", "measure_from")

#: A run has so much time after its failure at first, in microseconds.
_AFTER_US = (0, 1_000_000, 10_000_000)
_SECOND_US = 1_000_000
#: Moments that are nearer to each other stay so.
_LEAST_GAP_US = 10_000


class Shrunk(NamedTuple):
    """A scenario that has been shrunk."""

    written: dict[str, Any]
    #: Its run.
    run: Judged
    failure: Failure
    #: The number of scenarios that were tried, each once.
    tried: int
    before: ScenarioSize
    after: ScenarioSize
    #: The search was ended early.
    was_interrupted: bool = False


class Shrinking:
    """A scenario that gets smaller while it fails."""

    def __init__(
        self,
        written: Written,
        still_fails: StillFails,
        *,
        stay: Container[str] = _STAY,
        at_once: int = 1,
        most: int = MOST_TRIALS,
        tell: Callable[[Written, int], None] = lambda *_: None,
    ) -> None:
        """Begin with a scenario that fails.

        Args:
            written: the scenario as a file has it.
            still_fails: tries scenarios.
            stay: the names of fields that stay.
            at_once: the number of scenarios that it tries at the same time.
            most: the most trials.
            tell: is called with the smallest scenario so far and the number of trials.
        """
        self.written = dict(written)
        self.tried = 0
        self._still_fails = still_fails
        self._stay = stay
        self._at_once = at_once
        self._most = most
        self._tell = tell
        #: Scenarios that do not fail, and all that were taken.
        self._known = {_key(written)}

    def to_the_end(
        self, broken_us: int | None, broken_us_of: Callable[[Written], int | None]
    ) -> None:
        """Make all passes until none finds a smaller scenario.

        Args:
            broken_us: the time of the failure, in microseconds; None: it has none.
            broken_us_of: the same of a smaller scenario.
        """
        self._leave_out_remarks()
        self._end_after(broken_us)
        before = None
        while before != self.written and self.tried < self._most:
            before = self.written
            self.shorten_all()
            self._leave_out_brokers()
            self._lessen_amounts()
            self._close_gaps()
            self._round_times()
            self._end_after(broken_us_of(self.written))

    def _take(self, candidates: Iterable[Written]) -> int | None:
        """Take the first scenario that still fails, and return its place; None: none does."""
        due = enumerate(candidates)
        while self.tried < self._most:
            batch = list(islice(self._new(due), min(self._at_once, self._most - self.tried)))
            if not batch:
                return None
            found = self._still_fails([written for _, written in batch])
            judged = batch if found is None else batch[: found + 1]
            self.tried += len(judged)
            self._known.update(_key(written) for _, written in judged)
            if found is not None:
                self.written = dict(batch[found][1])
            self._tell(self.written, self.tried)
            if found is not None:
                return batch[found][0]
        return None

    def _new(self, candidates: Iterator[tuple[int, Written]]) -> Iterator[tuple[int, Written]]:
        """Those of some scenarios that were not tried before, each once."""
        offered: set[str] = set()
        for place, written in candidates:
            key = _key(written)
            if key not in self._known and key not in offered:
                offered.add(key)
                yield place, written

    def _leave_out_remarks(self) -> None:
        plain = {name: part for name, part in self.written.items() if name not in _ABOUT}
        without_phase = {**plain, "liveness": False}
        if self._take([without_phase, plain]) is None:
            self._shorten((), [name for name in _ABOUT if name in self.written])

    def _end_after(self, broken_us: int | None) -> None:
        """End the run soon after the failure, if that has a time."""
        if broken_us is None:
            return
        second_us = -(-broken_us // _SECOND_US) * _SECOND_US
        ends_us = [second_us + after_us for after_us in _AFTER_US]
        duration_us = reduced.all_times(self.written)["duration",]
        self._take(reduced.ended_at(self.written, each) for each in ends_us if each < duration_us)

    def shorten_all(self) -> None:
        """Shorten each list and each mapping, the outer ones first."""
        done: set[Path] = set()
        while left := [path for path in reduced.containers(self.written) if path not in done]:
            done.add(left[0])
            self._shorten(left[0], self._items(left[0]))

    def _items(self, path: Path) -> list[Any]:
        """The keys of a mapping that may be left out, or the places of a list."""
        part = reduced.at(self.written, path)
        if isinstance(part, dict):
            return [name for name in part if name not in self._stay]
        is_of_parts = all(isinstance(each, dict) for each in part)
        # An empty list of selectors selects everything.
        return [*range(len(part))] if is_of_parts or len(part) > 1 else []

    def _shorten(self, path: Path, items: Sequence[Any]) -> None:
        """Leave out items: all, halves, quarters, and so on."""
        left, size = list(items), len(items)
        is_list = isinstance(reduced.at(self.written, path), list)
        while size:
            begin = 0
            while begin < len(left):
                chunks = [left[place : place + size] for place in range(begin, len(left), size)]
                found = self._take(reduced.without(self.written, path, each) for each in chunks)
                if found is None:
                    break
                begin += found * size
                kept = left[:begin] + left[begin + size :]
                # The places of a list move up.
                left = [*range(len(kept))] if is_list else kept
            size = min(size // 2, len(left))

    def _leave_out_brokers(self) -> None:
        size = len(reduced.broker_ids(self.written)) - 1
        while size:
            ids = reduced.broker_ids(self.written)
            # The last ones first, so that the first ones keep their numbers.
            chunks = [ids[max(0, end - size) : end] for end in range(len(ids), 0, -size)]
            candidates = (
                reduced.without_brokers(self.written, each)
                for each in chunks
                if len(each) < len(ids)
            )
            if self._take(candidates) is None:
                size //= 2

    def _lessen_amounts(self) -> None:
        """Have 1 of each amount, or as few as will do."""
        for path in reduced.amounts(self.written):
            while True:
                fewer = reduced.less(reduced.at(self.written, path))
                candidates = (reduced.changed(self.written, path, each) for each in fewer)
                if self._take(candidates) is None:
                    break

    def _close_gaps(self) -> None:
        """Let all that is later than a moment follow it sooner."""
        place = 0
        while place < len(moments := reduced.moments(self.written)):
            before_us, moment_us = moments[place - 1] if place else 0, moments[place]
            is_end = place == len(moments) - 1
            candidates = (
                reduced.earlier(self.written, moment_us, moment_us - sooner_us)
                for sooner_us in _between(before_us, moment_us, only_round=is_end)
            )
            if self._take(candidates) is None:
                place += 1

    def _round_times(self) -> None:
        """Make lengths of time shorter, and all times rounder."""
        for path in reduced.all_times(self.written):
            while (time_us := reduced.all_times(self.written).get(path)) is not None:
                sooner_us = (
                    [0, *_between(0, time_us, only_round=True)] if reduced.is_length(path) else []
                )
                times_us = dict.fromkeys([*sooner_us, *reduced.rounder(time_us)])
                texts = [reduced.duration_text(each) for each in times_us if each < time_us]
                if self._take(reduced.changed(self.written, path, each) for each in texts) is None:
                    break


def _between(begin_us: int, end_us: int, *, only_round: bool) -> Iterator[int]:
    """Times between two, round ones first, the nearest to the first one first; in microseconds."""
    gap_us = end_us - begin_us
    if gap_us < _LEAST_GAP_US:
        return
    coarse_us = next(unit for unit in (_SECOND_US, 100_000, 10_000, 1_000) if gap_us >= 4 * unit)
    # Some failures need a moment between two beats of a cluster, which few times hit.
    for unit_us in (coarse_us,) if only_round else (coarse_us, 1_000):
        for eighths in (1, 2, 4, 6, 7):
            sooner_us = (begin_us + gap_us * eighths // 8) // unit_us * unit_us
            if begin_us < sooner_us < end_us:
                yield sooner_us


def _key(written: Written) -> str:
    """The scenario as one text: that of an equal one is the same."""
    return json.dumps(written, default=str)


def without_defaults(written: Written, source: str) -> dict[str, Any]:
    """The same scenario without all that is the default anyway.

    Raises:
        ScenarioError: it cannot be run.
    """
    effective = scenario_from_mapping(written, source).resolved()

    def is_the_same(candidate: Written) -> bool:
        try:
            return scenario_from_mapping(candidate, source).resolved() == effective
        except ScenarioError:
            return False

    def first_that_is_the_same(candidates: Sequence[Written]) -> int | None:
        return next((place for place, each in enumerate(candidates) if is_the_same(each)), None)

    plain = Shrinking(written, first_that_is_the_same, stay=_FRAME)
    plain.shorten_all()
    return plain.written


def _with_drawn_faults(written: Written, source: str) -> Written:
    """The scenario with the faults that its seed draws from rates, in the place of these."""
    if not written.get("fault_rates"):
        return written
    drawn = scenario_from_mapping(written, source).resolved()["faults"]
    return {**written, "faults": drawn, "fault_rates": []}


def shrink_scenario(
    written: Written,
    failure: FailureOf,
    *,
    source: str = "scenario",
    switches: Switches | None = None,
    jobs: int | None = 1,
    most: int = MOST_TRIALS,
    tell: Callable[[Written, int], None] = lambda *_: None,
) -> Shrunk:
    """The smallest scenario that shows a failure, as far as the passes find it.

    An interruption ends the search with the smallest scenario so far.

    Args:
        written: the scenario, as a file has it.
        failure: chooses the failure, by the run of the scenario.
        source: the name of the scenario, for errors.
        switches: as ``simulate`` takes them.
        jobs: the number of parallel trials, if one takes long; None: the number of CPUs.
        most: the most trials.
        tell: is called with the smallest scenario so far and the number of trials.

    Raises:
        ScenarioError: the scenario cannot be run.
        TidegaugeError: it does not fail.
    """
    whole = without_defaults(_with_drawn_faults(written, source), source)
    began_s = time.perf_counter()
    run = run_of(whole, source, switches)
    took_s = time.perf_counter() - began_s
    sought = Sought(failure(run), source, switches)
    was_interrupted = False
    with trials_for(sought, took_s, jobs) as trials:
        shrinking = Shrinking(
            whole, trials.first_failing, at_once=trials.at_once, most=most, tell=tell
        )
        try:
            shrinking.to_the_end(sought.broken_us_in(run), sought.broken_us_of)
        except KeyboardInterrupt:
            was_interrupted = True
    last = run if shrinking.written == whole else run_of(shrinking.written, source, switches)
    return Shrunk(
        shrinking.written,
        last,
        sought.failure,
        shrinking.tried,
        size_of(whole, run),
        size_of(shrinking.written, last),
        was_interrupted,
    )
