"""``tidegauge lint``: faults of a cluster that show without a run."""

from collections.abc import Mapping, Sequence
from textwrap import wrap

import typer

from tidegauge.commands.loading import loaded
from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.scenario_options import LintOptions
from tidegauge.scenario.lint.finding import Finding
from tidegauge.scenario.lint.lint import CHECKS, findings_of
from tidegauge.scenario.text.errors import counted
from tidegauge.views.output import WIDTH, print_json


def lint_scenario(options: LintOptions) -> None:
    """Perform ``tidegauge lint``."""
    scenario = loaded(RunOptions(options.scenario, changes=options.changes))
    found, changes = findings_of(scenario), options.changes or []
    if options.as_json:
        findings = [
            {"check": name, **finding.as_json(options.scenario, changes)}
            for name, finding in found.items()
        ]
        print_json({"name": scenario.name, "checks": [*CHECKS], "findings": findings})
    else:
        _print(found, options.scenario, changes)
    if options.strict and found:
        raise typer.Exit(1)


def _print(found: Mapping[str, Finding], file: str, changes: Sequence[str]) -> None:
    for name, finding in found.items():
        _say(f"{name}: {finding.concerned}")
        _say(f"  risk    {finding.risk}")
        _say(f"  remedy  {finding.remedy}")
        typer.echo(f"  try     {finding.simulation.text(file, changes)}\n")
    typer.echo(f"{counted(len(found), 'finding')} of {counted(len(CHECKS), 'check')}")


def show_findings(found: Mapping[str, Finding], file: str) -> None:
    """Print a line for each finding, below the output of another command.

    Args:
        found: the findings, by their checks.
        file: the scenario, as the command that explains them is typed.
    """
    if not found:
        return
    typer.echo(f"\n{counted(len(found), 'finding')}, which `tidegauge lint {file}` explains:")
    for name, finding in found.items():
        _say(f"{name}: {finding.concerned}", "  ")


def _say(text: str, lead: str = "") -> None:
    """Print a text within the width of the output, its further lines indented below the first."""
    for line in wrap(text, WIDTH, initial_indent=lead, subsequent_indent=f"{lead}          "):
        typer.echo(line)
