"""A run that was interrupted continues from its last snapshot, to the end it would have had.

The trace is cut back to the snapshot, and continues in new files. The rows, the hash and all
figures but those of speed are those of a run that nobody has interrupted. The folder is changed
only when the whole state has been read and restored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import EngineInput, EngineMaker
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.packed_tables import DamagedTablesError
from tidegauge.engine.run_snapshots.snapshot_file import (
    OTHERWISE,
    RunSnapshot,
    SnapshotError,
    read_snapshot,
)
from tidegauge.engine.simulate import Watched, finish, only_writer
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.model.component_faults import fault_name
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.traces import run_files
from tidegauge.traces.run_folder import RunFolder, continued_trace_files
from tidegauge.traces.trace_file import TraceError


class ResumeError(TidegaugeError):
    """A run that cannot be resumed; the message is one line."""


class InterruptedRun(NamedTuple):
    """A run whose last snapshot has been read."""

    run: RunFolder
    plan: ClusterPlan
    #: Takes the rows after the snapshot.
    stream: RowStream
    past: RunSnapshot

    def finish(
        self, make_engine: EngineMaker | None = None, watched: Watched | None = None
    ) -> RunFolder:
        """Continue the run to its end; arguments and errors are those of :func:`resume`."""
        folder, past, watched = self.run.path, self.past, watched or Watched()

        def continue_trace(groups: int) -> list[Path]:
            return continued_trace_files(folder, groups, past.time_us, past.trace)

        again = EngineInput(
            *(self.plan, folder, self.stream, watched.progress, watched.speed, watched.onlooker),
            continue_trace,
            past,
            tell=watched.tell,
        )
        snapshots_us = self.run.manifest.get("snapshots_us", ())
        with _named(folder, past.time_us):
            return finish(again, make_engine or inline(), watched.scrapes, snapshots_us)


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
        RunError: the folder has no run, or the run is being written.
        OSError: the folder cannot be written to.
    """
    with interrupted_run(folder) as interrupted:
        return interrupted.finish(make_engine, watched)


@contextmanager
def interrupted_run(folder: Path) -> Iterator[InterruptedRun]:
    """Lock the folder of an interrupted run, and read its last snapshot.

    Errors are those of :func:`resume`.
    """
    run = RunFolder(folder)
    if run.is_of_logs:
        raise ResumeError(
            f"{folder}: is a real cluster's, made of its logs: it has no end to reach"
        )
    _check_that_it_is_unfinished(folder)
    with only_writer(folder):
        # Another one may have finished it meanwhile.
        _check_that_it_is_unfinished(folder)
        times_us = run_files.snapshot_times_us(folder)
        if not times_us:
            raise ResumeError(
                f"{folder}: has no snapshot to resume from: repeat the run with --snapshot-every"
            )
        past = read_snapshot(folder, times_us[-1])
        plan = plan_of_run(run)
        stream = RowStream(plan)
        with _named(folder, past.time_us):
            stream.restore(past.stream)
        yield InterruptedRun(run, plan, stream, past)


def _check_that_it_is_unfinished(folder: Path) -> None:
    if run_files.read_summary(folder) is not None:
        raise ResumeError(f"{folder}: is complete: there is nothing to resume")


def written_scenario_of(run: RunFolder) -> dict[str, Any]:
    """The scenario of a run as a file has it, all defaults filled in."""
    return {**run.manifest["scenario"], "seed": run.manifest["seed"]}


def plan_of_run(run: RunFolder) -> ClusterPlan:
    """The plan that a run had, by its manifest."""
    manifest = run.manifest
    scenario = scenario_from_mapping(written_scenario_of(run), str(run.path))
    joints = tuple(manifest.get("faults_before_joints", ()))
    names = [fault_name(scenario.faults, place) for place in range(len(scenario.faults))]
    return ClusterPlan(
        scenario,
        manifest["switches"],
        faults_before_joints=joints,
        may_branch=bool(joints or manifest.get("snapshots_us")),
        without=frozenset(map(names.index, manifest.get("without", ()))),
    )


@contextmanager
def _named(folder: Path, time_us: int) -> Iterator[None]:
    """Name the snapshot in an error about its content, or about the trace that belongs to it."""
    try:
        yield
    except (DamagedTablesError, TraceError) as error:
        file = run_files.snapshot_file(folder, time_us)
        raise SnapshotError(f"{file}: {error}; {OTHERWISE}") from error
