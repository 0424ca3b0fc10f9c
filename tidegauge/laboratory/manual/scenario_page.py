"""The page ``docs/scenario-reference.md``: every field of a scenario, from the model."""

from __future__ import annotations

import inspect

from tidegauge.laboratory.manual.markdown import code, code_block, of_docstring, table
from tidegauge.laboratory.manual.scenario_examples import EXAMPLES, SELECTORS
from tidegauge.laboratory.manual.scenario_fields import fields_of
from tidegauge.laboratory.manual.scenario_sections import SECTIONS, Section
from tidegauge.scenario.model.fault import FaultOfAnyKind
from tidegauge.scenario.model.fault_rates import FaultRate
from tidegauge.scenario.model.step import StepOfAnyKind

_OPENING = """\
# Scenario reference

This page covers every field of a scenario file: its type, unit, default, meaning and an example.
[Scenarios](scenarios.md) explains how to write one; [shipped scenarios](scenarios-shipped.md) are
there to be copied. A field that the file does not have takes its default.

* A **duration** is a number and its unit: `250ms`, `1.5s`, `1m30s`. Units are us, ms, s, m and h.
* A **selector** stands for what a fault hits; see [Faults](#faults).
* A number in a type, such as "from 1 to 500", is a limit.
* `settings` have Kafka's own names, and values as Kafka takes them.

`tidegauge validate FILE` names a wrong field with its line. The first line of a shipped file names
the JSON schema, by which editors complete and check names.
"""
_FAULTS = """\
A fault hits processes, or the links between two groups of them. It has the fields of its kind, and
these. A fault without `at` waits for a step that begins it; its `for` counts from then.
"""
_STEPS = """\
Steps are taken one after the other. A step has the fields of its kind, and these. It begins in one
way: at a time, after a while, or when a condition holds. A condition that does not hold `within`
its time ends the run as a failure.
"""
_RATES = """\
A rate has these fields, and beside them the fields of the [fault](#faults) that it draws, such as
`kind` and `brokers`, without `at`, `for` and `keeps`.
"""
_LEADS = {FaultOfAnyKind: _FAULTS, StepOfAnyKind: _STEPS, FaultRate: _RATES}
_HEAD = ("field", "type", "unit", "default", "meaning", "example")


def documentation() -> str:
    """The page, in Markdown."""
    return "\n".join([_OPENING, *map(_section, SECTIONS)])


def _section(section: Section) -> str:
    paragraphs = inspect.cleandoc(section.part.__doc__ or "").split("\n\n")
    rows = [(code(field.name), *field[1:]) for field in fields_of(section.part)]
    parts = [f"{'#' * section.level} {section.heading}\n"]
    parts += [f"{of_docstring(each)}\n" for each in paragraphs]
    parts += [_LEADS[section.part]] if section.part in _LEADS else []
    parts.append(table(_HEAD, rows))
    parts += [code_block(each, "yaml") for each in EXAMPLES[section.part]]
    if section.part is FaultOfAnyKind:
        rows_of_selectors = ((code(each), meaning) for each, meaning in SELECTORS.items())
        parts.append(table(("selector", "selected"), rows_of_selectors))
    return "\n".join(parts)
