"""How to have all of this again."""

from __future__ import annotations

from pyspark.sql import DataFrame

from tidegauge.spark_analysis.report.collected import Answers
from tidegauge.spark_analysis.report.one_run import OneRun
from tidegauge.spark_analysis.report.section import Grid, Heading, Section


def asks(_run: OneRun) -> dict[str, DataFrame]:
    """Nothing: it stands in the manifest and the summary."""
    return {}


def tells(run: OneRun, _answers: Answers) -> Section:
    """Commands, and what they should come to."""
    trace = "not known before the end" if run.summary is None else run.summary["trace_sha256"]
    facts = [
        ("Tidegauge", str(run.manifest["tidegauge"])),
        ("scenario, seed", f"{run.scenario['name']}, {run.manifest['seed']}"),
        ("trace", f"{run.manifest['trace']}, schema {run.manifest['schema_version']}"),
        ("trace_sha256", trace),
        ("folder", str(run.run.folder)),
    ]
    return Section(
        "again",
        "How to have it again",
        "The folder of the run holds all that it takes: replay runs it again and compares, to the "
        "last row. The same scenario, seed and release of Tidegauge give the same hash.",
        [Grid([Heading("what"), Heading("is")], facts)],
        [run.command("replay", "RUN"), run.command("analyze", "RUN")],
    )
