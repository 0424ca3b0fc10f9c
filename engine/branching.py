"""A run continues from a snapshot with another scenario: other faults, steps, settings or seed.

The past stays as it was, with its rows and numbers. The branch is a run of its own: its trace
begins with that of the past, and its manifest names the past. A branch that changes nothing ends
with the hash of the run that it is a branch of.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineInput, EngineMaker
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import plan_of_run
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.merged_tables import MergeError
from tidegauge.engine.run_snapshots.snapshot_file import RunSnapshot, read_snapshot
from tidegauge.engine.simulate import Watched, finish, manifest_of
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.topic_steps import AdminStep
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.simulation.quantities import format_duration
from tidegauge.traces.run_files import MANIFEST
from tidegauge.traces.run_folder import RunFolder, continued_trace_files, write_json_atomically


class BranchError(TidegaugeError):
    """A run cannot go on in another way from there; the message is one line."""


#: The parts of a scenario that a branch can change: all but the cluster itself, and its past.
_CHANGEABLE = (
    *("name", "description", "question", "seed", "duration", "measure_from", "liveness", "checks"),
    *("faults", "steps", "network", "costs", "resources", "workload.producers"),
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
        BranchError: a change is one that no run can make half-way.
    """
    for path in changes:
        if not any(path == each or path.startswith(f"{each}.") for each in _CHANGEABLE):
            raise BranchError(
                f"{path}: cannot change while a run goes on, only {', '.join(_CHANGEABLE)}: "
                f"`tidegauge run` begins with it"
            )
    told = run.manifest["scenario"]
    written = {
        **told,
        "seed": run.manifest["seed"],
        "faults": [*told.get("faults", ()), *faults],
        "steps": [*told.get("steps", ()), *steps],
    }
    return scenario_from_mapping(written, str(run.path), changes)


def branch(
    past: Path,
    at_us: int,
    scenario: Scenario,
    folder: Path,
    *,
    make_engine: EngineMaker | None = None,
    watched: Watched | None = None,
    snapshots_us: Sequence[int] = (),
) -> RunFolder:
    """Continue a run from a snapshot with another scenario, in another folder, to its end.

    Args:
        past: the folder of the run; it stays as it is.
        at_us: the virtual time of one of its snapshots.
        scenario: the scenario from then on (:func:`branched_scenario`).
        folder: the folder of the branch, new or empty.
        make_engine: makes the engine; None: the groups of the snapshot, in this interpreter.
        watched: the observers of the run, and its pace.
        snapshots_us: the virtual times of the branch's own snapshots.

    Raises:
        BranchError: a change is one that no run can make half-way.
        SnapshotError: there is no such snapshot, or it cannot be used.
        FileExistsError: the folder of the branch is not empty.
        OSError: the folder of the branch cannot be written.
    """
    if folder.exists() and any(folder.iterdir()):
        raise FileExistsError(f"{folder}: is not empty, and a run never overwrites another")
    run = RunFolder(past)
    snapshot = read_snapshot(past, at_us)
    past_plan = plan_of_run(run)
    plan = branched_plan(past_plan, scenario, at_us)
    watched = watched or Watched()
    try:
        stream = RowStream(plan)
        stream.continue_from(snapshot.stream, past_plan)
    except MergeError as error:
        raise BranchError(f"{past}: at {format_duration(at_us)}: {error}") from error

    def begin_trace(groups: int) -> list[Path]:
        _copy_trace(past, folder, snapshot)
        manifest = manifest_of(plan, snapshots_us=snapshots_us)
        manifest["past"] = {
            "run": str(past),
            "at_us": at_us,
            "faults_before_joints": list(plan.faults_before_joints),
        }
        write_json_atomically(folder / MANIFEST, manifest)
        return continued_trace_files(folder, groups, at_us, snapshot.trace)

    again = EngineInput(
        *(plan, folder, stream, watched.progress, watched.speed, watched.onlooker),
        begin_trace,
        snapshot,
        past_plan,
    )
    try:
        return finish(again, make_engine or inline(), watched.scrapes, snapshots_us)
    except MergeError as error:
        raise BranchError(f"{past}: at {format_duration(at_us)}: {error}") from error


def branched_plan(past: ClusterPlan, scenario: Scenario, at_us: int) -> ClusterPlan:
    """The plan of a scenario that continues a past from a time on.

    Raises:
        BranchError: the scenario has another past.
    """
    before, now = past.scenario.faults, scenario.faults
    if len(now) < len(before):
        raise BranchError(f"faults[{len(now)}]: is missing: a branch keeps all faults of its past")
    for place, fault in enumerate(now):
        began_us = before[place].at_us if place < len(before) else None
        for each_us in {began_us, fault.at_us} - {None} if began_us != fault.at_us else ():
            if each_us < at_us:
                raise BranchError(
                    f"faults[{place}].at: must not be before {format_duration(at_us)}"
                )
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


def _copy_trace(past: Path, folder: Path, snapshot: RunSnapshot) -> None:
    """Copy the trace files of the past; what is behind the snapshot is cut off later."""
    for path in snapshot.trace:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(past / path, folder / path)


def past_of(manifest: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The past of a branch, as its manifest names it; None: the run began at 0."""
    past: Mapping[str, Any] | None = manifest.get("past")
    return past
