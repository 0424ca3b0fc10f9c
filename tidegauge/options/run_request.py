"""The request of a ``tidegauge run``, and the command that repeats it."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.options.costs_file import costs_in
from tidegauge.options.hosting import Hosting
from tidegauge.options.watching import WatchRequest
from tidegauge.scenario.reading import Scenario, ScenarioError, load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.scenario.text.changes import parse_change

#: So many seeds show a spread in a minute or two.
_SEEDS = "1..20"


class RunRequest(NamedTuple):
    """The options of ``tidegauge run`` that define the run."""

    #: A file, or the name of a shipped scenario.
    scenario: str
    #: The changes to the scenario, each as ``PATH=VALUE``.
    changes: tuple[str, ...] = ()
    #: None: the scenario's.
    seed: int | None = None
    trace_level: str | None = None
    hosting: Hosting = Hosting()
    speed: float | None = None
    watched: WatchRequest = WatchRequest()
    #: A file of costs of a real cluster; changes come after it.
    costs: Path | None = None

    def check(self) -> None:
        """Fail if the options contradict each other."""
        self.hosting.check()
        if self.speed is not None and not self.speed > 0:
            raise TidegaugeError(f"--speed {self.speed:g}: must be more than 0")
        self.watched.check()

    def file(self) -> Path:
        """The file of the scenario; the command ends if there is none."""
        return find_scenario(self.scenario)

    def load(self, seed: int | None = None) -> Scenario:
        """The scenario with its changes and this seed; the command ends if it cannot be run."""
        file, changes = self.file(), self.scenario_changes()
        if seed is not None:
            changes["seed"] = seed
        return load_scenario(file, changes)

    def scenario_changes(self) -> dict[str, object]:
        """The changed values by their paths; the command ends if one cannot be read."""
        changes = {} if self.costs is None else costs_in(self.costs)
        for text in self.changes:
            try:
                path, value = parse_change(text)
            except ScenarioError as error:
                raise TidegaugeError(f"--set {error}") from error
            # A path that is given twice has its last value, after what came between.
            changes.pop(path, None)
            changes[path] = value
        if self.seed is not None:
            changes["seed"] = self.seed
        if self.trace_level is not None:
            changes["trace"] = self.trace_level
        return changes

    def command(self, seed: int, trace_level: str) -> str:
        """The shell command that repeats the run with this seed."""
        words = ["tidegauge", "run", self.scenario]
        words += self.hosting.words() + self._speed_words() + self.watched.words()
        words += [*self._change_words(), "--seed", str(seed), "--trace-level", trace_level]
        return shlex.join(words)

    def over_seeds(self) -> str:
        """The shell command that shows how the figures of the run spread over seeds."""
        words = ["tidegauge", "run", self.scenario, *self._change_words(), "--seeds", _SEEDS]
        return shlex.join(words)

    def _change_words(self) -> list[str]:
        words = [] if self.costs is None else ["--costs", str(self.costs)]
        for change in self.changes:
            words += ["--set", change]
        return words

    def _speed_words(self) -> list[str]:
        if self.speed is None:
            # A watched run has the speed of real time by default.
            return [] if self.watched.metrics is None else ["--speed", "max"]
        return ["--speed", f"{self.speed:g}"]
