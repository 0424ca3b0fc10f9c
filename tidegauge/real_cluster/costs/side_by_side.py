"""Recorded schedules, played with default costs and with calibrated ones, beside the real times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.engine.simulate import simulate
from tidegauge.laboratory.conformance.translation import translate
from tidegauge.real_cluster.costs.moments import MEASURED_TIMES, MeasuredTime, durations_of
from tidegauge.real_cluster.costs.recorded_times import Recorded, moments_of_run
from tidegauge.runs.run import Run

CLOSER, SAME, FARTHER = "yes", "same", "no"
#: A smaller part of the distance to the real time is the noise of a few seeds.
_LEAST = 0.05

#: Durations of each measured time, milliseconds.
Durations = Mapping[str, Sequence[float]]


class ComparedTime(NamedTuple):
    """A time in reality, with default costs and with calibrated ones: all durations of each."""

    measured: MeasuredTime
    real_ms: Sequence[float]
    default_ms: Sequence[float]
    calibrated_ms: Sequence[float]

    @property
    def verdict(self) -> str:
        """Whether the median of the calibrated runs is closer to the real one."""
        real_ms = median(self.real_ms)
        off_ms = abs(median(self.default_ms) - real_ms)
        nearer_ms = off_ms - abs(median(self.calibrated_ms) - real_ms)
        if abs(nearer_ms) < _LEAST * off_ms:
            return SAME
        return CLOSER if nearer_ms > 0 else FARTHER


def compare_times(
    recorded: Iterable[Recorded],
    costs: Mapping[str, Any],
    seeds: int,
    tell: Callable[[str], None] = lambda _: None,
) -> list[ComparedTime]:
    """The times of recorded clusters that all three have; of several together.

    Raises:
        RecordingError, ScenarioError: a schedule cannot be played.
    """
    real: dict[str, list[float]] = defaultdict(list)
    default: dict[str, list[float]] = defaultdict(list)
    calibrated: dict[str, list[float]] = defaultdict(list)
    for each in recorded:
        tell(f"plays {each.schedule.name}")
        for found, times in (
            (real, durations_of(each.moments)),
            (default, played_times(each, {}, seeds)),
            (calibrated, played_times(each, costs, seeds)),
        ):
            for name, durations in times.items():
                found[name] += durations
    return [
        ComparedTime(each, real[each.name], default[each.name], calibrated[each.name])
        for each in MEASURED_TIMES
        if real[each.name] and default[each.name] and calibrated[each.name]
    ]


def played_times(recorded: Recorded, costs: Mapping[str, Any], seeds: int) -> Durations:
    """The times of so many runs of a schedule with these costs."""
    found: dict[str, list[float]] = defaultdict(list)
    for seed in range(1, seeds + 1):
        translation = translate(recorded.schedule, seed=seed, costs=costs)
        with TemporaryDirectory(prefix="tidegauge-") as folder:
            run = simulate(translation.scenario, Path(folder) / "run")
            for name, durations in durations_of(moments_of_run(translation, Run(run.path))).items():
                found[name] += durations
    return found
