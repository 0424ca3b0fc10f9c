"""``tidegauge ask`` with a question that compares plans, each with and without a second failure.

Each plan has two files: ``remove-add.yaml`` and, with the second failure, ``remove-add-2.yaml``.
"""

import re
import shlex
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import typer

from tidegauge.analysis.over_seeds import OverSeeds, over_seeds
from tidegauge.commands import loading
from tidegauge.commands.performing_many import RequestedRun, folder_of_runs, perform_runs
from tidegauge.commands.run_options import AskOptions, RunOptions
from tidegauge.commands.shared_options import words_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.runs.quorum import answered_changes
from tidegauge.runs.run import Run
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.simulation.quantities import format_duration
from tidegauge.sweeps.sweep_content import SweptRun
from tidegauge.sweeps.sweep_folder import run_name
from tidegauge.traces.run_files import SWEEP
from tidegauge.traces.run_folder import new_run_folder, write_json_atomically
from tidegauge.views.output import console, print_json, report
from tidegauge.views.plans_view import content_of_plans, show_plans
from tidegauge.what_if.asked_scenario import PlanScenarios, begins_us, plan_scenarios
from tidegauge.what_if.question import Asked
from tidegauge.what_if.voter_plans import PLAN_FIGURES, TriedPlan, second_failure

_WORST_BY = PLAN_FIGURES["without_leader"]


class _PlannedRuns(NamedTuple):
    """A plan with its files and runs, in the order of seeds."""

    made: PlanScenarios
    alone: Sequence[RequestedRun]
    with_second: Sequence[RequestedRun]

    @property
    def runs(self) -> Iterator[RequestedRun]:
        """All of them."""
        yield from self.alone
        yield from self.with_second


def ask_plans(
    options: AskOptions, data: Mapping[str, Any], cluster: Scenario, asked: Asked, seeds: range
) -> None:
    """Try all plans of a question with all seeds, and print a line for each.

    Args:
        options: those of the command.
        data: the scenario as written.
        cluster: the same, as read.
        asked: the question.
        seeds: at least one.
    """
    made = plan_scenarios(data, cluster, asked)
    out = options.out or new_run_folder(f"{cluster.name}-{asked.question.slug}")
    with folder_of_runs(out):
        planned = [_planned(options, each, begins_us(cluster), seeds, out) for each in made]
        runs = [run for each in planned for run in each.runs]
        with report(as_json=True):
            performed = perform_runs(
                cluster.name, runs, out, options.jobs, figures=[*PLAN_FIGURES.values()]
            )
        by_name = {run.folder: run for run in performed}
        tried = [_tried(each, by_name, out) for each in planned]
        content = content_of_plans(asked.question.name, made[0].alone.notes, tried)
        if options.out is not None:
            write_json_atomically(out / SWEEP, content)
    if options.out is None:
        remove_all_but([each.file for each in tried] + [each.file_of_second for each in tried])
    scenario = scenario_from_mapping(made[0].alone.data, options.scenario)
    if options.as_json:
        print_json(content)
    else:
        text, length = " ".join(options.question), format_duration(scenario.duration_us)
        title = f"{cluster.name}: {text} (seeds {seeds[0]} to {seeds[-1]}, {length} of virtual time"
        show_plans(console(), f"{title} each)", asked.question.meaning, made[0].alone.notes, tried)
    loading.show_warnings(scenario)
    if any(run.outcome.error is not None for run in performed):
        raise typer.Exit(1)


def _planned(
    options: AskOptions, made: PlanScenarios, begin_us: int, seeds: range, out: Path
) -> _PlannedRuns:
    """Write the files of a plan, and lay out its runs."""
    slug = re.sub(r"[^a-z0-9]+", "-", made.plan.name.lower()).strip("-")
    file, with_second = out / f"{slug}.yaml", out / f"{slug}-2.yaml"
    for each, scenario in ((file, made.alone), (with_second, made.with_second)):
        scenario_from_mapping(scenario.data, options.scenario)
        write_asked(each, options.scenario, scenario.data)
    return _PlannedRuns(
        made,
        [_run_of(file, seed, {}) for seed in seeds],
        [_run_of(with_second, seed, second_failure(made.plan, begin_us, seed)) for seed in seeds],
    )


def _run_of(file: Path, seed: int, changes: Mapping[str, str]) -> RequestedRun:
    texts = tuple(f"{path}={value}" for path, value in changes.items())
    request = RunOptions(str(file), seed=seed, changes=list(texts))
    return RequestedRun(texts, seed, f"{file.stem},{run_name({}, seed)}", request)


def _tried(planned: _PlannedRuns, by_name: Mapping[str, SweptRun], out: Path) -> TriedPlan:
    """The outcome of a plan.

    Raises:
        TidegaugeError: no run of it is finished.
    """
    kinds = []
    for requested in (planned.alone, planned.with_second):
        finished = [by_name[each.name] for each in requested]
        finished = [run for run in finished if run.outcome.error is None]
        if not finished:
            failed = by_name[requested[0].name]
            raise TidegaugeError(f"{failed.folder}: {failed.outcome.error}; no run is finished")
        kinds.append(finished)
    alone, with_second = kinds
    worst = max(with_second, key=lambda run: run.outcome.figure(_WORST_BY) or 0)
    (again,) = (each for each in planned.with_second if each.seed == worst.seed)
    return TriedPlan(
        planned.made.plan,
        Path(planned.alone[0].request.scenario),
        Path(planned.with_second[0].request.scenario),
        answered_changes(Run(out / alone[0].folder)),
        _spreads(alone),
        _spreads(with_second),
        shlex.join(["tidegauge", "run", *words_of(again.request)]),
    )


def _spreads(runs: Sequence[SweptRun]) -> dict[str, OverSeeds]:
    return {
        name: over_seeds([run.outcome.figure(figure) or 0 for run in runs])
        for name, figure in PLAN_FIGURES.items()
    }


def write_asked(file: Path, of: str, data: Mapping[str, Any]) -> None:
    """Write the scenario of a question.

    Args:
        file: new, or with the same content.
        of: the scenario that the question is about.
        data: as in a file.
    """
    text = "\n".join([*comment(f"{of}, by `tidegauge ask`."), *lines_of(data)])
    loading.write_new_file(file, f"{text}\n")


def remove_all_but(files: Collection[Path]) -> None:
    """Remove the runs, and all else in the folder of these files."""
    (folder,) = {file.parent for file in files}
    for each in folder.iterdir():
        if each.is_dir():
            shutil.rmtree(each, ignore_errors=True)
        elif each not in files:
            each.unlink(missing_ok=True)
