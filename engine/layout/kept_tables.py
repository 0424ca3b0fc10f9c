"""Tables as runs begin with them, kept for runs that differ only in their seeds.

Such runs begin with equal tables, but for the seed in them. The first one lays them out, and each
has a copy, in a tenth of the time.
"""

from collections.abc import Callable
from copy import copy
from typing import Generic, TypeVar, TypeVarTuple

import numpy as np

from tidegauge.compiled.signatures import Tables
from tidegauge.scenario.cluster_plan import ClusterPlan

T = TypeVar("T", bound=Tables)
Arguments = TypeVarTuple("Arguments")

#: Partitions, and pairs of brokers, whose tables are small beside those of a run. Runs of larger
#: clusters take long beside their set-up.
_MOST_KEPT = 10_000


def laid_out(
    plan: ClusterPlan, lay_out: Callable[[ClusterPlan, *Arguments], T], *arguments: *Arguments
) -> T:
    """The tables that a function lays out; of a plan for several small runs, a copy of them.

    Args:
        plan: the plan that the tables are laid out from.
        lay_out: the function; its tables are the same with each seed.
        arguments: its other arguments.
    """
    size = max(len(plan.partitions), len(plan.brokers) ** 2)
    if plan.kept is None or size > _MOST_KEPT:
        return lay_out(plan, *arguments)
    return plan.keep(_kept, lay_out, *arguments).copy()


class KeptTables(Generic[T]):
    """Tables, of which those that have nothing but zeros take no memory."""

    def __init__(self, tables: T) -> None:
        """Keep tables, which no run may use."""
        self.tables = tables
        rows = {name: np.asarray(each) for name, each in vars(tables).items()}
        self._filled = {name: each for name, each in rows.items() if each.view(np.uint8).any()}

    def copy(self) -> T:
        """Tables of the same content, for a run."""
        copied = copy(self.tables)
        for name, rows in vars(copied).items():
            filled = self._filled.get(name)
            # Memory of zeros is not touched.
            new = np.zeros(len(rows), rows.dtype) if filled is None else filled.copy()
            setattr(copied, name, new)
        return copied


def _kept(
    plan: ClusterPlan, lay_out: Callable[[ClusterPlan, *Arguments], T], *arguments: *Arguments
) -> KeptTables[T]:
    return KeptTables(lay_out(plan, *arguments))
