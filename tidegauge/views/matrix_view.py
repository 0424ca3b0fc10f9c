"""The output of ``tidegauge ablations``: a line for each rule, a column for each check."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegauge.replication.ablations import DIVERGENCE
from tidegauge.search.ablation_matrix import MatrixRow
from tidegauge.views.output import print_hanging


def show_matrix(out: Console, rows: Sequence[MatrixRow], folder: Path | None, seed: int) -> None:
    """Print the matrix: schedules until a check broke, and what is not as the model has it."""
    others = sorted({check for row in rows for check in row.cells} - {*DIVERGENCE})
    checks = [*DIVERGENCE, *others]
    table = Table(box=None, pad_edge=False)
    table.add_column("without the rule")
    for check in checks:
        table.add_column(check, justify="right")
    table.add_column("schedules", justify="right")
    for row in rows:
        cells = [_cell(row, check) for check in checks]
        table.add_row(row.name, *cells, f"{row.runs:,} in {row.took_s:.0f} s")
    out.print(table)
    out.print()
    print_hanging(
        out,
        "",
        f"A number is that of the schedules until the check broke, seed {seed}; ?: expected, and "
        "not found in the time; -: not expected.",
    )
    for row in rows:
        if not row.is_as_expected:
            expected = "breaks nothing" if not row.ablation.breaks else "is necessary"
            print_hanging(out, "Not as expected: ", f"{row.name} {expected} in the model")
    if folder is not None:
        print_hanging(out, "Scenarios: ", f"{folder}/RULE/CHECK.yaml, each with its run beside it")


def _cell(row: MatrixRow, check: str) -> str:
    if check in row.cells:
        return f"{row.cells[check].runs:,}"
    return "?" if check in row.ablation.breaks else "-"


def matrix_for_programs(rows: Sequence[MatrixRow], seed: int) -> dict[str, Any]:
    """The same for programs."""
    return {
        "seed": seed,
        "rules": [
            {
                "rule": row.name,
                "meaning": row.ablation.meaning,
                "release": row.ablation.release,
                "mode": row.ablation.mode,
                "expected": list(row.ablation.breaks),
                "is_as_expected": row.is_as_expected,
                "schedules": row.runs,
                "seconds": round(row.took_s, 1),
                "broken": {check: cell.runs for check, cell in row.cells.items()},
                "missing": row.missing,
                "surplus": row.surplus,
            }
            for row in rows
        ],
    }
