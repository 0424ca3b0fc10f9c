"""A run continues from a snapshot with another scenario: other faults, steps, settings or seed.

The past stays as it was, with its rows and numbers. The branch is a run of its own: its trace
begins with that of the past, and its manifest names the past. A branch that changes nothing ends
with the hash of the run that it is a branch of.
"""

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineInput, EngineMaker
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import plan_of_run, written_scenario_of
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.merged_tables import MergeError
from tidegauge.engine.run_snapshots.snapshot_file import RunSnapshot, read_snapshot
from tidegauge.engine.simulate import Watched, finish, manifest_of, only_writer
from tidegauge.engine.snapshot_writer import SnapshotWriter
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.topic_steps import AdminStep
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.quantities import format_duration, whole_time_text
from tidegauge.traces.run_files import MANIFEST, TRACE, snapshot_times_us
from tidegauge.traces.run_folder import (
    RunFolder,
    continued_trace_files,
    new_trace_files,
    write_json_atomically,
)


class BranchError(TidegaugeError):
    """A run cannot go on in another way from there; the message is one line."""


#: The parts of a scenario that a branch can change: all but the cluster itself, and its past.
_CHANGEABLE = (
    *("name", "description", "question", "seed", "duration", "measure_from", "liveness", "checks"),
    *("faults", "pins", "steps", "network", "costs", "resources", "workload.producers"),
    *("cluster.settings", "controllers.settings"),
)


def branched_scenario(
    run: RunFolder,
    changes: Mapping[str, object],
    *,
    faults: Sequence[Mapping[str, object]] = (),
    steps: Sequence[Mapping[str, object]] = (),
) -> Scenario:
    """The scenario of a run with changes.

    Args:
        run: the run.
        changes: other values of its fields, by their paths.
        faults: faults that it has besides its own.
        steps: steps behind its own.

    Raises:
        ScenarioError: the scenario cannot be run.
        BranchError: the run is of logs, or a change is one that no run can make half-way.
    """
    if run.is_of_logs:
        raise BranchError(
            f"{run.path}: is a real cluster's, made of its logs: it cannot go on in another way"
        )
    check_changeable(changes)
    told = written_scenario_of(run)
    written = {
        **told,
        "faults": [*told.get("faults", ()), *faults],
        "steps": [*told.get("steps", ()), *steps],
    }
    return scenario_from_mapping(written, str(run.path), changes)


def check_changeable(paths: Iterable[str]) -> None:
    """Check that a run can have other values at these paths from some time on.

    Raises:
        BranchError: it cannot.
    """
    for path in paths:
        if not any(path == each or path.startswith(f"{each}.") for each in _CHANGEABLE):
            raise BranchError(
                f"{path}: cannot change while a run goes on, only {', '.join(_CHANGEABLE)}: "
                "`tidegauge run` begins with it"
            )


def past_until(
    run: RunFolder, at_us: int, folder: Path, make_engine: EngineMaker | None = None
) -> Path:
    """A folder with the past of a run until a time, and a snapshot there, to branch from.

    The run's own folder if it has that snapshot. Else the run is repeated from its last snapshot
    before, or from its beginning, unless the new folder has the snapshot already.

    Args:
        run: the run.
        at_us: the virtual time.
        folder: the new folder for a past that is repeated; an unfinished one is replaced.
        make_engine: makes the engine; None: in this interpreter.

    Raises:
        BranchError: the run ends before that time, or is a branch that begins later.
        SnapshotError: a snapshot cannot be used.
        OSError: the folder cannot be written.
    """
    earlier_us = [each for each in snapshot_times_us(run.path) if each <= at_us]
    if at_us in earlier_us:
        return run.path
    if at_us in snapshot_times_us(folder):
        return folder
    plan = replace(plan_of_run(run), may_branch=True)
    if not 0 < at_us < plan.scenario.duration_us:
        raise BranchError(
            f"{run.path}: has no time {format_duration(at_us)}: it ends at "
            f"{format_duration(plan.scenario.duration_us)}"
        )
    if not earlier_us and "past" in run.manifest:
        raise BranchError(
            f"{run.path}: is a branch, and has no snapshot until {format_duration(at_us)}: "
            f"branch from {run.manifest['past']['run']}"
        )
    snapshot = read_snapshot(run.path, earlier_us[-1]) if earlier_us else None
    shutil.rmtree(folder, ignore_errors=True)
    stream = RowStream(plan)
    if snapshot is not None:
        stream.restore(snapshot.stream)

    def begin_trace(groups: int) -> list[Path]:
        files = _continued_trace(run.path, folder, snapshot, groups)
        write_json_atomically(folder / MANIFEST, manifest_of(plan, snapshots_us=[at_us]))
        return files

    again = EngineInput(plan, folder, stream, None, None, None, begin_trace, snapshot)
    folder.mkdir(parents=True, exist_ok=True)
    with only_writer(folder), (make_engine or inline())(again) as engine:
        engine.run_to(at_us)
        with SnapshotWriter(again, engine) as snapshots:
            snapshots.take(at_us)
    return folder


class Past(NamedTuple):
    """The past of branches: a run until one of its snapshots."""

    #: The folder that has the snapshot.
    folder: Path
    #: The run's name for manifests.
    name: str
    plan: ClusterPlan
    snapshot: RunSnapshot

    @property
    def words(self) -> str:
        """The run and the time, for errors."""
        return f"{self.name}: at {format_duration(self.snapshot.time_us)}"


def read_past(folder: Path, at_us: int, name: str | None = None) -> Past:
    """Read the past of branches.

    Args:
        folder: the folder of the run, or of its past (:func:`past_until`).
        at_us: the virtual time of one of its snapshots.
        name: the run's name for manifests; None: that of its folder.

    Raises:
        SnapshotError: there is no such snapshot, or it cannot be used.
        RunError: the folder has no run.
    """
    plan = plan_of_run(RunFolder(folder))
    return Past(folder, name or str(folder), plan, read_snapshot(folder, at_us))


@contextmanager
def past_at(run: RunFolder, at_us: int) -> Iterator[Past]:
    """The past of a run until a time, while entered: one that is repeated has a temporary folder.

    Errors are those of :func:`past_until`.
    """
    with TemporaryDirectory(prefix="tidegauge-") as temporary:
        folder = past_until(run, at_us, Path(temporary) / "past")
        yield read_past(folder, at_us, str(run.path))


def name_of_branch(scenario: Scenario, at_us: int) -> str:
    """The name of a branch's folder: ``NAME-SEED-from-TIME``."""
    return f"{scenario.name}-{scenario.seed}-from-{whole_time_text(at_us)}"


def branch(
    past: Past,
    scenario: Scenario,
    folder: Path,
    *,
    make_engine: EngineMaker | None = None,
    watched: Watched | None = None,
    snapshots_us: Sequence[int] = (),
    keeps_joint: bool = False,
) -> RunFolder:
    """Continue a run from a snapshot with another scenario, in another folder, to its end.

    Args:
        past: the run until then; its folder stays as it is.
        scenario: the scenario from then on (:func:`branched_scenario`).
        folder: the folder of the branch, new or empty.
        make_engine: makes the engine; None: the groups of the snapshot, in this interpreter.
        watched: the observers of the run, and its pace.
        snapshots_us: the virtual times of the branch's own snapshots.
        keeps_joint: its first snapshot is where it begins, so that it can be resumed, inspected
            and branched by itself.

    Raises:
        BranchError: a change is one that no run can make half-way.
        FileExistsError: the folder of the branch is not empty.
        OSError: the folder of the branch cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: is not empty, and a run never overwrites another")
    snapshot, at_us = past.snapshot, past.snapshot.time_us
    plan = branched_plan(past.plan, scenario, at_us)
    watched = watched or Watched()
    if keeps_joint:
        snapshots_us = [at_us, *snapshots_us]
    stream = RowStream(plan)
    try:
        stream.continue_from(snapshot.stream, past.plan)
    except MergeError as error:
        raise BranchError(f"{past.words}: {error}") from error

    def begin_trace(groups: int) -> list[Path]:
        files = _continued_trace(past.folder, folder, snapshot, groups)
        manifest = manifest_of(plan, snapshots_us=snapshots_us)
        manifest["past"] = {"run": past.name, "at_us": at_us}
        write_json_atomically(folder / MANIFEST, manifest)
        return files

    again = EngineInput(
        *(plan, folder, stream, watched.progress, watched.speed, watched.onlooker),
        begin_trace,
        snapshot,
        past.plan,
        tell=watched.tell,
    )
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with only_writer(folder):
            return finish(again, make_engine or inline(), watched.scrapes, snapshots_us)
    except MergeError as error:
        raise BranchError(f"{past.words}: {error}") from error


def branched_plan(past: ClusterPlan, scenario: Scenario, at_us: int) -> ClusterPlan:
    """The plan of a scenario that continues a past from a time on.

    Raises:
        BranchError: the scenario has another past.
    """
    before, now = past.scenario.faults, scenario.faults
    if len(now) < len(before):
        raise BranchError(f"faults[{len(now)}]: is missing: a branch keeps all faults of its past")
    for place, fault in enumerate(now):
        planned_us = before[place].at_us if place < len(before) else None
        changed_us = {planned_us, fault.at_us} if planned_us != fault.at_us else set()
        if any(each_us < at_us for each_us in changed_us if each_us is not None):
            raise BranchError(f"faults[{place}].at: must not be before {format_duration(at_us)}")
    if scenario.duration_us <= at_us:
        raise BranchError(f"duration: must be more than {format_duration(at_us)}")
    steps = len(past.scenario.steps)
    if not past.is_kraft and not any(isinstance(each, AdminStep) for each in past.scenario.steps):
        for place, step in enumerate(scenario.steps[steps:], steps):
            if isinstance(step, AdminStep):
                raise BranchError(
                    f"steps[{place}]: moves replicas or deletes a topic, and the run began without "
                    "such a step: its controllers do not watch for it"
                )
    joints = (*past.faults_before_joints, len(before))
    return ClusterPlan(scenario, past.switches, past.is_measured, joints, may_branch=True)


def _continued_trace(
    past: Path, folder: Path, snapshot: RunSnapshot | None, groups: int
) -> list[Path]:
    """The trace of the past up to a snapshot, in another folder, and files for what follows."""
    if snapshot is None:
        return new_trace_files(folder, groups)
    (folder / TRACE).mkdir(parents=True)
    for path in snapshot.trace:
        shutil.copyfile(past / path, folder / path)
    return continued_trace_files(folder, groups, snapshot.time_us, snapshot.trace)
