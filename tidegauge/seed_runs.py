"""One scenario with many seeds (``many_runs.py``), and which of them is the worst."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tidegauge.many_runs import PlannedRun, run_all

#: The figures of ``summary.json`` that seeds are compared by; the first one weighs most.
FIGURES = (
    "records_acknowledged_lost",
    "partition_seconds_offline",
    "partition_seconds_under_min_isr",
)


class SeedsInput(NamedTuple):
    """What is run with each seed."""

    #: The scenario.
    file: Path
    #: Other values in it, by their paths; the seed comes on top.
    changes: Mapping[str, object]
    #: Each seed has a folder in this one.
    out: Path


@dataclass(frozen=True)
class SeedRun:
    """What came of one seed."""

    seed: int
    folder: str
    #: Why it has no summary; None if it has.
    error: str | None = None
    #: The checks whose verdict was not as expected, and ``steps`` if one waited in vain.
    unexpected: Sequence[str] = ()
    figures: Mapping[str, float] = field(default_factory=dict)
    trace_sha256: str | None = None

    @property
    def is_as_expected(self) -> bool:
        """Whether it came to its end, and nothing was a surprise."""
        return self.error is None and not self.unexpected

    @property
    def badness(self) -> tuple[float, ...]:
        """What seeds are ordered by: a surprise, then the figures; of equals the first is worst."""
        figures = (self.figures.get(name, 0) for name in FIGURES)
        return (not self.is_as_expected, *figures, -self.seed)


def folder_of(out: Path, seed: int) -> Path:
    """The folder of a seed's run."""
    return out / f"seed-{seed}"


def run_seeds(run: SeedsInput, seeds: Sequence[int], jobs: int) -> Iterator[SeedRun]:
    """What comes of each seed, in the order in which they end, with so many jobs at once."""
    planned = [
        PlannedRun(run.file, {**run.changes, "seed": seed}, folder_of(run.out, seed))
        for seed in seeds
    ]
    for ended in run_all(planned, jobs):
        figures = {name: ended.figures[name] for name in FIGURES if name in ended.figures}
        yield SeedRun(
            seeds[ended.number],
            str(planned[ended.number].folder),
            ended.error,
            ended.unexpected,
            figures,
            ended.trace_sha256,
        )
