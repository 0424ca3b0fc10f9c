"""The page ``docs/scenario-reference.md``: every field of a scenario, from the model.

Types and limits are those of the JSON schema that editors use, defaults those of the model. A
description may have its default in a sentence that begins with ``Default:``.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tidegauge.laboratory.manual import scenario_sections
from tidegauge.laboratory.manual.markdown import code, code_block, of_docstring, prose, table
from tidegauge.replication.release_versions import KRAFT_MODE, ZOOKEEPER_MODE
from tidegauge.scenario.model.costs import Costs, Latency, costs_of_other_modes
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.parts import Part, Unit
from tidegauge.scenario.model.pins import Pin
from tidegauge.scenario.model.process_faults import PauseFault
from tidegauge.scenario.model.request_steps import ObserveStep
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.step import StepOfAnyKind
from tidegauge.scenario.reading import scenario_schema
from tidegauge.simulation.messages.kinds import MESSAGES
from tidegauge.simulation.quantities import format_duration

_DEFAULT = re.compile(r"(?:^|(?<=\.) )Default: (?P<value>.+?)\.(?= |$)")
#: The meaning of the fields with the kind of a fault or a step.
_KINDS = {"kind": "The kind of the fault.", "do": "The kind of the step."}
#: The schema has the common fields of faults or steps in each of them.
_SCHEMA_OF: dict[type[Part], type[Part]] = {FaultOfAnyKind: PauseFault, StepOfAnyKind: ObserveStep}

_FILE = yaml.safe_load(
    Path(__file__).with_name("scenario_examples.yaml").read_text(encoding="utf-8")
)
#: Examples of every part, as YAML.
EXAMPLES: dict[type[Part], Sequence[str]] = {
    section.part: _FILE.get(section.part.__name__, section.part.examples)
    for section in scenario_sections.SECTIONS
}
#: The selectors of faults, and the selected processes of each.
SELECTORS: dict[str, str] = _FILE["selectors"]


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
    (section,) = (each for each in scenario_sections.SECTIONS if each.part is part)
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
    default = _DEFAULT.search(description)
    example = example_of(part, file_name)
    units = [each.name for each in info.metadata if isinstance(each, Unit)]
    yield Field(
        name=file_name,
        type=scenario_sections.type_of(schema, file_name),
        unit=units[0] if units else scenario_sections.unit_of(schema, file_name),
        default=default["value"] if default else _default(name, info),
        meaning=_DEFAULT.sub("", description).strip() + _mode_of(part, file_name),
        example=code(example) if example else "",
    )


def example_of(part: type[Part], name: str) -> str:
    """The example of a field, as it stands in a file: ``name: value``; "" if there is none."""
    examples = (yaml.safe_load(each) for each in EXAMPLES.get(part, ()))
    fields = next((each for each in examples if name in each), None)
    if fields is None:
        return ""
    return scenario_sections.written({name: fields[name]}).removeprefix("{").removesuffix("}")


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
    return code(
        scenario_sections.written(value.model_dump() if isinstance(value, BaseModel) else value)
    )


_HEAD = ("field", "type", "unit", "default", "meaning", "example")


def documentation() -> str:
    """The page, in Markdown."""
    return "\n".join([prose("scenario-reference.md"), *map(_section, scenario_sections.SECTIONS)])


def _section(section: scenario_sections.Section) -> str:
    paragraphs = inspect.cleandoc(section.part.__doc__ or "").split("\n\n")
    rows = [(code(field.name), *field[1:]) for field in fields_of(section.part)]
    parts = [f"{'#' * section.level} {section.heading}\n"]
    parts += [f"{of_docstring(each)}\n" for each in paragraphs]
    if lead := prose(section.heading):
        parts.append(lead)
    parts.append(table(_HEAD, rows))
    parts += [code_block(each, "yaml") for each in EXAMPLES[section.part]]
    if section.part is FaultOfAnyKind:
        rows_of_selectors = ((code(each), meaning) for each, meaning in SELECTORS.items())
        parts.append(table(("selector", "selected"), rows_of_selectors))
    if section.part is Pin:
        parts.append(f"### Messages\n\n{', '.join(map(code, MESSAGES))}.\n")
    return "\n".join(parts)
