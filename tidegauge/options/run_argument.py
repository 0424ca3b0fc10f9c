"""The argument RUN of commands that look at one run."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from tidegauge.scenario.text.counted import counted
from tidegauge.views.output import fail
from tidegauge.views.story_lines import LISTED

if TYPE_CHECKING:
    from tidegauge.traces.run_folder import RunFolder


def opened_run(folder: Path, command: str) -> RunFolder:
    """The run in a folder; the command ends if it is that of a sweep, and lists the sweep's runs.

    Args:
        folder: that was given.
        command: the name of the command.

    Raises:
        RunError: there is no run in it that this Tidegauge can read.
    """
    from tidegauge.traces.run_files import SweepFolderError
    from tidegauge.traces.run_folder import RunFolder

    try:
        return RunFolder(folder)
    except SweepFolderError:
        fail(_runs_to_choose_from(folder, command))


def _runs_to_choose_from(folder: Path, command: str) -> str:
    from tidegauge.traces.run_files import runs_of_sweep, worst_of_sweep

    runs = runs_of_sweep(folder)
    if not runs:
        return f"{folder}: the folder of a sweep, of which no run has begun yet"
    worst = worst_of_sweep(folder)
    which = "the worst" if worst in runs else "the first"
    chosen = worst if worst in runs else runs[0]
    lines = [
        f"{folder}: the folder of a sweep of {counted(len(runs), 'run')}; {command} takes one run",
        f"  {which} of them: tidegauge {command} {shlex.quote(str(chosen))}",
        f"  all of them:     tidegauge analyze {shlex.quote(str(folder))}",
        "Its runs:",
        *(f"  {shlex.quote(str(run))}" for run in runs[:LISTED]),
    ]
    if len(runs) > LISTED:
        lines.append(f"  ... and {len(runs) - LISTED:,} more")
    return "\n".join(lines)
