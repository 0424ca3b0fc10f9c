"""The replay of a run: its partitions, brokers and faults at any moment."""

from __future__ import annotations

from collections.abc import Sequence

from tidegauge.analysis.replay.player import Player
from tidegauge.spark_analysis.report.section import Section


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
