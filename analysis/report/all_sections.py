"""The sections of a report about a run, top to bottom."""

from __future__ import annotations

from tidegauge.analysis.report import (
    again,
    fidelity,
    headline,
    notifications,
    partition_story,
    timeline,
)
from tidegauge.analysis.report.part import ReportPart

#: Before the answers to questions,
FIRST = tuple(
    ReportPart(each.asks, each.tells)
    for each in (headline, timeline, partition_story, notifications)
)
#: and after them.
LAST = tuple(ReportPart(each.asks, each.tells) for each in (fidelity, again))
