"""``tidegauge show --cause``: the chain of triggers of one row, back to the first fault."""

from __future__ import annotations

from rich.console import Console

from tidegauge.runs.cause_chain import Strand, cause_strands, handle_of
from tidegauge.runs.moments import told_moment
from tidegauge.runs.story import Names
from tidegauge.traces.run_folder import RunFolder, TraceRow
from tidegauge.views.story_lines import LISTED, moment_line, print_lines

#: The number of rows shown at the beginning of a chain that is too long to list.
LAST = 10


def show_cause(out: Console, run: RunFolder, names: Names, row: TraceRow) -> None:
    """Print a row and what it goes back to, the newest first; then each cause beside that."""
    strands = cause_strands(run, row)
    out.print("The causes of this row, the newest first", style="bold")
    _print_strand(out, strands[0], run, names)
    for strand in strands[1:LISTED]:
        assert strand.cause_of is not None
        out.print(f"\nThe other cause of {handle_of(strand.cause_of)}", style="bold")
        _print_strand(out, strand, run, names)
    if len(strands) > LISTED:
        out.print(f"\n... and {len(strands) - LISTED} more causes")


def _print_strand(out: Console, strand: Strand, run: RunFolder, names: Names) -> None:
    lines = [moment_line([row], run, names, told_moment) for row in strand.rows]
    if len(lines) > LISTED:
        print_lines(out, lines[: LISTED - LAST], handles=True)
        out.print(f"            ... {len(lines) - LISTED} more ...")
        lines = lines[-LAST:]
    print_lines(out, lines, handles=True)
    if strand.joins is not None:
        out.print(f"            and then {handle_of(strand.joins)}, above")
