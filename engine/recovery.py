"""A run goes on after an actor has died: from its last snapshot, under a new generation.

The engine is made anew from the snapshot: all actors, since those that have survived are ahead of
it. Ray places them where there is room now. The trace is cut back to the snapshot and continued in
new files, and checks and figures continue from there, as if nothing had happened.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tidegauge.engine.contract import ActorError, EngineError, EngineInput
from tidegauge.engine.row_stream import RowStream
from tidegauge.engine.run_snapshots.snapshot_file import read_snapshot
from tidegauge.simulation.quantities import format_duration
from tidegauge.traces.run_files import snapshot_times_us
from tidegauge.traces.run_folder import continued_trace_files

T = TypeVar("T")

_WITHOUT_SNAPSHOTS = "; with --snapshot-every 60s a run continues by itself"

#: So many deaths after one snapshot end a run: what has killed the actors would kill the next.
_MOST_DEATHS = 3


def with_recoveries(
    run: EngineInput, perform: Callable[[EngineInput], T], told: list[str], *, has_snapshots: bool
) -> T:
    """Perform a run; if it has snapshots, after the death of an actor the rest of it again.

    Args:
        run: the run.
        perform: performs it, from its past or from the beginning.
        told: gets a line about each death.
        has_snapshots: whether snapshots are made during the run.

    Raises:
        ActorError: actors died too often after one snapshot, or there are none.
        EngineError: there is no room for the actors any more.
        The messages say how the run can be resumed.
    """
    deaths: Counter[int] = Counter()
    while True:
        try:
            return perform(run)
        except ActorError as error:
            if not has_snapshots:
                raise ActorError(error.reason, error.reached + _WITHOUT_SNAPSHOTS) from error
            run = _after_death(run)
            deaths[run.begin_us] += 1
            begin = format_duration(run.begin_us) if run.begin_us else "the beginning"
            if deaths[run.begin_us] == _MOST_DEATHS:
                reached = f"; it is death number {_MOST_DEATHS} after {begin}{_resumable(run)}"
                raise ActorError(error.reason, reached) from error
            told.append(f"{error.reason}; continued from {begin} under generation {run.generation}")
            run.tell(told[-1])
        except EngineError as error:
            if run.generation == 1:
                raise
            raise EngineError(f"{error}{_resumable(run)}") from error


def _resumable(run: EngineInput) -> str:
    return f"; continue with: tidegauge resume {run.folder}"


def _after_death(run: EngineInput) -> EngineInput:
    """What comes after the last snapshot of a run, or all of it if there is none yet."""
    past, past_plan = run.past, run.past_plan
    times_us = snapshot_times_us(run.folder)
    if times_us:
        past, past_plan = read_snapshot(run.folder, times_us[-1]), None
    stream = RowStream(run.plan)
    if past_plan is not None and past is not None:
        stream.continue_from(past.stream, past_plan)
    elif past is not None:
        stream.restore(past.stream)

    def continue_trace(groups: int) -> list[Path]:
        time_us, lengths = (0, {}) if past is None else (past.time_us, past.trace)
        return continued_trace_files(run.folder, groups, time_us, lengths)

    return run._replace(
        stream=stream,
        new_trace_files=continue_trace,
        past=past,
        past_plan=past_plan,
        generation=run.generation + 1,
    )
