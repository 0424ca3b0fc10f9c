"""``tidegauge run``: one run with its progress, and with one line for each early end."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from math import isfinite, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from tidegauge.commands.loading import announce_compilation, loaded, show_warnings
from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.shared_options import Hosting, parsed, seeds_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.contract import ActorError, EngineMaker, Passed, Progress
from tidegauge.engine.grouping import fastest
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.simulate import simulate
from tidegauge.engine.snapshot_writer import named_time_us, regular_times_us
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.warnings import left_to_chance
from tidegauge.simulation.quantities import format_duration, whole_time_text
from tidegauge.traces.run_files import MANIFEST, SUMMARY, snapshot_times_us
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
    snapshots_us: Sequence[int] = (),
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
        snapshots_us: the virtual times of its snapshots.
    """
    with (
        ended_with_one_line(out, again, is_kept=is_kept),
        progress_bar(scenario.duration_us) as progress,
        suppress(_FarEnough),
    ):
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
            snapshots_us=snapshots_us,
            tell=tell_line,
        )
    return Run(out, was_just_written=True)


def tell_line(line: str) -> None:
    """Tell of something that happens while a run goes on."""
    typer.echo(f"tidegauge: {line}", err=True)


@contextmanager
def ended_with_one_line(out: Path, again: str | None, *, is_kept: bool = True) -> Iterator[None]:
    """End the command with one line if the run that is performed meanwhile ends early.

    Args:
        out: the folder of the run.
        again: the command that repeats the run; None: there is none.
        is_kept: whether the folder still exists when the command has ended.
    """

    def so_far() -> str:
        told = _unfinished(out) if is_kept else []
        return ". ".join([*told, *([] if again is None else [f"Again: {again}"])])

    try:
        with written_to(out, lambda: "".join(f"; {each}" for each in resumable(out))):
            yield
    except ActorError as error:
        typer.echo(f"tidegauge: {error}", err=True)
        typer.echo(so_far(), err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"\nStopped: {so_far()}")
        raise typer.Exit(INTERRUPTED) from None


def _unfinished(out: Path) -> list[str]:
    """Sentences about the unfinished run."""
    if not (out / MANIFEST).exists():
        return [f"{out} has no run yet"]
    readable = f"{out} is unfinished but readable: tidegauge show partitions {out}"
    return [readable, *resumable(out)]


def resumable(out: Path) -> list[str]:
    """The command that continues an unfinished run, as a sentence; none: it has no snapshot."""
    if (out / SUMMARY).exists():
        return []
    last = snapshot_times_us(out)[-1:]
    return [
        f"tidegauge resume {shlex.quote(str(out))} continues from {whole_time_text(time_us)}"
        for time_us in last
    ]


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


def speed_of(text: str) -> float | None:
    """The speed limit of ``--speed``; None: no limit.

    Raises:
        TidegaugeError: it is not a positive number, nor ``max``.
    """
    if text == "max":
        return None
    try:
        speed = float(text)
    except ValueError:
        speed = nan
    if not isfinite(speed):
        raise TidegaugeError(f"--speed {text}: must be a number, or max")
    if speed <= 0:
        raise TidegaugeError(f"--speed {speed:g}: must be more than 0")
    return speed


def planned_snapshots_us(
    every: str | None,
    at: Sequence[str],
    duration_us: int,
    options: tuple[str, str] = ("--snapshot-every", "--snapshot-at"),
) -> list[int]:
    """The virtual times of the snapshots of a run.

    Args:
        every: the interval; None: there are no regular ones.
        at: single times; each text may have several, with commas between.
        duration_us: the duration of the run.
        options: the names of both arguments, for an error.

    Raises:
        TidegaugeError: a time cannot be read, is 0, or is not before the end of the run.
    """
    times_us: set[int] = set()
    if every is not None:
        found = parsed(options[0], every, lambda text: regular_times_us(text, duration_us))
        times_us.update(found)
    for text in (each for several in at for each in several.split(",")):
        times_us.add(parsed(options[1], text, lambda text: named_time_us(text, duration_us)))
    return sorted(times_us)


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
    snapshots_us = planned_snapshots_us(
        request.snapshot_every, request.snapshot_at or (), scenario.duration_us
    )
    show_warnings(scenario, most=None if request.verbose else 1)
    out = request.out or new_run_folder(f"{scenario.name}-{scenario.seed}")
    announce_compilation()
    hosting = hosted(request.hosting, ClusterPlan(scenario))
    # Metrics are served in real time by default.
    usual = "max" if request.metrics is None else "1"
    speed = speed_of(request.speed or usual)
    watching = _watched(request, scenario, speed)
    print_hanging(console(), "", title_of(scenario))
    if request.verbose or hosting.asks_for_ray:
        print_hanging(console(), "", hosting.description(request.hosting))
    again = request.command(scenario.seed, scenario.trace)
    with watching as watchers:
        run = perform(
            *(scenario, out, engine_of(hosting), again),
            speed=speed,
            watchers=watchers,
            over_seeds=request.over_seeds(),
            snapshots_us=snapshots_us,
        )
    shown = Shown(request.scenario, again, request.over_seeds(), is_verbose=request.verbose)
    return run.summary, show_results(run, scenario, shown)


def title_of(scenario: Scenario) -> str:
    """The first line of the output of a run."""
    ablated = f", ablated: {', '.join(scenario.ablations)}" if scenario.ablations else ""
    return (
        f"{scenario.name}: {counted(len(scenario.broker_ids()), 'broker')} of Kafka "
        f"{scenario.release}{' with KRaft' if scenario.has_kraft else ''}{ablated}, "
        f"{format_duration(scenario.duration_us)} of virtual time, seed {scenario.seed}"
    )


class Shown(NamedTuple):
    """The parts of a run's results that its scenario does not have."""

    #: The scenario's file, or its name.
    scenario: str
    #: The command that repeats the run.
    again: str
    #: The command that runs the scenario with other seeds; None: it is not known.
    over_seeds: str | None
    is_verbose: bool


def _has_a_story(run: Run) -> bool:
    """Whether one partition is worth a look before the list: the only one, or one with trouble."""
    assert run.summary is not None
    troubles = ("records_lost_by_partition", "partitions_stalled")
    return len(run.names.partitions) == 1 or any(run.summary[name] for name in troubles)


def show_results(run: Run, scenario: Scenario, shown: Shown) -> bool:
    """Print the results of a run, and return whether they are as expected."""
    assert run.summary is not None
    is_verbose = shown.is_verbose
    warnings = run.summary["warnings"]
    for warning in warnings if is_verbose else warnings[:1]:
        typer.echo(f"tidegauge: {warning}", err=True)
    show_summary(run.summary, has_quorum=scenario.has_kraft, is_verbose=is_verbose)
    if is_verbose:
        show_unreachable(console(), run)
    unexpected = show_verdicts(console(), run, is_verbose=is_verbose)
    show_chance(left_to_chance(scenario), shown.over_seeds, is_verbose=is_verbose)
    story = "partition" if _has_a_story(run) else "partitions"
    folder = shlex.quote(str(run.path))
    typer.echo(f"Next: tidegauge show {story} {folder}; tidegauge report {folder}")
    print_command("Again", shown.again)
    waited_in_vain = bool(run.summary["steps_timed_out"])
    if waited_in_vain:
        typer.echo(
            f"tidegauge: the condition of steps[{run.summary['steps_taken']}] of "
            f"{shown.scenario} was not met in time; it and all later steps were not taken",
            err=True,
        )
    for pin, taken in run.summary["messages_taken_by_pins"].items():
        if not taken:
            typer.echo(f"tidegauge: pin {pin} had no effect: no message matched it", err=True)
    if unexpected:
        typer.echo(f"Not as expected, with seed {scenario.seed}: {', '.join(unexpected)}", err=True)
    return not (waited_in_vain or unexpected)
