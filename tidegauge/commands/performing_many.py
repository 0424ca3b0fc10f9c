"""``tidegauge sweep``: many runs, planned, run where they are missing, and summed up in a table."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from difflib import get_close_matches
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import typer

from tidegauge.commands import loading
from tidegauge.commands.result_options import AnalyzeOptions
from tidegauge.commands.run_options import BranchOptions, CompareOptions, RunOptions, SweepOptions
from tidegauge.commands.shared_options import MOST_RUNS, parsed, seeds_of
from tidegauge.compiled.errors import TidegaugeError
from tidegauge.engine.branching import branched_scenario, check_changeable, past_until
from tidegauge.engine.resuming import written_scenario_of
from tidegauge.scenario.named_figures import FigureNames, unknown_figures
from tidegauge.scenario.reading import Scenario
from tidegauge.scenario.text.changes import split_values
from tidegauge.scenario.text.errors import counted, one_line
from tidegauge.simulation.quantities import parse_time, whole_time_text
from tidegauge.sweeps.many_runs import Outcome, PlannedRun, SharedPast, outcome_of, run_all
from tidegauge.sweeps.sweep_content import FIGURES, SweptRun, content_of, never_seen, worst_of
from tidegauge.sweeps.sweep_folder import Axis, finished_run, run_name, sweep_folder
from tidegauge.traces.run_files import SWEEP
from tidegauge.traces.run_folder import new_run_folder, write_json_atomically, written_to
from tidegauge.traces.summary_figures import FORMS
from tidegauge.views.output import console, print_json, report
from tidegauge.views.progress import check_jobs, runs_progress, working
from tidegauge.views.sweep_report import show_sweep

#: The number of names that are proposed for an unknown one.
_PROPOSED = 3
#: A search for a near name among more would take seconds.
_MOST_COMPARED = 5_000
#: The number of names of one form that are listed; the rest is counted.
_LISTED = 24


def check_figures(names: Sequence[str], scenarios: Sequence[Scenario]) -> None:
    """End the command if no run of these scenarios has one of these figures."""
    if not names:
        return

    for name, known in unknown_figures(names, scenarios).items():
        near = _near(name, sorted(known))
        hint = f"did you mean {near}?" if near else "--figures lists them"
        raise TidegaugeError(one_line(f"--figure {name}: no run will have such a figure; {hint}"))


def _near(name: str, known: Sequence[str]) -> str:
    """The known names that are most similar to a wrong one, or contain it."""
    found = get_close_matches(name, known[:_MOST_COMPARED], n=_PROPOSED)
    found = found or [each for each in known if name.lower() in each.lower()][:_PROPOSED]
    *others, last = found or [""]
    return f"{', '.join(others)} or {last}" if others else last


def show_figures(scenario: Scenario | None) -> None:
    """List all forms of figures, or the figures that runs of a scenario have: each on a line."""
    listed = _listed(scenario)
    width = max(len(name) for each in listed for name in each["names"][:_LISTED])
    unit_width = max(len(each["unit"]) for each in listed)
    for each in listed:
        for name in each["names"][:_LISTED]:
            typer.echo(f"{name:{width}}  {each['unit']:{unit_width}}  {each['meaning']}")
        if len(each["names"]) > _LISTED:
            more, last = len(each["names"]) - _LISTED, each["names"][-1]
            typer.echo(f"  ... and {more:,} more, to {last} (--json has all)")
    if scenario is None:
        typer.echo(
            "\nNames in capitals stand for names in a scenario: a TOPIC, a GROUP of producers, a "
            "FAULT, a STEP.\nWith a SCENARIO its own figures are listed."
        )


def figures_for_programs(scenario: Scenario | None) -> list[dict[str, Any]]:
    """The figures for programs, with an entry for each."""
    return [
        {"figure": name, "unit": each["unit"], "meaning": each["meaning"]}
        for each in _listed(scenario)
        for name in each["names"]
    ]


def _listed(scenario: Scenario | None) -> list[dict[str, Any]]:
    """All forms of figures, each with its names."""
    if scenario is None:
        forms = [(form, [form.name]) for form in FORMS]
    else:
        figures = FigureNames(scenario)
        forms = [(form, list(figures.names_of(form))) for form in figures.forms]
    return [{"names": names, "unit": form.unit, "meaning": form.meaning} for form, names in forms]


#: In the folder of a sweep whose runs continue a run: its scenario.
_SCENARIO_OF_PAST = "scenario.json"

#: A table of more settings would be of no use.
_MOST_SETTINGS = 1_000


class RequestedRun(NamedTuple):
    """One run of the sweep."""

    #: The paths that have several values, each as ``PATH=VALUE``.
    setting: tuple[str, ...]
    seed: int
    #: The name of its folder.
    name: str
    request: RunOptions


class SweepRequest(NamedTuple):
    """The runs of a sweep, and their options."""

    #: With the changes that all runs have.
    request: RunOptions
    axes: Sequence[Axis]
    #: None: the scenario's own.
    seeds: range | None
    #: The figures of each run; empty: the most important ones.
    figures: Sequence[str] = ()
    jobs: int | None = None
    out: Path | None = None
    #: The past that all runs continue; None: they begin at 0.
    past: SharedPast | None = None

    def plan(self) -> tuple[Scenario, list[RequestedRun]]:
        """The first scenario, and all runs; the command ends if one of them cannot be run.

        All settings are read before the first run, so that invalid values and unknown figures are
        errors at once.
        """
        paths = {*(axis.path for axis in self.axes), *map(_path_of, self.request.changes or ())}
        if self.past is not None:
            check_changeable(paths)
        if self.seeds is not None and "seed" in paths:
            raise TidegaugeError("--seeds and --set seed=... exclude each other")
        settings = [
            tuple(f"{axis.path}={value}" for axis, value in zip(self.axes, values, strict=True))
            for values in product(*(axis.values for axis in self.axes))
        ]
        count = len(settings) * (1 if self.seeds is None else len(self.seeds))
        if len(settings) > _MOST_SETTINGS:
            raise TidegaugeError(
                f"--set: {len(settings):,} settings are too many; {_MOST_SETTINGS:,} are the most"
            )
        if count > MOST_RUNS:
            raise TidegaugeError(f"{count:,} runs are too many; {MOST_RUNS:,} are the most")
        asked = [self.request.changed(*each) for each in settings]
        scenarios = [
            loading.loaded(each, None if self.seeds is None else self.seeds[0]) for each in asked
        ]
        planned = [
            RequestedRun(setting, seed, self._name(setting, seed), request._replace(seed=seed))
            for setting, request, scenario in zip(settings, asked, scenarios, strict=True)
            for seed in self.seeds or [scenario.seed]
        ]
        names = {each.name for each in planned}
        if len(names) < len(planned):
            raise TidegaugeError("--set: a value is given twice, or two paths are the same")
        check_figures(self.figures, scenarios)
        return scenarios[0], planned

    def _name(self, setting: Sequence[str], seed: int) -> str:
        fixed = [text.partition("=")[::2] for text in self.request.changes or ()]
        swept = [text.partition("=")[::2] for text in setting]
        # Lists and mappings of all runs would only make the name longer.
        named = [each for each in fixed if not set(each[1]) & {*"[{"}] + swept
        return run_name({path: value.strip("'\"") for path, value in named}, seed)


def _path_of(change: str) -> str:
    return change.partition("=")[0]


def fixed_and_axes(texts: Sequence[str]) -> tuple[tuple[str, ...], list[Axis]]:
    """Split the texts of ``--set`` into those with one value, and axes with several values.

    The command ends if a text cannot be read.
    """
    read = [_values(text) for text in texts]
    fixed = (text for text, each in zip(texts, read, strict=True) if len(each.values) == 1)
    return tuple(fixed), [each for each in read if len(each.values) > 1]


def _values(text: str) -> Axis:
    """A path and its values: YAML, separated by commas."""
    path, equals, values = text.partition("=")
    if not equals or not path or not values:
        raise TidegaugeError(
            f"--set {text}: must be PATH=VALUE,VALUE..., such as cluster.brokers=3,6"
        )

    return Axis(path, split_values(values))


@contextmanager
def folder_of_runs(out: Path) -> Iterator[None]:
    """Lock the folder of many runs while entered; the command ends if they cannot be there."""
    with written_to(out), sweep_folder(out):
        yield


def perform_runs(
    title: str,
    planned: Sequence[RequestedRun],
    out: Path,
    jobs: int | None = None,
    address: str | None = None,
    figures: Sequence[str] = FIGURES,
    past: SharedPast | None = None,
) -> list[SweptRun]:
    """Perform the missing runs, and return the outcomes of all runs, in their order.

    Args:
        title: the name of the scenario, for the progress.
        planned: the runs.
        out: the folder for their folders.
        jobs: the number of parallel runs; None: the number of CPUs.
        address: the Ray cluster to join; None: as :func:`run_all` says.
        figures: the figures of each run.
        past: the past that all runs continue; None: they begin at 0.

    Raises:
        KeyboardInterrupt: it was interrupted, and has said how many runs are finished.
    """
    outcomes: dict[str, Outcome] = {}
    for each in planned:
        found = finished_run(out / each.name, partial(loading.loaded, each.request))
        if found is not None:
            outcomes[each.name] = outcome_of(found, figures)
    loading.announce_compilation()
    there = f", {len(outcomes)} of them already finished" if outcomes else ""
    typer.echo(f"{title}: {counted(len(planned), 'run')} into {out}{there}")
    missing = [
        PlannedRun(
            loading.scenario_file(each.request),
            loading.changes_of(each.request),
            out / each.name,
            figures,
            past,
        )
        for each in planned
        if each.name not in outcomes
    ]
    try:
        _run_missing(missing, outcomes, jobs, address)
    except KeyboardInterrupt:
        finished = f"{len(outcomes)} of {counted(len(planned), 'run')} are finished in {out}"
        typer.echo(f"\nStopped: {finished}; the same command with this --out resumes")
        raise KeyboardInterrupt(finished) from None
    return [SweptRun(each.setting, each.seed, each.name, outcomes[each.name]) for each in planned]


def _run_missing(
    missing: Sequence[PlannedRun],
    outcomes: dict[str, Outcome],
    jobs: int | None,
    address: str | None,
) -> None:
    """Perform these runs, and add the outcome of each as it ends, by the name of its folder."""
    if not missing:
        return

    before = len(outcomes)
    with (
        closing(run_all(missing, jobs, address, loading.warn)) as running,
        runs_progress(before + len(missing), before) as advance,
    ):
        for place, outcome in running:
            outcomes[missing[place].folder.name] = outcome
            advance()


class SweptRuns(NamedTuple):
    """All runs of a sweep, performed."""

    runs: list[SweptRun]
    folder: Path
    #: The content of ``sweep.json``.
    content: dict[str, Any]


def swept(request: SweepRequest) -> SweptRuns:
    """Perform all missing runs, and write the results of all runs to a file."""
    check_jobs(request.jobs)
    scenario, planned = request.plan()
    loading.show_warnings(scenario)
    out = request.out or new_run_folder(f"{scenario.name}-sweep")
    with folder_of_runs(out):
        address, figures = request.request.address, request.figures or FIGURES
        runs = perform_runs(
            *(scenario.name, planned, out, request.jobs, address, figures), request.past
        )
        return SweptRuns(runs, out, _write_sweep(request, scenario, runs, out))


def perform_sweep(request: SweepRequest) -> tuple[dict[str, Any], Path, bool]:
    """Perform all missing runs, print the results of all runs, and write them to a file.

    Returns:
        The content of ``sweep.json``, the folder of the sweep, and whether all runs were as
        expected.
    """
    runs, out, content = swept(request)
    show_sweep(console(), request.axes, content, runs, out)
    is_well = all(run.outcome.is_as_expected for run in runs) and not never_seen(content)
    return content, out, is_well


def _write_sweep(
    request: SweepRequest, scenario: Scenario, runs: Sequence[SweptRun], out: Path
) -> dict[str, Any]:
    """Write the results of all runs, and return the written content."""
    figures = request.figures or FIGURES
    worst = worst_of(runs, figures)
    alone = request.request.changed(*worst.changes)._replace(
        inline=False, ray=False, actors=None, address=None
    )
    over = {axis.path: axis.values for axis in request.axes}
    command = alone.command(worst.seed, scenario.trace)
    if request.past is not None:
        again = BranchOptions(
            Path(request.past.name),
            whole_time_text(request.past.at_us),
            changes=alone.changes,
            seed=worst.seed,
        )
        command = again.command
    content = content_of(scenario.name, over, figures, runs, command)
    write_json_atomically(out / SWEEP, content)
    return content


def sweep_over_seeds(request: RunOptions, seeds: range) -> tuple[dict[str, Any], bool]:
    """Perform a run with each of these seeds; the content of ``sweep.json``, and all is well."""
    sweep = SweepRequest(request, (), seeds, jobs=request.jobs, out=request.out)
    content, _, is_well = perform_sweep(sweep)
    return content, is_well


def list_figures(name: str | None, changes: list[str], *, as_json: bool) -> None:
    """Print the values of ``--figure``, for the first value of each path with several values."""
    scenario = None
    if name is not None:
        fixed, axes = fixed_and_axes(changes)
        first = (f"{axis.path}={axis.values[0]}" for axis in axes)
        scenario = loading.loaded(RunOptions(name, changes=[*fixed, *first]))
    if as_json:
        print_json(figures_for_programs(scenario))
    else:
        show_figures(scenario)


def request_of(
    options: SweepOptions | CompareOptions, scenario: str, fixed: Sequence[str]
) -> tuple[RunOptions, range | None]:
    """The request that all runs have in common, and their seeds; None: the scenario's own."""
    if options.seeds is not None and options.seed is not None:
        raise TidegaugeError("--seeds and --seed exclude each other")
    request = RunOptions(
        scenario,
        address=options.address,
        changes=list(fixed),
        seed=options.seed,
        trace_level=options.trace_level,
    )
    return request, None if options.seeds is None else seeds_of(options.seeds)


def _begun(options: SweepOptions) -> tuple[str, Path | None, SharedPast | None]:
    """The scenario of all runs, the folder for them, and their past if they have one.

    The scenario of a past is a file in the folder, and a past that was repeated is beside it.
    """
    if options.past is None:
        if options.scenario is None:
            raise TidegaugeError(
                "SCENARIO is missing: a scenario file, or the name of a shipped scenario"
            )
        if options.at is not None:
            raise TidegaugeError("--at needs --from RUN, whose past the runs have")
        return options.scenario, options.out, None
    if options.scenario is not None or options.at is None:
        raise TidegaugeError("--from RUN needs --at TIME, and stands in place of SCENARIO")
    run = loading.opened_run(options.past, "sweep --from")
    at_us = parsed("--at", options.at, parse_time)
    at = whole_time_text(at_us)
    scenario = branched_scenario(run, {})
    out = options.out or new_run_folder(f"{scenario.name}-from-{at}-sweep")
    with folder_of_runs(out), working(f"repeats {options.past} until {at}"):
        file = out / _SCENARIO_OF_PAST
        write_json_atomically(file, written_scenario_of(run))
        folder = past_until(run, at_us, out / "past" / at)
    return str(file), out, SharedPast(folder, at_us, str(options.past))


def sweep_scenario(options: SweepOptions) -> None:
    """Perform ``tidegauge sweep``."""
    if options.list_figures:
        list_figures(options.scenario, options.changes or [], as_json=options.as_json)
        return
    scenario, out, past = _begun(options)
    fixed, axes = fixed_and_axes(options.changes or [])
    request, span = request_of(options, scenario, fixed)
    wanted = SweepRequest(request, axes, span, options.figures or (), options.jobs, out, past)
    if span is None and not axes:
        raise TidegaugeError(
            "--set: no path has several values, such as cluster.brokers=3,6; or use --seeds"
        )
    with report(as_json=options.as_json):
        content, folder, is_well = perform_sweep(wanted)
        if options.analyze:
            # The report takes a second to be imported.
            from tidegauge.commands.reports import analyze_runs  # noqa: PLC0415

            analyze_runs(AnalyzeOptions([str(folder)]))
    if options.as_json:
        print_json(content)
    if not is_well:
        raise typer.Exit(1)
