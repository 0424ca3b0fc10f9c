"""All checks of clusters, and the findings about a scenario.

The findings follow from the scenario alone, so they are the same for each seed, unless the seed
places replicas.
"""

from tidegauge.scenario.lint import clients, places, replicas, settings
from tidegauge.scenario.lint.finding import Finding
from tidegauge.scenario.lint.linted_cluster import Check, LintedCluster
from tidegauge.scenario.model.scenario import Scenario

#: The files of checks, in the order of their findings.
_FILES = (replicas, places, clients, settings)

#: All checks, by their names.
CHECKS: dict[str, Check] = {
    name: each for file in _FILES for name, each in vars(file).items() if isinstance(each, Check)
}


def findings_of(scenario: Scenario) -> dict[str, Finding]:
    """The findings about the cluster of a valid scenario, by the names of their checks."""
    return _found(scenario, CHECKS)


def mistakes_in(scenario: Scenario) -> dict[str, Finding]:
    """Those of the findings that its author can hardly mean."""
    return _found(scenario, {name: each for name, each in CHECKS.items() if each.is_mistake})


def _found(scenario: Scenario, checks: dict[str, Check]) -> dict[str, Finding]:
    cluster = LintedCluster(scenario)
    found = ((name, each.find(cluster)) for name, each in checks.items())
    return {name: finding for name, finding in found if finding is not None}
