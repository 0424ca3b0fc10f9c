"""What a section is made by: what it asks of Spark, and what it tells of the answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import DataFrame

from tidegauge.spark_analysis.report.collected import Answers
from tidegauge.spark_analysis.report.one_run import OneRun
from tidegauge.spark_analysis.report.section import Section


class ReportPart(NamedTuple):
    """A section of a report about one run, before anything was asked."""

    #: What it needs, by names of its own. All parts ask at once.
    asks: Callable[[OneRun], dict[str, DataFrame]]
    #: The section.
    tells: Callable[[OneRun, Answers], Section]
