"""The replay of a run: the cluster at any moment, with a slider over time."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.report.one_run import OneRun
from tidegauge.report.player import Player
from tidegauge.report.recorded_run import recorded_run
from tidegauge.report.recording import recording_of
from tidegauge.report.section import Section
from tidegauge.traces.run_folder import RunFolder

_TABLES = ("partition_states", "faults", "lost")


def section(run: OneRun) -> Section:
    """The section of a run."""
    folder = RunFolder(run.run.folder)
    recorded = recorded_run(
        folder,
        *(run.tables.arrow(f"select * from {name} order by all") for name in _TABLES),  # noqa: S608
    )
    commands = [
        run.command("describe", "RUN", "--at", "TIME"),
        run.command("replay-view", "RUN"),
    ]
    return replay_section(recording_of(folder.manifest, recorded, folder.end_us), commands)


def replay_section(recording: str, commands: Sequence[str]) -> Section:
    """The section.

    Args:
        recording: of the run, as ``recording_of`` made it.
        commands: that show the same on a terminal.
    """
    return Section(
        "replay",
        "Replay",
        "Each cell is a replica, on its broker, in its rack; preferred leaders come first. The "
        "state is that of the control plane.",
        [Player(recording)],
        commands,
    )
