"""Schedules of producers, run and judged without a trace: many of them in one process.

A schedule is judged by its logs in the end: they hold every batch that was acknowledged once. Run
as a program, it runs those of the seeds from one on, up to another one, and prints those that break
anything: ``python tests/support/judged_producers.py 0 300``.
"""

from __future__ import annotations

import sys
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gates import Reached, reached_in
from producer_schedules import producer_schedule
from tidegauge.compiled.records import column, view_as
from tidegauge.engine.group import Group
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import verdicts
from tidegauge.replication import errors
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.simulation.trace_rows.codes import REASON_END
from tidegauge.simulation.trace_rows.process_rows import RequestRefused

_GAPS = (errors.OUT_OF_ORDER_SEQUENCE_NUMBER, errors.UNKNOWN_PRODUCER_ID)


class JudgedProducers(NamedTuple):
    """A schedule that has been run."""

    #: The checks that are broken.
    broken: list[str]
    acknowledged: int
    #: Batches that were given up; records of any that have no outcome.
    failed: int
    pending: int
    #: Records in the logs beyond those that were acknowledged or given up.
    surplus: int
    #: Records that were acknowledged and are in no log.
    lost: int
    #: Batches that leaders refused since they found a gap before them. Without a loss the batch
    #: before was in flight to an earlier leader, and the gap closes when that has been retried.
    gaps: int
    #: ... how often a producer has begun another epoch, or has got another id.
    restarts: int
    #: Records that were not appended again, by the leaders; and that were, by the responses.
    deduplicated: int
    duplicated: int
    reached: Reached


def judged_producers(seed: int, *, idempotent: bool = True) -> JudgedProducers:
    """Run the schedule of a seed, and judge it."""
    scenario = producer_schedule(seed, idempotent=idempotent)
    plan = ClusterPlan(scenario)
    stream = RowStream(plan)
    group = Group(plan, range(len(plan.processes)))
    gaps = 0
    reached = Reached()

    def take(rows: NDArray[np.void]) -> None:
        nonlocal gaps
        stream.take(rows)
        reached.update(reached_in(plan, rows))
        for row in rows[rows["kind"] == RequestRefused.KIND]:
            gaps += int(view_as(row, RequestRefused).error in _GAPS)

    group.run_to(scenario.duration_us, take)
    group.close(scenario.duration_us, take, REASON_END)
    stream.end()
    clients = group.world.clients
    counted = {
        name: int(column(clients, f"records_{name}").sum())
        for name in ("sent", "acknowledged", "failed", "duplicated")
    }
    held = _records_held(group)
    known = counted["acknowledged"] + counted["failed"]
    ids = column(clients, "producer_ids")
    return JudgedProducers(
        [name for name, found in verdicts(plan, stream, None).items() if found["broken"]],
        counted["acknowledged"],
        counted["failed"],
        counted["sent"] - known,
        held - known,
        int(column(stream.history.partitions, "records_lost").sum()),
        gaps,
        int((column(clients, "producer_epoch").clip(0) + (ids - 1).clip(0)).sum()),
        int(column(group.world.brokers, "records_deduplicated").sum()),
        counted["duplicated"],
        reached,
    )


def _records_held(group: Group) -> int:
    """Records in the logs of the leaders, as all brokers are well in the end."""
    world = group.world
    held = 0
    for partition in range(len(world.partitions)):
        facts = world.partitions[partition]
        rows = range(facts.first_slot, facts.first_slot + facts.slot_count)
        leads = [
            row
            for row in rows
            if world.replicas[row].leader == world.replicas[row].local_replica
            and world.hosted[row].exists
        ]
        newest = max(leads, key=lambda row: int(world.replicas[row].leader_epoch))
        held += int(world.replicas[newest].log_end_offset)
    return held


def problems_of(judged: JudgedProducers) -> list[str]:
    """What an idempotent schedule must not show."""
    problems = list(judged.broken)
    if judged.surplus > 0:
        problems.append(f"{judged.surplus} records are in the logs twice")
    if judged.duplicated > 0:
        problems.append(f"{judged.duplicated} records were counted as duplicates")
    if judged.pending > 0:
        problems.append(f"{judged.pending} records have no outcome")
    if judged.lost == 0:
        if judged.surplus < -judged.failed:
            problems.append(f"{-judged.surplus} records are missing")
        if judged.restarts:
            problems.append(f"{judged.restarts} restarts without a loss")
    return problems


def main(first: int, end: int) -> None:
    """Run the schedules of the seeds and their twins, and report every failure at once."""
    started = time.perf_counter()
    failed = lossy = gaps = restarts = deduplicated = twins = 0
    for seed in range(first, end):
        judged = judged_producers(seed)
        problems = problems_of(judged)
        if problems:
            failed += 1
            _say(f"seed {seed}: {'; '.join(problems)} {judged}")
        lossy += judged.lost > 0
        gaps += judged.gaps > 0
        restarts += judged.restarts > 0
        deduplicated += judged.deduplicated > 0
        twin = judged_producers(seed, idempotent=False)
        twins += twin.surplus > 0
    ms = 1000 * (time.perf_counter() - started) / (end - first)
    _say(
        f"{end - first} schedules, {failed} failed; {lossy} lost records, {gaps} had gaps, "
        f"{restarts} restarts, {deduplicated} had retries that were not appended again; {twins} "
        f"twins that are not idempotent have records twice; {ms:.0f} ms each"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
