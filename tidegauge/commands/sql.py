"""``tidegauge sql``: the rows that a query finds in result tables, for people and programs."""

import csv
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.requests import OF_SEVERAL, common_folder, runs_at
from tidegauge.commands.loading import opened_run
from tidegauge.commands.result_options import SqlOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.quantities import is_moment
from tidegauge.runs.run import TABLES_FOLDER
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.wall_clock import shown_clock
from tidegauge.traces.run_files import is_sweep
from tidegauge.views.output import console, print_json
from tidegauge.views.progress import working

#: Rows that are printed as a table, and those with a line for each column.
_PRINTED = 40
_PRINTED_LONG = 10
#: The space between two columns.
_GAP = 1


def select_rows(options: SqlOptions) -> None:
    """Perform ``tidegauge sql``."""
    if options.as_csv and options.as_json:
        raise TidegaugeError("--csv and --json exclude each other")
    tables = _tables(options)
    with working(f"The tables of {counted(len(tables.runs), 'run')}"):
        found = tables.arrow(options.query)
    rows = found.to_pylist()
    if options.as_json:
        print_json(rows)
    elif options.as_csv:
        writer = csv.writer(sys.stdout, lineterminator="\n")
        writer.writerow(found.column_names)
        writer.writerows(row.values() for row in rows)
    else:
        _print_rows(found.column_names, rows)


def _tables(options: SqlOptions) -> RunTables:
    """The tables of a run, or those of all runs of a sweep, and those of other runs beside them."""
    if not options.others and not is_sweep(options.run):
        return opened_run(options.run, "sql").tables
    paths = [str(options.run), *(options.others or [])]
    found = runs_at(paths)
    return RunTables(found, (common_folder(paths, found) or OF_SEVERAL) / TABLES_FOLDER)


def _print_rows(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    screen = console()
    texts = [[_text(*cell) for cell in row.items()] for row in rows[:_PRINTED]]
    widths = [max(map(len, column)) for column in zip(names, *texts, strict=True)]
    # The last column may be broken into lines: it is often a sentence.
    if sum(widths[:-1]) + min(widths[-1], screen.width // 3) + _GAP * len(widths) <= screen.width:
        shown = len(texts)
        _print_table(screen, names, texts)
    else:
        shown = len(texts[:_PRINTED_LONG])
        _print_long(screen, names, texts[:shown])
    more = f", the first {shown} here (--csv has all)" if len(rows) > shown else ""
    screen.print(f"{counted(len(rows), 'row')}{more}")


def _text(name: str, value: object) -> str:
    """A value; a time of a run from logs also by its wall clock."""
    clock = shown_clock()
    if clock is not None and is_moment(name) and isinstance(value, int):
        return f"{value} ({clock.text(value)})"
    return "" if value is None else str(value)


def _print_table(screen: Console, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, _GAP))
    for name in names[:-1]:
        table.add_column(name, no_wrap=True)
    table.add_column(names[-1], overflow="fold")
    for row in rows:
        table.add_row(*row)
    screen.print(table, markup=False)


def _print_long(screen: Console, names: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a line for each column: all of them do not fit beside each other."""
    width = max(map(len, names))
    for number, row in enumerate(rows, 1):
        screen.print(f"-- row {number}", markup=False)
        for name, text in zip(names, row, strict=True):
            screen.print(f"{name:{width}}  {text}", markup=False, overflow="fold")
