"""Many runs as commands perform them: finished runs stay, the others are run in one folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.sweep_request import RequestedRun
from tidegauge.performing.compilation import announce_compilation
from tidegauge.scenario.text.counted import counted
from tidegauge.sweeps.many_runs import Outcome, PlannedRun, outcome_of, run_all
from tidegauge.sweeps.sweep_content import SweptRun
from tidegauge.sweeps.sweep_folder import finished_run, sweep_folder
from tidegauge.views.output import INTERRUPTED
from tidegauge.views.run_batch import runs_progress


@contextmanager
def folder_of_runs(out: Path) -> Iterator[None]:
    """Lock the folder of many runs while entered; the command ends if they cannot be there."""
    try:
        with sweep_folder(out):
            yield
    except OSError as error:
        raise TidegaugeError(
            f"{error.filename or out}: cannot be written to: {error.strerror}"
        ) from error


def perform_runs(
    title: str,
    planned: Sequence[RequestedRun],
    out: Path,
    jobs: int | None = None,
    address: str | None = None,
) -> list[SweptRun]:
    """Perform the missing runs, and return the outcomes of all runs, in their order.

    Args:
        title: the name of the scenario, for the progress.
        planned: the runs.
        out: the folder for their folders.
        jobs: the number of parallel runs; None: the number of CPUs.
        address: the Ray cluster to join; None: as :func:`run_all` says.
    """
    outcomes: dict[str, Outcome] = {}
    for each in planned:
        found = finished_run(out / each.name, each.request.load)
        if found is not None:
            outcomes[each.name] = outcome_of(found)
    announce_compilation()
    there = f", {len(outcomes)} of them already finished" if outcomes else ""
    typer.echo(f"{title}: {counted(len(planned), 'run')} into {out}{there}")
    missing = [each for each in planned if each.name not in outcomes]
    try:
        _run_missing(missing, out, outcomes, jobs, address)
    except KeyboardInterrupt:
        typer.echo(
            f"\nStopped: {len(outcomes)} of {counted(len(planned), 'run')} are finished in {out}; "
            "the same command with this --out resumes"
        )
        raise typer.Exit(INTERRUPTED) from None
    return [SweptRun(each.setting, each.seed, each.name, outcomes[each.name]) for each in planned]


def _run_missing(
    missing: Sequence[RequestedRun],
    out: Path,
    outcomes: dict[str, Outcome],
    jobs: int | None,
    address: str | None,
) -> None:
    """Perform these runs, and add the outcome of each as it ends."""
    if not missing:
        return

    runs = [
        PlannedRun(each.request.file(), each.request.scenario_changes(), out / each.name)
        for each in missing
    ]
    before = len(outcomes)
    with (
        closing(run_all(runs, jobs, address)) as running,
        runs_progress(before + len(missing), before) as advance,
    ):
        for place, outcome in running:
            outcomes[missing[place].name] = outcome
            advance()
