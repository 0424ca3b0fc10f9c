"""The run of a command, in the folder that its argument names."""

import shlex
from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.run import Run
from tidegauge.scenario.text.errors import counted
from tidegauge.traces.run_files import SweepFolderError, runs_of_sweep, worst_of_sweep
from tidegauge.views.story_lines import LISTED


def opened_run(folder: Path, command: str) -> Run:
    """The run in a folder; for a folder of a sweep the command lists its runs and ends.

    Args:
        folder: the argument of the command.
        command: the name of the command.

    Raises:
        RunError: the folder has no run that this Tidegauge can read.
    """
    try:
        return Run(folder)
    except SweepFolderError:
        raise TidegaugeError(_runs_to_choose_from(folder, command)) from None


def _runs_to_choose_from(folder: Path, command: str) -> str:
    runs = runs_of_sweep(folder)
    if not runs:
        return f"{folder}: is the folder of a sweep, and no run of it has begun yet"
    worst = worst_of_sweep(folder)
    which, chosen = "the first of them", runs[0]
    if worst is not None and worst.folder in runs:
        which, chosen = "the worst of them", worst.folder
        if worst.figure is not None:
            which += f" (the {worst.worst_is} {worst.figure.replace('_', ' ')})"
    lines = [
        f"{folder}: is the folder of a sweep of {counted(len(runs), 'run')}; {command} takes one",
        f"  {which}: tidegauge {command} {shlex.quote(str(chosen))}",
        f"  all of them:     tidegauge analyze {shlex.quote(str(folder))}",
        "Its runs:",
        *(f"  {shlex.quote(str(run))}" for run in runs[:LISTED]),
    ]
    if len(runs) > LISTED:
        lines.append(f"  ... and {len(runs) - LISTED:,} more")
    return "\n".join(lines)
