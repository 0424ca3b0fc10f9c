"""Running a scenario: inline, all its processes in this interpreter, or on Ray.

:func:`simulate` is the whole run in one call: manifest, windows, liveness phase, trace, summary.
The engine (``inline_engine.py``, ``ray_engine.py``) does not change the results: the same scenario
and seed give the same rows, and the same hash.

``manifest.json``: the scenario of a run, and the names for the numbers in its rows.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from filelock import FileLock, Timeout

from tidegauge.engine.contract import Engine, EngineInput, EngineMaker, Onlooker, Progress
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.liveness import Liveness, wait_until_well
from tidegauge.engine.recovery import with_recoveries
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.snapshot_writer import SnapshotWriter
from tidegauge.engine.summary import sometimes_met, summary_of
from tidegauge.metrics.snapshots.snapshot import Snapshot
from tidegauge.scenario.cluster_directory import ListedAssignments, directory_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import fault_name
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.warnings import left_to_chance, newer_than_known
from tidegauge.simulation.trace_rows.codes import REASON_END, REASON_LIVENESS
from tidegauge.simulation.trace_rows.schema import SCHEMA_VERSION, tidegauge_version
from tidegauge.traces.run_files import FORMAT, MANIFEST, RUN_LOCK, SUMMARY, RunError
from tidegauge.traces.run_folder import RunFolder, new_trace_files, write_json_atomically


class Scrapes(NamedTuple):
    """The interval of scrapes in virtual time, and their observer."""

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
    over_seeds: str | None = None,
    snapshots_us: Sequence[int] = (),
    tell: Callable[[str], None] = lambda _: None,
) -> RunFolder:
    """Run a scenario into ``folder``, which must not contain a run yet, and return the run.

    Args:
        scenario: the scenario to run.
        folder: the folder of the run; it is made if it does not exist.
        make_engine: makes the engine: ``inline_engine.inline()``, which is the default, or
            ``ray_engine.on_ray()``.
        progress: a function that is called at times.
        speed: the speed limit, as a multiple of real time.
        switches: fields of ``ReleaseRules`` and ``KRaftRules`` with other values than in the
            brokers' releases, beside the ablations of the scenario. No Kafka has such rules: they
            show the purpose of a rule. The manifest lists them.
        onlooker: observes the run, in real time.
        scrapes: the interval of scrapes in virtual time, and their observer.
        over_seeds: the command that runs the scenario with other seeds, for the manifest.
        snapshots_us: the virtual times at which the state of the whole run is saved, from which
            it can be resumed (``engine/resuming.py``), and continues by itself after the death
            of an actor (``engine/recovery.py``).
        tell: a function that is called with lines for people.

    Raises:
        FileExistsError: the folder is not empty, or another run has begun in it.
        ActorError: an actor died in a run without snapshots, or several; the trace can be read up
            to that time.
        RayUnavailableError: Ray does not start, cannot be joined, or has no room.
        EngineError: there are fewer brokers than actors.
    """
    is_measured = onlooker is not None or scrapes is not None
    plan = ClusterPlan(scenario, switches or {}, is_measured, may_branch=bool(snapshots_us))
    watched = Watched(progress, speed, onlooker, scrapes, tell)
    return simulate_plan(
        plan, folder, make_engine or inline(), watched, over_seeds, snapshots_us=snapshots_us
    )


class Watched(NamedTuple):
    """The observers of a run, and its pace; arguments of :func:`simulate`."""

    progress: Progress | None = None
    speed: float | None = None
    onlooker: Onlooker | None = None
    scrapes: Scrapes | None = None
    #: Is called with lines for people.
    tell: Callable[[str], None] = lambda _: None


def simulate_plan(
    plan: ClusterPlan,
    folder: Path,
    make_engine: EngineMaker,
    watched: Watched = Watched(),  # noqa: B008 - a tuple, which never changes
    over_seeds: str | None = None,
    snapshots_us: Sequence[int] = (),
) -> RunFolder:
    """Run a scenario that has its plan; arguments and errors are those of :func:`simulate`."""
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: is not empty, and a run never overwrites another")

    locked = ExitStack()

    def begin_trace(groups: int) -> list[Path]:
        files = new_trace_files(folder, groups)
        locked.enter_context(only_writer(folder))
        manifest = manifest_of(plan, over_seeds, snapshots_us)
        write_json_atomically(folder / MANIFEST, manifest)
        return files

    run = EngineInput(
        *(plan, folder, RowStream(plan), watched.progress, watched.speed, watched.onlooker),
        begin_trace,
        tell=watched.tell,
    )
    with locked:
        return finish(run, make_engine, watched.scrapes, snapshots_us)


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Lock the folder of a run while entered.

    Raises:
        RunError: another run or resume writes to it.
        OSError: it cannot be written to.
    """
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(folder / RUN_LOCK, timeout=0))
        except Timeout:
            raise RunError(f"{folder}: another run or resume is writing to it") from None
        yield


def finish(
    run: EngineInput,
    make_engine: EngineMaker,
    scrapes: Scrapes | None = None,
    snapshots_us: Sequence[int] = (),
) -> RunFolder:
    """Run to the end from the beginning, or from the past that a run has; write the summary.

    The caller has locked the folder. Arguments and errors are those of :func:`simulate`.
    """
    started = time.perf_counter()
    if scrapes is not None:
        scrapes = scrapes._replace(take=_each_time_once(scrapes.take))

    def perform(run: EngineInput) -> dict[str, Any]:
        return _performed(run, make_engine, scrapes, snapshots_us)

    warnings: list[str] = []
    summary = with_recoveries(run, perform, warnings, has_snapshots=bool(snapshots_us))
    summary["warnings"] = warnings + summary["warnings"]
    summary["sometimes"] = sometimes_met(run.plan, summary, run.folder)
    summary["wall_seconds"] = round(time.perf_counter() - started, 3)
    write_json_atomically(run.folder / SUMMARY, summary)
    # Who takes the lock from now on finds a complete run.
    (run.folder / RUN_LOCK).unlink()
    return RunFolder(run.folder, was_just_written=True)


def _performed(
    run: EngineInput,
    make_engine: EngineMaker,
    scrapes: Scrapes | None,
    snapshots_us: Sequence[int],
) -> dict[str, Any]:
    """Run to the end with one engine; the summary."""
    plan = run.plan
    with make_engine(run) as engine:
        with SnapshotWriter(run, engine) as snapshots:
            _run(engine, run, scrapes, snapshots, snapshots_us)
        loop = engine.figures()
        loop.seconds, loop.windows = loop.spent(run.past)
        engine.close(plan.scenario.duration_us, REASON_END)
        counted = engine.counts()
        liveness = _liveness(plan, engine) if plan.scenario.liveness else None
        ended = engine.counts()
    run.stream.end()
    summary = summary_of(plan, run.stream, loop, counted, ended, liveness)
    return {**summary, "warnings": engine.warnings}


def _each_time_once(take: Callable[[Snapshot], None]) -> Callable[[Snapshot], None]:
    """An observer that does not see a virtual time again after the death of an actor."""
    seen_us = 0

    def take_later(snapshot: Snapshot) -> None:
        nonlocal seen_us
        if snapshot.time_us > seen_us:
            seen_us = snapshot.time_us
            take(snapshot)

    return take_later


def _run(
    engine: Engine,
    run: EngineInput,
    scrapes: Scrapes | None,
    snapshots: SnapshotWriter,
    snapshots_us: Sequence[int],
) -> None:
    """Run to the end, with scrapes and snapshots in between, which change nothing."""
    end_us = run.plan.scenario.duration_us
    scraped_us = range(scrapes.period_us, end_us + 1, scrapes.period_us) if scrapes else ()
    if run.past_plan is not None and run.begin_us in snapshots_us:
        snapshots.take(run.begin_us)
    for time_us in sorted({*scraped_us, *snapshots_us}):
        if not run.begin_us < time_us <= end_us:
            continue
        engine.run_to(time_us)
        if scrapes is not None and time_us in scraped_us:
            scrapes.take(engine.snapshot())
        if time_us in snapshots_us:
            snapshots.take(time_us)
    engine.run_to(end_us)


def _liveness(plan: ClusterPlan, engine: Engine) -> Liveness:
    """End all faults, and check whether the cluster recovers."""
    engine.heal(plan.scenario.duration_us)
    liveness = wait_until_well(plan, engine)
    end_us = plan.scenario.duration_us + round(liveness.seconds * 1e6)
    engine.close(end_us, REASON_LIVENESS)
    return liveness


def manifest_of(
    plan: ClusterPlan, over_seeds: str | None = None, snapshots_us: Sequence[int] = ()
) -> dict[str, Any]:
    """The manifest: the resolved scenario, and the names for its numbers.

    Partitions and their assignments are ``JsonLines``, which ``traces/run_folder.py`` writes.

    Args:
        plan: the scenario.
        over_seeds: the command that runs it with other seeds.
        snapshots_us: the virtual times of its snapshots.
    """
    kept, seed = plan.keep(_manifest), plan.scenario.seed
    scenario = {**kept["scenario"], "seed": seed}
    manifest = {**kept, "scenario": scenario, "seed": seed, "over_seeds": over_seeds}
    return {**manifest, "snapshots_us": list(snapshots_us)}


def _manifest(plan: ClusterPlan) -> dict[str, Any]:
    """The manifest of runs with any seed."""
    scenario = plan.scenario
    return {
        "format": FORMAT,
        "tidegauge": tidegauge_version(),
        "schema_version": SCHEMA_VERSION,
        "scenario": scenario.resolved(ListedAssignments),
        "newer_than_known": newer_than_known(scenario),
        "seed": None,
        "trace": scenario.trace,
        "switches": plan.all_switches,
        "without": [fault_name(scenario.faults, place) for place in sorted(plan.without)],
        "left_to_chance": left_to_chance(scenario),
        "over_seeds": None,
        "snapshots_us": [],
        "faults_before_joints": list(plan.faults_before_joints),
        **directory_of(plan),
    }
