"""The options of a run as values, without anything that takes long to import.

A request is what a command was asked for: it checks that its options agree, and is written again as
the shell command that repeats the run. ``loading.py`` reads its scenario.
"""

from __future__ import annotations

import re
import shlex
from math import isfinite, nan
from pathlib import Path
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError

#: More runs at once are a mistake.
MOST_RUNS = 100_000

_RANGE = re.compile(r"([0-9]{1,19})\.\.([0-9]{1,19})")


class Hosting(NamedTuple):
    """The options ``--inline``, ``--ray``, ``--actors`` and ``--address``."""

    inline: bool = False
    ray: bool = False
    #: The number of actors that host brokers. None: the usual number.
    actors: int | None = None
    #: Of a Ray cluster. None: that of RAY_ADDRESS, else Ray is started on this machine.
    address: str | None = None

    @property
    def asks_for_ray(self) -> bool:
        """Whether an option needs Ray."""
        return self.ray or self.actors is not None or self.address is not None

    def check(self) -> None:
        """Fail if the options contradict each other."""
        if self.inline and self.asks_for_ray:
            raise TidegaugeError("--inline excludes Ray: leave out --ray, --actors and --address")

    def words(self) -> list[str]:
        """The options as on the command line."""
        words = ["--inline"] if self.inline else []
        words += ["--ray"] if self.ray else []
        words += [] if self.actors is None else ["--actors", str(self.actors)]
        return words + ([] if self.address is None else ["--address", self.address])

    def told(self, asked: Hosting) -> str:
        """The choice in words, with the option for the other choice.

        Args:
            asked: the options, before :meth:`of` has decided.
        """
        if self.inline:
            return "inline" if asked.inline else "inline (--ray: in actors of Ray)"
        if asked.asks_for_ray:
            return "in actors of Ray"
        return f"in {self.actors} actors of Ray, faster here than one process (--inline: without)"


class WatchRequest(NamedTuple):
    """The options of ``tidegauge run`` about metrics."""

    #: HOST:PORT of the endpoint.
    metrics: str | None = None
    level: str | None = None
    #: A file for the series of the whole run, and the real time of virtual time 0 in it.
    openmetrics: Path | None = None
    begins: str | None = None
    #: A spelling's name or a file of rules; and which controllers count the cluster.
    spelling: str | None = None
    controllers: str | None = None

    def check(self) -> None:
        """Fail if the options contradict each other."""
        if self.metrics is None and self.openmetrics is None:
            for option, value in self._choices().items():
                if value is not None:
                    raise TidegaugeError(f"{option} needs --metrics or --openmetrics")
        if self.begins is not None and self.openmetrics is None:
            raise TidegaugeError(
                "--openmetrics-start needs --openmetrics: it sets the times in that file"
            )

    def words(self) -> list[str]:
        """The options as on the command line."""
        words = [] if self.metrics is None else ["--metrics", self.metrics]
        for option, value in self._choices().items():
            words += [] if value is None else [option, value]
        words += [] if self.openmetrics is None else ["--openmetrics", str(self.openmetrics)]
        words += [] if self.begins is None else ["--openmetrics-start", self.begins]
        return words

    def _choices(self) -> dict[str, str | None]:
        """The options about how metrics are shown."""
        return {
            "--metrics-level": self.level,
            "--metrics-spelling": self.spelling,
            "--metrics-controllers": self.controllers,
        }


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


def wanted_speed(text: str | None, metrics: str | None) -> float | None:
    """The requested speed; by default that of real time if metrics are served.

    None: no limit. The command ends if the text is not a speed.
    """
    if text is None:
        return None if metrics is None else 1.0
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = nan
    if not isfinite(speed):
        raise TidegaugeError(f"--speed {text}: must be a number, or max")
    return speed


def seeds_of(span: str) -> range:
    """The seeds of ``--seeds``, such as ``1..20``.

    Raises:
        TidegaugeError: the span cannot be read.
    """
    numbers = _RANGE.fullmatch(span)
    if numbers is None:
        raise TidegaugeError(f"--seeds {span}: must be the first and the last one, such as 1..20")
    first, last = map(int, numbers.groups())
    if first > last:
        raise TidegaugeError(f"--seeds {span}: the last one is before the first; {last}..{first}?")
    if last >= 2**63:
        raise TidegaugeError(f"--seeds {span}: a seed is less than 2**63")
    if last - first >= MOST_RUNS:
        raise TidegaugeError(f"--seeds {span}: more than {MOST_RUNS:,} at once are too many")
    return range(first, last + 1)
