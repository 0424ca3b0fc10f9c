"""The sections of a report about a run, top to bottom: as an operator asks."""

from __future__ import annotations

from collections.abc import Callable

from tidegauge.report import (
    again,
    clients,
    fidelity,
    headline,
    notifications,
    partition_story,
    replay,
    timeline,
)
from tidegauge.report.one_run import OneRun
from tidegauge.report.section import Section

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
LAST: tuple[MakesSection, ...] = (notifications.section, fidelity.section, again.section)
