"""A run as commands perform it: with a bar, and with one line for each early end."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import ActorError, EngineError, EngineMaker, Passed, Progress
from tidegauge.engine.simulate import simulate
from tidegauge.options.watching import Watchers
from tidegauge.replication.checkpoint_files import CheckpointError
from tidegauge.scenario.reading import Scenario, ScenarioError
from tidegauge.traces.run_folder import RunFolder
from tidegauge.views.output import INTERRUPTED
from tidegauge.views.run_progress import progress_bar


class _FarEnough(Exception):  # noqa: N818 - it is what was asked for, no error
    """The run has reached the time at which it is to end."""


def perform(
    scenario: Scenario,
    out: Path,
    engine: EngineMaker,
    again: str,
    *,
    speed: float | None = None,
    switches: Mapping[str, int | bool] | None = None,
    until_us: int | None = None,
    is_kept: bool = True,
    watchers: Watchers | None = None,
    over_seeds: str | None = None,
) -> RunFolder:
    """Perform a run; if it fails, the command ends with one line that gives the reason.

    Args:
        scenario: the scenario to run.
        out: the folder of the run.
        engine: makes the engine that runs the processes.
        again: the command that repeats the run.
        speed: the speed limit, as a multiple of real time.
        switches: as ``simulate`` takes them.
        until_us: the run may end after this virtual time, unfinished.
        is_kept: whether the folder still exists when the command has ended.
        watchers: the observers of the run.
        over_seeds: the command that runs the scenario with other seeds.
    """
    so_far = f"{out} is unfinished but readable. Again" if is_kept else "Again"
    try:
        with progress_bar(scenario.duration_us) as progress:
            return simulate(
                scenario,
                out,
                make_engine=engine,
                progress=_stopping_after(until_us, progress),
                speed=speed,
                switches=switches,
                onlooker=None if watchers is None else watchers.onlooker,
                scrapes=None if watchers is None else watchers.scrapes,
                over_seeds=over_seeds,
            )
    except _FarEnough:
        return RunFolder(out)
    except ActorError as error:
        typer.echo(f"tidegauge: {error}", err=True)
        typer.echo(f"{so_far}: {again}", err=True)
        raise typer.Exit(1) from None
    except (CheckpointError, EngineError, FileExistsError, ScenarioError) as error:
        raise TidegaugeError(str(error)) from error
    except OSError as error:
        raise TidegaugeError(f"{out}: cannot be written to: {error.strerror}") from error
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {so_far}: {again}")
        raise typer.Exit(INTERRUPTED) from None


def _stopping_after(until_us: int | None, progress: Progress | None) -> Progress | None:
    """A progress function that also ends the run after this time."""
    if until_us is None:
        return progress

    def show(passed: Passed) -> None:
        if passed.time_us > until_us:
            raise _FarEnough
        if progress is not None:
            progress(passed)

    return show
