"""``tidegauge scenarios``, ``schema`` and ``docs``: shipped scenarios, their schema, the manual."""

from pathlib import Path
from textwrap import fill

import typer
from rich.console import Console
from rich.text import Text

from tidegauge.commands.scenario_options import DocsOptions, ScenariosOptions, SchemaOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.reading import schema_text
from tidegauge.scenario.shipped import FOLDER, ShippedScenario, described_scenarios
from tidegauge.scenario.text.errors import counted, did_you_mean
from tidegauge.simulation.quantities import format_duration
from tidegauge.views.output import console, print_json

_INDENT = 4 * " "

_PACKAGE = Path(__file__).parents[1]
#: The folder of the manual: inside of the package where it is installed, beside it in a checkout.
_MANUAL = next(each for each in (_PACKAGE / "docs", _PACKAGE.parent / "docs") if each.exists())


def list_scenarios(options: ScenariosOptions) -> None:
    """Perform ``tidegauge scenarios``."""
    described = described_scenarios()
    if options.as_json:
        print_json([{**each._asdict(), "file": str(each.file)} for each in described])
        return
    out = console()
    for title, are_mechanisms in (
        ("Questions about a cluster", False),
        ("Mechanisms of replication, one by one", True),
    ):
        out.print(title, style="bold")
        for each in described:
            is_in_a_line = each.is_incident or each.is_in_gallery
            if not is_in_a_line and each.is_mechanism == are_mechanisms:
                _print(out, each)
        out.print()
    for title, are_incidents in (
        ("Bugs of KRaft, which `tidegauge gallery` runs in two releases", False),
        ("Incidents on which `tidegauge alerts` tests alert rules", True),
    ):
        out.print(title, style="bold")
        out.print()
        for each in described:
            if each.is_incident if are_incidents else each.is_in_gallery:
                _print_in_a_line(out, each)
        out.print()
    out.print(f"The files are in {FOLDER}", soft_wrap=True)


def _print(out: Console, scenario: ShippedScenario) -> None:
    line = Text("\n").append(scenario.name, style="bold cyan")
    line.append(
        f"   {counted(scenario.brokers, 'broker')} of Kafka {scenario.kafka}, "
        f"{counted(scenario.partitions, 'partition')}, "
        f"{format_duration(round(scenario.virtual_seconds * 1e6))}"
    )
    out.print(line)
    out.print(
        Text(fill(scenario.question, out.width, initial_indent=_INDENT, subsequent_indent=_INDENT))
    )


def _print_in_a_line(out: Console, scenario: ShippedScenario) -> None:
    """Print a scenario of a long, uniform list: only the first words of its story."""
    story = scenario.question.split(": ")[0].split(". ")[0].removesuffix(".")
    line = Text.assemble((scenario.name, "bold cyan"), f"   {scenario.kafka}: {story}")
    out.print(line, no_wrap=True, overflow="ellipsis")


def show_schema(_options: SchemaOptions) -> None:
    """Perform ``tidegauge schema``."""
    typer.echo(schema_text(), nl=False)


def show_docs(options: DocsOptions) -> None:
    """Perform ``tidegauge docs``."""
    pages = {file.stem: file for file in _MANUAL.glob("*.md")}
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
