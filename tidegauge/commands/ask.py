"""``tidegauge ask``: a what-if question about a cluster, tried with many seeds."""

import shlex
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from tidegauge.commands import comparing, loading
from tidegauge.commands.performing_many import RequestedRun, folder_of_runs, perform_runs
from tidegauge.commands.run_options import AskOptions, RunOptions
from tidegauge.commands.shared_options import seeds_of, words_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.sweeps.many_runs import Outcome
from tidegauge.sweeps.sweep_content import SweptRun, content_of, worst_of
from tidegauge.sweeps.sweep_folder import run_name
from tidegauge.traces.run_files import SWEEP, SWEEP_LOCK
from tidegauge.traces.run_folder import new_run_folder, write_json_atomically
from tidegauge.views.answer_view import case_lines, show_answer
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs
from tidegauge.what_if.asked_scenario import FIGURES, asked_scenario, duration_figure
from tidegauge.what_if.question import read_question
from tidegauge.what_if.questions import QUESTIONS


def ask_question(options: AskOptions) -> None:
    """Perform ``tidegauge ask``."""
    check_jobs(options.jobs)
    seeds = _seeds(options.seeds)
    request = RunOptions(options.scenario, changes=options.changes, costs=options.costs)
    cluster = loading.loaded(request)
    asked = read_question(" ".join(options.question), QUESTIONS, cluster)
    made = asked_scenario(comparing.written_scenario(request), cluster, asked)
    scenario = scenario_from_mapping(made.data, options.scenario)
    loading.show_warnings(scenario)
    out = options.out or new_run_folder(scenario.name)
    file = out / f"{asked.question.slug}.yaml"
    text = [*comment(f"{options.scenario}, by `tidegauge ask`."), *lines_of(made.data)]
    with folder_of_runs(out):
        loading.write_new_file(file, "\n".join(text) + "\n")
        runs = _perform(scenario, file, seeds, options.jobs)
        content = _content(scenario, file, runs)
        if options.out is None:
            _remove_runs(out, runs)
        else:
            write_json_atomically(out / SWEEP, content)
    if options.out is None:
        (out / SWEEP_LOCK).unlink(missing_ok=True)
    if options.as_json:
        said = {"question": asked.question.name, "case": case_lines(scenario), "notes": made.notes}
        print_json({**said, "file": str(file), **content})
    else:
        show_answer(console(), scenario, made.notes, runs, content)
    if any(run.outcome.error is not None for run in runs):
        raise typer.Exit(1)


def _seeds(text: str) -> range:
    """The seeds of ``--seeds``: their number, or the first and the last one."""
    return seeds_of(f"1..{text}" if text.isascii() and text.isdigit() and int(text) else text)


def _perform(scenario: Scenario, file: Path, seeds: range, jobs: int | None) -> list[SweptRun]:
    """Perform the missing runs, with their progress on standard error.

    Their verdicts do not count: the answer is in figures, and the question expects nothing.
    """
    planned = [
        RequestedRun((), seed, run_name({}, seed), RunOptions(str(file), seed=seed))
        for seed in seeds
    ]
    with report(as_json=True):
        runs = perform_runs(
            scenario.name, planned, file.parent, jobs, figures=_figures_of(scenario)
        )
    if all(run.outcome.error is not None for run in runs):
        raise TidegaugeError(f"{runs[0].folder}: {runs[0].outcome.error}; no run is finished")
    return [run._replace(outcome=_without_verdicts(run.outcome)) for run in runs]


def _without_verdicts(outcome: Outcome) -> Outcome:
    return replace(outcome, unexpected=())


def _figures_of(scenario: Scenario) -> tuple[str, ...]:
    duration = duration_figure(scenario)
    return FIGURES if duration is None else (*FIGURES, duration)


def _content(scenario: Scenario, file: Path, runs: Sequence[SweptRun]) -> dict[str, Any]:
    """The content of ``sweep.json``, with the command that runs the worst finished seed again."""
    figures = _figures_of(scenario)
    finished = [run for run in runs if run.outcome.error is None]
    worst = worst_of(finished, figures)
    again = RunOptions(str(file), seed=worst.seed)
    command = shlex.join(["tidegauge", "run", *words_of(again)])
    return content_of(scenario.name, {}, figures, finished, command)


def _remove_runs(out: Path, runs: Sequence[SweptRun]) -> None:
    for run in runs:
        shutil.rmtree(out / run.folder, ignore_errors=True)
