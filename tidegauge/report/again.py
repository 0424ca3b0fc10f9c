"""The section with the commands that repeat the run."""

from __future__ import annotations

from tidegauge.report.one_run import OneRun
from tidegauge.report.section import Grid, Heading, Section


def section(run: OneRun) -> Section | None:
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
