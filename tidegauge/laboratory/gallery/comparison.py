"""An incident, run in a release that has the bug and in one that has not: figures, verdicts."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.simulate import simulate
from tidegauge.laboratory.gallery.incidents import (
    Expected,
    Incident,
    Range,
    Verdict,
    Version,
)
from tidegauge.runs.figures import FIGURES_OF_RUNS, value_text
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import numbers_of


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
    affected, fixed = observed(incident, [(incident.shown_in, True), (incident.absent_in, False)])
    return Compared(incident, affected, fixed)


def observed(
    incident: Incident, versions: Sequence[tuple[Version, bool]]
) -> list[list[Observed]]:
    """The figures and verdicts of an incident's runs, one for each version.

    Args:
        incident: the incident.
        versions: the versions, and whether each has the bug.

    Raises:
        ScenarioError: its scenario cannot be run in one of them.
    """
    with TemporaryDirectory(prefix="tidegauge-gallery-") as folder:
        runs = [
            _run(incident, version, Path(folder, str(place)))
            for place, (version, _) in enumerate(versions)
        ]
        values = [_values(RunFolder(run).summary or {}) for run in runs]
        if any(each.name not in found for found in values for each in incident.expected):
            rows = RunTables(runs, Path(folder, "tables")).rows(FIGURES_OF_RUNS)
            values = [{**found, **row} for found, row in zip(values, rows, strict=True)]
    return [
        [_observed(each, found, is_affected=has_bug) for each in incident.expected]
        for (_, has_bug), found in zip(versions, values, strict=True)
    ]


def _values(summary: Mapping[str, Any]) -> dict[str, float | str]:
    """The figures of a summary and the verdicts of its checks, by their names."""
    verdicts = {name: found["verdict"] for name, found in summary["checks"].items()}
    return dict(numbers_of(summary)) | verdicts


def _observed(
    expected: Expected, values: Mapping[str, float | str], *, is_affected: bool
) -> Observed:
    return Observed(
        expected.name,
        expected.label,
        expected.unit,
        expected.affected if is_affected else expected.fixed,
        values[expected.name],
    )


def _run(incident: Incident, version: Version, folder: Path) -> Path:
    scenario = load_scenario(find_scenario(incident.scenario), incident.changes(version))
    return simulate(scenario, folder).path


def command_of(incident: Incident, version: Version) -> str:
    """The shell command that runs an incident in a version."""
    return shlex.join(["tidegauge", "run", incident.scenario, *_settings(incident, version)])


def _settings(incident: Incident, version: Version) -> Iterator[str]:
    for path, value in incident.changes(version).items():
        yield from ("--set", f"{path}={value}")
