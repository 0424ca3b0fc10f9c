"""``tidegauge gallery``: known bugs of KRaft, in a release that has them and in one without."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.performing.compilation import announce_compilation
from tidegauge.views.output import console, print_json, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tidegauge.laboratory.gallery.comparison import Compared
    from tidegauge.laboratory.gallery.incidents import Incident


def gallery(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[INCIDENT]", help="Name or number of one incident. Default: all of them."
        ),
    ] = None,
    *,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON; all else goes to standard error.")
    ] = False,
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
    from tidegauge.laboratory.gallery.view import content_of, show

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
    from tidegauge.laboratory.gallery.incidents import INCIDENTS, incidents_named

    if name is None:
        return INCIDENTS
    try:
        return incidents_named(name)
    except ValueError as error:
        raise TidegaugeError(str(error)) from error


def _compared(incidents: Sequence[Incident]) -> list[Compared]:
    """Run all incidents, each in two releases, and show the progress."""
    from tidegauge.laboratory.gallery.comparison import compared
    from tidegauge.views.run_batch import runs_progress

    results = []
    with runs_progress(len(incidents)) as advance:
        for incident in incidents:
            results.append(compared(incident))
            advance()
    return results
