"""The incidents of the gallery with their figures in both releases: a table, and JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from tidegauge.laboratory.gallery.all_releases import AllReleases
from tidegauge.laboratory.gallery.comparison import Compared, Observed, command_of
from tidegauge.laboratory.gallery.incidents import Range, Verdict, Version

_INDENT = 4 * " "


def show(out: Console, results: Sequence[Compared]) -> None:
    """Print the table of incidents, a line for each figure, and all deviations."""
    out.print("Each figure: the release, the observed value (the expected one)\n")
    width = max(len(one.label) for each in results for one in each.affected)
    for each in results:
        incident = each.incident
        cells = [_cell(incident.shown_in, one) for one in each.affected]
        cell_width = max(map(len, cells))
        name = Text(f"{incident.number} {incident.name}", style="bold cyan")
        out.print(name.append(f"   {', '.join(incident.issues)}", style="default"))
        out.print(f"{_INDENT}{incident.title}", style="bold")
        if incident.mechanism:
            out.print(f"{_INDENT}{incident.mechanism}", soft_wrap=True)
        out.print(f"{_INDENT}affected {incident.affected}; fixed {incident.fixed}", soft_wrap=True)
        out.print(f"{_INDENT}{incident.schedule}", soft_wrap=True)
        for cell, absent in zip(cells, each.fixed, strict=True):
            line = Text(f"{_INDENT}{absent.label.ljust(width)}  ")
            cell.pad_right(cell_width + 2 - len(cell))
            out.print(line + cell + _cell(incident.absent_in, absent), soft_wrap=True)
        out.print()
    _show_deviations(out, results)


def _cell(version: Version, observed: Observed) -> Text:
    """A release, the observed value, and the expected ones."""
    style = "bold green" if observed.is_as_expected else "bold red"
    return Text.assemble(f"{version}: ", (observed.text, style), f" ({observed.expected_text})")


def _show_deviations(out: Console, results: Sequence[Compared]) -> None:
    count = 0
    for each in results:
        for version, observed in each.deviations:
            count += 1
            out.print(
                f"{each.incident.name} in {version}: {observed.label}: {observed.text}; "
                f"expected: {observed.expected_text}\n"
                f"  Again: {command_of(each.incident, version)}",
                soft_wrap=True,
                markup=False,
            )
    shown = sum(not each.deviations for each in results)
    out.print(f"{shown} of {len(results)} shown in the affected release and absent in the fixed")


def show_all_releases(out: Console, results: Sequence[AllReleases]) -> None:
    """Print in which releases each incident is shown, and all contradictions of the table."""
    for each in results:
        incident = each.incident
        out.print(Text(f"{incident.number} {incident.name}", style="bold cyan"))
        out.print(f"{_INDENT}affected {incident.affected}; fixed {incident.fixed}", soft_wrap=True)
        for words, shown in _OUTCOMES.items():
            if releases := each.text(shown=shown):
                out.print(f"{_INDENT}{words} {releases}", soft_wrap=True)
        if each.deviations:
            releases = ", ".join(map(str, each.deviations))
            out.print(f"{_INDENT}not as in the table: {releases}", style="bold red", soft_wrap=True)
    as_said = sum(not each.deviations for each in results)
    out.print(f"\n{as_said} of {len(results)} as in the table")


#: The outcomes of a run in a release, in words.
_OUTCOMES: Mapping[str, bool | None] = {"shown in": True, "absent in": False, "neither in": None}


def content_of_all_releases(results: Sequence[AllReleases]) -> list[dict[str, Any]]:
    """The incidents and their releases, for programs; null: neither shown nor absent."""
    return [
        {
            "number": each.incident.number,
            "name": each.incident.name,
            "affected": each.incident.affected,
            "shown": {str(release): shown for release, shown in each.shown.items()},
            "is_as_expected": not each.deviations,
        }
        for each in results
    ]


def content_of(results: Sequence[Compared]) -> list[dict[str, Any]]:
    """The incidents and their figures, for programs."""
    return [
        {
            "number": each.incident.number,
            "name": each.incident.name,
            "title": each.incident.title,
            "issues": list(each.incident.issues),
            "affected": each.incident.affected,
            "fixed": each.incident.fixed,
            "mechanism": each.incident.mechanism,
            "evidence": each.incident.evidence,
            "schedule": each.incident.schedule,
            "scenario": each.incident.scenario,
            "is_as_expected": not each.deviations,
            "shown_in": _run_content(each, each.incident.shown_in, each.affected),
            "absent_in": _run_content(each, each.incident.absent_in, each.fixed),
        }
        for each in results
    ]


def _run_content(each: Compared, version: Version, observed: Sequence[Observed]) -> dict[str, Any]:
    return {
        **version._asdict(),
        "command": command_of(each.incident, version),
        "figures": [
            {
                "figure": one.name,
                "unit": one.unit,
                "value": one.value,
                "least": one.expected.least,
                "most": one.expected.most,
                "is_as_expected": one.is_as_expected,
            }
            for one in observed
            if isinstance(one.expected, Range)
        ],
        "checks": [
            {
                "check": one.name,
                "verdict": one.value,
                "expected": one.expected.holds,
                "is_as_expected": one.is_as_expected,
            }
            for one in observed
            if isinstance(one.expected, Verdict)
        ],
    }
