"""``tidegauge scenarios``, ``schema`` and ``docs``: shipped scenarios, their schema, the manual."""

import json
import shlex
from collections.abc import Callable, Sequence
from importlib.resources import files
from pathlib import Path
from textwrap import fill

import typer
from rich.console import Console
from rich.text import Text

from tidegauge.commands.scenario_options import DocsOptions, ScenariosOptions, SchemaOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.reading import Scenario, load_scenario, schema_text
from tidegauge.scenario.shipped import (
    FOLDER,
    ShippedScenario,
    described_scenario,
    described_scenarios,
    find_scenario,
    shipped_scenarios,
)
from tidegauge.scenario.text.errors import counted, did_you_mean
from tidegauge.scenario.timetable import fault_words, timetable
from tidegauge.simulation.quantities import format_duration, time_text
from tidegauge.views.output import console, print_hanging, print_json

_INDENT = 4 * " "
#: The number of faults and steps that are listed.
_LISTED = 40

_PACKAGE = Path(__file__).parents[1]
#: The folder of the manual: inside of the package where it is installed, beside it in a checkout.
_MANUAL = next(each for each in (_PACKAGE / "docs", _PACKAGE.parent / "docs") if each.exists())
#: The page of the result tables, which is generated.
_TABLES = Path(str(files("tidegauge.analysis") / "TABLES.md"))


#: The headings of the list, and which scenarios stand below each.
_SUBJECTS: dict[str, Callable[[ShippedScenario], bool]] = {
    "Questions about a cluster": lambda each: (
        not (each.is_mechanism or each.is_in_gallery or each.is_incident)
    ),
    "Mechanisms of replication, one by one": lambda each: each.is_mechanism,
    "Bugs and anomalies, which `tidegauge gallery` runs in two releases": lambda each: (
        each.is_in_gallery
    ),
    "Incidents on which `tidegauge alerts` tests alert rules": lambda each: each.is_incident,
}


def list_scenarios(options: ScenariosOptions) -> None:
    """Perform ``tidegauge scenarios``."""
    word = options.name
    if word is not None and _is_scenario(word):
        _tell(word, as_json=options.as_json)
        return
    described = [each for each in described_scenarios() if word is None or each.is_about(word)]
    if word is not None and not described:
        near = did_you_mean(word, [name for name in shipped_scenarios() if word[0] == name[0]])
        raise TidegaugeError(
            f"{word}: no such file, and no shipped scenario of that name or about it; {near}"
        )
    if options.as_json:
        print_json([{**each._asdict(), "file": str(each.file)} for each in described])
        return
    out = console()
    for subject, belongs in _SUBJECTS.items():
        _print_list(out, subject, [each for each in described if belongs(each)])
    out.print("tidegauge scenarios NAME   tells one of them")
    out.print("tidegauge scenarios WORD   lists those with a word in their name or description")
    out.print("tidegauge run NAME         runs one")
    out.print(f"\nThe files are in {FOLDER}", soft_wrap=True)


def _is_scenario(name: str) -> bool:
    file = Path(name)
    return name in shipped_scenarios() or file.suffix in {".yaml", ".yml"} or file.is_file()


def _print_list(out: Console, subject: str, scenarios: Sequence[ShippedScenario]) -> None:
    """Print scenarios below their subject, each with the first sentence of its story."""
    if not scenarios:
        return
    out.print(subject, style="bold")
    width = max(len(each.name) for each in scenarios)
    for each in scenarios:
        sentence = each.question.split(". ")[0].removesuffix(".")
        line = Text.assemble((each.name.ljust(width), "bold cyan"), f"  {sentence}")
        out.print(line, no_wrap=True, overflow="ellipsis")
    out.print()


def _tell(name: str, *, as_json: bool) -> None:
    """Print the question that a scenario answers, its story, its faults and steps, its checks."""
    file = find_scenario(name)
    scenario = load_scenario(file)
    described = described_scenario(name, file, scenario)
    if as_json:
        print_json(
            {
                **described._asdict(),
                "file": str(file),
                "timetable": [planned._asdict() for planned in timetable(scenario)],
                "checks": scenario.checks,
            }
        )
        return
    out = console()
    _print(out, described)
    for paragraph in scenario.description.strip().split("\n\n")[1:]:
        out.print()
        out.print(Text(_filled(" ".join(paragraph.split()), out)))
    print_timetable(scenario)
    for check, verdict in scenario.checks.items():
        out.print(f"Expected of check {check}: {json.dumps(verdict)}")
    out.print(f"\nThe file: {file}", soft_wrap=True)
    out.print(f"Run it:   tidegauge run {shlex.quote(name)}", soft_wrap=True)


def print_timetable(scenario: Scenario) -> None:
    """Print the faults, pins and steps of a scenario with their times."""
    planned = timetable(scenario)
    heading = "Faults, pins and steps:" if scenario.pins else "Faults and steps:"
    typer.echo(f"\n{heading}" if planned else "\nThere are no faults and no steps.")
    for time_us, is_exact, words in planned[:_LISTED]:
        when = time_text(time_us)
        _print_planned(when if is_exact else f"from {when}", words)
    if len(planned) > _LISTED:
        typer.echo(f"  ... and {len(planned) - _LISTED} more")
    for place, fault in enumerate(scenario.faults):
        if fault.at_us is None:
            _print_planned("begun by a step", fault_words(scenario, place))


def _print_planned(when: str, words: str) -> None:
    print_hanging(console(), f"  {when:>15}  ", words)


def _print(out: Console, scenario: ShippedScenario) -> None:
    line = Text("\n").append(scenario.name, style="bold cyan")
    line.append(
        f"   {counted(scenario.brokers, 'broker')} of Kafka {scenario.kafka}, "
        f"{counted(scenario.partitions, 'partition')}, "
        f"{format_duration(round(scenario.virtual_seconds * 1e6))}"
    )
    out.print(line)
    out.print(Text(_filled(scenario.question, out)))


def _filled(text: str, out: Console) -> str:
    return fill(text, out.width, initial_indent=_INDENT, subsequent_indent=_INDENT)


def show_schema(_options: SchemaOptions) -> None:
    """Perform ``tidegauge schema``."""
    typer.echo(schema_text(), nl=False)


def show_docs(options: DocsOptions) -> None:
    """Perform ``tidegauge docs``."""
    pages = {file.stem: file for file in _MANUAL.glob("*.md")} | {"tables": _TABLES}
    if options.name is None:
        width = max(map(len, pages))
        for name in sorted(pages):
            typer.echo(f"{name:{width}}  {_title(pages[name])}")
    elif options.name in pages:
        typer.echo(pages[options.name].read_text(encoding="utf-8"), nl=False)
    else:
        near = did_you_mean(options.name, list(pages))
        raise TidegaugeError(f"{options.name}: the manual has no such page; {near}")


def _title(page: Path) -> str:
    with page.open(encoding="utf-8") as lines:
        return next(line for line in lines if line.startswith("# ")).removeprefix("# ").strip()
