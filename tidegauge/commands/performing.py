"""``tidegauge run``: one run with its progress, and with one line for each early end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tidegauge.commands.loading import announce_compilation, loaded, show_warnings
from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.shared_options import Hosting, seeds_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import ActorError, EngineMaker, Passed, Progress
from tidegauge.engine.grouping import fastest
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.warnings import left_to_chance
from tidegauge.simulation.quantities import format_duration
from tidegauge.traces.run_files import MANIFEST
from tidegauge.traces.run_folder import new_run_folder, written_to
from tidegauge.views.output import (
    INTERRUPTED,
    console,
    print_command,
    print_hanging,
    print_json,
    report,
)
from tidegauge.views.overview import show_unreachable
from tidegauge.views.progress import progress_bar
from tidegauge.views.summary_view import show_chance, show_summary, show_verdicts

if TYPE_CHECKING:
    from tidegauge.commands.watching import Watchers


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
) -> Run:
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
    try:
        with written_to(out), progress_bar(scenario.duration_us) as progress:
            simulate(
                scenario,
                out,
                make_engine=engine,
                progress=_stopping_after(until_us, progress),
                speed=speed,
                switches=switches,
                onlooker=None if watchers is None else watchers.onlooker,
                scrapes=None if watchers is None else watchers.scrapes,
                over_seeds=over_seeds,
                tell=lambda line: typer.echo(f"tidegauge: {line}", err=True),
            )
    except _FarEnough:
        pass
    except ActorError as error:
        typer.echo(f"tidegauge: {error}", err=True)
        typer.echo(f"{_so_far(out, is_kept=is_kept)}: {again}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {_so_far(out, is_kept=is_kept)}: {again}")
        raise typer.Exit(INTERRUPTED) from None
    return Run(out, was_just_written=True)


def _so_far(out: Path, *, is_kept: bool) -> str:
    """A line about the unfinished run."""
    if not is_kept:
        return "Again"
    if not (out / MANIFEST).exists():
        return f"{out} has no run yet. Again"
    return f"{out} is unfinished but readable: tidegauge show partitions {out}. Again"


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


def hosted(asked: Hosting, plan: ClusterPlan) -> Hosting:
    """The options about hosting, with the default decided for a cluster on this machine.

    Several actors are faster only where little goes between them, such as two regions, and the run
    is long (``engine/grouping.py``).
    """
    if asked.inline or asked.asks_for_ray:
        return asked
    choice = fastest(plan, os.cpu_count() or 1)
    if choice.groups == 1:
        return Hosting(inline=True, reason=choice.reason)
    return Hosting(ray=True, actors=choice.groups, reason=choice.reason)


def engine_of(hosting: Hosting) -> EngineMaker:
    """This interpreter, or actors of Ray."""
    if not hosting.asks_for_ray:
        return inline()
    # Ray takes a second to be imported, and most runs do without.
    from tidegauge.engine.ray_engine import on_ray  # noqa: PLC0415

    return on_ray(hosting.actors, hosting.address)


def run_scenario(options: RunOptions) -> None:
    """Perform ``tidegauge run``."""
    options.check()
    with report(as_json=options.as_json):
        if options.seeds is None:
            content, is_well = _run(options)
        else:
            # It takes a while to be imported, and a single run does without.
            from tidegauge.commands.performing_many import sweep_over_seeds  # noqa: PLC0415

            content, is_well = sweep_over_seeds(options, seeds_of(options.seeds))
    if options.as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)


def _speed(options: RunOptions) -> float | None:
    """The speed limit, by default that of real time if metrics are served; None: no limit."""
    if options.speed is None:
        return None if options.metrics is None else 1.0
    if options.speed == "max":
        return None
    try:
        speed = float(options.speed)
    except ValueError:
        speed = nan
    if not isfinite(speed):
        raise TidegaugeError(f"--speed {options.speed}: must be a number, or max")
    if speed <= 0:
        raise TidegaugeError(f"--speed {speed:g}: must be more than 0")
    return speed


def _watched(
    request: RunOptions, scenario: Scenario, speed: float | None
) -> AbstractContextManager[Watchers | None]:
    """The observers of a run; None if it has none."""
    if request.metrics is None and request.openmetrics is None:
        return nullcontext()
    # The endpoint takes a tenth of a second to be imported.
    from tidegauge.commands.watching import watched  # noqa: PLC0415

    return watched(request, scenario, speed)


def _run(request: RunOptions) -> tuple[dict[str, Any] | None, bool]:
    """Run a scenario and print its results; return the summary and whether it is as expected."""
    scenario = loaded(request)
    show_warnings(scenario, most=None if request.verbose else 1)
    out = request.out or new_run_folder(f"{scenario.name}-{scenario.seed}")
    announce_compilation()
    hosting = hosted(request.hosting, ClusterPlan(scenario))
    speed = _speed(request)
    watching = _watched(request, scenario, speed)
    print_hanging(
        console(),
        "",
        f"{scenario.name}: {counted(len(scenario.broker_ids()), 'broker')} of Kafka "
        f"{scenario.release}{' with KRaft' if scenario.has_kraft else ''}, "
        f"{format_duration(scenario.duration_us)} of virtual time, seed {scenario.seed}",
    )
    if request.verbose or hosting.asks_for_ray:
        print_hanging(console(), "", hosting.description(request.hosting))
    again = request.command(scenario.seed, scenario.trace)
    with watching as watchers:
        run = perform(
            *(scenario, out, engine_of(hosting), again),
            speed=speed,
            watchers=watchers,
            over_seeds=request.over_seeds(),
        )
    return run.summary, _show(run, request, scenario, again)


def _has_a_story(run: Run) -> bool:
    """Whether one partition is worth a look before the list: the only one, or one with trouble."""
    assert run.summary is not None
    troubles = ("records_lost_by_partition", "partitions_stalled")
    return len(run.names.partitions) == 1 or any(run.summary[name] for name in troubles)


def _show(run: Run, request: RunOptions, scenario: Scenario, again: str) -> bool:
    """Print the results of a run, and return whether they are as expected."""
    assert run.summary is not None
    is_verbose = request.verbose
    warnings = run.summary["warnings"]
    for warning in warnings if is_verbose else warnings[:1]:
        typer.echo(f"tidegauge: {warning}", err=True)
    show_summary(run.summary, has_quorum=scenario.has_kraft, is_verbose=is_verbose)
    if is_verbose:
        show_unreachable(console(), run)
    unexpected = show_verdicts(console(), run, is_verbose=is_verbose)
    show_chance(left_to_chance(scenario), request.over_seeds(), is_verbose=is_verbose)
    story = "partition" if _has_a_story(run) else "partitions"
    folder = shlex.quote(str(run.path))
    typer.echo(f"Next: tidegauge show {story} {folder}; tidegauge report {folder}")
    print_command("Again", again)
    waited_in_vain = bool(run.summary["steps_timed_out"])
    if waited_in_vain:
        typer.echo(
            f"tidegauge: the condition of steps[{run.summary['steps_taken']}] of "
            f"{request.scenario} was not met in time; it and all later steps were not taken",
            err=True,
        )
    if unexpected:
        typer.echo(f"Not as expected, with seed {scenario.seed}: {', '.join(unexpected)}", err=True)
    return not (waited_in_vain or unexpected)
