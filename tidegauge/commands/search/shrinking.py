"""``tidegauge shrink``: the smallest scenario that still fails, and its run."""

import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import typer

from tidegauge.commands import loading
from tidegauge.commands.comparing import written_scenario
from tidegauge.commands.performing import ended_with_one_line
from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.search.search_options import AblationsOptions, FuzzOptions, ShrinkOptions
from tidegauge.commands.shared_options import words_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.inline_engine import inline
from tidegauge.engine.resuming import written_scenario_of
from tidegauge.engine.simulate import simulate_plan
from tidegauge.replication.ablations import switches_of
from tidegauge.runs.run import Run
from tidegauge.scenario.cluster_plan import ClusterPlan
from tidegauge.scenario.reading import scenario_from_mapping
from tidegauge.scenario.text.errors import counted
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.search.failures import Failure, failure_of, figure_reached
from tidegauge.search.judged_runs import Judged
from tidegauge.search.reduced_scenarios import Written, without
from tidegauge.search.shrinking import Shrunk, shrink_scenario
from tidegauge.search.trials import Switches
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs, working
from tidegauge.views.shrinking_view import (
    ToldShrinking,
    change_words,
    show_shrunk,
    shrunk_for_programs,
)


class _Subject(NamedTuple):
    """The scenario that is to be shrunk."""

    #: As a file has it.
    written: Written
    name: str
    switches: Switches


def shrink_run(options: ShrinkOptions) -> None:
    """Perform ``tidegauge shrink``."""
    check_jobs(options.jobs)
    if options.check is not None and options.figure is not None:
        raise TidegaugeError("--check and --figure exclude each other: each names the failure")
    subject = _subject_of(options)
    out = options.out or _new_file(subject.name)
    loading.check_new_file(out, force=False)
    folder = out.with_suffix("")
    if folder == out:
        raise TidegaugeError(f"--out {out}: must end in .yaml; the run is in the folder beside it")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TidegaugeError(f"{folder}: is not empty, and the run of {out.name} would be there")
    with report(as_json=options.as_json):
        loading.announce_compilation()
        began_s = time.monotonic()
        with _progress(subject.name) as tell:
            found = shrink_scenario(
                subject.written,
                partial(_failure, options),
                source=options.run,
                switches=subject.switches,
                jobs=options.jobs,
                most=options.max_runs,
                tell=tell,
            )
        took_s = time.monotonic() - began_s
        write_shrunk(out, options, "shrink", found)
        run = perform_shrunk(found, out, folder, subject.switches)
    told = ToldShrinking(found, run, out, options.run, took_s)
    if options.as_json:
        print_json(shrunk_for_programs(told))
    else:
        show_shrunk(console(), told)


def _subject_of(options: ShrinkOptions) -> _Subject:
    """The scenario of a run with the faults that it had, or that of a file."""
    folder = Path(options.run)
    if not folder.is_dir():
        request = RunOptions(options.run, changes=options.changes, seed=options.seed)
        return _Subject(written_scenario(request), loading.scenario_file(request).stem, {})
    if options.seed is not None or options.changes:
        raise TidegaugeError("--seed and --set change a scenario; a run has its own")
    run = loading.opened_run(folder, "shrink")
    if run.is_of_logs:
        raise TidegaugeError(f"{folder}: is a real cluster's, made of its logs: it has no scenario")
    written = written_scenario_of(run)
    own = switches_of(written.get("ablations", ()))
    left_out = run.manifest.get("without", ())
    places = [place for place, fault in enumerate(run.names.faults) if fault.name in left_out]
    return _Subject(
        without(written, ("faults",), places) if places else written,
        folder.name,
        {name: value for name, value in run.manifest["switches"].items() if name not in own},
    )


def _failure(options: ShrinkOptions, run: Judged) -> Failure:
    """The failure that the options name."""
    if options.figure is not None:
        return figure_reached(options.figure, run, options.run)
    return failure_of(run, options.check, options.run)


def _new_file(name: str) -> Path:
    """A new file beside the new folder of its run."""
    folder = new_run_folder(f"{name}-shrunk")
    return folder.with_name(f"{folder.name}.yaml")


@contextmanager
def _progress(name: str) -> Iterator[Any]:
    """Tell of the smallest scenario so far."""

    def words(written: Mapping[str, Any], tried: int) -> str:
        parts = [
            counted(len(written.get(part, ())), part.removesuffix("s"))
            for part in ("faults", "steps")
        ]
        return f"shrinking {name}: {counted(tried, 'run')} tried, {', '.join(parts)} left"

    with working(f"shrinking {name}") as tell:
        yield lambda written, tried: tell(words(written, tried))


def write_shrunk(
    out: Path,
    options: ShrinkOptions | FuzzOptions | AblationsOptions,
    command_name: str,
    found: Shrunk,
) -> None:
    """Write the smallest scenario, with the failure and the way it was found at its head."""
    command = shlex.join(["tidegauge", command_name, *words_of(options)])
    seed = found.run.plan.scenario.seed
    head = [
        *comment(f"{found.failure.words}."),
        *comment(f"By `{command}`: {change_words(found)}; {counted(found.tried, 'run')} tried."),
        *comment(f"It fails with seed {seed}: tidegauge run {shlex.quote(str(out))}"),
    ]
    written = {name: part for name, part in found.written.items() if name != "name"}
    text = "\n".join([*head, *lines_of({"seed": seed} | written)])
    loading.write_new_file(out, f"{text}\n")


def perform_shrunk(found: Shrunk, out: Path, folder: Path, switches: Switches) -> Run:
    """The run of the smallest scenario with a trace."""
    written = {name: part for name, part in found.written.items() if name != "name"}
    scenario = scenario_from_mapping(written, str(out))
    again = shlex.join(["tidegauge", "run", str(out)])
    with ended_with_one_line(folder, again):
        simulate_plan(ClusterPlan(scenario, switches), folder, inline())
    if found.was_interrupted:
        typer.echo("tidegauge: interrupted: this is the smallest scenario so far", err=True)
    return Run(folder, was_just_written=True)
