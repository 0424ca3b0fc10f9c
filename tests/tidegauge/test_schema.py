"""The JSON schema of scenario files: what editors are told of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its types are a package of their own
import pytest
from typer.testing import CliRunner

from tidegauge.command_line import app
from tidegauge.scenario.reading import FILE_NAME, ScenarioError, scenario_from_mapping, schema_text
from tidegauge.scenario.shipped import FOLDER, shipped_scenarios
from tidegauge.scenario.text.yaml_file import read_scenario_file

SMALL: dict[str, Any] = {
    "duration": "1m",
    "release": "2.6",
    "cluster": {"brokers": 3, "racks": {"a": [1], "b": [2, 3]}, "restart_after_exit": "never"},
    "topics": [{"name": "orders", "partitions": 2, "settings": {"min.insync.replicas": 2}}],
    "workload": {
        "producers": [{"name": "shop", "topics": ["orders"], "batches_per_second": 5}],
    },
    "costs": {"request": {"min": "1us", "p50": "2us"}, "append": "5us"},
    "faults": [{"kind": "cut_link", "at": "5s", "between": [["rack:a"], [2, "broker:3"]]}],
    "fault_rates": [
        {"kind": "slow_disk", "brokers": [1], "delay": "5ms", "mtbf": "1h", "repair_time": "1m"}
    ],
    "steps": [
        {"do": "produce", "at": "3s", "topic": "orders", "partition": 0, "acks": "all"},
        {"do": "observe", "when": {"quiescent": True}, "within": "10s"},
    ],
    "checks": {"strong_isr": "unknown"},
}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = json.loads((FOLDER / FILE_NAME).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def written(path: Path) -> Any:
    """A scenario file as JSON: keys are text."""
    return json.loads(json.dumps(read_scenario_file(path).data))


def test_the_schema_that_ships_is_that_of_the_models() -> None:
    shipped = (FOLDER / FILE_NAME).read_text(encoding="utf-8")
    assert shipped == schema_text(), "scenarios/scenario.schema.json is out of date: make schema"
    assert CliRunner().invoke(app, ["schema"]).stdout == shipped


@pytest.mark.parametrize("name", shipped_scenarios())
def test_scenarios_that_ship_are_as_the_schema_says_and_name_it(name: str, validator: Any) -> None:
    path = shipped_scenarios()[name]
    first = path.read_text(encoding="utf-8").splitlines()[0]
    named = first.removeprefix("# yaml-language-server: $schema=")
    assert (path.parent / named).resolve() == (FOLDER / FILE_NAME).resolve()
    assert [error.message for error in validator.iter_errors(written(path))] == []


def test_a_scenario_with_each_form_of_writing_is_right_for_schema_and_model(
    validator: Any,
) -> None:
    assert [error.message for error in validator.iter_errors(SMALL)] == []
    assert scenario_from_mapping(SMALL, "small").duration_us == 60_000_000


@pytest.mark.parametrize(
    ("path", "wrong"),
    [
        (("durations",), "1m"),
        (("duration",), 60),
        (("duration",), "1 minute"),
        (("release",), 2.6),
        (("cluster", "brokers"), "three"),
        (("cluster", "brokers"), 0),
        (("cluster", "racks"), "a"),
        (("cluster", "restart_after_exit"), "sometimes"),
        (("topics", 0, "partition"), 3),
        (("topics", 0, "settings", "min.insync.replicas"), [2]),
        (("workload", "producers", 0, "batches_per_second"), "5"),
        (("costs", "append"), 5),
        (("costs", "append"), {"median": "5us"}),
        (("faults", 0, "kind"), "cut_lnk"),
        (("faults", 0, "between", 1), ["rock:b"]),
        (("fault_rates", 0, "at"), "5s"),
        (("steps", 0, "acks"), 2),
        (("steps", 0, "offset"), 2),
        (("checks", "strong_isr"), "no"),
        (("checks", "strong_irs"), True),
    ],
)
def test_what_is_wrong_for_the_model_is_wrong_for_the_schema(
    path: tuple[str | int, ...], wrong: object, validator: Any
) -> None:
    scenario = json.loads(json.dumps(SMALL))
    place = scenario
    for item in path[:-1]:
        place = place[item]
    place[path[-1]] = wrong
    assert not validator.is_valid(scenario)
    with pytest.raises(ScenarioError):
        scenario_from_mapping(scenario, "wrong")


def test_fields_are_described_and_defaults_are_as_a_file_has_them(validator: Any) -> None:
    schema = validator.schema
    parts = [schema, *schema["$defs"].values()]
    undescribed = [
        (part.get("title"), name)
        for part in parts
        for name, field in part.get("properties", {}).items()
        if "description" not in field and "const" not in field and name != "kind"
    ]
    assert undescribed == []
    assert schema["properties"]["sample_every"]["default"] == "1s"
    assert schema["required"] == ["duration", "cluster"]
