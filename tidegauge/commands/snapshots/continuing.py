"""``tidegauge resume`` and ``branch``: a run continues from a snapshot, as planned or changed."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import typer

from tidegauge.commands.loading import announce_compilation, changes_in, opened_run, show_warnings
from tidegauge.commands.performing import (
    Shown,
    ended_with_one_line,
    engine_of,
    planned_snapshots_us,
    show_results,
    speed_of,
    tell_line,
    title_of,
)
from tidegauge.commands.run_options import BranchOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.commands.snapshots.snapshot_options import ResumeOptions
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.branching import branch, branched_scenario, name_of_branch, past_at
from tidegauge.engine.resuming import interrupted_run
from tidegauge.engine.simulate import Watched
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import ScenarioError
from tidegauge.scenario.text.changes import parse_change
from tidegauge.simulation.quantities import parse_time, whole_time_text
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.output import console, print_hanging, print_json, report
from tidegauge.views.progress import progress_bar, working

#: The summary of a run that has continued to its end, and whether it is as expected.
Continued = tuple[dict[str, Any] | None, bool]


def resume_run(options: ResumeOptions) -> None:
    """Perform ``tidegauge resume``."""
    options.hosting.check()
    _perform(lambda: _resumed(options), as_json=options.as_json)


def branch_run(options: BranchOptions) -> None:
    """Perform ``tidegauge branch``."""
    _perform(lambda: _branched(options), as_json=options.as_json)


def _perform(continued: Callable[[], Continued], *, as_json: bool) -> None:
    with report(as_json=as_json):
        content, is_well = continued()
    if as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)


def _resumed(options: ResumeOptions) -> Continued:
    """Resume a run and print its results; return the summary and whether it is as expected."""
    speed = None if options.speed is None else speed_of(options.speed)
    folder = opened_run(options.run, "resume").path
    announce_compilation()
    with ended_with_one_line(folder, again=None), interrupted_run(folder) as interrupted:
        scenario, begin_us = interrupted.plan.scenario, interrupted.past.time_us
        title = f"{title_of(scenario)}, from the snapshot at {whole_time_text(begin_us)}"
        print_hanging(console(), "", title)
        with progress_bar(scenario.duration_us, begin_us) as progress:
            interrupted.finish(engine_of(options.hosting), Watched(progress, speed, tell=tell_line))
    run = Run(folder)
    shown = Shown(
        run.manifest["scenario"].get("name", folder.name),
        f"tidegauge replay {shlex.quote(str(folder))}",
        run.manifest["over_seeds"],
        is_verbose=options.verbose,
    )
    return run.summary, show_results(run, scenario, shown)


def _branched(options: BranchOptions) -> Continued:
    """Run a branch and print its results; return the summary and whether it is as expected."""
    run = opened_run(options.run, "branch")
    at_us = parsed("--at", options.at, parse_time)
    changes = changes_in(options.changes or ())
    if options.seed is not None:
        changes["seed"] = options.seed
    scenario = branched_scenario(
        run,
        changes,
        faults=_parts("--fault", options.faults or ()),
        steps=_parts("--step", options.steps or ()),
    )
    snapshots_us = planned_snapshots_us(options.snapshot_every, (), scenario.duration_us)
    show_warnings(scenario, most=None if options.verbose else 1)
    at = whole_time_text(at_us)
    out = options.out or new_run_folder(name_of_branch(scenario, at_us))
    announce_compilation()
    with ExitStack() as opened:
        with working(f"repeats {options.run} until {at}"):
            past = opened.enter_context(past_at(run, at_us))
        print_hanging(console(), "", f"{title_of(scenario)}, from {at} of {options.run}")
        with (
            ended_with_one_line(out, options.command),
            progress_bar(scenario.duration_us, at_us) as progress,
        ):
            branch(
                *(past, scenario, out),
                watched=Watched(progress),
                snapshots_us=snapshots_us,
                keeps_joint=True,
            )
    done = Run(out)
    shown = Shown(shlex.quote(str(out)), options.command, None, is_verbose=options.verbose)
    return done.summary, show_results(done, scenario, shown)


def _parts(option: str, texts: Sequence[str]) -> list[Mapping[str, object]]:
    """Faults or steps as a scenario file has them.

    Raises:
        TidegaugeError: a text is not valid YAML, or no mapping.
    """
    parts = []
    for text in texts:
        try:
            _, part = parse_change(f"{option.lstrip('-')}={text}")
        except ScenarioError as error:
            raise TidegaugeError(f"--{error}") from error
        if not isinstance(part, Mapping):
            raise TidegaugeError(f"{option} {text}: must be a mapping, such as {{kind: ...}}")
        parts.append(part)
    return parts
