"""``tidegauge replay-view``: a run in a browser, with a slider over its time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.run_paths import runs_at
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.run_argument import opened_run
from tidegauge.report.one_run import OneRun
from tidegauge.report.page import page
from tidegauge.report.replay import section
from tidegauge.views.output import console
from tidegauge.views.story_lines import print_notes
from tidegauge.views.working import working

_FILE = "replay.html"


def replay_view(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder that the run wrote.")],
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
    try:
        print_notes(opened_run(run, "replay-view"))
        (found,) = runs_at(run)
        with working("The tables of partitions and faults"):
            played = section(OneRun(RunTables([found], run / "tables"), found))
        file = out or run / _FILE
        file.write_text(page(f"Replay of {found.name}", [played]))
    except ValueError as error:
        raise TidegaugeError(str(error)) from error
    console().print(f"Replay: {file}", soft_wrap=True)
