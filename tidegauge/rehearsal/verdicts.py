"""The verdicts on alerts in an incident: their times, compared with its expectations."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from tidegauge.rehearsal.alerts import Alert
from tidegauge.rehearsal.promtool import Course, Spell
from tidegauge.scenario.model.scenario import AlertExpectations


class Verdict(StrEnum):
    """The verdict on an alert in an incident."""

    #: It fired, and was resolved, as expected.
    FIRED = "fired in time"
    #: It was expected to stay silent, and did.
    SILENT = "stayed silent"
    #: The incident has no expectation of it.
    NOT_JUDGED = "not judged"
    #: The metrics that it reads are not served.
    NOT_SIMULATED = "not simulated"
    # Verdicts that differ from the expectation:
    MISSED = "never fired"
    LATE = "late"
    #: It fired before the trouble began.
    TOO_EARLY = "too early"
    #: It was expected to stay silent, but fired.
    MISFIRE = "misfire"
    NOT_CLEARED = "fired too long"

    @property
    def is_failure(self) -> bool:
        """Whether an expectation of the incident was not met."""
        return self in _FAILURES


_FAILURES = {Verdict.MISSED, Verdict.LATE, Verdict.TOO_EARLY, Verdict.MISFIRE, Verdict.NOT_CLEARED}


class IncidentPlan(NamedTuple):
    """The expectations of an incident, and the times of its trouble."""

    name: str
    duration_us: int
    #: The start and the end of the trouble; None: never, or unknown.
    begins_us: int | None
    ends_us: int | None
    expected: AlertExpectations


class Judged(NamedTuple):
    """An alert in an incident."""

    alert: str
    verdict: Verdict
    #: The expectation in words; empty if there is none.
    expected: str
    firing: Sequence[Spell]
    pending: Sequence[Spell]
    #: The time of its first firing, counted from the beginning of the trouble, if it fired after
    #: that.
    late_us: int | None
    #: The total time of its firing.
    fired_us: int
    #: The time from the end of the trouble to its last firing; None if it never fired, or fired to
    #: the end.
    cleared_us: int | None


def judge(
    incident: IncidentPlan, alerts: Iterable[Alert], courses: Mapping[str, Course]
) -> list[Judged]:
    """The verdict on each alert, from the times of those that were pending or fired."""
    return [_judged(incident, alert, courses.get(alert.name, Course())) for alert in alerts]


def _judged(incident: IncidentPlan, alert: Alert, course: Course) -> Judged:
    first_us = course.firing[0].begin_us if course.firing else None
    last_us = course.firing[-1].end_us if course.firing else None
    since_us = incident.begins_us
    late_us = None
    if first_us is not None and since_us is not None and first_us >= since_us:
        late_us = first_us - since_us
    cleared_us = None
    if last_us is not None and incident.ends_us is not None:
        cleared_us = max(0, last_us - incident.ends_us)
    return Judged(
        alert.name,
        _verdict(incident, alert, course, late_us),
        _expectation(incident.expected, alert.name),
        course.firing,
        course.pending,
        late_us,
        sum(
            (incident.duration_us if s.end_us is None else s.end_us) - s.begin_us
            for s in course.firing
        ),
        cleared_us,
    )


def _verdict(incident: IncidentPlan, alert: Alert, course: Course, late_us: int | None) -> Verdict:
    expected = incident.expected
    if not alert.is_simulated:
        return Verdict.NOT_SIMULATED
    if alert.name in expected.fire:
        return _verdict_of_firing(incident, alert.name, course, late_us)
    if not expected.stays_silent(alert.name):
        return Verdict.NOT_JUDGED
    return Verdict.MISFIRE if course.firing else Verdict.SILENT


def _verdict_of_firing(
    incident: IncidentPlan, name: str, course: Course, late_us: int | None
) -> Verdict:
    expected = incident.expected
    if not course.firing:
        return Verdict.MISSED
    if late_us is None:
        return Verdict.TOO_EARLY
    if late_us > expected.fire[name]:
        return Verdict.LATE
    if name in expected.clear and incident.ends_us is not None:
        due_us = incident.ends_us + expected.clear[name]
        if any(spell.end_us is None or spell.end_us > due_us for spell in course.firing):
            return Verdict.NOT_CLEARED
    return Verdict.FIRED


def _expectation(expected: AlertExpectations, name: str) -> str:
    if name not in expected.fire:
        return "silent" if expected.stays_silent(name) else ""
    text = f"within {duration_text(expected.fire[name])}"
    if name in expected.clear:
        text += f", over in {duration_text(expected.clear[name])}"
    return text


def duration_text(duration_us: int) -> str:
    """A duration to the second, as Prometheus writes it: 45s, 5m30s, 1h."""
    minutes, seconds = divmod(round(duration_us / 1e6), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
