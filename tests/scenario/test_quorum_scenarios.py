"""Scenarios of a quorum whose voters change (KIP-853): what is an error, a warning, a default."""

from __future__ import annotations

from typing import Any

import pytest

from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.lint.lint import findings_of
from tidegauge.scenario.reading import Scenario, ScenarioError, scenario_from_mapping
from tidegauge.scenario.timetable import timetable
from tidegauge.scenario.warnings import left_to_chance, warnings_of

VOTERS = {"controllers": {"count": 4, "voters": [0, 1, 2]}}
LOST = {"kind": "disk_loss", "for": "1s", "brokers": ["controller:1"]}
#: Steps of a minute: the controllers are upgraded before.
ROLL = {
    "name": "up",
    "kind": "rolling_restart",
    "at": "1s",
    "brokers": ["controllers"],
    "to_release": "4.4",
    "stopped_for": "1s",
}


def read(**parts: Any) -> Scenario:
    cluster = {"duration": "1m", "release": "4.4", "mode": "kraft", "cluster": {"brokers": 3}}
    return scenario_from_mapping(cluster | parts, "quorum")


def add(controller: int, **others: Any) -> dict[str, Any]:
    return {"do": "add_controller", "at": "40s", "controller": controller, **others}


def losses(count: int) -> list[dict[str, Any]]:
    return [LOST | {"at": f"{2 * number}s"} for number in range(count)]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"controllers": {"count": 4}}, r"controllers\.count: must be 1, 3 or 5 without voters"),
        (
            {"controllers": {"count": 3, "voters": [0, 3]}},
            r"controllers\.voters\[1\]: must be distinct, from 0 to 2: 3",
        ),
        (
            {"controllers": {"count": 3, "voters": [0, 1], "start": {1: "5s"}}},
            r"controllers\.start\[1\]: is a voter, and runs from the beginning",
        ),
        (
            {"controllers": {"count": 3, "voters": [0, 1], "start": {3: "5s"}}},
            r"controllers\.start\[3\]: there is no controller:3, only controller:0 to 2",
        ),
        (
            {"controllers": {"count": 3, "start": {2: "5s"}}},
            r"controllers\.start\[2\]: is a voter",
        ),
        (
            VOTERS | {"release": "3.8"},
            r"controllers\.voters: needs release 3\.9\.0 or newer, not 3\.8",
        ),
        (
            {"release": "3.8", "steps": [add(1)]},
            r"steps\[0\]\.do: needs release 3\.9\.0 or newer, not 3\.8",
        ),
        (
            {
                "release": "3.8",
                "mode": "kraft",
                "steps": [{"do": "update_features", "at": "1s", "kraft_version": 1}],
            },
            r"steps\[0\]\.kraft_version: needs release 3\.9\.0 or newer, not 3\.8",
        ),
        (
            {"release": "4.1", "steps": [add(1, ack_when_committed=False)]},
            r"steps\[0\]\.ack_when_committed: false needs release 4\.2\.0 or newer, not 4\.1",
        ),
        (VOTERS | {"steps": [add(4)]}, r"steps\[0\]\.controller: the last of 4 controllers is"),
        (VOTERS | {"steps": [add(3, to=4)]}, r"steps\[0\]\.to: the last of 4 controllers is"),
        (
            VOTERS | {"steps": [{"do": "wait", "when": {"observes": 4}, "within": "1s"}]},
            r"steps\[0\]\.when\.observes: the last of 4",
        ),
        (
            VOTERS | {"steps": [{"do": "wait", "when": {"voters": [0, 4]}, "within": "1s"}]},
            r"steps\[0\]\.when\.voters\[1\]: the last of 4",
        ),
        (
            {"release": "3.9", "mode": "zookeeper", "steps": [add(1)]},
            r"steps\[0\]\.do: needs mode: kraft",
        ),
        (
            {
                "release": "3.9",
                "mode": "zookeeper",
                "steps": [{"do": "wait", "when": {"voters": [0]}, "within": "1s"}],
            },
            r"steps\[0\]\.when\.voters: has no meaning in mode zookeeper",
        ),
        (
            VOTERS | {"faults": losses(14)},
            r"faults\[13\]: is loss 14 of controller:1's disk; 13 is the most",
        ),
        (
            VOTERS
            | {
                "fault_rates": [
                    {"kind": "disk_loss", "brokers": ["controllers"], "mtbf": "1s"}
                    | {"repair_time": "100ms"}
                ]
            },
            r"fault_rates\[0\]\.mtbf: is loss 14 of controller:\d's disk; 13 is the most",
        ),
    ],
)
def test_what_cannot_be_is_one_clear_error(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(ScenarioError, match=message):
        read(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        # The controllers are upgraded before the step.
        {
            "release": "3.8",
            "faults": [ROLL],
            "steps": [{"do": "update_features", "at": "40s", "kraft_version": 1}, add(1)],
        },
        VOTERS | {"faults": losses(13)},
        # Voters without directories have no numbers that could run out.
        {"faults": losses(20)},
        # UNSUPPORTED_VERSION is the answer.
        {"steps": [add(2)]},
        # A level in name only (KAFKA-18979).
        {
            "release": "4.0",
            "steps": [{"do": "update_features", "at": "1s", "kraft_version": 1}],
        },
    ],
    ids=["upgraded", "13 losses", "static voters", "static answer", "in name only"],
)
def test_what_kafka_can_answer_is_possible(parts: dict[str, Any]) -> None:
    assert ClusterPlan(read(**parts)).controllers


def test_automatic_join_has_no_effect_with_static_voters() -> None:
    """KafkaRaftClient.shouldSendAddOrRemoveVoterRequest: only if kraft.version is 1."""
    settings = {"controller.quorum.auto.join.enable": True}
    (said,) = (
        line for line in warnings_of(read(controllers={"settings": settings})) if "auto" in line
    )
    assert said.startswith("controllers.settings.controller.quorum.auto.join.enable: has no effect")
    scenario = read(controllers=VOTERS["controllers"] | {"settings": settings})
    assert not any("auto" in line for line in warnings_of(scenario))
    assert scenario.settings_not_modelled() == []


def test_a_controller_that_starts_behind_the_end_is_warned_of() -> None:
    def said(start: str) -> list[str]:
        controllers = {"count": 4, "voters": [0, 1, 2], "start": {3: start}}
        lines = warnings_of(read(controllers=controllers))
        return [line for line in lines if line.startswith("controllers.start.3: ")]

    assert said("59s") == []
    (line,) = said("1m")
    assert "1m is not before the end of the run (1m)" in line


def test_a_condition_names_the_voters_that_it_waits_for() -> None:
    """Four of them are more than lists of other fields are named with."""
    step = add(3, when={"voters": [0, 1, 2, 3]}, within="5s")
    del step["at"]
    (planned,) = timetable(read(steps=[step], **VOTERS))
    assert planned.words.endswith("as soon as voters [0, 1, 2, 3], within 5s")


def test_the_setting_is_one_of_controllers_from_4_2_on() -> None:
    """KIP-1186."""
    settings = {"controllers": {"settings": {"controller.quorum.auto.join.enable": True}}}
    with pytest.raises(ScenarioError, match=r"this release does not have it yet: .* in 4\.2\.0"):
        read(release="4.1", **settings)


def test_the_loss_of_an_observer_elects_nobody() -> None:
    """Only voters count for the next leader."""
    crash = {"kind": "crash", "at": "5s", "for": "5s"}
    unseats = "which controller is active once"
    parts = VOTERS | {"release": "3.9"}
    observer = read(**parts, faults=[crash | {"brokers": ["controller:3"]}])
    voter = read(**parts, faults=[crash | {"brokers": ["controller:2"]}])
    assert not any(unseats in text for text in left_to_chance(observer))
    assert any(unseats in text for text in left_to_chance(voter))


def test_an_even_number_of_voters_is_a_lint() -> None:
    """A majority of 4 is 3."""
    found = findings_of(read(controllers={"count": 5, "voters": [0, 1, 2, 3]}))
    line = found["even_number_of_controllers"].line
    assert line.startswith("4 controllers (controller:0, controller:1")
    assert "4 controllers survive the loss of 1, as 3 do" in line
    assert "even_number_of_controllers" not in findings_of(read(**VOTERS))
