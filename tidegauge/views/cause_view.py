"""``tidegauge show --cause``: the chain of triggers of one row, back to the first fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tidegauge.runs.causes import Strand, cause_strands
from tidegauge.runs.run import Run
from tidegauge.runs.stories import story_line
from tidegauge.runs.trace_events import TraceEvent
from tidegauge.views.story_lines import LISTED, print_lines

if TYPE_CHECKING:
    from rich.console import Console

#: The number of rows shown at the beginning of a chain that is too long to list.
LAST = 10


def show_cause(out: Console, run: Run, event: TraceEvent) -> None:
    """Print a row and what it goes back to, the newest first; then each cause beside that."""
    strands = cause_strands(run, event)
    out.print("The causes of this row, the newest first", style="bold")
    _print_strand(out, strands[0], run)
    for strand in strands[1:LISTED]:
        assert strand.cause_of is not None
        out.print(f"\nThe other cause of {strand.cause_of.handle}", style="bold")
        _print_strand(out, strand, run)
    if len(strands) > LISTED:
        out.print(f"\n... and {len(strands) - LISTED} more causes")


def _print_strand(out: Console, strand: Strand, run: Run) -> None:
    lines = [story_line([event], run) for event in strand.rows]
    if len(lines) > LISTED:
        print_lines(out, lines[: LISTED - LAST], handles=True)
        out.print(f"            ... {len(lines) - LISTED} more ...")
        lines = lines[-LAST:]
    print_lines(out, lines, handles=True)
    if strand.joins is not None:
        out.print(f"            and then {strand.joins.handle}, above")
