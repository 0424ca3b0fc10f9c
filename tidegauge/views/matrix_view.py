"""The output of ``tidegauge ablations``: a block for each rule, a line for each check."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from tidegauge.scenario.text.errors import counted
from tidegauge.search.ablation_matrix import MatrixRow
from tidegauge.views.output import print_hanging


def show_matrix(out: Console, rows: Sequence[MatrixRow], folder: Path | None, seed: int) -> None:
    """Print the matrix: schedules until a check broke, and what is not as the model has it."""
    for row in rows:
        release = f"{row.ablation.release} with {row.ablation.mode}"
        tried = f"{counted(row.runs, 'schedule')} in {row.took_s:.0f} s"
        out.print(f"{row.name}   {release}, {tried}", style="bold", soft_wrap=True)
        for line in _lines(row):
            print_hanging(out, "  ", line)
    out.print()
    necessary = [row for row in rows if row.ablation.breaks]
    found = sum(row.is_as_expected for row in necessary)
    print_hanging(
        out, "", f"{found} of {len(necessary)} necessary rules were found to be, seed {seed}"
    )
    for row in rows:
        if not row.is_as_expected:
            expected = "is necessary" if row.ablation.breaks else "breaks nothing"
            print_hanging(out, "Not as expected: ", f"{row.name} {expected} in the model")
    if folder is not None:
        print_hanging(out, "Scenarios: ", f"{folder}/RULE/CHECK.yaml, each with its run beside it")


def _lines(row: MatrixRow) -> Iterator[str]:
    for check in (*row.ablation.breaks, *row.surplus):
        cell = row.cells.get(check)
        if cell is None:
            yield f"{check}: not found in this time"
        else:
            also = ", which the model does not say" if row.ablation.model else ", as well"
            also = "" if check in row.ablation.breaks else also
            yield f"{check}: broken by schedule {cell.runs:,}{also}"
    if not row.ablation.breaks and not row.cells:
        yield "nothing breaks, as expected"


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
