"""The gallery: each known bug is shown in a release that has it, and absent in one that has not.

The sources of the rules are those of ``tidegauge releases``; the issues are those of the table.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.laboratory.gallery import all_releases as all_releases_module
from tidegauge.laboratory.gallery import incidents
from tidegauge.laboratory.gallery.all_releases import affected_releases, in_all_releases
from tidegauge.laboratory.gallery.comparison import Compared
from tidegauge.laboratory.gallery.incidents import INCIDENTS, Incident, Range, Verdict
from tidegauge.laboratory.manual.catalogue_pages import gallery_results
from tidegauge.replication.release_versions import Release, all_releases
from tidegauge.scenario.shipped import GALLERY

# The page of the manual is made of the same runs: they are done once.
pytestmark = pytest.mark.xdist_group("gallery")

NAMES = [each.name for each in INCIDENTS]


def result_of(name: str) -> Compared:
    (found,) = (each for each in gallery_results() if each.incident.name == name)
    return found


@pytest.mark.parametrize("name", NAMES)
def test_an_incident_is_shown_in_the_affected_release_and_absent_in_the_fixed(name: str) -> None:
    result = result_of(name)
    assert result.deviations == []
    assert all(each.expected.has(each.value) for each in (*result.affected, *result.fixed))


@pytest.mark.parametrize("incident", INCIDENTS, ids=NAMES)
def test_no_run_is_as_expected_of_both_releases(incident: Incident) -> None:
    """So an incident that is not shown, or not absent, is a deviation."""
    for each in incident.expected:
        if isinstance(each.affected, Verdict):
            assert (each.affected.holds, each.fixed) == (False, Verdict(holds=True))
            continue
        assert isinstance(each.fixed, Range)
        low, high = sorted((each.affected, each.fixed))
        assert low.most is not None
        assert low.most < high.least


def test_incidents_are_numbered_and_each_scenario_of_the_gallery_is_one_of_them() -> None:
    numbers = {each.number for each in INCIDENTS if not each.is_of_replication}
    assert numbers == set(range(1, len(numbers) + 1))
    rows = [str(each.number) for each in INCIDENTS if each.is_of_replication]
    assert rows == sorted(rows, key=lambda row: int(row.removeprefix("R")))
    assert len(set(NAMES)) == len(NAMES)
    files = {f"gallery/{file.stem}" for file in GALLERY.glob("*.yaml")}
    assert files <= {each.scenario for each in INCIDENTS}


def test_both_releases_stand_next_to_each_other_or_the_runs_differ_otherwise() -> None:
    """KAFKA-19047 and KAFKA-20514 are not fixed: there a release before is the one without it."""
    for each in INCIDENTS:
        shown, absent = (
            Release.parse(version.release) for version in (each.shown_in, each.absent_in)
        )
        if shown == absent:
            assert each.shown_in != each.absent_in
        else:
            assert (shown < absent) != each.fixed.startswith("not yet")


# In all releases.


@pytest.mark.parametrize(
    "name",
    [
        "R15",
        *(pytest.param(each.name, marks=pytest.mark.long) for each in INCIDENTS),
    ],
)
def test_an_incident_is_shown_in_exactly_the_releases_that_the_table_calls_affected(
    name: str,
) -> None:
    """KIP-966: eligible leader replicas are there from 4.0 on, and by default from 4.1 on."""
    for incident in incidents.incidents_named(name):
        result = in_all_releases(incident)
        assert result.deviations == [], result.text(shown=True)
        if incident.is_of_replication:
            assert result.declared is not None
            assert result.text(shown=None) == ""


def test_a_figure_of_the_tables_is_that_of_its_release() -> None:
    """KAFKA-19522 in twelve releases: the tables have their runs in the order of their names."""
    (incident,) = incidents.incidents_named("fenced-leader")
    result = in_all_releases(incident)
    assert result.text(shown=True) == "4.0.0 to 4.0.2"
    assert result.text(shown=False) == "4.1.0 to 4.4.0"


def test_both_releases_of_an_anomaly_are_the_last_affected_and_a_first_fixed_one() -> None:
    """Each boundary is that of ``replication/releases.py``, to the patch."""
    for each in (each for each in INCIDENTS if each.is_of_replication):
        if each.affected.startswith("all"):
            assert each.shown_in.release == each.absent_in.release
            continue
        versions = (each.shown_in, each.absent_in)
        shown, absent = (Release.parse(version.release) for version in versions)
        declared = affected_releases(each.affected, all_releases(each.mode))
        assert declared is not None
        assert (declared[shown], declared[absent]) == (True, False), each.name
        following = all_releases(each.mode)[all_releases(each.mode).index(shown) + 1]
        assert absent == following, each.name


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2.7.0 to 2.7.1, 2.8.0", ["2.7.0", "2.7.1", "2.8.0"]),
        ("up to 2.7.0", ["2.6.3", "2.7.0"]),
        ("all, with a setting", ["2.6.3", "2.7.0", "2.7.1", "2.7.2", "2.8.0"]),
        ("metadata.version below 3.6-IV0", None),
    ],
)
def test_the_affected_releases_are_ranges_or_need_more_than_a_release(
    text: str, found: list[str] | None
) -> None:
    releases = [Release.parse(each) for each in ("2.6.3", "2.7.0", "2.7.1", "2.7.2", "2.8.0")]
    said = affected_releases(text, releases)
    assert found == (None if said is None else [str(each) for each in said if said[each]])


def test_all_releases_are_printed_as_ranges_and_a_contradiction_is_an_exit_status(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """KAFKA-13091 in two releases, of which the table is made to claim one too many."""
    (incident,) = incidents.incidents_named("high-watermark-stuck")
    said = incident._replace(affected="3.0.2, 3.1.0")
    monkeypatch.setattr(incidents, "INCIDENTS", [said])
    two = [Release.parse("3.0.2"), Release.parse("3.1.0")]
    monkeypatch.setattr(all_releases_module, "all_releases", lambda _=None: two)
    status, out, _ = invoked("R12", "--all-releases")
    assert status == 1
    assert "shown in 3.0.2\n    absent in 3.1.0\n    not as in the table: 3.1.0\n" in out
    status, out, _ = invoked("R12", "--all-releases", "--json")
    (found,) = json.loads(out)
    assert (status, found["shown"]) == (1, {"3.0.2": True, "3.1.0": False})


# The command.


def invoked(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["gallery", *words])
    return result.exit_code, result.stdout, result.stderr


def test_one_incident_is_run_by_its_number() -> None:
    status, out, _ = invoked("3")
    assert status == 0
    assert "3 shutdown-not-granted   KAFKA-14292" in out
    assert "3.3.1: 300.7 s (300 to 302 s)" in out
    assert out.endswith("1 of 1 shown in the affected release and absent in the fixed\n")


def test_json_has_all_figures_and_the_commands_that_repeat_the_runs() -> None:
    """Two schedules show the two bugs of heartbeats that get no response."""
    status, out, _ = invoked("4", "--json")
    found = json.loads(out)
    assert (status, [each["name"] for each in found]) == (
        0,
        ["heartbeats-hang", "heartbeats-back-off"],
    )
    shown = found[0]["shown_in"]
    assert shown["command"] == (
        "tidegauge run gallery/04-heartbeats-hang --set mode=kraft --set release=3.3.1"
    )
    assert shown["figures"][0] == {
        "figure": "live_brokers_expired",
        "unit": "brokers",
        "value": 5,
        "least": 5,
        "most": 5,
        "is_as_expected": True,
    }


def test_the_verdict_of_a_check_stands_beside_the_expected_one() -> None:
    """KIP-101, scenario 1: StrongIsr falls in 0.10.2, and holds in 0.11."""
    status, out, _ = invoked("R1")
    assert status == 0
    assert (
        "Check strong_isr                 0.10.2.2: broken (broken)  0.11.0.0: holds (holds)" in out
    )
    _, out, _ = invoked("R1", "--json")
    (found,) = json.loads(out)
    assert found["absent_in"]["checks"][0] == {
        "check": "strong_isr",
        "verdict": True,
        "expected": True,
        "is_as_expected": True,
    }


def test_an_unknown_incident_is_named() -> None:
    status, _, error = invoked("heartbeat-hangs")
    assert status == 2
    assert "no such incident; did you mean heartbeats-hang?" in error


def test_a_deviation_gives_the_exit_status_and_the_command_that_repeats_its_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Here the affected release is the fixed one: nothing is shown."""
    (incident,) = incidents.incidents_named("shutdown-not-granted")
    same: Sequence[Incident] = [incident._replace(shown_in=incident.absent_in)]
    monkeypatch.setattr(incidents, "INCIDENTS", same)
    status, out, _ = invoked()
    assert status == 1
    assert "in 3.3.2: SIGTERM until the process is gone, longest: 4.812 s; expected: 300" in out
    assert (
        "Again: tidegauge run gallery/03-shutdown-not-granted --set mode=kraft --set release=3.3.2"
        in out
    )
    assert out.endswith("0 of 1 shown in the affected release and absent in the fixed\n")


@pytest.mark.parametrize(
    ("expected", "text", "inside", "outside"),
    [
        (Range(2, None), "at least 2", 2, 1),
        (Range(0, 3e6), "at most 3 s", 3e6, 3.5e6),
        (Range(5, 5), "5", 5, 6),
        (Range(0, 0), "0", 0, 1),
        (Range(300e6, 302e6), "300 to 302 s", 301e6, 303e6),
    ],
)
def test_a_range_says_which_values_it_has(
    expected: Range, text: str, inside: float, outside: float
) -> None:
    assert expected.text("us" if text.endswith(" s") else "brokers") == text
    assert expected.has(inside)
    assert not expected.has(outside)
