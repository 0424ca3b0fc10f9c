"""A sweep as commands perform it: finished runs stay, the others are run, all are reported."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tidegauge.commands.compile_rules import announce_compilation
from tidegauge.options.hosting import Hosting
from tidegauge.options.sweep_request import RequestedRun, SweepRequest
from tidegauge.scenario.text.counted import counted
from tidegauge.views.output import INTERRUPTED, console, fail, show_warnings
from tidegauge.views.run_batch import check_jobs, runs_progress
from tidegauge.views.sweep_report import show_sweep

if TYPE_CHECKING:
    from tidegauge.scenario.reading import Scenario
    from tidegauge.sweeps.many_runs import Outcome
    from tidegauge.sweeps.sweep_content import SweptRun


def perform_sweep(request: SweepRequest) -> tuple[dict[str, Any], Path, bool]:
    """Perform all missing runs, print the results of all runs, and write them to a file.

    Returns:
        The content of ``sweep.json``, the folder of the sweep, and whether all runs were as
        expected.
    """
    from tidegauge.engine.contract import EngineError
    from tidegauge.sweeps.sweep_folder import SweepError, sweep_folder
    from tidegauge.traces.run_files import RunError
    from tidegauge.traces.run_folder import new_run_folder
    from tidegauge.traces.trace_file import TraceError

    check_jobs(request.jobs)
    loaded, planned = request.plan()
    show_warnings(loaded)
    out = request.out or new_run_folder(f"{loaded.name}-sweep")
    try:
        with sweep_folder(out):
            runs = _run(request, loaded, planned, out)
            content = _write(request, loaded, runs, out)
    except (EngineError, RunError, SweepError, TraceError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or out}: cannot be written to: {error.strerror}")
    show_sweep(console(), request.axes, content, runs, out)
    return content, out, all(run.outcome.is_as_expected for run in runs)


def _run(
    request: SweepRequest, loaded: Scenario, planned: Sequence[RequestedRun], out: Path
) -> list[SweptRun]:
    """Perform the missing runs, and return the outcomes of all runs, in their order."""
    from tidegauge.sweeps.many_runs import outcome_of
    from tidegauge.sweeps.sweep_content import SweptRun
    from tidegauge.sweeps.sweep_folder import finished_run

    outcomes: dict[str, Outcome] = {}
    for each in planned:
        found = finished_run(out / each.name, each.request.load)
        if found is not None:
            outcomes[each.name] = outcome_of(found)
    announce_compilation()
    there = f", {len(outcomes)} of them already finished" if outcomes else ""
    typer.echo(f"{loaded.name}: {counted(len(planned), 'run')} into {out}{there}")
    missing = [each for each in planned if each.name not in outcomes]
    try:
        _run_missing(request, missing, out, outcomes)
    except KeyboardInterrupt:
        typer.echo(
            f"\nStopped: {len(outcomes)} of {counted(len(planned), 'run')} are finished in {out}; "
            "the same command with this --out resumes"
        )
        raise typer.Exit(INTERRUPTED) from None
    return [SweptRun(each.setting, each.seed, each.name, outcomes[each.name]) for each in planned]


def _run_missing(
    request: SweepRequest, missing: Sequence[RequestedRun], out: Path, outcomes: dict[str, Outcome]
) -> None:
    """Perform these runs, and add the outcome of each as it ends."""
    if not missing:
        return
    from tidegauge.sweeps.many_runs import PlannedRun, run_all

    runs = [
        PlannedRun(each.request.file(), each.request.scenario_changes(), out / each.name)
        for each in missing
    ]
    before = len(outcomes)
    with (
        closing(run_all(runs, request.jobs, request.request.hosting.address)) as running,
        runs_progress(before + len(missing), before) as advance,
    ):
        for place, outcome in running:
            outcomes[missing[place].name] = outcome
            advance()


def _write(
    request: SweepRequest, loaded: Scenario, runs: Sequence[SweptRun], out: Path
) -> dict[str, Any]:
    """Write the results of all runs, and return the written content."""
    from tidegauge.sweeps.sweep_content import FIGURES, content_of, worst_of
    from tidegauge.traces.run_files import SWEEP
    from tidegauge.traces.run_folder import write_json_atomically

    figures = request.figures or FIGURES
    worst = worst_of(runs, figures)
    alone = request.request._replace(
        changes=(*request.request.changes, *worst.changes), hosting=Hosting()
    )
    over = {axis.path: axis.values for axis in request.axes}
    command = alone.command(worst.seed, loaded.trace)
    content = content_of(loaded.name, over, figures, runs, command)
    write_json_atomically(out / SWEEP, content)
    return content
