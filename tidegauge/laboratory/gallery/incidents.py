"""The table of the incidents: bugs, releases, schedules and figures (``incidents.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.figures import figure_named, value_text
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.traces.summary_figures import Figure


class Range(NamedTuple):
    """The values that a figure may have, in its unit."""

    least: float
    most: float | None

    def has(self, value: float) -> bool:
        """Whether a value is one of them."""
        return self.least <= value and (self.most is None or value <= self.most)

    def text(self, unit: str) -> str:
        """The range in words."""
        least = value_text(self.least, unit)
        if self.most is None:
            return f"at least {least}"
        if self.least == self.most:
            return least
        most = value_text(self.most, unit)
        return f"{least.removesuffix(' s')} to {most}" if self.least else f"at most {most}"


class Expected(NamedTuple):
    """A figure by its name, and its values in a release with the bug and in one without it."""

    name: str
    affected: Range
    fixed: Range

    @property
    def figure(self) -> Figure:
        """The figure, of the table of all."""
        return figure_named(self.name)


class Version(NamedTuple):
    """The release in which an incident is run."""

    release: str
    #: Default: the release's own.
    metadata_version: str | None = None
    #: Other values of the scenario, by their paths.
    settings: Mapping[str, Any] = {}

    @staticmethod
    def parse(text: str) -> Version:
        """The version that is written so: ``3.6.2``, ``3.6.2 with 3.5-IV2``.

        Or ``4.4.0 with topics.story.settings.min.insync.replicas=2``.
        """
        release, _, other = text.partition(" with ")
        path, equals, value = other.partition("=")
        if equals:
            return Version(release, settings={path: yaml.safe_load(value)})
        return Version(release, other or None)

    def __str__(self) -> str:
        others = [] if self.metadata_version is None else [self.metadata_version]
        for path, value in self.settings.items():
            others.append(f"{path.rpartition('settings.')[2]} {value}")
        return " with ".join([self.release, *others])

    def changes(self) -> dict[str, object]:
        """The changes of a scenario that give it this version."""
        changes: dict[str, object] = {"mode": "kraft", "release": self.release}
        if self.metadata_version is not None:
            changes["metadata_version"] = self.metadata_version
        return changes | dict(self.settings)


class Incident(NamedTuple):
    """A bug of KRaft, and the schedule that shows it."""

    #: That of the list in which it stands; two schedules of one incident share it.
    number: int
    name: str
    #: The bug, in a line.
    title: str
    issues: Sequence[str]
    #: The releases that have it, and the first one without it.
    affected: str
    fixed: str
    #: The faults and steps, in a line.
    schedule: str
    #: A shipped scenario, and other values in it.
    scenario: str
    shown_in: Version
    absent_in: Version
    expected: Sequence[Expected]
    settings: Mapping[str, Any] = {}

    def changes(self, version: Version) -> dict[str, object]:
        """The changes of its scenario for a run in a version."""
        return {**self.settings, **version.changes()}


def _expected(name: str, said: Mapping[str, Sequence[float | None]]) -> Expected:
    """A figure with its ranges; the file has times in seconds."""
    scale = 1e6 if figure_named(name).unit == "us" else 1

    def scaled(least: float | None, most: float | None) -> Range:
        return Range(scale * (least or 0), None if most is None else scale * most)

    return Expected(name, scaled(*said["affected"]), scaled(*said["fixed"]))


def _read() -> list[Incident]:
    text = Path(__file__).with_name("incidents.yaml").read_text(encoding="utf-8")
    return [
        Incident(
            **{
                **said,
                "name": name,
                "shown_in": Version.parse(said["shown_in"]),
                "absent_in": Version.parse(said["absent_in"]),
                "expected": [_expected(*each) for each in said["expected"].items()],
            }
        )
        for name, said in yaml.safe_load(text).items()
    ]


#: In the order of the file.
INCIDENTS: Sequence[Incident] = _read()


def incidents_named(name: str) -> list[Incident]:
    """The incident of this name, or the incidents of this number.

    Raises:
        ValueError: there is none.
    """
    found = [each for each in INCIDENTS if name in (each.name, str(each.number))]
    if not found:
        names = [each.name for each in INCIDENTS]
        raise TidegaugeError(f"{name}: no such incident; {did_you_mean(name, names)}")
    return found
