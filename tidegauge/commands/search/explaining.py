"""``tidegauge explain``: schedules that produce what somebody saw."""

import time
from pathlib import Path
from typing import NamedTuple

import typer

from tidegauge.commands import loading
from tidegauge.commands.comparing import written_scenario
from tidegauge.commands.run_options import RunOptions
from tidegauge.commands.search.search_options import ExplainOptions
from tidegauge.commands.shared_options import parsed
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.resuming import written_scenario_of
from tidegauge.runs.run import Run
from tidegauge.scenario.text.yaml_file import comment, lines_of
from tidegauge.search.explaining import Subject, Trials, Tried
from tidegauge.search.explanations import Explained, explain_picture
from tidegauge.search.pictured_cluster import pictured_cluster
from tidegauge.search.pictures import Picture, picture_of_run, read_picture
from tidegauge.search.reduced_scenarios import Written
from tidegauge.simulation.quantities import format_duration, parse_duration, parse_time
from tidegauge.traces.run_folder import new_run_folder
from tidegauge.views.explanation_view import (
    ToldExplanations,
    explanations_for_programs,
    progress_words,
    schedule_words,
    show_explanations,
)
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs, working

#: Explanations that are written as scenarios.
_WRITTEN = 3


class _Seen(NamedTuple):
    """The picture, and the cluster on which it is searched."""

    picture: Picture
    #: As a file has it.
    cluster: Written
    source: str


def explain_seen(options: ExplainOptions) -> None:
    """Perform ``tidegauge explain``; exit with status 1 if no schedule produces the picture."""
    check_jobs(options.jobs)
    name = options.picture.resolve().stem
    out = options.out or new_run_folder(f"explain-{name}")
    loading.check_new_folder(out)
    seen = _seen(options)
    subject = Subject(seen.picture, pictured_cluster(seen.cluster, seen.source, seen.picture))
    with report(as_json=options.as_json):
        loading.announce_compilation()
        began_s = time.monotonic()
        with working(f"explaining {name}") as tell:
            explained = explain_picture(
                subject,
                60 * options.minutes,
                options.jobs,
                lambda so_far: tell(progress_words(so_far)),
            )
        took_s = time.monotonic() - began_s
        files = _write_scenarios(out, explained)
        told = ToldExplanations(explained, files, took_s)
        if not options.as_json:
            show_explanations(console(), told)
    if options.as_json:
        print_json(explanations_for_programs(told))
    if not explained.matches:
        raise typer.Exit(1)


def _seen(options: ExplainOptions) -> _Seen:
    """The picture and the cluster that the options name."""
    if options.picture.is_dir():
        return _seen_in_run(options)
    for option, value in (
        ("--partition", options.partition),
        ("--from", options.begin),
        ("--to", options.end),
    ):
        if value:
            raise TidegaugeError(f"{option}: is of a run; {options.picture} is a file")
    if options.file is None:
        raise TidegaugeError("-f SCENARIO is missing: the cluster on which it was seen")
    picture = _within(read_picture(options.picture), options)
    return _Seen(picture, *_cluster_of_file(options.file, options))


def _seen_in_run(options: ExplainOptions) -> _Seen:
    run = loading.opened_run(options.picture, "explain")
    if not options.partition:
        raise TidegaugeError("--partition NAME is missing: the partition of the run to explain")
    begin_us = None if options.begin is None else parsed("--from", options.begin, parse_time)
    end_us = None if options.end is None else parsed("--to", options.end, parse_time)
    picture = picture_of_run(run, options.partition, begin_us, end_us)
    named = options.file
    cluster = _cluster_of_run(run, options) if named is None else _cluster_of_file(named, options)
    return _Seen(_within(picture, options), *cluster)


def _cluster_of_file(file: str, options: ExplainOptions) -> tuple[Written, str]:
    return written_scenario(RunOptions(file, changes=options.changes)), file


def _cluster_of_run(run: Run, options: ExplainOptions) -> tuple[Written, str]:
    if run.is_of_logs:
        raise TidegaugeError("-f SCENARIO is missing: logs do not have the whole cluster")
    if options.changes:
        raise TidegaugeError("--set changes a scenario of -f; a run has its own")
    return written_scenario_of(run), str(options.picture)


def _within(picture: Picture, options: ExplainOptions) -> Picture:
    if options.within is None:
        return picture
    return picture._replace(within_us=parsed("--within", options.within, parse_duration))


def _write_scenarios(out: Path, explained: Explained) -> list[Path]:
    """Write the scenarios of the first explanations, or of the nearest schedule."""
    trials = Trials(explained.subject)
    shown = explained.matches or explained.nearest[:1]
    files = []
    for number, each in enumerate(shown[:_WRITTEN], start=1):
        files.append(out / f"{number}.yaml")
        loading.write_new_file(files[-1], _scenario_text(trials, explained, each))
    return files


def _scenario_text(trials: Trials, explained: Explained, tried: Tried) -> str:
    """A scenario that plays an explanation, with the times of the picture at its head."""
    subject = explained.subject
    zero_us = subject.picture.begin_us + subject.cluster.origin_us + tried.schedule.phase_us
    seen = ", ".join(each.name for each in subject.picture.partitions)
    first = subject.picture.time_text(subject.picture.begin_us)
    head = [
        *comment(f"{schedule_words(subject, tried.schedule)}."),
        *comment(
            f"{'An explanation' if tried.is_match else 'The nearest schedule'} for {seen}: the "
            f"picture's first change, at {first}, is at {format_duration(zero_us // 1000 * 1000)}."
        ),
    ]
    written = {
        name: part for name, part in trials.written(tried.schedule).items() if name != "name"
    }
    return "\n".join([*head, *lines_of(written)]) + "\n"
