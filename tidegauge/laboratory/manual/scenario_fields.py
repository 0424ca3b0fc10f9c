"""The fields of the scenario's model, for people: type, unit, default, meaning, example of each.

Types and limits are those of the JSON schema that editors use, defaults those of the model. A
description may say its default in a sentence that begins with ``Default:``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tidegauge.laboratory.manual.markdown import code
from tidegauge.laboratory.manual.scenario_examples import example_of
from tidegauge.laboratory.manual.scenario_sections import SECTIONS
from tidegauge.laboratory.manual.scenario_types import type_of, unit_of, written
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE
from tidegauge.scenario.model.costs import Costs, Latency, costs_of_other_modes
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.parts import Part, Unit
from tidegauge.scenario.model.process_faults import PauseFault
from tidegauge.scenario.model.request_steps import ObserveStep
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.step import StepOfAnyKind
from tidegauge.scenario.reading import scenario_schema
from tidegauge.simulation.quantities import format_duration

_DEFAULT = re.compile(r"(?:^|(?<=\.) )Default: (?P<value>.+?)\.(?= |$)")
#: The meaning of the fields by which a fault or a step says its kind.
_KINDS = {"kind": "The kind of the fault.", "do": "The kind of the step."}
#: The schema has what all faults or steps have in each of them.
_SCHEMA_OF: dict[type[Part], type[Part]] = {
    FaultOfAnyKind: PauseFault,
    StepOfAnyKind: ObserveStep,
}


class Field(NamedTuple):
    """A field, as a row of the reference."""

    name: str
    type: str
    unit: str
    default: str
    meaning: str
    example: str


def fields_of(part: type[Part]) -> list[Field]:
    """The fields of a part that stand in its own section, in the order of the model."""
    (section,) = (each for each in SECTIONS if each.part is part)
    elsewhere = section.without.model_fields if section.without else {}
    return [
        field
        for name, info in part.model_fields.items()
        if name not in elsewhere
        for field in _fields(part, name, info)
    ]


def _fields(part: type[Part], name: str, info: FieldInfo) -> Iterator[Field]:
    file_name = info.alias or name
    schema = _properties(part).get(file_name)
    if schema is None:  # a fault whose fields stand beside those of its rate
        return
    description = info.description or _KINDS.get(name, "")
    told = _DEFAULT.search(description)
    example = example_of(part, file_name)
    units = [each.name for each in info.metadata if isinstance(each, Unit)]
    yield Field(
        name=file_name,
        type=type_of(schema, file_name),
        unit=units[0] if units else unit_of(schema, file_name),
        default=told["value"] if told else _default(name, info),
        meaning=_DEFAULT.sub("", description).strip() + _mode_of(part, file_name),
        example=code(example) if example else "",
    )


def _mode_of(part: type[Part], name: str) -> str:
    """A sentence about a cost that only clusters of one mode have."""
    if part is Costs and name in costs_of_other_modes(KRAFT_MODE):
        return " Only with ZooKeeper."
    if part is Costs and name in costs_of_other_modes(ZOOKEEPER_MODE):
        return " Only with KRaft."
    return ""


@cache
def _schema() -> dict[str, Any]:
    return scenario_schema()


def _properties(part: type[Part]) -> Mapping[str, Any]:
    schema = _schema()
    if part is not Scenario:
        schema = schema["$defs"][_SCHEMA_OF.get(part, part).__name__]
    if part is Latency:  # or a duration, which stands for all quantiles
        schema = schema["anyOf"][-1]
    properties: Mapping[str, Any] = schema["properties"]
    return properties


def _default(name: str, info: FieldInfo) -> str:
    if info.is_required():
        return "required"
    value = info.get_default(call_default_factory=True)
    if isinstance(value, Part) and not isinstance(value, Latency):
        return "the defaults of its fields"
    if value in (None, "", (), {}):
        return "none"
    if name.endswith("_us") and isinstance(value, int):
        return code(format_duration(value))
    return code(written(value.model_dump() if isinstance(value, BaseModel) else value))
