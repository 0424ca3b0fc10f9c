"""Gates of random tests: what their runs have to reach together, or they have tested nothing.

A test that draws its schedules passes as well if no fault begins and nobody is elected. So it
counts what its runs have reached, and fails with a list of all that they reached too seldom.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import ceil

import numpy as np
from numpy.typing import NDArray

from tidegauge.compiled.records import view_as
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.process_rows import FaultBegan
from tidegauge.simulation.trace_rows.schema import ROW_KINDS
from tidegauge.traces.run_folder import RunFolder

#: How often a run has reached something, by the names below and by ``fault KIND``.
Reached = Counter[str]

COMMITS = "acknowledged ranges of records"
ELECTIONS = "leaders' terms"
TRUNCATIONS = "truncations"
ISR_CHANGES = "changes of an ISR"
VOTERS = "states of voters"

#: The kinds of rows that are counted, by their names in traces.
_COUNTED = {
    "acknowledged": COMMITS,
    "became_leader": ELECTIONS,
    "truncated": TRUNCATIONS,
    "isr_shrunk": ISR_CHANGES,
    "isr_expanded": ISR_CHANGES,
    "voter_state": VOTERS,
}


def reached_in(plan: ClusterPlan, rows: NDArray[np.void]) -> Reached:
    """What these rows say that the run of a plan has reached."""
    found = Reached()
    for number, kind in ROW_KINDS.items():
        if kind.name in _COUNTED:
            found[_COUNTED[kind.name]] += int((rows["kind"] == number).sum())
    for row in rows[rows["kind"] == FaultBegan.KIND]:
        found[_fault(plan.faults[view_as(row, FaultBegan).fault].kind)] += 1
    return found


def reached_by(run: RunFolder) -> Reached:
    """What a run has reached, by its trace."""
    found = Reached()
    for kind, name in _COUNTED.items():
        found[name] += sum(1 for _ in run.rows(kind))
    for row in run.rows("fault_began"):
        found[_fault(run.directory.faults[row["fault"]].kind)] += 1
    return found


def assert_reached(
    runs: Iterable[Reached], least: Mapping[str, float], faults: Collection[str]
) -> None:
    """Runs have reached what they are to test.

    Args:
        runs: what each run has reached.
        least: what they have to reach, by name: the least mean of a run.
        faults: the kinds of faults of which each has to begin in some run.
    """
    counts = list(runs)
    found = sum(counts, Reached())
    wanted = {name: ceil(mean * len(counts)) for name, mean in least.items()}
    wanted |= dict.fromkeys(map(_fault, faults), 1)
    missing = [
        f"{name}: {found[name]}, at least {count}"
        for name, count in wanted.items()
        if found[name] < count
    ]
    assert not missing, f"{len(counts)} runs have not reached enough: {'; '.join(missing)}"


def assert_met(run: RunFolder) -> None:
    """A run has elected leaders, and each kind of fault that its schedule has drawn has begun."""
    drawn = {fault["kind"] for fault in run.manifest["scenario"]["faults"]}
    assert_reached([reached_by(run)], {ELECTIONS: 1}, drawn)


def _fault(kind: str) -> str:
    return f"fault {kind}"
