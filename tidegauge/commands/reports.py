"""``tidegauge report``, ``replay-view`` and ``analyze``: pages, tables."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table

from tidegauge.analysis.making.duckdb_engine import DuckDBEngine
from tidegauge.analysis.making.engine import Engine, ExportedRelations
from tidegauge.analysis.making.engine_choice import (
    DUCKDB,
    ENGINE_NAMES,
    Choice,
    choose,
    is_submitted,
)
from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.questions.question import Question
from tidegauge.analysis.requests import OF_SEVERAL, FoundRun, common_folder, runs_at
from tidegauge.analysis.rows.exported_rows import ExportedRows
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.analysis.tables.run_figures import RUN_FIGURES
from tidegauge.commands.loading import need_spark, opened_run
from tidegauge.commands.result_options import AnalyzeOptions, ReplayViewOptions, ReportOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.report.one_run import OneRun
from tidegauge.report.page import page
from tidegauge.report.replay import section
from tidegauge.report.report import write_report
from tidegauge.scenario.text.errors import counted, did_you_mean
from tidegauge.views import answers_view
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import number_text, working
from tidegauge.views.story_lines import print_notes


def report_run(options: ReportOptions) -> None:
    """Perform ``tidegauge report``."""
    found = runs_at(options.runs)
    folder = options.out or common_folder(options.runs, found) or OF_SEVERAL
    what = f"The tables of {counted(len(found), 'run')}"
    with working(what) as tell:
        tables = RunTables(found, folder / "tables")
        written = write_report(tables, folder, lambda name: tell(f"{what}: {name}"))
    console().print(f"Report: {written}", soft_wrap=True)


_FILE = "replay.html"


def replay_view(options: ReplayViewOptions) -> None:
    """Perform ``tidegauge replay-view``."""
    print_notes(opened_run(options.run, "replay-view"))
    (found,) = runs_at(options.run)
    with working("The tables of partitions and faults"):
        played = section(OneRun(RunTables([found], options.run / "tables"), found))
    file = options.out or options.run / _FILE
    file.write_text(page(f"Replay of {found.name}", [], [played]))
    console().print(f"Replay: {file}", soft_wrap=True)


#: The columns of the table of figures beside the name of a run, the most important ones first.
_FIGURES = {
    "records_acknowledged_lost": "records lost",
    "records_acknowledged": "of acknowledged",
    "partition_seconds_stalled": "stalled s",
    "partition_seconds_offline": "offline s",
    "partition_seconds_under_min_isr": "under min ISR s",
    "leader_elections": "elections",
    "unclean_elections": "unclean",
    "isr_shrinks": "ISR shrinks",
    "isr_expands": "expands",
}
#: Names of runs are not broken below this.
_SHORTEST = 16


def analyze_runs(options: AnalyzeOptions) -> None:
    """Perform ``tidegauge analyze``."""
    if options.list_questions:
        answers_view.print_questions(console(), QUESTIONS)
        return
    if not options.runs:
        raise TidegaugeError("RUN is missing: folders of runs or of sweeps, or 'runs/*'")
    asked, named = options.questions or [], options.tables or []
    _check_names("--table", "table", named, TABLES)
    _check_names("--question", "question", asked, QUESTIONS)
    _check_names("--engine", "engine", [options.engine or DUCKDB], ENGINE_NAMES)
    found = runs_at(options.runs)
    rows = None if options.rows is None else ExportedRows(options.rows, found)
    folder = (options.out or common_folder(options.runs, found) or OF_SEVERAL) / "tables"
    choice = choose(found, asked=options.engine, has_session=is_submitted())
    what = f"{ENGINE_NAMES[choice.engine]} makes the tables of {counted(len(found), 'run')}"
    typer.echo(f"{what}: {choice.reason}", err=True)
    with (
        report(as_json=options.as_json),
        working(what) as tell,
        _engine(choice, found, rows, options.cores) as engine,
    ):
        made = RunTables(found, folder, engine)

        def begins(name: str) -> None:
            tell(f"{what}: {name}")

        answers = [_answered(QUESTIONS[name], made, begins) for name in asked]
        figures = [] if asked and not named else _figures(named or TABLES, made, begins)
        written = None if asked or named else write_report(made, folder.parent, begins)
    with report(as_json=options.as_json):
        for answer in answers:
            answers_view.print_answer(console(), answer, options.runs)
        if figures:
            _show(console(), figures, folder)
        if written is not None:
            console().print(f"Report: {written}", soft_wrap=True)
    if options.as_json:
        print_json([each.as_json() for each in answers] if answers else figures)


@contextmanager
def _engine(
    choice: Choice, runs: Sequence[FoundRun], rows: ExportedRows | None, cores: int | None
) -> Iterator[Engine]:
    """The chosen engine, while the context lasts; it reads exported rows if there are any."""
    if choice.engine == DUCKDB:
        yield DuckDBEngine() if rows is None else DuckDBEngine(partial(ExportedRelations, rows))
        return
    need_spark("analyze with Spark")
    from tidegauge.spark_analysis.engine import spark_engine  # noqa: PLC0415 - it needs Spark

    with spark_engine(runs, cores, rows) as engine:
        yield engine


def _check_names(option: str, what: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in known:
            raise TidegaugeError(
                f"{option} {name}: no such {what}; {did_you_mean(name, list(known))}"
            )


def _answered(
    question: Question, made: RunTables, begins: Callable[[str], None]
) -> answers_view.Answer:
    """Make the tables that a question needs, and return its answer."""
    begins(question.name)
    return answers_view.Answer(question, question.of(made))


def _figures(
    names: Iterable[str], made: RunTables, begins: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Make these tables, and return the figures of all runs."""
    made.make(dict.fromkeys([RUN_FIGURES.name, *names]), begins)
    return made.rows("select * from run_figures order by run")


def _text(figure: float | None) -> str:
    """A figure; the logs of a real cluster do not have all of them."""
    return "-" if figure is None else number_text(figure)


def _show(out: Console, figures: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Print a line for each run, with as many figures as fit beside its name."""
    titles = ["", *_FIGURES.values()]
    shown = figures[: answers_view.MOST_ROWS]
    rows = [[str(row["run"]), *(_text(row[name]) for name in _FIGURES)] for row in shown]
    longest = max(len(row[0]) for row in rows)
    # A longer name is broken, so that figures have some of the width.
    of_name = min(longest, max(_SHORTEST, out.width // 2))
    texts = [["-" * of_name, *row[1:]] for row in rows]
    fitting = answers_view.fitting_columns(titles, texts, out.width)
    table = Table(box=None, pad_edge=False)
    table.add_column("run", overflow="fold", width=of_name)
    widths = answers_view.column_widths(titles[:fitting], texts, out.width)
    for title, width in zip(titles[1:fitting], widths[1:], strict=True):
        table.add_column(title, justify="right", width=width)
    for row in rows:
        table.add_row(*row[:fitting])
    out.print(table)
    if fitting < len(titles):
        out.print(f"[dim]also, in --json: {', '.join(titles[fitting:])}[/]", highlight=False)
    if len(figures) > answers_view.MOST_ROWS:
        out.print(f"... {len(figures) - answers_view.MOST_ROWS:,} more (--json has all)")
    out.print(f"Tables: {folder}", soft_wrap=True)
