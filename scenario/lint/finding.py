"""A finding about a cluster: its risk, the change that mends it, the command that shows it."""

import shlex
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

from tidegauge.scenario.text.errors import counted, one_line, plural

#: The number of concerned things that are named.
NAMED = 4


class Concerned(NamedTuple):
    """The partitions, brokers, groups or settings with a fault: counted, and a few named."""

    #: One of them: ``partition``.
    noun: str
    number: int
    #: The first :data:`NAMED` of them.
    named: Sequence[str]

    @classmethod
    def of(cls, noun: str, names: Iterable[object]) -> Self:
        """All of these."""
        texts = [str(name) for name in names]
        return cls(noun, len(texts), texts[:NAMED])

    def __str__(self) -> str:
        left = self.number - len(self.named)
        more = f" and {left:,} more" if left else ""
        return f"{counted(self.number, self.noun)} ({', '.join(self.named)}{more})"


class Simulation(NamedTuple):
    """A command about the scenario that shows a finding."""

    #: ``run``, or another command that takes a scenario.
    command: str
    #: Changes of the scenario, each as ``PATH=VALUE``.
    changes: Sequence[str] = ()

    def text(self, scenario: str, changes: Sequence[str]) -> str:
        """The command as it is typed.

        Args:
            scenario: the file, or the name of a shipped scenario.
            changes: those with which the scenario was read.
        """
        options = (f"--set {shlex.quote(each)}" for each in (*changes, *self.changes))
        return " ".join(("tidegauge", self.command, shlex.quote(scenario), *options))


class Finding(NamedTuple):
    """A fault of a cluster."""

    concerned: Concerned
    #: The consequence, in one sentence.
    risk: str
    #: The setting or the change that mends it.
    remedy: str
    simulation: Simulation

    @property
    def line(self) -> str:
        """Its subjects and its risk, in one line."""
        return one_line(f"{self.concerned}: {self.risk}")

    def as_json(self, scenario: str, changes: Sequence[str]) -> dict[str, Any]:
        """The finding for programs; the arguments are those of :meth:`Simulation.text`."""
        return {
            "concerned": plural(self.concerned.noun),
            "count": self.concerned.number,
            "named": list(self.concerned.named),
            "risk": self.risk,
            "remedy": self.remedy,
            "command": self.simulation.text(scenario, changes),
        }
