"""The verdicts on alerts in an incident: their times, compared with its expectations."""

from collections.abc import Collection, Iterable, Mapping, Sequence
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
    #: It was pending in time; the trouble ended before the `for` of the rule did.
    TOO_SHORT = "shorter than for"
    #: It reads a metric that is not simulated, or none.
    NOT_SIMULATED = "not simulated"
    #: It reads a metric by a name that the exporter never makes.
    NEVER_EXPORTED = "never exported"
    #: It reads a misspelt metric.
    MISSPELT = "misspelt metric"
    #: It reads a metric that exists only in the other mode, or in later releases.
    NOT_EXPORTED_HERE = "not exported here"
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

    @property
    def is_judged(self) -> bool:
        """Whether an expectation was met or failed."""
        return self.is_failure or self in {Verdict.FIRED, Verdict.SILENT}


_FAILURES = {Verdict.MISSED, Verdict.LATE, Verdict.TOO_EARLY, Verdict.MISFIRE, Verdict.NOT_CLEARED}


class IncidentPlan(NamedTuple):
    """The expectations of an incident, and the times of its trouble."""

    name: str
    duration_us: int
    #: The start and the end of the trouble; None: never, or unknown.
    begins_us: int | None
    ends_us: int | None
    expected: AlertExpectations
    #: Further expectations, by alert: whether it fires. They hold instead of those of the incident.
    asked: Mapping[str, bool] = {}
    #: The alerts whose metrics a cluster of its mode and release does not have.
    not_exported: Collection[str] = ()
    mode: str = ""
    #: The first fault or step, and the end of the last fault; None: never, or unknown.
    faults_begin_us: int | None = None
    faults_end_us: int | None = None


class Expectation(NamedTuple):
    """The expectation of an alert in an incident."""

    fires: bool
    #: The longest time from the start of the trouble; None: to the end of the incident.
    within_us: int | None = None
    #: The part of that which is the rule's own `for`.
    for_us: int = 0
    #: The longest time from the end of the trouble until it is over; None: it need not be.
    over_in_us: int | None = None

    def __str__(self) -> str:
        if not self.fires:
            return "silent"
        if self.within_us is None:
            return "fires"
        text = f"within {duration_text(self.within_us)}"
        if self.over_in_us is not None:
            text += f", over in {duration_text(self.over_in_us)}"
        return text


def expectation_of(incident: IncidentPlan, alert: Alert) -> Expectation | None:
    """The expectation of an alert; None: the incident has none."""
    if alert.name in incident.asked:
        return Expectation(incident.asked[alert.name])
    expected = incident.expected
    if alert.name in expected.fire:
        held_us, kept_us = 0, 0
        if expected.beyond_for:
            held_us, kept_us = alert.for_us, alert.keep_firing_for_us
        clear_us = expected.clear.get(alert.name)
        return Expectation(
            fires=True,
            within_us=expected.fire[alert.name] + held_us,
            for_us=held_us,
            over_in_us=None if clear_us is None else clear_us + kept_us,
        )
    return Expectation(fires=False) if expected.stays_silent(alert.name) else None


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
    expectation = expectation_of(incident, alert)
    return Judged(
        alert.name,
        _verdict(incident, alert, expectation, course),
        "" if expectation is None else str(expectation),
        course.firing,
        course.pending,
        late_us,
        sum(
            (incident.duration_us if s.end_us is None else s.end_us) - s.begin_us
            for s in course.firing
        ),
        cleared_us,
    )


def _verdict(
    incident: IncidentPlan, alert: Alert, expectation: Expectation | None, course: Course
) -> Verdict:
    if not alert.is_simulated:
        return reason_untested(alert)
    if alert.name in incident.not_exported:
        return Verdict.NOT_EXPORTED_HERE
    if expectation is None:
        return Verdict.NOT_JUDGED
    if expectation.fires:
        return _verdict_of_firing(incident, expectation, course)
    return Verdict.MISFIRE if course.firing else Verdict.SILENT


def reason_untested(alert: Alert) -> Verdict:
    """The verdict on an alert that cannot be tested."""
    if alert.misspelt:
        return Verdict.MISSPELT
    return Verdict.NEVER_EXPORTED if alert.never_made else Verdict.NOT_SIMULATED


def _verdict_of_firing(incident: IncidentPlan, expectation: Expectation, course: Course) -> Verdict:
    begins_us = incident.begins_us or 0
    due_us = incident.duration_us
    if expectation.within_us is not None:
        due_us = begins_us + expectation.within_us
    if not course.firing:
        is_held = bool(expectation.for_us and course.pending)
        in_time = is_held and course.pending[0].begin_us + expectation.for_us <= due_us
        return Verdict.TOO_SHORT if in_time else Verdict.MISSED
    first_us = course.firing[0].begin_us
    if first_us < begins_us:
        return Verdict.TOO_EARLY
    if first_us > due_us:
        return Verdict.LATE
    if expectation.over_in_us is not None and incident.ends_us is not None:
        due_us = incident.ends_us + expectation.over_in_us
        if any(spell.end_us is None or spell.end_us > due_us for spell in course.firing):
            return Verdict.NOT_CLEARED
    return Verdict.FIRED


def duration_text(duration_us: int) -> str:
    """A duration to the second, as Prometheus writes it: 45s, 5m30s, 1h."""
    minutes, seconds = divmod(round(duration_us / 1e6), 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "h"), (minutes, "m"), (seconds, "s"))
    return "".join(f"{count}{unit}" for count, unit in parts if count) or "0s"
