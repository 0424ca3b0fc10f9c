"""Running a scenario: inline, all its processes in this interpreter, or on Ray.

:func:`simulate` is the whole run in one call: manifest, windows, liveness phase, trace, summary.
Who runs the processes (``inline_engine.py``, ``ray_engine.py``) makes no difference to what
happens: the same scenario and seed give the same rows, and the same hash.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from tidegauge.engine.contract import Engine, EngineInput, EngineMaker, Onlooker, Progress
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.liveness import Liveness, wait_until_well
from tidegauge.engine.manifest import manifest_of
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.summary import summary_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.simulation.row_kinds import REASON_END, REASON_LIVENESS
from tidegauge.traces.run_files import MANIFEST, SUMMARY
from tidegauge.traces.run_folder import RunFolder, write_json_atomically


class Scrapes(NamedTuple):
    """How often in virtual time a run is looked at, and who gets to see it."""

    period_us: int
    take: Callable[[Snapshot], None]


def simulate(
    scenario: Scenario,
    folder: Path,
    *,
    make_engine: EngineMaker | None = None,
    progress: Progress | None = None,
    speed: float | None = None,
    switches: Mapping[str, int | bool] | None = None,
    onlooker: Onlooker | None = None,
    scrapes: Scrapes | None = None,
) -> RunFolder:
    """Run a scenario into ``folder``, which must not hold a run yet; the run, to be read.

    Args:
        scenario: what is run.
        folder: where to; it is made if it is not there.
        make_engine: who runs the processes: ``inline_engine.inline()``, which is the default, or
            ``ray_engine.on_ray()``.
        progress: is called now and then.
        speed: so many times as fast as real time at most.
        switches: fields of ``ReleaseRules`` that are other than the brokers' releases have them.
            No Kafka is like that: it shows what a rule is for. The manifest lists them.
        onlooker: looks at the run while it goes on, in real time.
        scrapes: when in virtual time the cluster is looked at, too, and who gets to see it.

    Raises:
        FileExistsError: there is something in the folder.
        ActorError: an actor died; the trace can be read up to there.
        RayUnavailableError: Ray does not start, cannot be joined, or has no room.
        EngineError: there are fewer brokers than actors are to host.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: is not empty, and a run never overwrites another")
    started = time.perf_counter()
    plan = ClusterPlan(scenario, switches or {})
    stream = RowStream(plan)
    run = EngineInput(plan, folder, stream, progress, speed, onlooker)
    with (make_engine or inline())(run) as engine:
        write_json_atomically(folder / MANIFEST, manifest_of(plan))
        _run(engine, scenario.duration_us, scrapes)
        loop = engine.figures()
        counted = engine.counts()
        engine.close(scenario.duration_us, REASON_END)
        liveness = _liveness(plan, engine) if scenario.liveness else None
        ended = engine.counts()
    stream.end()
    summary = summary_of(plan, stream, loop, counted, ended, liveness)
    summary["warnings"] = engine.warnings
    summary["wall_seconds"] = round(time.perf_counter() - started, 3)
    write_json_atomically(folder / SUMMARY, summary)
    return RunFolder(folder)


def _run(engine: Engine, end_us: int, scrapes: Scrapes | None) -> None:
    """Run to the end; in between the cluster is looked at, which changes nothing."""
    if scrapes is not None:
        for time_us in range(scrapes.period_us, end_us + 1, scrapes.period_us):
            engine.run_to(time_us)
            scrapes.take(engine.snapshot())
    engine.run_to(end_us)


def _liveness(plan: ClusterPlan, engine: Engine) -> Liveness:
    """Let all faults end, and see whether everything becomes well."""
    engine.heal(plan.scenario.duration_us)
    liveness = wait_until_well(plan, engine)
    end_us = plan.scenario.duration_us + round(liveness.seconds * 1e6)
    engine.close(end_us, REASON_LIVENESS)
    return liveness
