"""The generated pages of the manual: none is stale, and none leaves anything out."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import typer
import yaml
from pydantic import BaseModel, TypeAdapter, ValidationError

from documented import ROOT
from tidegauge.command_line import app
from tidegauge.laboratory.manual.pages import PAGES, page_text, stale_pages, write_pages
from tidegauge.laboratory.manual.reference_pages import examples
from tidegauge.laboratory.manual.scenario_page import EXAMPLES, SELECTORS, Field, fields_of
from tidegauge.laboratory.manual.scenario_sections import SECTIONS, Section
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.model.selectors import SelectorField
from tidegauge.simulation.trace_rows.schema import ROW_KINDS

DOCS = ROOT / "docs"

# The page of the gallery is made of runs, which tests/tidegauge/test_gallery.py checks.
pytestmark = pytest.mark.xdist_group("gallery")


def test_no_page_is_stale() -> None:
    """``make docs`` writes them."""
    assert stale_pages(DOCS) == []


def test_a_changed_page_is_found_and_a_missing_one(tmp_path: Path) -> None:
    """All are written once and looked at once, a third of them as they were: a look makes all."""
    assert {file.name for file in write_pages(tmp_path)} == PAGES.keys()
    changed, missing = list(PAGES)[::3], list(PAGES)[1::3]
    for name in changed:
        page = tmp_path / name
        page.write_text(page.read_text().replace("a", "b", 1))
    for name in missing:
        (tmp_path / name).unlink()
    assert stale_pages(tmp_path) == [name for name in PAGES if name in changed or name in missing]


def test_each_page_names_the_command_that_writes_it() -> None:
    for name in PAGES:
        assert (
            (DOCS / name)
            .read_text(encoding="utf-8")
            .endswith("`make docs` (`python -m tidegauge.laboratory.manual`) writes it.\n")
        )


@pytest.mark.long
def test_the_module_writes_all_pages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tidegauge.laboratory.manual.pages.FOLDER", tmp_path)
    runpy.run_module("tidegauge.laboratory.manual", run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / name) for name in PAGES]
    assert stale_pages(tmp_path) == []


def test_outside_of_a_checkout_the_module_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tidegauge.laboratory.manual.pages.FOLDER", tmp_path / "docs")
    with pytest.raises(SystemExit, match="in a checkout"):
        runpy.run_module("tidegauge.laboratory.manual", run_name="__main__")


# Scenario reference.


def test_each_part_of_a_scenario_has_a_section() -> None:
    schema = Scenario.model_json_schema()
    documented = {section.part.__name__ for section in SECTIONS}
    assert schema["$defs"].keys() - documented == set()


def flaws(field: Field) -> list[str]:
    """The columns of the reference that a field has nothing in."""
    return [column for column, text in field._asdict().items() if not text]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda each: each.heading)
def test_each_field_has_type_unit_default_meaning_and_example(section: Section) -> None:
    found = {field.name: flaws(field) for field in fields_of(section.part)}
    assert {name: columns for name, columns in found.items() if columns} == {}


def test_no_field_of_the_model_is_left_out() -> None:
    """But the fault of a rate, whose fields stand beside the rate's own in a file."""
    left_out = set()
    for section in SECTIONS:
        names = {info.alias or name for name, info in section.part.model_fields.items()}
        if section.without:
            common = section.without.model_fields.items()
            names -= {info.alias or name for name, info in common}
        left_out |= {
            f"{section.part.__name__}.{name}"
            for name in names - {field.name for field in fields_of(section.part)}
        }
    assert left_out == {"FaultRate.fault"}


def test_a_field_without_a_meaning_or_a_unit_is_found() -> None:
    field = next(iter(fields_of(SECTIONS[0].part)))
    assert flaws(field) == []
    assert flaws(field._replace(meaning="", unit="")) == ["unit", "meaning"]


ALL_EXAMPLES = [(part, example) for part, written in EXAMPLES.items() for example in written]


@pytest.mark.parametrize(("part", "example"), ALL_EXAMPLES, ids=lambda each: str(each)[:60])
def test_the_model_takes_each_example(part: type[BaseModel], example: str) -> None:
    part.model_validate(yaml.safe_load(example))


def test_the_model_takes_each_selector() -> None:
    for selector in SELECTORS:
        TypeAdapter(SelectorField).validate_python(yaml.safe_load(selector))


def test_an_example_with_an_unknown_field_or_another_type_is_refused() -> None:
    part, example = ALL_EXAMPLES[0]
    for change in ({"no_such_field": 1}, {"seed": "seven"}):
        with pytest.raises((ValidationError, ValueError)):
            part.model_validate(yaml.safe_load(example) | change)


# Trace rows.


def section_of(page: str, heading: str) -> str:
    return page.split(f"{heading}\n")[1].split("\n## ", maxsplit=1)[0]


def test_each_column_of_the_trace_is_described_and_no_other() -> None:
    described = section_of(page_text("trace-rows.md"), "## Columns of the kinds")
    assert {column for kind in ROW_KINDS.values() for column in kind.columns} == {
        line.split("`")[1] for line in described.splitlines() if line.startswith("| `")
    }


# Commands.


def test_each_command_has_examples_of_itself() -> None:
    page = page_text("commands.md")
    group = typer.main.get_command(app)
    for name in group.commands:  # type: ignore[attr-defined]
        assert f"\n## {name}\n" in page
        section = page.split(f"\n## {name}\n")[1].split("\n## ")[0]
        assert f"tidegauge {name}" in section.split("```")[1]


HELP = """\
Do it.

Examples:
  tidegauge do this
  tidegauge do that \\
      --with-care
                     with a remark
  tidegauge do all   at once
"""


def test_examples_are_read_with_their_remarks() -> None:
    assert [(example.lines, example.remark) for example in examples(HELP)] == [
        (["tidegauge do this"], ""),
        (["tidegauge do that \\", "    --with-care"], "with a remark"),
        (["tidegauge do all"], "at once"),
    ]
    assert list(examples("Do it.\n")) == []
