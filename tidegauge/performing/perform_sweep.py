"""A sweep as commands perform it: the runs, their table, and the file with all figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tidegauge.options.hosting import Hosting
from tidegauge.options.sweep_request import SweepRequest
from tidegauge.performing.perform_runs import folder_of_runs, perform_runs
from tidegauge.scenario.reading import Scenario
from tidegauge.sweeps.sweep_content import FIGURES, SweptRun, content_of, worst_of
from tidegauge.traces.run_files import SWEEP
from tidegauge.traces.run_folder import new_run_folder, write_json_atomically
from tidegauge.views.output import console, show_warnings
from tidegauge.views.run_batch import check_jobs
from tidegauge.views.sweep_report import show_sweep


def perform_sweep(request: SweepRequest) -> tuple[dict[str, Any], Path, bool]:
    """Perform all missing runs, print the results of all runs, and write them to a file.

    Returns:
        The content of ``sweep.json``, the folder of the sweep, and whether all runs were as
        expected.
    """
    check_jobs(request.jobs)
    loaded, planned = request.plan()
    show_warnings(loaded)
    out = request.out or new_run_folder(f"{loaded.name}-sweep")
    with folder_of_runs(out):
        address = request.request.hosting.address
        runs = perform_runs(loaded.name, planned, out, request.jobs, address)
        content = _write(request, loaded, runs, out)
    show_sweep(console(), request.axes, content, runs, out)
    return content, out, all(run.outcome.is_as_expected for run in runs)


def _write(
    request: SweepRequest, loaded: Scenario, runs: Sequence[SweptRun], out: Path
) -> dict[str, Any]:
    """Write the results of all runs, and return the written content."""
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
