"""Every question about a run, with the first rows of its answer.

A question whose answer is seen better in a picture has one in :data:`PICTURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame

from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.questions.question import Question, QuestionError, worth_showing
from tidegauge.analysis.report.collected import Answers
from tidegauge.analysis.report.failovers import SAYS as OF_FAILOVERS
from tidegauge.analysis.report.failovers import failover_bars
from tidegauge.analysis.report.quantities import value_text
from tidegauge.analysis.report.section import (
    Chart,
    Glossary,
    Grid,
    Heading,
    Piece,
    Section,
    Words,
)
from tidegauge.analysis.report.unavailability import SAYS as OF_TOPICS
from tidegauge.analysis.report.unavailability import unavailable_topics
from tidegauge.analysis.tables.result_table import Column
from tidegauge.analysis.tables.run_tables import RunTables

#: Number of rows of an answer in the report; the command shows all.
MOST_ROWS = 20
_IN_GENERAL = "The meanings of the columns are folded up below the table. Times are virtual time."
_NUMBERS = frozenset({"bigint", "double"})


class Picture(NamedTuple):
    """The picture of an answer."""

    #: How to read it.
    says: str
    #: Draws rows of the answer, of which there is at least one; None: not worth a picture.
    draw: Callable[[Sequence[Mapping[str, Any]]], Chart | None]


PICTURES = {
    "failover-budget": Picture(OF_FAILOVERS, failover_bars),
    "unavailability": Picture(OF_TOPICS, unavailable_topics),
}


def asked(tables: RunTables, names: Sequence[str]) -> dict[str, DataFrame]:
    """The first rows of the answers to these questions; those that have none are left out."""
    return {f"question {name}": rows for name, rows in _asked(tables, names)}


def _asked(tables: RunTables, names: Sequence[str]) -> Iterator[tuple[str, DataFrame]]:
    for name in names:
        try:
            yield name, QUESTIONS[name].of(tables).limit(MOST_ROWS + 1)
        except QuestionError:
            continue


def told(answers: Answers, names: Sequence[str], again: Callable[..., str]) -> Iterator[Section]:
    """A section for each question that was answered.

    Args:
        answers: the results of :func:`asked`.
        names: of the questions.
        again: makes a command of words, ``RUN`` among them.
    """
    for name in names:
        if f"question {name}" in answers:
            rows = answers[f"question {name}"].to_pylist()
            yield _section(QUESTIONS[name], rows, again("analyze", "RUN", "--question", name))


def _section(question: Question, rows: Sequence[Mapping[str, Any]], command: str) -> Section:
    picture = PICTURES.get(question.name)
    says = _IN_GENERAL if picture is None else picture.says
    pieces: list[Piece] = []
    if not rows:
        pieces.append(Words("No rows: the run has recorded none of this."))
    else:
        columns = worth_showing(question.columns, rows)
        chart = None if picture is None else picture.draw(rows[:MOST_ROWS])
        if chart is not None:
            pieces.append(chart)
        pieces.append(grid(columns, rows[:MOST_ROWS]))
        if len(rows) > MOST_ROWS:
            pieces.append(Words(f"The first {MOST_ROWS} rows; the command has all.", "note"))
        pieces.append(glossary(columns))
    return Section(question.name, question.asks, says, pieces, [command])


def grid(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Rows of a table with documented columns, as texts."""
    return Grid(
        [Heading(_title(c), c.meaning, is_number=c.type in _NUMBERS) for c in columns],
        [[value_text(row[c.name], c.unit, c.name) for c in columns] for row in rows],
    )


def glossary(columns: Sequence[Column]) -> Glossary:
    """The meanings of the columns of :func:`grid`."""
    return Glossary([(_title(each), each.meaning) for each in columns])


def _title(column: Column) -> str:
    """A column's name in words: what its values have a unit for need not be said again."""
    name = column.name.removesuffix("_us") if column.unit == "us" else column.name
    return name.replace("_", " ")
