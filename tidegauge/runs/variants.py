"""The variants that some runs are of: modes, releases, or the values of a setting."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tidegauge.analysis.questions.sweep import RunSetting, settings_of
from tidegauge.analysis.requests import FoundRun
from tidegauge.replication.release_versions import MODE_NAMES
from tidegauge.traces.run_files import read_manifest

#: So many are read side by side; more of them are a curve.
_FEWEST, _MOST = 2, 4


def variants_of(runs: Sequence[FoundRun]) -> dict[str, list[str]] | None:
    """The names of the runs of each variant; None: these are no runs to be read side by side.

    They are if they are of one scenario, and of two to four variants apart from the seed. A seed
    that was run twice counts once.

    Args:
        runs: all of them.

    Raises:
        RunError: a manifest cannot be read.
    """
    manifests = {run.name: read_manifest(run.folder) for run in runs}
    scenarios = {
        run: manifest["scenario"] | {"seed": manifest["seed"]}
        for run, manifest in manifests.items()
    }
    if len({scenario["name"] for scenario in scenarios.values()}) > 1:
        return None
    by_order: dict[Any, dict[int | None, str]] = {}
    settings = settings_of(scenarios)
    for run, setting in settings.items():
        by_order.setdefault(setting.order, {})[setting.seed] = run
    if not _FEWEST <= len(by_order) <= _MOST:
        return None
    variants = [list(by_order[order].values()) for order in sorted(by_order)]
    firsts = [(scenarios[those[0]], settings[those[0]]) for those in variants]
    named = dict(zip(_names(firsts), variants, strict=True))
    # ZooKeeper was first.
    return dict(sorted(named.items(), key=lambda each: _mode(scenarios[each[1][0]]) == "kraft"))


def _names(variants: Sequence[tuple[Mapping[str, Any], RunSetting]]) -> list[str]:
    modes = [_mode(scenario) for scenario, _ in variants]
    releases = [str(scenario["release"]) for scenario, _ in variants]
    named = [
        " ".join([MODE_NAMES[mode]] * (len({*modes}) > 1) + [release] * (len({*releases}) > 1))
        for mode, release in zip(modes, releases, strict=True)
    ]
    if len({*named}) == len(variants):
        return named
    return [setting.text for _, setting in variants]


def _mode(scenario: Mapping[str, Any]) -> str:
    return str(scenario.get("mode", "zookeeper"))
