"""An incident, run in a release that has the bug and in one that has not: figures, verdicts."""

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.simulate import simulate
from tidegauge.laboratory.gallery.incidents import Expected, Incident, Range, Verdict, Version
from tidegauge.runs.figures import FIGURES_OF_RUNS, value_text
from tidegauge.runs.quorum_margin import quorum_figures
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import Scenario, load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.traces.summary_figures import numbers_of

#: The figures and the verdicts of the checks of a run, by their names.
Values = Mapping[str, float | str]


class Observed(NamedTuple):
    """A figure or the verdict of a check in one run, beside the values that it may have."""

    name: str
    label: str
    unit: str
    expected: Range | Verdict
    value: float | str

    @property
    def is_as_expected(self) -> bool:
        """Whether it has such a value."""
        return self.expected.has(self.value)

    @property
    def text(self) -> str:
        """The value for people."""
        if isinstance(self.value, str):
            return self.value
        if isinstance(self.value, bool):
            return Verdict(self.value).text()
        return value_text(self.value, self.unit)

    @property
    def expected_text(self) -> str:
        """The values that it may have, for people."""
        return self.expected.text(self.unit)


class Compared(NamedTuple):
    """An incident, as both of its releases have shown it."""

    incident: Incident
    #: The figures of the incident, in its order.
    affected: Sequence[Observed]
    fixed: Sequence[Observed]

    @property
    def deviations(self) -> list[tuple[Version, Observed]]:
        """The figures that are not as expected, each with the version of its run."""
        return [
            (version, each)
            for version, observed in (
                (self.incident.shown_in, self.affected),
                (self.incident.absent_in, self.fixed),
            )
            for each in observed
            if not each.is_as_expected
        ]


def compared(incident: Incident) -> Compared:
    """Run an incident in both of its releases, and measure its figures.

    Raises:
        ScenarioError: its scenario cannot be run in one of them.
    """
    versions = (incident.shown_in, incident.absent_in)
    affected, fixed = values_of(incident, [scenario_of(incident, each) for each in versions])
    return Compared(
        incident,
        [_observed(each, each.affected, affected) for each in incident.expected],
        [_observed(each, each.fixed, fixed) for each in incident.expected],
    )


def _observed(each: Expected, expected: Range | Verdict, values: Values) -> Observed:
    return Observed(each.name, each.label, each.unit, expected, values[each.name])


def scenario_of(incident: Incident, version: Version) -> Scenario:
    """The scenario of an incident in a version.

    Raises:
        ScenarioError: it cannot be run in that version.
    """
    return load_scenario(find_scenario(incident.scenario), incident.changes(version))


def values_of(incident: Incident, scenarios: Iterable[Scenario]) -> list[Values]:
    """The values that runs of an incident have, one for each scenario."""
    with TemporaryDirectory(prefix="tidegauge-gallery-") as folder:
        # Rows of tables come by the names of runs.
        runs = [
            simulate(scenario, Path(folder, f"{place:03}"))
            for place, scenario in enumerate(scenarios)
        ]
        values: list[Values] = [
            {**_values_of_summary(run.summary or {}), **quorum_figures(Run(run.path))}
            for run in runs
        ]
        if any(each.name not in found for found in values for each in incident.expected):
            # The others are figures of result tables.
            tables = RunTables([run.path for run in runs], Path(folder, "tables"))
            rows = tables.rows(FIGURES_OF_RUNS)
            values = [{**found, **row} for found, row in zip(values, rows, strict=True)]
        return values


def _values_of_summary(summary: Mapping[str, Any]) -> Values:
    verdicts = {name: found["verdict"] for name, found in summary["checks"].items()}
    return dict(numbers_of(summary)) | verdicts


def command_of(incident: Incident, version: Version) -> str:
    """The shell command that runs an incident in a version."""
    return shlex.join(["tidegauge", "run", incident.scenario, *_settings(incident, version)])


def _settings(incident: Incident, version: Version) -> Iterator[str]:
    for path, value in incident.changes(version).items():
        yield from ("--set", f"{path}={value if isinstance(value, str) else json.dumps(value)}")
