"""``tidegauge report``: a report of recorded runs for a browser, made in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.run_paths import common_folder, runs_at
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.report import write_report
from tidegauge.scenario.text.counted import counted
from tidegauge.traces.run_files import RunError
from tidegauge.views.output import console
from tidegauge.views.working import working

_OF_SEVERAL = Path("analysis")


def report_run(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Folders of runs or of sweeps, or 'runs/*'."),
    ],
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
    try:
        found = runs_at(runs)
        folder = out or common_folder(runs, found) or _OF_SEVERAL
        what = f"The tables of {counted(len(found), 'run')}"
        with working(what) as tell:
            tables = RunTables(found, folder / "tables")
            written = write_report(tables, folder, lambda name: tell(f"{what}: {name}"))
    except (RunError, ValueError) as error:
        raise TidegaugeError(str(error)) from error
    console().print(f"Report: {written}", soft_wrap=True)
