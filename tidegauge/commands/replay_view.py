"""``tidegauge replay-view``: a run in a browser, with a slider over its time."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tidegauge.options.run_argument import opened_run
from tidegauge.views.output import console, fail
from tidegauge.views.story_lines import print_notes
from tidegauge.views.working import working

if TYPE_CHECKING:
    from tidegauge.analysis.replay.recorded_run import RecordedRun
    from tidegauge.traces.run_folder import RunFolder

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
    from tidegauge.analysis.replay.recording import recording_of
    from tidegauge.spark_analysis.report.page import page
    from tidegauge.spark_analysis.report.replay import replay_section

    try:
        folder = opened_run(run, "replay-view")
        print_notes(folder)
        with working("Making tables of partitions and faults"):
            recorded = _recorded(folder)
        recording = recording_of(folder.manifest, recorded, folder.end_us)
        commands = [f"tidegauge describe {run} --at TIME", f"tidegauge picture {run}"]
        file = out or run / _FILE
        file.write_text(page(f"Replay of {run.name}", [replay_section(recording, commands)]))
    except ValueError as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: cannot be written to: {error.strerror}")
    console().print(f"Replay: {file}", soft_wrap=True)


def _recorded(folder: RunFolder) -> RecordedRun:
    """The tables of the run: the one place where they are obtained."""
    from tidegauge.analysis.replay.recorded_run import recorded_run
    from tidegauge.spark_analysis.run_paths import runs_at
    from tidegauge.spark_analysis.tables.run_tables import tables_of

    with tables_of(runs_at(folder.path), folder.path / "tables", None) as made:
        made.make(["partition_states", "faults", "lost"])
        return recorded_run(
            folder, *(made[name].toArrow() for name in ("partition_states", "faults", "lost"))
        )
