"""``tidegauge report``, ``replay-view`` and ``dashboards``: pages for a browser."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

import typer

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.run_paths import common_folder, runs_at
from tidegauge.commands.loading import opened_run
from tidegauge.commands.result_options import ReplayViewOptions, ReportOptions
from tidegauge.commands.run_options import DashboardsOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.one_run import OneRun
from tidegauge.report.page import page
from tidegauge.report.replay import section
from tidegauge.report.report import write_report
from tidegauge.scenario.text.counted import counted
from tidegauge.views.output import console
from tidegauge.views.progress import working
from tidegauge.views.story_lines import print_notes

_OF_SEVERAL = Path("analysis")


def report_run(options: ReportOptions) -> None:
    """Perform ``tidegauge report``."""
    found = runs_at(options.runs)
    folder = options.out or common_folder(options.runs, found) or _OF_SEVERAL
    what = f"The tables of {counted(len(found), 'run')}"
    with working(what) as tell:
        tables = RunTables(found, folder / "tables")
        written = write_report(tables, folder, lambda name: tell(f"{what}: {name}"))
    console().print(f"Report: {written}", soft_wrap=True)


_FILE = "replay.html"


def replay_view(options: ReplayViewOptions) -> None:
    """Perform ``tidegauge replay-view``."""
    print_notes(opened_run(options.run, "replay-view"))
    (found,) = runs_at(options.run)
    with working("The tables of partitions and faults"):
        played = section(OneRun(RunTables([found], options.run / "tables"), found))
    file = options.out or options.run / _FILE
    file.write_text(page(f"Replay of {found.name}", [played]))
    console().print(f"Replay: {file}", soft_wrap=True)


#: Folders of the package ``tidegauge.deploy`` that are written.
_FOLDERS = ("grafana", "prometheus")


def write_dashboards(options: DashboardsOptions) -> None:
    """Perform ``tidegauge dashboards``."""
    if options.folder.exists() and (not options.folder.is_dir() or any(options.folder.iterdir())):
        raise TidegaugeError(
            f"{options.folder}: is not an empty folder, and no file is overwritten"
        )
    for path, source in _files():
        target = options.folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(source.read_bytes())
        typer.echo(target)


def _files() -> Iterator[tuple[Path, Traversable]]:
    """Each file, and its path in the folder."""
    for name in _FOLDERS:
        yield from _files_in(files("tidegauge.deploy") / name, Path(name))
    yield Path("COVERAGE.md"), files("tidegauge.metrics") / "COVERAGE.md"


def _files_in(folder: Traversable, path: Path) -> Iterator[tuple[Path, Traversable]]:
    for each in sorted(folder.iterdir(), key=lambda each: each.name):
        if each.is_dir():
            yield from _files_in(each, path / each.name)
        else:
            yield path / each.name, each
