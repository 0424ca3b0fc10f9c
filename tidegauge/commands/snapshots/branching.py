"""``tidegauge branch``: a run goes on in another way, from some time on."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from tidegauge.commands.loading import (
    announce_compilation,
    changes_in,
    run_to_continue,
    show_warnings,
)
from tidegauge.commands.performing import (
    Shown,
    ended_with_one_line,
    planned_snapshots_us,
    show_results,
    title_of,
)
from tidegauge.commands.run_options import BranchOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.branching import branch, branched_scenario, past_until, read_past
from tidegauge.engine.simulate import Watched
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import ScenarioError
from tidegauge.scenario.text.changes import parse_change
from tidegauge.simulation.quantities import parse_time, whole_time_text
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.output import console, print_hanging, print_json, report
from tidegauge.views.progress import progress_bar, working


def branch_run(options: BranchOptions) -> None:
    """Perform ``tidegauge branch``."""
    with report(as_json=options.as_json):
        content, is_well = _branched(options)
    if options.as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)


def _branched(options: BranchOptions) -> tuple[dict[str, Any] | None, bool]:
    """Run a branch and print its results; return the summary and whether it is as expected."""
    run = run_to_continue(options.run, "branch")
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
    out = options.out or new_run_folder(f"{scenario.name}-{scenario.seed}-from-{at}")
    announce_compilation()
    with TemporaryDirectory(prefix="tidegauge-") as temporary:
        with working(f"repeats {options.run} until {at}"):
            folder = past_until(run, at_us, Path(temporary) / "past")
        past = read_past(folder, at_us, str(options.run))
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
