"""A question: its name, its text, and its answer from result tables.

The time that belongs to each fault, for questions about single faults.

Many effects of a fault follow its end: sessions expire, replicas catch up. So its time lasts until
the next fault begins, or the run ends.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.result_table import Column
from tidegauge.compiled.errors import TidegaugeError

# ruff: noqa: S608 - queries are put together from texts of these rooms


class Question(NamedTuple):
    """A question that is answered by rows, the most important ones first.

    The order of its rows is total, so that an answer that is cut always shows the same ones.
    """

    #: As typed on the command line: ``isr-flapping``.
    name: str
    #: In an operator's words, ending with a question mark.
    asks: str
    columns: tuple[Column, ...]
    #: Returns a query over result tables, ordered; it may add relations, and may raise
    #: ``QuestionError``.
    answer: Callable[[RunTables], str]
    #: Its order, in words: ``the longest first``.
    order: str

    def of(self, tables: RunTables) -> list[dict[str, Any]]:
        """The answer for some runs, with exactly the columns that are documented, in their order.

        Raises:
            QuestionError: these runs cannot answer it.
            KeyError, RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`.
        """
        columns = ", ".join(f"cast({name} as {kind}) as {name}" for name, kind, *_ in self.columns)
        # DuckDB keeps the order of rows where a query around another one only selects columns.
        return tables.rows(f"select {columns} from (\n{self.answer(tables)}\n) as answered")


def worth_showing(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[Column]:
    """Columns with content in any row, without the run if there is only one."""
    has_one_run = len({row.get("run") for row in rows}) == 1
    return [
        column
        for column in columns
        if any(row[column.name] not in {None, ""} for row in rows)
        and not (column.name == "run" and has_one_run)
    ]


class QuestionError(TidegaugeError):
    """These runs cannot answer the question; the message is the reason, in one line."""


#: A query for each time that a fault was on, with ``next_us``: when another began, or the run's
#: end.
FAULT_WINDOWS = """
    select f.*, coalesce(
        min(f.begin_us) over (
            partition by f.run order by f.begin_us
            range between 1 following and unbounded following
        ),
        runs.ends_us
    ) as next_us
    from faults as f join runs on runs.run = f.run
"""
