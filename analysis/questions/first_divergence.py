"""The beginning of the difference between two runs: the first differing row of each process.

Runs of the same scenario and seed have the same canonical rows. If they do not, all that comes
after the first row that differs may follow from it, so that row is listed first. No row: all are
equal.
"""

from collections.abc import Sequence
from typing import Any

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.questions.question import Question, QuestionError
from tidegauge.analysis.tables.result_table import RUN, Column
from tidegauge.traces.run_comparison import Difference, RunComparison
from tidegauge.traces.run_folder import RunFolder, TraceRow

#: The columns of a row that are its number, and not compared.
_NUMBER = ("process", "sequence", "minor")

_COLUMNS = (
    RUN,
    Column("other_run", "string", "", "the run that it is compared with"),
    Column("time_us", "bigint", "us", "when the first row of a process was written that differs"),
    Column("process", "string", "", "its process"),
    Column("handle", "string", "", "its handle for show cause"),
    Column("partition", "string", "", "the partition that it is about, if any"),
    Column("kind", "string", "", "kind of the row; null: the run has no such row"),
    Column("other_kind", "string", "", "... in the other run"),
    Column("has", "string", "", "integers of the row, as written, that differ in the other run"),
    Column("other_has", "string", "", "... and those of the other run"),
)


def _first_divergence(tables: RunTables) -> str:
    if len(tables.runs) != 2:  # noqa: PLR2004 - the two that are compared
        raise QuestionError(f"first-divergence compares two runs, not {len(tables.runs)}")
    folders = [RunFolder(run.folder) for run in tables.runs]
    compared = RunComparison(*folders, canonical=True)
    tables.add(
        "first_differences",
        ", ".join(f"{column.name} {column.type}" for column in _COLUMNS),
        [
            (*(run.name for run in tables.runs), *_told(folders, difference))
            for difference in compared.by_process.values()
        ],
    )
    return "select * from first_differences order by time_us, process, handle"


def _told(runs: Sequence[RunFolder], difference: Difference) -> tuple[Any, ...]:
    """A difference as a row of the answer, without the runs."""
    has, other_has = (_texts(row) for row in difference)
    names, row = min(
        (
            (run.directory, row)
            for run, row in zip(runs, difference, strict=True)
            if row is not None
        ),
        key=lambda each: each[1].place,
    )
    return (
        row["time_us"],
        names.process(row["process"]),
        row.handle,
        names.partition(row["partition"]) if row.columns.get("partition", -1) >= 0 else None,
        *(row and row.kind for row in difference),
        ", ".join(each for each in has if each not in other_has),
        ", ".join(each for each in other_has if each not in has),
    )


def _texts(row: TraceRow | None) -> list[str]:
    """The values of a row as ``name=value``, with its time and its cause."""
    columns = {} if row is None else row.columns
    return [f"{name}={value}" for name, value in columns.items() if name not in _NUMBER]


FIRST_DIVERGENCE = Question(
    "first-divergence",
    "Where do two runs begin to differ?",
    _COLUMNS,
    _first_divergence,
    "the earliest first",
)
