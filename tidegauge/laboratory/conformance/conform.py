"""Comparison of one recorded schedule with the simulator.

Real Kafka's repeats differ where threads race, and so do the simulator's seeds. A schedule is
played with one seed after the other until no difference is unexplained; else the best of these runs
counts, as a whole: fields of several runs are never combined.

A schedule that cannot be played to its end is compared as far as it was; the rest is one difference
of its own kind, which the table may explain like any other.
"""

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidegauge.engine.simulate import simulate
from tidegauge.laboratory.conformance import comparison
from tidegauge.laboratory.conformance.known_differences import KnownDifference, KnownDifferences
from tidegauge.laboratory.conformance.played_schedule import outcomes_of
from tidegauge.laboratory.conformance.played_state import StepOutcome
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    RecordedStep,
    RecordingError,
)
from tidegauge.laboratory.conformance.translation import Translation, translate
from tidegauge.scenario.reading import ScenarioError
from tidegauge.traces.run_folder import RunFolder

#: The name of the first step where no step could be played.
NOTHING_PLAYED = "scenario"


@dataclass(frozen=True)
class FieldDifference:
    """An unequal field, and the row that explains it."""

    step: RecordedStep
    field: comparison.Field
    #: None: no row explains it.
    row: KnownDifference | None


@dataclass
class Conformance:
    """The comparison of a run of a schedule with the recording."""

    schedule: RecordedSchedule
    seed: int
    #: None: the schedule cannot be run at all.
    run: RunFolder | None = None
    #: Number of compared fields, by kind.
    compared: Counter[str] = field(default_factory=Counter)
    #: Number of compared exact fields, by their names.
    exact: Counter[str] = field(default_factory=Counter)
    differences: list[FieldDifference] = field(default_factory=list)
    #: The outcomes of the played steps, by their numbers.
    outcomes: dict[int, StepOutcome] = field(default_factory=dict)
    #: Settings of the recording that the simulator does not have.
    not_modelled: list[str] = field(default_factory=list)

    @property
    def explained(self) -> list[FieldDifference]:
        """The differences that a row of the table explains."""
        return [each for each in self.differences if each.row is not None]

    @property
    def unexplained(self) -> list[FieldDifference]:
        """The differences that no row explains."""
        return [each for each in self.differences if each.row is None]

    @property
    def not_played(self) -> FieldDifference | None:
        """The field for the steps that were not played; None if all were."""
        found = (each for each in self.differences if each.field.kind == comparison.NOT_PLAYED)
        return next(found, None)

    @property
    def parting(self) -> list[FieldDifference]:
        """The unexplained differences of the first step in which a state differs, times last.

        If no state does, of the first step in which a time differs.
        """
        states = [each for each in self.unexplained if each.field.kind != comparison.TIME]
        first = next(iter(states or self.unexplained), None)
        found = [each for each in self.unexplained if first and each.step is first.step]
        return sorted(found, key=lambda each: each.field.kind == comparison.TIME)

    @property
    def rank(self) -> tuple[int, ...]:
        """The run of a schedule with the lower rank is the better one."""
        left_out = 0 if self.not_played is None else len(self.schedule.steps) - len(self.outcomes)
        times = sum(each.field.kind == comparison.TIME for each in self.unexplained)
        return left_out, len(self.unexplained) - times, times, len(self.differences)


class FieldCounts(NamedTuple):
    """The number of fields of a kind in some schedules."""

    compared: int
    explained: int
    unexplained: int


def figures(results: Iterable[Conformance], kind: str) -> FieldCounts:
    """The fields of one kind in all of these."""
    compared = explained = unexplained = 0
    for each in results:
        compared += each.compared[kind]
        explained += sum(one.field.kind == kind for one in each.explained)
        unexplained += sum(one.field.kind == kind for one in each.unexplained)
    return FieldCounts(compared, explained, unexplained)


def exact_fields(results: Iterable[Conformance]) -> dict[str, FieldCounts]:
    """The exact fields in all of these, by their names; most fields first."""
    compared: Counter[str] = Counter()
    explained: Counter[str] = Counter()
    unexplained: Counter[str] = Counter()
    for result in results:
        compared += result.exact
        for each in result.differences:
            if each.field.kind == comparison.EXACT:
                (unexplained if each.row is None else explained)[each.field.name] += 1
    return {
        name: FieldCounts(count, explained[name], unexplained[name])
        for name, count in compared.most_common()
    }


def conform(
    schedule: RecordedSchedule, folder: Path, table: KnownDifferences, *, seeds: int
) -> Conformance:
    """Play a schedule with one seed after the other; the result of the best run.

    Args:
        schedule: the recording.
        folder: the best run is stored here, in a folder named after its seed.
        table: the known differences.
        seeds: the most seeds to play, from 1 on.

    Raises:
        FileExistsError: the folder already has a run.
    """
    best = _conform_once(schedule, folder, table, 1)
    for seed in range(2, seeds + 1):
        if not best.unexplained or best.run is None:
            break
        other = _conform_once(schedule, folder, table, seed)
        best, worse = (other, best) if other.rank < best.rank else (best, other)
        if worse.run is not None:
            shutil.rmtree(worse.run.path)
    return best


def _conform_once(
    schedule: RecordedSchedule, folder: Path, table: KnownDifferences, seed: int
) -> Conformance:
    result = Conformance(schedule, seed)
    for step, each in _fields(result, folder / f"seed-{seed}"):
        if each.kind != comparison.NOT_PLAYED:
            result.compared[each.kind] += 1
        if each.kind == comparison.EXACT:
            result.exact[each.name] += 1
        if not each.equal:
            row = table.explanation(schedule, step, each)
            result.differences.append(FieldDifference(step, each, row))
    return result


def _fields(result: Conformance, folder: Path) -> Iterator[tuple[RecordedStep, comparison.Field]]:
    """Play the schedule; all fields of its steps, and the field for those not played."""
    schedule = result.schedule
    try:
        translation = translate(schedule, seed=result.seed)
        result.run = simulate(translation.scenario, folder)
    except (RecordingError, ScenarioError) as error:
        reason = "; ".join(str(error).splitlines())
        yield (
            schedule.steps[0],
            comparison.not_played(schedule.steps[0].number, NOTHING_PLAYED, reason),
        )
        return
    result.not_modelled = translation.not_modelled
    yield from _fields_of_run(result, translation, result.run)


def _fields_of_run(
    result: Conformance, translation: Translation, run: RunFolder
) -> Iterator[tuple[RecordedStep, comparison.Field]]:
    outcomes, stuck = outcomes_of(translation, run)
    recorded = [played.recorded for played in translation.steps]
    steps = list(zip(recorded, outcomes, strict=True))
    records_writes = any(step.state_writes for step in result.schedule.steps)
    for place, (step, outcome) in enumerate(steps):
        result.outcomes[step.number] = outcome
        if outcome.end_us is None:
            reason = stuck or f"step {step.number} did not come to an end before the run did"
            yield step, comparison.not_played(step.number, step.op, reason)
            return
        for each in comparison.compare(step, outcome, records_writes=records_writes):
            yield step, comparison.with_shift(each, steps, place)
    if translation.not_played is not None:
        unknown, reason = translation.not_played
        yield unknown, comparison.not_played(unknown.number, unknown.op, reason)


def idle_rows(table: KnownDifferences, results: Iterable[Conformance]) -> list[KnownDifference]:
    """The rows of a table that explain no difference in these results."""
    at_work = {each.row for result in results for each in result.explained}
    return [row for row in table.rows if row not in at_work]
