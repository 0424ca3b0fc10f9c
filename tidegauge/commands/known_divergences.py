"""``tidegauge divergences``: divergences of replicas in old releases, and their fixes."""

from __future__ import annotations

from typing import NamedTuple

from tidegauge.commands.reconcile_logs import Meeting, show_meeting
from tidegauge.views.output import console


class Story(NamedTuple):
    """Two logs, the events that led to them, and the releases to compare."""

    title: str
    told: str
    meeting: Meeting
    releases: tuple[str, ...]


def known_divergences() -> None:
    """Show how replicas diverged in old releases, and the fixes.

    \b
    Example:
      tidegauge divergences
    """
    out = console()
    for number, story in enumerate(_stories(), 1):
        out.rule(f"[bold]{number}. {story.title}", align="left")
        out.print(story.told + "\n")
        show_meeting(out, story.meeting, story.releases)
        out.print()
    out.print("Try your own logs:   tidegauge reconcile --help")
    out.print("Rules by release:    tidegauge releases")


def _stories() -> list[Story]:
    return [
        Story(
            "Two replicas lose power at once (KIP-101)",
            "Both had records 0 to 3 and a high watermark of 4. The first replica to return has\n"
            "lost record 3, leads, and writes another record there. Then the second one follows.",
            Meeting(((0, 3), (1, 1)), ((0, 4),), leader_epoch=1, high_watermark=4),
            ("0.10.2", "2.6"),
        ),
        Story(
            "Elections faster than replication (KIP-279)",
            "Three leaders in a row each wrote a record that the next one never fetched.",
            Meeting(((0, 1), (3, 1), (5, 1)), ((0, 1), (2, 1), (4, 1)), 5, high_watermark=0),
            ("1.1", "2.0.0", "3.9"),
        ),
        Story(
            "An epoch without records (KAFKA-10706)",
            "The follower led in epoch 3 for a moment and wrote nothing. It keeps the epoch at\n"
            "its log end, where truncation has nothing to cut, and asks for it again.",
            Meeting(((0, 2), (2, 1)), ((0, 2),), 4, high_watermark=0, idle_epoch=3),
            ("2.6.0", "2.6.1"),
        ),
    ]
