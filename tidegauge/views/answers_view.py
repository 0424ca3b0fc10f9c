"""Answers to questions about runs: tables for a terminal, which fit into its width, and JSON."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tidegauge.analysis.questions.question import Question, worth_showing
from tidegauge.analysis.tables.result_table import Column
from tidegauge.scenario.text.errors import duration_text

#: The space between columns.
_GAP = 2


def column_widths(headings: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The widths of columns: of whole headings if a line has room for all, else of their words."""
    whole = [
        max(len(heading), *(len(row[place]) for row in rows))
        for place, heading in enumerate(headings)
    ]
    return whole if sum(whole) + _GAP * len(whole) <= width else _narrowest(headings, rows)


def _narrowest(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    return [
        max(
            *(len(word) for word in (*heading.split(), "")),
            *(len(row[place]) for row in rows),
        )
        for place, heading in enumerate(headings)
    ]


def table_width(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> int:
    """The width of a table in which only headings are broken, between words."""
    return sum(width + _GAP for width in _narrowest(headings, rows))


def fitting_columns(
    headings: Sequence[str], rows: Sequence[Sequence[str]], width: int, least: int = 1
) -> int:
    """The number of the first columns that fit beside each other.

    Args:
        headings: the headings of all columns.
        rows: the texts of rows, at least one for each column.
        width: the characters of a line.
        least: so many columns are shown in any case.
    """
    fitting = len(headings)
    while fitting > least and table_width(headings[:fitting], rows) > width:
        fitting -= 1
    return fitting


#: The most rows that are shown.
MOST_ROWS = 30
#: Up to this number, rows that are too wide for a table are blocks with all columns; more of them
#: are a table of the first columns.
MOST_BLOCKS = 3

_NOTHING = "-"
#: Numbers below this have two digits, wherever they begin: rates of one in ten thousand runs.
_SMALL = 0.001


class Answer(NamedTuple):
    """A question, and the rows of its answer, a value for each of its columns."""

    question: Question
    rows: Sequence[Mapping[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """The answer for programs; numbers are in the units of their columns."""
        columns = [
            {"name": each.name, "unit": each.unit, "meaning": each.meaning}
            for each in self.question.columns
        ]
        return {
            "question": self.question.name,
            "asks": self.question.asks,
            "columns": columns,
            "rows": list(self.rows),
        }


def print_questions(out: Console, questions: Mapping[str, Question]) -> None:
    """Print all questions with their names."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for question in questions.values():
        table.add_row(question.name, question.asks)
    out.print(table)


def print_answer(out: Console, answer: Answer, runs: Sequence[str]) -> None:
    """Print an answer, and the command that repeats the question.

    A column that adds nothing is left out, such as the run if there is only one.
    """
    question = answer.question
    out.print(f"[bold]{question.asks}[/bold]", highlight=False)
    columns = worth_showing(question.columns, answer.rows)
    titles = [title_of(column) for column in columns]
    rows = answer.rows[:MOST_ROWS]
    texts = [[text_of(column, row[column.name]) for column in columns] for row in rows]
    if not texts:
        out.print("nothing")
    elif len(texts) <= MOST_BLOCKS and table_width(titles, texts) > out.width:
        _print_blocks(out, columns, texts)
    else:
        fitting = fitting_columns(titles, texts, out.width)
        _print_table(out, columns[:fitting], texts)
        if fitting < len(columns):
            out.print(f"[dim]also, in --json: {', '.join(titles[fitting:])}[/]", highlight=False)
    if len(answer.rows) > len(texts):
        more = f"... {len(answer.rows) - len(texts):,} more (--json has all); {question.order}"
        out.print(more, markup=False, soft_wrap=True)
    again = f"tidegauge analyze {shlex.join(runs)} --question {question.name}"
    out.print(f"Again: {again}", markup=False, soft_wrap=True)


def text_of(column: Column, value: Any) -> str:
    """A value with its unit, as text."""
    if value is None:
        return _NOTHING
    if value == 0:
        return "0"
    if column.unit == "us":
        return duration_text(value)
    if column.unit == "ms":
        return duration_text(round(value * 1000))
    if isinstance(value, float):
        is_small = abs(value) < _SMALL
        return f"{value:.2g}" if is_small else f"{value:,.3f}".rstrip("0").rstrip(".")
    is_count = isinstance(value, int) and column.unit != "broker id"
    return f"{value:,}" if is_count else str(value)


def title_of(column: Column) -> str:
    """The name of a column, in words; units stand with the values."""
    return column.name.removesuffix("_us").removesuffix("_ms").replace("_", " ")


def _print_table(out: Console, columns: Sequence[Column], texts: Sequence[Sequence[str]]) -> None:
    table = Table(box=None, pad_edge=False)
    widths = column_widths([title_of(column) for column in columns], texts, out.width)
    for column, width in zip(columns, widths, strict=True):
        if column.type in {"bigint", "double"}:
            table.add_column(title_of(column), justify="right", width=width)
        else:
            # A text may be longer than a line.
            table.add_column(title_of(column), min_width=min(width, out.width // 2))
    for row in texts:
        table.add_row(*map(escape, row[: len(columns)]))
    out.print(table)


def _print_blocks(out: Console, columns: Sequence[Column], texts: Sequence[Sequence[str]]) -> None:
    """Print rows one below the other: they are too wide for a table."""
    for row in texts:
        block = Table(box=None, pad_edge=False, show_header=False)
        for column, text in zip(columns, row, strict=True):
            if text != _NOTHING:
                block.add_row(title_of(column), escape(text), f"[dim]{escape(column.meaning)}[/]")
        out.print(block)
        out.print()
