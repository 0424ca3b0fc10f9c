"""A part of the report: its queries to Spark, and the section made of their results."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from pyspark.sql import DataFrame

from tidegauge.analysis.report.collected import Answers
from tidegauge.analysis.report.one_run import OneRun
from tidegauge.analysis.report.section import Section


class ReportPart(NamedTuple):
    """A section of a report about one run, before its queries."""

    #: Its queries, by names of its own. All parts send them at once.
    asks: Callable[[OneRun], dict[str, DataFrame]]
    #: The section.
    tells: Callable[[OneRun, Answers], Section]
