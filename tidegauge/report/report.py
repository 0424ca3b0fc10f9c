"""The report about one run, or the comparison of many."""

from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.report import (
    clients,
    failures,
    faults,
    fidelity,
    headline,
    many_runs,
    partition_story,
)
from tidegauge.report.one_run import OneRun
from tidegauge.report.page import page
from tidegauge.scenario.text.errors import counted
from tidegauge.simulation.wall_clock import show_clock
from tidegauge.traces.run_folder import RunFolder

#: The sections about one run.
SECTIONS = (clients, failures, partition_story, faults, fidelity)

REPORT = "report.html"


def write_report(
    tables: RunTables, folder: Path, begins: Callable[[str], None] = lambda _: None
) -> Path:
    """Write ``report.html`` atomically: a failure leaves an existing file unchanged.

    Args:
        tables: those of the runs of the report.
        folder: the folder of the report.
        begins: called with the name of each next action.

    Returns:
        The file.

    Raises:
        RunError, ScenarioError, TraceError, OSError: as :meth:`RunTables.make`, or the file cannot
            be written.
    """
    tables.make(TABLES, begins)
    begins("the report")
    if len(tables.runs) == 1:
        (found,) = tables.runs
        show_clock(RunFolder(found.folder).wall_clock)
        run = OneRun(tables, found)
        sections = [each.section(run) for each in SECTIONS]
        text = page(f"Tidegauge: {found.name}", headline.result(run), sections)
    else:
        title = f"Tidegauge: {counted(len(tables.runs), 'run')}"
        text = page(title, *many_runs.compared(tables))
    return _written(text, folder / REPORT)


def _written(text: str, file: Path) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile("w", dir=file.parent, suffix=".draft", delete=False) as draft:
        made = Path(draft.name)
        try:
            draft.write(text)
            draft.flush()
            made.chmod(0o644)
            return made.replace(file)
        finally:
            made.unlink(missing_ok=True)
