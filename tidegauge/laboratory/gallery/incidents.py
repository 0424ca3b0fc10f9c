"""The tables of the incidents: bugs, releases, schedules, figures and verdicts.

``incidents.yaml`` has the bugs of KRaft, ``anomalies.yaml`` the anomalies of replication.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import KRAFT_MODE, Mode
from tidegauge.runs.figures import figure_named, value_text
from tidegauge.scenario.text.errors import did_you_mean
from tidegauge.traces.checks import CHECK_NAMES


class Range(NamedTuple):
    """The values that a figure may have, in its unit."""

    least: float
    most: float | None

    def has(self, value: float | str) -> bool:
        """Whether a value is one of them."""
        if isinstance(value, str):
            return False
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


class Verdict(NamedTuple):
    """The verdict that a check is to have."""

    holds: bool

    def has(self, value: float | str) -> bool:
        """Whether it is this one; an unknown verdict is neither."""
        return value is self.holds

    def text(self, unit: str = "") -> str:
        """The verdict in words."""
        del unit
        return "holds" if self.holds else "broken"


class Expected(NamedTuple):
    """A figure or a check by its name, with the bug and without it."""

    name: str
    affected: Range | Verdict
    fixed: Range | Verdict

    @property
    def is_check(self) -> bool:
        """Whether it is a check, with verdicts, and no figure, with ranges."""
        return isinstance(self.affected, Verdict)

    @property
    def label(self) -> str:
        """The name in tables for people."""
        return f"Check {self.name}" if self.is_check else figure_named(self.name).label

    @property
    def unit(self) -> str:
        """The unit of the figure; a check has none."""
        return "" if self.is_check else figure_named(self.name).unit


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
            others.append(f"{path.rpartition('settings.')[2]}={json.dumps(value)}")
        return " with ".join([self.release, *others])

    def changes(self) -> dict[str, object]:
        """The changes of a scenario that give it this version."""
        changes: dict[str, object] = {"release": self.release}
        if self.metadata_version is not None:
            changes["metadata_version"] = self.metadata_version
        return changes | dict(self.settings)


class Incident(NamedTuple):
    """A bug or an anomaly, and the schedule that shows it."""

    #: That of the list in which it stands; two schedules of one incident share it. Those of
    #: replication begin with R.
    number: int | str
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
    #: Figures, then checks.
    expected: Sequence[Expected]
    settings: Mapping[str, Any] = {}
    mode: Mode = KRAFT_MODE
    #: The rule that is wrong or missing, and its consequence; empty: as in the title.
    mechanism: str = ""
    #: The texts or models that tell of it; empty: the issues.
    evidence: str = ""

    @property
    def is_of_replication(self) -> bool:
        """Whether it is an anomaly of replication, and no bug of KRaft's control plane."""
        return isinstance(self.number, str)

    def changes(self, version: Version) -> dict[str, object]:
        """The changes of its scenario for a run in a version."""
        return {**self.settings, "mode": self.mode, **version.changes()}


def _incident(name: str, said: Mapping[str, Any]) -> Incident:
    figures = [_figure(*each) for each in said.get("expected", {}).items()]
    checks = [_check(*each) for each in said.get("checks", {}).items()]
    return Incident(
        **{key: value for key, value in said.items() if key != "checks"}
        | {
            "name": name,
            "shown_in": Version.parse(said["shown_in"]),
            "absent_in": Version.parse(said["absent_in"]),
            "expected": figures + checks,
        }
    )


def _figure(name: str, said: Mapping[str, Sequence[float | None]]) -> Expected:
    """A figure with its ranges; the file has times in seconds."""
    scale = 1e6 if figure_named(name).unit == "us" else 1

    def scaled(least: float | None, most: float | None) -> Range:
        return Range(scale * (least or 0), None if most is None else scale * most)

    return Expected(name, scaled(*said["affected"]), scaled(*said["fixed"]))


def _check(name: str, said: Mapping[str, bool]) -> Expected:
    """A check with its verdicts."""
    if name not in CHECK_NAMES:
        raise KeyError(name)
    return Expected(name, Verdict(said["affected"]), Verdict(said["fixed"]))


def _read(file: str) -> Iterator[Incident]:
    text = Path(__file__).with_name(file).read_text(encoding="utf-8")
    for name, said in yaml.safe_load(text).items():
        yield _incident(name, said)


#: In the order of the files, those of replication last.
INCIDENTS: Sequence[Incident] = [*_read("incidents.yaml"), *_read("anomalies.yaml")]


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
