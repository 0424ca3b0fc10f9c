"""What an alert did in an incident, beside what the incident expects of it."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.rehearsal.alerts import Alert
from tidegauge.rehearsal.promtool import Course, Spell
from tidegauge.rehearsal.verdicts import IncidentPlan, Judged, Verdict, duration_text, judge
from tidegauge.scenario.model.scenario import AlertExpectations

MINUTE = 60_000_000
ALERT = Alert("UnderReplicated", ["rules.yml: kafka"], [], reads_nothing=False)
SILENT: tuple[Spell, ...] = ()


def incident_of(**expected: Any) -> IncidentPlan:
    """Trouble from 5 to 10 minutes, of 30."""
    alerts = AlertExpectations.model_validate(expected)
    return IncidentPlan("night", 30 * MINUTE, 5 * MINUTE, 10 * MINUTE, alerts)


def judged(incident: IncidentPlan, *firing: Spell, alert: Alert = ALERT) -> Judged:
    (found,) = judge(incident, [alert], {alert.name: Course((), firing)})
    return found


def spell(begin: float, end: float | None) -> Spell:
    return Spell(round(begin * MINUTE), None if end is None else round(end * MINUTE), 1)


@pytest.mark.parametrize(
    ("firing", "verdict"),
    [
        ([spell(6, 11)], Verdict.FIRED),
        ([spell(7, 11)], Verdict.FIRED),
        ([spell(7.25, 11)], Verdict.LATE),
        ([], Verdict.MISSED),
        # Before the trouble: whatever it fired for, that was not it.
        ([spell(4, 5), spell(6, 11)], Verdict.TOO_EARLY),
        ([spell(6, 12.25)], Verdict.NOT_CLEARED),
        ([spell(6, None)], Verdict.NOT_CLEARED),
        ([spell(6, 11), spell(20, 21)], Verdict.NOT_CLEARED),
    ],
)
def test_an_alert_that_should_fire(firing: list[Spell], verdict: Verdict) -> None:
    incident = incident_of(fire={"UnderReplicated": "2m"}, clear={"UnderReplicated": "2m"})
    found = judged(incident, *firing)
    assert found.verdict == verdict
    assert found.verdict.is_failure == (verdict != Verdict.FIRED)
    assert found.expected == "within 2m, over in 2m"


@pytest.mark.parametrize(
    ("firing", "pending", "verdict"),
    [
        # Two minutes, and the rule's own five.
        ([spell(12, 13)], (), Verdict.FIRED),
        ([spell(12.25, 13)], (), Verdict.LATE),
        # Over ten minutes after the trouble: two, and the rule's own keep_firing_for of eight.
        ([spell(11, 20)], (), Verdict.FIRED),
        ([spell(11, 20.25)], (), Verdict.NOT_CLEARED),
        ([], (spell(7, 11.75),), Verdict.TOO_SHORT),
        ([], (spell(7.25, 11.75),), Verdict.MISSED),
        ([], (), Verdict.MISSED),
    ],
)
def test_an_incident_may_count_beyond_the_rule_s_own_for(
    firing: list[Spell], pending: tuple[Spell, ...], verdict: Verdict
) -> None:
    both = {"fire": {"UnderReplicated": "2m"}, "clear": {"UnderReplicated": "2m"}}
    held = ALERT._replace(for_us=5 * MINUTE, keep_firing_for_us=8 * MINUTE)
    course = {held.name: Course(pending, firing)}
    (found,) = judge(incident_of(**both, beyond_for=True), [held], course)
    assert (found.verdict, found.expected) == (verdict, "within 7m, over in 10m")


@pytest.mark.parametrize(
    ("fires", "silent", "verdict"), [(True, "all", Verdict.FIRED), (False, (), Verdict.MISFIRE)]
)
def test_what_is_asked_of_an_alert_holds_instead_of_the_incident_s(
    fires: bool, silent: Any, verdict: Verdict
) -> None:
    asked = incident_of(silent=silent)._replace(asked={"UnderReplicated": fires})
    assert judged(asked, spell(25, None)).verdict == verdict
    # An alert that is there before the trouble does not tell of it.
    assert judged(asked, spell(4, 5)).verdict in (Verdict.TOO_EARLY, Verdict.MISFIRE)


def test_it_is_told_how_late_it_was_for_how_long_and_how_long_after() -> None:
    found = judged(incident_of(), spell(6, 7), spell(8, 11.5))
    assert (found.late_us, found.fired_us) == (MINUTE, round(4.5 * MINUTE))
    assert found.cleared_us == round(1.5 * MINUTE)


def test_one_that_fires_to_the_end_has_fired_until_then_and_is_not_over() -> None:
    found = judged(incident_of(), spell(20, None))
    assert (found.fired_us, found.cleared_us) == (10 * MINUTE, None)


@pytest.mark.parametrize("silent", ["all", ["UnderReplicated"]])
def test_an_alert_that_should_not_fire(silent: Any) -> None:
    assert judged(incident_of(silent=silent)).verdict == Verdict.SILENT
    assert judged(incident_of(silent=silent), spell(6, 7)).verdict == Verdict.MISFIRE


def test_nothing_is_made_of_an_alert_that_an_incident_says_nothing_about() -> None:
    incident = incident_of(silent="all", may_fire=["UnderReplicated"])
    assert judged(incident, spell(6, 7)).verdict == Verdict.NOT_JUDGED
    assert judged(incident_of()).verdict == Verdict.NOT_JUDGED


def test_a_rule_about_what_nobody_serves_is_not_judged_even_if_it_fires_for_ever() -> None:
    containers = ALERT._replace(missing=["container_last_seen"])
    found = judged(incident_of(silent="all"), spell(3, None), alert=containers)
    assert found.verdict == Verdict.NOT_SIMULATED
    assert not found.verdict.is_failure


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0s"), (45, "45s"), (330, "5m30s"), (3600, "1h"), (3900, "1h5m")]
)
def test_durations_are_written_as_prometheus_does(seconds: int, text: str) -> None:
    assert duration_text(seconds * 1_000_000) == text
