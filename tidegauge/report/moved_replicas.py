"""The reassignments of a run in words: how long each took, and the bytes that they moved.

The figures are those of the summary (``reassignments``, ``reassignment_bytes``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tidegauge.report.quantities import duration_text
from tidegauge.scenario.text.errors import counted

_MEGABYTE = 1_000_000


def reassignment_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    """A line for each step that moved replicas, and one for the bytes; none if no step does."""
    moved = {name: each for name, each in _moves(summary).items() if each["partitions"]}
    for name, each in moved.items():
        text = f"step {_place(name) + 1} moved {counted(each['partitions'], 'partition')}"
        if each["unfinished"]:
            text += f", of which {each['unfinished']:,} are not finished as the run ends,"
        if each["replaced"]:
            text += f", of which a later step replaced {each['replaced']:,},"
        yield f"{text} in {duration_text(each['seconds'] * 1e6)}"
    if moved and summary.get("reassignment_bytes"):
        yield f"new replicas fetched {summary['reassignment_bytes'] / _MEGABYTE:,.1f} MB"


def moving_us(summary: Mapping[str, Any]) -> dict[int, int]:
    """How long each step moved replicas, by its place in the scenario."""
    return {_place(name): round(each["seconds"] * 1e6) for name, each in _moves(summary).items()}


def _place(name: str) -> int:
    """The place of a step, by its name in ``--set``."""
    return int(name.removeprefix("steps."))


def _moves(summary: Mapping[str, Any]) -> Mapping[str, Any]:
    """The figures of steps, by their names; a run that another program wrote can have none."""
    moves: Mapping[str, Any] = summary.get("reassignments", {})
    return moves
