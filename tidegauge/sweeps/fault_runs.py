"""The runs of a scenario without some of its faults, of which differences are the costs of faults.

A fault that is left out keeps its number, its name and its random streams, so nothing else differs.
The faults of rates are those that the run has drawn, with every seed. A run with the seed of the
run itself begins at its last snapshot before anything that is left out: until then both are the
same. Runs of a branch begin where the branch does, at the latest.

All subsets of a few faults are run. Of more faults these are: none, each alone, each pair, all but
each, and all.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.branching import past_until
from tidegauge.engine.contract import EngineInput
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.pool import run_on_pool
from tidegauge.engine.resuming import plan_of_run
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.snapshot_file import RunSnapshot, SnapshotError, read_snapshot
from tidegauge.engine.simulate import finish, only_writer, simulate_plan
from tidegauge.runs.fault_costs import Faults
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import fault_name
from tidegauge.scenario.model.request_steps import BeginFaultStep
from tidegauge.scenario.text.errors import counted, did_you_mean, one_line
from tidegauge.sweeps.many_runs import Outcome, outcome_of
from tidegauge.traces.run_files import MANIFEST
from tidegauge.traces.run_folder import RunFolder, new_trace_files

#: The most runs with one seed, unless more are asked for.
MOST_RUNS = 64


class JudgedFault(NamedTuple):
    """A fault whose cost is to be found."""

    name: str
    #: Among the faults of the scenario.
    place: int
    #: The earliest time at which the run could differ without it; None: it did not begin there.
    acts_us: int | None


class Start(NamedTuple):
    """A snapshot at which runs begin."""

    #: The folder of its run.
    run: Path
    time_us: int


class FaultRun(NamedTuple):
    """A run without some faults."""

    #: The folder of the run with all of them.
    of: Path
    #: The places of the faults that are left out, in the scenario.
    without: frozenset[int]
    seed: int
    #: The snapshot at which it begins; None: it begins at 0.
    start: Start | None


def faults_of(run: RunFolder, plan: ClusterPlan) -> list[JudgedFault]:
    """The faults that begin in a run; of a branch, those that begin in it and not in its past.

    Raises:
        TidegaugeError: none does.
        TraceError: a trace file is damaged.
    """
    scenario = plan.scenario
    joint_us = run.manifest.get("past", {"at_us": 0})["at_us"]
    begun_by: dict[str, list[int]] = {}
    for number, step in enumerate(scenario.steps):
        if isinstance(step, BeginFaultStep):
            begun_by.setdefault(step.fault, []).append(number)
    found = []
    for place, fault in enumerate(scenario.faults):
        name = fault_name(scenario.faults, place)
        if place in plan.without:
            continue
        acts_us = fault.at_us
        if name in begun_by:
            acts_us = _taken_us(run, begun_by[name])
        elif acts_us is None or acts_us >= scenario.duration_us:
            continue
        if acts_us is None or acts_us >= joint_us:
            found.append(JudgedFault(name, place, acts_us))
    if not found:
        raise TidegaugeError(f"{run.path}: no fault begins in this run, so none has a cost")
    return found


def start_of_branch(run: RunFolder, folder: Path) -> Start | None:
    """The state in which a branch has begun; None: the run is no branch.

    Args:
        run: the run.
        folder: a new folder; its past is repeated there if it has no snapshot at that time.

    Raises:
        RunError: the past is not where it was.
        SnapshotError: a snapshot of it cannot be used.
        OSError: the folder cannot be written.
    """
    past = run.manifest.get("past")
    if past is None:
        return None
    found = past_until(RunFolder(Path(past["run"])), past["at_us"], folder)
    return Start(found.absolute(), past["at_us"])


def selected_faults(found: Sequence[JudgedFault], names: Collection[str]) -> list[JudgedFault]:
    """Those of some faults that have these names; without names all.

    Raises:
        TidegaugeError: none has such a name.
    """
    known = {each.name for each in found}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known)
            raise TidegaugeError(one_line(f"--fault {name}: no such fault begins; {hint}"))
    return [each for each in found if not names or each.name in names]


def _taken_us(run: RunFolder, steps: Sequence[int]) -> int | None:
    """The time at which the first of some steps was taken; None: it was not."""
    return min(
        (row["time_us"] for row in run.rows("step_taken") if row["step"] in steps), default=None
    )


def subsets_to_run(count: int, most: int = MOST_RUNS) -> list[Faults]:
    """The sets of faults that are run, the empty one first and that of all last.

    All subsets if there are at most ``most``; else with all but each fault those of one and of two
    faults, or of one alone.

    Raises:
        TidegaugeError: even the last are too many.
    """
    ways = [(count, 2**count), *((2, _runs(count, 2)), (1, _runs(count, 1)))]
    depth = next((depth for depth, runs in ways if runs <= most), None)
    if depth is None:
        raise TidegaugeError(
            f"{count} faults need {_runs(count, 1)} runs with each seed, and {most} are the most: "
            f"--max-runs permits more, --fault selects faults"
        )
    places = range(count)
    sets = [frozenset(each) for size in range(depth + 1) for each in combinations(places, size)]
    whole = frozenset(places)
    sets += [whole - {place} for place in places]
    return sorted({*sets, whole}, key=lambda each: (len(each), sorted(each)))


def _runs(count: int, depth: int) -> int:
    """The number of runs for all sets of so many faults at most, those of all but one, and all."""
    pairs = count * (count - 1) // 2
    return 2 + 2 * count + (pairs if depth > 1 else 0)


def planned_runs(
    run: RunFolder,
    plan: ClusterPlan,
    judged: Sequence[JudgedFault],
    subsets: Sequence[Faults],
    seeds: Sequence[int],
    snapshots_us: Sequence[int] = (),
    branch: Start | None = None,
    *,
    has_whole: bool = True,
) -> dict[tuple[int, Faults], FaultRun]:
    """The runs that are missing, by their seeds and the faults that they have.

    Args:
        run: the run.
        plan: its plan.
        judged: the faults that are judged.
        subsets: the sets of these that are run.
        seeds: the seeds.
        snapshots_us: the virtual times of the run's snapshots.
        branch: the state in which the run has begun, if it is a branch.
        has_whole: the run itself is that of its seed with all faults.
    """
    own, folder = plan.scenario.seed, run.path.absolute()
    whole = frozenset(range(len(judged)))
    found = {}
    for faults in subsets:
        left_out = [judged[place] for place in whole - faults]
        acts_us = [each.acts_us for each in left_out if each.acts_us is not None]
        begin_us = min(acts_us, default=plan.scenario.duration_us)
        starts = [Start(folder, time_us) for time_us in snapshots_us if time_us <= begin_us]
        without = frozenset(each.place for each in left_out) | plan.without
        for seed in seeds:
            if has_whole and seed == own and faults == whole:
                continue
            start = starts[-1] if starts and seed == own else branch
            found[seed, faults] = FaultRun(folder, without, seed, start)
    return found


def unusable(starts: Iterable[Start]) -> SnapshotError | None:
    """The reason why one of some snapshots cannot be used; None: all can."""
    for start in sorted({*starts}):
        try:
            read_snapshot(*start)
        except SnapshotError as error:
            return error
    return None


def perform(
    runs: Sequence[FaultRun],
    jobs: int | None = None,
    address: str | None = None,
    warn: Callable[[str], None] = lambda _: None,
) -> Generator[tuple[int, Outcome]]:
    """Perform runs in the warm pool; yield the place and outcome of each as it ends.

    Arguments and errors are those of :func:`tidegauge.sweeps.many_runs.run_all`; the caller has to
    close the iterator.
    """
    with closing(run_on_pool(_perform, runs, jobs, address, warn)) as calls:
        for ended in calls:
            yield ended.number, ended.result or Outcome(ended.error)


def _perform(run: FaultRun) -> Outcome:
    try:
        plan = _plan_without(run.of, _written(run.of), run.without)
        if run.seed != plan.scenario.seed:
            scenario = plan.scenario.model_copy(update={"seed": run.seed})
            plan = replace(plan, scenario=scenario)
        with TemporaryDirectory(prefix="tidegauge-") as temporary:
            folder = Path(temporary) / "run"
            if run.start is None:
                return outcome_of(simulate_plan(plan, folder, inline()), ())
            past = _plan_of(run.start.run, _written(run.start.run))
            snapshot = _snapshot(run.start, _written(run.start.run))
            return outcome_of(_run_on(past, snapshot, plan, folder), ())
    except Exception as error:  # noqa: BLE001 - after any error the other runs continue
        return Outcome(one_line(f"{type(error).__name__}: {error}"))


def _run_on(past: ClusterPlan, snapshot: RunSnapshot, plan: ClusterPlan, folder: Path) -> RunFolder:
    """Run from the state of a run to the end, without some of the faults that it had planned."""
    stream = RowStream(plan)
    stream.continue_from(snapshot.stream, past)

    def begin_trace(groups: int) -> list[Path]:
        return new_trace_files(folder, groups)

    given = EngineInput(plan, folder, stream, None, None, None, begin_trace, snapshot, past)
    folder.mkdir()
    with only_writer(folder):
        return finish(given, inline())


def _written(folder: Path) -> int:
    """The time at which a run's manifest was written: an actor outlives a run in a folder."""
    return (folder / MANIFEST).stat().st_mtime_ns


@lru_cache(maxsize=2)
def _plan_of(folder: Path, written: int) -> ClusterPlan:
    del written
    return plan_of_run(RunFolder(folder))


@lru_cache(maxsize=2)
def _plan_without(folder: Path, written: int, without: frozenset[int]) -> ClusterPlan:
    """The plan of a run without some faults, which keeps what is the same for each seed."""
    return replace(_plan_of(folder, written), without=without, kept={})


@lru_cache(maxsize=1)
def _snapshot(start: Start, written: int) -> RunSnapshot:
    del written
    return read_snapshot(*start)


def checked(outcome: Outcome, run: FaultRun, names: Sequence[str]) -> Outcome:
    """The outcome of a run that has ended well.

    Raises:
        TidegaugeError: it has failed; the message names the faults that it left out.
    """
    if outcome.error is None:
        return outcome
    left_out = counted(len(names), "fault") if len(names) > _NAMED else " and ".join(names)
    raise TidegaugeError(
        f"{run.of}: the run without {left_out}, seed {run.seed}, failed: {outcome.error}"
    )


#: The most faults that an error names.
_NAMED = 3
