"""The JSON schema of scenario files, for editors: made from the models that read them.

The schema has names, types, limits and descriptions. Only ``tidegauge validate`` checks whether
the parts fit together (for example a fault of an unknown broker).
"""

from __future__ import annotations

import json
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from tidegauge.scenario.model.scenario import Scenario
from tidegauge.simulation.durations import DURATION_SCHEMA, format_duration

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
    # A file that says no name has its own.
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
