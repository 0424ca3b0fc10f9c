"""Every question about a run, with the first rows of its answer.

A question whose answer is seen better in a picture has one in :data:`PICTURES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.analysis.questions.all_questions import QUESTIONS
from tidegauge.analysis.questions.question import Question, QuestionError, worth_showing
from tidegauge.analysis.tables.result_table import Column
from tidegauge.report.failovers import SAYS as OF_FAILOVERS
from tidegauge.report.failovers import failover_bars
from tidegauge.report.one_run import OneRun
from tidegauge.report.quantities import column_title, value_text
from tidegauge.report.section import Chart, Glossary, Grid, Heading, Piece, Section, Words
from tidegauge.report.unavailability import SAYS as OF_TOPICS
from tidegauge.report.unavailability import unavailable_topics
from tidegauge.scenario.text.errors import counted

#: Number of rows of an answer in the report; the command shows all.
MOST_ROWS = 20
_IN_GENERAL = "The meanings of the columns are folded up below the table. Times are virtual time."
#: Questions about several runs, without an answer for a single one.
_OF_SEVERAL = frozenset({"sweep", "first-divergence"})
_NUMBERS = frozenset({"bigint", "double"})


class Picture(NamedTuple):
    """The picture of an answer."""

    #: How to read it.
    says: str
    #: Draws all rows of the answer, of which there is at least one; None: not worth a picture.
    draw: Callable[[Sequence[Mapping[str, Any]]], Chart | None]


PICTURES = {
    "failover-budget": Picture(OF_FAILOVERS, failover_bars),
    "unavailability": Picture(OF_TOPICS, unavailable_topics),
}


def answers(run: OneRun) -> Iterator[Section]:
    """A section for each question about a single run that this one can answer."""
    for name, question in QUESTIONS.items():
        if name in _OF_SEVERAL:
            continue
        try:
            rows = question.of(run.tables)
        except QuestionError:
            continue
        yield _section(question, rows, run.command("analyze", "RUN", "--question", name))


def _section(question: Question, rows: Sequence[Mapping[str, Any]], command: str) -> Section:
    picture = PICTURES.get(question.name)
    says = _IN_GENERAL if picture is None else picture.says
    pieces: list[Piece] = []
    if not rows:
        pieces.append(Words("No rows: the run has recorded none of this."))
    else:
        columns = worth_showing(question.columns, rows)
        chart = None if picture is None else picture.draw(rows)
        if chart is not None:
            pieces.append(chart)
        pieces.append(grid(question.asks, columns, rows[:MOST_ROWS]))
        if len(rows) > MOST_ROWS:
            of_all = f"The first {MOST_ROWS} of {counted(len(rows), 'row')}"
            pieces.append(Words(f"{of_all}: {question.order}.", "note"))
        pieces.append(glossary(columns))
    return Section(question.name, question.asks, says, pieces, [command])


def grid(label: str, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> Grid:
    """Rows of a table with documented columns, as texts."""
    return Grid(
        label,
        [Heading(column_title(c), c.meaning, is_number=c.type in _NUMBERS) for c in columns],
        [[value_text(row[c.name], c.unit, c.name) for c in columns] for row in rows],
    )


def glossary(columns: Sequence[Column]) -> Glossary:
    """The meanings of the columns of :func:`grid`."""
    return Glossary([(column_title(each), each.meaning) for each in columns])
