"""``tidegauge resume``: an interrupted run, continued from its last snapshot."""

import shlex
from typing import Any

import typer

from tidegauge.commands.loading import announce_compilation, opened_run
from tidegauge.commands.performing import (
    Shown,
    ended_with_one_line,
    engine_of,
    show_results,
    speed_of,
    tell_line,
    title_of,
)
from tidegauge.commands.snapshots.snapshot_options import ResumeOptions
from tidegauge.engine.resuming import interrupted_run
from tidegauge.engine.simulate import Watched
from tidegauge.runs.run import Run
from tidegauge.simulation.quantities import whole_time_text
from tidegauge.views.output import console, print_hanging, print_json, report
from tidegauge.views.progress import progress_bar


def resume_run(options: ResumeOptions) -> None:
    """Perform ``tidegauge resume``."""
    options.hosting.check()
    with report(as_json=options.as_json):
        content, is_well = _resumed(options)
    if options.as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)


def _resumed(options: ResumeOptions) -> tuple[dict[str, Any] | None, bool]:
    """Resume a run and print its results; return the summary and whether it is as expected."""
    speed = None if options.speed is None else speed_of(options.speed)
    folder = opened_run(options.run, "resume").path
    announce_compilation()
    with ended_with_one_line(folder, again=None), interrupted_run(folder) as interrupted:
        scenario, begin_us = interrupted.plan.scenario, interrupted.past.time_us
        title = f"{title_of(scenario)}, from the snapshot at {whole_time_text(begin_us)}"
        print_hanging(console(), "", title)
        with progress_bar(scenario.duration_us, begin_us) as progress:
            interrupted.finish(engine_of(options.hosting), Watched(progress, speed, tell=tell_line))
    run = Run(folder)
    shown = Shown(
        run.manifest["scenario"].get("name", folder.name),
        f"tidegauge replay {shlex.quote(str(folder))}",
        run.manifest["over_seeds"],
        is_verbose=options.verbose,
    )
    return run.summary, show_results(run, scenario, shown)
