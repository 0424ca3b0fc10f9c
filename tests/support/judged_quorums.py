"""Schedules of quorums, run and judged without a trace: many of them in one process.

Run as a program, it runs those of the seeds from one on, up to another one, and prints those that
break a check or stand still: ``python tests/support/judged_quorums.py 0 1000``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import NamedTuple

from quorum_schedules import PROGRESS_S, quorum_schedule
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


def judged_quorum(seed: int) -> JudgedQuorum:
    """Run the schedule of a seed, and judge it."""
    scenario, calm_s = quorum_schedule(seed)
    plan = ClusterPlan(scenario)
    stream = RowStream(plan)
    group = Group(plan, range(len(plan.processes)))
    spans = 0
    stands_still = False
    for begin_s, end_s in calm_s:
        group.run_to(round(begin_s * 1e6), stream.take)
        committed = _committed(group)
        for span in range(1, 1 + int((end_s - begin_s) / PROGRESS_S)):
            group.run_to(round((begin_s + span * PROGRESS_S) * 1e6), stream.take)
            stands_still = stands_still or _committed(group) <= committed
            committed = _committed(group)
            spans += 1
    group.run_to(scenario.duration_us, stream.take)
    group.close(scenario.duration_us, stream.take, REASON_END)
    stream.end()
    broken = [name for name, found in verdicts(plan, stream, None).items() if found["broken"]]
    epochs = int(stream.history.quorum[0].epochs)
    return JudgedQuorum([*broken, STANDS_STILL] if stands_still else broken, epochs, spans)


def _committed(group: Group) -> int:
    """The offset below which any controller knows the log to be committed."""
    return int(column(group.world.voters, "high_watermark").max())


def failures(seeds: Iterable[int]) -> dict[int, list[str]]:
    """The seeds whose schedules break something, and what."""
    judged = {seed: judged_quorum(seed) for seed in seeds}
    return {seed: each.broken for seed, each in judged.items() if each.broken}


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
