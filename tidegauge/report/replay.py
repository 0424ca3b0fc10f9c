"""A run to watch in a browser: its recording and its player, as a section of the report.

The player is a piece of a page: elements, style, script and recording. It loads nothing. The
page around it gives the colours (``page.css`` of the report), and the policy by which the browser
refuses all that is not in the page.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tidegauge.report.one_run import OneRun
from tidegauge.report.recording import recorded_run, recording_of
from tidegauge.report.section import Commands, Folded, Piece, Section, Words
from tidegauge.runs.run import Run

_HERE = Path(__file__).parent
#: In the order in which they use each other; together they are one module.
_SCRIPTS = ("recording.js", "board.js", "story.js", "replay.js")


class Player(NamedTuple):
    """A piece of a section."""

    #: As ``recording_of`` made it.
    recording: str

    def html(self) -> str:
        """The player; its elements are filled by its script."""
        script = "".join((_HERE / name).read_text() for name in _SCRIPTS)
        return (
            f"<style>{(_HERE / 'replay.css').read_text()}</style>"
            f"{(_HERE / 'replay.html').read_text()}"
            f'<script type="text/plain" class="recording">{self.recording}</script>'
            f'<script type="module">{script}</script>'
        )


#: Larger recordings are left out of a report: the replay has a page of its own.
_MOST_BYTES = 120_000


def folded(run: OneRun) -> Piece:
    """The replay within a report."""
    recording = _recording(run)
    if len(recording) > _MOST_BYTES:
        return Words(
            f"The replay of all replicas is too large for this page: "
            f"{run.command('replay-view', 'RUN')} writes it.",
            "note",
        )
    answer = "each replica at any moment, from the worst one on."
    return Folded("Replay:", answer, [*_pieces(recording), Commands(_commands(run))])


def section(run: OneRun) -> Section:
    """The section of a page of its own."""
    return replay_section(_recording(run), _commands(run))


def replay_section(recording: str, commands: Sequence[str]) -> Section:
    """The section.

    Args:
        recording: of the run, as ``recording_of`` made it.
        commands: that show the same on a terminal.
    """
    return Section("replay", "Replay", [*_pieces(recording), Commands(commands)])


def _recording(run: OneRun) -> str:
    folder = Run(run.run.folder)
    return recording_of(folder.manifest, recorded_run(folder, run.tables), folder.end_us)


def _commands(run: OneRun) -> list[str]:
    return [
        run.command("describe", "RUN", "--at", "TIME"),
        run.command("replay-view", "RUN"),
    ]


def _pieces(recording: str) -> list[Piece]:
    says = (
        "Each cell is a replica, on its broker, in its rack; preferred leaders come first. The "
        "state is that of the control plane."
    )
    return [Words(says, "note"), Player(recording)]
