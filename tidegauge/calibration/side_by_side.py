"""Recorded schedules, played with default costs and with calibrated ones, beside the real times."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.calibration.moments import FIGURES, Figure, figures_of
from tidegauge.calibration.played_times import moments_of_run
from tidegauge.calibration.recorded_times import Recorded
from tidegauge.conformance.translation import translate
from tidegauge.engine.simulate import simulate

#: Durations of a figure, milliseconds.
Durations = Mapping[str, Sequence[float]]


class ComparedFigure(NamedTuple):
    """A figure in reality, with default costs and with calibrated ones: all durations of each."""

    figure: Figure
    real_ms: Sequence[float]
    default_ms: Sequence[float]
    calibrated_ms: Sequence[float]

    @property
    def is_closer(self) -> bool:
        """Whether the median of the calibrated runs is closer to the real one."""
        real_ms = median(self.real_ms)
        calibrated_ms, default_ms = median(self.calibrated_ms), median(self.default_ms)
        return abs(calibrated_ms - real_ms) < abs(default_ms - real_ms)


def compare_figures(
    recorded: Iterable[Recorded],
    costs: Mapping[str, Any],
    seeds: int,
    tell: Callable[[str], None] = lambda _: None,
) -> list[ComparedFigure]:
    """The figures of recorded clusters that all three have; of several together.

    Raises:
        RecordingError, ScenarioError: a schedule cannot be played.
    """
    real: dict[str, list[float]] = defaultdict(list)
    default: dict[str, list[float]] = defaultdict(list)
    calibrated: dict[str, list[float]] = defaultdict(list)
    for each in recorded:
        tell(f"plays {each.schedule.name}")
        for found, figures in (
            (real, figures_of(each.moments)),
            (default, played_figures(each, {}, seeds)),
            (calibrated, played_figures(each, costs, seeds)),
        ):
            for name, durations in figures.items():
                found[name] += durations
    return [
        ComparedFigure(each, real[each.name], default[each.name], calibrated[each.name])
        for each in FIGURES
        if real[each.name] and default[each.name] and calibrated[each.name]
    ]


def played_figures(recorded: Recorded, costs: Mapping[str, Any], seeds: int) -> Durations:
    """The figures of so many runs of a schedule with these costs."""
    found: dict[str, list[float]] = defaultdict(list)
    for seed in range(1, seeds + 1):
        translation = translate(recorded.schedule, seed=seed, costs=costs)
        with TemporaryDirectory(prefix="tidegauge-") as folder:
            run = simulate(translation.scenario, Path(folder) / "run")
            for name, durations in figures_of(moments_of_run(translation, run)).items():
                found[name] += durations
    return found
