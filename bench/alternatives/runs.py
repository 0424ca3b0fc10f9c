"""The runs that are compared; ``python -m bench.alternatives.runs NUMBER`` is one of them.

Before it there is a short run, in which compiled code is made and Ray is started. Nothing but the
alternative's own module is imported: Tidegauge's compiler changes how Numba reads records.
"""

import json
import sys
from importlib import import_module
from typing import NamedTuple

from bench.alternatives.model import Outcome

#: Batches or customers of the short run.
_SHORT = 100


class Run(NamedTuple):
    """A model in one of the alternatives."""

    model: str
    name: str
    #: Its module beside this one.
    module: str
    #: Batches or customers: those of a few seconds.
    size: int
    #: The package whose release is published; "": Python's own.
    package: str
    #: Tidegauge is to be so many times as fast.
    aim: float = 0
    #: A function of the module.
    function: str = "replication"

    def outcome(self, size: int) -> Outcome:
        """Run it in this process."""
        module = import_module(f"bench.alternatives.{self.module}")
        outcome: Outcome = getattr(module, self.function)(size)
        return outcome


_OURS = "with_tidegauge"
RUNS = (
    Run("replication", "Tidegauge, inline", _OURS, 400_000, "tidegauge"),
    Run("replication", "Tidegauge, 1 actor", _OURS, 100_000, "tidegauge", function="on_one_actor"),
    Run(
        "replication", "Tidegauge, 2 actors", _OURS, 100_000, "tidegauge", function="on_two_actors"
    ),
    Run("replication", "Cimba, compiled", "with_cimba", 400_000, "cimba"),
    Run("replication", "Python, heapq", "with_heapq", 100_000, "", aim=8),
    Run("replication", "SimPy", "with_simpy", 20_000, "simpy", aim=20),
    Run("replication", "salabim", "with_salabim", 2_000, "salabim"),
    Run("replication", "Ray, a call a message", "with_ray", 500, "ray", aim=100),
    Run("M/M/1", "Tidegauge's kernel", _OURS, 10_000_000, "tidegauge", function="queue"),
    Run("M/M/1", "Cimba, compiled", "with_cimba", 2_000_000, "cimba", aim=1 / 3, function="queue"),
    Run("M/M/1", "Python, heapq", "with_heapq", 500_000, "", function="queue"),
    Run("M/M/1", "SimPy", "with_simpy", 100_000, "simpy", function="queue"),
    Run("M/M/1", "salabim", "with_salabim", 20_000, "salabim", function="queue"),
)


if __name__ == "__main__":
    number = int(sys.argv[1])
    RUNS[number].outcome(_SHORT)
    print(json.dumps(RUNS[number].outcome(RUNS[number].size)._asdict()))
