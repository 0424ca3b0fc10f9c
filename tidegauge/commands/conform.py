"""``tidegauge conform`` and ``gallery``: real brokers' schedules, and known bugs of KRaft."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tidegauge.commands.loading import announce_compilation
from tidegauge.commands.rule_options import ConformOptions, GalleryOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.laboratory.conformance.conform import Conformance, conform
from tidegauge.laboratory.conformance.known_differences import KnownDifferences, known_differences
from tidegauge.laboratory.conformance.recorded_schedule import (
    RecordedSchedule,
    load_schedule,
    recorded_files,
)
from tidegauge.laboratory.gallery import incidents
from tidegauge.laboratory.gallery.comparison import Compared, compared
from tidegauge.laboratory.gallery.incidents import Incident
from tidegauge.laboratory.gallery.view import content_of, show
from tidegauge.views.conformance_report import Again, ConformanceReport
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import runs_progress

#: By the files that they stand in.
Schedules = dict[Path, "RecordedSchedule"]


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


def gallery(options: GalleryOptions) -> None:
    """Perform ``tidegauge gallery``."""
    shown = incidents.INCIDENTS if options.name is None else incidents.incidents_named(options.name)
    with report(as_json=options.as_json):
        announce_compilation()
        results = _compared(shown)
        show(console(), results)
    if options.as_json:
        print_json(content_of(results))
    if any(each.deviations for each in results):
        raise typer.Exit(1)


def _compared(shown: Sequence[Incident]) -> list[Compared]:
    """Run all incidents, each in two releases, and show the progress."""
    results = []
    with runs_progress(len(shown)) as advance:
        for incident in shown:
            results.append(compared(incident))
            advance()
    return results
