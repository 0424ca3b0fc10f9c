"""``tidegauge report``, ``replay-view`` and ``dashboards``: pages for a browser."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated

import typer

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.run_paths import common_folder, runs_at
from tidegauge.commands import shared_options as options
from tidegauge.commands.loading import opened_run
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


def report_run(
    runs: options.RunNames,
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Folder for report.html and tables/. Default: the folder of the run or of the "
            "sweep; analysis/ for several runs.",
        ),
    ] = None,
) -> None:
    """Write a report of recorded runs: one HTML file, which opens in any browser.

    The report has the result in words, what clients saw, a timeline with all faults, a replay, the
    story of the worst affected partition, the answers to all questions, and the basis of the
    figures. The report of several runs compares their settings first, and has the worst run in
    detail. It loads nothing from a network, so it can be sent to a colleague.

    The result tables are made in this process, without Spark, and kept in tables/. Tables that
    are there already are used. An unfinished run is read up to its last row. `analyze` makes the
    same report and tables with Spark, for many runs or a cluster.

    \b
    Examples:
      tidegauge report runs/first
      tidegauge report runs/first --out for-a-colleague
      tidegauge report runs/lag-time
                                 all runs in a sweep's folder
      tidegauge report 'runs/*' --out analysis
    """
    found = runs_at(runs)
    folder = out or common_folder(runs, found) or _OF_SEVERAL
    what = f"The tables of {counted(len(found), 'run')}"
    with working(what) as tell:
        tables = RunTables(found, folder / "tables")
        written = write_report(tables, folder, lambda name: tell(f"{what}: {name}"))
    console().print(f"Report: {written}", soft_wrap=True)


_FILE = "replay.html"


def replay_view(
    run: options.RunPath,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help=f"File to write. Default: RUN/{_FILE}."),
    ] = None,
) -> None:
    """Write the replay of a run: one HTML file that a browser plays without a network.

    A slider moves over the run's time. Racks, brokers and partitions are shown as they were at that
    moment: leader, ISR, offline, under min ISR. Faults are above the slider. A click on a replica
    shows the story of its partition. The state is that of `tidegauge describe RUN --at TIME`.

    The fragment of the address opens a moment and a partition:
    replay.html#t=12.5&partition=orders-3

    \b
    Examples:
      tidegauge replay-view runs/rack-outage
      tidegauge replay-view runs/rack-outage --out rack-outage.html
    """
    print_notes(opened_run(run, "replay-view"))
    (found,) = runs_at(run)
    with working("The tables of partitions and faults"):
        played = section(OneRun(RunTables([found], run / "tables"), found))
    file = out or run / _FILE
    file.write_text(page(f"Replay of {found.name}", [played]))
    console().print(f"Replay: {file}", soft_wrap=True)


#: Folders of the package ``tidegauge.deploy`` that are written.
_FOLDERS = ("grafana", "prometheus")


def write_dashboards(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder for the files; new or empty.")
    ],
) -> None:
    """Write Grafana's dashboard, alert rules and Prometheus's configuration to a folder.

    The files are for a run that serves metrics (`tidegauge run SCENARIO --metrics 9404`). The
    file COVERAGE.md beside them has the meaning of each metric, and the panels of other
    dashboards that stay empty.

    \b
    Examples:
      tidegauge dashboards watching
      prometheus --config.file=watching/prometheus/prometheus.yml
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TidegaugeError(f"{folder}: is not an empty folder, and no file is overwritten")
    for path, source in _files():
        target = folder / path
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
