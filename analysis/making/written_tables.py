"""Tables as files: made where they are missing, in groups of runs, put in place as a whole.

The list of groups (``grouped_files.py``) says of which trace the tables of a run were made, and by
which rules. Tables that are there are not made again, unless one of the two is another one now; the
trace of a run that is still going is another one as it grows.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path

from tidegauge.analysis import attribution, causes, cluster_course, fault_reach
from tidegauge.analysis.making.engine import Engine, sql_of
from tidegauge.analysis.making.grouped_files import (
    MadeOf,
    complete_groups_in,
    draft_in,
    put_groups,
    relations_of,
)
from tidegauge.analysis.requests import FoundRun
from tidegauge.analysis.rows.exported_rows import trace_of
from tidegauge.analysis.tables import topology
from tidegauge.analysis.tables.all_tables import TABLES, VIEWS
from tidegauge.analysis.tables.dialect import DUCKDB, SPARK
from tidegauge.analysis.tables.result_table import ResultTable

#: The input that names the trace of a complete run.
_TRACE = "trace_sha256"


def made_of(runs: Sequence[FoundRun]) -> dict[FoundRun, MadeOf]:
    """The inputs of the tables of each run, as of its current trace.

    Raises:
        RunError: a summary cannot be read.
    """
    return {run: {**trace_of(run), "tables_sha256": _sources()} for run in runs}


def write_tables(
    engine: Engine,
    made_of: Mapping[FoundRun, MadeOf],
    folder: Path,
    names: Iterable[str],
    begins: Callable[[str], None] = lambda _: None,
) -> None:
    """Make the missing tables of runs, as of their current traces.

    Missing tables are made together. They are put in place when all are complete, so that a reader
    never sees half of a table.

    Args:
        engine: makes them.
        made_of: the runs, as :func:`made_of` found them.
        folder: the folder of the tables; executors of a cluster must see it, too.
        names: the names of the tables.
        begins: called with the name of each missing table as its making begins.

    Raises:
        KeyError: the table does not exist.
        RunError: a run or the list of tables cannot be read.
        ScenarioError: this Tidegauge cannot read the scenario of a manifest.
        OSError: the tables cannot be written.
    """
    tables = [TABLES[name] for name in names]
    for (missing, _), runs in _runs_by_missing(made_of, folder, tables).items():
        with draft_in(folder) as draft:
            groups = engine.write(runs, [TABLES[name] for name in missing], draft, begins)
            inputs = [{run.name: made_of[run] for run in group} for group in groups]
            put_groups(folder, draft, inputs, missing)


def _runs_by_missing(
    made_of: Mapping[FoundRun, MadeOf], folder: Path, tables: Sequence[ResultTable]
) -> dict[tuple[tuple[str, ...], bool], list[FoundRun]]:
    """The runs that lack tables, by the tables that they lack, and whether they are complete.

    Groups of complete runs stay when the trace of another run has grown.
    """
    there = complete_groups_in(folder)
    lacking: dict[tuple[tuple[str, ...], bool], list[FoundRun]] = {}
    for run, of_run in made_of.items():
        has = relations_of(there, run.name, of_run)
        missing = tuple(table.name for table in tables if table.name not in has)
        if missing:
            lacking.setdefault((missing, _TRACE in of_run), []).append(run)
    return lacking


@cache
def _sources() -> str:
    """A hash of all sources that make tables."""
    found = hashlib.sha256()
    for name in sorted({*TABLES, *VIEWS}):
        found.update((sql_of(name) or "").encode())
    for text in (*DUCKDB, *SPARK, *(name for table in TABLES.values() for name in table.order)):
        found.update(text.encode())
    for module in (causes, attribution, cluster_course, fault_reach, topology):
        found.update(Path(str(module.__file__)).read_bytes())
    return found.hexdigest()
