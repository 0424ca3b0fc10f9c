"""A run that was interrupted continues from its last snapshot, to the end it would have had.

The trace is cut back to the snapshot, and continues in new files. The rows, the hash and all
figures are those of a run that nobody has interrupted.
"""

from pathlib import Path

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineInput, EngineMaker
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.snapshot_file import (
    SnapshotError,
    read_snapshot,
    snapshot_times_us,
)
from tidegauge.engine.simulate import Watched, finish
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces.run_folder import RunFolder, continued_trace_files


class ResumeError(TidegaugeError):
    """A run that cannot be resumed; the message is one line."""


def plan_of_run(run: RunFolder) -> ClusterPlan:
    """The plan that a run had, by its manifest."""
    manifest = run.manifest
    scenario = scenario_from_mapping(
        {**manifest["scenario"], "seed": manifest["seed"]}, str(run.path)
    )
    past = manifest.get("past", {})
    return ClusterPlan(
        scenario,
        manifest["switches"],
        faults_before_joints=tuple(past.get("faults_before_joints", ())),
        may_branch=bool(past or manifest.get("snapshots_us")),
    )


def resume(
    folder: Path, make_engine: EngineMaker | None = None, watched: Watched | None = None
) -> RunFolder:
    """Continue an interrupted run from its last snapshot, and return the run.

    Args:
        folder: the folder of the run.
        make_engine: makes the engine; None: all groups of the snapshot in this interpreter.
        watched: the observers of the run, and its pace.

    Raises:
        ResumeError: the run is complete, or has no snapshot.
        SnapshotError: its last snapshot cannot be used.
        RunError: the folder has no run.
        OSError: the folder cannot be written to.
    """
    run = RunFolder(folder)
    if run.summary is not None:
        raise ResumeError(f"{folder}: is complete: there is nothing to resume")
    times_us = snapshot_times_us(folder)
    if not times_us:
        raise ResumeError(
            f"{folder}: has no snapshot to resume from: repeat the run with --snapshot-every 60s"
        )
    past = read_snapshot(folder, times_us[-1])
    plan = plan_of_run(run)
    stream = RowStream(plan)
    try:
        stream.restore(past.stream)
    except SnapshotError as error:
        raise SnapshotError(f"{folder}: {error}") from error
    watched = watched or Watched()

    def continue_trace(groups: int) -> list[Path]:
        return continued_trace_files(folder, groups, past.time_us, past.trace)

    again = EngineInput(
        *(plan, folder, stream, watched.progress, watched.speed, watched.onlooker),
        continue_trace,
        past,
    )
    snapshots_us = run.manifest.get("snapshots_us", ())
    return finish(again, make_engine or inline(), watched.scrapes, snapshots_us)
