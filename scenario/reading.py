"""Scenario files: the subject of a run, in YAML.

:func:`load_scenario` reads one. The models document each field:
:class:`~tidegauge.scenario.model.scenario.Scenario` and its parts, each in a file of its own.
The shortest one that runs::

    duration: 1m
    cluster: {brokers: 3}

All problems of a scenario are raised as one :class:`ScenarioError`, with a line for each problem.

The JSON schema of scenario files, for editors: made from the models that read them.

The schema has names, types, limits and descriptions. Only ``tidegauge validate`` checks whether
the parts fit together (for example a fault of an unknown broker).
"""

import json
import pathlib
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tidegauge.scenario.coherence.coherence import problems_of
from tidegauge.scenario.model.scenario import ANY_VERDICT, Scenario
from tidegauge.scenario.text.changes import Changed, with_changes
from tidegauge.scenario.text.errors import (
    Path,
    Problem,
    ProblemsError,
    ScenarioError,
    problems_in,
    scenario_error,
)
from tidegauge.scenario.text.yaml_file import read_scenario_file
from tidegauge.simulation.quantities import DURATION_SCHEMA, format_duration

__all__ = [
    "Scenario",
    "ScenarioError",
    "load_scenario",
    "scenario_from_mapping",
    "written_scenario",
]


def load_scenario(path: pathlib.Path, changes: Mapping[str, object] | None = None) -> Scenario:
    """The scenario in a YAML file, with other values at some paths (``text/changes.py``).

    Raises:
        ScenarioError: the scenario cannot be read or cannot be run.
    """
    file = read_scenario_file(path)
    return _changed_scenario(file.data, changes or {}, str(path), file.line_of)


def scenario_from_mapping(
    data: Mapping[str, object], source: str, changes: Mapping[str, object] | None = None
) -> Scenario:
    """The scenario that a mapping describes; errors name it as ``source``.

    Raises:
        ScenarioError: the scenario cannot be run.
    """
    return _changed_scenario(data, changes or {}, source, lambda _: None)


def _changed_scenario(
    data: object,
    changes: Mapping[str, object],
    source: str,
    line_of: Callable[[Path], int | None],
) -> Scenario:
    if not isinstance(data, Mapping):
        return _scenario(data, source, line_of)
    try:
        changed = with_changes(data, changes)
    except ProblemsError as error:
        raise scenario_error(source, error.problems, line_of) from error

    def line_of_own(path: Path) -> int | None:
        """A changed value has no line in the file."""
        return None if changed.has(path) else line_of(path)

    return _scenario(_without_expected_breaks(data, changed), source, line_of_own)


#: Fields whose other values have other bugs and other promises.
_RULES = ("release", "mode")


def _without_expected_breaks(data: Mapping[str, Any], changed: Changed) -> object:
    """The changed content, without the breaks that the file expects of its own release."""
    now = changed.data
    if not isinstance(now, Mapping) or all(data.get(name) == now.get(name) for name in _RULES):
        return now
    now = _without_expected_sights(now, changed)
    checks = now.get("checks")
    if not isinstance(checks, Mapping):
        return now
    kept = {
        name: verdict if verdict is True or changed.has(("checks", name)) else ANY_VERDICT
        for name, verdict in checks.items()
    }
    return {**now, "checks": kept}


def _without_expected_sights(now: Mapping[str, Any], changed: Changed) -> Mapping[str, Any]:
    """The content without the broken checks that some seed is to show with the file's own rules."""
    expected = now.get("sometimes")
    if not isinstance(expected, list) or changed.has(("sometimes",)):
        return now
    kept = [
        each
        for place, each in enumerate(expected)
        if not isinstance(each, Mapping)
        or "check" not in each
        or each.get("verdict") is True
        or changed.has(("sometimes", place))
    ]
    return {**now, "sometimes": kept}


def written_scenario(path: pathlib.Path) -> Scenario:
    """The scenario in a YAML file as written, each part valid on its own.

    The parts are not checked against each other, and no faults are drawn.

    Raises:
        ScenarioError: the scenario cannot be read.
    """
    file = read_scenario_file(path)
    return _written(file.data, str(path), file.line_of)


def _scenario(data: object, source: str, line_of: Callable[[Path], int | None]) -> Scenario:
    scenario = _written(data, source, line_of)
    problems = problems_of(scenario)
    if problems:
        raise scenario_error(source, problems, line_of)
    return _with_drawn_faults(scenario)


def _written(data: object, source: str, line_of: Callable[[Path], int | None]) -> Scenario:
    if not isinstance(data, Mapping):
        problem = Problem((), "must be a mapping, with duration, cluster and so on")
        raise scenario_error(source, [problem], line_of)
    named = {"name": pathlib.PurePath(source).stem, **data}
    try:
        scenario = Scenario.model_validate(named)
    except ValidationError as error:
        raise scenario_error(source, problems_in(error, named), line_of) from error
    return scenario.with_offsets_topic().with_generated_moves()


def _with_drawn_faults(scenario: Scenario) -> Scenario:
    if not scenario.fault_rates:
        return scenario
    # Only here: drawing is compiled code, whose import takes longer than all of this.
    from tidegauge.scenario.coherence.drawn_faults import with_drawn_faults  # noqa: PLC0415

    return with_drawn_faults(scenario)


#: The file of the shipped schema, beside the scenarios.
FILE_NAME = "scenario.schema.json"

#: Fields that a fault drawn from a rate cannot have.
_NOT_OF_RATES = frozenset({"at", "for", "keeps"})


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, with defaults as in files, and without titles that repeat names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """False: titles would only repeat the names of the fields."""
        del schema
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Write defaults as in a file: durations as text; defaults of whole parts are left out."""
        made = super().default_schema(schema)
        default = made.get("default")
        if isinstance(default, int) and made.get("pattern") == DURATION_SCHEMA["pattern"]:
            made["default"] = format_duration(default)
        elif default is None or isinstance(default, dict | list):
            made.pop("default", None)
        return made


def scenario_schema() -> dict[str, Any]:
    """The schema of a scenario file, in the dialect 2020-12."""
    schema = Scenario.model_json_schema(by_alias=True, schema_generator=_Generator)
    # A file without a name has its own.
    schema["required"].remove("name")
    _flatten_rates(schema["$defs"])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def schema_text() -> str:
    """The schema as it is shipped."""
    return json.dumps(scenario_schema(), indent=2, ensure_ascii=False) + "\n"


def _flatten_rates(definitions: dict[str, Any]) -> None:
    """Move the fields of a rate's fault beside the rate's own, as in the file."""
    rate = definitions["FaultRate"]
    fault = rate["properties"].pop("fault")
    rate["required"].remove("fault")
    kinds = fault["discriminator"]["mapping"]
    fields: dict[str, Any] = {}
    for reference in kinds.values():
        properties = definitions[reference.rpartition("/")[2]]["properties"]
        for name, field in properties.items():
            if name not in _NOT_OF_RATES:
                fields.setdefault(name, []).append(field)
    for name, schemas in fields.items():
        different = [each for place, each in enumerate(schemas) if each not in schemas[:place]]
        merged = {"description": schemas[0].get("description", ""), "anyOf": different}
        rate["properties"].setdefault(name, merged if len(different) > 1 else different[0])
    rate["properties"]["kind"] = {"enum": sorted(kinds)}
    rate["required"].append("kind")
