"""Runs that are analysed: one written by hand, and small clusters that are simulated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fault_schedules import schedule
from small_clusters import cluster_of, producers_of
from tidegauge.compiled.records import new_records
from tidegauge.engine.simulate import simulate
from tidegauge.scenario.reading import load_scenario
from tidegauge.scenario.shipped import find_scenario
from tidegauge.simulation.trace_rows.row import RowSlot
from tidegauge.traces.run_files import TRACE
from tidegauge.traces.run_folder import RunFolder
from tidegauge.traces.trace_file import FRAME_ROWS, TraceWriter
from twelve_brokers import twelve_brokers
from written_rows import KINDS, WrittenRows

#: The names of the runs of :func:`recorded_runs`.
RUNS = ("quickstart", "quickstart-zookeeper", "rack-power-loss", "schedule")

#: Draws a schedule with nine faults, in which records are lost.
WILD_SEED = 5

#: So many rows are details of appends: three frames, the last one of them not full.
APPENDED = 2 * FRAME_ROWS + 7


def written_story(folder: Path) -> RunFolder:
    """A run of three files: ISRs that shrink and expand, a cut, and many appends."""
    rows = WrittenRows()
    for second in range(40):
        process = second % 3
        time_us = second * 1_000_000
        cause = rows.write("fault_began", time_us, process, fault=0, fault_kind=2)
        rows.write(
            *("isr_shrunk", time_us + 1, process),
            partition=second % 2,
            isr=second,
            lag_ms=10_000,
            because=cause,
        )
        rows.write("isr_expanded", time_us + 2, process, partition=second % 2, isr=2**62 - second)
        rows.write("sampled", time_us + 3, process, partition=second % 2, log_end_offset=-1)
    rows.run(folder, files=2)
    with TraceWriter(folder / TRACE / "group-2.msgpack") as writer:
        writer.write(_appended_rows(APPENDED))
    return RunFolder(folder)


def _appended_rows(count: int) -> Any:
    """Rows about appends: one a millisecond, of process 9."""
    rows: Any = new_records(RowSlot, count)
    rows["kind"] = KINDS["appended"].number
    rows["time_us"] = np.arange(count) * 1000
    rows["process"] = 9
    rows["minor"] = np.arange(count) + 1
    rows["values"][:, 3] = np.random.default_rng(1).integers(0, 2**40, count)
    return rows


def crashed_run(folder: Path, acks: str) -> RunFolder:
    """A leader is killed, its partition has another one soon, and the first one comes back."""
    scenario = cluster_of(
        {"zookeeper.session.timeout.ms": 4000},
        duration="20s",
        liveness=True,
        workload={"producers": [producers_of(10, "2s", "18s", acks=acks)]},
        faults=[{"kind": "crash", "at": "5s", "for": "9s", "brokers": [1]}],
    )
    return simulate(scenario, folder)


def recovered_run(folder: Path) -> RunFolder:
    """A leader of a cluster with a quorum is killed, and comes back in the liveness phase."""
    scenario = cluster_of(
        release="4.1",
        cluster={"brokers": 3},
        duration="15s",
        liveness=True,
        workload={"producers": [producers_of(5, "2s", "13s")]},
        faults=[{"kind": "crash", "at": "5s", "for": "20s", "brokers": [1]}],
    )
    return simulate(scenario, folder)


def recorded_runs(folder: Path) -> dict[str, RunFolder]:
    """Runs by their names: a crash in both modes, a rack without power, a wild schedule."""
    crashes = (load_scenario(find_scenario(name)) for name in RUNS[:2])
    scenarios = (*crashes, twelve_brokers(), schedule(WILD_SEED))
    return {
        name: simulate(scenario, folder / name)
        for name, scenario in zip(RUNS, scenarios, strict=True)
    }
