"""Schedules of quorums, run and judged without a trace: many of them in one process.

Run as a program, it runs those of the seeds from one on, up to another one, and prints those that
break a check or stand still: ``python tests/support/judged_quorums.py 0 1000``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gates import ELECTIONS, VOTERS, Reached, assert_reached, reached_in
from quorum_schedules import FAULT_KINDS, PROGRESS_S, quorum_schedule
from tidegauge.compiled.records import column
from tidegauge.engine.group import Group
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import verdicts
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.codes import REASON_END

#: A span of calm in which nothing was committed; it is no check of a run.
STANDS_STILL = "stands_still"


class JudgedQuorum(NamedTuple):
    """A schedule that has been run."""

    #: The checks that are broken, and ``STANDS_STILL``.
    broken: list[str]
    #: How many epochs the quorum has had.
    epochs: int
    #: How many spans of calm, each ``PROGRESS_S`` long, were looked at.
    spans: int
    reached: Reached


def judged_quorum(seed: int) -> JudgedQuorum:
    """Run the schedule of a seed, and judge it."""
    scenario, calm_s = quorum_schedule(seed)
    plan = ClusterPlan(scenario)
    stream = RowStream(plan)
    group = Group(plan, range(len(plan.processes)))
    spans = 0
    stands_still = False
    reached = Reached()

    def take(rows: NDArray[np.void]) -> None:
        stream.take(rows)
        reached.update(reached_in(plan, rows))

    for begin_s, end_s in calm_s:
        group.run_to(round(begin_s * 1e6), take)
        committed = _committed(group)
        for span in range(1, 1 + int((end_s - begin_s) / PROGRESS_S)):
            group.run_to(round((begin_s + span * PROGRESS_S) * 1e6), take)
            stands_still = stands_still or _committed(group) <= committed
            committed = _committed(group)
            spans += 1
    group.run_to(scenario.duration_us, take)
    group.close(scenario.duration_us, take, REASON_END)
    stream.end()
    broken = [name for name, found in verdicts(plan, stream, None).items() if found["broken"]]
    epochs = int(stream.history.quorum[0].epochs)
    broken += [STANDS_STILL] if stands_still else []
    return JudgedQuorum(broken, epochs, spans, reached)


def _committed(group: Group) -> int:
    """The offset below which any controller knows the log to be committed."""
    return int(column(group.world.voters, "high_watermark").max())


#: A schedule has as many of these, on an average, or it tests no elections.
_LEAST = {VOTERS: 25, ELECTIONS: 1.5}


def assert_keep_raft(seeds: Iterable[int]) -> None:
    """No schedule of these seeds breaks anything, and together they have reached elections."""
    judged = {seed: judged_quorum(seed) for seed in seeds}
    assert {seed: each.broken for seed, each in judged.items() if each.broken} == {}
    assert_reached((each.reached for each in judged.values()), _LEAST, FAULT_KINDS)


def main(first: int, end: int) -> None:
    """Run the schedules of the seeds, and tell of every failure at once."""
    started = time.perf_counter()
    failed = epochs = spans = 0
    for done, seed in enumerate(range(first, end), 1):
        judged = judged_quorum(seed)
        epochs += judged.epochs
        spans += judged.spans
        if judged.broken:
            failed += 1
            _say(f"seed {seed}: {', '.join(judged.broken)}")
        if done % 1000 == 0 or seed == end - 1:
            ms = 1000 * (time.perf_counter() - started) / done
            _say(
                f"{done} schedules from seed {first} on, {failed} failed, {epochs} epochs, "
                f"{spans} calm spans of {PROGRESS_S} s, {ms:.1f} ms each"
            )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
