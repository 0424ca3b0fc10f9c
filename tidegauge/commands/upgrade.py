"""``tidegauge upgrade``: the effects of another release or mode on a cluster."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import typer

from tidegauge.commands import comparing
from tidegauge.commands.loading import loaded, show_warnings
from tidegauge.commands.run_options import RunOptions, UpgradeOptions
from tidegauge.commands.shared_options import parsed, seeds_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.real_cluster.describe.broker_configs import read_properties
from tidegauge.real_cluster.describe.release_change import (
    FaultCase,
    UpgradeCase,
    fault_cases,
    in_health,
    never_accepting,
    upgrade_case,
    without_topics,
)
from tidegauge.real_cluster.describe.server_properties import properties_files
from tidegauge.real_cluster.describe.upgrade_path import UpgradePath, upgrade_path
from tidegauge.replication.release_versions import KRAFT_MODE, Release
from tidegauge.scenario.other_mode.settings import Change
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import counted
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views import comparison_view
from tidegauge.views.output import console, report
from tidegauge.views.sweep_report import show_surprises

#: Eligible leader replicas stay off in a cluster that was upgraded.
_ELR = "eligible_leader_replicas"


def upgrade_cluster(options: UpgradeOptions) -> None:
    """Perform ``tidegauge upgrade``."""
    request = RunOptions(options.scenario)
    own = loaded(request)
    release = parsed("--to", options.target, Release.parse)
    mode = own.mode if own.mode in release.modes else release.mode()
    if (own.mode, own.release) == (mode, str(release)):
        raise TidegaugeError(f"--to {release}: the cluster has this release and mode already")
    refusing = never_accepting(own)
    data = without_topics(
        in_health(comparing.written_scenario(request), own.broker_ids()), refusing
    )
    before = comparing.converted_variant(data, options.scenario, own.mode, own.release)
    after = _successor(comparing.converted_variant(data, options.scenario, mode, str(release)), own)
    files = read_properties(properties_files(options.properties or []))
    written = {name for file in files for name in file.properties}
    path = upgrade_path(own, after.scenario, written)
    folder = options.out or new_run_folder(f"{own.name}-to-{release}")
    span = seeds_of(options.seeds)
    screen = console()
    cases: list[FaultCase | UpgradeCase] = list(fault_cases(before.scenario))
    screen.print(
        f"Changes from {before.label} to {after.label}: {len(cases)} faults, each with "
        f"{counted(len(span), 'seed')}.",
        style="bold",
    )
    if own.mode == mode and Release.parse(own.release) < release:
        cases.append(upgrade_case(before.scenario, str(release)))
    for line in refusing.values():
        screen.print(line, markup=False)
    comparison_view.show_upgrade_path(
        screen, before.label, after.label, path, in_full=options.verbose
    )
    with report(as_json=True):
        found = [
            _case(case, before, after, span, options.jobs, folder / case.name) for case in cases
        ]
    by_title = {case.title: one for case, one in zip(cases, found, strict=True)}
    if options.verbose:
        _show(before, after, path, by_title)
    else:
        figures = {case.name: one.figures for case, one in zip(cases, found, strict=True)}
        comparison_view.show_upgrade(screen, [before.label, after.label], figures)
        for comparison in found:
            show_surprises(screen, comparison.runs)
        screen.print("More: --verbose, with --out the same runs; or, for each fault:")
        screen.print(f"  tidegauge report '{folder / cases[0].name}'", soft_wrap=True, markup=False)
    show_warnings(before.scenario, after.scenario)
    if not all(comparison.is_well for comparison in found):
        raise typer.Exit(1)


def _show(
    before: comparing.Variant,
    after: comparing.Variant,
    path: UpgradePath,
    found: Mapping[str, comparing.Comparison],
) -> None:
    """Print the figures under each fault, then the changes under any."""
    screen = console()
    for title, comparison in found.items():
        screen.print(f"\n{title}", style="bold", soft_wrap=True)
        comparison_view.show_figures(screen, [before.label, after.label], comparison.figures)
    comparison_view.show_decisions(
        screen, [figure for each in found.values() for figure in each.figures]
    )
    comparison_view.show_defaults(screen, before.scenario, after.scenario, path.removed)
    comparison_view.show_settings_that_end(screen, after.changes, path.removed)
    others = [str(each) for each in after.changes if "settings" not in each.path]
    comparison_view.show_changes(screen, after.label, others)
    screen.print()
    for comparison in found.values():
        show_surprises(screen, comparison.runs)
    for place, comparison in enumerate(found.values()):
        lead = "     " if place else "Next:"
        screen.print(f"{lead} tidegauge report '{comparison.folder}'", soft_wrap=True, markup=False)


def _successor(after: comparing.Variant, own: Scenario) -> comparing.Variant:
    """The cluster after its upgrade: without the defaults that only new clusters have."""
    had_it = own.has_kraft and own.has_eligible_leader_replicas()
    if had_it or not after.scenario.has_eligible_leader_replicas():
        return after
    assert after.data is not None
    text = "false: an upgrade does not turn them on, kafka-features.sh does"
    converted = comparing.converted_variant(
        {**after.data, _ELR: False}, after.label, KRAFT_MODE, after.scenario.release
    )
    return converted._replace(changes=(*after.changes, Change((_ELR,), text)))


def _case(
    case: FaultCase | UpgradeCase,
    before: comparing.Variant,
    after: comparing.Variant,
    seeds: range,
    jobs: int | None,
    out: Path,
) -> comparing.Comparison:
    typer.echo(case.title)
    if isinstance(case, UpgradeCase):
        variants = list(_with_upgrade(before, after, case))
    else:
        variants = [_with_fault(each, case) for each in (before, after)]
    return comparing.perform_comparison(
        RunOptions(before.scenario.name), variants, seeds, out, jobs
    )


def _with_upgrade(
    before: comparing.Variant, after: comparing.Variant, case: UpgradeCase
) -> Iterator[comparing.Variant]:
    """The cluster with the restarts of an upgrade, and with the upgrade itself: both begin old."""
    assert before.data is not None
    for variant, (faults, steps) in ((before, case.without), (after, case.upgrade)):
        data = {
            **before.data,
            "duration": f"{case.duration_s}s",
            "faults": faults,
            "steps": steps,
        }
        mode, release = before.scenario.mode, before.scenario.release
        made = comparing.converted_variant(data, before.label, mode, release)
        yield made._replace(label=variant.label, setting=variant.setting)


def _with_fault(variant: comparing.Variant, case: FaultCase) -> comparing.Variant:
    assert variant.data is not None
    mode = variant.scenario.mode
    data = {**variant.data, "duration": f"{case.duration_s}s", "faults": [case.fault(mode)]}
    made = comparing.converted_variant(data, variant.label, mode, variant.scenario.release)
    return made._replace(changes=variant.changes)
