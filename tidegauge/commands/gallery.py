"""``tidegauge gallery``: known bugs of KRaft, in a release that has them and in one without."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from tidegauge.commands import shared_options as options
from tidegauge.commands.compilation import announce_compilation
from tidegauge.laboratory.gallery.comparison import Compared, compared
from tidegauge.laboratory.gallery.incidents import INCIDENTS, Incident, incidents_named
from tidegauge.laboratory.gallery.view import content_of, show
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import runs_progress


def gallery(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[INCIDENT]", help="Name or number of one incident. Default: all of them."
        ),
    ] = None,
    *,
    as_json: options.AsJson = False,
) -> None:
    """Show known bugs of KRaft: each in an affected release, and absent in a fixed one.

    Tidegauge runs the scenario of each incident in both releases. The table has the issue, the
    affected and fixed releases, the schedule, and the expected and observed figures. A figure that
    is not as expected is named, with the command that repeats the run.

    The exit status is 1 if a figure is not as expected.

    \b
    Examples:
      tidegauge gallery
      tidegauge gallery 3
      tidegauge gallery isolated-controller --json
    """
    incidents = _incidents_of(name)
    with report(as_json=as_json):
        announce_compilation()
        results = _compared(incidents)
        show(console(), results)
    if as_json:
        print_json(content_of(results))
    if any(each.deviations for each in results):
        raise typer.Exit(1)


def _incidents_of(name: str | None) -> Sequence[Incident]:
    if name is None:
        return INCIDENTS
    return incidents_named(name)


def _compared(incidents: Sequence[Incident]) -> list[Compared]:
    """Run all incidents, each in two releases, and show the progress."""
    results = []
    with runs_progress(len(incidents)) as advance:
        for incident in incidents:
            results.append(compared(incident))
            advance()
    return results
