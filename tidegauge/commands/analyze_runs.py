"""``tidegauge analyze``: result tables of recorded runs, made by Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tidegauge.commands.output import console, fail, print_json, report
from tidegauge.simulation.scenario_errors import did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

#: Of the table of figures, those that fit on a line beside the name of a run.
_FIGURES = {
    "isr_shrinks": "ISR shrinks",
    "isr_expands": "expands",
    "leader_elections": "elections",
    "unclean_elections": "unclean",
    "partition_seconds_offline": "offline s",
    "partition_seconds_under_min_isr": "under min ISR s",
    "records_acknowledged": "acknowledged",
    "records_acknowledged_lost": "lost",
}
_OF_SEVERAL = Path("analysis")


def analyze_runs(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Folders of runs, or 'runs/*'.")
    ],
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where tables/ comes. Default: the folder of the run; analysis/ for several runs.",
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table", metavar="NAME", help="Only this table; repeat it. Default: all of them."
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option("--cores", min=1, help="Default: all of this machine.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print the figures; all else goes to standard error."),
    ] = False,
) -> None:
    """Make result tables of recorded runs with Spark, and tell their figures.

    Tables are Parquet, a folder for each run: intervals of ISRs, leaders and of what was offline or
    under min ISR, elections with where the time went, notifications, truncations, acknowledged and
    lost records with their cause, faults. TABLES.md in spark_analysis/ says what their columns
    mean. Runs that are still going are read as far as they are.

    Spark runs by itself on this machine, with its Java (17 or later); under spark-submit it is that
    session's cluster.

    \b
    Examples:
      tidegauge analyze runs/first
      tidegauge analyze 'runs/*' --out analysis
      tidegauge analyze runs/first --table elections --table lost
    """
    from tidegauge.simulation.run_files import RunError
    from tidegauge.spark_analysis.analysis import analyze
    from tidegauge.spark_analysis.java import JavaError
    from tidegauge.spark_analysis.run_paths import runs_at
    from tidegauge.spark_analysis.tables.all_tables import TABLES

    names = tables or list(TABLES)
    for name in names:
        if name not in TABLES:
            fail(f"--table {name}: no such table; {did_you_mean(name, list(TABLES))}")
    try:
        found = runs_at(runs)
        folder = (out or (found[0].folder if len(found) == 1 else _OF_SEVERAL)) / "tables"
        with report(as_json=as_json):
            what = f"Spark makes {len(names)} tables, runs: {len(found)}"
            with console().status(what):
                figures = analyze(runs, folder, names, cores)
            _show(console(), figures, folder)
    except (RunError, JavaError, ValueError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename}: cannot be written to: {error.strerror}")
    if as_json:
        print_json(figures)


def _show(out: Console, figures: Sequence[Mapping[str, Any]], folder: Path) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("run", overflow="fold")
    for title in _FIGURES.values():
        table.add_column(title, justify="right")
    for row in figures:
        table.add_row(str(row["run"]), *(f"{row[name]:,}" for name in _FIGURES))
    out.print(table)
    out.print(f"Tables: {folder}")
