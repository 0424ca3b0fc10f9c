"""A run as commands perform it: with a bar, and with one line for whatever ends it early."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tidegauge.commands.output import fail
from tidegauge.commands.run_progress import progress_bar

if TYPE_CHECKING:
    from tidegauge.engine import EngineMaker
    from tidegauge.run_folder import RunFolder
    from tidegauge.simulation.scenario import Scenario

#: What a shell takes for: it was interrupted.
INTERRUPTED = 130


def perform(
    scenario: Scenario,
    out: Path,
    engine: EngineMaker,
    again: str,
    *,
    speed: float | None = None,
    switches: Mapping[str, int | bool] | None = None,
) -> RunFolder:
    """The run, or the end of the command with one line that says why there is none.

    Args:
        scenario: what is run.
        out: where to.
        engine: who runs the processes.
        again: the command that does the same once more.
        speed: so many times as fast as real time at most.
        switches: as ``simulate`` takes them.
    """
    from tidegauge.engine import ActorError, EngineError
    from tidegauge.replication.checkpoint_files import CheckpointError
    from tidegauge.simulate import simulate
    from tidegauge.simulation.scenario import ScenarioError

    try:
        with progress_bar(scenario.duration_us) as progress:
            return simulate(
                scenario,
                out,
                make_engine=engine,
                progress=progress,
                speed=speed,
                switches=switches,
            )
    except ActorError as error:
        typer.echo(f"tidegauge: {error}", err=True)
        typer.echo(f"{out} can be read as far as it is. Again: {again}", err=True)
        raise typer.Exit(1) from None
    except (CheckpointError, EngineError, FileExistsError, ScenarioError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{out}: cannot be written to: {error.strerror}")
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {out} holds the trace so far. Again: {again}")
        raise typer.Exit(INTERRUPTED) from None


def engine_of(actors: int | None, address: str | None, *, inline: bool) -> EngineMaker:
    """Who runs the processes: this interpreter, or actors of Ray."""
    if inline:
        from tidegauge.inline_engine import inline as all_inline

        return all_inline()
    from tidegauge.ray_engine import on_ray

    return on_ray(actors, address)
