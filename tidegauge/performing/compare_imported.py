"""``tidegauge import --compare-to``: what another release or mode changes for a real cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidegauge.options.compare_request import Variant, converted_variant
from tidegauge.options.run_request import RunRequest
from tidegauge.performing.perform_comparison import Comparison, perform_comparison
from tidegauge.replication.release_versions import KRAFT_MODE, Release
from tidegauge.views.comparison_view import (
    show_changes,
    show_decisions,
    show_defaults,
    show_figures,
    show_settings_that_end,
)
from tidegauge.views.output import console, fail
from tidegauge.views.sweep_report import show_surprises

if TYPE_CHECKING:
    from rich.console import Console

    from tidegauge.real_cluster.describe.imported_scenario import ImportedScenario
    from tidegauge.real_cluster.describe.release_change import FaultCase
    from tidegauge.replication.release_versions import Mode
    from tidegauge.scenario.reading import Scenario

#: Where eligible leader replicas stay off in a cluster that was upgraded.
_ELR = "eligible_leader_replicas"


def check_target(release: str) -> str:
    """The release to compare with, in full; the command ends if there is none such."""
    try:
        return str(Release.parse(release))
    except ValueError as error:
        fail(f"--compare-to {release}: {error}")


def compare_imported(
    imported: ImportedScenario,
    written: Path,
    target: str,
    seeds: range | None,
    jobs: int | None,
    out: Path | None,
) -> bool:
    """Run a cluster and its successor under standard faults, and print the differences.

    Args:
        imported: the cluster.
        written: the file of its scenario.
        target: the release to compare with.
        seeds: the seeds of all runs; None: the scenario's.
        jobs: the number of parallel runs; None: the number of CPUs.
        out: the folder, with one comparison for each fault; None: a new one.

    Returns:
        Whether all runs were as expected.
    """
    from tidegauge.real_cluster.describe.release_change import fault_cases, in_health
    from tidegauge.traces.run_folder import new_run_folder

    data = in_health(imported.data)
    own = imported.scenario
    mode = _target_mode(own, target)
    if (own.mode, own.release) == (mode, target):
        fail(f"--compare-to {target}: the cluster has this release and mode already")
    before = converted_variant(data, str(written), own.mode, own.release)
    after = _successor(converted_variant(data, str(written), mode, target), own)
    folder = out or new_run_folder(f"{own.name}-to-{target}")
    screen = console()
    cases = list(fault_cases(before.scenario))
    screen.print(
        f"\nWhat changes from {before.label} to {after.label}: {len(cases)} faults, each in runs of"
        " its own. They begin with all brokers up, and with preferred leaders.",
        soft_wrap=True,
    )
    found = [_case(case, before, after, seeds, jobs, folder / case.name) for case in cases]
    for case, comparison in zip(cases, found, strict=True):
        screen.print(f"\n{case.title}", style="bold", soft_wrap=True)
        show_figures(screen, [before.label, after.label], comparison.figures)
    show_decisions(screen, [figure for each in found for figure in each.figures])
    show_defaults(screen, before.scenario, after.scenario)
    show_settings_that_end(screen, after.changes)
    others = [str(each) for each in after.changes if "settings" not in each.path]
    show_changes(screen, after.label, others)
    _show_next(screen, found)
    return all(comparison.is_well for comparison in found)


def _target_mode(own: Scenario, target: str) -> Mode:
    """The cluster's own mode, if the release has it."""
    release = Release.parse(target)
    return own.mode if own.mode in release.modes else release.mode()


def _successor(after: Variant, own: Scenario) -> Variant:
    """The cluster as it is after its upgrade: without what only new clusters have by default."""
    from tidegauge.scenario.other_mode.conversion import Change

    had_it = own.has_kraft and own.has_eligible_leader_replicas()
    if had_it or not after.scenario.has_eligible_leader_replicas():
        return after
    assert after.data is not None
    text = "false: an upgrade does not turn them on, kafka-features.sh does"
    converted = converted_variant(
        {**after.data, _ELR: False}, after.label, KRAFT_MODE, after.scenario.release
    )
    return converted._replace(changes=(*after.changes, Change((_ELR,), text)))


def _case(
    case: FaultCase,
    before: Variant,
    after: Variant,
    seeds: range | None,
    jobs: int | None,
    out: Path,
) -> Comparison:
    typer.echo(case.title)
    variants = [_with_fault(each, case) for each in (before, after)]
    return perform_comparison(RunRequest(before.scenario.name), variants, seeds, out, jobs)


def _with_fault(variant: Variant, case: FaultCase) -> Variant:
    assert variant.data is not None
    mode = variant.scenario.mode
    data = {**variant.data, "duration": f"{case.duration_s}s", "faults": [case.fault(mode)]}
    made = converted_variant(data, variant.label, mode, variant.scenario.release)
    return made._replace(changes=variant.changes)


def _show_next(screen: Console, found: list[Comparison]) -> None:
    screen.print()
    for comparison in found:
        show_surprises(screen, comparison.runs)
    for place, comparison in enumerate(found):
        lead = "     " if place else "Next:"
        screen.print(f"{lead} tidegauge report '{comparison.folder}'", soft_wrap=True, markup=False)
