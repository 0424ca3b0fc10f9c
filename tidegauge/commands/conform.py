"""``tidegauge conform``: schedules of real brokers, compared with the simulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tidegauge.commands.compilation import announce_compilation
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.laboratory.conformance.conform import Conformance, conform
from tidegauge.laboratory.conformance.known_differences import KnownDifferences, known_differences
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    load_schedule,
    recorded_files,
)
from tidegauge.views.conformance_report import SEEDS, Again, ConformanceReport
from tidegauge.views.output import console

#: By the files that they stand in.
Schedules = dict[Path, "RecordedSchedule"]


def conform_schedules(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="FILE|DIR...", help="Recorded schedules, or folders of them."),
    ],
    *,
    seeds: Annotated[
        int,
        typer.Option(
            "--seeds", min=1, help="Play each schedule with at most this number of seeds."
        ),
    ] = SEEDS,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Keep the runs in this folder, one for each schedule."),
    ] = None,
    details: Annotated[
        bool, typer.Option("--all", help="Show explained differences, too.")
    ] = False,
) -> None:
    """Compare the simulator with schedules that were played on real brokers.

    A recorded schedule is a JSON file with releases, settings, steps (kill a broker, produce, cut
    a link), and the observations after each step: states, logs, checkpoints, responses, times. It
    is of a ZooKeeper or of a KRaft cluster. The command plays the same steps and compares all
    observations field by field. A field that was equal in all repeats of the recording must be
    equal. A field that varied must have one of the recorded values. A time must be at most 20 %
    below the recorded span, or 3 s above it.

    A difference is explained if a row of known_differences.md gives its cause. For all others the
    command prints the step at which they begin, and the story around it.

    The exit status is 0 if all differences are explained, 1 if not, and 2 if a file is not a
    recorded schedule.

    \b
    Examples:
      tidegauge conform tests/data/golden
                                 recordings of ZooKeeper clusters
      tidegauge conform tests/data/golden_kraft
                                 recordings of KRaft clusters
      tidegauge conform tests/data/golden/b1_leader_kill.json --all
      tidegauge conform mine.json --seeds 8 --out runs/mine
                                 keep the run, to look at it with tidegauge show
    """
    schedules = {file: load_schedule(file) for file in recorded_files(paths)}
    table = known_differences()
    announce_compilation()
    try:
        results = _conform_all(schedules, table, seeds, out, details)
    except FileExistsError as error:
        raise TidegaugeError(str(error)) from error
    if any(result.unexplained for result in results):
        raise typer.Exit(1)


def _conform_all(
    schedules: Schedules, table: KnownDifferences, seeds: int, out: Path | None, details: bool
) -> list[Conformance]:
    """Play all schedules; print the result of each, then the totals."""
    results: list[Conformance] = []
    with _progress_bar(len(schedules)) as (shown_on, advance):
        report = ConformanceReport(shown_on, [each.name for each in schedules.values()], details)
        for file, schedule in schedules.items():
            with TemporaryDirectory(prefix="tidegauge-") as temporary:
                folder = (out or Path(temporary)) / file.stem
                result = conform(schedule, folder, table, seeds=seeds)
                report.show(result, Again(file, seeds, out or Path("runs")))
            results.append(result)
            advance()
        report.show_totals(results)
    return results


@contextmanager
def _progress_bar(files: int) -> Iterator[tuple[Console, Callable[[], None]]]:
    """A bar of schedules on a terminal, else nothing; the output, and a function to advance it."""
    out = console()
    if not out.is_terminal:
        yield out, lambda: None
        return
    text = TextColumn("{task.completed} of {task.total} schedules")
    with Progress(text, BarColumn(), TimeElapsedColumn(), console=out, transient=True) as bar:
        task = bar.add_task("conform", total=files)
        yield out, lambda: bar.advance(task)
