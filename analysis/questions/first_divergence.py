"""The beginning of the difference between two runs: the first differing row of each process.

Runs of the same scenario and seed have the same canonical rows. If they do not, all that comes
after the first row that differs may follow from it, so that row is listed first. No row: all are
equal.
"""

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
    Column("process", "bigint", "", "the process: first half of the row's handle"),
    Column("sequence", "bigint", "", "its number there: second half of its handle"),
    Column("process_name", "string", "", "name of the process"),
    Column("partition", "bigint", "", "number of the partition that it is about, if any"),
    Column("kind", "string", "", "kind of the row; null: the run has no such row"),
    Column("other_kind", "string", "", "... in the other run"),
    Column("has", "string", "", "values of the row that differ from those in the other run"),
    Column("other_has", "string", "", "... and those of the other run"),
)


def _first_divergence(tables: RunTables) -> str:
    if len(tables.runs) != 2:  # noqa: PLR2004 - the two that are compared
        raise QuestionError(f"first-divergence compares two runs, not {len(tables.runs)}")
    folders = [RunFolder(run.folder) for run in tables.runs]
    names = {
        number: process.name
        for folder in folders
        for number, process in folder.directory.processes.items()
    }
    compared = RunComparison(*folders, canonical=True)
    tables.add(
        "first_differences",
        ", ".join(f"{column.name} {column.type}" for column in _COLUMNS),
        [
            (*(run.name for run in tables.runs), *_told(process, names.get(process), difference))
            for process, difference in compared.by_process.items()
        ],
    )
    return "select * from first_differences order by time_us, process, sequence"


def _told(process: int, name: str | None, difference: Difference) -> tuple[Any, ...]:
    """A difference as a row of the answer, without the runs."""
    rows = [row for row in difference if row is not None]
    has, other_has = (_texts(row) for row in difference)
    partitions = [row["partition"] for row in rows if "partition" in row.columns]
    return (
        min(row["time_us"] for row in rows),
        process,
        min(row["sequence"] for row in rows),
        name,
        max(partitions, default=None),
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
