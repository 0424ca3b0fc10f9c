"""The player of a recording, as a piece of a page: elements, style, script and recording.

It loads nothing. The page around it gives the colours (``page.css`` of the report), and the policy
by which the browser refuses all that is not in the page.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

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
