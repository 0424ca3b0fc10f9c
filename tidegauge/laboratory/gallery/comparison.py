"""An incident, run in a release that has the bug and in one that has not, and its figures."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tidegauge.analysis.making.run_tables import RunTables
from tidegauge.engine.simulate import simulate
from tidegauge.laboratory.gallery.incidents import Incident, Range, Version
from tidegauge.runs.figures import FIGURES_OF_RUNS, value_text
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.summary_figures import Figure, numbers_of


class Observed(NamedTuple):
    """A figure of one run, beside the values that it may have."""

    figure: Figure
    expected: Range
    value: float

    @property
    def is_as_expected(self) -> bool:
        """Whether it has such a value."""
        return self.expected.has(self.value)

    @property
    def text(self) -> str:
        """The value for people."""
        return value_text(self.value, self.figure.unit)

    @property
    def expected_text(self) -> str:
        """The values that it may have, for people."""
        return self.expected.text(self.figure.unit)


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
    with TemporaryDirectory(prefix="tidegauge-gallery-") as folder:
        runs = [
            _run(incident, version, Path(folder, name))
            for name, version in (("affected", incident.shown_in), ("fixed", incident.absent_in))
        ]
        rows = RunTables(runs, Path(folder, "tables")).rows(FIGURES_OF_RUNS)
        affected, fixed = (
            {**dict(numbers_of(RunFolder(run).summary or {})), **row}
            for run, row in zip(runs, rows, strict=True)
        )
    return Compared(
        incident,
        [Observed(each.figure, each.affected, affected[each.name]) for each in incident.expected],
        [Observed(each.figure, each.fixed, fixed[each.name]) for each in incident.expected],
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
