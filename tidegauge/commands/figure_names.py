"""The figures that ``tidegauge sweep --figure`` takes: checked before the first run, and listed."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.named_figures import FigureNames, unknown_figures
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import one_line
from tidegauge.traces.summary_figures import FORMS

#: The number of names that are proposed for an unknown one.
_PROPOSED = 3
#: A search for a near name among more would take seconds.
_MOST_COMPARED = 5_000
#: The number of names of one form that are listed; the rest is counted.
_LISTED = 24


def check_figures(names: Sequence[str], scenarios: Sequence[Scenario]) -> None:
    """End the command if no run of these scenarios has one of these figures."""
    if not names:
        return

    for name, known in unknown_figures(names, scenarios).items():
        near = _near(name, sorted(known))
        hint = f"did you mean {near}?" if near else "--figures lists them"
        raise TidegaugeError(one_line(f"--figure {name}: no run will have such a figure; {hint}"))


def _near(name: str, known: Sequence[str]) -> str:
    """The known names that are most similar to a wrong one, or contain it."""
    found = get_close_matches(name, known[:_MOST_COMPARED], n=_PROPOSED)
    found = found or [each for each in known if name.lower() in each.lower()][:_PROPOSED]
    *others, last = found or [""]
    return f"{', '.join(others)} or {last}" if others else last


def show_figures(scenario: Scenario | None) -> None:
    """List all forms of figures, or the figures that runs of a scenario have: each on a line."""
    listed = _listed(scenario)
    width = max(len(name) for each in listed for name in each["names"][:_LISTED])
    unit_width = max(len(each["unit"]) for each in listed)
    for each in listed:
        for name in each["names"][:_LISTED]:
            typer.echo(f"{name:{width}}  {each['unit']:{unit_width}}  {each['meaning']}")
        if len(each["names"]) > _LISTED:
            more, last = len(each["names"]) - _LISTED, each["names"][-1]
            typer.echo(f"  ... and {more:,} more, to {last} (--json has all)")
    if scenario is None:
        typer.echo(
            "\nNames in capitals stand for names in a scenario: a TOPIC, a GROUP of producers, a "
            "FAULT, a STEP.\nWith a SCENARIO its own figures are listed."
        )


def figures_for_programs(scenario: Scenario | None) -> list[dict[str, Any]]:
    """The figures for programs, with an entry for each."""
    return [
        {"figure": name, "unit": each["unit"], "meaning": each["meaning"]}
        for each in _listed(scenario)
        for name in each["names"]
    ]


def _listed(scenario: Scenario | None) -> list[dict[str, Any]]:
    """All forms of figures, each with its names."""
    if scenario is None:
        forms = [(form, [form.name]) for form in FORMS]
    else:
        figures = FigureNames(scenario)
        forms = [(form, list(figures.names_of(form))) for form in figures.forms]
    return [{"names": names, "unit": form.unit, "meaning": form.meaning} for form, names in forms]
