"""The conversion of a scenario: from where to where it leads, and what it changed so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.replication.release_versions import KRAFT_MODE, Mode, Release
from tidegauge.scenario.model.scenario import Scenario
from tidegauge.scenario.text.errors import Path, Problem, path_text


class Change(NamedTuple):
    """A part of a scenario that is changed or left out in the other mode, and how."""

    path: Path
    text: str

    def __str__(self) -> str:
        return f"{path_text(self.path)}: {self.text}"


class NotConvertibleError(TidegaugeError):
    """A part of a scenario that the target has no counterpart of."""

    def __init__(self, path: Path, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(path, message)


@dataclass
class Conversion:
    """From where to where a scenario is converted, and the changes so far."""

    #: As it is in its own mode.
    scenario: Scenario
    mode: Mode
    #: In full, such as 4.1.1.
    release: str
    changes: list[Change] = field(default_factory=list)

    @property
    def to_kraft(self) -> bool:
        """Whether ZooKeeper is left for KRaft."""
        return self.mode == KRAFT_MODE and not self.scenario.has_kraft

    @property
    def to_zookeeper(self) -> bool:
        """Whether KRaft is left for ZooKeeper."""
        return self.mode != KRAFT_MODE and self.scenario.has_kraft

    @property
    def leaves_mode(self) -> bool:
        """Whether the mode changes, and not the release alone."""
        return self.to_kraft or self.to_zookeeper

    def note(self, path: Path, text: str) -> None:
        """Add a change."""
        self.changes.append(Change(path, text))

    def knows(self, version: str | None) -> bool:
        """Whether the target's release knows a protocol version or metadata.version."""
        try:
            Release.parse(self.release).version(self.mode, version)
        except ValueError:
            return False
        return True


def without(part: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A copy of a mapping without some of its keys."""
    return {name: value for name, value in part.items() if name not in names}
