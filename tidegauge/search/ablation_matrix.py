"""The matrix of ablations: which promises fall when a rule is taken away, found by search.

Each rule of ``replication/ablations.py`` is taken away from the release that has it, and schedules
are tried until every check that carries on it was seen broken, or the time is over. A cell is the
first schedule that broke the check, with the seed and the number of schedules tried until then.

Source: the model checking of Kafka's replication by ablations; its result for each rule is
``Ablation.breaks``.
"""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from tidegauge.replication.ablations import ABLATIONS, Ablation
from tidegauge.search.campaign import MANY_RUNS, performed, units_of
from tidegauge.search.profiles import FuzzedKind


class Cell(NamedTuple):
    """A check that broke without a rule."""

    check: str
    #: The schedules until then, unit by unit.
    runs: int
    scenario: dict[str, Any]


class MatrixRow(NamedTuple):
    """What a search without one rule has found."""

    name: str
    ablation: Ablation
    cells: dict[str, Cell]
    runs: int
    took_s: float

    @property
    def missing(self) -> list[str]:
        """The checks that some schedule breaks, and that this search did not see broken."""
        return [check for check in self.ablation.breaks if check not in self.cells]

    @property
    def surplus(self) -> list[str]:
        """The checks that broke, and are not known to."""
        return [check for check in self.cells if check not in self.ablation.breaks]

    @property
    def is_as_expected(self) -> bool:
        """Whether a rule that is needed was found to be, and one that is not was not."""
        if not self.ablation.breaks:
            return not self.cells
        return any(check in self.cells for check in self.ablation.breaks)


def searched_row(
    name: str,
    seed: int,
    seconds: float,
    *,
    jobs: int | None = None,
    address: str | None = None,
    warn: Callable[[str], None] = lambda _: None,
    tell: Callable[[str], None] = lambda _: None,
) -> MatrixRow:
    """Search without one rule.

    Args:
        name: the rule, of ``ABLATIONS``.
        seed: the seed of the schedules.
        seconds: the longest duration.
        jobs: the number of parallel processes; None: the number of CPUs.
        address: the Ray cluster to join.
        warn: is told why the processes are without Ray.
        tell: is told of the progress.

    Raises:
        RayUnavailableError: Ray cannot be joined.
        TidegaugeError: a unit has failed.
    """
    ablation = ABLATIONS[name]
    kind = FuzzedKind(
        ablation.mode,
        ablation.release,
        ablations=(name,),
        changes_voters=ablation.changes_voters,
    )
    units = units_of([kind], seed, MANY_RUNS, is_guided=True)
    began_s = time.monotonic()
    row = MatrixRow(name, ablation, {}, 0, 0)
    with closing(performed(units, jobs, address, warn)) as outcomes:
        for _, outcome in outcomes:
            for check, found in outcome.broken.items():
                if check not in row.cells:
                    row.cells[check] = Cell(check, row.runs + found.run + 1, found.scenario)
            row = row._replace(
                runs=row.runs + outcome.counts.runs, took_s=time.monotonic() - began_s
            )
            tell(f"{name}: {row.runs:,} schedules, {len(row.cells)} checks broken")
            if row.took_s >= seconds or (row.cells and not row.missing):
                break
    return row
