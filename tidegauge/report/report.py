"""The report about one run, or about many and the worst of them, section by section."""

from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.analysis.tables.all_tables import TABLES
from tidegauge.report import (
    clients,
    fidelity,
    headline,
    many_runs,
    notifications,
    partition_story,
    replay,
    timeline,
)
from tidegauge.report.answers import answers
from tidegauge.report.one_run import OneRun
from tidegauge.report.page import page
from tidegauge.report.section import Grid, Heading, Section
from tidegauge.scenario.text.errors import counted


def _again(run: OneRun) -> Section | None:
    """Commands, and their expected results; none for a run that nothing can repeat."""
    if run.is_of_logs:
        return None
    trace = (
        "unknown before the end of the run" if run.summary is None else run.summary["trace_sha256"]
    )
    facts = [
        ("Tidegauge", str(run.manifest["tidegauge"])),
        ("scenario, seed", f"{run.scenario['name']}, {run.manifest['seed']}"),
        ("trace", f"{run.manifest['trace']}, schema {run.manifest['schema_version']}"),
        ("trace_sha256", trace),
        ("folder", str(run.run.folder)),
    ]
    return Section(
        "again",
        "How to repeat the run",
        "The folder of the run is sufficient: replay runs it again and compares all rows. The "
        "same scenario, seed and release of Tidegauge give the same hash.",
        [Grid("What the run is", [Heading("Fact"), Heading("Value")], facts)],
        [run.command("replay", "RUN"), run.command("report", "RUN")],
    )


#: Makes a section of a run, or none if it has no meaning in the run.
MakesSection = Callable[[OneRun], Section | None]

#: Before the answers to questions,
FIRST: tuple[MakesSection, ...] = (
    headline.section,
    clients.section,
    timeline.section,
    replay.section,
    partition_story.section,
)
#: and after them.
LAST: tuple[MakesSection, ...] = (notifications.section, fidelity.section, _again)


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
        title, sections = found.name, about_run(OneRun(tables, found))
    else:
        title, sections = counted(len(tables.runs), "run"), about_runs(tables)
    return _written(page(f"Tidegauge: {title}", sections), folder / REPORT)


def about_runs(tables: RunTables) -> list[Section]:
    """The comparison of settings; then the runs; then all sections about the worst of them."""
    worst = many_runs.worst_runs(tables)
    (run,) = (each for each in tables.runs if each.name == worst[0]["run"])
    in_short, *rest = about_run(OneRun(tables, run))
    in_short = in_short._replace(anchor="worst", title=f"The worst run: {run.name}")
    return [*many_runs.sections(tables, worst), in_short, *rest]


def about_run(run: OneRun) -> list[Section]:
    """All sections about one run."""
    first, last = ([section(run) for section in sections] for sections in (FIRST, LAST))
    return [section for section in (*first, *answers(run), *last) if section is not None]


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
