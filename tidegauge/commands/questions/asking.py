"""``tidegauge ask``: a what-if question about a cluster, tried with many seeds.

A question that compares plans of an operator goes on in ``asking_plans.py``.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import Any

import typer

from tidegauge.commands import comparing, loading
from tidegauge.commands.performing_many import RequestedRun, folder_of_runs, perform_runs
from tidegauge.commands.questions.asking_plans import ask_plans, remove_all_but, write_asked
from tidegauge.commands.run_options import AskOptions, RunOptions
from tidegauge.commands.shared_options import seeds_of, words_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.scenario.reading import Scenario, scenario_from_mapping
from tidegauge.sweeps.sweep_content import SweptRun, content_of, worst_of
from tidegauge.sweeps.sweep_folder import run_name
from tidegauge.traces.run_files import SWEEP
from tidegauge.traces.run_folder import new_run_folder, write_json_atomically
from tidegauge.views.answer_view import case_lines, show_answer
from tidegauge.views.output import WIDTH, console, print_json, report
from tidegauge.views.progress import check_jobs
from tidegauge.what_if.asked_scenario import (
    WITHOUT_FAULT,
    asked_scenario,
    duration_figure,
    figures_of,
)
from tidegauge.what_if.question import Asked, Given, read_question
from tidegauge.what_if.questions import QUESTIONS


def ask_question(options: AskOptions) -> None:
    """Perform ``tidegauge ask``."""
    check_jobs(options.jobs)
    seeds = _seeds(options.seeds)
    request = RunOptions(options.scenario, changes=options.changes, costs=options.costs)
    cluster = loading.loaded(request)
    text = " ".join(options.question)
    asked = read_question(text, QUESTIONS, cluster)
    data = comparing.written_scenario(request)
    if asked.question.plans is not None:
        ask_plans(options, data, cluster, asked, seeds)
        return
    made = asked_scenario(data, cluster, asked)
    out = options.out or new_run_folder(made.data["name"])
    file, without_fault = (out / f"{name}.yaml" for name in (asked.question.slug, WITHOUT_FAULT))
    with folder_of_runs(out):
        if asked.question.during:
            roll_us = _measured_us(data, cluster, asked, options, out, seeds[0])
            asked = asked._replace(given=asked.given._replace(roll_us=roll_us))
            made = asked_scenario(data, cluster, asked)
        scenario = scenario_from_mapping(made.data, options.scenario)
        write_asked(file, options.scenario, made.data)
        write_asked(without_fault, options.scenario, made.without_fault())
        compared, runs = _perform(scenario, file, without_fault, seeds, options.jobs)
        content = _content(scenario, file, compared, runs)
        if options.out is not None:
            write_json_atomically(out / SWEEP, content)
    if options.out is None:
        remove_all_but([file])
    if options.as_json:
        said = {"question": asked.question.name, "case": case_lines(scenario), "notes": made.notes}
        print_json({**said, "file": str(file), **content})
    else:
        show_answer(console(), f"{cluster.name}: {text}", scenario, made.notes, runs, content)
    for line in loading.warned_of(scenario):
        loading.warn("\n  ".join(wrap(line, WIDTH - len("tidegauge: warning: "))))
    if any(run.outcome.error is not None for run in runs):
        raise typer.Exit(1)


def _measured_us(
    data: Mapping[str, Any],
    cluster: Scenario,
    asked: Asked,
    options: AskOptions,
    out: Path,
    seed: int,
) -> int | None:
    """The duration of the operation in which a fault begins, by a run of it alone."""
    (question,) = (each for each in QUESTIONS if each.name == asked.question.during)
    alone = asked_scenario(data, cluster, Asked(question, Given(batch=asked.given.batch)))
    file = out / f"{question.slug}-alone.yaml"
    write_asked(file, options.scenario, alone.data)
    scenario = scenario_from_mapping(alone.data, options.scenario)
    figure = duration_figure(scenario)
    assert figure is not None
    run = _run_of(file, seed)
    with report(as_json=True):
        (performed,) = perform_runs(scenario.name, [run], out, options.jobs, figures=[figure])
    seconds = None if performed.outcome.error else performed.outcome.figure(figure)
    return None if seconds is None else round(seconds * 1e6)


def _run_of(file: Path, seed: int) -> RequestedRun:
    return RequestedRun(
        (), seed, f"{file.stem},{run_name({}, seed)}", RunOptions(str(file), seed=seed)
    )


def _seeds(text: str) -> range:
    """The seeds of ``--seeds``: their number, or the first and the last one."""
    return seeds_of(f"1..{text}" if text.isascii() and text.isdigit() and int(text) else text)


def _perform(
    scenario: Scenario, file: Path, without_fault: Path, seeds: range, jobs: int | None
) -> tuple[SweptRun, list[SweptRun]]:
    """Perform the missing runs: the first seed without the fault, and each seed with it.

    The progress is on standard error. Verdicts do not count: the question expects nothing, and its
    answer is in figures.
    """
    requested = [(without_fault, seeds[0]), *((file, seed) for seed in seeds)]
    planned = [_run_of(of, seed) for of, seed in requested]
    with report(as_json=True):
        performed = perform_runs(
            scenario.name, planned, file.parent, jobs, figures=[*figures_of(scenario)]
        )
    compared, *runs = (
        run._replace(outcome=replace(run.outcome, unexpected=())) for run in performed
    )
    if all(run.outcome.error is not None for run in runs):
        raise TidegaugeError(f"{runs[0].folder}: {runs[0].outcome.error}; no run is finished")
    return compared, runs


def _content(
    scenario: Scenario, file: Path, compared: SweptRun, runs: Sequence[SweptRun]
) -> dict[str, Any]:
    """The content of ``sweep.json``, with the command that runs the worst finished seed again."""
    figures = [*figures_of(scenario)]
    finished = [run for run in runs if run.outcome.error is None]
    worst = worst_of(finished, figures)
    command = shlex.join(["tidegauge", "run", *words_of(RunOptions(str(file), seed=worst.seed))])
    content = content_of(scenario.name, {}, figures, finished, command)
    return {**content, "without_fault": {name: compared.outcome.figure(name) for name in figures}}
