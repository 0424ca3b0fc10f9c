"""``tidegauge conform`` and ``gallery``: real brokers' schedules, and known bugs."""

import shutil
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, TypeVar

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tidegauge.commands.loading import announce_compilation, warn
from tidegauge.commands.rule_options import ConformOptions, GalleryOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import HERE
from tidegauge.engine.pool import in_order, run_on_pool
from tidegauge.laboratory.conformance.conform import Conformance, conform
from tidegauge.laboratory.conformance.known_differences import KnownDifferences, known_differences
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    load_schedule,
    recorded_files,
)
from tidegauge.laboratory.gallery import incidents
from tidegauge.laboratory.gallery.all_releases import in_all_releases
from tidegauge.laboratory.gallery.comparison import compared
from tidegauge.laboratory.gallery.incidents import Incident
from tidegauge.laboratory.gallery.view import (
    content_of,
    content_of_all_releases,
    show,
    show_all_releases,
)
from tidegauge.views.conformance_report import Again, ConformanceReport
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import runs_progress

#: By the files that they stand in.
Schedules = dict[Path, "RecordedSchedule"]

Input = TypeVar("Input")
Output = TypeVar("Output")

#: Fewer calls end here before Ray has started.
_WORTH_A_POOL = 16


def conform_schedules(options: ConformOptions) -> None:
    """Perform ``tidegauge conform``."""
    schedules = {file: load_schedule(file) for file in recorded_files(options.paths)}
    table = known_differences()
    announce_compilation()
    try:
        results = _conform_all(schedules, table, options.seeds, options.out, options.details)
    except FileExistsError as error:
        raise TidegaugeError(str(error)) from error
    if any(result.unexplained for result in results):
        raise typer.Exit(1)


def _conform_all(
    schedules: Schedules, table: KnownDifferences, seeds: int, out: Path | None, details: bool
) -> list[Conformance]:
    """Play all schedules; print the result of each, then the totals."""
    results: list[Conformance] = []
    with (
        _progress_bar(len(schedules)) as (shown_on, advance),
        TemporaryDirectory(prefix="tidegauge-") as temporary,
    ):
        folders = ((out or Path(temporary, str(place))) for place in range(len(schedules)))
        plays = [
            _Play(schedule, folder.absolute() / file.stem, table, seeds)
            for folder, (file, schedule) in zip(folders, schedules.items(), strict=True)
        ]
        report = ConformanceReport(shown_on, [each.name for each in schedules.values()], details)
        with closing(_results(_conform, plays)) as found:
            for file, play, result in zip(schedules, plays, found, strict=True):
                report.show(result, Again(file, seeds, out or Path("runs")))
                if out is None:
                    shutil.rmtree(play.folder, ignore_errors=True)
                results.append(result)
                advance()
        report.show_totals(results)
    return results


class _Play(NamedTuple):
    """A schedule to play."""

    schedule: RecordedSchedule
    folder: Path
    table: KnownDifferences
    seeds: int


def _conform(play: _Play) -> Conformance:
    schedule, folder, table, seeds = play
    return conform(schedule, folder, table, seeds=seeds)


def _results(work: Callable[[Input], Output], inputs: Sequence[Input]) -> Generator[Output]:
    """The results of many calls, in their order: of a pool, or of this process.

    The command ends if a process dies.
    """
    if len(inputs) < _WORTH_A_POOL:
        yield from map(work, inputs)
        return
    with closing(run_on_pool(work, inputs, address=HERE, warn=warn)) as calls:
        for ended in in_order(calls):
            if ended.result is None:
                raise TidegaugeError(str(ended.error))
            yield ended.result


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


def gallery(options: GalleryOptions) -> None:
    """Perform ``tidegauge gallery``."""
    shown = incidents.INCIDENTS if options.name is None else incidents.incidents_named(options.name)
    if options.all_releases:
        _gallery_in_all_releases(shown, as_json=options.as_json)
        return
    with report(as_json=options.as_json):
        announce_compilation()
        results = _run_all(compared, shown)
        show(console(), results)
    if options.as_json:
        print_json(content_of(results))
    if any(each.deviations for each in results):
        raise typer.Exit(1)


def _gallery_in_all_releases(shown: Sequence[Incident], *, as_json: bool) -> None:
    with report(as_json=as_json):
        announce_compilation()
        results = _run_all(in_all_releases, shown)
        show_all_releases(console(), results)
    if as_json:
        print_json(content_of_all_releases(results))
    if any(each.deviations for each in results):
        raise typer.Exit(1)


def _run_all(run: Callable[[Incident], Output], shown: Sequence[Incident]) -> list[Output]:
    """Run all incidents, and show the progress."""
    results = []
    with runs_progress(len(shown)) as advance, closing(_results(run, shown)) as found:
        for each in found:
            results.append(each)
            advance()
    return results
