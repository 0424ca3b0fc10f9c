"""Runs both models in Tidegauge and in its alternatives, side by side, and publishes the speeds.

``python -m bench.alternatives.compare`` writes ``bench/results.json``, the chart and the table of
``docs/fidelity.md``. Each run is a process of its own, and they come in turns, so that a machine
that is slower for a while is so for all. If outcomes disagree, nothing is written.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, Self

from bench.alternatives.model import Outcome, Took, disagreements
from bench.alternatives.runs import RUNS, Run
from bench.growth import DOCS, Axis, axis_of, write_table

RESULTS = Path(__file__).parents[1] / "results.json"
CHART = DOCS / "alternatives.svg"


class Spread(NamedTuple):
    """A figure of several runs."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """The spread of some values."""
        return cls(*(float(f"{value:.4g}") for value in (median(values), min(values), max(values))))


class Row(NamedTuple):
    """What is published about a model in one of the alternatives."""

    name: str
    release: str
    #: Batches or customers of a run.
    size: int
    #: Tidegauge is to be so many times as fast; 0: nothing is aimed at.
    aim: float
    #: Of all runs; only the times differ.
    outcomes: Sequence[Outcome]

    @property
    def events_per_second(self) -> Spread:
        """Model events a second of wall time."""
        return Spread.of([each.events / each.took.wall_s for each in self.outcomes])

    @property
    def cpu_us(self) -> float:
        """The time of processors for a model event."""
        return median(each.took.cpu_s / each.events for each in self.outcomes) * 1e6

    def is_beaten_by(self, ours: Self) -> float:
        """How many times as fast Tidegauge's own row is."""
        return ours.events_per_second.median / self.events_per_second.median

    def as_json(self, ours: Self) -> dict[str, Any]:
        """All of it, for a file."""
        outcome = self.outcomes[0]
        return {
            "release": self.release,
            "size": self.size,
            "outcome": {
                "events": outcome.events,
                "finished": outcome.finished,
                "high_watermark": outcome.high_watermark,
                "mean_us": round(outcome.mean_us, 1),
            },
            "wall_s": Spread.of([each.took.wall_s for each in self.outcomes])._asdict(),
            "cpu_s": Spread.of([each.took.cpu_s for each in self.outcomes])._asdict(),
            "events_per_second": self.events_per_second._asdict(),
            "tidegauge_is_times_as_fast": _rounded(self.is_beaten_by(ours)),
            "aim": _rounded(self.aim),
        }


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


# Measuring.


def measured(run: Run) -> Outcome:
    """The outcome of a run in a process of its own."""
    command = [sys.executable, "-m", "bench.alternatives.runs", str(RUNS.index(run))]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    outcome = json.loads(printed.splitlines()[-1])
    return Outcome(**outcome | {"took": Took(*outcome["took"])})


def compare(runs: Sequence[Run], turns: int) -> dict[str, list[Row]]:
    """Measure all in turns; the rows of each model.

    Raises:
        SystemExit: the outcomes disagree.
    """
    outcomes: dict[Run, list[Outcome]] = {run: [] for run in runs}
    for turn in range(turns):
        for run in runs:
            outcome = measured(run)
            outcomes[run].append(outcome)
            print(
                f"{turn + 1}/{turns} {run.model:12} {run.name:22} {outcome.took.wall_s:7.2f} s "
                f"{outcome.events / outcome.took.wall_s:12,.0f} events a second",
                flush=True,
            )
    models: dict[str, list[Row]] = {}
    found = []
    for run, each in outcomes.items():
        release = version(run.package) if run.package else platform.python_version()
        row = Row(run.name, release, run.size, run.aim, each)
        models.setdefault(run.model, []).append(row)
    for model, rows in models.items():
        found += disagreements(model, {row.name: (row.size, row.outcomes[0]) for row in rows})
    if found:
        sys.exit("\n".join(["The outcomes disagree:", *found]))
    return models


def is_installed(run: Run) -> bool:
    """Whether the alternative is there: Cimba has no packages for some machines."""
    try:
        return not run.package or bool(version(run.package))
    except PackageNotFoundError:
        print(f"{run.name}: {run.package} is not installed", flush=True)
        return False


# Publishing.


def publish(models: Mapping[str, Sequence[Row]]) -> None:
    """Write the file, the chart and the table; of each model the first row is Tidegauge's own."""
    machine = {"cores": os.cpu_count(), "python": platform.python_version()}
    results = {
        model: {row.name: row.as_json(rows[0]) for row in rows} for model, rows in models.items()
    }
    RESULTS.write_text(json.dumps({"machine": machine, **results}, indent=2) + "\n")
    CHART.write_text(chart(models))
    write_table("bench/alternatives/compare.py", [*table(models)])


def table(models: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield (
        "| model | in | release | events a second (least to most) | CPU us for an event "
        "| Tidegauge is times as fast | aim |"
    )
    yield "|---|---|---|---|---|---|---|"
    for model, rows in models.items():
        for row in rows:
            usual, least, most = (f"{value:,.0f}" for value in row.events_per_second)
            yield (
                f"| {model} | {row.name} | {row.release} | {usual} ({least} to {most}) "
                f"| {_rounded(row.cpu_us):,g} | {_rounded(row.is_beaten_by(rows[0])):,g} "
                f"| {f'{_rounded(row.aim):g}' if row.aim else ''} |"
            )


# The chart.

_WIDTH, _LEFT, _LINE, _TITLE = 720, 190, 18, 30
_OURS, _OTHERS = "#1f6f8b", "#c2571a"


def chart(models: Mapping[str, Sequence[Row]]) -> str:
    """A bar for each row, with a line from the least to the most of its runs."""
    figures = [value for rows in models.values() for row in rows for value in row.events_per_second]
    across = axis_of(figures, _LEFT, _WIDTH - 70)
    height = sum(_TITLE + _LINE * len(rows) for rows in models.values()) + _TITLE
    lines = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
            f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
        ),
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    for value in across.ticks:
        x = across.px(value)
        lines.append(f'<path d="M{x:.1f} {_TITLE - 6}V{height - _TITLE}" stroke="#ddd"/>')
        lines.append(
            f'<text x="{x:.1f}" y="{height - _TITLE + 14}" text-anchor="middle">{value:,.0f}</text>'
        )
    y = 0
    for model, rows in models.items():
        y += _TITLE
        title = f"{model}: model events a second"
        lines.append(f'<text x="6" y="{y - 10}" font-weight="bold">{title}</text>')
        for row in rows:
            lines += _bar(row, across, y)
            y += _LINE
    return "\n".join([*lines, "</svg>"]) + "\n"


def _bar(row: Row, across: Axis, y: int) -> Iterator[str]:
    usual, least, most = row.events_per_second
    colour = _OURS if row.name.startswith("Tidegauge") else _OTHERS
    middle = y + _LINE / 2
    yield f'<text x="{_LEFT - 8}" y="{middle + 4}" text-anchor="end">{row.name}</text>'
    yield (
        f'<rect x="{_LEFT}" y="{y + 3}" width="{across.px(usual) - _LEFT:.1f}" '
        f'height="{_LINE - 6}" fill="{colour}" fill-opacity="0.7"/>'
    )
    yield f'<path d="M{across.px(least):.1f} {middle}H{across.px(most):.1f}" stroke="black"/>'
    yield f'<text x="{across.px(most) + 6:.1f}" y="{middle + 4}">{usual:,.0f}</text>'


def main() -> None:
    """Compare all, and publish it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    publish(compare([run for run in RUNS if is_installed(run)], arguments.turns))


if __name__ == "__main__":
    main()
