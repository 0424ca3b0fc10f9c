"""The output of ``tidegauge blame``: figures split among faults, and words about each fault."""

import shlex
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegauge.runs.fault_costs import FaultCosts, FigureCosts
from tidegauge.runs.told_costs import cells_of, headings_of, sentences_of, title_of
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import print_hanging

#: Labels are broken in a column of this width at least.
_LABEL_WIDTH = 28
#: The space between columns.
_GAP = 2


def show_blame(
    out: Console, run: RunFolder, costs: FaultCosts, figures: Sequence[FigureCosts]
) -> None:
    """Print how figures are split among the faults of a run.

    Args:
        out: the output.
        run: the run.
        costs: the costs of its faults.
        figures: the figures that are shown.
    """
    out.print(title_of(costs), soft_wrap=True, markup=False)
    if len(costs.seeds) > 1:
        out.print("Each is the median over the seeds, with the least and the most of them.")
    if not figures:
        out.print("No figure differs: these faults cost nothing.")
        return
    out.print()
    rows = [[*cells_of(costs, each)] for each in figures]
    columns = zip(headings_of(costs), *rows, strict=True)
    room = out.width - sum(_GAP + max(map(len, column)) for column in columns)
    if room >= _LABEL_WIDTH:
        out.print(_table(costs, figures, rows, room))
    else:
        _print_blocks(out, costs, figures, rows)
    out.print()
    for subject, said in sentences_of(costs, figures):
        print_hanging(out, f"{subject}: ", said)
    more = sum(each.differs for each in costs.figures.values()) - len(figures)
    if more > 0:
        noun = "figure differs" if more == 1 else "figures differ"
        out.print(f"{more} more {noun}: --all shows all", style="dim", soft_wrap=True)
    out.print(f"Next: tidegauge report {shlex.quote(str(run.path))}", soft_wrap=True, markup=False)


def _table(
    costs: FaultCosts, figures: Sequence[FigureCosts], rows: Sequence[Sequence[str]], room: int
) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, _GAP, 0, 0))
    table.add_column("figure", max_width=room)
    for heading in headings_of(costs):
        table.add_column(escape(heading), justify="right", no_wrap=True)
    for each, row in zip(figures, rows, strict=True):
        table.add_row(escape(each.label), *row)
    return table


def _print_blocks(
    out: Console,
    costs: FaultCosts,
    figures: Sequence[FigureCosts],
    rows: Sequence[Sequence[str]],
) -> None:
    """Print figures below each other: their parts are too many for a table."""
    for each, (whole, none, *parts) in zip(figures, rows, strict=True):
        print_hanging(out, "", f"{each.label}: {whole} with all, {none} with none")
        names = [*(f"{fault} alone" for fault in costs.faults), "together"]
        said = (f"{name} {part}" for name, part in zip(names, parts, strict=False) if part != "0")
        print_hanging(out, "  ", "; ".join(said) or "no fault alone changes it")
