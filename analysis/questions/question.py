"""A question: its name, its text, and its answer from result tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from tidegauge.analysis.tables.result_table import Column
from tidegauge.analysis.tables.run_tables import RunTables


class Question(NamedTuple):
    """A question that is answered by a table, with the most important rows first."""

    #: As typed on the command line: ``isr-flapping``.
    name: str
    #: In an operator's words, ending with a question mark.
    asks: str
    columns: tuple[Column, ...]
    #: Returns rows in the order of output; may raise ``QuestionError``.
    answer: Callable[[RunTables], DataFrame]

    def of(self, tables: RunTables) -> DataFrame:
        """The answer for some runs, with exactly the columns that are documented, in their order.

        Raises:
            QuestionError: these runs cannot answer it.
            KeyError, RunError, ScenarioError, OSError: as :meth:`RunTables.make`.
        """
        answer = self.answer(tables)
        return answer.select(*(f.col(name).cast(kind) for name, kind, *_ in self.columns))


def worth_showing(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Columns that are not null in all rows, without the run if there is only one."""
    has_one_run = len({row.get("run") for row in rows}) == 1
    return [
        column
        for column in columns
        if any(row[column.name] is not None for row in rows)
        and not (column.name == "run" and has_one_run)
    ]


class QuestionError(ValueError):
    """These runs cannot answer the question; the message is the reason, in one line."""
